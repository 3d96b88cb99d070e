/*
 * quantized.hip - matrices in GGUF block formats: to numbers, and products
 *
 *   dequantize_block_F_T          blocks to f32 or f16
 *   get_rows_F                    chosen rows to f32
 *   quantize_q8_1                 f32 activations to Q8_1
 *   quantize_q8_1_quants          the same with sums of the quants (quantize.h)
 *   dequantize_mul_mat_vec_F      matrix times an f32 column
 *   mul_mat_vec_F_q8_1_cudaN      matrix times N Q8_1 columns, N = 1..8
 *   mul_mat_vec_T_f32_cudaN       T's matrix times N f32 columns
 *   mul_mat_F                     matrix times any number of Q8_1 columns; of
 *                                 T times f32 columns
 *   indexed_moe_forward_F_q8_1    rows of chosen matrices times Q8_1 columns
 *
 * F is a format, a row of gguf/formats.h, or T, which is bf16 or f16. Blocks
 * are described in gguf/, the kernels' bodies are in quantized/ and, for sm_80
 * and later, in nvidia/; here are the exported names. T has the first two and
 * dequantize_mul_mat_vec_ like every format. Its rows have any number of
 * columns, nrows_y of its products is in elements, too, and mul_mat_T rounds
 * the f32 columns to T. Callers set grids and blocks: each body says which it
 * takes. Outputs alias no input. A row is a whole number of blocks.
 *
 * mul_mat_F of blocks run in waves of 64 on the targets of WAVES64_quantized
 * (Makefile), all others in the target's own.
 */
#include "device.h"

#include "gguf/codes.h"
#include "gguf/formats.h"
#include "gguf/k.h"
#include "gguf/legacy.h"

#include "quantized/dequantize.h"
#include "quantized/f16_weights.h"
#include "quantized/mat_vec.h"
#include "quantized/mat_vec_f32.h"
#include "quantized/mul_mat.h"
#include "quantized/quantize.h"

/* The struct of a format has its row's sizes. */
#define SAME_SIZES(F, elements, nbytes)                                        \
    static_assert(F::elems == elements && F::bytes == nbytes, #F);
#define SIZES_OF_WEIGHTS(name, lower, short, F, number, elements, nbytes, ...) \
    SAME_SIZES(F, elements, nbytes)
#define SIZES_OF_NUMBERS(name, F, number, elements, nbytes, ...)               \
    SAME_SIZES(F, elements, nbytes)
GGUF_WEIGHTS(SIZES_OF_WEIGHTS)
GGUF_NUMBERS(SIZES_OF_NUMBERS)

#define EXPORT_TILED(name, F, rows, cols, passes)                              \
    TILED_KERNEL((rows) * (cols))                                              \
    mul_mat_##name(const void *vx, const void *vy, f32 *dst, i32 ncols_x,      \
                   i32 nrows_x, i32 ncols_y, i32 nrows_y, i32 nrows_dst)       \
    {                                                                          \
        mat_mul<F, rows, cols, passes>(vx, vy, dst, ncols_x, nrows_x, ncols_y, \
                                       nrows_y, nrows_dst);                    \
    }

#if KPK_WAVES == 64 /* only tiled kernels, see matrix_unit.h */
#define EXPORT_FORMAT(name, lower, short, F, number, elements, bytes, d, m,    \
                      tiled, column, counts, threads, elems, join,             \
                      row_threads, row_columns, rows, cols, passes)            \
    EXPORT_TILED(name, tiled, rows, cols, passes)
GGUF_WEIGHTS(EXPORT_FORMAT)
#else
#if KPK_WAVES == 32 /* tiled kernels are in the other part */
#undef EXPORT_TILED
#define EXPORT_TILED(...)
#endif

#define COUNTED_KERNEL(name, F, T, unit, threads, elems, join)                 \
    KERNEL_UP_TO(threads)                                                      \
    dequantize_block_##name##_##T(const void *vx, T *y, i32 count)             \
    {                                                                          \
        dequantize<F, T, threads, elems, join>(vx, y, (size_t)count * unit);   \
    }
#define GRID_KERNEL(name, F, T, unit, threads, elems, join)                    \
    KERNEL_UP_TO(threads)                                                      \
    dequantize_block_##name##_##T(const void *vx, T *y)                        \
    {                                                                          \
        dequantize<F, T, threads, elems, join>(vx, y,                          \
                                               (size_t)gridDim.x * elems);     \
    }
#define DEQUANTIZE_blocks COUNTED_KERNEL
#define DEQUANTIZE_elements COUNTED_KERNEL
#define DEQUANTIZE_nothing GRID_KERNEL
#define EXPORT_DEQUANTIZE(name, F, counts, ...)                                \
    DEQUANTIZE_##counts(name, F, f32, GGUF_UNIT_##counts, __VA_ARGS__)         \
        DEQUANTIZE_##counts(name, F, f16, GGUF_UNIT_##counts, __VA_ARGS__)
#define EXPORT_NUMBERS(name, F, number, elements, bytes, d, m, ...)            \
    EXPORT_DEQUANTIZE(name, F, __VA_ARGS__)
GGUF_NUMBERS(EXPORT_NUMBERS)

#define EXPORT_GET_ROWS(name, F)                                               \
    KERNEL_UP_TO(256)                                                          \
    get_rows_##name(const void *src0, const u32 *src1, f32 *dst, i64 ne00,     \
                    size_t nb01)                                               \
    {                                                                          \
        get_rows<F>(src0, src1, dst, ne00, nb01);                              \
    }

#define EXPORT_GET_FLOAT_ROWS(T)                                               \
    KERNEL_UP_TO(256)                                                          \
    get_rows_##T(const T *src0, const u32 *src1, f32 *dst, i64 ne00, size_t)   \
    {                                                                          \
        get_float_rows(src0, src1, dst, ne00);                                 \
    }
EXPORT_GET_FLOAT_ROWS(f32)

KERNEL_UP_TO(256)
quantize_q8_1(const f32 *x, void *vy, i32 kx, i32 kx_padded)
{
    quantize_rows_q8_1(x, vy, kx, kx_padded);
}

KERNEL_UP_TO(256)
quantize_q8_1_quants(const f32 *x, void *vy, i32 kx, i32 kx_padded)
{
    quantize_rows_q8_1<true>(x, vy, kx, kx_padded);
}

#define FLOAT_COLUMN RESIDENT_KERNEL(32, 32)

#define EXPORT_FLOAT_MAT_VEC(name, F)                                          \
    FLOAT_COLUMN                                                               \
    dequantize_mul_mat_vec_##name(const void *vx, const f32 *y, f32 *dst,      \
                                  i32 ncols, i32 nrows)                        \
    {                                                                          \
        float_mat_vec<F>(vx, y, dst, ncols, nrows);                            \
    }
#define FLOAT_MAT_VEC_plain(lower, F) EXPORT_FLOAT_MAT_VEC(lower, F)
#define FLOAT_MAT_VEC_cuda(lower, F) EXPORT_FLOAT_MAT_VEC(lower##_cuda, F)
/* Callers give no nrows: the grid has a workgroup for each row. */
#define FLOAT_MAT_VEC_grid(lower, F)                                           \
    FLOAT_COLUMN                                                               \
    dequantize_mul_mat_vec_##lower(const void *vx, const f32 *y, f32 *dst,     \
                                   i32 ncols)                                  \
    {                                                                          \
        float_mat_vec<F>(vx, y, dst, ncols, (int)gridDim.x);                   \
    }

#define EXPORT_MAT_VEC(name, F, N)                                             \
    MAT_VEC_KERNEL(F, N)                                                       \
    mul_mat_vec_##name##_q8_1_cuda##N(const void *vx, const void *vy,          \
                                      f32 *dst, i32 ncols_x, i32 nrows_x,      \
                                      i32 nrows_y, i32 nrows_dst)              \
    {                                                                          \
        mat_vec<F, N>(vx, vy, dst, ncols_x, nrows_x,                           \
                      min_of(nrows_x, nrows_dst), q8_1_bytes(nrows_y),         \
                      nrows_dst);                                              \
    }

#define EXPORT_EXPERTS(name, F)                                                \
    MAT_VEC_KERNEL(F, 1)                                                       \
    indexed_moe_forward_##name##_q8_1(const void *weights, const void *inputs, \
                                      const u32 *ids, f32 *dst, i32 n, i32 k,  \
                                      i32, i32, i32 k_padded, i32 input_dim1)  \
    {                                                                          \
        indexed_moe_forward<F>(weights, inputs, ids, dst, n, k, k_padded,      \
                               input_dim1);                                    \
    }

#define EXPORT_FORMAT(name, lower, short, F, number, elements, bytes, d, m,    \
                      tiled, column, counts, threads, elems, join,             \
                      row_threads, row_columns, rows, cols, passes)            \
    EXPORT_DEQUANTIZE(name, F, counts, threads, elems, join)                   \
    EXPORT_GET_ROWS(name, F)                                                   \
    FLOAT_MAT_VEC_##column(lower, F) FOR_COLUMNS(EXPORT_MAT_VEC, name, F)      \
        EXPORT_TILED(name, tiled, rows, cols, passes) EXPORT_EXPERTS(short, F)
GGUF_WEIGHTS(EXPORT_FORMAT)

#define EXPORT_FLOATS_TO(T, R, threads, elems, join)                           \
    KERNEL_UP_TO(threads)                                                      \
    dequantize_block_##T##_##R(const T *vx, R *y, i32 count)                   \
    {                                                                          \
        dequantize_floats<threads, elems, join>(vx, y, (size_t)count);         \
    }
#define EXPORT_FLOATS_MAT_VEC(T, N)                                            \
    KERNEL_UP_TO(32 * vec_warps<N>)                                            \
    mul_mat_vec_##T##_f32_cuda##N(const T *vx, const f32 *vy, f32 *dst,        \
                                  i32 ncols_x, i32 nrows_x, i32 nrows_y,       \
                                  i32 nrows_dst)                               \
    {                                                                          \
        float_weights_mat_vec<N>(vx, vy, dst, ncols_x, nrows_x, nrows_y,       \
                                 nrows_dst);                                   \
    }
#define EXPORT_FLOAT_WEIGHTS(T, type, number, bytes, threads, elems, join,     \
                             row_threads, row_columns, rows, cols)             \
    EXPORT_FLOATS_TO(T, f32, threads, elems, join)                             \
    EXPORT_FLOATS_TO(T, f16, threads, elems, join)                             \
    EXPORT_GET_FLOAT_ROWS(T)                                                   \
    FLOAT_COLUMN                                                               \
    dequantize_mul_mat_vec_##T(const T *vx, const f32 *y, f32 *dst, i32 ncols, \
                               i32 nrows)                                      \
    {                                                                          \
        float_weights_column(vx, y, dst, ncols, nrows);                        \
    }                                                                          \
    FOR_COLUMNS(EXPORT_FLOATS_MAT_VEC, T)                                      \
    KERNEL_UP_TO(128)                                                          \
    mul_mat_##T(const T *vx, const f32 *vy, f32 *dst, i32 ncols_x,             \
                i32 nrows_x, i32 ncols_y, i32 nrows_y, i32 nrows_dst)          \
    {                                                                          \
        float_weights_mul<rows, cols>(vx, vy, dst, ncols_x, nrows_x, ncols_y,  \
                                      nrows_y, nrows_dst);                     \
    }
GGUF_FLOAT_WEIGHTS(EXPORT_FLOAT_WEIGHTS)
#endif
