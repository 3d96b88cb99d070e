/*
 * iq.h - the GGUF formats of points in a grid: IQ2_XXS IQ2_XS IQ2_S IQ3_XXS
 * IQ3_S IQ1_S IQ1_M
 *
 * A block has 256 elements. IQ2 and IQ1 store eight adjacent elements as the
 * number of a grid point (grid_points.h); IQ3 stores four. IQ2 and IQ3 store a
 * sign for each element; IQ1 adds or subtracts 1/8 for eight elements at once.
 * Chunk c has elements 32 c to 32 c + 31.
 */
#pragma once

#include "gguf/block.h"
#include "gguf/grid_points.h"

/* ---- grids ----
 *
 * Tables of one word per point, computed by the compiler. A module contains
 * only the tables that it uses.
 */
constexpr u32 grid_words = 206; /* bits for 3^8 or 8^4 points */
struct GridBits {
    u32 w[grid_words];
};

/* The bit at which the code of coordinate e, 0 to 7, is stored. Coordinates 0
 * to 3 are quad 0 and 4 to 7 quad 1 of codes_of_quad(). */
DEV constexpr u32 code_shift(u32 e)
{
    return KPK_NVIDIA ? 4 * e : 8 * (e % 4) + 4 * (e / 4);
}

/* Each point has eight codes from 0 to 2. */
template <u32 Points> struct CodeGrid {
    u32 w[Points];

    constexpr explicit CodeGrid(const GridBits &bits) : w()
    {
        u32 n = 0;

        for (u32 p = 0; p < 6561; p++) {
            u32 rest = p;

            if ((bits.w[p / 32] >> (p % 32) & 1) == 0)
                continue;
            for (u32 e = 0; e < 8; e++, rest /= 3)
                w[n] |= rest % 3 << code_shift(e);
            n++;
        }
    }
};

/* Each point has four bytes: First + Step * digit, or Last for digit 7. */
template <u32 Points, u32 First, u32 Step, u32 Last> struct ByteGrid {
    u32 w[Points];

    constexpr explicit ByteGrid(const GridBits &bits) : w()
    {
        u32 n = 0;

        for (u32 p = 0; p < 4096; p++) {
            if ((bits.w[p / 32] >> (p % 32) & 1) == 0)
                continue;
            for (u32 e = 0; e < 4; e++) {
                const u32 digit = p >> (3 * e) & 7;

                w[n] |= (digit == 7 ? Last : First + Step * digit) << (8 * e);
            }
            n++;
        }
    }
};

static __device__ const CodeGrid<256> iq2_xxs_grid{{{GGUF_IQ2_XXS_POINTS}}};
static __device__ const CodeGrid<512> iq2_xs_grid{{{GGUF_IQ2_XS_POINTS}}};
static __device__ const CodeGrid<1024> iq2_s_grid{{{GGUF_IQ2_S_POINTS}}};
static __device__ const CodeGrid<2048> iq1_grid{{{GGUF_IQ1_POINTS}}};
static __device__ const ByteGrid<256, 4, 8, 62> iq3_xxs_grid{
    {{GGUF_IQ3_XXS_POINTS}}};
static __device__ const ByteGrid<512, 1, 2, 15> iq3_s_grid{
    {{GGUF_IQ3_S_POINTS}}};

/* the bytes of `values` that a quad's four codes choose */
DEV u32 values_of_quad(u32 values, u32 codes, int quad)
{
#if KPK_NVIDIA
    return __byte_perm(values, 0, codes >> (16 * quad));
#else
    return __builtin_amdgcn_perm(0, values, codes >> (4 * quad) & 0x0f0f0f0fu);
#endif
}

/* ---- signs ---- */

/* The bytes of v, 1 to 127; byte i is negated if bit i is set. */
DEV u32 with_signs(u32 v, u32 bits)
{
    const u32 ones = spread_bits(bits);

    return (v ^ ones * 255) + ones;
}

/* The signs of eight elements. The number of negative ones is even, so the last
 * sign follows from the seven stored ones. */
DEV u32 even_signs(u32 seven)
{
    seven &= 127;
    return seven | ((u32)__popc(seven) & 1) << 7;
}

/* ---- formats ---- */

/*
 * F gives quants(raw, i), those of quad i of a chunk, and scale(raw, chunk, g).
 * Which words they take may depend on the lane: they choose words by shifts,
 * and by conditions.
 */
template <class F> struct GridBlock : ScaledBlock {
    static constexpr int elems = 256, chunks = 8;

    template <class Raw> DEV Chunk unpack(const Raw &r, int chunk)
    {
        Chunk c;

        UNROLL
        for (int i = 0; i < 8; i++)
            c.q[i] = F::quants(r, i);
        UNROLL
        for (int g = 0; g < 2; g++) {
            c.scale[g] = F::scale(r, chunk, g);
            c.bias[g] = 0.0f;
        }
        return c;
    }

    template <BlockPlace P> DEV Quad quad(const u8 *b, int chunk, int g, int i)
    {
        const typename F::Raw r = F::template load<P>(b, chunk);

        return {F::quants(r, 4 * g + i), F::scale(r, chunk, g), 0.0f};
    }
};

/* (2 n + 1) units of d, for the n of some bits */
DEV float odd_scale(u32 d, u32 n, float unit)
{
    return half_to_float(d) * ((float)(2 * n + 1) * unit);
}

/* field i of `bits` bits of two words */
DEV u32 field_of(const Words<2> &words, int i, int bits)
{
    const int in_word = 32 / bits;

    return (i < in_word ? words.w[0] : words.w[1]) >> (i % in_word * bits) &
           ((1u << bits) - 1);
}

/* 8, 25 and 43 */
DEV u32 iq2_quants(u32 point, int i, u32 signs)
{
    return with_signs(values_of_quad(0x2b1908u, point, i % 2),
                      signs >> (4 * (i % 2)));
}

/*
 * Bytes: 0 d:f16; 2 eight bytes for each chunk. d * (2 n + 1) / 8 * q
 * A chunk has a byte for each of its four points, then a word with seven signs
 * for each point and n in its top four bits.
 */
struct IQ2_XXS : GridBlock<IQ2_XXS> {
    static constexpr int bytes = 66, scale_width = 32;

    struct Raw {
        Words<2> w;
        u32 d;
    };

    template <BlockPlace P> DEV Raw load(const u8 *b, int chunk)
    {
        return {load_words<2, even_access(P)>(b + 2 + 8 * chunk), load_u16(b)};
    }

    DEV u32 quants(const Raw &r, int i)
    {
        return iq2_quants(iq2_xxs_grid.w[r.w.w[0] >> (i / 2 * 8) & 255], i,
                          even_signs(r.w.w[1] >> (i / 2 * 7)));
    }

    DEV float scale(const Raw &r, int, int)
    {
        return odd_scale(r.d, r.w.w[1] >> 28, 0.125f);
    }
};

/*
 * Bytes: 0 d:f16; 2 points:u16; 66 scales. d * (2 n + 1) / 8 * q
 * A point's low nine bits are its number, the others seven signs. A scale's
 * nibbles are n of a chunk's groups.
 */
struct IQ2_XS : GridBlock<IQ2_XS> {
    static constexpr int bytes = 74, scale_width = 16;

    struct Raw {
        Words<2> points;
        u32 d, scales;
    };

    template <BlockPlace P> DEV Raw load(const u8 *b, int chunk)
    {
        return {load_words<2, even_access(P)>(b + 2 + 8 * chunk), load_u16(b),
                b[66 + chunk]};
    }

    DEV u32 quants(const Raw &r, int i)
    {
        const u32 point = field_of(r.points, i / 2, 16);

        return iq2_quants(iq2_xs_grid.w[point & 511], i,
                          even_signs(point >> 9));
    }

    DEV float scale(const Raw &r, int, int g)
    {
        return odd_scale(r.d, r.scales >> (4 * g) & 15, 0.125f);
    }
};

/*
 * Bytes: 0 d:f16; 2 low; 34 signs; 66 high; 74 scales. d * (2 n + 1) / 8 * q
 * A point's number has a byte of low, and two bits more of its chunk's byte of
 * high. Scales as in IQ2_XS.
 */
struct IQ2_S : GridBlock<IQ2_S> {
    static constexpr int bytes = 82, scale_width = 16;

    struct Raw {
        u32 low, signs, high, d, scales;
    };

    template <BlockPlace P> DEV Raw load(const u8 *b, int chunk)
    {
        constexpr Access A = even_access(P);

        return {load_word<A>(b + 2 + 4 * chunk),
                load_word<A>(b + 34 + 4 * chunk), b[66 + chunk], load_u16(b),
                b[74 + chunk]};
    }

    DEV u32 quants(const Raw &r, int i)
    {
        const u32 number =
            (r.low >> (i / 2 * 8) & 255) | (r.high >> (i / 2 * 2) & 3) << 8;

        return iq2_quants(iq2_s_grid.w[number], i, r.signs >> (i / 2 * 8));
    }

    DEV float scale(const Raw &r, int, int g)
    {
        return odd_scale(r.d, r.scales >> (4 * g) & 15, 0.125f);
    }
};

/*
 * Bytes: 0 d:f16; 2 points; 66 a word for each chunk. d * (2 n + 1) / 4 * q
 * The word has seven signs for every two points, and n in its top four bits.
 */
struct IQ3_XXS : GridBlock<IQ3_XXS> {
    static constexpr int bytes = 98, scale_width = 32;

    struct Raw {
        Words<2> points;
        u32 signs, d;
    };

    template <BlockPlace P> DEV Raw load(const u8 *b, int chunk)
    {
        constexpr Access A = even_access(P);

        return {load_words<2, A>(b + 2 + 8 * chunk),
                load_word<A>(b + 66 + 4 * chunk), load_u16(b)};
    }

    DEV u32 quants(const Raw &r, int i)
    {
        return with_signs(iq3_xxs_grid.w[field_of(r.points, i, 8)],
                          even_signs(r.signs >> (i / 2 * 7)) >> (i % 2 * 4));
    }

    DEV float scale(const Raw &r, int, int)
    {
        return odd_scale(r.d, r.signs >> 28, 0.25f);
    }
};

/*
 * Bytes: 0 d:f16; 2 low; 66 high; 74 signs; 106 scales. d * (2 n + 1) * q
 * A point's number has a byte of low, and a bit more of its chunk's byte of
 * high. A scale's nibbles are n of two chunks.
 */
struct IQ3_S : GridBlock<IQ3_S> {
    static constexpr int bytes = 110, scale_width = 32;

    struct Raw {
        Words<2> low;
        u32 signs, high, d, scales;
    };

    template <BlockPlace P> DEV Raw load(const u8 *b, int chunk)
    {
        constexpr Access A = even_access(P);

        return {load_words<2, A>(b + 2 + 8 * chunk),
                load_word<A>(b + 74 + 4 * chunk), b[66 + chunk], load_u16(b),
                b[106 + chunk / 2]};
    }

    DEV u32 quants(const Raw &r, int i)
    {
        const u32 number = field_of(r.low, i, 8) | (r.high >> i & 1) << 8;

        return with_signs(iq3_s_grid.w[number], r.signs >> (4 * i));
    }

    DEV float scale(const Raw &r, int chunk, int)
    {
        return odd_scale(r.d, r.scales >> (chunk % 2 * 4) & 15, 1.0f);
    }
};

/* Eight times -1, 0 and 1, and 1 more or, if `less`, 1 less. */
DEV u32 iq1_quants(u32 number, int i, bool less)
{
    return values_of_quad(less ? 0x07fff7u : 0x0901f9u, iq1_grid.w[number],
                          i % 2);
}

/*
 * Bytes: 0 d:f16; 2 low; 34 high:u16. d * (2 n + 1) / 8 * q
 * A point's number has a byte of low, and three bits more of its chunk's high,
 * from bit 0 on. n is three bits from bit 12 on; bit 15 tells whether quants
 * are 1 less.
 */
struct IQ1_S : GridBlock<IQ1_S> {
    static constexpr int bytes = 50, scale_width = 32;

    struct Raw {
        u32 low, high, d;
    };

    template <BlockPlace P> DEV Raw load(const u8 *b, int chunk)
    {
        return {load_word<even_access(P)>(b + 2 + 4 * chunk),
                load_u16(b + 34 + 2 * chunk), load_u16(b)};
    }

    DEV u32 quants(const Raw &r, int i)
    {
        return iq1_quants((r.low >> (i / 2 * 8) & 255) |
                              (r.high >> (i / 2 * 3) & 7) << 8,
                          i, (r.high & 0x8000) != 0);
    }

    DEV float scale(const Raw &r, int, int)
    {
        return odd_scale(r.d, r.high >> 12 & 7, 0.125f);
    }
};

/*
 * Bytes: 0 low; 32 high; 48 scales:u16. d * (2 n + 1) / 8 * q
 * A point's number has a byte of low, and three bits more of its nibble of
 * high, whose top bit tells whether quants are 1 less. The top nibbles of the
 * four scales are d; each has n of two chunks' groups below, three bits each.
 */
struct IQ1_M : GridBlock<IQ1_M> {
    static constexpr int bytes = 56, scale_width = 16;

    struct Raw {
        u32 low, high;
        Words<2> scales;
    };

    template <BlockPlace P> DEV Raw load(const u8 *b, int chunk)
    {
        return {load_word<Access::word>(b + 4 * chunk),
                load_u16(b + 32 + 2 * chunk),
                load_words<2, Access::word>(b + 48)};
    }

    DEV u32 quants(const Raw &r, int i)
    {
        const u32 high = r.high >> (i / 2 * 4);

        return iq1_quants((r.low >> (i / 2 * 8) & 255) | (high & 7) << 8, i,
                          (high & 8) != 0);
    }

    DEV float scale(const Raw &r, int chunk, int g)
    {
        const u32 *w = r.scales.w;
        const u32 d = (w[0] >> 12 & 0x000f) | (w[0] >> 24 & 0x00f0) |
                      (w[1] >> 4 & 0x0f00) | (w[1] >> 16 & 0xf000);

        return odd_scale(
            d,
            field_of(r.scales, chunk / 2, 16) >> (6 * (chunk % 2) + 3 * g) & 7,
            0.125f);
    }
};
