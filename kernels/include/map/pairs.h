/*
 * pairs.h - functions that map.h applies to two small floats at once, on CDNA
 *
 * CDNA 2 and later multiply and add two f32 in an instruction, if the source
 * is written in pairs. A function for pairs has two() beside its operator(): it
 * gives the unrounded results of a pair of each operand. small_in_twos<T>()
 * marks the function, if T is a small float.
 */
#pragma once

#include "known.h"
#include "map/apply.h"
#include "unary_math.h"

#if KPK_TARGET_PK32
#define KPK_PACKED_F32 1
#else
#define KPK_PACKED_F32 0
#endif

template <typename E> struct in_twos : E {
};
template <typename T, typename E> DEV auto small_in_twos(E f)
{
    if constexpr (KPK_PACKED_F32 && traits<T>::is_small)
        return in_twos<E>{f};
    else
        return f;
}

#if KPK_PACKED_F32

typedef f32 f32x2 __attribute__((ext_vector_type(2)));

template <typename T, u32 n> DEV f32x2 two_of(const Pack<T, n> &p, u32 e)
{
    return f32x2{(f32)p[e], (f32)p[e + 1]};
}

/* As apply_all() of apply.h; map.h prefers this function by the type of f. */
template <typename R, u32 n, u32 nops, typename E, typename A, typename B,
          typename C>
DEV Pack<R, n> apply_all(in_twos<E> f, const Pack<A, n> &a, const Pack<B, n> &b,
                         const Pack<C, n> &c)
{
    static_assert(nops < 3, "one operand or two");
    if constexpr (n % 2 != 0) {
        return apply_all<R, n, nops>(static_cast<E>(f), a, b, c);
    } else {
        Pack<R, n> r;

        UNROLL
        for (u32 e = 0; e < n; e += 2) {
            f32x2 v;

            if constexpr (nops == 1)
                v = f.two(two_of(a, e));
            else
                v = f.two(two_of(a, e), two_of(b, e));
            r[e] = convert_known<R>(v[0]);
            r[e + 1] = convert_known<R>(v[1]);
        }
        return r;
    }
}

/* max(x, -3e38). clang's max has a second instruction, for signalling NaNs. */
DEV f32 finite_below(f32 x)
{
    f32 r;

    asm("v_max_f32 %0, %1, %2" : "=v"(r) : "s"(-3e38f), "v"(x));
    return r;
}

/* x times this number is y of two_weighted() for e^-x. */
template <typename T>
constexpr f32 minus_log2_e =
    has_few_exponents<T> ? -0x1.715476p+0f : -0x1.715476p-1f;

/* u x / (1 + 2^y) for f16 and f8, u x / (1 + 2^(2 y)) for other types, in the
 * form of weighted() in unary_math.h. x and y differ in sign. */
template <typename T> DEV f32x2 two_weighted(f32x2 x, f32x2 y, f32x2 u)
{
    if constexpr (has_few_exponents<T>) {
        const f32x2 d = f32x2{near_exp2(y[0]), near_exp2(y[1])} + 1.0f;

        return x * f32x2{near_reciprocal(d[0]), near_reciprocal(d[1])} * u;
    } else {
        const f32x2 h = {near_exp2(-fabsf(y[0])), near_exp2(-fabsf(y[1]))};
        const f32x2 share = {y[0] > 0 ? h[0] : 1, y[1] > 0 ? h[1] : 1};
        const f32x2 d = h * h + 1.0f;

        return x * share * f32x2{near_reciprocal(d[0]), near_reciprocal(d[1])} *
               u * share;
    }
}

/* -infinity times 0 would be a NaN. A NaN still gives NaN, through its
 * weight. */
DEV f32x2 finite(f32x2 x)
{
    return f32x2{finite_below(x[0]), finite_below(x[1])};
}

constexpr f32x2 two_ones = {1, 1};

template <typename T> DEV f32x2 sigmoid_of(f32x2 x)
{
    return two_weighted<T>(two_ones, x * minus_log2_e<T>, two_ones);
}

template <typename T> DEV f32x2 silu_times(f32x2 x, f32x2 u)
{
    return two_weighted<T>(finite(x), x * minus_log2_e<T>, u);
}

template <typename T> DEV f32x2 silu_of(f32x2 x)
{
    return silu_times<T>(x, two_ones);
}

template <typename T> DEV f32x2 gelu_times(f32x2 x, f32x2 u)
{
    constexpr f32 c = minus_log2_e<T> * 1.5957691216057308f;

    return two_weighted<T>(finite(x), x * (c + c * 0.044715f * (x * x)), u);
}

template <typename T> DEV f32x2 gelu_of(f32x2 x)
{
    return gelu_times<T>(x, two_ones);
}

#endif
