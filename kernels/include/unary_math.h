/*
 * unary_math.h - the functions of the unary kernels
 *
 * Each is a template over the element type T and works on calc_t<T>: double for
 * f64, float for the others. f16, bf16 and f8 are rounded once, after it. They
 * need at most 11 bits, so their variants use the hardware's own exp2 and
 * reciprocal, which are good to about 2^-22. So does the sigmoid of f32: at
 * most a quarter of the exponential's error reaches its result. All others are
 * full library functions.
 *
 * Limits hold at infinities (silu, gelu and gelu_erf give -0 at -inf) and NaN
 * gives NaN.
 */
#pragma once

#include "exp_f64.h"

template <typename T> struct is_f64 {
    static constexpr bool value = is_same<T, f64>::value;
};

/*
 * The hardware's own 2^x and 1 / x, each good to about 2^-22. What they flush
 * to zero is below 2^-126.
 */
DEV float near_exp2(float x)
{
#if KPK_NVIDIA
    float e;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(x));
    return e;
#else
    return __builtin_amdgcn_exp2f(x);
#endif
}

DEV float near_reciprocal(float x)
{
#if KPK_NVIDIA
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
#else
    return __builtin_amdgcn_rcpf(x);
#endif
}

/* 1 / (1 + e^-x) */
DEV float near_sigmoid(float x)
{
    return near_reciprocal(1.0f + near_exp2(x * -0x1.715476p+0f));
}

/* e^x to about 2^-17 at the ends of f32's range, subnormals kept */
DEV float near_exp(float x)
{
    return exp2f(x * 0x1.715476p+0f);
}

template <typename T> DEV calc_t<T> exp_of(calc_t<T> x)
{
    if constexpr (traits<T>::is_small)
        return near_exp(x);
    else if constexpr (is_f64<T>::value)
        return exp_f64(x);
    else
        return expf(x);
}

template <typename T> DEV calc_t<T> log_of(calc_t<T> x)
{
    if constexpr (is_f64<T>::value)
        return log(x);
    else
        return logf(x);
}

/*
 * sin x, off by 2.1 * 2^-24 at most. On AMD the library takes a part from -pi/4
 * to pi/4, works out sine and cosine and chooses: more than DRAM leaves time
 * for. This part is from -pi/2 to pi/2, of half turns taken away in three
 * pieces; the first two differences are exact below 2^17.
 */
DEV float sin_f32(float x)
{
    if (KPK_NVIDIA || !(fabsf(x) < 0x1p17f)) {
#if !KPK_NVIDIA
        asm volatile("" : "+v"(x)); /* or all wait for it */
#endif
        return sinf(x);
    }

    const float magic = 0x1.8p23f; /* rounds; the last bit is that of turns */
    const float turns = fused(fabsf(x), 0.318309886f, magic);
    const float whole = turns - magic;
    float part = fused(whole, -0x1.921fb4p+1f, fabsf(x));

    part = fused(whole, -0x1.4442dp-23f, part);
    part = fused(whole, -0x1.846988p-47f, part);

    const float square = part * part;
    float p = fused(square, 0x1.5dbbe2p-19f, -0x1.9f6fdcp-13f);

    p = fused(p, square, 0x1.110ed2p-7f);
    p = fused(p, square, -0x1.55554cp-3f);
    p = fused(part * square, p, part);

    const u32 sign = (bits_as<u32>(turns) << 31) ^ bits_as<u32>(x);

    return bits_as<float>(bits_as<u32>(p) ^ (sign & 0x80000000u));
}

template <typename T> DEV calc_t<T> sin_of(calc_t<T> x)
{
    if constexpr (is_f64<T>::value)
        return sin(x);
    else
        return sin_f32(x);
}

template <typename T> DEV calc_t<T> cos_of(calc_t<T> x)
{
    if constexpr (is_f64<T>::value)
        return cos(x);
    else
        return cosf(x);
}

template <typename T> DEV calc_t<T> tanh_of(calc_t<T> x)
{
    if constexpr (is_f64<T>::value)
        return tanh(x);
    else
        return tanhf(x);
}

template <typename T> DEV calc_t<T> erf_of(calc_t<T> x)
{
    if constexpr (is_f64<T>::value)
        return erf(x);
    else
        return erff(x);
}

template <typename T> DEV calc_t<T> sqrt_of(calc_t<T> x)
{
    if constexpr (is_f64<T>::value)
        return sqrt(x);
    else
        return sqrtf(x);
}

template <typename T> DEV calc_t<T> pow_of(calc_t<T> x, calc_t<T> e)
{
    if constexpr (is_f64<T>::value)
        return pow(x, e);
    else
        return powf(x, e);
}

template <typename T> DEV calc_t<T> ceil_of(calc_t<T> x)
{
    if constexpr (is_f64<T>::value)
        return ceil(x);
    else
        return ceilf(x);
}

template <typename T> DEV calc_t<T> floor_of(calc_t<T> x)
{
    if constexpr (is_f64<T>::value)
        return floor(x);
    else
        return floorf(x);
}

template <typename T> DEV calc_t<T> abs_of(calc_t<T> x)
{
    if constexpr (is_f64<T>::value)
        return fabs(x);
    else
        return fabsf(x);
}

/* halves away from zero */
template <typename T> DEV calc_t<T> round_of(calc_t<T> x)
{
    if constexpr (is_f64<T>::value)
        return round(x);
    else
        return roundf(x);
}

/* [x > 0] - [x < 0]; +0 for zeros and NaN */
template <typename T> DEV calc_t<T> sign_of(calc_t<T> x)
{
    return (calc_t<T>)((int)(x > 0) - (int)(x < 0));
}

/* max(x, 0), NaN for NaN */
template <typename T> DEV calc_t<T> relu_of(calc_t<T> x)
{
    return x <= 0 ? 0 : x;
}

/*
 * The standard normal distribution function of -x for x >= 0, to about 2^-22,
 * by Abramowitz and Stegun's formula 7.1.26 for erfc(x / sqrt 2) / 2.
 */
DEV float near_tail(float x)
{
    const float t = near_reciprocal(1.0f + 0.23164190f * x);
    const float p =
        t *
        (0.127414796f +
         t * (-0.142248368f +
              t * (0.7107068705f + t * (-0.7265760135f + t * 0.5307027145f))));

    return p * near_exp2(x * x * (-0.5f * 0x1.715476p+0f));
}

DEV float near_normcdf(float x)
{
    const float tail = near_tail(fabsf(x));

    return x < 0 ? tail : 1.0f - tail;
}

/*
 * x normcdf(x) = max(x, 0) - |x| normcdf(-|x|), which is -0 at -inf: beyond 100
 * the tail is 0.
 */
DEV float near_gelu_erf(float x)
{
    const float m = fminf(fabsf(x), 100.0f);

    return fmaf(-m, near_tail(m), x < 0 ? -0.0f : x);
}

/* The standard normal distribution function, erfc(-x / sqrt 2) / 2. */
template <typename T> DEV calc_t<T> normcdf_of(calc_t<T> x)
{
    if constexpr (is_f64<T>::value)
        return normcdf(x);
    else if constexpr (traits<T>::is_small)
        return near_normcdf(x);
    else
        return normcdff(x);
}

template <typename T> DEV calc_t<T> elu_of(calc_t<T> x, calc_t<T> alpha)
{
    if constexpr (is_f64<T>::value)
        return x > 0 ? x : alpha * expm1(x);
    else
        return x > 0 ? x : alpha * expm1f(x);
}

/* 1 / (1 + e^-x) */
template <typename T> DEV calc_t<T> sigmoid_of(calc_t<T> x)
{
    if constexpr (is_f64<T>::value)
        return 1 / (1 + exp(-x));
    else
        return near_sigmoid(x);
}

/* x times a weight that goes to 0 at -inf */
template <typename C> DEV C weighted(C x, C weight)
{
    return x < (C)-3e38 ? (C)-0.0 : x * weight;
}

/* x / (1 + e^-x) */
template <typename T> DEV calc_t<T> silu_of(calc_t<T> x)
{
    return weighted(x, sigmoid_of<T>(x));
}

/*
 * x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3), which is
 * x / (1 + e^-2u)
 */
template <typename T> DEV calc_t<T> gelu_of(calc_t<T> x)
{
    typedef calc_t<T> C;
    const C twice_u = x * ((C)1.5957691216057308 +
                           (C)(1.5957691216057308 * 0.044715) * (x * x));
    return weighted(x, sigmoid_of<T>(twice_u));
}

/* x normcdf(x) = x (1 + erf(x / sqrt 2)) / 2 */
template <typename T> DEV calc_t<T> gelu_erf_of(calc_t<T> x)
{
    typedef calc_t<T> C;
    if constexpr (traits<T>::is_small)
        return near_gelu_erf(x);
    else
        return weighted(x, (C)0.5 +
                               (C)0.5 * erf_of<T>(x * (C)0.70710678118654752));
}
