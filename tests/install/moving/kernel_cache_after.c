/* kernel_cache_after.c - kernels by name: an instance is the cache */
#include "after.h"

#include <kpack/candle.h>

/* One module for a name, loaded once however many threads ask; of a
 * kernel that was asked for before, a look-up without a lock. */
static const kpk_kernel *get_kernel(kpk_instance *gpu, const char *kernel)
{
    const kpk_kernel *found;

    OK(kpk_kernel_get(gpu, kernel, &found));
    return found;
}

static void affine(kpk_instance *gpu, size_t n, void *x, void *y)
{
    const kpk_kernel *f = get_kernel(gpu, "affine_f32");
    const kpk_shape shape = kpk_shape_1d(n, 256);
    size_t rank = 1, *info = NULL; /* contiguous */
    float mul = 2, plus = 1;

    OK(kpk_launch(f, &shape, NULL, KPK_ARGS(n, rank, info, x, y, mul, plus)));
}

int main(void)
{
    enum { N = 777 };
    kpk_instance *gpu;
    float x[N];
    void *dx;

    for (int i = 0; i < N; i++)
        x[i] = (float)i;
    OK(kpk_open(&kpk_candle, 0, &gpu));
    OK(kpk_malloc(gpu, sizeof(x), &dx));
    OK(kpk_copy_to(gpu, dx, x, sizeof(x)));
    affine(gpu, N, dx, dx);
    affine(gpu, N, dx, dx); /* out of the cache */
    OK(kpk_copy_from(gpu, x, dx, sizeof(x)));
    for (int i = 0; i < N; i++)
        if (x[i] != 4.0f * (float)i + 3.0f)
            return printf("x[%d] = %g\n", i, (double)x[i]), 1;
    printf("x[%d] = %g\n", N - 1, (double)x[N - 1]);
    OK(kpk_free(gpu, dx));
    OK(kpk_close(gpu));
    return 0;
}
