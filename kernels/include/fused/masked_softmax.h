/*
 * masked_softmax.h - softmax of scaled and masked scores
 *
 * src, dst  [rows, n] of T; dst may be src
 * mask      [rows_per_mask, n] of T, or null: row r of src has row r modulo
 *           rows_per_mask of the mask, because the heads of a sequence share it
 * y = exp(v - max v) / sum, v = src * scale + mask, in f32, rounded once.
 *
 * Row = blockIdx.x; blocks of any power of two from 32 to 1024 threads. A NaN
 * or +inf makes its row NaN. A row of -inf alone gives zeros: its query sees no
 * key.
 */
#pragma once

#include "fused/held_row.h"

template <typename T> struct masked_row {
    using A = calc_t<T>;
    static constexpr u32 most = 4;
    const team &t;
    const team_scratch<A> &scratch;
    const T *src, *mask;
    T *dst;
    u32 n;
    A scale;

    template <u32 V, u32 K>
    DEV_MEMBER void load(row_tile<T, V, K> &x, u32 first) const
    {
        x.load(t, src, first, n);
        if (mask) {
            row_tile<T, V, K> m;

            m.load(t, mask, first, n);
            combine(x, m, [&](A v, A w) { return fused(v, scale, w); });
        } else {
            combine(x, x, [&](A v, A) { return v * scale; });
        }
    }
    /* if a row has only -inf, any finite base gives exp() = 0 */
    static DEV_MEMBER A base_of(A top)
    {
        return top == -infinity<A>() ? A(0) : top;
    }
    template <u32 V, u32 K>
    DEV_MEMBER A larger_of(row_tile<T, V, K> &x, u32 first, A top) const
    {
        x.each(t, first, uniform_here(n), [&](A *v, u32) {
            UNROLL
            for (u32 i = 0; i < V; i++)
                top = max_number(top, v[i]);
        });
        return top;
    }
    template <u32 V, u32 K>
    DEV_MEMBER A exponentials(row_tile<T, V, K> &x, u32 first, A base) const
    {
        A sum = 0;

        x.each(t, first, uniform_here(n), [&](A *v, u32) {
            UNROLL
            for (u32 i = 0; i < V; i++) {
                v[i] = exponential_for<T>(v[i] - base);
                sum += v[i];
            }
        });
        return sum;
    }
    template <u32 V, u32 K>
    DEV_MEMBER void write(row_tile<T, V, K> &x, u32 first, A factor) const
    {
        x.each(t, first, uniform_here(n), [&](A *v, u32 c) {
            UNROLL
            for (u32 i = 0; i < V; i++)
                v[i] *= factor;
            write_columns<V>(dst + c, v);
        });
    }
    DEV_MEMBER A factor_of(A sum) const
    {
        sum = team_reduce(t, scratch, 1, sum, plus());
        return sum == 0 ? A(0) : divided(A(1), sum);
    }

    template <u32 V, u32 K> DEV_MEMBER void run()
    {
        row_tile<T, V, K> x;

        load(x, 0);
        const A top = team_reduce(t, scratch, 0,
                                  larger_of(x, 0, -infinity<A>()), larger());
        write(x, 0, factor_of(exponentials(x, 0, base_of(top))));
    }
    template <u32 V> DEV_MEMBER void stream()
    {
        row_tile<T, V, piece<V>> x;
        const u32 span = piece<V> * V * t.size;
        A top = -infinity<A>(), sum = 0;

        NO_UNROLL
        for (u64 first = 0; first < n; first += span) {
            const A before = top;

            load(x, (u32)first);
            top = larger_of(x, (u32)first, top);
            sum *= before == top ? A(1)
                                 : exponential_for<T>(before - base_of(top));
            sum += exponentials(x, (u32)first, base_of(top));
        }
        const A all = team_reduce(t, scratch, 0, top, larger());

        if (top != all)
            sum *= exponential_for<T>(top - base_of(all));
        const A factor = factor_of(sum);

        NO_UNROLL
        for (u64 first = 0; first < n; first += span) {
            load(x, (u32)first);
            (void)exponentials(x, (u32)first, base_of(all));
            write(x, (u32)first, factor);
        }
    }
};

template <typename T>
DEV void softmax_masked(const T *src, const T *mask, T *dst, i32 n_cols,
                        u32 rows_per_mask, f32 scale)
{
    BLOCK_SCRATCH(calc_t<T>, scratch);
    const u32 n = n_cols > 0 ? (u32)n_cols : 0;
    const team t = block_team();
    const u32 addresses = (u32)(u64)src | (u32)(u64)mask | (u32)(u64)dst;
    const u64 at = (u64)blockIdx.x * n;

    if (n == 0)
        return;
    if (mask && rows_per_mask > 0)
        mask += (u64)((u32)blockIdx.x % rows_per_mask) * n;
    masked_row<T> f = {t, scratch, src + at, mask, dst + at, n, scale};

    with_block_row<T>(f, n % vector_length<T> == 0 && addresses % 16 == 0, n);
}
