/* tile.h - the shape of a step of a tiled product, and how it lies in LDS */
#pragma once

#include "gguf/block.h"

/*
 * Tiled products walk along K in steps of 64 weights, which are two Q8_1 blocks
 * of each column: the blocks of one step stand 32 * group_step / 2 elements
 * apart, so that K formats hold the step's quants of a row in 32 neighbouring
 * bytes.
 *
 *   step s of a row    legacy formats: blocks 2 s and 2 s + 1
 *                      K formats: chunks 2 s and 2 s + 1, group 0 of both makes
 *                      Q8_1 block 0 of the step, group 1 makes block 1
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

/* 64 quants in 16 words, and 4 to bring neighbouring rows to other banks */
constexpr int tile_stride = 20;

template <class F, int Rows, int Cols> struct TileLds {
    static constexpr int scales = 2 * TileStep<F>::scales;
    static constexpr bool biased = F::tile_bias != Bias::none;

    __attribute__((aligned(16))) u32 x[Rows * tile_stride];
    __attribute__((aligned(16))) u32 y[Cols * tile_stride];
    /* [scale of the step][row], [Q8_1 block][column]; y_sum is what the bias of
     * the same scale is multiplied with */
    __attribute__((aligned(16))) float x_scale[scales * Rows];
    __attribute__((aligned(16))) float x_bias[biased ? scales * Rows : 4];
    __attribute__((aligned(16))) float y_scale[2 * Cols];
    __attribute__((aligned(16))) float y_sum[biased ? scales * Cols : 4];
};

DEV void store_words(u32 *lds, const u32 *w)
{
    store_pack(lds, Pack<u32, 4>{{w[0], w[1], w[2], w[3]}});
}
