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

#include "reduce/operations.h"

template <typename A> DEV A add_up_group(A sum, u32 lane, u32 lanes)
{
    for (u32 d = 1; d < lanes; d *= 2) {
        const A before = shfl_up(sum, d);

        if (lane >= d)
            sum += before;
    }
    return sum;
}

/* cumulative sums of n elements by a block; returns the last one */
template <typename T>
DEV typename kept<T>::sum add_up_line(const T *src, T *dst, u32 n)
{
    using A = typename kept<T>::sum;
    constexpr u32 each = 16 / sizeof(T);
    __shared__ A slot[2][max_groups]; /* the groups' sums, of two rounds */
    const u32 lanes = min_of((u32)blockDim.x, group_size);
    const u32 groups = blockDim.x / lanes;
    const u32 lane = threadIdx.x % lanes, group = threadIdx.x / lanes;
    A carry = 0;
    u32 turn = 0;

    for (u32 first = 0; first < n; first += each * blockDim.x, turn ^= 1) {
        const u32 mine = first + threadIdx.x * each;
        A x[each];

        UNROLL
        for (u32 k = 0; k < each; k++)
            x[k] = mine + k < n ? convert<A>(src[mine + k]) : A(0);
        UNROLL
        for (u32 k = 1; k < each; k++)
            x[k] += x[k - 1];

        const A up_to = add_up_group(x[each - 1], lane, lanes);
        A before = shfl_up(up_to, 1);

        if (lane == lanes - 1)
            slot[turn][group] = up_to;
        __syncthreads();

        const A sums =
            add_up_group(lane < groups ? slot[turn][lane] : A(0), lane, lanes);
        const A groups_before = shfl(sums, group - 1);

        before = lane > 0 ? before : A(0);
        if (group > 0)
            before += groups_before;
        before += carry;
        carry += shfl(sums, groups - 1);
        UNROLL
        for (u32 k = 0; k < each; k++)
            if (mine + k < n)
                dst[mine + k] = convert<T>(before + x[k]);
    }
    return carry;
}

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
