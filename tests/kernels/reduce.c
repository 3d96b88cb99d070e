/* reduce.c - reductions, softmax, norms and rotary embedding
 *
 * The table of all kernels; reduce/ has a file for each kind. References are
 * sums in kt_real, gates those of the kernels' specification: P is the longest
 * chain of additions of a launch, kt_depth(), u a type's unit roundoff and
 * v = 2^-24 that of f32.
 */
#include "reduce/reduce.h"

extern const kpk_module kpk_module_reduce;

static const enum op op_sum = SUM, op_min = MIN, op_max = MAX;
static const enum op op_small_sum = SMALL_SUM;
static const enum op op_argmin = ARGMIN, op_argmax = ARGMAX;
static const enum cumsum cumsum_rows = CUMSUM_ROWS;
static const enum cumsum cumsum_tiles = CUMSUM_TILES;
static const enum cumsum cumsum_offsets = CUMSUM_OFFSETS;
static const enum rope rope_i = ROPE_I, rope_plain = ROPE, rope_thd = ROPE_THD;
static const bool rms = false, layer = true;

#define FAST(T, TYPE)                                                          \
    {"fast_sum_" #T, reduce_run_fast, TYPE, TYPE, &op_sum},                    \
        {"fast_sum_small_" #T, reduce_run_fast, TYPE, TYPE, &op_small_sum},    \
        {"fast_min_" #T, reduce_run_fast, TYPE, TYPE, &op_min},                \
        {"fast_max_" #T, reduce_run_fast, TYPE, TYPE, &op_max},                \
        {"fast_argmin_" #T, reduce_run_fast, TYPE, TYPE, &op_argmin},          \
    {                                                                          \
        "fast_argmax_" #T, reduce_run_fast, TYPE, TYPE, &op_argmax             \
    }
#define CUMSUM(T, TYPE)                                                        \
    {"cumsum_last_dim_" #T, reduce_run_cumsum, TYPE, TYPE, &cumsum_rows},      \
        {"cumsum_tile_" #T, reduce_run_cumsum, TYPE, TYPE, &cumsum_tiles},     \
    {                                                                          \
        "cumsum_add_offsets_" #T, reduce_run_cumsum, TYPE, TYPE,               \
            &cumsum_offsets                                                    \
    }
#define ROWS(T, TYPE)                                                          \
    {"sum_" #T, reduce_run_sum, TYPE, TYPE, NULL},                             \
        {"softmax_" #T, reduce_run_softmax, TYPE, TYPE, NULL},                 \
        {"rmsnorm_" #T, reduce_run_norm, TYPE, TYPE, &rms},                    \
        {"layernorm_" #T, reduce_run_norm, TYPE, TYPE, &layer},                \
        {"rope_i_" #T, reduce_run_rope, TYPE, TYPE, &rope_i},                  \
        {"rope_" #T, reduce_run_rope, TYPE, TYPE, &rope_plain},                \
    {                                                                          \
        "rope_thd_" #T, reduce_run_rope, TYPE, TYPE, &rope_thd                 \
    }

static const struct kt_row rows[] = {
    FAST(bf16, KT_BF16), FAST(f16, KT_F16),
    FAST(f32, KT_F32),   FAST(f64, KT_F64),
    FAST(u8, KT_U8),     FAST(u32, KT_U32),
    FAST(i64, KT_I64),   ROWS(bf16, KT_BF16),
    ROWS(f16, KT_F16),   ROWS(f32, KT_F32),
    ROWS(f64, KT_F64),   CUMSUM(f32, KT_F32),
    CUMSUM(f64, KT_F64), CUMSUM(u32, KT_U32),
    CUMSUM(i64, KT_I64), {"sum_u32", reduce_run_sum, KT_U32, KT_U32, NULL},
};

KT_MAIN(kpk_module_reduce, rows)
