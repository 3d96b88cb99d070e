/*
 * gather.h - index_select and gather: elements named by ids
 *
 * Any 1-D grid. Both move 16 bytes at a time where the rows allow.
 */
#pragma once

#include "indexing/ids.h"

/* packs of a thread that are on their way; more take too many registers */
template <typename W> constexpr u32 read_batch = sizeof(W) == 4 ? 4 : 1;
/* packs of a thread in all */
constexpr u32 select_each = 16, gather_each = 4;

constexpr u64 no_stride = ~0ull;

/* from one id to the next, if one step serves them all */
DEV u64 line_stride(u64 num_dims, const size_t *info)
{
    if (num_dims == 1)
        return info[1];
    u64 run = 1;

    for (u64 d = num_dims; d > 0; d--) {
        if (info[d - 1] != 1 && info[num_dims + d - 1] != run)
            return no_stride;
        run *= info[d - 1];
    }
    return 1;
}

/*
 * out[l, j, :] = inp[l, ids[j], :], rows of `right` elements
 *
 *   ids  [ids_dim_size], strided through info (dims, then strides)
 *   inp  [left, src_dim_size, right], contiguous
 *   out  [left, ids_dim_size, right], contiguous, numel elements
 */
template <u32 V, typename W, typename I, typename T> struct Selection {
    u64 num_dims;
    const size_t *info;
    const I *RESTRICT ids;
    const T *RESTRICT inp;
    T *RESTRICT out;
    u64 src_dim_size;
    W dim, right; /* ids, packs of a row */

    DEV_MEMBER Pack<T, V> load(W p, u64 stride) const
    {
        const W row = p / right, l = row < dim ? 0 : row / dim;
        const W j = row - l * dim;
        const I id = ids[stride != no_stride ? j * stride
                                             : strided_offset(j, num_dims, info,
                                                              info + num_dims)];
        Pack<T, V> v = {};

        if (is_element(id, src_dim_size))
            v = load_pack<V>(
                inp +
                ((l * src_dim_size + (u64)id) * right + (p - row * right)) * V);
        return v;
    }
    DEV_MEMBER void run(const Walk<W> &walk, W n) const
    {
        constexpr u32 batch = read_batch<W>;
        const u64 stride = line_stride(num_dims, info);
        W first = walk.first;

        if (stride != no_stride) {
            for (; first + (batch - 1) * walk.step < n;
                 first += batch * walk.step) {
                Pack<T, V> v[batch];

                UNROLL
                for (u32 k = 0; k < batch; k++)
                    v[k] = load(first + k * walk.step, stride);
                UNROLL
                for (u32 k = 0; k < batch; k++)
                    store_pack<V>(out + (u64)(first + k * walk.step) * V, v[k]);
            }
        }
        for (; first < n; first += walk.step)
            store_pack<V>(out + (u64)first * V, load(first, stride));
    }
};

/* An element a thread. The layout of a single id does not count: no waiting. */
template <typename I, typename T>
DEV void index_select_small(u32 n, u64 num_dims, const size_t *info,
                            const I *ids, const T *inp, T *out,
                            u64 src_dim_size, u32 dim, u32 right)
{
    const u32 i = small_thread();

    if (i >= n)
        return;
    const u32 row = divide_uniform(i, right), l = row < dim ? 0 : row / dim;
    const u32 j = row - l * dim;
    u64 at[1] = {0};

    if (dim > 1) {
        if (num_dims == 1)
            at[0] = j * info[1];
        else
            strided_offsets<1>(j, (u32)num_dims, info, at);
    }
    const I id = ids[at[0]];
    T v = T();

    if (is_element(id, src_dim_size))
        v = inp[(l * src_dim_size + (u64)id) * right + (i - row * right)];
    out[i] = v;
}

template <typename I, typename T>
DEV void index_select(u64 numel, u64 num_dims, const size_t *info, const I *ids,
                      const T *inp, T *out, u64 src_dim_size, u64 ids_dim_size,
                      u64 right_size)
{
    constexpr u32 V = per16<T>::value;

    if (is_small_grid<V>() && covers(numel)) { /* so are both sizes */
        index_select_small(numel, num_dims, info, ids, inp, out, src_dim_size,
                           (u32)ids_dim_size, (u32)right_size);
        return;
    }
    const bool packs =
        right_size % V == 0 && is_aligned(inp, 16) && is_aligned(out, 16);
    const u32 each = (packs ? V : 1) * select_each;

    if (leaves_at_once(each))
        return;
    const bool is_short =
        walk_is_short(numel) && fits_u32(ids_dim_size | right_size);

    if (is_short && packs)
        Selection<V, u32, I, T>{num_dims,
                                info,
                                ids,
                                inp,
                                out,
                                src_dim_size,
                                (u32)ids_dim_size,
                                (u32)right_size / V}
            .run(Walk<u32>(each, (u32)numel / V), (u32)numel / V);
    else if (is_short)
        Selection<1, u32, I, T>{
            num_dims,          info,           ids, inp, out, src_dim_size,
            (u32)ids_dim_size, (u32)right_size}
            .run(Walk<u32>(each, (u32)numel), (u32)numel);
    else
        Selection<1, u64, I, T>{num_dims,     info,         ids,       inp, out,
                                src_dim_size, ids_dim_size, right_size}
            .run(Walk<u64>(each, numel), numel);
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
 * If the ids of a pack are equal and name an aligned piece of a row, the piece
 * takes one load.
 */
template <u32 V, typename W, typename I, typename T> struct Gather {
    static constexpr u32 batch = V * sizeof(I) <= 16 ? 2 : 1; /* on their way */

    u64 numel;
    const I *RESTRICT ids;
    const T *RESTRICT inp;
    T *RESTRICT out;
    u64 src_dim_size;
    W plane, right; /* ids_dim_size * right, right */
    bool rows_aligned;

    DEV_MEMBER void load(u64 first, I *id) const
    {
        if (first + V <= numel)
            load_ids<V>(ids + first, id);
        else
            for (u32 i = 0; i < V; i++)
                id[i] = first + i < numel ? ids[first + i] : id_marker<I>();
    }
    DEV_MEMBER Pack<T, V> fetch(W first, const I *id) const
    {
        W l = first / plane, at = first - l * plane;
        W r = at % right;
        Pack<T, V> v = {};
        bool same = rows_aligned;

        UNROLL
        for (u32 i = 1; i < V; i++)
            same = same && id[i] == id[0];
        if (same) {
            if (is_element(id[0], src_dim_size))
                v = load_pack<V>(inp + (l * src_dim_size + (u64)id[0]) * right +
                                 r);
            return v;
        }
        UNROLL
        for (u32 i = 0; i < V; i++) {
            if (is_element(id[i], src_dim_size))
                v[i] = inp[(l * src_dim_size + (u64)id[i]) * right + r];
            r = r + 1 == right ? 0 : r + 1;
            if (++at == plane) {
                at = 0;
                l++;
            }
        }
        return v;
    }
    DEV_MEMBER void store(u64 first, const Pack<T, V> &v) const
    {
        if (first + V <= numel)
            store_pack<V>(out + first, v);
        else
            for (u32 i = 0; i < V; i++)
                if (first + i < numel)
                    out[first + i] = v[i];
    }
    DEV_MEMBER W count() const
    {
        return (W)div_up(numel, (u64)V);
    }
    DEV_MEMBER void run(const Walk<W> &walk) const
    {
        const W n = count();
        W first = walk.first;

        for (; first + (batch - 1) * walk.step < n;
             first += batch * walk.step) {
            I id[batch][V];
            Pack<T, V> v[batch];

            UNROLL
            for (u32 k = 0; k < batch; k++)
                load((u64)(first + k * walk.step) * V, id[k]);
            UNROLL
            for (u32 k = 0; k < batch; k++)
                v[k] = fetch((first + k * walk.step) * V, id[k]);
            UNROLL
            for (u32 k = 0; k < batch; k++)
                store((u64)(first + k * walk.step) * V, v[k]);
        }
        for (; first < n; first += walk.step) {
            I id[V];

            load((u64)first * V, id);
            store((u64)first * V, fetch(first * V, id));
        }
    }
};

template <u32 V, typename W, typename I, typename T>
DEV void run_gather(u32 each, u64 numel, const I *ids, const T *inp, T *out,
                    u64 src_dim_size, u64 plane, u64 right_size,
                    bool rows_aligned)
{
    const Gather<V, W, I, T> g = {numel,         ids,          inp,
                                  out,           src_dim_size, (W)plane,
                                  (W)right_size, rows_aligned};
    g.run(Walk<W>(each, g.count()));
}

template <typename I, typename T>
DEV void gather(u64 numel, const I *ids, const T *inp, T *out, u64 src_dim_size,
                u64 ids_dim_size, u64 right_size)
{
    constexpr u32 V = sizeof(T) == 8 ? 2 : sizeof(T) == 4 ? 4 : 8;
    constexpr u32 id_bytes = V * sizeof(I) < 16 ? V * (u32)sizeof(I) : 16;

    const u64 plane = ids_dim_size * right_size;

    if (is_small_grid<V>() && covers(numel)) {
        const Gather<1, u32, I, T> small = {
            numel,           ids, inp, out, src_dim_size, (u32)plane,
            (u32)right_size, true};
        const u32 i = small_thread();

        if (i < (u32)numel)
            small.store(i, small.fetch(i, ids + i));
        return;
    }
    const bool packs =
        is_aligned(ids, id_bytes) && is_aligned(out, V * (u32)sizeof(T));
    const u32 each = packs ? V * gather_each : gather_each;

    if (leaves_at_once(each))
        return;
    const bool rows_aligned =
        right_size % V == 0 && is_aligned(inp, V * (u32)sizeof(T));

    if (!walk_is_short(numel) || !fits_u32(plane))
        run_gather<1, u64>(each, numel, ids, inp, out, src_dim_size, plane,
                           right_size, true);
    else if (packs)
        run_gather<V, u32>(each, numel, ids, inp, out, src_dim_size, plane,
                           right_size, rows_aligned);
    else
        run_gather<1, u32>(each, numel, ids, inp, out, src_dim_size, plane,
                           right_size, true);
}
