/* dequantize.h - GGUF blocks to numbers: whole arrays and chosen rows */
#pragma once

#include "gguf/block.h"

/* Four values to y, which is aligned to one of them. f16 is rounded from f32.
 */
DEV float quad_value(const Quad &q, int i)
{
    return fmaf(q.scale, byte_to_float(q.q, i), q.bias);
}

template <class T> DEV void store_quad(T *y, const Quad &q)
{
    Pack<T, 4> v;

    UNROLL
    for (u32 i = 0; i < 4; i++)
        v[i] = convert<T>(quad_value(q, (int)i));
    if (is_aligned(y, sizeof(v))) {
        store_pack(y, v);
    } else {
        UNROLL
        for (u32 i = 0; i < 4; i++)
            y[i] = v[i];
    }
}

template <class F> DEV Quad quad_at(const u8 *x, size_t quad)
{
    constexpr int per_block = F::elems / 4;

    return F::quad(x + quad / per_block * F::bytes, (int)(quad % per_block));
}

/*
 * Callers launch a workgroup for every Elems elements, which is too little work
 * to hide a load: one in Join workgroups does the work of all of them.
 */
template <class F, class T, int Threads, int Elems, int Join>
DEV void dequantize(const void *vx, T *y, size_t nelems)
{
    constexpr int per_thread = Elems / 4 * Join / Threads;
    const u8 *x = static_cast<const u8 *>(vx);
    size_t nquads = nelems / 4;
    size_t first = (size_t)(blockIdx.x) * (Elems / 4);
    Quad q[per_thread];

    if (blockIdx.x % Join != 0 || first >= nquads)
        return;
    first += threadIdx.x;
    UNROLL
    for (int i = 0; i < per_thread; i++) {
        size_t at = first + (size_t)(i)*Threads;

        q[i] = quad_at<F>(x, at < nquads ? at : nquads - 1);
    }
    UNROLL
    for (int i = 0; i < per_thread; i++) {
        size_t at = first + (size_t)(i)*Threads;

        if (at < nquads)
            store_quad(y + 4 * at, q[i]);
    }
}

/* dst[i * ne00 + c] = column c of row ids[i]; any grid.y */
template <class F>
DEV void get_rows(const void *src, const u32 *ids, float *dst, i64 ne00,
                  size_t row_bytes)
{
    const u8 *row =
        static_cast<const u8 *>(src) + (size_t)(ids[blockIdx.x]) * row_bytes;
    float *out = dst + (i64)(blockIdx.x) * ne00;
    size_t nquads = (size_t)(ne00) / 4;
    size_t step = (size_t)(gridDim.y) * blockDim.x;

    for (size_t at = (size_t)(blockIdx.y) * blockDim.x + threadIdx.x;
         at < nquads; at += step)
        store_quad(out + 4 * at, quad_at<F>(row, at));
}

/* the same for rows of numbers, ne00 elements apart */
template <class T>
DEV void get_float_rows(const T *src, const u32 *ids, float *dst, i64 ne00)
{
    const T *row = src + (i64)(ids[blockIdx.x]) * ne00;
    float *out = dst + (i64)(blockIdx.x) * ne00;
    i64 step = (i64)(gridDim.y) * blockDim.x;

    for (i64 c = (i64)(blockIdx.y) * blockDim.x + threadIdx.x; c < ne00;
         c += step)
        out[c] = (float)row[c];
}
