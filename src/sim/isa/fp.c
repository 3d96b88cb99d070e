/* fp.c - floating-point operations that take several steps */
#include "fp.h"

/* ---- parts of a number ---- */

/* Beyond these exponents every result is 0 or infinite. */
static int clamp_exponent(int32_t e, int limit)
{
    return e < -limit ? -limit : e > limit ? limit : e;
}

static double two_to(int e) /* -1022 ... 1023 */
{
    return bits_f64((uint64_t)(1023 + e) << 52);
}

float ldexp_rounded_f32(float x, int32_t e)
{
    /* Exact in f64, then rounded once. */
    return (float)((double)x * two_to(clamp_exponent(e, 400)));
}

half_t ldexp_rounded_f16(half_t x, int32_t e)
{
    /* Exact in f32, then rounded once. */
    return (half_t)((float)x * (float)two_to(clamp_exponent(e, 60)));
}

double ldexp_rounded_f64(double x, int32_t e)
{
    return ldexp(x, clamp_exponent(e, 3000));
}

#define FREXP(type, real)                                                      \
    real frexp_mant_##type(real x)                                             \
    {                                                                          \
        int e;                                                                 \
        double m = frexp((double)x, &e);                                       \
                                                                               \
        /* adding 0 would lose -0; a NaN is made quiet by the sum */           \
        return x != x ? x + x : isinf((double)x) ? x : (real)m;                \
    }                                                                          \
    int32_t frexp_exp_##type(real x)                                           \
    {                                                                          \
        int e = 0;                                                             \
                                                                               \
        if (x == x && !isinf((double)x))                                       \
            (void)frexp((double)x, &e);                                        \
        return e;                                                              \
    }
FREXP(f16, half_t)
FREXP(f32, float)
FREXP(f64, double)

/* ---- division ---- */

/*
 * v_div_scale, three multiply-adds, v_div_fmas and v_div_fixup make a division
 * that is rounded right. The first brings the operands into a range where no
 * step overflows or loses bits, the last puts in what the steps cannot give.
 */
#define DIV_FIXUP(name, type, real, raw, exponent, lost)                       \
    real name##_##type(real q, real den, real num)                             \
    {                                                                          \
        raw d = type##_bits(den), n = type##_bits(num);                        \
        raw inf = INF_##type;                                                  \
        raw sign = (raw)((d ^ n) & SIGN_##type);                               \
        raw r;                                                                 \
                                                                               \
        d &= (raw)~SIGN_##type;                                                \
        n &= (raw)~SIGN_##type;                                                \
        if (n > inf)                                                           \
            r = (raw)(type##_bits(num) | QUIET_##type);                        \
        else if (d > inf)                                                      \
            r = (raw)(type##_bits(den) | QUIET_##type);                        \
        else if ((d == 0 && n == 0) || (d == inf && n == inf))                 \
            r = NAN_##type;                                                    \
        else if (d == 0 || n == inf)                                           \
            r = sign | inf;                                                    \
        else if (d == inf || n == 0)                                           \
            r = sign;                                                          \
        else if (exponent(n) - exponent(d) < -(lost))                          \
            r = sign;                                                          \
        else if ((type##_bits(q) & (raw)~SIGN_##type) > inf)                   \
            r = sign | inf; /* numbers whose quotient overflowed on the way */ \
        else                                                                   \
            r = (raw)((type##_bits(q) & (raw)~SIGN_##type) | sign);            \
        return bits_##type(r);                                                 \
    }
#define EXPONENT_f16(u) ((int)((u) >> 10 & 0x1f))
#define EXPONENT_f32(u) ((int)((u) >> 23 & 0xff))
#define EXPONENT_f64(u) ((int)((u) >> 52 & 0x7ff))
/* NOLINTBEGIN(bugprone-branch-clone): the manual's order of cases */
DIV_FIXUP(div_fixup, f16, half_t, uint16_t, EXPONENT_f16, 99) /* never lost */
DIV_FIXUP(div_fixup_slow, f32, float, uint32_t, EXPONENT_f32, 150)
DIV_FIXUP(div_fixup_slow, f64, double, uint64_t, EXPONENT_f64, 1075)
/* NOLINTEND(bugprone-branch-clone) */

static bool is_tiny(double x, double least_normal)
{
    return fabs(x) < least_normal;
}

/*
 * Scales an operand by the manual's ladder, except for one sign: if both 1 /
 * den and num / den are denormal, the manual scales den up, which would make it
 * infinite. Scaling down gives the quotient that v_div_fmas then scales back by
 * 2^-64 (2^-128).
 */
#define DIV_SCALE(type, real, raw, wide, bits, far, least_normal, least_exp)   \
    real div_scale_slow_##type(real a, real den, real num, bool *vcc)          \
    {                                                                          \
        int en = EXPONENT_##type(type##_bits(num));                            \
        int ed = EXPONENT_##type(type##_bits(den));                            \
        bool is_den = type##_bits(a) == type##_bits(den);                      \
        bool is_num = type##_bits(a) == type##_bits(num);                      \
        bool den_small = ed == 0;                                              \
        bool rcp_small = is_tiny((double)((wide)1 / (wide)den), least_normal); \
        bool quo_small =                                                       \
            is_tiny((double)((wide)num / (wide)den), least_normal);            \
        int e = 0;                                                             \
                                                                               \
        *vcc = false;                                                          \
        if (num == 0 || den == 0)                                              \
            return bits_##type(NAN_##type);                                    \
        if (en - ed >= (far)) {                                                \
            *vcc = true;                                                       \
            e = is_den ? (bits) : 0;                                           \
        } else if (den_small) {                                                \
            e = (bits);                                                        \
        } else if (rcp_small && quo_small) {                                   \
            *vcc = true;                                                       \
            e = is_den ? -(bits) : 0;                                          \
        } else if (rcp_small) {                                                \
            e = -(bits);                                                       \
        } else if (quo_small) {                                                \
            *vcc = true;                                                       \
            e = is_num ? (bits) : 0;                                           \
        } else if (en <= (least_exp)) {                                        \
            e = (bits);                                                        \
        }                                                                      \
        return e ? ldexp_rounded_##type(a, e) : a;                             \
    }
/* NOLINTBEGIN(bugprone-branch-clone): the manual's order of cases */
DIV_SCALE(f32, float, uint32_t, double, 64, 96, 0x1p-126, 23)
DIV_SCALE(f64, double, uint64_t, double, 128, 768, 0x1p-1022, 53)
/* NOLINTEND(bugprone-branch-clone) */

/* The quotient may become denormal when it is scaled back: one rounding. */
float div_fmas_f32(float a, float b, float c, bool unscale)
{
    double s;

    if (!unscale)
        return fmaf(a, b, c);
    s = add_round_to_odd((double)a * (double)b, (double)c);
    return (float)(s * (fabsf(c) >= 2.0f ? 0x1p64 : 0x1p-64));
}

__extension__ typedef __float128 quad;

double div_fmas_f64(double a, double b, double c, bool unscale)
{
    quad s;

    if (!unscale)
        return fma(a, b, c);
    s = (quad)a * (quad)b + (quad)c;
    return (double)(s * (quad)(fabs(c) >= 2.0 ? 0x1p128 : 0x1p-128));
}

/* ---- argument reduction ---- */

/* 1201 bits of 2/pi; the first bit is worth 1/2. */
static const uint64_t two_over_pi[] = {
    UINT64_C(0xa2f9836e4e441529), UINT64_C(0xfc2757d1f534ddc0),
    UINT64_C(0xdb6295993c439041), UINT64_C(0xfe5163abdebbc561),
    UINT64_C(0xb7246e3a424dd2e0), UINT64_C(0x06492eea09d1921c),
    UINT64_C(0xfe1deb1cb129a73e), UINT64_C(0xe88235f52ebb4484),
    UINT64_C(0xe99c7026b45f7e41), UINT64_C(0x3991d639835339f4),
    UINT64_C(0x9c845f8bbdf9283b), UINT64_C(0x1ff897ffde05980f),
    UINT64_C(0xef2f118b5a0a6d1f), UINT64_C(0x6d367ecf27cb09b7),
    UINT64_C(0x4f463f669e5fea2d), UINT64_C(0x7527bac7ebe5f17b),
    UINT64_C(0x3d0739f78a5292ea), UINT64_C(0x6bfb5fb11f8d5d08),
    UINT64_C(0x56033046fc7b0000),
};

double trig_preop(double x, uint32_t part)
{
    int exponent = EXPONENT_f64(f64_bits(x));
    unsigned shift = (part & 31) * 53;
    uint64_t bits = 0;
    int scale;

    if (exponent > 1077)
        shift += (unsigned)(exponent - 1077);
    for (unsigned i = shift; i < shift + 53; i++) {
        uint64_t bit = i < 1201 ? two_over_pi[i / 64] >> (63 - i % 64) & 1 : 0;

        bits = bits << 1 | bit;
    }
    scale = -53 - (int)shift;
    if (exponent >= 1968) /* keeps the product with x in range */
        scale += 128;
    return ldexp((double)bits, scale);
}

/* ---- classes ---- */

enum {
    CLASS_SNAN,
    CLASS_QNAN,
    CLASS_NEG_INF,
    CLASS_NEG_NORMAL,
    CLASS_NEG_DENORMAL,
    CLASS_NEG_ZERO,
    CLASS_POS_ZERO,
    CLASS_POS_DENORMAL,
    CLASS_POS_NORMAL,
    CLASS_POS_INF
};

#define FP_CLASS(type, real, raw)                                              \
    uint32_t fp_class_##type(real x)                                           \
    {                                                                          \
        raw u = type##_bits(x);                                                \
        raw a = (raw)(u & (raw)~SIGN_##type);                                  \
        raw least_normal = (raw)(QUIET_##type << 1);                           \
        int pos;                                                               \
                                                                               \
        if (a > INF_##type)                                                    \
            return 1u << ((a & QUIET_##type) ? CLASS_QNAN : CLASS_SNAN);       \
        pos = a == INF_##type     ? CLASS_POS_INF                              \
              : a >= least_normal ? CLASS_POS_NORMAL                           \
              : a                 ? CLASS_POS_DENORMAL                         \
                                  : CLASS_POS_ZERO;                                            \
        return 1u << ((u & SIGN_##type)                                        \
                          ? CLASS_NEG_ZERO + CLASS_POS_ZERO - pos              \
                          : pos);                                              \
    }
FP_CLASS(f16, half_t, uint16_t)
FP_CLASS(f32, float, uint32_t)
FP_CLASS(f64, double, uint64_t)
