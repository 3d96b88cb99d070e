/*
 * quantized.hip - matrices in GGUF block formats: to numbers, and products
 *
 *   dequantize_block_F_T          blocks to f32 or f16
 *   get_rows_F                    chosen rows to f32
 *   quantize_q8_1                 f32 activations to Q8_1
 *   dequantize_mul_mat_vec_F      matrix times an f32 column
 *   mul_mat_vec_F_q8_1_cudaN      matrix times N Q8_1 columns, N = 1..8
 *   mul_mat_F                     matrix times any number of Q8_1 columns
 *   indexed_moe_forward_F_q8_1    rows of chosen matrices times Q8_1 columns
 *
 * The formats are in gguf/, the kernels' bodies in quantized/; here are the
 * exported names. Grids and blocks are the callers': each body says what it
 * takes. Outputs alias no input. A row is a whole number of blocks.
 */
#include "device.h"

#include "gguf/k.h"
#include "gguf/legacy.h"

#include "quantized/dequantize.h"
#include "quantized/float_mat_vec.h"
#include "quantized/mat_vec.h"
#include "quantized/quantize.h"
#include "quantized/tiled.h"

/* clang-format off */
/* formats that can be weights: exported name, type */
#define LEGACY_FORMATS(X) \
    X(q4_0, Q4_0)         \
    X(q4_1, Q4_1)         \
    X(q5_0, Q5_0)         \
    X(q5_1, Q5_1)         \
    X(q8_0, Q8_0)
#define K_FORMATS(X) \
    X(q2_K, Q2_K)    \
    X(q3_K, Q3_K)    \
    X(q4_K, Q4_K)    \
    X(q5_K, Q5_K)    \
    X(q6_K, Q6_K)

/* dequantise, with the argument that says how much there is: threads, elements
 * to a workgroup as launched, workgroups joined, elements in a unit of it */
#define COUNTED_DEQUANTIZE(X)       \
    X(q4_0, Q4_0,  32, 256, 4, 32)  \
    X(q4_1, Q4_1,  32, 256, 4, 32)  \
    X(q5_0, Q5_0, 256, 512, 8,  1)  \
    X(q5_1, Q5_1, 256, 512, 8,  1)  \
    X(q8_0, Q8_0,  32, 256, 4, 32)
/* and with a workgroup for each block: threads, workgroups joined */
#define PLAIN_DEQUANTIZE(X) \
    X(q2_K, Q2_K, 64, 4)    \
    X(q3_K, Q3_K, 64, 4)    \
    X(q4_K, Q4_K, 32, 4)    \
    X(q5_K, Q5_K, 64, 4)    \
    X(q6_K, Q6_K, 64, 4)    \
    X(q8_K, Q8_K, 32, 4)

/* tiled products: rows and columns of a workgroup's tile, passes over it */
#define TILED(X)                       \
    X(q4_0, Q4_0,         128,  64, 1) \
    X(q4_1, Q4_1,         128,  64, 1) \
    X(q5_0, Q5_0_centred,  64, 128, 1) \
    X(q5_1, Q5_1,          64, 128, 1) \
    X(q8_0, Q8_0,          64, 128, 1) \
    X(q2_K, Q2_K,         128,  64, 1) \
    X(q3_K, Q3_K,         128, 128, 2) \
    X(q4_K, Q4_K,         128,  64, 1) \
    X(q5_K, Q5_K,         128,  64, 1) \
    X(q6_K, Q6_K,          64,  64, 1)

/* experts: exported name, type */
#define MOE_FORMATS(X) \
    X(q2k,  Q2_K)      \
    X(q3k,  Q3_K)      \
    X(q4k,  Q4_K)      \
    X(q5k,  Q5_K)      \
    X(q6k,  Q6_K)      \
    X(q8_0, Q8_0)
/* clang-format on */

#define EXPORT_COUNTED(name, F, threads, elems, join, unit)                    \
    KERNEL_UP_TO(threads)                                                      \
    dequantize_block_##name##_f32(const void *vx, f32 *y, i32 count)           \
    {                                                                          \
        dequantize<F, f32, threads, elems, join>(vx, y, (size_t)count * unit); \
    }                                                                          \
    KERNEL_UP_TO(threads)                                                      \
    dequantize_block_##name##_f16(const void *vx, f16 *y, i32 count)           \
    {                                                                          \
        dequantize<F, f16, threads, elems, join>(vx, y, (size_t)count * unit); \
    }
COUNTED_DEQUANTIZE(EXPORT_COUNTED)

#define EXPORT_PLAIN(name, F, threads, join)                                   \
    KERNEL_UP_TO(threads)                                                      \
    dequantize_block_##name##_f32(const void *vx, f32 *y)                      \
    {                                                                          \
        dequantize<F, f32, threads, 256, join>(vx, y,                          \
                                               (size_t)gridDim.x * 256);       \
    }                                                                          \
    KERNEL_UP_TO(threads)                                                      \
    dequantize_block_##name##_f16(const void *vx, f16 *y)                      \
    {                                                                          \
        dequantize<F, f16, threads, 256, join>(vx, y,                          \
                                               (size_t)gridDim.x * 256);       \
    }
PLAIN_DEQUANTIZE(EXPORT_PLAIN)

#define EXPORT_GET_ROWS(name, F)                                               \
    KERNEL_UP_TO(256)                                                          \
    get_rows_##name(const void *src0, const u32 *src1, f32 *dst, i64 ne00,     \
                    size_t nb01)                                               \
    {                                                                          \
        get_rows<F>(src0, src1, dst, ne00, nb01);                              \
    }
LEGACY_FORMATS(EXPORT_GET_ROWS)
K_FORMATS(EXPORT_GET_ROWS)

#define EXPORT_GET_FLOAT_ROWS(T)                                               \
    KERNEL_UP_TO(256)                                                          \
    get_rows_##T(const T *src0, const u32 *src1, f32 *dst, i64 ne00, size_t)   \
    {                                                                          \
        get_float_rows(src0, src1, dst, ne00);                                 \
    }
EXPORT_GET_FLOAT_ROWS(f32)
EXPORT_GET_FLOAT_ROWS(f16)
EXPORT_GET_FLOAT_ROWS(bf16)

KERNEL_UP_TO(256)
quantize_q8_1(const f32 *x, void *vy, i32 kx, i32 kx_padded)
{
    quantize_rows_q8_1(x, vy, kx, kx_padded);
}

/* On NVIDIA also how many workgroups must fit a multiprocessor: those that
 * leave at once hold as many registers as those that work, so both need room.
 * Where one will do, the compiler spends registers that it spares unasked.
 */
#if KPK_NVIDIA
#define RESIDENT_KERNEL(threads, resident)                                     \
    extern "C" __global__ __launch_bounds__(threads, resident) void
#else
#define RESIDENT_KERNEL(threads, resident) KERNEL_UP_TO(threads)
#endif
#define FLOAT_COLUMN RESIDENT_KERNEL(32, 32)
#define ONE_COLUMN RESIDENT_KERNEL(128, KPK_BULK_COPY ? 8 : 4)
#define FEW_COLUMNS RESIDENT_KERNEL(128, KPK_BULK_COPY ? 5 : 1)
#define MANY_COLUMNS RESIDENT_KERNEL(64, KPK_BULK_COPY ? 8 : 1)

#define EXPORT_FLOAT_MAT_VEC(name, F)                                          \
    FLOAT_COLUMN                                                               \
    dequantize_mul_mat_vec_##name(const void *vx, const f32 *y, f32 *dst,      \
                                  i32 ncols, i32 nrows)                        \
    {                                                                          \
        float_mat_vec<F>(vx, y, dst, ncols, nrows);                            \
    }
#define EXPORT_FLOAT_MAT_VEC_CUDA(name, F) EXPORT_FLOAT_MAT_VEC(name##_cuda, F)
LEGACY_FORMATS(EXPORT_FLOAT_MAT_VEC_CUDA)
EXPORT_FLOAT_MAT_VEC(q2_k, Q2_K)
EXPORT_FLOAT_MAT_VEC(q3_k, Q3_K)
EXPORT_FLOAT_MAT_VEC(q4_k, Q4_K)
EXPORT_FLOAT_MAT_VEC(q6_k, Q6_K)

/* this one's callers give no nrows: the grid has a workgroup for each */
FLOAT_COLUMN
dequantize_mul_mat_vec_q5_k(const void *vx, const f32 *y, f32 *dst, i32 ncols)
{
    float_mat_vec<Q5_K>(vx, y, dst, ncols, (int)gridDim.x);
}

#define EXPORT_MAT_VEC(name, F, N, kernel)                                     \
    kernel mul_mat_vec_##name##_q8_1_cuda##N(                                  \
        const void *vx, const void *vy, f32 *dst, i32 ncols_x, i32 nrows_x,    \
        i32 nrows_y, i32 nrows_dst)                                            \
    {                                                                          \
        mat_vec<F, N>(vx, vy, dst, ncols_x, nrows_x, nrows_y, nrows_dst);      \
    }
#define EXPORT_MAT_VECS(name, F)                                               \
    EXPORT_MAT_VEC(name, F, 1, ONE_COLUMN)                                     \
    EXPORT_MAT_VEC(name, F, 2, FEW_COLUMNS)                                    \
    EXPORT_MAT_VEC(name, F, 3, FEW_COLUMNS)                                    \
    EXPORT_MAT_VEC(name, F, 4, FEW_COLUMNS)                                    \
    EXPORT_MAT_VEC(name, F, 5, MANY_COLUMNS)                                   \
    EXPORT_MAT_VEC(name, F, 6, MANY_COLUMNS)                                   \
    EXPORT_MAT_VEC(name, F, 7, MANY_COLUMNS)                                   \
    EXPORT_MAT_VEC(name, F, 8, MANY_COLUMNS)
LEGACY_FORMATS(EXPORT_MAT_VECS)
K_FORMATS(EXPORT_MAT_VECS)

#define EXPORT_TILED(name, F, rows, cols, passes)                              \
    RESIDENT_KERNEL(128, 2)                                                    \
    mul_mat_##name(const void *vx, const void *vy, f32 *dst, i32 ncols_x,      \
                   i32 nrows_x, i32 ncols_y, i32 nrows_y, i32 nrows_dst)       \
    {                                                                          \
        mat_mul<F, rows, cols, passes>(vx, vy, dst, ncols_x, nrows_x, ncols_y, \
                                       nrows_y, nrows_dst);                    \
    }
TILED(EXPORT_TILED)

#define EXPORT_MOE(name, F)                                                    \
    ONE_COLUMN                                                                 \
    indexed_moe_forward_##name##_q8_1(const void *weights, const void *inputs, \
                                      const u32 *ids, f32 *dst, i32 n, i32 k,  \
                                      i32, i32, i32 k_padded, i32 input_dim1)  \
    {                                                                          \
        indexed_moe_forward<F>(weights, inputs, ids, dst, n, k, k_padded,      \
                               input_dim1);                                    \
    }
MOE_FORMATS(EXPORT_MOE)
