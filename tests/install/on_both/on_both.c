/* on_both.c - a program for AMD's GPUs and NVIDIA's
 *
 *   make ARCHS="gfx942 gfx1100 sm_90 compute_80" MODULES=vector_add
 *   cc on_both.c -Ibuild/include -Iinclude build/libkpack.a -ldl -pthread
 *
 * It adds two vectors on every GPU of the machine. Its last line says on how
 * many it was right.
 */
#include <kpack.h>
#include <kpack/candle.h>

#include <stdio.h>

enum { N = 1000 };

/* The calls are the same, whosever the GPU is. */
static int add(kpk_instance *gpu, const float *a, const float *b, float *c)
{
    const kpk_shape shape = kpk_shape_1d(N, 256);
    const size_t nbytes = N * sizeof(float);
    const kpk_kernel *vector_add;
    void *da, *db, *dc;
    uint32_t n = N;

    return kpk_kernel_get(gpu, "vector_add", &vector_add) ||
           kpk_malloc(gpu, nbytes, &da) || kpk_malloc(gpu, nbytes, &db) ||
           kpk_malloc(gpu, nbytes, &dc) || kpk_copy_to(gpu, da, a, nbytes) ||
           kpk_copy_to(gpu, db, b, nbytes) ||
           kpk_launch(vector_add, &shape, NULL, KPK_ARGS(da, db, dc, n)) ||
           kpk_copy_from(gpu, c, dc, nbytes) || kpk_free(gpu, da) ||
           kpk_free(gpu, db) || kpk_free(gpu, dc);
}

static int is_sum(const float *a, const float *b, const float *c)
{
    int i = 0;

    while (i < N && c[i] == a[i] + b[i])
        i++;
    return i == N;
}

int main(void)
{
    float a[N], b[N], c[N];
    int ndevices, nright = 0;
    kpk_device first;

    for (int i = 0; i < N; i++)
        a[i] = (float)i, b[i] = 0.5f;
    /* HIP's devices come first, then CUDA's. An error says what to check. */
    if (kpk_device_count(&ndevices) || kpk_device_get(0, &first))
        return fprintf(stderr, "%s\n", kpk_error_message()), 1;
    for (int d = 0; d < ndevices; d++) {
        kpk_selection code; /* what the GPU runs: a code object, cubin or PTX */
        kpk_instance *gpu;

        if (kpk_open(&kpk_candle, d, &gpu) || add(gpu, a, b, c) ||
            kpk_select(kpk_pack_find(&kpk_candle, "vector_add"),
                       kpk_instance_device(gpu)->target, &code))
            return fprintf(stderr, "%s\n", kpk_error_message()), 1;
        printf("device %d: %s, %s, runs %s: %s\n", d,
               kpk_instance_device(gpu)->name, kpk_instance_device(gpu)->target,
               code.target, is_sum(a, b, c) ? "right" : "WRONG");
        nright += is_sum(a, b, c);
        if (kpk_close(gpu))
            return fprintf(stderr, "%s\n", kpk_error_message()), 1;
    }
    printf("right on %d of %d\n", nright, ndevices);
    return nright != ndevices;
}
