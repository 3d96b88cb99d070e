/* ways.hip - kernels that show whether a way to launch or to inspect works */
#include "both.h"

/* ---- device variables ---- */

extern "C" {
__device__ float scale_by = 2;
__device__ unsigned calls;
__constant__ unsigned weights[8] = {1, 2, 4, 8, 16, 32, 64, 128};
}

/* x[i] *= scale_by; weighs each thread's low bits into *sum. */
extern "C" __global__ void scale(float *x, unsigned *sum, unsigned n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i == 0)
        atomicAdd(&calls, 1u);
    if (i >= n)
        return;
    x[i] *= scale_by;
    atomicAdd(sum, weights[i % 8]);
}

/* ---- dynamic shared memory ---- */

/* Fills n words of it and writes them out from the last to the first. */
extern "C" __global__ void reverse(unsigned *out, unsigned n)
{
    extern __shared__ unsigned words[];

    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
        words[i] = i * 3 + blockIdx.x;
    __syncthreads();
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
        out[blockIdx.x * n + i] = words[n - 1 - i];
}

/* ---- grid barrier ---- */

/* *arrived counts the blocks in; none goes on before all `nblocks` are there,
 * on whatever devices they run. Each then adds what it saw to *seen. */
extern "C" __global__ void meet(unsigned *arrived, unsigned *seen,
                                unsigned nblocks)
{
    if (threadIdx.x != 0)
        return;
    __hip_atomic_fetch_add(arrived, 1u, __ATOMIC_ACQ_REL,
                           __HIP_MEMORY_SCOPE_SYSTEM);
    unsigned here = 0;
    while (here < nblocks)
        here = __hip_atomic_load(arrived, __ATOMIC_ACQUIRE,
                                 __HIP_MEMORY_SCOPE_SYSTEM);
    __hip_atomic_fetch_add(seen, here, __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_SYSTEM);
}

/* ---- attributes ---- */

/* Static shared memory, a limit of threads, and private memory. */
extern "C" __global__ __launch_bounds__(128) void needy(unsigned *out,
                                                        const unsigned *at,
                                                        unsigned n)
{
    __shared__ unsigned shared[500];
    unsigned own[40];

    for (unsigned i = 0; i < 40; i++)
        own[at[i] % 40] = i + n;
    shared[threadIdx.x] = own[at[threadIdx.x % 40] % 40];
    __syncthreads();
    out[threadIdx.x] = shared[n - 1 - threadIdx.x];
}

extern "C" __global__ void no_arguments()
{
    if (threadIdx.x == 0 && blockIdx.x == 0)
        atomicAdd(&calls, 100u);
}

/* Adds 1 to *x, in many steps: long enough for two events to differ. */
extern "C" __global__ void slow(unsigned *x, unsigned nsteps)
{
    unsigned v = *x;

    for (unsigned i = 0; i < nsteps; i++)
        v = v * 1664525u + 1013904223u;
    x[1] = v;
    x[0] += 1;
}
