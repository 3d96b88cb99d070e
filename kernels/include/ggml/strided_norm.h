/*
 * strided_norm.h - norms, sums and softmax of rows
 *
 * Row = blockIdx.x, counted over the outer dimensions; blocks of any power of
 * two from 32 to 1024 threads. All is kept in f32.
 *
 *   norm       (x - mean) / sqrt(mean of squares of these + eps)
 *   rms_norm   x / sqrt(mean of squares + eps)
 *   l2_norm    x / max(sqrt(sum of squares), eps)
 *   sum_rows   the row's sum times a factor, one element
 *   cumsum     the sums of the elements so far; no gaps between elements
 *   argmax     the number of the greatest element as i32, of equal ones the
 *              last, in rows of up to 2^24; NaN counts least
 *   soft_max   of scale x + slope mask, and a sink: a score without an element.
 *              mask has [columns, rows of a head, heads, sequences] and is
 *              repeated from dimension 2 on. The slope is 1 if max_bias is 0,
 *              else the head's, as ALiBi has it ("Train Short, Test Long")
 *   soft_max_part, soft_max_join
 *              the same of a long row by `parts` neighbouring blocks, in two
 *              launches: tops and sums, [rows, parts], lie between them
 *
 * A row's result may lie where the row does.
 */
#pragma once

#include "fused/held_row.h"
#include "ggml/tensor.h"
#include "reduce/add_up.h"

/* a block's row, element by element; nothing is read before it is made */
struct BlockRow {
    const team t;
    const team_scratch<f32> &scratch;
    u32 turn = 0;

    DEV_MEMBER explicit BlockRow(const team_scratch<f32> &s)
        : t(block_team()), scratch(s)
    {
        meet_launches();
    }
    template <class Op> DEV_MEMBER f32 reduce(f32 v, Op op)
    {
        v = team_reduce(t, scratch, turn, v, op);
        turn ^= 1;
        return v;
    }
    template <class Fn> DEV_MEMBER void each(u32 n, Fn fn) const
    {
        NO_UNROLL
        for (u32 c = t.rank; c < n; c += t.size)
            fn(c);
    }
    /* the sum of f(c) over the row */
    template <class Fn> DEV_MEMBER f32 sum(u32 n, Fn f)
    {
        f32 s = 0;

        each(n, [&](u32 c) { s += f(c); });
        return reduce(s, plus());
    }
};

enum class NormKind { mean, square, length };

template <NormKind kind>
DEV void ggml_norm(const Tensor &x, const Tensor &out, f32 eps)
{
    BLOCK_SCRATCH(f32, scratch);
    const Place p = place_of<1>((u32)blockIdx.x, out.ne);
    const Row<const f32> from(x, p);
    const Row<f32> to(out, p);
    const u32 n = x.ne[0];
    BlockRow row(scratch);
    f32 mean = 0;

    if constexpr (kind == NormKind::mean)
        mean = row.sum(n, [&](u32 c) { return from[c]; }) / (f32)n;
    const f32 squares = row.sum(n, [&](u32 c) {
        const f32 v = from[c] - mean;

        return v * v;
    });
    const f32 factor = kind == NormKind::length
                           ? 1.0f / fmaxf(sqrtf(squares), eps)
                           : 1.0f / sqrtf(squares / (f32)n + eps);

    row.each(n, [&](u32 c) { to[c] = (from[c] - mean) * factor; });
}

DEV void ggml_sum_rows(const Tensor &x, const Tensor &out, f32 factor)
{
    BLOCK_SCRATCH(f32, scratch);
    const Place p = place_of<1>((u32)blockIdx.x, out.ne);
    const Row<const f32> from(x, p);
    BlockRow row(scratch);
    const f32 sum = row.sum(x.ne[0], [&](u32 c) { return from[c]; });

    if (threadIdx.x == 0)
        *address_of<f32>(out, p) = sum * factor;
}

DEV void ggml_cumsum(const Tensor &x, const Tensor &out)
{
    const Place p = place_of<1>((u32)blockIdx.x, out.ne);

    meet_launches();
    add_up_line(address_of<const f32>(x, p), address_of<f32>(out, p), x.ne[0]);
}

DEV void ggml_argmax(const Tensor &x, const Tensor &out)
{
    BLOCK_SCRATCH(f32, scratch);
    const Place p = place_of<1>((u32)blockIdx.x, out.ne);
    const Row<const f32> from(x, p);
    BlockRow row(scratch);
    f32 top = -infinity<f32>(), last = 0;

    row.each(x.ne[0], [&](u32 c) { top = fmaxf(top, from[c]); });
    top = row.reduce(top, larger());
    /* f32 holds the numbers of a row exactly */
    row.each(x.ne[0], [&](u32 c) { last = from[c] == top ? (f32)c : last; });
    last = row.reduce(last, larger());
    if (threadIdx.x == 0)
        *address_of<i32>(out, p) = (i32)last;
}

/* ALiBi's slope of a head: powers of one number for the first 2^k heads, odd
 * powers of its square root for the others */
DEV f32 slope_of(u32 head, u32 heads, f32 max_bias)
{
    const u32 whole = 1u << log2_of(heads);
    const f32 per_head = -max_bias / (f32)whole;

    return head < whole
               ? exp2f(per_head * (f32)(head + 1))
               : exp2f(per_head * 0.5f * (f32)(2 * (head - whole) + 1));
}

/* A row's scores; M is the mask's type. */
template <typename M> struct Scores {
    const Row<const f32> from;
    const Row<const M> more;
    const bool masked;
    const f32 scale, slope;

    DEV_MEMBER Scores(const Tensor &x, const Tensor &mask, const Place &p,
                      f32 factor, f32 max_bias)
        : from(x, p), more(mask, mask.data ? repeated(p, mask.ne) : p),
          masked(mask.data != nullptr), scale(factor),
          slope(max_bias > 0 ? slope_of(p.i[2], x.ne[2], max_bias) : 1.0f)
    {
    }
    DEV_MEMBER f32 operator()(u32 c) const
    {
        const f32 v = from[c] * scale;

        return masked ? v + slope * convert<f32>(more[c]) : v;
    }
};

/*
 * A thread's scores of columns first .. end - 1. Up to `held` of them stay in
 * registers, so a row is read once; more are read again.
 */
template <typename M> struct HeldScores {
    static constexpr u32 held = 16;
    const Scores<M> &score;
    const BlockRow &row;
    u32 first, end;
    bool fits;
    f32 v[held];

    DEV_MEMBER HeldScores(const Scores<M> &s, const BlockRow &r, u32 a, u32 b)
        : score(s), row(r), first(a), end(b), fits(b - a <= held * r.t.size)
    {
        if (fits)
            each([&](u32 c, f32 &mine) { mine = score(c); });
    }
    /* Calls fn(column, score); if the scores fit, fn's changes are kept. */
    template <class Fn> DEV_MEMBER void each(Fn fn)
    {
        if (fits) {
            UNROLL
            for (u32 i = 0; i < held; i++) {
                const u32 c = first + i * row.t.size + row.t.rank;

                if (c < end)
                    fn(c, v[i]);
            }
            return;
        }
        NO_UNROLL
        for (u32 c = first + row.t.rank; c < end; c += row.t.size) {
            f32 one = score(c);

            fn(c, one);
        }
    }
};

template <typename M>
DEV void ggml_soft_max(const Tensor &x, const Tensor &mask, const f32 *sinks,
                       const Tensor &out, f32 scale, f32 max_bias)
{
    BLOCK_SCRATCH(f32, scratch);
    const Place p = place_of<1>((u32)blockIdx.x, out.ne);
    const Row<f32> to(out, p);
    const Scores<M> score(x, mask, p, scale, max_bias);
    BlockRow row(scratch);
    HeldScores<M> scores(score, row, 0, x.ne[0]);
    f32 top = sinks ? sinks[p.i[2]] : -infinity<f32>(), sum = 0;

    scores.each([&](u32, f32 &v) { top = max_number(top, v); });
    top = row.reduce(top, larger());
    scores.each([&](u32 c, f32 &v) {
        v = exponential(v - top);
        sum += v;
        if (!scores.fits)
            to[c] = v;
    });
    sum = row.reduce(sum, plus());
    if (sinks)
        sum += exponential(sinks[p.i[2]] - top);
    const f32 factor = 1.0f / sum;

    if (scores.fits)
        scores.each([&](u32 c, f32 &v) { to[c] = v * factor; });
    else
        row.each(x.ne[0], [&](u32 c) { to[c] *= factor; });
}

/* A block's part of a row: columns first .. end - 1. */
struct RowPart {
    u32 row, first, end;

    DEV_MEMBER RowPart(u32 parts, u32 n)
    {
        const u32 each = div_up(n, parts);

        row = divide_uniform((u32)blockIdx.x, parts);
        first = min_of(((u32)blockIdx.x - row * parts) * each, n);
        end = min_of(first + each, n);
    }
};

/* sums [rows, parts, 2]: a part's greatest score, and the sum by it; 0 if it
 * has none but -infinity */
template <typename M>
DEV void ggml_soft_max_part(const Tensor &x, const Tensor &mask, f32 *sums,
                            u32 parts, f32 scale, f32 max_bias)
{
    BLOCK_SCRATCH(f32, scratch);
    const RowPart part(parts, x.ne[0]);
    const Scores<M> score(x, mask, place_of<1>(part.row, x.ne), scale,
                          max_bias);
    BlockRow row(scratch);
    HeldScores<M> scores(score, row, part.first, part.end);
    f32 top = -infinity<f32>(), sum = 0;

    scores.each([&](u32, f32 &v) { top = max_number(top, v); });
    top = row.reduce(top, larger());
    scores.each([&](u32, f32 &v) {
        sum += v == -infinity<f32>() ? 0.0f : exponential(v - top);
    });
    sum = row.reduce(sum, plus());
    if (threadIdx.x == 0)
        store_pack<2>(sums + 2 * (u64)blockIdx.x, Pack<f32, 2>{{top, sum}});
}

template <typename M>
DEV void ggml_soft_max_join(const Tensor &x, const Tensor &mask,
                            const f32 *sinks, const Tensor &out,
                            const f32 *sums, u32 parts, f32 scale, f32 max_bias)
{
    BLOCK_SCRATCH(f32, scratch);
    const RowPart part(parts, x.ne[0]);
    const Place p = place_of<1>(part.row, x.ne);
    const Row<f32> to(out, p);
    const Scores<M> score(x, mask, p, scale, max_bias);
    BlockRow row(scratch);
    f32 top = sinks ? sinks[p.i[2]] : -infinity<f32>();

    sums += 2 * (u64)part.row * parts;
    row.each(parts, [&](u32 i) { top = max_number(top, sums[2 * i]); });
    top = row.reduce(top, larger());
    f32 sum = row.sum(parts, [&](u32 i) {
        return sums[2 * i + 1] * exponential(sums[2 * i] - top);
    });

    if (sinks)
        sum += exponential(sinks[p.i[2]] - top);
    const f32 factor = 1.0f / sum;

    row.each(part.end - part.first, [&](u32 i) {
        const u32 c = part.first + i;

        to[c] = exponential(score(c) - top) * factor;
    });
}
