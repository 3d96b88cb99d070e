/* codes.h - the GGUF formats whose nibbles are codes: IQ4_NL IQ4_XS MXFP4
 * NVFP4 */
#pragma once

#include "gguf/legacy.h"

/* A table of 16 signed bytes: the values of codes 0..15, four to a word.
 */
struct Codes {
    u32 w[4];
};

DEV constexpr Codes iq4_codes() /* -127 to 113 */
{
    return {{0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u}};
}

/* twice the numbers of FP4 E2M1 */
DEV constexpr Codes fp4_codes() /* 0 to 12, and 0 to -12 */
{
    return {{0x03020100u, 0x0c080604u, 0xfdfeff00u, 0xf4f8fafcu}};
}

/* the table's values for the bytes of q, each below 16 */
DEV u32 decode(const Codes &t, u32 q)
{
#if KPK_NVIDIA
    /* a selector has four bits for a byte of the result, the first of
     * them the lowest byte's */
    const u32 pairs = (q | q >> 4) & 0x00ff00ffu;
    const u32 sel = (pairs | pairs >> 8) & 0xffffu;
    const u32 low = __byte_perm(t.w[0], t.w[1], sel & 0x7777u);
    const u32 high = __byte_perm(t.w[2], t.w[3], sel & 0x7777u);

    return __byte_perm(low, high, 0x3210u | (sel & 0x8888u) >> 1);
#else
    const u32 sel = q & 0x07070707u;
    const u32 low = __builtin_amdgcn_perm(t.w[1], t.w[0], sel);
    const u32 high = __builtin_amdgcn_perm(t.w[3], t.w[2], sel);

    /* byte i of low, or of high, which are bytes 4 + i */
    return __builtin_amdgcn_perm(high, low,
                                 0x03020100u | (q >> 1 & 0x04040404u));
#endif
}

/* a chunk of the nibbles of 16 bytes, by a table that decode() takes */
template <class Table>
DEV Chunk coded_chunk(const Table &t, const u32 (&qs)[4], float scale)
{
    Chunk c;

    unpack_nibbles(qs, 0, c.q);
    UNROLL
    for (int i = 0; i < 8; i++)
        c.q[i] = decode(t, c.q[i]);
    set_scale(c, scale, 0.0f);
    return c;
}

/* a quad of group g, whose nibbles are in w */
DEV Quad coded_quad(const Codes &t, u32 w, int g, float scale)
{
    return {decode(t, w >> (4 * g) & 0x0f0f0f0fu), scale, 0.0f};
}

/* Bytes: 0 d:f16; 2 qs. d * code */
struct IQ4_NL : LegacyBlock {
    static constexpr int bytes = 18;
    static constexpr Bias vec_bias = Bias::none;
    static constexpr Bias tile_bias = Bias::none;

    typedef HalfWords<4> Raw; /* d, qs */

    template <BlockPlace P> DEV Raw load(const u8 *b, int)
    {
        return load_half_words<4, even_access(P)>(b);
    }

    DEV Chunk unpack(const Raw &r, int)
    {
        return coded_chunk(iq4_codes(), r.words.w, half_to_float(r.half));
    }

    template <BlockPlace P> DEV Quad quad(const u8 *b, int, int g, int i)
    {
        return coded_quad(iq4_codes(), load_word<Access::even>(b + 2 + 4 * i),
                          g, half_to_float(load_u16(b)));
    }
};

/*
 * Bytes: 0 d:f16; 2 high:u16; 4 low; 8 qs. d * (sc - 32) * code
 * Eight groups of 32 elements, each with nibbles as in IQ4_NL. Group j's sc has
 * its low four bits in nibble j of low, its high two in bits 2 j of high.
 */
struct IQ4_XS : ScaledBlock {
    static constexpr int elems = 256, chunks = 8;
    static constexpr int bytes = 136, scale_width = 32;

    struct Raw {
        Words<4> qs;
        Words<2> head;
    };

    DEV float scale(const Words<2> &head, int chunk)
    {
        const u32 low = head.w[1] >> (4 * chunk) & 15;
        const u32 high = head.w[0] >> (16 + 2 * chunk) & 3;

        return half_to_float(head.w[0]) * (float)((int)(low | high << 4) - 32);
    }

    template <BlockPlace P> DEV Raw load(const u8 *b, int chunk)
    {
        return {load_words<4, Access::word>(b + 8 + 16 * chunk),
                load_words<2, Access::word>(b)};
    }

    DEV Chunk unpack(const Raw &r, int chunk)
    {
        return coded_chunk(iq4_codes(), r.qs.w, scale(r.head, chunk));
    }

    template <BlockPlace P> DEV Quad quad(const u8 *b, int chunk, int g, int i)
    {
        const u32 w = load_word<Access::word>(b + 8 + 16 * chunk + 4 * i);

        return coded_quad(iq4_codes(), w, g,
                          scale(load_words<2, Access::word>(b), chunk));
    }
};

/*
 * Bytes: 0 e:u8; 1 qs. 2^(e - 128) * code; a code is twice OCP's number
 * Blocks may begin at odd addresses. e = 255 is NaN for OCP and a number for
 * GGUF. Tiled products multiply the block's scale by up to 2^24 before the
 * column's scale, which overflows for e above 230.
 */
struct MXFP4 : LegacyBlock {
    static constexpr int bytes = 17;
    static constexpr Bias vec_bias = Bias::none;
    static constexpr Bias tile_bias = Bias::none;

    struct Raw {
        Words<4> qs;
        u32 e;
    };

    DEV float scale(u32 e)
    {
        return bits_as<float>(e < 2 ? 0x00200000u << e : (e - 1) << 23);
    }

    template <BlockPlace P> DEV Raw load(const u8 *b, int)
    {
        return {load_words<4, byte_access(P)>(b + 1), b[0]};
    }

    DEV Chunk unpack(const Raw &r, int)
    {
        return coded_chunk(fp4_codes(), r.qs.w, scale(r.e));
    }

    template <BlockPlace P> DEV Quad quad(const u8 *b, int, int g, int i)
    {
        return coded_quad(fp4_codes(), load_word<Access::byte>(b + 1 + 4 * i),
                          g, scale(b[0]));
    }
};

/*
 * Bytes: 0 scales; 4 qs. scale * code
 * Four groups of 16 elements, each with eight bytes of nibbles: the low ones
 * are its first eight elements. A scale is half of what FP8 E4M3 means by the
 * low seven bits of its byte, since a code is twice OCP's number; the byte
 * 0x7f, a NaN there, is 0 here.
 */
struct NVFP4 : ScaledBlock {
    static constexpr int elems = 64, chunks = 2;
    static constexpr int bytes = 36, scale_width = 16;

    struct Raw {
        Words<4> qs;
        u32 scales;
    };

    /* of group `group` of the block; f32 has the same subnormal numbers, but
     * for its exponents */
    DEV float scale(u32 scales, int group)
    {
        const u32 byte = scales >> (8 * group) & 255;

        return byte == 0x7f ? 0.0f
                            : bits_as<float>((byte & 0x7f) << 20) * 0x1p119f;
    }

    template <BlockPlace P> DEV Raw load(const u8 *b, int chunk)
    {
        return {load_words<4, Access::word>(b + 4 + 16 * chunk),
                load_word<Access::word>(b)};
    }

    DEV Chunk unpack(const Raw &r, int chunk)
    {
        Chunk c;

        UNROLL
        for (int g = 0; g < 2; g++) {
            UNROLL
            for (int i = 0; i < 4; i++)
                c.q[4 * g + i] =
                    decode(fp4_codes(),
                           r.qs.w[2 * g + i % 2] >> (i / 2 * 4) & 0x0f0f0f0fu);
            c.scale[g] = scale(r.scales, 2 * chunk + g);
            c.bias[g] = 0.0f;
        }
        return c;
    }

    template <BlockPlace P> DEV Quad quad(const u8 *b, int chunk, int g, int i)
    {
        const u32 w =
            load_word<Access::word>(b + 4 + 16 * chunk + 8 * g + i % 2 * 4);

        return coded_quad(fp4_codes(), w, i / 2,
                          scale(load_word<Access::word>(b), 2 * chunk + g));
    }
};
