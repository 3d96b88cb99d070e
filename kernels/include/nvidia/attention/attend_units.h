/*
 * attend_units.h - K and V of some keys, as operands for few queries
 *
 * A unit is what a warp copies to LDS at once: 16 keys or 32, of up to 128
 * columns. Its products are S^T = K Q^T and O^T = V^T P^T by mma.sync, so K and
 * V are the operand of 16 rows, and eight queries that of eight columns.
 *
 *   T        the operands' type
 *   keys, cols, nbytes
 *   copy()   starts bringing a unit; keys outside the span become zeros
 *   each<Values>(lds, t, fn)
 *            fn(i, operand) for keys 16 t .. 16 t + 15: K's columns from 16 i
 *            on, or V's
 *   order_query(w)
 *            two words of Q, elements 2 c and 8 + 2 c of 16 and the next of
 *            each, with c = lane % 4: ordered as K's elements are
 *   column(j)
 *            the column of a lane's result j, which is row l / 4 of 8 rows
 */
#pragma once

#include "nvidia/attention/attend_rows.h"

/* K and V of T itself. ldmatrix transposes V's. */
template <typename T_, u32 D> struct PlainUnit {
    typedef T_ T;
    typedef PlainFormat<T> Format;
    static constexpr u32 cols = D < 128 ? D : 128, keys = 2048 / cols;
    typedef AttendLines<cols> Lines;
    static constexpr u32 nbytes = keys * Lines::nbytes, alignment = 16;

    static DEV_MEMBER void copy(u32 lds, const AttentionArgs &a, u32 b,
                                const AttendKeys &from, u32 d, bool aligned,
                                i32 key0, const KeySpan &span, u32 lane)
    {
        copy_lines<Lines, keys, 32>(lds, a, b, from, d, aligned, key0, span,
                                    lane);
    }
    template <bool Values, class Fn>
    static DEV_MEMBER void each(u32 lds, u32 t, Fn fn)
    {
        const u32 lane = threadIdx.x % 32, high = lane / 16;
        const u32 first = lds + t * 16 * Lines::nbytes +
                          (Values ? Lines::at(lane % 8 + high * 8, lane / 8 % 2)
                                  : Lines::at(lane % 16, high));

        UNROLL
        for (u32 i = 0; i < cols / 16; i++) {
            u32 y[4];

            if (Values)
                load_matrices_trans(y, Lines::further(first, i * 2));
            else
                load_matrices(y, Lines::further(first, i * 2));
            fn(i, y);
        }
    }
    static DEV_MEMBER void order_query(u32 (&)[2])
    {
    }
    static DEV_MEMBER u32 column(u32 j)
    {
        return j * 8 + threadIdx.x % 32 / 4;
    }
};

/*
 * K and V in blocks of q8_0 or q4_0. Rows lie in LDS as they do in memory, each
 * at a multiple of 16 bytes. Lanes take two bytes at a time, as blocks are
 * aligned to two, and make f16 operands in registers: a code in the lower bits
 * of an f16 of 1024, less 1024 and the code's zero, times the block's scale.
 * The order of elements in an operand follows from the bytes that a lane takes:
 *
 *   K  lane l, keys l / 4 and 8 more: elements 2 c, 8 + 2 c, and the next of
 *      each, of 16, with c = l % 4
 *   V  lane l, keys 2 c, 2 c + 1 and 8 more: columns 2 j, 2 j + 1 of 16, with
 *      j = l / 4
 */

/* Codes of two bytes of two blocks, lower bytes first, to f16 times scales:
 * those of bytes 0 and 2, of an element and of its neighbour 16 further. */
template <class Format> struct BlockCodes;
#define HALVES_2(name, op)                                                     \
    DEV u32 name(u32 x, u32 y)                                                 \
    {                                                                          \
        u32 v;                                                                 \
                                                                               \
        asm(op ".f16x2 %0, %1, %2;" : "=r"(v) : "r"(x), "r"(y));               \
        return v;                                                              \
    }
HALVES_2(sub_halves, "sub")
HALVES_2(mul_halves, "mul")
#undef HALVES_2
template <> struct BlockCodes<Q8_0Format> {
    static constexpr u32 further = 16; /* bytes to the element 16 further */

    /* w: two bytes each; `high` has been loaded apart */
    template <bool High> static DEV_MEMBER u32 halves(u32 w, u32 scales)
    {
        return mul_halves(
            sub_halves((w & 0x00ff00ffu) ^ 0x64806480u, 0x64806480u), scales);
    }
};
template <> struct BlockCodes<Q4_0Format> {
    static constexpr u32 further = 0; /* the same byte has it */

    template <bool High> static DEV_MEMBER u32 halves(u32 w, u32 scales)
    {
        u32 v = (w & (High ? 0x00f000f0u : 0x000f000fu)) | 0x64006400u;

        if constexpr (High) /* times 1/16, less 72; exact */
            asm("fma.rn.f16x2 %0, %0, %1, %2;"
                : "+r"(v)
                : "r"(0x2c002c00u), "r"(0xd480d480u));
        else
            v = sub_halves(v, 0x64086408u);
        return mul_halves(v, scales);
    }
};

DEV u32 lds_load_u16(u32 lds)
{
    u16 v;

    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(v) : "r"(lds));
    return v;
}

template <class Format_, u32 D> struct BlockUnit {
    typedef f16 T;
    typedef Format_ Format;
    typedef BlockCodes<Format> Codes;
    static constexpr u32 cols = D < 128 ? D : 128, keys = 16;
    static constexpr u32 blocks = cols / 32, block = Format::block_nbytes;
    /* Eight rows begin in different banks, four apart: an odd number of 16. */
    static constexpr u32 row_nbytes = blocks * block;
    static constexpr u32 pitch = (row_nbytes + 15) / 32 * 32 + 16;
    static constexpr u32 nbytes = keys * pitch;
    static_assert(pitch >= row_nbytes, "a row");

    /* ---- copies ---- */

    /* bytes that cp.async takes at once, if rows are aligned to them */
    static constexpr u32 alignment = row_nbytes % 8 ? 4 : 8;
    static constexpr u32 pieces = row_nbytes / alignment;
    static_assert(pieces % 8 == 1, "lanes beside rows of eight pieces");

    /* fn(key, byte) for this lane's pieces of 16 rows: eight lanes have
     * neighbouring pieces */
    template <class Fn> static DEV_MEMBER void each_piece(u32 lane, Fn fn)
    {
        UNROLL
        for (u32 i = 0; i < 4; i++) {
            UNROLL
            for (u32 j = 0; j < pieces / 8; j++)
                fn(lane / 8 + 4 * i, (lane % 8 + 8 * j) * alignment);
        }
        if (lane < keys)
            fn(lane, (pieces - 1) * alignment);
    }
    static DEV_MEMBER void copy(u32 lds, const AttentionArgs &a, u32 b,
                                const AttendKeys &from, u32 d, bool aligned,
                                i32 key0, const KeySpan &span, u32 lane)
    {
        const u32 width = min_of((d + 31) / 32, blocks) * block;
        const u8 *const first = from.base + key0 * from.row_nbytes;

        if (!aligned || width % alignment != 0)
            return copy_words(lds, a, b, from, width, key0, span, lane);
        if (!a.block_table && width == row_nbytes && key0 >= span.first &&
            key0 + (i32)keys <= span.end)
            return each_piece(lane, [&](u32 key, u32 at) {
                async_copy_few<alignment>(
                    lds + key * pitch + at,
                    first + (i64)key * from.row_nbytes + at, alignment);
            });
        each_piece(lane, [&](u32 key, u32 at) {
            const i32 k = key0 + (i32)key;
            const bool seen = at < width && k >= span.first && k < span.end;

            async_copy_few<alignment>(lds + key * pitch + at,
                                      seen ? from.row(a, b, k) + at : from.base,
                                      seen ? alignment : 0);
        });
    }
    /* The same, two bytes at a time; the unit is there afterwards. */
    static DEV_MEMBER void copy_words(u32 lds, const AttentionArgs &a, u32 b,
                                      const AttendKeys &from, u32 width,
                                      i32 key0, const KeySpan &span, u32 lane)
    {
        _Pragma("unroll 8") for (u32 i = lane; i < keys * row_nbytes / 2;
                                 i += 32)
        {
            const u32 key = i / (row_nbytes / 2);
            const u32 at = i % (row_nbytes / 2) * 2;
            const i32 k = key0 + (i32)key;
            const bool seen = at < width && k >= span.first && k < span.end;
            const u16 v = seen ? load_u16(from.row(a, b, k) + at) : (u16)0;

            asm volatile(
                "st.shared.u16 [%0], %1;" ::"r"(lds + key * pitch + at), "h"(v)
                : "memory");
        }
    }

    /* ---- operands ---- */

    /* Two bytes at `at` and two `apart` from there, of two rows or places, the
     * same 16 elements further, and scales. Loaded for some blocks at once, as
     * a load takes longer than the work on a block. */
    template <u32 Apart, u32 ScaleApart> struct Raw {
        u32 low[2], high[2], scale[2];

        DEV_MEMBER void load(u32 at, u32 scale_at)
        {
            UNROLL
            for (u32 i = 0; i < 2; i++) {
                low[i] = lds_load_u16(at + i * Apart);
                if constexpr (Codes::further != 0)
                    high[i] = lds_load_u16(at + Codes::further + i * Apart);
                if (i == 0 || ScaleApart)
                    scale[i] = lds_load_u16(scale_at + i * ScaleApart);
            }
        }
        /* even elements, odd ones, and the same further on */
        DEV_MEMBER void operands(u32 (&y)[4]) const
        {
            const u32 scales =
                pair_halves(scale[0], scale[ScaleApart ? 1 : 0], false);
            const u32 one = pair_halves(low[0], low[1], false);
            u32 two = one;

            if constexpr (Codes::further != 0)
                two = pair_halves(high[0], high[1], false);
            y[0] = Codes::template halves<false>(one, scales);
            y[1] = Codes::template halves<false>(one >> 8, scales);
            y[2] = Codes::template halves<true>(two, scales);
            y[3] = Codes::template halves<true>(two >> 8, scales);
        }
    };
    static constexpr u32 at_once = 2; /* blocks */

    template <bool Values, class Fn>
    static DEV_MEMBER void each(u32 lds, u32, Fn fn)
    {
        const u32 c = threadIdx.x % 4, row = threadIdx.x % 32 / 4;
        const u32 scale = lds + (Values ? c * 2 : row) * pitch;
        const u32 codes = scale + 2 + (Values ? row : c) * 2;

        UNROLL
        for (u32 n = 0; n < blocks; n += at_once) {
            Raw<Values ? pitch : 8, Values ? pitch : 0> raw[at_once][2];

            UNROLL
            for (u32 i = 0; i < 2 * at_once; i++) {
                const u32 at = i % 2 * 8 * pitch + (n + i / 2) * block;

                raw[i / 2][i % 2].load(at + codes, at + scale);
            }
            UNROLL
            for (u32 i = 0; i < at_once; i++) {
                u32 y[2][4];

                raw[i][0].operands(y[0]);
                raw[i][1].operands(y[1]);
                UNROLL
                for (u32 e = 0; e < 4; e += 2) {
                    /* K: rows are keys, 8 apart. V: columns, next to each
                     * other; the second half of an operand has 8 more of K's
                     * elements, or of V's keys. */
                    const u32 y01 = Values ? y[0][e + 1] : y[1][e];
                    const u32 y10 = Values ? y[1][e] : y[0][e + 1];

                    fn(2 * (n + i) + e / 2, {y[0][e], y01, y10, y[1][e + 1]});
                }
            }
        }
    }
    static DEV_MEMBER void order_query(u32 (&w)[2])
    {
        const u32 first = w[0];

        w[0] = pair_halves(first, w[1], false);
        w[1] = pair_halves(first, w[1], true);
    }
    static DEV_MEMBER u32 column(u32 j)
    {
        return j / 2 * 16 + threadIdx.x % 32 / 4 * 2 + j % 2;
    }
};
