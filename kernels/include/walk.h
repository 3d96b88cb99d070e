/*
 * walk.h - which threads of a launch take which elements, or packs of them
 *
 * The host launches a thread an element. The best way follows from the grid:
 *
 *   small   it fits the card at once, or nearly: every thread takes its
 *           element. The time to the first load decides, and an idle
 *           multiprocessor makes the others take longer
 *   middle  every block works, by its first threads, on packs of 16 bytes
 *   large   one block in `each`, a power of two, works, or in as many as leaves
 *           enough for a GPU, several packs a thread; the others leave at once.
 *           They are most of the launch, so a kernel asks that before all else
 *
 * An H200 holds 264 blocks of 1024 threads at once, an MI300X 608, a Navi 31
 * 192: AMD's larger chips want more blocks, not fewer. There a grid is small as
 * long as one block for each k elements of a pack would leave some of 304
 * compute units without a block; a smaller chip then runs the grid in a few
 * rounds, at the cost of narrower loads.
 */
#pragma once

#include "device.h"

/* blocks of a small grid, at most; k: elements of a pack */
template <u32 k> constexpr u32 small_grid = KPK_NVIDIA ? 768 : 304 * k;

template <u32 k> DEV bool is_small_grid()
{
    return gridDim.x <= small_grid<k>;
}

/* this thread of a small grid */
DEV u32 small_thread()
{
    return (u32)blockIdx.x * (u32)blockDim.x + (u32)threadIdx.x;
}

/* whether a small grid has a thread for each of n elements */
DEV bool covers(u64 n)
{
    return n <= (u32)gridDim.x * (u32)blockDim.x;
}

/*
 * Whether this block leaves: one block in `each`, a power of two, stays. The
 * blocks that stay lie in runs of 2^log_run blocks.
 */
DEV bool is_left_out(u32 each, u32 log_run = 0)
{
    return ((u32)blockIdx.x >> log_run & (each - 1)) != 0;
}

/* AMD's chips of up to 8 dies deal blocks to the dies in turn: runs of 8 */
constexpr u32 log_walk_run = KPK_NVIDIA ? 0 : 3;

/* The blocks that stay if one block in 2^shift stays. */
struct Blocks {
    u32 number, count; /* this block's place among them; their number */
    bool stays;

    DEV_MEMBER explicit Blocks(u32 shift, u32 grid = gridDim.x)
    {
        constexpr u32 run = 1u << log_walk_run;
        const u32 apart = log_walk_run + shift; /* log2 of blocks, run to run */

        stays = !is_left_out(1u << shift, log_walk_run);
        number =
            ((u32)blockIdx.x >> apart) * run + ((u32)blockIdx.x & (run - 1));
        count = (grid >> apart) * run + min_of(grid & ((1u << apart) - 1), run);
    }
};

DEV u32 walk_shift(u32 each)
{
    constexpr u32 log_filling = 20; /* threads */
    const u32 most = (u32)(global_threads() >> log_filling) | 1;

    return min_of(log2_of(most), log2_of(each));
}

/* Whether the block has no part in a walk by packs. For large grids of 1024
 * threads a block, the test takes few instructions. */
DEV bool leaves_at_once(u32 each)
{
    if (blockDim.x == 1024 && gridDim.x >= each << 10)
        return is_left_out(each, log_walk_run);
    return is_left_out(1u << walk_shift(each), log_walk_run);
}

/*
 * A thread's packs of n in all, if its block stays. If the launch has more
 * threads than packs, the first threads of each block take them. W is u32 if
 * walk_is_short(), else u64.
 */
template <typename W> struct Walk {
    W first, step;

    DEV_MEMBER Walk(u32 each, W n)
    {
        const Blocks blocks(walk_shift(each));
        u32 mine = blockDim.x;

        while (mine % 64 == 0 && n <= (W)(mine / 2) * blocks.count)
            mine /= 2;
        step = (W)mine * blocks.count;
        first = (u32)threadIdx.x < mine
                    ? (W)blocks.number * mine + (u32)threadIdx.x
                    : n;
    }
};

/* Whether all indices of a walk over n items fit u32, even after the last step.
 */
DEV bool walk_is_short(u64 n)
{
    return n < 1ull << 31 && global_threads() < 1ull << 30;
}
