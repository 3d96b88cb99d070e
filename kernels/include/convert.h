/*
 * convert.h - the small floats, and conversions between all element types
 *
 * f16 (IEEE binary16), bf16 and f8 (OCP E4M3FN: bias 7, largest 448, no
 * infinity, NaN is 0x7f and 0xff) are plain bits that read as float: an
 * expression over them is evaluated in f32. Going back is always spelled out,
 * `convert<T>(v)`, and rounds once, to nearest even, from any source type:
 *
 *   to f16, bf16     overflow gives infinity
 *   to f8            |v| > 448 and infinities give +-448, NaN gives 0x7f
 *   to integers      from floats: truncated, saturated, NaN gives 0;
 *                    from integers: low bits, as C converts
 *   f8 on hardware   AMD's gfx942 has another 8-bit format (FNUZ), so AMD
 *                    targets compute f8 with integers; sm_90's is E4M3FN
 *
 * One rounding from f64 and from wide integers to 8 and 16 bits goes through an
 * f32 that is rounded to odd: the bits cut off leave a one in the last place,
 * so that the second rounding sees on which side of a tie the value was.
 * Rounding twice is then exact, because f32 has two bits more than the target.
 */
#pragma once

#include "base.h"

struct f16 {
    u16 bits;
    DEV_MEMBER operator float() const;
};
struct bf16 {
    u16 bits;
    DEV_MEMBER operator float() const;
};
struct f8 {
    u8 bits;
    DEV_MEMBER operator float() const;
};
typedef float f32;
typedef double f64;

/*
 * Properties of an element type for the compiler.
 *   calc       the type that arithmetic on T is done in
 *   is_float   floating point
 *   is_small   f16, bf16 or f8
 */
template <typename T> struct traits {
    typedef T calc;
    static constexpr bool is_float = false;
    static constexpr bool is_small = false;
};
template <> struct traits<f32> {
    typedef f32 calc;
    static constexpr bool is_float = true;
    static constexpr bool is_small = false;
};
template <> struct traits<f64> {
    typedef f64 calc;
    static constexpr bool is_float = true;
    static constexpr bool is_small = false;
};
struct small_float_traits {
    typedef f32 calc;
    static constexpr bool is_float = true;
    static constexpr bool is_small = true;
};
template <> struct traits<f16> : small_float_traits {
};
template <> struct traits<bf16> : small_float_traits {
};
template <> struct traits<f8> : small_float_traits {
};
template <typename T> using calc_t = typename traits<T>::calc;

/* ---- small floats to f32: exact ----------------------------------------- */

#if KPK_NVIDIA

DEV_MEMBER f16::operator float() const
{
    return __half2float(__ushort_as_half(bits));
}

DEV_MEMBER f8::operator float() const
{
    const __half_raw h = __nv_cvt_fp8_to_halfraw(bits, __NV_E4M3);
    return __half2float(__half(h));
}

#else

DEV_MEMBER f16::operator float() const
{
    return (float)bits_as<_Float16>(bits);
}

/*
 * Exponent and mantissa moved to f32's places make the value over 2^120, for
 * subnormals too: a multiplication puts the bias right.
 */
DEV_MEMBER f8::operator float() const
{
    const u32 magnitude = bits & 0x7fu;
    const float scaled = bits_as<float>(magnitude << 20) * 0x1p120f;
    const u32 v = magnitude == 0x7f ? 0x7fc00000u : bits_as<u32>(scaled);
    return bits_as<float>(v | (bits & 0x80u) << 24);
}

#endif

DEV_MEMBER bf16::operator float() const
{
    return bits_as<float>((u32)bits << 16);
}

/* ---- f32 to small floats: one rounding ----------------------------------- */

template <typename T> struct narrow;

#if KPK_NVIDIA

template <> struct narrow<f16> {
    DEV_MEMBER static f16 from(float v)
    {
        return f16{__half_as_ushort(__float2half_rn(v))};
    }
};
template <> struct narrow<bf16> {
    DEV_MEMBER static bf16 from(float v)
    {
        return bf16{__bfloat16_as_ushort(__float2bfloat16_rn(v))};
    }
};
template <> struct narrow<f8> {
    DEV_MEMBER static f8 from(float v)
    {
        return f8{__nv_cvt_float_to_fp8(v, __NV_SATFINITE, __NV_E4M3)};
    }
};

#else

template <> struct narrow<f16> {
    DEV_MEMBER static f16 from(float v)
    {
        return f16{bits_as<u16>((_Float16)v)};
    }
};
/* clang's own: the instruction on gfx950 and later, integers elsewhere */
template <> struct narrow<bf16> {
    DEV_MEMBER static bf16 from(float v)
    {
        return bf16{bits_as<u16>((__bf16)v)};
    }
};
/*
 * Normal results: add half of the last place (less one, plus the last bit) to
 * f32's bits and shift. Subnormal ones: adding 2^14 leaves the multiple of
 * 2^-9 in the low bits, rounded by the adder.
 */
template <> struct narrow<f8> {
    DEV_MEMBER static f8 from(float v)
    {
        const u32 whole = bits_as<u32>(v) & 0x7fffffffu;
        const bool nan = whole > 0x7f800000u;
        const u32 sign = nan ? 0u : bits_as<u32>(v) >> 24 & 0x80u;
        /* code 0x7f would have the value 480 */
        const u32 a = nan ? 0x43f00000u : min_of(whole, 0x43e00000u);
        const u32 normal =
            ((a + 0x7ffffu + (a >> 20 & 1u)) >> 20) - (120u << 3);
        const u32 tiny =
            bits_as<u32>(bits_as<float>(a) + 0x1p14f) - 0x46800000u;
        return f8{(u8)((a < 0x3c800000u ? tiny : normal) | sign)}; /* 2^-6 */
    }
};

#endif

/* ---- anything to f32, with the sticky bit in the last place ---- */

DEV float odd_f32(float v)
{
    return v;
}

DEV float odd_f32(double v)
{
    const float f = (float)v;
    if ((double)f == v || v != v)
        return f;
    const u32 b = bits_as<u32>(f);
    const bool away = __builtin_fabs((double)f) > __builtin_fabs(v);
    return bits_as<float>((away ? b - 1 : b) | 1u);
}

DEV float odd_f32(u32 v)
{
    const u32 dropped = v & 0xffu;
    return v >> 24 == 0 ? (float)v : (float)(v >> 8 | (dropped != 0)) * 0x1p8f;
}

DEV float odd_f32(u64 v)
{
    if (v >> 32 == 0)
        return odd_f32((u32)v);
    /* Drop 16 bits at a time until the rest fits 32 bits. At least 17 bits
     * remain; the last one is set if a dropped bit was. */
    u64 m = v >> 16 | ((v & 0xffffu) != 0);
    float scale = 0x1p16f;
    if (m >> 32 != 0) {
        m = m >> 16 | ((m & 0xffffu) != 0);
        scale = 0x1p32f;
    }
    return odd_f32((u32)m) * scale;
}

DEV float odd_f32(i32 v)
{
    const float m = odd_f32(v < 0 ? 0u - (u32)v : (u32)v);
    return v < 0 ? -m : m;
}

DEV float odd_f32(i64 v)
{
    const float m = odd_f32(v < 0 ? 0ull - (u64)v : (u64)v);
    return v < 0 ? -m : m;
}

/* ---- floats to integers: truncated, saturated, NaN to 0 ---- */

/*
 * Clamped before the conversion: out of range it would be undefined. `top` is
 * one more than the largest integer and exact in every F that comes here.
 */
template <typename I> DEV constexpr bool is_signed_int()
{
    return (I)-1 < (I)0;
}

template <typename I, typename F> DEV I saturate_int(F v)
{
    constexpr int nbits = 8 * (int)sizeof(I) - (is_signed_int<I>() ? 1 : 0);
    constexpr u64 last = (~0ull) >> (64 - nbits);
    constexpr F top = (F)(1ull << (nbits - 1)) * (F)2;
    constexpr F bottom = is_signed_int<I>() ? -top : (F)0;
    const bool inside = v > bottom && v < top;
    const I kept = (I)(inside ? v : (F)0);
    if (v >= top)
        return (I)last;
    return v <= bottom ? (I)(is_signed_int<I>() ? ~last : 0) : kept;
}

/* ---- convert<To>(from) ---- */

template <typename To, typename From> DEV To convert(From v)
{
    if constexpr (is_same<To, From>::value)
        return v;
    else if constexpr (traits<From>::is_small)
        return convert<To>((float)v); /* exact */
    else if constexpr (traits<To>::is_small) {
        if constexpr (!traits<From>::is_float && sizeof(From) < 4)
            return narrow<To>::from((float)v);
        else
            return narrow<To>::from(odd_f32(v));
    } else if constexpr (traits<From>::is_float && !traits<To>::is_float)
        return saturate_int<To>(v);
    else
        return (To)v;
}

/* ---- a + b, a - b and a * b, rounded once ---- */

template <typename T> DEV T plus_of(T a, T b)
{
    const calc_t<T> x = a, y = b;
    return convert<T>((calc_t<T>)(x + y));
}

template <typename T> DEV T minus_of(T a, T b)
{
    const calc_t<T> x = a, y = b;
    return convert<T>((calc_t<T>)(x - y));
}

template <typename T> DEV T times_of(T a, T b)
{
    const calc_t<T> x = a, y = b;
    return convert<T>((calc_t<T>)(x * y));
}

/* Gives the same bits by one instruction instead of four. */
#define NATIVE_ARITHMETIC(T, name, instruction)                                \
    DEV T name(T a, T b)                                                       \
    {                                                                          \
        T v;                                                                   \
        asm(instruction " %0, %1, %2;"                                         \
            : "=h"(v.bits)                                                     \
            : "h"(a.bits), "h"(b.bits));                                       \
        return v;                                                              \
    }
#if KPK_NVIDIA
NATIVE_ARITHMETIC(f16, plus_of, "add.rn.f16")
NATIVE_ARITHMETIC(f16, minus_of, "sub.rn.f16")
NATIVE_ARITHMETIC(f16, times_of, "mul.rn.f16")
#if KPK_SM >= 90
NATIVE_ARITHMETIC(bf16, plus_of, "add.rn.bf16")
NATIVE_ARITHMETIC(bf16, minus_of, "sub.rn.bf16")
NATIVE_ARITHMETIC(bf16, times_of, "mul.rn.bf16")
#endif
#endif
