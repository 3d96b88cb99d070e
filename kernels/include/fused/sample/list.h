/*
 * list.h - few tokens in LDS, in order, with the sums of their weights
 */
#pragma once

#include "fused/sample/sampler.h"
#include "reduce/add_up.h"

/*
 * The list of n in order, greatest first, by a bitonic network: a step of
 * `span` compares keys within `span` neighbours. 32 lanes compare 64
 * neighbours, so up to that span they need no barrier.
 */
DEV void sort_list(u64 *list, u32 n)
{
    const u32 all = max_of(power_of_two_at_least(n), 2u);
    const u32 threads = uniform_here((u32)blockDim.x);
    const u32 thread = lane_here(threadIdx.x);

    for (u32 i = n + thread; i < all; i += threads)
        list[i] = 0;
    __syncthreads();
    NO_UNROLL
    for (u32 size = 2; size <= all; size *= 2) {
        NO_UNROLL
        for (u32 span = size; span > 1; span /= 2) {
            /* the first step compares a key with its mirror image */
            const u32 mask = span == size ? span - 1 : span / 2;

            for (u32 i = thread; i < all / 2; i += threads) {
                const u32 at = 2 * i - (i & (span / 2 - 1));
                const u64 a = list[at], b = list[at ^ mask];

                if (a < b) {
                    list[at] = b;
                    list[at ^ mask] = a;
                }
            }
            if (span > 64 || (span == 2 && size >= 64))
                __syncthreads();
            else
                wave_sync();
        }
    }
    __syncthreads();
}

/* list_sums[i]: the weight of the list up to its i-th key */
template <typename T> DEV void sum_list(const sampler<T> &s, u32 n)
{
    const u32 each = div_up(n, uniform_here((u32)blockDim.x));
    const u32 thread = lane_here(threadIdx.x);
    const u32 first = thread * each, end = min_of(first + each, n);
    const u32 lane = thread % group_size, group = thread / group_size;
    u64 own = 0;

    for (u32 i = first; i < end; i++)
        own += s.weight(s.list[i]);
    const u64 up_to = add_up_group(own, lane, group_size);

    if (lane == group_size - 1)
        s.totals[group].a = up_to;
    __syncthreads();
    u64 sum = join_lanes(lane < group ? s.totals[lane].a : (u64)0, plus());

    sum += up_to - own;
    for (u32 i = first; i < end; i++) {
        sum += s.weight(s.list[i]);
        s.list_sums[i] = sum;
    }
    __syncthreads();
}

/* Whether the keys in a range are few enough to be listed; lists them then.
 * far: if `others`, then the weight of all tokens in bins in front of the
 * range.
 */
template <bool others = false, typename T>
DEV bool list_keys(const sampler<T> &s, const key_range &range, u64 &far)
{
    __syncthreads(); /* all have read the list before, and its length */
    if (threadIdx.x == 0)
        *s.length = 0;
    __syncthreads();
    far = each_key<others>(s, range, [&](u64 key) {
        const u32 at = atomicAdd(s.length, 1u);

        if (at < s.room)
            s.list[at] = key;
        return at < s.room;
    });
    __syncthreads();
    const u32 n = uniform(*s.length);

    if (n > s.room)
        return false;
    if constexpr (others)
        far = team_reduce(block_team(), s.scratch, 0, far, plus());
    sort_list(s.list, n);
    sum_list(s, n);
    return true;
}

/* the key of n at which the running weight passes `target`; n if none */
DEV u32 place_of(u64 target, const u64 *sums, u32 n)
{
    u32 first = 0;

    while (first < n) {
        const u32 middle = first + (n - first) / 2;

        if (sums[middle] > target)
            n = middle;
        else
            first = middle + 1;
    }
    return first;
}
