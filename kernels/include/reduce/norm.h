/*
 * norm.h - rmsnorm and layernorm over each row
 *
 * src, dst     [rows, n] of T, row-major, distinct
 * alpha, beta  [n] of T; null stands for 1 and for 0
 * Row = blockIdx.x * blockDim.y + threadIdx.y; the threads along x share it.
 * The host launches blocks of 32 threads below 1024 columns, else of 1024; any
 * other block is right too. Sums are kept in f32, for f64 in f64.
 *
 * rmsnorm    y = x / sqrt(mean(x^2) + eps) * alpha
 * layernorm  y = (x - mean) / sqrt(var + eps) * alpha + beta
 *
 * Rows that a block's threads hold in registers (norm_team.h: up to 64 bytes of
 * f32 values a thread, on sm_NN 32) are read once and written once. So are rows
 * of other blocks up to 32 f32 values a thread (sm_NN: 4). Longer rows are read
 * twice.
 *
 * The variance is the corrected two-pass one: with p near the mean and d = x -
 * p (exact where it matters), mean = p + mean(d) and var = mean(d^2) -
 * mean(d)^2. The subtraction takes away rounding errors only, so it does not
 * cancel: a constant row gives 0 and y = beta, whatever its value. Rows in
 * pieces take p from the first piece and merge the pieces' means and squares
 * (Chan, Golub and LeVeque, 'Updating Formulae and a Pairwise Algorithm for
 * Computing Sample Variances').
 *
 * Rows whose squares leave the range of f32 are read once more, in f64
 * (norm_again.h): no finite row gives zeros or NaN that f64 would not.
 *
 * How many rows there are is known from the grid alone.
 */
#pragma once

#include "reduce/norm_again.h"
#include "reduce/norm_team.h"

/*
 * v / n of a count n, rounded as a division does, so that n times a number
 * gives the number. AMD has no division; with the reciprocal rounded right, one
 * correction is enough (Markstein, 'Computation of Elementary Functions on the
 * IBM RISC System/6000 Processor', theorem 7.2).
 */
DEV f32 exact_mean_of(f32 v, f32 n)
{
#if KPK_NVIDIA
    return v / n;
#else
    const f32 r = one_over_count(n), q = rounded_product(v, r);

    return fused(fused(-q, n, v), r, q);
#endif
}
DEV f64 exact_mean_of(f64 v, f64 n)
{
    return v / n;
}

/* y = x * scale * alpha + beta, for V columns from c on */
template <u32 V, typename T>
DEV void finish_columns(T *dst, calc_t<T> *v, u32 c, calc_t<T> scale,
                        const T *alpha, const T *beta)
{
    using A = calc_t<T>;
    Raw<T, V> a = {}, b = {};

    if (alpha)
        a = load_raw<V>(alpha + c);
    if (beta)
        b = load_raw<V>(beta + c);
    UNROLL
    for (u32 i = 0; i < V; i++)
        v[i] *= scale;
    if (alpha) {
        const Pack<T, V> factor = pack_of<V, T>(a);
        UNROLL
        for (u32 i = 0; i < V; i++)
            v[i] *= convert<A>(factor[i]);
    }
    if (beta) {
        const Pack<T, V> term = pack_of<V, T>(b);
        UNROLL
        for (u32 i = 0; i < V; i++)
            v[i] += convert<A>(term[i]);
    }
    write_columns<V>(dst + c, v);
}

/* run() and stream() return whether the row's squares were in range; if not,
 * they do not change the row. */
template <typename T> struct norm_row {
    using A = calc_t<T>;

    const team &t;
    const team_scratch<A> &scratch;
    const team_scratch<two<A>> &scratch_two;
    const T *src;
    T *dst;
    const T *alpha, *beta;
    u32 n;    /* 0 for a team without a row: it keeps the barriers, may read */
    u32 turn; /* alternates from row to row */
    A eps;

    DEV_MEMBER A total(A v) const
    {
        return team_reduce(t, scratch, turn, v, plus());
    }
    /* not twice without total() in between, which has a barrier too */
    DEV_MEMBER two<A> totals(A a, A b) const
    {
        if (!KPK_NVIDIA && !t.packed)
            return {total(a), total(b)};
        return team_reduce(t, scratch_two, turn, two<A>{a, b}, plus());
    }
};

template <typename T> struct rmsnorm_row : norm_row<T> {
    using typename norm_row<T>::A;
    using B = norm_row<T>;

    template <u32 V, u32 K>
    DEV_MEMBER A squares(row_tile<T, V, K> &x, u32 first)
    {
        A s = 0;

        x.each(B::t, first, B::n, [&](A *v, u32) {
            UNROLL
            for (u32 i = 0; i < V; i++)
                s += v[i] * v[i];
        });
        return s;
    }

    template <u32 V, u32 K>
    DEV_MEMBER void finish(row_tile<T, V, K> &x, u32 first, A g)
    {
        x.each(B::t, first, B::n, [&](A *v, u32 c) {
            finish_columns<V>(B::dst, v, c, g, B::alpha, (const T *)nullptr);
        });
    }

    template <u32 V, u32 K> DEV_MEMBER bool run()
    {
        row_tile<T, V, K> x;

        x.load(B::t, B::src, 0, B::n);
        const A mean = mean_of(B::total(squares(x, 0)), (A)B::n);
        if (!squares_in_range<T>(mean + B::eps))
            return false;
        finish(x, 0, reciprocal_root(mean + B::eps));
        return true;
    }

    template <u32 V> DEV_MEMBER bool stream()
    {
        constexpr u32 K = stream_tile<T, V, norm_registers>;
        const u32 span = K * V * B::t.size;
        row_tile<T, V, K> x;
        A s = 0;

        for (u64 first = 0; first < B::n; first += span) {
            x.load(B::t, B::src, (u32)first, B::n);
            s += squares(x, (u32)first);
        }
        const A mean = B::total(s) / (A)B::n;
        const A g = reciprocal_root(mean + B::eps);

        if (!squares_in_range<T>(mean + B::eps))
            return false;
        for (u64 first = 0; first < B::n; first += span) {
            x.load(B::t, B::src, (u32)first, B::n);
            finish(x, (u32)first, g);
        }
        return true;
    }
};

template <typename T> struct layernorm_row : norm_row<T> {
    using typename norm_row<T>::A;
    using B = norm_row<T>;

    template <u32 V, u32 K> DEV_MEMBER A sum(row_tile<T, V, K> &x, u32 first)
    {
        A s = 0;

        x.each(B::t, first, B::n, [&](A *v, u32) {
            UNROLL
            for (u32 i = 0; i < V; i++)
                s += v[i];
        });
        return s;
    }

    /* moves the tile by -p; adds up the differences, and their squares */
    template <u32 V, u32 K>
    DEV_MEMBER void center(row_tile<T, V, K> &x, u32 first, A p, A &s,
                           A &squares)
    {
        s = 0;
        squares = 0;
        x.each(B::t, first, B::n, [&](A *v, u32) {
            UNROLL
            for (u32 i = 0; i < V; i++) {
                v[i] -= p;
                s += v[i];
                squares += v[i] * v[i];
            }
        });
    }

    template <u32 V, u32 K>
    DEV_MEMBER void finish(row_tile<T, V, K> &x, u32 first, A d, A g)
    {
        x.each(B::t, first, B::n, [&](A *v, u32 c) {
            UNROLL
            for (u32 i = 0; i < V; i++)
                v[i] -= d;
            finish_columns<V>(B::dst, v, c, g, B::alpha, B::beta);
        });
    }

    template <u32 V, u32 K> DEV_MEMBER bool run()
    {
        row_tile<T, V, K> x;
        const A n = (A)B::n;
        A s, squares;

        x.load(B::t, B::src, 0, B::n);
        center(x, 0, mean_of(B::total(sum(x, 0)), n), s, squares);

        const two<A> all = B::totals(s, squares);
        const A d = exact_mean_of(all.a, n);
        const A v = mean_of(all.b - all.a * d, n);

        if (!squares_in_range<T>(v + B::eps))
            return false;
        finish(x, 0, d, layer_terms::scale(v, B::eps));
        return true;
    }

    template <u32 V> DEV_MEMBER bool stream()
    {
        constexpr u32 K = stream_tile<T, V, norm_registers>;
        const u32 span = K * V * B::t.size;
        const A n = (A)B::n;
        row_tile<T, V, K> x;

        x.load(B::t, B::src, 0, B::n);
        const A p = B::total(sum(x, 0)) / (A)(span < B::n ? span : B::n);
        A count = 0, mean = 0, squares = 0;

        for (u64 first = 0; first < B::n; first += span) {
            u32 here = 0;
            A s, q;

            x.load(B::t, B::src, (u32)first, B::n);
            x.each(B::t, (u32)first, B::n, [&](A *, u32) { here += V; });
            if (here == 0)
                break;
            center(x, (u32)first, p, s, q);

            const A m = s / (A)here;
            const A gap = m - mean;
            const A both = count + (A)here;

            /* the tile's squares about its own mean, in a second sweep */
            center(x, (u32)first, m, s, q);
            squares += q + gap * gap * (count * ((A)here / both));
            mean += gap * ((A)here / both);
            count = both;
        }
        const A d = B::totals(count * mean, 0).a / n;
        const A far = mean - d;

        const A v = B::total(squares + count * far * far) / n;
        const A g = layer_terms::scale(v, B::eps);

        if (!squares_in_range<T>(v + B::eps))
            return false;
        for (u64 first = 0; first < B::n; first += span) {
            A s, q;

            x.load(B::t, B::src, (u32)first, B::n);
            center(x, (u32)first, p, s, q);
            finish(x, (u32)first, d, g);
        }
        return true;
    }
};

template <template <typename> class ROW, typename TERMS, typename T>
DEV void normalize(const T *src, T *dst, const T *alpha, const T *beta,
                   i32 n_cols, f32 eps)
{
    using A = calc_t<T>;
    constexpr u32 K =
        max_of<u32>(team_registers / sizeof(A) / vector_length<T>, 1);
    __shared__ A slot[2][max_groups];
    __shared__ two<A> slot_two[2][max_groups];
    /* For loose teams AMD reduces two values one after the other, which takes
     * less LDS, so that more small blocks run at once. */
    __shared__ two<A> all[KPK_NVIDIA ? max_block : max_block / 2];
    const u32 n = n_cols > 0 ? (u32)n_cols : 0;
    const team_scratch<A> scratch = {slot, &all[0].a};
    const team_scratch<two<A>> scratch_two = {slot_two, all};
    const u32 addresses =
        (u32)(u64)src | (u32)(u64)dst | (u32)(u64)alpha | (u32)(u64)beta;
    const bool aligned = n % vector_length<T> == 0 && addresses % 16 == 0;
    const u32 threads = blockDim.x, log_all = log2_of(threads);

    if (n == 0)
        return;
    const u32 log_size = log2_places<T, K>(n);

    if (aligned && blockDim.y == 1 && threads == 1u << log_all &&
        threads >= 4 * group_size && log_size <= log_all) {
        normalize_rows<TERMS, K>(src, dst, alpha, beta, n, eps, log_size,
                                 log_all, all);
        return;
    }
    const u64 row = (u64)blockIdx.x * blockDim.y + threadIdx.y;

    src += row * n;
    dst += row * n;
    const team t =
        make_team(blockDim.x, threadIdx.x, threadIdx.y * blockDim.x, 1);
    ROW<T> r{{t, scratch, scratch_two, src, dst, alpha, beta, n, 0, (A)eps}};

    if (!with_row_class<T, norm_registers>(r, aligned, n, t.size))
        normalize_again<TERMS::shifts>(
            src, dst, alpha, beta, n, eps, t.rank, t.size,
            t.packed && t.size >= group_size ? group_size : 1);
}
