/* test_salu.c - scalar instructions by name against formulas
 *
 * Each row has a text, in which D, A and B stand for registers, their widths,
 * and a C expression for the result and one for SCC. Several operands, random
 * ones and edges, go through each row on one processor of every generation
 * that has the name.
 */
#include "valu.h"

#include <stdio.h>

enum { SETS = 10, FIRST = 8, PER_SET = 9, MAX_TEXT = 48 };

/* Variables of a row's expressions: operands, the old D and SCC. */
struct salu {
    uint64_t a, b, old;
    uint64_t d;
    bool scc;
};

struct salu_case {
    unsigned targets;
    const char *text;
    uint8_t nd, na, nb; /* bits; 0: not there */
    bool is_float;      /* any NaN will do for a NaN */
    void (*run)(struct salu *l);
};

static const struct {
    unsigned bit;
    const char *name;
    unsigned wave;
} processors[] = {{ON_906, "gfx906", 64},   {ON_942, "gfx942", 64},
                  {ON_1030, "gfx1030", 32}, {ON_1100, "gfx1100", 32},
                  {ON_1150, "gfx1150", 32}, {ON_1201, "gfx1201", 32}};

/* ---- plain ways to do it ---- */

static int first_one(uint64_t v)
{
    for (int i = 0; i < 64; i++)
        if (v >> i & 1)
            return i;
    return -1;
}

static int zeros_above(uint64_t v, int bits)
{
    for (int i = bits - 1; i >= 0; i--)
        if (v >> i & 1)
            return bits - 1 - i;
    return -1;
}

static int same_as_sign(uint64_t v, int bits)
{
    int n = 1;

    while (n < bits && (v >> (bits - 1 - n) & 1) == (v >> (bits - 1) & 1))
        n++;
    return n == bits ? -1 : n;
}

static int ones(uint64_t v)
{
    int n = 0;

    for (; v; v &= v - 1)
        n++;
    return n;
}

static uint64_t reversed(uint64_t v, int bits)
{
    uint64_t r = 0;

    for (int i = 0; i < bits; i++)
        if (v >> i & 1)
            r |= UINT64_C(1) << (bits - 1 - i);
    return r;
}

static uint64_t quads(uint64_t v, bool whole)
{
    uint64_t r = 0;

    for (int i = 0; i < 16; i++)
        if (v >> 4 * i & 15)
            r |= whole ? UINT64_C(15) << 4 * i : UINT64_C(1) << i;
    return r;
}

static uint64_t field(uint64_t v, uint32_t at, int bits, bool is_signed)
{
    unsigned from = at & (bits == 64 ? 63 : 31), n = at >> 16 & 0x7f;
    uint64_t r = bits == 64 ? v >> from : (uint32_t)v >> from;

    if (n == 0)
        return 0;
    if (n >= (unsigned)bits)
        n = (unsigned)bits;
    if (is_signed) {
        if (from + n > (unsigned)bits) /* past bit 31 or 63: the sign */
            n = (unsigned)bits - from;
        r = bits == 64 ? (uint64_t)((int64_t)v >> from)
                       : (uint64_t)(int64_t)((int32_t)v >> from);
        return n < 64 ? (uint64_t)((int64_t)(r << (64 - n)) >> (64 - n)) : r;
    }
    return n < 64 ? r & ((UINT64_C(1) << n) - 1) : r;
}

/* Magnitude of a difference that has wrapped. */
static uint32_t magnitude(uint32_t v)
{
    return v >> 31 ? 0 - v : v;
}

static uint64_t twice(uint32_t v)
{
    uint64_t r = 0;

    for (int i = 0; i < 32; i++)
        r |= (uint64_t)(v >> i & 1) * 3 << 2 * i;
    return r;
}

static float as_float(uint64_t v)
{
    return as_f32((uint32_t)v);
}

static int32_t to_i32(float v)
{
    return v != v                ? 0
           : v >= 2147483647.0f  ? INT32_MAX
           : v <= -2147483648.0f ? INT32_MIN
                                 : (int32_t)v;
}

static uint32_t to_u32(float v)
{
    return v != v || v <= 0 ? 0 : v >= 4294967295.0f ? UINT32_MAX : (uint32_t)v;
}

/* A number wins over NaN; -0 is less than 0. */
static float least(float a, float b, bool most)
{
    if (a != a || b != b)
        return a != a ? b : a;
    if (a == b)
        return (signbit(a) != 0) != most ? a : b;
    return (a < b) != most ? a : b;
}

static float least_or_nan(float a, float b, bool most)
{
    return a != a || b != b ? (float)NAN : least(a, b, most);
}

#define A32 ((uint32_t)l->a)
#define B32 ((uint32_t)l->b)
#define SA ((int32_t)l->a)
#define SB ((int32_t)l->b)
#define A64 (l->a)
#define B64 (l->b)
#define OLD (l->old)
#define FA as_float(l->a)
#define FB as_float(l->b)
#define FOLD as_float(l->old)
#define HA ((float)num16((uint16_t)l->a))
#define HB ((float)num16((uint16_t)l->b))
#define HALF(x) valu_round16((long double)(x))
#define D32 ((uint32_t)l->d)
#define SCC (l->scc)
#define NONZERO (l->d != 0)

/* On all but gfx12, where what carries has another name. */
#define TO_11 (GFX9_TO_11 & ~(ON_90A | ON_950))
#define EVERY (ALL & ~(ON_90A | ON_950))
#define OLD_NAMES (ON_906 | ON_942 | ON_1030)
#define FLOATS (ON_1150 | ON_1201)

/* clang-format off */
#define SALU_TABLE(X)                                                         \
    /* targets  name        text                       D   A   B   D, SCC */  \
    X(TO_11, add_u32,   "s_add_u32 D, A, B",       32, 32, 32, A32 + B32, D32 < A32) \
    X(ON_1201, add_co,  "s_add_co_u32 D, A, B",    32, 32, 32, A32 + B32, D32 < A32) \
    X(TO_11, sub_u32,   "s_sub_u32 D, A, B",       32, 32, 32, A32 - B32, A32 < B32) \
    X(ON_1201, sub_co,  "s_sub_co_u32 D, A, B",    32, 32, 32, A32 - B32, A32 < B32) \
    X(TO_11, addc,      "s_addc_u32 D, A, B",      32, 32, 32, A32 + B32 + SCC, ((uint64_t)A32 + B32 + SCC) >> 32) \
    X(ON_1201, add_ci,  "s_add_co_ci_u32 D, A, B", 32, 32, 32, A32 + B32 + SCC, ((uint64_t)A32 + B32 + SCC) >> 32) \
    X(TO_11, subb,      "s_subb_u32 D, A, B",      32, 32, 32, A32 - B32 - SCC, (uint64_t)B32 + SCC > A32) \
    X(ON_1201, sub_ci,  "s_sub_co_ci_u32 D, A, B", 32, 32, 32, A32 - B32 - SCC, (uint64_t)B32 + SCC > A32) \
    X(TO_11, add_i32,   "s_add_i32 D, A, B",       32, 32, 32, A32 + B32, (int64_t)SA + SB != (int32_t)(A32 + B32)) \
    X(TO_11, sub_i32,   "s_sub_i32 D, A, B",       32, 32, 32, A32 - B32, (int64_t)SA - SB != (int32_t)(A32 - B32)) \
    X(ON_1201, add_nc,  "s_add_nc_u64 D, A, B",    64, 64, 64, A64 + B64, SCC) \
    X(ON_1201, sub_nc,  "s_sub_nc_u64 D, A, B",    64, 64, 64, A64 - B64, SCC) \
    X(ON_1201, mul_64,  "s_mul_u64 D, A, B",       64, 64, 64, A64 * B64, SCC) \
    X(EVERY, mul_i32,   "s_mul_i32 D, A, B",       32, 32, 32, A32 * B32, SCC) \
    X(EVERY, mul_hi_u,  "s_mul_hi_u32 D, A, B",    32, 32, 32, (uint64_t)A32 * B32 >> 32, SCC) \
    X(EVERY, mul_hi_i,  "s_mul_hi_i32 D, A, B",    32, 32, 32, (uint32_t)((int64_t)SA * SB >> 32), SCC) \
    X(EVERY, absdiff,   "s_absdiff_i32 D, A, B",   32, 32, 32, magnitude(A32 - B32), NONZERO) \
    X(EVERY, abs,       "s_abs_i32 D, A",          32, 32, 0,  SA < 0 ? 0 - A32 : A32, NONZERO) \
    X(EVERY, min_i32,   "s_min_i32 D, A, B",       32, 32, 32, SA < SB ? A32 : B32, SA < SB) \
    X(OLD_NAMES, max_9, "s_max_u32 D, A, B",       32, 32, 32, A32 > B32 ? A32 : B32, A32 > B32) \
    X(GFX11_12, max_11, "s_max_u32 D, A, B",       32, 32, 32, A32 > B32 ? A32 : B32, A32 >= B32) \
    X(EVERY, and_b32,   "s_and_b32 D, A, B",       32, 32, 32, A32 & B32, NONZERO) \
    X(EVERY, or_b64,    "s_or_b64 D, A, B",        64, 64, 64, A64 | B64, NONZERO) \
    X(EVERY, nand_b32,  "s_nand_b32 D, A, B",      32, 32, 32, (uint32_t)~(A32 & B32), NONZERO) \
    X(EVERY, nand_b64,  "s_nand_b64 D, A, B",      64, 64, 64, ~(A64 & B64), NONZERO) \
    X(EVERY, nor_b32,   "s_nor_b32 D, A, B",       32, 32, 32, (uint32_t)~(A32 | B32), NONZERO) \
    X(EVERY, nor_b64,   "s_nor_b64 D, A, B",       64, 64, 64, ~(A64 | B64), NONZERO) \
    X(EVERY, xnor_b32,  "s_xnor_b32 D, A, B",      32, 32, 32, (uint32_t)~(A32 ^ B32), NONZERO) \
    X(EVERY, xnor_b64,  "s_xnor_b64 D, A, B",      64, 64, 64, ~(A64 ^ B64), NONZERO) \
    X(OLD_NAMES, andn2, "s_andn2_b64 D, A, B",     64, 64, 64, A64 & ~B64, NONZERO) \
    X(OLD_NAMES, orn2,  "s_orn2_b32 D, A, B",      32, 32, 32, (uint32_t)(A32 | ~B32), NONZERO) \
    X(GFX11_12, and_n1, "s_and_not1_b64 D, A, B",  64, 64, 64, A64 & ~B64, NONZERO) \
    X(GFX11_12, or_n1,  "s_or_not1_b64 D, A, B",   64, 64, 64, A64 | ~B64, NONZERO) \
    X(EVERY, not_b32,   "s_not_b32 D, A",          32, 32, 0,  (uint32_t)~A32, NONZERO) \
    X(EVERY, not_b64,   "s_not_b64 D, A",          64, 64, 0,  ~A64, NONZERO) \
    X(EVERY, lshl_b32,  "s_lshl_b32 D, A, B",      32, 32, 32, (uint32_t)(A32 << (B32 & 31)), NONZERO) \
    X(EVERY, lshl_b64,  "s_lshl_b64 D, A, B",      64, 64, 32, A64 << (B32 & 63), NONZERO) \
    X(EVERY, lshr_b64,  "s_lshr_b64 D, A, B",      64, 64, 32, A64 >> (B32 & 63), NONZERO) \
    X(EVERY, ashr_i32,  "s_ashr_i32 D, A, B",      32, 32, 32, (uint32_t)(SA >> (B32 & 31)), NONZERO) \
    X(EVERY, ashr_i64,  "s_ashr_i64 D, A, B",      64, 64, 32, (uint64_t)((int64_t)A64 >> (B32 & 63)), NONZERO) \
    X(EVERY, lshl1,     "s_lshl1_add_u32 D, A, B", 32, 32, 32, (uint32_t)((A32 << 1) + B32), (((uint64_t)A32 << 1) + B32) >> 32) \
    X(EVERY, lshl2,     "s_lshl2_add_u32 D, A, B", 32, 32, 32, (uint32_t)((A32 << 2) + B32), (((uint64_t)A32 << 2) + B32) >> 32) \
    X(EVERY, lshl3,     "s_lshl3_add_u32 D, A, B", 32, 32, 32, (uint32_t)((A32 << 3) + B32), (((uint64_t)A32 << 3) + B32) >> 32) \
    X(EVERY, lshl4,     "s_lshl4_add_u32 D, A, B", 32, 32, 32, (uint32_t)((A32 << 4) + B32), (((uint64_t)A32 << 4) + B32) >> 32) \
    X(EVERY, bfm_b32,   "s_bfm_b32 D, A, B",       32, 32, 32, (uint32_t)(((1u << (A32 & 31)) - 1) << (B32 & 31)), SCC) \
    X(EVERY, bfm_b64,   "s_bfm_b64 D, A, B",       64, 32, 32, ((UINT64_C(1) << (A32 & 63)) - 1) << (B32 & 63), SCC) \
    X(EVERY, bfe_u32,   "s_bfe_u32 D, A, B",       32, 32, 32, (uint32_t)field(A32, B32, 32, false), NONZERO) \
    X(EVERY, bfe_i32,   "s_bfe_i32 D, A, B",       32, 32, 32, (uint32_t)field(A32, B32, 32, true), NONZERO) \
    X(EVERY, bfe_u64,   "s_bfe_u64 D, A, B",       64, 64, 32, field(A64, B32, 64, false), NONZERO) \
    X(EVERY, bfe_i64,   "s_bfe_i64 D, A, B",       64, 64, 32, field(A64, B32, 64, true), NONZERO) \
    X(EVERY, brev_b32,  "s_brev_b32 D, A",         32, 32, 0,  reversed(A32, 32), SCC) \
    X(EVERY, brev_b64,  "s_brev_b64 D, A",         64, 64, 0,  reversed(A64, 64), SCC) \
    X(EVERY, bcnt0_b32, "s_bcnt0_i32_b32 D, A",    32, 32, 0,  (uint32_t)ones((uint32_t)~A32), NONZERO) \
    X(EVERY, bcnt0_b64, "s_bcnt0_i32_b64 D, A",    32, 64, 0,  (uint32_t)ones(~A64), NONZERO) \
    X(EVERY, bcnt1_b64, "s_bcnt1_i32_b64 D, A",    32, 64, 0,  (uint32_t)ones(A64), NONZERO) \
    X(OLD_NAMES, ff0_32, "s_ff0_i32_b32 D, A",     32, 32, 0,  (uint32_t)first_one((uint32_t)~A32), SCC) \
    X(OLD_NAMES, ff0_64, "s_ff0_i32_b64 D, A",     32, 64, 0,  (uint32_t)first_one(~A64), SCC) \
    X(OLD_NAMES, ff1_64, "s_ff1_i32_b64 D, A",     32, 64, 0,  (uint32_t)first_one(A64), SCC) \
    X(OLD_NAMES, flbit, "s_flbit_i32_b64 D, A",    32, 64, 0,  (uint32_t)zeros_above(A64, 64), SCC) \
    X(OLD_NAMES, flbit_i, "s_flbit_i32 D, A",      32, 32, 0,  (uint32_t)same_as_sign(A32, 32), SCC) \
    X(OLD_NAMES, flbit_l, "s_flbit_i32_i64 D, A",  32, 64, 0,  (uint32_t)same_as_sign(A64, 64), SCC) \
    X(GFX11_12, ctz_32, "s_ctz_i32_b32 D, A",      32, 32, 0,  (uint32_t)first_one(A32), SCC) \
    X(GFX11_12, clz_32, "s_clz_i32_u32 D, A",      32, 32, 0,  (uint32_t)zeros_above(A32, 32), SCC) \
    X(GFX11_12, clz_64, "s_clz_i32_u64 D, A",      32, 64, 0,  (uint32_t)zeros_above(A64, 64), SCC) \
    X(GFX11_12, cls_32, "s_cls_i32 D, A",          32, 32, 0,  (uint32_t)same_as_sign(A32, 32), SCC) \
    X(GFX11_12, cls_64, "s_cls_i32_i64 D, A",      32, 64, 0,  (uint32_t)same_as_sign(A64, 64), SCC) \
    X(EVERY, quad_32,   "s_quadmask_b32 D, A",     32, 32, 0,  quads(A32, false), NONZERO) \
    X(EVERY, quad_64,   "s_quadmask_b64 D, A",     64, 64, 0,  quads(A64, false), NONZERO) \
    X(EVERY, wqm_32,    "s_wqm_b32 D, A",          32, 32, 0,  quads(A32, true), NONZERO) \
    X(EVERY, wqm_64,    "s_wqm_b64 D, A",          64, 64, 0,  quads(A64, true), NONZERO) \
    X(EVERY, replicate, "s_bitreplicate_b64_b32 D, A", 64, 32, 0, twice(A32), SCC) \
    X(EVERY, set0_32,   "s_bitset0_b32 D, A",      32, 32, 0,  (uint32_t)(OLD & ~(1u << (A32 & 31))), SCC) \
    X(EVERY, set1_32,   "s_bitset1_b32 D, A",      32, 32, 0,  (uint32_t)(OLD | 1u << (A32 & 31)), SCC) \
    X(EVERY, set0_64,   "s_bitset0_b64 D, A",      64, 32, 0,  OLD & ~(UINT64_C(1) << (A32 & 63)), SCC) \
    X(EVERY, set1_64,   "s_bitset1_b64 D, A",      64, 32, 0,  OLD | UINT64_C(1) << (A32 & 63), SCC) \
    X(EVERY, sext_i8,   "s_sext_i32_i8 D, A",      32, 32, 0,  (uint32_t)(int8_t)A32, SCC) \
    X(EVERY, sext_i16,  "s_sext_i32_i16 D, A",     32, 32, 0,  (uint32_t)(int16_t)A32, SCC) \
    X(EVERY, cmov_32,   "s_cmov_b32 D, A",         32, 32, 0,  SCC ? A32 : (uint32_t)OLD, SCC) \
    X(EVERY, cmov_64,   "s_cmov_b64 D, A",         64, 64, 0,  SCC ? A64 : OLD, SCC) \
    X(EVERY, cmovk,     "s_cmovk_i32 D, 0xff85",   32, 0, 0,   SCC ? 0xffffff85 : (uint32_t)OLD, SCC) \
    X(EVERY, cselect,   "s_cselect_b64 D, A, B",   64, 64, 64, SCC ? A64 : B64, SCC) \
    X(TO_11, addk,      "s_addk_i32 D, 0x7fff",    32, 0, 0,   (uint32_t)(OLD + 0x7fff), (int64_t)(int32_t)OLD + 0x7fff > INT32_MAX) \
    X(EVERY, mulk,      "s_mulk_i32 D, 0xfffd",    32, 0, 0,   (uint32_t)((uint32_t)OLD * (uint32_t)-3), SCC) \
    X(EVERY, pack_ll,   "s_pack_ll_b32_b16 D, A, B", 32, 32, 32, (A32 & 0xffff) | B32 << 16, SCC) \
    X(EVERY, pack_lh,   "s_pack_lh_b32_b16 D, A, B", 32, 32, 32, (A32 & 0xffff) | (B32 & 0xffff0000), SCC) \
    X(EVERY, pack_hh,   "s_pack_hh_b32_b16 D, A, B", 32, 32, 32, A32 >> 16 | (B32 & 0xffff0000), SCC) \
    X(GFX11_12, pack_hl, "s_pack_hl_b32_b16 D, A, B", 32, 32, 32, A32 >> 16 | B32 << 16, SCC) \
    X(EVERY, bit0_32,   "s_bitcmp0_b32 A, B",      0, 32, 32,  0, !(A32 >> (B32 & 31) & 1)) \
    X(EVERY, bit1_32,   "s_bitcmp1_b32 A, B",      0, 32, 32,  0, A32 >> (B32 & 31) & 1) \
    X(EVERY, bit0_64,   "s_bitcmp0_b64 A, B",      0, 64, 32,  0, !(A64 >> (B32 & 63) & 1)) \
    X(EVERY, bit1_64,   "s_bitcmp1_b64 A, B",      0, 64, 32,  0, A64 >> (B32 & 63) & 1) \
    X(EVERY, eq_i32,    "s_cmp_eq_i32 A, B",       0, 32, 32,  0, A32 == B32) \
    X(EVERY, lg_i32,    "s_cmp_lg_i32 A, B",       0, 32, 32,  0, A32 != B32) \
    X(EVERY, gt_i32,    "s_cmp_gt_i32 A, B",       0, 32, 32,  0, SA > SB) \
    X(EVERY, ge_i32,    "s_cmp_ge_i32 A, B",       0, 32, 32,  0, SA >= SB) \
    X(EVERY, lt_i32,    "s_cmp_lt_i32 A, B",       0, 32, 32,  0, SA < SB) \
    X(EVERY, le_i32,    "s_cmp_le_i32 A, B",       0, 32, 32,  0, SA <= SB) \
    X(EVERY, gt_u32,    "s_cmp_gt_u32 A, B",       0, 32, 32,  0, A32 > B32) \
    X(EVERY, ge_u32,    "s_cmp_ge_u32 A, B",       0, 32, 32,  0, A32 >= B32) \
    X(EVERY, le_u32,    "s_cmp_le_u32 A, B",       0, 32, 32,  0, A32 <= B32) \
    X(EVERY, eq_u64,    "s_cmp_eq_u64 A, B",       0, 64, 64,  0, A64 == B64) \
    X(EVERY, lg_u64,    "s_cmp_lg_u64 A, B",       0, 64, 64,  0, A64 != B64) \
    X(TO_11, k_gt_i,    "s_cmpk_gt_i32 A, 0xfff0", 0, 32, 0,   0, SA > -16) \
    X(TO_11, k_ge_i,    "s_cmpk_ge_i32 A, 0xfff0", 0, 32, 0,   0, SA >= -16) \
    X(TO_11, k_lt_i,    "s_cmpk_lt_i32 A, 0xfff0", 0, 32, 0,   0, SA < -16) \
    X(TO_11, k_le_i,    "s_cmpk_le_i32 A, 0xfff0", 0, 32, 0,   0, SA <= -16) \
    X(TO_11, k_lg_u,    "s_cmpk_lg_u32 A, 0xfff0", 0, 32, 0,   0, A32 != 0xfff0) \
    X(TO_11, k_ge_u,    "s_cmpk_ge_u32 A, 0xfff0", 0, 32, 0,   0, A32 >= 0xfff0) \
    X(TO_11, k_lt_u,    "s_cmpk_lt_u32 A, 0xfff0", 0, 32, 0,   0, A32 < 0xfff0) \
    X(TO_11, k_le_u,    "s_cmpk_le_u32 A, 0xfff0", 0, 32, 0,   0, A32 <= 0xfff0)

#define FLOAT_TABLE(X)                                                        \
    X(FLOATS, add_f32,  "s_add_f32 D, A, B",       32, 32, 32, bits_of(FA + FB), SCC) \
    X(FLOATS, sub_f32,  "s_sub_f32 D, A, B",       32, 32, 32, bits_of(FA - FB), SCC) \
    X(FLOATS, mul_f32,  "s_mul_f32 D, A, B",       32, 32, 32, bits_of(FA * FB), SCC) \
    X(FLOATS, fmac_f32, "s_fmac_f32 D, A, B",      32, 32, 32, bits_of(fmaf(FA, FB, FOLD)), SCC) \
    X(FLOATS, fmamk,    "s_fmamk_f32 D, A, 0x40400000, B", 32, 32, 32, bits_of(fmaf(FA, 3, FB)), SCC) \
    X(FLOATS, fmaak,    "s_fmaak_f32 D, A, B, 0x40400000", 32, 32, 32, bits_of(fmaf(FA, FB, 3)), SCC) \
    X(FLOATS, ceil_32,  "s_ceil_f32 D, A",         32, 32, 0,  bits_of(ceilf(FA)), SCC) \
    X(FLOATS, floor_32, "s_floor_f32 D, A",        32, 32, 0,  bits_of(floorf(FA)), SCC) \
    X(FLOATS, trunc_32, "s_trunc_f32 D, A",        32, 32, 0,  bits_of(truncf(FA)), SCC) \
    X(FLOATS, rndne_32, "s_rndne_f32 D, A",        32, 32, 0,  bits_of(rintf(FA)), SCC) \
    X(FLOATS, cvt_fi,   "s_cvt_f32_i32 D, A",      32, 32, 0,  bits_of((float)SA), SCC) \
    X(FLOATS, cvt_fu,   "s_cvt_f32_u32 D, A",      32, 32, 0,  bits_of((float)A32), SCC) \
    X(FLOATS, cvt_if,   "s_cvt_i32_f32 D, A",      32, 32, 0,  (uint32_t)to_i32(FA), SCC) \
    X(FLOATS, cvt_uf,   "s_cvt_u32_f32 D, A",      32, 32, 0,  to_u32(FA), SCC) \
    X(FLOATS, cvt_fh,   "s_cvt_f32_f16 D, A",      32, 32, 0,  bits_of(HA), SCC) \
    X(FLOATS, cvt_fhh,  "s_cvt_hi_f32_f16 D, A",   32, 32, 0,  bits_of((float)num16((uint16_t)(A32 >> 16))), SCC) \
    X(ON_1150, min_f32, "s_min_f32 D, A, B",       32, 32, 32, bits_of(least(FA, FB, false)), SCC) \
    X(ON_1150, max_f32, "s_max_f32 D, A, B",       32, 32, 32, bits_of(least(FA, FB, true)), SCC) \
    X(ON_1201, min_num, "s_min_num_f32 D, A, B",   32, 32, 32, bits_of(least(FA, FB, false)), SCC) \
    X(ON_1201, max_num, "s_max_num_f32 D, A, B",   32, 32, 32, bits_of(least(FA, FB, true)), SCC) \
    X(ON_1201, minimum, "s_minimum_f32 D, A, B",   32, 32, 32, bits_of(least_or_nan(FA, FB, false)), SCC) \
    X(ON_1201, maximum, "s_maximum_f32 D, A, B",   32, 32, 32, bits_of(least_or_nan(FA, FB, true)), SCC)

#define HALF_TABLE(X)                                                         \
    X(FLOATS, add_f16,  "s_add_f16 D, A, B",       16, 32, 32, HALF(HA + HB), SCC) \
    X(FLOATS, sub_f16,  "s_sub_f16 D, A, B",       16, 32, 32, HALF(HA - HB), SCC) \
    X(FLOATS, mul_f16,  "s_mul_f16 D, A, B",       16, 32, 32, HALF((double)HA * HB), SCC) \
    X(FLOATS, fmac_f16, "s_fmac_f16 D, A, B",      16, 32, 32, HALF((long double)HA * HB + num16((uint16_t)OLD)), SCC) \
    X(FLOATS, ceil_16,  "s_ceil_f16 D, A",         16, 32, 0,  HALF(ceilf(HA)), SCC) \
    X(FLOATS, floor_16, "s_floor_f16 D, A",        16, 32, 0,  HALF(floorf(HA)), SCC) \
    X(FLOATS, trunc_16, "s_trunc_f16 D, A",        16, 32, 0,  HALF(truncf(HA)), SCC) \
    X(FLOATS, rndne_16, "s_rndne_f16 D, A",        16, 32, 0,  HALF(rintf(HA)), SCC) \
    X(FLOATS, cvt_hf,   "s_cvt_f16_f32 D, A",      16, 32, 0,  HALF(FA), SCC) \
    X(ON_1150, min_f16, "s_min_f16 D, A, B",       16, 32, 32, HALF(least(HA, HB, false)), SCC) \
    X(ON_1150, max_f16, "s_max_f16 D, A, B",       16, 32, 32, HALF(least(HA, HB, true)), SCC) \
    X(ON_1201, minn16,  "s_min_num_f16 D, A, B",   16, 32, 32, HALF(least(HA, HB, false)), SCC) \
    X(ON_1201, maxn16,  "s_max_num_f16 D, A, B",   16, 32, 32, HALF(least(HA, HB, true)), SCC) \
    X(ON_1201, mini16,  "s_minimum_f16 D, A, B",   16, 32, 32, HALF(least_or_nan(HA, HB, false)), SCC) \
    X(ON_1201, maxi16,  "s_maximum_f16 D, A, B",   16, 32, 32, HALF(least_or_nan(HA, HB, true)), SCC)

#define COMPARES(X, t, a, b)                                                  \
    X(FLOATS, lt_##t,  "s_cmp_lt_" #t " A, B",  0, 32, 32, 0, a < b)          \
    X(FLOATS, eq_##t,  "s_cmp_eq_" #t " A, B",  0, 32, 32, 0, a == b)         \
    X(FLOATS, le_##t,  "s_cmp_le_" #t " A, B",  0, 32, 32, 0, a <= b)         \
    X(FLOATS, gt_##t,  "s_cmp_gt_" #t " A, B",  0, 32, 32, 0, a > b)          \
    X(FLOATS, lg_##t,  "s_cmp_lg_" #t " A, B",  0, 32, 32, 0, a < b || a > b) \
    X(FLOATS, ge_##t,  "s_cmp_ge_" #t " A, B",  0, 32, 32, 0, a >= b)         \
    X(FLOATS, o_##t,   "s_cmp_o_" #t " A, B",   0, 32, 32, 0, !isunordered(a, b)) \
    X(FLOATS, u_##t,   "s_cmp_u_" #t " A, B",   0, 32, 32, 0, isunordered(a, b)) \
    X(FLOATS, nge_##t, "s_cmp_nge_" #t " A, B", 0, 32, 32, 0, !(a >= b))      \
    X(FLOATS, nlg_##t, "s_cmp_nlg_" #t " A, B", 0, 32, 32, 0, !(a < b || a > b)) \
    X(FLOATS, ngt_##t, "s_cmp_ngt_" #t " A, B", 0, 32, 32, 0, !(a > b))       \
    X(FLOATS, nle_##t, "s_cmp_nle_" #t " A, B", 0, 32, 32, 0, !(a <= b))      \
    X(FLOATS, neq_##t, "s_cmp_neq_" #t " A, B", 0, 32, 32, 0, !(a == b))      \
    X(FLOATS, nlt_##t, "s_cmp_nlt_" #t " A, B", 0, 32, 32, 0, !(a < b))
#define COMPARE_TABLE(X) COMPARES(X, f32, FA, FB) COMPARES(X, f16, HA, HB)
/* clang-format on */

#define SALU_FN(targets, name, text, nd, na, nb, value, flag)                  \
    static void ref_##name(struct salu *l)                                     \
    {                                                                          \
        l->d = (value);                                                        \
        l->scc = (flag);                                                       \
    }
#define SALU_ROW(targets, name, text, nd, na, nb, value, flag)                 \
    {targets, text, nd, na, nb, false, ref_##name},
#define FLOAT_ROW(targets, name, text, nd, na, nb, value, flag)                \
    {targets, text, nd, na, nb, true, ref_##name},

SALU_TABLE(SALU_FN)
FLOAT_TABLE(SALU_FN)
HALF_TABLE(SALU_FN)
COMPARE_TABLE(SALU_FN)

/* ---- running ---- */

/* Registers of one set: D, A and B in pairs, and the old SCC. */
static unsigned reg_of(unsigned set, char operand)
{
    unsigned base = FIRST + PER_SET * set;

    base += base & 1; /* pairs begin at even numbers */
    return base + (operand == 'D' ? 0 : operand == 'A' ? 2 : 4);
}

static unsigned scc_reg(unsigned set)
{
    return reg_of(set, 'D') + 6;
}

static char *put_line(char *p, const struct salu_case *c, unsigned set)
{
    const char *t = c->text;

    while (*t && *t != ' ')
        *p++ = *t++;
    for (; *t; t++) {
        unsigned bits = *t == 'D' ? c->nd : *t == 'A' ? c->na : c->nb;
        unsigned reg;

        if (*t < 'A' || *t > 'D') {
            *p++ = *t;
            continue;
        }
        reg = reg_of(set, *t);
        p += bits == 64 ? sprintf(p, "s[%u:%u]", reg, reg + 1)
                        : sprintf(p, "s%u", reg);
    }
    return p;
}

static uint64_t operand(bool is_float, unsigned bits)
{
    uint64_t r = valu_random();

    if (is_float)
        return valu_operand(r & 1 ? T_f32 : T_f16) |
               (r & 2 ? valu_random() << 16 & 0xffff0000 : 0);
    return valu_operand(bits == 64 ? T_u64 : T_u32);
}

static bool same_result(const struct salu_case *c, uint64_t want, uint64_t got)
{
    if (c->nd == 16)
        return want == (got & 0xffff) ||
               (c->is_float && (want & 0x7fff) > 0x7c00 &&
                (got & 0x7fff) > 0x7c00);
    if (c->nd == 32)
        return want == (uint32_t)got ||
               (c->is_float && (want & 0x7fffffff) > 0x7f800000 &&
                (got & 0x7fffffff) > 0x7f800000);
    return c->nd == 0 || want == got;
}

static void put_pair(struct asm_state *st, unsigned reg, uint64_t v)
{
    st->s[reg] = (uint32_t)v;
    st->s[reg + 1] = (uint32_t)(v >> 32);
}

static void check_on(const struct salu_case *c, const char *target,
                     unsigned wave)
{
    struct asm_state *st = asm_new(target, wave);
    char text[SETS * 128], *p = text;
    struct salu sets[SETS];

    for (unsigned k = 0; k < SETS; k++) {
        struct salu *l = &sets[k];

        l->a = operand(c->is_float, c->na);
        l->b = k == 3 ? l->a : operand(c->is_float, c->nb);
        l->old = operand(c->is_float, c->nd);
        l->scc = valu_random() & 1;
        put_pair(st, reg_of(k, 'D'), l->old);
        put_pair(st, reg_of(k, 'A'), l->a);
        put_pair(st, reg_of(k, 'B'), l->b);
        p += sprintf(p, "s_cmp_eq_u32 0, %d\n", l->scc ? 0 : 1);
        p = put_line(p, c, k);
        p += sprintf(p, "\ns_cselect_b32 s%u, 1, 0\n", scc_reg(k));
    }
    asm_run(st, text);
    for (unsigned k = 0; k < SETS; k++) {
        struct salu l = sets[k];
        unsigned d = reg_of(k, 'D');
        uint64_t got = st->s[d] | (uint64_t)st->s[d + 1] << 32;

        c->run(&l);
        if (!same_result(c, l.d, got) || st->s[scc_reg(k)] != l.scc)
            fail_msg("%s: %s of %#llx and %#llx, old %#llx, SCC %d: want %#llx "
                     "and SCC %d, got %#llx and %u",
                     target, c->text, (unsigned long long)l.a,
                     (unsigned long long)l.b, (unsigned long long)l.old,
                     sets[k].scc, (unsigned long long)l.d, l.scc,
                     (unsigned long long)got, st->s[scc_reg(k)]);
    }
    asm_free(st);
}

static void check_table(const struct salu_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t t = 0; t < sizeof(processors) / sizeof(processors[0]); t++)
            if (cases[i].targets & processors[t].bit)
                check_on(&cases[i], processors[t].name, processors[t].wave);
}

#define SALU_TEST(table, row)                                                  \
    static void test_##table(void **state)                                     \
    {                                                                          \
        static const struct salu_case cases[] = {table(row)};                  \
                                                                               \
        (void)state;                                                           \
        check_table(cases, sizeof(cases) / sizeof(cases[0]));                  \
    }
SALU_TEST(SALU_TABLE, SALU_ROW)
SALU_TEST(FLOAT_TABLE, FLOAT_ROW)
SALU_TEST(HALF_TABLE, FLOAT_ROW)
SALU_TEST(COMPARE_TABLE, FLOAT_ROW)

/* ---- EXEC ---- */

/* EXEC before, the operand, EXEC after. */
static const struct {
    const char *old, *renamed;
    uint64_t after;
} exec_cases[] = {
    /* operands 0x...fe10 and 0x...0ff0 */
    {"s_and_saveexec", "s_and_saveexec", 0x0e10},
    {"s_or_saveexec", "s_or_saveexec", 0xfff0},
    {"s_xor_saveexec", "s_xor_saveexec", 0xf1e0},
    {"s_nand_saveexec", "s_nand_saveexec", ~UINT64_C(0x0e10)},
    {"s_nor_saveexec", "s_nor_saveexec", ~UINT64_C(0xfff0)},
    {"s_xnor_saveexec", "s_xnor_saveexec", ~UINT64_C(0xf1e0)},
    {"s_andn1_saveexec", "s_and_not0_saveexec", 0xf000},
    {"s_andn2_saveexec", "s_and_not1_saveexec", 0x01e0},
    {"s_orn1_saveexec", "s_or_not0_saveexec", ~UINT64_C(0x01e0)},
    {"s_orn2_saveexec", "s_or_not1_saveexec", ~UINT64_C(0xf000)},
    {"s_andn1_wrexec", "s_and_not0_wrexec", 0xf000},
    {"s_andn2_wrexec", "s_and_not1_wrexec", 0x01e0},
};

static void test_exec_is_changed_and_kept(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof(exec_cases) / sizeof(exec_cases[0]); n++)
        for (unsigned form = 0; form < 4; form++) {
            bool renamed = form & 1, wide = form & 2;
            struct asm_state *st = asm_new(renamed ? "gfx1100"
                                           : wide  ? "gfx942"
                                                   : "gfx1030",
                                           wide ? 64 : 32);
            uint64_t mask = wide ? UINT64_MAX : UINT32_MAX;
            uint64_t after = exec_cases[n].after & mask, exec, kept;
            bool writes = strstr(exec_cases[n].old, "wrexec") != NULL;
            char text[96];

            put_pair(st, SREG_EXEC, 0xfe10);
            put_pair(st, 4, 0x0ff0);
            put_pair(st, 6, 0);
            snprintf(text, sizeof(text), "%s_b%s %s, %s",
                     renamed ? exec_cases[n].renamed : exec_cases[n].old,
                     wide ? "64" : "32", wide ? "s[6:7]" : "s6",
                     wide ? "s[4:5]" : "s4");
            asm_run(st, text);
            exec = st->s[SREG_EXEC] | (uint64_t)st->s[SREG_EXEC + 1] << 32;
            kept = st->s[6] | (uint64_t)st->s[7] << 32;
            if ((exec & mask) != after || kept != (writes ? after : 0xfe10) ||
                st->scc != (after != 0))
                fail_msg("%s: EXEC %#llx, destination %#llx, SCC %d", text,
                         (unsigned long long)exec, (unsigned long long)kept,
                         st->scc);
            asm_free(st);
        }
}

/* ---- registers chosen by M0, jumps, MODE ---- */

static void test_m0_chooses_scalar_registers(void **state)
{
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    for (unsigned i = 0; i < 64; i++)
        st->s[i] = 100 + i;
    st->s[SREG_M0] = 6;
    asm_run(st, "s_movrels_b32 s40, s10\ns_movrels_b64 s[42:43], s[10:11]\n"
                "s_movreld_b32 s44, s1\ns_movreld_b64 s[46:47], s[2:3]");
    assert_int_equal(st->s[40], 116);
    assert_int_equal(st->s[43], 117);
    assert_int_equal(st->s[50], 101);
    assert_int_equal(st->s[53], 103);
    st->s[SREG_M0] = 200;
    assert_false(asm_try(st, "s_movrels_b32 s40, s10"));
    asm_free(st);
    st = asm_new("gfx1030", 32);
    for (unsigned i = 0; i < 64; i++) {
        st->s[i] = 100 + i;
        st->v[i][5] = 200 + i;
    }
    st->s[SREG_M0] = 7 << 16 | 3; /* destination, source */
    asm_run(st, "s_movrelsd_2_b32 s20, s10\nv_movrelsd_2_b32 v20, v10\n"
                "v_swaprel_b32 v40, v50");
    assert_int_equal(st->s[27], 113);
    assert_int_equal(st->v[27][5], 213);
    assert_int_equal(st->v[47][5], 253);
    assert_int_equal(st->v[53][5], 247);
    asm_free(st);
}

static void test_calls_and_flags_of_debuggers(void **state)
{
    struct asm_state *st = asm_new("gfx942", 64);

    (void)state;
    asm_run(st, "s_mov_b32 s4, 1\ns_call_b64 s[10:11], 1f\n"
                "s_add_u32 s4, s4, 100\ns_cbranch_cdbgsys 2f\n"
                "s_cbranch_cdbguser 2f\ns_cbranch_cdbgsys_or_user 2f\n"
                "s_cbranch_cdbgsys_and_user 2f\ns_endpgm_saved\n"
                "1:\ns_add_u32 s4, s4, 10\ns_setpc_b64 s[10:11]\n"
                "2:\ns_mov_b32 s4, 0");
    assert_int_equal(st->s[4], 111);
    asm_free(st);
    st = asm_new("gfx1100", 32);
    asm_run(st, "s_denorm_mode 5\ns_round_mode 6\n"
                "s_getreg_b32 s4, hwreg(HW_REG_MODE, 0, 8)");
    assert_int_equal(st->s[4], 0x56);
    assert_false(asm_try(st, "s_code_end"));
    assert_int_equal(st->fault.kind, SIM_FAULT_ILLEGAL_INSN);
    asm_free(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_SALU_TABLE),
        cmocka_unit_test(test_FLOAT_TABLE),
        cmocka_unit_test(test_HALF_TABLE),
        cmocka_unit_test(test_COMPARE_TABLE),
        cmocka_unit_test(test_exec_is_changed_and_kept),
        cmocka_unit_test(test_m0_chooses_scalar_registers),
        cmocka_unit_test(test_calls_and_flags_of_debuggers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
