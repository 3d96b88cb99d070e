/* column_chunk.h - a lane's part of columns times the same part of rows */
#pragma once

#include "gguf/codes.h"
#include "gguf/k.h"
#include "gguf/legacy.h"
#include "quantized/chunk_dot.h"

/*
 * A lane has `span` neighbouring chunks of each of N columns in registers, and
 * multiplies them with the same chunks of many rows in LDS. `lanes` lanes share
 * a block of F.
 *
 *   read()  the columns' Q8_1 blocks that the format's block is multiplied
 *           with; they are `step` words apart, the lane is number `lane` of its
 *           block
 *   add()   to acc[column] the products with a block of a row
 *
 * There are two ways to multiply. LaneChunks unpacks a row's chunk once for all
 * columns. With one or two columns most instructions would be spent on that. So
 * InPlace, for formats where it saves any, leaves quants in place: a mask takes
 * the nibbles, pairs of bits or single bits of a word, dp4a multiplies them,
 * and the power of two of their place goes into the column's scale, once for
 * all rows. The sums stay below 2^24, so the result is as exact.
 */
template <class F, int N, int Span> struct LaneChunks {
    typedef typename ForVec<F>::type Form;
    static constexpr int span = Span, lanes = F::chunks / Span;

    Activations a[N][Span];

    DEV_MEMBER void read(const u32 *blocks, int step, int lane)
    {
        UNROLL
        for (int i = 0; i < N * Span; i++)
            a[i / Span][i % Span] = read_activations<Form>(
                blocks + i / Span * step, Span * lane + i % Span);
        if constexpr (Span == 2)
            UNROLL
        for (int i = 0; i < 2 * N; i++) /* a group's in both chunks */
            a[i / 2][0].s[i % 2] += a[i / 2][1].s[i % 2];
    }

    DEV_MEMBER void add(float *acc, const u8 *block, int lane) const
    {
        Chunk c[Span];

        UNROLL
        for (int i = 0; i < Span; i++)
            c[i] = Form::unpack(
                Form::template load<BlockPlace::lds>(block, Span * lane + i),
                Span * lane + i);
        UNROLL
        for (int col = 0; col < N; col++) {
            if constexpr (Span == 1) {
                acc[col] = add_product<Form>(acc[col], c[0], a[col][0]);
            } else {
                const Activations &y = a[col][0];

                static_assert(F::scale_width == 32, "the chunks share scales");
                UNROLL
                for (int g = 0; g < 2; g++) {
                    int sum = 0;

                    UNROLL
                    for (int i = 0; i < 8; i++)
                        sum = dot4(c[i / 4].q[4 * g + i % 4],
                                   a[col][i / 4].q[4 * g + i % 4], sum);
                    acc[col] =
                        fmaf(c[0].scale[g], y.d[g] * (float)sum, acc[col]);
                    acc[col] = fmaf(c[0].bias[g], y.s[g], acc[col]);
                }
            }
        }
    }
};

/* A column in place: read() and add() as above, of one column. */
template <class F> struct InPlace {
    static constexpr int span = 0; /* the format has none */
};

template <class F, int N> struct LaneColumns {
    static constexpr int span = InPlace<F>::span, lanes = F::chunks / span;

    InPlace<F> column[N];

    DEV_MEMBER void read(const u32 *blocks, int step, int lane)
    {
        UNROLL
        for (int col = 0; col < N; col++)
            column[col].read(blocks + col * step, lane);
    }

    DEV_MEMBER void add(float *acc, const u8 *block, int lane) const
    {
        UNROLL
        for (int col = 0; col < N; col++)
            acc[col] = column[col].add(acc[col], block, lane);
    }
};

/* The span of 64 weights a lane: what a chunk costs besides its quants is paid
 * half as often. */
template <class F> constexpr int wide_span = 1;
template <> inline constexpr int wide_span<Q4_K> = 2;
template <> inline constexpr int wide_span<Q5_K> = 2;

template <bool Take, class A, class B> struct TypeIf {
    typedef A type;
};
template <class A, class B> struct TypeIf<false, A, B> {
    typedef B type;
};

/* The lane's columns: in place for up to `Few` columns, if that has no span
 * above Span. */
template <class F, int N, int Few, int Span>
using ColumnsOf = typename TypeIf<
    (N <= Few && InPlace<F>::span > 0 && InPlace<F>::span <= Span),
    LaneColumns<F, N>,
    LaneChunks<F, N, (N <= Few && Span > 1 ? wide_span<F> : 1)>>::type;

/* c plus the four products of bytes of a, 0 to 255, with signed ones of b */
DEV int dot4_unsigned(u32 a, u32 b, int c)
{
    int r;

    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}

/* c plus the masked bits of 16 bytes times the quants of a group */
DEV int masked_dot(const Words<4> &w, u32 mask, const u32 *q, int c)
{
    UNROLL
    for (int i = 0; i < 4; i++)
        c = dot4_unsigned(w.w[i] & mask, q[i], c);
    return c;
}

/* ---- five bits, 32 elements ----
 *
 * High nibbles count 16 times. Bit e of a word of fifth bits belongs to element
 * e. A mask takes every eighth bit, so the column's bytes are put in the same
 * order. Sums are 16 times the products.
 */
template <class F> struct FiveBits {
    static constexpr int span = 1;

    Activations a;
    u32 by_bit[8];

    DEV_MEMBER void read(const u32 *blocks, int lane)
    {
        a = read_activations<F>(blocks, lane);
        a.d[0] *= 0x1p-4f;
        UNROLL
        for (int i = 0; i < 2; i++) { /* transposes four words of bytes */
            const u32 *q = a.q + i;
            const u32 ab[2] = {__byte_perm(q[0], q[2], 0x5140),
                               __byte_perm(q[0], q[2], 0x7362)};
            const u32 cd[2] = {__byte_perm(q[4], q[6], 0x5140),
                               __byte_perm(q[4], q[6], 0x7362)};

            UNROLL
            for (int j = 0; j < 4; j++)
                by_bit[4 * i + j] =
                    __byte_perm(ab[j / 2], cd[j / 2], j % 2 ? 0x7632 : 0x5410);
        }
    }

    DEV_MEMBER float sum(const u32 *nibbles, u32 fifth) const
    {
        const Words<4> w = {{nibbles[0], nibbles[1], nibbles[2], nibbles[3]}};
        const int low = masked_dot(w, 0x0f0f0f0fu, a.q, 0);
        int high = 0; /* 128 times */

        /* shifted by a multiplication: that unit has less to do */
        UNROLL
        for (int i = 0; i < 8; i++)
            high = dot4_unsigned(fifth * (128u >> i) & 0x80808080u, by_bit[i],
                                 high);
        return (float)(masked_dot(w, 0xf0f0f0f0u, a.q + 4, 16 * low) +
                       2 * high);
    }
};

template <> struct InPlace<Q5_0> : FiveBits<Q5_0> {
    DEV_MEMBER float add(float acc, const u8 *block, int lane) const
    {
        const auto r = Q5_0::load<BlockPlace::lds>(block, lane);
        const u32 *w = r.words.w;

        return fmaf(half_to_float(r.half),
                    fmaf(a.d[0], sum(w + 1, w[0]), a.s[0]), acc);
    }
};

template <> struct InPlace<Q5_1> : FiveBits<Q5_1> {
    DEV_MEMBER float add(float acc, const u8 *block, int lane) const
    {
        const auto r = Q5_1::load<BlockPlace::lds>(block, lane);
        const u32 *w = r.all.w;

        acc = fmaf(half_to_float(w[0]), a.d[0] * sum(w + 2, w[1]), acc);
        return fmaf(half_to_float(w[0] >> 16), a.s[0], acc);
    }
};

/* ---- pairs of bits, 256 elements: 64 weights a lane ----
 *
 * A lane has the weights that share most: in Q2_K two Q8_1 blocks, whose scales
 * are one word; in Q3_K halves of four Q8_1 blocks, all that 16 bytes hold.
 */

/* A number that the compiler keeps: it would work it out anew for each row. */
DEV u32 kept(u32 x)
{
    asm("" : "+r"(x));
    return x;
}

/* the sum of four words of signed bytes */
DEV int sum_of_bytes(const u32 *q)
{
    int sum = 0;

    UNROLL
    for (int i = 0; i < 4; i++)
        sum = dot4(q[i], 0x01010101u, sum);
    return sum;
}

template <> struct InPlace<Q2_K> {
    static constexpr int span = 2;

    u32 q[16];
    u32 sums[2]; /* sums of a Q8_1 block's quants, 16 bits a half */
    float d[2], d_min[2];
    u32 pairs;         /* mask of the first block's pairs */
    u32 quants, scale; /* offsets in the format's block */

    DEV_MEMBER void read(const u32 *blocks, int lane)
    {
        const bool upper = (lane & 1) != 0;

        quants = kept(16 + 32 * ((u32)lane >> 1));
        scale = kept(4 * (u32)lane);
        pairs = 0x03030303u << (upper ? 4 : 0);
        UNROLL
        for (int g = 0; g < 2; g++) {
            const u32 *b = blocks + (2 * lane + g) * Q8_1::words;

            UNROLL
            for (int i = 0; i < 8; i++)
                q[8 * g + i] = b[1 + i];
            sums[g] = __byte_perm((u32)sum_of_bytes(q + 8 * g),
                                  (u32)sum_of_bytes(q + 8 * g + 4), 0x5410);
            d_min[g] = -half_to_float(b[0]);
            d[g] = d_min[g] * (upper ? -0x1p-4f : -1.0f) / (float)(1 << 2 * g);
        }
    }

    DEV_MEMBER float add(float acc, const u8 *block, int) const
    {
        const Words<4> w[2] = {
            load_words<4, Access::word>(block + quants),
            load_words<4, Access::word>(block + quants + 16)};
        const u32 scales = load_word<Access::word>(block + scale);
        const u32 dm = load_word<Access::word>(block + 80);
        const u32 sc = scales & 0x0f0f0f0fu, mn = scales >> 4 & 0x0f0f0f0fu;
        int sum[2];

        UNROLL
        for (int g = 0; g < 2; g++) {
            const u32 mask = pairs << (2 * g);

            sum[g] = (int)(sc >> (16 * g) & 255) *
                         masked_dot(w[0], mask, q + 8 * g, 0) +
                     (int)(sc >> (16 * g + 8) & 255) *
                         masked_dot(w[1], mask, q + 8 * g + 4, 0);
        }
        acc = fmaf(half_to_float(dm),
                   fmaf(d[1], (float)sum[1], d[0] * (float)sum[0]), acc);
        return fmaf(half_to_float(dm >> 16),
                    fmaf(d_min[1], (float)__dp2a_hi((int)sums[1], (int)mn, 0),
                         d_min[0] * (float)__dp2a_lo((int)sums[0], (int)mn, 0)),
                    acc);
    }
};

/* N words from an aligned address on, moved by `shift` bits */
template <int N> DEV Words<N> shifted_words(const u8 *aligned, u32 shift)
{
    const u32 *p = reinterpret_cast<const u32 *>(aligned);
    Words<N> r;

    UNROLL
    for (int i = 0; i < N; i++)
        r.w[i] = __funnelshift_r(p[i], p[i + 1], shift);
    return r;
}

/* The sums of block t count 4^t times, its high bits 2^t times. Every second
 * block of a row begins within a word. */
template <> struct InPlace<Q3_K> {
    static constexpr int span = 2, lanes = 4;

    u32 q[16];
    float d[4];
    int sums[4];
    u32 odd;                 /* where the block begins in its word */
    u32 pairs, bits;         /* offsets of quants' bits in the block */
    u32 shift, nibble, pick; /* shifts: quants, high bits, scales */

    DEV_MEMBER void read(const u32 *blocks, int lane)
    {
        const u32 upper = (u32)lane >> 1, half = (u32)lane & 1;

        odd = kept(threadIdx.x / lanes % 2 * 2);
        shift = kept(8 * odd);
        nibble = kept(shift + 4 * upper);
        pick = kept(nibble + 8 * half);
        bits = kept(16 * half);
        pairs = kept(bits + 32 + 32 * upper);
        UNROLL
        for (int t = 0; t < 4; t++) {
            const u32 *b = blocks + (4 * upper + t) * Q8_1::words;

            UNROLL
            for (int i = 0; i < 4; i++)
                q[4 * t + i] = b[1 + 4 * half + i];
            d[t] = half_to_float(b[0]) / (float)(1 << 2 * t);
            /* for the 4 that quants are less */
            sums[t] = -sum_of_bytes(q + 4 * t) * (1 << t);
        }
    }

    DEV_MEMBER float add(float acc, const u8 *block, int) const
    {
        const u8 *aligned = block - odd;
        const Words<4> low = shifted_words<4>(aligned + pairs, shift);
        const Words<4> high = shifted_words<4>(aligned + bits, nibble);
        const Words<3> packed = shifted_words<3>(aligned + 96, pick);
        const u32 last = load_word<Access::word>(aligned + 108);
        const u32 top = packed.w[2];
        /* scales of two blocks to a word, 16 bits each */
        const u32 sc[2] = {
            (packed.w[0] & 0x000f000fu) | (top << 4 & 0x00300030u),
            (packed.w[1] & 0x000f000fu) | (top << 2 & 0x00300030u)};
        float sum = 0;

        UNROLL
        for (int t = 0; t < 4; t++) {
            const int h =
                masked_dot(high, 0x01010101u << t, q + 4 * t, sums[t]);
            const int dot = masked_dot(low, 0x03030303u << (2 * t), q + 4 * t,
                                       h << (t + 2));
            const u32 pair = sc[t / 2];
            const int scale = (int)(t % 2 ? pair >> 16 : pair & 63) - 32;

            sum = fmaf(d[t], (float)(scale * dot), sum);
        }
        return fmaf(half_to_float(last >> shift), sum, acc);
    }
};

/* ---- codes ----
 *
 * A word's nibbles choose bytes as they lie, four low ones and four high ones
 * of it at a time; the column's bytes are put in that order, once for all rows.
 * A nibble of 8 and more gives the sign of the byte that its low bits choose.
 * So one table serves codes 0 to 7, and another table, chosen with bit 3 turned
 * over, serves codes 8 to 15. A table gives known signs for the other's codes:
 * both results are multiplied, and no byte is selected from two.
 */
DEV u32 bytes_or_signs(u32 low, u32 high, u32 nibbles)
{
    u32 r;

    asm("prmt.b32 %0, %1, %2, %3;"
        : "=r"(r)
        : "r"(low), "r"(high), "r"(nibbles));
    return r;
}

struct CodesColumn {
    static constexpr int span = 1;

    u32 q[8]; /* words 2 i and 2 i + 1 for the low and high half of word i */
    float d;

    DEV_MEMBER void read(const u32 *blocks, int lane)
    {
        const u32 *b = blocks + lane * Q8_1::words;

        d = half_to_float(b[0]);
        UNROLL
        for (int i = 0; i < 4; i++) {
            q[2 * i] = __byte_perm(b[1 + i], b[5 + i], 0x5140);
            q[2 * i + 1] = __byte_perm(b[1 + i], b[5 + i], 0x7362);
        }
    }

    /* the products with two tables of eight: of the codes 0 to 7 with the
     * first two words, of the others with the last two */
    DEV_MEMBER void dot(const u32 (&w)[4], const Codes &t, int &few,
                        int &many) const
    {
        few = many = 0;
        UNROLL
        for (int i = 0; i < 8; i++) {
            const u32 nibbles = i % 2 ? w[i / 2] >> 16 : w[i / 2];
            const u32 turned = w[i / 2] ^ 0x88888888u;

            few = dot4(bytes_or_signs(t.w[0], t.w[1], nibbles), q[i], few);
            many = dot4(
                bytes_or_signs(t.w[2], t.w[3], i % 2 ? turned >> 16 : turned),
                q[i], many);
        }
    }

    /* The first eight codes are negative, so their table gives -1 for the other
     * codes; the other table adds 1 to make up for it. */
    DEV_MEMBER float iq4(const u32 (&w)[4]) const
    {
        constexpr Codes t = iq4_codes();
        constexpr u32 ones = 0x01010101u;
        int few, many;

        dot(w, {{t.w[0], t.w[1], t.w[2] + ones, t.w[3] + ones}}, few, many);
        return d * (float)(few + many);
    }

    /* The last eight codes are the first eight, negated. Both tables hold the
     * first eight, which give 0 for the other table's codes. */
    DEV_MEMBER float fp4(const u32 (&w)[4]) const
    {
        constexpr Codes t = fp4_codes();
        int few, many;

        dot(w, {{t.w[0], t.w[1], t.w[0], t.w[1]}}, few, many);
        return d * (float)(few - many);
    }
};

template <> struct InPlace<IQ4_NL> : CodesColumn {
    DEV_MEMBER float add(float acc, const u8 *block, int lane) const
    {
        const auto r = IQ4_NL::load<BlockPlace::lds>(block, lane);

        return fmaf(half_to_float(r.half), iq4(r.words.w), acc);
    }
};

template <> struct InPlace<IQ4_XS> : CodesColumn {
    DEV_MEMBER float add(float acc, const u8 *block, int lane) const
    {
        const auto r = IQ4_XS::load<BlockPlace::lds>(block, lane);

        return fmaf(IQ4_XS::scale(r.head, lane), iq4(r.qs.w), acc);
    }
};

template <> struct InPlace<MXFP4> : CodesColumn {
    DEV_MEMBER float add(float acc, const u8 *block, int lane) const
    {
        const auto r = MXFP4::load<BlockPlace::lds>(block, lane);

        return fmaf(MXFP4::scale(r.e), fp4(r.qs.w), acc);
    }
};
