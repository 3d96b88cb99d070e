/*
 * float_columns.h - rows times many columns of f32, in tiles of numbers
 *
 * What the rows are is the caller's: weights of numbers (f16_weights.h), or
 * blocks that become numbers on the way to LDS (decoded_tile.h).
 */
#pragma once

#include "matrix/gemm_tile.h"

constexpr u32 float_columns_threads = 128; /* in a row */

/*
 * dst[col * nrows_dst + row] by the tiles of matrix/gemm_tile.h: Rows rows from
 * blockIdx.x * Rows, Cols columns, nrows_y elements apart, from blockIdx.y *
 * Cols. The columns become T on their way to LDS; rows_from(row0) is the
 * operand with the rows from row0 on.
 */
template <typename T, u32 Rows, u32 Cols, typename RowsFrom>
DEV void float_columns_mul(RowsFrom rows_from, const f32 *y, f32 *dst,
                           int ncols_x, int nrows_x, int ncols_y, int nrows_y,
                           int nrows_dst)
{
    constexpr u32 threads = float_columns_threads;
    __shared__ __attribute__((aligned(16))) u8 lds[(Rows + Cols) * step_nbytes];
    const u32 row0 = blockIdx.x * Rows, col0 = blockIdx.y * Cols;

    if ((i32)row0 >= nrows_x || (i32)col0 >= ncols_y)
        return;

    Product<T, Cols, Rows, threads> product;
    Operand<T, Cols, threads, true, step_nbytes, f32> columns(
        y, col0, (u32)ncols_y, (u32)nrows_y);
    auto rows = rows_from(row0);

    multiply_along_k(product, columns, rows, 0, (u32)max_of(ncols_x, 0), lds);
    product.each(lds, [&](u32 c, u32 r, f32 sum) {
        if (c < (u32)ncols_y - col0 &&
            (i32)(row0 + r) < min_of(nrows_x, nrows_dst))
            dst[(size_t)(col0 + c) * (size_t)nrows_dst + row0 + r] = sum;
    });
}
