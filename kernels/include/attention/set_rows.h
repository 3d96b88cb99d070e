/*
 * set_rows.h - rows of numbers into a cache of keys or values
 */
#pragma once

#include "attention/kv_formats.h"
#include "early.h"

/*
 * dst   the cache: rows of `cols` elements, for each head
 * ids   [n]: the row of dst for each row of src; rows that do not exist, from
 *       dst_rows on or below 0, are left out
 */
template <typename T> struct SetRows {
    const T *src;
    const i64 *ids;
    u8 *dst;
    u64 n, dst_rows;
    u32 heads, cols;
    i64 src_row, src_head, dst_row, dst_head; /* elements */
};

/* fn(from, to, col0) for 32 elements of a head's row; a group of 32 threads */
template <class Format, typename T, class Fn>
DEV void each_group(const SetRows<T> &s, Fn fn)
{
    const u32 across = div_up(s.cols, 32u);
    const u64 groups = s.n * s.heads * across;

    meet_launches();
    NO_UNROLL
    for (u64 g = global_thread() / 32; g < groups; g += global_threads() / 32) {
        const u32 col0 = (u32)(g % across) * 32;
        const u64 row = g / across / s.heads, head = g / across % s.heads;
        const i64 id = s.ids[row];

        if ((u64)id >= s.dst_rows)
            continue;
        fn(s.src + ((i64)row * s.src_row + (i64)head * s.src_head + col0),
           s.dst + (id * (s.dst_row / Format::block_elems) +
                    (i64)head * (s.dst_head / Format::block_elems) +
                    col0 / Format::block_elems) *
                       Format::block_nbytes,
           col0);
    }
}

template <typename To> struct PlainRows {
    template <typename T> static DEV_MEMBER void set(const SetRows<T> &s)
    {
        each_group<PlainFormat<To>>(s, [&](const T *from, u8 *to, u32 col0) {
            const u32 e = lane_id() % 32;

            if (col0 + e < s.cols)
                ((To *)to)[e] = convert<To>(from[e]);
        });
    }
};

/* x, the element with the largest magnitude, of equal ones the first */
DEV f32 largest_of(f32 x)
{
    const f32 top = join_lanes(
        __builtin_fabsf(x), [](f32 a, f32 b) { return __builtin_fmaxf(a, b); });
    const u32 lane = __builtin_fabsf(x) == top ? lane_id() % 32 : 31;

    return shfl(x, join_lanes(lane, [](u32 a, u32 b) { return min_of(a, b); }));
}

/* Blocks of 32 as ggml quantizes them; elements behind the end are zeros. */
struct Q8_0Rows {
    template <typename T> static DEV_MEMBER void set(const SetRows<T> &s)
    {
        each_group<Q8_0Format>(s, [&](const T *from, u8 *to, u32 col0) {
            const u32 e = lane_id() % 32;
            const f32 x = col0 + e < s.cols ? (f32)from[e] : 0.0f;
            const f32 scale = __builtin_fabsf(largest_of(x)) / 127;
            const f32 inverse = scale != 0 ? 1 / scale : 0;

            to[2 + e] = (u8)(i8)(i32)roundf(x * inverse);
            if (e < 2)
                to[e] = (u8)(float_to_half(scale) >> 8 * e);
        });
    }
};
struct Q4_0Rows {
    template <typename T> static DEV_MEMBER void set(const SetRows<T> &s)
    {
        each_group<Q4_0Format>(s, [&](const T *from, u8 *to, u32 col0) {
            const u32 e = lane_id() % 32;
            const f32 x = col0 + e < s.cols ? (f32)from[e] : 0.0f;
            const f32 scale = largest_of(x) / -8;
            const f32 inverse = scale != 0 ? 1 / scale : 0;
            const u32 q =
                (u32)min_of((i32)(rounded_product(x, inverse) + 8.5f), 15);
            const u32 upper = lane_xor<16>(q);

            if (e < 16)
                to[2 + e] = (u8)(q | upper << 4);
            if (e < 2)
                to[e] = (u8)(float_to_half(scale) >> 8 * e);
        });
    }
};
