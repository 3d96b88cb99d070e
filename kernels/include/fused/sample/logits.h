/*
 * logits.h - a block reads a row of logits
 *
 * A thread's part of the row is every blockDim.x-th vector of 16 bytes; a
 * thread reads logits in front of the first aligned vector, and behind the
 * last, one by one.
 */
#pragma once

#include "fused/argmax.h"

/* vectors that a thread has on their way: no other block could fill the wait */
constexpr u32 logit_batch = 4;

/* n logits: `head` in front of 16 aligned bytes, vectors of 16 bytes, and the
 * logits from `tail` on. */
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
