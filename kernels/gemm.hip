/*
 * gemm.hip - C = alpha A B + beta C + bias, for every matrix of a batch
 *
 *   gemm_{nn,nt,tn,tt}_{f16,bf16,f32,f64}_{m128,m64}
 *   gemm_{nn,nt}_{f16,bf16,f32,f64}_m8
 *   gemm_join_{f16,bf16,f32,f64}
 *   gemm_align_{f16,bf16}
 *
 * a        [m, k], or [k, m] where the name's first letter is t
 * b        [k, n], or [n, k] where the second is t
 * c        [m, n]; its old values are read unless beta is 0
 * bias     [n] or null
 * lda...   elements from row to row of a, b and c, at least a row's length
 * stride_a, stride_b, stride_c
 *          elements from matrix to matrix of the batch, of any sign; with 0
 *          all of the batch have the same a or b
 * partial  [splits, batch, m, n]; used with more than one split: a split sums
 *          over a part of K, and gemm_join_* adds the splits up
 * alpha    f32, or f64 for f64; beta likewise
 *
 * Operands need no more alignment than an element's; c may not be a or b. f16
 * and bf16 are summed in f32, and rounded once. Sums over K are in an order
 * that is the same in each run, but not on each target. On sm_90 f32 of K from
 * 64 on is multiplied by matrix instructions, as three bf16 a number, within
 * the error of f32: nvidia/gemm/bf16x3_tile.h. The few rows of m8 are not.
 *
 * Grid: x over tiles of m, y over tiles of n, z over batch times splits;
 * smaller ones loop. Tiles and blocks: 128 x 128 and 256 threads, 64 x 64 and
 * 128, for few rows 8 x 64 and 256. On sm_90 the launch's shared memory says
 * which of several tiles of f16 and bf16, or of few rows, a block makes, see
 * gemm.csv.c; any grid is right for each tile, with clusters of any size: a
 * cluster's blocks share the tiles of the last partial round. Nothing is
 * written beside the matrices, and nothing where m, n or batch is 0. Nothing is
 * read beside them, but on NVIDIA's in the 16 bytes where an element is.
 *
 * gemm_align_* copies [rows, cols] of each matrix of a batch to rows of ld_to
 * elements, with zeros behind cols. ld_to and stride_to are multiples of 8,
 * `to` of 16 bytes. On NVIDIA's the larger tiles of f16 and bf16 are slow where
 * a row of a or b is not so aligned.
 */
#include "matrix/gemm.h"
#include "matrix/skinny_gemm.h"

#define GEMM_PARAMS(T, S)                                                      \
    const T *a, const T *b, T *c, const T *bias, S *partial, u32 m, u32 n,     \
        u32 k, u32 lda, u32 ldb, u32 ldc, i64 stride_a, i64 stride_b,          \
        i64 stride_c, u32 batch, u32 splits, S alpha, S beta
#define GEMM_ARGS(T)                                                           \
    Gemm<T>                                                                    \
    {                                                                          \
        a, b, c, bias, partial, m, n, k, lda, ldb, ldc, stride_a, stride_b,    \
            stride_c, batch, splits, alpha, beta                               \
    }

#define TILE(T, S, layout, trans_a, trans_b, size)                             \
    KERNEL_OF(2 * size, blocks_of(sizeof(T), size))                            \
    gemm_##layout##_##T##_m##size(GEMM_PARAMS(T, S))                           \
    {                                                                          \
        gemm<T, trans_a, trans_b, size>(GEMM_ARGS(T));                         \
    }
#define TILES(T, S, layout, trans_a, trans_b)                                  \
    TILE(T, S, layout, trans_a, trans_b, 128)                                  \
    TILE(T, S, layout, trans_a, trans_b, 64)
#define SKINNY(T, S, layout, trans_b)                                          \
    KERNEL_OF(256, skinny_blocks_of(sizeof(T)))                                \
    gemm_##layout##_##T##_m8(GEMM_PARAMS(T, S))                                \
    {                                                                          \
        gemm_skinny<T, trans_b>(GEMM_ARGS(T));                                 \
    }
/* Declares a kernel of `threads` threads. On NVIDIA's GPUs its registers are
 * limited so that n blocks fit a multiprocessor. */
#if KPK_NVIDIA
#define KERNEL_OF(threads, n)                                                  \
    extern "C" __global__ __launch_bounds__(threads, n) void
constexpr int blocks_of(u32 nbytes, u32 size)
{
    if (size == 128 || nbytes == 2)
        return 1;
    return nbytes == 8 ? 3 : KPK_WARPGROUPS ? 2 : 4;
}
constexpr int skinny_blocks_of(u32 nbytes)
{
    return nbytes == 2 ? 2 : 1;
}
#else
#define KERNEL_OF(threads, n) KERNEL_UP_TO(threads)
#endif
#define JOIN(T, S)                                                             \
    KERNEL_UP_TO(256)                                                          \
    gemm_join_##T(const S *partial, T *c, const T *bias, u32 m, u32 n,         \
                  u32 ldc, i64 stride_c, u32 batch, u32 splits, S alpha,       \
                  S beta)                                                      \
    {                                                                          \
        gemm_join(Gemm<T>{nullptr, nullptr, c, bias, const_cast<S *>(partial), \
                          m, n, 0, 0, 0, ldc, 0, 0, stride_c, batch, splits,   \
                          alpha, beta});                                       \
    }
#define ALIGN(T)                                                               \
    KERNEL_UP_TO(256)                                                          \
    gemm_align_##T(const T *from, T *to, u32 rows, u32 cols, u32 ld_from,      \
                   u32 ld_to, i64 stride_from, i64 stride_to, u32 batch)       \
    {                                                                          \
        gemm_align(from, to, rows, cols, ld_from, ld_to, stride_from,          \
                   stride_to, batch);                                          \
    }
#define EXPORT(T, S)                                                           \
    TILES(T, S, nn, false, false)                                              \
    TILES(T, S, nt, false, true)                                               \
    TILES(T, S, tn, true, false)                                               \
    TILES(T, S, tt, true, true)                                                \
    SKINNY(T, S, nn, false)                                                    \
    SKINNY(T, S, nt, true)                                                     \
    JOIN(T, S)

EXPORT(f16, f32)
EXPORT(bf16, f32)
EXPORT(f32, f32)
EXPORT(f64, f64)
ALIGN(f16)
ALIGN(bf16)
