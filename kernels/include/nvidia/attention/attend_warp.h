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

    DEV_MEMBER AttendKeys(const AttentionArgs &a, const Sequence &s, u32 b,
                          u32 key_head, const void *array, i64 batch, i64 row,
                          i64 head)
        : base((const u8 *)array + key_head * head * 2), row_nbytes(row * 2),
          page_nbytes(0)
    {
        if (a.block_table)
            page_nbytes = batch * 2;
        else
            base += (a.cu_seqlens_k ? s.k_rows * row : b * batch) * 2;
    }
    DEV_MEMBER bool is_aligned_to_16() const
    {
        return (((u64)base | (u64)row_nbytes | (u64)page_nbytes) & 15) == 0;
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
            async_copy16(lds + Lines::at(line + i * step, piece),
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
            async_copy16(to, from, seen ? 16 : 0);
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

/* Where a query's results go. */
struct AttendRow {
    u64 of_all; /* of total_q */
    i64 at;     /* elements of O */

    DEV_MEMBER AttendRow(const AttentionArgs &a, const Sequence &s, u32 b,
                         i32 token, u32 head)
        : of_all((a.cu_seqlens_q ? (u64)s.q_rows : (u64)b * a.seqlen_q) +
                 (u32)token),
          at((a.cu_seqlens_q ? s.q_rows * a.o_row : b * a.o_batch) +
             token * a.o_row + head * a.o_head)
    {
    }
    /* The row's lse, with its sink; the result is what the sink leaves. */
    template <class Form>
    DEV_MEMBER f32 finish(const AttentionArgs &a, u32 b, i32 token, u32 head,
                          f32 sum, f32 log2_sum, bool sets_lse) const
    {
        const f32 share = add_sink<Form>(a, head, log2_sum);

        if (sets_lse)
            set_lse(a, b, token, head, is_no_sum<Form>(a, sum), log2_sum);
        return share;
    }
    DEV_MEMBER void set_lse(const AttentionArgs &a, u32 b, i32 token, u32 head,
                            bool none, f32 log2_sum) const
    {
        const u64 total = a.total_q ? a.total_q : (u64)a.b * a.seqlen_q;

        if (a.lse)
            a.lse[a.unpadded_lse
                      ? head * total + of_all
                      : ((u64)b * a.h + head) * a.seqlen_q + (u32)token] =
                none ? -infinite : log2_sum * ln_2;
    }
};

/*
 * A warp's queries, `Units` times 16: their results, and scores of `Keys` keys
 * at once.
 */
template <typename T, u32 D, u32 Units, u32 Keys, bool Decode, class Form>
struct AttendRows {
    typedef Queries<Decode> Rows;

    static constexpr u32 tiles = Keys / 8;
    struct Scores {
        f32 v[Units][tiles][4];
    };

    f32 o[Units][D / 8][4];
    f32 m[Units][2];
    f32 l[Units][2];
    i32 row0; /* the first query */
    SeenKeys seen;

    DEV_MEMBER void begin(const Sequence &s, const Rows &rows, i32 first_row)
    {
        row0 = first_row;
        seen.find(s, rows, row0, Units * 16);
        UNROLL
        for (u32 u = 0; u < Units; u++) {
            UNROLL
            for (u32 i = 0; i < D / 2; i++)
                o[u][i / 4][i % 4] = 0;
            UNROLL
            for (u32 i = 0; i < 2; i++)
                m[u][i] = -1e30f, l[u][i] = 0;
        }
    }

    /* ---- scores ---- */

    /* Scores in powers of two, with all that the arguments say. */
    DEV_MEMBER void finish_scores(Scores &x, const AttentionArgs &a, u32 b,
                                  u32 head, i32 key0) const
    {
        constexpr u32 words = (Keys + 31) / 32;
        const u32 lane = threadIdx.x % 32;
        const Sequence s(a, b);
        const Rows rows(a, s, head);

        UNROLL
        for (u32 u = 0; u < Units; u++) {
            UNROLL
            for (u32 i = 0; i < 2; i++) {
                const i32 row = min_of(row0 + (i32)(u * 16 + lane / 4 + 8 * i),
                                       rows.nrows - 1);
                const i32 token = rows.token(row);
                const i64 position = (i64)token + s.behind;
                const f16 *const mask = Form::mask(a);
                u32 sees[words];

                UNROLL
                for (u32 w = 0; w < words; w++) {
                    const i32 k0 = key0 + (i32)(w * 32);

                    sees[w] = bit_span(s.first_key(token) - k0,
                                       s.end_key(token) - k0);
                    s.each_range(position, position + 1, [&](i32 from, i32 to) {
                        sees[w] |= bit_span(from - k0, to - k0);
                    });
                }
                /* a pass for each argument: most calls jump over it at once */
                each(x.v[u], i, [&](u32, f32 v) { return v * a.scale; });
                if (a.softcap != 0)
                    each(x.v[u], i, [&](u32, f32 v) {
                        return a.softcap * tanh_fast(v * reciprocal(a.softcap));
                    });
                if (mask) {
                    const f32 factor =
                        a.alibi_slopes ? a.alibi_slopes[(u64)b * a.alibi_batch +
                                                        rows.head(row)]
                                       : 1;
                    const f16 *const from =
                        mask + Form::mask_at(a, b, rows.head(row), token);

                    each(x.v[u], i, [&](u32 n, f32 v) {
                        const bool seen = sees[n / 32] >> n % 32 & 1;

                        return v + factor * convert<f32>(
                                                from[seen ? key0 + (i32)n : 0]);
                    });
                } else if (a.alibi_slopes) {
                    const f32 slope =
                        a.alibi_slopes[(u64)b * a.alibi_batch + rows.head(row)];
                    const i32 behind = (i32)(position - key0);

                    each(x.v[u], i, [&](u32 n, f32 v) {
                        return v -
                               slope * __builtin_fabsf((f32)(behind - (i32)n));
                    });
                }
                each(x.v[u], i, [&](u32 n, f32 v) {
                    return sees[n / 32] >> n % 32 & 1 ? v * log2_e : -infinite;
                });
            }
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
     * Scores to powers of two. Returns the factor still to apply, which is 1 if
     * finish_scores() has applied it.
     */
    DEV_MEMBER f32 finish(Scores &x, const AttentionArgs &a, u32 b, u32 head,
                          i32 key0) const
    {
        if (a.softcap == 0 && !a.alibi_slopes && a.scale > 0 &&
            !Form::mask(a) && key0 >= seen.first_all &&
            key0 + (i32)Keys <= seen.end_all)
            return a.scale * log2_e;
        finish_scores(x, a, b, head, key0);
        return 1;
    }
    /*
     * If a score exceeds the range of P, raises m, scales l, and returns true:
     * O must then be multiplied by `down`.
     */
    DEV_MEMBER bool raise(const Scores &x, f32 factor, f32 (&down)[Units][2])
    {
        f32 top[Units][2];
        bool over = false;

        UNROLL
        for (u32 u = 0; u < Units; u++) {
            UNROLL
            for (u32 i = 0; i < 2; i++) {
                f32 v = -infinite;

                UNROLL
                for (u32 e = 0; e < tiles * 2; e++)
                    v = __builtin_fmaxf(v, x.v[u][e / 2][i * 2 + e % 2]);
                top[u][i] = v * factor;
                over |= top[u][i] > m[u][i] + most_over;
            }
        }
        if (!any_lane(over))
            return false;
        UNROLL
        for (u32 u = 0; u < Units; u++) {
            UNROLL
            for (u32 i = 0; i < 2; i++) {
                f32 all = top[u][i];

                all = __builtin_fmaxf(all, lane_xor<1>(all));
                all = __builtin_fmaxf(all, lane_xor<2>(all));
                all = __builtin_fmaxf(all, m[u][i]);
                down[u][i] = exp2_fast(m[u][i] - all);
                m[u][i] = all;
                l[u][i] *= down[u][i];
            }
        }
        return true;
    }
    DEV_MEMBER void scale_results(const f32 (&down)[Units][2])
    {
        UNROLL
        for (u32 e = 0; e < Units * D / 2; e++)
            o[e / (D / 2)][e / 4 % (D / 8)][e % 4] *=
                down[e / (D / 2)][e / 2 % 2];
    }
    /* x becomes P, and is added to l */
    DEV_MEMBER void exponentials(Scores &x, f32 factor)
    {
        UNROLL
        for (u32 u = 0; u < Units; u++) {
            UNROLL
            for (u32 i = 0; i < 2; i++) {
                const f32 lift = p_lead<T> - m[u][i];

                UNROLL
                for (u32 e = 0; e < tiles * 2; e++) {
                    f32 &v = x.v[u][e / 2][i * 2 + e % 2];

                    v = exp2_fast(fused(v, factor, lift));
                    l[u][i] += v;
                }
            }
        }
    }
    /* P as operands: two words for each 8 keys */
    static DEV_MEMBER void round(const Scores &x, u32 (&p)[Units][tiles][2])
    {
        UNROLL
        for (u32 e = 0; e < Units * tiles * 2; e++) {
            const f32 *from = x.v[e / 2 / tiles][e / 2 % tiles] + e % 2 * 2;

            p[e / 2 / tiles][e / 2 % tiles][e % 2] =
                round_two<T>(from[0], from[1]);
        }
    }

    /* ---- results ---- */

    /* a query's l, added up over the four lanes that share the query */
    DEV_MEMBER f32 sum(u32 u, u32 i) const
    {
        f32 v = l[u][i];

        v += lane_xor<1>(v);
        return v + lane_xor<2>(v);
    }
    /* Stores O, after the last key. */
    DEV_MEMBER void store(const AttentionArgs &a, u32 b, u32 head) const
    {
        const u32 lane = threadIdx.x % 32;
        const Sequence s(a, b);

        UNROLL
        for (u32 u = 0; u < Units; u++) {
            UNROLL
            for (u32 i = 0; i < 2; i++) {
                const f32 all = sum(u, i);
                f32 scale = reciprocal(all);
                const i32 row = row0 + (i32)(u * 16 + lane / 4 + 8 * i);
                const AttendRow to(a, s, b, row, head);

                if (row >= s.nq)
                    continue;
                scale *= to.template finish<Form>(
                    a, b, row, head, all, m[u][i] - p_lead<T> + log2f(all),
                    lane % 4 == 0);
                UNROLL
                for (u32 n = 0; n < D / 8; n++) {
                    const u32 d = n * 8 + lane % 4 * 2;
                    const f32 *v = o[u][n] + 2 * i;
                    const u32 two =
                        all == 0 ? 0 : round_two<T>(v[0] * scale, v[1] * scale);

                    if (d < Form::d_v(a))
                        store_anywhere((T *)a.o + to.at + d,
                                       bits_as<Pack<T, 2>>(two));
                }
            }
        }
    }
};

/*
 * The same by mma.sync: 8 keys at once, or 16 to 64. QInLds: operands of Q are
 * read again for all keys.
 */
template <typename T, u32 D, u32 Units, u32 Keys, bool Decode, bool QInLds,
          class Form>
struct AttendWarp : AttendRows<T, D, Units, Keys, Decode, Form> {
    typedef AttendRows<T, D, Units, Keys, Decode, Form> Base;
    typedef AttendLines<D> Lines;
    typedef typename Base::Rows Rows;
    typedef typename Base::Scores Scores;
    typedef AttendLines<QInLds ? D : 64> Slab; /* 16 rows of Q in LDS */
    using Base::o, Base::row0, Base::seen, Base::tiles;

    static constexpr u32 steps = D / 16;
    /* for begin(), and if QInLds for good */
    static constexpr u32 slab_nbytes = (QInLds ? Units : 1) * 16 * Slab::nbytes;
    /* ldmatrix takes 16 keys by 16 of d, or 8 by 32 */
    static constexpr bool flat = Keys == 8;

    u32 q[QInLds ? 1 : Units][QInLds ? 1 : steps][4];
    u32 k_lds, v_lds, q_lds; /* this lane's first ldmatrix addresses */

    /* ---- queries ---- */

    /* slab: LDS that no other warp needs */
    DEV_MEMBER void begin(const AttentionArgs &a, const Sequence &s,
                          const Rows &rows, u32 b, i32 first_row, u32 slab)
    {
        const u32 lane = threadIdx.x % 32;

        Base::begin(s, rows, first_row);
        k_lds = flat ? Lines::at(lane % 8, lane / 8)
                     : Lines::at(lane % 8 + lane / 16 * 8, lane / 8 % 2);
        v_lds = flat ? k_lds : Lines::at(lane % 16, lane / 16);
        q_lds = slab + Slab::at(lane % 16, lane / 16);
        UNROLL
        for (u32 u = 0; u < Units; u++) {
            if constexpr (QInLds) {
                _Pragma("unroll 4") for (u32 i = lane; i < 16 * D / 8; i += 32)
                    store_piece(slab + u * 16 * Slab::nbytes +
                                    Slab::at(i / (D / 8), i % (D / 8)),
                                rows.template piece<T>(
                                    a, s, b, row0 + (i32)(u * 16 + i / (D / 8)),
                                    i % (D / 8)));
            } else {
                UNROLL
                for (u32 c = 0; c < D / 64; c++) {
                    __syncwarp();
                    UNROLL
                    for (u32 i = 0; i < 4; i++) {
                        const u32 row = lane / 8 + 4 * i;

                        store_piece(slab + Slab::at(row, lane % 8),
                                    rows.template piece<T>(
                                        a, s, b, row0 + (i32)(u * 16 + row),
                                        c * 8 + lane % 8));
                    }
                    __syncwarp();
                    UNROLL
                    for (u32 k = 0; k < 4; k++)
                        load_matrices(q[u][c * 4 + k],
                                      Slab::further(q_lds, k * 2));
                }
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
        for (u32 i = 0; i < Units * tiles * 4; i++)
            x.v[i / 4 / tiles][i / 4 % tiles][i % 4] = 0;
        UNROLL
        for (u32 k = 0; k < steps; k += flat ? 2 : 1) {
            const u32 at = lds + Lines::further(k_lds, k * 2);
            u32 part[Units][4];

            UNROLL
            for (u32 u = 0; u < Units; u++) {
                if constexpr (QInLds)
                    load_matrices(part[u], Slab::further(q_lds, k * 2) +
                                               u * 16 * Slab::nbytes);
            }
            UNROLL
            for (u32 t = 0; t < tiles; t += 2) {
                u32 y[4];

                load_matrices(y, at + t * 8 * Lines::nbytes);
                UNROLL
                for (u32 u = 0; u < Units; u++) {
                    const u32 t1 = flat ? t : t + 1, k1 = flat ? k + 1 : k;

                    if constexpr (QInLds) {
                        MmaOp<T>::call(x.v[u][t], part[u], y[0], y[1]);
                        MmaOp<T>::call(x.v[u][t1], part[u], y[2], y[3]);
                    } else {
                        MmaOp<T>::call(x.v[u][t], q[u][k], y[0], y[1]);
                        MmaOp<T>::call(x.v[u][t1], q[u][k1], y[2], y[3]);
                    }
                }
            }
        }
    }

    DEV_MEMBER void add_values(const u32 (&p)[Units][tiles][2], u32 lds)
    {
        UNROLL
        for (u32 t = 0; t < tiles; t += 2) {
            UNROLL
            for (u32 n = 0; n < D / 8; n += flat ? 4 : 2) {
                u32 y[4];

                load_matrices_trans(y, lds + Lines::further(v_lds, n) +
                                           t * 8 * Lines::nbytes);
                UNROLL
                for (u32 u = 0; u < Units; u++) {
                    if constexpr (flat) {
                        UNROLL
                        for (u32 i = 0; i < 4; i++)
                            multiply_8<T>(o[u][n + i], p[u][t][0], p[u][t][1],
                                          y[i]);
                    } else {
                        const u32 a[4] = {p[u][t][0], p[u][t][1],
                                          p[u][t + 1][0], p[u][t + 1][1]};

                        MmaOp<T>::call(o[u][n], a, y[0], y[1]);
                        MmaOp<T>::call(o[u][n + 1], a, y[2], y[3]);
                    }
                }
            }
        }
    }
    /* Scores of the keys at lds_k, finished and in powers of P's base. */
    DEV_MEMBER f32 score(Scores &x, const AttentionArgs &a, u32 b, u32 head,
                         i32 key0, u32 lds_k)
    {
        f32 down[Units][2];

        multiply_keys(x, lds_k);

        const f32 factor = Base::finish(x, a, b, head, key0);

        if (Base::raise(x, factor, down))
            Base::scale_results(down);
        return factor;
    }
};
