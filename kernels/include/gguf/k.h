/* k.h - the GGUF formats of 256 elements: Q2_K Q3_K Q4_K Q5_K Q6_K Q8_K */
#pragma once

#include "gguf/block.h"

/* The bit fields of one byte belong to elements 32 apart. A chunk is the fields
 * of 16 neighbouring bytes: group 1 lies 32 elements behind group 0. */
struct KBlock {
    static constexpr int elems = 256, chunks = 8, group_step = 2;
    static constexpr int vec_offset = 0;

    DEV int first_group(int chunk)
    {
        return 4 * (chunk >> 1) + (chunk & 1);
    }
};

/*
 * Bytes: 0 scales; 16 qs; 80 d:f16; 82 dmin:f16. d * sc * q - dmin * mn
 * Element e: bits 2 * (e / 32 % 4) of qs[32 * (e / 128) + e % 32];
 * its sc and mn are the low and the high nibble of scales[e / 16].
 */
struct Q2_K : KBlock {
    static constexpr int bytes = 84, scale_width = 16;
    static constexpr Bias vec_bias = Bias::quant_sum;
    static constexpr Bias tile_bias = Bias::quant_sum;

    struct Raw {
        Words<4> qs;
        u32 dm;
        u32 sc; /* bytes 0 and 2: a group's scale and minimum */
    };

    template <BlockPlace P> DEV Raw load(const u8 *b, int chunk)
    {
        return {load_words<4, Access::word>(b + 16 + 32 * (chunk >> 2) +
                                            16 * (chunk & 1)),
                load_word<Access::word>(b + 80),
                load_word<Access::word>(b + 4 * (chunk >> 1)) >>
                    (8 * (chunk & 1))};
    }

    DEV Chunk unpack(const Raw &r, int chunk)
    {
        Chunk c;
        float d = half_to_float(r.dm);
        float dmin = half_to_float(r.dm >> 16);

        UNROLL
        for (int g = 0; g < 2; g++) {
            c.scale[g] = d * (float)(r.sc >> (16 * g) & 15);
            c.bias[g] = -dmin * (float)(r.sc >> (16 * g + 4) & 15);
        }
        UNROLL
        for (int i = 0; i < 4; i++) {
            u32 w = r.qs.w[i] >> (2 * (chunk & 2));

            c.q[i] = w & 0x03030303u;
            c.q[i + 4] = w >> 2 & 0x03030303u;
        }
        return c;
    }

    template <BlockPlace P> DEV Quad quad(const u8 *b, int chunk, int g, int i)
    {
        u32 w = load_word<Access::word>(b + 16 + 32 * (chunk >> 2) +
                                        16 * (chunk & 1) + 4 * i);
        int sc = b[first_group(chunk) + g * group_step];

        return {w >> (2 * ((chunk & 2) + g)) & 0x03030303u,
                half_to_float(load_u16(b + 80)) * (float)(sc & 15),
                -half_to_float(load_u16(b + 82)) * (float)(sc >> 4)};
    }
};

/*
 * Bytes: 0 hmask; 32 qs; 96 scales; 108 d:f16. d * sc * q
 * Element e: two bits as in Q2_K, the third is bit e / 32 of hmask[e % 32];
 * q is the three bits less 4. scales: scale() below.
 */
struct Q3_K : KBlock {
    static constexpr int bytes = 110, scale_width = 16;
    static constexpr Bias vec_bias = Bias::none;
    static constexpr Bias tile_bias = Bias::none;

    struct Raw {
        Words<4> qs, hmask;
        u32 low;       /* scales 4 a to 4 a + 3 have their low four bits here */
        Words<2> high; /* from byte 2 on scales[8..11], then d */
    };

    /* scale j: its low four bits in low = scales[j % 8], its high two in
     * high = scales[8 + j % 4], less 32 */
    DEV float scale(int low, int high, int j)
    {
        int low4 = low >> (4 * (j >> 3)) & 15;
        int high2 = high >> (2 * (j >> 2)) & 3;

        return (float)((low4 | high2 << 4) - 32);
    }

    /* quants + 4, from the low two bits of each byte of low and from bit `at`
     * of each byte of hmask */
    DEV u32 raised(u32 low, u32 hmask, int at)
    {
        return (low & 0x03030303u) |
               (rotate_right(hmask, (u32)at - 2) & 0x04040404u);
    }

    template <BlockPlace P> DEV Raw load(const u8 *b, int chunk)
    {
        constexpr Access A = even_access(P);

        return {load_words<4, A>(b + 32 + 32 * (chunk >> 2) + 16 * (chunk & 1)),
                load_words<4, A>(b + 16 * (chunk & 1)),
                load_word<A>(b + 96 + 4 * (chunk >> 1 & 1)),
                load_words<2, A>(b + 102)};
    }

    /* the scales of groups 0 and 1 in bytes 0 and 2, before 32 is subtracted */
    DEV u32 scales(const Raw &r, int chunk)
    {
        const int byte = 8 * (chunk & 1);
        const u32 high = r.high.w[0] >> 16 | r.high.w[1] << 16;

        return (r.low >> (byte + 4 * (chunk >> 2)) & 0x000f000fu) |
               (high >> (byte + (chunk & 6)) & 0x00030003u) << 4;
    }

    DEV float d(const Raw &r)
    {
        return half_to_float(r.high.w[1] >> 16);
    }

    /* with quants 0 to 7 */
    DEV Chunk unpack_raised(const Raw &r, int chunk)
    {
        Chunk c;
        const u32 sc = scales(r, chunk);

        UNROLL
        for (int g = 0; g < 2; g++) {
            c.scale[g] = d(r) * (float)((int)(sc >> (16 * g) & 63) - 32);
            c.bias[g] = 0.0f;
        }
        UNROLL
        for (int i = 0; i < 4; i++) {
            const u32 low = r.qs.w[i] >> (2 * (chunk & 2));

            c.q[i] = raised(low, r.hmask.w[i], chunk & 6);
            c.q[i + 4] = raised(low >> 2, r.hmask.w[i], (chunk & 6) + 1);
        }
        return c;
    }

    DEV Chunk unpack(const Raw &r, int chunk)
    {
        Chunk c = unpack_raised(r, chunk);

        UNROLL
        for (int i = 0; i < 8; i++)
            c.q[i] = sub_bytes(c.q[i], 0x04040404u);
        return c;
    }

    template <BlockPlace P> DEV Quad quad(const u8 *b, int chunk, int g, int i)
    {
        int j = first_group(chunk) + g * group_step;
        int l = 16 * (chunk & 1) + 4 * i;
        u32 w = load_word<Access::even>(b + 32 + 32 * (chunk >> 2) + l);
        u32 h = load_word<Access::even>(b + l);
        float sc = scale(b[96 + (j & 7)], b[104 + (j & 3)], j);

        return {
            sub_bytes(raised(w >> (2 * ((chunk & 2) + g)), h, (chunk & 6) + g),
                      0x04040404u),
            half_to_float(load_u16(b + 108)) * sc, 0.0f};
    }
};

/* Q3_K for mat-vec products: the sums of activations make up for the 4, once
 * for all rows */
struct Q3_K_raised : Q3_K {
    static constexpr int vec_offset = -4;

    DEV Chunk unpack(const Raw &r, int chunk)
    {
        return unpack_raised(r, chunk);
    }
};

template <> struct ForVec<Q3_K> {
    typedef Q3_K_raised type;
};

/*
 * Q2_K and Q3_K for tiled products on matrix units: a quant times its scale is
 * an integer of eight bits, so that 32 elements have one scale. v_perm takes
 * four elements at a time from a table of the scale's products.
 */
struct Q2_K_folded : Q2_K {
#if KPK_TARGET_MFMA || KPK_TARGET_WMMA
    static constexpr int scale_width = 32, bias_width = 16;

    DEV Chunk unpack(const Raw &r, int chunk)
    {
        Chunk c = Q2_K::unpack(r, chunk);

        UNROLL
        for (int g = 0; g < 2; g++) {
            const u32 products = 0x03020100u * (r.sc >> (16 * g) & 15);

            UNROLL
            for (int i = 4 * g; i < 4 * g + 4; i++)
                c.q[i] = __builtin_amdgcn_perm(0, products, c.q[i]);
            c.scale[g] = half_to_float(r.dm);
        }
        return c;
    }
#endif
};

/* -scale * q is -128 to 124, scale * q may be 128 */
struct Q3_K_folded : Q3_K {
#if KPK_TARGET_MFMA || KPK_TARGET_WMMA
    static constexpr int scale_width = 32;

    DEV Chunk unpack(const Raw &r, int chunk)
    {
        Chunk c;
        const u32 both = scales(r, chunk);

        UNROLL
        for (int g = 0; g < 2; g++) {
            const u32 sc = (both >> (16 * g) & 63) - 32;
            /* products with quants 0 to 3, and with -4 to -1 */
            const u32 products = table(sc, 0), less = table(sc, (u32)-4);

            UNROLL
            for (int i = 0; i < 4; i++) {
                c.q[4 * g + i] = __builtin_amdgcn_perm(
                    products, less,
                    raised(r.qs.w[i] >> (2 * ((chunk & 2) + g)), r.hmask.w[i],
                           (chunk & 6) + g));
            }
            c.scale[g] = -d(r);
            c.bias[g] = 0.0f;
        }
        return c;
    }

    /* bytes -sc * first, -sc * (first + 1), ... */
    DEV u32 table(u32 sc, u32 first)
    {
        u32 t = 0;

        UNROLL
        for (u32 i = 0; i < 4; i++)
            t |= (-sc * (first + i) & 255u) << (8 * i);
        return t;
    }
#endif
};

/*
 * The head that Q4_K and Q5_K share: 0 d:f16; 2 dmin:f16; 4 scales, eight pairs
 * of six bits in 12 bytes. Pairs 0..3 are the low six bits of bytes 0..3 (sc)
 * and 4..7 (mn); the top two bits of these bytes are the top bits of pairs
 * 4..7, whose low nibbles share bytes 8..11, sc low and mn high.
 */
struct KHead {
    Words<4> w;

    template <BlockPlace P> DEV KHead load(const u8 *b)
    {
        return {load_words<4, vector_access(P)>(b)};
    }

    /* pairs j and j + 1, j even, as bytes 0 and 1 of sc and mn */
    DEV_MEMBER void pairs(int j, u32 &sc, u32 &mn) const
    {
        int shift = 8 * (j & 2);
        u32 a = w.w[1] >> shift, b = w.w[2] >> shift, c = w.w[3] >> shift;

        /* no branch, which would delay the next chunk's loads */
        const u32 first = j < 4 ? 0xffffu : 0;

        sc = (a & 0x3f3fu & first) |
             (((c & 0x0f0fu) | (a >> 2 & 0x3030u)) & ~first);
        mn = (b & 0x3f3fu & first) |
             (((c >> 4 & 0x0f0fu) | (b >> 2 & 0x3030u)) & ~first);
    }

    /* pairs 0 to 3, or 4 to 7, as the bytes of sc and mn */
    DEV_MEMBER void four_pairs(bool last, u32 &sc, u32 &mn) const
    {
        sc = last ? (w.w[3] & 0x0f0f0f0fu) | (w.w[1] >> 2 & 0x30303030u)
                  : w.w[1] & 0x3f3f3f3fu;
        mn = last ? (w.w[3] >> 4 & 0x0f0f0f0fu) | (w.w[2] >> 2 & 0x30303030u)
                  : w.w[2] & 0x3f3f3f3fu;
    }

    DEV_MEMBER float d() const
    {
        return half_to_float(w.w[0]);
    }

    DEV_MEMBER float dmin() const
    {
        return half_to_float(w.w[0] >> 16);
    }

    /* scale and bias of both groups of a chunk */
    DEV_MEMBER void scales(int chunk, Chunk &c) const
    {
        u32 sc, mn;

        pairs(chunk & 6, sc, mn);
        c.scale[0] = d() * (float)(sc & 255);
        c.scale[1] = d() * (float)(sc >> 8 & 255);
        c.bias[0] = -dmin() * (float)(mn & 255);
        c.bias[1] = -dmin() * (float)(mn >> 8 & 255);
    }

    /* four quants of pair j */
    DEV_MEMBER Quad quad(u32 q, int j) const
    {
        u32 sc, mn;

        pairs(j & 6, sc, mn);
        return {q, d() * (float)(sc >> (8 * (j & 1)) & 255),
                -dmin() * (float)(mn >> (8 * (j & 1)) & 255)};
    }
};

/*
 * Bytes: 0 head; 16 qs. d * sc * q - dmin * mn
 * Element e: byte qs[32 * (e / 64) + e % 32], its low nibble if e / 32 is even,
 * else its high one; sc and mn are pair e / 32 of the head.
 */
struct Q4_K : KBlock {
    static constexpr int bytes = 144, scale_width = 32;
    static constexpr Bias vec_bias = Bias::quant_sum;
    static constexpr Bias tile_bias = Bias::stored_sum;

    struct Raw {
        KHead head;
        Words<4> qs;
    };

    template <BlockPlace P> DEV Raw load(const u8 *b, int chunk)
    {
        constexpr Access A = vector_access(P);
        return {KHead::load<P>(b), load_words<4, A>(b + 16 + 16 * chunk)};
    }

    DEV Chunk unpack(const Raw &r, int chunk)
    {
        Chunk c;

        r.head.scales(chunk, c);
        UNROLL
        for (int i = 0; i < 4; i++) {
            c.q[i] = r.qs.w[i] & 0x0f0f0f0fu;
            c.q[i + 4] = r.qs.w[i] >> 4 & 0x0f0f0f0fu;
        }
        return c;
    }

    template <BlockPlace P> DEV Quad quad(const u8 *b, int chunk, int g, int i)
    {
        u32 w = load_word<Access::word>(b + 16 + 16 * chunk + 4 * i);

        return KHead::load<P>(b).quad(w >> (4 * g) & 0x0f0f0f0fu,
                                      (chunk & 6) + g);
    }
};

/*
 * Bytes: 0 head; 16 qh; 48 qs. d * sc * q - dmin * mn
 * Element e: nibble as in Q4_K, the fifth bit is bit e / 32 of qh[e % 32].
 */
struct Q5_K : KBlock {
    static constexpr int bytes = 176, scale_width = 32;
    static constexpr Bias vec_bias = Bias::quant_sum;
    static constexpr Bias tile_bias = Bias::stored_sum;

    struct Raw {
        KHead head;
        Words<4> qs, qh;
    };

    DEV u32 quants(u32 low4, u32 high1)
    {
        return (low4 & 0x0f0f0f0fu) | (high1 & 0x01010101u) << 4;
    }

    template <BlockPlace P> DEV Raw load(const u8 *b, int chunk)
    {
        constexpr Access A = vector_access(P);
        return {KHead::load<P>(b), load_words<4, A>(b + 48 + 16 * chunk),
                load_words<4, A>(b + 16 + 16 * (chunk & 1))};
    }

    DEV Chunk unpack(const Raw &r, int chunk)
    {
        Chunk c;

        r.head.scales(chunk, c);
        UNROLL
        for (int i = 0; i < 4; i++) {
            u32 high1 = r.qh.w[i] >> (chunk & 6);

            c.q[i] = quants(r.qs.w[i], high1);
            c.q[i + 4] = quants(r.qs.w[i] >> 4, high1 >> 1);
        }
        return c;
    }

    template <BlockPlace P> DEV Quad quad(const u8 *b, int chunk, int g, int i)
    {
        int j = (chunk & 6) + g;
        u32 w = load_word<Access::word>(b + 48 + 16 * chunk + 4 * i);
        u32 h = load_word<Access::word>(b + 16 + 16 * (chunk & 1) + 4 * i);

        return KHead::load<P>(b).quad(quants(w >> (4 * g), h >> j), j);
    }
};

/*
 * Bytes: 0 ql; 128 qh; 192 scales:i8; 208 d:f16. d * sc * (q - 32)
 * Element e = 128 H + 32 t + l: nibble of ql[64 H + 32 (t % 2) + l], low where
 * t < 2, else high; the top two bits are bits 2 t of qh[32 H + l]; sc is
 * scales[e / 16]. Nibbles of a byte are 64 elements apart.
 */
struct Q6_K : KBlock {
    static constexpr int bytes = 210, scale_width = 16, group_step = 4;
    static constexpr Bias vec_bias = Bias::none;
    static constexpr Bias tile_bias = Bias::none;

    struct Raw {
        Words<4> ql, qh;
        u16 d;
        i8 sc[2];
    };

    DEV int first_group(int chunk)
    {
        return 8 * (chunk >> 2) + (chunk & 3);
    }

    /* Raised: without the -32 */
    template <bool Raised = false> DEV u32 quants(u32 low4, u32 high2)
    {
        const u32 q = (low4 & 0x0f0f0f0fu) | (high2 & 0x03030303u) << 4;

        return Raised ? q : sub_bytes(q, 0x20202020u);
    }

    template <BlockPlace P> DEV Raw load(const u8 *b, int chunk)
    {
        constexpr Access A = even_access(P);
        const u8 *sc = b + 192 + first_group(chunk);

        return {
            load_words<4, A>(b + 16 * chunk),
            load_words<4, A>(b + 128 + 32 * (chunk >> 2) + 16 * (chunk & 1)),
            load_u16(b + 208),
            {(i8)(sc[0]), (i8)(sc[group_step])}};
    }

    template <bool Raised = false> DEV Chunk unpack(const Raw &r, int chunk)
    {
        Chunk c;
        float d = half_to_float(r.d);

        UNROLL
        for (int g = 0; g < 2; g++) {
            c.scale[g] = d * (float)(r.sc[g]);
            c.bias[g] = 0.0f;
        }
        UNROLL
        for (int i = 0; i < 4; i++) {
            u32 high2 = r.qh.w[i] >> (chunk & 2);

            c.q[i] = quants<Raised>(r.ql.w[i], high2);
            c.q[i + 4] = quants<Raised>(r.ql.w[i] >> 4, high2 >> 4);
        }
        return c;
    }

    template <BlockPlace P> DEV Quad quad(const u8 *b, int chunk, int g, int i)
    {
        u32 w = load_word<Access::even>(b + 16 * chunk + 4 * i);
        u32 h = load_word<Access::even>(b + 128 + 32 * (chunk >> 2) +
                                        16 * (chunk & 1) + 4 * i);
        int j = first_group(chunk) + g * group_step;
        float sc = (float)((i8)b[192 + j]);

        return {quants(w >> (4 * g), h >> ((chunk & 2) + 4 * g)),
                half_to_float(load_u16(b + 208)) * sc, 0.0f};
    }
};

#if KPK_NVIDIA
/* Q6_K for mat-vec products, as Q3_K_raised */
struct Q6_K_raised : Q6_K {
    static constexpr int vec_offset = -32;

    DEV Chunk unpack(const Raw &r, int chunk)
    {
        return Q6_K::unpack<true>(r, chunk);
    }
};
template <> struct ForVec<Q6_K> {
    typedef Q6_K_raised type;
};
#endif

/* Bytes: 0 d:f32; 4 qs:i8; 260 sums, unused here. d * q; never for weights */
struct Q8_K {
    static constexpr int elems = 256, bytes = 292, group_step = 1;

    template <BlockPlace P> DEV Quad quad(const u8 *b, int chunk, int g, int i)
    {
        u32 d = load_word<Access::word>(b);

        return {load_word<Access::word>(b + 4 + 32 * chunk + 16 * g + 4 * i),
                bits_as<float>(d), 0.0f};
    }
};
