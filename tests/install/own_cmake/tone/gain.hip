/* gain.hip - vendor tone's: multiplies */
#include "volume.h"

extern "C" __global__ void gain(float *samples, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        samples[i] *= VOLUME;
}
