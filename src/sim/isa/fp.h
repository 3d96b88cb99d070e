/* fp.h - floating-point rules of the vector ALU, a lane at a time
 *
 * Everything here is a pure function of its arguments and of the host's
 * rounding mode and denormal switches, which the interpreter sets from MODE.
 * A NaN that an operation makes of other numbers is the host's default NaN,
 * negative and quiet, as on the hardware; a NaN operand comes out quiet.
 */
#ifndef SIM_ISA_FP_H
#define SIM_ISA_FP_H

#include "lane_types.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define FP_BITS(type, real, raw)                                               \
    static inline raw type##_bits(real v)                                      \
    {                                                                          \
        raw u;                                                                 \
        memcpy(&u, &v, sizeof(u));                                             \
        return u;                                                              \
    }                                                                          \
    static inline real bits_##type(raw u)                                      \
    {                                                                          \
        real v;                                                                \
        memcpy(&v, &u, sizeof(v));                                             \
        return v;                                                              \
    }
FP_BITS(f16, half_t, uint16_t)
FP_BITS(f32, float, uint32_t)
FP_BITS(f64, double, uint64_t)

/* Layout of each format, for macros stamped per format. */
#define SIGN_f16 UINT16_C(0x8000)
#define SIGN_f32 UINT32_C(0x80000000)
#define SIGN_f64 UINT64_C(0x8000000000000000)
#define INF_f16 UINT16_C(0x7c00)
#define INF_f32 UINT32_C(0x7f800000)
#define INF_f64 UINT64_C(0x7ff0000000000000)
#define QUIET_f16 UINT16_C(0x0200)
#define QUIET_f32 UINT32_C(0x00400000)
#define QUIET_f64 UINT64_C(0x0008000000000000)
/* The compiler has calls for == of halves, and for halves as f64. */
#define EQUAL_f16(x, y) equal_f16(f16_bits(x), f16_bits(y))
#define EQUAL_f32(x, y) ((x) == (y))
#define EQUAL_f64(x, y) ((x) == (y))

static inline bool equal_f16(uint16_t a, uint16_t b)
{
    const bool same = a == b && (a & 0x7fff) <= 0x7c00;

    return same || ((a | b) & 0x7fff) == 0;
}

static inline double f64_of_f16(half_t x)
{
    float f = (float)x;

    __asm__("" : "+m"(f)); /* keeps the compiler from merging both */
    return (double)f;
}
/* The NaN of an invalid operation. */
#define NAN_f16 UINT16_C(0xfe00)
#define NAN_f32 UINT32_C(0xffc00000)
#define NAN_f64 UINT64_C(0xfff8000000000000)

/* ---- minimum and maximum ---- */

/*
 * How min and max treat NaN. A number wins over a quiet NaN in all three of
 * min/max; minimum/maximum (IEEE 754-2019) let every NaN win instead.
 */
enum nan_rule {
    /* MODE.IEEE off: every NaN loses, and the last of two NaNs is returned */
    NAN_LOSES,
    NAN_SNAN_WINS, /* MODE.IEEE on, up to gfx11: signalling NaN wins, quieted */
    NAN_NUM /* gfx12's min_num, max_num: NaN loses; two give a quiet one */
};

/*
 * -0 is less than +0. Comparing is done on the values, so that the denormal
 * mode holds; equal values differ in the sign of zero at most.
 */
#define FP_MINMAX(type, real, raw)                                             \
    static inline bool is_nan_##type(raw u)                                    \
    {                                                                          \
        return (raw)(u & (raw)~SIGN_##type) > INF_##type;                      \
    }                                                                          \
    static inline bool is_snan_##type(raw u)                                   \
    {                                                                          \
        return is_nan_##type(u) && !(u & QUIET_##type);                        \
    }                                                                          \
    static inline real nan_or_##type(raw a, raw b, raw r, enum nan_rule rule)  \
    {                                                                          \
        raw quiet = QUIET_##type;                                              \
        bool na = is_nan_##type(a), nb = is_nan_##type(b);                     \
                                                                               \
        r = nb ? a : r;                                                        \
        r = na ? b : r;                                                        \
        r = rule == NAN_NUM && na && nb ? (raw)(a | quiet) : r;                \
        r = rule == NAN_SNAN_WINS && nb && !(b & quiet) ? (raw)(b | quiet)     \
                                                        : r;                   \
        r = rule == NAN_SNAN_WINS && na && !(a & quiet) ? (raw)(a | quiet)     \
                                                        : r;                   \
        return bits_##type(r);                                                 \
    }                                                                          \
    static inline real max_##type(real x, real y, enum nan_rule rule)          \
    {                                                                          \
        raw a = type##_bits(x), b = type##_bits(y);                            \
        raw r = x > y ? a : b;                                                 \
                                                                               \
        r = EQUAL_##type(x, y) ? (raw)(a & b) : r;                             \
        return nan_or_##type(a, b, r, rule);                                   \
    }                                                                          \
    static inline real min_##type(real x, real y, enum nan_rule rule)          \
    {                                                                          \
        raw a = type##_bits(x), b = type##_bits(y);                            \
        raw r = x < y ? a : b;                                                 \
                                                                               \
        r = EQUAL_##type(x, y) ? (raw)(a | b) : r;                             \
        return nan_or_##type(a, b, r, rule);                                   \
    }                                                                          \
    static inline real med3_##type(real x, real y, real z, enum nan_rule rule) \
    {                                                                          \
        real lo = min_##type(x, y, rule), hi = max_##type(x, y, rule);         \
        raw least = type##_bits(min_##type(lo, z, rule));                      \
        raw mid = type##_bits(max_##type(lo, min_##type(hi, z, rule), rule));  \
        bool nan = is_nan_##type(type##_bits(x)) ||                            \
                   is_nan_##type(type##_bits(y)) ||                            \
                   is_nan_##type(type##_bits(z));                              \
                                                                               \
        return bits_##type(nan ? least : mid);                                 \
    }                                                                          \
    /* IEEE 754-2019: any NaN wins, a signalling one first. */                 \
    static inline real nan_wins_##type(raw a, raw b, raw r)                    \
    {                                                                          \
        raw quiet = QUIET_##type;                                              \
                                                                               \
        r = is_nan_##type(b) ? (raw)(b | quiet) : r;                           \
        r = is_nan_##type(a) && !is_snan_##type(b) ? (raw)(a | quiet) : r;     \
        r = is_snan_##type(a) ? (raw)(a | quiet) : r;                          \
        return bits_##type(r);                                                 \
    }                                                                          \
    static inline real maximum_##type(real x, real y)                          \
    {                                                                          \
        raw a = type##_bits(x), b = type##_bits(y);                            \
        raw r = x > y ? a : b;                                                 \
                                                                               \
        r = EQUAL_##type(x, y) ? (raw)(a & b) : r;                             \
        return nan_wins_##type(a, b, r);                                       \
    }                                                                          \
    static inline real minimum_##type(real x, real y)                          \
    {                                                                          \
        raw a = type##_bits(x), b = type##_bits(y);                            \
        raw r = x < y ? a : b;                                                 \
                                                                               \
        r = EQUAL_##type(x, y) ? (raw)(a | b) : r;                             \
        return nan_wins_##type(a, b, r);                                       \
    }
FP_MINMAX(f16, half_t, uint16_t)
FP_MINMAX(f32, float, uint32_t)
FP_MINMAX(f64, double, uint64_t)

/* ---- f16 ---- */

/*
 * f16 sums, products, quotients and roots are right when computed in f32 and
 * rounded once more (f32 has more than twice the digits and two). A fused
 * multiply-add is not: f64 holds the product, the sum is rounded to odd so
 * that the second rounding sees whether anything was lost. Halves go through
 * f32 to f64, which needs no call.
 */
static inline double add_round_to_odd(double a, double b)
{
    double s = a + b;
    double bb = s - a;
    double err = (a - (s - bb)) + (b - bb);
    uint64_t u = f64_bits(s);
    /* The sum was rounded away from the exact one: step back. Then the last
     * bit, set, stands for all that was lost. */
    bool inexact = err != 0 && s - s == 0;
    bool away = (err < 0) == (s > 0);

    u = inexact ? (away ? u - 1 : u) | 1 : u;
    return bits_f64(u);
}

/* From f64 to f16 without rounding twice. */
static inline half_t f16_of_f64(double x)
{
    float f = (float)x;
    uint32_t u = f32_bits(f);
    double back = (double)f;
    bool inexact = back != x && x == x && fabs(back) < 1e30 && back != 0;
    bool away = fabs(back) > fabs(x);

    u = inexact ? (away ? u - 1 : u) | 1 : u;
    return (half_t)bits_f32(u);
}

static inline half_t fma_f16(half_t a, half_t b, half_t c)
{
    return f16_of_f64(
        add_round_to_odd(f64_of_f16(a) * f64_of_f16(b), f64_of_f16(c)));
}

/* Rounds the product too. */
static inline half_t mad_f16(half_t a, half_t b, half_t c)
{
    half_t product = (half_t)((float)a * (float)b);

    return (half_t)((float)product + (float)c);
}

/* Rounds toward zero whatever the host's mode. */
static inline uint16_t f16_rtz(float x)
{
    uint32_t u = f32_bits(x), a = u & 0x7fffffff, sign = u >> 16 & 0x8000;
    uint32_t normal = (a >> 13) - (112u << 10);
    uint32_t shift = 126 - (a >> 23); /* for denormal results */
    uint32_t denormal =
        ((a & 0x7fffff) | 0x800000) >> (shift > 31 ? 31 : shift);
    uint32_t r = a >= 0x38800000 ? normal : denormal;

    r = a >= 0x47800000 ? 0x7bff : r; /* too large: the largest number */
    r = a == 0x7f800000 ? 0x7c00 : r;
    r = a > 0x7f800000 ? 0x7e00 | (a >> 13 & 0x3ff) : r;
    return (uint16_t)(sign | r);
}

/* ---- bf16 ---- */

static inline float f32_of_bf16(uint16_t b)
{
    return bits_f32((uint32_t)b << 16);
}

/* Nearest even; NaN stays NaN, quiet. */
static inline uint16_t bf16_of_f32(float x)
{
    uint32_t u = f32_bits(x);
    uint32_t r = (u + 0x7fff + (u >> 16 & 1)) >> 16;

    return (uint16_t)((u & 0x7fffffff) > 0x7f800000 ? u >> 16 | 0x40 : r);
}

/* Rounded to bf16 by the store: the sum is made odd where it lost bits. */
static inline float fma_bf16(float a, float b, float c)
{
    double s = add_round_to_odd((double)a * (double)b, (double)c);
    float f = (float)s;
    uint32_t u = f32_bits(f);
    bool inexact = (double)f != s && s == s && s - s == 0;
    bool away = fabs((double)f) > fabs(s);

    return bits_f32(inexact ? (away ? u - 1 : u) | 1 : u);
}

/* ---- to integers: truncated, saturated, NaN is 0 ---- */

static inline int32_t i32_of_f32(float x)
{
    float in = x > -2147483648.0f && x < 2147483648.0f ? x : 0.0f;

    return x >= 2147483648.0f    ? INT32_MAX
           : x <= -2147483648.0f ? INT32_MIN
                                 : (int32_t)in;
}

static inline uint32_t u32_of_f32(float x)
{
    /* Only positive numbers below 2^32 are converted, through 64 bits. */
    float in = x > 0.0f && x < 4294967296.0f ? x : 0.0f;

    return x >= 4294967296.0f ? UINT32_MAX : (uint32_t)(int64_t)in;
}

static inline int32_t i32_of_f64(double x)
{
    double in = x > -2147483649.0 && x < 2147483648.0 ? x : 0.0;

    return x >= 2147483648.0    ? INT32_MAX
           : x <= -2147483649.0 ? INT32_MIN
                                : (int32_t)in;
}

static inline uint32_t u32_of_f64(double x)
{
    double in = x > 0.0 && x < 4294967296.0 ? x : 0.0;

    return x >= 4294967296.0 ? UINT32_MAX : (uint32_t)(int64_t)in;
}

static inline int32_t clamp_i32(int64_t x, int32_t lo, int32_t hi)
{
    return x < lo ? lo : x > hi ? hi : (int32_t)x;
}

static inline int16_t i16_of_f32(float x)
{
    return (int16_t)clamp_i32(i32_of_f32(x), INT16_MIN, INT16_MAX);
}

static inline uint16_t u16_of_f32(float x)
{
    return (uint16_t)clamp_i32(i32_of_f32(x), 0, UINT16_MAX);
}

/* Normalised integers: -1 ... 1 (or 0 ... 1) over the whole range, rounded
 * from the exact product. */
static inline int16_t snorm16(float x)
{
    float in = x > -1.0f ? x < 1.0f ? x : 1.0f : x == x ? -1.0f : 0.0f;

    return (int16_t)__builtin_roundeven((double)in * 32767.0);
}

static inline uint16_t unorm16(float x)
{
    float in = x > 0.0f ? x < 1.0f ? x : 1.0f : 0.0f;

    return (uint16_t)__builtin_roundeven((double)in * 65535.0);
}

/* ---- parts of a number ---- */

float ldexp_rounded_f32(float x, int32_t e);
double ldexp_rounded_f64(double x, int32_t e);
half_t ldexp_rounded_f16(half_t x, int32_t e);

/* Mantissa in [0.5, 1) and exponent; 0, infinite and NaN give themselves and
 * 0. Denormals are not flushed. */
float frexp_mant_f32(float x);
double frexp_mant_f64(double x);
half_t frexp_mant_f16(half_t x);
int32_t frexp_exp_f32(float x);
int32_t frexp_exp_f64(double x);
int32_t frexp_exp_f16(half_t x);

/* x - floor(x), kept below 1. */
static inline float fract_f32(float x)
{
    float d = x - floorf(x);

    return d >= 1.0f ? 0x1.fffffep-1f : d;
}

static inline double fract_f64(double x)
{
    double d = x - floor(x);

    return d >= 1.0 ? 0x1.fffffffffffffp-1 : d;
}

static inline half_t fract_f16(half_t x)
{
    float f = (float)x;
    half_t d = (half_t)(f - floorf(f));

    return d >= (half_t)1 ? (half_t)0x1.ffcp-1f : d;
}

/* ---- division steps ---- */

float div_fixup_slow_f32(float q, float den, float num);
double div_fixup_slow_f64(double q, double den, double num);
half_t div_fixup_f16(half_t q, half_t den, half_t num);

float div_scale_slow_f32(float a, float den, float num, bool *vcc);
double div_scale_slow_f64(double a, double den, double num, bool *vcc);

/*
 * Divisions whose operands, reciprocal and quotient all are far from the ends
 * of the range, as nearly all are: nothing is scaled, and v_div_fixup gives the
 * quotient with its sign. Exponents of both from `low` to `high`, less than
 * `near` apart.
 */
#define DIV_EASY(type, real, shift, top, low, high, near)                      \
    static inline bool div_is_easy_##type(real den, real num)                  \
    {                                                                          \
        const int ed = (int)(type##_bits(den) >> (shift) & (top));             \
        const int en = (int)(type##_bits(num) >> (shift) & (top));             \
                                                                               \
        return ed >= (low) && ed <= (high) && en >= (low) && en <= (high) &&   \
               en - ed < (near) && ed - en < (near);                           \
    }                                                                          \
    static inline real div_fixup_##type(real q, real den, real num)            \
    {                                                                          \
        if (!div_is_easy_##type(den, num) || q != q)                           \
            return div_fixup_slow_##type(q, den, num);                         \
        return bits_##type(                                                    \
            (type##_bits(q) & ~SIGN_##type) |                                  \
            ((type##_bits(den) ^ type##_bits(num)) & SIGN_##type));            \
    }                                                                          \
    /* Scales `a`, which is den or num; *vcc says whether v_div_fmas has to    \
     * undo it. */                                                             \
    static inline real div_scale_##type(real a, real den, real num, bool *vcc) \
    {                                                                          \
        if (!div_is_easy_##type(den, num))                                     \
            return div_scale_slow_##type(a, den, num, vcc);                    \
        *vcc = false;                                                          \
        return a;                                                              \
    }
DIV_EASY(f32, float, 23, 0xff, 30, 222, 90)
DIV_EASY(f64, double, 52, 0x7ff, 60, 1980, 700)

/* v_div_fmas */
float div_fmas_f32(float a, float b, float c, bool unscale);
double div_fmas_f64(double a, double b, double c, bool unscale);

/* Part of 2/pi for argument reduction; `part` counts steps of 53 bits. */
double trig_preop(double x, uint32_t part);

/* A mask with the bit of the number's class, as v_cmp_class numbers classes. */
uint32_t fp_class_f16(half_t x);
uint32_t fp_class_f32(float x);
uint32_t fp_class_f64(double x);

#endif
