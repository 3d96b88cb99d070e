/* api.hip - kernels with which the tests of the HIP functions are made */
#include <hip/hip_runtime.h>

__device__ int counter = 7;
__device__ int table[16];
__constant__ float factors[4] = {1, 2, 3, 4};

struct pair {
    char tag;
    double value;
};

extern "C" __global__ void add(const float *a, const float *b, float *c,
                               unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

/* c[i] = c[i] * 2 + k: repeated launches show order. */
extern "C" __global__ void step(unsigned *c, unsigned k, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = c[i] * 2 + k;
}

/* Arguments of many sizes, with padding between them. */
extern "C" __global__ void mixed(char a, short b, int c, long d, pair e,
                                 double *out)
{
    if (threadIdx.x == 0) {
        out[0] = a;
        out[1] = b;
        out[2] = c;
        out[3] = (double)d;
        out[4] = e.tag;
        out[5] = e.value;
    }
}

/* Every work-item writes blockDim, gridDim and its coordinates: 9 values. */
extern "C" __global__ void places(unsigned *out, unsigned width,
                                  unsigned height)
{
    unsigned x = blockIdx.x * 4 + threadIdx.x;
    unsigned y = blockIdx.y * 2 + threadIdx.y;
    unsigned z = blockIdx.z;
    unsigned *at = out + 9 * (x + width * (y + height * z));
    at[0] = blockDim.x;
    at[1] = blockDim.y;
    at[2] = blockDim.z;
    at[3] = gridDim.x;
    at[4] = gridDim.y;
    at[5] = gridDim.z;
    at[6] = x;
    at[7] = y;
    at[8] = z;
}

extern __shared__ unsigned dynamic[];

/* Reverses a block through dynamic LDS. */
extern "C" __global__ void reverse(unsigned *data)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    dynamic[threadIdx.x] = data[i];
    __syncthreads();
    data[i] = dynamic[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(64) small(int *out)
{
    __shared__ int sum[64];
    sum[threadIdx.x] = 1;
    __syncthreads();
    if (threadIdx.x == 0)
        for (unsigned i = 0; i < blockDim.x; i++)
            *out += sum[i];
}

#define LDS __attribute__((address_space(3)))
#define ALIGNED(n) __attribute__((align_value(n)))

/* Pointers into LDS as arguments, as in OpenCL's kernels: the runtime places
 * each one behind the kernel's own LDS. */
extern "C" __global__ void local_pointers(unsigned *at, LDS char *a,
                                          LDS long *b ALIGNED(8), unsigned n,
                                          LDS char *c, LDS int *d ALIGNED(16))
{
    __shared__ char own[3];
    own[threadIdx.x % 3] = 1;
    at[0] = (unsigned)(size_t)a;
    at[1] = (unsigned)(size_t)b;
    at[2] = (unsigned)(size_t)c;
    at[3] = (unsigned)(size_t)d;
    at[4] = n;
    at[5] = own[n % 3];
}

extern "C" __global__ void empty()
{
}

/* Takes 96 vector registers. */
extern "C" __global__ void wide(int *out)
{
    asm volatile("v_mov_b32 v95, 0" ::: "v95");
    out[threadIdx.x] = 1;
}

extern "C" __global__ void no_arguments()
{
    if (threadIdx.x == 0)
        atomicAdd(&counter, 1);
}

extern "C" __global__ void read_table(int *out)
{
    out[threadIdx.x] = table[threadIdx.x % 16] * (int)factors[threadIdx.x % 4];
}

/* Works for a while. */
extern "C" __global__ void spin(unsigned turns, unsigned *out)
{
    unsigned x = threadIdx.x;
    for (unsigned i = 0; i < turns; i++)
        x = x * 1664525u + 1013904223u;
    out[threadIdx.x] = x;
}

extern "C" __global__ void store_at(int *p, long index)
{
    p[index] = 1;
}

/* 20 bytes of arguments: compilers load the last three dwords as four. */
extern "C" __global__ void tail(unsigned *out, unsigned a, unsigned b,
                                bool negate)
{
    out[threadIdx.x] = negate ? 0 - (a + b) : a + b;
}

/* The two clocks of a kernel, before and after some work: the one between two
 * readings of the other. */
extern "C" __global__ void clocks(unsigned long long *out)
{
    unsigned x = 1;

    for (unsigned i = 0; i < 6; i += 3) {
        out[i] = clock64();
        out[i + 1] = wall_clock64();
        out[i + 2] = clock64();
        for (unsigned k = 0; k < 20000; k++)
            x = x * 1664525u + 1013904223u;
    }
    out[6] = x;
}

/* The instructions themselves, as -munsafe-fp-atomics has them. */
extern "C" __global__ void add_floats(float *f, double *d, float *old)
{
#ifdef __gfx90a__
    *old = __builtin_amdgcn_global_atomic_fadd_f32(
        (__attribute__((address_space(1))) float *)f, 1.0f);
    __builtin_amdgcn_global_atomic_fadd_f64(
        (__attribute__((address_space(1))) double *)d, 1.0);
#else
    *old = atomicAdd(f, 1.0f);
    atomicAdd(d, 1.0);
#endif
}

__managed__ int kept = 40;

extern "C" __global__ void add_to_kept(int n)
{
    kept += n;
}

/* Each group lets time pass, and says from when to when. */
extern "C" __global__ void let_time_pass(long long ticks,
                                         unsigned long long *out)
{
    const long long start = wall_clock64();

    while ((long long)wall_clock64() - start < ticks)
        ;
    out[2 * blockIdx.x] = start;
    out[2 * blockIdx.x + 1] = wall_clock64();
}

/* Sets *runs, and reads *p until it changes. */
extern "C" __global__ void watch(const volatile unsigned *p,
                                 volatile unsigned *runs)
{
    *runs = 1;
    while (*p == 0)
        ;
}
