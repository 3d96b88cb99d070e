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

/* a token that has its weight halved as often is never drawn */
constexpr u32 most_halvings = 32;

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

/* vectors that a thread has on their way; one block has no others to wait for
 */
constexpr u32 logit_batch = 4;
/* the same where little is done with each */
constexpr u32 quick_batch = KPK_NVIDIA ? 8 : logit_batch;

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

constexpr u32 log_bins = 11, bins = 1u << log_bins;
constexpr u32 most_listed = 2048;
constexpr u32 bin_segments = 32, segment_bins = bins / bin_segments;

/* where a search in bins has come to */
struct found_bin {
    two<u64> before; /* weighed and counted, in front of the bin */
    u32 bin, count;
};

/*
 * A row and what its block knows of it. A token's key is its logit, as bits in
 * the order of numbers, above the complement of its number: place_key().
 */
template <typename T> struct sampler {
    const T *logits;
    u32 n;
    f32 top, per_bit; /* the greatest logit; 1 / (temperature ln 2) */
    f32 per_halving;  /* first bins */
    /* in LDS */
    u64 *sums;        /* [bins], or of the list up to a key */
    u32 *counts;      /* [bins] */
    u64 *list;        /* [most_listed] keys */
    two<u64> *totals; /* of segments of bins */
    found_bin *found;
    u32 *length;       /* of the list, or what it would be */
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
#endif
};

/* this thread's part of the weight of keys from `least` on */
template <typename T> DEV u64 weight_from(const sampler<T> &s, u64 least)
{
    u64 sum = 0;

    s.each_key([&](u64 k, f32) { sum += k >= least ? s.weight(k) : 0; });
    return sum;
}

/* tokens with fewer are listed at once, if that is possible */
constexpr u32 near_halvings = 12;

/*
 * Lists the keys of near tokens, or so many that they do not fit. Returns this
 * thread's part of what the others have: their weights, or how many have one.
 */
template <bool weighed, typename T> DEV u64 list_near(const sampler<T> &s)
{
    u64 far = 0;

    each_batch<logit_batch>(
        s.logits, s.n, [&](const auto &x, u32 first, u32 step, u32 left) {
            constexpr u32 m = sizeof(x) / sizeof(x[0]);
            constexpr u32 V = sizeof(x[0]) / sizeof(T);
            u32 near = 0; /* a bit a logit: few have one */

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

#if KPK_NVIDIA
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
#else
/* the list of n in order, greatest first, by Batcher's bitonic sort */
DEV void sort_list(u64 *list, u32 n)
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
 * The key drawn from the list, or 0: tokens behind it take part. `others`:
 * their weight, or with k their number.
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

#if KPK_NVIDIA
/* Lists the keys of logits for which may_be_wanted(logit), as few are, and
 * is_wanted(logit), or so many that they are more than `room`. */
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
 * The key drawn from the first k, or 0: too many are not below what k threads
 * have reached. A thread's greatest logit is `own`.
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
#endif

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
/* Adding 64 bits in LDS would be a loop. The lower halves of sums lie side by
 * side, the upper ones behind them: in all banks. */
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

/* those of first bin `first` that begin with `prefix`, by their next bits */
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

/* of a lane's first or second bin of a segment, the last bin first */
template <typename T>
DEV two<u64> value_of_lane(const sampler<T> &s, u32 segment, u32 which)
{
    const u32 b =
        bins - 1 - (segment * segment_bins + 2 * (lane_id() % 32) + which);

    return {sum_of(s, b), s.counts[b]};
}

/*
 * The bin in which the running weight, or count, passes `target`, from the last
 * bin on; none if it never does. Returns both of all.
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
 * unfilled: 0 if the first bins are filled. What decides about barriers is in
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

#if KPK_NVIDIA
/* how far a first bin is from the last one, of h below 32, in the bits of a
 * number: greater for greater h; of a NaN none */
template <typename T> DEV u32 far_bits(const sampler<T> &s, f32 h)
{
    return bits_as<u32>(__fmaf_rz(h, s.per_halving, 0x1p23f));
}

constexpr u32 no_distance = 0x4b000000u; /* bits of 2^23 */

/*
 * The weights of all tokens, by first bins; no counts. In two steps, so that
 * additions are under way together, and without jumps: a token is worth 25
 * instructions.
 */
template <typename T> DEV void weigh_bins(const sampler<T> &s)
{
    const u32 first_bin = (u32)__cvta_generic_to_shared(s.sums) +
                          (bins - 1 + no_distance) * (u32)sizeof(u32);
    /* what is not drawn goes to the list, a bank a lane */
    const u32 aside = (u32)__cvta_generic_to_shared(s.list) +
                      threadIdx.x % 32 * (u32)sizeof(u32);

    clear_bins(s);
    each_batch<logit_batch>(
        s.logits, s.n, [&](const auto &x, u32, u32, u32 left) {
            constexpr u32 m = sizeof(x) / sizeof(x[0]);
            constexpr u32 V = sizeof(x[0]) / sizeof(T);

            UNROLL
            for (u32 j = 0; j < m; j++) {
                const f32 most = j * blockDim.x < left ? most_halvings : 0.0f;
                u32 at[V], weight[V], before[V];

                UNROLL
                for (u32 i = 0; i < V; i++) {
                    const f32 h = s.plain_halvings(convert<f32>(x[j][i]));

                    weight[i] = weight_halved(h);
                    at[i] = first_bin - far_bits(s, h) * (u32)sizeof(u32);
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

/* lists the keys of a first bin, or so many that they do not fit into half of
 * the list; how many there are */
template <typename T> DEV u32 list_bin(const sampler<T> &s, u32 bin)
{
    const u32 distance = no_distance + (bins - 1 - bin);

    if (threadIdx.x == 0)
        *s.length = 0;
    __syncthreads();
    each_logit(s.logits, s.n, [&](f32 x, u32 i) {
        if (far_bits(s, s.plain_halvings(x)) == distance) {
            const u32 at = atomicAdd(s.length, 1u);

            if (at < most_listed / 2)
                s.list[at] = place_key(ordered_bits(x), i);
        }
    });
    __syncthreads();
    return uniform(*s.length);
}

/*
 * The key at which the running weight passes `target`, and the weight in front
 * of it, by bins that are weighed and stay so: the keys of one bin are put in
 * order. False if they are too many.
 */
template <typename T>
DEV bool find_weighed(const sampler<T> &s, u64 target, u64 &key, u64 &before)
{
    u64 *const list_sums = s.list + most_listed / 2;

    find_bin(s, target, false);
    const u64 in_front = s.found->before.a;
    const u32 n_listed = list_bin(s, s.found->bin);

    if (n_listed > most_listed / 2)
        return false;
    sort_list(s.list, n_listed);
    sum_list(s, list_sums, n_listed);

    const u32 place = place_of(target - in_front, list_sums, n_listed);

    key = s.list[place];
    before = in_front + (place > 0 ? list_sums[place - 1] : 0);
    __syncthreads(); /* all have read the list */
    return true;
}

/* The key drawn from all tokens, or 0: a bin has too many. Three passes over
 * the logits, or four with p < 1. */
template <typename T>
DEV u64 draw_weighed(const sampler<T> &s, f32 p, u64 random_seed, u64 offset)
{
    u64 key = 0, before;

    weigh_bins(s);
    u64 all = find_bin(s, 0, false).a;

    if (p < 1) {
        if (!find_weighed(s, part_of(p, all) - 1, key, before))
            return 0;
        all = before + s.weight(key);
    }
    return find_weighed(s, drawn_below(all, random_seed, offset), key, before)
               ? key
               : 0;
}
#endif

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
            const u64 drawn = draw_first(s, most, k, p, seed, offset);

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
            const u64 far = k == 0 ? list_near<true>(s) : list_near<false>(s);

            __syncthreads();
            if (uniform(length) <= most_listed) {
                const u64 others = team_reduce(t, weights, 0, far, plus());

                __syncthreads();
                const u64 drawn = draw_listed(s, others, k, p, seed, offset);

                if (uniform(drawn != 0)) {
                    if (threadIdx.x == 0)
                        *token = ~(u32)drawn;
                    return;
                }
                __syncthreads(); /* all have read sums */
            }
        }
        if (k == 0 && s.is_plain()) {
            const u64 drawn = draw_weighed(s, p, seed, offset);

            if (uniform(drawn != 0)) {
                if (threadIdx.x == 0)
                    *token = ~(u32)drawn;
                return;
            }
        }
    }
    fill_first(s, k == 0);
    const two<u64> sum = find_bin(s, 0, true); /* of tokens with a weight */
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
    if (threadIdx.x == 0)
        *token = ~(u32)key;
}
