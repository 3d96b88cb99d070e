/*
 * held_row.h - a block's row: held in registers where it fits, else met twice
 *
 * A row is a block's, blockIdx.x, shared by the threads along x; reduce/row.h
 * says how it is spread over them.
 */
#pragma once

#include "reduce/row.h"

/* the block as a team */
DEV team block_team()
{
    return make_team(blockDim.x, threadIdx.x, 0, 1);
}

/* LDS for the sums and maxima of a block */
#define BLOCK_SCRATCH(A, name)                                                 \
    __shared__ A name##_slots[2][max_groups];                                  \
    __shared__ A name##_all[max_block];                                        \
    const team_scratch<A> name = {name##_slots, name##_all}

/*
 * Returns f.run<V, K>() if K = 1 or F::most vectors a thread hold n columns,
 * else f.stream<V>(). Rows that are not aligned go through f.stream<1>().
 */
template <typename T, typename F>
DEV auto with_block_row(F &f, bool aligned, u32 n)
{
    constexpr u32 V = vector_length<T>;
    const u32 threads = blockDim.x;

    if (aligned && n <= threads * V)
        return f.template run<V, 1>();
    if (aligned && n <= F::most * threads * V)
        return f.template run<V, F::most>();
    if (aligned)
        return f.template stream<V>();
    return f.template stream<1>();
}

/* every number of x becomes f(x, y) of the two tiles' */
template <typename T, u32 V, u32 K, typename F>
DEV void combine(row_tile<T, V, K> &x, const row_tile<T, V, K> &y, F f)
{
    UNROLL
    for (u32 i = 0; i < K * V; i++)
        x.v[i / V][i % V] = f(x.v[i / V][i % V], y.v[i / V][i % V]);
}

/* vectors of V that a thread takes at once of a row in pieces */
template <u32 V> constexpr u32 piece = V == 1 ? 4 : 2;
