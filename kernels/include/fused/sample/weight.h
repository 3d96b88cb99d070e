/*
 * weight.h - weights of tokens as integers, and a draw among them
 *
 * The first token's weight is 2^31. `halvings` are how often a token's is
 * halved. All is computed so that every target has the same bits.
 */
#pragma once

#include "random/philox.h"

/* a token that has its weight halved as often is never drawn */
constexpr u32 most_halvings = 32;

/* 2^(less - 1/2) for `less` from -1/2 to 1/2, to 2^-23, the same bits
 * everywhere */
DEV f32 power_of_half_less(f32 less)
{
    const f32 x = less * 0.69314718f; /* e^x / sqrt 2 */
    f32 y = 1.0f / 5040;

    y = fused(y, x, 1.0f / 720);
    y = fused(y, x, 1.0f / 120);
    y = fused(y, x, 1.0f / 24);
    y = fused(y, x, 1.0f / 6);
    y = fused(y, x, 0.5f);
    y = fused(y, x, 1.0f);
    y = fused(y, x, 1.0f);
    return rounded_product(y, 0.70710678f);
}

/* The whole part of a * b, if that is below 2^22. NVIDIA's conversions to
 * integers are slow, and adding 2^23 is not. */
DEV u32 whole_product(f32 a, f32 b)
{
#if KPK_NVIDIA
    return bits_as<u32>(__fmaf_rz(a, b, 0x1p23f)) - 0x4b000000u;
#else
    return (u32)fminf(a * b, 0x1p22f);
#endif
}

/*
 * 2^(31 - h) as an integer, for h below most_halvings; something for any other.
 * 2^-f of the fraction f is from 1/2 up and below 1 (tried for every f), so its
 * mantissa is shifted.
 */
DEV u32 weight_of(f32 h)
{
    const u32 whole = whole_product(h, 1.0f);
    const f32 fraction = h - (bits_as<f32>(0x4b000000u + whole) - 0x1p23f);
    const u32 bits = bits_as<u32>(power_of_half_less(0.5f - fraction));

    return __funnelshift_r((bits - 0x3e800000u) << 7, 0, whole & 31);
}

/* the least weight that is at least the part p of all, p < 1 */
DEV u64 part_of(f32 p, u64 all)
{
    const f64 part = rounded_product((f64)p, (f64)all);
    const u64 least = part > 0 ? (u64)part + ((f64)(u64)part < part) : 0;

    return min_of(max_of(least, (u64)1), all);
}

/* a number below `all`, each as likely, by 64 random bits */
DEV u64 drawn_below(u64 all, u64 seed, u64 offset)
{
    const Pack<u32, 4> words = philox(seed, offset, 0);

    return __umul64hi((u64)words[0] << 32 | words[1], all);
}
