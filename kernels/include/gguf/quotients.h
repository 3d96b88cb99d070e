/*
 * quotients.h - how Q8_1 divides: a block's scale and its quants
 *
 * For fused/q8_1.h and, on AMD, quantized/quantize.h; the bits are equal to
 * those of divisions. AMD has no division, and either compiler's code for one
 * takes ten instructions or more. Where 1 / b is rounded right and all numbers
 * on the way are normal, one correction of a times it rounds a / b right
 * (Markstein, 'Computation of Elementary Functions on the IBM RISC System/6000
 * Processor', theorem 7.2).
 */
#pragma once

#include "device.h"

/* a / b; inverse is 1 / b, rounded right */
DEV f32 quick_quotient(f32 a, f32 b, f32 inverse)
{
    const f32 first = rounded_product(a, inverse);

    return fused(fused(-first, b, a), inverse, first);
}

/* Below 127 * 2^-14 a block's scale would be a subnormal f16. */
constexpr f32 least_ordinary = 0x1.fcp-8f;

/*
 * A block's scale, of its greatest number. f16 rounds most scales by 2^-12 of
 * them at most, but subnormal ones to multiples of 2^-24: numbers are divided
 * by such a multiple then, the next larger one.
 */
DEV f32 scale_of_greatest(f32 most)
{
    if (!KPK_NVIDIA && most >= least_ordinary && most <= 0x1p96f)
        return quick_quotient(most, 127.0f, 0x1.020408p-7f);
    if (most < least_ordinary)
        return ceilf(most * 0x1p24f / 127.0f) * 0x1p-24f;
    return most / 127.0f;
}

/* Whether Newton's step rounds 1 / d correctly: it does unless the mantissa is
 * all ones. */
DEV bool has_quick_quotients(f32 d)
{
    const u32 mantissa = 0x7fffff;

    return d >= 0x1p-96f && d <= 0x1p96f && (~bits_as<u32>(d) & mantissa) != 0;
}

template <u32 V> DEV bool are_numbers(const f32 *v)
{
    f32 sum = 0;

    UNROLL
    for (u32 i = 0; i < V; i++)
        sum += v[i];
    return sum == sum;
}

/* q = roundf(v / d) for numbers up to 127 d, if has_quick_quotients(d) */
template <u32 V> DEV void quantize_quickly(const f32 *v, f32 d, i32 *q)
{
#if KPK_NVIDIA
    const f32 inverse = 1.0f / d;
#else
    const f32 near = __builtin_amdgcn_rcpf(d);
    const f32 inverse = fused(fused(-d, near, 1.0f), near, near);
#endif

    UNROLL
    for (u32 i = 0; i < V; i++) {
        const f32 quotient = quick_quotient(v[i], d, inverse);

        /* to the nearest integer, halves away from zero */
        q[i] = (i32)(quotient + copysignf(0x1.fffffep-2f, quotient));
    }
}
