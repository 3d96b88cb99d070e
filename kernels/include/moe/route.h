/*
 * route.h - which experts a token goes to, and where each expert's tokens are
 *
 * moe_topk: logits [tokens, experts] of T; bias [experts] f32, or null; ids,
 * weights [tokens, k]. A token's score of an expert is the softmax over its
 * logits, or with MOE_SIGMOID the logit's sigmoid. The k experts with the
 * greatest score + bias are chosen, greatest first, of equal ones the lower
 * number; their weight is the score, without the bias. MOE_NORMALIZE divides
 * the weights of a token by their sum. A NaN is chosen last. Where k is more
 * than there are experts, ids beyond them are -1, and their weights 0. 32
 * neighbouring threads take a token; any 1-D grid, blocks of a multiple of 32.
 *
 * moe_expert_offsets: ids [m] i32, ascending; offsets [experts + 1]: offsets[e]
 * is the place of the first id that is e or more. Any 1-D grid and block.
 */
#pragma once

#include "fused/argmax.h"

enum { MOE_SIGMOID = 1, MOE_NORMALIZE = 2 };

template <typename T> struct moe_token {
    const T *logits;
    const f32 *bias;
    u32 experts;
    bool sigmoid;
    f32 top, factor; /* softmax: exp(x - top) * factor */

    DEV_MEMBER f32 score(f32 x) const
    {
        return sigmoid ? 1.0f / (1.0f + expf(-x)) : expf(x - top) * factor;
    }
    /* without a bias logits have the order of their scores */
    DEV_MEMBER u64 key(u32 e) const
    {
        const f32 x = convert<f32>(logits[e]);
        const f32 v = bias ? score(x) + bias[e] : x;

        return place_key(v == v ? ordered_bits(v) : 0, e);
    }
    DEV_MEMBER void find_softmax(u32 lane)
    {
        f32 sum = 0;

        top = -infinity<f32>();
        for (u32 e = lane; e < experts; e += 32)
            top = max_number(top, convert<f32>(logits[e]));
        top = join_lanes(top, larger());
        for (u32 e = lane; e < experts; e += 32) {
            const f32 x = convert<f32>(logits[e]);

            sum += x == top ? 1.0f : x < top ? expf(x - top) : 0.0f;
        }
        sum = join_lanes(sum, plus());
        factor = 1.0f / sum;
    }
    /* of a chosen expert; NaN and infinities have a weight, too */
    DEV_MEMBER f32 weight(u32 e) const
    {
        const f32 x = convert<f32>(logits[e]);

        if (x != x)
            return 0;
        return !sigmoid && x == top ? factor : score(x);
    }
};

/*
 * Where experts are few, lane i of a token's 32 holds experts i, i + 32, ... as
 * numbers in their order: 0 for one that is chosen or not there, 1 for a NaN.
 * The i-th that is chosen gets its weight from lane i. On NVIDIA, where the
 * other way is the one that was timed, nobody asks for this.
 */
template <u32 each, typename T>
DEV void choose_held_experts(moe_token<T> &t, u32 lane, u32 k, bool normalize,
                             i32 *ids, f32 *weights)
{
    u32 order[each], mine = ~0u;

    UNROLL
    for (u32 i = 0; i < each; i++) {
        const u32 e = lane + 32 * i;

        order[i] = e < t.experts ? max_of((u32)(t.key(e) >> 32), 1u) : 0;
    }
    NO_UNROLL
    for (u32 chosen = 0; chosen < k; chosen++) {
        u32 best = order[0], e = lane;

        UNROLL
        for (u32 i = 1; i < each; i++) {
            e = order[i] > best ? lane + 32 * i : e;
            best = max_of(best, order[i]);
        }
        const u32 top = join_lanes(best, larger());

        e = best == top && top != 0 ? e : ~0u; /* of equal ones the first */
        e = join_lanes(e, [](u32 a, u32 b) { return min_of(a, b); });
        UNROLL
        for (u32 i = 0; i < each; i++)
            order[i] = e == lane + 32 * i ? 0 : order[i];
        mine = lane == chosen ? e : mine;
    }
    f32 v = mine != ~0u ? t.weight(mine) : 0.0f;

    if (normalize) {
        const f32 sum = join_lanes(v, plus());

        v = sum > 0 ? v / sum : 0.0f;
    }
    if (lane < k) {
        ids[lane] = (i32)mine;
        weights[lane] = v;
    }
}

template <typename T>
DEV void moe_topk(const T *logits, const f32 *bias, i32 *ids, f32 *weights,
                  u32 tokens, u32 experts, u32 k, u32 flags)
{
    constexpr u32 most_held = 8; /* experts of a lane */
    const u32 lane = threadIdx.x % 32;

    for (u64 token = global_thread() / 32; token < tokens;
         token += global_threads() / 32) {
        moe_token<T> t = {logits + token * experts,   bias, experts,
                          (flags & MOE_SIGMOID) != 0, 0,    0};
        i32 *id = ids + token * k;
        f32 *w = weights + token * k, sum = 0;
        u64 last = ~(u64)0;

        if (!t.sigmoid)
            t.find_softmax(lane);
        if (!KPK_NVIDIA && experts <= 32 * most_held && k <= 32) {
            const bool normalize = (flags & MOE_NORMALIZE) != 0;

            if (experts <= 64)
                choose_held_experts<2>(t, lane, k, normalize, id, w);
            else if (experts <= 128)
                choose_held_experts<4>(t, lane, k, normalize, id, w);
            else
                choose_held_experts<most_held>(t, lane, k, normalize, id, w);
            continue;
        }
        for (u32 i = 0; i < k; i++) {
            u64 best = 0;

            for (u32 e = lane; e < experts; e += 32) {
                const u64 key = t.key(e);

                if (key < last)
                    best = max_of(best, key);
            }
            best = join_lanes(best, larger());
            last = best;

            const u32 e = ~(u32)best;
            const f32 v = i < experts ? t.weight(e) : 0.0f;

            sum += v;
            if (lane == 0) {
                id[i] = i < experts ? (i32)e : -1;
                w[i] = v;
            }
        }
        if (flags & MOE_NORMALIZE && lane == 0)
            for (u32 i = 0; i < k; i++)
                w[i] = sum > 0 ? w[i] / sum : 0.0f;
    }
}

DEV void find_expert_offsets(const i32 *ids, i32 *offsets, i32 m, i32 experts)
{
    for (u64 e = global_thread(); (i64)e <= experts; e += global_threads()) {
        u32 low = 0, high = m > 0 ? (u32)m : 0;

        while (low < high) {
            const u32 middle = low + (high - low) / 2;

            if (ids[middle] < (i32)e)
                low = middle + 1;
            else
                high = middle;
        }
        offsets[e] = (i32)low;
    }
}
