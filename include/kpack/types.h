/* types.h - types of kernels' arguments that C does not have
 *
 * Typed launchers (kpack/PACK/MODULE.h) are written in them. Each has the size
 * and the bits that the GPU's type has, and is a type of its own: a pointer to
 * kpk_bf16 does not pass for one to kpk_f16. A pointer to a host's own type
 * (_Float16, __half, float4 ...) is cast to one of these.
 */
#ifndef KPACK_TYPES_H
#define KPACK_TYPES_H

#include <stdint.h>
#include <string.h>

#ifndef __cplusplus
#include <stdbool.h>
#endif

/* See kpack.h, "Typed launches". */
#if defined(__GNUC__) && !defined(__cplusplus) && !defined(KPK_LAX_POINTERS)
#pragma GCC diagnostic error "-Wincompatible-pointer-types"
#pragma GCC diagnostic error "-Wint-conversion"
#ifdef __clang__
#pragma GCC diagnostic error "-Wincompatible-pointer-types-discards-qualifiers"
#else
#pragma GCC diagnostic error "-Wdiscarded-qualifiers"
#endif
#endif

/* IEEE binary16: 1 sign, 5 exponent, 10 fraction bits. */
typedef struct kpk_f16 {
    uint16_t bits;
} kpk_f16;

/* bfloat16: the upper half of an IEEE binary32. */
typedef struct kpk_bf16 {
    uint16_t bits;
} kpk_bf16;

/* OCP 8-bit floats: E4M3 (no infinity, NaN is 0x7f and 0xff) and E5M2. */
typedef struct kpk_f8_e4m3 {
    uint8_t bits;
} kpk_f8_e4m3;
typedef struct kpk_f8_e5m2 {
    uint8_t bits;
} kpk_f8_e5m2;

/* HIP's vectors: kpk_float4 and so on, with members x, y, z, w. */
#define KPK_I_VECTORS(name, type)                                              \
    typedef struct kpk_##name##1                                               \
    {                                                                          \
        type x;                                                                \
    }                                                                          \
    kpk_##name##1;                                                             \
    typedef struct kpk_##name##2                                               \
    {                                                                          \
        type x, y;                                                             \
    }                                                                          \
    kpk_##name##2;                                                             \
    typedef struct kpk_##name##3                                               \
    {                                                                          \
        type x, y, z;                                                          \
    }                                                                          \
    kpk_##name##3;                                                             \
    typedef struct kpk_##name##4                                               \
    {                                                                          \
        type x, y, z, w;                                                       \
    }                                                                          \
    kpk_##name##4
KPK_I_VECTORS(char, signed char);
KPK_I_VECTORS(uchar, uint8_t);
KPK_I_VECTORS(short, int16_t);
KPK_I_VECTORS(ushort, uint16_t);
KPK_I_VECTORS(int, int32_t);
KPK_I_VECTORS(uint, uint32_t);
KPK_I_VECTORS(long, int64_t);
KPK_I_VECTORS(ulong, uint64_t);
KPK_I_VECTORS(longlong, int64_t);
KPK_I_VECTORS(ulonglong, uint64_t);
KPK_I_VECTORS(float, float);
KPK_I_VECTORS(double, double);
#undef KPK_I_VECTORS

/*
 * kpk_to_f16(), kpk_to_bf16(), kpk_to_f8_e4m3() and kpk_to_f8_e5m2() round a
 * float to nearest, ties to even; kpk_from_...() are exact. A number too large
 * for the type becomes infinity, or in E4M3, which has no infinity, the largest
 * number (as the kernels' own conversions do); NaN stays NaN, with its sign.
 */
static inline uint32_t kpk_i_float_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static inline float kpk_i_bits_float(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

/*
 * A float's magnitude as a number of `man` fraction bits and exponent bias
 * `bias`: the bits less the sign. Normal numbers lose the fraction's low bits;
 * one below 2^(1 - bias) is a multiple of the format's smallest and shifts
 * further. Adding half of what is lost, less one if the result is even, carries
 * into the exponent where it must.
 */
static inline uint32_t kpk_i_round(uint32_t magnitude, unsigned man, int bias)
{
    const int exponent = (int)(magnitude >> 23) - 127 + bias;
    uint32_t value, shift = 23 - man;

    if (exponent > 0) {
        value = ((uint32_t)exponent << 23) | (magnitude & 0x7fffff);
    } else {
        shift += 1 + (uint32_t)-exponent;
        if (shift > 25)
            return 0;
        value = (magnitude & 0x7fffff) | 0x800000;
    }
    return (value + ((1u << (shift - 1)) - 1) + ((value >> shift) & 1)) >>
           shift;
}

/* The inverse, exact: sign apart, no special values. */
static inline float kpk_i_widen(uint32_t bits, unsigned man, int bias)
{
    const uint32_t exponent = bits >> man;
    const uint32_t fraction = bits & ((1u << man) - 1);
    float scale;

    if (exponent)
        return kpk_i_bits_float(((uint32_t)((int)exponent + 127 - bias) << 23) |
                                (fraction << (23 - man)));
    /* fraction * 2^(1 - bias - man): a float holds that without rounding */
    scale = kpk_i_bits_float((uint32_t)(127 + 1 - bias - (int)man) << 23);
    return (float)fraction * scale;
}

static inline kpk_f16 kpk_to_f16(float x)
{
    const uint32_t bits = kpk_i_float_bits(x), a = bits & 0x7fffffff;
    const uint32_t r = a > 0x7f800000    ? 0x7e00
                       : a >= 0x477ff000 ? 0x7c00 /* rounds beyond 65504 */
                                         : kpk_i_round(a, 10, 15);
    const kpk_f16 out = {(uint16_t)(r | (bits >> 16 & 0x8000))};

    return out;
}

static inline float kpk_from_f16(kpk_f16 x)
{
    const uint32_t a = x.bits & 0x7fff, sign = (uint32_t)(x.bits & 0x8000)
                                               << 16;
    const float f = a >= 0x7c00 ? kpk_i_bits_float(0x7f800000 | a << 13)
                                : kpk_i_widen(a, 10, 15);

    return kpk_i_bits_float(kpk_i_float_bits(f) | sign);
}

static inline kpk_bf16 kpk_to_bf16(float x)
{
    const uint32_t bits = kpk_i_float_bits(x);
    const bool nan = (bits & 0x7fffffff) > 0x7f800000;
    const uint32_t r =
        nan ? (bits >> 16) | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    const kpk_bf16 out = {(uint16_t)r};

    return out;
}

static inline float kpk_from_bf16(kpk_bf16 x)
{
    return kpk_i_bits_float((uint32_t)x.bits << 16);
}

static inline kpk_f8_e4m3 kpk_to_f8_e4m3(float x)
{
    const uint32_t bits = kpk_i_float_bits(x), a = bits & 0x7fffffff;
    const uint32_t r = a > 0x7f800000    ? 0x7f
                       : a >= 0x43e00000 ? 0x7e /* 448, the largest */
                                         : kpk_i_round(a, 3, 7);
    const kpk_f8_e4m3 out = {(uint8_t)(r | (bits >> 24 & 0x80))};

    return out;
}

static inline float kpk_from_f8_e4m3(kpk_f8_e4m3 x)
{
    const uint32_t a = x.bits & 0x7f, sign = (uint32_t)(x.bits & 0x80) << 24;
    const float f =
        a == 0x7f ? kpk_i_bits_float(0x7fc00000) : kpk_i_widen(a, 3, 7);

    return kpk_i_bits_float(kpk_i_float_bits(f) | sign);
}

static inline kpk_f8_e5m2 kpk_to_f8_e5m2(float x)
{
    const uint32_t bits = kpk_i_float_bits(x), a = bits & 0x7fffffff;
    const uint32_t r = a > 0x7f800000    ? 0x7e
                       : a >= 0x47700000 ? 0x7c /* rounds beyond 57344 */
                                         : kpk_i_round(a, 2, 15);
    const kpk_f8_e5m2 out = {(uint8_t)(r | (bits >> 24 & 0x80))};

    return out;
}

static inline float kpk_from_f8_e5m2(kpk_f8_e5m2 x)
{
    const kpk_f16 half = {(uint16_t)((uint32_t)x.bits << 8)};

    return kpk_from_f16(half);
}

#endif
