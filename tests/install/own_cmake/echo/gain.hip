/* gain.hip - vendor echo's: adds; the same names as tone's */
#include <hip/hip_runtime.h>

extern "C" __global__ void gain(float *samples, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        samples[i] += 1000;
}
