/*
 * wide.h - numbers of about 46 bits, as sums of two f32
 *
 * high is the sum rounded to f32, low the rest (Dekker, 'A Floating-Point
 * Technique for Extending the Available Precision', 1971). For cards whose f64
 * is slow. No infinities, no NaN, nothing near the ends of f32's range.
 */
#pragma once

#include "device.h"

struct wide {
    f32 high, low;
};

/* a + b, for |a| >= |b| or a = 0 */
DEV wide wide_sum(f32 a, f32 b)
{
    const f32 s = a + b;

    return {s, b - (s - a)};
}

DEV wide product(const wide &a, f32 b)
{
    const f32 p = rounded_product(a.high, b);

    return wide_sum(p, fused(a.low, b, fused(a.high, b, -p)));
}

DEV wide product(const wide &a, const wide &b)
{
    const f32 p = rounded_product(a.high, b.high);
    const f32 rest = fused(a.high, b.high, -p);

    return wide_sum(p, fused(a.low, b.high, fused(a.high, b.low, rest)));
}

DEV wide quotient(const wide &a, f32 b)
{
    const f32 q = a.high / b;

    return wide_sum(q, (fused(-q, b, a.high) + a.low) / b);
}

DEV wide wide_integer(i32 n)
{
    return wide_sum((f32)(n & ~0xffff), (f32)(n & 0xffff));
}

/* 2^x: e^y of a y below 1/46, to the power of 16 */
DEV wide wide_exp2(const wide &x)
{
    const wide ln2 = {0x1.62e43p-1f, -0x1.05c610p-29f};
    const f32 whole = rintf(x.high);
    const wide part = wide_sum(x.high - whole, x.low);
    wide y = product(part, ln2);

    y = {y.high * 0.0625f, y.low * 0.0625f};
    const wide square = product(y, y),
               sixth = {0x1.555556p-3f, -0x1.555556p-28f};
    const wide third = product(product(square, y), sixth);
    const f32 more = square.high * square.high *
                     (1.0f / 24 + y.high * (1.0f / 120 + y.high / 720));
    const wide two = wide_sum(y.high, 0.5f * square.high);
    const wide three = wide_sum(two.high, third.high);
    wide e = wide_sum(1, three.high);

    e = wide_sum(e.high, e.low + (three.low + two.low + y.low +
                                  0.5f * square.low + third.low + more));
    UNROLL
    for (u32 i = 0; i < 4; i++)
        e = product(e, e);
    return {ldexpf(e.high, (int)whole), ldexpf(e.low, (int)whole)};
}

/* log2 of b >= 1, by a step of Newton's from the card's own */
DEV wide wide_log2(f32 b)
{
    const f32 near = log2f(b);
    const wide e = wide_exp2({near, 0});
    const f32 off = (b - e.high - e.low) / b; /* relative, exact but rounded */
    const f32 more = off * (1 + 0.5f * off) * 0x1.715476p+0f;

    return wide_sum(near, more);
}
