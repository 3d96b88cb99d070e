/* both.h - HIP's words for the kernels here, also where CUDA compiles them */
#pragma once

#if defined(__CUDACC__) && !defined(__HIP__)

/* Clang's names for scoped atomics, which nvcc has not, with the strongest
 * order and the widest scope, whatever is asked for. */
#define __HIP_MEMORY_SCOPE_AGENT 0
#define __HIP_MEMORY_SCOPE_SYSTEM 1

static __device__ inline unsigned kpk_ways_add(unsigned *at, unsigned value)
{
    __threadfence_system();
    const unsigned before = atomicAdd_system(at, value);
    __threadfence_system();
    return before;
}
#define __hip_atomic_fetch_add(at, value, order, scope) kpk_ways_add(at, value)
#define __hip_atomic_load(at, order, scope) kpk_ways_add(at, 0u)

#else
#include <hip/hip_runtime.h>
#endif
