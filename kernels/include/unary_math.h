/*
 * unary_math.h - the functions of the unary kernels
 *
 * Each is a template over the element type T and works on calc_t<T>: double for
 * f64, float for the others. f16, bf16 and f8 are rounded once, after it. They
 * need at most 11 bits, so their variants use the hardware's own exp2 and
 * reciprocal, which are good to about 2^-22. So do sigmoid, silu and gelu of
 * f32. Every other function is the library's in full.
 *
 * Results that go to zero (sigmoid, silu, gelu, gelu_erf and normcdf of
 * negative numbers) are as near, counted in their own units in the last place,
 * down to the least number of the type.
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
 * The hardware's own 2^x and 1 / x, good to about 2^-22. Results below 2^-126
 * are flushed to zero.
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
 * sin x, with an error of at most 2.1 * 2^-24. AMD's library reduces x to -pi/4
 * .. pi/4, computes sine and cosine and selects one, which takes longer than
 * DRAM. This function reduces x to -pi/2 .. pi/2 by subtracting multiples of pi
 * in three pieces; the first two subtractions are exact below 2^17.
 */
DEV float sin_f32(float x)
{
    if (KPK_NVIDIA || !(fabsf(x) < 0x1p17f)) {
#if !KPK_NVIDIA
        asm volatile("" : "+v"(x)); /* keeps sinf() out of the other lanes */
#endif
        return sinf(x);
    }

    const float magic = 0x1.8p23f; /* rounds; its last bit is that of turns */
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

/* 2^-(high + low) of f32, e^-(high + low) of f64; low is small */
DEV float decay(float high, float low)
{
    const float e = near_exp2(-high);

    return fused(e * -0x1.62e43p-1f, low, e);
}
DEV double decay(double high, double low)
{
    const double e = exp(-high);

    return fused(-e, low, e);
}

/* |x|, at most `most`, and NaN for NaN */
template <typename T> DEV calc_t<T> size_up_to(calc_t<T> most, calc_t<T> x)
{
    const calc_t<T> size = abs_of<T>(x);

    return size > most ? most : size;
}

/* The larger of x and -most; without it infinity times 0 would give NaN. */
template <typename C> DEV C above(C most, C x)
{
    return x < -most ? -most : x;
}

/*
 * v times the standard normal distribution function of -x, for x from 0 to 16.
 * It is e^(-x^2 / 2) times a polynomial of 1 / (1 + c x), with a relative error
 * of 2^-17 for small floats and of 2^-25 for f32. The exponential is split into
 * two factors, because it may underflow although the product does not.
 */
template <typename T> DEV float tail_times(float v, float x)
{
    const float quarter = 0x1.715476p-2f; /* log2(e) / 4, rounded */
    const float square = rounded_product(x, x);
    const float high = rounded_product(square, quarter);
    float p, root;

    if constexpr (traits<T>::is_small) {
        const float t = near_reciprocal(fused(0.31f, x, 1.0f));

        p = fused(t, -0.07392920f, 0.18045050f);
        p = fused(t, p, 0.01574454f);
        p = fused(t, p, 0.13342987f);
        p = fused(t, p, 0.12044125f);
        p = fused(t, p, 0.12386070f) * t;
        root = near_exp2(-high);
    } else {
        const float more = fused(x, x, -square);
        const float low =
            fused(square, 0x1.4ae0cp-28f,
                  fused(more, quarter, fused(square, quarter, -high)));
        const float d = fused(0.26f, x, 1.0f), near = near_reciprocal(d);
        const float t = fused(near, fused(-d, near, 1.0f), near);

        p = fused(t, 0.0301756727f, -0.151229726f);
        p = fused(t, p, 0.248187866f);
        p = fused(t, p, -0.147166965f);
        p = fused(t, p, 0.158329421f);
        p = fused(t, p, 0.0521477045f);
        p = fused(t, p, 0.102741809f);
        p = fused(t, p, 0.103057571f);
        p = fused(t, p, 0.103756632f) * t;
        root = decay(high, low);
    }
    return v * p * root * root;
}

/* Whether tail_times() serves T: f32's on NVIDIA has the library's function. */
template <typename T>
constexpr bool has_tail = traits<T>::is_small ||
                          (!KPK_NVIDIA && is_same<T, f32>::value);

/* The standard normal distribution function, erfc(-x / sqrt 2) / 2. */
template <typename T> DEV calc_t<T> normcdf_of(calc_t<T> x)
{
    if constexpr (is_f64<T>::value)
        return normcdf(x);
    else if constexpr (has_tail<T>) {
        const float tail = tail_times<T>(1.0f, size_up_to<T>(16.0f, x));

        return x < 0 ? tail : 1.0f - tail;
    } else
        return normcdff(x);
}

template <typename T> DEV calc_t<T> elu_of(calc_t<T> x, calc_t<T> alpha)
{
    if constexpr (is_f64<T>::value)
        return x > 0 ? x : alpha * expm1(x);
    else
        return x > 0 ? x : alpha * expm1f(x);
}

/*
 * x / (1 + e^-y), for a y with the sign of x. Let h be e^(-|y| / 2). Then
 * 1 / (1 + e^-y) is 1 / (1 + h^2), times h^2 if y < 0. In this form nothing
 * cancels. The factors h are applied one by one, because their product may
 * underflow although the result does not. If h is 0, so is the result.
 */
template <typename C> DEV C weighted(C x, C y, C h)
{
    const C share = y < 0 ? h : 1;

    if constexpr (is_same<C, f64>::value)
        return x * share / fused(h, h, 1.0) * share;
    else
        return x * share * near_reciprocal(fused(h, h, 1.0f)) * share;
}

/* The same times u, in f32. The first factor, u or the weight, can neither
 * overflow nor make x so small as to lose bits. */
DEV f32 weighted_times(f32 x, f32 y, f32 h, f32 u)
{
    const f32 share = y < 0 ? h : 1, part = x * share;
    const f32 weight = near_reciprocal(fused(h, h, 1.0f));
    const bool is_small = fabsf(part) < 1;

    return part * (is_small ? u : weight) * (is_small ? weight : u) * share;
}

/* Whether 1 / (1 + e^-x), for every number x of T, is either 2^-126 or more, or
 * less than T's smallest number above 0. */
template <typename T>
constexpr bool has_few_exponents =
    is_same<T, f16>::value || is_same<T, f8>::value;

/* x times a weight of such a type, that goes to 0 at -inf. The choice comes
 * last: clang rounds a product to f16 by a sum with +0, which takes -0's sign.
 */
DEV f32 few_weighted(f32 x, f32 weight)
{
    return x < -3e38f ? -0.0f : x * weight;
}

/* e^(-|x| / 2), which is 0 at `most_silu` */
template <typename T>
constexpr calc_t<T> most_silu = is_f64<T>::value ? 1500 : 180;

template <typename T> DEV calc_t<T> silu_decay(calc_t<T> x)
{
    const calc_t<T> size = size_up_to<T>(most_silu<T>, x);

    if constexpr (is_f64<T>::value) {
        return exp(size * -0.5);
    } else {
        constexpr float half = 0x1.715476p-1f; /* log2(e) / 2, and the rest */
        const float high = size * half;

        if constexpr (traits<T>::is_small)
            return near_exp2(-high);
        else
            return decay(high,
                         fused(size, 0x1.4ae0cp-27f, fused(size, half, -high)));
    }
}

/* 1 / (1 + e^-x) */
template <typename T> DEV calc_t<T> sigmoid_of(calc_t<T> x)
{
    typedef calc_t<T> C;
    if constexpr (has_few_exponents<T>)
        return near_sigmoid(x);
    else
        return weighted<C>(1, x, silu_decay<T>(x));
}

/* x / (1 + e^-x) */
template <typename T> DEV calc_t<T> silu_of(calc_t<T> x)
{
    if constexpr (has_few_exponents<T>)
        return few_weighted(x, near_sigmoid(x));
    else
        return weighted(above(most_silu<T>, x), x, silu_decay<T>(x));
}

template <typename T> DEV f32 silu_times(f32 x, f32 u)
{
    if constexpr (has_few_exponents<T>)
        return silu_of<T>(x) * u;
    else
        return weighted_times(above(most_silu<T>, x), x, silu_decay<T>(x), u);
}

/*
 * The factors of gelu's exponent, sqrt(2 / pi) (|x| + 0.044715 |x|^3), for f32
 * times log2(e), and their rounding errors. `first` has few bits, so that the
 * sum with it has an exact rest.
 */
template <typename C> struct gelu_factors {
    static constexpr C first = 0x1.26aecp+0f, first_rest = 0x1.0de73ap-23f;
    static constexpr C third = 0x1.a5a7dp-5f, third_rest = -0x1.151aaep-30f;
};
template <> struct gelu_factors<f64> {
    static constexpr f64 first = 0x1.9884533d4368p-1;
    static constexpr f64 first_rest = -0x1.7b9781a61d7fap-48;
    static constexpr f64 third = 0x1.2444f2a4d8b4bp-5;
    static constexpr f64 third_rest = -0x1.6c843a29d1c7p-62;
};

/* e^-|u| of gelu, which is 0 at `most_gelu` */
template <typename T>
constexpr calc_t<T> most_gelu = is_f64<T>::value ? 30 : 20;

template <typename T> DEV calc_t<T> gelu_decay(calc_t<T> x)
{
    typedef calc_t<T> C;
    typedef gelu_factors<C> F;
    const C size = size_up_to<T>(most_gelu<T>, x);
    const C square = rounded_product(size, size);
    const C sum = fused(F::third, square, F::first);
    const C high = rounded_product(size, sum);

    if constexpr (traits<T>::is_small) {
        return near_exp2(-high);
    } else {
        const C more = fused(size, size, -square);
        const C rest =
            fused(F::third, square, F::first - sum) +
            fused(F::third, more, fused(F::third_rest, square, F::first_rest));

        return decay(high, fused(size, rest, fused(size, sum, -high)));
    }
}

/*
 * x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3), which is
 * x / (1 + e^-2u)
 */
template <typename T> DEV calc_t<T> gelu_of(calc_t<T> x)
{
    if constexpr (has_few_exponents<T>) {
        const f32 twice_u =
            x * (1.5957691216057308f +
                 (f32)(1.5957691216057308 * 0.044715) * (x * x));
        return few_weighted(x, near_sigmoid(twice_u));
    } else {
        return weighted(above(most_gelu<T>, x), x, gelu_decay<T>(x));
    }
}

template <typename T> DEV f32 gelu_times(f32 x, f32 u)
{
    if constexpr (has_few_exponents<T>)
        return gelu_of<T>(x) * u;
    else
        return weighted_times(above(most_gelu<T>, x), x, gelu_decay<T>(x), u);
}

/*
 * x normcdf(x) = x (1 + erf(x / sqrt 2)) / 2, which is also max(x, 0) -
 * |x| normcdf(-|x|). It goes to -0 at -inf, and is 0 before -40.
 */
template <typename T> DEV calc_t<T> gelu_erf_of(calc_t<T> x)
{
    typedef calc_t<T> C;
    if constexpr (has_tail<T>) {
        const float size = size_up_to<T>(16.0f, x);

        return (x < 0 ? -0.0f : x) - tail_times<T>(size, size);
    } else {
        return above(C(40), x) * normcdf_of<T>(x);
    }
}
