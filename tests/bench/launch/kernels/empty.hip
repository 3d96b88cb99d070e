/* empty.hip - kernels that do nothing, so that only launching them takes time
 */
#ifdef __CUDACC__
#include <cuda_runtime.h>
#else
#include <hip/hip_runtime.h>
#endif

#include <stddef.h>

extern "C" __global__ void nothing()
{
}

/* With the arguments of affine_f32. */
extern "C" __global__ void seven(size_t n, size_t rank, const size_t *info,
                                 const float *in, float *out, float by,
                                 float add)
{
    if (n && blockIdx.x * size_t(blockDim.x) + threadIdx.x < n)
        out[0] = in[0] * by + add + float(rank) + (info ? 1.0f : 0.0f);
}

/* Writes what the host looks for. */
extern "C" __global__ void answer(unsigned *out)
{
    *out = 42;
}
