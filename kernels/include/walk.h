/*
 * walk.h - a grid-stride walk by as many blocks as have something to do
 *
 * The host launches a thread an element; where a thread takes `each` elements
 * at a time, a power of two, one block in `each` walks, or in as many as leaves
 * enough for a GPU, and the others leave at once. They are most of the launch,
 * so a kernel asks that before all else.
 */
#pragma once

#include "device.h"

/*
 * Blocks that stay lie in runs of 8 on AMD, whose chips of up to 8 dies deal
 * blocks to the dies in turn.
 */
constexpr u32 log_walk_run = KPK_NVIDIA ? 0 : 3;

DEV u32 walk_shift(u32 each)
{
    constexpr u32 log_filling = 20; /* threads */
    const u32 most = (u32)(global_threads() >> log_filling) | 1;

    return min_of(31 - (u32)__clz((int)most), 31 - (u32)__clz((int)each));
}

/* walk_shift() in few instructions for large grids of the host's blocks */
DEV bool leaves_at_once(u32 each)
{
    const u32 run = (u32)blockIdx.x >> log_walk_run;

    if (blockDim.x == 1024 && gridDim.x >= each << 10)
        return (run & (each - 1)) != 0;
    return (run & ((1u << walk_shift(each)) - 1)) != 0;
}

/* of a block that does not leave; W is u32 where walk_is_short(), else u64 */
template <typename W> struct Walk {
    W first, step;

    DEV_MEMBER explicit Walk(u32 each)
    {
        constexpr u32 run = 1u << log_walk_run;
        const u32 shift = walk_shift(each), grid = gridDim.x;
        const u32 apart = log_walk_run + shift; /* log2 of blocks, run to run */
        const u32 block =
            ((u32)blockIdx.x >> apart) * run + ((u32)blockIdx.x & (run - 1));
        const u32 blocks =
            (grid >> apart) * run + min_of(grid & ((1u << apart) - 1), run);

        first = (W)block * (u32)blockDim.x + (u32)threadIdx.x;
        step = (W)blocks * (u32)blockDim.x;
    }
};

/* whether no place of a walk over n items, nor the next ones, leaves u32 */
DEV bool walk_is_short(u64 n)
{
    return n < 1ull << 31 && global_threads() < 1ull << 30;
}
