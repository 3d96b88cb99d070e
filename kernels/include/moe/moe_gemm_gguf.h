/*
 * moe_gemm_gguf.h - a token's Q8_1 blocks times its expert's GGUF rows
 *
 * weights       [num_experts, size_n, size_k] in blocks
 * inputs        Q8_1 rows of k_padded numbers
 * sorted, ids   [size_m]: the output's rows, and the expert of each
 * topk_weights  [size_m] f32, or null
 * output        [size_m, size_n] f32
 *
 * The arguments are as in moe/moe_gemm.h. An expert that does not exist gives
 * 0. Nothing is written if k_padded is below size_k. Grid: x over four rows of
 * the matrix, y over size_m; smaller ones loop. Blocks have 32 x 4 threads, 32
 * to a row.
 */
#pragma once

#include "moe/moe_gemm.h"
#include "quantized/chunk_dot.h"

template <class F>
DEV void moe_gemm_gguf_rows(const void *weights, const void *inputs,
                            const i32 *sorted, const i32 *ids,
                            const f32 *topk_weights, f32 *output,
                            const MoeSizes &size, i32 k_padded)
{
    if (k_padded < (i32)size.k)
        return; /* rows shorter than size_k */

    const u32 nblocks = size.k / F::elems;
    const u64 row_bytes = (u64)nblocks * F::bytes;
    const u64 y_bytes = q8_1_bytes(k_padded);

    for (u32 i = blockIdx.y; i < size.m; i += gridDim.y) {
        const u32 r = (u32)sorted[i], e = (u32)ids[i];
        const u32 from = topk_weights ? r : r / size.topk;

        if (r >= size.m)
            continue;
        for (u64 row = (u64)blockIdx.x * blockDim.y + threadIdx.y; row < size.n;
             row += (u64)gridDim.x * blockDim.y) {
            f32 v = 0;

            if (e < size.experts)
                v = row_product<F>(
                    static_cast<const u8 *>(weights) +
                        ((u64)e * size.n + row) * row_bytes,
                    static_cast<const u8 *>(inputs) + from * y_bytes, nblocks);
            if (e < size.experts && topk_weights)
                v *= topk_weights[r];
            if (threadIdx.x == 0)
                output[(u64)r * size.n + row] = v;
        }
    }
}
