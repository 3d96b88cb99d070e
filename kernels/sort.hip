/*
 * sort.hip - asort: the column indices that sort each row
 *
 *   x    [nrows, ncols] contiguous
 *   dst  [nrows, ncols] u32: dst[r][i] is the column of row r's i-th value
 *
 * One block a row. The order is total and the sort stable: equal values (and
 * -0 and +0) stay in the order of their columns; NaN is larger than everything,
 * so it comes last in ascending order and first in descending order.
 *
 * Callers launch min(P, 1024) threads and 4 P bytes of dynamic shared memory, P
 * being the power of two from ncols up (ncols_pad). Any power of two of threads
 * gives the same result, and more than 16384 columns need no shared memory.
 *
 * A value and its column make an item; items are unique, so any sorting network
 * is stable. The network merges blocks of 2, 4, ... P items: its first step
 * compares item i with its mirror image in the block, i ^ (size - 1), the
 * following ones with i ^ (size / 4), ... i ^ 1. The smaller item always goes
 * to the lower place, so places from ncols up need not exist: nothing is ever
 * swapped into them. A thread keeps 1, 4 or 16 neighbouring items in registers:
 * steps among them cost no exchange, steps within 32 lanes are lane exchanges,
 * and only those across waves go through LDS, a word at a time. Rows that do
 * not fit are sorted as columns in LDS or, beyond 16384, in dst itself.
 */
#include "device.h"

/* ---- items ---- */

/*
 * A value as an unsigned number in the same order. Signed integers have their
 * sign bit flipped; negative floats have all bits flipped, positive ones the
 * sign bit. Zeros become equal, and NaN the largest.
 */
template <typename U, typename T> DEV U ordered(T x)
{
    constexpr u32 nbits = 8 * sizeof(T);
    constexpr U sign = (U)1 << (nbits - 1);
    constexpr U all = sign | (sign - 1);
    typedef typename Word<sizeof(T)>::type Bits;
    if constexpr (traits<T>::is_float) {
        U bits;
        if constexpr (sizeof(T) == 8)
            bits = bits_as<u64>(x);
        else
            bits = bits_as<Bits>(x);
        if (x != x)
            return all;
        if (x == 0)
            return sign;
        return (bits & sign) != 0 ? bits ^ all : bits | sign;
    } else if constexpr ((T)-1 < (T)0) {
        return ((U)x & all) ^ sign;
    } else {
        return (U)x;
    }
}

/* An 8 or 16 bit value and a column below 65535. */
struct Narrow {
    u32 word;
};
/* Up to 32 bits, and any column. */
struct Wide {
    u64 word;
};
struct Widest {
    u32 column, low, high;
};

DEV bool less(Narrow a, Narrow b)
{
    return a.word < b.word;
}
DEV bool less(Wide a, Wide b)
{
    return a.word < b.word;
}
DEV bool less(const Widest &a, const Widest &b)
{
    const u64 ka = (u64)a.high << 32 | a.low;
    const u64 kb = (u64)b.high << 32 | b.low;
    return ka < kb || (ka == kb && a.column < b.column);
}

/* Spelled out, or the compiler would choose between addresses. */
template <typename Item> DEV Item choose(bool first, Item a, Item b)
{
    return Item{first ? a.word : b.word};
}
DEV Widest choose(bool first, const Widest &a, const Widest &b)
{
    return Widest{first ? a.column : b.column, first ? a.low : b.low,
                  first ? a.high : b.high};
}

DEV u32 column_of(Narrow a)
{
    return a.word & 0xffffu;
}
DEV u32 column_of(Wide a)
{
    return (u32)a.word;
}
DEV u32 column_of(const Widest &a)
{
    return a.column;
}

template <typename Item, bool descending, typename T>
DEV Item make_item(T x, u32 column)
{
    if constexpr (is_same<Item, Narrow>::value) {
        const u32 key = ordered<u32>(x);
        return Narrow{(descending ? ~key : key) << 16 | column};
    } else if constexpr (is_same<Item, Wide>::value) {
        const u32 key = ordered<u32>(x);
        return Wide{(u64)(descending ? ~key : key) << 32 | column};
    } else {
        u64 key = ordered<u64>(x);
        key = descending ? ~key : key;
        return Widest{column, (u32)key, (u32)(key >> 32)};
    }
}

template <typename Item> struct ItemWords {
    u32 w[sizeof(Item) / 4];
};

/* The item for places behind the row's end, larger than any other. */
template <typename Item> DEV Item last_item()
{
    ItemWords<Item> words;
    UNROLL
    for (u32 w = 0; w < sizeof(Item) / 4; w++)
        words.w[w] = ~0u;
    return bits_as<Item>(words);
}

/* ---- rows in registers ---- */

/* The smaller of mine and other for the lower place, else the larger. */
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
    if (thread < n_threads) {
        UNROLL
        for (u32 e = 0; e < each; e++)
            if (thread * each + e < ncols)
                dst[thread * each + e] = column_of(items[e]);
    }
}

/* ---- rows in memory ---- */

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

/* ---- the kernels ---- */

/* 64 KiB of LDS, a word a column */
enum { MAX_COLUMNS_IN_LDS = 16384 };

template <bool descending, typename Item, typename LongItem, typename T>
DEV void sort_row(const T *x, u32 *dst, i32 ncols_signed)
{
    LDS_BYTES(lds_bytes);
    u32 *lds = reinterpret_cast<u32 *>(lds_bytes);
    if (ncols_signed <= 0)
        return;
    const u32 ncols = (u32)ncols_signed;
    x += (u64)blockIdx.x * ncols;
    dst += (u64)blockIdx.x * ncols;
    if (ncols > MAX_COLUMNS_IN_LDS) {
        sort_in_memory<LongItem, descending>(x, dst, ncols);
        return;
    }
    u32 padded = 1;
    while (padded < ncols)
        padded *= 2;
    const u32 n_threads = blockDim.x;
    /* on AMD whole waves of threads with 4 items each exchange far less */
    if (padded <= n_threads && (KPK_NVIDIA || padded < 4 * wave_size())) {
        sort_in_registers<Item, 1, descending>(x, dst, ncols, padded, lds);
        return;
    }
    if (padded <= 4 * n_threads) {
        sort_in_registers<Item, 4, descending>(x, dst, ncols,
                                               div_up(padded, 4u), lds);
        return;
    }
    if constexpr (sizeof(Item) <= 8) { /* or registers would not do */
        if (padded <= 16 * n_threads) {
            sort_in_registers<Item, 16, descending>(x, dst, ncols,
                                                    div_up(padded, 16u), lds);
            return;
        }
    }
    sort_in_memory<LongItem, descending>(x, lds, ncols);
    for (u32 i = threadIdx.x; i < ncols; i += blockDim.x)
        dst[i] = lds[i];
}

#define EXPORT_ORDER(name, descending, T, suffix, Item, LongItem)              \
    KERNEL_PAIRED name##_##suffix(const T *x, u32 *dst, i32 ncols,             \
                                  i32 ncols_pad)                               \
    {                                                                          \
        (void)ncols_pad; /* follows from ncols */                              \
        sort_row<descending, Item, LongItem>(x, dst, ncols);                   \
    }
#define EXPORT(T, suffix, Item, LongItem)                                      \
    EXPORT_ORDER(asort_asc, false, T, suffix, Item, LongItem)                  \
    EXPORT_ORDER(asort_desc, true, T, suffix, Item, LongItem)

EXPORT(u8, u8, Narrow, Wide)
EXPORT(u32, u32, Wide, Wide)
EXPORT(i64, i64, Widest, Widest)
EXPORT(f16, f16, Narrow, Wide)
EXPORT(bf16, bf16, Narrow, Wide)
EXPORT(f32, f32, Wide, Wide)
EXPORT(f64, f64, Widest, Widest)

/* Extensions: hosts ask for them, candle's CUDA kernels lack them. */
EXPORT(i16, i16, Narrow, Wide)
EXPORT(i32, i32, Wide, Wide)
