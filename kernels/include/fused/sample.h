/*
 * sample.h - a token drawn from a row of logits: temperature, top-k, top-p
 *
 * logits  [n] of T
 * token   one u32: the token drawn; 0xffffffff if no logit is above -inf
 *
 * The weight of a token is exp((logit - greatest) / temperature). Tokens stand
 * in order of their logits, greatest first, then of their numbers. k > 0 keeps
 * the first k of them; p < 1 keeps, of those, the shortest beginning that has
 * at least p of their weight, one token at least. From what is left one is
 * drawn by its weight. A temperature that is not above 0 takes the first. NaN
 * is never drawn, nor a token that is 2^31 times less likely than the first.
 *
 * seed and offset choose the random number: words 0 and 1 of Philox's block
 * `offset` under key `seed`. Weights are integers, 2^31 for the first token, by
 * arithmetic that is the same on every target. So one seed, offset and row give
 * the same token on any GPU.
 *
 * One block of any multiple of 32 threads. It finds places in the order by
 * counting keys, 11 bits at a time, as a radix sort does; keys that can matter
 * are listed in LDS after the first 11 bits, if there is room for them.
 */
#pragma once

#include "fused/argmax.h"
#include "random/philox.h"

constexpr u32 log_bins = 11, bins = 1u << log_bins;
constexpr u32 most_listed = 2048;
constexpr u32 bin_segments = 32, segment_bins = bins / bin_segments;

/* where a search by 11 bits more has come to */
struct found_bin {
    u64 before; /* counted, or weighed, in front of the bin */
    u32 bin, count;
};

/* 2^-f for f from 0 to 1, to 2^-23, the same bits everywhere */
DEV f32 power_of_half(f32 f)
{
    const f32 x = (0.5f - f) * 0.69314718f; /* e^x / sqrt 2 */
    f32 y = 1.0f / 5040;

    y = fused(y, x, 1.0f / 720);
    y = fused(y, x, 1.0f / 120);
    y = fused(y, x, 1.0f / 24);
    y = fused(y, x, 1.0f / 6);
    y = fused(y, x, 0.5f);
    y = fused(y, x, 1.0f);
    y = fused(y, x, 1.0f);
    return rounded_product(y, 0.70710678f);
}

template <typename T> struct sampler {
    const T *logits;
    u32 n;
    f32 top, per_bit; /* the greatest logit; 1 / (temperature ln 2) */
    /* in LDS */
    u64 *sums;
    u32 *counts;
    u64 *list;
    u64 *totals; /* of segments */
    found_bin *found;
    u32 *length;
    const u64 *listed; /* null: keys come from the logits */

    DEV_MEMBER u32 size() const
    {
        return listed ? *length : n;
    }
    DEV_MEMBER u64 weight(u64 key) const
    {
        const f32 x = number_of_ordered((u32)(key >> 32));
        const f32 halvings =
            x == top ? 0.0f : rounded_product(top - x, per_bit);

        if (!(halvings < 32)) /* or NaN */
            return 0;
        const u32 whole = (u32)halvings;
        const f32 part = power_of_half(halvings - (f32)whole);

        return (u64)(min_of(part, 1.0f) * 0x1p31f) >> whole;
    }
    /* 0: never drawn */
    DEV_MEMBER u64 key(u32 i) const
    {
        if (listed)
            return list[i];
        const f32 x = convert<f32>(logits[i]);
        const u64 k = x == x ? place_key(ordered_bits(x), i) : 0;

        return k != 0 && weight(k) > 0 ? k : 0;
    }
    /* those of the keys that begin with `prefix`, by their next bits */
    DEV_MEMBER void fill_bins(u32 left, u32 taken, u64 prefix) const
    {
        for (u32 b = threadIdx.x; b < bins; b += blockDim.x) {
            sums[b] = 0;
            counts[b] = 0;
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < size(); i += blockDim.x) {
            const u64 k = key(i);

            if (k != 0 && (left == 64 || k >> left == prefix)) {
                const u32 b = (u32)(k >> (left - taken)) & ((1u << taken) - 1);

                atomicAdd(&sums[b], weight(k));
                atomicAdd(&counts[b], 1u);
            }
        }
        __syncthreads();
    }
    /* of bins 2 * lane and 2 * lane + 1 of a segment, the last bin first */
    DEV_MEMBER u64 value(u32 segment, u32 which, bool by_count) const
    {
        const u32 b =
            bins - 1 - (segment * segment_bins + 2 * (lane_id() % 32) + which);

        return by_count ? counts[b] : sums[b];
    }
    /*
     * The bin in which the running sum passes `target`, from the last bin on;
     * the last of all if none does. Returns the sum of all.
     */
    DEV_MEMBER u64 find_bin(u64 target, bool by_count) const
    {
        const u32 groups = blockDim.x / 32, lane = threadIdx.x % 32;

        for (u32 s = threadIdx.x / 32; s < bin_segments; s += groups) {
            const u64 all = join_lanes(
                value(s, 0, by_count) + value(s, 1, by_count), plus());

            if (lane == 0)
                totals[s] = all;
        }
        if (threadIdx.x == 0)
            *found = {0, 0, 0};
        __syncthreads();
        const u64 all = join_lanes(totals[lane], plus());

        for (u32 s = threadIdx.x / 32; s < bin_segments; s += groups) {
            const u64 a = value(s, 0, by_count), b = value(s, 1, by_count);
            u64 up_to = a + b;

            UNROLL
            for (u32 delta = 1; delta < 32; delta *= 2) {
                const u64 more = shfl_up(up_to, delta);

                up_to += lane >= delta ? more : 0;
            }
            const u64 before =
                join_lanes(lane < s ? totals[lane] : 0, plus()) + up_to - a - b;
            const bool first = target < before + a;

            if (before <= target && target < before + a + b) {
                const u32 place = s * segment_bins + 2 * lane + !first;

                *found = {first ? before : before + a, bins - 1 - place,
                          counts[bins - 1 - place]};
            }
        }
        __syncthreads();
        return all;
    }
    /* The key at which the running count or weight passes `target`, greatest
     * key first, and what is in front of it. */
    DEV_MEMBER u64 find(u64 target, bool by_count, u64 &before) const
    {
        u64 prefix = 0;
        u32 left = 64, count;

        before = 0;
        do {
            const u32 taken = min_of(left, log_bins);

            fill_bins(left, taken, prefix);
            find_bin(target - before, by_count);
            before += found->before;
            prefix = (left == 64 ? 0 : prefix << taken) | found->bin;
            count = found->count;
            left -= taken;
            __syncthreads();
        } while (left > 0 && count > 1);
        if (left == 0)
            return prefix;
        /* the only one that begins so */
        for (u32 i = threadIdx.x; i < size(); i += blockDim.x) {
            const u64 k = key(i);

            if (k >> left == prefix)
                totals[0] = k;
        }
        __syncthreads();
        const u64 k = totals[0];

        __syncthreads();
        return k;
    }
    /* lists the keys of `bin` and those after it, if there is room */
    DEV_MEMBER void gather(u32 bin)
    {
        if (threadIdx.x == 0)
            *length = 0;
        __syncthreads();
        for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
            const u64 k = key(i);

            if (k != 0 && k >> (64 - log_bins) >= bin) {
                const u32 at = atomicAdd(length, 1u);

                if (at < most_listed)
                    list[at] = k;
            }
        }
        __syncthreads();
        if (*length <= most_listed)
            listed = list;
    }
    /* this thread's part of the weight of keys from `least` on */
    DEV_MEMBER u64 weight_from(u64 least) const
    {
        u64 sum = 0;

        for (u32 i = threadIdx.x; i < size(); i += blockDim.x) {
            const u64 k = key(i);

            sum += k >= least && k != 0 ? weight(k) : 0;
        }
        return sum;
    }
};

/* the least weight that is at least the part p of all, p < 1 */
DEV u64 part_of(f32 p, u64 all)
{
    const f64 part = rounded_product((f64)p, (f64)all);
    const u64 least = part > 0 ? (u64)part + ((f64)(u64)part < part) : 0;

    return min_of(max_of(least, (u64)1), all);
}

/* a number below `all`, each as likely, by 64 random bits */
DEV u64 drawn_below(u64 all, u64 seed, u64 offset)
{
    const Pack<u32, 4> words = philox(seed, offset, 0);

    return __umul64hi((u64)words[0] << 32 | words[1], all);
}

template <typename T>
DEV void sample(const T *logits, u32 *token, u32 n, u32 k, f32 p,
                f32 temperature, u64 seed, u64 offset)
{
    __shared__ u64 sums[bins], list[most_listed], totals[bin_segments];
    __shared__ u64 weight_slots[2][max_groups];
    __shared__ f32 top_slots[2][max_groups];
    __shared__ u32 counts[bins], length;
    __shared__ found_bin found;
    /* blocks that are no power of two reduce in the bins */
    const team_scratch<u64> weights = {weight_slots, sums};
    const team_scratch<f32> tops = {top_slots, reinterpret_cast<f32 *>(sums)};
    const team t = block_team();
    const bool greedy = !(temperature > 0);
    f32 top = -infinity<f32>();

    if (blockIdx.x > 0)
        return;
    for (u32 i = threadIdx.x; i < n; i += blockDim.x)
        top = max_number(top, convert<f32>(logits[i]));
    top = team_reduce(t, tops, 0, top, larger());
    if (top == -infinity<f32>()) {
        if (threadIdx.x == 0)
            *token = ~0u;
        return;
    }
    sampler<T> s = {
        logits, n,
        top,    greedy ? infinity<f32>() : 1.44269504f / temperature,
        sums,   counts,
        list,   totals,
        &found, &length,
        nullptr};

    /* the last bin of 11 bits that anyone will look at */
    s.fill_bins(64, log_bins, 0);
    const u64 number = s.find_bin(~(u64)0, true); /* of tokens with a weight */
    u64 all = s.find_bin(~(u64)0, false);
    const u64 kept = greedy ? 1 : k > 0 ? min_of((u64)k, number) : 0;

    s.find_bin(kept > 0 ? kept - 1
               : p < 1  ? part_of(p, all) - 1
                        : drawn_below(all, seed, offset),
               kept > 0);
    const u32 last = found.bin;

    __syncthreads();
    s.gather(last);

    u64 key = 0;

    /* where top-k ends, where top-p ends, what is drawn */
    NO_UNROLL
    for (u32 step = kept > 0 ? 0 : 1; step < 3; step++) {
        u64 before;

        if (step == 1 && (greedy || !(p < 1)))
            continue;
        key = s.find(step == 0   ? kept - 1
                     : step == 1 ? part_of(p, all) - 1
                                 : drawn_below(all, seed, offset),
                     step == 0, before);
        if (step == 0) {
            all = team_reduce(t, weights, 0, s.weight_from(key), plus());
            __syncthreads();
        } else {
            all = before + s.weight(key);
        }
    }
    if (threadIdx.x == 0)
        *token = ~(u32)key;
}
