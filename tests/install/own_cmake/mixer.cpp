// mixer.cpp - runs the kernels of two packs on the same samples
#include <kpack.h>
#include <kpack/echo.h>
#include <kpack/tone.h>

#include <cstdio>
#include <stdexcept>
#include <vector>

static void check(kpk_status status)
{
    if (status)
        throw std::runtime_error(kpk_error_message());
}

// One pack's `gain`, on the device's memory.
static void run_gain(const kpk_pack &pack, float *samples, uint32_t n)
{
    const kpk_shape shape = kpk_shape_1d(n, 64);
    const kpk_kernel *gain;
    kpk_instance *gpu;

    check(kpk_open(&pack, 0, &gpu));
    check(kpk_kernel_get(gpu, "gain", &gain));
    check(kpk_launch(gain, &shape, nullptr, KPK_ARGS(samples, n)));
    check(kpk_close(gpu));
}

static void mix()
{
    std::vector<float> samples(300, 3.0f);
    const size_t nbytes = samples.size() * sizeof(float);
    kpk_instance *gpu;
    void *device;

    check(kpk_open(&kpk_tone, 0, &gpu));
    check(kpk_malloc(gpu, nbytes, &device));
    check(kpk_copy_to(gpu, device, samples.data(), nbytes));
    run_gain(kpk_tone, static_cast<float *>(device), 300);
    run_gain(kpk_echo, static_cast<float *>(device), 300);
    check(kpk_copy_from(gpu, samples.data(), device, nbytes));
    std::printf("%s: %g\n", kpk_instance_device(gpu)->target, samples[299]);
    check(kpk_free(gpu, device));
    check(kpk_close(gpu));
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
