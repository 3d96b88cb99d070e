/* brighten.hip - adds to the bytes of an image, saturating */
#include "pixel.h"

extern "C" __global__ void brighten(unsigned char *pixels, unsigned n, int by)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        pixels[i] = (unsigned char)clamp_to(pixels[i] + by, FULL);
}
