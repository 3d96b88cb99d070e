/*
 * rope.h - rotary position embedding: pairs (a, e) turned by table angles
 *
 * src, dst  `elements` of T, distinct
 * cos, sin  [t', d / 2], or [b, t, d / 2] with stride_b = elements a batch
 * One thread a pair: a' = a * c - e * z, e' = a * z + e * c, computed in f32
 * (f64 for f64) and rounded once. rope_i pairs neighbours, rope and rope_thd
 * the halves of a row of d.
 */
#pragma once

#include "division.h"

template <typename T>
DEV void turn_pair(const T *RESTRICT src, const T *RESTRICT cos,
                   const T *RESTRICT sin, T *RESTRICT dst, u64 first,
                   u64 second, u64 entry)
{
    using A = calc_t<T>;
    const A a = convert<A>(src[first]), e = convert<A>(src[second]);
    const A c = convert<A>(cos[entry]), z = convert<A>(sin[entry]);

    dst[first] = convert<T>(a * c - e * z);
    dst[second] = convert<T>(a * z + e * c);
}

/* where the tables of the pair's batch begin; `entries` in each */
DEV u64 batch_table(u64 pair, u32 stride_b, u64 entries)
{
    return stride_b > 0 ? divide(2 * pair, stride_b) * entries : 0;
}

/* x [b * h, t, d] */
template <typename T>
DEV void rope_interleaved(const T *src, const T *cos, const T *sin, T *dst,
                          u32 bh, u32 td, u32 stride_b)
{
    const u64 entries = td / 2, pair = global_thread();

    if (pair >= (u64)bh * td / 2)
        return;
    const u64 entry = pair - divide(pair, entries) * entries;

    turn_pair(src, cos, sin, dst, 2 * pair, 2 * pair + 1,
              entry + batch_table(pair, stride_b, entries));
}

/* rows of d, `heads` consecutive ones at one of t positions */
template <typename T>
DEV void rope_rows(const T *src, const T *cos, const T *sin, T *dst, u64 pairs,
                   u32 t, u32 heads, u32 d, u32 stride_b)
{
    const u32 half = d / 2;
    const u64 pair = global_thread();

    if (pair >= pairs || half == 0)
        return;
    const u64 row = divide(pair, half);
    const u64 j = pair - row * half;
    const u64 position = divide(row, heads);
    const u64 entry = (position - divide(position, t) * t) * half + j;
    const u64 first = row * d + j;

    turn_pair(src, cos, sin, dst, first, first + half,
              entry + batch_table(pair, stride_b, (u64)t * half));
}

/* x [b * h, t, d] */
template <typename T>
DEV void rope_halves(const T *src, const T *cos, const T *sin, T *dst, u32 bh,
                     u32 td, u32 d, u32 stride_b)
{
    rope_rows(src, cos, sin, dst, (u64)bh * td / 2, d > 0 ? td / d : 0, 1, d,
              stride_b);
}

/* x [b, t, h, d] */
template <typename T>
DEV void rope_heads(const T *src, const T *cos, const T *sin, T *dst, u32 b,
                    u32 t, u32 h, u32 d, u32 stride_b)
{
    rope_rows(src, cos, sin, dst, (u64)b * t * h * d / 2, t, h, d, stride_b);
}
