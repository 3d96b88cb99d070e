/*
 * row1_f32.h - one row of f32 times a matrix, for matrix/rows8.h
 *
 * Reading B takes the time, so many pieces of B are in flight at once. They
 * need the registers that seven more rows would take.
 */
#pragma once

#include "matrix/rows8_tile.h"

/* Columns of B along K: lanes along K, 8 columns a warp. */
template <typename T> DEV void one_row_nt(const Rows8Tile<T> &t)
{
    typedef typename Gemm<T>::S S;
    constexpr u32 n = per16<T>::value, cols = 8, ahead = 2, step = 32 * n;
    const u32 lane = lane_id() % 32, c0 = threadIdx.x / 32 * cols;
    const bool aligned =
        is_aligned(t.a, 16) && is_aligned(t.b, 16) && t.g.ldb % n == 0;
    const T *column[cols];
    S sums[cols] = {};
    u32 k = t.part.k_begin + lane * n;

    UNROLL
    for (u32 c = 0; c < cols; c++)
        column[c] = t.b + (u64)(t.col0 + min_of(c0 + c, t.ncols - 1)) * t.g.ldb;
    NO_UNROLL
    for (; aligned && k + (ahead - 1) * step + n <= t.part.k_end;
         k += ahead * step) {
        Piece x[ahead], w[ahead][cols];

        UNROLL
        for (u32 i = 0; i < ahead; i++) {
            UNROLL
            for (u32 c = 0; c < cols; c++)
                w[i][c] =
                    bits_as<Piece>(load_pack<n>(column[c] + k + i * step));
            x[i] = bits_as<Piece>(load_pack<n>(t.a + k + i * step));
        }
        UNROLL
        for (u32 i = 0; i < ahead * cols; i++)
            sums[i % cols] = piece_dot<T>::of(
                x[i / cols], w[i / cols][i % cols], sums[i % cols]);
    }
    NO_UNROLL
    for (; k < t.part.k_end; k += step) {
        const u32 left = t.part.k_end - k;
        const Piece x = load_piece(t.a + k, left);

        UNROLL
        for (u32 c = 0; c < cols; c++)
            sums[c] =
                piece_dot<T>::of(x, load_piece(column[c] + k, left), sums[c]);
    }
    sum_over_lanes(sums); /* over four; the lane has two of eight */
    UNROLL
    for (u32 i = 0; i < 2; i++) {
        sums[i] += lane_xor<4>(sums[i]);
        sums[i] += lane_xor<8>(sums[i]);
        sums[i] += lane_xor<16>(sums[i]);
        if (lane < cols / 2)
            t.put(0, c0 + lane * 2 + i, sums[i]);
    }
}
