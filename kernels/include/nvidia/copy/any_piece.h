/* any_piece.h - pieces of 16 bytes of f16 and bf16 (or f64) that are aligned to
 * an element alone */
#pragma once

#include "matrix_unit.h"

/*
 * A piece on its way from memory: the aligned one that it begins in, and the
 * next one. `low` and `high` load no aligned piece without a byte that is asked
 * for, and are zero instead.
 */
template <bool Aligned> struct AnyPiece {
    Piece low, high;

    /* the first `left` elements at p */
    template <typename T> DEV_MEMBER void load(const T *p, u32 left)
    {
        const u32 n = min_of(left, per16<T>::value) * (u32)sizeof(T);
        const u32 turn = turn_of(p);
        const u32 *const at = reinterpret_cast<const u32 *>(
            reinterpret_cast<const u8 *>(p) - turn);

        low = high = Piece{};
        if (n > 0)
            low = load_pack<4>(at);
        if (!Aligned && turn + n > 16)
            high = load_pack<4>(at + 4);
    }
    /* The bytes by which p is behind an aligned piece: the same a number of
     * aligned pieces further on. */
    template <typename T> static DEV_MEMBER u32 turn_of(const T *p)
    {
        return Aligned ? 0 : (u32)(u64)p % 16;
    }
    /* The piece at p, with anything behind the elements asked for. */
    DEV_MEMBER Piece get(u32 turn) const
    {
        Piece out = low;

        if constexpr (!Aligned) {
            u32 v[8];

            UNROLL
            for (u32 i = 0; i < 4; i++)
                v[i] = low[i], v[4 + i] = high[i];
            UNROLL
            for (u32 i = 0; i < 6; i++)
                v[i] = turn & 8 ? v[i + 2] : v[i];
            UNROLL
            for (u32 i = 0; i < 5; i++)
                v[i] = turn & 4 ? v[i + 1] : v[i];
            UNROLL
            for (u32 i = 0; i < 4; i++)
                out[i] = __funnelshift_r(v[i], v[i + 1], turn % 4 * 8);
        }
        return out;
    }
};

/* A piece's first `left` elements, with zeros behind. */
template <typename T> DEV Piece first_of_piece(Piece v, u32 left)
{
    constexpr u32 n = per16<T>::value;

    if (left < n) {
        UNROLL
        for (u32 i = 0; i < 4; i++) {
            if (sizeof(T) > 2 || left * sizeof(T) <= i * 4)
                v[i] = left * sizeof(T) > i * 4 ? v[i] : 0;
            else if (left * sizeof(T) < i * 4 + 4)
                v[i] &= 0xffff;
        }
    }
    return v;
}
