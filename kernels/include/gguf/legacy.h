/* legacy.h - the GGUF formats of 32 elements: Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 */
#pragma once

#include "gguf/block.h"

/* A block has one scale and is a single chunk. Nibbles: byte i holds element i
 * in its low half, element i + 16 in its high half. */
struct LegacyBlock {
    static constexpr int elems = 32, chunks = 1, scale_width = 32;
    static constexpr int group_step = 1;
    static constexpr float bias_factor = 0;
    static constexpr int vec_offset = 0;

    DEV int first_group(int)
    {
        return 0;
    }
};

/* The nibbles of 16 bytes; bit i of high is the fifth bit of element i. */
DEV void unpack_nibbles(const u32 (&qs)[4], u32 high, u32 (&q)[8])
{
    UNROLL
    for (int i = 0; i < 4; i++) {
        q[i] = (qs[i] & 0x0f0f0f0fu) | spread_bits(high >> (4 * i)) << 4;
        q[i + 4] =
            (qs[i] >> 4 & 0x0f0f0f0fu) | spread_bits(high >> (4 * i + 16)) << 4;
    }
}

/* the quants of quad i of group g, whose nibbles are in w and fifth bits in
 * high */
DEV u32 quad_nibbles(u32 w, u32 high, int g, int i)
{
    return (w >> (4 * g) & 0x0f0f0f0fu) | spread_bits(high >> (16 * g + 4 * i))
                                              << 4;
}

/* Bytes: 0 d:f16; 2 qs. d * (n - 8) */
struct Q4_0 : LegacyBlock {
    static constexpr int bytes = 18;
    static constexpr float bias_factor = -8;
    static constexpr Bias vec_bias = Bias::stored_sum;
    static constexpr Bias tile_bias = Bias::stored_sum;

    typedef HalfWords<4> Raw; /* d, qs */

    template <BlockPlace P> DEV Raw load(const u8 *b, int)
    {
        return load_half_words<4, even_access(P)>(b);
    }

    DEV Chunk unpack(const Raw &r, int)
    {
        Chunk c;
        float d = half_to_float(r.half);

        unpack_nibbles(r.words.w, 0, c.q);
        set_scale(c, d, bias_factor * d);
        return c;
    }

    template <BlockPlace P> DEV Quad quad(const u8 *b, int, int g, int i)
    {
        u32 w = load_word<Access::even>(b + 2 + 4 * i);
        float d = half_to_float(load_u16(b));

        return {w >> (4 * g) & 0x0f0f0f0fu, d, bias_factor * d};
    }
};

/* Bytes: 0 d:f16; 2 m:f16; 4 qs. d * n + m */
struct Q4_1 : LegacyBlock {
    static constexpr int bytes = 20;
    static constexpr Bias vec_bias = Bias::stored_sum;
    static constexpr Bias tile_bias = Bias::stored_sum;

    struct Raw {
        Words<4> qs;
        u32 dm;
    };

    template <BlockPlace P> DEV Raw load(const u8 *b, int)
    {
        return {load_words<4, Access::word>(b + 4), load_word<Access::word>(b)};
    }

    DEV Chunk unpack(const Raw &r, int)
    {
        Chunk c;

        unpack_nibbles(r.qs.w, 0, c.q);
        set_scale(c, half_to_float(r.dm), half_to_float(r.dm >> 16));
        return c;
    }

    template <BlockPlace P> DEV Quad quad(const u8 *b, int, int g, int i)
    {
        u32 w = load_word<Access::word>(b + 4 + 4 * i);

        return {w >> (4 * g) & 0x0f0f0f0fu, half_to_float(load_u16(b)),
                half_to_float(load_u16(b + 2))};
    }
};

/* Bytes: 0 d:f16; 2 qh:u32; 6 qs. d * (n5 - 16); bit e of qh is the fifth bit
 * of element e */
struct Q5_0 : LegacyBlock {
    static constexpr int bytes = 22;
    static constexpr float bias_factor = -16;
    static constexpr Bias vec_bias = Bias::stored_sum;

    typedef HalfWords<5> Raw; /* d, qh, qs */

    template <BlockPlace P> DEV Raw load(const u8 *b, int)
    {
        return load_half_words<5, even_access(P)>(b);
    }

    DEV Chunk unpack(const Raw &r, int)
    {
        Chunk c;
        float d = half_to_float(r.half);
        const u32 *w = r.words.w;
        const u32 qs[4] = {w[1], w[2], w[3], w[4]};

        unpack_nibbles(qs, w[0], c.q);
        set_scale(c, d, bias_factor * d);
        return c;
    }

    template <BlockPlace P> DEV Quad quad(const u8 *b, int, int g, int i)
    {
        u32 qh = load_word<Access::even>(b + 2);
        u32 w = load_word<Access::even>(b + 6 + 4 * i);
        float d = half_to_float(load_u16(b));

        return {quad_nibbles(w, qh, g, i), d, bias_factor * d};
    }
};

/* Q5_0 for tiled products, which centre the quants and need no bias */
struct Q5_0_centred : Q5_0 {
    static constexpr Bias tile_bias = Bias::none;

    DEV Chunk unpack(const Raw &r, int chunk)
    {
        Chunk c = Q5_0::unpack(r, chunk);

        UNROLL
        for (int i = 0; i < 8; i++)
            c.q[i] = sub_bytes(c.q[i], 0x10101010u);
        return c;
    }

    template <BlockPlace P> DEV Quad quad(const u8 *b, int chunk, int g, int i)
    {
        const Quad q = Q5_0::quad<P>(b, chunk, g, i);

        return {sub_bytes(q.q, 0x10101010u), q.scale, 0.0f};
    }
};

/* Bytes: 0 d:f16; 2 m:f16; 4 qh:u32; 8 qs. d * n5 + m */
struct Q5_1 : LegacyBlock {
    static constexpr int bytes = 24;
    static constexpr Bias vec_bias = Bias::stored_sum;
    static constexpr Bias tile_bias = Bias::stored_sum;

    struct Raw {
        Words<6> all;
    };

    template <BlockPlace P> DEV Raw load(const u8 *b, int)
    {
        return {load_words<6, Access::word>(b)};
    }

    DEV Chunk unpack(const Raw &r, int)
    {
        Chunk c;
        const u32 *w = r.all.w;
        const u32 qs[4] = {w[2], w[3], w[4], w[5]};

        unpack_nibbles(qs, w[1], c.q);
        set_scale(c, half_to_float(w[0]), half_to_float(w[0] >> 16));
        return c;
    }

    template <BlockPlace P> DEV Quad quad(const u8 *b, int, int g, int i)
    {
        u32 qh = load_word<Access::word>(b + 4);
        u32 w = load_word<Access::word>(b + 8 + 4 * i);

        return {quad_nibbles(w, qh, g, i), half_to_float(load_u16(b)),
                half_to_float(load_u16(b + 2))};
    }
};

/* Bytes: 0 d:f16; 2 qs:i8. d * q */
struct Q8_0 : LegacyBlock {
    static constexpr int bytes = 34;
    static constexpr Bias vec_bias = Bias::none;
    static constexpr Bias tile_bias = Bias::none;

    typedef HalfWords<8> Raw; /* d, qs */

    template <BlockPlace P> DEV Raw load(const u8 *b, int)
    {
        return load_half_words<8, even_access(P)>(b);
    }

    DEV Chunk unpack(const Raw &r, int)
    {
        Chunk c;

        UNROLL
        for (int i = 0; i < 8; i++)
            c.q[i] = r.words.w[i];
        set_scale(c, half_to_float(r.half), 0.0f);
        return c;
    }

    template <BlockPlace P> DEV Quad quad(const u8 *b, int, int g, int i)
    {
        return {load_word<Access::even>(b + 2 + 16 * g + 4 * i),
                half_to_float(load_u16(b)), 0.0f};
    }
};
