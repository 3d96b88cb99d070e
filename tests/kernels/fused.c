/* fused.c - the fused steps of language models against wide references
 *
 * The table of all kernels; fused/ has a file for each kind of step.
 */
#include "fused/fused.h"

extern const kpk_module kpk_module_fused;

static const enum norm_kind numbers = NUMBERS, sums = SUMS, quants = QUANTS;
static const bool silu = false, gelu = true;
static const enum made made_plain = PLAIN, made_silu = SILU, made_gelu = GELU;

#define ROWS(T, TYPE)                                                          \
    {"rmsnorm_add_" #T, fused_run_norm, TYPE, TYPE, &numbers},                 \
        {"add_rmsnorm_quantize_q8_1_" #T, fused_run_norm, TYPE, TYPE, &sums},  \
        {"add_rmsnorm_quantize_q8_1_quants_" #T, fused_run_norm, TYPE, TYPE,   \
         &quants},                                                             \
        {"silu_mul_" #T, fused_run_gated, TYPE, TYPE, &silu},                  \
        {"gelu_mul_" #T, fused_run_gated, TYPE, TYPE, &gelu},                  \
        {"softmax_masked_" #T, fused_run_softmax, TYPE, TYPE, NULL},           \
        {"rope_pos_" #T, fused_run_rope, TYPE, TYPE, NULL},                    \
        {"argmax_last_" #T, fused_run_argmax, TYPE, TYPE, NULL},               \
    {                                                                          \
        "sample_" #T, fused_run_sample, TYPE, TYPE, NULL                       \
    }

static const struct kt_row rows[] = {
    ROWS(f32, KT_F32),
    ROWS(f16, KT_F16),
    ROWS(bf16, KT_BF16),
    {"rmsnorm_add_rmsnorm_quantize_q8_1_quants_f32", fused_run_norm_twice,
     KT_F32, KT_F32, NULL},
    {"quantize_q8_1_quants_f16", fused_run_made, KT_F16, KT_F16, &made_plain},
    {"silu_mul_quantize_q8_1_quants_f32", fused_run_made, KT_F32, KT_F32,
     &made_silu},
    {"gelu_mul_quantize_q8_1_quants_f32", fused_run_made, KT_F32, KT_F32,
     &made_gelu},
    {"rope_table_f32", fused_run_rope_table, KT_F32, KT_F32, NULL},
    {"attention_heads_f32", fused_run_heads, KT_F32, KT_F16, NULL},
    {"repeat_penalty_f32", fused_run_penalty, KT_F32, KT_F32, NULL},
    {"repeat_penalty_f64", fused_run_penalty, KT_F64, KT_F64, NULL},
    {"repeat_penalty_f16", fused_run_penalty, KT_F16, KT_F16, NULL},
    {"repeat_penalty_bf16", fused_run_penalty, KT_BF16, KT_BF16, NULL},
    {"argmax_rows_f32", fused_run_argmax, KT_F32, KT_F32, "rows"},
};

KT_MAIN(kpk_module_fused, rows)
