/* team.h - which blocks of a launch do the work, and who takes which packs */
#pragma once

#include "device.h"

/*
 * The blocks that stay. With a thread for each of the n elements one block in k
 * is enough, and one in k * each if that still leaves MANY of them. Strided
 * operands cost a block its preparations, so there threads move STRIDED packs,
 * for grids with a thread for every pack, too. Those that stay lie in runs of
 * 8, as chips of up to 8 dies deal blocks to the dies in turn.
 *
 * In candle's shape most blocks come only to leave, and memory waits while they
 * do: what they ask is short and depends on no memory.
 */
enum { RUN = KPK_NVIDIA ? 1 : 8, MANY = 256, STRIDED = 8 };

struct Team {
    u32 block, nblocks; /* this block among those that stay */
    bool stays;
};

DEV constexpr u32 log2_of(u32 v)
{
    return v > 1 ? 1 + log2_of(v / 2) : 0;
}

/*
 * A large grid of large blocks has a thread for every element, or is so large
 * that it may do with a part of its blocks all the same.
 */
template <u32 apart> DEV bool is_large_grid()
{
    return blockDim.x >= 512 && gridDim.x >= MANY * apart;
}

/*
 * Most blocks of candle's shape, in as few instructions as will do. On sm_90
 * the two sizes must come by way of uniform registers, or all of those blocks
 * take a fifth longer: hence a comparison that has a uniform side, which the
 * compiler does not see through, and sizes that are read anew for what follows.
 */
template <u32 k, u32 each> DEV bool leaves_at_once()
{
#if KPK_NVIDIA
    u32 last = is_large_grid<k * each>() ? 0 : ~0u; /* that stays */
    asm("" : "+r"(last));
    return (blockIdx.x & (k * each - 1) * RUN) > last;
#else
    return is_large_grid<k * each>() &&
           (blockIdx.x & (k * each - 1) * RUN) != 0;
#endif
}

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

template <u32 apart> DEV bool is_large_anew()
{
#if KPK_NVIDIA
    return threads_anew() >= 512 && blocks_anew() >= MANY * apart;
#else
    return is_large_grid<apart>();
#endif
}

template <u32 k, u32 each> DEV Team make_team(u64 n, bool strided)
{
    constexpr u32 k_bits = log2_of(k);
    const u32 grid = blocks_anew(), runs = blockIdx.x / RUN;
    const u64 threads = (u64)grid * threads_anew();
    constexpr u32 strided_bits = log2_of(STRIDED), each_bits = log2_of(each);
    const u32 more = strided ? max_of(strided_bits, each_bits) : each_bits;
    u32 shift = 0;
    if (is_large_anew<k * each>())
        shift = k_bits + more;
    else if (threads >= n)
        shift = k_bits;
    else if (strided && threads >= n / k && grid >= MANY * STRIDED)
        shift = more;
    const u32 apart = 1u << shift;
    Team team;
    team.stays = (runs & (apart - 1)) == 0;
    team.block = (runs >> shift) * RUN + blockIdx.x % RUN;
    team.nblocks = (grid / RUN >> shift) * RUN +
                   min_of<u32>(grid & (RUN * apart - 1), RUN);
    return team;
}

/* The packs of one thread: first, first + step, ... */
struct Share {
    u64 first, step;
};

DEV Share share_packs(const Team &team)
{
    const u32 threads = threads_anew(), thread = threadIdx.x;
    return Share{(u64)team.block * threads + thread,
                 (u64)team.nblocks * threads};
}
