/* column_chunk.h - a lane multiplies its chunks of columns with rows in LDS */
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
 *   mask    for a block's address
 *   read()  loads the columns' Q8_1 blocks that a block of F is multiplied
 *           with. Columns are `step` words apart; `lane` is the lane's number
 *           among those of the block
 *   add()   adds the products with a block of a row to acc[column]
 *
 * There are two ways to multiply. LaneChunks unpacks a row's chunk once for all
 * columns. With one or two columns unpacking would take most instructions, so
 * InPlace leaves quants in place: a mask selects the nibbles, pairs of bits or
 * single bits of a word, and dp4a multiplies them unshifted. The power of two
 * of the bits' place goes into the column's scale, once for all rows. Sums stay
 * below 2^24, so the result is as exact. With a span of two, a lane reads
 * scales half as often.
 */
template <class F, int N> struct LaneChunks {
    typedef typename ForVec<F>::type Form;
    static constexpr int span = 1, lanes = F::chunks;
    static constexpr u32 mask = ~0u;

    Activations a[N];

    DEV_MEMBER void read(const u32 *blocks, int step, int lane)
    {
        UNROLL
        for (int col = 0; col < N; col++)
            a[col] = read_activations<Form>(blocks + col * step, lane);
    }

    DEV_MEMBER void add(float *acc, const u8 *block, int lane) const
    {
        const Chunk c = Form::unpack(
            Form::template load<BlockPlace::lds>(block, lane), lane);

        UNROLL
        for (int col = 0; col < N; col++)
            acc[col] = add_product<Form>(acc[col], c, a[col]);
    }
};

/*
 * One column in place, with mask, read() and add() as above. Most formats'
 * blocks are not aligned to 4 bytes, but all rows are, so the shift of a
 * block's bytes within words depends on the lane alone.
 */
template <class F, int Span> struct InPlace {
    static constexpr bool is_there = false;
};

template <class F, int N, int Span> struct LaneColumns {
    static constexpr int span = Span, lanes = F::chunks / span;
    static constexpr u32 mask = InPlace<F, Span>::mask;

    InPlace<F, Span> column[N];

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

template <bool Take, class A, class B> struct TypeIf {
    typedef A type;
};
template <class A, class B> struct TypeIf<false, A, B> {
    typedef B type;
};

/* up to Few columns in place, if F has that, with the widest span up to Span */
template <class F, int N, int Few, int Span>
constexpr int span_in_place = N > Few                                ? 0
                              : Span == 2 && InPlace<F, 2>::is_there ? 2
                              : InPlace<F, 1>::is_there              ? 1
                                                                     : 0;
template <class F, int N, int Few, int Span>
using ColumnsOf =
    typename TypeIf<(span_in_place<F, N, Few, Span> > 0),
                    LaneColumns<F, N,
                                (span_in_place<F, N, Few, Span> > 0
                                     ? span_in_place<F, N, Few, Span>
                                     : 1)>,
                    LaneChunks<F, N>>::type;

struct IsInPlace {
    static constexpr bool is_there = true;
    static constexpr u32 mask = ~0u;
};
struct IsInWords {
    static constexpr bool is_there = true;
    static constexpr u32 mask = ~3u;
};

/* The bit of its first word at which the lane's block begins. `lanes` lanes
 * share a block, and every second block begins in the middle of a word. */
template <u32 lanes> DEV u32 odd_block()
{
    return threadIdx.x / lanes % 2 * 16; /* bits */
}

/* N words that begin `shift` bits behind an aligned address */
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

/* an f16 and N words of a block that begins in the aligned word of p */
template <int N> DEV HalfWords<N> lane_half_words(const u8 *p)
{
    return half_words_at<N>(reinterpret_cast<const u32 *>(p),
                            odd_block<1>() != 0);
}

/* c plus the products of a's four unsigned bytes with b's signed bytes */
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

/* ---- nibbles and fifth bits, 32 elements ----
 *
 * High nibbles count 16 times. Bit e of a word of fifth bits belongs to element
 * e. A mask takes every eighth bit, so the column's bytes are put in the same
 * order.
 */
template <class F> struct NibblesInPlace : IsInWords {
    Activations a;

    DEV_MEMBER void read(const u32 *blocks, int lane)
    {
        a = read_activations<F>(blocks, lane);
        a.d[0] *= 0x1p-4f;
    }

    DEV_MEMBER int dot(const u32 *nibbles) const
    {
        const Words<4> w = {{nibbles[0], nibbles[1], nibbles[2], nibbles[3]}};
        const int low = masked_dot(w, 0x0f0f0f0fu, a.q, 0);

        return masked_dot(w, 0xf0f0f0f0u, a.q + 4, 16 * low);
    }
};

template <class F> struct FiveBitsInPlace : NibblesInPlace<F> {
    u32 by_bit[8];

    DEV_MEMBER void read(const u32 *blocks, int lane)
    {
        NibblesInPlace<F>::read(blocks, lane);
        UNROLL
        for (int i = 0; i < 2; i++) { /* transposes four words of bytes */
            const u32 *q = this->a.q + i;
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

    /* the fifth bits, and behind them the nibbles */
    DEV_MEMBER float sum(const u32 *w) const
    {
        int high = 0; /* 128 times */

        /* shifted by a multiplication: that unit has less to do */
        UNROLL
        for (int i = 0; i < 8; i++)
            high = dot4_unsigned(w[0] * (128u >> i) & 0x80808080u, by_bit[i],
                                 high);
        return (float)(this->dot(w + 1) + 2 * high);
    }
};

template <> struct InPlace<Q4_0, 1> : NibblesInPlace<Q4_0> {
    DEV_MEMBER float add(float acc, const u8 *block, int) const
    {
        const auto r = lane_half_words<4>(block);

        return fmaf(half_to_float(r.half),
                    fmaf(a.d[0], (float)dot(r.words.w), a.s[0]), acc);
    }
};

template <> struct InPlace<Q5_0, 1> : FiveBitsInPlace<Q5_0> {
    DEV_MEMBER float add(float acc, const u8 *block, int) const
    {
        const auto r = lane_half_words<5>(block);

        return fmaf(half_to_float(r.half), fmaf(a.d[0], sum(r.words.w), a.s[0]),
                    acc);
    }
};

template <> struct InPlace<Q5_1, 1> : FiveBitsInPlace<Q5_1> {
    DEV_MEMBER float add(float acc, const u8 *block, int lane) const
    {
        const auto r = Q5_1::load<BlockPlace::lds>(block, lane);
        const u32 *w = r.all.w;

        acc = fmaf(half_to_float(w[0]), a.d[0] * sum(w + 1), acc);
        return fmaf(half_to_float(w[0] >> 16), a.s[0], acc);
    }
};

/* ---- 256 elements ----
 *
 * A lane has chunk Span * lane and, with a span of two, the next chunk. In
 * Q2_K, Q4_K and Q5_K these are two whole Q8_1 blocks, whose scales share
 * words; in Q3_K they are halves of four blocks, the content of 16 bytes.
 */

/* x, which the compiler must keep in a register and not recompute per row. */
DEV u32 kept(u32 x)
{
    asm("" : "+r"(x));
    return x;
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

/* the chunks' part of their two Q8_1 blocks */
template <int Span> struct TwoBlocks : IsInPlace {
    u32 q[2][4 * Span];
    float d[2];

    DEV_MEMBER void read(const u32 *blocks, int lane)
    {
        const int chunk = Span * lane;

        UNROLL
        for (int g = 0; g < 2; g++) {
            const u32 *b = blocks + ((chunk & 6) + g) * Q8_1::words;

            d[g] = half_to_float(b[0]);
            UNROLL
            for (int i = 0; i < 4 * Span; i++)
                q[g][i] = b[1 + 4 * (chunk & 1) + i];
        }
    }
};

template <int Span> struct InPlace<Q2_K, Span> : TwoBlocks<Span> {
    u32 sums[2]; /* sums of 16 quants, 16 bits each */
    float d_min[2];
    u32 pairs;                /* mask of the first block's pairs */
    u32 quants, scale, shift; /* byte offsets in a block; shift: bits */

    DEV_MEMBER void read(const u32 *blocks, int lane)
    {
        const u32 chunk = Span * (u32)lane;
        const bool upper = (chunk & 2) != 0;

        TwoBlocks<Span>::read(blocks, lane);
        quants = kept(16 + 32 * (chunk >> 2) + 16 * (chunk & 1));
        scale = kept(4 * (chunk >> 1));
        shift = 8 * (chunk & 1);
        pairs = 0x03030303u << (upper ? 4 : 0);
        UNROLL
        for (int g = 0; g < 2; g++) {
            const u32 *q = this->q[g];

            sums[g] = (u32)sum_of_bytes<4>(q) & 0xffff;
            if (Span == 2)
                sums[g] |= (u32)sum_of_bytes<4>(q + 4 * (Span - 1)) << 16;
            d_min[g] = -this->d[g];
            this->d[g] *= (upper ? 0x1p-4f : 1.0f) / (float)(1 << 2 * g);
        }
    }

    DEV_MEMBER float add(float acc, const u8 *block, int) const
    {
        const u32 scales =
            load_word<Access::word>(block + scale) >> (Span == 2 ? 0 : shift);
        const u32 dm = load_word<Access::word>(block + 80);
        const u32 sc = scales & 0x0f0f0f0fu, mn = scales >> 4 & 0x0f0f0f0fu;
        int sum[2] = {0, 0};

        UNROLL
        for (int i = 0; i < Span; i++) {
            const auto w = load_words<4, Access::word>(block + quants + 16 * i);

            UNROLL
            for (int g = 0; g < 2; g++)
                sum[g] +=
                    (int)(sc >> (16 * g + 8 * i) & 255) *
                    masked_dot(w, pairs << (2 * g), this->q[g] + 4 * i, 0);
        }
        acc = fmaf(half_to_float(dm),
                   fmaf(this->d[1], (float)sum[1], this->d[0] * (float)sum[0]),
                   acc);
        return fmaf(half_to_float(dm >> 16),
                    fmaf(d_min[1], (float)__dp2a_hi((int)sums[1], (int)mn, 0),
                         d_min[0] * (float)__dp2a_lo((int)sums[0], (int)mn, 0)),
                    acc);
    }
};

/* Sums of block t are scaled by 4^t, and its high bits by 2^t. */
template <int Span> struct InPlace<Q3_K, Span> : IsInWords {
    static constexpr int lanes = Q3_K::chunks / Span;

    u32 q[8 * Span];
    float d[2 * Span];
    int sums[2 * Span];
    u32 pairs, bits, scales;      /* offsets in the format's block */
    u32 shift, nibble, pick, top; /* shifts; top: of scales' high bits */

    DEV_MEMBER void read(const u32 *blocks, int lane)
    {
        const u32 chunk = Span * (u32)lane, upper = chunk >> 2;
        const u32 half = Span == 2 ? (u32)lane & 1 : chunk & 1;
        const u32 first = Span == 2 ? 0 : chunk & 2; /* block */
        const u32 odd = odd_block<lanes>();

        pairs = kept(32 + 32 * upper + 16 * half);
        bits = kept(16 * half);
        scales = kept(96 + 2 * first);
        shift = kept(odd + 2 * first);
        nibble = kept(odd + 4 * upper + first);
        pick = kept(odd + 4 * upper + 8 * half);
        top = kept(pick + first);
        UNROLL
        for (u32 t = 0; t < 2 * Span; t++) {
            const u32 *b = blocks + (4 * upper + first + t) * Q8_1::words;

            UNROLL
            for (int i = 0; i < 4; i++)
                q[4 * t + i] = b[1 + 4 * half + i];
            d[t] = half_to_float(b[0]) / (float)(1 << 2 * t);
            /* for the 4 that quants are less */
            sums[t] = -sum_of_bytes<4>(q + 4 * t) * (1 << t);
        }
    }

    DEV_MEMBER float add(float acc, const u8 *block, int) const
    {
        const auto low = shifted_words<4>(block + pairs, shift);
        const auto high = shifted_words<4>(block + bits, nibble);
        const auto packed =
            shifted_words<Span>(block + (Span == 2 ? 96 : scales), pick);
        const u32 tops =
            shifted_words<1>(block + 104, Span == 2 ? pick : top).w[0];
        const u32 last = load_word<Access::word>(block + 108);
        float sum = 0;

        UNROLL
        for (int t = 0; t < 2 * Span; t++) {
            const int h =
                masked_dot(high, 0x01010101u << t, q + 4 * t, sums[t]);
            const int dot = masked_dot(low, 0x03030303u << (2 * t), q + 4 * t,
                                       h << (t + 2));
            /* scales of two blocks to a word, 16 bits each */
            const u32 two = (packed.w[t / 2] & 0x000f000fu) |
                            (tops << (4 - t / 2 * 2) & 0x00300030u);
            const int scale = (int)(t % 2 ? two >> 16 : two & 63) - 32;

            sum = t == 0 ? d[t] * (float)(scale * dot)
                         : fmaf(d[t], (float)(scale * dot), sum);
        }
        return fmaf(half_to_float(last >> (Span == 2 ? shift : shift & 16)),
                    sum, acc);
    }
};

/* sc of pairs j and j + 1, j even, in bytes 0 and 1, mn in 2 and 3 */
DEV u32 head_pairs(const KHead &h, int j)
{
    const u32 pick = j & 2 ? 0x7632u : 0x5410u;
    const u32 first = __byte_perm(h.w.w[1], h.w.w[2], pick);
    const u32 low = __byte_perm(h.w.w[3], h.w.w[3] >> 4, pick);
    const u32 second = (low & 0x0f0f0f0fu) | (first >> 2 & ~0x0f0f0f0fu);

    return (j < 4 ? first : second) & 0x3f3f3f3fu;
}

/* with a KHead, and with the sums of the blocks */
template <int Span> struct TwoBlocksAndSums : TwoBlocks<Span> {
    float s[2];

    DEV_MEMBER void read(const u32 *blocks, int lane, float d0, float d1)
    {
        TwoBlocks<Span>::read(blocks, lane);
        UNROLL
        for (int g = 0; g < 2; g++)
            s[g] = this->d[g] * (float)sum_of_bytes<4 * Span>(this->q[g]);
        this->d[0] *= d0;
        this->d[1] *= d1;
    }

    DEV_MEMBER float add(float acc, const u8 *block, int lane,
                         const int (&dot)[2]) const
    {
        const KHead h = KHead::load<BlockPlace::lds>(block);
        const u32 pairs = head_pairs(h, Span * lane & 6);
        const float sum =
            fmaf(this->d[1], (float)((int)(pairs >> 8 & 255) * dot[1]),
                 this->d[0] * (float)((int)(pairs & 255) * dot[0]));
        const float bias =
            fmaf(s[1], (float)(pairs >> 24), s[0] * (float)(pairs >> 16 & 255));

        acc = fmaf(h.d(), sum, acc);
        return fmaf(-h.dmin(), bias, acc);
    }
};

template <int Span> struct InPlace<Q4_K, Span> : TwoBlocksAndSums<Span> {
    DEV_MEMBER void read(const u32 *blocks, int lane)
    {
        TwoBlocksAndSums<Span>::read(blocks, lane, 1, 0x1p-4f);
    }

    DEV_MEMBER float add(float acc, const u8 *block, int lane) const
    {
        int dot[2] = {0, 0};

        UNROLL
        for (int i = 0; i < Span; i++) {
            const auto w = load_words<4, Access::vector>(
                block + 16 + 16 * (Span * lane + i));

            dot[0] = masked_dot(w, 0x0f0f0f0fu, this->q[0] + 4 * i, dot[0]);
            dot[1] = masked_dot(w, 0xf0f0f0f0u, this->q[1] + 4 * i, dot[1]);
        }
        return TwoBlocksAndSums<Span>::add(acc, block, lane, dot);
    }
};

/* sums of the first block times 8, of the second block times 128 */
template <int Span> struct InPlace<Q5_K, Span> : TwoBlocksAndSums<Span> {
    u32 bits;
    int of_bit;

    DEV_MEMBER void read(const u32 *blocks, int lane)
    {
        TwoBlocksAndSums<Span>::read(blocks, lane, 0x1p-3f, 0x1p-7f);
        bits = 0x01010101u << (Span * lane & 6);
        of_bit = 8 * 16 >> (Span * lane & 6);
    }

    DEV_MEMBER float add(float acc, const u8 *block, int lane) const
    {
        int high[2] = {0, 0}, low[2] = {0, 0};

        UNROLL
        for (int i = 0; i < Span; i++) {
            const int chunk = Span * lane + i;
            const auto qh =
                load_words<4, Access::vector>(block + 16 + 16 * (chunk & 1));
            const auto qs =
                load_words<4, Access::vector>(block + 48 + 16 * chunk);

            UNROLL
            for (int g = 0; g < 2; g++) {
                const u32 *q = this->q[g] + 4 * i;

                high[g] = masked_dot(qh, bits << g, q, high[g]);
                low[g] = masked_dot(qs, 0x0f0f0f0fu << (4 * g), q, low[g]);
            }
        }
        return TwoBlocksAndSums<Span>::add(
            acc, block, lane,
            {high[0] * of_bit + 8 * low[0],
             high[1] * (8 * of_bit) + 8 * low[1]});
    }
};

/* 16 times the sums of the second group */
template <> struct InPlace<Q6_K, 1> : IsInWords {
    Activations a;
    u32 pairs; /* mask of the first group's pairs */
    int of_pair;

    DEV_MEMBER void read(const u32 *blocks, int lane)
    {
        a = read_activations<Q6_K>(blocks, lane);
        pairs = 0x03030303u << (lane & 2);
        of_pair = 16 >> (lane & 2);
        a.start[0] = -32 * sum_of_quants(a, 0);
        a.start[1] = -32 * 16 * sum_of_quants(a, 1);
        a.d[1] *= 0x1p-4f;
    }

    DEV_MEMBER float add(float acc, const u8 *block, int lane) const
    {
        const u32 odd = odd_block<Q6_K::chunks>();
        const auto low = shifted_words<4>(block + 16 * lane, odd);
        const auto high = shifted_words<4>(
            block + 128 + 32 * (lane >> 2) + 16 * (lane & 1), odd);
        const u8 *start = block + odd / 8;
        const i8 *sc =
            reinterpret_cast<const i8 *>(start + 192) + Q6_K::first_group(lane);
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
 * prmt looks up four nibbles of a word in a table of 8 bytes, in the order in
 * which the nibbles lie; the column's bytes are put in the same order, once for
 * all rows. For a nibble from 8 up prmt gives only the sign of the byte that
 * its low three bits select. So one table serves codes 0 to 7, and a second
 * table, read with bit 3 inverted, serves codes 8 to 15. The signs that a table
 * gives for the other table's codes are known: both results are multiplied, and
 * no select is needed.
 */
DEV u32 bytes_or_signs(u32 low, u32 high, u32 nibbles)
{
    u32 r;

    asm("prmt.b32 %0, %1, %2, %3;"
        : "=r"(r)
        : "r"(low), "r"(high), "r"(nibbles));
    return r;
}

struct CodesInPlace : IsInWords {
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
    DEV_MEMBER void dot(const u32 (&w)[4], const Codes &t, int &lower,
                        int &upper) const
    {
        lower = upper = 0;
        UNROLL
        for (int i = 0; i < 8; i++) {
            const u32 nibbles = i % 2 ? w[i / 2] >> 16 : w[i / 2];
            const u32 turned = w[i / 2] ^ 0x88888888u;

            lower = dot4(bytes_or_signs(t.w[0], t.w[1], nibbles), q[i], lower);
            upper = dot4(
                bytes_or_signs(t.w[2], t.w[3], i % 2 ? turned >> 16 : turned),
                q[i], upper);
        }
    }

    /* The first eight codes are negative, so their table gives -1 for codes of
     * the second table, whose entries are 1 larger to compensate. */
    DEV_MEMBER float iq4(const u32 (&w)[4]) const
    {
        constexpr Codes t = iq4_codes();
        constexpr u32 ones = 0x01010101u;
        int lower, upper;

        dot(w, {{t.w[0], t.w[1], t.w[2] + ones, t.w[3] + ones}}, lower, upper);
        return d * (float)(lower + upper);
    }

    /* The last eight codes are the first eight, negated. Both tables hold the
     * first eight, which give 0 for the other table's codes. */
    DEV_MEMBER float fp4(const u32 (&w)[4]) const
    {
        constexpr Codes t = fp4_codes();
        int lower, upper;

        dot(w, {{t.w[0], t.w[1], t.w[0], t.w[1]}}, lower, upper);
        return d * (float)(lower - upper);
    }
};

template <> struct InPlace<IQ4_NL, 1> : CodesInPlace {
    DEV_MEMBER float add(float acc, const u8 *block, int) const
    {
        const auto r = lane_half_words<4>(block);

        return fmaf(half_to_float(r.half), iq4(r.words.w), acc);
    }
};

template <> struct InPlace<IQ4_XS, 1> : CodesInPlace {
    DEV_MEMBER float add(float acc, const u8 *block, int lane) const
    {
        const auto r = IQ4_XS::load<BlockPlace::lds>(block, lane);

        return fmaf(IQ4_XS::scale(r.head, lane), iq4(r.qs.w), acc);
    }
};

/* Blocks have 17 bytes: a block begins at byte l % 4 of its word. */
template <> struct InPlace<MXFP4, 1> : CodesInPlace {
    DEV_MEMBER float add(float acc, const u8 *block, int) const
    {
        const u32 at = threadIdx.x & 3, quants = at + 1;
        const auto w =
            shifted_words<4>(block + (quants & ~3u), 8 * (quants & 3));

        return fmaf(MXFP4::scale(block[at]), fp4(w.w), acc);
    }
};
