/*
 * attend_warp.h - attention's softmax and products in a warp of sm_80 and later
 *
 * A warp has 16 queries, or 32, in registers, as operands of mma.sync, and sums
 * their results in registers. It takes some keys at once: their scores are
 * S = Q K^T, and P = 2^(S - m + 8) are operands of O += P V without leaving the
 * lane (attend.h defines m). Lane l has queries l / 4 and l / 4 + 8 of 16, and
 * keys or columns 2 (l % 4) and the next of 8.
 *
 * Keys lie in LDS in lines of D elements, as they do in memory; ldmatrix
 * transposes V's. The pieces of 16 bytes of a line are permuted by the line's
 * number, so that one piece of 8 lines lies in 8 different banks.
 */
#pragma once

#include "attention/attend.h"
#include "nvidia/copy/mma_operands.h"

/* The layout of K, V and Q in LDS. */
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

    template <class Format = PlainFormat<f16>>
    DEV_MEMBER AttendKeys(const AttentionArgs &a, const Sequence &s, u32 b,
                          u32 key_head, const void *array, i64 batch, i64 row,
                          i64 head, Format = Format())
        : base(first_row<Format>(a, s, b, key_head, array, batch, row, head)),
          row_nbytes(format_nbytes<Format>(row)),
          page_nbytes(a.block_table ? format_nbytes<Format>(batch) : 0)
    {
    }
    template <u32 n = 16> DEV_MEMBER bool is_aligned() const
    {
        return (((u64)base | (u64)row_nbytes | (u64)page_nbytes) & (n - 1)) ==
               0;
    }
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

/* 16 rows of 8 keys, half an operand, times 8 columns. */
template <typename T> DEV void multiply_8(f32 (&d)[4], u32 a0, u32 a1, u32 b)
{
    if constexpr (is_same<T, bf16>::value)
        asm("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 "
            "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a0), "r"(a1), "r"(b));
    else
        asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
            "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a0), "r"(a1), "r"(b));
}

/* Results of the parts of a block for some rows and columns, in LDS. */
template <u32 Parts, u32 Rows, u32 Cols> struct RowParts {
    f32 o[Parts][Rows][Cols];
    f32 m[Parts][Rows], l[Parts][Rows];

    /* Two columns of a row, of all parts. */
    DEV_MEMBER RowPart merged(u32 row, u32 col) const
    {
        return merge<Parts>([&](u32 i) {
            return RowPart{m[i][row], l[i][row], load_pack<2>(&o[i][row][col])};
        });
    }
    DEV_MEMBER void set(u32 part, u32 row, u32 col, const RowPart &v)
    {
        store_pack(&o[part][row][col], v.o);
        if (col == 0)
            m[part][row] = v.m, l[part][row] = v.l;
    }
};

/* Two columns of a finished row; column 0 stores the row's log-sum-exp. */
template <typename T, class Form>
DEV Pack<T, 2> finish_row(const AttentionArgs &a, const AttendRow &to,
                          const RowPart &all, f32 lead, u32 d)
{
    const Pack<f32, 2> v = all.results(
        to.template finish<Form>(a, all.l, all.log2_sum(lead), d == 0));

    return bits_as<Pack<T, 2>>(round_two<T>(v[0], v[1]));
}

/*
 * A warp's 16 queries: their results, and scores of `Keys` keys at once. Slot i
 * of a lane is query l / 4 + 8 i.
 */
template <typename T, u32 D, u32 Keys, bool Decode, class Form>
struct AttendRows {
    typedef Queries<Decode> Rows;

    static constexpr u32 tiles = Keys / 8;
    typedef f32 Scores[tiles][4];
    typedef u32 Operands[tiles][2]; /* of P: two words for each 8 keys */

    f32 o[D / 8][4];
    Softmax<f32> soft[2];
    i32 row0; /* the first query */
    SeenKeys seen;

    DEV_MEMBER void begin(const Sequence &s, const Rows &rows, i32 first_row)
    {
        row0 = first_row;
        seen.find(s, rows, row0, 16);
        UNROLL
        for (u32 i = 0; i < D / 2; i++)
            o[i / 4][i % 4] = 0;
        UNROLL
        for (u32 i = 0; i < 2; i++)
            soft[i].begin();
    }
    /* the query of slot i */
    DEV_MEMBER i32 row(u32 i) const
    {
        return row0 + (i32)(threadIdx.x % 32 / 4 + 8 * i);
    }

    /* ---- scores ---- */

    /* Scales scores for exp2(), and applies softcap, ALiBi and masks as the
     * arguments say. mask(i, n, seen) is a mask's addend for slot i and key
     * number n. */
    template <class Mask>
    DEV_MEMBER void finish_scores(Scores &x, const AttentionArgs &a, u32 b,
                                  u32 head, i32 key0, Mask mask) const
    {
        constexpr u32 words = (Keys + 31) / 32;
        const Sequence s(a, b);
        const Rows rows(a, s, head);

        UNROLL
        for (u32 i = 0; i < 2; i++) {
            const i32 row = min_of(this->row(i), rows.nrows - 1);
            const i32 token = rows.token(row);
            const i64 position = (i64)token + s.behind;
            u32 sees[words];

            UNROLL
            for (u32 w = 0; w < words; w++) {
                const i32 k0 = key0 + (i32)(w * 32);

                sees[w] =
                    bit_span(s.first_key(token) - k0, s.end_key(token) - k0);
                s.each_range(position, position + 1, [&](i32 from, i32 to) {
                    sees[w] |= bit_span(from - k0, to - k0);
                });
            }
            /* a pass for each argument: most calls jump over it at once */
            each(x, i, [&](u32, f32 v) { return v * a.scale; });
            if (a.softcap != 0)
                each(x, i, [&](u32, f32 v) {
                    return a.softcap * tanh_fast(v * reciprocal(a.softcap));
                });
            if (Form::mask(a)) {
                const f32 slope = a.alibi_slopes
                                      ? a.alibi_slopes[(u64)b * a.alibi_batch +
                                                       rows.head(row)]
                                      : 1;

                each(x, i, [&](u32 n, f32 v) {
                    const bool seen = sees[n / 32] >> n % 32 & 1;

                    return v + slope * mask(i, n, seen);
                });
            } else if (a.alibi_slopes) {
                const f32 slope =
                    a.alibi_slopes[(u64)b * a.alibi_batch + rows.head(row)];
                const i32 behind = (i32)(position - key0);

                each(x, i, [&](u32 n, f32 v) {
                    return v - slope * __builtin_fabsf((f32)(behind - (i32)n));
                });
            }
            each(x, i, [&](u32 n, f32 v) {
                return sees[n / 32] >> n % 32 & 1 ? v * log2_e : -infinite;
            });
        }
    }
    /* x = fn(key, x) for a query's scores; key: its number among `Keys` keys */
    template <class Fn>
    static DEV_MEMBER void each(f32 (&x)[tiles][4], u32 i, Fn fn)
    {
        UNROLL
        for (u32 e = 0; e < tiles * 2; e++) {
            f32 &at = x[e / 2][i * 2 + e % 2];

            at = fn(e / 2 * 8 + threadIdx.x % 4 * 2 + e % 2, at);
        }
    }

    /* ---- exponentials ---- */

    /*
     * Turns scores into exponents of two. Returns the factor that the caller
     * still has to apply: 1 for none.
     */
    template <class Mask>
    DEV_MEMBER f32 finish(Scores &x, const AttentionArgs &a, u32 b, u32 head,
                          i32 key0, Mask mask) const
    {
        if (a.softcap == 0 && !a.alibi_slopes && a.scale > 0 &&
            key0 >= seen.first_all && key0 + (i32)Keys <= seen.end_all) {
            if (!Form::mask(a))
                return a.scale * log2_e;
            UNROLL
            for (u32 i = 0; i < 2; i++)
                each(x, i, [&](u32 n, f32 v) {
                    return fused(v, a.scale * log2_e,
                                 mask(i, n, true) * log2_e);
                });
            return 1;
        }
        finish_scores(x, a, b, head, key0, mask);
        return 1;
    }
    /* Raises the rows' maxima for scores that exceed the range of P. scale(i,
     * by) multiplies the results of row slot i. */
    template <class Scale>
    DEV_MEMBER void raise(const Scores &x, f32 factor, Scale scale)
    {
        f32 top[2];

        UNROLL
        for (u32 i = 0; i < 2; i++) {
            f32 v = -infinite;

            UNROLL
            for (u32 e = 0; e < tiles * 2; e++)
                v = __builtin_fmaxf(v, x[e / 2][i * 2 + e % 2]);
            top[i] = v * factor;
        }
        raise_rows(
            soft, top,
            [](f32 v) {
                return join_lanes<4>(
                    v, [](f32 p, f32 r) { return __builtin_fmaxf(p, r); });
            },
            scale);
    }
    /* Adds a mask from memory to the scores by finish(), and raises m if the
     * row's maximum grew. Returns finish()'s factor. */
    DEV_MEMBER f32 weigh(Scores &x, const AttentionArgs &a, u32 b, u32 head,
                         i32 key0)
    {
        const Sequence s(a, b);
        const Rows rows(a, s, head);
        const f32 factor =
            finish(x, a, b, head, key0, [&](u32 i, u32 n, bool seen) {
                const i32 row = min_of(this->row(i), rows.nrows - 1);
                const i64 at =
                    Form::mask_at(a, b, rows.head(row), rows.token(row));

                return convert<f32>(
                    Form::mask(a)[at + (seen ? key0 + (i32)n : 0)]);
            });

        raise(x, factor, [&](u32 i, f32 by) { scale_results(i, by); });
        return factor;
    }
    DEV_MEMBER void scale_results(u32 i, f32 by)
    {
        UNROLL
        for (u32 e = 0; e < D / 4; e++)
            o[e / 2][i * 2 + e % 2] *= by;
    }
    /* x becomes P, and is added to l */
    DEV_MEMBER void exponentials(Scores &x, f32 factor)
    {
        UNROLL
        for (u32 i = 0; i < 2; i++) {
            const f32 lift = p_lead<T> - soft[i].m;

            UNROLL
            for (u32 e = 0; e < tiles * 2; e++) {
                f32 &v = x[e / 2][i * 2 + e % 2];

                v = exp2_fast(fused(v, factor, lift));
                soft[i].l += v;
            }
        }
    }
    static DEV_MEMBER void round(const Scores &x, Operands &p)
    {
        UNROLL
        for (u32 e = 0; e < tiles * 2; e++) {
            const f32 *from = x[e / 2] + e % 2 * 2;

            p[e / 2][e % 2] = round_two<T>(from[0], from[1]);
        }
    }

    /* ---- results ---- */

    /* a query's l, added up over the four lanes that share the query */
    DEV_MEMBER f32 sum(u32 i) const
    {
        return join_lanes<4>(soft[i].l, [](f32 p, f32 r) { return p + r; });
    }
    /* Stores O, after the last key. */
    DEV_MEMBER void store(const AttentionArgs &a, u32 b, u32 head) const
    {
        const u32 lane = threadIdx.x % 32;
        const Sequence s(a, b);

        UNROLL
        for (u32 i = 0; i < 2; i++) {
            const f32 all = sum(i);
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

/*
 * The same by mma.sync: 8 keys at once, or 16 to 64. QInLds: operands of Q are
 * read again for all keys.
 */
template <typename T, u32 D, u32 Keys, bool Decode, bool QInLds, class Form>
struct AttendWarp : AttendRows<T, D, Keys, Decode, Form> {
    typedef AttendRows<T, D, Keys, Decode, Form> Base;
    typedef AttendLines<D> Lines;
    typedef typename Base::Rows Rows;
    typedef typename Base::Scores Scores;
    typedef typename Base::Operands Operands;
    typedef AttendLines<QInLds ? D : 64> Slab; /* 16 rows of Q in LDS */
    using Base::o, Base::row0, Base::seen, Base::tiles;

    static constexpr u32 steps = D / 16;
    /* for begin(), and if QInLds for good */
    static constexpr u32 slab_nbytes = 16 * Slab::nbytes;
    /* ldmatrix takes 16 keys by 16 of d, or 8 by 32 */
    static constexpr bool flat = Keys == 8;

    u32 q[QInLds ? 1 : steps][4];
    u32 k_lds, v_lds, q_lds; /* this lane's first ldmatrix addresses */

    /* ---- queries ---- */

    /* slab: this warp's own LDS */
    DEV_MEMBER void begin(const AttentionArgs &a, const Sequence &s,
                          const Rows &rows, u32 b, i32 first_row, u32 slab)
    {
        const u32 lane = threadIdx.x % 32;

        Base::begin(s, rows, first_row);
        k_lds = flat ? Lines::at(lane % 8, lane / 8)
                     : Lines::at(lane % 8 + lane / 16 * 8, lane / 8 % 2);
        v_lds = flat ? k_lds : Lines::at(lane % 16, lane / 16);
        q_lds = slab + Slab::at(lane % 16, lane / 16);
        if constexpr (QInLds) {
            _Pragma("unroll 4") for (u32 i = lane; i < 16 * D / 8; i += 32)
                store_piece(slab + Slab::at(i / (D / 8), i % (D / 8)),
                            rows.template piece<T>(a, s, b,
                                                   row0 + (i32)(i / (D / 8)),
                                                   i % (D / 8)));
        } else {
            UNROLL
            for (u32 c = 0; c < D / 64; c++) {
                __syncwarp();
                UNROLL
                for (u32 i = 0; i < 4; i++) {
                    const u32 row = lane / 8 + 4 * i;

                    store_piece(slab + Slab::at(row, lane % 8),
                                rows.template piece<T>(a, s, b, row0 + (i32)row,
                                                       c * 8 + lane % 8));
                }
                __syncwarp();
                UNROLL
                for (u32 k = 0; k < 4; k++)
                    load_matrices(q[c * 4 + k], Slab::further(q_lds, k * 2));
            }
        }
        __syncwarp();
    }

    /* ---- scores ---- */

    DEV_MEMBER bool sees_any(i32 key0) const
    {
        return key0 + (i32)Keys > seen.first_any && key0 < seen.end_any;
    }
    DEV_MEMBER void multiply_keys(Scores &x, u32 lds) const
    {
        UNROLL
        for (u32 i = 0; i < tiles * 4; i++)
            x[i / 4][i % 4] = 0;
        UNROLL
        for (u32 k = 0; k < steps; k += flat ? 2 : 1) {
            const u32 at = lds + Lines::further(k_lds, k * 2);
            u32 part[4];

            if constexpr (QInLds)
                load_matrices(part, Slab::further(q_lds, k * 2));
            UNROLL
            for (u32 t = 0; t < tiles; t += 2) {
                const u32 t1 = flat ? t : t + 1, k1 = flat ? k + 1 : k;
                u32 y[4];

                load_matrices(y, at + t * 8 * Lines::nbytes);
                if constexpr (QInLds) {
                    MmaOp<T>::call(x[t], part, y[0], y[1]);
                    MmaOp<T>::call(x[t1], part, y[2], y[3]);
                } else {
                    MmaOp<T>::call(x[t], q[k], y[0], y[1]);
                    MmaOp<T>::call(x[t1], q[k1], y[2], y[3]);
                }
            }
        }
    }

    DEV_MEMBER void add_values(const Operands &p, u32 lds)
    {
        UNROLL
        for (u32 t = 0; t < tiles; t += 2) {
            UNROLL
            for (u32 n = 0; n < D / 8; n += flat ? 4 : 2) {
                u32 y[4];

                load_matrices_trans(y, lds + Lines::further(v_lds, n) +
                                           t * 8 * Lines::nbytes);
                if constexpr (flat) {
                    UNROLL
                    for (u32 i = 0; i < 4; i++)
                        multiply_8<T>(o[n + i], p[t][0], p[t][1], y[i]);
                } else {
                    const u32 a[4] = {p[t][0], p[t][1], p[t + 1][0],
                                      p[t + 1][1]};

                    MmaOp<T>::call(o[n], a, y[0], y[1]);
                    MmaOp<T>::call(o[n + 1], a, y[2], y[3]);
                }
            }
        }
    }
    /* Scores of the keys at lds_k, finished and in powers of P's base. */
    DEV_MEMBER f32 score(Scores &x, const AttentionArgs &a, u32 b, u32 head,
                         i32 key0, u32 lds_k)
    {
        multiply_keys(x, lds_k);
        return Base::weigh(x, a, b, head, key0);
    }

    /* ---- for attend_decode.h ---- */

    static constexpr u32 keys = Keys, unit_nbytes = Keys * Lines::nbytes;

    static DEV_MEMBER bool is_aligned(const AttendKeys &k, const AttendKeys &v)
    {
        return k.is_aligned() && v.is_aligned();
    }
    static DEV_MEMBER void copy(u32 lds, const AttentionArgs &a, u32 b,
                                const AttendKeys &k, u32 d, bool aligned,
                                i32 key0, const KeySpan &span, u32 lane)
    {
        copy_lines<Lines, Keys, 32>(lds, a, b, k, d, aligned, key0, span, lane);
    }
    /* the column of o[n][0], and the distance from it to the column of o[n][1]
     */
    static DEV_MEMBER u32 column(u32 n)
    {
        return n * 8 + threadIdx.x % 4 * 2;
    }
    static constexpr u32 columns_apart = 1;
};
