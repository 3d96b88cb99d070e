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
 * A grid-stride walk over n items. The host launches a thread an element; where
 * a thread takes `each` elements at a time, one block in `each` walks, as long as
 * that fills a GPU, and the others leave at once: first is n for them. They are
 * most of the launch, so nothing may come before this, loads and divisions least
 * of all. W is u32 where walk_is_short(), for shorter divisions, else u64.
 */
template <typename W> struct Walk {
    W first, step;

    DEV_MEMBER Walk(W n, u32 each)
    {
        const u32 log = 31 - (u32)__clz((int)each);
        constexpr u64 filling = 1u << 20; /* threads: more than it holds */
        const u32 shift = global_threads() >> log >= filling ? log : 0;
        const u32 block = (u32)blockIdx.x >> shift;
        const u32 walkers = (((u32)gridDim.x - 1) >> shift) + 1;

        first = block << shift == blockIdx.x
                    ? (W)block * (u32)blockDim.x + (u32)threadIdx.x
                    : n;
        step = (W)walkers * (u32)blockDim.x;
    }
};

/* whether no place of a walk over n items, nor the next one, leaves u32 */
DEV bool walk_is_short(u64 n)
{
    return n < 1ull << 31 && global_threads() < 1ull << 31;
}
