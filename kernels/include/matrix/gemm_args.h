/*
 * gemm_args.h - a product C = alpha A B + beta C + bias: its arguments, the
 * parts and tiles that a block computes, and the storing of results
 */
#pragma once

#include "division.h"
#include "matrix/target_unit.h"

/* The arguments of a kernel. Sums, and alpha and beta, are of type S. */
template <typename T> struct Gemm {
    typedef typename sum_of<T>::type S;

    const T *a, *b;
    T *c;
    const T *bias; /* [n] or null */
    S *partial;    /* [splits][batch][m][n]; null if splits is 1 */
    u32 m, n, k, lda, ldb, ldc;
    i64 stride_a, stride_b, stride_c;
    u32 batch, splits;
    S alpha, beta;
};

/* A matrix of the batch, and a split's part of K. */
struct GemmPart {
    u64 b; /* in the batch */
    u64 split;
    u32 k_begin, k_end;
};

constexpr u32 step_nbytes = 128;
constexpr u32 step_pieces = step_nbytes / sizeof(Piece);

template <typename T> DEV void split_k(const Gemm<T> &g, GemmPart &part)
{
    constexpr u32 step = step_nbytes / sizeof(T);
    const u64 steps = div_up(g.k, step), each = div_up(steps, (u64)g.splits);

    part.k_begin = (u32)min_of(part.split * each * step, (u64)g.k);
    part.k_end = (u32)min_of((part.split + 1) * each * step, (u64)g.k);
}

/* Cuts a part's K down to share `which` of `sharers`. */
template <typename T> DEV void share_k(GemmPart &part, u32 which, u32 sharers)
{
    constexpr u32 step = step_nbytes / sizeof(T);
    const u32 end = part.k_end;
    const u64 each =
        (u64)div_up(div_up(end - part.k_begin, step), sharers) * step;

    part.k_end = (u32)min_of(part.k_begin + (which + 1) * each, (u64)end);
    part.k_begin = (u32)min_of(part.k_begin + which * each, (u64)end);
}

/* fn(part) for the parts of this block's z */
template <typename T, class Fn> DEV void each_part(const Gemm<T> &gemm, Fn fn)
{
    GemmPart part;

    if (gemm.batch == 0)
        return;
    part.split = blockIdx.z / gemm.batch;
    part.b = blockIdx.z % gemm.batch;
    NO_UNROLL
    for (;;) {
        const Gemm<T> &g = read_again(gemm);

        if (part.split >= g.splits)
            break;
        split_k(g, part);
        fn(part);
        part.split += gridDim.z / g.batch;
        part.b += gridDim.z % g.batch;
        if (part.b >= g.batch) {
            part.b -= g.batch;
            part.split++;
        }
    }
}

/*
 * fn(x, y) for the tiles of this block's x and y. Each group of across x down
 * blocks has one tile; one block of the group computes the tile, the others
 * have none. The blocks with tiles come first in the grid: AMD's chips of up to
 * 8 dies deal blocks to the dies in turn, x by x, so each die gets as many.
 */
template <u32 rows, u32 cols, u32 down, u32 across, typename T, class Fn>
DEV void each_tile(const Gemm<T> &g, Fn fn)
{
    const u32 nx = div_up((u32)gridDim.x, down);
    const u32 ny = div_up((u32)gridDim.y, across);
    u32 x0 = blockIdx.x, y0 = blockIdx.y;

    if (down * across > 1) {
        const u64 block = x0 + (u64)gridDim.x * y0;

        if (block >= (u64)nx * ny)
            return;
        y0 = (u32)divide(block, (u64)nx);
        x0 = (u32)(block - (u64)y0 * nx);
    }
    NO_UNROLL
    for (u32 y = y0; y < div_up(read_again(g).n, cols); y += ny) {
        NO_UNROLL
        for (u32 x = x0; x < div_up(read_again(g).m, rows); x += nx)
            fn(x, y);
    }
}

/* Stores results of one part to C, or, with splits, to the workspace. */
template <typename T> struct GemmOut {
    typedef typename Gemm<T>::S S;
    const Gemm<T> &g;
    T *c;
    S *partial;

    DEV_MEMBER GemmOut(const Gemm<T> &gemm, const GemmPart &part)
        : g(gemm), c(gemm.c + (i64)part.b * gemm.stride_c), partial(nullptr)
    {
        if (g.splits > 1)
            partial =
                g.partial + (part.split * g.batch + part.b) * g.m * (u64)g.n;
    }
    DEV_MEMBER void put(u32 row, u32 col, S sum) const
    {
        if (partial)
            partial[(u64)row * g.n + col] = sum;
        else
            finish(row, col, sum);
    }
    DEV_MEMBER void finish(u32 row, u32 col, S sum) const
    {
        T *at = c + ((u64)row * g.ldc + col);
        S v = value(col, sum);

        if (g.beta != 0)
            v += g.beta * (S)*at;
        *at = convert<T>(v);
    }
    /* put() for two neighbours: columns col and col + 1 */
    DEV_MEMBER void put_pair(u32 row, u32 col, const Pack<S, 2> &sum) const
    {
        T *at = c + ((u64)row * g.ldc + col);

        S *const part = partial + ((u64)row * g.n + col);

        if (partial && is_aligned(part, sizeof(sum))) {
            store_pack(part, sum);
        } else if (partial || g.beta != 0) {
            put(row, col, sum[0]);
            put(row, col + 1, sum[1]);
        } else {
            const Pack<T, 2> v = {{convert<T>(value(col, sum[0])),
                                   convert<T>(value(col + 1, sum[1]))}};

            if (is_aligned(at, sizeof(v)))
                store_pack(at, v);
            else
                at[0] = v[0], at[1] = v[1];
        }
    }
    /* Whether store_pair() may be used: pairs are aligned, and nothing is read.
     */
    DEV_MEMBER bool takes_pairs() const
    {
        return partial ? is_aligned(partial, 2 * sizeof(S)) && g.n % 2 == 0
                       : g.beta == 0 && is_aligned(c, 2 * sizeof(T)) &&
                             g.ldc % 2 == 0;
    }
    DEV_MEMBER void store_pair(u32 row, u32 col, const Pack<S, 2> &sum) const
    {
        if (partial)
            store_pack(partial + ((u64)row * g.n + col), sum);
        else
            store_pack(c + ((u64)row * g.ldc + col),
                       Pack<T, 2>{{convert<T>(value(col, sum[0])),
                                   convert<T>(value(col + 1, sum[1]))}});
    }
    /* Whether results may be stored as aligned 16-byte pieces of value(). */
    DEV_MEMBER bool takes_pieces() const
    {
        return !partial && g.beta == 0 && is_aligned(c, 16) &&
               g.ldc % per16<T>::value == 0;
    }
    DEV_MEMBER Pack<S, 2> bias_pair(u32 col) const
    {
        return g.bias ? Pack<S, 2>{{(S)g.bias[col], (S)g.bias[col + 1]}}
                      : Pack<S, 2>{};
    }
    DEV_MEMBER S value(u32 col, S sum) const
    {
        const S v = g.alpha * sum;

        return g.bias ? v + (S)g.bias[col] : v;
    }
};

/* n elements at p, which need not be aligned to more than one */
template <u32 n, typename T> DEV Pack<T, n> load_anywhere(const T *p)
{
    Pack<T, n> v;

#if KPK_NVIDIA
    if constexpr (sizeof(v) > 16) {
        const Pack<T, n / 2> low = load_anywhere<n / 2>(p);
        const Pack<T, n / 2> high = load_anywhere<n / 2>(p + n / 2);

        UNROLL
        for (u32 i = 0; i < n / 2; i++)
            v[i] = low[i], v[n / 2 + i] = high[i];
        return v;
    } else if (is_aligned(p, sizeof(v))) {
        return load_pack<n>(p);
    }
    if (sizeof(T) < 4 && is_aligned(p, 4)) {
        UNROLL
        for (u32 i = 0; i < n; i += 2) {
            const Pack<T, 2> two = load_pack<2>(p + i);

            v[i] = two[0], v[i + 1] = two[1];
        }
        return v;
    }
    UNROLL
    for (u32 i = 0; i < n; i++)
        v[i] = p[i];
#else
    __builtin_memcpy(&v, p, sizeof(v));
#endif
    return v;
}

/* The piece at p: `left` elements, with zeros behind. */
template <typename T> DEV Piece load_piece(const T *p, u32 left)
{
    constexpr u32 n = per16<T>::value;
    Pack<T, n> v = {};

    if (left >= n)
        return bits_as<Piece>(load_anywhere<n>(p));
    UNROLL
    for (u32 i = 0; i + 1 < n; i++) {
        if (i < left)
            v[i] = p[i];
    }
    return bits_as<Piece>(v);
}
