/*
 * sort/network.h - a block's items sorted by a bitonic network
 *
 * The network merges blocks of 2, 4, ... P items: its first step compares item
 * i with its mirror image in the block, i ^ (size - 1), the following ones with
 * i ^ (size / 4), ... i ^ 1. The smaller item always goes to the lower place,
 * so places from ncols up need not exist: nothing is ever swapped into them. A
 * thread keeps 1, 4 or 16 neighbouring items in registers: steps among them
 * cost no exchange, steps within 32 lanes are lane exchanges, and only those
 * across waves go through LDS, a word at a time. Rows that do not fit are
 * sorted as columns in memory.
 */
#pragma once

#include "sort/item.h"

/* The smaller of mine and other if `lower`, else the larger. */
template <typename Item>
DEV Item keep(const Item &mine, const Item &other, bool lower)
{
    return choose(less(mine, other) == lower, mine, other);
}

template <typename Item> DEV void order(Item &low, Item &high)
{
    const bool swap = less(high, low);
    const Item t = choose(swap, high, low);
    high = choose(swap, low, high);
    low = t;
}

/* The steps i ^ from, i ^ (from / 2), ... i ^ 1 inside a thread. */
template <u32 from, typename Item, u32 each>
DEV void merge_own(Item (&items)[each])
{
    if constexpr (from > 0) {
        UNROLL
        for (u32 e = 0; e < each; e++)
            if ((e & from) == 0)
                order(items[e], items[e | from]);
        merge_own<from / 2>(items);
    }
}

template <u32 size, typename Item, u32 each>
DEV void sort_own(Item (&items)[each])
{
    if constexpr (size > 1) {
        sort_own<size / 2>(items);
        UNROLL
        for (u32 e = 0; e < each; e++)
            if ((e & size / 2) == 0)
                order(items[e], items[e ^ (size - 1)]);
        merge_own<size / 4>(items);
    }
}

/*
 * A step between lanes: thread ^ mask, and own places mirrored or not. Few
 * items are exchanged with masks known to the compiler (see lane_merge()).
 */
template <bool mirror, typename Item, u32 each, typename Exchange>
DEV void lane_step(Item (&items)[each], u32 top, Exchange exchange)
{
    constexpr u32 last = each - 1;
    const bool lower = (threadIdx.x & top) == 0;
    UNROLL
    for (u32 e = 0; e < each; e++) {
        if (!mirror || each == 1) {
            items[e] = keep(items[e], exchange(items[e]), lower);
        } else if (e < last - e) { /* e and its mirror image at once */
            const Item a = exchange(items[last - e]);
            const Item b = exchange(items[e]);
            items[e] = keep(items[e], a, lower);
            items[last - e] = keep(items[last - e], b, lower);
        }
    }
}

template <u32 mask, bool mirror, typename Item, u32 each>
DEV void lane_step(Item (&items)[each])
{
    lane_step<mirror>(items, mirror ? (mask + 1) / 2 : mask,
                      [](const Item &i) { return lane_xor<mask>(i); });
}

/* The first step of a block of up to 32 threads. */
template <typename Item, u32 each>
DEV void lane_mirror(Item (&items)[each], u32 n_threads)
{
    if constexpr (each > 4) {
        const u32 from = lane_id() ^ (n_threads - 1);
        lane_step<true>(items, n_threads / 2,
                        [=](const Item &i) { return lane_read(i, from); });
    } else if (n_threads == 2) {
        lane_step<1, true>(items);
    } else if (n_threads == 4) {
        lane_step<3, true>(items);
    } else if (n_threads == 8) {
        lane_step<7, true>(items);
    } else if (n_threads == 16) {
        lane_step<15, true>(items);
    } else {
        lane_step<31, true>(items);
    }
}

/* The steps thread ^ mask, thread ^ (mask / 2), ... thread ^ 1. */
template <typename Item, u32 each>
DEV void lane_merge(Item (&items)[each], u32 mask)
{
    if constexpr (each > 4) {
        NO_UNROLL
        for (; mask > 0; mask /= 2) {
            const u32 from = lane_id() ^ mask;
            lane_step<false>(items, mask,
                             [=](const Item &i) { return lane_read(i, from); });
        }
    } else {
        if (mask >= 16)
            lane_step<16, false>(items);
        if (mask >= 8)
            lane_step<8, false>(items);
        if (mask >= 4)
            lane_step<4, false>(items);
        if (mask >= 2)
            lane_step<2, false>(items);
        if (mask >= 1)
            lane_step<1, false>(items);
    }
}

/*
 * A step between the block's threads, through n_threads * each words of LDS.
 * Threads from n_threads on only take part in the barriers.
 */
template <typename Item, u32 each>
DEV void block_step(Item (&items)[each], u32 *lds, u32 n_threads, u32 mask,
                    bool mirror)
{
    constexpr u32 n_words = sizeof(Item) / 4;
    const u32 thread = threadIdx.x;
    const u32 partner = thread ^ mask;
    const bool lower = thread < partner;
    ItemWords<Item> mine[each], other[each];
    UNROLL
    for (u32 e = 0; e < each; e++)
        mine[e] = other[e] = bits_as<ItemWords<Item>>(items[e]);
    UNROLL
    for (u32 w = 0; w < n_words; w++) {
        __syncthreads(); /* the words before are read */
        if (thread < n_threads) {
            UNROLL
            for (u32 e = 0; e < each; e++)
                lds[e * n_threads + thread] = mine[e].w[w];
        }
        __syncthreads();
        if (thread < n_threads) {
            UNROLL
            for (u32 e = 0; e < each; e++)
                other[e].w[w] =
                    lds[(mirror ? each - 1 - e : e) * n_threads + partner];
        }
    }
    UNROLL
    for (u32 e = 0; e < each; e++)
        items[e] = keep(items[e], bits_as<Item>(other[e]), lower);
}

/* The barriers of sort_in_registers(), for waves without items. */
template <typename Item> DEV void keep_barriers(u32 n_threads)
{
    NO_UNROLL
    for (u32 size = 64; size <= n_threads; size *= 2)
        NO_UNROLL
    for (u32 mask = size; mask >= 64; mask /= 2)
        for (u32 w = 0; w < 2 * sizeof(Item) / 4; w++)
            __syncthreads();
}

/*
 * Sorts the items of each group of n_threads threads, a power of two. With more
 * than 32 threads it needs lds.
 */
template <typename Item, u32 each>
DEV void sort_items(Item (&items)[each], u32 n_threads, u32 *lds)
{
    sort_own<each>(items);
    NO_UNROLL
    for (u32 size = 2; size <= n_threads; size *= 2) {
        u32 mask = size / 4;
        if (size <= 32) {
            lane_mirror(items, size);
        } else {
            block_step(items, lds, n_threads, size - 1, true);
            NO_UNROLL
            for (; mask >= 32; mask /= 2)
                block_step(items, lds, n_threads, mask, false);
        }
        lane_merge(items, mask);
        merge_own<each / 2>(items);
    }
}

/* A row of up to n_threads * each items; n_threads is a power of two. */
template <typename Item, u32 each, bool descending, typename T>
DEV void sort_in_registers(const T *x, u32 *dst, u32 ncols, u32 n_threads,
                           u32 *lds)
{
    const u32 thread = threadIdx.x;
    Item items[each];
    if (!KPK_NVIDIA && each > 1 && thread >= n_threads) {
        keep_barriers<Item>(n_threads);
        return;
    }
    UNROLL
    for (u32 e = 0; e < each; e++) { /* in any order: columns travel along */
        const u32 column = e * n_threads + thread;
        items[e] = last_item<Item>();
        if (thread < n_threads && column < ncols)
            items[e] = make_item<Item, descending>(x[column], column);
    }
    sort_items(items, n_threads, lds);
    if (thread < n_threads) {
        UNROLL
        for (u32 e = 0; e < each; e++)
            if (thread * each + e < ncols)
                dst[thread * each + e] = column_of(items[e]);
    }
}

/*
 * Compares columns[i] and columns[j] for all pairs of a step, looking up their
 * values in x.
 */
template <typename Item, bool descending, typename T>
DEV void memory_step(const T *x, u32 *columns, u32 ncols, u64 padded, u64 size,
                     u64 mask, bool mirror)
{
    /* a pair's lower place has a 0 where `half` has its 1 */
    const u64 half = mirror ? size / 2 : mask;
    for (u64 pair = threadIdx.x; pair < padded / 2; pair += blockDim.x) {
        const u64 i = (pair & ~(half - 1)) << 1 | (pair & (half - 1));
        const u64 j = i ^ (mirror ? size - 1 : mask);
        if (j >= ncols)
            continue;
        const u32 a = columns[i], b = columns[j];
        if (less(make_item<Item, descending>(x[b], b),
                 make_item<Item, descending>(x[a], a))) {
            columns[i] = b;
            columns[j] = a;
        }
    }
    __syncthreads();
}

/* A row of any length; `columns` has room for ncols. */
template <typename Item, bool descending, typename T>
DEV void sort_in_memory(const T *x, u32 *columns, u32 ncols)
{
    for (u32 i = threadIdx.x; i < ncols; i += blockDim.x)
        columns[i] = i;
    __syncthreads();
    u64 padded = 1;
    while (padded < ncols)
        padded *= 2;
    NO_UNROLL
    for (u64 size = 2; size <= padded; size *= 2) {
        u64 mask = size / 2;
        NO_UNROLL
        for (bool mirror = true; mask > 0; mask /= 2, mirror = false)
            memory_step<Item, descending>(x, columns, ncols, padded, size, mask,
                                          mirror);
    }
}
