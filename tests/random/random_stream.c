/* random_stream.c - random bytes of rand_uniform_f32, for programs that judge
 * them
 *
 * usage: random_stream NBYTES [SEED] >FILE
 *
 * Writes the 24 bits of each number, and stops after NBYTES or when nobody
 * reads any more.
 */
#include <kpack.h>
#include <kpack/candle.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { NUMBERS = 1 << 18 };

static void check(kpk_status status)
{
    if (status == KPK_OK)
        return;
    fprintf(stderr, "stream: %s\n", kpk_error_message());
    exit(1);
}

int main(int argc, char **argv)
{
    const uint64_t nbytes = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    const float low = 0, high = 1;
    const kpk_kernel *kernel;
    uint64_t n = NUMBERS;
    kpk_instance *inst;
    kpk_shape shape;
    float *numbers;
    void *out;

    if (nbytes == 0) {
        fprintf(stderr, "usage: random_stream NBYTES [SEED]\n");
        return 2;
    }
    check(kpk_open(&kpk_candle, 0, &inst));
    check(kpk_kernel_get(inst, "rand_uniform_f32", &kernel));
    check(kpk_kernel_shape(kernel, n, 0, &shape));
    check(kpk_malloc(inst, n * sizeof(*numbers), &out));
    numbers = malloc(n * sizeof(*numbers));
    if (!numbers)
        return 1;
    for (uint64_t done = 0, offset = 0; done < nbytes; offset += n) {
        check(kpk_launch(kernel, &shape, NULL,
                         KPK_ARGS(out, n, seed, offset, low, high)));
        check(kpk_sync(inst, NULL));
        check(kpk_copy_from(inst, numbers, out, n * sizeof(*numbers)));
        for (uint64_t i = 0; i < n && done < nbytes; i++, done += 3) {
            const uint32_t bits = (uint32_t)(numbers[i] * 0x1p24f);

            if (fputc((int)(bits & 255), stdout) == EOF ||
                fputc((int)(bits >> 8 & 255), stdout) == EOF ||
                fputc((int)(bits >> 16 & 255), stdout) == EOF)
                return 0;
        }
    }
    free(numbers);
    check(kpk_free(inst, out));
    check(kpk_close(inst));
    return 0;
}
