/*
 * norm_add_norm.h - the norm of a norm's sum with the residual, to Q8_1 blocks
 *
 * src       [rows, n] of T, and inner [n] of T, null for 1, the weight of its
 *           norm
 * residual  [rows, n] of T
 * sum       [rows, n] of T: residual + src / sqrt(mean(src^2) + eps) * inner,
 *           each step rounded to T; may be src or residual
 * alpha     [n] of T, null for 1
 * vy        [rows, n_padded / 32] Q8_1 blocks of
 *           sum / sqrt(mean(sum^2) + eps) * alpha, as of add_norm.h, sums of
 *           quants
 *
 * Row = blockIdx.x; blocks of any power of two from 32 to 1024 threads.
 */
#pragma once

#include "fused/add_norm.h"

template <typename T> struct norm_twice {
    using A = calc_t<T>;
    using out_type = to_q8_1<T, true>;
    static constexpr u32 most = out_type::most;
    added_row<T> inner; /* of src */
    added_row<T> outer; /* of residual */
    T *sum;
    out_type out;

    /* y + the norm of x, of scale g, to `sum` too */
    template <u32 V, u32 K>
    DEV_MEMBER void add(row_tile<T, V, K> &x, row_tile<T, V, K> &y,
                        const norm_weights<T, V, K> &w, u32 first, A g) const
    {
        const u32 n = outer.n;

        UNROLL
        for (u32 i = 0; i < K * V; i++)
            x.v[i / V][i % V] = convert<A>(convert<T>(
                rounded_product(x.v[i / V][i % V] * g, w.v[i / V][i % V])));
        combine(y, x, [](A v, A w) { return convert<A>(convert<T>(v + w)); });
        y.each(outer.t, first, n,
               [&](A *v, u32 c) { write_columns<V>(sum + c, v); });
    }
    /* run() and stream() return whether the squares of src were in range; if
     * not, they have stored nothing. */
    template <u32 V, u32 K> DEV_MEMBER bool run()
    {
        row_tile<T, V, K> x, y;
        norm_weights<T, V, K> w, z;

        const auto load_weights = [&] {
            w.load(inner, 0);
            z.load(outer, 0);
        };

        if (begins_early)
            load_weights();
        meet_launches();
        x.load(inner.t, inner.src, 0, inner.n);
        y.load(outer.t, outer.src, 0, outer.n);
        if (!begins_early)
            load_weights();
        const A v = inner.mean_square(inner.squares(x, 0));

        if (!squares_in_range<T>(v))
            return false;
        add(x, y, w, 0, reciprocal_root(v));
        __syncthreads(); /* both scales meet in the same LDS */

        const A u = outer.mean_square(outer.squares(y, 0));

        if (squares_in_range<T>(u))
            out.finish(outer, y, z, 0, reciprocal_root(u));
        else
            out.again(summed());
        return true;
    }
    template <u32 V> DEV_MEMBER bool stream()
    {
        row_tile<T, V, piece<V>> x, y;
        norm_weights<T, V, piece<V>> w;
        const u32 span = piece<V> * V * outer.t.size;
        A s = 0;

        meet_launches();
        NO_UNROLL
        for (u64 first = 0; first < inner.n; first += span) {
            x.load(inner.t, inner.src, (u32)first, inner.n);
            s += inner.squares(x, (u32)first);
        }
        const A v = inner.mean_square(s);

        if (!squares_in_range<T>(v))
            return false;
        const A g = reciprocal_root(v);

        s = 0;
        NO_UNROLL
        for (u64 first = 0; first < outer.n; first += span) {
            x.load(inner.t, inner.src, (u32)first, inner.n);
            y.load(outer.t, outer.src, (u32)first, outer.n);
            w.load(inner, (u32)first);
            add(x, y, w, (u32)first, g);
            s += outer.squares(y, (u32)first);
        }
        __syncthreads();
        const A u = outer.mean_square(s);

        if (!squares_in_range<T>(u)) {
            out.again(summed());
            return true;
        }
        const A h = reciprocal_root(u);

        /* a thread reads its own writes */
        NO_UNROLL
        for (u64 first = 0; first < out.end(); first += span) {
            y.load(outer.t, sum, (u32)first, outer.n);
            w.load(outer, (u32)first);
            out.finish(outer, y, w, (u32)first, h);
        }
        return true;
    }
    /* The row as read from `sum`, after `sum` was stored. */
    DEV_MEMBER added_row<T> summed() const
    {
        added_row<T> row = outer;

        row.sum = sum;
        return row;
    }
    /* Computes the row again if the squares of src were out of range. */
    DEV_MEMBER void again() const
    {
        const wide_terms terms = inner.terms_again();
        const u32 n = outer.n;

        __syncthreads(); /* all have read src, which may be `sum` */
        NO_UNROLL
        for (u32 c = outer.t.rank; c < n; c += outer.t.size) {
            const A x =
                convert<A>(convert<T>(terms(inner.at(c)) * inner.weight(c)));

            sum[c] = convert<T>(outer.at(c) + x);
        }
        out.again(summed());
    }
};

template <typename T>
DEV void rmsnorm_add_rmsnorm_quantize(const T *src, const T *inner,
                                      const T *residual, T *sum, const T *alpha,
                                      void *vy, i32 n_cols, i32 n_padded,
                                      f32 eps)
{
    BLOCK_SCRATCH(f32, scratch);
    const u32 n = n_cols > 0 ? (u32)n_cols : 0;
    const u32 blocks = n_padded > 0 ? (u32)n_padded / q8_1_elems : 0;
    const team t = block_team();
    const u32 addresses = (u32)(u64)src | (u32)(u64)residual | (u32)(u64)sum;
    T *const none = nullptr;
    norm_twice<T> f = {
        block_row(t, scratch, src, (const T *)none, none, inner, n, eps),
        block_row(t, scratch, residual, (const T *)none, none, alpha, n, eps),
        sum + (u64)blockIdx.x * n,
        {static_cast<u8 *>(vy) + (u64)blockIdx.x * blocks * q8_1_nbytes, n,
         blocks * q8_1_elems}};

    if (n > 0) {
        if (!with_block_row<T>(f,
                               n % vector_length<T> == 0 && addresses % 16 == 0,
                               max_of(n, f.out.n_padded)))
            f.again();
    } else
        meet_launches();
}
