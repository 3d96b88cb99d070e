#include <device.h>

extern "C" __global__ void halve(float *samples, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        samples[i] /= 2;
}
