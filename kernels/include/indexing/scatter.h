/*
 * scatter.h - index_add, scatter and scatter_add: writes to places named by ids
 *
 * Any 1-D grid. A thread owns a column (l, r) and takes its elements in
 * ascending order: no atomics, the same bits run after run; of several writes
 * to one place the last wins.
 *
 * A column is a chain of reads and writes of places that may coincide. To keep
 * several memory accesses in flight all the same, a thread loads a batch of
 * places before it stores any, and hands the new value of a place on to later
 * ids of the batch that name the place again.
 *
 * Sums of f16, bf16 and f8 are f32's in registers, which the next batch takes
 * over: a sum is rounded to T when a whole batch, elements 4 i to 4 i + 3 of a
 * column, names other places.
 */
#pragma once

#include "add.h"
#include "indexing/ids.h"

constexpr u32 write_batch = 4;
constexpr u64 no_place = ~(u64)0;

/* sums of a column, V elements each, at the places of the batch before */
template <u32 V, typename T> struct column_sums {
    using A = calc_t<T>;
    static constexpr bool kept = traits<T>::is_small; /* else memory has them */
    u64 place[write_batch];
    Pack<A, V> sum[write_batch];

    DEV_MEMBER column_sums()
    {
        UNROLL
        for (u32 k = 0; k < write_batch; k++)
            place[k] = no_place;
    }
    /* adds x[k] to the elements at to[k] of out, in order */
    DEV_MEMBER void add(T *out, const u64 *to, const Pack<T, V> *x)
    {
        Pack<A, V> v[write_batch] = {};

        UNROLL
        for (u32 k = 0; k < write_batch; k++) {
            if (to[k] == no_place)
                continue;
            const Pack<T, V> old = load_pack<V>(out + to[k]);

            UNROLL
            for (u32 i = 0; i < V; i++)
                v[k][i] = convert<A>(old[i]);
        }
        UNROLL
        for (u32 k = 0; k < write_batch; k++) {
            UNROLL
            for (u32 m = 0; kept && m < write_batch; m++)
                if (place[m] == to[k])
                    v[k] = sum[m];
            UNROLL
            for (u32 m = 0; m < k; m++)
                if (to[m] == to[k])
                    v[k] = v[m];
            UNROLL
            for (u32 i = 0; i < V; i++)
                v[k][i] = add_in_type(v[k][i], convert<A>(x[k][i]));
        }
        UNROLL
        for (u32 k = 0; k < write_batch; k++) {
            Pack<T, V> rounded;

            UNROLL
            for (u32 i = 0; i < V; i++)
                rounded[i] = convert<T>(v[k][i]);
            if (to[k] != no_place)
                store_pack<V>(out + to[k], rounded);
            place[k] = to[k];
            sum[k] = v[k];
        }
    }
};

/*
 * out[l, ids[j], r] += inp[l, j, r]
 *
 *   ids  [ids_dim_size]
 *   inp  [left, ids_dim_size, right], contiguous
 *   out  [left, dst_dim_size, right], contiguous, updated in place
 */
template <u32 V, typename I, typename T>
DEV void index_add_packs(const I *RESTRICT ids, u64 ids_dim_size,
                         const T *RESTRICT inp, T *RESTRICT out, u64 left_size,
                         u64 dst_dim_size, u64 right_size)
{
    if (leaves_at_once(V))
        return;
    const u64 right = right_size / V, n = left_size * right;
    const Walk<u64> walk(V, n);

    for (u64 column = walk.first; column < n; column += walk.step) {
        const u64 l = divide(column, right);
        const u64 r = (column - l * right) * V;
        const T *from = inp + l * ids_dim_size * right_size + r;
        T *to = out + l * dst_dim_size * right_size + r;
        column_sums<V, T> sums;

        for (u64 j = 0; j < ids_dim_size; j += write_batch) {
            u64 place[write_batch];
            Pack<T, V> x[write_batch] = {};

            UNROLL
            for (u32 k = 0; k < write_batch; k++) {
                place[k] = no_place;
                if (j + k < ids_dim_size) {
                    const I id = ids[j + k];

                    if (is_element(id, dst_dim_size)) {
                        place[k] = (u64)id * right_size;
                        x[k] = load_pack<V>(from + (j + k) * right_size);
                    }
                }
            }
            sums.add(to, place, x);
        }
    }
}

template <typename I, typename T>
DEV void index_add(const I *ids, u64 ids_dim_size, const T *inp, T *out,
                   u64 left_size, u64 dst_dim_size, u64 right_size)
{
    constexpr u32 V = per16<T>::value > 4 ? 4 : per16<T>::value;
    constexpr u64 enough = 65536; /* columns that fill a large GPU */

    if (right_size % V == 0 && left_size * right_size >= V * enough &&
        is_aligned(inp, V * (u32)sizeof(T)) &&
        is_aligned(out, V * (u32)sizeof(T)))
        index_add_packs<V>(ids, ids_dim_size, inp, out, left_size, dst_dim_size,
                           right_size);
    else
        index_add_packs<1>(ids, ids_dim_size, inp, out, left_size, dst_dim_size,
                           right_size);
}

/*
 * out[l, ids[l, j, r], r] = or += inp[l, j, r]
 *
 *   ids, inp  [left, src_dim_size, right], contiguous
 *   out       [left, dst_dim_size, right], contiguous, updated in place
 */
template <bool ADD, typename I, typename T>
DEV void scatter(const I *RESTRICT ids, const T *RESTRICT inp, T *RESTRICT out,
                 u64 left_size, u64 src_dim_size, u64 dst_dim_size,
                 u64 right_size)
{
    const u64 n = left_size * right_size;

    for (u64 column = global_thread(); column < n; column += global_threads()) {
        const u64 l = divide(column, right_size);
        const u64 r = column - l * right_size;
        const u64 from = l * src_dim_size * right_size + r;
        T *to = out + l * dst_dim_size * right_size + r;
        column_sums<1, T> sums;

        for (u64 j = 0; j < src_dim_size; j += write_batch) {
            u64 place[write_batch];
            Pack<T, 1> x[write_batch] = {};

            UNROLL
            for (u32 k = 0; k < write_batch; k++) {
                place[k] = no_place;
                if (j + k < src_dim_size) {
                    const u64 p = from + (j + k) * right_size;
                    const I id = ids[p];

                    x[k][0] = inp[p];
                    if (is_element(id, dst_dim_size))
                        place[k] = (u64)id * right_size;
                }
            }
            if constexpr (ADD) {
                sums.add(to, place, x);
            } else {
                UNROLL
                for (u32 k = 0; k < write_batch; k++)
                    if (place[k] != no_place)
                        to[place[k]] = x[k][0];
            }
        }
    }
}
