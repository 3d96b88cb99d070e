/* kernels.hip - what the simulated GPU's speed is measured on */
#include <hip/hip_runtime.h>

/* Sixteen chains of fused multiply-adds, so that nothing waits. */
extern "C" __global__ void bench_fma(const float *in, float *out, unsigned n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float x[16];

    for (int k = 0; k < 16; k++)
        x[k] = in[(i + k) % 256];
    for (unsigned j = 0; j < n; j++)
        for (int k = 0; k < 16; k++)
            x[k] = __builtin_fmaf(x[k], 0.999f, 0.001f);
    for (int k = 1; k < 16; k++)
        x[0] += x[k];
    out[i] = x[0];
}

/* Loads, stores, LDS, integer and float arithmetic, branches. */
extern "C" __global__ void bench_mixed(const float *in, float *out, unsigned n)
{
    __shared__ float tile[256];
    const unsigned t = threadIdx.x, i = blockIdx.x * 256 + t;
    float sum = 0;

    for (unsigned j = 0; j < n; j++) {
        const unsigned k = (i * 5 + j * 17) % 256;

        tile[t] = in[k] * 0.5f;
        __syncthreads();
        sum += tile[(t + j) % 256];
        if (k & 1)
            sum -= in[(k + j) % 256];
        else
            sum = sum * 1.5f + (float)(k >> 2);
        out[i] = sum;
        __syncthreads();
    }
}
