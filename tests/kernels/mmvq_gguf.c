/* mmvq_gguf.c - products of GGUF formats, rounded to each type */
#include "gguf_product.h"

extern const kpk_module kpk_module_mmvq_gguf;

/* clang-format off */
#define MMVQ(lower, T, type, id)                                                \
    MAT_VEC("mmvq_gguf_" #lower "_" #T "_plain", type, id, true)
#define FORMAT(name, lower, short, id, ...)                                     \
    MMVQ(lower, f32, KT_F32, GGUF_##id)                                         \
    MMVQ(lower, f16, KT_F16, GGUF_##id)                                         \
    MMVQ(lower, bf16, KT_BF16, GGUF_##id)

static const struct kt_row rows[] = {
    GGUF_WEIGHTS(FORMAT)
    {"mmvq_gguf_quantize_q8_1_f32", run_quantize, KT_F32, KT_F32, NULL},
    {"mmvq_gguf_quantize_q8_1_f16", run_quantize, KT_F16, KT_F32, NULL},
    {"mmvq_gguf_quantize_q8_1_bf16", run_quantize, KT_BF16, KT_F32, NULL},
};
/* clang-format on */

KT_MAIN(kpk_module_mmvq_gguf, rows)
