/*
 * fused.hip - steps of language models that several kernels would take
 *
 * The last column names the header in fused/.
 *
 *   rmsnorm_add_T            residual sum and RMS norm       add_norm.h
 *   add_rmsnorm_quantize_q8_1_T, add_rmsnorm_quantize_q8_1_quants_T
 *                            the same, to Q8_1 blocks        add_norm.h
 *   silu_mul_T, gelu_mul_T   dst = f(gate) * up, numel each; dst may be gate or
 *                            up; any grid and block; gelu is the one with tanh
 *   softmax_masked_T         softmax of masked scores        masked_softmax.h
 *   rope_pos_T               rotary embedding by positions   rope_positions.h
 *   rmsnorm_add_rmsnorm_quantize_q8_1_quants_f32
 *                            two norms and a sum, to blocks  norm_add_norm.h
 *   quantize_q8_1_quants_f16, silu_mul_quantize_q8_1_quants_f32,
 *   gelu_mul_quantize_q8_1_quants_f32
 *                            numbers [rows, n], or f(gate) * up with a row
 *                            every `stride`, to blocks       q8_1.h
 *   rope_table_f32, attention_heads_f32
 *                            Q, K and V on their way to attention and its
 *                            cache                           heads.h
 *   argmax_last_T, argmax_rows_f32
 *                            the likeliest token             argmax.h
 *   sample_T                 a token by top-k and top-p      sample.h
 *   repeat_penalty_T         less of a context's tokens      repeat_penalty.h
 *
 * T is f32, f16 or bf16. All is computed in f32 and rounded once.
 * repeat_penalty takes f64, too.
 */
#include "fused/add_norm.h"
#include "fused/argmax.h"
#include "fused/heads.h"
#include "fused/masked_softmax.h"
#include "fused/norm_add_norm.h"
#include "fused/repeat_penalty.h"
#include "fused/rope_positions.h"
#include "fused/sample.h"
#include "map.h"
#include "map/pairs.h"
#include "unary_math.h"

#define GATED(name, T)                                                         \
    struct name##_gated_##T {                                                  \
        DEV_MEMBER T operator()(T g, T u) const                                \
        {                                                                      \
            return convert<T>(                                                 \
                name##_times<T>(convert<f32>(g), convert<f32>(u)));            \
        }                                                                      \
        template <typename X> DEV_MEMBER X two(X g, X u) const                 \
        {                                                                      \
            return name##_times<T>(g, u);                                      \
        }                                                                      \
    };                                                                         \
    KERNEL_PAIRED name##_mul_##T(size_t numel, const T *gate, const T *up,     \
                                 T *dst)                                       \
    {                                                                          \
        map_binary(numel, 0, nullptr, gate, up, dst,                           \
                   small_in_twos<T>(name##_gated_##T()));                      \
    }

#define QUANTIZED(name, T, of_quants)                                          \
    KERNEL name(const T *src, const T *residual, T *sum, const T *alpha,       \
                void *vy, i32 n_cols, i32 n_padded, f32 eps)                   \
    {                                                                          \
        add_rmsnorm_quantize<of_quants>(src, residual, sum, alpha, vy, n_cols, \
                                        n_padded, eps);                        \
    }

#define EXPORT(T)                                                              \
    KERNEL rmsnorm_add_##T(const T *src, const T *residual, T *dst, T *sum,    \
                           const T *alpha, i32 n_cols, i32 block_size,         \
                           f32 eps)                                            \
    {                                                                          \
        (void)block_size; /* the block tells */                                \
        rmsnorm_add(src, residual, dst, sum, alpha, n_cols, eps);              \
    }                                                                          \
    QUANTIZED(add_rmsnorm_quantize_q8_1_##T, T, false)                         \
    QUANTIZED(add_rmsnorm_quantize_q8_1_quants_##T, T, true)                   \
    GATED(silu, T)                                                             \
    GATED(gelu, T)                                                             \
    KERNEL softmax_masked_##T(const T *src, const T *mask, T *dst, i32 n_cols, \
                              u32 rows_per_mask, f32 scale)                    \
    {                                                                          \
        softmax_masked(src, mask, dst, n_cols, rows_per_mask, scale);          \
    }                                                                          \
    KERNEL_UP_TO_RESIDENT(256, 4)                                              \
    rope_pos_##T(const T *src, const i32 *positions, const f32 *freq_factors,  \
                 T *dst, u32 tokens, u32 heads, u32 d, u32 n_dims, f32 base,   \
                 f32 scale, f32 ext, f32 attn, f32 corr_low, f32 corr_high,    \
                 u32 flags)                                                    \
    {                                                                          \
        rope_pos(src, positions, freq_factors, dst, tokens, heads, d, n_dims,  \
                 base, scale, ext, attn, corr_low, corr_high, flags);          \
    }                                                                          \
    KERNEL argmax_last_##T(const T *logits, u32 *index, u64 *work, u32 rows,   \
                           u32 n)                                              \
    {                                                                          \
        argmax_last(logits, index, work, rows, n);                             \
    }                                                                          \
    KERNEL sample_##T(const T *logits, u32 *token, u32 n, u32 k, f32 p,        \
                      f32 temperature, u64 seed, u64 offset)                   \
    {                                                                          \
        sample(logits, token, n, k, p, temperature, seed, offset);             \
    }

#define PENALTY(T)                                                             \
    KERNEL repeat_penalty_##T(const T *input, T *output, const u32 *context,   \
                              u32 vocab, u32 n_context, f32 penalty)           \
    {                                                                          \
        repeat_penalty(input, output, context, vocab, n_context, penalty);     \
    }

EXPORT(f32)
EXPORT(f16)
EXPORT(bf16)

PENALTY(f32)
PENALTY(f64)
PENALTY(f16)
PENALTY(bf16)

KERNEL rmsnorm_add_rmsnorm_quantize_q8_1_quants_f32(
    const f32 *src, const f32 *inner, const f32 *residual, f32 *sum,
    const f32 *alpha, void *vy, i32 n_cols, i32 n_padded, f32 eps)
{
    rmsnorm_add_rmsnorm_quantize(src, inner, residual, sum, alpha, vy, n_cols,
                                 n_padded, eps);
}

KERNEL quantize_q8_1_quants_f16(const f16 *src, void *vy, u32 rows, i32 n_cols,
                                i32 n_padded)
{
    quantize_plain(src, vy, rows, n_cols, n_padded);
}

#define GATED_BLOCKS(name)                                                     \
    KERNEL name##_mul_quantize_q8_1_quants_f32(const f32 *gate, const f32 *up, \
                                               void *vy, u32 rows, i32 n_cols, \
                                               i32 n_padded, u64 stride)       \
    {                                                                          \
        quantize_gated(gate, up, vy, rows, n_cols, n_padded, stride,           \
                       [](f32 g, f32 u) { return name##_times<f32>(g, u); });  \
    }

GATED_BLOCKS(silu)
GATED_BLOCKS(gelu)

KERNEL_UP_TO(256)
rope_table_f32(const i32 *positions, const f32 *freq_factors, f32 *table,
               u32 tokens, u32 n_dims, f32 base, f32 scale, f32 ext, f32 attn,
               f32 corr_low, f32 corr_high)
{
    rope_table({positions, freq_factors, n_dims, base, scale, ext, attn,
                corr_low, corr_high},
               table, tokens);
}

KERNEL_UP_TO(256)
attention_heads_f32(f32 *qkv, const f32 *bias, const f32 *q_norm,
                    const f32 *k_norm, const f32 *table, f16 *q, const i64 *ids,
                    f16 *cache, u64 cache_rows, u32 tokens, u32 heads,
                    u32 kv_heads, u32 d, f32 eps, u32 flags)
{
    const attention_heads all = {qkv,   bias,     q_norm, k_norm,     table,
                                 q,     ids,      cache,  cache_rows, tokens,
                                 heads, kv_heads, d,      eps};

    if (flags & ROPE_NEOX)
        all.run<true>();
    else
        all.run<false>();
}

KERNEL argmax_rows_f32(const f32 *logits, u32 *index, u64 *work, u32 rows,
                       u32 n)
{
    argmax_rows(logits, index, work, rows, n);
}
