/*
 * online_softmax.h - one softmax for every attention kernel, and the store of a
 * row with its log-sum-exp
 *
 * With x a row's scores times log2(e), a row keeps m, near the largest x so
 * far, and l, the sum of P = 2^(x - m + lead). An x above m raises m, and
 * scales down the sums so far. Parts of the keys have an {m, l} of their own;
 * merge() joins parts in their order.
 *
 * Where P is an operand of the next product, lead is p_lead and m is raised
 * only when an x is above m + 7, as P then might leave f16's range; most tiles
 * need no change of earlier sums. The lead of 8 is for gfx90a, whose matrix
 * unit takes f16 below 2^-14 as zeros.
 */
#pragma once

#include "attention/score_layout.h"
#include "attention/sequences.h"

constexpr f32 most_over = 7; /* in powers of two */
template <typename T> constexpr f32 p_lead = 8 + p_excess<T>::log2;
constexpr f32 log2_e = 1.44269504088896340736f;
constexpr f32 ln_2 = 0.69314718055994530942f;
constexpr f32 infinite = __builtin_inff();

DEV f32 reciprocal(f32 x)
{
#if KPK_NVIDIA
    return 1.0f / x;
#else
    return __builtin_amdgcn_rcpf(x);
#endif
}

DEV f32 scaled(f32 sum, f32 by)
{
    return sum * by;
}
DEV Pair scaled(const Pair &sum, f32 by)
{
    return fused_pair(sum, by, 0);
}

/* A row's softmax. Each lane that shares the row adds its own P to l. */
template <typename Sum> struct Softmax {
    f32 m;
    Sum l;

    DEV_MEMBER void begin()
    {
        m = -1e30f, l = Sum{};
    }
    DEV_MEMBER bool is_over(f32 top) const
    {
        return top > m + most_over;
    }
    /* Raises m to `top`, and returns the factor for earlier results. */
    DEV_MEMBER f32 raise(f32 top)
    {
        const f32 higher = __builtin_fmaxf(m, top);
        const f32 down = exp2_fast(m - higher);

        m = higher;
        l = scaled(l, down);
        return down;
    }
};

/*
 * Raises m of all rows of a wave if any lane has an x above its row's limit.
 * top[] has this lane's largest x of each row; join() finds the largest among
 * the lanes that share a row. scale(i, by) must multiply row i's results.
 */
template <typename Sum, u32 n, class Join, class Scale>
DEV void raise_rows(Softmax<Sum> (&rows)[n], const f32 (&top)[n], Join join,
                    Scale scale)
{
    bool over = false;

    UNROLL
    for (u32 i = 0; i < n; i++)
        over |= rows[i].is_over(top[i]);
    if (!any_lane(over))
        return;
    UNROLL
    for (u32 i = 0; i < n; i++)
        scale(i, rows[i].raise(join(top[i])));
}

/* {m, l} of a part of the keys, and two columns of the row's results. */
struct RowPart {
    f32 m, l;
    Pack<f32, 2> o;

    /* log2 of the sum of all P */
    DEV_MEMBER f32 log2_sum(f32 lead) const
    {
        return m - lead + log2f(l);
    }
    /* the row's results, which shrink by `share` */
    DEV_MEMBER Pack<f32, 2> results(f32 share) const
    {
        const f32 scale = l == 0 ? 0 : reciprocal(l) * share;

        return {{o[0] * scale, o[1] * scale}};
    }
};

/* Joins part(0) to part(n - 1). */
template <u32 n, class Part> DEV RowPart merge(Part part)
{
    RowPart all = {part(0).m, 0, {{0, 0}}};

    UNROLL
    for (u32 i = 1; i < n; i++)
        all.m = __builtin_fmaxf(all.m, part(i).m);
    UNROLL
    for (u32 i = 0; i < n; i++) {
        const RowPart one = part(i);
        const f32 by = exp2_fast(one.m - all.m);

        all.l = fused(one.l, by, all.l);
        all.o[0] = fused(one.o[0], by, all.o[0]);
        all.o[1] = fused(one.o[1], by, all.o[1]);
    }
    return all;
}

/*
 * A head's sink adds a score without a value to each row's softmax. Adds the
 * sink to a row's sum, whose log2 is given, and returns the factor by which the
 * row's results shrink: 1 without sinks.
 */
template <class Form>
DEV f32 add_sink(const AttentionArgs &a, u32 head, f32 &log2_sum)
{
    const f32 *const sinks = Form::sinks(a);

    if (!sinks)
        return 1;

    const f32 sink = sinks[head] * log2_e, over = sink - log2_sum;

    if (sink == -infinite && log2_sum == -infinite)
        return 1;
    log2_sum = __builtin_fmaxf(log2_sum, sink) +
               log2f(1.0f + exp2_fast(-__builtin_fabsf(over)));
    return reciprocal(1.0f + exp2_fast(over));
}

/* n elements at p, which need not be aligned to more than one */
template <u32 n, typename T> DEV void store_anywhere(T *p, const Pack<T, n> &v)
{
#if KPK_NVIDIA
    if (!is_aligned(p, sizeof(v))) {
        UNROLL
        for (u32 i = 0; i < n; i++)
            p[i] = v[i];
        return;
    }
    store_pack(p, v);
#else
    __builtin_memcpy(p, &v, sizeof(v));
#endif
}

/* rows of Q in all sequences */
DEV u64 all_rows(const AttentionArgs &a)
{
    return a.total_q ? a.total_q : (u64)a.b * a.seqlen_q;
}

/* The place of a query's and head's results, and of its log-sum-exp. */
struct AttendRow {
    u32 b, head;
    i32 token;
    u64 of_all; /* of all_rows() */
    i64 at;     /* elements of O */

    DEV_MEMBER AttendRow(const AttentionArgs &a, const Sequence &s, u32 b_,
                         i32 token_, u32 head_)
        : b(b_), head(head_), token(token_),
          of_all((a.cu_seqlens_q ? (u64)s.q_rows : (u64)b_ * a.seqlen_q) +
                 (u32)token_),
          at((a.cu_seqlens_q ? s.q_rows * a.o_row : b_ * a.o_batch) +
             token_ * a.o_row + head_ * a.o_head)
    {
    }
    /* element d of O */
    template <typename T> DEV_MEMBER T *out(const AttentionArgs &a, u32 d) const
    {
        return (T *)a.o + at + d;
    }
    /* Adds the row's sink, stores its log-sum-exp if `sets_lse`, and returns
     * the factor by which its results shrink. `sum` is 0 if no key is seen. */
    template <class Form>
    DEV_MEMBER f32 finish(const AttentionArgs &a, f32 sum, f32 log2_sum,
                          bool sets_lse) const
    {
        const f32 share = add_sink<Form>(a, head, log2_sum);

        if (sets_lse && a.lse)
            a.lse[a.unpadded_lse
                      ? head * all_rows(a) + of_all
                      : ((u64)b * a.h + head) * a.seqlen_q + (u32)token] =
                sum == 0 && !Form::sinks(a) ? -infinite : log2_sum * ln_2;
        return share;
    }

    /* ---- a split of the keys: results, and behind them log2 of sums ---- */

    DEV_MEMBER u64 of_split(const AttentionArgs &a, u32 split) const
    {
        return (split * all_rows(a) + of_all) * a.h + head;
    }
    DEV_MEMBER f32 *partial(const AttentionArgs &a, u32 split, u32 d_v,
                            u32 d) const
    {
        return a.partial + of_split(a, split) * d_v + d;
    }
    DEV_MEMBER void set_partial_sum(const AttentionArgs &a, u32 split, u32 d_v,
                                    f32 sum, f32 log2_sum) const
    {
        a.partial[a.splits * all_rows(a) * a.h * d_v + of_split(a, split)] =
            sum == 0 ? -infinite : log2_sum;
    }
};
