/* simt_tile.h - the products of a tile by dot4(), without a matrix unit */
#pragma once

#include "quantized/tile_layout.h"

/*
 * The results of one of 128 threads: every row_threads-th row and every
 * col_threads-th column, so that the 8 x 4 threads of a warp are neighbours.
 * Rows are taken in batches that stay in registers while all columns pass.
 */
template <class F, int Rows, int Cols, int Parts = 1> struct TileDot {
    typedef TileLds<F, Rows, Cols> Lds;
    typedef TileCut<Rows, Cols, Parts> Cut;

    static constexpr int part_threads = 128 / Parts;
    static constexpr int row_threads = Parts == 1 && Rows == 128 ? 16 : 8;
    static constexpr int col_threads = part_threads / row_threads;
    static constexpr int nrows = Cut::rows / row_threads;
    static constexpr int ncols = Cut::cols / col_threads;
    static constexpr int batch = nrows < 4 ? nrows : 4;
    static constexpr int scales = TileStep<F>::scales;
    static constexpr int biases = TileStep<F>::biases;

    int row0, col0;
    float acc[nrows][ncols];

    DEV_MEMBER explicit TileDot(int tid)
    {
        const int part = Parts > 1 ? tid / part_threads : 0;
        const int warp = (tid - part * part_threads) / 32, lane = tid % 32;

        row0 = lane % 8 + warp % (row_threads / 8) * 8 + part * Cut::rows;
        col0 = lane / 8 + warp / (row_threads / 8) * 4 + part * Cut::cols;
        UNROLL
        for (int i = 0; i < nrows; i++) {
            UNROLL
            for (int j = 0; j < ncols; j++)
                acc[i][j] = 0.0f;
        }
    }

    /* adds the products of both Q8_1 blocks of a step */
    DEV_MEMBER void multiply(const Lds &lds)
    {
        NO_UNROLL
        for (int which = 0; which < 2; which++) {
            UNROLL
            for (int i0 = 0; i0 < nrows; i0 += batch)
                multiply_rows(lds, which, i0);
        }
    }

    /* fn(row, column, result) for each of this thread's */
    template <class Fn> DEV_MEMBER void each(Fn fn) const
    {
        UNROLL
        for (int j = 0; j < ncols; j++) {
            UNROLL
            for (int i = 0; i < nrows; i++)
                fn(row0 + i * row_threads, col0 + j * col_threads, acc[i][j]);
        }
    }

    DEV_MEMBER bool all_finite() const
    {
        float zeros = 0;

        UNROLL
        for (int i = 0; i < nrows; i++) {
            UNROLL
            for (int j = 0; j < ncols; j++)
                zeros = fmaf(acc[i][j], 0.0f, zeros);
        }
        return zeros == 0;
    }

    DEV_MEMBER void multiply_rows(const Lds &lds, int which, int i0)
    {
        u32 x[batch][8];
        float scale[batch][scales], bias[batch][biases];

        UNROLL
        for (int i = 0; i < batch; i++) {
            const int row = row0 + (i0 + i) * row_threads;

            read_words(x[i], lds.x + row * tile_stride + 8 * which);
            UNROLL
            for (int s = 0; s < scales; s++)
                scale[i][s] =
                    lds.x_scale[(which * scales + s) * Lds::row_slot + row];
            if constexpr (Lds::biased) {
                UNROLL
                for (int s = 0; s < biases; s++)
                    bias[i][s] =
                        lds.x_bias[(which * biases + s) * Lds::row_slot + row];
            }
        }
        UNROLL
        for (int j = 0; j < ncols; j++) {
            const int col = col0 + j * col_threads;
            const float d = lds.y_scale[which * Lds::col_slot + col];
            float sum[biases];
            u32 y[8];

            if (j % 2 == 0)
                schedule_fence();
            read_words(y, lds.y + col * tile_stride + 8 * which);
            if constexpr (Lds::biased) {
                UNROLL
                for (int s = 0; s < biases; s++)
                    sum[s] =
                        lds.y_sum[(which * biases + s) * Lds::col_slot + col];
            }
            UNROLL
            for (int i = 0; i < batch; i++) {
                float &a = acc[i0 + i][j];

                UNROLL
                for (int s = 0; s < scales; s++) {
                    constexpr int words = 8 / scales;
                    int dot = 0;

                    UNROLL
                    for (int k = 0; k < words; k++)
                        dot = dot4(x[i][s * words + k], y[s * words + k], dot);
                    a = fmaf(scale[i][s] * d, (float)dot, a);
                }
                if constexpr (Lds::biased) {
                    UNROLL
                    for (int s = 0; s < biases; s++)
                        a = fmaf(bias[i][s], sum[s], a);
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
};
