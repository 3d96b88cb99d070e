/* tiled.h - quantised matrix times many Q8_1 columns, tile by tile */
#pragma once

#include "quantized/tile.h"
#if KPK_NVIDIA
#include "quantized/tile_mma.h"
#else
#include "quantized/tile_dot.h"
#endif

/*
 * A workgroup of 32 x 4 threads makes a tile of Rows x Cols results, in steps
 * of 64 along K (tile.h). Weights are unpacked once per tile, into LDS. While a
 * step is multiplied, the next one's bytes are on their way into registers.
 * Two neighbouring threads load neighbouring halves of a row's or a column's
 * step. Rows behind the last are taken from the last row, columns likewise;
 * blocks behind the end of a row count as zeros and are not read.
 */
#if KPK_NVIDIA
template <class F, int Rows, int Cols>
using TileProduct = TileMma<F, Rows, Cols>;
#else
template <class F, int Rows, int Cols>
using TileProduct = TileDot<F, Rows, Cols>;
#endif

template <class F, int Rows, int Cols, Place P> struct Tile {
    typedef TileStep<F> Step;
    typedef TileLds<F, Rows, Cols> Lds;

    static constexpr int threads = 128;
    static constexpr int pieces = 2 * Rows / threads;
    static constexpr int blocks = 2 * Cols / threads;

    /* On NVIDIA a Q8_1 block is loaded in pairs of words, one pair of which it
     * shares with its neighbour: an odd block begins with their second word. */
    static constexpr bool pairs = KPK_NVIDIA && P == Place::aligned;

    /* a step's bytes on their way to LDS */
    struct Incoming {
        typename F::Raw x[pieces];
        Words<Q8_1::words + pairs> y[blocks];
    };

    static DEV_MEMBER void load(Incoming &in, int tid, int step,
                                const u8 *const (&row)[pieces],
                                const u8 *const (&col)[blocks], int nblocks)
    {
        UNROLL
        for (int p = 0; p < pieces; p++) {
            int piece = tid % 2;
            int block = Step::block(step, piece);

            block = block < nblocks ? block : nblocks - 1;
            in.x[p] = F::template load<P>(row[p] + (size_t)block * F::bytes,
                                          Step::chunk(step, piece));
        }
        UNROLL
        for (int p = 0; p < blocks; p++) {
            int block = Step::column_block(step, tid % 2);

            if (Step::legacy)
                block = block < nblocks ? block : nblocks - 1;
            if constexpr (pairs)
                in.y[p] = load_words<Q8_1::words + 1, Access::pair>(
                    col[p] + (size_t)block * Q8_1::bytes - 4 * (block & 1));
            else
                in.y[p] = load_words<Q8_1::words, Access::word>(
                    col[p] + (size_t)block * Q8_1::bytes);
        }
    }

    static DEV_MEMBER void store_weights(Lds &lds, const Incoming &in, int tid,
                                         int step, int nblocks)
    {
        UNROLL
        for (int p = 0; p < pieces; p++) {
            int row = (tid + p * threads) / 2;
            int piece = tid % 2;
            bool present = Step::block(step, piece) < nblocks;
            Chunk c = F::unpack(in.x[p], Step::chunk(step, piece));

            UNROLL
            for (int g = 0; g < 2; g++) {
                int at = Step::place(piece, g);
                int slot = Step::scales == 2 ? at : at / 2;

                store_words(lds.x + row * tile_stride + 4 * at, c.q + 4 * g);
                /* where one scale serves 32, both pieces of a K format have it
                 */
                if (Step::scales == 1 && !Step::legacy && piece == 1)
                    continue;
                lds.x_scale[slot * Rows + row] = present ? c.scale[g] : 0.0f;
                if constexpr (Lds::biased)
                    lds.x_bias[slot * Rows + row] = present ? c.bias[g] : 0.0f;
            }
        }
    }

    static DEV_MEMBER void store_columns(Lds &lds, const Incoming &in, int tid,
                                         int step, int nblocks)
    {
        UNROLL
        for (int p = 0; p < blocks; p++) {
            int col = (tid + p * threads) / 2, which = tid % 2;
            u32 w[Q8_1::words];
            /* 0 * infinity is no number: what is missing has no scale at all */
            bool present = !Step::legacy || 2 * step + which < nblocks;
            const bool odd = pairs && Step::column_block(step, which) % 2 != 0;

            UNROLL
            for (int i = 0; i < Q8_1::words; i++)
                w[i] = odd ? in.y[p].w[i + pairs] : in.y[p].w[i];

            const float d = present ? half_to_float(w[0]) : 0.0f;

            store_words(lds.y + col * tile_stride + 8 * which, w + 1);
            store_words(lds.y + col * tile_stride + 8 * which + 4, w + 5);
            lds.y_scale[which * Cols + col] = d;
            if constexpr (F::tile_bias == Bias::stored_sum) {
                lds.y_sum[which * Cols + col] =
                    present ? half_to_float(w[0] >> 16) : 0.0f;
            } else if constexpr (F::tile_bias == Bias::quant_sum) {
                UNROLL
                for (int half = 0; half < 2; half++) {
                    int sum = 0;

                    UNROLL
                    for (int i = 0; i < 4; i++)
                        sum = dot4(w[1 + 4 * half + i], 0x01010101u, sum);
                    lds.y_sum[(2 * which + half) * Cols + col] = d * (float)sum;
                }
            }
        }
    }

    /* the tile whose first result is (row0, col0) */
    static DEV_MEMBER void run(Lds &lds, const u8 *x, const u8 *y, float *dst,
                               int row0, int col0, int nblocks, int x_rows,
                               int y_cols, size_t y_stride, int dst_stride)
    {
        const int tid = (int)(threadIdx.y * 32 + threadIdx.x);
        const size_t row_bytes = (size_t)nblocks * F::bytes;
        const int steps = Step::count(nblocks);
        const u8 *row[pieces], *col[blocks];
        TileProduct<F, Rows, Cols> product(tid);
        Incoming in;

        UNROLL
        for (int p = 0; p < pieces; p++)
            row[p] = x + row_bytes *
                             min_of(row0 + (tid + p * threads) / 2, x_rows - 1);
        UNROLL
        for (int p = 0; p < blocks; p++)
            col[p] = y + y_stride *
                             min_of(col0 + (tid + p * threads) / 2, y_cols - 1);
        if (steps > 0)
            load(in, tid, 0, row, col, nblocks);
        for (int step = 0; step < steps; step++) {
            store_weights(lds, in, tid, step, nblocks);
            store_columns(lds, in, tid, step, nblocks);
            __syncthreads();
            if (step + 1 < steps)
                load(in, tid, step + 1, row, col, nblocks);
            product.multiply(lds);
            __syncthreads();
        }

        product.each([&](int r, int c, float sum) {
            r += row0, c += col0;
            if (r < x_rows && r < dst_stride && c < y_cols)
                dst[(size_t)c * (size_t)dst_stride + (size_t)r] = sum;
        });
    }
};

/*
 * The kernel: dst[col * nrows_dst + row]. Workgroup (bx, by) owns the Rows rows
 * from bx * Rows and the Cols columns from by * Cols; where that is more than
 * 64 results a thread, it takes the columns in Passes.
 */
template <class F, int Rows, int Cols, int Passes>
DEV void mat_mul(const void *vx, const void *vy, float *dst, int ncols_x,
                 int nrows_x, int ncols_y, int nrows_y, int nrows_dst)
{
    __shared__ TileLds<F, Rows, Cols / Passes> lds;
    const u8 *x = static_cast<const u8 *>(vx);
    const u8 *y = static_cast<const u8 *>(vy);
    const int row0 = (int)blockIdx.x * Rows;
    const size_t y_stride = (size_t)(nrows_y / Q8_1::elems) * Q8_1::bytes;
    const bool aligned =
        is_aligned(x, 16) && is_aligned(y, 8) && y_stride % 8 == 0;

    with_place(aligned, [&](auto place) {
        NO_UNROLL
        for (int pass = 0; pass < Passes; pass++) {
            int col0 = (int)blockIdx.y * Cols + pass * (Cols / Passes);

            if (row0 < nrows_x && col0 < ncols_y)
                Tile<F, Rows, Cols / Passes, decltype(place)::place>::run(
                    lds, x, y, dst, row0, col0, ncols_x / F::elems, nrows_x,
                    ncols_y, y_stride, nrows_dst);
        }
    });
}
