/*
 * numbers.h - uniform and normal numbers from Philox's words
 *
 * out           n of T
 * seed          Philox's key
 * offset        number of the sequence's element that out[0] is; offset + n is
 *               below 2^64
 * low, high     uniform: from low up to, and without, high; low < high
 * mean, std     normal
 *
 * Element e is word e % 4 of Philox's block with counter e / 4, so any grid and
 * any part of a sequence gives the same numbers. f64 takes 32 bits more from
 * the same word of the block whose counter has 1 in its upper half. Uniform
 * numbers of f16 and bf16, which hold fewer bits, are half words, the lower
 * half of a word first: number e % 8 of the block with counter e / 8.
 *
 *   uniform  u = the upper 24 bits of the word (f64: 53; half words: 16) as a
 *            fraction, and then u * high + (low - u * low), fused, in f32 for
 *            the small types, and rounded once. What rounding takes to high or
 *            beyond becomes the number below it. The same bits on every target.
 *   normal   words in pairs (a, b), by Box and Muller's transform: r = sqrt(-2
 *            ln u), u = (a + 1/2) / 2^32 with a and u rounded to f32 (f64: 53
 *            bits, from 2^-53 to 1), and r cos(2 pi b), r sin(2 pi b), b being
 *            the upper 24 bits (f64: 53) as a fraction. Then z * std + mean,
 *            fused, rounded once. Targets may differ in the last places of z.
 *
 * Any 1-D grid and block.
 */
#pragma once

#include "random/philox.h"
#include "reduce/numbers.h"

/* 64 bits of which the first 32 are those of smaller types */
DEV u64 wide_word(const Pack<u32, 4> &words, const Pack<u32, 4> &more, u32 i)
{
    return (u64)words[i] << 32 | more[i];
}

/* the greatest number below v */
template <typename T> DEV T number_below(T v)
{
    using Bits = typename Word<sizeof(T) == 8 ? 4 : sizeof(T)>::type;

    if constexpr (sizeof(T) == 8) {
        const u64 bits = bits_as<u64>(v);

        return bits_as<T>(v == 0       ? (u64)1 << 63 | 1
                          : bits >> 63 ? bits + 1
                                       : bits - 1);
    } else {
        constexpr u32 sign = 8 * sizeof(T) - 1;
        const Bits bits = bits_as<Bits>(v);

        return bits_as<T>((Bits)((float)v == 0  ? 1u << sign | 1u
                                 : bits >> sign ? bits + 1u
                                                : bits - 1u));
    }
}

/* ---- uniform ---- */

/* the fractions u of a block; those of half words at most `most` / 2^16 */
template <typename T> struct fractions {
    using A = calc_t<T>;
    static constexpr u32 per = sizeof(T) == 2 ? 8 : 4;
    A of[per];

    DEV_MEMBER fractions(u64 seed, u64 block, u32 most = 0xffff)
    {
        const Pack<u32, 4> words = philox(seed, block, 0);

        if constexpr (sizeof(T) == 8) {
            const Pack<u32, 4> more = philox(seed, block, 1);

            UNROLL
            for (u32 i = 0; i < per; i++)
                of[i] = (A)(wide_word(words, more, i) >> 11) * (A)0x1p-53;
        } else if constexpr (sizeof(T) == 4) {
            UNROLL
            for (u32 i = 0; i < per; i++)
                of[i] = (A)(words[i] >> 8) * (A)0x1p-24;
        } else {
            UNROLL
            for (u32 i = 0; i < per; i++) {
                const u32 w = words[i / 2];

                of[i] =
                    (A)min_of(i % 2 ? w >> 16 : w & 0xffffu, most) * (A)0x1p-16;
            }
        }
    }
};

/* from 0 to 1: u as it is, but for what the small types would round to 1 */
template <typename T> struct unit_numbers {
    static constexpr u32 per = fractions<T>::per;

    DEV_MEMBER Pack<T, per> of(u64 seed, u64 block) const
    {
        constexpr u32 below = is_same<T, bf16>::value ? 0xff00 : 0xffe0;
        const fractions<T> u(seed, block, below);
        Pack<T, per> v;

        UNROLL
        for (u32 i = 0; i < per; i++)
            v[i] = convert<T>(u.of[i]);
        return v;
    }
};

template <typename T> struct uniform_numbers {
    using A = calc_t<T>;
    static constexpr u32 per = fractions<T>::per;
    A first, last, least, most;

    DEV_MEMBER uniform_numbers(T low, T high)
        : first(convert<A>(low)), last(convert<A>(high)),
          least(first < last ? first : -infinity<A>()),
          most(first < last ? convert<A>(number_below(high)) : infinity<A>())
    {
    }
    /* limited before it is rounded, as both limits are numbers of T */
    DEV_MEMBER T scaled(A u) const
    {
        const A v = fused(u, last, fused(-u, first, first));

        /* a NaN, of limits that are none, stays one; nvcc makes branches of
         * comparisons */
#if KPK_NVIDIA
        return convert<T>(max_or_nan(min_or_nan(v, most), least));
#else
        return convert<T>(v > most ? most : v < least ? least : v);
#endif
    }
    DEV_MEMBER Pack<T, per> of(u64 seed, u64 block) const
    {
        const fractions<T> u(seed, block);
        Pack<T, per> v;

        UNROLL
        for (u32 i = 0; i < per; i++)
            v[i] = scaled(u.of[i]);
        return v;
    }
};

/* ---- normal ---- */

/* sqrt(-2 ln u) for u from 2^-33 to 1. No step of it meets subnormal numbers,
 * so the instructions of AMD do, which err by one in the last place, and a
 * square root of NVIDIA's that errs by two halves of it. */
DEV f32 radius(f32 u)
{
    constexpr f32 ln_2 = 0.693147180559945309f;
#if KPK_NVIDIA
    /* u = 2^e (1 + t), t from -1/3 to 1/3; ln(1 + t) to 2^-24 of it */
    const u32 bits = bits_as<u32>(u), e = (bits - 0x3f2aaaabu) & 0xff800000u;
    const f32 t = bits_as<f32>(bits - e) - 1;
    f32 p = 0.134257495f, root;

    p = fused(p, t, -0.150407642f);
    p = fused(p, t, 0.141183093f);
    p = fused(p, t, -0.164830178f);
    p = fused(p, t, 0.200037807f);
    p = fused(p, t, -0.250041455f);
    p = fused(p, t, 0.333333194f);
    p = fused(p, t, -0.499999851f);
    p = fused((f32)(i32)e, 0x1p-23f * ln_2, fused(t * t, p, t));
    asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(-2 * p));
    return root;
#else
    return __builtin_amdgcn_sqrtf(__builtin_amdgcn_logf(u) * (-2 * ln_2));
#endif
}

/*
 * Sine and cosine of the word's upper 24 bits as a part of a turn: that of the
 * nearest quarter, and r from -1/8 to 1/8 of a turn further, exactly, whose
 * polynomials are good to 2^-27.
 */
DEV void turn_by(u32 word, f32 &sine, f32 &cosine)
{
    const u32 moved = word + 0x20000000u;
    const f32 r =
        (f32)(i32)(((moved << 2) & 0xfffffc00u) ^ 0x80000000u) * 0x1p-34f;
    const f32 y = r * r;
    f32 s = -75.4016113f, c = 59.4241066f;

    s = fused(s, y, 81.5925446f);
    s = fused(s, y, -41.3416634f);
    s = fused(s, y, 6.28318548f) * r;
    c = fused(c, y, -85.4488220f);
    c = fused(c, y, 64.9393692f);
    c = fused(c, y, -19.7392082f);
    c = fused(c, y, 1.0f);

    const bool odd = moved & 0x40000000u;

    sine = bits_as<f32>(bits_as<u32>(odd ? c : s) ^ (moved & 0x80000000u));
    cosine = bits_as<f32>(bits_as<u32>(odd ? s : c) ^
                          ((moved + 0x40000000u) & 0x80000000u));
}

template <typename T> struct normal_numbers {
    using A = calc_t<T>;
    static constexpr u32 per = 4;
    T mean, std;

    DEV_MEMBER T scaled(A z) const
    {
        return convert<T>(fused(z, convert<A>(std), convert<A>(mean)));
    }
    DEV_MEMBER Pack<T, 4> of(u64 seed, u64 block) const
    {
        const Pack<u32, 4> words = philox(seed, block, 0);
        Pack<T, 4> v;

        if constexpr (sizeof(T) == 8) {
            const Pack<u32, 4> more = philox(seed, block, 1);

            UNROLL
            for (u32 i = 0; i < 4; i += 2) {
                const u64 a = wide_word(words, more, i);
                const u64 b = wide_word(words, more, i + 1);
                const f64 u = (f64)((a >> 11) + 1) * 0x1p-53;
                const f64 r = sqrt(-2 * log(u));
                f64 sine, cosine;

                sincospi((f64)(b >> 11) * 0x1p-52, &sine, &cosine);
                v[i] = scaled(r * cosine);
                v[i + 1] = scaled(r * sine);
            }
        } else {
            UNROLL
            for (u32 i = 0; i < 4; i += 2) {
                const f32 r = radius(fused((f32)words[i], 0x1p-32f, 0x1p-33f));
                f32 sine, cosine;

                turn_by(words[i + 1], sine, cosine);
                v[i] = scaled(r * cosine);
                v[i + 1] = scaled(r * sine);
            }
        }
        return v;
    }
};

/* ---- to memory ---- */

/* `n` numbers of 16 bytes each, of blocks from `block` on */
template <typename T, u32 n, typename F>
DEV void make_chunk(Pack<T, n> &v, u64 seed, u64 block, const F &numbers)
{
    UNROLL
    for (u32 b = 0; b < n / F::per; b++) {
        const Pack<T, F::per> some = numbers.of(seed, block + b);

        UNROLL
        for (u32 i = 0; i < F::per; i++)
            v[b * F::per + i] = some[i];
    }
}

template <typename T, u32 n> DEV void store_chunk(T *out, const Pack<T, n> &v)
{
    constexpr u32 V = 16 / sizeof(T);

    UNROLL
    for (u32 i = 0; i < n; i += V) {
        Pack<T, V> some;

        UNROLL
        for (u32 j = 0; j < V; j++)
            some[j] = v[i + j];
        store_pack<V>(out + i, some);
    }
}

/*
 * A thread makes 16 numbers at a time (f64: 4), for Philox's rounds of the key
 * are the same for all of them. What is not aligned to 16 bytes, and the last
 * numbers, are made a block at a time.
 */
template <typename T, typename F>
DEV void random_numbers(T *out, u64 n, u64 seed, u64 offset, const F &numbers)
{
    constexpr u32 V = 16 / sizeof(T), per = F::per;
    constexpr u32 chunk = V > per ? V : per;
    constexpr u32 at_once = sizeof(T) == 8 ? 1 : 16 / chunk;
    const u32 skipped = (u32)offset % per; /* of the first block */
    const u64 first = offset / per, step = global_threads();
    const u64 chunks = skipped == 0 && is_aligned(out, 16) ? n / chunk : 0;
    const u64 blocks = n > 0 ? (n - 1 + skipped) / per + 1 : 0;
    u64 k = global_thread();

    NO_UNROLL
    for (; k + (at_once - 1) * step < chunks; k += at_once * step) {
        Pack<T, chunk> v[at_once];

        UNROLL
        for (u32 i = 0; i < at_once; i++)
            make_chunk(v[i], seed, first + (k + i * step) * (chunk / per),
                       numbers);
        UNROLL
        for (u32 i = 0; i < at_once; i++)
            store_chunk(out + (k + i * step) * chunk, v[i]);
    }
    NO_UNROLL
    for (; k < chunks; k += step) {
        Pack<T, chunk> v;

        make_chunk(v, seed, first + k * (chunk / per), numbers);
        store_chunk(out + k * chunk, v);
    }
    NO_UNROLL
    for (u64 b = chunks * (chunk / per) + global_thread(); b < blocks;
         b += step) {
        const Pack<T, per> v = numbers.of(seed, first + b);
        const u64 at = per * b - skipped; /* may be before out[0] */

        UNROLL
        for (u32 i = 0; i < per; i++)
            if (at + i < n) /* unsigned: before out[0] is far off */
                out[at + i] = v[i];
    }
}

template <typename T>
DEV void random_uniform(T *out, u64 n, u64 seed, u64 offset, T low, T high)
{
    const uniform_numbers<T> numbers(low, high);

    if (numbers.first == 0 && numbers.last == 1)
        random_numbers(out, n, seed, offset, unit_numbers<T>());
    else
        random_numbers(out, n, seed, offset, numbers);
}
