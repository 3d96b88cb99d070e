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

/* ALiBi's slope of a head: powers of two numbers, the even ones first */
DEV f32 slope_of(u32 head, u32 heads, f32 max_bias)
{
    const u32 whole = 1u << log2_of(heads);
    const f32 per_head = -max_bias / (f32)whole;

    return head < whole
               ? exp2f(per_head * (f32)(head + 1))
               : exp2f(per_head * 0.5f * (f32)(2 * (head - whole) + 1));
}

/* M is the mask's type */
template <typename M>
DEV void ggml_soft_max(const Tensor &x, const Tensor &mask, const f32 *sinks,
                       const Tensor &out, f32 scale, f32 max_bias)
{
    BLOCK_SCRATCH(f32, scratch);
    const Place p = place_of<1>((u32)blockIdx.x, out.ne);
    const Row<const f32> from(x, p);
    const Row<f32> to(out, p);
    const Row<const M> more(mask, mask.data ? repeated(p, mask.ne) : p);
    const u32 n = x.ne[0], head = p.i[2];
    const f32 slope = max_bias > 0 ? slope_of(head, x.ne[2], max_bias) : 1.0f;
    const auto score = [&](u32 c) {
        const f32 v = from[c] * scale;

        return mask.data ? v + slope * convert<f32>(more[c]) : v;
    };
    BlockRow row(scratch);
    f32 top = sinks ? sinks[head] : -infinity<f32>();

    row.each(n, [&](u32 c) { top = max_number(top, score(c)); });
    top = row.reduce(top, larger());

    f32 sum = row.sum(n, [&](u32 c) {
        const f32 e = exponential(score(c) - top);

        to[c] = e;
        return e;
    });

    if (sinks)
        sum += exponential(sinks[head] - top);
    const f32 factor = 1.0f / sum;

    row.each(n, [&](u32 c) { to[c] *= factor; });
}
