/* tile_mma.h - the products of a tile with sm_80's matrix instructions */
#pragma once

#include "quantized/mma.h"
#include "quantized/tile.h"

/*
 * A warp's results are 32 rows by 64 columns, or 32 by 32 in the smallest tile.
 * Sums of bytes leave the matrix unit as integers and are scaled for each Q8_1
 * block, so turning them into floats is what the time goes into. They start at
 * the integer whose bits are the float 1.5 * 2^23: as a float the result then
 * is that plus the sum, which is below 2^22, and a subtraction is all it takes.
 */
template <class F, int Rows, int Cols> struct TileMma {
    typedef TileLds<F, Rows, Cols> Lds;

    static constexpr int row_warps = Rows / 32;
    static constexpr int warp_cols = Cols / (4 / row_warps);
    static constexpr int ntiles = warp_cols / 8;
    static constexpr int scales = TileStep<F>::scales;
    static constexpr int start = 0x4b400000;
    static constexpr float start_as_float = 0x1.8p23f;

    int row0, col0, lane; /* the warp's first result */
    float acc[2][ntiles][4];

    DEV_MEMBER explicit TileMma(int tid)
    {
        const int warp = tid / 32;

        lane = tid % 32;
        row0 = warp % row_warps * 32;
        col0 = warp / row_warps * warp_cols;
        UNROLL
        for (int m = 0; m < 2; m++) {
            UNROLL
            for (int n = 0; n < ntiles; n++) {
                UNROLL
                for (int i = 0; i < 4; i++)
                    acc[m][n][i] = 0.0f;
            }
        }
    }

    /* adds the products of both Q8_1 blocks of a step */
    DEV_MEMBER void multiply(const Lds &lds)
    {
        UNROLL
        for (int which = 0; which < 2; which++)
            multiply_block(lds, which);
    }

    /* fn(row, column, result) for each of this thread's */
    template <class Fn> DEV_MEMBER void each(Fn fn) const
    {
        UNROLL
        for (int n = 0; n < ntiles; n++) {
            UNROLL
            for (int i = 0; i < 4; i++) {
                UNROLL
                for (int m = 0; m < 2; m++)
                    fn(result_row(m, i / 2), result_col(n) + i % 2,
                       acc[m][n][i]);
            }
        }
    }

    DEV_MEMBER int result_row(int m, int upper) const
    {
        return row0 + 16 * m + 8 * upper + lane / 4;
    }

    DEV_MEMBER int result_col(int n) const
    {
        return col0 + 8 * n + lane % 4 * 2;
    }

    DEV_MEMBER void multiply_block(const Lds &lds, int which)
    {
        u32 x[2][4];
        float scale[2][2][scales], bias[2][2][scales];

        UNROLL
        for (int m = 0; m < 2; m++) {
            load_fragments(x[m], lds.x +
                                     (row0 + 16 * m + lane % 16) * tile_stride +
                                     8 * which + lane / 16 * 4);
            UNROLL
            for (int upper = 0; upper < 2; upper++) {
                UNROLL
                for (int s = 0; s < scales; s++) {
                    const int at =
                        (which * scales + s) * Rows + result_row(m, upper);

                    scale[m][upper][s] = lds.x_scale[at];
                    if constexpr (Lds::biased)
                        bias[m][upper][s] = lds.x_bias[at];
                }
            }
        }
        UNROLL
        for (int n = 0; n < ntiles; n += 2) {
            u32 y[4]; /* two column tiles, each of 2 x 16 bytes */

            load_fragments(y, lds.y +
                                  (col0 + 8 * n + lane % 8 + lane / 16 * 8) *
                                      tile_stride +
                                  8 * which + lane / 8 % 2 * 4);
            UNROLL
            for (int k = 0; k < 2; k++)
                multiply_columns(lds, which, n + k, x, y[2 * k], y[2 * k + 1],
                                 scale, bias);
        }
    }

    /* one tile of 8 columns with all 32 rows */
    DEV_MEMBER void multiply_columns(const Lds &lds, int which, int n,
                                     const u32 (&x)[2][4], u32 y0, u32 y1,
                                     const float (&scale)[2][2][scales],
                                     const float (&bias)[2][2][scales])
    {
        const int col = result_col(n);
        const Pack<float, 2> d = load_pack<2>(lds.y_scale + which * Cols + col);

        UNROLL
        for (int s = 0; s < scales; s++) {
            Pack<float, 2> sum;

            if constexpr (Lds::biased)
                sum =
                    load_pack<2>(lds.y_sum + (which * scales + s) * Cols + col);
            UNROLL
            for (int m = 0; m < 2; m++) {
                int dot[4];

                if constexpr (scales == 1)
                    mma_32(dot, x[m], y0, y1, start);
                else
                    mma_16(dot, x[m][2 * s], x[m][2 * s + 1], s ? y1 : y0,
                           start);
                UNROLL
                for (int i = 0; i < 4; i++) {
                    float &a = acc[m][n][i];

                    a = fmaf(scale[m][i / 2][s] * d[(u32)i % 2],
                             bits_as<float>(dot[i]) - start_as_float, a);
                    if constexpr (Lds::biased)
                        a = fmaf(bias[m][i / 2][s], sum[(u32)i % 2], a);
                }
            }
        }
    }
};
