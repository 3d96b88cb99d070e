/*
 * low_bit.hip - matrices in GGUF formats of one to four bits: IQ1, IQ2, IQ3,
 * TQ and NVFP4
 *
 *   dequantize_block_F_T       n elements to f32 or f16
 *   get_rows_F                 chosen rows to f32
 *   mul_mat_vec_F_q8_1_cudaN   matrix times N Q8_1 columns: 1, 2, 4 or 8
 *   mul_mat_F_f32              matrix times any number of f32 columns
 *   ggml_get_rows_F            rows by ids in any layout         ggml/rows.h
 *   ggml_mul_mat_F_f32         products of strided matrices      ggml/product.h
 *
 * F is a format, a row of GGUF_LOW_BIT in gguf/formats.h. The arguments are
 * those of modules quantized and ggml, with three differences: dequantize_block
 * counts elements; mul_mat_F_f32 takes columns of f32, nrows_y elements apart;
 * it rounds the columns and the weights to bf16. This is a module apart from
 * quantized because few models need it. Its kernels use the code for all
 * formats and have no variants for single GPUs.
 */
#define KPK_MAT_VEC_PLAIN 1 /* mat_vec.h */
#include "device.h"

#include "ggml/product.h"
#include "ggml/rows.h"
#include "gguf/codes.h"
#include "gguf/formats.h"
#include "gguf/iq.h"
#include "gguf/ternary.h"

#include "quantized/decoded_tile.h"
#include "quantized/dequantize.h"
#include "quantized/mat_vec.h"

/* The struct of a format has its row's sizes. */
#define SAME_SIZES(name, F, number, elements, nbytes, ...)                     \
    static_assert(F::elems == elements && F::bytes == nbytes, #F);
GGUF_LOW_BIT(SAME_SIZES)

#define EXPORT_DEQUANTIZE(name, F, T, threads, elems, join)                    \
    KERNEL_UP_TO(threads)                                                      \
    dequantize_block_##name##_##T(const void *vx, T *y, i32 n)                 \
    {                                                                          \
        dequantize<F, T, threads, elems, join>(vx, y, (size_t)n);              \
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
#define EXPORT_FORMAT(name, F, number, elements, nbytes, d_at, m_at, counts,   \
                      ...)                                                     \
    EXPORT_DEQUANTIZE(name, F, f32, __VA_ARGS__)                               \
    EXPORT_DEQUANTIZE(name, F, f16, __VA_ARGS__)                               \
    KERNEL_UP_TO(64)                                                           \
    get_rows_##name(const void *src0, const u32 *src1, f32 *dst, i64 ne00,     \
                    size_t nb01)                                               \
    {                                                                          \
        get_rows<F>(src0, src1, dst, ne00, nb01);                              \
    }                                                                          \
    EXPORT_MAT_VEC(name, F, 1)                                                 \
    EXPORT_MAT_VEC(name, F, 2)                                                 \
    EXPORT_MAT_VEC(name, F, 4)                                                 \
    EXPORT_MAT_VEC(name, F, 8)                                                 \
    KERNEL_UP_TO(128)                                                          \
    mul_mat_##name##_f32(const void *vx, const f32 *vy, f32 *dst, i32 ncols_x, \
                         i32 nrows_x, i32 ncols_y, i32 nrows_y, i32 nrows_dst) \
    {                                                                          \
        decoded_mul<F>(vx, vy, dst, ncols_x, nrows_x, ncols_y, nrows_y,        \
                       nrows_dst);                                             \
    }                                                                          \
    KERNEL ggml_get_rows_##name(kpk_ggml_tensor src, kpk_ggml_tensor ids,      \
                                kpk_ggml_tensor out)                           \
    {                                                                          \
        ggml_get_block_rows<F>(src, ids, out);                                 \
    }                                                                          \
    KERNEL_UP_TO(256)                                                          \
    ggml_mul_mat_##name##_f32(kpk_ggml_tensor m, kpk_ggml_tensor x,            \
                              kpk_ggml_tensor ids, kpk_ggml_tensor out)        \
    {                                                                          \
        ggml_mul_mat<BlockedRow<F>, f32>(m, x, ids, out);                      \
    }
GGUF_LOW_BIT(EXPORT_FORMAT)
