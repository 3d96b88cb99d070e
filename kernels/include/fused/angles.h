/*
 * angles.h - cosine and sine of the angles of rotary embedding
 *
 * rope_positions.h has the formulas, which are YaRN's. Angles are computed in
 * f64, or in pairs of f32 on targets with slow f64, and reduced to one turn
 * before they are rounded to f32.
 */
#pragma once

#include "fused/wide.h"

#if KPK_TARGET_MAJOR >= 10 /* RDNA */
constexpr bool slow_f64 = true;

/* v, in a branch that few lanes take; keeps the compiler from computing both
 * branches in all lanes. */
template <typename T> DEV T rarely(T v)
{
    asm volatile("" : "+v"(v));
    return v;
}
#else
constexpr bool slow_f64 = false;

template <typename T> DEV T rarely(T v)
{
    return v;
}
#endif

#if KPK_NVIDIA

/* Angles in f64: faster than CUDA's functions, which handle special cases. On
 * CDNA the constants here would not fit into scalar registers. */

/* 2^x for x from -1000 to 1000, to 2^-51. Terms are added in pairs, fours and
 * eights: a short chain of dependent operations, as few threads hide its time.
 */
DEV f64 near_exp2(f64 x)
{
    const f64 moved = x + 0x1.8p52, f = x - (moved - 0x1.8p52);
    const f64 f2 = f * f, f4 = f2 * f2;
    const f64 a = fused(f, 0x1.62e42fefa3a19p-1, 1.0);
    const f64 b = fused(f, 0x1.c6b08d703ce49p-5, 0x1.ebfbdff82c598p-3);
    const f64 c = fused(f, 0x1.5d87fe9d7a584p-10, 0x1.3b2ab6fba1ddap-7);
    const f64 d = fused(f, 0x1.ffcb54062e698p-17, 0x1.430913096fd9fp-13);
    const f64 e = fused(f, 0x1.b675bca4eeebbp-24, 0x1.62bfd47773353p-20);
    const f64 g = fused(f2, 0x1.e6063f7217bc6p-28, e);
    const f64 v = fused(f4, fused(f4, g, fused(f2, d, c)), fused(f2, b, a));

    return bits_as<f64>(bits_as<u64>(v) + (bits_as<u64>(moved) << 52));
}

/* log2 of v > 0, to 2^-50: f32's log2 and a correction */
DEV f64 near_log2(f32 v)
{
    const f64 about = __log2f(v);
    const f64 d = fused((f64)v, near_exp2(-about), -1.0);

    return fused(d, 1.4426950408889634 * fused(d, fused(d, 1.0 / 3, -0.5), 1.0),
                 about);
}

/* 1 / n, to 2^-52 */
DEV f64 one_over(u32 n)
{
    f64 r = __fdividef(1.0f, (f32)n);

    r = fused(r, fused(-(f64)n, r, 1.0), r);
    return fused(r, fused(-(f64)n, r, 1.0), r);
}

/*
 * Sine and cosine of an angle in half turns, below 2^50, to 2^-24. Whole half
 * turns are dropped; if their number is odd, both signs change.
 */
DEV void turned(f64 halves, f32 &sine, f32 &cosine)
{
    const f64 moved = halves + 0x1.8p52;
    const f32 r = (f32)(halves - (moved - 0x1.8p52)), y = r * r;
    const u32 sign = (u32)bits_as<u64>(moved) << 31;
    f32 s = 0.07765591144561768f, c = -0.024395931512117386f;

    s = fused(s, y, -0.5982903838157654f);
    s = fused(s, y, 2.550077438354492f);
    s = fused(s, y, -5.167710304260254f);
    s = fused(s, y, 3.1415927410125732f) * r;
    c = fused(c, y, 0.23493707180023193f);
    c = fused(c, y, -1.335211992263794f);
    c = fused(c, y, 4.058709144592285f);
    c = fused(c, y, -4.934802055358887f);
    c = fused(c, y, 1.0f);
    sine = bits_as<f32>(bits_as<u32>(s) ^ sign);
    cosine = bits_as<f32>(bits_as<u32>(c) ^ sign);
}

#else

DEV void turned(f32 halves, f32 &sine, f32 &cosine)
{
    sincospif(halves, &sine, &cosine);
}

#endif

struct rope_args {
    const i32 *positions;
    const f32 *freq_factors;
    u32 n_dims;
    f32 base, scale, ext, attn, corr_low, corr_high;
};

struct rope_angles {
    f64 per_pair;       /* log2 of the angles' ratio from pair to pair */
    wide wide_per_pair; /* per_pair as `wide`, if plain() is true */
    f32 length;

    /*
     * Whether pairs of f32 suffice, on targets whose f64 has a sixteenth of
     * f32's rate. They have 45 bits, enough for 2^-24 turns at position 2^20.
     */
    static DEV_MEMBER bool plain(const rope_args &r)
    {
        return slow_f64 && r.ext == 0 && r.base >= 1 && r.base < 0x1p+60f;
    }
    DEV_MEMBER void begin(const rope_args &r)
    {
        if (plain(r))
            wide_per_pair = quotient(wide_log2(r.base), -0.5f * (f32)r.n_dims);
        else
#if KPK_NVIDIA
            per_pair = -2.0 * near_log2(r.base) * one_over(r.n_dims);
#else
            per_pair = -2.0 * log2((f64)rarely(r.base)) / (f64)r.n_dims;
#endif
        length = r.ext != 0 ? r.attn * (1.0f - 0.1f * logf(r.scale)) : r.attn;
    }
    /* 1 up to corr_low, 0 from corr_high on */
    static DEV_MEMBER f64 ramp(const rope_args &r, u32 j)
    {
        const f64 span = (f64)r.corr_high - (f64)r.corr_low;
        const f64 way =
            ((f64)j - (f64)r.corr_low) / (span > 0.001 ? span : 0.001);

        return way <= 0 ? 1 : way >= 1 ? 0 : 1 - way;
    }
    DEV_MEMBER void at(const rope_args &r, i32 position, u32 j, f32 &cosine,
                       f32 &sine) const
    {
        if (plain(r)) {
            const wide part = wide_part_of_turn(r, position, j);
            const f32 rest = part.high - rintf(part.high) + part.low;

            sincospif(2 * rest, &sine, &cosine);
        } else {
            turned(half_turns(r, position, rarely(j)), sine, cosine);
        }
        cosine *= length;
        sine *= length;
    }
    DEV_MEMBER wide wide_part_of_turn(const rope_args &r, i32 position,
                                      u32 j) const
    {
        const wide turn = {0x1.45f306p-3f, 0x1.b9391p-28f}; /* 1 / 2 pi */
        wide whole = product(product(wide_integer(position), turn),
                             wide_exp2(product(wide_per_pair, (f32)j)));

        if (r.freq_factors)
            whole = quotient(whole, r.freq_factors[j]);
        return product(whole, r.scale);
    }
#if KPK_NVIDIA
    DEV_MEMBER f64 half_turns(const rope_args &r, i32 position, u32 j) const
    {
        constexpr f64 half_turn = 0.31830988618379067; /* 1 / pi */
        f64 whole = half_turn * near_exp2((f64)j * per_pair);

        if (r.freq_factors)
            whole /= (f64)r.freq_factors[j];
        f64 each = whole * (f64)r.scale;

        if (r.ext != 0)
            each += (whole - each) * ((f64)r.ext * ramp(r, j));
        return each * (f64)position;
    }
#else
    /* between -1 and 1 */
    DEV_MEMBER f32 half_turns(const rope_args &r, i32 position, u32 j) const
    {
        constexpr f64 turn = 0.15915494309189535; /* 1 / 2 pi */
        f64 whole = (f64)position * turn * exp2((f64)j * per_pair);

        if (r.freq_factors)
            whole /= (f64)r.freq_factors[j];
        f64 turns = whole * (f64)r.scale;

        if (r.ext != 0)
            turns += (whole - turns) * ((f64)r.ext * ramp(r, j));
        return (f32)(2 * (turns - rint(turns)));
    }
#endif
};
