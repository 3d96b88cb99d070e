/*
 * fast.h - fast_{sum,min,max,argmin,argmax}: one output a block
 *
 * src  strided through info: dims, then strides, the kept dims first
 * dst  [outputs] of T (of u32 for arg*), contiguous
 * Block o reduces elements o * R .. (o + 1) * R of the permuted view. The host
 * launches (outputs, 1, 1) blocks of the power of two at or above R, at most
 * 1024; any other block is right too.
 *
 * f32 and f64 sums keep the reference's order, to the bit: thread t adds t,
 * t + B, t + 2B, ... and a tree pairs slot t with t + B/2, then B/4 and so on.
 * All other operations give the same result in any order (f16 and bf16 sum in
 * f32, integers wrap), so those read 16 bytes at a time where the line is
 * contiguous. Nothing depends on timing: the same input gives the same bits.
 *
 * min and max: f32 and f64 pass over NaN (all NaN: the identity), f16 and bf16
 * keep it. argmin and argmax: NaN is the extreme, ties go to the lowest index.
 */
#pragma once

#include "reduce/row.h"
#include "division.h"

/* what a sum of T, and a comparison of T, is kept in */
template <typename T> struct kept {
    using sum = float; /* f16, bf16, f32 */
    using order = float;
};
template <> struct kept<double> {
    using sum = double;
    using order = double;
};
template <> struct kept<u8> {
    using sum = u32;
    using order = u32;
};
template <> struct kept<u32> {
    using sum = u32;
    using order = u32;
};
template <> struct kept<i64> {
    using sum = u64; /* wraps */
    using order = i64;
};

/*
 * An operation: `value` is a partial result, start() the empty one, take() adds
 * element i of the line, join() merges two, result() is what is stored.
 * `ordered` operations depend on the order.
 */
template <typename T> struct sum_of {
    using value = typename kept<T>::sum;
    using result_type = T;
    static constexpr bool ordered = traits<T>::is_float && !traits<T>::is_small;

    static DEV_MEMBER value start()
    {
        return 0;
    }
    static DEV_MEMBER void take(value &v, T x, u32)
    {
        v += convert<value>(x);
    }
    DEV_MEMBER value operator()(value a, value b) const
    {
        return a + b;
    }
    static DEV_MEMBER T result(value v, u64, u64, const size_t *)
    {
        return convert<T>(v);
    }
};

template <typename T, bool MAX> struct extreme_of {
    using value = typename kept<T>::order;
    using result_type = T;
    static constexpr bool ordered = false;

    static DEV_MEMBER value start()
    {
        return MAX ? lowest<T, value>() : highest<T, value>();
    }
    static DEV_MEMBER value pick(value a, value b)
    {
        if constexpr (traits<T>::is_small) /* NaN stays */
            return (MAX ? a > b : a < b) || a != a ? a : b;
        else
            return MAX ? max_number(a, b) : min_number(a, b);
    }
    static DEV_MEMBER void take(value &v, T x, u32)
    {
        v = pick(v, convert<value>(x));
    }
    DEV_MEMBER value operator()(value a, value b) const
    {
        return pick(a, b);
    }
    static DEV_MEMBER T result(value v, u64, u64, const size_t *)
    {
        return convert<T>(v);
    }
};

template <typename V> struct indexed {
    V v;
    u32 i;
};

template <typename T, bool MAX> struct index_of {
    using order = typename kept<T>::order;
    using value = indexed<order>;
    using result_type = u32;
    static constexpr bool ordered = false;
    static constexpr u32 none = 0xffffffff;

    static DEV_MEMBER value start()
    {
        return {MAX ? lowest<T, order>() : highest<T, order>(), none};
    }
    /* NaN beats all but NaN */
    static DEV_MEMBER bool better(order x, order than)
    {
        if constexpr (traits<T>::is_float)
            return !(MAX ? x <= than : x >= than) && than == than;
        else
            return MAX ? x > than : x < than;
    }
    /* a thread meets its elements in ascending order */
    static DEV_MEMBER void take(value &v, T x, u32 i)
    {
        const order w = convert<order>(x);

        if (better(w, v.v) || v.i == none)
            v = {w, i};
    }
    DEV_MEMBER value operator()(value a, value b) const
    {
        return better(b.v, a.v) || (!better(a.v, b.v) && b.i < a.i) ? b : a;
    }
    static DEV_MEMBER u32 result(value v, u64 first,
                                                 u64 num_dims,
                                                 const size_t *info)
    {
        const u64 last = num_dims > 0 ? info[num_dims - 1] : 1;

        return last > 0 ? (u32)((first + v.i) % last) : none;
    }
};

/* n elements from `base` on, `step` apart; or no such regularity */
struct line {
    u64 base, step;
    bool straight;
};

/*
 * Where elements first .. first + R of the view lie. The last dims are merged
 * as long as one step serves them all; a line is straight if it is within such
 * a run, and runs hold whole lines.
 */
DEV line find_line(u64 numel, u64 R, u64 num_dims,
                                          const size_t *info, u64 first)
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
        return {first * step, step, true};
    if (run != R && run % R != 0)
        return {0, 0, false};
    outer = divide(first, run);
    return {(first - outer * run) * step +
                strided_offset(outer, d, dims, strides),
            step, true};
}

template <typename OP, typename T>
DEV typename OP::value
fold_contiguous(const T *p, u64 n, u32 rank, u32 size)
{
    constexpr u32 V = vector_length<T>;
    constexpr u32 batch = 4;
    const u64 skew = (16 - ((u64)p & 15)) % 16 / sizeof(T);
    const u64 head = skew < n ? skew : n;
    const u64 vectors = (n - head) / V;
    typename OP::value v = OP::start();
    u64 k = rank;

    for (u64 m = rank; m < head; m += size)
        OP::take(v, p[m], (u32)m);
    for (; k + (batch - 1) * size < vectors; k += batch * size) {
        Pack<T, V> x[batch];
UNROLL
        for (u32 j = 0; j < batch; j++)
            x[j] = load_pack<V>(p + head + (k + j * size) * V);
UNROLL
        for (u32 j = 0; j < batch; j++)
UNROLL
            for (u32 i = 0; i < V; i++)
                OP::take(v, x[j][i], (u32)(head + (k + j * size) * V + i));
    }
    for (; k < vectors; k += size) {
        const Pack<T, V> x = load_pack<V>(p + head + k * V);
UNROLL
        for (u32 i = 0; i < V; i++)
            OP::take(v, x[i], (u32)(head + k * V + i));
    }
    for (u64 m = head + vectors * V + rank; m < n; m += size)
        OP::take(v, p[m], (u32)m);
    return v;
}

/* rank, rank + size, ...: `batch` loads in flight; past the end, the last */
template <typename OP, u32 batch, typename T>
DEV u64 fold_batches(typename OP::value &v, const T *p,
                                            u64 step, u64 m, u64 n, u32 size,
                                            bool partial)
{
    for (; partial ? m < n : m + (batch - 1) * size < n; m += batch * size) {
        T x[batch];
UNROLL
        for (u32 j = 0; j < batch; j++) {
            const u64 i = m + j * size;

            x[j] = p[(i < n ? i : n - 1) * step];
        }
UNROLL
        for (u32 j = 0; j < batch; j++)
            if (m + j * size < n)
                OP::take(v, x[j], (u32)(m + j * size));
    }
    return m;
}

template <typename OP, typename T>
DEV typename OP::value
fold_line(const T *p, u64 step, u64 n, u32 rank, u32 size)
{
    typename OP::value v = OP::start();
    u64 m = fold_batches<OP, 8>(v, p, step, rank, n, size, false);

    fold_batches<OP, 4>(v, p, step, m, n, size, true);
    return v;
}

template <typename OP, typename T>
DEV typename OP::value
fold_strided(const T *src, u64 first, u64 n, u64 num_dims, const size_t *info,
             u32 rank, u32 size)
{
    typename OP::value v = OP::start();

    for (u64 m = rank; m < n; m += size)
        OP::take(v,
                 src[strided_offset(first + m, num_dims, info, info + num_dims)],
                 (u32)m);
    return v;
}

/* slots lane, lane + 32, ... of W * 32, as the reference's tree pairs them */
template <typename OP, u32 W>
DEV typename OP::value
fold_slots(const typename OP::value *slot, u32 lane)
{
    constexpr u32 H = W / 2;
    typename OP::value v[H];
    const OP op;

UNROLL
    for (u32 j = 0; j < H; j++)
        v[j] = op(slot[lane + j * group_size],
                  slot[lane + (j + H) * group_size]);
UNROLL
    for (u32 half = H / 2; half > 0; half /= 2)
UNROLL
        for (u32 j = 0; j < half; j++)
            v[j] = op(v[j], v[j + half]);
    return v[0];
}

/* to thread 0 of the block, in the order of the reference's tree */
template <typename OP>
DEV typename OP::value
join_in_order(const team &t, typename OP::value *slot, typename OP::value v)
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
    switch (t.size / group_size) {
    case 2:
        v = fold_slots<OP, 2>(slot, t.rank);
        break;
    case 4:
        v = fold_slots<OP, 4>(slot, t.rank);
        break;
    case 8:
        v = fold_slots<OP, 8>(slot, t.rank);
        break;
    case 16:
        v = fold_slots<OP, 16>(slot, t.rank);
        break;
    default:
        v = fold_slots<OP, 32>(slot, t.rank);
        break;
    }
    return lanes_reduce(v, group_size, op);
}

template <typename OP, typename T>
DEV void
fast_reduce(size_t src_numel, size_t el_to_sum_per_block, size_t num_dims,
            const size_t *info, const T *src, typename OP::result_type *dst)
{
    using V = typename OP::value;
    __shared__ V slot[2][max_groups];
    __shared__ V all[max_block];
    const team t = make_team(blockDim.x, threadIdx.x, 0, 1);
    const u64 first = (u64)blockIdx.x * el_to_sum_per_block;
    V v = OP::start();

    if (first < src_numel) {
        const u64 rest = src_numel - first;
        const u64 n = el_to_sum_per_block < rest ? el_to_sum_per_block : rest;
        const line where =
            find_line(src_numel, el_to_sum_per_block, num_dims, info, first);

        if (!where.straight)
            v = fold_strided<OP>(src, first, n, num_dims, info, t.rank, t.size);
        else if (where.step == 1 && !OP::ordered)
            v = fold_contiguous<OP>(src + where.base, n, t.rank, t.size);
        else
            v = fold_line<OP>(src + where.base, where.step, n, t.rank, t.size);
    }
    if constexpr (OP::ordered)
        v = join_in_order<OP>(t, all, v);
    else
        v = team_reduce(t, team_scratch<V>{slot, all}, 0, v, OP());
    if (t.rank == 0)
        dst[blockIdx.x] = OP::result(v, first, num_dims, info);
}
