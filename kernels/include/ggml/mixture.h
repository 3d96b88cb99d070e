/*
 * mixture.h - which experts a token takes, and the sum of what they make
 *
 *   choose    logits [experts, tokens], up to 512. ids [k, tokens] i32
 *             are the k likeliest, the first of equal ones in front; weights
 *             [1, k, tokens] their softmax over all, by their sum, of at least
 *             `least`, if `whole`. Token = blockIdx.x, blocks: strided_norm.h
 *   add up    out [n, tokens]: the sum over e of x [n, e, tokens] times
 *             w [1, e, tokens], one product after the other, each rounded
 *
 * The numbers are those of ggml_soft_max_f32, ggml_sum_rows_f32, ggml_mul and
 * ggml_add in blocks of that shape.
 */
#pragma once

#include "ggml/elementwise.h"
#include "ggml/strided_norm.h"

constexpr u32 most_experts = KPK_GGML_MOST_EXPERTS;

DEV void ggml_choose_experts(const Tensor &logits, const Tensor &ids,
                             const Tensor &weights, u32 whole, f32 least)
{
    BLOCK_SCRATCH(f32, scratch);
    __shared__ f32 part[most_experts], chosen[most_experts];
    const u32 token = blockIdx.x, n = logits.ne[0], k = weights.ne[1];
    const Row<const f32> from(logits, {{0, token, 0, 0}});
    const Row<i32> to_ids(ids, {{0, token, 0, 0}});
    BlockRow row(scratch);
    f32 top = -infinity<f32>();

    row.each(n, [&](u32 c) { top = max_number(top, from[c]); });
    top = row.reduce(top, larger());

    const f32 sum = row.sum(n, [&](u32 c) {
        part[c] = exponential(from[c] - top);
        return part[c];
    });
    const f32 factor = 1.0f / sum;

    row.each(n, [&](u32 c) { part[c] *= factor; });
    __syncthreads();
    /* 32 threads choose, without the others: f32 holds the numbers of experts
     * exactly, and a chosen one counts less than 0 from then on */
    NO_UNROLL
    for (u32 j = 0; threadIdx.x < 32 && j < k; j++) {
        f32 most = -infinity<f32>(), first = -infinity<f32>();

        NO_UNROLL
        for (u32 c = threadIdx.x; c < n; c += 32)
            most = max_number(most, part[c]);
        most = join_lanes<32>(most, larger());
        NO_UNROLL
        for (u32 c = threadIdx.x; c < n; c += 32)
            if (part[c] == most)
                first = max_number(first, -(f32)c);
        /* the last one if all are NaN */
        const u32 id = min_of((u32)-join_lanes<32>(first, larger()), n - 1);

        if (threadIdx.x == id % 32) {
            to_ids[j] = (i32)id;
            chosen[j] = most;
            part[id] = -1;
        }
    }
    __syncthreads();

    f32 of = 1;

    if (whole) {
        of = row.sum(k, [&](u32 j) { return chosen[j]; });
        of = clamped(of, least, infinity<f32>());
    }
    row.each(k, [&](u32 j) {
        *address_of<f32>(weights, {{0, j, token, 0}}) =
            whole ? chosen[j] / of : chosen[j];
    });
}

DEV void ggml_add_up_experts(const Tensor &x, const Tensor &w,
                             const Tensor &out)
{
    each_place(out, [&](const Place &p) {
        f32 sum = 0;

        NO_UNROLL
        for (u32 e = 0; e < x.ne[1]; e++) {
            const f32 v =
                rounded_product(value_at<f32>(x, {{p.i[0], e, p.i[1], 0}}),
                                value_at<f32>(w, {{0, e, p.i[1], 0}}));

            sum = e ? sum + v : v;
        }
        *address_of<f32>(out, p) = sum;
    });
}
