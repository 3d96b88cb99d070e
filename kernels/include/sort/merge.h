/*
 * sort/merge.h - long rows: tiles sorted by a block each, then merged in pairs
 *
 * Two sorted runs are merged by ranks: an item's place is its own place in its
 * run, and the number of smaller items in the other run, which a binary search
 * in LDS finds. A block sorts a tile so from the runs of 128 items that 32
 * lanes sort in registers. Longer runs lie in memory. Each block there makes
 * MERGED items of the result. It searches where in both runs these begin and
 * end, 32 places at a time, because each step waits for memory.
 */
#pragma once

#include "sort/network.h"

enum {
    SORT_TILE = 2048,
    SORT_TILE_THREADS = 512,
    MERGED = 1024, /* divides SORT_TILE */
    MERGE_THREADS = 256
};

/* The number of items in items[0, n) that are less than `item`, or with up_to
 * less or equal. */
template <bool up_to, typename Item>
DEV u32 rank_of(const Item &item, const Item *items, u32 n)
{
    u32 low = 0;
    while (n > 0) { /* the answer is among low, ... low + n */
        const u32 half = n / 2;
        const Item &middle = items[low + half];
        const bool before = up_to ? !less(item, middle) : less(middle, item);
        low = before ? low + half + 1 : low;
        n = before ? n - half - 1 : half;
    }
    return low;
}

/* The place of item i in the merge of [begin, middle) and [middle, end). Of
 * equal items, which only fill the end, the first run's come first. */
template <typename Item>
DEV u32 merged_place(const Item *lds, u32 i, u32 begin, u32 middle, u32 end)
{
    const Item item = lds[i];
    if (i < middle)
        return i + rank_of<false>(item, lds + middle, end - middle);
    return i - middle + begin +
           rank_of<true>(item, lds + begin, middle - begin);
}

/* Sorts a row's SORT_TILE columns from `first` on, to the same places of `out`.
 * In blocks of SORT_TILE_THREADS. */
template <typename Item, bool descending, typename T>
DEV void sort_tile(const T *x, Item *out, u32 ncols, u32 first)
{
    constexpr u32 each = SORT_TILE / SORT_TILE_THREADS;
    __shared__ Item lds[SORT_TILE];
    const u32 thread = threadIdx.x;
    Item items[each];
    UNROLL
    for (u32 e = 0; e < each; e++) {
        const u32 column = first + e * SORT_TILE_THREADS + thread;
        items[e] = last_item<Item>();
        if (column < ncols)
            items[e] = make_item<Item, descending>(x[column], column);
    }
    sort_items(items, 32, nullptr);
    UNROLL
    for (u32 e = 0; e < each; e++)
        lds[thread * each + e] = items[e];
    NO_UNROLL
    for (u32 run = 32 * each; run < SORT_TILE; run *= 2) {
        u32 places[each];
        __syncthreads();
        UNROLL
        for (u32 e = 0; e < each; e++) {
            const u32 i = e * SORT_TILE_THREADS + thread;
            const u32 begin = i & ~(2 * run - 1);
            items[e] = lds[i];
            places[e] =
                merged_place(lds, i, begin, begin + run, begin + 2 * run);
        }
        __syncthreads();
        UNROLL
        for (u32 e = 0; e < each; e++)
            lds[places[e]] = items[e];
    }
    __syncthreads();
    for (u32 i = thread; i < SORT_TILE && first + i < ncols;
         i += SORT_TILE_THREADS)
        out[first + i] = lds[i];
}

/*
 * Items of `a` among the first `n` of the merge of a[0, na) and b[0, nb), by 32
 * lanes: the number of those below the item of `b` that would stand there.
 */
template <typename Item>
DEV u32 split_merge(const Item *a, u32 na, const Item *b, u32 nb, u32 n)
{
    u32 low = n > nb ? n - nb : 0, high = min_of(n, na);
    while (low < high) {
        const u32 step = div_up(high - low, 32u);
        const u32 i = low + (threadIdx.x & 31) * step + step - 1;
        const u32 below = i < high && less(a[i], b[n - 1 - i]);
        const u32 steps = join_lanes(below, [](u32 x, u32 y) { return x + y; });
        low += steps * step;
        high = min_of(high, low + step - 1);
    }
    return low;
}

/*
 * Merges pairs of runs of `run` items: makes MERGED items of a row, from
 * `first` on. Stores the items to `out`, or their columns to dst if it is not
 * null. Blocks have MERGE_THREADS threads.
 */
template <typename Item>
DEV void merge_runs(const Item *in, Item *out, u32 *dst, u32 ncols, u32 run,
                    u32 first)
{
    constexpr u32 each = MERGED / MERGE_THREADS;
    __shared__ Item lds[MERGED];
    __shared__ u32 splits[2];
    const u32 thread = threadIdx.x;
    const u32 begin = first & ~(2 * run - 1);
    const u32 na = min_of(run, ncols - begin);
    const u32 nb = min_of(run, ncols - begin - na);
    const Item *a = in + begin, *b = a + na;
    const u32 from = first - begin, to = min_of(from + MERGED, na + nb);
    if (thread < 64) {
        const u32 split = split_merge(a, na, b, nb, thread < 32 ? from : to);
        if (thread % 32 == 0)
            splits[thread / 32] = split;
    }
    __syncthreads();
    const u32 a0 = splits[0], n0 = splits[1] - a0, n = to - from;
    const u32 b0 = from - a0;
    Item items[each];
    u32 places[each];
    UNROLL
    for (u32 e = 0; e < each; e++) {
        const u32 i = e * MERGE_THREADS + thread;
        if (i < n)
            lds[i] = items[e] = i < n0 ? a[a0 + i] : b[b0 + i - n0];
    }
    __syncthreads();
    UNROLL
    for (u32 e = 0; e < each; e++) {
        const u32 i = e * MERGE_THREADS + thread;
        if (i < n)
            places[e] = merged_place(lds, i, 0, n0, n);
    }
    __syncthreads();
    UNROLL
    for (u32 e = 0; e < each; e++)
        if (e * MERGE_THREADS + thread < n)
            lds[places[e]] = items[e];
    __syncthreads();
    for (u32 i = thread; i < n; i += MERGE_THREADS) {
        if (dst)
            dst[first + i] = column_of(lds[i]);
        else
            out[first + i] = lds[i];
    }
}
