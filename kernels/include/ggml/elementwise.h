/*
 * elementwise.h - functions of one element, of two, and of gates
 *
 * A result may overwrite an operand of the same type and strides. All is
 * computed in f32 and rounded once.
 */
#pragma once

#include "ggml/tensor.h"
#include "unary_math.h"

/* out = f(x), of one shape */
template <typename T, class Fn>
DEV void ggml_map(const Tensor &x, const Tensor &out, Fn f)
{
    each_place(out, [&](const Place &p) {
        *address_of<T>(out, p) = convert<T>(f(convert<f32>(value_at<T>(x, p))));
    });
}

/* out = f(a, b); a and out have one shape, b is repeated to fill it */
template <typename A, typename B, class Fn>
DEV void ggml_combine(const Tensor &a, const Tensor &b, const Tensor &out, Fn f)
{
    each_place(out, [&](const Place &p) {
        const f32 x = convert<f32>(value_at<A>(a, p));
        const f32 y = convert<f32>(value_at<B>(b, repeated(p, b.ne)));

        *address_of<A>(out, p) = convert<A>(f(x, y));
    });
}

/* 1 if x is above 0, else 0 */
DEV f32 step_of(f32 x)
{
    return x > 0 ? 1.0f : 0.0f;
}

/* x, not below `low` nor above `high`; NaN stays */
DEV f32 clamped(f32 x, f32 low, f32 high)
{
    return x < low ? low : x > high ? high : x;
}

DEV f32 hard_sigmoid_of(f32 x)
{
    return clamped((x + 3.0f) / 6.0f, 0.0f, 1.0f);
}

/* x hard_sigmoid_of(x), but not NaN at -inf */
DEV f32 hard_swish_of(f32 x)
{
    return x <= -3 ? 0.0f : x * hard_sigmoid_of(x);
}

/*
 * x / (1 + e^(-factor x)), -0 at -inf. If the sum rounds to 1 the result must
 * be exactly x: the product of x with a bf16 may lie halfway between two
 * numbers, where the least error rounds the wrong way.
 */
DEV f32 swish_of(f32 x, f32 factor)
{
    const f32 y = factor * x;

    return weighted(above(0x1.fffffep127f, x), y, silu_decay<f32>(y));
}

/* ln(1 + e^x) */
DEV f32 softplus_of(f32 x)
{
    return (x > 0 ? x : 0.0f) + log1pf(expf(x > 0 ? -x : x));
}

/* "Deriving Activation Functions Using Integration", arXiv 2411.13010 */
DEV f32 xielu_of(f32 x, f32 alpha_n, f32 alpha_p, f32 beta, f32 eps)
{
    const f32 curve =
        x > 0 ? alpha_p * x * x : (expm1f(x < eps ? x : eps) - x) * alpha_n;

    return curve + beta * x;
}

DEV f32 swiglu_clamp(f32 gate, f32 up, f32 limit)
{
    return silu_times<f32>(gate > limit ? limit : gate,
                           clamped(up, -limit, limit));
}

/* The gate of gpt-oss: both operands are limited, the gate from above alone. */
DEV f32 swiglu_oai(f32 gate, f32 up, f32 alpha, f32 limit)
{
    return swish_of(gate > limit ? limit : gate, alpha) *
           (clamped(up, -limit, limit) + 1.0f);
}
