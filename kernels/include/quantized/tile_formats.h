/* tile_formats.h - what tiles of raw columns (tile.h) unpack in another way */
#pragma once

#include "gguf/codes.h"
#include "gguf/k.h"

/* The form of F that they take. */
template <class F> struct ForTile {
    typedef F type;
};

/*
 * A table of codes for v_perm, which looks up eight bytes and makes other
 * numbers of 8 to 15: the sign of byte 1, 3, 5 or 7 in all bits, 0, and three
 * times all bits. So one half looks up q and the other q ^ 8, and the exclusive
 * or of both is right if each has the other's number for 8 + i in its byte i.
 */
DEV constexpr Codes crossed(const Codes &t)
{
    u32 byte[16] = {}, sign[16] = {};
    Codes r = {};

    /* a byte needs the sign of a higher one: from the top down */
    for (int i = 7; i >= 0; i--)
        for (int h = 0; h < 16; h += 8) {
            const int from = i < 4 ? (h ^ 8) + 2 * i + 1 : 0;
            const u32 other = i < 4 ? sign[from] : i == 4 ? 0 : 255;

            byte[h + i] = (t.w[(h + i) / 4] >> (8 * (i % 4)) & 255) ^ other;
            sign[h + i] = byte[h + i] >= 128 ? 255 : 0;
        }
    for (int i = 0; i < 16; i++)
        r.w[i / 4] |= byte[i] << (8 * (i % 4));
    return r;
}

DEV u32 decode_crossed(const Codes &c, u32 q)
{
    return __builtin_amdgcn_perm(c.w[1], c.w[0], q) ^
           __builtin_amdgcn_perm(c.w[3], c.w[2], q ^ 0x08080808u);
}

DEV Chunk crossed_chunk(const Codes &t, const u32 (&qs)[4], float scale)
{
    const Codes both = crossed(t);
    Chunk c;

    unpack_nibbles(qs, 0, c.q);
    UNROLL
    for (int i = 0; i < 8; i++)
        c.q[i] = decode_crossed(both, c.q[i]);
    set_scale(c, scale, 0.0f);
    return c;
}

struct IQ4_NL_crossed : IQ4_NL {
    DEV Chunk unpack(const Raw &r, int)
    {
        return crossed_chunk(iq4_codes(), r.words.w, half_to_float(r.half));
    }
};

struct IQ4_XS_crossed : IQ4_XS {
    DEV Chunk unpack(const Raw &r, int chunk)
    {
        return crossed_chunk(iq4_codes(), r.qs.w, scale(r.head, chunk));
    }
};

struct MXFP4_crossed : MXFP4 {
    DEV Chunk unpack(const Raw &r, int)
    {
        return crossed_chunk(fp4_codes(), r.qs.w, scale(r.e));
    }
};

/* A rotation brings the fifth bits to their places. */
struct Q5_K_rotated : Q5_K {
    DEV Chunk unpack(const Raw &r, int chunk)
    {
        const u32 at = (u32)(chunk & 6) - 4; /* of a bit, to be bit 4 */
        Chunk c;

        r.head.scales(chunk, c);
        UNROLL
        for (int i = 0; i < 4; i++) {
            c.q[i] = (r.qs.w[i] & 0x0f0f0f0fu) |
                     (rotate_right(r.qh.w[i], at) & 0x10101010u);
            c.q[i + 4] = (r.qs.w[i] >> 4 & 0x0f0f0f0fu) |
                         (rotate_right(r.qh.w[i], at + 1) & 0x10101010u);
        }
        return c;
    }
};

template <> struct ForTile<IQ4_NL> {
    typedef IQ4_NL_crossed type;
};
template <> struct ForTile<IQ4_XS> {
    typedef IQ4_XS_crossed type;
};
template <> struct ForTile<MXFP4> {
    typedef MXFP4_crossed type;
};
template <> struct ForTile<Q5_K> {
    typedef Q5_K_rotated type;
};

/* sc of the two groups of a chunk, which all lanes ask of one pair of chunks,
 * as bytes 0 and 1; mn if `minima` is 1 */
DEV u32 two_of_head(const KHead &head, int chunk, int minima)
{
    const bool first = chunk < 4;
    const int shift = 8 * (chunk & 2);
    const u32 mine = minima ? head.w.w[2] : head.w.w[1];
    const u32 more = head.w.w[3] >> (4 * minima) >> shift;

    return (mine >> (first ? shift : shift + 2) & (first ? 0x3f3fu : 0x3030u)) |
           (more & (first ? 0 : 0x0f0fu));
}

/* two bytes as numbers of f16; 0x64nn is 1024 + nn */
DEV u32 two_halves(u32 two)
{
    typedef _Float16 Half2 __attribute__((ext_vector_type(2)));
    const u32 raised = __builtin_amdgcn_perm(0x64646464u, two, 0x04010400u);

    return bits_as<u32>(bits_as<Half2>(raised) - (Half2)1024);
}
