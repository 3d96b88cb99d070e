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

/* 2^-f for f from 0 to 1 */
DEV f32 power_of_half(f32 f)
{
    return power_of_half_less(0.5f - f);
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

#if KPK_NVIDIA
/* Conversions of numbers to integers are slow, adding 2^23 to them is not. */

/* 2^(31 - h) as an integer weight, for h from 0 to 32. power_of_half() gives a
 * number from 1/2 up and below 1 (tried for every f): the mantissa is
 * shifted. */
DEV u32 weight_halved(f32 h)
{
    const f32 moved = __fadd_rz(h, 0x1p23f);
    /* 1/2 less the fraction of h, exact but for one rounding */
    const f32 rest = (moved - (0x1p23f - 0.5f)) - h;
    const u32 bits = bits_as<u32>(power_of_half_less(rest));

    return __funnelshift_r((bits - 0x3e800000u) << 7, 0, bits_as<u32>(moved));
}

/* 2^(31 - w) for the whole part w of h, and the rest of h */
DEV f32 whole_halvings(f32 h, f32 &rest)
{
    const f32 moved = __fadd_rz(h, 0x1p23f);
    const u32 whole = bits_as<u32>(moved);

    rest = h - (moved - 0x1p23f);
    return bits_as<f32>((158 - whole) << 23);
}

/* a weight as weight_halved() gives it, of any h from 12 on; 0 for NaN */
DEV u32 light_weight(f32 h)
{
    f32 rest;
    const f32 scale = whole_halvings(fminf(h, most_halvings + 1.0f), rest);
    const f32 w = power_of_half(rest) * scale;

    return bits_as<u32>(__fadd_rz(w, 0x1p23f)) - 0x4b000000u;
}
#endif
