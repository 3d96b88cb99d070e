/* chunk64.h - a column times 64 weights of many rows at once */
#pragma once

#include "nvidia/mat_vec/column_chunk.h"

/*
 * As column_chunk.h, but a lane has 64 weights of a block of 256, so that the
 * cost of a chunk besides its quants is paid half as often. A lane has the
 * weights that share most:
 *
 *   Q2_K        two Q8_1 blocks whose pairs of bits lie in the same 32 bytes:
 *               their scales are one word
 *   Q3_K        halves of four Q8_1 blocks: all that 16 bytes hold
 *   Q4_K, Q5_K  two Q8_1 blocks, the low and the high nibbles of 32 bytes: two
 *               scales and two minima for all
 */
template <class F> constexpr bool has_wide_chunk = false;

template <class F> struct WideChunk;

/* A number that the compiler keeps: it would work it out anew for each row. */
DEV u32 kept(u32 x)
{
    asm("" : "+r"(x));
    return x;
}

/* c plus the two halves of a, signed, times bytes 0 and 1 of b, or 2 and 3 */
template <int Pair> DEV int dot2(u32 a, u32 b, int c)
{
    int r;

    if constexpr (Pair == 0)
        asm("dp2a.lo.s32.u32 %0, %1, %2, %3;"
            : "=r"(r)
            : "r"(a), "r"(b), "r"(c));
    else
        asm("dp2a.hi.s32.u32 %0, %1, %2, %3;"
            : "=r"(r)
            : "r"(a), "r"(b), "r"(c));
    return r;
}

/* the sum of N words of signed bytes */
template <int N> DEV int sum_of_bytes(const u32 *q)
{
    int sum = 0;

    UNROLL
    for (int i = 0; i < N; i++)
        sum = dot4(q[i], 0x01010101u, sum);
    return sum;
}

/* Aligned words, moved by shift bits; a word behind them is read, too. */
template <int N> DEV Words<N> shifted_words(const u8 *aligned, u32 shift)
{
    const u32 *p = reinterpret_cast<const u32 *>(aligned);
    Words<N> r;
    u32 w = p[0];

    UNROLL
    for (int i = 0; i < N; i++) {
        const u32 next = p[i + 1];

        r.w[i] = __funnelshift_r(w, next, shift);
        w = next;
    }
    return r;
}

/* where the lane's block begins in its word, in bits: every second one is odd
 */
DEV u32 wide_shift()
{
    return (threadIdx.x & 4) * 4;
}

/* ---- two whole Q8_1 blocks ---- */

struct TwoBlocks {
    u32 q[16];
    float d[2];

    DEV_MEMBER void read(const u32 *blocks, int chunk)
    {
        UNROLL
        for (int g = 0; g < 2; g++) {
            const u32 *b = blocks + (2 * chunk + g) * Q8_1::words;

            d[g] = half_to_float(b[0]);
            UNROLL
            for (int i = 0; i < 8; i++)
                q[8 * g + i] = b[1 + i];
        }
    }
};

template <> constexpr bool has_wide_chunk<Q2_K> = true;

template <> struct WideChunk<Q2_K> {
    static constexpr u32 mask = ~0u;

    TwoBlocks y;
    u32 sums[2]; /* sums of a block's quants, 16 bits a half */
    float d_min[2];
    u32 pairs;         /* mask of the first block's pairs */
    u32 quants, scale; /* offsets in the format's block */

    DEV_MEMBER void read(const u32 *blocks, int chunk)
    {
        const bool upper = (chunk & 1) != 0;

        y.read(blocks, chunk);
        quants = kept(16 + 32 * ((u32)chunk >> 1));
        scale = kept(4 * (u32)chunk);
        pairs = 0x03030303u << (upper ? 4 : 0);
        UNROLL
        for (int g = 0; g < 2; g++) {
            sums[g] =
                __byte_perm((u32)sum_of_bytes<4>(y.q + 8 * g),
                            (u32)sum_of_bytes<4>(y.q + 8 * g + 4), 0x5410);
            d_min[g] = y.d[g] * -0x1p-4f; /* minima are high nibbles */
        }
        y.d[0] *= upper ? 0x1p-4f : 1.0f;
        y.d[1] *= upper ? 0x1p-6f : 0x1p-2f;
    }

    DEV_MEMBER float add(float acc, const u8 *block, int) const
    {
        const Words<4> w[2] = {
            load_words<4, Access::word>(block + quants),
            load_words<4, Access::word>(block + quants + 16)};
        const u32 scales = load_word<Access::word>(block + scale);
        const u32 dm = load_word<Access::word>(block + 80);
        const u32 mn = scales & 0xf0f0f0f0u, sc = scales & 0x0f0f0f0fu;
        int sum[2];

        UNROLL
        for (int g = 0; g < 2; g++) {
            const u32 mask = pairs << (2 * g);
            const int dot[2] = {masked_dot(w[0], mask, y.q + 8 * g, 0),
                                masked_dot(w[1], mask, y.q + 8 * g + 4, 0)};

            sum[g] = (int)(sc >> (16 * g) & 255) * dot[0] +
                     (int)(sc >> (16 * g + 8) & 255) * dot[1];
        }
        acc = fmaf(half_to_float(dm),
                   fmaf(y.d[1], (float)sum[1], y.d[0] * (float)sum[0]), acc);
        return fmaf(half_to_float(dm >> 16),
                    fmaf(d_min[1], (float)dot2<1>(sums[1], mn, 0),
                         d_min[0] * (float)dot2<0>(sums[0], mn, 0)),
                    acc);
    }
};

template <> constexpr bool has_wide_chunk<Q4_K> = true;
template <> constexpr bool has_wide_chunk<Q5_K> = true;

/* with the sums of the blocks */
struct TwoBlocksAndSums : TwoBlocks {
    float s[2];

    DEV_MEMBER void read(const u32 *blocks, int chunk)
    {
        TwoBlocks::read(blocks, chunk);
        UNROLL
        for (int g = 0; g < 2; g++)
            s[g] = d[g] * (float)sum_of_bytes<8>(q + 8 * g);
    }

    DEV_MEMBER float add(float acc, const KHead &h, int chunk, int dot0,
                         int dot1) const
    {
        const u32 pairs = head_pairs(h, 2 * chunk);
        const float sum = fmaf(d[1], (float)((int)(pairs >> 8 & 255) * dot1),
                               d[0] * (float)((int)(pairs & 255) * dot0));
        const float bias =
            fmaf(s[1], (float)(pairs >> 24), s[0] * (float)(pairs >> 16 & 255));

        acc = fmaf(h.d(), sum, acc);
        return fmaf(-h.dmin(), bias, acc);
    }
};

template <> struct WideChunk<Q4_K> {
    static constexpr u32 mask = ~0u;

    TwoBlocksAndSums y;
    u32 quants;

    DEV_MEMBER void read(const u32 *blocks, int chunk)
    {
        y.read(blocks, chunk);
        quants = kept(16 + 32 * (u32)chunk);
        y.d[1] *= 0x1p-4f;
    }

    DEV_MEMBER float add(float acc, const u8 *block, int chunk) const
    {
        const KHead head = KHead::load<BlockPlace::lds>(block);
        const u8 *qs = block + quants;
        const auto a = load_words<4, Access::vector>(qs),
                   b = load_words<4, Access::vector>(qs + 16);
        const int low = masked_dot(a, 0x0f0f0f0fu, y.q, 0);
        const int high = masked_dot(a, 0xf0f0f0f0u, y.q + 8, 0);

        return y.add(acc, head, chunk, masked_dot(b, 0x0f0f0f0fu, y.q + 4, low),
                     masked_dot(b, 0xf0f0f0f0u, y.q + 12, high));
    }
};

/* sums of the first block times 8, of the second block times 128 */
template <> struct WideChunk<Q5_K> {
    static constexpr u32 mask = ~0u;

    TwoBlocksAndSums y;
    u32 bits;
    int of_bit;
    u32 quants;

    DEV_MEMBER void read(const u32 *blocks, int chunk)
    {
        y.read(blocks, chunk);
        quants = kept(48 + 32 * (u32)chunk);
        bits = 0x01010101u << (2 * chunk);
        of_bit = 8 * 16 >> (2 * chunk);
        y.d[0] *= 0x1p-3f;
        y.d[1] *= 0x1p-7f;
    }

    DEV_MEMBER float add(float acc, const u8 *block, int chunk) const
    {
        const KHead head = KHead::load<BlockPlace::lds>(block);
        int high[2] = {0, 0}, low[2] = {0, 0};

        UNROLL
        for (int i = 0; i < 2; i++) {
            const auto qh = load_words<4, Access::vector>(block + 16 + 16 * i);
            const auto qs =
                load_words<4, Access::vector>(block + quants + 16 * i);

            high[0] = masked_dot(qh, bits, y.q + 4 * i, high[0]);
            high[1] = masked_dot(qh, bits << 1, y.q + 8 + 4 * i, high[1]);
            low[0] = masked_dot(qs, 0x0f0f0f0fu, y.q + 4 * i, low[0]);
            low[1] = masked_dot(qs, 0xf0f0f0f0u, y.q + 8 + 4 * i, low[1]);
        }
        return y.add(acc, head, chunk, high[0] * of_bit + 8 * low[0],
                     high[1] * (8 * of_bit) + 8 * low[1]);
    }
};

/* ---- halves of four Q8_1 blocks ---- */

struct FourHalves {
    u32 q[16];
    float d[4];
    int sums[4];

    DEV_MEMBER void read(const u32 *blocks, int chunk)
    {
        UNROLL
        for (int t = 0; t < 4; t++) {
            const u32 *b = blocks + (4 * (chunk >> 1) + t) * Q8_1::words;

            d[t] = half_to_float(b[0]);
            UNROLL
            for (int i = 0; i < 4; i++)
                q[4 * t + i] = b[1 + 4 * (chunk & 1) + i];
            sums[t] = sum_of_bytes<4>(q + 4 * t);
        }
    }
};

template <> constexpr bool has_wide_chunk<Q3_K> = true;

/* The sums of block t count 4^t times, its high bits 2^t times. */
template <> struct WideChunk<Q3_K> {
    static constexpr u32 mask = ~3u;

    FourHalves y;
    u32 pairs, bits;         /* offsets of quants' bits in the block */
    u32 shift, nibble, pick; /* shifts: quants, high bits, scales */

    DEV_MEMBER void read(const u32 *blocks, int chunk)
    {
        const u32 upper = (u32)chunk >> 1, half = (u32)chunk & 1;

        y.read(blocks, chunk);
        pairs = kept(32 + 32 * upper + 16 * half);
        bits = kept(16 * half);
        shift = kept(wide_shift());
        nibble = kept(shift + 4 * upper);
        pick = kept(nibble + 8 * half);
        UNROLL
        for (int t = 0; t < 4; t++) {
            y.d[t] *= 1.0f / (float)(1 << 2 * t);
            y.sums[t] *= -1 << t; /* for the 4 that quants are less */
        }
    }

    DEV_MEMBER float add(float acc, const u8 *block, int) const
    {
        const Words<4> low = shifted_words<4>(block + pairs, shift);
        const Words<4> high = shifted_words<4>(block + bits, nibble);
        const Words<3> packed = shifted_words<3>(block + 96, pick);
        const u32 last = load_word<Access::word>(block + 108);
        const u32 top = packed.w[2];
        /* scales of two blocks to a word, 16 bits each */
        const u32 sc[2] = {
            (packed.w[0] & 0x000f000fu) | (top << 4 & 0x00300030u),
            (packed.w[1] & 0x000f000fu) | (top << 2 & 0x00300030u)};
        float sum = 0;

        UNROLL
        for (int t = 0; t < 4; t++) {
            const int h =
                masked_dot(high, 0x01010101u << t, y.q + 4 * t, y.sums[t]);
            const int dot = masked_dot(low, 0x03030303u << (2 * t), y.q + 4 * t,
                                       h << (t + 2));
            const u32 pair = sc[t / 2];
            const int scale = (int)(t % 2 ? pair >> 16 : pair & 63) - 32;

            sum = t == 0 ? y.d[t] * (float)(scale * dot)
                         : fmaf(y.d[t], (float)(scale * dot), sum);
        }
        return fmaf(half_to_float(last >> shift), sum, acc);
    }
};

/* ---- columns of a BulkFeed ---- */

/* A lane's columns: `span` Q8_1 blocks of each of N columns; `chunks` lanes
 * share a block of F. With one or two columns, quants are masked in place. */
template <class F, int N, bool Wide = N <= 2 && has_wide_chunk<F>>
struct WideColumns : ColumnChunks<F, N, N <= 2> {
    static constexpr int span = 1, chunks = F::chunks;
};

template <class F, int N> struct WideColumns<F, N, true> {
    static constexpr int span = 2, chunks = F::chunks / span;
    static constexpr u32 mask = WideChunk<F>::mask;

    WideChunk<F> column[N];

    DEV_MEMBER void read(const u32 *blocks, int step, int chunk)
    {
        UNROLL
        for (int col = 0; col < N; col++)
            column[col].read(blocks + col * step, chunk);
    }

    DEV_MEMBER void add(float *acc, const u8 *block, int chunk) const
    {
        UNROLL
        for (int col = 0; col < N; col++)
            acc[col] = column[col].add(acc[col], block, chunk);
    }
};
