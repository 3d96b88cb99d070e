/*
 * attend_blocks.h - a warp's softmax and products, K and V in blocks of q8_0 or
 * q4_0
 *
 * Rows lie in LDS as they do in memory, each at a multiple of 16 bytes. Lanes
 * take two bytes at a time, as blocks are aligned to two, and make f16 operands
 * of mma.sync in registers: a code in the lower bits of an f16 of 1024, less
 * 1024 and the code's zero, times the block's scale. Which element is which k
 * of an operand, and which column is which n, is free; here it follows from
 * the bytes that a lane takes:
 *
 *   K  lane l, key l / 4: elements 2 c, 2 c + 1, 8 + 2 c and 9 + 2 c of 16,
 * with c = l % 4 V  lane l, keys 2 c, 2 c + 1 and 8 more: columns 2 j, 2 j + 1
 * of 16, with j = l / 4
 *
 * Q of bf16 becomes f16 times a power of two of each row, so that its largest
 * element is near 2^10.
 */
#pragma once

#include "nvidia/attention/attend_warp.h"

/* Converts codes to f16 and multiplies by scales. A word has two bytes of each
 * of two blocks, lower bytes first; codes of bytes 0 and 2 are converted. High
 * takes the element 16 further on. */
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
    static constexpr u32 further = 0; /* both elements are in one byte */

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

template <typename T, u32 D, class Format, class Form>
struct AttendBlocks : AttendRows<f16, D, 16, true, Form> {
    typedef AttendRows<f16, D, 16, true, Form> Base;
    typedef BlockCodes<Format> Codes;
    typedef typename Base::Rows Rows;
    typedef typename Base::Scores Scores;
    typedef typename Base::Operands Operands;
    using Base::o;

    static constexpr u32 keys = 16, blocks = D / 32;
    static constexpr u32 block = Format::block_nbytes;
    /* Eight rows begin in different banks, four apart: an odd number of 16. */
    static constexpr u32 pitch = (blocks * block + 15) / 32 * 32 + 16;
    static constexpr u32 unit_nbytes = keys * pitch;
    static constexpr bool is_bf16 = is_same<T, bf16>::value;
    static_assert(pitch >= blocks * block, "a row");

    u32 q[D / 16][4];
    f32 unit[2]; /* of Q's rows, for bf16 */
    u32 k_at, k_scale, v_at, v_scale;

    /* ---- copies ---- */

    /* bytes that cp.async takes at once, if rows are aligned to them */
    static constexpr u32 piece = blocks * block % 8 ? 4 : 8;

    static DEV_MEMBER bool is_aligned(const AttendKeys &k, const AttendKeys &v)
    {
        return k.is_aligned<piece>() && v.is_aligned<piece>();
    }
    /* fn(key, byte) for this lane's pieces of 16 rows: eight lanes have
     * neighbouring pieces */
    template <class Fn> static DEV_MEMBER void each_piece(u32 lane, Fn fn)
    {
        constexpr u32 all = blocks * block / piece, rest = all % 8;

        UNROLL
        for (u32 i = 0; i < 4; i++) {
            UNROLL
            for (u32 j = 0; j < all / 8; j++)
                fn(lane / 8 + 4 * i, (lane % 8 + 8 * j) * piece);
        }
        if (rest == 2 || lane < 16)
            fn(lane / rest, (all / 8 * 8 + lane % rest) * piece);
    }
    /* Starts bringing keys from key0 on; those outside the span become zeros.
     */
    static DEV_MEMBER void copy(u32 lds, const AttentionArgs &a, u32 b,
                                const AttendKeys &k, u32 d, bool aligned,
                                i32 key0, const KeySpan &span, u32 lane)
    {
        const u32 width = (d + 31) / 32 * block;
        constexpr u32 halves = blocks * block / 2;

        aligned &= width % piece == 0;
        if (aligned && !a.block_table && width == blocks * block &&
            key0 >= span.first && key0 + (i32)keys <= span.end) {
            const u8 *const from = k.base + key0 * k.row_nbytes;

            each_piece(lane, [&](u32 key, u32 at) {
                async_copy_narrow<piece>(lds + key * pitch + at,
                                         from + (i64)key * k.row_nbytes + at,
                                         piece);
            });
            return;
        }
        if (aligned) {
            each_piece(lane, [&](u32 key, u32 at) {
                const i32 n = key0 + (i32)key;
                const bool seen = at < width && n >= span.first && n < span.end;

                async_copy_narrow<piece>(lds + key * pitch + at,
                                         seen ? k.row(a, b, n) + at : k.base,
                                         seen ? piece : 0);
            });
            return;
        }
        NO_UNROLL
        for (u32 first = lane; first < keys * halves; first += 256) {
            u16 v[8];

            UNROLL
            for (u32 i = 0; i < 8; i++) {
                const u32 key = (first + i * 32) / halves;
                const u32 at = (first + i * 32) % halves * 2;
                const i32 n = key0 + (i32)key;

                v[i] = 0;
                if (at < width && n >= span.first && n < span.end && key < keys)
                    v[i] = load_u16(k.row(a, b, n) + at);
            }
            UNROLL
            for (u32 i = 0; i < 8; i++) {
                const u32 key = (first + i * 32) / halves;
                const u32 at = (first + i * 32) % halves * 2;

                if (key < keys)
                    asm volatile(
                        "st.shared.u16 [%0], %1;" ::"r"(lds + key * pitch + at),
                        "h"(v[i])
                        : "memory");
            }
        }
    }

    /* ---- queries ---- */

    DEV_MEMBER void begin(const AttentionArgs &a, const Sequence &s,
                          const Rows &rows, u32 b, i32 first_row, u32)
    {
        const u32 lane = threadIdx.x % 32, c = lane % 4;

        Base::begin(s, rows, first_row);
        k_scale = lane / 4 * pitch, k_at = k_scale + 2 + c * 2;
        v_scale = c * 2 * pitch, v_at = v_scale + 2 + lane / 4 * 2;
        UNROLL
        for (u32 i = 0; i < 2; i++) {
            const f16 *const row = reinterpret_cast<const f16 *>(
                rows.template at<T>(a, s, b, this->row(i)));
            u32 top = 0;

            UNROLL
            for (u32 k = 0; k < D / 16; k++) {
                u32 w[2] = {0, 0};

                UNROLL
                for (u32 j = 0; j < 2; j++) {
                    const u32 e = k * 16 + j * 8 + c * 2;

                    if (e < a.d)
                        w[j] = bits_as<u32>(load_anywhere<2>(row + e));
                    top =
                        max_of(top, max_of(w[j] & 0x7fff, w[j] >> 16 & 0x7fff));
                }
                q[k][i] = pair_halves(w[0], w[1], false);
                q[k][2 + i] = pair_halves(w[0], w[1], true);
            }
            if constexpr (is_bf16)
                to_f16(i, join_lanes<4>(
                              top, [](u32 p, u32 r) { return max_of(p, r); }) >>
                              7);
        }
    }
    /* Converts row i from bf16 to f16 in units of unit[i]. `exponent` is the
     * biased exponent of the row's largest element. */
    DEV_MEMBER void to_f16(u32 i, u32 exponent)
    {
        const u32 e = max_of(exponent, 11u);
        const f32 by = bits_as<f32>((264 - e) << 23);

        unit[i] = bits_as<f32>((e - 10) << 23);
        UNROLL
        for (u32 k = 0; k < D / 16; k++) {
            UNROLL
            for (u32 j = i; j < 4; j += 2)
                q[k][j] = round_two<f16>(bits_as<f32>(q[k][j] << 16) * by,
                                         bits_as<f32>(q[k][j] & ~0xffffu) * by);
        }
    }

    /* ---- scores and results ---- */

    /* Codes and scales of a block: low[] has two bytes at `at` and two bytes
     * Apart further, high[] those of the elements 16 further on. A caller
     * loads several blocks at once, because a load takes longer than the work
     * on a block. */
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
        /* y: even elements, odd elements, then even and odd of high[] */
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
    static constexpr u32 at_once = blocks < 4 ? blocks : 4;

    DEV_MEMBER void multiply_keys(Scores &x, u32 lds) const
    {
        UNROLL
        for (u32 i = 0; i < 8; i++)
            x[i / 4][i % 4] = 0;
        UNROLL
        for (u32 n = 0; n < blocks; n += at_once) {
            Raw<8, 0> raw[2 * at_once];

            UNROLL
            for (u32 i = 0; i < 2 * at_once; i++) {
                const u32 at = lds + i % 2 * 8 * pitch + (n + i / 2) * block;

                raw[i].load(at + k_at, at + k_scale);
            }
            UNROLL
            for (u32 i = 0; i < 2 * at_once; i++) {
                u32 y[4];

                raw[i].operands(y);
                MmaOp<f16>::call(x[i % 2], q[2 * n + i / 2 * 2], y[0], y[1]);
                MmaOp<f16>::call(x[i % 2], q[2 * n + i / 2 * 2 + 1], y[2],
                                 y[3]);
            }
        }
        if constexpr (is_bf16) {
            UNROLL
            for (u32 i = 0; i < 8; i++)
                x[i / 4][i % 4] *= unit[i % 4 / 2];
        }
    }
    DEV_MEMBER f32 score(Scores &x, const AttentionArgs &a, u32 b, u32 head,
                         i32 key0, u32 lds)
    {
        multiply_keys(x, lds);
        return Base::weigh(x, a, b, head, key0);
    }
    DEV_MEMBER void add_values(const Operands &p, u32 lds)
    {
        const u32 four[4] = {p[0][0], p[0][1], p[1][0], p[1][1]};

        UNROLL
        for (u32 n = 0; n < blocks; n += at_once) {
            Raw<pitch, pitch> raw[at_once][2];

            UNROLL
            for (u32 i = 0; i < 2 * at_once; i++) {
                const u32 at = lds + i % 2 * 8 * pitch + (n + i / 2) * block;

                raw[i / 2][i % 2].load(at + v_at, at + v_scale);
            }
            UNROLL
            for (u32 i = 0; i < at_once; i++) {
                u32 y[2][4];

                raw[i][0].operands(y[0]);
                raw[i][1].operands(y[1]);
                UNROLL
                for (u32 e = 0; e < 4; e++)
                    MmaOp<f16>::call(o[(n + i) * 4 + e], four, y[0][e],
                                     y[1][e]);
            }
        }
    }
    /* the column of o[n][0], and the distance from it to the column of o[n][1]
     */
    static DEV_MEMBER u32 column(u32 n)
    {
        return n / 4 * 32 + n % 4 / 2 * 16 + threadIdx.x % 4 * 4 + n % 2;
    }
    static constexpr u32 columns_apart = 2;
};
