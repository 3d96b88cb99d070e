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

/* the kernel's parameters */
struct MoeMulMat {
    const void *weights, *inputs;
    const i32 *sorted, *offsets;
    f32 *output;
    i32 experts, topk, m, n, k, k_padded;

    DEV_MEMBER MoeSizes size() const
    {
        return moe_sizes(experts, topk, m, n, k);
    }
    /* the index in `sorted` of expert e's first row */
    DEV_MEMBER u32 begin(u32 e) const
    {
        return (u32)min_of(max_of(offsets[e], 0), (i32)size().m);
    }
    /* rows of no expert, `first` .. end - 1 in `sorted` */
    DEV_MEMBER void clear_rows(u32 first, u32 end) const
    {
        for (u32 i = first + threadIdx.y; i < end; i += blockDim.y)
            for (u32 col = threadIdx.x; col < size().n; col += blockDim.x)
                output[(u64)(u32)sorted[i] * size().n + col] = 0;
    }
};

/*
 * tile_thread(), which the compiler does not know: it computes a tile's
 * addresses from it for each tile. AMD's compiler would compute the addresses
 * of all kinds of tiles ahead of the loop, and spill registers to keep them.
 */
DEV int thread_of_tile()
{
    int tid = tile_thread();

#if !KPK_NVIDIA
    asm volatile("" : "+v"(tid));
    tid &= tile_threads - 1; /* tells the compiler its range */
#endif
    return tid;
}

template <class F, int Rows, int Cols, int Passes>
DEV void moe_mul_mat(const MoeMulMat &given)
{
    const MoeSizes size = given.size();
    const bool clears = blockIdx.x + blockIdx.y + blockIdx.z == 0;
    const bool empty = size.k < (u32)F::elems;
    __shared__ u32 from[ChosenColumns::most], to[ChosenColumns::most];

    static_assert(Cols <= ChosenColumns::most, "lists have room");
    if (given.k_padded < (i32)size.k)
        return; /* columns shorter than k */
    if (clears) {
        const bool all = size.experts == 0 || empty;

        given.clear_rows(0, all ? size.m : given.begin(0));
        if (!all)
            given.clear_rows(given.begin(size.experts), size.m);
    }
    if (empty)
        return;
    for (u32 e = blockIdx.x; e < read_again(given).size().experts;
         e += gridDim.x) {
        const u32 end = read_again(given).begin(e + 1);

        for (u32 at = read_again(given).begin(e) + blockIdx.z * Cols; at < end;
             at += gridDim.z * Cols) {
            const int ncols = (int)min_of(end - at, (u32)Cols);
            const MoeMulMat &lists = read_again(given);

            for (int i = tile_thread(); i < ncols; i += tile_threads) {
                const u32 row = (u32)lists.sorted[at + (u32)i];

                from[i] = row / lists.size().topk;
                to[i] = row;
            }
            __syncthreads();
            NO_UNROLL
            for (u32 row0 = blockIdx.y * Rows;
                 row0 < read_again(given).size().n; row0 += gridDim.y * Rows) {
                const MoeMulMat &a = read_again(given);
                const int n = (int)a.size().n;
                const int nblocks = (int)a.size().k / F::elems;
                const u64 expert_bytes = (u64)(u32)n * (u32)nblocks * F::bytes;

                mat_mul_whole_tile<F, Rows, Cols, Passes>(MatMul<ChosenColumns>{
                    static_cast<const u8 *>(a.weights) + e * expert_bytes,
                    static_cast<const u8 *>(a.inputs),
                    a.output,
                    nblocks,
                    n,
                    ncols,
                    n,
                    q8_1_bytes(a.k_padded),
                    (int)row0,
                    0,
                    Rows,
                    {from, to, thread_of_tile()}});
                __syncthreads();
            }
        }
    }
}
