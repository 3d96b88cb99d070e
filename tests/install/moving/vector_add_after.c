/* vector_add_after.c - the same kernel out of the program itself */
#include "after.h"

#include <kpack/candle.h>

/* linked with libkpack.a, which holds it for every processor */
static void add(kpk_instance *gpu, void *a, void *b, void *c, uint32_t n)
{
    const kpk_shape shape = kpk_shape_1d(n, 256);
    const kpk_kernel *vector_add;

    OK(kpk_kernel_get(gpu, "vector_add", &vector_add));
    OK(kpk_launch(vector_add, &shape, NULL, KPK_ARGS(a, b, c, n)));
    OK(kpk_sync(gpu, NULL));
}

int main(void)
{
    enum { N = 1000 };
    float a[N], b[N], c[N];
    void *da, *db, *dc;
    kpk_instance *gpu;

    for (int i = 0; i < N; i++)
        a[i] = (float)i, b[i] = 0.5f;
    OK(kpk_open(&kpk_candle, 0, &gpu));
    OK(kpk_malloc(gpu, sizeof(a), &da));
    OK(kpk_malloc(gpu, sizeof(b), &db));
    OK(kpk_malloc(gpu, sizeof(c), &dc));
    OK(kpk_copy_to(gpu, da, a, sizeof(a)));
    OK(kpk_copy_to(gpu, db, b, sizeof(b)));
    add(gpu, da, db, dc, N);
    OK(kpk_copy_from(gpu, c, dc, sizeof(c)));
    for (int i = 0; i < N; i++)
        if (c[i] != (float)i + 0.5f)
            return printf("c[%d] = %g\n", i, (double)c[i]), 1;
    printf("c[%d] = %g\n", N - 1, (double)c[N - 1]);
    OK(kpk_free(gpu, da));
    OK(kpk_free(gpu, db));
    OK(kpk_free(gpu, dc));
    OK(kpk_close(gpu));
    return 0;
}
