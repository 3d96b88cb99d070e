/* bulk_rows.h - rows of blocks as sm_90's copy engine brings them to LDS */
#pragma once

#include "gguf/block.h"
#include "nvidia/copy/bulk_copy.h"

/* The bytes from row to row in LDS, for rows of nbytes: an odd number of 16, so
 * that eight rows lie in different banks. */
DEV constexpr int lds_stride(int nbytes)
{
    return 16 * ((nbytes + 15) / 16 | 1);
}

/*
 * Rows come in stages of Blocks times 32 weights. They begin and end anywhere
 * in a matrix x that is aligned to 16: the granules of 16 bytes around a row's
 * stage are copied, and the row keeps its place in its granule. A granule that
 * the matrix ends within is copied by hand, so nothing behind it is read.
 */
template <class F, int Blocks> struct BulkRows {
    static constexpr int nbytes = Blocks * 32 / F::elems * F::bytes;
    static constexpr int stride =
        lds_stride(F::bytes % 16 == 0 ? nbytes : nbytes + 14);

    const u8 *x;
    size_t row_bytes, x_bytes;
    int row0, nrows; /* the first row in LDS; the end of rows */

    /* the offset in x of a stage of a row */
    DEV_MEMBER size_t begin_of(int row, int stage) const
    {
        return (size_t)row * row_bytes + (size_t)stage * nbytes;
    }

    /*
     * In one lane: starts the copies of rows first .. first + Count - 1 in LDS,
     * of the first `size` bytes of their stage. Returns the bytes on their way.
     */
    template <int Count>
    DEV_MEMBER u32 copy(u64 *barrier, u8 *lds, int first, int stage,
                        int size) const
    {
        const int rows = min_of(nrows - row0 - first, Count);
        size_t at = begin_of(row0 + first, stage);
        u32 total = 0;

        lds += first * stride;
        if (rows == Count && row_bytes % 16 == 0) {
            const u32 whole = ((u32)(at & 15) + (u32)size + 15) & ~15u;
            const u8 *row = x + (at & ~(size_t)15);

            UNROLL
            for (int r = 0; r < Count; r++, row += row_bytes)
                bulk_copy(barrier, lds + r * stride, row, whole);
            return Count * whole;
        }
        NO_UNROLL
        for (int r = 0; r < rows; r++, at += row_bytes) {
            const size_t from = at & ~(size_t)15;
            const size_t there = (x_bytes & ~(size_t)15) - from;
            u32 whole = ((u32)(at & 15) + (u32)size + 15) & ~15u;

            if (there < whole)
                whole = (u32)there;
            bulk_copy(barrier, lds + r * stride, x + from, whole);
            total += whole;
        }
        return total;
    }

    /* In the whole warp, for the same rows: copies the last granule's bytes. */
    DEV_MEMBER void copy_end(u8 *lds, int first, int count, int stage,
                             int size) const
    {
        if (x_bytes % 16 == 0)
            return;

        const int last = min_of(nrows - row0, first + count) - 1;
        const size_t begin = begin_of(row0 + last, stage);
        const size_t at = (x_bytes & ~(size_t)15) + 2 * threadIdx.x;

        if (last >= first && begin + (size_t)size == x_bytes && at < x_bytes)
            *reinterpret_cast<u16 *>(lds + last * stride +
                                     (at - (begin & ~(size_t)15))) =
                load_u16(x + at);
    }

    /* a stage of row number r in LDS */
    DEV_MEMBER const u8 *row_in(const u8 *lds, int r, int stage) const
    {
        return lds + r * stride +
               (((u32)(row0 + r) * (u32)row_bytes +
                 (u32)(stage * (nbytes % 16))) &
                15);
    }
};
