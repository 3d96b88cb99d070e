/*
 * kv_tile.h - K and V of some keys on their way to LDS
 *
 * A tile has 8192 elements of K and as many of V. The threads bring it from
 * memory into registers while the tile before is worked on, and from there into
 * LDS: K in its own order, a row a key, V turned over, a row for each of its d
 * columns. So both are read in pieces of 16 bytes along the dimension that is
 * summed over.
 *
 * A piece's place in LDS depends on its row, so that lanes that access one
 * piece of several rows together find them in different banks (swizzle_*).
 */
#pragma once

#include "attention/kv_formats.h"
#include "attention/score_layout.h"
#include "attention/sequences.h"

/* The swizzle of a row of K: different in the eight rows that a wave reads
 * together. */
template <typename T> DEV u32 swizzle_keys(u32 row)
{
    if (KPK_NVIDIA && Scores<T>::has_matrix)
        return (row & 1) << 2 | (row & 2) | (row >> 2 & 1);
    return row & 7;
}

/*
 * The swizzle of a row of V turned over: different in eight neighbouring rows,
 * as for K, and in the eight rows of elements d at a distance of 8, which are
 * written together. So the bits in which the latter differ count, too. Where
 * rows have four pieces, two rows share all banks and the row's lowest bit
 * counts by itself.
 */
template <typename T, u32 npieces> DEV u32 swizzle_d(u32 row)
{
    typedef Scores<T> S;
    const u32 b1 = row >> 1 & 1, b2 = row >> 2 & 1, b3 = row >> 3 & 1;
    const u32 b4 = row >> 4 & 1, b5 = row >> 5 & 1;

    if (S::has_matrix && KPK_NVIDIA)
        return npieces == 4 ? b1 ^ b4 ^ (b2 ^ b5) << 1
                            : (row & 1) << 2 ^ b2 ^ b4 << 1 ^ b5 << 2;
    if (!S::has_matrix)
        return npieces == 4 ? b1 ^ b4 ^ (b2 ^ b5) << 1
                            : (row & 7) ^ b4 ^ b5 << 2;
    if (KPK_WMMA == 11)
        return npieces == 4 ? b1 ^ b4 ^ (b2 ^ b5) << 1
                            : (row & 7) ^ b4 << 1 ^ b5 << 2;
    return npieces == 4 ? b1 ^ b3 ^ (b2 ^ b4) << 1 ^ b5 << 2
                        : (row ^ row >> 3) & 7;
}

/* The halves of two words: both low ones, or both high ones. */
DEV u32 pair_halves(u32 first, u32 second, bool high)
{
#if KPK_NVIDIA
    return __byte_perm(first, second, high ? 0x7632 : 0x5410);
#else
    return __builtin_amdgcn_perm(second, first,
                                 high ? 0x07060302u : 0x05040100u);
#endif
}

/* Keeps a pointer that is equal in all lanes in scalar registers. */
DEV const u8 *scalar(const u8 *p)
{
#if !KPK_NVIDIA
    asm("" : "+s"(p));
#endif
    return p;
}

/*
 * threadIdx.x. On targets with 256 registers the compiler does not know the
 * value: it works addresses out anew for each tile, where keeping them would
 * take a register for each.
 */
template <u32 Threads> DEV u32 this_thread()
{
    u32 t = threadIdx.x;

#if !KPK_NVIDIA && !KPK_MFMA
    asm volatile("" : "+v"(t));
#endif
    return t % Threads; /* unchanged; gives the compiler the range */
}

template <typename T, u32 D, u32 Threads, class Format> struct Tile {
    typedef Scores<T> S;
    typedef typename Format::Raw Raw;

    static constexpr u32 keys = 8192 / D;
    static constexpr u32 nbytes = keys * D * sizeof(T); /* K, or V */
    static constexpr u32 k_pieces = D / 8, v_pieces = keys / 8;
    static constexpr u32 k_loads = keys * k_pieces / Threads;
    static constexpr u32 k_step = Threads / k_pieces; /* rows */
    /* a thread takes blocks of 4 keys by 8 columns of V */
    static constexpr u32 v_blocks = keys * D / 32 / Threads;
    static constexpr u32 v_step = Threads / (D / 8) * 4; /* keys */

    Raw k[k_loads], v[v_blocks][4];

    /* Undefined content, so that no register keeps the previous tile's. */
    DEV_MEMBER Tile()
    {
#if !KPK_NVIDIA
        u32 words[sizeof(Tile) / 4];

        UNROLL
        for (u32 i = 0; i < sizeof(Tile) / 4; i++)
            asm volatile("" : "=v"(words[i]));
        __builtin_memcpy(this, words, sizeof(words));
#endif
    }
    static DEV_MEMBER u32 k_row(u32 t)
    {
        return t / k_pieces;
    }
    static DEV_MEMBER u32 k_piece(u32 t)
    {
        return t % k_pieces;
    }
    /* sixteen threads: 8 pieces of D by 2 blocks of keys */
    static DEV_MEMBER u32 v_row(u32 t)
    {
        return (t / 8 % 2 + t / (D / 4) * 2) * 4;
    }
    static DEV_MEMBER u32 v_piece(u32 t)
    {
        return t % 8 + t / 16 % (D / 64) * 8;
    }
    /*
     * The offset of a piece of K in bytes. If row and piece are each a constant
     * plus the lane's part, every term but the last splits in the same way, and
     * the last term takes few values.
     */
    static DEV_MEMBER u32 key_at(u32 row, u32 piece)
    {
        return (row * k_pieces + piece / 8 * 8) * (u32)sizeof(Piece) +
               (piece % 8 ^ swizzle_keys<T>(row)) * (u32)sizeof(Piece);
    }
    static DEV_MEMBER u32 value_at(u32 row, u32 piece)
    {
        return v_pieces == 4
                   ? row / 2 * 8 * (u32)sizeof(Piece) +
                         (row % 2 * 4 + piece ^ swizzle_d<T, v_pieces>(row)) *
                             (u32)sizeof(Piece)
                   : (row * v_pieces + piece / 8 * 8) * (u32)sizeof(Piece) +
                         (piece % 8 ^ swizzle_d<T, v_pieces>(row)) *
                             (u32)sizeof(Piece);
    }
    /*
     * The same, taken apart: value_at(16 unit + row, piece0 + piece) is
     * unit_at(unit) + (value_at(row, piece) ^ unit_flip(unit, piece0)) for
     * rows below 16, if piece0 and piece have no bit in common.
     */
    static DEV_MEMBER u32 unit_at(u32 unit)
    {
        return unit * 16 * v_pieces * (u32)sizeof(Piece);
    }
    static DEV_MEMBER u32 unit_flip(u32 unit, u32 piece0)
    {
        return (swizzle_d<T, v_pieces>(unit * 16) ^ piece0) *
               (u32)sizeof(Piece);
    }

    /* Whether all rows of the tile are `row_nbytes` apart, nearby. */
    static DEV_MEMBER bool is_even(const KeyRows &r)
    {
        return r.row_nbytes >= 0 && r.row_nbytes < (1 << 30) / (i32)keys &&
               r.page_size % keys == 0;
    }
    static DEV_MEMBER u32 offset(u32 row, const KeyRows &r, u32 piece)
    {
        return row * (u32)r.row_nbytes +
               piece * 8 / Format::block_elems * Format::block_nbytes;
    }
    /* The piece to load: the row's first one instead of a piece behind d. */
    static DEV_MEMBER u32 piece_of(u32 piece, u32 d)
    {
        return piece * 8 < d ? piece : 0;
    }
    /*
     * Loads keys from key0 on. For a key outside the span it loads another
     * key's K, whose scores are never used, and zeros as V. d and d_v: columns
     * of K and of V; no more than D count.
     */
    DEV_MEMBER void load(const KeyRows &kr, const KeyRows &vr, i32 key0,
                         const KeySpan &span, u32 d, u32 d_v)
    {
        const u32 t = this_thread<Threads>();
        const u32 kp = piece_of(k_piece(t), d), vp = piece_of(v_piece(t), d_v);

        const bool even = is_even(kr) && is_even(vr);

        if (even && key0 >= span.first && key0 + (i32)keys <= span.end) {
            const u8 *const k0 = kr.tile(key0), *const v0 = vr.tile(key0);

            whole_keys(kr, k0, kp, t);
            whole_values(vr, v0, vp, t);
            return;
        }
        if (even) {
            const u8 *const k0 = kr.tile(key0), *const v0 = vr.tile(key0);

            part_of_keys(kr, k0, kp, t, span, key0);
            part_of_values(vr, v0, vp, t, span, key0);
            return;
        }
        near_keys(kr, key0, span, kp, t);
        near_values(vr, key0, span, vp, t);
    }
    /* load only K, and only V */
    DEV_MEMBER void load_keys(const KeyRows &r, i32 key0, const KeySpan &span,
                              u32 d)
    {
        const u32 t = this_thread<Threads>(), piece = piece_of(k_piece(t), d);

        if (!is_even(r))
            near_keys(r, key0, span, piece, t);
        else if (key0 >= span.first && key0 + (i32)keys <= span.end)
            whole_keys(r, r.tile(key0), piece, t);
        else
            part_of_keys(r, r.tile(key0), piece, t, span, key0);
    }
    DEV_MEMBER void load_values(const KeyRows &r, i32 key0, const KeySpan &span,
                                u32 d_v)
    {
        const u32 t = this_thread<Threads>(), piece = piece_of(v_piece(t), d_v);

        if (!is_even(r))
            near_values(r, key0, span, piece, t);
        else if (key0 >= span.first && key0 + (i32)keys <= span.end)
            whole_values(r, r.tile(key0), piece, t);
        else
            part_of_values(r, r.tile(key0), piece, t, span, key0);
    }
    DEV_MEMBER void near_keys(const KeyRows &kr, i32 key0, const KeySpan &span,
                              u32 kp, u32 t)
    {
        UNROLL
        for (u32 i = 0; i < k_loads; i++) {
            k[i] = load_near(kr, key0 + (i32)(k_row(t) + i * k_step), span, kp);
            schedule_fence();
        }
    }
    DEV_MEMBER void near_values(const KeyRows &vr, i32 key0,
                                const KeySpan &span, u32 vp, u32 t)
    {
        UNROLL
        for (u32 i = 0; i < v_blocks; i++) {
            UNROLL
            for (u32 j = 0; j < 4; j++) {
                const i32 key = key0 + (i32)(v_row(t) + i * v_step + j);

                v[i][j] = load_near(vr, key, span, vp);
                if (key < span.first || key >= span.end)
                    Format::clear(v[i][j]);
                schedule_fence();
            }
        }
    }
    /* Loads a tile within the span; its first row is at k0, or v0. */
    DEV_MEMBER void whole_keys(const KeyRows &kr, const u8 *k0, u32 kp, u32 t)
    {
        const u32 at_k = offset(k_row(t), kr, kp);

        UNROLL
        for (u32 i = 0; i < k_loads; i++)
            k[i] = Format::load(scalar(k0 + i * k_step * kr.row_nbytes) + at_k,
                                kp);
    }
    DEV_MEMBER void whole_values(const KeyRows &vr, const u8 *v0, u32 vp, u32 t)
    {
        const u32 at_v = offset(v_row(t), vr, vp);

        UNROLL
        for (u32 i = 0; i < v_blocks; i++) {
            UNROLL
            for (u32 j = 0; j < 4; j++)
                v[i][j] = Format::load(
                    scalar(v0 + (i * v_step + j) * vr.row_nbytes) + at_v, vp);
        }
    }
    /* The same for a tile partly in the span. */
    DEV_MEMBER void part_of_keys(const KeyRows &kr, const u8 *k0, u32 kp, u32 t,
                                 const KeySpan &span, i32 key0)
    {
        const i32 first = max_of(span.first - key0, 0);
        const i32 last = min_of(span.end - key0, (i32)keys) - 1;

        UNROLL
        for (u32 i = 0; i < k_loads; i++) {
            const i32 row = (i32)(k_row(t) + i * k_step);

            k[i] = Format::load(
                k0 + offset((u32)max_of(min_of(row, last), first), kr, kp), kp);
        }
    }
    DEV_MEMBER void part_of_values(const KeyRows &vr, const u8 *v0, u32 vp,
                                   u32 t, const KeySpan &span, i32 key0)
    {
        const i32 first = max_of(span.first - key0, 0);
        const i32 last = min_of(span.end - key0, (i32)keys) - 1;

        UNROLL
        for (u32 i = 0; i < v_blocks; i++) {
            UNROLL
            for (u32 j = 0; j < 4; j++) {
                const i32 row = (i32)(v_row(t) + i * v_step + j);

                v[i][j] = Format::load(
                    v0 + offset((u32)max_of(min_of(row, last), first), vr, vp),
                    vp);
                if (row < first || row > last)
                    Format::clear(v[i][j]);
            }
        }
    }
    static DEV_MEMBER Raw load_near(const KeyRows &r, i32 key,
                                    const KeySpan &span, u32 piece)
    {
        const i32 near = max_of(min_of(key, span.end - 1), span.first);

        return Format::load(r.row(near) + offset(0, r, piece), piece);
    }

    DEV_MEMBER void store(u8 *lds_k, u8 *lds_v, u32 d)
    {
        const u32 t = this_thread<Threads>();

        store_keys(lds_k, d, t);
        store_values(lds_v, t);
    }
    DEV_MEMBER void store_keys(u8 *lds_k, u32 d, u32 t)
    {
        if (d < D) {
            UNROLL
            for (u32 i = 0; i < k_loads; i++)
                if (k_piece(t) * 8 >= d)
                    Format::clear(k[i]);
        }
        UNROLL
        for (u32 i = 0; i < k_loads; i++) {
            const u32 key = k_row(t) + i * k_step;
            const u32 row = key / S::keys * S::keys + S::place(key % S::keys);

            *reinterpret_cast<Piece *>(lds_k + key_at(row, k_piece(t))) =
                Format::template unpack<T>(k[i]);
        }
    }
    DEV_MEMBER void store_values(u8 *lds_v, u32 t)
    {
        UNROLL
        for (u32 i = 0; i < v_blocks; i++) {
            const u32 key = v_row(t) + i * v_step;
            Piece x[4];

            UNROLL
            for (u32 j = 0; j < 4; j++)
                x[j] = Format::template unpack<T>(v[i][j]);
            UNROLL
            for (u32 e = 0; e < 8; e++) {
                const u32 col = v_piece(t) * 8 + e;
                const u32 row = col / 16 * 16 + S::place_d(col % 16);

                *reinterpret_cast<Pack<u32, 2> *>(
                    lds_v + value_at(row, key / 8) + key / 4 % 2 * 8) = {
                    {pair_halves(x[0][e / 2], x[1][e / 2], e % 2),
                     pair_halves(x[2][e / 2], x[3][e / 2], e % 2)}};
            }
        }
    }
};
