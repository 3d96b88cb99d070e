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

/* One value for the whole wave: the scalar unit's arithmetic, bit fields,
 * compares, branches and loads. */
extern "C" __global__ void bench_scalar(const float *in, float *out, unsigned n)
{
    const unsigned *table = (const unsigned *)in;
    unsigned a = blockIdx.x, b = 1;
    unsigned long long mask = 0;

    for (unsigned j = 0; j < n; j++) {
        a = a * 1664525 + 1013904223;
        mask ^= 1ull << (a >> 26);
        if (a & 0x10000)
            b += (a >> 8) ^ (unsigned)__builtin_popcountll(mask);
        else
            b = (b << 3 | b >> 29) - table[a >> 24];
        if ((int)b < 0)
            mask = ~mask & ((unsigned long long)b << 16 | a);
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = (float)(b ^ (unsigned)mask);
}

/* Loads and stores of neighbours, one value and four a lane. */
extern "C" __global__ void bench_stream(const float *in, float *out, unsigned n)
{
    const unsigned t = threadIdx.x;
    float *mine = out + (blockIdx.x * 256 + t);
    const float4 *wide = (const float4 *)in;

    for (unsigned j = 0; j < n; j++) {
        const float4 v = wide[(t + j) % 64];

        *mine = in[(t + j) % 256] + v.x + v.y * v.z + v.w;
        asm volatile("" ::: "memory"); /* every round loads and stores */
    }
}

/* Loads from all over the place. */
extern "C" __global__ void bench_gather(const float *in, float *out, unsigned n)
{
    const unsigned *table = (const unsigned *)in;
    unsigned at = threadIdx.x, sum = 0;

    for (unsigned j = 0; j < n; j++) {
        at = (at * 13 + j) % 256;
        sum += table[at];
        asm volatile("" ::: "memory");
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = (float)sum;
}

/* A tiled matrix product's inner loop: rows and columns of LDS tiles. */
extern "C" __global__ void bench_tile(const float *in, float *out, unsigned n)
{
    __shared__ float a[16][16], b[16][16];
    const unsigned x = threadIdx.x % 16, y = threadIdx.x / 16;
    float sum = 0;

    for (unsigned j = 0; j < n; j++) {
        a[y][x] = in[(y * 16 + x + j) % 256];
        b[y][x] = in[(x * 16 + y + j) % 256];
        __syncthreads();
        for (unsigned k = 0; k < 16; k++)
            sum += a[y][k] * b[k][x];
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/* Products of the matrix unit, f16 in and f32 out. */
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef _Float16 half8 __attribute__((ext_vector_type(8)));
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));
typedef float float16 __attribute__((ext_vector_type(16)));

extern "C" __global__ void bench_matrix(const float *in, float *out, unsigned n)
{
    const _Float16 *half = (const _Float16 *)in + threadIdx.x % 32 * 16;
    float *mine = out + (blockIdx.x * blockDim.x + threadIdx.x);

#if __gfx942__
    float16 sum = {};

    for (unsigned j = 0; j < n; j++)
        sum = __builtin_amdgcn_mfma_f32_32x32x8f16(
            *(const half4 *)half, *(const half4 *)(half + 4), sum, 0, 0, 0);
    *mine = sum[0];
#elif __gfx1100__
    float8 sum = {};

    for (unsigned j = 0; j < n; j++)
        sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(
            *(const half16 *)half, *(const half16 *)half, sum);
    *mine = sum[0];
#elif __gfx1201__
    float8 sum = {};

    for (unsigned j = 0; j < n; j++)
        sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(
            *(const half8 *)half, *(const half8 *)half, sum);
    *mine = sum[0];
#else
    *mine = (float)n * (float)half[0];
#endif
}

/* Compare-and-swap in device memory, each lane on its own. */
extern "C" __global__ void bench_swap(const float *in, float *out, unsigned n)
{
    unsigned *mine = (unsigned *)out + blockIdx.x * blockDim.x + threadIdx.x;
    unsigned old = 0;

    (void)in;
    for (unsigned j = 0; j < n; j++)
        old = atomicCAS(mine, old, old + j);
}

/* Divisions by the sequence of compilers. */
extern "C" __global__ void bench_divide(const float *in, float *out, unsigned n)
{
    float sum = in[threadIdx.x % 256];

    for (unsigned j = 0; j < n; j++)
        sum = (sum + 3.0f) / (sum * sum + (float)j);
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
