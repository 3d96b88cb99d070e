/*
 * read.h - index_select and gather: elements named by ids
 *
 * Any 1-D grid. Both move 16 bytes at a time where the rows allow.
 */
#pragma once

#include "indexing/ids.h"

/*
 * out[l, j, :] = inp[l, ids[j], :], rows of `right` elements
 *
 *   ids  [ids_dim_size], strided through info (dims, then strides)
 *   inp  [left, src_dim_size, right], contiguous
 *   out  [left, ids_dim_size, right], contiguous, numel elements
 */
template <u32 V, typename I, typename T>
DEV void index_select_packs(u64 numel, u64 num_dims, const size_t *info,
                            const I *RESTRICT ids, const T *RESTRICT inp,
                            T *RESTRICT out, u64 src_dim_size,
                            u64 ids_dim_size, u64 right_size)
{
    const u64 n = numel / V, right = right_size / V;
    const Walk walk(n);

    for (u64 p = walk.first; p < n; p += walk.step) {
        const u64 row = divide(p, right);
        const u64 l = divide(row, ids_dim_size);
        const u64 j = row - l * ids_dim_size;
        const I id = ids[strided_offset(j, num_dims, info, info + num_dims)];
        Pack<T, V> v = {};

        if (is_element(id, src_dim_size))
            v = load_pack<V>(inp + ((l * src_dim_size + (u64)id) * right +
                                    (p - row * right)) *
                                       V);
        store_pack<V>(out + p * V, v);
    }
}

template <typename I, typename T>
DEV void index_select(u64 numel, u64 num_dims, const size_t *info, const I *ids,
                      const T *inp, T *out, u64 src_dim_size, u64 ids_dim_size,
                      u64 right_size)
{
    constexpr u32 V = per16<T>::value;

    if (right_size % V == 0 && is_aligned(inp, 16) && is_aligned(out, 16))
        index_select_packs<V>(numel, num_dims, info, ids, inp, out,
                              src_dim_size, ids_dim_size, right_size);
    else
        index_select_packs<1>(numel, num_dims, info, ids, inp, out,
                              src_dim_size, ids_dim_size, right_size);
}

/* V ids at p, in loads of up to 16 bytes */
template <u32 V, typename I> DEV void load_ids(const I *p, I *id)
{
    constexpr u32 most = 16 / sizeof(I);
    constexpr u32 piece = V < most ? V : most;

    UNROLL
    for (u32 i = 0; i < V; i += piece) {
        const Pack<I, piece> some = load_pack<piece>(p + i);

        UNROLL
        for (u32 k = 0; k < piece; k++)
            id[i + k] = some[k];
    }
}

/*
 * out[l, j, r] = inp[l, ids[l, j, r], r]
 *
 *   ids, out  [left, ids_dim_size, right], contiguous, numel elements
 *   inp       [left, src_dim_size, right], contiguous
 * Where a pack's ids are all the same and name an aligned piece of a row, that
 * is one load.
 */
template <u32 V, typename I, typename T>
DEV void gather_packs(u64 numel, const I *RESTRICT ids, const T *RESTRICT inp,
                      T *RESTRICT out, u64 src_dim_size, u64 ids_dim_size,
                      u64 right_size)
{
    const u64 plane = ids_dim_size * right_size, n = div_up(numel, (u64)V);
    const bool rows_aligned =
        right_size % V == 0 && is_aligned(inp, V * (u32)sizeof(T));
    const Walk walk(n);

    for (u64 p = walk.first; p < n; p += walk.step) {
        const u64 first = p * V;
        const bool whole = first + V <= numel;
        u64 l = divide(first, plane);
        u64 at = first - l * plane;
        u64 r = at - divide(at, right_size) * right_size;
        Pack<T, V> v = {};
        I id[V];

        if (whole)
            load_ids<V>(ids + first, id);
        else
            for (u32 i = 0; i < V; i++)
                id[i] = first + i < numel ? ids[first + i] : id_marker<I>();
        bool same = rows_aligned;

        UNROLL
        for (u32 i = 1; i < V; i++)
            same = same && id[i] == id[0];
        if (same) {
            if (is_element(id[0], src_dim_size))
                v = load_pack<V>(
                    inp + (l * src_dim_size + (u64)id[0]) * right_size + r);
        } else {
            UNROLL
            for (u32 i = 0; i < V; i++) {
                if (is_element(id[i], src_dim_size))
                    v[i] =
                        inp[(l * src_dim_size + (u64)id[i]) * right_size + r];
                r = r + 1 == right_size ? 0 : r + 1;
                if (++at == plane) {
                    at = 0;
                    l++;
                }
            }
        }
        if (whole)
            store_pack<V>(out + first, v);
        else
            for (u32 i = 0; i < V; i++)
                if (first + i < numel)
                    out[first + i] = v[i];
    }
}

template <typename I, typename T>
DEV void gather(u64 numel, const I *ids, const T *inp, T *out,
                u64 src_dim_size, u64 ids_dim_size, u64 right_size)
{
    constexpr u32 V = sizeof(T) == 8 ? 2 : sizeof(T) == 4 ? 4 : 8;
    constexpr u32 id_bytes = V * sizeof(I) < 16 ? V * (u32)sizeof(I) : 16;

    if (is_aligned(ids, id_bytes) && is_aligned(out, V * (u32)sizeof(T)))
        gather_packs<V>(numel, ids, inp, out, src_dim_size, ids_dim_size,
                        right_size);
    else
        gather_packs<1>(numel, ids, inp, out, src_dim_size, ids_dim_size,
                        right_size);
}
