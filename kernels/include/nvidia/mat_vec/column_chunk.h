/* column_chunk.h - a column times chunks of many rows, in few instructions */
#pragma once

#include "gguf/codes.h"
#include "gguf/k.h"
#include "gguf/legacy.h"
#include "quantized/chunk_dot.h"

/*
 * A product with one column spends most instructions on unpacking quants to
 * bytes. Here quants stay in place: a mask takes the nibbles, pairs of bits or
 * single bits of a word, dp4a multiplies them, and the power of two of their
 * place goes into the column's scale, once for all rows. The sums stay below
 * 2^24, so the result is as exact as add_product()'s.
 *
 *   mask    for a block's address. Unaligned blocks are read as whole words.
 *           The lane's number tells which bytes count, because every row and
 *           the warp's first block are aligned to 4.
 *   read()  the column's Q8_1 blocks that the format's block is multiplied with
 *   add()   acc plus the product of the lane's chunk of a row in LDS
 */
/* Q8_0 has nothing to unpack. */
template <class F> struct ColumnChunk {
    static constexpr u32 mask = ~0u;

    Activations a;

    DEV_MEMBER void read(const u32 *blocks, int chunk)
    {
        a = read_activations<F>(blocks, chunk);
    }

    DEV_MEMBER float add(float acc, const u8 *block, int chunk) const
    {
        return add_product<F>(
            acc,
            F::unpack(F::template load<BlockPlace::lds>(block, chunk), chunk),
            a);
    }
};

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

/* N words from an aligned address on, or from two or four bytes behind it: pick
 * is __byte_perm()'s selector. */
template <int N> DEV Words<N> picked_words(const u8 *aligned, u32 pick)
{
    const u32 *p = reinterpret_cast<const u32 *>(aligned);
    Words<N> r;
    u32 w = p[0];

    UNROLL
    for (int i = 0; i < N; i++) {
        const u32 next = p[i + 1];

        r.w[i] = __byte_perm(w, next, pick);
        w = next;
    }
    return r;
}

/* whether the lane's block begins in the middle of a word: every second does */
template <class F> DEV bool is_odd_block()
{
    static_assert(F::bytes % 4 == 2, "of blocks that are not aligned");
    return (threadIdx.x & F::chunks) != 0;
}

/* ---- nibbles, 32 elements: the high ones count 16 times ---- */

template <class F> struct NibblesChunk {
    static constexpr u32 mask = ~3u;

    Activations a;

    DEV_MEMBER void read(const u32 *blocks, int chunk)
    {
        a = read_activations<F>(blocks, chunk);
        a.d[0] *= 0x1p-4f;
    }

    DEV_MEMBER int dot(const Words<4> &w) const
    {
        const int low = masked_dot(w, 0x0f0f0f0fu, a.q, 0);

        return masked_dot(w, 0xf0f0f0f0u, a.q + 4, 16 * low);
    }
};

template <> struct ColumnChunk<Q4_0> : NibblesChunk<Q4_0> {
    DEV_MEMBER float add(float acc, const u8 *block, int) const
    {
        const bool odd = is_odd_block<Q4_0>();
        const u32 first = *reinterpret_cast<const u32 *>(block);
        const float d = half_to_float(odd ? first >> 16 : first);

        return fmaf(
            d,
            fmaf(a.d[0],
                 (float)dot(picked_words<4>(block, odd ? 0x7654u : 0x5432u)),
                 a.s[0]),
            acc);
    }
};

template <> struct ColumnChunk<Q4_1> : NibblesChunk<Q4_1> {
    DEV_MEMBER float add(float acc, const u8 *block, int chunk) const
    {
        const auto r = Q4_1::load<BlockPlace::lds>(block, chunk);

        acc = fmaf(half_to_float(r.dm), a.d[0] * (float)dot(r.qs), acc);
        return fmaf(half_to_float(r.dm >> 16), a.s[0], acc);
    }
};

/*
 * The fifth bits of 32 elements: bit e belongs to element e. A mask takes every
 * eighth bit, so the column's bytes are put in the same order. dot() gives 128
 * times the products.
 */
struct FifthBits {
    u32 by_bit[8];

    DEV_MEMBER void read(const u32 (&q)[8])
    {
        UNROLL
        for (int i = 0; i < 2; i++) { /* transposes four words of bytes */
            const u32 ab[2] = {__byte_perm(q[i], q[2 + i], 0x5140),
                               __byte_perm(q[i], q[2 + i], 0x7362)};
            const u32 cd[2] = {__byte_perm(q[4 + i], q[6 + i], 0x5140),
                               __byte_perm(q[4 + i], q[6 + i], 0x7362)};

            UNROLL
            for (int j = 0; j < 4; j++)
                by_bit[4 * i + j] =
                    __byte_perm(ab[j / 2], cd[j / 2], j % 2 ? 0x7632 : 0x5410);
        }
    }

    DEV_MEMBER int dot(u32 high) const
    {
        int sum = 0;

        /* shifted by a multiplication: that unit has less to do */
        UNROLL
        for (int i = 0; i < 8; i++)
            sum =
                dot4_unsigned(high * (128u >> i) & 0x80808080u, by_bit[i], sum);
        return sum;
    }
};

template <class F> struct FiveBitsChunk : NibblesChunk<F> {
    FifthBits fifth;

    DEV_MEMBER void read(const u32 *blocks, int chunk)
    {
        NibblesChunk<F>::read(blocks, chunk);
        fifth.read(this->a.q);
    }

    DEV_MEMBER float sum(const Words<4> &low, u32 high) const
    {
        return (float)(this->dot(low) + 2 * fifth.dot(high));
    }
};

template <> struct ColumnChunk<Q5_0> : FiveBitsChunk<Q5_0> {
    DEV_MEMBER float add(float acc, const u8 *block, int) const
    {
        const bool odd = is_odd_block<Q5_0>();
        const u32 first = *reinterpret_cast<const u32 *>(block);
        const float d = half_to_float(odd ? first >> 16 : first);
        const Words<5> w = picked_words<5>(block, odd ? 0x7654u : 0x5432u);
        const Words<4> low = {{w.w[1], w.w[2], w.w[3], w.w[4]}};

        return fmaf(d, fmaf(a.d[0], sum(low, w.w[0]), a.s[0]), acc);
    }
};

template <> struct ColumnChunk<Q5_1> : FiveBitsChunk<Q5_1> {
    DEV_MEMBER float add(float acc, const u8 *block, int chunk) const
    {
        const auto r = Q5_1::load<BlockPlace::lds>(block, chunk);
        const u32 *w = r.all.w;
        const Words<4> low = {{w[2], w[3], w[4], w[5]}};

        acc = fmaf(half_to_float(w[0]), a.d[0] * sum(low, w[1]), acc);
        return fmaf(half_to_float(w[0] >> 16), a.s[0], acc);
    }
};

/* ---- 256 elements ---- */

template <> struct ColumnChunk<Q2_K> {
    static constexpr u32 mask = ~0u;

    Activations a;
    u32 pairs; /* mask of the first group's pairs */

    DEV_MEMBER void read(const u32 *blocks, int chunk)
    {
        const bool upper = (chunk & 2) != 0;

        a = read_activations<Q2_K>(blocks, chunk);
        pairs = 0x03030303u << (upper ? 4 : 0);
        a.d[0] *= upper ? 0x1p-4f : 1.0f;
        a.d[1] *= upper ? 0x1p-6f : 0x1p-2f;
    }

    DEV_MEMBER float add(float acc, const u8 *block, int chunk) const
    {
        const auto r = Q2_K::load<BlockPlace::lds>(block, chunk);
        const int dot[2] = {masked_dot(r.qs, pairs, a.q, 0),
                            masked_dot(r.qs, pairs << 2, a.q + 4, 0)};
        const u32 sc = r.sc & 0x0f0f0f0fu, mn = r.sc >> 4 & 0x0f0f0f0fu;
        const float sum = fmaf(a.d[1], (float)((int)(sc >> 16 & 255) * dot[1]),
                               a.d[0] * (float)((int)(sc & 255) * dot[0]));
        const float bias =
            fmaf(a.s[1], (float)(mn >> 16 & 255), a.s[0] * (float)(mn & 255));

        acc = fmaf(half_to_float(r.dm), sum, acc);
        return fmaf(-half_to_float(r.dm >> 16), bias, acc);
    }
};

/* 64 times the sums */
template <> struct ColumnChunk<Q3_K> {
    static constexpr u32 mask = ~3u;

    Activations a;
    u32 pairs, bits; /* masks for the first group */
    int of_pair, of_bit;

    DEV_MEMBER void read(const u32 *blocks, int chunk)
    {
        const int at = 2 * (chunk & 2), bit = chunk & 6;

        a = read_activations<Q3_K>(blocks, chunk);
        pairs = 0x03030303u << at;
        bits = 0x01010101u << bit;
        of_pair = 64 >> at;
        of_bit = 4 * 64 >> bit;
        UNROLL
        for (int g = 0; g < 2; g++) {
            a.start[g] = -4 * 64 * sum_of_quants(a, g);
            a.d[g] *= 0x1p-6f;
        }
    }

    DEV_MEMBER float add(float acc, const u8 *block, int chunk) const
    {
        const bool odd = is_odd_block<Q3_K>();
        const u32 pick = odd ? 0x5432u : 0x3210u;
        const Words<4> low = picked_words<4>(
            block + 32 + 32 * (chunk >> 2) + 16 * (chunk & 1), pick);
        const Words<4> high = picked_words<4>(block + 16 * (chunk & 1), pick);
        const u32 sc_low =
            picked_words<1>(block + 96 + 4 * (chunk >> 1 & 1), pick).w[0];
        const u32 sc_high = picked_words<1>(block + 104, pick).w[0];
        const float d = half_to_float(load_u16(block + 108 + (odd ? 2 : 0)));
        /* scales of both groups, in bytes 0 and 2 */
        const u32 sc =
            (sc_low >> (8 * (chunk & 1) + 4 * (chunk >> 2)) & 0x000f000fu) |
            (sc_high >> (8 * (chunk & 1) + (chunk & 6)) & 0x00030003u) << 4;
        const int dot[2] = {
            masked_dot(low, pairs, a.q, 0) * of_pair +
                (masked_dot(high, bits, a.q, 0) * of_bit + a.start[0]),
            masked_dot(low, pairs << 2, a.q + 4, 0) * (of_pair / 4) +
                (masked_dot(high, bits << 1, a.q + 4, 0) * (of_bit / 2) +
                 a.start[1])};

        return fmaf(d,
                    fmaf(a.d[1], (float)(((int)(sc >> 16 & 63) - 32) * dot[1]),
                         a.d[0] * (float)(((int)(sc & 63) - 32) * dot[0])),
                    acc);
    }
};

/* sc of the pairs of a chunk's two groups in bytes 0 and 1, mn in 2 and 3 */
DEV u32 head_pairs(const KHead &h, int chunk)
{
    const u32 pick = chunk & 2 ? 0x7632u : 0x5410u;
    const u32 first = __byte_perm(h.w.w[1], h.w.w[2], pick);
    const u32 low = __byte_perm(h.w.w[3], h.w.w[3] >> 4, pick);
    const u32 second = (low & 0x0f0f0f0fu) | (first >> 2 & ~0x0f0f0f0fu);

    return (chunk < 4 ? first : second) & 0x3f3f3f3fu;
}

DEV float add_with_head(float acc, const KHead &h, int chunk, int dot0,
                        int dot1, const Activations &a)
{
    const u32 pairs = head_pairs(h, chunk);
    const float sum = fmaf(a.d[1], (float)((int)(pairs >> 8 & 255) * dot1),
                           a.d[0] * (float)((int)(pairs & 255) * dot0));
    const float bias =
        fmaf(a.s[1], (float)(pairs >> 24), a.s[0] * (float)(pairs >> 16 & 255));

    acc = fmaf(h.d(), sum, acc);
    return fmaf(-h.dmin(), bias, acc);
}

template <> struct ColumnChunk<Q4_K> {
    static constexpr u32 mask = ~0u;

    Activations a;

    DEV_MEMBER void read(const u32 *blocks, int chunk)
    {
        a = read_activations<Q4_K>(blocks, chunk);
        a.d[1] *= 0x1p-4f;
    }

    DEV_MEMBER float add(float acc, const u8 *block, int chunk) const
    {
        const auto r = Q4_K::load<BlockPlace::lds>(block, chunk);

        return add_with_head(acc, r.head, chunk,
                             masked_dot(r.qs, 0x0f0f0f0fu, a.q, 0),
                             masked_dot(r.qs, 0xf0f0f0f0u, a.q + 4, 0), a);
    }
};

/* sums of the first group times 8, of the second group times 128 */
template <> struct ColumnChunk<Q5_K> {
    static constexpr u32 mask = ~0u;

    Activations a;
    u32 bits;
    int of_bit;

    DEV_MEMBER void read(const u32 *blocks, int chunk)
    {
        a = read_activations<Q5_K>(blocks, chunk);
        bits = 0x01010101u << (chunk & 6);
        of_bit = 8 * 16 >> (chunk & 6);
        a.d[0] *= 0x1p-3f;
        a.d[1] *= 0x1p-7f;
    }

    DEV_MEMBER float add(float acc, const u8 *block, int chunk) const
    {
        const auto r = Q5_K::load<BlockPlace::lds>(block, chunk);
        const int high[2] = {masked_dot(r.qh, bits, a.q, 0),
                             masked_dot(r.qh, bits << 1, a.q + 4, 0)};
        const int low[2] = {masked_dot(r.qs, 0x0f0f0f0fu, a.q, 0),
                            masked_dot(r.qs, 0xf0f0f0f0u, a.q + 4, 0)};

        return add_with_head(acc, r.head, chunk, high[0] * of_bit + 8 * low[0],
                             high[1] * (8 * of_bit) + 8 * low[1], a);
    }
};

/* 16 times the sums of the second group */
template <> struct ColumnChunk<Q6_K> {
    static constexpr u32 mask = ~3u;

    Activations a;
    u32 pairs; /* mask of the first group's pairs */
    int of_pair;

    DEV_MEMBER void read(const u32 *blocks, int chunk)
    {
        a = read_activations<Q6_K>(blocks, chunk);
        pairs = 0x03030303u << (chunk & 2);
        of_pair = 16 >> (chunk & 2);
        a.start[0] = -32 * sum_of_quants(a, 0);
        a.start[1] = -32 * 16 * sum_of_quants(a, 1);
        a.d[1] *= 0x1p-4f;
    }

    DEV_MEMBER float add(float acc, const u8 *block, int chunk) const
    {
        const bool odd = is_odd_block<Q6_K>();
        const u32 pick = odd ? 0x5432u : 0x3210u;
        const Words<4> low = picked_words<4>(block + 16 * chunk, pick);
        const Words<4> high = picked_words<4>(
            block + 128 + 32 * (chunk >> 2) + 16 * (chunk & 1), pick);
        const u8 *start = block + (odd ? 2 : 0);
        const i8 *sc = reinterpret_cast<const i8 *>(start + 192) +
                       Q6_K::first_group(chunk);
        const int dot[2] = {
            masked_dot(high, pairs, a.q, 0) * of_pair +
                masked_dot(low, 0x0f0f0f0fu, a.q, a.start[0]),
            masked_dot(high, pairs << 4, a.q + 4, 0) * of_pair +
                masked_dot(low, 0xf0f0f0f0u, a.q + 4, a.start[1])};

        return fmaf(half_to_float(load_u16(start + 208)),
                    fmaf(a.d[1], (float)(sc[Q6_K::group_step] * dot[1]),
                         a.d[0] * (float)(sc[0] * dot[0])),
                    acc);
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
    u32 q[8]; /* words 2 i and 2 i + 1 for the low and high half of word i */
    float d;

    DEV_MEMBER void read(const u32 *blocks, int chunk)
    {
        const u32 *b = blocks + chunk * Q8_1::words;

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

template <> struct ColumnChunk<IQ4_NL> : CodesColumn {
    static constexpr u32 mask = ~3u;

    DEV_MEMBER float add(float acc, const u8 *block, int) const
    {
        const bool odd = is_odd_block<IQ4_NL>();
        const u32 first = *reinterpret_cast<const u32 *>(block);

        return fmaf(half_to_float(odd ? first >> 16 : first),
                    iq4(picked_words<4>(block, odd ? 0x7654u : 0x5432u).w),
                    acc);
    }
};

template <> struct ColumnChunk<IQ4_XS> : CodesColumn {
    static constexpr u32 mask = ~0u;

    DEV_MEMBER float add(float acc, const u8 *block, int chunk) const
    {
        const auto r = IQ4_XS::load<BlockPlace::lds>(block, chunk);

        return fmaf(IQ4_XS::scale(r.head, chunk), iq4(r.qs.w), acc);
    }
};

/* Blocks have 17 bytes, so a block's offset in its word follows from the lane's
 * number, as it does for blocks of even sizes. */
template <> struct ColumnChunk<MXFP4> : CodesColumn {
    static constexpr u32 mask = ~3u;

    DEV_MEMBER float add(float acc, const u8 *block, int) const
    {
        const u32 at = threadIdx.x & 3, quants = at + 1;
        const u32 *p = reinterpret_cast<const u32 *>(block + (quants & ~3u));
        const u32 last = p[4];
        Words<4> w = {{p[0], p[1], p[2], p[3]}};

        UNROLL
        for (int i = 0; i < 4; i++)
            w.w[i] = __funnelshift_r(w.w[i], i < 3 ? w.w[i + 1] : last,
                                     8 * (quants & 3));
        return fmaf(MXFP4::scale(block[at]), fp4(w.w), acc);
    }
};

/* ---- several columns ----
 *
 * The columns' blocks are `step` words apart. A row's chunk is unpacked once
 * for all columns, which takes fewer instructions than masking quants in place
 * for each column. With Few, quants are masked in place, as for one column.
 */
template <class F, int N, bool Few = N == 1> struct ColumnChunks {
    static constexpr u32 mask = ColumnChunk<F>::mask;

    ColumnChunk<F> column[N];

    DEV_MEMBER void read(const u32 *blocks, int step, int chunk)
    {
        UNROLL
        for (int col = 0; col < N; col++)
            column[col].read(blocks + col * step, chunk);
    }

    /* to acc[col] */
    DEV_MEMBER void add(float *acc, const u8 *block, int chunk) const
    {
        UNROLL
        for (int col = 0; col < N; col++)
            acc[col] = column[col].add(acc[col], block, chunk);
    }
};

template <class F, int N> struct ColumnChunks<F, N, false> {
    static constexpr u32 mask = ~0u;

    Activations a[N];

    DEV_MEMBER void read(const u32 *blocks, int step, int chunk)
    {
        UNROLL
        for (int col = 0; col < N; col++)
            a[col] = read_activations<F>(blocks + col * step, chunk);
    }

    DEV_MEMBER void add(float *acc, const u8 *block, int chunk) const
    {
        const Chunk c =
            F::unpack(F::template load<BlockPlace::lds>(block, chunk), chunk);

        UNROLL
        for (int col = 0; col < N; col++)
            acc[col] = add_product<F>(acc[col], c, a[col]);
    }
};
