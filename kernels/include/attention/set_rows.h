/*
 * set_rows.h - rows of numbers into a cache of keys or values
 */
#pragma once

#include "attention/kv_formats.h"
#include "early.h"
#include "gguf/encode.h"

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

/* Blocks of 32; elements behind the end are zeros. */
template <class Format, class Encoder> struct BlockRows {
    template <typename T> static DEV_MEMBER void set(const SetRows<T> &s)
    {
        each_group<Format>(s, [&](const T *from, u8 *to, u32 col0) {
            const u32 e = lane_id() % 32;

            Encoder::write(col0 + e < s.cols ? (f32)from[e] : 0.0f, to);
        });
    }
};
using Q8_0Rows = BlockRows<Q8_0Format, Q8_0Encoder>;
using Q4_0Rows = BlockRows<Q4_0Format, Q4_0Encoder>;
