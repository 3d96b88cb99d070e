/*
 * list_draw.h - a draw from few tokens, listed and put in order, on NVIDIA's
 *
 * The list has room for most_listed keys. Filling stops when the list is full;
 * `length` is then above most_listed, and the token is drawn in another way.
 */
#pragma once

#include "fused/sample/sampler.h"
#include "nvidia/sample/batches.h"

/* tokens with fewer are listed at once, if that is possible */
constexpr u32 near_halvings = 12;

/*
 * Lists the keys of near tokens, or stops when the list is full. Returns this
 * thread's part of a sum over the other tokens: of their weights if `weighed`,
 * else the number of tokens with a weight.
 */
template <bool weighed, typename T> DEV u64 list_near(const sampler<T> &s)
{
    u64 far = 0;

    each_batch<logit_batch>(
        s.logits, s.n, [&](const auto &x, u32 first, u32 step, u32 left) {
            constexpr u32 m = sizeof(x) / sizeof(x[0]);
            constexpr u32 V = sizeof(x[0]) / sizeof(T);
            u32 near = 0; /* a bit per logit, set for few of them */

            UNROLL
            for (u32 j = 0; j < m; j++) {
                u32 sum = 0, found = 0;

                UNROLL
                for (u32 i = 0; i < V; i++) {
                    const f32 h = s.halvings(convert<f32>(x[j][i]));
                    const bool is_near = h < near_halvings;

                    found |= is_near ? 1u << i : 0;
                    if constexpr (weighed)
                        sum += light_weight(is_near ? most_halvings + 1.0f : h);
                    else
                        sum += !is_near && h < most_halvings;
                }
                if (j * blockDim.x < left) {
                    far += sum;
                    near |= found << j * V;
                }
            }
            if (near != 0) {
                u32 at = atomicAdd(s.length, (u32)__popc(near));

                for (; near != 0 && at < most_listed; near &= near - 1) {
                    const u32 bit = log2_of(near & (0u - near));
                    const u32 i = first + bit / V * step + bit % V;

                    s.list[at++] =
                        place_key(ordered_bits(convert<f32>(s.logits[i])), i);
                }
            }
            return *(volatile u32 *)s.length <= most_listed;
        });
    return far;
}

/* The steps within 32 neighbours, by exchanges between lanes: of sizes from
 * `first` to 32, or of the last five of `size`. */
template <u32 first> DEV void sort_32s(u64 *list, u32 all, u32 size)
{
    for (u32 i = threadIdx.x; i < all; i += blockDim.x) {
        u64 v = list[i];

        UNROLL
        for (u32 s = first; s <= 32; s *= 2)
            UNROLL
        for (u32 far = s / 2; far > 0; far /= 2) {
            const u64 other = __shfl_xor_sync(~0u, v, (int)far);
            const bool down = (i & (size > 0 ? size : s)) == 0;

            if ((v < other) == (down == ((i & far) == 0)))
                v = other;
        }
        list[i] = v;
    }
    __syncthreads();
}

/* the list of n in order, greatest first, by Batcher's bitonic sort */
DEV void sort_list(u64 *list, u32 n)
{
    const u32 all = max_of(power_of_two_at_least(n), 32u);

    for (u32 i = n + threadIdx.x; i < all; i += blockDim.x)
        list[i] = 0;
    __syncthreads();
    sort_32s<2>(list, all, 0);
    NO_UNROLL
    for (u32 size = 64; size <= all; size *= 2) {
        NO_UNROLL
        for (u32 far = size / 2; far >= 32; far /= 2) {
            for (u32 i = threadIdx.x; i < all / 2; i += blockDim.x) {
                const u32 at = 2 * i - (i & (far - 1));
                const u64 a = list[at], b = list[at + far];

                if ((a < b) == ((at & size) == 0)) {
                    list[at] = b;
                    list[at + far] = a;
                }
            }
            __syncthreads();
        }
        sort_32s<32>(list, all, size);
    }
}

/* sums[i]: the weight of the list up to its i-th key */
template <typename T> DEV void sum_list(const sampler<T> &s, u64 *sums, u32 n)
{
    const u32 each = div_up(n, (u32)blockDim.x);
    const u32 first = threadIdx.x * each, end = min_of(first + each, n);
    const u32 lane = threadIdx.x % 32, group = threadIdx.x / 32;
    u64 own = 0;

    for (u32 i = first; i < end; i++)
        own += s.weight(s.list[i]);
    u64 up_to = own;

    UNROLL
    for (u32 delta = 1; delta < 32; delta *= 2) {
        const u64 more = shfl_up(up_to, delta);

        if (lane >= delta)
            up_to += more;
    }
    if (lane == 31)
        s.totals[group].a = up_to;
    __syncthreads();
    u64 sum = join_lanes(lane < group ? s.totals[lane].a : (u64)0, plus());

    sum += up_to - own;
    for (u32 i = first; i < end; i++) {
        sum += s.weight(s.list[i]);
        sums[i] = sum;
    }
    __syncthreads();
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

/*
 * The key drawn from the list, or 0: tokens behind it take part. `others`: the
 * weight of tokens behind the list, or with k their number.
 */
template <typename T>
DEV u64 draw_listed(const sampler<T> &s, u64 others, u32 k, f32 p,
                    u64 random_seed, u64 offset)
{
    const u32 n_listed = uniform(*s.length);

    sort_list(s.list, n_listed);
    sum_list(s, s.sums, n_listed);

    const u64 kept = min_of((u64)k, n_listed + others);

    if (kept > n_listed)
        return 0;
    u64 all = k > 0 ? s.sums[kept - 1] : s.sums[n_listed - 1] + others;

    if (p < 1) {
        const u32 last = place_of(part_of(p, all) - 1, s.sums, n_listed);

        if (last == n_listed)
            return 0;
        all = s.sums[last];
    }
    const u32 place =
        place_of(drawn_below(all, random_seed, offset), s.sums, n_listed);

    return place < n_listed ? s.list[place] : 0;
}

/* Lists the keys of logits with may_be_wanted(logit), true for few logits, and
 * is_wanted(logit); stops above `room` keys. */
template <typename T, class May, class Is>
DEV void list_where(const sampler<T> &s, u32 room, May may_be_wanted,
                    Is is_wanted)
{
    each_batch<quick_batch>(
        s.logits, s.n, [&](const auto &x, u32 first, u32 step, u32 left) {
            constexpr u32 m = sizeof(x) / sizeof(x[0]);
            constexpr u32 V = sizeof(x[0]) / sizeof(T);
            constexpr u32 words = div_up(m * V, 32u);
            u32 found[words] = {}, any = 0; /* a bit a logit */

            UNROLL
            for (u32 j = 0; j < m; j++) {
                u32 some = 0;

                UNROLL
                for (u32 i = 0; i < V; i++)
                    if (may_be_wanted(convert<f32>(x[j][i])))
                        some |= 1u << (j * V + i) % 32;
                found[j * V / 32] |= j * blockDim.x < left ? some : 0;
            }
            UNROLL
            for (u32 w = 0; w < words; w++)
                any |= found[w];
            if (any == 0)
                return true;
            UNROLL
            for (u32 w = 0; w < words; w++) {
                NO_UNROLL
                for (u32 bits = found[w]; bits != 0; bits &= bits - 1) {
                    const u32 at = 32 * w + log2_of(bits & (0u - bits));
                    const u32 i = first + at / V * step + at % V;
                    const f32 logit = convert<f32>(s.logits[i]);

                    if (is_wanted(logit)) {
                        const u32 place = atomicAdd(s.length, 1u);

                        if (place < room)
                            s.list[place] = place_key(ordered_bits(logit), i);
                    }
                }
            }
            return true;
        });
}

/*
 * The key drawn from the first k, or 0 if too many reach the limit that k
 * threads have reached. A thread's greatest logit is `own`.
 */
template <typename T>
DEV u64 draw_first(const sampler<T> &s, f32 own, u32 k, f32 p, u64 random_seed,
                   u64 offset)
{
    const f32 least = reached_by_threads(own, k);

    list_where(
        s, most_listed, [&](f32 x) { return x >= least; },
        [&](f32 x) { return s.halvings(x) < most_halvings; });
    __syncthreads();
    return uniform(*s.length) <= most_listed
               ? draw_listed(s, 0, k, p, random_seed, offset)
               : 0;
}
