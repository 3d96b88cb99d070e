/* code_lookup.h - codes (gguf/codes.h) in tiles for AMD: looked up in less */
#pragma once

#include "gguf/codes.h"

/*
 * A table of codes for v_perm, which looks up eight bytes and makes other
 * numbers of 8 to 15: the sign of byte 1, 3, 5 or 7 in all bits, 0, and three
 * times all bits. So one half looks up q and the other q ^ 8, and the exclusive
 * or of both is right if each has the other's number for 8 + i in its byte i.
 */
struct CrossedCodes {
    u32 w[4];
};

DEV constexpr CrossedCodes crossed(const Codes &t)
{
    u32 byte[16] = {}, sign[16] = {};
    CrossedCodes r = {};

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

DEV u32 decode(const CrossedCodes &c, u32 q)
{
    return __builtin_amdgcn_perm(c.w[1], c.w[0], q) ^
           __builtin_amdgcn_perm(c.w[3], c.w[2], q ^ 0x08080808u);
}

struct IQ4_NL_crossed : IQ4_NL {
    DEV Chunk unpack(const Raw &r, int)
    {
        return coded_chunk(crossed(iq4_codes()), r.words.w,
                           half_to_float(r.half));
    }
};

struct MXFP4_crossed : MXFP4 {
    DEV Chunk unpack(const Raw &r, int)
    {
        return coded_chunk(crossed(fp4_codes()), r.qs.w,
                           __builtin_amdgcn_ldexpf(0x1p-128f, (int)r.e));
    }
};

struct IQ4_XS_crossed : IQ4_XS {
    DEV Chunk unpack(const Raw &r, int chunk)
    {
        return coded_chunk(crossed(iq4_codes()), r.qs.w, scale(r.head, chunk));
    }
};

/* The variant of format F that Tile uses. */
template <class F> struct ForCodes {
    typedef F type;
};
template <> struct ForCodes<IQ4_NL> {
    typedef IQ4_NL_crossed type;
};
template <> struct ForCodes<IQ4_XS> {
    typedef IQ4_XS_crossed type;
};
template <> struct ForCodes<MXFP4> {
    typedef MXFP4_crossed type;
};
