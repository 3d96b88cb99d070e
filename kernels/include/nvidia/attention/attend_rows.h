/*
 * attend_rows.h - attention's scores and softmax in a warp of sm_80 and later
 *
 * A warp has some queries' results in registers. It takes some keys at once:
 * their scores are S = Q K^T, and P = 2^(S - m + lead) are operands of O += P V
 * (online_softmax.h defines m). Each lane has two queries, called its slots,
 * and of each every fourth or eighth score: see ScoreRows and ScoreColumns.
 *
 * K and V lie in LDS in lines of D elements, as they do in memory. The pieces
 * of 16 bytes of a line are permuted by the line's number, so that one piece of
 * 8 lines lies in 8 different banks.
 */
#pragma once

#include "attention/attend.h"
#include "nvidia/copy/mma_operands.h"

/* How K, V and Q lie in LDS. */
template <u32 D> struct AttendLines {
    static constexpr u32 nbytes = D * 2, pieces = D / 8;

    static DEV_MEMBER u32 at(u32 line, u32 piece)
    {
        return line * nbytes + piece / 8 * 128 + (piece % 8 ^ line % 8) * 16;
    }
    /* from at(line, piece) to at(line, piece + more), which share no bit */
    static DEV_MEMBER u32 further(u32 at, u32 more)
    {
        return (at ^ more % 8 * 16) + more / 8 * 128;
    }
};

/* A sequence's K or V of one head, on its way to LDS. */
struct AttendKeys {
    const u8 *base;
    i64 row_nbytes, page_nbytes;

    DEV_MEMBER const u8 *row(const AttentionArgs &a, u32 b, i32 key) const
    {
        if (!a.block_table)
            return base + key * row_nbytes;

        const u32 page = (u32)key / a.page_size;

        return base +
               a.block_table[(u64)b * a.block_table_batch + page] *
                   page_nbytes +
               ((u32)key - page * a.page_size) * row_nbytes;
    }
};
/* Both, and whether all rows are aligned to so many bytes. */
template <class Format, u32 Alignment = 16> struct AttendKeysValues {
    AttendKeys k, v;
    bool aligned;

    DEV_MEMBER AttendKeysValues(const AttentionArgs &a, const Sequence &s,
                                u32 b, u32 key_head)
        : k(keys(a, s, b, key_head, a.k, a.k_batch, a.k_row, a.k_head)),
          v(keys(a, s, b, key_head, a.v, a.v_batch, a.v_row, a.v_head)),
          aligned((((u64)k.base | (u64)k.row_nbytes | (u64)k.page_nbytes |
                    (u64)v.base | (u64)v.row_nbytes | (u64)v.page_nbytes) &
                   (Alignment - 1)) == 0)
    {
    }
    static DEV_MEMBER AttendKeys keys(const AttentionArgs &a, const Sequence &s,
                                      u32 b, u32 key_head, const void *array,
                                      i64 batch, i64 row, i64 head)
    {
        return {first_row<Format>(a, s, b, key_head, array, batch, row, head),
                format_nbytes<Format>(row),
                a.block_table ? format_nbytes<Format>(batch) : 0};
    }
};

DEV void store_piece(u32 lds, const Piece &v)
{
    asm volatile("st.shared.v4.b32 [%0], {%1,%2,%3,%4};" ::"r"(lds), "r"(v[0]),
                 "r"(v[1]), "r"(v[2]), "r"(v[3])
                 : "memory");
}

/*
 * Starts bringing `Keys` lines of d columns from key0 on to LDS; thread t of
 * `Threads`. Keys outside the span and columns from d on become zeros. Lines
 * that are not aligned to 16 bytes are in LDS when the function returns.
 */
template <class Lines, u32 Keys, u32 Threads>
DEV void copy_lines(u32 lds, const AttentionArgs &a, u32 b,
                    const AttendKeys &keys, u32 d, bool aligned, i32 key0,
                    const KeySpan &span, u32 t)
{
    constexpr u32 step = Threads / Lines::pieces;
    const u32 piece = t % Lines::pieces, line = t / Lines::pieces;

    if (aligned && !a.block_table && key0 >= span.first &&
        key0 + (i32)Keys <= span.end) {
        const u8 *const from =
            keys.base + (key0 + (i32)line) * keys.row_nbytes + piece * 16;

        UNROLL
        for (u32 i = 0; i < Keys / step; i++)
            async_copy_part(lds + Lines::at(line + i * step, piece),
                            from + (i64)(i * step) * keys.row_nbytes,
                            piece * 8 < d ? 16 : 0);
        return;
    }
    NO_UNROLL
    for (u32 i = 0; i < Keys / step; i++) {
        const i32 key = key0 + (i32)(line + i * step);
        const bool seen = piece * 8 < d && key >= span.first && key < span.end;
        const u8 *const from =
            seen ? keys.row(a, b, key) + piece * 16 : keys.base;
        const u32 to = lds + Lines::at(line + i * step, piece);

        if (aligned)
            async_copy_part(to, from, seen ? 16 : 0);
        else
            store_piece(to, seen ? load_piece(from) : Piece{});
    }
}

/* The two numbers, rounded; the first is in the lower half. */
template <typename T> DEV u32 round_two(f32 low, f32 high)
{
    u32 v;

    if constexpr (is_same<T, bf16>::value)
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(high), "f"(low));
    else
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(high), "f"(low));
    return v;
}

/*
 * Which scores a lane has, of tiles of four sums: number j of slot i. Results
 * lie alike, with columns instead of keys.
 *
 *   width     keys of a tile
 *   query(i)  the query of slot i
 *   key(j)    the key of number j
 *   sum(x, i, j)
 *   join(v, op)   v of the lanes that share a query
 */
/* S = Q K^T: queries are the rows of a tile. */
struct ScoreRows {
    static constexpr u32 width = 8;

    static DEV_MEMBER u32 query(u32 i)
    {
        return threadIdx.x % 32 / 4 + 8 * i;
    }
    static DEV_MEMBER u32 key(u32 j)
    {
        return j / 2 * 8 + threadIdx.x % 4 * 2 + j % 2;
    }
    template <u32 n> static DEV_MEMBER f32 &sum(f32 (&x)[n][4], u32 i, u32 j)
    {
        return x[j / 2][i * 2 + j % 2];
    }
    template <class Op> static DEV_MEMBER f32 join(f32 v, Op op)
    {
        return join_lanes<4>(v, op);
    }
};
/* S^T = K Q^T: queries are the columns. */
struct ScoreColumns {
    static constexpr u32 width = 16;

    static DEV_MEMBER u32 query(u32 i)
    {
        return threadIdx.x % 4 * 2 + i;
    }
    static DEV_MEMBER u32 key(u32 j)
    {
        return j * 8 + threadIdx.x % 32 / 4;
    }
    template <u32 n> static DEV_MEMBER f32 &sum(f32 (&x)[n][4], u32 i, u32 j)
    {
        return x[j / 2][j % 2 * 2 + i];
    }
    template <class Op> static DEV_MEMBER f32 join(f32 v, Op op)
    {
        v = op(v, lane_xor<16>(v));
        v = op(v, lane_xor<8>(v));
        return op(v, lane_xor<4>(v));
    }
};

/* A warp's queries: their results, and scores of `Keys` keys at once. */
template <class Layout, typename T, u32 D, u32 Keys, bool Decode, class Form>
struct AttendRows {
    typedef Queries<Decode> Rows;

    static constexpr u32 tiles = Keys / Layout::width;
    static constexpr u32 each = tiles * 2, all = D / Layout::width * 2;
    typedef f32 Scores[tiles][4];

    f32 o[D / Layout::width][4];
    Softmax<f32> soft[2];
    i32 row0; /* the first query */
    SeenKeys seen;

    DEV_MEMBER void begin(const Sequence &s, const Rows &rows, i32 first_row,
                          u32 nrows)
    {
        row0 = first_row;
        seen.find(s, rows, row0, nrows);
        UNROLL
        for (u32 i = 0; i < 2; i++) {
            soft[i].begin();
            UNROLL
            for (u32 e = 0; e < all; e++)
                Layout::sum(o, i, e) = 0;
        }
    }
    /* the query of slot i */
    DEV_MEMBER i32 row(u32 i) const
    {
        return row0 + (i32)Layout::query(i);
    }
    DEV_MEMBER bool sees_any(i32 key0) const
    {
        return key0 + (i32)Keys > seen.first_any && key0 < seen.end_any;
    }

    /* ---- scores ---- */

    /* x = fn(number, key of `Keys`, x) for a query's scores */
    template <class Fn> static DEV_MEMBER void change(Scores &x, u32 i, Fn fn)
    {
        UNROLL
        for (u32 j = 0; j < each; j++) {
            f32 &at = Layout::sum(x, i, j);

            at = fn(j, Layout::key(j), at);
        }
    }
    /* Scores in powers of two, with all that the arguments say. mask(i, j, key)
     * is what a mask adds to number j of slot i. */
    template <class Mask>
    DEV_MEMBER void finish_scores(Scores &x, const AttentionArgs &a, u32 b,
                                  const Rows &rows, i32 key0, Mask mask) const
    {
        const Sequence s(a, b);

        UNROLL
        for (u32 i = 0; i < 2; i++) {
            const i32 row = min_of(this->row(i), rows.nrows - 1);
            const i32 token = rows.token(row);
            const i64 position = (i64)token + s.behind;
            u32 sees[(Keys + 31) / 32];

            UNROLL
            for (u32 w = 0; w < (Keys + 31) / 32; w++) {
                const i32 k0 = key0 + (i32)(w * 32);

                sees[w] =
                    bit_span(s.first_key(token) - k0, s.end_key(token) - k0);
                s.each_range(position, position + 1, [&](i32 from, i32 to) {
                    sees[w] |= bit_span(from - k0, to - k0);
                });
            }
            /* a pass for each argument: most calls jump over it at once */
            change(x, i, [&](u32, u32, f32 v) { return v * a.scale; });
            if (a.softcap != 0)
                change(x, i, [&](u32, u32, f32 v) {
                    return a.softcap * tanh_fast(v * reciprocal(a.softcap));
                });

            const f32 slope =
                a.alibi_slopes
                    ? a.alibi_slopes[(u64)b * a.alibi_batch + rows.head(row)]
                    : 1;

            if (Form::mask(a)) {
                change(x, i, [&](u32 j, u32 n, f32 v) {
                    return v + slope * mask(i, j, key0 + (i32)n);
                });
            } else if (a.alibi_slopes) {
                const i32 behind = (i32)(position - key0);

                change(x, i, [&](u32, u32 n, f32 v) {
                    return v - slope * __builtin_fabsf((f32)(behind - (i32)n));
                });
            }
            change(x, i, [&](u32, u32 n, f32 v) {
                return sees[n / 32] >> n % 32 & 1 ? v * log2_e : -infinite;
            });
        }
    }
    /*
     * Scores to powers of two. Returns the factor still to apply, which is 1 if
     * it has been applied.
     */
    template <class Mask>
    DEV_MEMBER f32 finish(Scores &x, const AttentionArgs &a, u32 b,
                          const Rows &rows, i32 key0, Mask mask) const
    {
        const f32 factor = a.scale * log2_e;
        const bool plain = a.softcap == 0 && !a.alibi_slopes &&
                           key0 >= seen.first_all &&
                           key0 + (i32)Keys <= seen.end_all;

        if (plain && !Form::mask(a) && a.scale > 0)
            return factor;
        if (plain && Form::mask(a)) {
            UNROLL
            for (u32 i = 0; i < 2; i++)
                change(x, i, [&](u32 j, u32 n, f32 v) {
                    return fused(v, factor, mask(i, j, key0 + (i32)n) * log2_e);
                });
            return 1;
        }
        finish_scores(x, a, b, rows, key0, mask);
        return 1;
    }

    /* ---- exponentials ---- */

    /* If a score exceeds the range of P, results of slot i must be multiplied:
     * scale(i, by). */
    template <class Scale>
    DEV_MEMBER void raise(Scores &x, f32 factor, Scale scale)
    {
        const auto larger = [](f32 p, f32 r) { return __builtin_fmaxf(p, r); };
        f32 top[2];

        UNROLL
        for (u32 i = 0; i < 2; i++) {
            f32 v = -infinite;

            UNROLL
            for (u32 j = 0; j < each; j++)
                v = larger(v, Layout::sum(x, i, j));
            top[i] = v * factor;
        }
        raise_rows(
            soft, top, [&](f32 v) { return Layout::join(v, larger); }, scale);
    }
    DEV_MEMBER void raise(Scores &x, f32 factor)
    {
        raise(x, factor, [&](u32 i, f32 by) { scale_results(i, by); });
    }
    DEV_MEMBER void scale_results(u32 i, f32 by)
    {
        UNROLL
        for (u32 e = 0; e < all; e++)
            Layout::sum(o, i, e) *= by;
    }
    /* x becomes P, and is added to l */
    DEV_MEMBER void exponentials(Scores &x, f32 factor)
    {
        UNROLL
        for (u32 i = 0; i < 2; i++) {
            const f32 lift = p_lead<T> - soft[i].m;

            UNROLL
            for (u32 j = 0; j < each; j++) {
                f32 &v = Layout::sum(x, i, j);

                v = exp2_fast(fused(v, factor, lift));
                soft[i].l += v;
            }
        }
    }

    /* ---- results ---- */

    /* a query's l, added up over the lanes that share the query */
    DEV_MEMBER f32 sum(u32 i) const
    {
        return Layout::join(soft[i].l, [](f32 p, f32 r) { return p + r; });
    }
};

/* Many queries of a head, 16 a warp. */
template <typename T, u32 D, u32 Keys, class Form>
struct ManyRows : AttendRows<ScoreRows, T, D, Keys, false, Form> {
    typedef AttendRows<ScoreRows, T, D, Keys, false, Form> Base;
    typedef u32 Operands[Base::tiles][2]; /* of P: two words for each 8 keys */
    using Base::o, Base::soft, Base::row;

    /* what a mask adds to a score of slot i */
    DEV_MEMBER f32 mask_of(const AttentionArgs &a, u32 b,
                           const Queries<false> &rows, u32 i, i32 key) const
    {
        const i32 token = min_of(row(i), rows.nrows - 1);

        return convert<f32>(
            Form::mask(a)[Form::mask_at(a, b, rows.head0, token) +
                          min_of(key, Sequence(a, b).nk - 1)]);
    }
    static DEV_MEMBER void round(const typename Base::Scores &x, Operands &p)
    {
        UNROLL
        for (u32 e = 0; e < Base::tiles * 2; e++) {
            const f32 *from = x[e / 2] + e % 2 * 2;

            p[e / 2][e % 2] = round_two<T>(from[0], from[1]);
        }
    }
    /* Stores O, after the last key. */
    DEV_MEMBER void store(const AttentionArgs &a, u32 b, u32 head) const
    {
        const u32 lane = threadIdx.x % 32;
        const Sequence s(a, b);

        UNROLL
        for (u32 i = 0; i < 2; i++) {
            const f32 all = this->sum(i);
            const AttendRow to(a, s, b, row(i), head);
            f32 scale = reciprocal(all);

            if (row(i) >= s.nq)
                continue;
            scale *= to.template finish<Form>(
                a, all, soft[i].m - p_lead<T> + log2f(all), lane % 4 == 0);
            UNROLL
            for (u32 n = 0; n < D / 8; n++) {
                const u32 d = n * 8 + lane % 4 * 2;
                const f32 *v = o[n] + 2 * i;
                const u32 two =
                    all == 0 ? 0 : round_two<T>(v[0] * scale, v[1] * scale);

                if (d < Form::d_v(a))
                    store_anywhere(to.template out<T>(a, d),
                                   bits_as<Pack<T, 2>>(two));
            }
        }
    }
};
