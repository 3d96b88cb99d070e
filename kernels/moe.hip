/*
 * moe.hip - mixtures of experts: routing, and products with experts' matrices
 *
 *   moe_gemm_T, moe_gemm_T_f32 dense experts                moe/moe_gemm.h
 *   moe_gemm_gguf_prefill_T_F experts in GGUF formats, many rows moe/moe_gemm.h
 *   moe_gemm_gguf_F           the same, a token at a time   moe/moe_gemm_gguf.h
 *   moe_mul_mat_F             the same, many rows times Q8_1 moe/moe_mul_mat.h
 *   moe_topk_T, moe_sort_ids, moe_expert_offsets            moe/route.h
 *
 * T is f16 or bf16, of moe_topk f32 as well. F is a format of GGUF_WEIGHTS in
 * gguf/formats.h, in lower case. The arguments are those of candle's libmoe;
 * indices are 64 bits wide.
 */
#include "gguf/codes.h"
#include "gguf/formats.h"
#include "gguf/k.h"
#include "gguf/legacy.h"
#include "moe/moe_gemm.h"
#include "moe/moe_gemm_gguf.h"
#include "moe/moe_mul_mat.h"
#include "moe/route.h"

#define MOE_SIZES i32 num_experts, i32 topk, i32 size_m, i32 size_n, i32 size_k
#define MOE_SIZE_ARGS moe_sizes(num_experts, topk, size_m, size_n, size_k)

#define EXPORT_DENSE(name, T, R)                                               \
    KERNEL_UP_TO(moe_dense_threads)                                            \
    moe_gemm_##name(const T *input, const T *weights,                          \
                    const i32 *sorted_token_ids, const i32 *expert_offsets,    \
                    const f32 *topk_weights, R *output, MOE_SIZES)             \
    {                                                                          \
        moe_gemm(input, weights, sorted_token_ids, expert_offsets,             \
                 topk_weights, output, MOE_SIZE_ARGS);                         \
    }
EXPORT_DENSE(f16, f16, f16)
EXPORT_DENSE(bf16, bf16, bf16)
EXPORT_DENSE(f16_f32, f16, f32)
EXPORT_DENSE(bf16_f32, bf16, f32)

#define EXPORT_PREFILL(name, F, T)                                             \
    KERNEL_UP_TO(128)                                                          \
    moe_gemm_gguf_prefill_##T##_##name(                                        \
        const T *input, const void *weights, const i32 *sorted_token_ids,      \
        const i32 *expert_offsets, const f32 *topk_weights, f32 *output,       \
        MOE_SIZES)                                                             \
    {                                                                          \
        moe_gemm_gguf_tiles<F>(input, weights, sorted_token_ids,               \
                               expert_offsets, topk_weights, output,           \
                               MOE_SIZE_ARGS);                                 \
    }
#define EXPORT_EXPERTS(name, F)                                                \
    KERNEL_UP_TO(128)                                                          \
    moe_gemm_gguf_##name(const void *weights, const void *inputs_q8_1,         \
                         const i32 *sorted_token_ids, const i32 *expert_ids,   \
                         const f32 *topk_weights, f32 *outputs, MOE_SIZES,     \
                         i32 k_padded)                                         \
    {                                                                          \
        moe_gemm_gguf_rows<F>(weights, inputs_q8_1, sorted_token_ids,          \
                              expert_ids, topk_weights, outputs,               \
                              MOE_SIZE_ARGS, k_padded);                        \
    }                                                                          \
    EXPORT_PREFILL(name, F, f16)                                               \
    EXPORT_PREFILL(name, F, bf16)
#define EXPORT_TILED(name, F, rows, cols, passes)                              \
    TILED_KERNEL((rows) * (cols))                                              \
    moe_mul_mat_##name(const void *weights, const void *inputs_q8_1,           \
                       const i32 *sorted_token_ids, const i32 *expert_offsets, \
                       f32 *outputs, MOE_SIZES, i32 k_padded)                  \
    {                                                                          \
        moe_mul_mat<F, rows, cols, passes>(                                    \
            {weights, inputs_q8_1, sorted_token_ids, expert_offsets, outputs,  \
             num_experts, topk, size_m, size_n, size_k, k_padded});            \
    }
#define EXPORT_FORMAT(name, lower, short, F, number, elements, bytes, d, m,    \
                      tiled, column, counts, threads, elems, join,             \
                      row_threads, row_columns, rows, cols, passes)            \
    EXPORT_EXPERTS(lower, F)                                                   \
    EXPORT_TILED(lower, tiled, rows, cols, passes)
GGUF_WEIGHTS(EXPORT_FORMAT)

#define EXPORT_TOPK(T)                                                         \
    KERNEL_UP_TO(256)                                                          \
    moe_topk_##T(const T *logits, const f32 *bias, i32 *ids, f32 *weights,     \
                 u32 tokens, u32 experts, u32 k, u32 flags)                    \
    {                                                                          \
        moe_topk(logits, bias, ids, weights, tokens, experts, k, flags);       \
    }
EXPORT_TOPK(f32)
EXPORT_TOPK(f16)
EXPORT_TOPK(bf16)

KERNEL moe_sort_ids(const i32 *ids, i64 stride, i32 *sorted, i32 *offsets,
                    i32 topk, i32 size_m, i32 num_experts)
{
    sort_by_expert(ids, stride, sorted, offsets, topk, size_m, num_experts);
}

KERNEL moe_expert_offsets(const i32 *expert_ids, i32 *offsets, i32 size_m,
                          i32 num_experts)
{
    find_expert_offsets(expert_ids, offsets, size_m, num_experts);
}
