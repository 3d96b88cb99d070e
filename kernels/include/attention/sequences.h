/*
 * sequences.h - a batch's sequences: addresses of rows, and the keys they see
 */
#pragma once

#include "../../host/attention_args.h"
#include "device.h"

typedef kpk_attention_args AttentionArgs;

/*
 * The members that only the second form of arguments has. Both forms begin with
 * AttentionArgs. Kernels of the first form have no code for these members.
 */
struct FirstForm {
    static constexpr bool has_mask = false;

    static DEV_MEMBER u32 d_v(const AttentionArgs &a)
    {
        return a.d;
    }
    static DEV_MEMBER const f32 *sinks(const AttentionArgs &)
    {
        return nullptr;
    }
    static DEV_MEMBER const f16 *mask(const AttentionArgs &)
    {
        return nullptr;
    }
    static DEV_MEMBER i64 mask_at(const AttentionArgs &, u32, u32, i32)
    {
        return 0;
    }
};
struct SecondForm {
    static constexpr bool has_mask = true;

    static DEV_MEMBER const kpk_attention2_args &all(const AttentionArgs &a)
    {
        return reinterpret_cast<const kpk_attention2_args &>(a);
    }
    static DEV_MEMBER u32 d_v(const AttentionArgs &a)
    {
        return all(a).d_v ? all(a).d_v : a.d;
    }
    static DEV_MEMBER const f32 *sinks(const AttentionArgs &a)
    {
        return all(a).sinks;
    }
    static DEV_MEMBER const f16 *mask(const AttentionArgs &a)
    {
        return (const f16 *)all(a).mask;
    }
    /* elements to a query's row */
    static DEV_MEMBER i64 mask_at(const AttentionArgs &a, u32 b, u32 head,
                                  i32 token)
    {
        return b * all(a).mask_batch + head * all(a).mask_head +
               token * all(a).mask_row;
    }
};

/* A sequence of the batch. */
struct Sequence {
    i64 q_rows, k_rows; /* rows of earlier sequences in the shared array */
    i32 nq, nk;         /* rows */
    i32 behind;         /* query i stands at i + behind */
    i32 before, after;  /* keys seen before and after a query; below 0: all */
    const i32 *ranges;  /* ranges with attention both ways between positions */
    u32 num_ranges;

    DEV_MEMBER Sequence(const AttentionArgs &a, u32 b)
        : q_rows(0), k_rows(0), nq((i32)a.seqlen_q), nk((i32)a.seqlen_k),
          before(a.window_left), after(a.window_right), ranges(nullptr),
          num_ranges(0)
    {
        if (a.cu_seqlens_q) {
            q_rows = a.cu_seqlens_q[b];
            nq = a.cu_seqlens_q[b + 1] - (i32)q_rows;
        }
        if (a.cu_seqlens_k) {
            k_rows = a.cu_seqlens_k[b];
            nk = a.cu_seqlens_k[b + 1] - (i32)k_rows;
        }
        behind = nk - nq;
        if (a.prefix_ranges && (before >= 0 || after >= 0)) {
            ranges = a.prefix_ranges + (u64)b * a.prefix_batch;
            num_ranges = a.max_prefix_ranges;
        }
    }
    /* The first key that a query's window has, and the one behind its last. */
    DEV_MEMBER i32 first_key(i32 query) const
    {
        const i64 first = (i64)query + behind - before;

        return before < 0 || first < 0 ? 0 : (i32)min_of(first, (i64)nk);
    }
    DEV_MEMBER i32 end_key(i32 query) const
    {
        const i64 end = (i64)query + behind + after + 1;

        return after < 0 || end > nk ? nk : (i32)max_of(end, (i64)0);
    }
    /* Calls fn(from, to) for the ranges that contain one of these positions. */
    template <class Fn>
    DEV_MEMBER void each_range(i64 from, i64 to, Fn fn) const
    {
        NO_UNROLL
        for (u32 i = 0; i < num_ranges; i++) {
            const i32 first = ranges[2 * i], end = ranges[2 * i + 1];

            if (first < end && from < end && to > first)
                fn(max_of(first, 0), min_of(end, nk));
        }
    }
};

/* Keys from `first` to in front of `end`. */
struct KeySpan {
    i32 first, end;
};

/* A span that covers every key seen by queries first_query to last_query. */
DEV KeySpan seen_by(const Sequence &s, i32 first_query, i32 last_query)
{
    KeySpan span = {s.first_key(first_query), s.end_key(last_query)};

    s.each_range((i64)first_query + s.behind, (i64)last_query + s.behind + 1,
                 [&](i32 from, i32 to) {
                     span.first = min_of(span.first, from);
                     span.end = max_of(span.end, to);
                 });
    return span;
}

/*
 * The addresses of one head's K or V of a sequence, in pages. Memory without
 * pages is page 0 with all rows, for which no table is read.
 */
struct KeyRows {
    const u8 *base;
    const i32 *pages;
    u32 page_size;
    i64 row_nbytes, page_nbytes;

    DEV_MEMBER const u8 *row(i32 key) const
    {
        const u32 page = (u32)key / page_size;

        return base + pages[page] * page_nbytes +
               ((u32)key - page * page_size) * row_nbytes;
    }
    /* the same for a key that is equal in all threads */
    DEV_MEMBER const u8 *tile(i32 key) const
    {
        if (page_nbytes == 0)
            return base + key * row_nbytes;

        const u32 page = (u32)key / page_size;

        return base + (i32)uniform((u32)pages[page]) * page_nbytes +
               ((u32)key - page * page_size) * row_nbytes;
    }
};

/* elements of a format to bytes; formats with blocks have 32 in a block */
template <class Format> DEV i64 format_nbytes(i64 elements)
{
    return elements / Format::block_elems * Format::block_nbytes;
}

/* K or V of sequence b: `base` is its first row, or page 0 */
template <class Format>
DEV KeyRows key_rows(const AttentionArgs &a, u32 b, const u8 *base, i64 batch,
                     i64 row)
{
    KeyRows r;
    const bool paged = a.block_table != nullptr;

    r.base = base;
    r.pages = paged ? a.block_table + (u64)b * a.block_table_batch
                    : reinterpret_cast<const i32 *>(&a);
    r.page_size = paged ? a.page_size : 1u << 31;
    r.row_nbytes = format_nbytes<Format>(row);
    r.page_nbytes = paged ? format_nbytes<Format>(batch) : 0;
    return r;
}

/* The first key of a head: in sequence b or, with pages, in page 0. */
template <class Format>
DEV const u8 *first_row(const AttentionArgs &a, const Sequence &s, u32 b,
                        u32 head, const void *array, i64 batch, i64 row,
                        i64 head_stride)
{
    const u8 *base =
        (const u8 *)array + head * format_nbytes<Format>(head_stride);

    if (a.block_table)
        return base;
    return base + (a.cu_seqlens_k ? s.k_rows * format_nbytes<Format>(row)
                                  : b * format_nbytes<Format>(batch));
}
