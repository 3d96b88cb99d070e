/*
 * bins.h - places in the order of all tokens, by the weights of bins
 *
 * The bins divide the distances from the greatest logit evenly, so that few
 * lanes meet in one; the last bin has the greatest. A bin with more tokens than
 * can be listed is divided by the bits of their keys, as a radix sort does.
 */
#pragma once

#include "fused/sample/list.h"

/* greater for greater logits; h below most_halvings */
DEV u32 first_bin(f32 h)
{
    return bins - 1 - whole_product(h, (f32)bins_per_halving);
}

template <typename T> DEV void clear_bins(const sampler<T> &s)
{
    for (u32 b = threadIdx.x; b < bin_slots; b += blockDim.x) {
        s.sums[b] = 0;
        s.counts[b] = 0;
    }
    __syncthreads();
}

/*
 * NVIDIA has no 64-bit addition in LDS, and would loop. The lower halves of all
 * sums lie side by side, the upper ones behind them, so bins use all banks.
 * Additions of V tokens are under way together.
 */
template <typename T, u32 V>
DEV void add_weights(const sampler<T> &s, const u32 (&bin)[V],
                     const u32 (&weight)[V])
{
#if KPK_NVIDIA
    u32 *const half = reinterpret_cast<u32 *>(s.sums);
    u32 before[V];

    UNROLL
    for (u32 i = 0; i < V; i++)
        before[i] = atomicAdd(half + bin[i], weight[i]);
    UNROLL
    for (u32 i = 0; i < V; i++)
        if (before[i] + weight[i] < before[i])
            atomicAdd(half + bin_slots + bin[i], 1u);
#else
    UNROLL
    for (u32 i = 0; i < V; i++)
        atomicAdd(&s.sums[bin[i]], (u64)weight[i]);
#endif
    if (s.counted) {
        UNROLL
        for (u32 i = 0; i < V; i++)
            atomicAdd(&s.counts[bin[i]], 1u);
    }
}

template <typename T> DEV u64 sum_of(const sampler<T> &s, u32 b)
{
#if KPK_NVIDIA
    const u32 *const half = reinterpret_cast<const u32 *>(s.sums) + b;

    return (u64)half[bin_slots] << 32 | half[0];
#else
    return s.sums[b];
#endif
}

/* bins the keys in a range by their next `taken` bits */
template <typename T>
DEV void fill_next(const sampler<T> &s, const key_range &range, u32 taken)
{
    clear_bins(s);
    each_key(s, range, [&](u64 key) {
        const u32 bin[1] = {(u32)(key >> (range.left - taken)) &
                            ((1u << taken) - 1)};
        const u32 weight[1] = {s.weight(key)};

        add_weights(s, bin, weight);
        return true;
    });
    __syncthreads();
}

/* weight and count in a lane's first or second bin of a segment, the last bin
 * first */
template <typename T>
DEV two<u64> value_of_lane(const sampler<T> &s, u32 segment, u32 which)
{
    const u32 b =
        bins - 1 - (segment * segment_bins + 2 * (lane_id() % 32) + which);

    return {sum_of(s, b), s.counts[b]};
}

/*
 * The bin in which the running weight, or count, passes `target`, from the last
 * bin on; none if it never does. Returns the total weight and count.
 */
template <typename T>
DEV two<u64> find_bin(const sampler<T> &s, u64 target, bool by_count)
{
    const u32 groups = uniform_here((u32)blockDim.x) / 32;
    const u32 thread = lane_here(threadIdx.x), lane = thread % 32;
    const plus add;

    for (u32 at = thread / 32; at < bin_segments; at += groups) {
        const two<u64> all = join_lanes(
            add(value_of_lane(s, at, 0), value_of_lane(s, at, 1)), add);

        if (lane == 0)
            s.totals[at] = all;
    }
    __syncthreads();
    for (u32 at = thread / 32; at < bin_segments; at += groups) {
        const two<u64> a = value_of_lane(s, at, 0), b = value_of_lane(s, at, 1);
        two<u64> before = lane < at ? s.totals[lane] : two<u64>{0, 0};
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
        const u32 place = at * segment_bins + 2 * lane;

        if (from <= target && target < from + first)
            *s.found = {before, bins - 1 - place};
        else if (from <= target && target < from + both)
            *s.found = {add(before, a), bins - 2 - place};
    }
    const two<u64> all = join_lanes(s.totals[lane], add);

    __syncthreads();
    return all;
}

/* Bins all tokens; returns their weight and count. Without jumps, because a
 * token is worth 25 instructions. */
template <typename T> DEV two<u64> fill_first(sampler<T> &s)
{
    const u32 aside = bins + lane_here(threadIdx.x) % group_size;

    /* sums of the list make room for those of the bins */
    s.room = most_listed / 2;
    s.list_sums = s.list + s.room;
    clear_bins(s);
    each_batch<logit_batch>(
        s.logits, s.n, [&](const auto &x, u32, u32 step, u32 left) {
            constexpr u32 V = sizeof(x[0]) / sizeof(T);

            UNROLL
            for (u32 j = 0; j < sizeof(x) / sizeof(x[0]); j++) {
                const f32 most = j * step < left ? most_halvings : 0.0f;
                u32 bin[V], weight[V];

                UNROLL
                for (u32 i = 0; i < V; i++) {
                    const f32 h = s.halvings(convert<f32>(x[j][i]));

                    weight[i] = weight_of(h);
                    bin[i] = h < most ? first_bin(h) : aside;
                }
                add_weights(s, bin, weight);
            }
            return true;
        });
    __syncthreads();
    s.state = FILLED;
    return find_bin(s, 0, false);
}

/*
 * Lists the keys of the bin in which the running weight or count passes
 * `target`, or those that begin like the one there. Returns the weight and
 * count in front of the list.
 */
template <typename T>
DEV two<u64> list_around(sampler<T> &s, u64 target, u32 by_count)
{
    u64 far;

    find_bin(s, target, by_count);
    const u32 bin = uniform(s.found->bin);
    two<u64> passed = s.found->before;
    key_range range = {bin, bin};

    while (!uniform(list_keys(s, range, far))) {
        const u32 taken = min_of(range.left, log_bins);

        s.state = EMPTY;
        fill_next(s, range, taken);
        find_bin(s, target - (by_count ? passed.b : passed.a), by_count);
        passed = plus()(passed, s.found->before);
        range.prefix = (range.left == 64 ? 0 : range.prefix << taken) |
                       uniform(s.found->bin);
        range.left -= taken;
    }
    return passed;
}

/* The key at which the running weight or count passes `target`, greatest key
 * first, and the weight in front of it. */
template <typename T>
DEV u64 find_key(sampler<T> &s, u64 target, u32 by_count, u64 &before)
{
    two<u64> passed = {0, 0};

    if (uniform(s.state) != WHOLE)
        passed = list_around(s, target, by_count);
    const u32 place = by_count
                          ? (u32)(target - passed.b)
                          : place_of(target - passed.a, s.list_sums, *s.length);

    before = passed.a + (place > 0 ? s.list_sums[place - 1] : 0);
    return s.list[place];
}
