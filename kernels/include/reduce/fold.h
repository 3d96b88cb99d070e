/*
 * fold.h - a thread's part of a line of elements, folded by an operation
 *
 * A line is n elements in the order of a view: contiguous, a step apart, or
 * anywhere. Thread `rank` of `size` takes every size-th element of it, or of
 * its packs of 16 bytes.
 */
#pragma once

#include "division.h"
#include "reduce/operations.h"

/* elements from `base` on, `step` apart, if `straight` */
struct line {
    u64 base, step;
    bool straight;
    bool whole; /* one step serves the whole view */
};

/*
 * The addresses of elements first .. first + R of the view. The last dims are
 * merged to a run while one stride serves all; a line is straight if it lies
 * within a run, and runs hold whole lines.
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

/* A line of n at p in packs: the elements before the first pack, and the number
 * of packs. */
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
 * N is u32 or u64, as n needs. NAME: the result may name a pack. Naming packs
 * is less work for a group of lanes with a row each, because some lane finds
 * something better in almost every pack.
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

/* Folds elements rank, rank + size, ... with `batch` loads in flight. Loads
 * past the end read the last element, which is not folded again. */
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
