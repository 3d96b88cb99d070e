/*
 * batches.h - reads a row of logits in batches, finds each thread's greatest
 * logit, and weighs tokens by integers
 */
#pragma once

#include "fused/sample/logits.h"
#include "fused/sample/weight.h"

/* vectors in flight, for loops with little work per vector */
constexpr u32 quick_batch = 8;

/*
 * Calls fn(vectors, first, step, left) for this thread's part of n logits, in
 * order, until fn returns false. Vectors hold 1 logit, or 16 bytes of logits
 * side by side. Logit i of vector j has number first + j * step + i. Vector j
 * exists only if j * blockDim.x is below `left`.
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

/* the greatest logit in the existing vectors of a batch; NaN only if all are */
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

/* This thread's greatest logit, or -infinity. `batch` becomes the number of the
 * logit's batch from 1 on, or 0 if the logit is outside of whole vectors. */
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

/* the number of this thread's first greatest logit */
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

/* ---- weights of fused/sample/weight.h, in fewer instructions ----
 *
 * Conversions to integers are slow; adding 2^23 is fast.
 */

/* 2^(31 - h) as an integer weight, for h from 0 to 32. power_of_half() gives a
 * number from 1/2 up and below 1 (tried for every f): the mantissa is
 * shifted. */
DEV u32 weight_halved(f32 h)
{
    const f32 moved = __fadd_rz(h, 0x1p23f);
    /* 1/2 minus the fraction of h, with one rounding */
    const f32 rest = (moved - (0x1p23f - 0.5f)) - h;
    const u32 bits = bits_as<u32>(power_of_half_less(rest));

    return __funnelshift_r((bits - 0x3e800000u) << 7, 0, bits_as<u32>(moved));
}

/* 2^(31 - w) for the whole part w of h, and the rest of h */
DEV f32 whole_halvings(f32 h, f32 &rest)
{
    const f32 moved = __fadd_rz(h, 0x1p23f);
    const u32 whole = bits_as<u32>(moved);

    rest = h - (moved - 0x1p23f);
    return bits_as<f32>((158 - whole) << 23);
}

/* The weight that weight_halved() gives, for any h from 12 on; 0 for NaN */
DEV u32 light_weight(f32 h)
{
    f32 rest;
    const f32 scale = whole_halvings(fminf(h, most_halvings + 1.0f), rest);
    const f32 w = power_of_half(rest) * scale;

    return bits_as<u32>(__fadd_rz(w, 0x1p23f)) - 0x4b000000u;
}
