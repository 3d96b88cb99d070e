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
