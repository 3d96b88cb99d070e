/*
 * moe_mul_mat.h - experts' GGUF matrices times many Q8_1 columns, by the tiles
 * of module quantized
 *
 * weights       [experts, n, k] in blocks
 * inputs        Q8_1 columns of k_padded numbers
 * sorted        [m]: the output's rows 0 .. m - 1 in the order of their experts
 * offsets       [experts + 1]: where each expert's rows begin in `sorted`
 * output        [m, n] f32
 *
 * Row r of the output has column r / topk of the inputs, which are below 2^31
 * bytes on AMD's GPUs; rows of no expert get zeros. Nothing is written if
 * k_padded is below k. Grid: x over experts, y over Rows rows of the matrix, z
 * over an expert's tiles of Cols columns; smaller ones loop. Blocks have 32 x 4
 * threads.
 */
#pragma once

#include "moe/moe_gemm.h"
#include "quantized/mul_mat.h"

/* rows of no expert, `first` .. end - 1 in `sorted` */
DEV void clear_rows(const i32 *sorted, f32 *output, u32 first, u32 end, u32 n)
{
    for (u32 i = first + threadIdx.y; i < end; i += blockDim.y)
        for (u32 col = threadIdx.x; col < n; col += blockDim.x)
            output[(u64)(u32)sorted[i] * n + col] = 0;
}

template <class F, int Rows, int Cols, int Passes>
DEV void moe_mul_mat(const void *weights, const void *inputs, const i32 *sorted,
                     const i32 *offsets, f32 *output, const MoeSizes &size,
                     i32 k_padded)
{
    const int nblocks = (int)size.k / F::elems;
    const u64 expert_bytes = (u64)size.n * (u32)nblocks * F::bytes;
    const bool clears = blockIdx.x + blockIdx.y + blockIdx.z == 0;
    __shared__ u32 from[ChosenColumns::most], to[ChosenColumns::most];
    MatMul<ChosenColumns> m = {nullptr,     static_cast<const u8 *>(inputs),
                               output,      nblocks,
                               (int)size.n, 0,
                               (int)size.n, q8_1_bytes(k_padded),
                               0,           0,
                               Rows,        {from, to}};
    const auto place = [&](u32 e) {
        return (u32)min_of(max_of(offsets[e], 0), (i32)size.m);
    };

    static_assert(Cols <= ChosenColumns::most, "lists have room");
    if (k_padded < (i32)size.k)
        return; /* columns shorter than k */
    if (clears) {
        const bool all = size.experts == 0 || nblocks == 0;

        clear_rows(sorted, output, 0, all ? size.m : place(0), size.n);
        if (!all)
            clear_rows(sorted, output, place(size.experts), size.m, size.n);
    }
    if (nblocks == 0)
        return;
    for (u32 e = blockIdx.x; e < size.experts; e += gridDim.x) {
        const u32 end = place(e + 1);

        m.x = static_cast<const u8 *>(weights) + e * expert_bytes;
        for (u32 at = place(e) + blockIdx.z * Cols; at < end;
             at += gridDim.z * Cols) {
            m.ncols = (int)min_of(end - at, (u32)Cols);
            for (int i = tile_thread(); i < m.ncols; i += tile_threads) {
                const u32 row = (u32)sorted[at + (u32)i];

                from[i] = row / size.topk;
                to[i] = row;
            }
            __syncthreads();
            NO_UNROLL
            for (u32 row0 = blockIdx.y * Rows; row0 < size.n;
                 row0 += gridDim.y * Rows) {
                m.row0 = (int)row0;
                mat_mul_whole_tile<F, Rows, Cols, Passes>(m);
                __syncthreads();
            }
        }
    }
}
