/* delay.hip - out[i] = in[i - by], silence before the first */
#include <hip/hip_runtime.h>

template <typename T>
__global__ void delay(const T *in, T *out, unsigned n, unsigned by)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        out[i] = i < by ? T(0) : in[i - by];
}
template __global__ void delay<float>(const float *, float *, unsigned,
                                      unsigned);
