/* saxpy.hip - y = FACTOR x + y */
#include "factor.h"
#include <hip/hip_runtime.h>

extern "C" __global__ void saxpy(unsigned n, const float *x, float *y)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        y[i] += FACTOR * x[i];
}
