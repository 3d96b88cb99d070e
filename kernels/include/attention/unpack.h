/*
 * unpack.h - unpacks quantized K and V to floats for attention of many queries
 *
 * Workgroups with different queries would each unpack the same blocks. A launch
 * before them unpacks each block once.
 */
#pragma once

#include "attention/kv_formats.h"
#include "attention/sequences.h"
#include "early.h"

/* Unpacks piece `piece` of a head's row `row` of sequence b, of K if is_key,
 * else of V. Does nothing if the sequence has no such row. */
template <class Format, typename T>
DEV void unpack_piece(const AttentionArgs &a, bool is_key, u32 b, u32 row,
                      u32 head, u32 piece, u32 width, T *to)
{
    const Sequence s(a, b);
    const i64 batch = is_key ? a.k_batch : a.v_batch;
    const i64 stride = is_key ? a.k_row : a.v_row;
    const u8 *const base =
        first_row<Format>(a, s, b, head, is_key ? a.k : a.v, batch, stride,
                          is_key ? a.k_head : a.v_head);

    if ((i32)row >= s.nk)
        return;

    const KeyRows rows = key_rows<Format>(a, b, base, batch, stride);
    const u8 *const from =
        rows.row((i32)row) + format_nbytes<Format>((i64)piece * 8);
    const u64 first = a.cu_seqlens_k ? (u64)s.k_rows : (u64)b * a.seqlen_k;

    *reinterpret_cast<Piece *>(to + ((first + row) * a.h_k + head) * width +
                               piece * 8) =
        Format::template unpack<T>(Format::load(from, piece));
}

/* Unpacks K, then V; a thread takes one piece of 8 elements at a time. */
template <class Format, typename T>
DEV void attention_unpack(const kpk_attention2_args &args)
{
    const AttentionArgs &a = args.base;
    const u32 d_v = SecondForm::d_v(a);
    const u64 rows = (u64)a.b * a.seqlen_k, heads = rows * a.h_k;
    const u64 of_k = heads * (a.d / 8), all = of_k + heads * (d_v / 8);
    T *const to = reinterpret_cast<T *>(a.partial);

    meet_launches();
    NO_UNROLL
    for (u64 i = global_thread(); i < all; i += global_threads()) {
        const bool is_key = i < of_k;
        const u32 width = is_key ? a.d : d_v;
        const u64 n = is_key ? i : i - of_k, line = n / (width / 8);
        const u64 row = line / a.h_k;

        unpack_piece<Format>(a, is_key, (u32)(row / a.seqlen_k),
                             (u32)(row % a.seqlen_k), (u32)(line % a.h_k),
                             (u32)(n % (width / 8)), width,
                             to + (is_key ? 0 : of_k * 8));
    }
}
