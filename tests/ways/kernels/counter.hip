/* counter.hip - a grid that waits for all its blocks, twice over a variable */
#include "both.h"

extern "C" {
__device__ unsigned step = 1;
__device__ unsigned arrived;
}

/* Every block counts itself in by `step`, waits until all have, and writes how
 * many it saw. */
extern "C" __global__ void count_in(unsigned *saw)
{
    if (threadIdx.x != 0)
        return;
    __hip_atomic_fetch_add(&arrived, step, __ATOMIC_ACQ_REL,
                           __HIP_MEMORY_SCOPE_AGENT);
    unsigned now = 0;
    while (now < gridDim.x * step)
        now = __hip_atomic_load(&arrived, __ATOMIC_ACQUIRE,
                                __HIP_MEMORY_SCOPE_AGENT);
    saw[blockIdx.x] = now;
}
