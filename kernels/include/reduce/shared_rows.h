/*
 * shared_rows.h - one block reduces the rows of several blocks
 *
 * Each row has a team of fewer threads. In a sum each thread of a team takes
 * the place of several threads of a block, so the order of additions stays the
 * same.
 */
#pragma once

#include "reduce/fold.h"
#include "reduce/order.h"

/*
 * The elements of a row that one thread of a team stands for: P slots, a team's
 * size apart, joined.
 */
template <typename OP, u32 P, typename T>
DEV typename OP::value fold_slots(const T *p, u32 n, u32 slots, u32 rank)
{
    using A = typename OP::value;
    const u32 apart = slots / P;
    A slot[P];

    UNROLL
    for (u32 i = 0; i < P; i++)
        slot[i] = OP::start();
    p += rank;
    NO_UNROLL
    for (u32 at = rank; at < n; at += P * apart, p += P * apart) {
        T x[P] = {}; /* adding zeros changes no slot */

        UNROLL
        for (u32 i = 0; i < P; i++)
            if (at + i * apart < n)
                x[i] = p[i * apart];
        UNROLL
        for (u32 i = 0; i < P; i++)
            OP::take(slot[i], x[i], 0);
    }
    return join_own_slots<OP, P>(slot);
}

/*
 * `outputs` rows of n in the order of a block of `slots` threads, P * 32 or
 * more, by every team; all[] holds a value for each thread.
 */
template <typename OP, u32 P, typename T>
DEV void reduce_rows_by_teams(const T *src, u32 n, u32 slots, u32 outputs,
                              typename OP::value *all,
                              typename OP::result_type *dst)
{
    using A = typename OP::value;
    const u32 size = slots / P, groups = size / group_size;
    const u32 rank = threadIdx.x & (size - 1), teams = blockDim.x / size;
    A *part = all + threadIdx.x;
    const OP op;
    u32 o = threadIdx.x / size;

    NO_UNROLL
    for (u32 first = 0; first < outputs; first += teams, o += teams) {
        A v = OP::start();

        if (o < outputs)
            v = fold_slots<OP, P>(src + (u64)o * n, n, slots, rank);
        if (groups > 1) {
            *part = v;
            __syncthreads();
            if (rank < group_size) {
                for (u32 half = groups / 2; half > 0; half /= 2)
                    for (u32 i = 0; i < half; i++)
                        part[i * group_size] =
                            op(part[i * group_size],
                               part[(i + half) * group_size]);
                v = *part;
            }
            __syncthreads();
        }
        if (rank < group_size) {
            v = lanes_reduce(v, group_size, op);
            if (rank == 0 && o < outputs)
                dst[o] = OP::result(v, 0, 0, 0, nullptr);
        }
    }
}

/* the most elements per thread for which a block's rows may be shared */
constexpr u32 few_elements = 8;

/* whether the number and alignment of elements allow shared rows */
template <typename OP, typename T>
DEV bool rows_can_be_shared(const T *src, u64 R)
{
    constexpr u32 whole = OP::ordered && traits<T>::is_small
                              ? vector_length<T>
                              : 1; /* elements in one */

    return R <= few_elements * (u32)blockDim.x && (u32)R % whole == 0 &&
           is_aligned(src, whole * (u32)sizeof(T));
}

/*
 * log2 of the outputs that one block takes, if rows are contiguous; asked
 * before anything is read
 */
constexpr u32 log_most_shared = 5;
constexpr u32 log_enough_threads = 19;

template <typename OP, typename T>
DEV u32 log2_outputs_shared(const T *src, u64 R)
{
    const u32 size = blockDim.x;

    if ((size & (size - 1)) != 0 || size < 4 * group_size ||
        !rows_can_be_shared<OP>(src, R))
        return 0;
    const u32 log = log2_blocks_shared(gridDim.x, size, log_most_shared,
                                       log_enough_threads);

    /* a group of lanes for each, and none without work */
    return (OP::ordered && !traits<T>::is_small) || size >> log <= group_size
               ? log
               : 0;
}

/* The same in few instructions, for most blocks of a large grid. */
template <typename OP, typename T> DEV bool most_are_shared(const T *src, u64 R)
{
    constexpr u32 large = (1u << log_enough_threads) / max_block
                          << log_most_shared;

    return __builtin_expect(gridDim.x >= large, 0) && blockDim.x == max_block &&
           rows_can_be_shared<OP>(src, R);
}

/* rows of at most a vector for each of `slots`: a group of lanes for each row
 */
template <typename OP, typename T>
DEV typename OP::value fold_vectors(const T *p, u32 n, u32 slots, u32 lane)
{
    constexpr u32 V = vector_length<T>;

    return join_slots<OP>(slots, lane, [&](u32 s) {
        const OP op;
        typename OP::value v[4];
        Raw<T, V> x[4] = {};

        UNROLL
        for (u32 i = 0; i < 4; i++) {
            const u32 at = (s + i * (slots / 4)) * V;

            if (at < n)
                x[i] = load_raw<V>(p + at);
        }
        UNROLL
        for (u32 i = 0; i < 4; i++) {
            v[i] = OP::start();
            OP::take_pack(v[i], pack_of<V, T>(x[i]), 0);
        }
        return op(op(v[0], v[2]), op(v[1], v[3]));
    });
}

/* `outputs` rows of n from `output` on */
template <typename OP, typename T>
DEV void reduce_rows(const T *src, u32 n, u32 output, u32 outputs, u64 num_dims,
                     const size_t *info, typename OP::value *all,
                     typename OP::result_type *dst)
{
    const u64 first = (u64)output * n;
    const u32 lane = threadIdx.x % group_size;

    src += first;
    dst += output;
    if constexpr (OP::ordered && !traits<T>::is_small) {
        constexpr u32 P = sizeof(T) == 8 ? 4 : 8;
        const u32 slots = blockDim.x;

        if (slots >= P * group_size)
            reduce_rows_by_teams<OP, P>(src, n, slots, outputs, all, dst);
        else
            reduce_rows_by_teams<OP, 4>(src, n, slots, outputs, all, dst);
    } else {
        NO_UNROLL
        for (u32 o = threadIdx.x / group_size; o < outputs;
             o += blockDim.x / group_size) {
            const T *row = src + (u64)o * n;
            typename OP::value v;

            if constexpr (OP::ordered) /* slots without vectors: no change */
                v = fold_vectors<OP>(
                    row, n,
                    max_of(power_of_two_at_least(n / vector_length<T>),
                           4 * group_size),
                    lane);
            else
                v = fold_contiguous<OP, true>(row, n, lane, group_size);
            v = lanes_reduce(v, group_size, OP());
            if (lane == 0) {
                locate<OP>(v, row, n);
                dst[o] = OP::result(v, first + (u64)o * n, n, num_dims, info);
            }
        }
    }
}

/*
 * The same for rows of at most 128, by a block of 64 threads: a group of lanes
 * has every load of its rows in flight at once. A sum has the order of 64
 * slots; a lane has two slots, or a vector.
 */
template <typename OP, typename T>
DEV void reduce_short_rows(const T *src, u32 n, u32 output, u32 outputs,
                           u64 num_dims, const size_t *info,
                           typename OP::result_type *dst)
{
    using A = typename OP::value;
    constexpr bool vectors = OP::ordered && traits<T>::is_small;
    constexpr u32 V = vectors ? vector_length<T> : 1, pieces = vectors ? 1 : 4;
    constexpr u32 rows = sizeof(T) == 8 ? 4 : 8, groups = 2;
    const u32 lane = threadIdx.x % group_size;
    const u64 first = (u64)output * n;
    const OP op;

    src += first;
    dst += output;
    NO_UNROLL
    for (u32 o = threadIdx.x / group_size; o < outputs; o += rows * groups) {
        Raw<T, V> x[pieces][rows] = {};

        UNROLL
        for (u32 i = 0; i < pieces; i++) {
            const u32 at = (lane + i * group_size) * V;

            if (at < n)
                UNROLL
            for (u32 r = 0; r < rows; r++)
                x[i][r] = load_raw<V>(
                    src + min_of(o + r * groups, outputs - 1) * n + at);
        }
        UNROLL
        for (u32 r = 0; r < rows; r++) {
            const u32 mine = o + r * groups;
            A slot[2] = {OP::start(), OP::start()};

            UNROLL
            for (u32 i = 0; i < pieces; i++) {
                const u32 at = (lane + i * group_size) * V;

                if (OP::ordered || at < n)
                    OP::take_pack(slot[i % 2], pack_of<V, T>(x[i][r]), at);
            }
            slot[0] = join_lanes(op(slot[0], slot[1]), op);
            if (lane == 0 && mine < outputs)
                dst[mine] = OP::result(slot[0], first + (u64)mine * n, n,
                                       num_dims, info);
        }
    }
}
