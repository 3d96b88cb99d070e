/* any_piece.h - loads 16-byte pieces of f16, bf16 or f64 that are aligned only
 * to an element */
#pragma once

#include "matrix_unit.h"

/*
 * A piece loaded from memory: the aligned piece in which it begins, and the
 * next one. An aligned piece of which no byte is needed is not loaded; `low` or
 * `high` is then zero.
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
    /* The distance of p from an aligned piece before it, in bytes. It is the
     * same for all pieces of a row. */
    template <typename T> static DEV_MEMBER u32 turn_of(const T *p)
    {
        return Aligned ? 0 : (u32)(u64)p % 16;
    }
    /* The piece at p; bytes behind the wanted elements are undefined. */
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
