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
 *            bits, from 2^-53 to 1), and z = r cos(2 pi b), r sin(2 pi b), b
 *            being the upper 24 bits (f64: 53) as a fraction. Then z * std +
 *            mean, in f32 for the small types, rounded. All but f64 multiply r
 *            by std first: std is below 2^124.
 *
 * Targets may differ in the last places of normal numbers. Before they are
 * rounded to T, those of f32 are off by 6 units of 2^-24 of r * std at most
 * (f64: of 2^-53). On NVIDIA's GPUs, whose instructions for logarithm, sine and
 * cosine err by 2^-22 to 2^-20.9, it is up to 24 units, and 32 for f16 and
 * bf16, which a shorter polynomial serves: their own rounding is 100 times as
 * much.
 *
 * Any 1-D grid and block.
 */
#pragma once

#include "random/philox.h"
#include "reduce/numbers.h"
#include "reduce/team.h"

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

/* the upper 53 bits as a fraction */
DEV f64 wide_fraction(u64 bits)
{
#if defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__)
    /* made of its bits: RDNA has a sixteenth of the rate for f64, and no
     * conversion of 64 bits */
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

/* The lower or the upper half of w as a fraction. Its bits become the last
 * ones of 2^23, by one instruction of bytes; another takes 2^23 away. */
DEV f32 half_fraction(u32 w, u32 upper)
{
    const u32 bits = __byte_perm(w, 0x4b00, upper ? 0x5432 : 0x5410);

    return fused(bits_as<f32>(bits), 0x1p-16f, -0x1p7f);
}

/* both halves of w as fractions, rounded to T */
template <typename T> DEV u32 rounded_halves(u32 w)
{
    if constexpr (is_same<T, f16>::value) {
        /* Bytes are exact as the last bits of 1024. From the upper ones: (4 +
         * 1/64) away, what is left is a multiple of 1/256 that the lower ones,
         * 1024 of them too many, are added to: rounded once. */
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

/* from 0 to 1: u as it is, but for what the small types would round to 1 */
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
        } else { /* f16 holds them, and what the factor makes subnormal */
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
    /* Limited before it is rounded or after, as both limits are numbers of T. A
     * NaN, of limits that are none, stays one; nvcc makes branches of
     * comparisons. */
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

/* ---- normal ---- */

/*
 * sqrt(-2 ln u) for u from 2^-33 to 1, of numbers of T. No step of it meets
 * subnormal numbers, so the instructions do. AMD's err by one in the last
 * place. NVIDIA's logarithm errs by 2^-22 from 1/2 to 1: next to 1, where the
 * logarithm itself is small, a polynomial of 1 - u takes its place.
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
 * Two pairs of normal numbers at once, as CDNA multiplies and adds. Of the
 * words' upper 24 bits as parts of a turn, polynomials good to 2^-24 take the
 * part from -1/2 to 1/2 of half a turn; the half turns in front of it change
 * both signs, so r's.
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

/* ---- to memory ---- */

/* 16 bytes or a block of numbers, whichever is more: `block_at(b)` is the
 * number of the b-th block of them */
template <typename T, u32 n, typename F, typename G>
DEV Pack<T, n> make_chunk(u64 seed, const F &numbers, G block_at)
{
    Pack<T, n> v;

    UNROLL
    for (u32 b = 0; b < n / F::per; b++) {
        const Pack<T, F::per> some = numbers.of(seed, block_at(b));

        UNROLL
        for (u32 i = 0; i < F::per; i++)
            v[b * F::per + i] = some[i];
    }
    return v;
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
 * A thread makes several of Philox's blocks at a time, its part of a tile: the
 * rounds of the key are the same for all of them. So is, but for one tile in
 * 2^17 or more, the upper half of the counters, which one multiplication of the
 * 20 stands on: another is by zero. On NVIDIA's GPUs a multiplication takes the
 * time of two others. What is not aligned to 16 bytes, and the last numbers,
 * are made a block at a time.
 */
template <typename T, typename F>
DEV void random_numbers(T *out, u64 n, u64 seed, u64 offset, const F &numbers)
{
    constexpr u32 V = 16 / sizeof(T), per = F::per;
    constexpr u32 chunk = V > per ? V : per, blocks_of = chunk / per;
    constexpr u32 most = sizeof(T) == 8 ? 1
                         : KPK_NVIDIA   ? 64 / chunk
                                        : 16 / chunk;
    const u32 skipped = (u32)offset % per; /* of the first block */
    const u32 threads = blockDim.x, thread = threadIdx.x;
    const u64 first = offset / per;
    const u64 chunks = skipped == 0 && is_aligned(out, 16) ? n / chunk : 0;
    const u64 blocks = n > 0 ? (n - 1 + skipped) / per + 1 : 0;
    const auto make_alone = [&](u64 k) {
        store_chunk(out + k * chunk,
                    make_chunk<T, chunk>(seed, numbers, [&](u32 b) {
                        return first + k * blocks_of + b;
                    }));
    };

    if constexpr (!F::in_tiles) {
        NO_UNROLL
        for (u64 k = global_thread(); k < chunks; k += global_threads())
            make_alone(k);
    } else {
        /* for every thread something, first */
        const bool many =
            threads % 32 == 0 && chunks >= most * global_threads();
        const u32 place =
            (thread & ~31u) * most + (thread & 31); /* in a tile */
        const u32 tile = many ? most * threads : threads;

        NO_UNROLL
        for (u64 at = (u64)blockIdx.x * tile; at < chunks;
             at += (u64)(u32)gridDim.x * tile) {
            const u64 block = first + at * blocks_of;
            const u32 low = (u32)block, high = (u32)(block >> 32);

            if (many && at + tile <= chunks && low <= 0u - tile * blocks_of) {
                T *const to = out + at * chunk + place * chunk;
                Pack<T, chunk> v[most];

                UNROLL
                for (u32 i = 0; i < most; i++)
                    v[i] = make_chunk<T, chunk>(seed, numbers, [&](u32 b) {
                        return (u64)high << 32 | (low + place * blocks_of +
                                                  (i * 32 * blocks_of + b));
                    });
                UNROLL
                for (u32 i = 0; i < most; i++)
                    store_chunk(to + i * 32 * chunk, v[i]);
            } else {
                /* `thread` anew: what is made of it would wait for the others
                 * in all threads' way */
                NO_UNROLL
                for (u64 k = at + lane_here(thread);
                     k < min_of(at + tile, chunks); k += threads)
                    make_alone(k);
            }
        }
    }
    if (!KPK_NVIDIA && chunks * blocks_of == blocks)
        return;
    NO_UNROLL
    for (u64 b = chunks * blocks_of + global_thread(); b < blocks;
         b += global_threads()) {
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
