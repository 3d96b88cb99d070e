/*
 * few_copied.h - rows8.h's products of f32 where B comes by copies
 *
 * What takes the time is reading B, so much of it has to be on its way at once.
 * A lane asks for its pieces some steps ahead and has them put into LDS, where
 * it alone reads them again: nothing waits but the lane, and the sums have the
 * registers. A few rows of A are read a step ahead; they stay in L1.
 */
#pragma once

#include "nvidia/async_copy.h"
#include "nvidia/warpgroup_shapes.h"

/* The steps of a lane: so many pieces each, Stages - 1 of them on their way,
 * which come Once bytes at a time. */
template <u32 pieces, u32 Stages, u32 Once> struct LaneSteps {
    static constexpr u32 nbytes = Stages * pieces * few_threads * 16;

    u32 lds;
    u32 next = 0, now = 0;
    const u8 *own;

    DEV_MEMBER explicit LaneSteps(u8 *lines)
        : lds(lds_copy_address(lines) + threadIdx.x * 16),
          own(lines + threadIdx.x * 16)
    {
    }
    /* from(i, &nbytes): where piece i is, and how much of it there is */
    template <class From> DEV_MEMBER void copy(From from)
    {
        UNROLL
        for (u32 i = 0; i < pieces; i++) {
            u32 n;
            const u8 *const p = from(i, &n);

            if constexpr (Once == 16) {
                async_copy_part(lds + next + i * few_threads * 16, p, n);
            } else {
                UNROLL
                for (u32 e = 0; e < 16; e += Once)
                    async_copy_few<Once>(lds + next + i * few_threads * 16 + e,
                                         n > e ? p + e : p, n > e ? Once : 0);
            }
        }
        async_copies_end();
        next = next + few_threads * 16 * pieces == nbytes
                   ? 0
                   : next + few_threads * 16 * pieces;
    }
    DEV_MEMBER void take(Piece (&w)[pieces])
    {
        async_copies_wait<(int)Stages - 2>();
        UNROLL
        for (u32 i = 0; i < pieces; i++)
            w[i] = *reinterpret_cast<const Piece *>(own + now +
                                                    i * few_threads * 16);
        now = now + few_threads * 16 * pieces == nbytes
                  ? 0
                  : now + few_threads * 16 * pieces;
    }
};

/* Up to so many rows of A are read a step ahead: more have no registers. */
constexpr u32 rows_ahead = 4;

/* A piece of A, of which `left` elements are there. */
template <u32 Once, typename T> DEV Piece load_row(const T *p, u32 left)
{
    if (Once == 16 && left >= per16<T>::value)
        return bits_as<Piece>(load_pack<per16<T>::value>(p));
    return load_piece(p, left);
}

/* columns of B along K: lanes along K, `each` columns a warp */
template <u32 rows, u32 cols, u32 each, u32 Stages, u32 Once, typename T>
DEV void few_copied_nt(const FewTile<T> &t, u8 *lds)
{
    typedef typename Gemm<T>::S S;
    constexpr u32 n = per16<T>::value, values = each * rows;
    constexpr u32 across = cols / each, groups = few_threads / 32 / across;
    constexpr u32 step = 32 * n;
    const u32 lane = lane_id() % 32, warp = threadIdx.x / 32;
    const u32 c0 = warp % across * each, k_end = t.part.k_end;
    const T *column[each], *row[rows];
    LaneSteps<each, Stages, Once> steps(lds);
    S sums[values] = {};
    u32 k = t.part.k_begin + warp / across * step + lane * n, ahead = k;

    UNROLL
    for (u32 c = 0; c < each; c++)
        column[c] = t.b + (u64)(t.col0 + min_of(c0 + c, t.ncols - 1)) * t.g.ldb;
    UNROLL
    for (u32 r = 0; r < rows; r++)
        row[r] = t.a + (u64)min_of(r, t.nrows - 1) * t.g.lda;

    const auto copy = [&]() {
        const u32 left = k_end > ahead ? min_of(k_end - ahead, n) : 0;

        steps.copy([&](u32 i, u32 *nbytes) {
            *nbytes = left * sizeof(T);
            return reinterpret_cast<const u8 *>(column[i] + (left ? ahead : 0));
        });
        ahead += groups * step;
    };
    Piece x[rows];
    const auto load = [&]() {
        UNROLL
        for (u32 r = 0; r < rows; r++)
            x[r] = load_row<Once>(row[r] + k, k_end > k ? k_end - k : 0);
    };

    UNROLL
    for (u32 s = 0; s + 1 < Stages; s++)
        copy();
    if (rows <= rows_ahead)
        load();
    NO_UNROLL
    for (; k - lane * n < k_end;) {
        Piece w[each], now[rows];

        if (rows > rows_ahead)
            load();
        UNROLL
        for (u32 r = 0; r < rows; r++)
            now[r] = x[r];
        k += groups * step;
        if (rows <= rows_ahead)
            load();
        steps.take(w);
        copy();
        UNROLL
        for (u32 i = 0; i < values; i++)
            sums[i] = piece_dot<T>::of(now[i % rows], w[i / rows], sums[i]);
    }
    async_copies_wait<0>();
    sum_over_lanes(sums);
    UNROLL
    for (u32 i = 0; i < 2; i++) {
        UNROLL
        for (u32 mask = values / 2; mask < 32; mask *= 2)
            sums[i] += __shfl_xor_sync(0xffffffffu, sums[i], mask);
    }
    S *const all = reinterpret_cast<S *>(lds);

    __syncthreads();
    if (lane < values / 2) {
        UNROLL
        for (u32 i = 0; i < 2; i++)
            all[(warp / across * cols + c0) * rows + lane * 2 + i] = sums[i];
    }
    __syncthreads();
    NO_UNROLL
    for (u32 i = threadIdx.x; i < rows * cols; i += few_threads) {
        S sum = 0;

        UNROLL
        for (u32 w = 0; w < groups; w++)
            sum += all[w * cols * rows + i];
        t.put(i % rows, i / rows, sum);
    }
    __syncthreads();
}

/* rows of B along N: a lane has a piece of `each` of them */
template <u32 rows, u32 cols, u32 each, u32 Stages, u32 Once, typename T>
DEV void few_copied_nn(const FewTile<T> &t, u8 *lds)
{
    typedef typename Gemm<T>::S S;
    constexpr u32 n = per16<T>::value, lanes = cols / n;
    constexpr u32 step = few_threads / lanes * each;
    const u32 k_end = t.part.k_end, c = threadIdx.x % lanes * n;
    const u32 there = c < t.ncols ? min_of(t.ncols - c, n) : 0;
    const T *const b = t.b + t.col0 + (there ? c : 0), *row[rows];
    LaneSteps<each, Stages, Once> steps(lds);
    S sums[rows][n] = {};
    u32 k = t.part.k_begin + threadIdx.x / lanes * each, ahead = k;

    UNROLL
    for (u32 r = 0; r < rows; r++)
        row[r] = t.a + (u64)min_of(r, t.nrows - 1) * t.g.lda;

    const auto copy = [&]() {
        steps.copy([&](u32 i, u32 *nbytes) {
            const bool is_there = ahead + i < k_end;

            *nbytes = is_there ? there * sizeof(T) : 0;
            return reinterpret_cast<const u8 *>(
                b + (u64)(is_there ? ahead + i : 0) * t.g.ldb);
        });
        ahead += step;
    };
    Piece x[rows];
    const auto load = [&]() {
        UNROLL
        for (u32 r = 0; r < rows; r++)
            x[r] = load_row<Once>(row[r] + k, k_end > k ? k_end - k : 0);
    };

    UNROLL
    for (u32 s = 0; s + 1 < Stages; s++)
        copy();
    if (rows <= rows_ahead)
        load();
    NO_UNROLL
    for (; k < k_end;) {
        Piece w[each], now[rows];

        if (rows > rows_ahead)
            load();
        UNROLL
        for (u32 r = 0; r < rows; r++)
            now[r] = x[r];
        k += step;
        if (rows <= rows_ahead)
            load();
        steps.take(w);
        copy();
        UNROLL
        for (u32 i = 0; i < each; i++) {
            const Pack<T, n> v = bits_as<Pack<T, n>>(w[i]);

            UNROLL
            for (u32 r = 0; r < rows; r++) {
                UNROLL
                for (u32 e = 0; e < n; e++)
                    sums[r][e] = multiply_add(bits_as<Pack<T, each>>(now[r])[i],
                                              v[e], sums[r][e]);
            }
        }
    }
    async_copies_wait<0>();
    __syncwarp();
    join_groups<lanes>(sums);
    S *const all = reinterpret_cast<S *>(lds);

    __syncthreads();
    if (threadIdx.x % 32 < lanes) {
        UNROLL
        for (u32 r = 0; r < rows; r++) {
            UNROLL
            for (u32 e = 0; e < n; e++)
                all[(threadIdx.x / 32 * rows + r) * cols + c + e] = sums[r][e];
        }
    }
    __syncthreads();
    NO_UNROLL
    for (u32 i = threadIdx.x; i < rows * cols; i += few_threads) {
        S sum = 0;

        UNROLL
        for (u32 w = 0; w < few_threads / 32; w++)
            sum += all[w * rows * cols + i];
        t.put(i / cols, i % cols, sum);
    }
    __syncthreads();
}

/* Each tile, if the launch gave its LDS. */
template <bool TransB> struct CopiedRows {
    template <u32 rows, u32 cols, u32 Once>
    static DEV_MEMBER void make(const FewTile<f32> &tile, u8 *lds)
    {
        constexpr u32 each = 4, stages = 4;
        static_assert(LaneSteps<each, stages, Once>::nbytes == KPK_COPIED_STEPS,
                      "LDS");

        if constexpr (TransB)
            few_copied_nt<rows, cols, each, stages, Once>(tile, lds);
        else
            few_copied_nn<rows, cols, each, stages, Once>(tile, lds);
    }
    template <u32 cols>
    static DEV_MEMBER void make_aligned(const FewTile<f32> &tile, u8 *lds)
    {
        if (tile.nrows == 1)
            make<1, cols, 16>(tile, lds);
        else if (tile.nrows == 2)
            make<2, cols, 16>(tile, lds);
        else if (tile.nrows <= 4)
            make<4, cols, 16>(tile, lds);
        else
            make<few_rows, cols, 16>(tile, lds);
    }
    static DEV_MEMBER bool are_aligned(const f32 *p, u32 ld, i64 stride)
    {
        return is_aligned(p, 16) && ld % 4 == 0 && stride % 4 == 0;
    }
    template <u32 cols> static DEV_MEMBER bool run(const Gemm<f32> &g)
    {
        LDS_BYTES(lds);
        const bool aligned = are_aligned(g.a, g.lda, g.stride_a) &&
                             are_aligned(g.b, g.ldb, g.stride_b);

        if (dynamic_lds_nbytes() < KPK_COPIED_LDS(cols))
            return false;
        each_part(g, [&](const GemmPart &part) {
            each_tile<few_rows, cols, 1, 1>(g, [&](u32 x, u32 y) {
                const FewTile<f32> tile(g, part, x, y, cols);

                if (aligned)
                    make_aligned<cols>(tile, lds);
                else
                    make<few_rows, cols, sizeof(f32)>(tile, lds);
            });
        });
        return true;
    }
    static DEV_MEMBER bool run_any(const Gemm<f32> &g)
    {
        if constexpr (!TransB) {
            if (run<2 * KPK_COPIED_COLS>(g))
                return true;
        }
        return run<KPK_COPIED_COLS>(g);
    }
};
