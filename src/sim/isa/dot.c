/* dot.c - dot products of the parts of a register, added to a third source
 *
 * Integer sums are exact and, with clamp, saturate at the end. For floats the
 * f32 forms multiply exactly and round to nearest after each of the two
 * additions, from the low half on; denormals of f32, in the third source and in
 * the result, are flushed. MODE has no say.
 */
#include "minifloat.h"
#include "vop.h"

/* For a loop over lanes, which stores could change `in` for all that the
 * compiler knows. */
#define CLAMPED clamped
#define HAS_CLAMP const bool clamped = in->flags & F_CLAMP

/* ---- integers ---- */

/* No choice between two shifts: the sign is often known at run time only. */
static inline int32_t part(uint32_t raw, unsigned n, unsigned bits, bool sign)
{
    const uint32_t field = raw << (32 - bits - n * bits) >> (32 - bits);
    const uint32_t top = (uint32_t)sign << (bits - 1);

    return (int32_t)((field ^ top) - top);
}

static inline int64_t dot(uint32_t a, uint32_t b, unsigned bits, bool sign_a,
                          bool sign_b)
{
    int64_t sum = 0;
    int32_t small = 0; /* wide enough for products of 8 bits */

    if (bits <= 8) {
        for (unsigned n = 0; n < 32 / bits; n++)
            small += part(a, n, bits, sign_a) * part(b, n, bits, sign_b);
        return small;
    }
    for (unsigned n = 0; n < 32 / bits; n++)
        sum += (int64_t)part(a, n, bits, sign_a) * part(b, n, bits, sign_b);
    return sum;
}

static inline uint32_t finish_signed(int64_t sum, bool clamp)
{
    return (uint32_t)(clamp ? clamp_i32(sum, INT32_MIN, INT32_MAX) : sum);
}

static inline uint32_t finish_unsigned(int64_t sum, bool clamp)
{
    return clamp && sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

/* Arranges the 16-bit halves as op_sel and op_sel_hi say. */
static inline uint32_t arranged(const struct insn *in, unsigned n, uint32_t raw)
{
    uint32_t lo = in->op_sel >> n & 1 ? raw >> 16 : raw & 0xffff;
    uint32_t hi = in->op_sel_hi >> n & 1 ? raw >> 16 : raw & 0xffff;

    return lo | hi << 16;
}

/* For iu8 and iu4, neg_lo says which of the two is signed. */
#define IU_A (neg_lo & 1)
#define IU_B (neg_lo >> 1 & 1)

/* clang-format off */
#define DOT_INT_TABLE(X)                                                       \
    /* mnemonic        type  one lane's result */                              \
    X(v_dot4_i32_i8,   i32, finish_signed(dot(a, b, 8, true, true) + c,        \
                                          CLAMPED))                            \
    X(v_dot4_u32_u8,   u32, finish_unsigned(dot(a, b, 8, false, false) + c,    \
                                            CLAMPED))                          \
    X(v_dot8_i32_i4,   i32, finish_signed(dot(a, b, 4, true, true) + c,        \
                                          CLAMPED))                            \
    X(v_dot8_u32_u4,   u32, finish_unsigned(dot(a, b, 4, false, false) + c,    \
                                            CLAMPED))                          \
    X(v_dot4_i32_iu8,  i32, finish_signed(dot(a, b, 8, IU_A, IU_B) + c,        \
                                          CLAMPED))                            \
    X(v_dot8_i32_iu4,  i32, finish_signed(dot(a, b, 4, IU_A, IU_B) + c,        \
                                          CLAMPED))                            \
    X(v_dot2_i32_i16,  i32, finish_signed(dot(arranged(in, 0, a),              \
                                arranged(in, 1, b), 16, true, true) + c,       \
                                          CLAMPED))                            \
    X(v_dot2_u32_u16,  u32, finish_unsigned(dot(arranged(in, 0, a),            \
                                arranged(in, 1, b), 16, false, false) + c,     \
                                            CLAMPED))

/* The same, adding to the destination. */
#define DOT_ACC_TABLE(X)                                                       \
    X(v_dot4c_i32_i8,  finish_signed(dot(a, b, 8, true, true) + c, CLAMPED))   \
    X(v_dot8c_i32_i4,  finish_signed(dot(a, b, 4, true, true) + c, CLAMPED))   \
    X(v_dot2c_i32_i16, finish_signed(dot(a, b, 16, true, true) + c, CLAMPED))
/* clang-format on */

#define DOT_INT_RUN(name, ct, value)                                           \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        SRC(a, 1, u32);                                                        \
        SRC(b, 2, u32);                                                        \
        SRC(c, 3, ct);                                                         \
        DST(u32);                                                              \
        HAS_CLAMP;                                                             \
        const unsigned neg_lo = in->neg_lo;                                    \
                                                                               \
        (void)neg_lo;                                                          \
        LANES(i)                                                               \
        {                                                                      \
            uint32_t a = a_raw[i], b = b_raw[i];                               \
            lane_##ct c = GET(c, ct, i);                                       \
                                                                               \
            d_raw[i] = value;                                                  \
        }                                                                      \
        DST_DONE(u32);                                                         \
    }
DOT_INT_TABLE(DOT_INT_RUN)

#define DOT_ACC_RUN(name, value)                                               \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        SRC(a, 1, u32);                                                        \
        SRC(b, 2, u32);                                                        \
        SRC(c, 0, i32);                                                        \
        DST(u32);                                                              \
        HAS_CLAMP;                                                             \
                                                                               \
        LANES(i)                                                               \
        {                                                                      \
            uint32_t a = a_raw[i], b = b_raw[i];                               \
            int32_t c = GET(c, i32, i);                                        \
                                                                               \
            d_raw[i] = value;                                                  \
        }                                                                      \
        DST_DONE(u32);                                                         \
    }
DOT_ACC_TABLE(DOT_ACC_RUN)

/* ---- floats ---- */

enum dot_format { DOT_F16, DOT_BF16 };

static inline float dot_part(enum dot_format format, uint32_t half)
{
    return format == DOT_F16 ? (float)bits_f16((uint16_t)half)
                             : f32_of_bf16((uint16_t)half);
}

/* The half of source n for product `hi`, with its sign turned. */
static inline float dot_source(const struct insn *in, unsigned n, bool hi,
                               enum dot_format format, uint32_t raw)
{
    unsigned sel = hi ? in->op_sel_hi : in->op_sel;
    unsigned neg = hi ? in->neg_hi : in->neg_lo;
    float x = dot_part(format, sel >> n & 1 ? raw >> 16 : raw & 0xffff);

    return neg >> n & 1 ? -x : x;
}

static inline float dot2_f32(const struct insn *in, enum dot_format format,
                             uint32_t a, uint32_t b, float c)
{
    float lo = fmaf(dot_source(in, 0, false, format, a),
                    dot_source(in, 1, false, format, b), c);

    return fmaf(dot_source(in, 0, true, format, a),
                dot_source(in, 1, true, format, b), lo);
}

static inline float flushed(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0.0f, x) : x;
}

static inline void dot2(struct wave *w, const struct insn *in,
                        enum dot_format format, unsigned c_index)
{
    bool neg_c = c_index == 3 && (in->neg_lo & 4);
    bool abs_c = c_index == 3 && (in->neg_hi & 4);
    SRC(a, 1, pku16);
    SRC(b, 2, pku16);
    SRC(c, c_index, f32);
    DST(f32);

    LANES(i)
    {
        float c = GET(c, f32, i);

        c = abs_c ? fabsf(c) : c;
        c = flushed(neg_c ? -c : c);
        put_f32(&d_raw[i],
                flushed(dot2_f32(in, format, a_raw[i], b_raw[i], c)));
    }
    DST_DONE(f32);
}

static void run_v_dot2_f32_f16(struct wave *w, const struct insn *in)
{
    dot2(w, in, DOT_F16, 3);
}

static void run_v_dot2_f32_bf16(struct wave *w, const struct insn *in)
{
    dot2(w, in, DOT_BF16, 3);
}

static void run_v_dot2c_f32_f16(struct wave *w, const struct insn *in)
{
    dot2(w, in, DOT_F16, 0);
}

static void run_v_dot2c_f32_bf16(struct wave *w, const struct insn *in)
{
    dot2(w, in, DOT_BF16, 0);
}

/* gfx12: four products of 8-bit floats, added to c one after the other. */
static inline void dot4_f32(struct wave *w, const struct insn *in,
                            const struct minifloat *fa,
                            const struct minifloat *fb)
{
    SRC(a, 1, u32);
    SRC(b, 2, u32);
    SRC(c, 3, f32);
    DST(f32);

    for (unsigned i = 0; i < w->nlanes; i++) {
        float d = GET(c, f32, i);

        d = in->neg_hi & 4 ? fabsf(d) : d;
        d = in->neg_lo & 4 ? -d : d;
        for (unsigned n = 0; n < 32; n += 8)
            d = fmaf(sim_minifloat_decode(fa, a_raw[i] >> n & 255),
                     sim_minifloat_decode(fb, b_raw[i] >> n & 255), d);
        put_f32(&d_raw[i], d);
    }
    DST_DONE(f32);
}

#define DOT4_F32_TABLE(X)                                                      \
    X(v_dot4_f32_fp8_fp8, fp8, fp8)                                            \
    X(v_dot4_f32_fp8_bf8, fp8, bf8)                                            \
    X(v_dot4_f32_bf8_fp8, bf8, fp8)                                            \
    X(v_dot4_f32_bf8_bf8, bf8, bf8)
#define DOT4_F32_RUN(name, fa, fb)                                             \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        dot4_f32(w, in, sim_##fa(w->target), sim_##fb(w->target));             \
    }
DOT4_F32_TABLE(DOT4_F32_RUN)

/* f16 and bf16 sums: rounded to the format after each multiply-add. */
static void run_v_dot2_f16_f16(struct wave *w, const struct insn *in)
{
    SRC(a, 1, pkf16);
    SRC(b, 2, pkf16);
    SRC(c, 3, f16);
    DST(f16);

    LANES(i)
    {
        half_t d = fma_f16(bits_f16((uint16_t)a_raw[i]),
                           bits_f16((uint16_t)b_raw[i]), GET(c, f16, i));

        d = fma_f16(bits_f16((uint16_t)(a_raw[i] >> 16)),
                    bits_f16((uint16_t)(b_raw[i] >> 16)), d);
        put_f16(&d_raw[i], d);
    }
    DST_DONE(f16);
}

static void run_v_dot2_bf16_bf16(struct wave *w, const struct insn *in)
{
    SRC(a, 1, pkbf16);
    SRC(b, 2, pkbf16);
    SRC(c, 3, bf16);
    DST(bf16);

    LANES(i)
    {
        float d = fma_bf16(f32_of_bf16((uint16_t)a_raw[i]),
                           f32_of_bf16((uint16_t)b_raw[i]),
                           f32_of_bf16(GET(c, bf16, i)));

        d = fma_bf16(f32_of_bf16((uint16_t)(a_raw[i] >> 16)),
                     f32_of_bf16((uint16_t)(b_raw[i] >> 16)),
                     f32_of_bf16(bf16_of_f32(d)));
        put_bf16(&d_raw[i], bf16_of_f32(d));
    }
    DST_DONE(bf16);
}

#define DOT_INT_ROW(name, ct, value) VOP_ROW3(name, u32, u32, u32, ct, )
#define DOT4_F32_ROW(name, fa, fb) VOP_ROW3(name, f32, u32, u32, f32, )
#define DOT_ACC_ROW(name, value) VOP_ROW2(name, u32, u32, u32, )

#define DOT2_ROW(name, d, half, ...)                                           \
    {#name,                                                                    \
     run_##name,                                                               \
     CLASS_VALU,                                                               \
     {T_##d, T_##half, T_##half, __VA_ARGS__},                                 \
     ROW_FP_FIXED},

/* clang-format off */
static const struct insn_row rows[] = {
    DOT_INT_TABLE(DOT_INT_ROW)
    DOT_ACC_TABLE(DOT_ACC_ROW)
    DOT4_F32_TABLE(DOT4_F32_ROW)
    DOT2_ROW(v_dot2_f32_f16,   f32,  pkf16,  T_f32)
    DOT2_ROW(v_dot2_f32_bf16,  f32,  pkbf16, T_f32)
    DOT2_ROW(v_dot2c_f32_f16,  f32,  pkf16,  T_none)
    DOT2_ROW(v_dot2c_f32_bf16, f32,  pkbf16, T_none)
    DOT2_ROW(v_dot2_f16_f16,   f16,  pkf16,  T_f16)
    DOT2_ROW(v_dot2_bf16_bf16, bf16, pkbf16, T_bf16)
};
#define DOT_ALIASES(X)                          \
    X(v_dot2acc_f32_f16, v_dot2c_f32_f16)       \
    X(v_dual_dot2acc_f32_f16, v_dot2c_f32_f16)  \
    X(v_dual_dot2acc_f32_bf16, v_dot2c_f32_bf16)
static const struct insn_alias aliases[] = {DOT_ALIASES(ALIAS)};
/* clang-format on */

ROW_SET(dot, rows, aliases);
