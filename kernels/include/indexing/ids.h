/*
 * ids.h - indices that come from a tensor, and how threads share the work
 *
 * The largest value of the index type is a marker, 'no element'. Negative ids
 * and ids past the end are treated like it: a read gives 0, a write is left
 * out. No id makes a kernel touch memory outside its buffers.
 */
#pragma once

#include "division.h"

template <typename I> DEV I id_marker()
{
    constexpr bool is_signed = (I)-1 < (I)0;

    return (I)(~(u64)0 >> (64 - 8 * sizeof(I) + is_signed));
}

/* whether id names one of `dim` elements; negative ids are huge as unsigned */
template <typename I> DEV bool is_element(I id, u64 dim)
{
    return id != id_marker<I>() && (u64)(i64)id < dim;
}

/*
 * A grid-stride walk. The host launches a thread an element; where a thread
 * takes `each` elements at a time, a power of two, one block in `each` walks,
 * or in as many as leaves enough for a GPU, and the others leave at once. They
 * are most of the launch, so a kernel asks that before all else.
 */
DEV u32 walk_shift(u32 each)
{
    constexpr u32 log_filling = 20; /* threads */
    const u32 most = (u32)(global_threads() >> log_filling) | 1;

    return min_of(31 - (u32)__clz((int)most), 31 - (u32)__clz((int)each));
}

/* A block that leaves for some `each` leaves for a larger one too. */
DEV bool leaves_at_once(u32 each)
{
    return ((u32)blockIdx.x & ((1u << walk_shift(each)) - 1)) != 0;
}

/* of a block that does not leave; W is u32 where walk_is_short(), else u64 */
template <typename W> struct Walk {
    W first, step;

    DEV_MEMBER explicit Walk(u32 each)
    {
        const u32 shift = walk_shift(each);

        first =
            (W)((u32)blockIdx.x >> shift) * (u32)blockDim.x + (u32)threadIdx.x;
        step = (W)((((u32)gridDim.x - 1) >> shift) + 1) * (u32)blockDim.x;
    }
};

/* whether no place of a walk over n items, nor the next ones, leaves u32 */
DEV bool walk_is_short(u64 n)
{
    return n < 1ull << 31 && global_threads() < 1ull << 30;
}
