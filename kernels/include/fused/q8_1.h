/*
 * q8_1.h - numbers that a kernel has just made, to Q8_1 blocks
 *
 * The blocks are as in quantized/quantize.h: s is the sum of the numbers or,
 * with OfQuants, d times the sum of the quants.
 */
#pragma once

#include "division.h"
#include "early.h"
#include "gguf/quotients.h"

/* a block of Q8_1: f16 scale, f16 sum, 32 quants */
constexpr u32 q8_1_elems = 32, q8_1_nbytes = 36;

template <u32 V> DEV void quantize_any(const f32 *v, f32 most, f32 d, i32 *q)
{
    UNROLL
    for (u32 i = 0; i < V; i++) {
        const f32 x = most == 0.0f ? 0.0f : roundf(v[i] / d);

        q[i] = x == x ? (i32)x : 0; /* a NaN has no integer */
    }
}

/* columns c .. c + V - 1 of a row; the lanes of a block call it together, and
 * store unless they are told not to */
template <u32 V, bool OfQuants>
DEV void store_q8_1(const f32 *v, u8 *blocks, u32 c, bool stores = true)
{
    const auto sum = [](f32 a, f32 b) { return a + b; };
    f32 most = 0, total = 0;

    UNROLL
    for (u32 i = 0; i < V; i++)
        most = fmaxf(most, fabsf(v[i]));
    most = join_lanes<q8_1_elems / V>(most,
                                      [](f32 a, f32 b) { return fmaxf(a, b); });

    const f32 d = scale_of_greatest(most);
    u8 *block = blocks + (u64)(c / q8_1_elems) * q8_1_nbytes;
    Pack<u8, V> quants;

    i32 q[V], whole = 0;

    if (has_quick_quotients(d) && are_numbers<V>(v))
        quantize_quickly<V>(v, d, q);
    else
        quantize_any<V>(v, most, d, q);
    UNROLL
    for (u32 i = 0; i < V; i++) {
        quants[i] = (u8)q[i];
        whole += q[i];
        total += v[i];
    }
    if (OfQuants)
        total = (f32)whole;
    total = join_lanes<q8_1_elems / V>(total, sum);
    if (OfQuants)
        total *= d;
    if (!stores)
        return;
    /* blocks are aligned to 4 bytes */
    UNROLL
    for (u32 i = 0; i < V; i += V < 4 ? V : 4)
        store_raw<(V < 4 ? V : 4)>(
            block + 4 + c % q8_1_elems + i,
            *reinterpret_cast<const Raw<u8, (V < 4 ? V : 4)> *>(&quants[i]));
    if (c % q8_1_elems == 0)
        *reinterpret_cast<u32 *>(block) =
            convert<f16>(d).bits | (u32)convert<f16>(total).bits << 16;
}

/*
 * vy [rows, n_padded / 32] of numbers that make.at<V>(row, column, v) gives for
 * n columns of a row; zero behind them. The blocks' sums are sums of quants.
 * Any 1-D grid, of blocks of whole groups of 32 threads.
 */
template <u32 V, class Make>
DEV void quantize_made(const Make &make, u8 *vy, u64 rows, u32 n, u32 n_padded)
{
    const u64 across = n_padded / V, items = rows * across;

    /* the lanes of a block leave together */
    for (u64 i = global_thread(); i < items; i += global_threads()) {
        const u64 row = !KPK_NVIDIA && rows == 1 ? 0 : divide(i, across);
        const u32 c = (u32)(i - row * across) * V;
        f32 v[V];

        UNROLL
        for (u32 k = 0; k < V; k++)
            v[k] = 0;
        if (c < n)
            make.template at<V>(row, c, v);
        store_q8_1<V, true>(v, vy + row * (n_padded / q8_1_elems) * q8_1_nbytes,
                            c);
    }
}

/* numbers from which on a thread takes four: few are over before it could */
constexpr u64 many_made = 1 << 16;

template <class Make>
DEV void quantize_made_rows(const Make &make, bool aligned, void *vy, u32 rows,
                            i32 n_cols, i32 n_padded)
{
    const u32 n = n_cols > 0 ? (u32)n_cols : 0;
    const u32 padded =
        n_padded > 0 ? (u32)n_padded / q8_1_elems * q8_1_elems : 0;

    meet_launches();
    if (aligned && (u64)rows * padded >= many_made)
        quantize_made<4>(make, static_cast<u8 *>(vy), rows, n, padded);
    else
        quantize_made<1>(make, static_cast<u8 *>(vy), rows, n, padded);
}

/* x [rows, n] of T */
template <typename T> struct plain_numbers {
    const T *x;
    u32 n;

    template <u32 V> DEV_MEMBER void at(u64 row, u32 c, f32 (&v)[V]) const
    {
        const Pack<T, V> p = load_pack<V>(x + row * n + c);

        UNROLL
        for (u32 k = 0; k < V; k++)
            v[k] = convert<f32>(p[k]);
    }
};

/* f(gate, up); both have a row every `stride` numbers */
template <class F> struct gated_numbers {
    const f32 *gate, *up;
    u64 stride;
    F f;

    template <u32 V> DEV_MEMBER void at(u64 row, u32 c, f32 (&v)[V]) const
    {
        const Pack<f32, V> g = load_pack<V>(gate + row * stride + c);
        const Pack<f32, V> u = load_pack<V>(up + row * stride + c);

        UNROLL
        for (u32 k = 0; k < V; k++)
            v[k] = f(g[k], u[k]);
    }
};

template <typename T>
DEV void quantize_plain(const T *x, void *vy, u32 rows, i32 n, i32 n_padded)
{
    quantize_made_rows(plain_numbers<T>{x, n > 0 ? (u32)n : 0},
                       n % 4 == 0 && is_aligned(x, 4 * sizeof(T)), vy, rows, n,
                       n_padded);
}

template <class F>
DEV void quantize_gated(const f32 *gate, const f32 *up, void *vy, u32 rows,
                        i32 n, i32 n_padded, u64 stride, F f)
{
    quantize_made_rows(gated_numbers<F>{gate, up, stride, f},
                       n % 4 == 0 && stride % 4 == 0 && is_aligned(gate, 16) &&
                           is_aligned(up, 16),
                       vy, rows, n, n_padded);
}
