/*
 * argmax.h - the greatest of rows of logits, by all of a grid
 *
 * logits  [rows, n] of T; argmax_last takes the last row, argmax_rows every row
 * index   a u32 for each row: the place of its greatest number, the first of
 *         equals. A NaN is greater than any number
 * work    two u64 for each, zero before the first launch; a launch leaves them
 *         zero
 *
 * A block adds its greatest number to work[0] by one atomic maximum, and the
 * last of the row's blocks hands the result over. Any 1-D grid; launches that
 * may overlap need work of their own.
 */
#pragma once

#include "early.h"
#include "fused/held_row.h"

/* bits of v in the order of the numbers; both zeros alike */
DEV u32 ordered_bits(f32 v)
{
    const u32 bits = bits_as<u32>(v + 0.0f);

    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

DEV f32 number_of_ordered(u32 ordered)
{
    return bits_as<f32>(ordered >> 31 ? ordered & 0x7fffffffu : ~ordered);
}

/* orders by value, and equal values by falling place; 0 is below every key */
DEV u64 place_key(u32 ordered, u32 i)
{
    return (u64)ordered << 32 | (u32)~i;
}

template <typename T> DEV u64 nan_first_key(T v, u32 i)
{
    const f32 x = convert<f32>(v);

    return place_key(x == x ? ordered_bits(x) : ~0u, i);
}

/*
 * A thread's greatest number and its first place, if numbers are added in
 * rising places. Numbers are compared as floats, and only the final one becomes
 * a key: a key for each number took AMD's vector ALU longer than DRAM takes.
 */
struct greatest_number {
    f32 most;
    u32 place, nan; /* nan: the place of the first, or ~0 */

    DEV_MEMBER explicit greatest_number(u32 first)
        : most(-infinity<f32>()), place(first), nan(~0u)
    {
    }
    template <u32 V, typename T>
    DEV_MEMBER void take(const Pack<T, V> &numbers, u32 from)
    {
        f32 x[V], top = -infinity<f32>();
        bool unordered = false;
        u32 first = from + V - 1;

        UNROLL
        for (u32 i = 0; i < V; i++) {
            x[i] = convert<f32>(numbers[i]);
            top = max_number(top, x[i]);
        }
        UNROLL
        for (u32 i = 0; i < V; i += 2)
            unordered |= __builtin_isunordered(x[i], x[min_of(i + 1, V - 1)]);
        if (unordered) {
            UNROLL
            for (u32 i = V; i-- > 0;)
                first = x[i] != x[i] ? from + i : first;
            nan = min_of(nan, first);
        }
        UNROLL
        for (u32 i = V - 1; i-- > 0;)
            first = x[i] == top ? from + i : first;
        place = top > most ? first : place;
        most = max_number(most, top);
    }
    DEV_MEMBER u64 key() const
    {
        return nan != ~0u ? place_key(~0u, nan)
                          : place_key(ordered_bits(most), place);
    }
};

/* a row for `blocks` blocks; this block has number `block` */
template <typename T>
DEV void argmax_row(const T *logits, u32 *index, u64 *work, u32 n, u32 block,
                    u32 blocks)
{
    constexpr u32 V = vector_length<T>;
    BLOCK_SCRATCH(u64, scratch);
    const team t = block_team();
    const u64 first = (u64)block * blockDim.x + threadIdx.x;
    const u64 step = (u64)blocks * blockDim.x;
    const u32 vectors = is_aligned(logits, 16) ? n / V : 0;
    u64 best = 0;

#if KPK_NVIDIA
    for (u64 k = first; k < vectors; k += step) {
        const Pack<T, V> v = load_pack<V>(logits + k * V);

        UNROLL
        for (u32 i = 0; i < V; i++)
            best = max_of(best, nan_first_key(v[i], (u32)k * V + i));
    }
    for (u64 i = (u64)vectors * V + first; i < n; i += step)
        best = max_of(best, nan_first_key(logits[i], (u32)i));
#else
    if (first < vectors) {
        greatest_number own((u32)first * V);

        for (u64 k = first; k < vectors; k += step)
            own.take(load_pack<V>(logits + k * V), (u32)k * V);
        best = own.key();
    }
    if ((u64)vectors * V + first < n) {
        greatest_number own(vectors * V + (u32)first);

        for (u64 i = (u64)vectors * V + first; i < n; i += step)
            own.take(load_pack<1>(logits + i), (u32)i);
        best = max_of(best, own.key());
    }
#endif
    best = team_reduce(t, scratch, 0, best, larger());
    if (threadIdx.x == 0) {
        atomicMax(&work[0], best);
        fence_release(); /* before this block counts as done */
        if (atomicAdd(&work[1], 1ull) == (u64)blocks - 1) {
            fence_acquire();
            *index = ~(u32)atomicExch(&work[0], 0ull);
            atomicExch(&work[1], 0ull);
        }
    }
}

template <typename T>
DEV void argmax_last(const T *logits, u32 *index, u64 *work, u32 rows, u32 n)
{
    meet_launches();
    if (rows > 0 && n > 0)
        argmax_row(logits + (u64)(rows - 1) * n, index, work, n, blockIdx.x,
                   gridDim.x);
}

/* If the grid has more blocks than rows, several blocks share a row. */
template <typename T>
DEV void argmax_rows(const T *logits, u32 *index, u64 *work, u32 rows, u32 n)
{
    const u32 each = rows > 0 ? max_of((u32)gridDim.x / rows, 1u) : 1;
    const u32 abreast = (u32)gridDim.x / each; /* rows */

    meet_launches();
    if (n == 0)
        return;
    for (u32 row = blockIdx.x / each; row < rows && blockIdx.x / each < abreast;
         row += abreast) {
        argmax_row(logits + (u64)row * n, index + row, work + 2 * (u64)row, n,
                   blockIdx.x % each, each);
        __syncthreads(); /* the next row uses the same scratch */
    }
}
