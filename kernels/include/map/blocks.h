/* blocks.h - which blocks of a grid that is not small do the work of map.h */
#pragma once

#include "compare.h"
#include "walk.h"

/*
 * The blocks that stay. With a thread for each of the n elements one block in k
 * is enough, and one in k * each if that still leaves MANY of them. Strided
 * operands cost a block its preparations, so there threads move STRIDED packs,
 * for grids with a thread for every pack, too.
 *
 * In candle's shape most blocks come only to leave, and memory waits while they
 * do: their check is short and depends on no memory. Five instructions more
 * before they leave cost a tenth on sm_90.
 */
enum { MANY = 256, STRIDED = 8 };

#if KPK_NVIDIA
#define SIZE_ANEW(name, reg, size)                                             \
    DEV u32 name()                                                             \
    {                                                                          \
        u32 n;                                                                 \
        asm volatile("mov.u32 %0, %%" reg ";" : "=r"(n));                      \
        return n;                                                              \
    }
#else
#define SIZE_ANEW(name, reg, size)                                             \
    DEV u32 name()                                                             \
    {                                                                          \
        return size;                                                           \
    }
#endif
SIZE_ANEW(blocks_anew, "nctaid.x", gridDim.x)
SIZE_ANEW(threads_anew, "ntid.x", blockDim.x)
SIZE_ANEW(thread_anew, "tid.x", threadIdx.x)

/*
 * If nvcc knows that an index fits 32 bits, it first loads the address by an
 * instruction that all warps of a block wait for, then adds the index. Any
 * other index it adds to the address directly from the constants.
 */
DEV u64 wide_index(u32 i)
{
    u64 wide = i;
#if KPK_NVIDIA
    asm("" : "+l"(wide));
#endif
    return wide;
}

/*
 * In a larger grid of large blocks only a part of the blocks is needed: one
 * block in k stays, in the largest grids one in k * each.
 *
 * The test for the largest grids comes first, even before the small grid's. It
 * selects between numbers without a branch, and no other code uses its sizes.
 * So nvcc keeps them in uniform registers, which cost no waits.
 */
template <u32 k, u32 each, u32 small = small_grid<k>> DEV bool leaves_at_once()
{
    constexpr u32 large = max_of(MANY * k * each, small + 1);
    constexpr u32 mask = (k * each - 1) << log_walk_run;

    return ((u32)blockIdx.x & mask) >
           (blockDim.x >= 512 && gridDim.x >= large ? 0 : ~0u);
}

template <u32 k, u32 small = small_grid<k>> DEV bool leaves_middle_grid()
{
    return threads_anew() >= 512 && blocks_anew() > small &&
           is_left_out(k, log_walk_run);
}

template <u32 k, u32 each, u32 small = small_grid<k>>
DEV Blocks staying_blocks(u64 n, bool strided)
{
    constexpr u32 k_bits = constant_log2(k);
    const u32 grid = blocks_anew();
    const u64 threads = (u64)grid * threads_anew();
    constexpr u32 strided_bits = constant_log2(STRIDED);
    constexpr u32 each_bits = constant_log2(each);
    constexpr u32 most_bits = max_of(strided_bits, each_bits);
    const u32 more = KPK_NVIDIA && strided ? most_bits : each_bits;
    const bool large_blocks = threads_anew() >= 512;
    u32 shift = 0;
    if (!KPK_NVIDIA && strided) { /* the same by jumps */
        const u32 large = blockDim.x >= 512 ? grid : 0;

        if (compare_here(large) >= MANY * k * each)
            shift = k_bits + most_bits;
        else if (threads >= n || compare_here(large) > small)
            shift = k_bits;
        else if (threads >= n / k && compare_here(grid) >= MANY * STRIDED)
            shift = most_bits;
    } else if (large_blocks && grid >= MANY * k * each)
        shift = k_bits + more;
    else if (threads >= n || (large_blocks && grid > small))
        shift = k_bits;
    else if (KPK_NVIDIA && strided && threads >= n / k &&
             grid >= MANY * STRIDED)
        shift = more;
    return Blocks(shift, grid);
}

/* The packs of one thread: first, first + step, ... */
struct Share {
    u64 first, step;
};

DEV Share share_packs(const Blocks &blocks)
{
    const u32 threads = threads_anew(), thread = threadIdx.x;
    return Share{(u64)blocks.number * threads + thread,
                 (u64)blocks.count * threads};
}
