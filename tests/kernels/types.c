/* types.c - the element types of the kernels, in plain C */
#include "harness.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Sign, exponent and fraction of a float type with 2^-k spacing. */
struct format {
    const char *name;
    unsigned nbytes;
    bool is_float, is_signed;
    int mantissa; /* explicit fraction bits */
    int bias;
    int max_code; /* largest exponent field of finite numbers */
    bool has_inf; /* f8 E4M3FN has none: its top exponent holds numbers */
    kt_real max;  /* of finite numbers */
};

static const struct format formats[KT_NTYPES] = {
    /* clang-format off */
    /*           name    n  float  signed  m   bias  code   inf    max */
    [KT_U8]   = {"u8",   1, false, false,  0,  0,    0,     false, UINT8_MAX},
    [KT_I16]  = {"i16",  2, false, true,   0,  0,    0,     false, INT16_MAX},
    [KT_I32]  = {"i32",  4, false, true,   0,  0,    0,     false, INT32_MAX},
    [KT_U32]  = {"u32",  4, false, false,  0,  0,    0,     false, UINT32_MAX},
    [KT_I64]  = {"i64",  8, false, true,   0,  0,    0,     false, INT64_MAX},
    [KT_F8]   = {"f8",   1, true,  true,   3,  7,    15,    false, 448},
    [KT_BF16] = {"bf16", 2, true,  true,   7,  127,  254,   true,  0x1.fep127L},
    [KT_F16]  = {"f16",  2, true,  true,   10, 15,   30,    true,  65504},
    [KT_F32]  = {"f32",  4, true,  true,   23, 127,  254,   true,  FLT_MAX},
    [KT_F64]  = {"f64",  8, true,  true,   52, 1023, 2046,  true,  DBL_MAX},
    /* clang-format on */
};

/* 2^e of any exponent that a double has: ldexpl() takes a third of a test. */
static kt_real two_to(int e)
{
    const uint64_t bits =
        e < -1022 ? UINT64_C(1) << (e + 1074) : (uint64_t)(e + 1023) << 52;
    double d;

    memcpy(&d, &bits, sizeof(d));
    return d;
}

/* e of |v| = m * 2^e, 1 <= m < 2; what is too small for a double has one that
 * is, too. */
static int exponent_of(kt_real v)
{
#if LDBL_MANT_DIG == 64 /* x87: the exponent lies in bytes 8 and 9 */
    uint16_t top;

    memcpy(&top, (const char *)&v + 8, sizeof(top));
    return (top & 0x7fff) - 16383;
#else
    int e;

    (void)frexpl(v, &e);
    return v == 0 ? -16383 : e - 1;
#endif
}

const char *kt_name(enum kt_type type)
{
    return formats[type].name;
}

size_t kt_size(enum kt_type type)
{
    return formats[type].nbytes;
}

bool kt_is_float(enum kt_type type)
{
    return formats[type].is_float;
}

/* A memcpy() of a size that the compiler knows is one instruction. */
#define EACH_SIZE(X) X(1, uint8_t) X(2, uint16_t) X(4, uint32_t) X(8, uint64_t)

uint64_t kt_get_bits(enum kt_type type, const void *data, size_t i)
{
    switch (formats[type].nbytes) {
#define X(n, word)                                                             \
    case n: {                                                                  \
        word bits;                                                             \
        memcpy(&bits, (const char *)data + i * n, n);                          \
        return bits;                                                           \
    }
        EACH_SIZE(X)
#undef X
    }
    return 0;
}

void kt_put_bits(enum kt_type type, void *data, size_t i, uint64_t bits)
{
    switch (formats[type].nbytes) {
#define X(n, word)                                                             \
    case n: {                                                                  \
        const word cut = (word)bits;                                           \
        memcpy((char *)data + i * n, &cut, n);                                 \
        return;                                                                \
    }
        EACH_SIZE(X)
#undef X
    }
}

int64_t kt_get_int(enum kt_type type, const void *data, size_t i)
{
    const uint64_t bits = kt_get_bits(type, data, i);
    const unsigned shift = 64 - 8 * formats[type].nbytes;

    if (formats[type].is_float || !formats[type].is_signed)
        return (int64_t)bits;
    return (int64_t)(bits << shift) >> shift;
}

static kt_real decode(const struct format *f, uint64_t bits)
{
    const int nbits = (int)f->nbytes * 8;
    const uint64_t fraction = bits & ((UINT64_C(1) << f->mantissa) - 1);
    const int exponent =
        (int)((bits >> f->mantissa) &
              ((UINT64_C(1) << (nbits - 1 - f->mantissa)) - 1));
    const bool negative = (bits >> (nbits - 1)) & 1;
    kt_real v;

    if (f->has_inf && exponent > f->max_code)
        v = fraction ? (kt_real)NAN : (kt_real)INFINITY;
    else if (!f->has_inf && exponent == f->max_code && fraction == 7)
        v = (kt_real)NAN;
    else if (exponent == 0)
        v = (kt_real)fraction * two_to(1 - f->bias - f->mantissa);
    else
        v = (kt_real)(fraction | UINT64_C(1) << f->mantissa) *
            two_to(exponent - f->bias - f->mantissa);
    return negative ? -v : v;
}

/* The host's own types: it converts in one instruction. */
static kt_real decode_f32(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

static kt_real decode_f64(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

kt_real kt_get(enum kt_type type, const void *data, size_t i)
{
    const uint64_t bits = kt_get_bits(type, data, i);

    switch (type) {
    case KT_BF16:
        return decode_f32((uint32_t)bits << 16);
    case KT_F32:
        return decode_f32((uint32_t)bits);
    case KT_F64:
        return decode_f64(bits);
    case KT_F8:
    case KT_F16:
        return decode(&formats[type], bits);
    default:
        return (kt_real)kt_get_int(type, data, i);
    }
}

kt_real kt_max(enum kt_type type)
{
    return formats[type].max;
}

/* k of 2^k, the spacing of the type's numbers around v */
static int spacing(const struct format *f, kt_real v)
{
    const int highest = f->max_code - f->bias, lowest = 1 - f->bias;
    int e;

    if (isnan(v) || isinf(v))
        return highest - f->mantissa;
    e = exponent_of(v);
    return (e < lowest ? lowest : e > highest ? highest : e) - f->mantissa;
}

kt_real kt_ulp(enum kt_type type, kt_real v)
{
    const struct format *f = &formats[type];

    return f->is_float ? two_to(spacing(f, v)) : 1;
}

kt_real kt_eps(enum kt_type type)
{
    return kt_ulp(type, 1);
}

static uint64_t encode_float(enum kt_type type, kt_real v)
{
    const struct format *f = &formats[type];
    const int nbits = (int)f->nbytes * 8;
    const uint64_t sign = signbit(v) ? UINT64_C(1) << (nbits - 1) : 0;
    const uint64_t inf = (uint64_t)(f->max_code + 1) << f->mantissa;
    const uint64_t overflow = sign | (f->has_inf ? inf : 0x7e);
    const kt_real a = fabsl(v);
    uint64_t q;
    int k;

    if (isnan(v))
        return f->has_inf ? inf | UINT64_C(1) << (f->mantissa - 1) : 0x7f;
    if (a > 2 * f->max)
        return overflow;
    k = spacing(f, a);
    q = (uint64_t)llrintl(a * two_to(-k)); /* to nearest, ties to even */
    if ((kt_real)q * two_to(k) > f->max)
        return overflow;
    /* q has at most mantissa + 1 bits; a carry moves into the exponent */
    return sign |
           (((uint64_t)(k + f->mantissa + f->bias - 1) << f->mantissa) + q);
}

/* The host's own types round by the same rule, too. */
static uint64_t encode_f32(kt_real v)
{
    const float x = isnan(v) ? NAN : (float)v;
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static uint64_t encode_f64(kt_real v)
{
    const double x = isnan(v) ? (double)NAN : (double)v;
    uint64_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

uint64_t kt_encode(enum kt_type type, kt_real v)
{
    const struct format *f = &formats[type];
    kt_real low, high;

    if (type == KT_F32)
        return encode_f32(v);
    if (type == KT_F64)
        return encode_f64(v);
    if (f->is_float)
        return encode_float(type, v);
    high = kt_max(type);
    low = f->is_signed ? -high - 1 : 0;
    if (isnan(v))
        return 0;
    if (v >= high)
        v = high;
    if (v <= low)
        v = low;
    return f->is_signed ? (uint64_t)(int64_t)truncl(v) : (uint64_t)truncl(v);
}

void kt_put(enum kt_type type, void *data, size_t i, kt_real v)
{
    kt_put_bits(type, data, i, kt_encode(type, v));
}

kt_real kt_depth(size_t n, size_t threads)
{
    const size_t rounds = (n + threads - 1) / threads;
    kt_real p = (kt_real)rounds;

    for (size_t t = threads; t > 1; t = (t + 1) / 2)
        p += 1;
    return p;
}
