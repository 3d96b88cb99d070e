/* dequantize.h - GGUF blocks to numbers: whole arrays and chosen rows */
#pragma once

#include "early.h"
#include "gguf/block.h"
#include "reduce/neighbours.h"

/* Stores four values to y. y is aligned to a value or, if `aligned`, to four.
 * AMD stores vectors anywhere. */
template <class T> DEV void store_four(T *y, const Pack<T, 4> &v, bool aligned)
{
    if (!KPK_NVIDIA)
        __builtin_memcpy(y, &v, sizeof(v));
    else if (aligned)
        store_pack(y, v);
    else {
        UNROLL
        for (u32 i = 0; i < 4; i++)
            y[i] = v[i];
    }
}

/* the same for a quad; f16 is rounded from f32 */
template <class T> DEV void store_quad(T *y, const Quad &q, bool aligned)
{
    Pack<T, 4> v;

    UNROLL
    for (u32 i = 0; i < 4; i++)
        v[i] = convert<T>(quad_value(q, (int)i));
    store_four(y, v, aligned);
}

template <class F> DEV Quad quad_at(const u8 *x, u32 quad)
{
    constexpr u32 per_block = F::elems / 4;

    return quad_of<F, BlockPlace::anywhere>(x + quad / per_block * F::bytes,
                                            quad % per_block);
}

/* the first `count` of PerThread * Threads quads; Whole: every quad counts */
template <class F, u32 Threads, u32 PerThread, bool Whole, class T>
DEV void dequantize_quads(const u8 *x, T *y, u32 count)
{
    const u32 tid = threadIdx.x % Threads; /* tells the compiler its range */
    const bool aligned = is_aligned(y, 4 * sizeof(T));
    Quad q[PerThread];

    UNROLL
    for (u32 i = 0; i < PerThread; i++) {
        const u32 at = tid + i * Threads;

        q[i] = quad_at<F>(x, Whole ? at : min_of(at, count - 1));
    }
    UNROLL
    for (u32 i = 0; i < PerThread; i++) {
        const u32 at = tid + i * Threads;

        if (Whole || at < count)
            store_quad(y + 4 * at, q[i], aligned);
    }
}

/*
 * Callers launch a workgroup for every Elems elements, which is too little work
 * to hide a load: one in Join workgroups, a power of two, does the work of all
 * of them (neighbours.h).
 */
template <class F, class T, u32 Threads, u32 Elems, u32 Join>
DEV void dequantize(const void *vx, T *y, size_t nelems)
{
    constexpr u32 all = Elems / 4 * Join, shift = constant_log2(Join);
    const size_t first = (size_t)first_taken(shift) * Elems;

    static_assert(Join == 1u << shift, "a power of two");
    if (neighbour_takes_it(shift) || first >= nelems)
        return;

    const u8 *x = static_cast<const u8 *>(vx) + first / F::elems * F::bytes;
    const size_t left = (nelems - first) / 4;

    if (left >= all)
        dequantize_quads<F, Threads, all / Threads, true>(x, y + first, all);
    else
        dequantize_quads<F, Threads, all / Threads, false>(x, y + first,
                                                           (u32)left);
}

/* dst[i * ne00 + c] = column c of row ids[i]; any grid.y */
template <class F>
DEV void get_rows(const void *src, const u32 *ids, float *dst, i64 ne00,
                  size_t row_bytes)
{
    meet_launches();

    const u8 *row =
        static_cast<const u8 *>(src) + (size_t)(ids[blockIdx.x]) * row_bytes;
    float *out = dst + (i64)(blockIdx.x) * ne00;
    const bool aligned = is_aligned(out, 4 * sizeof(*out));
    const u64 nquads = (u64)ne00 / 4;
    const u64 step = (u64)gridDim.y * blockDim.x;

    for (u64 at = (u64)blockIdx.y * blockDim.x + threadIdx.x; at < nquads;
         at += step)
        store_quad(out + 4 * at,
                   quad_of<F, BlockPlace::anywhere>(row + at / (F::elems / 4) *
                                                              F::bytes,
                                                    (u32)(at % (F::elems / 4))),
                   aligned);
}

/* the same for rows of numbers, ne00 elements apart */
template <class T>
DEV void get_float_rows(const T *src, const u32 *ids, float *dst, i64 ne00)
{
    meet_launches();

    const T *row = src + (i64)(ids[blockIdx.x]) * ne00;
    float *out = dst + (i64)(blockIdx.x) * ne00;
    i64 step = (i64)(gridDim.y) * blockDim.x;

    for (i64 c = (i64)(blockIdx.y) * blockDim.x + threadIdx.x; c < ne00;
         c += step)
        out[c] = (float)row[c];
}
