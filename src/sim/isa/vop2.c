/* vop2.c - vector instructions of two sources */
#include "minmax.h"
#include "vop.h"

/* Zero times anything is zero, and so positive (DirectX 9). */
static inline float mul_dx9(float a, float b)
{
    return a == 0.0f || b == 0.0f ? 0.0f : a * b;
}

static inline float fma_dx9(float a, float b, float c)
{
    return a == 0.0f || b == 0.0f ? c : fmaf(a, b, c);
}

static inline int32_t sext24(uint32_t x)
{
    return (int32_t)(x << 8) >> 8;
}

static inline uint32_t sat_add_u32(uint32_t a, uint32_t b)
{
    return a + b < a ? UINT32_MAX : a + b;
}

static inline uint32_t sat_sub_u32(uint32_t a, uint32_t b)
{
    return a < b ? 0 : a - b;
}

static inline uint16_t sat_u16(int32_t x)
{
    return (uint16_t)(x < 0 ? 0 : x > UINT16_MAX ? UINT16_MAX : x);
}

static inline int16_t sat_i16(int32_t x)
{
    return (int16_t)(x < INT16_MIN ? INT16_MIN : x > INT16_MAX ? INT16_MAX : x);
}

#define CLAMPED (in->flags & F_CLAMP)
#define U16(x) (uint16_t)(x)
#define I16(x) (int16_t)(x)

/* clang-format off */
#define VOP2_TABLE(X)                                                        \
    /* mnemonic        d    a    b    what one lane does */                  \
    X(v_and_b32,      u32, u32, u32, d = a & b)                              \
    X(v_or_b32,       u32, u32, u32, d = a | b)                              \
    X(v_xor_b32,      u32, u32, u32, d = a ^ b)                              \
    X(v_xnor_b32,     u32, u32, u32, d = ~(a ^ b))                           \
    X(v_lshlrev_b32,  u32, u32, u32, d = b << (a & 31))                      \
    X(v_lshrrev_b32,  u32, u32, u32, d = b >> (a & 31))                      \
    X(v_ashrrev_i32,  i32, u32, i32, d = b >> (a & 31))                      \
    X(v_lshlrev_b64,  u64, u32, u64, d = b << (a & 63))                      \
    X(v_lshrrev_b64,  u64, u32, u64, d = b >> (a & 63))                      \
    X(v_ashrrev_i64,  i64, u32, i64, d = b >> (a & 63))                      \
    X(v_add_u32,      u32, u32, u32, d = CLAMPED ? sat_add_u32(a, b) : a + b) \
    X(v_sub_u32,      u32, u32, u32, d = CLAMPED ? sat_sub_u32(a, b) : a - b) \
    X(v_subrev_u32,   u32, u32, u32, d = CLAMPED ? sat_sub_u32(b, a) : b - a) \
    X(v_add_i32,      i32, i32, i32,                                         \
      d = CLAMPED ? clamp_i32((int64_t)a + b, INT32_MIN, INT32_MAX)          \
                  : (int32_t)((uint32_t)a + (uint32_t)b))                    \
    X(v_sub_i32,      i32, i32, i32,                                         \
      d = CLAMPED ? clamp_i32((int64_t)a - b, INT32_MIN, INT32_MAX)          \
                  : (int32_t)((uint32_t)a - (uint32_t)b))                    \
    X(v_min_i32,      i32, i32, i32, d = a < b ? a : b)                      \
    X(v_max_i32,      i32, i32, i32, d = a > b ? a : b)                      \
    X(v_min_u32,      u32, u32, u32, d = a < b ? a : b)                      \
    X(v_max_u32,      u32, u32, u32, d = a > b ? a : b)                      \
    X(v_mul_i32_i24,  i32, u32, u32,                                         \
      d = (int32_t)((int64_t)sext24(a) * sext24(b)))                         \
    X(v_mul_hi_i32_i24, i32, u32, u32,                                       \
      d = (int32_t)((int64_t)sext24(a) * sext24(b) >> 32))                   \
    X(v_mul_u32_u24,  u32, u32, u32, d = (a & 0xffffff) * (b & 0xffffff))    \
    X(v_mul_hi_u32_u24, u32, u32, u32,                                       \
      d = (uint32_t)((uint64_t)(a & 0xffffff) * (b & 0xffffff) >> 32))       \
    X(v_mul_lo_u32,   u32, u32, u32, d = a * b)                              \
    X(v_mul_hi_u32,   u32, u32, u32, d = (uint32_t)((uint64_t)a * b >> 32))  \
    X(v_mul_hi_i32,   i32, i32, i32, d = (int32_t)((int64_t)a * b >> 32))    \
    X(v_bfm_b32,      u32, u32, u32, d = ((1u << (a & 31)) - 1) << (b & 31)) \
    X(v_bcnt_u32_b32, u32, u32, u32, d = (uint32_t)__builtin_popcount(a) + b) \
    /* f32 */                                                                \
    X(v_add_f32,      f32, f32, f32, d = a + b)                              \
    X(v_sub_f32,      f32, f32, f32, d = a - b)                              \
    X(v_subrev_f32,   f32, f32, f32, d = b - a)                              \
    X(v_mul_f32,      f32, f32, f32, d = a * b)                              \
    X(v_mul_legacy_f32, f32, f32, f32, d = mul_dx9(a, b))                    \
    X(v_min_f32,      f32, f32, f32, d = min_f32(F32(a), F32(b), RULE))      \
    X(v_max_f32,      f32, f32, f32, d = max_f32(F32(a), F32(b), RULE))      \
    X(v_minimum_f32,  f32, f32, f32, d = minimum_f32(F32(a), F32(b)))        \
    X(v_maximum_f32,  f32, f32, f32, d = maximum_f32(F32(a), F32(b)))        \
    X(v_ldexp_f32,    f32, f32, i32, d = ldexp_rounded_f32(a, b))            \
    /* f64 */                                                                \
    X(v_add_f64,      f64, f64, f64, d = a + b)                              \
    X(v_mul_f64,      f64, f64, f64, d = a * b)                              \
    X(v_min_f64,      f64, f64, f64, d = min_f64(F64(a), F64(b), RULE))      \
    X(v_max_f64,      f64, f64, f64, d = max_f64(F64(a), F64(b), RULE))      \
    X(v_minimum_f64,  f64, f64, f64, d = minimum_f64(F64(a), F64(b)))        \
    X(v_maximum_f64,  f64, f64, f64, d = maximum_f64(F64(a), F64(b)))        \
    X(v_ldexp_f64,    f64, f64, i32, d = ldexp_rounded_f64(a, b))            \
    X(v_trig_preop_f64, f64, f64, u32, d = trig_preop(a, b))                 \
    /* f16 */                                                                \
    X(v_add_f16,      f16, f16, f16, d = (half_t)((float)a + (float)b))      \
    X(v_sub_f16,      f16, f16, f16, d = (half_t)((float)a - (float)b))      \
    X(v_subrev_f16,   f16, f16, f16, d = (half_t)((float)b - (float)a))      \
    X(v_mul_f16,      f16, f16, f16, d = (half_t)((float)a * (float)b))      \
    X(v_min_f16,      f16, f16, f16, d = min_f16(F16(a), F16(b), RULE))      \
    X(v_max_f16,      f16, f16, f16, d = max_f16(F16(a), F16(b), RULE))      \
    X(v_minimum_f16,  f16, f16, f16, d = minimum_f16(F16(a), F16(b)))        \
    X(v_maximum_f16,  f16, f16, f16, d = maximum_f16(F16(a), F16(b)))        \
    X(v_ldexp_f16,    f16, f16, i16, d = ldexp_rounded_f16(a, b))            \
    /* 16-bit integers */                                                    \
    X(v_and_b16,      u16, u16, u16, d = a & b)                              \
    X(v_or_b16,       u16, u16, u16, d = a | b)                              \
    X(v_xor_b16,      u16, u16, u16, d = a ^ b)                              \
    X(v_add_u16,      u16, u16, u16,                                         \
      d = CLAMPED ? sat_u16(a + b) : U16(a + b))                             \
    X(v_sub_u16,      u16, u16, u16,                                         \
      d = CLAMPED ? sat_u16(a - b) : U16(a - b))                             \
    X(v_subrev_u16,   u16, u16, u16,                                         \
      d = CLAMPED ? sat_u16(b - a) : U16(b - a))                             \
    X(v_add_i16,      i16, i16, i16,                                         \
      d = CLAMPED ? sat_i16(a + b) : I16(a + b))                             \
    X(v_sub_i16,      i16, i16, i16,                                         \
      d = CLAMPED ? sat_i16(a - b) : I16(a - b))                             \
    X(v_mul_lo_u16,   u16, u16, u16, d = U16((uint32_t)a * b))               \
    X(v_lshlrev_b16,  u16, u16, u16, d = U16((uint32_t)b << (a & 15)))       \
    X(v_lshrrev_b16,  u16, u16, u16, d = U16(b >> (a & 15)))                 \
    X(v_ashrrev_i16,  i16, u16, i16, d = I16(b >> (a & 15)))                 \
    X(v_min_u16,      u16, u16, u16, d = a < b ? a : b)                      \
    X(v_max_u16,      u16, u16, u16, d = a > b ? a : b)                      \
    X(v_min_i16,      i16, i16, i16, d = a < b ? a : b)                      \
    X(v_max_i16,      i16, i16, i16, d = a > b ? a : b)                      \
    /* conversions to pairs: a in the low half */                            \
    X(v_cvt_pkrtz_f16_f32, u32, f32, f32,                                    \
      d = f16_rtz(a) | (uint32_t)f16_rtz(b) << 16)                           \
    X(v_pack_b32_f16, u32, f16, f16,                                         \
      d = f16_bits(a) | (uint32_t)f16_bits(b) << 16)                         \
    X(v_cvt_pk_f16_f32, u32, f32, f32,                                       \
      d = f16_bits((half_t)a) | (uint32_t)f16_bits((half_t)b) << 16)         \
    X(v_cvt_pk_bf16_f32, u32, f32, f32,                                      \
      d = bf16_of_f32(a) | (uint32_t)bf16_of_f32(b) << 16)                   \
    X(v_cvt_pk_u16_u32, u32, u32, u32,                                       \
      d = (a > 0xffff ? 0xffff : a) | (b > 0xffff ? 0xffff : b) << 16)       \
    X(v_cvt_pk_i16_i32, u32, i32, i32,                                       \
      d = U16(clamp_i32(a, INT16_MIN, INT16_MAX)) |                          \
          (uint32_t)U16(clamp_i32(b, INT16_MIN, INT16_MAX)) << 16)           \
    X(v_cvt_pk_u16_f32, u32, f32, f32,                                       \
      d = u16_of_f32(a) | (uint32_t)u16_of_f32(b) << 16)                     \
    X(v_cvt_pk_i16_f32, u32, f32, f32,                                       \
      d = U16(i16_of_f32(a)) | (uint32_t)U16(i16_of_f32(b)) << 16)           \
    X(v_cvt_pk_norm_i16_f32, u32, f32, f32,                                  \
      d = U16(snorm16(a)) | (uint32_t)U16(snorm16(b)) << 16)                 \
    X(v_cvt_pk_norm_u16_f32, u32, f32, f32,                                  \
      d = unorm16(a) | (uint32_t)unorm16(b) << 16)                           \
    X(v_cvt_pk_norm_i16_f16, u32, f16, f16,                                  \
      d = U16(snorm16(a)) | (uint32_t)U16(snorm16(b)) << 16)                 \
    X(v_cvt_pk_norm_u16_f16, u32, f16, f16,                                  \
      d = unorm16(a) | (uint32_t)unorm16(b) << 16)

/* The destination is added to. */
#define VOP2_ACC_TABLE(X)                                                    \
    X(v_fmac_f32,     f32, f32, f32, d = fmaf(a, b, d))                      \
    X(v_mac_f32,      f32, f32, f32, d = (float)(a * b) + d)                 \
    X(v_fmac_f64,     f64, f64, f64, d = fma(a, b, d))                       \
    X(v_fmac_f16,     f16, f16, f16, d = fma_f16(a, b, d))                   \
    X(v_fmac_legacy_f32, f32, f32, f32, d = fma_dx9(a, b, d))                \
    X(v_mac_legacy_f32,  f32, f32, f32, d = mul_dx9(a, b) + d)

/* A literal stands in the text as c (fmaak) or as b (fmamk). */
#define VOP2_K_TABLE(X)                                                      \
    X(v_fmaak_f32,    f32, f32, f32, f32, d = fmaf(a, b, c))                 \
    X(v_fmamk_f32,    f32, f32, f32, f32, d = fmaf(a, b, c))                 \
    X(v_madak_f32,    f32, f32, f32, f32, d = (float)(a * b) + c)            \
    X(v_madmk_f32,    f32, f32, f32, f32, d = (float)(a * b) + c)            \
    X(v_fmaak_f16,    f16, f16, f16, f16, d = fma_f16(a, b, c))              \
    X(v_fmamk_f16,    f16, f16, f16, f16, d = fma_f16(a, b, c))              \
    X(v_madak_f16,    f16, f16, f16, f16, d = mad_f16(a, b, c))              \
    X(v_madmk_f16,    f16, f16, f16, f16, d = mad_f16(a, b, c))

#define VOP2_ALIASES(X)                                                \
    X(v_add_nc_u32,    v_add_u32)                                      \
    X(v_sub_nc_u32,    v_sub_u32)                                      \
    X(v_subrev_nc_u32, v_subrev_u32)                                   \
    X(v_add_nc_i32,    v_add_i32)                                      \
    X(v_sub_nc_i32,    v_sub_i32)                                      \
    X(v_add_nc_u16,    v_add_u16)                                      \
    X(v_sub_nc_u16,    v_sub_u16)                                      \
    X(v_add_nc_i16,    v_add_i16)                                      \
    X(v_sub_nc_i16,    v_sub_i16)                                      \
    X(v_mul_lo_i32,    v_mul_lo_u32)                                   \
    X(v_mul_dx9_zero_f32,  v_mul_legacy_f32)                           \
    X(v_fmac_dx9_zero_f32, v_fmac_legacy_f32)                          \
    X(v_min_num_f16,   v_min_f16)                                      \
    X(v_max_num_f16,   v_max_f16)                                      \
    X(v_min_num_f32,   v_min_f32)                                      \
    X(v_max_num_f32,   v_max_f32)                                      \
    X(v_min_num_f64,   v_min_f64)                                      \
    X(v_max_num_f64,   v_max_f64)                                      \
    X(v_cvt_pk_rtz_f16_f32, v_cvt_pkrtz_f16_f32)                       \
    X(v_cvt_pknorm_i16_f32, v_cvt_pk_norm_i16_f32)                     \
    X(v_cvt_pknorm_u16_f32, v_cvt_pk_norm_u16_f32)                     \
    X(v_cvt_pknorm_i16_f16, v_cvt_pk_norm_i16_f16)                     \
    X(v_cvt_pknorm_u16_f16, v_cvt_pk_norm_u16_f16)                     \
    X(v_dual_mul_f32,  v_mul_f32)                                      \
    X(v_dual_add_f32,  v_add_f32)                                      \
    X(v_dual_sub_f32,  v_sub_f32)                                      \
    X(v_dual_subrev_f32, v_subrev_f32)                                 \
    X(v_dual_mul_dx9_zero_f32, v_mul_legacy_f32)                       \
    X(v_dual_max_f32,  v_max_f32)                                      \
    X(v_dual_min_f32,  v_min_f32)                                      \
    X(v_dual_max_num_f32, v_max_f32)                                   \
    X(v_dual_min_num_f32, v_min_f32)                                   \
    X(v_dual_add_nc_u32, v_add_u32)                                    \
    X(v_dual_lshlrev_b32, v_lshlrev_b32)                               \
    X(v_dual_and_b32,  v_and_b32)                                      \
    X(v_dual_fmac_f32, v_fmac_f32)                                     \
    X(v_dual_fmaak_f32, v_fmaak_f32)                                   \
    X(v_dual_fmamk_f32, v_fmamk_f32)                                   \
    X(v_dual_cndmask_b32, v_cndmask_b32)
/* clang-format on */

VOP2_TABLE(VOP_RUN2)
VOP2_ACC_TABLE(VOP_RUN2_ACC)
VOP2_K_TABLE(VOP_RUN3)
VOP_RUN2_ACC(v_mac_f16, f16, f16, f16, d = mad_f16(a, b, d))

/* ---- selection and carries: one bit of a mask per lane ---- */

static void run_v_cndmask_b32(struct wave *w, const struct insn *in)
{
    /* Without a third operand (VOPD) the mask is VCC. */
    uint64_t mask =
        in->nops > 3 ? sim_src_mask(w, &in->op[3]) : mask_sreg(w, SREG_VCC);
    SRC(a, 1, u32);
    SRC(b, 2, u32);
    DST(u32);

    LANES(i)
    d_raw[i] = mask >> i & 1 ? b_raw[i] : a_raw[i];
    DST_DONE(u32);
}

static void run_v_cndmask_b16(struct wave *w, const struct insn *in)
{
    uint64_t mask = sim_src_mask(w, &in->op[3]);
    SRC(a, 1, u16);
    SRC(b, 2, u16);
    DST(u16);

    LANES(i)
    d_raw[i] = (mask >> i & 1 ? b_raw[i] : a_raw[i]) & 0xffff;
    DST_DONE(u16);
}

/*
 * Sums with a carry out: d, mask, a, b and perhaps a mask of carries in. The
 * mask is written last, because carries in and out may share a register. With
 * clamp the result saturates. Inactive lanes get a carry of 0.
 */
enum carry_op { CARRY_ADD, CARRY_SUB, CARRY_SUBREV };

static inline void carry(struct wave *w, const struct insn *in,
                         enum carry_op op)
{
    uint64_t carry_in = in->nops > 4 ? sim_src_mask(w, &in->op[4]) : 0;
    uint64_t out = 0;
    SRC(a, 2, u32);
    SRC(b, 3, u32);
    DST(u32);

    LANES(i)
    {
        uint64_t a = a_raw[i], b = b_raw[i], c = carry_in >> i & 1;
        uint64_t d = op == CARRY_ADD   ? a + b + c
                     : op == CARRY_SUB ? a - b - c
                                       : b - a - c;
        bool overflow = d >> 32;

        d_raw[i] = !(in->flags & F_CLAMP && overflow) ? (uint32_t)d
                   : op == CARRY_ADD                  ? UINT32_MAX
                                                      : 0;
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
        out |= (uint64_t)overflow << i; /* i stays below 64 */
    }
    DST_DONE(u32);
    sim_dst_mask(w, &in->op[1], out & w->mask);
}

static void run_carry_add(struct wave *w, const struct insn *in)
{
    carry(w, in, CARRY_ADD);
}

static void run_carry_sub(struct wave *w, const struct insn *in)
{
    carry(w, in, CARRY_SUB);
}

static void run_carry_subrev(struct wave *w, const struct insn *in)
{
    carry(w, in, CARRY_SUBREV);
}

#define CARRY_ROW(name, run)                                                   \
    {#name, run, CLASS_VALU, {T_u32, T_mask, T_u32, T_u32, T_mask}, ROW_SDST},

static const struct insn_row rows[] = {
    VOP2_TABLE(VOP_ROW2) VOP2_ACC_TABLE(VOP_ROW2_ACC)
        VOP2_K_TABLE(VOP_ROW3){"v_mac_f16",
                               run_v_mac_f16,
                               CLASS_VALU,
                               {T_f16, T_f16, T_f16},
                               ROW_KEEP_HIGH},
    {"v_cndmask_b32",
     run_v_cndmask_b32,
     CLASS_VALU,
     {T_u32, T_u32, T_u32, T_mask},
     0},
    {"v_cndmask_b16",
     run_v_cndmask_b16,
     CLASS_VALU,
     {T_u16, T_u16, T_u16, T_mask},
     0},
    CARRY_ROW(v_add_co_u32, run_carry_add) CARRY_ROW(
        v_addc_co_u32, run_carry_add) CARRY_ROW(v_add_co_ci_u32, run_carry_add)
        CARRY_ROW(v_sub_co_u32, run_carry_sub)
            CARRY_ROW(v_subb_co_u32, run_carry_sub)
                CARRY_ROW(v_sub_co_ci_u32, run_carry_sub)
                    CARRY_ROW(v_subrev_co_u32, run_carry_subrev)
                        CARRY_ROW(v_subbrev_co_u32, run_carry_subrev)
                            CARRY_ROW(v_subrev_co_ci_u32, run_carry_subrev)};
static const struct insn_alias aliases[] = {VOP2_ALIASES(ALIAS)};

ROW_SET(vop2, rows, aliases);
