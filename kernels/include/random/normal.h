/*
 * normal.h - normal numbers from pairs of Philox's words; draw.h says which
 */
#pragma once

#include "random/philox.h"
#include "reduce/numbers.h"
#include "reduce/team.h"

/*
 * sqrt(-2 ln u) for u from 2^-33 to 1, precise enough for T. No step has
 * subnormal numbers, so hardware instructions are enough. AMD's err by one in
 * the last place. NVIDIA's logarithm errs by 2^-22 from 1/2 to 1: near 1, where
 * the logarithm is small, a polynomial of 1 - u replaces it.
 */
template <typename T> DEV f32 radius(f32 u)
{
    constexpr f32 ln_2 = 0.693147180559945309f;
#if KPK_NVIDIA
    const f32 t = 1.0f - u;
    f32 square, p, root;

    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(square) : "f"(u));
    square *= -2 * ln_2;
    if constexpr (sizeof(T) == 4) {
        p = fused(0.525386155f, t, 0.485491276f);
        p = fused(p, t, 0.667330861f);
        p = fused(p, t, 0.999989510f);
        p = fused(p, t, 2.0f) * t;
        square = u > 0.875f ? p : square;
    } else {
        p = fused(0.716325939f, t, 0.998817146f);
        p = fused(p, t, 2.00000405f) * t;
        square = u > 0.9375f ? p : square;
    }
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(square));
    return root;
#else
    return __builtin_amdgcn_sqrtf(__builtin_amdgcn_logf(u) * (-2 * ln_2));
#endif
}

#if KPK_NVIDIA

/*
 * r times cosine and sine of the word's upper 24 bits as a part of a turn, each
 * plus `mean`. NVIDIA's instructions err by 2^-20.9 at most.
 */
DEV Pack<f32, 2> turned(f32 r, u32 word, f32 mean)
{
    f32 sine, cosine;

    /* signed, 24 bits: from -pi to pi */
    const f32 angle = (f32)((i32)word >> 8) * 3.74507055e-07f;

    asm("cos.approx.ftz.f32 %0, %1;" : "=f"(cosine) : "f"(angle));
    asm("sin.approx.ftz.f32 %0, %1;" : "=f"(sine) : "f"(angle));
    return {fused(r, cosine, mean), fused(r, sine, mean)};
}

#else

/*
 * Two pairs of normal numbers at once, as CDNA multiplies and adds. The words'
 * upper 24 bits are an angle in turns. Polynomials good to 2^-24 take its rest
 * from -1/2 to 1/2 of half a turn; each half turn in front changes both signs,
 * so r's sign.
 */
typedef f32 f32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x2 __attribute__((ext_vector_type(2)));

DEV f32x2 fused(f32x2 a, f32x2 b, f32 c)
{
    return __builtin_elementwise_fma(a, b, (f32x2)c);
}

DEV f32x2 fused(f32x2 a, f32x2 b, f32x2 c)
{
    return __builtin_elementwise_fma(a, b, c);
}

template <typename T>
DEV Pack<f32, 4> two_pairs(const Pack<u32, 4> &words, f32 mean, f32 std)
{
    const f32x2 first = {(f32)words[0], (f32)words[2]};
    const f32x2 u = fused(first, (f32x2)0x1p-32f, 0x1p-33f);
    const f32x2 r = f32x2{radius<T>(u[0]), radius<T>(u[1])} * std;
    const u32x2 moved = u32x2{words[1], words[3]} + 0x40000000u;
    const u32x2 parts = moved & 0x7fffff00u;
    const f32x2 half =
        fused(__builtin_convertvector(parts, f32x2), (f32x2)0x1p-31f, -0.5f);
    const f32x2 y = half * half;
    const f32x2 turned =
        bits_as<f32x2>(bits_as<u32x2>(r) ^ (moved & 0x80000000u));
    f32x2 sine = fused((f32x2)0.0776559114f, y, -0.598290384f);
    f32x2 cosine = fused((f32x2)0.219682425f, y, -1.33187294f);

    sine = fused(sine, y, 2.55007744f);
    sine = fused(sine, y, -5.16771030f);
    sine = fused(sine, y, 3.14159274f) * half;
    cosine = fused(cosine, y, 4.05841064f);
    cosine = fused(cosine, y, -4.93479300f);
    cosine = fused(cosine, y, 0.999999940f);
    sine = fused(turned, sine, mean);
    cosine = fused(turned, cosine, mean);
    return {cosine[0], sine[0], cosine[1], sine[1]};
}

#endif

template <typename T> struct normal_numbers {
    static constexpr u32 per = 4;
    /* loops in loops would keep f64's constants in more scalar registers of
     * AMD's than there are */
    static constexpr bool in_tiles = KPK_NVIDIA || sizeof(T) < 8;
    T mean, std;

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
                v[i] = fused(r * cosine, std, mean);
                v[i + 1] = fused(r * sine, std, mean);
            }
        } else {
#if KPK_NVIDIA
            UNROLL
            for (u32 i = 0; i < 4; i += 2) {
                const f32 u = fused((f32)words[i], 0x1p-32f, 0x1p-33f);
                const Pack<f32, 2> z = turned(radius<T>(u) * convert<f32>(std),
                                              words[i + 1], convert<f32>(mean));

                v[i] = convert<T>(z[0]);
                v[i + 1] = convert<T>(z[1]);
            }
#else
            const Pack<f32, 4> z =
                two_pairs<T>(words, convert<f32>(mean), convert<f32>(std));

            UNROLL
            for (u32 i = 0; i < 4; i++)
                v[i] = convert<T>(z[i]);
#endif
        }
        return v;
    }
};
