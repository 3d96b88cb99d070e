/*
 * logits.h - a block reads a row of logits
 *
 * A thread's part of the row is every blockDim.x-th vector of 16 bytes; a
 * thread reads logits in front of the first aligned vector, and behind the
 * last, one by one.
 */
#pragma once

#include "fused/argmax.h"

/* vectors that a thread has on their way, because no other block could fill the
 * wait; 32 logits in loops with little work per vector */
constexpr u32 logit_batch = 4;
template <typename T>
constexpr u32 quick_batch = KPK_NVIDIA ? 32 / vector_length<T> : 4;

/*
 * Calls fn(vectors, first, step, left) for this thread's part of n logits, in
 * order, until fn returns false. Vectors hold 1 logit, or 16 bytes of logits
 * side by side. Logit i of vector j has number first + j * step + i. Vector j
 * exists only if j * step is below `left`.
 */
template <u32 most, typename T, class Fn>
DEV void each_batch(const T *logits, u32 count, Fn fn)
{
    constexpr u32 V = vector_length<T>;
    const u32 n = uniform_here(count);
    const u32 threads = uniform_here((u32)blockDim.x);
    const u32 thread = lane_here(threadIdx.x);
    const u32 head = min_of((0u - (u32)((u64)logits / sizeof(T))) % V, n);
    const u32 vectors = (n - head) / V;
    const u32 tail = head + vectors * V + thread;
    bool more = true;

    if (thread < head) {
        const Pack<T, 1> x[1] = {{logits[thread]}};

        more = fn(x, thread, 0, 1);
    }
    NO_UNROLL
    for (u64 first = thread; more && first < vectors;
         first += (u64)most * threads) {
        Pack<T, V> x[most];

        UNROLL
        for (u32 j = 0; j < most; j++)
            x[j] =
                load_pack<V>(logits + head +
                             min_of(first + j * threads, (u64)vectors - 1) * V);
        more = fn(x, head + (u32)first * V, threads * V,
                  (vectors - (u32)first) * V);
    }
    if (more && tail < n) {
        const Pack<T, 1> x[1] = {{logits[tail]}};

        fn(x, tail, 0, 1);
    }
}

/* the greatest logit of a vector; NaN only if all are */
template <typename T, u32 V> DEV f32 greatest_of(const Pack<T, V> &x)
{
#if KPK_NVIDIA
    if constexpr (sizeof(T) == 2 && V > 1) {
        const Pack<u32, V / 2> pairs = bits_as<Pack<u32, V / 2>>(x);
        u32 greatest = pairs[0];

        UNROLL
        for (u32 i = 1; i < V / 2; i++)
            greatest = greater_pair<T>(greatest, pairs[i]);
        const Pack<T, 2> both = bits_as<Pack<T, 2>>(greatest);

        return fmaxf(convert<f32>(both[0]), convert<f32>(both[1]));
    }
#endif
    f32 greatest = convert<f32>(x[0]);

    UNROLL
    for (u32 i = 1; i < V; i++)
        greatest = fmaxf(greatest, convert<f32>(x[i]));
    return greatest;
}

/* This thread's greatest logit, or -infinity. place: the number of the first
 * logit in the first vector that has it. */
template <typename T>
DEV f32 greatest_of_thread(const T *logits, u32 n, u32 &place)
{
    f32 most = -infinity<f32>();

    place = 0;
    each_batch<quick_batch<T>>(
        logits, n, [&](const auto &x, u32 first, u32 step, u32 left) {
            constexpr u32 m = sizeof(x) / sizeof(x[0]);
            f32 each[m], greatest = -infinity<f32>();

            UNROLL
            for (u32 j = 0; j < m; j++) {
                each[j] = j * step < left ? greatest_of(x[j]) : greatest;
                greatest = fmaxf(greatest, each[j]);
            }
            if (greatest > most) { /* seldom */
                most = greatest;
                UNROLL
                for (u32 j = m; j-- > 0;)
                    place = each[j] == greatest ? first + j * step : place;
            }
            return true;
        });
    return most;
}
