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
 * The draw is made in a list of tokens in LDS, in their order, with the sums of
 * their weights: the end of top-k, the end of top-p and the token drawn are
 * places in it (list.h). A block takes the first of these lists that has the
 * places and room for all of its tokens:
 *
 *   the first k  with a k of at most half the threads. The k-th of the threads'
 *                greatest logits is a limit that k tokens reach, and few others
 *   near tokens  with another k, or top-p: the tokens whose weight is halved
 *                less than 12 times. The others' weights are only added
 * together one bin      always: all tokens are binned by their distances from
 * the greatest logit, with the weights of the bins, and with a k the number of
 * tokens (bins.h). Each of the three places is found in a list of its bin's
 * tokens
 */
#pragma once

#include "fused/sample/bins.h"

/* This thread's greatest logit. key: the greatest of all, 0 if there is none;
 * its place is right if `placed`. */
template <typename T>
DEV f32 find_greatest(const T *logits, u32 n, bool placed,
                      const team_scratch<u64> &scratch, u64 &key)
{
    u32 place;
    const f32 most = greatest_of_thread(logits, n, place);
    const bool is_there = most > -infinity<f32>();

    while (placed && is_there && convert<f32>(logits[place]) != most)
        place++;
    key = team_reduce(block_team(), scratch, 0,
                      is_there ? place_key(ordered_bits(most), place) : (u64)0,
                      larger());
    return most;
}

/* A number that k threads, of at least as many, have none below, and few more
 * do: to the upper 20 bits */
DEV f32 reached_by_threads(f32 own, u32 k)
{
    const u32 v = ordered_bits(own);
    u32 least = 0;

    NO_UNROLL
    for (u32 bit = 1u << 31; bit >= 1u << 12; bit >>= 1)
        if ((u32)__syncthreads_count(v >= (least | bit)) >= k)
            least |= bit;
    return least > ordered_bits(-infinity<f32>()) ? number_of_ordered(least)
                                                  : -infinity<f32>();
}

/*
 * Whether the list has the end of top-k, or else of top-p: of the tokens that
 * the k-th of the threads' greatest logits is a limit for, or of near ones.
 * own: this thread's greatest; all: then the weight of all tokens, without a k.
 */
template <typename T>
DEV bool list_few(const sampler<T> &s, f32 own, u32 k, f32 p, u64 &all)
{
    constexpr u32 near_halvings = 12;
    key_range range = {bins - near_halvings * bins_per_halving, bins - 1};
    u64 far;

    if (k == 0) {
        if (!(p < 1) || !uniform(list_keys<true>(s, range, far)))
            return false;
        const u64 listed = s.list_sums[*s.length - 1];

        all = listed + far;
        return part_of(p, all) <= listed;
    }
    const bool limited = k <= blockDim.x / 2;

    if (limited) {
        const f32 h = s.halvings(reached_by_threads(own, k));

        range.first = h < most_halvings ? uniform(first_bin(h)) : 0;
    }
    return uniform(list_keys(s, range, far)) && (limited || k <= *s.length);
}

/* The key of the token drawn. Conditions around barriers are in scalar
 * registers, not in lane masks, which clang 22 got wrong on gfx942. */
template <typename T>
DEV u64 draw(sampler<T> &s, f32 own, u32 k, f32 p, u64 seed, u64 offset)
{
    u64 key = 0, before, all = 0, kept = k;

    if (uniform(list_few(s, own, k, p, all))) {
        s.state = WHOLE;
        kept = min_of(k, *s.length);
    } else {
        all = 0;
    }
    /* finds the end of top-k, the end of top-p, the token drawn */
    NO_UNROLL
    for (u32 step = k > 0 ? 0 : 1; step < 3; step++) {
        if (step == 1 && !(p < 1))
            continue;
        if (uniform(s.state) == EMPTY) {
            const two<u64> sum = fill_first(s);

            all = all > 0 ? all : sum.a; /* or refilled */
            kept = min_of(kept, sum.b);
        }
        key = find_key(s,
                       step == 0   ? kept - 1
                       : step == 1 ? part_of(p, all) - 1
                                   : drawn_below(all, seed, offset),
                       step == 0, before);
        all = before + s.weight(key);
    }
    return key;
}

template <typename T>
DEV void sample(const T *logits, u32 *token, u32 n, u32 k, f32 p,
                f32 temperature, u64 seed, u64 offset)
{
    __shared__ u64 sums[bin_slots], list[most_listed];
    __shared__ two<u64> totals[bin_segments];
    __shared__ u64 slots[2][max_groups];
    __shared__ u32 counts[bin_slots], length;
    __shared__ found_bin found;
    u64 key;

    if (blockIdx.x > 0)
        return;
    const team_scratch<u64> scratch = {slots, sums};
    const f32 own = find_greatest(logits, n, !(temperature > 0), scratch, key);

    if (temperature > 0 && uniform(key != 0)) {
        sampler<T> s = {logits,
                        n,
                        number_of_ordered((u32)(key >> 32)),
                        1.44269504f / temperature,
                        k > 0,
                        scratch,
                        sums,
                        counts,
                        list,
                        sums,
                        totals,
                        &found,
                        &length};

        key = draw(s, own, k, p, seed, offset);
    }
    if (threadIdx.x == 0)
        *token = ~(u32)key;
}
