/* tiled.h - quantised matrix times many Q8_1 columns, tile by tile */
#pragma once

#include "gguf/block.h"

/*
 * A workgroup of 32 x 4 threads makes a tile of Rows x Cols results. It walks
 * along K in steps of 64 weights, which are two Q8_1 blocks of each column: the
 * blocks of one step stand 32 * group_step / 2 elements apart, so that K
 * formats hold the step's quants of a row in 32 neighbouring bytes.
 *
 *   step s of a row    legacy formats: blocks 2 s and 2 s + 1
 *                      K formats: chunks 2 s and 2 s + 1, group 0 of both makes
 *                      Q8_1 block 0 of the step, group 1 makes block 1
 *
 * Weights are unpacked once per tile, into LDS. While a step is multiplied, the
 * next one's bytes are on their way into registers. Rows behind the last are
 * taken from the last row, columns likewise; blocks behind the end of a row
 * count as zeros and are not read.
 */
template <class F> struct TileStep {
    static constexpr bool legacy = F::group_step == 1;
    static constexpr int scales = 32 / F::scale_width; /* to a Q8_1 block */

    /* steps of a row of nblocks */
    static DEV_MEMBER int count(int nblocks)
    {
        return legacy ? (nblocks + 1) / 2 : nblocks * (F::chunks / 2);
    }
    /* block of a row and chunk in it of piece 0 or 1 */
    static DEV_MEMBER int block(int step, int piece)
    {
        return legacy ? 2 * step + piece : step / (F::chunks / 2);
    }
    static DEV_MEMBER int chunk(int step, int piece)
    {
        return legacy ? 0 : 2 * (step % (F::chunks / 2)) + piece;
    }
    /* Q8_1 block 0 or 1 */
    static DEV_MEMBER int column_block(int step, int which)
    {
        if (legacy)
            return 2 * step + which;
        return block(step, 0) * F::chunks +
               (F::first_group(chunk(step, 0)) + which * F::group_step) / 2;
    }
    /* where group g of a piece goes, in 16 elements of the step */
    static DEV_MEMBER int place(int piece, int g)
    {
        return legacy ? 2 * piece + g : piece + 2 * g;
    }
};

/* LDS: 64 quants in 16 words, and 4 to bring neighbouring rows to other banks
 */
constexpr int tile_stride = 20;

template <class F, int Rows, int Cols> struct TileLds {
    static constexpr int scales = 2 * TileStep<F>::scales;
    static constexpr bool biased = F::tile_bias != Bias::none;

    __attribute__((aligned(16))) u32 x[Rows * tile_stride];
    __attribute__((aligned(16))) u32 y[Cols * tile_stride];
    float x_scale[scales * Rows];
    float x_bias[biased ? scales * Rows : 1];
    float y_scale[2 * Cols];
    float y_sum[biased ? scales * Cols : 1];
};

DEV void store_words(u32 *lds, const u32 *w)
{
    store_pack(lds, Pack<u32, 4>{{w[0], w[1], w[2], w[3]}});
}

template <class F, int Rows, int Cols, bool Wide> struct Tile {
    typedef TileStep<F> Step;
    typedef TileLds<F, Rows, Cols> Lds;

    static constexpr int threads = 128;
    /* results of a thread: every row_threads-th row, every col_threads-th
     * column; 8 x 4 threads of a warp are neighbours */
    static constexpr int row_threads = Rows == 128 ? 16 : 8;
    static constexpr int col_threads = threads / row_threads;
    static constexpr int nrows = Rows / row_threads;
    static constexpr int ncols = Cols / col_threads;
    static constexpr int pieces = 2 * Rows / threads;
    static constexpr int blocks = 2 * Cols / threads;
    static constexpr int row_batch = 4; /* rows held in registers */

    /* a step's bytes on their way to LDS */
    struct Incoming {
        typename F::Raw x[pieces];
        Words<Q8_1::words> y[blocks];
    };

    static DEV_MEMBER void load(Incoming &in, int tid, int step,
                                const u8 *const (&row)[pieces],
                                const u8 *const (&col)[blocks], int nblocks)
    {
        UNROLL
        for (int p = 0; p < pieces; p++) {
            int piece = (tid + p * threads) / Rows;
            int block = Step::block(step, piece);

            block = block < nblocks ? block : nblocks - 1;
            in.x[p] = F::template load<Wide>(row[p] + (size_t)block * F::bytes,
                                             Step::chunk(step, piece));
        }
        UNROLL
        for (int p = 0; p < blocks; p++) {
            int block = Step::column_block(step, tid % 2);

            if (Step::legacy)
                block = block < nblocks ? block : nblocks - 1;
            in.y[p] = load_words<Q8_1::words, Access::word>(
                col[p] + (size_t)block * Q8_1::bytes);
        }
    }

    static DEV_MEMBER void store_weights(Lds &lds, const Incoming &in, int tid,
                                         int step, int nblocks)
    {
        UNROLL
        for (int p = 0; p < pieces; p++) {
            int row = (tid + p * threads) % Rows;
            int piece = (tid + p * threads) / Rows;
            bool present = Step::block(step, piece) < nblocks;
            Chunk c = F::unpack(in.x[p], Step::chunk(step, piece));

            UNROLL
            for (int g = 0; g < 2; g++) {
                int at = Step::place(piece, g);
                /* one scale for 32: legacy pieces hold it twice, the two
                 * pieces of a K format have the same */
                int slot = Step::scales == 2 ? at : at / 2;

                store_words(lds.x + row * tile_stride + 4 * at, c.q + 4 * g);
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
            const u32 *w = in.y[p].w;
            /* 0 * infinity is no number: what is missing has no scale at all */
            bool present = !Step::legacy || 2 * step + which < nblocks;
            float d = present ? half_to_float(w[0]) : 0.0f;

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

    /* adds the products of Q8_1 block `which` of the step */
    static DEV_MEMBER void multiply(float (&acc)[nrows][ncols], const Lds &lds,
                                    int row0, int col0, int which)
    {
        constexpr int scales = Step::scales;

        UNROLL
        for (int i0 = 0; i0 < nrows; i0 += row_batch) {
            u32 x[row_batch][8];
            float scale[row_batch][scales];
            float bias[row_batch][scales];

            UNROLL
            for (int i = 0; i < row_batch; i++) {
                int row = row0 + (i0 + i) * row_threads;

                read_words(x[i], lds.x + row * tile_stride + 8 * which);
                UNROLL
                for (int s = 0; s < scales; s++) {
                    int at = (which * scales + s) * Rows + row;

                    scale[i][s] = lds.x_scale[at];
                    if constexpr (Lds::biased)
                        bias[i][s] = lds.x_bias[at];
                }
            }
            UNROLL
            for (int j = 0; j < ncols; j++) {
                int col = col0 + j * col_threads;
                float d = lds.y_scale[which * Cols + col];
                float sum[scales];
                u32 y[8];

                if (j % 2 == 0)
                    schedule_fence();
                read_words(y, lds.y + col * tile_stride + 8 * which);
                UNROLL
                for (int s = 0; s < scales; s++)
                    if constexpr (Lds::biased)
                        sum[s] = lds.y_sum[(which * scales + s) * Cols + col];
                UNROLL
                for (int i = 0; i < row_batch; i++) {
                    float &a = acc[i0 + i][j];

                    UNROLL
                    for (int s = 0; s < scales; s++) {
                        constexpr int words = 8 / scales;
                        int dot = 0;

                        UNROLL
                        for (int k = 0; k < words; k++)
                            dot = dot4(x[i][s * words + k], y[s * words + k],
                                       dot);
                        a = fmaf(scale[i][s] * d, (float)dot, a);
                        if constexpr (Lds::biased)
                            a = fmaf(bias[i][s], sum[s], a);
                    }
                }
            }
        }
    }

    static DEV_MEMBER void read_words(u32 (&w)[8], const u32 *lds)
    {
        const Pack<u32, 4> a = load_pack<4>(lds), b = load_pack<4>(lds + 4);

        UNROLL
        for (u32 i = 0; i < 4; i++)
            w[i] = a[i], w[i + 4] = b[i];
    }

    /* the tile whose first result is (row0, col0) */
    static DEV_MEMBER void run(Lds &lds, const u8 *x, const u8 *y, float *dst,
                               int row0, int col0, int nblocks, int x_rows,
                               int y_cols, size_t y_stride, int dst_stride)
    {
        const int tid = (int)(threadIdx.y * 32 + threadIdx.x);
        const int warp = tid / 32, lane = tid % 32;
        const int my_row = lane % 8 + warp % (row_threads / 8) * 8;
        const int my_col = lane / 8 + warp / (row_threads / 8) * 4;
        const size_t row_bytes = (size_t)nblocks * F::bytes;
        const int steps = Step::count(nblocks);
        const u8 *row[pieces], *col[blocks];
        float acc[nrows][ncols];
        Incoming in;

        UNROLL
        for (int p = 0; p < pieces; p++)
            row[p] = x + row_bytes * min_of(row0 + (tid + p * threads) % Rows,
                                            x_rows - 1);
        UNROLL
        for (int p = 0; p < blocks; p++)
            col[p] = y + y_stride *
                             min_of(col0 + (tid + p * threads) / 2, y_cols - 1);
        UNROLL
        for (int i = 0; i < nrows; i++) {
            UNROLL
            for (int j = 0; j < ncols; j++)
                acc[i][j] = 0.0f;
        }

        if (steps > 0)
            load(in, tid, 0, row, col, nblocks);
        for (int step = 0; step < steps; step++) {
            store_weights(lds, in, tid, step, nblocks);
            store_columns(lds, in, tid, step, nblocks);
            __syncthreads();
            if (step + 1 < steps)
                load(in, tid, step + 1, row, col, nblocks);
            NO_UNROLL
            for (int which = 0; which < 2; which++)
                multiply(acc, lds, my_row, my_col, which);
            __syncthreads();
        }

        UNROLL
        for (int j = 0; j < ncols; j++) {
            UNROLL
            for (int i = 0; i < nrows; i++) {
                int r = row0 + my_row + i * row_threads;
                int c = col0 + my_col + j * col_threads;

                if (r < x_rows && r < dst_stride && c < y_cols)
                    dst[(size_t)c * (size_t)dst_stride + (size_t)r] = acc[i][j];
            }
        }
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

    with_access(vx, [&](auto access) {
        NO_UNROLL
        for (int pass = 0; pass < Passes; pass++) {
            int col0 = (int)blockIdx.y * Cols + pass * (Cols / Passes);

            if (row0 < nrows_x && col0 < ncols_y)
                Tile<F, Rows, Cols / Passes, decltype(access)::wide>::run(
                    lds, x, y, dst, row0, col0, ncols_x / F::elems, nrows_x,
                    ncols_y, y_stride, nrows_dst);
        }
    });
}
