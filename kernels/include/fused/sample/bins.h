/*
 * bins.h - finds the token at a given place of the sorted order, by histograms
 *
 * The first histogram divides distances from the greatest logit evenly; its
 * last bin holds the greatest logit. find_key() then refines one bin by the
 * bits of its keys, as a radix sort does.
 */
#pragma once

#include "fused/sample/sampler.h"

/* greater for greater keys */
template <typename T> DEV u32 first_bin(const sampler<T> &s, f32 h)
{
    return bins - 1 - (u32)min_of(h * s.per_halving, (f32)(bins - 1));
}

template <typename T> DEV void clear_bins(const sampler<T> &s)
{
    for (u32 b = threadIdx.x; b < bins; b += blockDim.x) {
        s.sums[b] = 0;
        s.counts[b] = 0;
    }
    __syncthreads();
}

#if KPK_NVIDIA
/* NVIDIA has no 64-bit atomic addition in LDS and would loop, so the halves of
 * sums are added apart. The lower halves of all sums are contiguous, with the
 * upper halves behind them, to use all banks. */
template <typename T> DEV void add_weight(const sampler<T> &s, u32 b, u32 w)
{
    u32 *const half = reinterpret_cast<u32 *>(s.sums) + b;
    const u32 before = atomicAdd(half, w);

    if (before + w < before)
        atomicAdd(half + bins, 1u);
}
#endif

template <typename T> DEV u64 sum_of(const sampler<T> &s, u32 b)
{
#if KPK_NVIDIA
    const u32 *const half = reinterpret_cast<const u32 *>(s.sums) + b;

    return (u64)half[bins] << 32 | half[0];
#else
    return s.sums[b];
#endif
}

template <typename T>
DEV void put_key(const sampler<T> &s, u32 b, u64 key, bool weighed)
{
    atomicAdd(&s.counts[b], 1u);
    if (!weighed)
        return;
#if KPK_NVIDIA
    add_weight(s, b, (u32)s.weight(key));
#else
    atomicAdd(&s.sums[b], s.weight(key));
#endif
}

/* all keys, by their distances from the greatest */
template <typename T> DEV void fill_first(const sampler<T> &s, bool weighed)
{
    clear_bins(s);
    s.each_key([&](u64 k, f32 h) { put_key(s, first_bin(s, h), k, weighed); });
    __syncthreads();
}

DEV bool begins(u64 k, u32 left, u64 prefix)
{
    return left == 64 || k >> left == prefix;
}

/* bins the keys in first bin `first` that begin with `prefix`, by their next
 * bits */
template <typename T>
DEV void fill_next(const sampler<T> &s, u32 first, u32 left, u32 taken,
                   u64 prefix, bool weighed)
{
    clear_bins(s);
    s.each_key([&](u64 k, f32 h) {
        if (first_bin(s, h) == first && begins(k, left, prefix))
            put_key(s, (u32)(k >> (left - taken)) & ((1u << taken) - 1), k,
                    weighed);
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
    const u32 groups = blockDim.x / 32, lane = threadIdx.x % 32;
    const plus add;

    for (u32 at = threadIdx.x / 32; at < bin_segments; at += groups) {
        const two<u64> all = join_lanes(
            add(value_of_lane(s, at, 0), value_of_lane(s, at, 1)), add);

        if (lane == 0)
            s.totals[at] = all;
    }
    __syncthreads();
    for (u32 at = threadIdx.x / 32; at < bin_segments; at += groups) {
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
            *s.found = {before, bins - 1 - place, (u32)a.b};
        else if (from <= target && target < from + both)
            *s.found = {add(before, a), bins - 2 - place, (u32)b.b};
    }
    const two<u64> all = join_lanes(s.totals[lane], add);

    __syncthreads();
    return all;
}

/* lists the keys from `first` and `prefix` on, at most most_listed */
template <typename T>
DEV void list_from(sampler<T> &s, u32 first, u32 left, u64 prefix)
{
    if (threadIdx.x == 0)
        *s.length = 0;
    __syncthreads();
    s.each_key([&](u64 k, f32 h) {
        const u32 b = first_bin(s, h);

        if (b > first || (b == first && (left == 64 || k >> left >= prefix)))
            s.list[atomicAdd(s.length, 1u)] = k;
    });
    __syncthreads();
    s.listed = s.list;
    /* so that they fill the bins */
    s.per_halving *= (f32)bins / (f32)(bins - first);
}

/*
 * The key at which the running weight or count passes `target`, greatest key
 * first, and the weight in front of it, unless by count. Lists the keys up to
 * it as soon as there is room for them: nobody looks behind it any more.
 * unfilled: 0 if the first bins are filled. Conditions around barriers are in
 * scalar registers, not in lane masks, which clang 22 got wrong on gfx942.
 */
template <typename T>
DEV u64 find_key(sampler<T> &s, u64 target, bool by_count, u32 unfilled,
                 u64 &before)
{
    u64 prefix = 0;
    u32 left = 64, first = 0, count;
    two<u64> passed = {0, 0};
    u32 fresh = 1;

    do {
        const u32 taken = min_of(left, log_bins);

        if (uniform(fresh)) {
            if (uniform(unfilled))
                fill_first(s, !by_count);
            unfilled = 1;
        } else {
            fill_next(s, first, left, taken, prefix, !by_count);
        }
        find_bin(s, target - (by_count ? passed.b : passed.a), by_count);
        passed = plus()(passed, s.found->before);
        count = uniform(s.found->count);
        if (uniform(fresh)) {
            first = s.found->bin;
        } else {
            prefix = (left == 64 ? 0 : prefix << taken) | s.found->bin;
            left -= taken;
        }
        fresh = 0;
        __syncthreads();
        if (!s.listed && uniform(passed.b + count <= most_listed)) {
            /* once more, from the start, in the list alone */
            list_from(s, first, left, prefix);
            prefix = 0, left = 64, fresh = 1, count = 2;
            passed = {0, 0};
        }
    } while (left > 0 && count > 1);
    before = passed.a;
    if (left == 0)
        return prefix;
    /* the only one that begins so */
    s.each_key([&](u64 k, f32 h) {
        if (first_bin(s, h) == first && begins(k, left, prefix))
            s.totals[0].a = k;
    });
    __syncthreads();
    const u64 k = s.totals[0].a;

    __syncthreads();
    return k;
}
