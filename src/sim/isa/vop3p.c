/* vop3p.c - packed math: two 16-bit or 32-bit values in a register (pair)
 *
 * op_sel and op_sel_hi pick the half that each source gives to the low and to
 * the high result, neg_lo and neg_hi turn signs (of integers: nothing).
 */
#include "dpp.h"
#include "minmax.h"
#include "vop.h"

/* ---- 16 bits ---- */

/* Shifts and sign masks that pick source n's low and high value. */
struct halves {
    unsigned lo_shift, hi_shift;
    uint32_t lo_sign, hi_sign;
};

static inline struct halves halves_of(const struct insn *in, unsigned n)
{
    struct halves h = {
        in->op_sel >> n & 1 ? 16 : 0, in->op_sel_hi >> n & 1 ? 16 : 0,
        in->neg_lo >> n & 1 ? 0x8000 : 0, in->neg_hi >> n & 1 ? 0x8000 : 0};

    return h;
}

static inline uint16_t lo_half(struct halves h, uint32_t raw)
{
    return (uint16_t)(raw >> h.lo_shift ^ h.lo_sign);
}

static inline uint16_t hi_half(struct halves h, uint32_t raw)
{
    return (uint16_t)(raw >> h.hi_shift ^ h.hi_sign);
}

#define TO_u16(x) (x)
#define TO_i16(x) (int16_t)(x)
#define TO_f16(x) bits_f16(x)
#define FROM_u16(x) (x)
#define FROM_i16(x) (uint16_t)(x)
#define FROM_f16(x) f16_bits(x)
#define TO_bf16(x) f32_of_bf16(x)
#define FROM_bf16(x) bf16_of_f32(x)
#define VALUE_u16 uint16_t
#define VALUE_i16 int16_t
#define VALUE_f16 half_t
#define VALUE_bf16 float
#define PACKED_u16 pku16
#define PACKED_i16 pku16
#define PACKED_f16 pkf16
#define PACKED_bf16 pkbf16

/* Packed results clamp by halves: floats to 0 ... 1. (Integers saturate in
 * the expression itself.) */
static inline half_t clamp_f16(half_t x)
{
    return x > (half_t)0 ? x < (half_t)1 ? x : (half_t)1 : (half_t)0;
}

static inline float clamp_bf16(float x)
{
    return x > 0.0f ? x < 1.0f ? x : 1.0f : 0.0f;
}

#define CLAMP_u16(x) (x)
#define CLAMP_i16(x) (x)
#define CLAMP_f16(x) (CLAMPED ? clamp_f16(x) : (x))
#define CLAMP_bf16(x) (CLAMPED ? clamp_bf16(x) : (x))
#define CLAMPED (in->flags & F_CLAMP)
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

static inline uint16_t sat_u16(int64_t x)
{
    return (uint16_t)(x < 0 ? 0 : x > UINT16_MAX ? UINT16_MAX : x);
}

static inline int16_t sat_i16(int64_t x)
{
    return (int16_t)(x < INT16_MIN ? INT16_MIN : x > INT16_MAX ? INT16_MAX : x);
}

#define U16(x) (uint16_t)(x)
#define I16(x) (int16_t)(x)
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* clang-format off */
#define PK2_TABLE(X)                                                        \
    X(v_pk_add_f16,  f16, d = (half_t)((float)a + (float)b))                \
    X(v_pk_mul_f16,  f16, d = (half_t)((float)a * (float)b))                \
    X(v_pk_min_f16,  f16, d = min_f16(F16(a), F16(b), RULE))                \
    X(v_pk_max_f16,  f16, d = max_f16(F16(a), F16(b), RULE))                \
    X(v_pk_minimum_f16, f16, d = minimum_f16(F16(a), F16(b)))               \
    X(v_pk_maximum_f16, f16, d = maximum_f16(F16(a), F16(b)))               \
    X(v_pk_add_u16,  u16, d = CLAMPED ? sat_u16(a + b) : U16(a + b))        \
    X(v_pk_sub_u16,  u16, d = CLAMPED ? sat_u16(a - b) : U16(a - b))        \
    X(v_pk_add_i16,  i16, d = CLAMPED ? sat_i16(a + b) : I16(a + b))        \
    X(v_pk_sub_i16,  i16, d = CLAMPED ? sat_i16(a - b) : I16(a - b))        \
    X(v_pk_mul_lo_u16, u16, d = U16((uint32_t)a * b))                       \
    X(v_pk_min_u16,  u16, d = MIN(a, b))                                    \
    X(v_pk_max_u16,  u16, d = MAX(a, b))                                    \
    X(v_pk_min_i16,  i16, d = MIN(a, b))                                    \
    X(v_pk_max_i16,  i16, d = MAX(a, b))                                    \
    X(v_pk_lshlrev_b16, u16, d = U16((uint32_t)b << (a & 15)))              \
    X(v_pk_lshrrev_b16, u16, d = U16(b >> (a & 15)))                        \
    X(v_pk_ashrrev_i16, i16, d = I16(b >> (a & 15)))                        \
    X(v_pk_add_bf16, bf16, d = a + b)                                       \
    X(v_pk_mul_bf16, bf16, d = a * b)                                       \
    X(v_pk_min_num_bf16, bf16, d = min_f32(F32(a), F32(b), NAN_NUM))        \
    X(v_pk_max_num_bf16, bf16, d = max_f32(F32(a), F32(b), NAN_NUM))

#define PK3_TABLE(X)                                                        \
    X(v_pk_fma_f16,  f16, d = fma_f16(a, b, c))                             \
    X(v_pk_fma_bf16, bf16, d = fma_bf16(a, b, c))                           \
    X(v_pk_minimum3_f16, f16, d = minimum_f16(minimum_f16(F16(a), F16(b)), F16(c))) \
    X(v_pk_maximum3_f16, f16, d = maximum_f16(maximum_f16(F16(a), F16(b)), F16(c))) \
    X(v_pk_mad_u16,  u16, d = CLAMPED ? sat_u16((int64_t)a * b + c)         \
                                      : U16((uint32_t)a * b + c))           \
    X(v_pk_mad_i16,  i16, d = CLAMPED ? sat_i16((int64_t)a * b + c)         \
                                      : I16((int64_t)a * b + c))

#define PK_ALIASES(X)                                                       \
    X(v_pk_min_num_f16, v_pk_min_f16)                                       \
    X(v_pk_max_num_f16, v_pk_max_f16)
/* clang-format on */

static void write_halves(struct wave *w, const struct insn *in,
                         const uint32_t value[MAX_LANES])
{
    uint32_t tmp[MAX_LANES];

    if (w->flushes16)
        value = sim_flush16(w, in, in->op[0].type, FLUSH_RESULT, value, tmp);
    sim_write32(w, &in->op[0], value);
}

#define PK_OPERAND(name, n, type)                                              \
    SRC(name, n, pku16);                                                       \
    const struct halves name##_of = halves_of(in, (n)-1)

#define PK2_RUN(name, type, expr)                                              \
    static inline VALUE_##type lane_##name(const struct wave *w,               \
                                           const struct insn *in,              \
                                           VALUE_##type a, VALUE_##type b)     \
    {                                                                          \
        VALUE_##type d;                                                        \
                                                                               \
        (void)w;                                                               \
        expr;                                                                  \
        (void)in;                                                              \
        return CLAMP_##type(d);                                                \
    }                                                                          \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        PK_OPERAND(a, 1, type);                                                \
        PK_OPERAND(b, 2, type);                                                \
        DST(u32);                                                              \
                                                                               \
        LANES(i)                                                               \
        {                                                                      \
            uint16_t lo = FROM_##type(                                         \
                lane_##name(w, in, TO_##type(lo_half(a_of, a_raw[i])),         \
                            TO_##type(lo_half(b_of, b_raw[i]))));              \
            uint16_t hi = FROM_##type(                                         \
                lane_##name(w, in, TO_##type(hi_half(a_of, a_raw[i])),         \
                            TO_##type(hi_half(b_of, b_raw[i]))));              \
                                                                               \
            d_raw[i] = lo | (uint32_t)hi << 16;                                \
        }                                                                      \
        write_halves(w, in, d_raw);                                            \
    }
PK2_TABLE(PK2_RUN)

#define PK3_RUN(name, type, expr)                                              \
    static inline VALUE_##type lane_##name(                                    \
        const struct wave *w, const struct insn *in, VALUE_##type a,           \
        VALUE_##type b, VALUE_##type c)                                        \
    {                                                                          \
        VALUE_##type d;                                                        \
                                                                               \
        (void)w;                                                               \
        expr;                                                                  \
        (void)in;                                                              \
        return CLAMP_##type(d);                                                \
    }                                                                          \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        PK_OPERAND(a, 1, type);                                                \
        PK_OPERAND(b, 2, type);                                                \
        PK_OPERAND(c, 3, type);                                                \
        DST(u32);                                                              \
                                                                               \
        LANES(i)                                                               \
        {                                                                      \
            uint16_t lo = FROM_##type(                                         \
                lane_##name(w, in, TO_##type(lo_half(a_of, a_raw[i])),         \
                            TO_##type(lo_half(b_of, b_raw[i])),                \
                            TO_##type(lo_half(c_of, c_raw[i]))));              \
            uint16_t hi = FROM_##type(                                         \
                lane_##name(w, in, TO_##type(hi_half(a_of, a_raw[i])),         \
                            TO_##type(hi_half(b_of, b_raw[i])),                \
                            TO_##type(hi_half(c_of, c_raw[i]))));              \
                                                                               \
            d_raw[i] = lo | (uint32_t)hi << 16;                                \
        }                                                                      \
        write_halves(w, in, d_raw);                                            \
    }
PK3_TABLE(PK3_RUN)

/* VOP2: no selection, both halves accumulate. */
static void run_v_pk_fmac_f16(struct wave *w, const struct insn *in)
{
    SRC(a, 1, pkf16);
    SRC(b, 2, pkf16);
    SRC(old, 0, pkf16);
    uint32_t d[MAX_LANES];
    bool inline_a = in->op[1].kind == OPERAND_CONST;

    LANES(i)
    {
        /* A constant stands in both halves here. */
        uint32_t x = inline_a ? (a_raw[i] & 0xffff) * 0x10001 : a_raw[i];
        half_t lo = fma_f16(bits_f16((uint16_t)x), bits_f16((uint16_t)b_raw[i]),
                            bits_f16((uint16_t)old_raw[i]));
        half_t hi = fma_f16(bits_f16((uint16_t)(x >> 16)),
                            bits_f16((uint16_t)(b_raw[i] >> 16)),
                            bits_f16((uint16_t)(old_raw[i] >> 16)));

        d[i] = f16_bits(lo) | (uint32_t)f16_bits(hi) << 16;
    }
    write_halves(w, in, d);
}

/* ---- 32 bits: register pairs ---- */

/* The 32-bit values that source k gives to the low or the high result. */
static const uint32_t *pair_part(struct wave *w, const struct insn *in,
                                 unsigned k, bool high, uint32_t tmp[MAX_LANES])
{
    const struct operand *o = &in->op[k];
    unsigned part = (high ? in->op_sel_hi : in->op_sel) >> (k - 1) & 1;
    uint32_t sign =
        ((high ? in->neg_hi : in->neg_lo) >> (k - 1) & 1) ? 0x80000000u : 0;

    if (o->kind == OPERAND_VGPR || o->kind == OPERAND_AGPR) {
        const uint32_t *p = *tuple_reg(w, o, part);

        if (!sign)
            return p;
        LANES(i)
        tmp[i] = p[i] ^ sign;
    } else {
        uint32_t value = (uint32_t)(sim_src_scalar64(w, o) >> (32 * part));

        LANES(i)
        tmp[i] = value ^ sign;
    }
    return tmp;
}

static void write_pair(struct wave *w, const struct insn *in,
                       const uint32_t lo[MAX_LANES],
                       const uint32_t hi[MAX_LANES])
{
    uint32_t *d0 = *tuple_reg(w, &in->op[0], 0);
    uint32_t *d1 = *tuple_reg(w, &in->op[0], 1);
    uint64_t mask = w->mask;

    if (mask == w->full) {
        LANES(i)
        {
            d0[i] = lo[i];
            d1[i] = hi[i];
        }
        return;
    }
    LANES(i)
    {
        d0[i] = mask >> i & 1 ? lo[i] : d0[i];
        d1[i] = mask >> i & 1 ? hi[i] : d1[i];
    }
}

static void clamp_pair(const struct wave *w, uint32_t v[MAX_LANES])
{
    LANES(i)
    v[i] = f32_bits(clamp_bf16(bits_f32(v[i])));
}

#define PK_F32_RUN(name, nsrc, expr)                                           \
    static void part_##name(struct wave *w, const struct insn *in, bool high,  \
                            uint32_t d[MAX_LANES])                             \
    {                                                                          \
        uint32_t tmp[3][MAX_LANES] __attribute__((aligned(64)));               \
        const uint32_t *pa = pair_part(w, in, 1, high, tmp[0]);                \
        const uint32_t *pb = pair_part(w, in, 2, high, tmp[1]);                \
        const uint32_t *pc = pair_part(w, in, nsrc, high, tmp[2]);             \
                                                                               \
        LANES(i)                                                               \
        {                                                                      \
            float a = bits_f32(pa[i]), b = bits_f32(pb[i]);                    \
            float c = bits_f32(pc[i]);                                         \
                                                                               \
            (void)c;                                                           \
            d[i] = f32_bits(expr);                                             \
        }                                                                      \
        if (CLAMPED)                                                           \
            clamp_pair(w, d);                                                  \
    }                                                                          \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        uint32_t lo[MAX_LANES] __attribute__((aligned(64)));                   \
        uint32_t hi[MAX_LANES] __attribute__((aligned(64)));                   \
                                                                               \
        part_##name(w, in, false, lo);                                         \
        part_##name(w, in, true, hi);                                          \
        write_pair(w, in, lo, hi);                                             \
    }
PK_F32_RUN(v_pk_add_f32, 2, a + b)
PK_F32_RUN(v_pk_mul_f32, 2, a *b)
PK_F32_RUN(v_pk_fma_f32, 3, fmaf(a, b, c))

/* Low result from src0 by op_sel[0], high one from src1 by op_sel[1]. */
static void run_v_pk_mov_b32(struct wave *w, const struct insn *in)
{
    uint32_t lo[MAX_LANES], hi[MAX_LANES], tmp[MAX_LANES];

    memcpy(lo, pair_part(w, in, 1, false, tmp), sizeof(lo));
    memcpy(hi, pair_part(w, in, 2, false, tmp), sizeof(hi));
    write_pair(w, in, lo, hi);
}

/*
 * ---- mixed precision ----
 * Each source is f32, or the half of its register that op_sel picks where
 * op_sel_hi is set. neg and abs are written as for any f32 source, and apply to
 * the value after the half is picked.
 */
static const uint32_t *mix_raw(struct wave *w, const struct insn *in,
                               unsigned k, uint32_t tmp[MAX_LANES])
{
    const struct operand *o = &in->op[k];
    uint32_t value;

    if (o->kind == OPERAND_VGPR && k == 1 && in->dpp.kind != DPP_NONE) {
        sim_dpp_move32(w, in, w->v[o->reg], tmp);
        return tmp;
    }
    if (o->kind == OPERAND_VGPR)
        return w->v[o->reg];
    value = sim_src_scalar32(w, o);
    /* An inline constant was read as f32; literals of 16 bits are f16. */
    if (o->kind == OPERAND_CONST && (in->op_sel_hi >> (k - 1) & 1) &&
        value > 0xffff)
        value = f16_bits((half_t)bits_f32(value)) * UINT32_C(0x10001);
    LANES(i)
    tmp[i] = value;
    return tmp;
}

static inline float mix_source(const struct insn *in, unsigned k, uint32_t raw)
{
    const struct operand *o = &in->op[k];
    unsigned n = k - 1;
    uint32_t half = in->op_sel >> n & 1 ? raw >> 16 : raw & 0xffff;
    float x = in->op_sel_hi >> n & 1 ? (float)bits_f16((uint16_t)half)
                                     : bits_f32(raw);

    x = o->abs || (in->neg_hi >> n & 1) ? fabsf(x) : x;
    return o->neg || (in->neg_lo >> n & 1) ? -x : x;
}

enum mix_result { MIX_F32, MIX_LO, MIX_HI };

static inline void mix(struct wave *w, const struct insn *in, bool fused,
                       enum mix_result result)
{
    uint32_t a_tmp[MAX_LANES], b_tmp[MAX_LANES], c_tmp[MAX_LANES];
    const uint32_t *a = mix_raw(w, in, 1, a_tmp);
    const uint32_t *b = mix_raw(w, in, 2, b_tmp);
    const uint32_t *c = mix_raw(w, in, 3, c_tmp);
    const uint32_t *old = w->v[in->op[0].reg];
    uint32_t d[MAX_LANES];

    LANES(i)
    {
        /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): per lane */
        float x = mix_source(in, 1, a[i]), y = mix_source(in, 2, b[i]);
        float z = mix_source(in, 3, c[i]);
        float r = fused ? fmaf(x, y, z) : (float)(x * y) + z;
        uint32_t half;

        r = CLAMPED ? clamp_bf16(r) : r;
        half = f16_bits((half_t)r);
        d[i] = result == MIX_F32  ? f32_bits(r)
               : result == MIX_LO ? (old[i] & 0xffff0000) | half
                                  : (old[i] & 0xffff) | half << 16;
    }
    sim_write32(w, &in->op[0], d);
}

#define MIX_TABLE(X)                                                           \
    X(v_fma_mix_f32, true, MIX_F32)                                            \
    X(v_fma_mixlo_f16, true, MIX_LO)                                           \
    X(v_fma_mixhi_f16, true, MIX_HI)                                           \
    X(v_mad_mix_f32, false, MIX_F32)                                           \
    X(v_mad_mixlo_f16, false, MIX_LO)                                          \
    X(v_mad_mixhi_f16, false, MIX_HI)

#define MIX_RUN(name, fused, result)                                           \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        mix(w, in, fused, result);                                             \
    }
MIX_TABLE(MIX_RUN)

/* ---- rows ---- */

#define PK2_ROW(name, type, expr)                                              \
    {#name,                                                                    \
     run_##name,                                                               \
     CLASS_VALU,                                                               \
     {JOIN(T_, PACKED_##type), JOIN(T_, PACKED_##type),                        \
      JOIN(T_, PACKED_##type)},                                                \
     0},
#define PK3_ROW(name, type, expr)                                              \
    {#name,                                                                    \
     run_##name,                                                               \
     CLASS_VALU,                                                               \
     {JOIN(T_, PACKED_##type), JOIN(T_, PACKED_##type),                        \
      JOIN(T_, PACKED_##type), JOIN(T_, PACKED_##type)},                       \
     0},
#define PKF32_ROW(name)                                                        \
    {#name, run_##name, CLASS_VALU, {T_pkf32, T_pkf32, T_pkf32, T_pkf32}, 0},
#define MIX_ROW(name, fused, result)                                           \
    {#name,                                                                    \
     run_##name,                                                               \
     CLASS_VALU,                                                               \
     {T_u32, T_f32, T_f32, T_f32},                                             \
     ROW_OP_SEL_HI_0},

static const struct insn_row rows[] = {
    PK2_TABLE(PK2_ROW) PK3_TABLE(PK3_ROW) PKF32_ROW(v_pk_add_f32)
        PKF32_ROW(v_pk_mul_f32) PKF32_ROW(v_pk_fma_f32) PKF32_ROW(v_pk_mov_b32)
            MIX_TABLE(MIX_ROW){"v_pk_fmac_f16",
                               run_v_pk_fmac_f16,
                               CLASS_VALU,
                               {T_pkf16, T_pkf16, T_pkf16},
                               0},
};
static const struct insn_alias aliases[] = {PK_ALIASES(ALIAS)};

ROW_SET(vop3p, rows, aliases);
