/*
 * route.h - which experts a token goes to, and where each expert's tokens are
 *
 * moe_topk: logits [tokens, experts] of T; bias [experts] f32, or null; ids,
 * weights [tokens, k]. A token's score of an expert is the softmax over its
 * logits, or with MOE_SIGMOID the logit's sigmoid. The k experts with the
 * greatest score + bias are chosen, greatest first, of equal ones the lower
 * number; their weight is the score, without the bias. MOE_NORMALIZE divides
 * the weights of a token by their sum. A NaN is chosen last. If k exceeds the
 * number of experts, the ids left over are -1, with weights 0. 32 neighbouring
 * threads take a token; any 1-D grid, blocks of a multiple of 32.
 *
 * moe_sort_ids: ids i32, `stride` numbers from token to token, k for each;
 * sorted [m]: rows of the output, token * k + choice, in the order of their
 * experts, those of an expert in any order; offsets [experts + 1]: where each
 * expert's rows begin. Rows of no expert come last, and offsets end before
 * them. One block, a power of two of threads from 32 to 1024.
 *
 * moe_expert_offsets: ids [m] i32, ascending; offsets [experts + 1]: offsets[e]
 * is the place of the first id that is e or more. Any 1-D grid and block.
 */
#pragma once

#include "division.h"
#include "fused/argmax.h"
#include "reduce/add_up.h"

enum { MOE_SIGMOID = 1, MOE_NORMALIZE = 2 };

/* Reduces the values in a token's lanes by an operation: 8, 16 or 32 lanes. */
template <u32 lanes, typename T, typename Op> DEV T join_token(T v, Op op)
{
    if constexpr (lanes == 32) {
        return join_lanes(v, op);
    } else {
        v = op(v, lane_xor<1>(v));
        v = op(v, lane_xor<2>(v));
        v = op(v, lane_xor<7>(v)); /* four neighbours are alike by now */
        if constexpr (lanes == 16)
            v = op(v, lane_xor<15>(v));
        return v;
    }
}

template <typename T> struct moe_token {
    const T *logits;
    const f32 *bias;
    u32 experts;
    bool sigmoid;
    f32 top, factor; /* softmax: exp(x - top) * factor */

    /* infinities have a score, too */
    DEV_MEMBER f32 score(f32 x) const
    {
        return sigmoid    ? 1.0f / (1.0f + expf(-x))
               : x == top ? factor
                          : expf(x - top) * factor;
    }
    /* without a bias logits have the order of their scores */
    DEV_MEMBER u64 key(u32 e) const
    {
        const f32 x = convert<f32>(logits[e]);
        const f32 v = bias ? score(x) + bias[e] : x;

        return place_key(v == v ? ordered_bits(v) : 0, e);
    }
    template <u32 lanes> DEV_MEMBER void find_softmax(u32 lane)
    {
        f32 sum = 0;

        top = -infinity<f32>();
        for (u32 e = lane; e < experts; e += lanes)
            top = max_number(top, convert<f32>(logits[e]));
        top = join_token<lanes>(top, larger());
        for (u32 e = lane; e < experts; e += lanes) {
            const f32 x = convert<f32>(logits[e]);

            sum += x == top ? 1.0f : x < top ? expf(x - top) : 0.0f;
        }
        sum = join_token<lanes>(sum, plus());
        factor = 1.0f / sum;
    }
    /* a chosen expert's weight; 0 for a NaN */
    DEV_MEMBER f32 weight(u32 e) const
    {
        const f32 x = convert<f32>(logits[e]);

        return x != x ? 0 : score(x);
    }
};

/*
 * Where experts are few, lane i of a token's 32 holds experts i, i + 32, ... as
 * numbers in their order: 0 for an expert already chosen or missing, 1 for a
 * NaN. Lane i works out the weight of the i-th expert chosen. NVIDIA's targets
 * do not use this function: the other way was timed there.
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

        e = best == top && top != 0 ? e : ~0u; /* the first of equals */
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

/* Finds the chosen experts one by one; each search reads all experts. */
template <u32 lanes, typename T>
DEV void search_experts(const moe_token<T> &t, u32 lane, u32 k, u32 flags,
                        i32 *id, f32 *w)
{
    f32 sum = 0;
    u64 last = ~(u64)0;

    for (u32 i = 0; i < k; i++) {
        u64 best = 0;

        for (u32 e = lane; e < t.experts; e += lanes) {
            const u64 key = t.key(e);

            if (key < last)
                best = max_of(best, key);
        }
        best = join_token<lanes>(best, larger());
        last = best;

        const u32 e = ~(u32)best;
        const f32 v = i < t.experts ? t.weight(e) : 0.0f;

        sum += v;
        if (lane == 0) {
            id[i] = i < t.experts ? (i32)e : -1;
            w[i] = v;
        }
    }
    if (flags & MOE_NORMALIZE && lane == 0)
        for (u32 i = 0; i < k; i++)
            w[i] = sum > 0 ? w[i] / sum : 0.0f;
}

/*
 * Up to 8 of up to 256 experts without a bias, on AMD: a group of 8 or 16 lanes
 * has a token, so that a choice's cost beside its comparisons is shared by up
 * to 8 tokens of a wave. Lane r has four neighbouring experts from 4 r on, and
 * every 4 * lanes from there.
 */
enum { GROUP_MOST_CHOSEN = 8, GROUP_MOST_EXPERTS = 256 };

template <u32 lanes, u32 each> struct group_logits {
    u32 rank, top;
    u32 order[each]; /* logits as ordered bits; 0: no expert */

    static DEV_MEMBER u32 place(u32 i)
    {
        return i / 4 * 4 * lanes + i % 4;
    }
    static DEV_MEMBER u32 order_of(f32 v)
    {
        const u32 bits = bits_as<u32>(v + 0.0f); /* no -0 */

        return bits ^ ((u32)((i32)bits >> 31) | 0x80000000u);
    }
    template <typename T> DEV_MEMBER void load(const moe_token<T> &t)
    {
        UNROLL
        for (u32 i = 0; i < each; i += 4) {
            const u32 e = place(i) + 4 * rank;

            UNROLL
            for (u32 j = 0; j < 4; j++)
                order[i + j] = 0;
            if (e < t.experts) {
                const Pack<T, 4> four = load_pack<4>(t.logits + e);

                UNROLL
                for (u32 j = 0; j < 4; j++)
                    order[i + j] = order_of(convert<f32>(four[j]));
            }
        }
    }
    DEV_MEMBER void find_top()
    {
        top = order[0];
        UNROLL
        for (u32 i = 1; i < each; i++)
            top = max_of(top, order[i]);
        top = join_token<lanes>(top, larger());
    }
    /* for logits without NaN; with a NaN the weights are found again */
    template <typename T> DEV_MEMBER void find_softmax(moe_token<T> &t) const
    {
        f32 sum = 0;

        t.top = number_of_ordered(top);
        UNROLL
        for (u32 i = 0; i < each; i++) {
            const f32 x = number_of_ordered(order[i]);

            sum += x == t.top ? 1.0f : x < t.top ? expf(x - t.top) : 0.0f;
        }
        t.factor = 1.0f / join_token<lanes>(sum, plus());
    }
    /* whether all numbers are 0 in their 8 lowest bits */
    DEV_MEMBER bool are_short() const
    {
        u32 bits = 0;

        UNROLL
        for (u32 i = 0; i < each; i++) {
            const u32 turned = ~(u32)((i32)order[i] >> 31); /* if negative */

            bits |= order[i] != 0 ? order[i] ^ turned : 0;
        }
        return join_token<lanes>(bits & 255, larger()) == 0;
    }
    /*
     * The k experts that come first, the i-th with lane i, by keys of one word:
     * 24 bits of the order's excess over `base`, without its `shift` lowest
     * bits, and 255 less the expert's number. No two are alike. False if 24
     * bits may not be enough.
     *
     * The greatest key - last belongs to the greatest key below last: keys from
     * last up do not wrap.
     */
    template <u32 shift>
    DEV_MEMBER bool choose_by(u32 base, u32 k, u32 *expert) const
    {
        constexpr u32 least = 0x007fffffu; /* -inf */
        constexpr u32 more = shift > 0;    /* finds one more expert than k */
        u32 key[each], last = 0, mine = 0; /* a lane's keys: 4 * rank more */

        UNROLL
        for (u32 i = 0; i < each; i++)
            key[i] = (max_of(order[i], base) - base) >> shift << 8 |
                     (255 - place(i));
        NO_UNROLL
        for (u32 chosen = 0; chosen < k + more; chosen++) {
            const u32 from = last + 4 * rank;
            u32 above = 0;

            UNROLL
            for (u32 i = 0; i < each; i++)
                above = max_of(above, key[i] - from);
            last += join_token<lanes>(above, larger());
            mine = rank == chosen ? last : mine;
        }
        *expert = 255 - (mine & 255);

        const u32 part = mine >> 8;
        /* shifted, a NaN may equal -inf */
        u32 doubt =
            part == 0 || part + (base >> shift) < (least >> shift) + more ? 2
                                                                          : 0;

        if constexpr (shift > 0) { /* the lowest bits might decide */
            const u32 neighbour = lane_read_word(mine, lane_id() + 1);
            const u32 next = (rank + 1 < k ? neighbour : last) >> 8;

            doubt = max_of(doubt, (u32)(part == next));
        }
        doubt = join_token<lanes>(rank < k ? doubt : 0, larger());
        return doubt == 0 || (doubt == 1 && are_short());
    }
    /*
     * The same: exact if every chosen expert is within 2^24 of the first, else
     * by the order's upper bits. False if the upper bits are not enough,
     * either, or for a NaN.
     */
    DEV_MEMBER bool choose(u32 k, u32 *expert) const
    {
        constexpr u32 most = 0xff800000u; /* inf */

        if (top > most)
            return false;
        return choose_by<0>(top > 0xffffffu ? top - 0xffffffu : 0, k, expert) ||
               choose_by<8>(0, k, expert);
    }
};

template <u32 lanes, u32 each, typename T>
DEV void choose_in_groups(moe_token<T> t, u32 tokens, i32 *ids, f32 *weights,
                          u32 k, bool normalize)
{
    const T *logits = t.logits;
    group_logits<lanes, each> held;

    held.rank = threadIdx.x % lanes;
    for (u64 token = global_thread() / lanes; token < tokens;
         token += global_threads() / lanes) {
        i32 *id = ids + token * k;
        f32 *w = weights + token * k;
        u32 expert;

        t.logits = logits + token * t.experts;
        held.load(t);
        held.find_top();
        t.top = number_of_ordered(held.top);
        t.factor = 1; /* enough for weights that are normalized */
        if (!t.sigmoid && !normalize)
            held.find_softmax(t);
        if (!held.choose(k, &expert)) {
            if (!t.sigmoid)
                t.template find_softmax<lanes>(held.rank);
            search_experts<lanes>(t, held.rank, k,
                                  normalize ? MOE_NORMALIZE : 0, id, w);
            continue;
        }
        f32 v = held.rank < k ? t.weight(expert) : 0.0f;

        if (normalize) {
            const f32 sum = join_token<lanes>(v, plus());

            v = sum > 0 ? v / sum : 0.0f;
        }
        if (held.rank < k) {
            id[held.rank] = (i32)expert;
            w[held.rank] = v;
        }
    }
}

template <typename T>
DEV void moe_topk(const T *logits, const f32 *bias, i32 *ids, f32 *weights,
                  u32 tokens, u32 experts, u32 k, u32 flags)
{
    constexpr u32 most_held = 8; /* experts of a lane */
    const u32 lane = threadIdx.x % 32;

    if (!KPK_NVIDIA && !bias && k <= min_of(experts, (u32)GROUP_MOST_CHOSEN) &&
        experts <= GROUP_MOST_EXPERTS && experts % 4 == 0 &&
        is_aligned(logits, 4 * sizeof(T))) {
        const moe_token<T> t = {
            logits, nullptr, experts, (flags & MOE_SIGMOID) != 0, 0, 0};
        const bool normalize = (flags & MOE_NORMALIZE) != 0;

        if (experts <= 64)
            choose_in_groups<8, 8>(t, tokens, ids, weights, k, normalize);
        else if (experts <= 128)
            choose_in_groups<8, 16>(t, tokens, ids, weights, k, normalize);
        else
            choose_in_groups<16, 16>(t, tokens, ids, weights, k, normalize);
        return;
    }
    for (u64 token = global_thread() / 32; token < tokens;
         token += global_threads() / 32) {
        moe_token<T> t = {logits + token * experts,   bias, experts,
                          (flags & MOE_SIGMOID) != 0, 0,    0};
        i32 *id = ids + token * k;
        f32 *w = weights + token * k;

        if (!t.sigmoid)
            t.template find_softmax<32>(lane);
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
        search_experts<32>(t, lane, k, flags, id, w);
    }
}

/* The rows of 1024 experts at a time are counted and then placed, each expert's
 * from its end down. Behind the last expert is a place for rows of none. */
DEV void sort_by_expert(const i32 *ids, i64 stride, i32 *sorted, i32 *offsets,
                        i32 topk, i32 size_m, i32 num_experts)
{
    constexpr u32 at_once = 1024;
    __shared__ u32 count[at_once];
    const u32 k = topk > 1 ? (u32)topk : 1, m = size_m > 0 ? (u32)size_m : 0;
    const u32 experts = (u32)num_experts;
    u32 first = 0; /* place of these experts' rows */

    if (num_experts < 0)
        return;
    NO_UNROLL
    for (u32 base = 0; base <= experts; base += at_once) {
        const auto each_row = [&](auto fn) {
            for (u32 r = threadIdx.x; r < m; r += blockDim.x) {
                const u32 token = divide_uniform(r, k);
                const i32 id = ids[(i64)token * stride + (r - token * k)];
                const u32 e = min_of((u32)id, experts) - base;

                if (e < at_once)
                    fn(r, &count[e]);
            }
            __syncthreads();
        };
        const auto each_expert = [&](auto fn) {
            for (u32 i = threadIdx.x; i < at_once; i += blockDim.x)
                fn(i);
            __syncthreads();
        };

        each_expert([&](u32 i) { count[i] = 0; });
        each_row([&](u32, u32 *n) { atomicAdd(n, 1u); });
        const u32 rows = add_up_line(count, count, at_once);

        __syncthreads();
        each_expert([&](u32 i) {
            if (base + i <= experts)
                offsets[base + i] = (i32)(first + (i > 0 ? count[i - 1] : 0));
        });
        each_row([&](u32 r, u32 *end) {
            sorted[first + atomicSub(end, 1u) - 1] = (i32)r;
        });
        first += rows;
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
