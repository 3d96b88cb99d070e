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
 * which blocks could join. A thread has 64 bytes of logits on their way, or 128
 * where it does little with them.
 *
 * NVIDIA's GPUs look for the greatest logit of each thread first. With a k of
 * at most half the threads, the k-th of those is a limit that k tokens reach,
 * and few others. Those are listed and put in order in LDS, with their weights
 * summed up. If they are more than 2048, and with another k or with p alone,
 * the same is tried with the tokens near the greatest, whose weight is halved
 * less than 12 times, while the others' are only added together. What is drawn
 * is nearly always among those listed.
 *
 * If it is not, if they are more, or if nothing is cut off, and there is no k,
 * the weights of all are added up in 2048 bins. They divide the distances from
 * the greatest logit evenly, so that few lanes meet in one. Then the tokens of
 * single bins are listed and put in order: that in which top-p ends, that of
 * the draw.
 *
 * With a k, if a bin has too many tokens, and on AMD's GPUs, the block finds
 * places in the order by counting in such bins first. What is in the same bin
 * is told apart by the bits of the keys, 11 at a time, as a radix sort does. As
 * soon as the keys that can still matter are few enough, they are listed, and
 * the logits are read no more. All ways draw the same token.
 */
#pragma once

#include "fused/argmax.h"
#include "random/philox.h"

constexpr u32 log_bins = 11, bins = 1u << log_bins;
constexpr u32 most_listed = 2048;
constexpr u32 bin_segments = 32, segment_bins = bins / bin_segments;
/* vectors that a thread has on their way; one block has no others to wait for
 */
constexpr u32 logit_batch = 4;
/* the same where little is done with each */
constexpr u32 quick_batch = KPK_NVIDIA ? 8 : logit_batch;
/* a token that has its weight halved as often is never drawn */
constexpr u32 most_halvings = 32;
/* tokens with fewer are listed at once, if that is possible */
constexpr u32 near_halvings = 12;

/* where a search in bins has come to */
struct found_bin {
    two<u64> before; /* weighed and counted, in front of the bin */
    u32 bin, count;
};

/* 2^(less - 1/2) for `less` from -1/2 to 1/2, to 2^-23, the same bits
 * everywhere */
DEV f32 power_of_half_less(f32 less)
{
    const f32 x = less * 0.69314718f; /* e^x / sqrt 2 */
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

/* 2^-f for f from 0 to 1 */
DEV f32 power_of_half(f32 f)
{
    return power_of_half_less(0.5f - f);
}

/* 2^(31 - w) for the whole part w of h, and what is left of h. NVIDIA's
 * conversions of numbers to integers are slow, adding 2^23 to them is not. */
DEV f32 whole_halvings(f32 h, f32 &rest)
{
#if KPK_NVIDIA
    const f32 moved = __fadd_rz(h, 0x1p23f);
    const u32 whole = bits_as<u32>(moved);

    rest = h - (moved - 0x1p23f);
#else
    const u32 whole = (u32)h;

    rest = h - (f32)whole;
#endif
    return bits_as<f32>((158 - whole) << 23);
}

#if KPK_NVIDIA
/* 2^(31 - h) as weights are, of h from 0 to 32. power_of_half() gives what is
 * from 1/2 up and below 1 (all f were tried): the mantissa is shifted. */
DEV u32 weight_halved(f32 h)
{
    const f32 moved = __fadd_rz(h, 0x1p23f);
    /* 1/2 less what h is above its whole part, exact but for one rounding */
    const f32 rest = (moved - (0x1p23f - 0.5f)) - h;
    const u32 bits = bits_as<u32>(power_of_half_less(rest));

    return __funnelshift_r((bits - 0x3e800000u) << 7, 0, bits_as<u32>(moved));
}
#endif

/* the same of any h from 12 on; 0 for NaN */
DEV u32 light_weight(f32 h)
{
    f32 rest;
    const f32 scale = whole_halvings(fminf(h, most_halvings + 1.0f), rest);
    const f32 w = power_of_half(rest) * scale;

#if KPK_NVIDIA
    return bits_as<u32>(__fadd_rz(w, 0x1p23f)) - 0x4b000000u;
#else
    return (u32)w;
#endif
}

/* n logits: `head` in front of 16 aligned bytes, vectors of 16 bytes, and those
 * from `tail` on. */
template <typename T> struct logit_parts {
    u32 head, vectors, tail;

    DEV_MEMBER logit_parts(const T *logits, u32 n)
    {
        constexpr u32 V = vector_length<T>;
        const u32 past = (u32)((u64)logits / sizeof(T)) % V;

        head = min_of(past > 0 ? V - past : 0, n);
        vectors = (n - head) / V;
        tail = head + vectors * V;
    }
};

/* Vectors first, first + blockDim.x and so on; the last one for those beyond */
template <typename T, u32 m>
DEV void load_batch(Pack<T, vector_length<T>> (&x)[m], const T *from, u64 first,
                    u32 vectors)
{
    constexpr u32 V = vector_length<T>;

    UNROLL
    for (u32 j = 0; j < m; j++)
        x[j] = load_pack<V>(
            from + min_of(first + j * blockDim.x, (u64)vectors - 1) * V);
}

/*
 * For this thread's part of n logits, in their order, as long as it is true:
 * fn(vectors, first, step, left) with vectors of 1 or 16 bytes' logits side by
 * side. Logit i of vector j has number first + j * step + i. Vector j is not
 * there unless j * blockDim.x is below `left`.
 */
template <u32 most, typename T, class Fn>
DEV void each_batch(const T *logits, u32 n, Fn fn)
{
    constexpr u32 V = vector_length<T>;
    const logit_parts<T> parts(logits, n);
    const u32 head = parts.head, vectors = parts.vectors, tail = parts.tail;
    bool more = true;

    if (threadIdx.x < head) {
        const Pack<T, 1> x[1] = {{logits[threadIdx.x]}};

        more = fn(x, threadIdx.x, 0, 1);
    }
    NO_UNROLL
    for (u64 first = threadIdx.x; more && first < vectors;
         first += (u64)most * blockDim.x) {
        Pack<T, V> x[most];

        load_batch<T>(x, logits + head, first, vectors);
        more =
            fn(x, head + (u32)first * V, blockDim.x * V, vectors - (u32)first);
    }
    NO_UNROLL
    for (u32 i = tail + threadIdx.x; more && i < n; i += blockDim.x) {
        const Pack<T, 1> x[1] = {{logits[i]}};

        more = fn(x, i, 0, 1);
    }
}

/* fn(logit, its number) for this thread's part of n logits, in their order */
template <typename T, class Fn>
DEV void each_logit(const T *logits, u32 n, Fn fn)
{
    constexpr u32 V = vector_length<T>;
    const logit_parts<T> parts(logits, n);
    const u32 head = parts.head, vectors = parts.vectors, tail = parts.tail;

    if (threadIdx.x < head)
        fn(convert<f32>(logits[threadIdx.x]), threadIdx.x);
    NO_UNROLL
    for (u64 first = threadIdx.x; first < vectors;
         first += (u64)logit_batch * blockDim.x) {
        Pack<T, V> x[logit_batch];

        load_batch<T>(x, logits + head, first, vectors);
        UNROLL
        for (u32 j = 0; j < logit_batch; j++) {
            const u64 at = first + j * blockDim.x;

            if (at < vectors) {
                UNROLL
                for (u32 i = 0; i < V; i++)
                    fn(convert<f32>(x[j][i]), head + (u32)at * V + i);
            }
        }
    }
    NO_UNROLL
    for (u32 i = tail + threadIdx.x; i < n; i += blockDim.x)
        fn(convert<f32>(logits[i]), i);
}

#if KPK_NVIDIA
/* the greatest of what is there of a batch, NaN only where all are */
template <typename T, u32 V, u32 m>
DEV f32 greatest_of(const Pack<T, V> (&x)[m], u32 left)
{
    if constexpr (sizeof(T) == 2 && V > 1) {
        typedef Pack<u32, V / 2> Words;
        u32 most = bits_as<Words>(x[0])[0];

        UNROLL
        for (u32 j = 0; j < m; j++) {
            const Words words = bits_as<Words>(x[j]);
            u32 greater = most;

            UNROLL
            for (u32 i = 0; i < V / 2; i++)
                greater = greater_pair<T>(greater, words[i]);
            most = j * blockDim.x < left ? greater : most;
        }
        const Pack<T, 2> both = bits_as<Pack<T, 2>>(most);

        return fmaxf(convert<f32>(both[0]), convert<f32>(both[1]));
    } else {
        f32 most = convert<f32>(x[0][0]);

        UNROLL
        for (u32 j = 0; j < m; j++) {
            f32 greater = most;

            UNROLL
            for (u32 i = 0; i < V; i++)
                greater = fmaxf(greater, convert<f32>(x[j][i]));
            most = j * blockDim.x < left ? greater : most;
        }
        return most;
    }
}

/* This thread's greatest logit, or -infinity, and its batch: 0 for what is no
 * whole vector */
template <typename T>
DEV f32 greatest_of_thread(const T *logits, u32 n, u32 &batch)
{
    f32 most = -infinity<f32>();
    u32 number = 0;

    batch = 0;
    each_batch<quick_batch>(logits, n,
                            [&](const auto &x, u32, u32 step, u32 left) {
                                const f32 greatest = greatest_of(x, left);

                                number += step > 0;
                                if (greatest > most) {
                                    most = greatest;
                                    batch = step > 0 ? number : 0;
                                }
                                return true;
                            });
    return most;
}

/* where this thread's greatest logit is, the first one */
template <typename T>
DEV u32 place_in_batch(const T *logits, u32 n, f32 most, u32 batch)
{
    constexpr u32 V = vector_length<T>;
    const logit_parts<T> parts(logits, n);
    u32 place = n;

    if (batch > 0) {
        const u64 first =
            threadIdx.x + (u64)(batch - 1) * quick_batch * blockDim.x;
        Pack<T, V> x[quick_batch];

        load_batch<T>(x, logits + parts.head, first, parts.vectors);
        UNROLL
        for (u32 j = quick_batch; j-- > 0;)
            UNROLL
        for (u32 i = V; i-- > 0;)
            if (first + j * blockDim.x < parts.vectors &&
                convert<f32>(x[j][i]) == most)
                place = parts.head + ((u32)first + j * (u32)blockDim.x) * V + i;
        return place;
    }
    if (threadIdx.x < parts.head && convert<f32>(logits[threadIdx.x]) == most)
        return threadIdx.x;
    for (u32 i = parts.tail + threadIdx.x; i < n && place == n; i += blockDim.x)
        if (convert<f32>(logits[i]) == most)
            place = i;
    return place;
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
#endif

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

template <typename T> struct sampler {
    const T *logits;
    u32 n;
    f32 top, per_bit; /* the greatest logit; 1 / (temperature ln 2) */
    f32 per_halving;  /* first bins */
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
    /* fn(key, halvings) for this thread's part of the tokens to be drawn */
    template <class Fn> DEV_MEMBER void each_key(Fn fn) const
    {
        if (listed) {
            for (u32 i = threadIdx.x; i < *length; i += blockDim.x)
                fn(listed[i],
                   halvings(number_of_ordered((u32)(listed[i] >> 32))));
        } else {
            each_logit(logits, n, [&](f32 x, u32 i) {
                const f32 h = halvings(x);

                if (h < most_halvings)
                    fn(place_key(ordered_bits(x), i), h);
            });
        }
    }
    /*
     * Lists the keys of near tokens, or so many that they do not fit. Returns
     * this thread's part of what the others have: their weights, or how many
     * have one.
     */
    template <bool weighed> DEV_MEMBER u64 list_near() const
    {
        u64 far = 0;

        each_batch<logit_batch>(
            logits, n, [&](const auto &x, u32 first, u32 step, u32 left) {
                constexpr u32 m = sizeof(x) / sizeof(x[0]);
                constexpr u32 V = sizeof(x[0]) / sizeof(T);
                u32 near = 0; /* a bit a logit: few have one */

                UNROLL
                for (u32 j = 0; j < m; j++) {
                    u32 sum = 0, found = 0;

                    UNROLL
                    for (u32 i = 0; i < V; i++) {
                        const f32 h = halvings(convert<f32>(x[j][i]));
                        const bool is_near = h < near_halvings;

                        found |= is_near ? 1u << i : 0;
                        if constexpr (weighed)
                            sum += light_weight(is_near ? most_halvings + 1.0f
                                                        : h);
                        else
                            sum += !is_near && h < most_halvings;
                    }
                    if (j * blockDim.x < left) {
                        far += sum;
                        near |= found << j * V;
                    }
                }
                if (near != 0) {
                    u32 at = atomicAdd(length, (u32)__popc(near));

                    for (; near != 0 && at < most_listed; near &= near - 1) {
                        const u32 bit = log2_of(near & (0u - near));
                        const u32 i = first + bit / V * step + bit % V;

                        list[at++] =
                            place_key(ordered_bits(convert<f32>(logits[i])), i);
                    }
                }
                return *(volatile u32 *)length <= most_listed;
            });
        return far;
    }
    /* the list of n in order, greatest first, by Batcher's bitonic sort */
#if KPK_NVIDIA
    DEV_MEMBER void sort_list(u32 n) const
    {
        const u32 all = max_of(power_of_two_at_least(n), 32u);

        for (u32 i = n + threadIdx.x; i < all; i += blockDim.x)
            list[i] = 0;
        __syncthreads();
        sort_32s<2>(all, 0);
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
            sort_32s<32>(all, size);
        }
    }
    /* The steps within 32 neighbours, by exchanges between lanes: of sizes
     * from `first` to 32, or of the last five of `size`. */
    template <u32 first> DEV_MEMBER void sort_32s(u32 all, u32 size) const
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
#else
    DEV_MEMBER void sort_list(u32 n) const
    {
        const u32 all = power_of_two_at_least(n);

        for (u32 i = n + threadIdx.x; i < all; i += blockDim.x)
            list[i] = 0;
        __syncthreads();
        NO_UNROLL
        for (u32 size = 2; size <= all; size *= 2) {
            NO_UNROLL
            for (u32 far = size / 2; far > 0; far /= 2) {
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
        }
    }
#endif
    /* sums[i]: the weight of the list up to its i-th key */
    DEV_MEMBER void sum_list(u64 *sums, u32 n) const
    {
        const u32 each = div_up(n, (u32)blockDim.x);
        const u32 first = threadIdx.x * each, end = min_of(first + each, n);
        const u32 lane = threadIdx.x % 32, group = threadIdx.x / 32;
        u64 own = 0;

        for (u32 i = first; i < end; i++)
            own += weight(list[i]);
        u64 up_to = own;

        UNROLL
        for (u32 delta = 1; delta < 32; delta *= 2) {
            const u64 more = shfl_up(up_to, delta);

            if (lane >= delta)
                up_to += more;
        }
        if (lane == 31)
            totals[group].a = up_to;
        __syncthreads();
        u64 sum = join_lanes(lane < group ? totals[lane].a : (u64)0, plus());

        sum += up_to - own;
        for (u32 i = first; i < end; i++) {
            sum += weight(list[i]);
            sums[i] = sum;
        }
        __syncthreads();
    }
    /* the key of n at which the running weight passes `target`; n if none */
    static DEV_MEMBER u32 place_of(u64 target, const u64 *sums, u32 n)
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
     * The key drawn from the list, or 0: tokens behind it take part. `others`:
     * their weight, or with k their number.
     */
    DEV_MEMBER u64 draw_listed(u64 others, u32 k, f32 p, u64 random_seed,
                               u64 offset) const
    {
        const u32 n_listed = uniform(*length);

        sort_list(n_listed);
        sum_list(sums, n_listed);

        const u64 kept = min_of((u64)k, n_listed + others);

        if (kept > n_listed)
            return 0;
        u64 all = k > 0 ? sums[kept - 1] : sums[n_listed - 1] + others;

        if (p < 1) {
            const u32 last = place_of(part_of(p, all) - 1, sums, n_listed);

            if (last == n_listed)
                return 0;
            all = sums[last];
        }
        const u32 place =
            place_of(drawn_below(all, random_seed, offset), sums, n_listed);

        return place < n_listed ? list[place] : 0;
    }
    /* greater for greater keys */
    DEV_MEMBER u32 first_bin(f32 h) const
    {
        return bins - 1 - (u32)min_of(h * per_halving, (f32)(bins - 1));
    }
    DEV_MEMBER void clear_bins() const
    {
        for (u32 b = threadIdx.x; b < bins; b += blockDim.x) {
            sums[b] = 0;
            counts[b] = 0;
        }
        __syncthreads();
    }
#if KPK_NVIDIA
    /* Adding 64 bits in LDS would be a loop. The lower halves of sums lie side
     * by side, the upper ones behind them: in all banks. */
    DEV_MEMBER void add_weight(u32 b, u32 w) const
    {
        u32 *const half = reinterpret_cast<u32 *>(sums) + b;
        const u32 before = atomicAdd(half, w);

        if (before + w < before)
            atomicAdd(half + bins, 1u);
    }
#endif
    DEV_MEMBER u64 sum_of(u32 b) const
    {
#if KPK_NVIDIA
        const u32 *const half = reinterpret_cast<const u32 *>(sums) + b;

        return (u64)half[bins] << 32 | half[0];
#else
        return sums[b];
#endif
    }
    DEV_MEMBER void put(u32 b, u64 key, bool weighed) const
    {
        atomicAdd(&counts[b], 1u);
        if (!weighed)
            return;
#if KPK_NVIDIA
        add_weight(b, (u32)weight(key));
#else
        atomicAdd(&sums[b], weight(key));
#endif
    }
    /* all keys, by their distances from the greatest */
    DEV_MEMBER void fill_first(bool weighed) const
    {
        clear_bins();
        each_key([&](u64 k, f32 h) { put(first_bin(h), k, weighed); });
        __syncthreads();
    }
    /* those of first bin `first` that begin with `prefix`, by their next bits
     */
    DEV_MEMBER void fill_next(u32 first, u32 left, u32 taken, u64 prefix,
                              bool weighed) const
    {
        clear_bins();
        each_key([&](u64 k, f32 h) {
            if (first_bin(h) == first && begins(k, left, prefix))
                put((u32)(k >> (left - taken)) & ((1u << taken) - 1), k,
                    weighed);
        });
        __syncthreads();
    }
    static DEV_MEMBER bool begins(u64 k, u32 left, u64 prefix)
    {
        return left == 64 || k >> left == prefix;
    }
    /* of a lane's first or second bin of a segment, the last bin first */
    DEV_MEMBER two<u64> value(u32 segment, u32 which) const
    {
        const u32 b =
            bins - 1 - (segment * segment_bins + 2 * (lane_id() % 32) + which);

        return {sum_of(b), counts[b]};
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
     * key first, and the weight in front of it, unless by count. Lists the keys
     * up to it as soon as there is room for them: nobody looks behind it any
     * more. unfilled: 0 if the first bins are filled. What decides about
     * barriers is in scalar registers, not in lane masks, which clang 22 got
     * wrong on gfx942.
     */
    DEV_MEMBER u64 find(u64 target, bool by_count, u32 unfilled, u64 &before)
    {
        u64 prefix = 0;
        u32 left = 64, first = 0, count;
        two<u64> passed = {0, 0};
        u32 fresh = 1;

        do {
            const u32 taken = min_of(left, log_bins);

            if (uniform(fresh)) {
                if (uniform(unfilled))
                    fill_first(!by_count);
                unfilled = 1;
            } else {
                fill_next(first, left, taken, prefix, !by_count);
            }
            find_bin(target - (by_count ? passed.b : passed.a), by_count);
            passed = plus()(passed, found->before);
            count = uniform(found->count);
            if (uniform(fresh)) {
                first = found->bin;
            } else {
                prefix = (left == 64 ? 0 : prefix << taken) | found->bin;
                left -= taken;
            }
            fresh = 0;
            __syncthreads();
            if (!listed && uniform(passed.b + count <= most_listed)) {
                /* once more, from the start, in the list alone */
                gather(first, left, prefix);
                prefix = 0, left = 64, fresh = 1, count = 2;
                passed = {0, 0};
            }
        } while (left > 0 && count > 1);
        before = passed.a;
        if (left == 0)
            return prefix;
        /* the only one that begins so */
        each_key([&](u64 k, f32 h) {
            if (first_bin(h) == first && begins(k, left, prefix))
                totals[0].a = k;
        });
        __syncthreads();
        const u64 k = totals[0].a;

        __syncthreads();
        return k;
    }
    /* lists the keys from `first` and `prefix` on, at most most_listed */
    DEV_MEMBER void gather(u32 first, u32 left, u64 prefix)
    {
        if (threadIdx.x == 0)
            *length = 0;
        __syncthreads();
        each_key([&](u64 k, f32 h) {
            const u32 b = first_bin(h);

            if (b > first ||
                (b == first && (left == 64 || k >> left >= prefix)))
                list[atomicAdd(length, 1u)] = k;
        });
        __syncthreads();
        listed = list;
        /* so that they fill the bins */
        per_halving *= (f32)bins / (f32)(bins - first);
    }
#if KPK_NVIDIA
    /* whether halvings() of a number is the product alone */
    DEV_MEMBER bool is_plain() const
    {
        return top < infinity<f32>() && per_bit < infinity<f32>();
    }
    DEV_MEMBER f32 plain_halvings(f32 x) const
    {
        return rounded_product(top - x, per_bit);
    }
    /* how far a first bin is from the last one, of h below 32, in the bits of
     * a number: greater for greater h; of a NaN none */
    DEV_MEMBER u32 far_bits(f32 h) const
    {
        return bits_as<u32>(__fmaf_rz(h, per_halving, 0x1p23f));
    }
    static constexpr u32 no_distance = 0x4b000000u; /* bits of 2^23 */

    /* Lists the keys of logits for which may_be_wanted(logit), as few are, and
     * is_wanted(logit), or so many that they are more than `room`. */
    template <class May, class Is>
    DEV_MEMBER void list_where(u32 room, May may_be_wanted, Is is_wanted) const
    {
        each_batch<quick_batch>(
            logits, n, [&](const auto &x, u32 first, u32 step, u32 left) {
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
                        const f32 logit = convert<f32>(logits[i]);

                        if (is_wanted(logit)) {
                            const u32 place = atomicAdd(length, 1u);

                            if (place < room)
                                list[place] = place_key(ordered_bits(logit), i);
                        }
                    }
                }
                return true;
            });
    }
    /*
     * The weights of all tokens, by first bins; no counts. In two steps, so
     * that additions are under way together, and without jumps: a token is
     * worth 25 instructions.
     */
    DEV_MEMBER void weigh_bins() const
    {
        const u32 first_bin = (u32)__cvta_generic_to_shared(sums) +
                              (bins - 1 + no_distance) * (u32)sizeof(u32);
        /* what is not drawn goes to the list, a bank a lane */
        const u32 aside = (u32)__cvta_generic_to_shared(list) +
                          threadIdx.x % 32 * (u32)sizeof(u32);

        clear_bins();
        each_batch<logit_batch>(
            logits, n, [&](const auto &x, u32, u32, u32 left) {
                constexpr u32 m = sizeof(x) / sizeof(x[0]);
                constexpr u32 V = sizeof(x[0]) / sizeof(T);

                UNROLL
                for (u32 j = 0; j < m; j++) {
                    const f32 most =
                        j * blockDim.x < left ? most_halvings : 0.0f;
                    u32 at[V], weight[V], before[V];

                    UNROLL
                    for (u32 i = 0; i < V; i++) {
                        const f32 h = plain_halvings(convert<f32>(x[j][i]));

                        weight[i] = weight_halved(h);
                        at[i] = first_bin - far_bits(h) * (u32)sizeof(u32);
                        asm("{.reg .pred p;\n\t"
                            "setp.lt.f32 p, %1, %2;\n\t"
                            "selp.b32 %0, %0, %3, p;}"
                            : "+r"(at[i])
                            : "f"(h), "f"(most), "r"(aside));
                        asm volatile("atom.shared.add.u32 %0, [%1], %2;"
                                     : "=r"(before[i])
                                     : "r"(at[i]), "r"(weight[i])
                                     : "memory");
                    }
                    UNROLL
                    for (u32 i = 0; i < V; i++)
                        if (before[i] + weight[i] < before[i])
                            asm volatile(
                                "red.shared.add.u32 [%0 + %1], 1;" ::"r"(at[i]),
                                "n"(bins * sizeof(u32))
                                : "memory");
                }
                return true;
            });
        __syncthreads();
    }
    /* lists the keys of a first bin, or so many that they do not fit into half
     * of the list; how many there are */
    DEV_MEMBER u32 list_bin(u32 bin) const
    {
        const u32 distance = no_distance + (bins - 1 - bin);

        if (threadIdx.x == 0)
            *length = 0;
        __syncthreads();
        each_logit(logits, n, [&](f32 x, u32 i) {
            if (far_bits(plain_halvings(x)) == distance) {
                const u32 at = atomicAdd(length, 1u);

                if (at < most_listed / 2)
                    list[at] = place_key(ordered_bits(x), i);
            }
        });
        __syncthreads();
        return uniform(*length);
    }
    /*
     * The key at which the running weight passes `target`, and the weight in
     * front of it, by bins that are weighed and stay so: the keys of one bin
     * are put in order. False if they are too many.
     */
    DEV_MEMBER bool find_weighed(u64 target, u64 &key, u64 &before) const
    {
        u64 *const list_sums = list + most_listed / 2;

        find_bin(target, false);
        const u64 in_front = found->before.a;
        const u32 n_listed = list_bin(found->bin);

        if (n_listed > most_listed / 2)
            return false;
        sort_list(n_listed);
        sum_list(list_sums, n_listed);

        const u32 place = place_of(target - in_front, list_sums, n_listed);

        key = list[place];
        before = in_front + (place > 0 ? list_sums[place - 1] : 0);
        __syncthreads(); /* all have read the list */
        return true;
    }
    /*
     * The key drawn from the first k, or 0: too many are not below what k
     * threads have reached. A thread's greatest logit is `own`.
     */
    DEV_MEMBER u64 draw_first(f32 own, u32 k, f32 p, u64 random_seed,
                              u64 offset) const
    {
        const f32 least = reached_by_threads(own, k);

        list_where(
            most_listed, [&](f32 x) { return x >= least; },
            [&](f32 x) { return halvings(x) < most_halvings; });
        __syncthreads();
        return uniform(*length) <= most_listed
                   ? draw_listed(0, k, p, random_seed, offset)
                   : 0;
    }
    /* The key drawn from all tokens, or 0: a bin has too many. Three passes
     * over the logits, or four with p < 1. */
    DEV_MEMBER u64 draw_weighed(f32 p, u64 random_seed, u64 offset) const
    {
        u64 key = 0, before;

        weigh_bins();
        u64 all = find_bin(0, false).a;

        if (p < 1) {
            if (!find_weighed(part_of(p, all) - 1, key, before))
                return 0;
            all = before + weight(key);
        }
        return find_weighed(drawn_below(all, random_seed, offset), key, before)
                   ? key
                   : 0;
    }
#endif
    /* this thread's part of the weight of keys from `least` on */
    DEV_MEMBER u64 weight_from(u64 least) const
    {
        u64 sum = 0;

        each_key([&](u64 k, f32) { sum += k >= least ? weight(k) : 0; });
        return sum;
    }
};

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

    if (blockIdx.x > 0)
        return;
#if KPK_NVIDIA
    u32 batch;
    const f32 most = greatest_of_thread(logits, n, batch);
    u64 first = team_reduce(
        t, weights, 0,
        most > -infinity<f32>() ? (u64)ordered_bits(most) << 32 : (u64)0,
        larger());

    if (!(temperature > 0) && first != 0) { /* its place, too */
        if (threadIdx.x == 0)
            length = n;
        __syncthreads();
        if ((u64)ordered_bits(most) << 32 == first)
            atomicMin(&length, place_in_batch(logits, n, most, batch));
        __syncthreads();
        first |= (u32)~length;
    }
#else
    f32 most = -infinity<f32>();
    u32 place = 0;

    each_logit(logits, n, [&](f32 x, u32 i) {
        place = x > most ? i : place;
        most = x > most ? x : most;
    });
    /* of the greatest; 0 of none */
    const u64 first = team_reduce(
        t, weights, 0,
        most > -infinity<f32>() ? place_key(ordered_bits(most), place) : (u64)0,
        larger());
#endif

    if (!(temperature > 0) || first == 0) {
        if (threadIdx.x == 0)
            *token = ~(u32)first;
        return;
    }
    sampler<T> s = {logits,
                    n,
                    number_of_ordered((u32)(first >> 32)),
                    1.44269504f / temperature,
                    (f32)bins / most_halvings,
                    sums,
                    counts,
                    list,
                    totals,
                    &found,
                    &length,
                    nullptr};

    /* AMD's GPUs would run short of scalar registers */
    if constexpr (KPK_NVIDIA) {
        if (k > 0 && k <= blockDim.x / 2) {
            if (threadIdx.x == 0)
                length = 0;
            const u64 drawn = s.draw_first(most, k, p, seed, offset);

            if (uniform(drawn != 0)) {
                if (threadIdx.x == 0)
                    *token = ~(u32)drawn;
                return;
            }
            __syncthreads(); /* all have read length and sums */
        }
        if (k > 0 || p < 1) {
            if (threadIdx.x == 0)
                length = 0;
            __syncthreads();
            const u64 far = k == 0 ? s.template list_near<true>()
                                   : s.template list_near<false>();

            __syncthreads();
            if (uniform(length) <= most_listed) {
                const u64 others = team_reduce(t, weights, 0, far, plus());

                __syncthreads();
                const u64 drawn = s.draw_listed(others, k, p, seed, offset);

                if (uniform(drawn != 0)) {
                    if (threadIdx.x == 0)
                        *token = ~(u32)drawn;
                    return;
                }
                __syncthreads(); /* all have read sums */
            }
        }
        if (k == 0 && s.is_plain()) {
            const u64 drawn = s.draw_weighed(p, seed, offset);

            if (uniform(drawn != 0)) {
                if (threadIdx.x == 0)
                    *token = ~(u32)drawn;
                return;
            }
        }
    }
    s.fill_first(k == 0);
    const two<u64> sum = s.find_bin(0, true); /* of tokens with a weight */
    const u64 kept = k > 0 ? min_of((u64)k, sum.b) : 0;
    u64 all = sum.a;

    u64 key = 0;
    u32 unfilled = 0;

    /* where top-k ends, where top-p ends, what is drawn */
    NO_UNROLL
    for (u32 step = kept > 0 ? 0 : 1; step < 3; step++) {
        u64 before;

        if (step == 1 && !(p < 1))
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
