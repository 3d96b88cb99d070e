/*
 * sample.h - a token drawn from a row of logits: temperature, top-k, top-p
 *
 * logits  [n] of T
 * token   one u32: the token drawn; 0xffffffff if no logit is above -inf
 *
 * The weight of a token is exp((logit - greatest) / temperature). Tokens stand
 * in order of their logits, greatest first, then of their numbers. k > 0 keeps
 * the first k tokens; p < 1 then keeps the shortest beginning with at least p
 * of the kept weight, one token at least. One token is drawn from the kept
 * ones, by weight. A temperature that is not above 0 takes the first. NaN is
 * never drawn, nor a token that is 2^31 times less likely than the first.
 *
 * seed and offset choose the random number: words 0 and 1 of Philox's block
 * `offset` under key `seed`. Weights are integers, 2^31 for the first token, by
 * arithmetic that is the same on every target. So one seed, offset and row give
 * the same token on any GPU.
 *
 * One block of any multiple of 32 threads: the arguments have no memory in
 * which blocks could join. A thread has 64 bytes of logits on their way, or 128
 * where it does little with them.
 *
 * A block has four ways to draw, and takes the first that gives a token. The
 * four ways draw the same token. AMD's GPUs have the last way alone.
 *
 *   the first k  list_draw.h, with a k of at most half the threads. The k-th of
 *                the threads' greatest logits is a limit that k tokens reach,
 *                and few others. The tokens that reach the limit are listed in
 *                LDS and put in order, and their weights summed up
 *   near tokens  list_draw.h, with a k or top-p. Listed are the tokens whose
 *                weight is halved less than 12 times; the others' weights are
 *                only added together. The token drawn is nearly always among
 *                the listed
 *   weighed bins bin_draw.h, without a k. The weights of all tokens are added
 *                up in 2048 bins, which divide the distances from the
 *                greatest logit evenly, so that few lanes meet in one. Then
 *                the tokens of single bins are listed and put in order: that
 *                in which top-p ends, that of the draw
 *   counting     bins.h, always. Places in the order are found by counting in
 *                such bins. Tokens in the same bin are told apart by the bits
 *                of the keys, 11 at a time, as a radix sort does. As soon as
 *                the keys that can still matter are few enough, they are
 *                listed, and the logits are read no more
 *
 * A way ends without a token where more than 2048 would have to be listed, or
 * 1024 of a single bin, or where the token drawn is not among the listed.
 */
#pragma once

#include "fused/sample/bins.h"
#if KPK_NVIDIA
#include "nvidia/sample/bin_draw.h"
#include "nvidia/sample/list_draw.h"
#endif

/*
 * The key of the greatest logit; 0 if there is none. It has the token's place,
 * but with NVIDIA's code only if `placed`. most: this thread's greatest;
 * length: LDS.
 */
template <typename T>
DEV u64 find_greatest(const T *logits, u32 n, bool placed, const team &t,
                      const team_scratch<u64> &weights, u32 &length, f32 &most)
{
#if KPK_NVIDIA
    u32 batch;

    most = greatest_of_thread(logits, n, batch);

    const u64 mine =
        most > -infinity<f32>() ? (u64)ordered_bits(most) << 32 : (u64)0;
    const u64 first = team_reduce(t, weights, 0, mine, larger());

    if (!placed || first == 0)
        return first;
    if (threadIdx.x == 0)
        length = n;
    __syncthreads();
    if ((u64)ordered_bits(most) << 32 == first)
        atomicMin(&length, place_in_batch(logits, n, most, batch));
    __syncthreads();
    return first | (u32)~length;
#else
    u32 place = 0;

    (void)placed, (void)length;
    most = -infinity<f32>();
    each_logit(logits, n, [&](f32 x, u32 i) {
        place = x > most ? i : place;
        most = x > most ? x : most;
    });
    return team_reduce(
        t, weights, 0,
        most > -infinity<f32>() ? place_key(ordered_bits(most), place) : (u64)0,
        larger());
#endif
}

#if KPK_NVIDIA /* AMD's GPUs would run short of scalar registers */
/* The key of a token drawn by one of the first three ways; 0 if none of them
 * draws a token. */
template <typename T>
DEV u64 draw_quickly(sampler<T> &s, f32 most, u32 k, f32 p, u64 seed,
                     u64 offset, const team &t,
                     const team_scratch<u64> &weights)
{
    if (k > 0 && k <= blockDim.x / 2) {
        if (threadIdx.x == 0)
            *s.length = 0;
        const u64 drawn = draw_first(s, most, k, p, seed, offset);

        if (uniform(drawn != 0))
            return drawn;
        __syncthreads(); /* all threads have read length and sums */
    }
    if (k > 0 || p < 1) {
        if (threadIdx.x == 0)
            *s.length = 0;
        __syncthreads();
        const u64 far = k == 0 ? list_near<true>(s) : list_near<false>(s);

        __syncthreads();
        if (uniform(*s.length) <= most_listed) {
            const u64 others = team_reduce(t, weights, 0, far, plus());

            __syncthreads();
            const u64 drawn = draw_listed(s, others, k, p, seed, offset);

            if (uniform(drawn != 0))
                return drawn;
            __syncthreads(); /* all threads have read sums */
        }
    }
    return k == 0 && s.is_plain() ? draw_weighed(s, p, seed, offset) : 0;
}
#endif

/* The key of the token drawn by counting. */
template <typename T>
DEV u64 draw_by_counting(sampler<T> &s, u32 k, f32 p, u64 seed, u64 offset,
                         const team &t, const team_scratch<u64> &weights)
{
    fill_first(s, k == 0);
    const two<u64> sum = find_bin(s, 0, true); /* all tokens with a weight */
    const u64 kept = k > 0 ? min_of((u64)k, sum.b) : 0;
    u64 all = sum.a;

    u64 key = 0;
    u32 unfilled = 0;

    /* finds the end of top-k, the end of top-p, the token drawn */
    NO_UNROLL
    for (u32 step = kept > 0 ? 0 : 1; step < 3; step++) {
        u64 before;

        if (step == 1 && !(p < 1))
            continue;
        key = find_key(s,
                       step == 0   ? kept - 1
                       : step == 1 ? part_of(p, all) - 1
                                   : drawn_below(all, seed, offset),
                       step == 0, unfilled, before);
        unfilled = 1;
        if (step == 0) {
            all = team_reduce(t, weights, 0, weight_from(s, key), plus());
            __syncthreads();
        } else {
            all = before + s.weight(key);
        }
    }
    return key;
}

template <typename T>
DEV void sample(const T *logits, u32 *token, u32 n, u32 k, f32 p,
                f32 temperature, u64 seed, u64 offset)
{
    __shared__ u64 sums[bins], list[most_listed];
    __shared__ two<u64> totals[bin_segments];
    __shared__ u64 weight_slots[2][max_groups];
    __shared__ u32 counts[bins], length;
    __shared__ found_bin found;
    /* blocks that are no power of two reduce in the bins */
    const team_scratch<u64> weights = {weight_slots, sums};
    const team t = block_team();
    f32 most;

    if (blockIdx.x > 0)
        return;
    u64 key =
        find_greatest(logits, n, !(temperature > 0), t, weights, length, most);

    if (temperature > 0 && key != 0) {
        sampler<T> s = {logits,
                        n,
                        number_of_ordered((u32)(key >> 32)),
                        1.44269504f / temperature,
                        (f32)bins / most_halvings,
                        sums,
                        counts,
                        list,
                        totals,
                        &found,
                        &length,
                        nullptr};

        key = 0;
#if KPK_NVIDIA
        key = draw_quickly(s, most, k, p, seed, offset, t, weights);
#endif
        if (!uniform(key != 0))
            key = draw_by_counting(s, k, p, seed, offset, t, weights);
    }
    if (threadIdx.x == 0)
        *token = ~(u32)key;
}
