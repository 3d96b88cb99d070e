/*
 * sort.hip - asort: the column indices that sort each row
 *
 *   x    [nrows, ncols] contiguous
 *   dst  [nrows, ncols] u32: dst[r][i] is the column of row r's i-th value
 *
 * The order is total and the sort stable: equal values (and -0 and +0) stay in
 * the order of their columns; NaN is larger than everything, so it comes last
 * in ascending order and first in descending order.
 *
 * asort_asc_T, asort_desc_T: one block a row. Callers launch min(P, 1024)
 * threads and 4 P bytes of dynamic shared memory, P being the power of two from
 * ncols up (ncols_pad). Any power of two of threads gives the same result, and
 * more than 16384 columns need no shared memory (sort/network.h).
 *
 * asort_tiles_asc_T, asort_tiles_desc_T, then asort_merge_wide, or for i64 and
 * f64 asort_merge_widest: many blocks a row, for long rows. host/sort_rows.h
 * launches them.
 *
 *   items  [nrows, ncols], of 2 words, or 3 for i64 and f64 (sort/item.h)
 *   grid   (ceil(ncols / 2048), nrows) for tiles, in blocks of 512 threads;
 *          (ceil(ncols / 1024), nrows) for merges, in blocks of 256
 *   run    items that are sorted already: 2048, then 4096 ...
 *   dst    null in all merges but the last, which reads `in` and writes dst
 */
#include "device.h"
#include "sort/merge.h"

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

/* A row of a long sort's launch: its part of x, dst or items. */
template <typename T> DEV T *row_of(T *p, u32 ncols)
{
    return p + (u64)(u32)blockIdx.y * ncols;
}

template <bool descending, typename Item, typename T>
DEV void sort_tiles(const T *x, u32 *items, u32 ncols)
{
    sort_tile<Item, descending>(row_of(x, ncols),
                                row_of(reinterpret_cast<Item *>(items), ncols),
                                ncols, blockIdx.x * SORT_TILE);
}

#define EXPORT_TILES(name, descending, T, suffix, Item)                        \
    KERNEL_UP_TO(512) name##_##suffix(const T *x, u32 *items, u32 ncols)       \
    {                                                                          \
        sort_tiles<descending, Item>(x, items, ncols);                         \
    }

#define EXPORT_MERGE(name, Item)                                               \
    KERNEL_UP_TO(256)                                                          \
    name(const u32 *in, u32 *out, u32 *dst, u32 ncols, u32 run)                \
    {                                                                          \
        merge_runs(row_of(reinterpret_cast<const Item *>(in), ncols),          \
                   row_of(reinterpret_cast<Item *>(out), ncols),               \
                   dst ? row_of(dst, ncols) : dst, ncols, run,                 \
                   blockIdx.x *MERGED);                                        \
    }
EXPORT_MERGE(asort_merge_wide, Wide)
EXPORT_MERGE(asort_merge_widest, Widest)

#define EXPORT(T, suffix, Item, LongItem)                                      \
    EXPORT_ORDER(asort_asc, false, T, suffix, Item, LongItem)                  \
    EXPORT_ORDER(asort_desc, true, T, suffix, Item, LongItem)                  \
    EXPORT_TILES(asort_tiles_asc, false, T, suffix, LongItem)                  \
    EXPORT_TILES(asort_tiles_desc, true, T, suffix, LongItem)

EXPORT(u8, u8, Narrow, Wide)
EXPORT(u32, u32, Wide, Wide)
EXPORT(i64, i64, Widest, Widest)
EXPORT(f16, f16, Narrow, Wide)
EXPORT(bf16, bf16, Narrow, Wide)
EXPORT(f32, f32, Wide, Wide)
EXPORT(f64, f64, Widest, Widest)

/* Extensions, which candle's CUDA kernels lack but hosts request. */
EXPORT(i16, i16, Narrow, Wide)
EXPORT(i32, i32, Wide, Wide)
