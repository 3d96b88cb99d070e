/*
 * fast.h - fast_{sum,min,max,argmin,argmax}: one output a block
 *
 * src  strided through info: dims, then strides, the kept dims first
 * dst  [outputs] of T (of u32 for arg*), contiguous
 * Block o reduces elements o * R .. (o + 1) * R of the permuted view, and those
 * of outputs o + grid, o + 2 * grid, ... The host launches (outputs, 1, 1)
 * blocks of the power of two at or above R, at most 1024; any other grid and
 * block are right too.
 *
 * Sums of floats keep the reference's order, f32's and f64's to the bit: slot t
 * adds elements t, t + B, t + 2B, ... for B threads, and a tree pairs slot t
 * with t + B/2, then B/4 and so on. f16 and bf16 sum in f32, and where rows are
 * aligned an element of that order is 16 bytes of them. So a row's sum depends
 * on its values and the block, never on how many rows there are. All other
 * operations give the same result in any order. Nothing depends on timing: the
 * same input gives the same bits.
 *
 * A block whose rows give its threads few elements each spends its time on
 * starting, on the latency of one round of loads and at barriers. Where there
 * are enough such blocks, one in 2^shift takes the outputs of all of them, a
 * team of fewer threads for each, and the others leave at once. In a sum each
 * thread of a team then stands for several of the block's. Outputs that lie
 * side by side are read by rows: columns.h. For short rows a smaller grid does
 * without the blocks that leave: several_outputs().
 *
 * min and max: f32 and f64 pass over NaN (all NaN: the identity), f16 and bf16
 * keep it. argmin and argmax: NaN is the extreme, ties go to the lowest index.
 */
#pragma once

#include "reduce/columns.h"

/* n elements from `base` on, `step` apart; or no such regularity */
struct line {
    u64 base, step;
    bool straight;
    bool whole; /* one step serves the whole view */
};

/*
 * Where elements first .. first + R of the view lie. The last dims are merged
 * as long as one step serves them all; a line is straight if it is within such
 * a run, and runs hold whole lines.
 */
DEV line find_line(u64 numel, u64 R, u64 num_dims, const size_t *info,
                   u64 first)
{
    const size_t *dims = info, *strides = info + num_dims;
    u64 run = 1, step = 1, outer, d;

    for (d = num_dims; d > 0; d--) {
        const u64 dim = dims[d - 1];

        if (dim == 1)
            continue;
        if (run == 1)
            step = strides[d - 1];
        else if (strides[d - 1] != run * step)
            break;
        run *= dim;
    }
    if (run == numel)
        return {first * step, step, true, true};
    if (run != R && run % R != 0)
        return {0, 0, false, false};
    outer = divide(first, run);
    return {(first - outer * run) * step +
                strided_offset(outer, d, dims, strides),
            step, true, false};
}

/* A line of n at p in packs: those before the first, and how many there are. */
template <typename T, typename N> struct packs_of {
    N head, count;

    DEV_MEMBER packs_of(const T *p, N n)
    {
        constexpr u32 V = vector_length<T>;
        const u32 skew = (16 - ((u32)(u64)p & 15)) % 16 / sizeof(T);

        head = skew < n ? skew : n;
        count = (n - head) / V;
    }
};

/* the element of the line that v means, after fold_contiguous<OP, true>() */
template <typename OP, typename N, typename T>
DEV void locate(typename OP::value &v, const T *p, N n)
{
    if constexpr (OP::names_packs) {
        constexpr u32 V = vector_length<T>;
        const packs_of<T, N> packs(p, n);

        if (v.i >= packs.head && v.i - packs.head < packs.count * V)
            OP::locate(v, load_pack<V>(p + v.i));
    }
}

template <bool NAME, typename OP, u32 V, typename T>
DEV void take_or_name(typename OP::value &v, const Pack<T, V> &x, u32 i)
{
    if constexpr (NAME && OP::names_packs)
        OP::name_pack(v, x, i);
    else
        OP::take_pack(v, x, i);
}

/*
 * N is u32 or u64, as n needs. NAME: the result may name a pack. That is less
 * to do for a group of lanes with a row each, where some lane finds something
 * better in almost every pack.
 */
template <typename OP, bool NAME = false, typename N, typename T>
DEV typename OP::value fold_contiguous(const T *p, N n, u32 rank, u32 size)
{
    constexpr u32 V = vector_length<T>;
    constexpr u32 batch = sizeof(typename OP::value) > 4 ? 2 : 4;
    const packs_of<T, N> packs(p, n);
    const N head = packs.head, vectors = packs.count;
    typename OP::value v = OP::start();
    N k = rank;

    for (N m = rank; m < head; m += size)
        OP::take(v, p[m], (u32)m);
    for (; k + (batch - 1) * size < vectors; k += batch * size) {
        Pack<T, V> x[batch];
        UNROLL
        for (u32 j = 0; j < batch; j++)
            x[j] = load_pack<V>(p + head + (k + j * size) * V);
        UNROLL
        for (u32 j = 0; j < batch; j++)
            take_or_name<NAME, OP>(v, x[j], (u32)(head + (k + j * size) * V));
    }
    for (; k < vectors; k += size)
        take_or_name<NAME, OP>(v, load_pack<V>(p + head + k * V),
                               (u32)(head + k * V));
    for (N m = head + vectors * V + rank; m < n; m += size)
        OP::take(v, p[m], (u32)m);
    return v;
}

/* rank, rank + size, ...: `batch` loads in flight; past the end, the last */
template <typename OP, u32 batch, typename N, typename T>
DEV N fold_batches(typename OP::value &v, const T *p, N step, N m, N n,
                   u32 size, bool partial)
{
    for (; partial ? m < n : m + (batch - 1) * size < n; m += batch * size) {
        T x[batch];
        UNROLL
        for (u32 j = 0; j < batch; j++) {
            const N i = m + j * size;

            x[j] = p[(i < n ? i : n - 1) * step];
        }
        UNROLL
        for (u32 j = 0; j < batch; j++)
            if (m + j * size < n)
                OP::take(v, x[j], (u32)(m + j * size));
    }
    return m;
}

/* N is u32 or u64, as n * step and 8 * size more need */
template <typename OP, typename N, typename T>
DEV typename OP::value fold_line(const T *p, N step, N n, u32 rank, u32 size)
{
    typename OP::value v = OP::start();
    N m = fold_batches<OP, 8, N>(v, p, step, rank, n, size, false);

    fold_batches<OP, 4, N>(v, p, step, m, n, size, true);
    return v;
}

template <typename OP, typename T>
DEV typename OP::value fold_strided(const T *src, u64 first, u64 n,
                                    u64 num_dims, const size_t *info, u32 rank,
                                    u32 size)
{
    typename OP::value v = OP::start();

    for (u64 m = rank; m < n; m += size)
        OP::take(
            v, src[strided_offset(first + m, num_dims, info, info + num_dims)],
            (u32)m);
    return v;
}

/*
 * The slots lane, lane + 32, ... of `size`, 128 or more, joined as the
 * reference's tree joins them. Four at a time that meet first, size / 4 apart,
 * come from four(slot of the first), and those fours in the order in which the
 * tree joins them: by their numbers with the bits reversed, so that few wait.
 */
template <typename OP, typename F>
DEV typename OP::value join_slots(u32 size, u32 lane, F four)
{
    using V = typename OP::value;
    const OP op;
    const u32 fours = size / (4 * group_size); /* 1, 2, 4 or 8 */
    const u32 unused = 32 - (31 - (u32)__clz((int)fours));
    V sum = OP::start(), wait1 = sum, wait2 = sum, wait4 = sum;

    NO_UNROLL
    for (u32 i = 0; i < fours; i++) {
        sum = four(lane + (__brev(2 * i) >> (unused - 1)) * group_size);
        if ((i & 1) == 0) {
            wait1 = sum;
            continue;
        }
        sum = op(wait1, sum);
        if ((i & 2) == 0) {
            wait2 = sum;
            continue;
        }
        sum = op(wait2, sum);
        if ((i & 4) == 0)
            wait4 = sum;
        else
            sum = op(wait4, sum);
    }
    return sum;
}

/* to thread 0 of the block, in the order of the reference's tree */
template <typename OP>
DEV typename OP::value join_in_order(const team &t, typename OP::value *slot,
                                     typename OP::value v)
{
    const OP op;

    if (!t.packed)
        return loose_team_reduce(t, slot, v, op);
    if (t.size <= group_size)
        return lanes_reduce(v, t.size, op);
    slot[t.rank] = v;
    __syncthreads();
    if (t.rank >= group_size)
        return v;
    if (t.size == 2 * group_size)
        v = op(slot[t.rank], slot[t.rank + group_size]);
    else
        v = join_slots<OP>(t.size, t.rank, [&](u32 s) {
            const u32 apart = t.size / 4;

            return op(op(slot[s], slot[s + 2 * apart]),
                      op(slot[s + apart], slot[s + 3 * apart]));
        });
    return lanes_reduce(v, group_size, op);
}

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
 * more, by as many teams as there are; all[] holds a value for each thread.
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

/* elements that a thread of a block may have for it to share its work */
constexpr u32 few_elements = 8;

/* whether rows can be shared as far as their elements are concerned */
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
 * The same of rows of at most 128, by a block of 64 threads: all that a group
 * of lanes reads of its rows is under way at once. A sum's order is that of 64
 * slots, of which a lane has two, or a vector.
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

/* whether fold_contiguous() gives the result that the order of a sum asks for
 */
template <typename OP, typename T>
constexpr bool reads_vectors = !OP::ordered || traits<T>::is_small;

/* joins what the block's threads have, and stores it */
template <typename OP>
DEV void store_by_block(const team &t, typename OP::value v, u64 output, u64 R,
                        u64 num_dims, const size_t *info,
                        const team_scratch<typename OP::value> &scratch,
                        typename OP::result_type *dst)
{
    if constexpr (OP::ordered)
        v = join_in_order<OP>(t, scratch.all, v);
    else
        v = team_reduce(t, scratch, 0, v, OP());
    if (t.rank == 0)
        dst[output] = OP::result(v, output * R, R, num_dims, info);
}

/*
 * Whether the outputs are of rows of R, one row after the other: most launches.
 * Asked before anything is stored, so that scalar loads do.
 */
DEV bool blocks_have_rows(u64 numel, u64 R, u32 outputs, u64 num_dims,
                          const size_t *view)
{
    constant_size *info = constant_sizes(view);

    if (num_dims == 0 || info[2 * num_dims - 1] != 1)
        return false;
    if ((u64)outputs * R != numel || R >= 1u << 31)
        return false;

    u64 run = info[num_dims - 1];

    NO_UNROLL
    for (u32 d = (u32)num_dims - 1; d > 0; d--) {
        const u64 dim = info[d - 1];

        if (info[num_dims + d - 1] != run && dim != 1)
            return false;
        run *= dim;
    }
    return run == numel;
}

/* On NVIDIA a block of a very large grid has less to ask if it does not ask for
 * that; one that is alone with its row loses nothing. */
DEV bool asks_for_rows()
{
    return !KPK_NVIDIA || gridDim.x < 1u << 20 || blockDim.x <= group_size;
}

/* whether there are too few blocks for one to take another's work, whatever
 * their size; for AMD the full question is short */
DEV bool is_few_blocks()
{
    return KPK_NVIDIA && gridDim.x <= (1u << log_enough_threads) / max_block;
}

/* this block's row of n */
template <typename OP, typename T>
DEV void reduce_row_by_block(const T *src, u32 n, u64 num_dims,
                             const size_t *info,
                             const team_scratch<typename OP::value> &scratch,
                             typename OP::result_type *dst)
{
    const team t = make_team(blockDim.x, threadIdx.x, 0, 1);
    const T *row = src + (u64)blockIdx.x * n;
    typename OP::value v;

    if constexpr (reads_vectors<OP, T>)
        v = fold_contiguous<OP>(row, n, t.rank, t.size);
    else
        v = fold_line<OP, u32>(row, 1, n, t.rank, t.size);
    store_by_block<OP>(t, v, blockIdx.x, n, num_dims, info, scratch, dst);
}

/* Whether 32 threads of a block ask memory for a row at once, so that nobody
 * waits at a barrier. On AMD a whole block asks sooner. */
template <typename OP, typename T> DEV bool rows_fit_group(u64 R)
{
    return KPK_NVIDIA && !OP::ordered && blockDim.x >= group_size &&
           R <= 4 * group_size * vector_length<T>;
}

/* this block's row of n by its first threads */
template <typename OP, typename T>
DEV void reduce_row_by_group(const T *src, u32 n, u64 num_dims,
                             const size_t *info, typename OP::result_type *dst)
{
    const T *row = src + (u64)blockIdx.x * n;

    if (threadIdx.x >= group_size)
        return;

    typename OP::value v =
        fold_contiguous<OP, true>(row, n, (u32)threadIdx.x, group_size);

    v = join_lanes(v, OP());
    if (threadIdx.x == 0) {
        locate<OP>(v, row, n);
        dst[blockIdx.x] = OP::result(v, (u64)blockIdx.x * n, n, num_dims, info);
    }
}

/* one output by the whole block */
template <typename OP, typename T>
DEV void reduce_by_block(u64 src_numel, u64 R, u64 num_dims, const size_t *info,
                         const T *src, typename OP::result_type *dst,
                         u64 output,
                         const team_scratch<typename OP::value> &scratch)
{
    const team t =
        make_team(uniform_here(blockDim.x), lane_here(threadIdx.x), 0, 1);
    const u64 first = output * R;
    typename OP::value v = OP::start();

    if (first < src_numel) {
        const u64 n = min_of<u64>(R, src_numel - first);
        const line where = find_line(src_numel, R, num_dims, info, first);

        if (!where.straight)
            v = fold_strided<OP>(src, first, n, num_dims, info, t.rank, t.size);
        else if (where.step == 1 && reads_vectors<OP, T> && fits_u32(n))
            v = fold_contiguous<OP>(src + where.base, (u32)n, t.rank, t.size);
        else
            v = fold_line<OP, u64>(src + where.base, where.step, n, t.rank,
                                   t.size);
    }
    store_by_block<OP>(t, v, output, R, num_dims, info, scratch, dst);
}

/*
 * How many outputs there are if blocks of `several_threads` have several each,
 * one after the other; else 0. What a block asks of its view costs AMD's scalar
 * ALU more time than DRAM takes for a row, most on CDNA, where four SIMDs share
 * one.
 */
constexpr u32 log_several = 4, several_threads = 64, short_row = 128;

DEV u32 several_outputs(u64 numel, u32 R)
{
    u32 outputs = gridDim.x << log_several;
    u64 over = (u64)outputs * R - numel; /* what the last block does not have */

    if (blockDim.x != several_threads || over >= R << log_several)
        return 0;
    for (; (u32)over >= R; over -= R)
        outputs--;
    return over == 0 ? outputs : 0;
}

/* reduces rows or columns of at most 128 if the launch is of that kind */
template <typename OP, typename T>
DEV bool reduce_several(u64 numel, u32 R, u64 num_dims, const size_t *info,
                        const T *src, typename OP::value *all,
                        typename OP::result_type *dst)
{
    const u32 outputs = several_outputs(numel, R);

    if (outputs == 0)
        return false;

    const u32 first = blockIdx.x << log_several;
    const u32 count =
        first < outputs ? min_of(1u << log_several, outputs - first) : 0;

    if (blocks_have_rows(numel, R, outputs, num_dims, info)) {
        if (!rows_can_be_shared<OP>(src, R))
            return false;
        reduce_short_rows<OP>(src, R, first, count, num_dims, info, dst);
        return true;
    }
    constexpr u32 log = min_of(log_most_columns<OP, T>, log_several);
    columns side_by_side;

    if (!side_by_side.find(numel, R, outputs, num_dims, info, log, sizeof(T)))
        return false;
    reduce_columns<OP>(src, side_by_side, R, log, first, count, num_dims, info,
                       all, dst);
    return true;
}

template <typename OP, typename T>
DEV void fast_reduce(size_t src_numel, size_t el_to_sum_per_block,
                     size_t num_dims, const size_t *info, const T *src,
                     typename OP::result_type *dst)
{
    using V = typename OP::value;
    __shared__ V slot[2][max_groups];
    __shared__ V all[max_block];
    const u64 R = el_to_sum_per_block;

    const bool most = most_are_shared<OP>(src, R);

    if (most && neighbour_takes_it(log_most_shared))
        return;
    if (asks_for_rows() &&
        blocks_have_rows(src_numel, R, gridDim.x, num_dims, info)) {
        const u32 shift = is_few_blocks() ? 0 : log2_outputs_shared<OP>(src, R);

        if (shift == 0) {
            if (rows_fit_group<OP, T>(R))
                reduce_row_by_group<OP>(src, (u32)R, num_dims, info, dst);
            else
                reduce_row_by_block<OP>(src, (u32)R, num_dims, info,
                                        team_scratch<V>{slot, all}, dst);
        } else if (!neighbour_takes_it(shift)) {
            const u32 first = first_taken(shift);

            reduce_rows<OP>(src, (u32)R, first, outputs_taken(first, shift),
                            num_dims, info, all, dst);
        }
        return;
    }
    if constexpr (!KPK_NVIDIA)
        if (R - 1 < short_row && reduce_several<OP>(src_numel, (u32)R, num_dims,
                                                    info, src, all, dst))
            return;
    const u32 log = log2_columns<OP, T>();
    columns side_by_side;

    if (__builtin_expect(gridDim.x >= some_columns, 0) &&
        side_by_side.find(src_numel, R, gridDim.x, num_dims, info, log,
                          sizeof(T))) {
        const u32 shift = most ? log_most_shared : log;

        if (!neighbour_takes_it(shift)) {
            const u32 first = first_taken(shift);

            reduce_columns<OP>(src, side_by_side, (u32)R, log, first,
                               outputs_taken(first, shift), num_dims, info, all,
                               dst);
        }
        return;
    }
    if (R > 0 && blockIdx.x * R >= src_numel)
        return;
    const u32 shift = log2_outputs_shared<OP>(src, R);

    u64 output = blockIdx.x;
    u32 outputs = 1; /* of this block's, one after the other */

    if (shift > 0) {
        const u32 first = first_taken(shift);

        if (neighbour_takes_it(shift))
            return;
        output = first;
        outputs = outputs_taken(first, shift);
        if (outputs == 0)
            return;
        if constexpr (KPK_NVIDIA) {
            const line where = find_line(src_numel, R, num_dims, info, 0);

            if (where.whole && where.step == 1 && src_numel == gridDim.x * R) {
                reduce_rows<OP>(src, (u32)R, first, outputs, num_dims, info,
                                all, dst);
                return;
            }
        }
    }
    u32 done = 0;

    do {
        reduce_by_block<OP>(src_numel, R, num_dims, info, src, dst, output,
                            team_scratch<V>{slot, all});
        __syncthreads(); /* the scratch has been read */
        output++;
        if (++done == outputs) {
            done = 0;
            output += gridDim.x - outputs;
        }
    } while (output * R < src_numel);
}
