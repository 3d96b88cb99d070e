/*
 * skinny_tile.h - 8 rows x 64 columns of C by FMA, for skinny_gemm.h
 *
 * Reading B takes the time, so each element of B is used for all rows at once.
 * Rows beyond the matrix repeat its last row and are not stored.
 */
#pragma once

#include "division.h"
#include "matrix/gemm_args.h"

constexpr u32 skinny_rows = 8, skinny_cols = 64, skinny_threads = 256;
constexpr u32 narrow_cols = 16, warp_cols = skinny_cols / (skinny_threads / 32);

template <typename T> struct SkinnyTile {
    typedef typename Gemm<T>::S S;
    static constexpr u32 n16 = per16<T>::value;

    const Gemm<T> &g;
    const GemmPart &part;
    u32 row0, col0, nrows, ncols; /* that are there */
    const T *a;                   /* of row0 */
    const T *b;                   /* of column 0 */

    /* of `cols` columns */
    DEV_MEMBER SkinnyTile(const Gemm<T> &gemm, const GemmPart &p, u32 x, u32 y,
                          u32 cols)
        : g(gemm), part(p), row0(x * skinny_rows), col0(y * cols),
          nrows(min_of(gemm.m - row0, skinny_rows)),
          ncols(min_of(gemm.n - col0, cols)),
          a(gemm.a + (i64)p.b * gemm.stride_a + (u64)row0 * gemm.lda),
          b(gemm.b + (i64)p.b * gemm.stride_b)
    {
    }
    DEV_MEMBER void put(u32 r, u32 c, S sum) const
    {
        if (r < nrows && c < ncols)
            GemmOut<T>(g, part).put(row0 + r, col0 + c, sum);
    }
};

/* ---- columns of B along K: lanes along K, 32 for 8 columns ---- */

/*
 * Sums of 64 values over 32 lanes. Each step halves the number of values that a
 * lane holds; at the end lane l has the sums of values 2 l and 2 l + 1.
 */
template <u32 n, typename S> DEV void sum_over_lanes(S (&v)[n])
{
    if constexpr (n > 2) {
        constexpr u32 mask = n / 4;
        const bool upper = lane_id() & mask;
        S half[n / 2];

        UNROLL
        for (u32 i = 0; i < n / 2; i++) {
            const S mine = upper ? v[i + n / 2] : v[i];
            const S other = upper ? v[i] : v[i + n / 2];

            half[i] = mine + lane_xor<mask>(other);
        }
        sum_over_lanes(half);
        v[0] = half[0], v[1] = half[1];
    }
}

/* Sums over the lanes, out of 32, with the same number modulo `lanes`. */
template <u32 lanes, typename S, u32 m, u32 n>
DEV void join_groups(S (&v)[m][n])
{
    if constexpr (lanes < 32) {
        UNROLL
        for (u32 i = 0; i < m * n; i++)
            v[i / n][i % n] += lane_xor<lanes>(v[i / n][i % n]);
        join_groups<2 * lanes>(v);
    }
}

/* a warp's columns, from c0 on, of the first `rows` rows */
template <u32 rows, typename T>
DEV void skinny_nt(const SkinnyTile<T> &t, u32 c0)
{
    typedef typename Gemm<T>::S S;
    constexpr u32 n = per16<T>::value, cols = warp_cols, values = cols * rows;
    const u32 lane = lane_id() % 32;
    S sums[values] = {};

    NO_UNROLL
    for (u32 k = t.part.k_begin + lane * n; k < t.part.k_end; k += 32 * n) {
        const u32 left = t.part.k_end - k;
        Piece x[rows], w[cols];

        UNROLL
        for (u32 c = 0; c < cols; c++)
            w[c] = load_piece(
                t.b +
                    ((u64)(t.col0 + min_of(c0 + c, t.ncols - 1)) * t.g.ldb + k),
                left);
        UNROLL
        for (u32 r = 0; r < rows; r++)
            x[r] = load_piece(t.a + ((u64)min_of(r, t.nrows - 1) * t.g.lda + k),
                              left);
        UNROLL
        for (u32 i = 0; i < values; i++)
            sums[i] = piece_dot<T>::of(x[i % rows], w[i / rows], sums[i]);
    }
    sum_over_lanes(sums);
    UNROLL
    for (u32 i = 0; i < 2; i++) {
        const u32 which = lane * 2 + i;

        if constexpr (values < 64) {
            S(&one)[1][1] = *reinterpret_cast<S(*)[1][1]>(&sums[i]);

            join_groups<values / 2>(one);
        }
        if (values == 64 || which < values)
            t.put(which % rows, c0 + which / rows, sums[i]);
    }
}

DEV f32 multiply_add(f32 a, f32 b, f32 c)
{
    return fmaf(a, b, c);
}
DEV f64 multiply_add(f64 a, f64 b, f64 c)
{
    return __builtin_fma(a, b, c);
}

/* ---- rows of B along N: lanes along N, K over the rest
 * ----------------------- */

template <typename T> DEV void skinny_nn(const SkinnyTile<T> &t, u8 *lds)
{
    typedef typename Gemm<T>::S S;
    constexpr u32 n = per16<T>::value;
    constexpr u32 lanes = skinny_cols / n, groups = skinny_threads / lanes;
    constexpr u32 piece_k = 16384 / sizeof(S) / skinny_rows;
    const u32 group = threadIdx.x / lanes;
    /* columns past the end are replaced by the last ones of the matrix */
    const u32 c = threadIdx.x % lanes * n;
    const bool whole = t.g.n >= n;
    const u32 from = whole ? min_of(t.col0 + c, t.g.n - n) : 0;
    S *const x = reinterpret_cast<S *>(lds); /* [piece_k][skinny_rows] */
    S sums[skinny_rows][n] = {};

    NO_UNROLL
    for (u32 k0 = t.part.k_begin; k0 < t.part.k_end; k0 += piece_k) {
        const u32 nk = min_of(t.part.k_end - k0, piece_k);

        __syncthreads();
        NO_UNROLL
        for (u32 i = threadIdx.x; i < piece_k; i += skinny_threads) {
            if (i >= nk)
                break;
            UNROLL
            for (u32 r = 0; r < skinny_rows; r++)
                x[i * skinny_rows + r] = convert<S>(
                    t.a[(u64)min_of(r, t.nrows - 1) * t.g.lda + k0 + i]);
        }
        __syncthreads();
        _Pragma("unroll 4") for (u32 i = group; i < nk; i += groups)
        {
            const T *p = t.b + ((u64)(k0 + i) * t.g.ldb + from);
            const Pack<T, n> w =
                whole ? load_anywhere<n>(p)
                      : bits_as<Pack<T, n>>(load_piece(p, t.g.n));

            UNROLL
            for (u32 r = 0; r < skinny_rows; r++) {
                const S xr = x[i * skinny_rows + r];

                UNROLL
                for (u32 e = 0; e < n; e++)
                    sums[r][e] = multiply_add(xr, (S)w[e], sums[r][e]);
            }
        }
    }
    join_groups<lanes>(sums);
    __syncthreads();
    S *const parts = reinterpret_cast<S *>(lds) +
                     threadIdx.x / 32 * skinny_rows * skinny_cols;
    UNROLL
    for (u32 r = 0; r < skinny_rows; r++) {
        UNROLL
        for (u32 e = 0; e < n; e++) {
            if (threadIdx.x % 32 < lanes && from + e >= t.col0 + c)
                parts[r * skinny_cols + from + e - t.col0] = sums[r][e];
        }
    }
    __syncthreads();
    NO_UNROLL
    for (u32 i = threadIdx.x; i < skinny_rows * skinny_cols;
         i += skinny_threads) {
        S sum = 0;

        UNROLL
        for (u32 w = 0; w < skinny_threads / 32; w++)
            sum +=
                reinterpret_cast<S *>(lds)[w * skinny_rows * skinny_cols + i];
        t.put(i / skinny_cols, i % skinny_cols, sum);
    }
}
