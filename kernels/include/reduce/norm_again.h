/*
 * norm_again.h - norms of rows whose squares leave the range of f32, in f64
 *
 * Squares of f32 overflow from 1.8e19 on, and below 1e-15 with an eps of 0
 * they lose bits; bf16 has the same range. The sum of the squares tells, so
 * ordinary rows cost two comparisons. The others are read again, written for
 * size rather than speed. f16 has no such rows, and f64 no wider type.
 *
 * Lanes add up a row without barriers: rows of one block need not go the same
 * way.
 */
#pragma once

#include "reduce/row.h"

/* Whether v, the mean of a row's squares plus eps, was in range; not if NaN. */
template <typename T> DEV bool squares_in_range(calc_t<T> v)
{
    if constexpr (is_same<T, f32>::value || is_same<T, bf16>::value)
        return v >= 0x1p-100f && v <= largest<f32>();
    else
        return true;
}

/* y = (x - shift) * scale */
struct wide_terms {
    f64 shift, scale;

    DEV_MEMBER f32 operator()(f32 x) const
    {
        return (f32)(((f64)x - shift) * scale);
    }
};

DEV f64 join_wide(f64 v, u32 lanes)
{
    return lanes == group_size ? join_lanes(v, plus()) : v;
}

/*
 * The terms for n numbers, which at(column) gives as f32. `lanes`: a whole
 * group of neighbouring lanes that come here together; or 1, if each thread has
 * a whole row to itself. SHIFTS: about the mean, and finite, so that a constant
 * row gives 0.
 */
template <bool SHIFTS, class AT>
DEV wide_terms wide_terms_of(const AT &at, u32 n, u32 lanes, f64 eps)
{
    const u32 lane = lane_id() & (lanes - 1);
    f64 mean = 0, squares = 0;

    if (SHIFTS) {
        NO_UNROLL
        for (u32 c = lane; c < n; c += lanes)
            mean += (f64)at(c);
        mean = join_wide(mean, lanes) / (f64)n;
    }
    NO_UNROLL
    for (u32 c = lane; c < n; c += lanes) {
        const f64 d = (f64)at(c) - mean;

        squares = fused(d, d, squares);
    }
    const f64 g = reciprocal_root(join_wide(squares, lanes) / (f64)n + eps);

    return {mean, SHIFTS && g > largest<f64>() ? largest<f64>() : g};
}

/* Computes a whole row again by `size` threads; this is number `rank`. */
template <bool SHIFTS, typename T>
DEV void normalize_again(const T *src, T *dst, const T *alpha, const T *beta,
                         u32 n, f32 eps, u32 rank, u32 size, u32 lanes)
{
    const auto at = [src](u32 c) { return (f32)convert<calc_t<T>>(src[c]); };
    const wide_terms terms = wide_terms_of<SHIFTS>(at, n, lanes, (f64)eps);

    NO_UNROLL
    for (u32 c = rank; c < n; c += size) {
        f32 v = terms(at(c));

        if (alpha)
            v *= (f32)convert<calc_t<T>>(alpha[c]);
        if (beta)
            v += (f32)convert<calc_t<T>>(beta[c]);
        dst[c] = convert<T>(v);
    }
}
