/* sop2.c - scalar instructions of two sources */
#include "sop.h"

#include <math.h>

static uint64_t bit_field(uint64_t v, unsigned offset, unsigned width,
                          unsigned nbits)
{
    v >>= offset;
    if (width < nbits)
        v &= (UINT64_C(1) << width) - 1;
    return v;
}

/* The field's top bit is its sign, unless it reaches past the value's end:
 * then the value's own sign has come down with the shift. */
static int64_t signed_bit_field(int64_t v, unsigned offset, unsigned width,
                                unsigned nbits)
{
    if (width == 0)
        return 0;
    v >>= offset;
    if (offset + width >= nbits)
        return v;
    v = (int64_t)((uint64_t)v << (64 - width));
    return v >> (64 - width);
}

static uint32_t halves(uint32_t low, uint32_t high)
{
    return (low & 0xffff) | high << 16;
}

static uint16_t f16_towards_zero(float v)
{
    half_t h = (half_t)v;
    uint16_t bits;

    memcpy(&bits, &h, sizeof(bits));
    /* Rounded away from zero: one step back, infinity included. */
    if (fabsf((float)h) > fabsf(v))
        bits--;
    return bits;
}

/* clang-format off */
#define SOP2_TABLE(X)                                                                              \
    /* mnemonic          d    a    b    what it does */                                            \
    X(s_add_u32,        u32, u32, u32, d = a + b; scc = d < a)                                     \
    X(s_sub_u32,        u32, u32, u32, d = a - b; scc = b > a)                                     \
    X(s_add_i32,        i32, i32, i32, scc = __builtin_add_overflow(a, b, &d))                     \
    X(s_sub_i32,        i32, i32, i32, scc = __builtin_sub_overflow(a, b, &d))                     \
    X(s_addc_u32,       u32, u32, u32, uint64_t t = (uint64_t)a + b + scc;                         \
                                       d = (uint32_t)t; scc = t >> 32 != 0)                        \
    X(s_subb_u32,       u32, u32, u32, uint64_t t = (uint64_t)a - b - scc;                         \
                                       d = (uint32_t)t; scc = t >> 32 != 0)                        \
    X(s_min_i32,        i32, i32, i32, scc = a < b; d = scc ? a : b)                               \
    X(s_min_u32,        u32, u32, u32, scc = a < b; d = scc ? a : b)                               \
    X(s_max_i32,        i32, i32, i32, scc = a > b || (a == b && w->target->major >= 11); d = a > b ? a : b) \
    X(s_max_u32,        u32, u32, u32, scc = a > b || (a == b && w->target->major >= 11); d = a > b ? a : b) \
    X(s_cselect_b32,    u32, u32, u32, d = scc ? a : b)                                            \
    X(s_cselect_b64,    u64, u64, u64, d = scc ? a : b)                                            \
    X(s_and_b32,        u32, u32, u32, d = a & b; scc = d != 0)                                    \
    X(s_and_b64,        u64, u64, u64, d = a & b; scc = d != 0)                                    \
    X(s_or_b32,         u32, u32, u32, d = a | b; scc = d != 0)                                    \
    X(s_or_b64,         u64, u64, u64, d = a | b; scc = d != 0)                                    \
    X(s_xor_b32,        u32, u32, u32, d = a ^ b; scc = d != 0)                                    \
    X(s_xor_b64,        u64, u64, u64, d = a ^ b; scc = d != 0)                                    \
    X(s_andn2_b32,      u32, u32, u32, d = a & ~b; scc = d != 0)                                   \
    X(s_andn2_b64,      u64, u64, u64, d = a & ~b; scc = d != 0)                                   \
    X(s_orn2_b32,       u32, u32, u32, d = a | ~b; scc = d != 0)                                   \
    X(s_orn2_b64,       u64, u64, u64, d = a | ~b; scc = d != 0)                                   \
    X(s_nand_b32,       u32, u32, u32, d = ~(a & b); scc = d != 0)                                 \
    X(s_nand_b64,       u64, u64, u64, d = ~(a & b); scc = d != 0)                                 \
    X(s_nor_b32,        u32, u32, u32, d = ~(a | b); scc = d != 0)                                 \
    X(s_nor_b64,        u64, u64, u64, d = ~(a | b); scc = d != 0)                                 \
    X(s_xnor_b32,       u32, u32, u32, d = ~(a ^ b); scc = d != 0)                                 \
    X(s_xnor_b64,       u64, u64, u64, d = ~(a ^ b); scc = d != 0)                                 \
    X(s_lshl_b32,       u32, u32, u32, d = a << (b & 31); scc = d != 0)                            \
    X(s_lshl_b64,       u64, u64, u32, d = a << (b & 63); scc = d != 0)                            \
    X(s_lshr_b32,       u32, u32, u32, d = a >> (b & 31); scc = d != 0)                            \
    X(s_lshr_b64,       u64, u64, u32, d = a >> (b & 63); scc = d != 0)                            \
    X(s_ashr_i32,       i32, i32, u32, d = a >> (b & 31); scc = d != 0)                            \
    X(s_ashr_i64,       i64, i64, u32, d = a >> (b & 63); scc = d != 0)                            \
    X(s_bfm_b32,        u32, u32, u32, d = ((1u << (a & 31)) - 1) << (b & 31))                     \
    X(s_bfm_b64,        u64, u32, u32, d = ((UINT64_C(1) << (a & 63)) - 1) << (b & 63))            \
    X(s_mul_i32,        u32, u32, u32, d = a * b)                                                  \
    X(s_mul_hi_u32,     u32, u32, u32, d = (uint32_t)((uint64_t)a * b >> 32))                      \
    X(s_mul_hi_i32,     i32, i32, i32, d = (int32_t)((int64_t)a * b >> 32))                        \
    X(s_mul_u64,        u64, u64, u64, d = a * b)                                                  \
    X(s_add_u64,        u64, u64, u64, d = a + b)                                                  \
    X(s_sub_u64,        u64, u64, u64, d = a - b)                                                  \
    X(s_bfe_u32,        u32, u32, u32, d = (uint32_t)bit_field(a, b & 31, b >> 16 & 127, 32); scc = d != 0) \
    X(s_bfe_u64,        u64, u64, u32, d = bit_field(a, b & 63, b >> 16 & 127, 64); scc = d != 0)  \
    X(s_bfe_i32,        i32, i32, u32, d = (int32_t)signed_bit_field(a, b & 31, b >> 16 & 127, 32); scc = d != 0) \
    X(s_bfe_i64,        i64, i64, u32, d = signed_bit_field(a, b & 63, b >> 16 & 127, 64); scc = d != 0) \
    X(s_absdiff_i32,    u32, u32, u32, d = a - b; d = (int32_t)d < 0 ? -d : d; scc = d != 0)       \
    X(s_lshl1_add_u32,  u32, u32, u32, uint64_t t = ((uint64_t)a << 1) + b; d = (uint32_t)t; scc = t >> 32 != 0) \
    X(s_lshl2_add_u32,  u32, u32, u32, uint64_t t = ((uint64_t)a << 2) + b; d = (uint32_t)t; scc = t >> 32 != 0) \
    X(s_lshl3_add_u32,  u32, u32, u32, uint64_t t = ((uint64_t)a << 3) + b; d = (uint32_t)t; scc = t >> 32 != 0) \
    X(s_lshl4_add_u32,  u32, u32, u32, uint64_t t = ((uint64_t)a << 4) + b; d = (uint32_t)t; scc = t >> 32 != 0) \
    X(s_pack_ll_b32_b16, u32, u32, u32, d = halves(a, b))                                          \
    X(s_pack_lh_b32_b16, u32, u32, u32, d = halves(a, b >> 16))                                    \
    X(s_pack_hh_b32_b16, u32, u32, u32, d = halves(a >> 16, b >> 16))                              \
    X(s_pack_hl_b32_b16, u32, u32, u32, d = halves(a >> 16, b))                                    \
    X(s_add_f32,        f32, f32, f32, d = a + b)                                                  \
    X(s_sub_f32,        f32, f32, f32, d = a - b)                                                  \
    X(s_mul_f32,        f32, f32, f32, d = a * b)                                                  \
    X(s_add_f16,        f16, f16, f16, d = a + b)                                                  \
    X(s_sub_f16,        f16, f16, f16, d = a - b)                                                  \
    X(s_mul_f16,        f16, f16, f16, d = a * b)                                                  \
    X(s_cvt_pk_rtz_f16_f32, u32, f32, f32, d = halves(f16_towards_zero(a), f16_towards_zero(b)))

#define SOP2_ALIASES(X)                          \
    X(s_add_co_u32, s_add_u32)                   \
    X(s_sub_co_u32, s_sub_u32)                   \
    X(s_add_co_i32, s_add_i32)                   \
    X(s_sub_co_i32, s_sub_i32)                   \
    X(s_add_co_ci_u32, s_addc_u32)               \
    X(s_sub_co_ci_u32, s_subb_u32)               \
    X(s_add_nc_u64, s_add_u64)                   \
    X(s_sub_nc_u64, s_sub_u64)                   \
    X(s_and_not1_b32, s_andn2_b32)               \
    X(s_and_not1_b64, s_andn2_b64)               \
    X(s_or_not1_b32, s_orn2_b32)                 \
    X(s_or_not1_b64, s_orn2_b64)
/* clang-format on */

/* Some rows keep SCC, some set it anew. */
/* cppcheck-suppress redundantInitialization */
SOP2_TABLE(SOP_RUN2)

/* Minima and maxima: `num` forms prefer a number to NaN, `imum` forms give
 * NaN; -0 is less than +0 in all of them. */
static float min_num(float a, float b)
{
    if (isnan(a))
        return b;
    if (isnan(b))
        return a;
    return a < b || (a == b && signbit(a)) ? a : b;
}

static float max_num(float a, float b)
{
    if (isnan(a))
        return b;
    if (isnan(b))
        return a;
    return a > b || (a == b && !signbit(a)) ? a : b;
}

static float minimum(float a, float b)
{
    return isnan(a) || isnan(b) ? NAN : min_num(a, b);
}

static float maximum(float a, float b)
{
    return isnan(a) || isnan(b) ? NAN : max_num(a, b);
}

/* clang-format off */
#define SOP2_MINMAX_TABLE(X)                                     \
    X(s_min_f32,     f32, f32, f32, d = min_num(a, b))           \
    X(s_max_f32,     f32, f32, f32, d = max_num(a, b))           \
    X(s_min_f16,     f16, f16, f16, d = (half_t)min_num(a, b))   \
    X(s_max_f16,     f16, f16, f16, d = (half_t)max_num(a, b))   \
    X(s_minimum_f32, f32, f32, f32, d = minimum(a, b))           \
    X(s_maximum_f32, f32, f32, f32, d = maximum(a, b))           \
    X(s_minimum_f16, f16, f16, f16, d = (half_t)minimum(a, b))   \
    X(s_maximum_f16, f16, f16, f16, d = (half_t)maximum(a, b))

#define SOP2_MINMAX_ALIASES(X)                   \
    X(s_min_num_f32, s_min_f32)                  \
    X(s_max_num_f32, s_max_f32)                  \
    X(s_min_num_f16, s_min_f16)                  \
    X(s_max_num_f16, s_max_f16)
/* clang-format on */

/* Some rows keep SCC, some set it anew. */
/* cppcheck-suppress redundantInitialization */
SOP2_MINMAX_TABLE(SOP_RUN2)

/* Fused multiply-add; the literal stands where the name's k does. */
static void run_s_fmac_f32(struct wave *w, const struct insn *in)
{
    sput_f32(w, &in->op[0],
             fmaf(sget_f32(w, &in->op[1]), sget_f32(w, &in->op[2]),
                  sget_f32(w, &in->op[0])));
}

static void run_s_fma_f32(struct wave *w, const struct insn *in)
{
    sput_f32(w, &in->op[0],
             fmaf(sget_f32(w, &in->op[1]), sget_f32(w, &in->op[2]),
                  sget_f32(w, &in->op[3])));
}

static void run_s_fmac_f16(struct wave *w, const struct insn *in)
{
    /* The product is exact in double, and so is its sum with a half. */
    double d =
        (double)sget_f16(w, &in->op[1]) * (double)sget_f16(w, &in->op[2]) +
        (double)sget_f16(w, &in->op[0]);

    sput_f16(w, &in->op[0], (half_t)d);
}

/* clang-format off */
static const struct insn_row rows[] = {
    SOP2_TABLE(SOP_ROW2)
    SOP2_MINMAX_TABLE(SOP_ROW2)
    {"s_fmac_f32",  run_s_fmac_f32, CLASS_SALU, {T_f32, T_f32, T_f32}, 0},
    {"s_fmac_f16",  run_s_fmac_f16, CLASS_SALU, {T_f16, T_f16, T_f16}, 0},
    {"s_fmamk_f32", run_s_fma_f32,  CLASS_SALU, {T_f32, T_f32, T_f32, T_f32}, 0},
    {"s_fmaak_f32", run_s_fma_f32,  CLASS_SALU, {T_f32, T_f32, T_f32, T_f32}, 0},
};
static const struct insn_alias aliases[] = {
    SOP2_ALIASES(ALIAS)
    SOP2_MINMAX_ALIASES(ALIAS)
};
/* clang-format on */

ROW_SET(sop2, rows, aliases);
