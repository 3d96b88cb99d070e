/* page_examples.c - what the pages show in C and no other file has
 *
 * pages.sh compiles it, and compares it with the pages (`from:` there).
 */
#include <kpack.h>
#include <kpack/candle.h>
#include <kpack/candle/affine.h>

kpk_status recommended(const kpk_kernel *affine, size_t n, size_t rank,
                       const size_t *info, const float *in, float *out,
                       float mul, float add);
kpk_status typed(kpk_instance *gpu, const kpk_shape *launch_shape, size_t n,
                 size_t rank, const size_t *info, const float *in, float *out);

kpk_status recommended(const kpk_kernel *affine, size_t n, size_t rank,
                       const size_t *info, const float *in, float *out,
                       float mul, float add)
{
    kpk_shape shape;
    kpk_status st = kpk_kernel_shape(affine, n, 0, &shape);

    if (st == KPK_OK)
        st = kpk_launch(affine, &shape, NULL,
                        KPK_ARGS(n, rank, info, in, out, mul, add));
    return st;
}

kpk_status typed(kpk_instance *gpu, const kpk_shape *launch_shape, size_t n,
                 size_t rank, const size_t *info, const float *in, float *out)
{
    const kpk_shape shape = *launch_shape;

    const kpk_affine_kernels *affine; /* the module's kernels; get them once */
    kpk_status st = kpk_affine_kernels_get(gpu, &affine);

    if (st == KPK_OK)
        st = kpk_affine_f32(affine, &shape, NULL, n, rank, info, in, out, 2, 1);
    return st;
}
