/*
 * kv_formats.h - the formats of K and V: T itself, or GGUF's q8_0 and q4_0
 *
 *   block_elems, block_nbytes
 *   Raw               eight neighbouring elements as they are loaded
 *   load(p, piece)    elements 8 piece .. 8 piece + 7 of a row, the first of
 *                     which, or its block, is at p
 *   clear(raw)        makes them zeros
 *   unpack<T>(raw)    the same as a piece of T's
 */
#pragma once

#include "gguf/block.h"
#include "matrix/gemm_args.h"

/*
 * 16 bytes at p, which is aligned to 2 bytes. If the hardware allows it this is
 * one load of four words, which needs no combining afterwards.
 */
DEV Piece load_piece(const u8 *p)
{
#if KPK_NVIDIA
    return bits_as<Piece>(load_anywhere<8>(reinterpret_cast<const f16 *>(p)));
#else
    struct __attribute__((packed, aligned(2))) Unaligned {
        Word<16>::type words;
    };

    return bits_as<Piece>(reinterpret_cast<const Unaligned *>(p)->words);
#endif
}

template <typename T> struct PlainFormat {
    static constexpr u32 block_elems = 1, block_nbytes = sizeof(T);
    typedef Piece Raw;

    static DEV_MEMBER Raw load(const u8 *p, u32)
    {
        return load_piece(p);
    }
    static DEV_MEMBER void clear(Raw &raw)
    {
        raw = Piece{};
    }
    template <typename To> static DEV_MEMBER Piece unpack(const Raw &raw)
    {
        return raw;
    }
};

/* a scale and eight bytes */
struct RawBytes {
    u32 w[2];
    u16 scale;
    u16 high; /* q4_0: the upper halves of the bytes count */
};

DEV RawBytes load_bytes(const u8 *block, u32 at)
{
    const Words<2> w = load_words<2, Access::even>(block + 2 + at);

    return {{w.w[0], w.w[1]}, load_u16(block), 0};
}

/* q times a scale for eight signed bytes */
template <typename T> DEV Piece scaled_bytes(const u32 (&q)[2], u32 scale)
{
    const float d = half_to_float(scale);
    Piece out;

    UNROLL
    for (u32 i = 0; i < 4; i++) {
        const u32 w = q[i / 2];
        const int e = (int)(i % 2 * 2);

        out[i] =
            bits_as<u32>(Pack<T, 2>{{convert<T>(d * byte_to_float(w, e)),
                                     convert<T>(d * byte_to_float(w, e + 1))}});
    }
    return out;
}

/*
 * The same as f16, for unsigned bytes of which `zero` stands for 0. The f16
 * whose upper byte is 0x64 is 1024 plus its lower byte, so two numbers take
 * three instructions. The product is rounded once, as above. For AMD alone
 * (by_halves).
 */
DEV Piece scaled_halves(const u32 (&bytes)[2], u32 zero, u32 scale)
{
    Piece out = {};
#if !KPK_NVIDIA
    typedef _Float16 Two __attribute__((ext_vector_type(2)));
    const _Float16 d = bits_as<_Float16>((u16)scale);
    const _Float16 less = (_Float16)(1024.0f + (float)zero);

    UNROLL
    for (u32 i = 0; i < 4; i++) {
        const u32 word = __builtin_amdgcn_perm(
            0x64646464u, bytes[i / 2], i % 2 ? 0x04030402u : 0x04010400u);

        out[i] =
            bits_as<u32>((bits_as<Two>(word) - Two{less, less}) * Two{d, d});
    }
#endif
    return out;
}
template <typename T>
constexpr bool by_halves = !KPK_NVIDIA && is_same<T, f16>::value;

struct Q8_0Format {
    static constexpr u32 block_elems = 32, block_nbytes = 34;
    typedef RawBytes Raw;

    static DEV_MEMBER void clear(Raw &raw)
    {
        raw.scale = 0;
    }
    static DEV_MEMBER Raw load(const u8 *block, u32 piece)
    {
        return load_bytes(block, piece % 4 * 8);
    }
    template <typename T> static DEV_MEMBER Piece unpack(const Raw &raw)
    {
        if constexpr (by_halves<T>)
            return scaled_halves(
                {raw.w[0] ^ 0x80808080u, raw.w[1] ^ 0x80808080u}, 128,
                raw.scale);
        else
            return scaled_bytes<T>(raw.w, raw.scale);
    }
};

/* bytes 0..15 have elements 0..15 below and 16..31 above */
struct Q4_0Format {
    static constexpr u32 block_elems = 32, block_nbytes = 18;
    typedef RawBytes Raw;

    static DEV_MEMBER void clear(Raw &raw)
    {
        raw.scale = 0;
    }
    static DEV_MEMBER Raw load(const u8 *block, u32 piece)
    {
        RawBytes raw = load_bytes(block, piece % 2 * 8);

        raw.high = piece / 2 % 2;
        return raw;
    }
    template <typename T> static DEV_MEMBER Piece unpack(const Raw &raw)
    {
        const u32 shift = raw.high * 4u;
        u32 q[2];

        UNROLL
        for (u32 i = 0; i < 2; i++)
            q[i] = raw.w[i] >> shift & 0x0f0f0f0fu;
        if constexpr (by_halves<T>)
            return scaled_halves(q, 8, raw.scale);
        UNROLL
        for (u32 i = 0; i < 2; i++)
            q[i] = sub_bytes(q[i], 0x08080808u);
        return scaled_bytes<T>(q, raw.scale);
    }
};
