/*
 * uniform.h - uniform numbers from Philox's words; draw.h says which
 */
#pragma once

#include "random/philox.h"
#include "reduce/numbers.h"
#include "reduce/team.h"

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

/* the upper 53 bits as a fraction */
DEV f64 wide_fraction(u64 bits)
{
#if KPK_TARGET_MAJOR >= 10
    /* Assembled from bits: RDNA runs f64 at a sixteenth of the rate, and has no
     * conversion of 64 bits. */
    if (bits >> 32 != 0) {
        const u32 zeros = (u32)__clz((int)(bits >> 32));
        const u64 mantissa = (bits & ~(u64)0x7ff)
                             << zeros;     /* has its first 1 */
        const u64 exponent = 1021 - zeros; /* that 1 adds one */

        return bits_as<f64>((exponent << 52) + (mantissa >> 11));
    }
#endif
    return (f64)(bits >> 11) * 0x1p-53;
}

/* ---- half words ---- */

#if KPK_NVIDIA

/* The lower or the upper half of w as a fraction. A byte permutation puts its
 * bits into the low mantissa of 2^23, and a subtraction removes 2^23. */
DEV f32 half_fraction(u32 w, u32 upper)
{
    const u32 bits = __byte_perm(w, 0x4b00, upper ? 0x5432 : 0x5410);

    return fused(bits_as<f32>(bits), 0x1p-16f, -0x1p7f);
}

/* both halves of w as fractions, rounded to T */
template <typename T> DEV u32 rounded_halves(u32 w)
{
    if constexpr (is_same<T, f16>::value) {
        /* Bytes are exact as the last bits of 1024. The upper bytes, scaled and
         * less 4 + 1/64, give multiples of 1/256. The lower bytes, each 1024
         * too large, are scaled and added, with one rounding. */
        const u32 upper = __byte_perm(w, 0x64646464, 0x4341);
        const u32 lower = __byte_perm(w, 0x64646464, 0x4240);
        u32 v;

        asm("{.reg .b32 t;\n\t"
            "fma.rn.f16x2 t, %1, %3, %4;\n\t"
            "fma.rn.f16x2 %0, %2, %5, t;}"
            : "=r"(v)
            : "r"(upper), "r"(lower), "r"(0x1c001c00), "r"(0xc404c404),
              "r"(0x01000100));
        return v;
    } else {
        const Pack<T, 2> v = {convert<T>(half_fraction(w, 0)),
                              convert<T>(half_fraction(w, 1))};

        return bits_as<u32>(v);
    }
}

/* two numbers of T, each from `least` to `most` or NaN */
template <typename T> DEV u32 limited_pair(u32 v, u32 least, u32 most)
{
    if constexpr (is_same<T, bf16>::value)
        asm("{.reg .b32 t;\n\t"
            "min.NaN.bf16x2 t, %1, %3;\n\t"
            "max.NaN.bf16x2 %0, t, %2;}"
            : "=r"(v)
            : "r"(v), "r"(least), "r"(most));
    else
        asm("{.reg .b32 t;\n\t"
            "min.NaN.f16x2 t, %1, %3;\n\t"
            "max.NaN.f16x2 %0, t, %2;}"
            : "=r"(v)
            : "r"(v), "r"(least), "r"(most));
    return v;
}

#else

DEV f32 half_fraction(u32 w, u32 upper)
{
    return (f32)(upper ? w >> 16 : w & 0xffffu) * 0x1p-16f;
}

#endif

/* ---- uniform ---- */

/* the fractions u of a block */
template <typename T> struct fractions {
    using A = calc_t<T>;
    static constexpr u32 per = sizeof(T) == 2 ? 8 : 4;
    A of[per];

    DEV_MEMBER fractions(u64 seed, u64 block)
    {
        const Pack<u32, 4> words = philox(seed, block, 0);

        if constexpr (sizeof(T) == 8) {
            const Pack<u32, 4> more = philox(seed, block, 1);

            UNROLL
            for (u32 i = 0; i < per; i++)
                of[i] = wide_fraction(wide_word(words, more, i));
        } else if constexpr (sizeof(T) == 4) {
            UNROLL
            for (u32 i = 0; i < per; i++)
                of[i] = (A)(words[i] >> 8) * (A)0x1p-24;
        } else {
            UNROLL
            for (u32 i = 0; i < per; i++)
                of[i] = half_fraction(words[i / 2], i % 2);
        }
    }
};

/* from 0 to 1: u unchanged, except where a small type would round u to 1 */
template <typename T> struct unit_numbers {
    static constexpr u32 per = fractions<T>::per;
    static constexpr bool in_tiles = true; /* see random_numbers() */

    DEV_MEMBER Pack<T, per> of(u64 seed, u64 block) const
    {
        if constexpr (sizeof(T) == 2) {
            return small(philox(seed, block, 0));
        } else {
            const fractions<T> u(seed, block);
            Pack<T, per> v;

            UNROLL
            for (u32 i = 0; i < per; i++)
                v[i] = u.of[i];
            return v;
        }
    }
    static DEV_MEMBER Pack<T, per> small(const Pack<u32, 4> &words)
    {
        constexpr bool wide = is_same<T, bf16>::value;
#if KPK_NVIDIA
        /* the number below 1, twice */
        constexpr u32 most = wide ? 0x3f7f3f7f : 0x3bff3bff;
        Pack<u32, 4> v;

        UNROLL
        for (u32 i = 0; i < 4; i++)
            v[i] = lesser_pair<T>(rounded_halves<T>(words[i]), most);
        return bits_as<Pack<T, per>>(v);
#else
        constexpr u32 most = wide ? 0xff00 : 0xffe0;
        Pack<T, per> v;

        if constexpr (wide) {
            UNROLL
            for (u32 i = 0; i < per; i++) {
                const u32 w = words[i / 2];

                v[i] = convert<T>(
                    (f32)min_of(i % 2 ? w >> 16 : w & 0xffffu, most) *
                    0x1p-16f);
            }
        } else { /* f16 holds w, and subnormal products */
            typedef u16 u16x2 __attribute__((ext_vector_type(2)));
            typedef _Float16 f16x2 __attribute__((ext_vector_type(2)));

            UNROLL
            for (u32 i = 0; i < per; i += 2) {
                const u16x2 w = __builtin_elementwise_min(
                    bits_as<u16x2>(words[i / 2]), (u16x2)(u16)most);
                const f16x2 two = __builtin_convertvector(w, f16x2) *
                                  (f16x2)(_Float16)0x1p-16f;
                const Pack<T, 2> both = bits_as<Pack<T, 2>>(two);

                v[i] = both[0];
                v[i + 1] = both[1];
            }
        }
        return v;
#endif
    }
};

template <typename T> struct uniform_numbers {
    using A = calc_t<T>;
    static constexpr u32 per = fractions<T>::per;
    static constexpr bool in_tiles = true;
    A first, last, least, most;

    DEV_MEMBER uniform_numbers(T low, T high)
        : first(convert<A>(low)), last(convert<A>(high)),
          least(first < last ? first : -infinity<A>()),
          most(first < last ? convert<A>(number_below(high)) : infinity<A>())
    {
    }
    /* Limits v. Both limits are numbers of T, so rounding may come before or
     * after. NaN from NaN limits stays NaN. It uses no comparisons, of which
     * nvcc would make branches. */
    DEV_MEMBER A limited(A v) const
    {
#if KPK_NVIDIA
        return max_or_nan(min_or_nan(v, most), least);
#else
        return v > most ? most : v < least ? least : v;
#endif
    }
    DEV_MEMBER Pack<T, per> of(u64 seed, u64 block) const
    {
        const fractions<T> u(seed, block);
        Pack<T, per> v;

        UNROLL
        for (u32 i = 0; i < per; i++) {
            const A x = fused(u.of[i], last, fused(-u.of[i], first, first));

            v[i] = convert<T>(KPK_NVIDIA && sizeof(T) == 2 ? x : limited(x));
        }
#if KPK_NVIDIA
        if constexpr (sizeof(T) == 2) {
            Pack<u32, 4> pairs = bits_as<Pack<u32, 4>>(v);
            const u32 above = twice(convert<T>(most));
            const u32 below = twice(convert<T>(least));

            UNROLL
            for (u32 i = 0; i < 4; i++)
                pairs[i] = limited_pair<T>(pairs[i], below, above);
            return bits_as<Pack<T, per>>(pairs);
        }
#endif
        return v;
    }
    static DEV_MEMBER u32 twice(T v)
    {
        const u32 bits =
            bits_as<typename Word<sizeof(T) == 8 ? 4 : sizeof(T)>::type>(v);

        return bits << 16 | bits;
    }
};
