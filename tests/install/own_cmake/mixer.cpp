// mixer.cpp - runs the kernels of two packs on the same samples
#include <kpack.h>

#include <kpack/echo/delay.h>
#include <kpack/tone/gain.h>
// Both packs have a kernel `gain`: the second one's names are long.
#define KPK_LONG_NAMES
#include <kpack/echo/gain.h>

#include <cstdio>
#include <stdexcept>
#include <vector>

static void check(kpk_status status)
{
    if (status)
        throw std::runtime_error(kpk_error_message());
}

static void mix()
{
    const uint32_t n = 300;
    const size_t nbytes = n * sizeof(float);
    const kpk_shape shape = kpk_shape_1d(n, 64);
    std::vector<float> samples(n, 3.0f);
    const kpk_gain_kernels *tone_gain;
    const kpk_echo__gain__gain_kernels *echo_gain;
    const kpk_delay_kernels *delay;
    kpk_instance *tone, *echo;
    void *in, *out;

    check(kpk_open(&kpk_tone, 0, &tone));
    check(kpk_open(&kpk_echo, 0, &echo));
    check(kpk_gain_kernels_get(tone, &tone_gain));
    check(kpk_echo__gain__gain_kernels_get(echo, &echo_gain));
    check(kpk_delay_kernels_get(echo, &delay));
    check(kpk_malloc(tone, nbytes, &in));
    check(kpk_malloc(tone, nbytes, &out));
    check(kpk_copy_to(tone, in, samples.data(), nbytes));

    float *const x = static_cast<float *>(in), *const y = static_cast<float *>(out);
    check(kpk_gain(tone_gain, &shape, nullptr, x, n));
    check(kpk_echo__gain__gain(echo_gain, &shape, nullptr, x, n));
    check(kpk_delay_float(delay, &shape, nullptr, x, y, n, 10));
    check(kpk_copy_from(tone, samples.data(), out, nbytes));
    std::printf("%s: %g %g\n", kpk_instance_device(tone)->target, samples[9],
                samples[299]);
    check(kpk_free(tone, in));
    check(kpk_free(tone, out));
    check(kpk_close(tone));
    check(kpk_close(echo));
}

int main()
{
    try {
        mix();
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
