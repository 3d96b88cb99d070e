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
 * the same word of the block whose counter has 1 in its upper half.
 *
 *   uniform  u = the word's upper 24 bits (f64: 53) as a fraction, and then
 *            u * high + (low - u * low), fused, in f32 for the small types, and
 *            rounded once. What rounding takes to high or beyond becomes the
 *            number below it. The same bits on every target.
 *   normal   words in pairs (a, b), by Box and Muller's transform: r = sqrt(-2
 *            ln u), u = (a + 1/2) / 2^32 (f64: 53 bits, from 2^-53 to 1), and
 *            r cos(2 pi b), r sin(2 pi b). Then z * std + mean, fused, rounded
 *            once. Targets may differ in the last places of z.
 *
 * Any 1-D grid and block.
 */
#pragma once

#include "random/philox.h"

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

/* four numbers of the block */
template <typename T> struct uniform_numbers {
    using A = calc_t<T>;
    T low, high;

    DEV_MEMBER T scaled(A u) const
    {
        const A first = convert<A>(low), last = convert<A>(high);
        const T v = convert<T>(fused(u, last, fused(-u, first, first)));

        if (!(first < last))
            return v;
        return convert<A>(v) >= last   ? number_below(high)
               : convert<A>(v) < first ? low
                                       : v;
    }
    DEV_MEMBER Pack<T, 4> of(u64 seed, u64 block) const
    {
        const Pack<u32, 4> words = philox(seed, block, 0);
        Pack<T, 4> v;

        if constexpr (sizeof(T) == 8) {
            const Pack<u32, 4> more = philox(seed, block, 1);

            UNROLL
            for (u32 i = 0; i < 4; i++)
                v[i] =
                    scaled((A)(wide_word(words, more, i) >> 11) * (A)0x1p-53);
        } else {
            UNROLL
            for (u32 i = 0; i < 4; i++)
                v[i] = scaled((A)(words[i] >> 8) * (A)0x1p-24);
        }
        return v;
    }
};

/* sqrt(-2 ln u) for u from 2^-33 to 1. No step of it meets subnormal numbers,
 * so the instructions of AMD do, which err by one in the last place. */
DEV f32 radius(f32 u)
{
#if KPK_NVIDIA
    return sqrtf(-2 * logf(u));
#else
    constexpr f32 ln_2 = 0.693147180559945309f;

    return __builtin_amdgcn_sqrtf(__builtin_amdgcn_logf(u) * (-2 * ln_2));
#endif
}

template <typename T> struct normal_numbers {
    using A = calc_t<T>;
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

                sincospif((f32)(words[i + 1] >> 8) * 0x1p-23f, &sine, &cosine);
                v[i] = scaled(r * cosine);
                v[i + 1] = scaled(r * sine);
            }
        }
        return v;
    }
};

template <typename T, typename F>
DEV void random_numbers(T *out, u64 n, u64 seed, u64 offset, F numbers)
{
    constexpr u32 at_once = sizeof(T) == 8 ? 2 : 4;
    const u32 skipped = (u32)offset % 4; /* of the first block */
    const u64 blocks = n > 0 ? (n - 1 + skipped) / 4 + 1 : 0;
    const bool packs = skipped == 0 && is_aligned(out, at_once * sizeof(T));

    for (u64 k = global_thread(); k < blocks; k += global_threads()) {
        const Pack<T, 4> v = numbers.of(seed, offset / 4 + k);
        const u64 first = 4 * k - skipped; /* may be before out[0] */

        if (packs && n - first >= 4) {
            UNROLL
            for (u32 i = 0; i < 4; i += at_once) {
                Pack<T, at_once> some;

                UNROLL
                for (u32 j = 0; j < at_once; j++)
                    some[j] = v[i + j];
                store_pack<at_once>(out + first + i, some);
            }
        } else {
            UNROLL
            for (u32 i = 0; i < 4; i++)
                if (first + i < n) /* unsigned: before out[0] is far off */
                    out[first + i] = v[i];
        }
    }
}
