/* tile_formats.h - how formats are unpacked for products with raw columns */
#pragma once

#include "amd/code_lookup.h"
#include "gguf/k.h"
#include "quantized/tile_layout.h"

/*
 * Keeps the compiler from using these words earlier. It would unpack them among
 * the products, wait for the loads there and run out of registers.
 */
template <int N> DEV void not_before(Words<N> &words)
{
    UNROLL
    for (int i = 0; i < N; i++)
        asm volatile("" : "+v"(words.w[i]));
}

template <class Raw> DEV Raw not_before(Raw raw)
{
    Words<sizeof(Raw) / 4> words;

    __builtin_memcpy(&words, &raw, sizeof(raw));
    not_before(words);
    __builtin_memcpy(&raw, &words, sizeof(raw));
    return raw;
}

/* in one instruction */
DEV Words<3> load_three(const u8 *p)
{
    typedef u32 Three __attribute__((ext_vector_type(3), aligned(2)));

    const Three v = *reinterpret_cast<const Three *>(p);

    return {{v[0], v[1], v[2]}};
}

/* a half loaded as a half is not widened to a word for this */
template <int N> DEV HalfWords<N> not_before(HalfWords<N> raw)
{
    u16 half = (u16)raw.half;

    asm volatile("" : "+v"(half));
    raw.half = half;
    not_before(raw.words);
    return raw;
}

/* The form of F for tiles. */
template <class F> struct ForTile {
    typedef F type;
};

template <> struct ForTile<IQ4_NL> {
    typedef IQ4_NL_crossed type;
};
template <> struct ForTile<MXFP4> {
    typedef MXFP4_crossed type;
};

/*
 * ---- K formats and IQ4_XS, whose blocks have four steps ----
 *
 * A thread unpacks one piece of a row: chunk 2 Turn + piece in step Turn. Rows
 * are numbered by Lds::place(). The step is a template argument, so addresses
 * and shifts are constants of the instructions.
 *
 *   Bytes          the bytes of a row's block for the current steps
 *   load_row()     before step 0, loads the bytes that both pieces share
 *   load_piece()   loads the bytes that step Turn still lacks; its argument is
 *                  16 * piece bytes behind the block's start
 *   unpack()       returns the quants of step Turn
 *   store()        stores scales and biases to LDS, in formats in which a
 *                  thread does this for its piece
 *   Head           in the other formats, the head of a thread's own row: load()
 *                  before step 0, store() its scales and biases of step Turn
 */
struct NoHead {
    template <BlockPlace P> DEV_MEMBER void load(const u8 *)
    {
    }
    template <int Turn, class Lds> DEV_MEMBER void store(Lds &, int) const
    {
    }
};

/* Stores a row's scale. With `lesses`, also stores -tile_magic_float * scale,
 * which cancels the value that integer sums start at. */
template <class Lds> DEV void store_scale(Lds &lds, int at, float scale)
{
    lds.x_scale[at] = scale;
    if constexpr (Lds::lesses)
        lds.x_less[at] = -tile_magic_float * scale;
}

/* The base of formats whose scales and biases come from Head alone. */
struct HeadOnly {
    template <BlockPlace P, class Bytes> DEV void load_row(Bytes &, const u8 *)
    {
    }
    template <int Turn, class Lds, class Bytes>
    DEV void store(Lds &, const Bytes &, int, int)
    {
    }
};

struct IQ4_XS_steps : IQ4_XS, HeadOnly {
    struct Bytes {
        Words<4> qs;
    };

    struct Head {
        Words<2> w;

        template <BlockPlace P> DEV_MEMBER void load(const u8 *b)
        {
            w = load_words<2, Access::word>(b);
        }

        template <int Turn, class Lds>
        DEV_MEMBER void store(Lds &lds, int row) const
        {
            /* sc - 32 is sc with its highest bit turned round, signed */
            const u32 high = w.w[0] ^ 0xaaaa0000u;
            const float d = half_to_float(w.w[0]);

            UNROLL
            for (int which = 0; which < 2; which++) {
                constexpr int first = 2 * Turn;
                const int at = which * Lds::row_slot + row;
                const u32 low4 = w.w[1] >> (4 * (first + which)) & 15;
                const int high2 =
                    (int)(high << (14 - 2 * (first + which))) >> 30;
                const float s = d * (float)((int)((u32)high2 << 4 | low4));

                store_scale(lds, at, s);
            }
        }
    };

    template <int Turn, BlockPlace P>
    DEV void load_piece(Bytes &in, const u8 *b)
    {
        in.qs = load_words<4, Access::word>(b + 8 + 32 * Turn);
    }

    template <int Turn> DEV void unpack(Bytes &in, int, u32 (&q)[8])
    {
        const CrossedCodes both = crossed(iq4_codes());

        not_before(in.qs);
        unpack_nibbles(in.qs.w, 0, q);
        UNROLL
        for (int i = 0; i < 8; i++)
            q[i] = decode(both, q[i]);
    }
};

/* The head of Q4_K and Q5_K. Products of f16 add the biases. F's quants are
 * times 2^F::raised(turn, pair). */
template <class F> struct KHeadSteps {
    Words<4> w;

    template <BlockPlace P> DEV_MEMBER void load(const u8 *b)
    {
        w = KHead::load<P>(b).w;
    }

    /* bytes 0 and 1: sc or mn for pairs 2 Turn and 2 Turn + 1 */
    template <int Turn> static DEV_MEMBER u32 two(u32 mine, u32 low)
    {
        constexpr int shift = 16 * (Turn % 2);

        if (Turn < 2)
            return mine >> shift & 0x3f3f;
        return (mine >> (shift + 2) & 0x3030) | (low >> shift & 0x0f0f);
    }

    template <int Turn, class Lds>
    DEV_MEMBER void store(Lds &lds, int row) const
    {
        const u32 sc = two<Turn>(w.w[1], w.w[3]);
        const u32 mn = two<Turn>(w.w[2], w.w[3] >> 4);
        const float d = half_to_float(w.w[0]);

        store_scale(lds, row, part<Turn, 0>() * d * (float)(sc & 255));
        store_scale(lds, Lds::row_slot + row,
                    part<Turn, 1>() * d * (float)(sc >> 8));
        lds.x_half[Turn % Lds::half_turns * Lds::x_half_slot + row] =
            two_halves(mn);
        if (Turn == 0)
            lds.x_min[row] = half_to_float(w.w[0] >> 16);
    }

    /* the unit of F's quants */
    template <int Turn, int Pair> static DEV_MEMBER constexpr float part()
    {
        return 1 / (float)(1 << F::raised(Turn, Pair));
    }

    /* two bytes as numbers of f16; 0x64nn is 1024 + nn */
    static DEV_MEMBER u32 two_halves(u32 two)
    {
        typedef _Float16 Half2 __attribute__((ext_vector_type(2)));
        const u32 raised = __builtin_amdgcn_perm(0x64646464u, two, 0x04010400u);

        return bits_as<u32>(bits_as<Half2>(raised) - (Half2)1024);
    }
};

struct Q4_K_steps : Q4_K, HeadOnly {
    typedef KHeadSteps<Q4_K_steps> Head;
    struct Bytes {
        Words<4> qs;
    };

    static DEV_MEMBER constexpr int raised(int, int)
    {
        return 0;
    }

    template <int Turn, BlockPlace P>
    DEV void load_piece(Bytes &in, const u8 *b)
    {
        in.qs = load_words<4, vector_access(P)>(b + 16 + 32 * Turn);
    }

    template <int Turn> DEV void unpack(Bytes &in, int, u32 (&q)[8])
    {
        not_before(in.qs);
        unpack_nibbles(in.qs.w, 0, q);
    }
};

struct Q5_K_steps : Q5_K, HeadOnly {
    typedef KHeadSteps<Q5_K_steps> Head;
    struct Bytes {
        Words<4> qs, qh;
    };

    /* How far left of its place a pair's quants stay. In waves of 64 right
     * shifts take twice as long as left shifts, so two pairs are not shifted
     * down. */
    static DEV_MEMBER constexpr int raised(int turn, int pair)
    {
        if (!KPK_WMMA_WIDE)
            return 0;
        return turn == 2 && pair == 1 ? 1 : turn == 3 && pair == 0 ? 2 : 0;
    }

    template <int Turn, BlockPlace P>
    DEV void load_piece(Bytes &in, const u8 *b)
    {
        in.qs = load_words<4, vector_access(P)>(b + 48 + 32 * Turn);
        if (Turn == 0)
            in.qh = load_words<4, vector_access(P)>(b + 16);
    }

    template <int Turn> DEV void unpack(Bytes &in, int, u32 (&q)[8])
    {
        not_before(in.qs);
        if (Turn == 0)
            not_before(in.qh);
        UNROLL
        for (int i = 0; i < 4; i++) {
            q[i] = pair<Turn, 0>(in.qs.w[i], in.qh.w[i]);
            q[4 + i] = pair<Turn, 1>(in.qs.w[i], in.qh.w[i]);
        }
    }

    /* A rotation brings the fifth bits to their places. */
    template <int Turn, int Pair> static DEV_MEMBER u32 pair(u32 qs, u32 qh)
    {
        constexpr int up = raised(Turn, Pair);
        constexpr u32 from = (u32)(2 * Turn + Pair - 4 - up);

        return ((Pair ? qs >> (4 - up) : qs << up) & 0x0f0f0f0fu << up) |
               (rotate_right(qh, from) & 0x10101010u << up);
    }
};

/* Each byte of Bytes times v; every product is a byte. RDNA's products of 24
 * bits take a quarter of the cycles that products of 32 bits take. */
template <u32 Bytes> DEV u32 byte_products(u32 v)
{
#if KPK_WMMA_WIDE
    u32 upper = (Bytes >> 8) * v;

    asm("" : "+v"(upper)); /* keeps the compiler from merging the products */
    return (upper << 8) + (Bytes & 255) * v;
#else
    return Bytes * v;
#endif
}

struct Q2_K_steps : Q2_K_folded {
    typedef NoHead Head;
    struct Bytes {
        Words<4> qs, sc;
        u32 dm;
    };

    template <BlockPlace P> DEV void load_row(Bytes &in, const u8 *b)
    {
        in.sc = load_words<4, Access::word>(b);
        in.dm = load_word<Access::word>(b + 80);
    }

    template <int Turn, BlockPlace P>
    DEV void load_piece(Bytes &in, const u8 *b)
    {
        if (Turn % 2 == 0)
            in.qs = load_words<4, Access::word>(b + 16 + 16 * Turn);
    }

    /* sc and mn of group 0 in byte 0, of group 1 in byte 2 */
    template <int Turn> DEV u32 pairs(const Bytes &in, int piece)
    {
        return in.sc.w[Turn] >> (8 * piece);
    }

    template <int Turn> DEV void unpack(Bytes &in, int piece, u32 (&q)[8])
    {
        if (Turn == 0)
            not_before(in.sc);
        if (Turn % 2 == 0)
            not_before(in.qs);
        UNROLL
        for (int g = 0; g < 2; g++) {
            const u32 products = byte_products<0x03020100u>(
                pairs<Turn>(in, piece) >> (16 * g) & 15);

            UNROLL
            for (int i = 0; i < 4; i++)
                q[4 * g + i] = __builtin_amdgcn_perm(
                    0, products,
                    in.qs.w[i] >> (4 * (Turn % 2) + 2 * g) & 0x03030303u);
        }
    }

    template <int Turn, class Lds>
    DEV void store(Lds &lds, const Bytes &in, int row, int piece)
    {
        const float dmin = half_to_float(in.dm >> 16);

        if (Turn == 0)
            store_scale(lds, row, half_to_float(in.dm));
        UNROLL
        for (int g = 0; g < 2; g++)
            lds.x_bias[Lds::bias_at(g, piece) + row] =
                -dmin * (float)(pairs<Turn>(in, piece) >> (16 * g + 4) & 15);
    }
};

struct Q3_K_steps : Q3_K_folded {
    typedef NoHead Head;
    struct Bytes {
        Words<4> qs, hmask;
        Words<3> sc; /* low of 0..3 and 4..7, high */
        u16 d;
    };

    template <BlockPlace P> DEV void load_row(Bytes &in, const u8 *b)
    {
        in.sc = load_three(b + 96);
        in.d = load_u16(b + 108);
    }

    template <int Turn, BlockPlace P>
    DEV void load_piece(Bytes &in, const u8 *b)
    {
        if (Turn == 0)
            in.hmask = load_words<4, even_access(P)>(b);
        if (Turn % 2 == 0)
            in.qs = load_words<4, even_access(P)>(b + 32 + 16 * Turn);
    }

    template <int Turn> DEV void unpack(Bytes &in, int piece, u32 (&q)[8])
    {
        if (Turn == 0) {
            not_before(in.sc);
            not_before(in.hmask);
            UNROLL
            for (int i = 0; i < 3; i++)
                in.sc.w[i] >>= 8 * piece;
        }
        if (Turn % 2 == 0)
            not_before(in.qs);

        const u32 both = (in.sc.w[Turn % 2] >> (4 * (Turn / 2)) & 0x000f000fu) |
                         (in.sc.w[2] >> (2 * Turn) & 0x00030003u) << 4;

        UNROLL
        for (int g = 0; g < 2; g++) {
            const u32 sc = both >> (16 * g) & 63;
            /*
             * (32 - sc) times 0 to 3, and times -4 to -1: bytes that are raised
             * by 128 go neither below 0 nor above 255.
             */
            const u32 products =
                (0xe0c0a080u - byte_products<0x03020100u>(sc)) ^ 0x80808080u;
            const u32 less =
                (byte_products<0x01020304u>(sc) + 0x60402000u) ^ 0x80808080u;

            UNROLL
            for (int i = 0; i < 4; i++)
                q[4 * g + i] = __builtin_amdgcn_perm(
                    products, less,
                    raised(in.qs.w[i] >> (4 * (Turn % 2) + 2 * g),
                           in.hmask.w[i], 2 * Turn + g));
        }
    }

    template <int Turn, class Lds>
    DEV void store(Lds &lds, const Bytes &in, int row, int)
    {
        if (Turn == 0)
            store_scale(lds, row, -half_to_float(in.d));
    }
};

struct Q6_K_steps : Q6_K {
    typedef NoHead Head;
    struct Bytes {
        Words<4> ql, qh, sc;
        u16 d;
    };

    template <BlockPlace P> DEV void load_row(Bytes &in, const u8 *b)
    {
        in.sc = load_words<4, even_access(P)>(b + 192);
        in.d = load_u16(b + 208);
    }

    template <int Turn, BlockPlace P>
    DEV void load_piece(Bytes &in, const u8 *b)
    {
        in.ql = load_words<4, even_access(P)>(b + 32 * Turn);
        if (Turn % 2 == 0)
            in.qh = load_words<4, even_access(P)>(b + 128 + 16 * Turn);
    }

    template <int Turn> DEV void unpack(Bytes &in, int piece, u32 (&q)[8])
    {
        if (Turn == 0) {
            not_before(in.sc);
            UNROLL
            for (int i = 0; i < 4; i++)
                in.sc.w[i] >>= 8 * piece;
        }
        if (Turn % 2 == 0)
            not_before(in.qh);
        not_before(in.ql);
        if (KPK_WMMA_WIDE && Turn % 2 == 0) {
            UNROLL
            for (int i = 0; i < 4; i++)
                in.qh.w[i] ^= 0xaaaaaaaau;
        }
        UNROLL
        for (int i = 0; i < 4; i++) {
            const u32 high2 = in.qh.w[i] >> (2 * (Turn % 2));

            q[i] = KPK_WMMA_WIDE
                       ? times_four<Turn, 0>(in.ql.w[i] << 2, in.qh.w[i])
                       : quants(in.ql.w[i], high2);
            q[i + 4] = KPK_WMMA_WIDE
                           ? times_four<Turn, 4>(in.ql.w[i] >> 2, in.qh.w[i])
                           : quants(in.ql.w[i] >> 4, high2 >> 4);
        }
    }

    /* In waves of 64 quants are times 4: the highest of their bits, turned
     * round for both steps that share it, is then the sign, and none need be
     * taken off. */
    template <int Turn, int At>
    static DEV_MEMBER u32 times_four(u32 low4, u32 high)
    {
        return (low4 & 0x3c3c3c3cu) |
               (high << (6 - At - 2 * (Turn % 2)) & 0xc0c0c0c0u);
    }

    template <int Turn, class Lds>
    DEV void store(Lds &lds, const Bytes &in, int row, int piece)
    {
        UNROLL
        for (int g = 0; g < 2; g++) {
            const int at = (2 * g + piece) * Lds::row_slot + row;
            const float s =
                (KPK_WMMA_WIDE ? 0.25f : 1) * half_to_float(in.d) *
                (float)(i8)(in.sc.w[Turn / 2 * 2 + g] >> (16 * (Turn % 2)));

            store_scale(lds, at, s);
        }
    }
};

template <> struct ForTile<IQ4_XS> {
    typedef IQ4_XS_steps type;
};
template <> struct ForTile<Q2_K_folded> {
    typedef Q2_K_steps type;
};
template <> struct ForTile<Q3_K_folded> {
    typedef Q3_K_steps type;
};
template <> struct ForTile<Q4_K> {
    typedef Q4_K_steps type;
};
template <> struct ForTile<Q5_K> {
    typedef Q5_K_steps type;
};
template <> struct ForTile<Q6_K> {
    typedef Q6_K_steps type;
};
template <> constexpr bool tile_one_scale<Q2_K_steps> = true;
template <> constexpr bool tile_one_scale<Q3_K_steps> = true;

#if KPK_WMMA_WIDE
/*
 * Spreads bits 4 i to 4 i + 3 of high over the four bytes of a word, as bit At
 * of each byte. Callers mask the other bits. A 24-bit multiplication takes a
 * quarter of the cycles of a 32-bit one.
 */
template <int At> DEV u32 spread_four(u32 high, int i)
{
    const int up = At - 4 * i;

    return ((up > 0 ? high << up : high >> -up) & 15u << At) * 0x00204081u;
}

/* Quants times 8: a missing fifth bit takes off 128, the sign bit. The addition
 * inverts the fifth bit; carries end in the five bits above, which are not
 * full.
 */
struct Q5_0_wide : Q5_0_centred {
    DEV u32 missing(u32 high, int i)
    {
        return spread_four<7>(high, i) + 0x80808080u & 0x80808080u;
    }

    DEV Chunk unpack(const Raw &r, int)
    {
        Chunk c;
        const u32 *w = r.words.w;

        UNROLL
        for (int i = 0; i < 4; i++) {
            c.q[i] = (w[1 + i] << 3 & 0x78787878u) | missing(w[0], i);
            c.q[i + 4] = (w[1 + i] >> 1 & 0x78787878u) | missing(w[0], i + 4);
        }
        set_scale(c, 0.125f * half_to_float(r.half), 0.0f);
        return c;
    }
};

struct Q5_1_wide : Q5_1 {
    DEV Chunk unpack(const Raw &r, int)
    {
        Chunk c;
        const u32 *w = r.all.w;

        UNROLL
        for (int i = 0; i < 4; i++) {
            c.q[i] = (w[2 + i] & 0x0f0f0f0fu) |
                     (spread_four<4>(w[1], i) & 0x10101010u);
            c.q[i + 4] = (w[2 + i] >> 4 & 0x0f0f0f0fu) |
                         (spread_four<4>(w[1], i + 4) & 0x10101010u);
        }
        set_scale(c, half_to_float(w[0]), half_to_float(w[0] >> 16));
        return c;
    }
};

template <> struct ForTile<Q5_0_centred> {
    typedef Q5_0_wide type;
};
template <> struct ForTile<Q5_1> {
    typedef Q5_1_wide type;
};
#endif
