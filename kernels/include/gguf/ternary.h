/* ternary.h - the GGUF formats of -1, 0 and 1: TQ1_0 TQ2_0 */
#pragma once

#include "gguf/block.h"

/* 256 elements with one scale. Chunk c has elements 32 c to 32 c + 31. */
struct TernaryBlock : ScaledBlock {
    static constexpr int elems = 256, chunks = 8, scale_width = 32;
};

/* Subtracts 1 from the four elements of a word; the file stores them plus 1. */
DEV u32 without_one(u32 raised)
{
    return sub_bytes(raised, 0x01010101u);
}

/*
 * Bytes: 0 qs; 48 qh; 52 d:f16. d * (t - 1)
 * A byte b holds the fraction b / 256 in base 3: its first digit is the integer
 * part of three times the fraction. Digit n, from 0 to 4, of bytes 0 to 31
 * gives elements 32 n to 32 n + 31; of bytes 32 to 47 elements from 160 + 16 n
 * on; of qh, where n ends at 3, elements from 240 + 4 n on.
 */
struct TQ1_0 : TernaryBlock {
    static constexpr int bytes = 54;

    struct Raw {
        Words<8> w;
        u32 d;
    };

    /* the bytes of quad i, and their digit */
    struct Digits {
        int from, number;
    };

    DEV Digits digits(int chunk, int i)
    {
        const int quad = 8 * (chunk - 5) + i; /* from element 160 on */

        if (chunk < 5)
            return {4 * i, chunk};
        if (quad < 20)
            return {32 + quad % 4 * 4, quad / 4};
        return {48, quad - 20};
    }

    DEV u32 quants(u32 w, int number)
    {
        const u32 power = number == 4 ? 81 : 0x1b090301u >> (8 * number) & 255;
        const u32 even = (w & 0x00ff00ffu) * power & 0x00ff00ffu;
        const u32 odd = (w >> 8 & 0x00ff00ffu) * power & 0x00ff00ffu;

        return without_one((even * 3 >> 8 & 0x00030003u) |
                           (odd * 3 & 0x03000300u));
    }

    template <BlockPlace P> DEV Raw load(const u8 *b, int chunk)
    {
        Raw r;

        UNROLL
        for (int i = 0; i < 8; i++)
            r.w.w[i] = load_word<even_access(P)>(b + digits(chunk, i).from);
        r.d = load_u16(b + 52);
        return r;
    }

    DEV Chunk unpack(const Raw &r, int chunk)
    {
        Chunk c;

        UNROLL
        for (int i = 0; i < 8; i++)
            c.q[i] = quants(r.w.w[i], digits(chunk, i).number);
        set_scale(c, half_to_float(r.d), 0.0f);
        return c;
    }

    template <BlockPlace P> DEV Quad quad(const u8 *b, int chunk, int g, int i)
    {
        const Digits at = digits(chunk, 4 * g + i);

        return {quants(load_word<even_access(P)>(b + at.from), at.number),
                half_to_float(load_u16(b + 52)), 0.0f};
    }
};

/*
 * Bytes: 0 qs; 64 d:f16. d * (t - 1), t 0 to 3
 * Element e: bits 2 * (e / 32 % 4) of qs[32 * (e / 128) + e % 32].
 */
struct TQ2_0 : TernaryBlock {
    static constexpr int bytes = 66;

    struct Raw {
        Words<8> w;
        u32 d;
    };

    DEV u32 quants(u32 w, int chunk)
    {
        return without_one(w >> (2 * (chunk % 4)) & 0x03030303u);
    }

    template <BlockPlace P> DEV Raw load(const u8 *b, int chunk)
    {
        return {load_words<8, even_access(P)>(b + chunk / 4 * 32),
                load_u16(b + 64)};
    }

    DEV Chunk unpack(const Raw &r, int chunk)
    {
        Chunk c;

        UNROLL
        for (int i = 0; i < 8; i++)
            c.q[i] = quants(r.w.w[i], chunk);
        set_scale(c, half_to_float(r.d), 0.0f);
        return c;
    }

    template <BlockPlace P> DEV Quad quad(const u8 *b, int chunk, int g, int i)
    {
        const u32 w =
            load_word<even_access(P)>(b + chunk / 4 * 32 + 16 * g + 4 * i);

        return {quants(w, chunk), half_to_float(load_u16(b + 64)), 0.0f};
    }
};
