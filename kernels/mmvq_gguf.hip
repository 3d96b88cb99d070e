/*
 * mmvq_gguf.hip - matrices in GGUF formats times one to eight Q8_1 columns
 *
 *   mmvq_gguf_F_T_plain_cudaN   the products of mul_mat_vec_F_q8_1_cudaN
 *                               (quantized.hip), rounded to f32, f16 or bf16
 *   mmvq_gguf_quantize_q8_1_T   f32, f16 or bf16 activations to Q8_1
 *
 * F is a format, a row of gguf/formats.h in lower case. vy is N columns,
 * stride_col_y Q8_1 blocks apart; dst is [N, stride_col_dst]; the first nrows_x
 * of each row are written. Outputs alias no input.
 */
#include "device.h"

#include "gguf/codes.h"
#include "gguf/formats.h"
#include "gguf/k.h"
#include "gguf/legacy.h"

#include "quantized/mat_vec.h"
#include "quantized/quantize.h"

#define EXPORT_MMVQ(name, T, F, N)                                             \
    MAT_VEC_KERNEL(F, N)                                                       \
    mmvq_gguf_##name##_##T##_plain_cuda##N(                                    \
        const void *vx, const void *vy, T *dst, i32 ncols_x, i32 nrows_x,      \
        i32 stride_col_y, i32 stride_col_dst)                                  \
    {                                                                          \
        mat_vec<F, N>(vx, vy, dst, ncols_x, nrows_x, nrows_x,                  \
                      (size_t)stride_col_y * Q8_1::bytes, stride_col_dst);     \
    }
#define EXPORT_FORMAT(name, lower, short, F, ...)                              \
    FOR_COLUMNS(EXPORT_MMVQ, lower, f32, F)                                    \
    FOR_COLUMNS(EXPORT_MMVQ, lower, f16, F)                                    \
    FOR_COLUMNS(EXPORT_MMVQ, lower, bf16, F)
GGUF_WEIGHTS(EXPORT_FORMAT)

#define EXPORT_QUANTIZE(T)                                                     \
    KERNEL_UP_TO(256)                                                          \
    mmvq_gguf_quantize_q8_1_##T(const T *x, void *vy, i32 kx, i32 kx_padded)   \
    {                                                                          \
        quantize_rows_q8_1(x, vy, kx, kx_padded);                              \
    }
EXPORT_QUANTIZE(f32)
EXPORT_QUANTIZE(f16)
EXPORT_QUANTIZE(bf16)
