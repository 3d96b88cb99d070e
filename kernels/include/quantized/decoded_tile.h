/*
 * decoded_tile.h - blocks times many f32 columns, both as bf16 in tiles
 *
 * For formats that few need: their weights become numbers on the way to LDS, so
 * the tiles of matrix/gemm_tile.h serve any format. Both operands are rounded
 * to bf16, which has the range of f32; sums are f32.
 */
#pragma once

#include "gguf/block.h"
#include "quantized/float_columns.h"

/* Two chunks of each of `Rows` rows make a step: a chunk for each thread. Rows
 * behind the last one repeat it. */
template <class F, u32 Rows, u32 Threads> struct DecodedRows {
    static constexpr u32 step = 64, pieces = 4; /* pieces of a chunk */

    const u8 *row;
    u32 chunk; /* of the row */
    typename F::Raw raw;

    static_assert(F::group_step == 1, "chunks in the order of elements");
    static_assert(F::elems % step == 0 && 2 * Rows == Threads, "whole steps");

    DEV_MEMBER DecodedRows(const u8 *x, u32 row0, u32 nrows, u32 nblocks)
        : row(x + (u64)min_of(row0 + threadIdx.x / 2, nrows - 1) * nblocks *
                      F::bytes)
    {
    }
    DEV_MEMBER bool has_blocks() const
    {
        return true;
    }
    DEV_MEMBER void begin(u32 k0)
    {
        chunk = k0 / 32 + threadIdx.x % 2;
    }
    DEV_MEMBER void load()
    {
        raw = F::template load<BlockPlace::anywhere>(
            row + (u64)(chunk / F::chunks) * F::bytes,
            (int)(chunk % F::chunks));
        chunk += 2;
    }
    DEV_MEMBER void store(u8 *lds) const
    {
        const Chunk c = F::unpack(raw, (int)((chunk - 2) % F::chunks));

        UNROLL
        for (u32 p = 0; p < pieces; p++) {
            Pack<bf16, 8> out;

            UNROLL
            for (u32 e = 0; e < 8; e++)
                out[e] = convert<bf16>(
                    c.scale[p / 2] *
                    byte_to_float(c.q[2 * p + e / 4], (int)(e % 4)));
            store_pack(reinterpret_cast<bf16 *>(
                           lds + piece_at(threadIdx.x / 2,
                                          threadIdx.x % 2 * pieces + p) *
                                     sizeof(Piece)),
                       out);
        }
    }
    /* steps are whole: for columns that have no blocks */
    DEV_MEMBER void store_ends(u8 *lds, u32 k0, u32)
    {
        begin(k0);
        load();
        store(lds);
    }
};

/* 64 rows of x, 64 columns */
template <class F>
DEV void decoded_mul(const void *x, const f32 *y, f32 *dst, int ncols_x,
                     int nrows_x, int ncols_y, int nrows_y, int nrows_dst)
{
    constexpr u32 tile = 64;

    float_columns_mul<bf16, tile, tile>(
        [=](u32 row0) {
            return DecodedRows<F, tile, float_columns_threads>(
                static_cast<const u8 *>(x), row0, (u32)nrows_x,
                (u32)(ncols_x / F::elems));
        },
        y, dst, ncols_x, nrows_x, ncols_y, nrows_y, nrows_dst);
}
