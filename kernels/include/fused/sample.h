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
 * One block of any multiple of 32 threads: the arguments have no memory in
 * which blocks could join. A thread has eight logits on their way. The block
 * finds places in the order by counting keys, 11 bits at a time, as a radix
 * sort does. As soon as the keys that can still matter are few enough, they are
 * listed in LDS, and the logits are read no more.
 */
#pragma once

#include "fused/argmax.h"
#include "random/philox.h"

constexpr u32 log_bins = 11, bins = 1u << log_bins;
constexpr u32 most_listed = 2048;
constexpr u32 bin_segments = 32, segment_bins = bins / bin_segments;
/* logits that a thread has on their way; one block has no others to wait for */
constexpr u32 logit_batch = 8;

/* where a search by 11 bits more has come to */
struct found_bin {
    two<u64> before; /* weighed and counted, in front of the bin */
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

/* fn(logit, its number) for this thread's part of n logits */
template <typename T, class Fn>
DEV void each_logit(const T *logits, u32 n, Fn fn)
{
    for (u64 first = threadIdx.x; first < n;
         first += (u64)logit_batch * blockDim.x) {
        T x[logit_batch];

        UNROLL
        for (u32 j = 0; j < logit_batch; j++)
            x[j] = logits[min_of(first + j * blockDim.x, (u64)n - 1)];
        UNROLL
        for (u32 j = 0; j < logit_batch; j++) {
            const u64 i = first + j * blockDim.x;

            if (i < n)
                fn(convert<f32>(x[j]), (u32)i);
        }
    }
}

template <typename T> struct sampler {
    const T *logits;
    u32 n;
    f32 top, per_bit; /* the greatest logit; 1 / (temperature ln 2) */
    /* in LDS */
    u64 *sums;
    u32 *counts;
    u64 *list;
    two<u64> *totals; /* of segments */
    found_bin *found;
    u32 *length;
    const u64 *listed; /* list; null: keys come from the logits */

    /* how often the greatest's weight is halved; or NaN */
    DEV_MEMBER f32 halvings(f32 x) const
    {
        return x == top ? 0.0f : rounded_product(top - x, per_bit);
    }
    DEV_MEMBER u64 weight(u64 key) const
    {
        const f32 h = halvings(number_of_ordered((u32)(key >> 32)));
        const u32 whole = (u32)h;

        return (u64)(min_of(power_of_half(h - (f32)whole), 1.0f) * 0x1p31f) >>
               whole;
    }
    /* fn(key) for this thread's part of the tokens that may be drawn */
    template <class Fn> DEV_MEMBER void each_key(Fn fn) const
    {
        if (listed) {
            for (u32 i = threadIdx.x; i < *length; i += blockDim.x)
                fn(listed[i]);
        } else {
            each_logit(logits, n, [&](f32 x, u32 i) {
                if (halvings(x) < 32)
                    fn(place_key(ordered_bits(x), i));
            });
        }
    }
    /* those of the keys that begin with `prefix`, by their next bits */
    DEV_MEMBER void fill_bins(u32 left, u32 taken, u64 prefix) const
    {
        for (u32 b = threadIdx.x; b < bins; b += blockDim.x) {
            sums[b] = 0;
            counts[b] = 0;
        }
        __syncthreads();
        each_key([&](u64 k) {
            if (left == 64 || k >> left == prefix) {
                const u32 b = (u32)(k >> (left - taken)) & ((1u << taken) - 1);

                atomicAdd(&sums[b], weight(k));
                atomicAdd(&counts[b], 1u);
            }
        });
        __syncthreads();
    }
    /* of a lane's first or second bin of a segment, the last bin first */
    DEV_MEMBER two<u64> value(u32 segment, u32 which) const
    {
        const u32 b =
            bins - 1 - (segment * segment_bins + 2 * (lane_id() % 32) + which);

        return {sums[b], counts[b]};
    }
    /*
     * The bin in which the running weight, or count, passes `target`, from the
     * last bin on; none if it never does. Returns both of all.
     */
    DEV_MEMBER two<u64> find_bin(u64 target, bool by_count) const
    {
        const u32 groups = blockDim.x / 32, lane = threadIdx.x % 32;
        const plus add;

        for (u32 s = threadIdx.x / 32; s < bin_segments; s += groups) {
            const two<u64> all = join_lanes(add(value(s, 0), value(s, 1)), add);

            if (lane == 0)
                totals[s] = all;
        }
        __syncthreads();
        for (u32 s = threadIdx.x / 32; s < bin_segments; s += groups) {
            const two<u64> a = value(s, 0), b = value(s, 1);
            two<u64> before = lane < s ? totals[lane] : two<u64>{0, 0};
            two<u64> up_to = add(a, b);

            before = join_lanes(before, add);
            UNROLL
            for (u32 delta = 1; delta < 32; delta *= 2) {
                const two<u64> more = shfl_up(up_to, delta);

                if (lane >= delta)
                    up_to = add(up_to, more);
            }
            before.a += up_to.a - a.a - b.a;
            before.b += up_to.b - a.b - b.b;

            const u64 from = by_count ? before.b : before.a;
            const u64 first = by_count ? a.b : a.a;
            const u64 both = first + (by_count ? b.b : b.a);
            const u32 place = s * segment_bins + 2 * lane;

            if (from <= target && target < from + first)
                *found = {before, bins - 1 - place, (u32)a.b};
            else if (from <= target && target < from + both)
                *found = {add(before, a), bins - 2 - place, (u32)b.b};
        }
        const two<u64> all = join_lanes(totals[lane], add);

        __syncthreads();
        return all;
    }
    /*
     * The key at which the running weight or count passes `target`, greatest
     * key first, and the weight in front of it. Lists the keys up to it as soon
     * as there is room for them: nobody looks behind it any more. unfilled: 0
     * if the first bins are filled. What decides about barriers is in scalar
     * registers, not in lane masks, which clang 22 got wrong on gfx942.
     */
    DEV_MEMBER u64 find(u64 target, bool by_count, u32 unfilled, u64 &before)
    {
        u64 prefix = 0;
        u32 left = 64, count;
        two<u64> passed = {0, 0};

        do {
            const u32 taken = min_of(left, log_bins);

            if (uniform(unfilled))
                fill_bins(left, taken, prefix);
            unfilled = 1;
            find_bin(target - (by_count ? passed.b : passed.a), by_count);
            passed = plus()(passed, found->before);
            prefix = (left == 64 ? 0 : prefix << taken) | found->bin;
            count = uniform(found->count);
            left -= taken;
            __syncthreads();
            if (!listed && uniform(passed.b + count <= most_listed))
                gather(left, prefix);
        } while (left > 0 && count > 1);
        before = passed.a;
        if (left == 0)
            return prefix;
        /* the only one that begins so */
        each_key([&](u64 k) {
            if (k >> left == prefix)
                totals[0].a = k;
        });
        __syncthreads();
        const u64 k = totals[0].a;

        __syncthreads();
        return k;
    }
    /* lists the keys that begin with `prefix` or more, at most most_listed */
    DEV_MEMBER void gather(u32 left, u64 prefix)
    {
        if (threadIdx.x == 0)
            *length = 0;
        __syncthreads();
        each_key([&](u64 k) {
            if (k >> left >= prefix)
                list[atomicAdd(length, 1u)] = k;
        });
        __syncthreads();
        listed = list;
    }
    /* this thread's part of the weight of keys from `least` on */
    DEV_MEMBER u64 weight_from(u64 least) const
    {
        u64 sum = 0;

        each_key([&](u64 k) { sum += k >= least ? weight(k) : 0; });
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
    __shared__ u64 sums[bins], list[most_listed];
    __shared__ two<u64> totals[bin_segments];
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
    each_logit(logits, n, [&](f32 x, u32) { top = max_number(top, x); });
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

    s.fill_bins(64, log_bins, 0);
    const two<u64> sum = s.find_bin(0, false); /* of tokens with a weight */
    const u64 kept = greedy ? 1 : k > 0 ? min_of((u64)k, sum.b) : 0;
    u64 all = sum.a;

    u64 key = 0;
    u32 unfilled = 0;

    /* where top-k ends, where top-p ends, what is drawn */
    NO_UNROLL
    for (u32 step = kept > 0 ? 0 : 1; step < 3; step++) {
        u64 before;

        if (step == 1 && (greedy || !(p < 1)))
            continue;
        key = s.find(step == 0   ? kept - 1
                     : step == 1 ? part_of(p, all) - 1
                                 : drawn_below(all, seed, offset),
                     step == 0, unfilled, before);
        unfilled = 1;
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
