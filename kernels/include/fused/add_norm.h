/*
 * add_norm.h - the residual's sum and its RMS norm, as numbers or Q8_1 blocks
 *
 * src, residual  [rows, n] of T; residual may be null, for 0
 * sum            [rows, n] of T: src + residual, rounded to T; may be null, or
 *                src or residual
 * alpha          [n] of T, null for 1
 * dst            [rows, n] of T: sum / sqrt(mean(sum^2) + eps) * alpha
 * vy             [rows, n_padded / 32] Q8_1 blocks of the same numbers, not
 *                rounded to T before; zero behind column n. Blocks store the
 *                sum of the numbers or, with OfQuants, d times the sum of the
 *                quants (quantized/quantize.h)
 *
 * Row = blockIdx.x; blocks of any power of two from 32 to 1024 threads. Sums
 * are kept in f32, of squares that leave its range in f64
 * (reduce/norm_again.h). The norm is computed from the sum rounded to T, so a
 * later kernel would compute the same from `sum`.
 */
#pragma once

#include "early.h"
#include "fused/held_row.h"
#include "fused/q8_1.h"
#include "known.h"
#include "reduce/norm.h"

template <typename T> struct added_row {
    using A = calc_t<T>;
    const team &t;
    const team_scratch<A> &scratch;
    const T *src, *residual;
    T *sum;
    const T *alpha;
    u32 n;
    A eps;

    /* v + w rounded to T; v and w are numbers of T */
    static DEV_MEMBER T rounded_sum(A v, A w)
    {
        if constexpr (is_same<A, f32>::value)
            return convert_known<T>(v + w);
        else
            return convert<T>(v + w);
    }
    template <u32 V, u32 K>
    DEV_MEMBER void add(row_tile<T, V, K> &x, u32 first) const
    {
        x.load(t, src, first, n);
        if (residual) {
            row_tile<T, V, K> r;

            r.load(t, residual, first, n);
            combine(x, r,
                    [](A v, A w) { return convert<A>(rounded_sum(v, w)); });
        }
        if (sum)
            x.each(t, first, n,
                   [&](A *v, u32 c) { write_columns<V>(sum + c, v); });
    }
    /* adds again; `sum` may have overwritten its own inputs */
    template <u32 V, u32 K>
    DEV_MEMBER void add_again(row_tile<T, V, K> &x, u32 first) const
    {
        if (sum)
            x.load(t, sum, first, n);
        else
            add(x, first);
    }
    template <u32 V, u32 K>
    DEV_MEMBER A squares(row_tile<T, V, K> &x, u32 first) const
    {
        A s = 0;

        x.each(t, first, n, [&](A *v, u32) {
            UNROLL
            for (u32 i = 0; i < V; i++)
                s = fused(v[i], v[i], s);
        });
        return s;
    }
    /* mean(sum^2) + eps */
    DEV_MEMBER A mean_square(A squares_here) const
    {
        const A all = team_reduce(t, scratch, 0, squares_here, plus());

        return mean_of(all, (A)n) + eps;
    }
    /* The sum in column c, of any thread; call it after a barrier. */
    DEV_MEMBER A at(u32 c) const
    {
        if (sum)
            return convert<A>(sum[c]);
        if (residual)
            return convert<A>(
                rounded_sum(convert<A>(src[c]), convert<A>(residual[c])));
        return convert<A>(src[c]);
    }
    /* the sums in f64, for squares out of range; needs every thread of the
     * block */
    DEV_MEMBER wide_terms terms_again() const
    {
        __syncthreads();
        return wide_terms_of<false>([this](u32 c) { return at(c); }, n,
                                    group_size, (f64)eps);
    }
    DEV_MEMBER A weight(u32 c) const
    {
        return alpha ? convert<A>(alpha[c]) : A(1);
    }
};

/* the weights for a tile of normalized numbers: 1 without alpha */
template <typename T, u32 V, u32 K> struct norm_weights {
    calc_t<T> v[K][V];

    DEV_MEMBER void load(const added_row<T> &row, u32 first)
    {
        if (!KPK_NVIDIA && V > 1 && row.alpha && is_aligned(row.alpha, 16)) {
            load_vectors(row, first);
            return;
        }
        UNROLL
        for (u32 i = 0; i < K * V; i++) {
            const u32 c =
                first + row_tile<T, V, K>::column(row.t, i / V) + i % V;

            v[i / V][i % V] = row.alpha && c < row.n
                                  ? convert<calc_t<T>>(row.alpha[c])
                                  : calc_t<T>(1);
        }
    }
    /* One load per vector, because rows read by vectors consist of whole
     * vectors. Columns behind the row's end are zero; they get the weights of
     * the first columns. */
    DEV_MEMBER void load_vectors(const added_row<T> &row, u32 first)
    {
        UNROLL
        for (u32 k = 0; k < K; k++) {
            const u32 c = first + row_tile<T, V, K>::column(row.t, k);

            read_columns<V>(row.alpha + (c < row.n ? c : 0), v[k]);
        }
    }
};

/*
 * OUT has end(), finish<V, K>(added, tile, weights, first, scale) for columns,
 * and again(added), by which all of the block computes a row again whose
 * squares are out of range. Weights are loaded before the block has its sum or,
 * if the launch may begin early, before the block loads its row.
 */
template <typename T, typename OUT> struct norm_added {
    using A = calc_t<T>;
    static constexpr u32 most = OUT::most;
    added_row<T> row;
    OUT out;

    /* run() and stream() return whether the squares were in range */
    template <u32 V, u32 K> DEV_MEMBER bool run()
    {
        row_tile<T, V, K> x;
        typename OUT::template weights<V, K> w;

        if (begins_early)
            w.load(row, 0);
        meet_launches();
        row.add(x, 0);
        if (!begins_early)
            w.load(row, 0);
        const A v = row.mean_square(row.squares(x, 0));

        if (!squares_in_range<T>(v))
            return false;
        out.finish(row, x, w, 0, reciprocal_root(v));
        return true;
    }
    template <u32 V> DEV_MEMBER bool stream()
    {
        row_tile<T, V, piece<V>> x;
        const u32 span = piece<V> * V * row.t.size;
        A s = 0;

        meet_launches();
        NO_UNROLL
        for (u64 first = 0; first < row.n; first += span) {
            row.add(x, (u32)first);
            s += row.squares(x, (u32)first);
        }
        const A v = row.mean_square(s);

        if (!squares_in_range<T>(v))
            return false;
        const A g = reciprocal_root(v);

        NO_UNROLL
        for (u64 first = 0; first < out.end(); first += span) {
            typename OUT::template weights<V, piece<V>> w;

            row.add_again(x, (u32)first);
            w.load(row, (u32)first);
            out.finish(row, x, w, (u32)first, g);
        }
        return true;
    }
    DEV_MEMBER void all(bool aligned, u32 columns)
    {
        if (!with_block_row<T>(*this, aligned, columns))
            out.again(row);
    }
};

template <typename T> struct to_numbers {
    using A = calc_t<T>;
    static constexpr u32 most = 4;           /* vectors that a thread holds */
    template <u32 V, u32 K> struct weights { /* read at their use */
        DEV_MEMBER void load(const added_row<T> &, u32)
        {
        }
    };
    T *dst;
    u32 n;

    DEV_MEMBER u32 end() const
    {
        return n;
    }
    template <u32 V, u32 K>
    DEV_MEMBER void finish(const added_row<T> &row, row_tile<T, V, K> &x,
                           const weights<V, K> &, u32 first, A g) const
    {
        x.each(row.t, first, n, [&](A *v, u32 c) {
            finish_columns<V>(dst, v, c, g, row.alpha, (const T *)nullptr);
        });
    }
    DEV_MEMBER void again(const added_row<T> &row) const
    {
        const wide_terms terms = row.terms_again();

        NO_UNROLL
        for (u32 c = row.t.rank; c < n; c += row.t.size)
            dst[c] = convert<T>(terms(row.at(c)) * row.weight(c));
    }
};

template <typename T, bool OfQuants> struct to_q8_1 {
    static constexpr u32 most = 2;
    template <u32 V, u32 K> using weights = norm_weights<T, V, K>;
    u8 *blocks;
    u32 n, n_padded;

    DEV_MEMBER u32 end() const
    {
        return n_padded;
    }
    /* Lanes with columns of one block are all active, because n_padded is a
     * multiple of the block. */
    template <u32 V, u32 K>
    DEV_MEMBER void finish(const added_row<T> &row, row_tile<T, V, K> &x,
                           const weights<V, K> &w, u32 first, f32 g) const
    {
        UNROLL
        for (u32 i = 0; i < K * V; i++)
            x.v[i / V][i % V] = x.v[i / V][i % V] * g * w.v[i / V][i % V];
        x.each(row.t, first, n_padded, [&](f32 *v, u32 c) {
            if (KPK_NVIDIA || n_padded != n) {
                UNROLL
                for (u32 i = 0; i < V; i++)
                    v[i] = c < n ? v[i] : 0.0f;
            }
            store_q8_1<V, OfQuants>(v, blocks, c);
        });
    }
    DEV_MEMBER void again(const added_row<T> &row) const
    {
        const wide_terms terms = row.terms_again();

        NO_UNROLL
        for (u32 c = row.t.rank; c < n_padded; c += row.t.size) {
            const f32 v = c < n ? terms(row.at(c)) * row.weight(c) : 0.0f;

            store_q8_1<1, OfQuants>(&v, blocks, c);
        }
    }
};

template <typename T>
DEV added_row<T>
block_row(const team &t, const team_scratch<calc_t<T>> &scratch, const T *src,
          const T *residual, T *sum, const T *alpha, u32 n, f32 eps)
{
    const u64 at = (u64)blockIdx.x * n;

    return {t,
            scratch,
            src + at,
            residual ? residual + at : residual,
            sum ? sum + at : sum,
            alpha,
            n,
            eps};
}

template <typename T>
DEV void rmsnorm_add(const T *src, const T *residual, T *dst, T *sum,
                     const T *alpha, i32 n_cols, f32 eps)
{
    BLOCK_SCRATCH(calc_t<T>, scratch);
    const u32 n = n_cols > 0 ? (u32)n_cols : 0;
    const team t = block_team();
    const u32 addresses = (u32)(u64)src | (u32)(u64)residual | (u32)(u64)dst |
                          (u32)(u64)sum | (u32)(u64)alpha;
    norm_added<T, to_numbers<T>> f = {
        block_row(t, scratch, src, residual, sum, alpha, n, eps),
        {dst + (u64)blockIdx.x * n, n}};

    if (n > 0)
        f.all(n % vector_length<T> == 0 && addresses % 16 == 0, n);
    else
        meet_launches();
}

template <bool OfQuants, typename T>
DEV void add_rmsnorm_quantize(const T *src, const T *residual, T *sum,
                              const T *alpha, void *vy, i32 n_cols,
                              i32 n_padded, f32 eps)
{
    BLOCK_SCRATCH(f32, scratch);
    const u32 n = n_cols > 0 ? (u32)n_cols : 0;
    const u32 blocks = n_padded > 0 ? (u32)n_padded / q8_1_elems : 0;
    const team t = block_team();
    const u32 addresses = (u32)(u64)src | (u32)(u64)residual | (u32)(u64)sum;
    norm_added<T, to_q8_1<T, OfQuants>> f = {
        block_row(t, scratch, src, residual, sum, alpha, n, eps),
        {static_cast<u8 *>(vy) + (u64)blockIdx.x * blocks * q8_1_nbytes, n,
         blocks * q8_1_elems}};

    if (n > 0)
        f.all(n % vector_length<T> == 0 && addresses % 16 == 0,
              max_of(n, f.out.n_padded));
    else
        meet_launches();
}
