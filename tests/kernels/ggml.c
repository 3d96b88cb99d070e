/* ggml.c - operations of ggml against wide references
 *
 * The table of all kernels; ggml/ has a file for each kind.
 */
#include "ggml/ggml_test.h"
#include "gguf_ref.h"

extern const kpk_module kpk_module_ggml;

/* clang-format off */
#define BINARY(a, b, A, B)                                                     \
    {"ggml_add_" a "_" b, ggml_run_binary, A, B, NULL},                        \
    {"ggml_sub_" a "_" b, ggml_run_binary, A, B, NULL},                        \
    {"ggml_mul_" a "_" b, ggml_run_binary, A, B, NULL},                        \
    {"ggml_div_" a "_" b, ggml_run_binary, A, B, NULL},

#define UNARY(name, t, T) {"ggml_" name "_" t, ggml_run_unary, T, T, NULL},
#define GATE(name, t, T) {"ggml_" name "_" t, ggml_run_gate, T, T, NULL},
#define FLOAT(t, T)                                                            \
    UNARY("abs", t, T) UNARY("sgn", t, T) UNARY("neg", t, T)                   \
    UNARY("step", t, T) UNARY("tanh", t, T) UNARY("elu", t, T)                 \
    UNARY("relu", t, T) UNARY("sigmoid", t, T) UNARY("gelu", t, T)             \
    UNARY("gelu_quick", t, T) UNARY("silu", t, T) UNARY("hardswish", t, T)     \
    UNARY("hardsigmoid", t, T) UNARY("exp", t, T) UNARY("expm1", t, T)         \
    UNARY("softplus", t, T) UNARY("gelu_erf", t, T) UNARY("xielu", t, T)       \
    UNARY("floor", t, T) UNARY("ceil", t, T) UNARY("round", t, T)              \
    UNARY("trunc", t, T) UNARY("sqr", t, T) UNARY("sqrt", t, T)                \
    UNARY("log", t, T) UNARY("sin", t, T) UNARY("cos", t, T)                   \
    UNARY("leaky_relu", t, T) UNARY("clamp", t, T) UNARY("scale", t, T)        \
    UNARY("fill", t, T)                                                        \
    GATE("reglu", t, T) GATE("geglu", t, T) GATE("swiglu", t, T)               \
    GATE("swiglu_clamp", t, T)                                                 \
    GATE("swiglu_oai", t, T) GATE("geglu_erf", t, T) GATE("geglu_quick", t, T)

#define COPY(a, b, A, B) {"ggml_copy_" a "_" b, ggml_run_copy, A, B, NULL},
#define COPIES(a, A)                                                           \
    COPY(a, "f32", A, KT_F32) COPY(a, "f16", A, KT_F16)                        \
    COPY(a, "bf16", A, KT_BF16) COPY(a, "i32", A, KT_I32)

#define GET(t, T, TO) {"ggml_get_rows_" t, ggml_run_get_rows, T, TO, NULL},
#define GET_BLOCKS(name, lower, short, type, ...)                              \
    {"ggml_get_rows_" #name, ggml_run_get_rows, KT_U8, KT_F32,                 \
     &(const enum gguf_id){GGUF_##type}},
#define SET(to, TO, t, T)                                                      \
    {"ggml_set_rows_" to "_" t, ggml_run_set_rows, T, TO, NULL},
#define SET_BLOCKS(to, type, t, T)                                             \
    {"ggml_set_rows_" to "_" t, ggml_run_set_blocks, T, KT_U8,                 \
     &(const enum gguf_id){GGUF_##type}},
#define SETS(t, T)                                                             \
    SET("f32", KT_F32, t, T) SET("f16", KT_F16, t, T)                          \
    SET("bf16", KT_BF16, t, T)                                                 \
    SET_BLOCKS("q4_0", Q4_0, t, T) SET_BLOCKS("q4_1", Q4_1, t, T)              \
    SET_BLOCKS("q5_0", Q5_0, t, T) SET_BLOCKS("q5_1", Q5_1, t, T)              \
    SET_BLOCKS("q8_0", Q8_0, t, T) SET_BLOCKS("iq4_nl", IQ4_NL, t, T)

#define WINDOWS(t, T)                                                          \
    {"ggml_pool_max_" t, ggml_run_pool, T, KT_F32, NULL},                      \
    {"ggml_pool_average_" t, ggml_run_pool, T, KT_F32, NULL},                  \
    {"ggml_conv_transpose_1d_" t, ggml_run_conv_transpose, T, KT_F32, NULL},

#define PRODUCT(m, M, x, X)                                                    \
    {"ggml_mul_mat_" m "_" x, ggml_run_product, M, X, NULL},
#define PRODUCTS(m, M)                                                         \
    PRODUCT(m, M, "f32", KT_F32) PRODUCT(m, M, "f16", KT_F16)
#define BLOCK_PRODUCT(name, lower, short, type, ...)                           \
    {"ggml_mul_mat_" #name "_f32", ggml_run_product, KT_U8, KT_F32,            \
     &(const enum gguf_id){GGUF_##type}},

static const struct kt_row rows[] = {
    BINARY("f32", "f32", KT_F32, KT_F32) BINARY("f32", "f16", KT_F32, KT_F16)
    BINARY("f16", "f16", KT_F16, KT_F16) BINARY("f16", "f32", KT_F16, KT_F32)
    BINARY("bf16", "bf16", KT_BF16, KT_BF16)
    BINARY("bf16", "f32", KT_BF16, KT_F32)
    FLOAT("f32", KT_F32) FLOAT("f16", KT_F16) FLOAT("bf16", KT_BF16)
    COPIES("f32", KT_F32) COPIES("f16", KT_F16)
    COPIES("bf16", KT_BF16) COPIES("i32", KT_I32)
    {"ggml_repeat_f32", ggml_run_repeat, KT_F32, KT_F32, NULL},
    {"ggml_repeat_f16", ggml_run_repeat, KT_F16, KT_F16, NULL},
    GET("f32", KT_F32, KT_F32) GET("f16", KT_F16, KT_F32)
    GET("bf16", KT_BF16, KT_F32) GET("i32", KT_I32, KT_I32)
    GGUF_WEIGHTS(GET_BLOCKS)
    SETS("f32", KT_F32) SETS("f16", KT_F16)
    {"ggml_norm_f32", ggml_run_norm, KT_F32, KT_F32, NULL},
    {"ggml_rms_norm_f32", ggml_run_norm, KT_F32, KT_F32, NULL},
    {"ggml_l2_norm_f32", ggml_run_norm, KT_F32, KT_F32, NULL},
    {"ggml_sum_rows_f32", ggml_run_norm, KT_F32, KT_F32, NULL},
    {"ggml_cumsum_f32", ggml_run_cumsum, KT_F32, KT_F32, NULL},
    {"ggml_argmax_f32", ggml_run_argmax, KT_F32, KT_I32, NULL},
    {"ggml_keep_band_f32", ggml_run_keep_band, KT_F32, KT_F32, NULL},
    {"ggml_arange_f32", ggml_run_arange, KT_F32, KT_F32, NULL},
    {"ggml_roll_f32", ggml_run_roll, KT_F32, KT_F32, NULL},
    {"ggml_timestep_embedding_f32", ggml_run_timestep, KT_F32, KT_F32, NULL},
    {"ggml_im2col_f32_f32", ggml_run_im2col, KT_F32, KT_F32, NULL},
    {"ggml_im2col_f32_f16", ggml_run_im2col, KT_F32, KT_F16, NULL},
    {"ggml_im2col_f16_f16", ggml_run_im2col, KT_F16, KT_F16, NULL},
    WINDOWS("f32", KT_F32) WINDOWS("f16", KT_F16)
    {"ggml_upscale_nearest_f32", ggml_run_upscale, KT_F32, KT_F32, NULL},
    {"ggml_upscale_bilinear_f32", ggml_run_upscale, KT_F32, KT_F32, NULL},
    {"ggml_upscale_bicubic_f32", ggml_run_upscale, KT_F32, KT_F32, NULL},
    {"ggml_soft_max_f32", ggml_run_soft_max, KT_F32, KT_F32, NULL},
    {"ggml_soft_max_f16", ggml_run_soft_max, KT_F16, KT_F32, NULL},
    {"ggml_soft_max_part_f32", ggml_run_soft_max_part, KT_F32, KT_F32, NULL},
    {"ggml_soft_max_part_f16", ggml_run_soft_max_part, KT_F16, KT_F32, NULL},
    {"ggml_soft_max_join_f32", ggml_run_soft_max_join, KT_F32, KT_F32, NULL},
    {"ggml_soft_max_join_f16", ggml_run_soft_max_join, KT_F16, KT_F32, NULL},
    {"ggml_alibi_slopes_f32", ggml_run_slopes, KT_F32, KT_F32, NULL},
    PRODUCTS("f32", KT_F32) PRODUCTS("f16", KT_F16) PRODUCTS("bf16", KT_BF16)
    GGUF_WEIGHTS(BLOCK_PRODUCT)
    {"ggml_rope_f32", ggml_run_rope, KT_F32, KT_F32, NULL},
    {"ggml_rope_f16", ggml_run_rope, KT_F16, KT_F16, NULL},
    {"ggml_rope_table_f32", ggml_run_rope_table, KT_F32, KT_F32, NULL},
    {"ggml_heads_to_cache_f32", ggml_run_heads, KT_F32, KT_F16, NULL},
    {"ggml_norm_heads_to_cache_f32", ggml_run_normed_heads, KT_F32, KT_F16,
     NULL},
    {"ggml_choose_experts_f32", ggml_run_choose_experts, KT_F32, KT_I32, NULL},
    {"ggml_add_up_experts_f32", ggml_run_add_up_experts, KT_F32, KT_F32, NULL},
};
/* clang-format on */

KT_MAIN(kpk_module_ggml, rows)
