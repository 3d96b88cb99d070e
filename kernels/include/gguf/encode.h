/*
 * encode.h - numbers to GGUF's blocks of 32, as ggml rounds them
 *
 * An encoder's write(x, to) makes one block of the numbers of a group of 32
 * threads, one each, all of which call it. legacy.h and codes.h have the bytes
 * of a block. A block of zeros has scale 0.
 */
#pragma once

#include "gguf/codes.h"

DEV f32 group_max(f32 x)
{
    return join_lanes(x, [](f32 a, f32 b) { return __builtin_fmaxf(a, b); });
}

/* The element of the group with the largest magnitude, the first if several
 * are equal. */
DEV f32 largest_of(f32 x)
{
    const f32 top = group_max(__builtin_fabsf(x));
    const u32 lane = __builtin_fabsf(x) == top ? lane_id() % 32 : 31;

    return shfl(x, join_lanes(lane, [](u32 a, u32 b) { return min_of(a, b); }));
}

DEV f32 inverse_of(f32 scale)
{
    return scale != 0 ? 1 / scale : 0;
}

/* x + zero as an integer of at most `most`, halves rounded upwards */
DEV u32 rounded_up_to(f32 x, f32 zero, i32 most)
{
    return (u32)min_of((i32)(x + zero + 0.5f), most);
}

/* f16 number `which` of a block */
DEV void write_half(u8 *to, u32 which, f32 x)
{
    const u32 e = lane_id() % 32;

    if (e < 2)
        to[2 * which + e] = (u8)(float_to_half(x) >> 8 * e);
}

/* the low four bits of 32 quants */
DEV void write_nibbles(u8 *to, u32 q)
{
    const u32 e = lane_id() % 32, upper = lane_xor<16>(q);

    if (e < 16)
        to[e] = (u8)((q & 15) | upper << 4);
}

/* the fifth bit of 32 quants */
DEV void write_fifths(u8 *to, u32 q)
{
    const u32 e = lane_id() % 32;
    const u32 bits =
        join_lanes((q >> 4 & 1) << e, [](u32 a, u32 b) { return a | b; });

    if (e < 4)
        to[e] = (u8)(bits >> 8 * e);
}

struct Q8_0Encoder {
    static constexpr u32 block_nbytes = 34;

    static DEV_MEMBER void write(f32 x, u8 *to)
    {
        const f32 scale = __builtin_fabsf(largest_of(x)) / 127;

        to[2 + lane_id() % 32] = (u8)(i8)(i32)roundf(x * inverse_of(scale));
        write_half(to, 0, scale);
    }
};

struct Q4_0Encoder {
    static constexpr u32 block_nbytes = 18;

    static DEV_MEMBER void write(f32 x, u8 *to)
    {
        const f32 scale = largest_of(x) / -8;

        write_nibbles(
            to + 2,
            rounded_up_to(rounded_product(x, inverse_of(scale)), 8, 15));
        write_half(to, 0, scale);
    }
};

struct Q5_0Encoder {
    static constexpr u32 block_nbytes = 22;

    static DEV_MEMBER void write(f32 x, u8 *to)
    {
        const f32 scale = largest_of(x) / -16;
        const u32 q =
            rounded_up_to(rounded_product(x, inverse_of(scale)), 16, 31);

        write_nibbles(to + 6, q);
        write_fifths(to + 2, q);
        write_half(to, 0, scale);
    }
};

/* a block of quants from 0 to `most`, the least number as their offset */
template <u32 most> DEV u32 write_offset_scale(f32 x, u8 *to)
{
    const f32 least = -group_max(-x);
    const f32 scale = (group_max(x) - least) / most;

    write_half(to, 0, scale);
    write_half(to, 1, least);
    return rounded_up_to(rounded_product(x - least, inverse_of(scale)), 0,
                         most);
}

struct Q4_1Encoder {
    static constexpr u32 block_nbytes = 20;

    static DEV_MEMBER void write(f32 x, u8 *to)
    {
        write_nibbles(to + 4, write_offset_scale<15>(x, to));
    }
};

struct Q5_1Encoder {
    static constexpr u32 block_nbytes = 24;

    static DEV_MEMBER void write(f32 x, u8 *to)
    {
        const u32 q = write_offset_scale<31>(x, to);

        write_nibbles(to + 8, q);
        write_fifths(to + 4, q);
    }
};

/*
 * The largest number becomes the code at the end of the table; then the scale
 * is the one with the least error for the codes that this gives, large numbers
 * counted more: sum(x^3 c) / sum(x^2 c^2).
 */
struct IQ4_NLEncoder {
    static constexpr u32 block_nbytes = 18;

    static DEV_MEMBER f32 code_value(u32 q)
    {
        return byte_to_float(decode(iq4_codes(), q), 0);
    }
    static DEV_MEMBER void write(f32 x, u8 *to)
    {
        const f32 first = largest_of(x) / code_value(0);
        const f32 v = x * inverse_of(first);
        u32 q = 0;

        NO_UNROLL
        for (u32 c = 1; c < 16; c++)
            q += v > 0.5f * (code_value(c - 1) + code_value(c));

        const f32 code = code_value(q), weighted = x * x * code;
        const auto plus = [](f32 a, f32 b) { return a + b; };
        const f32 products = join_lanes(weighted * x, plus);
        const f32 squares = join_lanes(weighted * code, plus);

        write_nibbles(to + 2, q);
        write_half(to, 0, squares > 0 ? products / squares : 0);
    }
};
