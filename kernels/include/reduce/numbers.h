/* numbers.h - limits, comparisons and functions of the types rows are kept in
 */
#pragma once

#include "device.h"

template <typename A> DEV A infinity()
{
    return (A)__builtin_inff();
}

template <typename A> DEV A largest()
{
    return sizeof(A) == 8 ? (A)1.7976931348623157e308 : (A)3.40282347e38f;
}

/* the least and the greatest value of T, in A */
template <typename T, typename A> DEV A lowest()
{
    if constexpr (traits<T>::is_float)
        return -infinity<A>();
    else
        return (T)-1 < (T)0 ? (A)((u64)1 << (8 * sizeof(T) - 1)) : (A)0;
}

template <typename T, typename A> DEV A highest()
{
    if constexpr (traits<T>::is_float)
        return infinity<A>();
    else
        return (A)(~(u64)0 >> (64 - 8 * sizeof(T) + ((T)-1 < (T)0)));
}

/* a NaN operand is passed over */
DEV f32 max_number(f32 a, f32 b)
{
    return fmaxf(a, b);
}
DEV f64 max_number(f64 a, f64 b)
{
    return fmax(a, b);
}
DEV f32 min_number(f32 a, f32 b)
{
    return fminf(a, b);
}
DEV f64 min_number(f64 a, f64 b)
{
    return fmin(a, b);
}

template <typename I> DEV I max_number(I a, I b)
{
    return max_of(a, b);
}
template <typename I> DEV I min_number(I a, I b)
{
    return min_of(a, b);
}

/* NaN if either is; one instruction on sm_80 and later */
#if KPK_NVIDIA
DEV f32 max_or_nan(f32 a, f32 b)
{
    f32 r;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
DEV f32 min_or_nan(f32 a, f32 b)
{
    f32 r;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
#endif
template <typename A> DEV A max_or_nan(A a, A b)
{
    return a > b || a != a ? a : b;
}
template <typename A> DEV A min_or_nan(A a, A b)
{
    return a < b || a != a ? a : b;
}

DEV f32 exponential(f32 v)
{
    return expf(v);
}
DEV f64 exponential(f64 v)
{
    return exp(v);
}

/* exponential(v) of v <= 0, precise enough for rounding to T. For f16 and bf16
 * one AMD instruction is enough: it errs in the last places of f32, and flushes
 * results below 2^-126, which do not change a sum of 1 or more. */
template <typename T, typename A> DEV A exponential_for(A v)
{
#if !KPK_NVIDIA
    constexpr f32 log2_e = 1.44269504088896341f;

    if constexpr (traits<T>::is_small)
        return __builtin_amdgcn_exp2f(v * log2_e);
#endif
    return exponential(v);
}

DEV f32 reciprocal_root(f32 v)
{
    return rsqrtf(v);
}
DEV f64 reciprocal_root(f64 v)
{
    return rsqrt(v);
}

/* v / n, on AMD to an ulp or two of f32 */
DEV f32 divided(f32 v, f32 n)
{
#if KPK_NVIDIA
    return v / n;
#else
    return rounded_product(v, __builtin_amdgcn_rcpf(n));
#endif
}
DEV f64 divided(f64 v, f64 n)
{
    return v / n;
}

/*
 * 1 / n of a count, rounded as by a division. A Newton step achieves this
 * unless the mantissa is all ones, which no count below 2^24 - 1 has.
 */
DEV f32 one_over_count(f32 n)
{
#if KPK_NVIDIA
    return 1 / n;
#else
    const f32 r = __builtin_amdgcn_rcpf(n);

    return fused(fused(-n, r, 1.0f), r, r);
#endif
}
DEV f64 one_over_count(f64 n)
{
    return 1 / n;
}

/* v / n of a count n, on AMD to an ulp: whatever v_rcp is off by, n's
 * reciprocal is the nearest */
DEV f32 mean_of(f32 v, f32 n)
{
#if KPK_NVIDIA
    return v / n;
#else
    return rounded_product(v, one_over_count(n));
#endif
}
DEV f64 mean_of(f64 v, f64 n)
{
    return v / n;
}

#if KPK_NVIDIA
/* chooses from each pair of f16 or bf16 numbers; NaN only if both are NaN */
#define ONE_OF_PAIRS(name, which)                                              \
    template <typename T> DEV u32 name(u32 a, u32 b)                           \
    {                                                                          \
        u32 v;                                                                 \
                                                                               \
        if constexpr (is_same<T, bf16>::value)                                 \
            asm(which ".bf16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));       \
        else                                                                   \
            asm(which ".f16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));        \
        return v;                                                              \
    }
ONE_OF_PAIRS(lesser_pair, "min")
ONE_OF_PAIRS(greater_pair, "max")
#undef ONE_OF_PAIRS
#endif
