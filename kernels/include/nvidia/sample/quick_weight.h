/*
 * quick_weight.h - weights of fused/sample/weight.h, in fewer instructions
 *
 * Conversions of numbers to integers are slow, adding 2^23 to them is not.
 */
#pragma once

#include "fused/sample/weight.h"

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
