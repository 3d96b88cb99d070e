/*
 * cumsum.h - cumulative sums of rows
 *
 *   cumsum_last_dim   dst[r][c] = src[r][0] + ... + src[r][c]; a block for each
 *                     row, as many rows as blocks
 *   cumsum_tile       the same within tiles of tile_size columns; a grid of
 *                     (rows, n_tiles) blocks. block_sums [rows, n_tiles] gets
 *                     the sum of each tile
 *   cumsum_add_offsets  the same grid, after cumsum_last_dim of block_sums:
 *                     adds the sum of the tiles before to each element of dst
 *
 * src  [rows, n_cols] of T, contiguous; dst may be src
 * Blocks are a power of two of threads, up to 1024; cumsum_add_offsets takes
 * any 1-D block. Integers wrap. A float is added in at most n_cols / (threads *
 * 16 / sizeof(T)) + 10 + 16 / sizeof(T) steps. The argument n_threads is not
 * read: the block tells.
 */
#pragma once

#include "reduce/add_up.h"

template <typename T> DEV void cumsum_row(const T *src, T *dst, i32 n_cols)
{
    const u64 row = (u64)blockIdx.x * (u32)n_cols;

    add_up_line(src + row, dst + row, (u32)n_cols);
}

template <typename T>
DEV void cumsum_tile(const T *src, T *dst, T *block_sums, i32 n_cols,
                     i32 tile_size, i32 n_tiles)
{
    const u64 first = (u64)blockIdx.y * (u32)tile_size;
    const u64 left = (u64)(u32)n_cols - min_of((u64)(u32)n_cols, first);
    const u64 at = (u64)blockIdx.x * (u32)n_cols + first;
    const auto sum =
        add_up_line(src + at, dst + at, (u32)min_of(left, (u64)(u32)tile_size));

    if (threadIdx.x == 0)
        block_sums[(u64)blockIdx.x * (u32)n_tiles + blockIdx.y] =
            convert<T>(sum);
}

template <typename T>
DEV void cumsum_add_offsets(T *dst, const T *offsets, i32 n_cols, i32 tile_size,
                            i32 n_tiles)
{
    using A = typename kept<T>::sum;
    const u32 tile = blockIdx.y;

    if (tile == 0)
        return;

    const u64 row = (u64)blockIdx.x * (u32)n_cols;
    const u64 first = (u64)tile * (u32)tile_size;
    const u64 end = min_of((u64)(u32)n_cols, first + (u32)tile_size);
    const A before =
        convert<A>(offsets[(u64)blockIdx.x * (u32)n_tiles + tile - 1]);

    for (u64 c = first + threadIdx.x; c < end; c += blockDim.x)
        dst[row + c] = convert<T>(before + convert<A>(dst[row + c]));
}
