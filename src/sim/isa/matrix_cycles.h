/* matrix_cycles.h - how long a matrix instruction keeps its unit busy
 *
 * Cycles of one SIMD's matrix unit, and whether the vector ALU can work beside
 * it. From AMD's matrix instruction calculator (CDNA 1 to 3, RDNA 3 and 4).
 * CDNA 4: the passes of its ISA manual (chapter 7, four cycles each), which are
 * those of LLVM's scheduling model too; half rate for f64 as in the data sheet
 * of the MI355X. The f8f6f4 shapes are given for operands of 4 and 6 bits, and
 * take twice as long if either is of 8.
 *
 * tests/test_cost.c holds each row against the published peak of a card.
 */
#ifndef SIM_ISA_MATRIX_CYCLES_H
#define SIM_ISA_MATRIX_CYCLES_H

/* clang-format off */
/* X(architecture, mnemonic, cycles, vector ALU works beside it) */
#define MATRIX_CYCLES_CDNA1(X) \
    X(CDNA1, v_mfma_f32_32x32x1f32,  64, true) \
    X(CDNA1, v_mfma_f32_16x16x1f32,  32, true) \
    X(CDNA1, v_mfma_f32_4x4x1f32,     8, true) \
    X(CDNA1, v_mfma_f32_32x32x2f32,  64, true) \
    X(CDNA1, v_mfma_f32_16x16x4f32,  32, true) \
    X(CDNA1, v_mfma_f32_32x32x4f16,  64, true) \
    X(CDNA1, v_mfma_f32_16x16x4f16,  32, true) \
    X(CDNA1, v_mfma_f32_4x4x4f16,     8, true) \
    X(CDNA1, v_mfma_f32_32x32x8f16,  64, true) \
    X(CDNA1, v_mfma_f32_16x16x16f16, 32, true) \
    X(CDNA1, v_mfma_i32_32x32x4i8,   64, true) \
    X(CDNA1, v_mfma_i32_16x16x4i8,   32, true) \
    X(CDNA1, v_mfma_i32_4x4x4i8,      8, true) \
    X(CDNA1, v_mfma_i32_32x32x8i8,   64, true) \
    X(CDNA1, v_mfma_i32_16x16x16i8,  32, true) \
    X(CDNA1, v_mfma_f32_32x32x2bf16, 64, true) \
    X(CDNA1, v_mfma_f32_16x16x2bf16, 32, true) \
    X(CDNA1, v_mfma_f32_4x4x2bf16,    8, true) \
    X(CDNA1, v_mfma_f32_32x32x4bf16, 64, true) \
    X(CDNA1, v_mfma_f32_16x16x8bf16, 32, true)
#define MATRIX_CYCLES_CDNA2(X) \
    X(CDNA2, v_mfma_f32_32x32x1f32,      64, true) \
    X(CDNA2, v_mfma_f32_16x16x1f32,      32, true) \
    X(CDNA2, v_mfma_f32_4x4x1f32,         8, true) \
    X(CDNA2, v_mfma_f32_32x32x2f32,      64, true) \
    X(CDNA2, v_mfma_f32_16x16x4f32,      32, true) \
    X(CDNA2, v_mfma_f32_32x32x4f16,      64, true) \
    X(CDNA2, v_mfma_f32_16x16x4f16,      32, true) \
    X(CDNA2, v_mfma_f32_4x4x4f16,         8, true) \
    X(CDNA2, v_mfma_f32_32x32x8f16,      64, true) \
    X(CDNA2, v_mfma_f32_16x16x16f16,     32, true) \
    X(CDNA2, v_mfma_i32_32x32x4i8,       64, true) \
    X(CDNA2, v_mfma_i32_16x16x4i8,       32, true) \
    X(CDNA2, v_mfma_i32_4x4x4i8,          8, true) \
    X(CDNA2, v_mfma_i32_32x32x8i8,       64, true) \
    X(CDNA2, v_mfma_i32_16x16x16i8,      32, true) \
    X(CDNA2, v_mfma_f32_32x32x4bf16_1k,  64, true) \
    X(CDNA2, v_mfma_f32_16x16x4bf16_1k,  32, true) \
    X(CDNA2, v_mfma_f32_4x4x4bf16_1k,     8, true) \
    X(CDNA2, v_mfma_f32_32x32x8bf16_1k,  64, true) \
    X(CDNA2, v_mfma_f32_16x16x16bf16_1k, 32, true) \
    X(CDNA2, v_mfma_f32_32x32x2bf16,     64, true) \
    X(CDNA2, v_mfma_f32_16x16x2bf16,     32, true) \
    X(CDNA2, v_mfma_f32_4x4x2bf16,        8, true) \
    X(CDNA2, v_mfma_f32_32x32x4bf16,     64, true) \
    X(CDNA2, v_mfma_f32_16x16x8bf16,     32, true) \
    X(CDNA2, v_mfma_f64_16x16x4f64,      32, false) \
    X(CDNA2, v_mfma_f64_4x4x4f64,        16, false)
#define MATRIX_CYCLES_CDNA3(X) \
    X(CDNA3, v_mfma_f32_16x16x8_xf32,       16, true) \
    X(CDNA3, v_mfma_f32_32x32x4_xf32,       32, true) \
    X(CDNA3, v_mfma_f32_32x32x1_2b_f32,     64, false) \
    X(CDNA3, v_mfma_f32_16x16x1_4b_f32,     32, false) \
    X(CDNA3, v_mfma_f32_4x4x1_16b_f32,       8, false) \
    X(CDNA3, v_mfma_f32_32x32x2_f32,        64, false) \
    X(CDNA3, v_mfma_f32_16x16x4_f32,        32, false) \
    X(CDNA3, v_mfma_f32_32x32x4_2b_f16,     64, true) \
    X(CDNA3, v_mfma_f32_16x16x4_4b_f16,     32, true) \
    X(CDNA3, v_mfma_f32_4x4x4_16b_f16,       8, true) \
    X(CDNA3, v_mfma_f32_32x32x8_f16,        32, true) \
    X(CDNA3, v_mfma_f32_16x16x16_f16,       16, true) \
    X(CDNA3, v_mfma_i32_32x32x4_2b_i8,      64, true) \
    X(CDNA3, v_mfma_i32_16x16x4_4b_i8,      32, true) \
    X(CDNA3, v_mfma_i32_4x4x4_16b_i8,        8, true) \
    X(CDNA3, v_mfma_i32_32x32x16_i8,        32, true) \
    X(CDNA3, v_mfma_i32_16x16x32_i8,        16, true) \
    X(CDNA3, v_mfma_f32_32x32x4_2b_bf16,    64, true) \
    X(CDNA3, v_mfma_f32_16x16x4_4b_bf16,    32, true) \
    X(CDNA3, v_mfma_f32_4x4x4_16b_bf16,      8, true) \
    X(CDNA3, v_mfma_f32_32x32x8_bf16,       32, true) \
    X(CDNA3, v_mfma_f32_16x16x16_bf16,      16, true) \
    X(CDNA3, v_smfmac_f32_16x16x32_f16,     16, true) \
    X(CDNA3, v_smfmac_f32_32x32x16_f16,     32, true) \
    X(CDNA3, v_smfmac_f32_16x16x32_bf16,    16, true) \
    X(CDNA3, v_smfmac_f32_32x32x16_bf16,    32, true) \
    X(CDNA3, v_smfmac_i32_16x16x64_i8,      16, true) \
    X(CDNA3, v_smfmac_i32_32x32x32_i8,      32, true) \
    X(CDNA3, v_mfma_f64_16x16x4_f64,        32, false) \
    X(CDNA3, v_mfma_f64_4x4x4_4b_f64,       16, false) \
    X(CDNA3, v_mfma_f32_16x16x32_bf8_bf8,   16, true) \
    X(CDNA3, v_mfma_f32_16x16x32_bf8_fp8,   16, true) \
    X(CDNA3, v_mfma_f32_16x16x32_fp8_bf8,   16, true) \
    X(CDNA3, v_mfma_f32_16x16x32_fp8_fp8,   16, true) \
    X(CDNA3, v_mfma_f32_32x32x16_bf8_bf8,   32, true) \
    X(CDNA3, v_mfma_f32_32x32x16_bf8_fp8,   32, true) \
    X(CDNA3, v_mfma_f32_32x32x16_fp8_bf8,   32, true) \
    X(CDNA3, v_mfma_f32_32x32x16_fp8_fp8,   32, true) \
    X(CDNA3, v_smfmac_f32_16x16x64_bf8_bf8, 16, true) \
    X(CDNA3, v_smfmac_f32_16x16x64_bf8_fp8, 16, true) \
    X(CDNA3, v_smfmac_f32_16x16x64_fp8_bf8, 16, true) \
    X(CDNA3, v_smfmac_f32_16x16x64_fp8_fp8, 16, true) \
    X(CDNA3, v_smfmac_f32_32x32x32_bf8_bf8, 32, true) \
    X(CDNA3, v_smfmac_f32_32x32x32_bf8_fp8, 32, true) \
    X(CDNA3, v_smfmac_f32_32x32x32_fp8_bf8, 32, true) \
    X(CDNA3, v_smfmac_f32_32x32x32_fp8_fp8, 32, true)
#define MATRIX_CYCLES_CDNA4(X) \
    X(CDNA4, v_mfma_f32_32x32x1_2b_f32,         64, false) \
    X(CDNA4, v_mfma_f32_16x16x1_4b_f32,         32, false) \
    X(CDNA4, v_mfma_f32_4x4x1_16b_f32,           8, false) \
    X(CDNA4, v_mfma_f32_32x32x2_f32,            64, false) \
    X(CDNA4, v_mfma_f32_16x16x4_f32,            32, false) \
    X(CDNA4, v_mfma_f32_32x32x4_2b_f16,         64, true) \
    X(CDNA4, v_mfma_f32_16x16x4_4b_f16,         32, true) \
    X(CDNA4, v_mfma_f32_4x4x4_16b_f16,           8, true) \
    X(CDNA4, v_mfma_f32_32x32x8_f16,            32, true) \
    X(CDNA4, v_mfma_f32_16x16x16_f16,           16, true) \
    X(CDNA4, v_mfma_i32_32x32x4_2b_i8,          64, true) \
    X(CDNA4, v_mfma_i32_16x16x4_4b_i8,          32, true) \
    X(CDNA4, v_mfma_i32_4x4x4_16b_i8,            8, true) \
    X(CDNA4, v_mfma_i32_32x32x16_i8,            32, true) \
    X(CDNA4, v_mfma_i32_16x16x32_i8,            16, true) \
    X(CDNA4, v_mfma_f32_32x32x4_2b_bf16,        64, true) \
    X(CDNA4, v_mfma_f32_16x16x4_4b_bf16,        32, true) \
    X(CDNA4, v_mfma_f32_4x4x4_16b_bf16,          8, true) \
    X(CDNA4, v_mfma_f32_32x32x8_bf16,           32, true) \
    X(CDNA4, v_mfma_f32_16x16x16_bf16,          16, true) \
    X(CDNA4, v_smfmac_f32_16x16x32_f16,         16, true) \
    X(CDNA4, v_smfmac_f32_32x32x16_f16,         32, true) \
    X(CDNA4, v_smfmac_f32_16x16x32_bf16,        16, true) \
    X(CDNA4, v_smfmac_f32_32x32x16_bf16,        32, true) \
    X(CDNA4, v_smfmac_i32_16x16x64_i8,          16, true) \
    X(CDNA4, v_smfmac_i32_32x32x32_i8,          32, true) \
    X(CDNA4, v_mfma_f64_16x16x4_f64,            64, false) \
    X(CDNA4, v_mfma_f64_4x4x4_4b_f64,           16, false) \
    X(CDNA4, v_mfma_f32_16x16x32_bf8_bf8,       16, true) \
    X(CDNA4, v_mfma_f32_16x16x32_bf8_fp8,       16, true) \
    X(CDNA4, v_mfma_f32_16x16x32_fp8_bf8,       16, true) \
    X(CDNA4, v_mfma_f32_16x16x32_fp8_fp8,       16, true) \
    X(CDNA4, v_mfma_f32_32x32x16_bf8_bf8,       32, true) \
    X(CDNA4, v_mfma_f32_32x32x16_bf8_fp8,       32, true) \
    X(CDNA4, v_mfma_f32_32x32x16_fp8_bf8,       32, true) \
    X(CDNA4, v_mfma_f32_32x32x16_fp8_fp8,       32, true) \
    X(CDNA4, v_smfmac_f32_16x16x64_bf8_bf8,     16, true) \
    X(CDNA4, v_smfmac_f32_16x16x64_bf8_fp8,     16, true) \
    X(CDNA4, v_smfmac_f32_16x16x64_fp8_bf8,     16, true) \
    X(CDNA4, v_smfmac_f32_16x16x64_fp8_fp8,     16, true) \
    X(CDNA4, v_smfmac_f32_32x32x32_bf8_bf8,     32, true) \
    X(CDNA4, v_smfmac_f32_32x32x32_bf8_fp8,     32, true) \
    X(CDNA4, v_smfmac_f32_32x32x32_fp8_bf8,     32, true) \
    X(CDNA4, v_smfmac_f32_32x32x32_fp8_fp8,     32, true) \
    X(CDNA4, v_mfma_f32_16x16x32_f16,           16, true) \
    X(CDNA4, v_mfma_f32_32x32x16_f16,           32, true) \
    X(CDNA4, v_mfma_f32_16x16x32_bf16,          16, true) \
    X(CDNA4, v_mfma_f32_32x32x16_bf16,          32, true) \
    X(CDNA4, v_mfma_i32_16x16x64_i8,            16, true) \
    X(CDNA4, v_mfma_i32_32x32x32_i8,            32, true) \
    X(CDNA4, v_smfmac_f32_16x16x64_f16,         16, true) \
    X(CDNA4, v_smfmac_f32_32x32x32_f16,         32, true) \
    X(CDNA4, v_smfmac_f32_16x16x64_bf16,        16, true) \
    X(CDNA4, v_smfmac_f32_32x32x32_bf16,        32, true) \
    X(CDNA4, v_smfmac_i32_16x16x128_i8,         16, true) \
    X(CDNA4, v_smfmac_i32_32x32x64_i8,          32, true) \
    X(CDNA4, v_smfmac_f32_16x16x128_fp8_fp8,    16, true) \
    X(CDNA4, v_smfmac_f32_32x32x64_fp8_fp8,     32, true) \
    X(CDNA4, v_smfmac_f32_16x16x128_fp8_bf8,    16, true) \
    X(CDNA4, v_smfmac_f32_32x32x64_fp8_bf8,     32, true) \
    X(CDNA4, v_smfmac_f32_16x16x128_bf8_fp8,    16, true) \
    X(CDNA4, v_smfmac_f32_32x32x64_bf8_fp8,     32, true) \
    X(CDNA4, v_smfmac_f32_16x16x128_bf8_bf8,    16, true) \
    X(CDNA4, v_smfmac_f32_32x32x64_bf8_bf8,     32, true) \
    X(CDNA4, v_mfma_f32_16x16x128_f8f6f4,       16, true) \
    X(CDNA4, v_mfma_f32_32x32x64_f8f6f4,        32, true) \
    X(CDNA4, v_mfma_scale_f32_16x16x128_f8f6f4, 16, true) \
    X(CDNA4, v_mfma_scale_f32_32x32x64_f8f6f4,  32, true)
#define MATRIX_CYCLES_RDNA3(X) \
    X(RDNA3, v_wmma_f32_16x16x16_f16,   32, false) \
    X(RDNA3, v_wmma_f32_16x16x16_bf16,  32, false) \
    X(RDNA3, v_wmma_f16_16x16x16_f16,   32, false) \
    X(RDNA3, v_wmma_bf16_16x16x16_bf16, 32, false) \
    X(RDNA3, v_wmma_i32_16x16x16_iu8,   32, false) \
    X(RDNA3, v_wmma_i32_16x16x16_iu4,   16, false)
#define MATRIX_CYCLES_RDNA4(X) \
    X(RDNA4, v_wmma_f32_16x16x16_f16,       16, false) \
    X(RDNA4, v_wmma_f32_16x16x16_bf16,      16, false) \
    X(RDNA4, v_wmma_f16_16x16x16_f16,       16, false) \
    X(RDNA4, v_wmma_bf16_16x16x16_bf16,     16, false) \
    X(RDNA4, v_wmma_i32_16x16x16_iu8,        8, false) \
    X(RDNA4, v_wmma_i32_16x16x16_iu4,        8, false) \
    X(RDNA4, v_wmma_i32_16x16x32_iu4,        8, false) \
    X(RDNA4, v_wmma_f32_16x16x16_fp8_fp8,    8, false) \
    X(RDNA4, v_wmma_f32_16x16x16_fp8_bf8,    8, false) \
    X(RDNA4, v_wmma_f32_16x16x16_bf8_fp8,    8, false) \
    X(RDNA4, v_wmma_f32_16x16x16_bf8_bf8,    8, false) \
    X(RDNA4, v_swmmac_f32_16x16x32_f16,     16, false) \
    X(RDNA4, v_swmmac_f32_16x16x32_bf16,    16, false) \
    X(RDNA4, v_swmmac_f16_16x16x32_f16,     16, false) \
    X(RDNA4, v_swmmac_bf16_16x16x32_bf16,   16, false) \
    X(RDNA4, v_swmmac_i32_16x16x32_iu8,      8, false) \
    X(RDNA4, v_swmmac_i32_16x16x32_iu4,      8, false) \
    X(RDNA4, v_swmmac_i32_16x16x64_iu4,      8, false) \
    X(RDNA4, v_swmmac_f32_16x16x32_fp8_fp8,  8, false) \
    X(RDNA4, v_swmmac_f32_16x16x32_fp8_bf8,  8, false) \
    X(RDNA4, v_swmmac_f32_16x16x32_bf8_fp8,  8, false) \
    X(RDNA4, v_swmmac_f32_16x16x32_bf8_bf8,  8, false)
#define MATRIX_CYCLES(X) \
    MATRIX_CYCLES_CDNA1(X) MATRIX_CYCLES_CDNA2(X) MATRIX_CYCLES_CDNA3(X) \
    MATRIX_CYCLES_CDNA4(X) MATRIX_CYCLES_RDNA3(X) MATRIX_CYCLES_RDNA4(X)
/* clang-format on */

#endif
