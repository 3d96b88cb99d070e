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
 * an item is several elements, one block in `every` walks and the others leave
 * at once, which moves memory faster than most threads of all blocks idling.
 */
struct Walk {
    u64 first, step;

    DEV_MEMBER explicit Walk(u64 n)
    {
        const u64 threads = global_threads();
        const u64 spare = n > 0 ? divide(threads, n) : 1;
        const u32 every = spare > 16 ? 16 : spare > 1 ? (u32)spare : 1;
        const u32 block = (u32)blockIdx.x / every;
        const u64 walkers = div_up((u32)gridDim.x, every);

        first = (u64)block * (u32)blockDim.x + (u32)threadIdx.x;
        step = walkers * (u32)blockDim.x;
        if ((u32)blockIdx.x % every != 0)
            first = ~(u64)0;
    }
};
