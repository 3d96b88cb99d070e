/* gamma.hip - C++ kernels: a namespace, overloads, a template */
#include "pixel.h"

namespace image
{
/**
 * Multiplies every sample.
 *
 *   samples  n of them, device memory
 */
template <typename T> __global__ void scale(T *samples, unsigned n, T by)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        samples[i] = samples[i] * by;
}
/* A template is in the pack for the types that it is instantiated for. */
template __global__ void scale<float>(float *, unsigned, float);
template __global__ void scale<int>(int *, unsigned, int);
} // namespace image
