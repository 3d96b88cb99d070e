/*
 * ggml.hip - operations of ggml on tensors with strides
 *
 * Tensors are arguments by value (../host/ggml_tensor.h). The last column names
 * the header in ggml/; any 1-D grid unless that says otherwise.
 *
 *   ggml_{add,sub,mul,div}_A_B   a and b, which is repeated     elementwise.h
 *   ggml_FUNCTION_T              functions of one element; a, b,
 *                                c and d are their parameters   elementwise.h
 *   ggml_GATE_T                  f(gate) up; a and b are
 *                                parameters                     elementwise.h
 *   ggml_copy_A_B, ggml_repeat_T any layout to any other        copy.h
 *   ggml_get_rows_F, ggml_set_rows_F_T
 *                                rows by ids, also of blocks    rows.h
 *   ggml_{norm,rms_norm,l2_norm,sum_rows,cumsum,argmax}_f32, ggml_soft_max_M,
 *   ggml_soft_max_{part,join}_M
 *                                rows; M is the mask's type     strided_norm.h
 *   ggml_alibi_slopes_f32        of [heads] heads               strided_norm.h
 *   ggml_rope_T                  rotary embedding               strided_rope.h
 *   ggml_rope_table_f32          its cosines and sines          strided_rope.h
 *   ggml_heads_to_cache_f32, ggml_norm_heads_to_cache_f32
 *                                Q, K and V before attention  heads_to_cache.h
 *   ggml_choose_experts_f32, ggml_add_up_experts_f32
 *                                mixtures of experts            mixture.h
 *   ggml_mul_mat_F_T             products of strided matrices   product.h
 *   ggml_{keep_band,arange,roll,timestep_embedding}_f32
 *                                functions of places            places.h
 *   ggml_im2col_A_B, ggml_pool_{max,average}_T, ggml_conv_transpose_1d_T,
 *   ggml_upscale_{nearest,bilinear,bicubic}_f32
 *                                windows over images            windows.h
 */
#include "ggml/copy.h"
#include "ggml/elementwise.h"
#include "ggml/heads_to_cache.h"
#include "ggml/mixture.h"
#include "ggml/places.h"
#include "ggml/product.h"
#include "ggml/rows.h"
#include "ggml/strided_norm.h"
#include "ggml/strided_rope.h"
#include "ggml/windows.h"
#include "gguf/formats.h"
#include "gguf/k.h"

/* clang-format off */

/* ---- two operands ---- */

#define BINARY_TABLE(X, A, B)  \
    X(add, A, B, x + y)        \
    X(sub, A, B, x - y)        \
    X(mul, A, B, x * y)        \
    X(div, A, B, x / y)

#define BINARY_TYPES(X)        \
    X(f32, f32)                \
    X(f32, f16)                \
    X(f16, f16)                \
    X(f16, f32)                \
    X(bf16, bf16)              \
    X(bf16, f32)

/* ---- one operand ---- */

#define UNARY_TABLE(X, T)                                                      \
    X(abs,          T, fabsf(x))                                               \
    X(sgn,          T, sign_of<f32>(x))                                        \
    X(neg,          T, -x)                                                     \
    X(step,         T, step_of(x))                                             \
    X(tanh,         T, tanhf(x))                                               \
    X(elu,          T, elu_of<f32>(x, 1.0f))                                   \
    X(relu,         T, relu_of<f32>(x))                                        \
    X(sigmoid,      T, sigmoid_of<f32>(x))                                     \
    X(gelu,         T, gelu_of<f32>(x))                                        \
    X(gelu_quick,   T, swish_of(x, 1.702f))                                    \
    X(silu,         T, silu_of<f32>(x))                                        \
    X(hardswish,    T, hard_swish_of(x))                                       \
    X(hardsigmoid,  T, hard_sigmoid_of(x))                                     \
    X(exp,          T, expf(x))                                                \
    X(expm1,        T, expm1f(x))                                              \
    X(softplus,     T, softplus_of(x))                                         \
    X(gelu_erf,     T, gelu_erf_of<f32>(x))                                    \
    X(xielu,        T, xielu_of(x, a, b, c, d))                                \
    X(floor,        T, floorf(x))                                              \
    X(ceil,         T, ceilf(x))                                               \
    X(round,        T, roundf(x))                                              \
    X(trunc,        T, truncf(x))                                              \
    X(sqr,          T, x * x)                                                  \
    X(sqrt,         T, sqrtf(x))                                               \
    X(log,          T, logf(x))                                                \
    X(sin,          T, sin_f32(x))                                             \
    X(cos,          T, cosf(x))                                                \
    X(leaky_relu,   T, x > 0 ? x : a * x)                                      \
    X(clamp,        T, clamped(x, a, b))                                       \
    X(scale,        T, a * x + b)                                              \
    X(fill,         T, (void(x), a))

/* ---- gates ---- */

#define GATE_TABLE(X, T)                                                       \
    X(reglu,        T, relu_of<f32>(x) * y)                                    \
    X(geglu,        T, gelu_times<f32>(x, y))                                  \
    X(swiglu,       T, silu_times<f32>(x, y))                                  \
    X(swiglu_oai,   T, swiglu_oai(x, y, a, b))                                 \
    X(swiglu_clamp, T, swiglu_clamp(x, y, b))                                  \
    X(geglu_erf,    T, gelu_erf_of<f32>(x) * y)                                \
    X(geglu_quick,  T, swish_of(x, 1.702f) * y)
/* clang-format on */

#define EXPORT_BINARY(name, A, B, ...)                                         \
    KERNEL ggml_##name##_##A##_##B(kpk_ggml_tensor a, kpk_ggml_tensor b,       \
                                   kpk_ggml_tensor out)                        \
    {                                                                          \
        ggml_combine<A, B>(a, b, out,                                          \
                           [](f32 x, f32 y) { return __VA_ARGS__; });          \
    }
#define EXPORT_BINARIES(A, B) BINARY_TABLE(EXPORT_BINARY, A, B)
BINARY_TYPES(EXPORT_BINARIES)

#define EXPORT_UNARY(name, T, ...)                                             \
    KERNEL ggml_##name##_##T(kpk_ggml_tensor src, kpk_ggml_tensor out, f32 a,  \
                             f32 b, f32 c, f32 d)                              \
    {                                                                          \
        (void)a, (void)b, (void)c, (void)d; /* most functions use none */      \
        ggml_map<T>(src, out, [=](f32 x) -> f32 { return __VA_ARGS__; });      \
    }
#define EXPORT_GATE(name, T, ...)                                              \
    KERNEL ggml_##name##_##T(kpk_ggml_tensor gate, kpk_ggml_tensor up,         \
                             kpk_ggml_tensor out, f32 a, f32 b)                \
    {                                                                          \
        (void)a, (void)b;                                                      \
        ggml_combine<T, T>(gate, up, out,                                      \
                           [=](f32 x, f32 y) -> f32 { return __VA_ARGS__; });  \
    }
#define EXPORT_REPEAT(T)                                                       \
    KERNEL ggml_repeat_##T(kpk_ggml_tensor src, kpk_ggml_tensor out)           \
    {                                                                          \
        ggml_repeat<T>(src, out);                                              \
    }
#define EXPORT_FLOAT(T)                                                        \
    UNARY_TABLE(EXPORT_UNARY, T)                                               \
    GATE_TABLE(EXPORT_GATE, T)
EXPORT_FLOAT(f32)
EXPORT_FLOAT(f16)
EXPORT_FLOAT(bf16)
EXPORT_REPEAT(f32)
EXPORT_REPEAT(f16)

/* ---- copies ---- */

#define EXPORT_COPY(A, B)                                                      \
    KERNEL ggml_copy_##A##_##B(kpk_ggml_tensor src, kpk_ggml_tensor out)       \
    {                                                                          \
        ggml_copy<A, B>(src, out);                                             \
    }
#define EXPORT_COPIES(A)                                                       \
    EXPORT_COPY(A, f32)                                                        \
    EXPORT_COPY(A, f16)                                                        \
    EXPORT_COPY(A, bf16)                                                       \
    EXPORT_COPY(A, i32)
EXPORT_COPIES(f32)
EXPORT_COPIES(f16)
EXPORT_COPIES(bf16)
EXPORT_COPIES(i32)

/* ---- rows by ids ---- */

#define EXPORT_GET(name, ...)                                                  \
    KERNEL ggml_get_rows_##name(kpk_ggml_tensor src, kpk_ggml_tensor ids,      \
                                kpk_ggml_tensor out)                           \
    {                                                                          \
        __VA_ARGS__(src, ids, out);                                            \
    }
#define EXPORT_GET_BLOCKS(name, lower, short, F, ...)                          \
    EXPORT_GET(name, ggml_get_block_rows<F>)
EXPORT_GET(f32, ggml_get_rows<f32, f32>)
EXPORT_GET(f16, ggml_get_rows<f16, f32>)
EXPORT_GET(bf16, ggml_get_rows<bf16, f32>)
EXPORT_GET(i32, ggml_get_rows<i32, i32>)
GGUF_WEIGHTS(EXPORT_GET_BLOCKS)

#define EXPORT_SET(name, T, ...)                                               \
    KERNEL ggml_set_rows_##name##_##T(kpk_ggml_tensor src,                     \
                                      kpk_ggml_tensor ids,                     \
                                      kpk_ggml_tensor dst, u32 wide)           \
    {                                                                          \
        __VA_ARGS__(src, ids, dst, wide);                                      \
    }
#define EXPORT_SETS(T)                                                         \
    EXPORT_SET(f32, T, ggml_set_rows<T, f32>)                                  \
    EXPORT_SET(f16, T, ggml_set_rows<T, f16>)                                  \
    EXPORT_SET(bf16, T, ggml_set_rows<T, bf16>)                                \
    EXPORT_SET(q4_0, T, ggml_set_block_rows<T, Q4_0Encoder>)                   \
    EXPORT_SET(q4_1, T, ggml_set_block_rows<T, Q4_1Encoder>)                   \
    EXPORT_SET(q5_0, T, ggml_set_block_rows<T, Q5_0Encoder>)                   \
    EXPORT_SET(q5_1, T, ggml_set_block_rows<T, Q5_1Encoder>)                   \
    EXPORT_SET(q8_0, T, ggml_set_block_rows<T, Q8_0Encoder>)                   \
    EXPORT_SET(iq4_nl, T, ggml_set_block_rows<T, IQ4_NLEncoder>)
EXPORT_SETS(f32)
EXPORT_SETS(f16)

/* ---- rows ---- */

#define EXPORT_NORM(name, kind)                                                \
    KERNEL ggml_##name##_f32(kpk_ggml_tensor x, kpk_ggml_tensor out, f32 eps)  \
    {                                                                          \
        ggml_norm<NormKind::kind>(x, out, eps);                                \
    }
EXPORT_NORM(norm, mean)
EXPORT_NORM(rms_norm, square)
EXPORT_NORM(l2_norm, length)

KERNEL ggml_sum_rows_f32(kpk_ggml_tensor x, kpk_ggml_tensor out, f32 factor)
{
    ggml_sum_rows(x, out, factor);
}

KERNEL ggml_cumsum_f32(kpk_ggml_tensor x, kpk_ggml_tensor out)
{
    ggml_cumsum(x, out);
}
KERNEL ggml_argmax_f32(kpk_ggml_tensor x, kpk_ggml_tensor out)
{
    ggml_argmax(x, out);
}

#define EXPORT_SOFT_MAX(M)                                                     \
    KERNEL ggml_soft_max_##M(kpk_ggml_tensor x, kpk_ggml_tensor mask,          \
                             const f32 *sinks, kpk_ggml_tensor out, f32 scale, \
                             f32 max_bias)                                     \
    {                                                                          \
        ggml_soft_max<M>(x, mask, sinks, out, scale, max_bias);                \
    }                                                                          \
    KERNEL_UP_TO(256)                                                          \
    ggml_soft_max_part_##M(kpk_ggml_tensor x, kpk_ggml_tensor mask, f32 *sums, \
                           u32 parts, f32 scale, f32 max_bias)                 \
    {                                                                          \
        ggml_soft_max_part<M>(x, mask, sums, parts, scale, max_bias);          \
    }                                                                          \
    KERNEL_UP_TO(256)                                                          \
    ggml_soft_max_join_##M(kpk_ggml_tensor x, kpk_ggml_tensor mask,            \
                           const f32 *sinks, kpk_ggml_tensor out,              \
                           const f32 *sums, u32 parts, f32 scale,              \
                           f32 max_bias)                                       \
    {                                                                          \
        ggml_soft_max_join<M>(x, mask, sinks, out, sums, parts, scale,         \
                              max_bias);                                       \
    }
EXPORT_SOFT_MAX(f32)
EXPORT_SOFT_MAX(f16)

KERNEL ggml_alibi_slopes_f32(f32 *out, u32 heads, f32 max_bias)
{
    each_of(heads, [&](u32 i) { out[i] = slope_of(i, heads, max_bias); });
}

#define EXPORT_ROPE(T)                                                         \
    KERNEL_UP_TO(256)                                                          \
    ggml_rope_##T(kpk_ggml_tensor x, const i32 *positions, const f32 *factors, \
                  kpk_ggml_tensor out, kpk_ggml_rope how)                      \
    {                                                                          \
        ggml_rope<T>(x, positions, factors, out, how);                         \
    }
EXPORT_ROPE(f32)
EXPORT_ROPE(f16)

KERNEL_UP_TO(256)
ggml_rope_table_f32(const i32 *positions, const f32 *factors, f32 *table,
                    u32 tokens, kpk_ggml_rope how)
{
    ggml_rope_table(positions, factors, table, tokens, how);
}

KERNEL_UP_TO(256)
ggml_heads_to_cache_f32(kpk_ggml_heads heads, const f32 *table,
                        kpk_ggml_rope how)
{
    ggml_heads_to_cache(heads, table, how);
}

KERNEL_UP_TO(256)
ggml_norm_heads_to_cache_f32(kpk_ggml_heads heads, const f32 *q_weights,
                             const f32 *k_weights, f32 eps, const f32 *table,
                             kpk_ggml_rope how)
{
    ggml_norm_heads_to_cache(heads, q_weights, k_weights, eps, table, how);
}

KERNEL ggml_choose_experts_f32(kpk_ggml_tensor logits, kpk_ggml_tensor ids,
                               kpk_ggml_tensor weights, u32 whole, f32 least)
{
    ggml_choose_experts(logits, ids, weights, whole, least);
}
KERNEL ggml_add_up_experts_f32(kpk_ggml_tensor x, kpk_ggml_tensor w,
                               kpk_ggml_tensor out)
{
    ggml_add_up_experts(x, w, out);
}

/* ---- places ---- */

KERNEL ggml_keep_band_f32(kpk_ggml_tensor x, kpk_ggml_tensor out, i32 low,
                          i32 high, f32 other)
{
    ggml_keep_band(x, out, low, high, other);
}
KERNEL ggml_arange_f32(kpk_ggml_tensor out, f32 start, f32 step)
{
    ggml_arange(out, start, step);
}
KERNEL ggml_roll_f32(kpk_ggml_tensor x, kpk_ggml_tensor out,
                     kpk_ggml_place from)
{
    ggml_roll(x, out, from);
}
KERNEL ggml_timestep_embedding_f32(kpk_ggml_tensor x, kpk_ggml_tensor out,
                                   u32 dim, f32 period)
{
    ggml_timestep_embedding(x, out, dim, period);
}

/* ---- windows ---- */

#define EXPORT_IM2COL(A, B)                                                    \
    KERNEL ggml_im2col_##A##_##B(kpk_ggml_tensor x, kpk_ggml_tensor out,       \
                                 kpk_ggml_window window)                       \
    {                                                                          \
        ggml_im2col<A, B>(x, out, window);                                     \
    }
EXPORT_IM2COL(f32, f32)
EXPORT_IM2COL(f32, f16)
EXPORT_IM2COL(f16, f16)

#define EXPORT_POOL(kind, Pool, T)                                             \
    KERNEL ggml_pool_##kind##_##T(kpk_ggml_tensor x, kpk_ggml_tensor out,      \
                                  kpk_ggml_window window, u32 divisor)         \
    {                                                                          \
        ggml_pool<Pool, T>(x, out, window, divisor);                           \
    }
#define EXPORT_WINDOWS(T)                                                      \
    EXPORT_POOL(max, PoolMax, T)                                               \
    EXPORT_POOL(average, PoolAverage, T)                                       \
    KERNEL ggml_conv_transpose_1d_##T(kpk_ggml_tensor weights,                 \
                                      kpk_ggml_tensor x, kpk_ggml_tensor out,  \
                                      u32 step)                                \
    {                                                                          \
        ggml_conv_transpose_1d<T>(weights, x, out, step);                      \
    }
EXPORT_WINDOWS(f32)
EXPORT_WINDOWS(f16)

#define EXPORT_UPSCALE(kind, ...)                                              \
    KERNEL ggml_upscale_##kind##_f32(kpk_ggml_tensor x, kpk_ggml_tensor out,   \
                                     kpk_ggml_scale scale)                     \
    {                                                                          \
        __VA_ARGS__(x, out, scale);                                            \
    }
EXPORT_UPSCALE(nearest, ggml_upscale_nearest)
EXPORT_UPSCALE(bilinear, ggml_upscale<2>)
EXPORT_UPSCALE(bicubic, ggml_upscale<4>)

/* ---- products ---- */

#define EXPORT_PRODUCT(name, T, ...)                                           \
    KERNEL_UP_TO(256)                                                          \
    ggml_mul_mat_##name##_##T(kpk_ggml_tensor m, kpk_ggml_tensor x,            \
                              kpk_ggml_tensor ids, kpk_ggml_tensor out)        \
    {                                                                          \
        ggml_mul_mat<__VA_ARGS__, T>(m, x, ids, out);                          \
    }
#define EXPORT_BLOCK_PRODUCT(name, lower, short, F, ...)                       \
    EXPORT_PRODUCT(name, f32, BlockedRow<F>)
#define EXPORT_PRODUCTS(name, T)                                               \
    EXPORT_PRODUCT(name, f32, NumberRow<T>)                                    \
    EXPORT_PRODUCT(name, f16, NumberRow<T>)
EXPORT_PRODUCTS(f32, f32)
EXPORT_PRODUCTS(f16, f16)
EXPORT_PRODUCTS(bf16, bf16)
GGUF_WEIGHTS(EXPORT_BLOCK_PRODUCT)
