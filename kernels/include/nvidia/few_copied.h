/*
 * few_copied.h - rows8.h's products of f32, and of f64 where B lies along K,
 * by copies of B
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

/*
 * f64, by matrix instructions, whose 16 rows are columns of B. Each warp makes
 * all columns, of 8 of every 64 of K. A lane has two of these K of row l / 4 of
 * A, and of every eighth column of B from l / 4 on.
 */
template <u32 cols, u32 Stages, u32 Once>
DEV void few_copied_f64(const FewTile<f64> &t, u8 *lds)
{
    constexpr u32 n = cols / 8, warps = few_threads / 32;
    const u32 l = threadIdx.x % 32, warp = threadIdx.x / 32;
    const u32 k_end = t.part.k_end;
    const f64 *const a = t.a + (u64)min_of(l / 4, t.nrows - 1) * t.g.lda;
    const f64 *b[n];
    LaneSteps<n + 1, Stages, Once> steps(lds);
    f64 sums[n / 2][4] = {};
    u32 k = t.part.k_begin + warp * 8, ahead = k + l % 4 * 2;

    UNROLL
    for (u32 i = 0; i < n; i++)
        b[i] =
            t.b + (u64)(t.col0 + min_of(l / 4 + i * 8, t.ncols - 1)) * t.g.ldb;

    const auto copy = [&]() {
        const u32 left = k_end > ahead ? min_of(k_end - ahead, 2u) : 0;

        steps.copy([&](u32 i, u32 *nbytes) {
            *nbytes = left * (u32)sizeof(f64);
            return reinterpret_cast<const u8 *>((i < n ? b[i] : a) +
                                                (left ? ahead : 0));
        });
        ahead += warps * 8;
    };
    UNROLL
    for (u32 s = 0; s + 1 < Stages; s++)
        copy();
    NO_UNROLL
    for (; k < k_end; k += warps * 8) {
        Piece w[n + 1];

        steps.take(w);
        copy();
        UNROLL
        for (u32 i = 0; i < n; i += 2)
            mma_f64(sums[i / 2], piece_part<f64>(w[i], 0),
                    piece_part<f64>(w[i + 1], 0), piece_part<f64>(w[i], 1),
                    piece_part<f64>(w[i + 1], 1), piece_part<f64>(w[n], 0),
                    piece_part<f64>(w[n], 1));
    }
    async_copies_wait<0>();
    f64 *const all = reinterpret_cast<f64 *>(lds);

    __syncthreads();
    UNROLL
    for (u32 i = 0; i < n / 2; i++) {
        UNROLL
        for (u32 e = 0; e < 4; e++)
            all[(warp * few_rows + l % 4 * 2 + e % 2) * cols + i * 16 +
                e / 2 * 8 + l / 4] = sums[i][e];
    }
    __syncthreads();
    NO_UNROLL
    for (u32 i = threadIdx.x; i < few_rows * cols; i += few_threads) {
        f64 sum = 0;

        UNROLL
        for (u32 w = 0; w < warps; w++)
            sum += all[w * few_rows * cols + i];
        t.put(i / cols, i % cols, sum);
    }
    __syncthreads();
}

/* Each tile, if the launch gave its LDS. */
template <typename T, bool TransB> struct CopiedRows {
    static constexpr u32 n = per16<T>::value;

    template <u32 rows, u32 cols, u32 Once>
    static DEV_MEMBER void make(const FewTile<T> &tile, u8 *lds)
    {
        constexpr u32 each = 4, stages = 4;
        static_assert(LaneSteps<each, stages, Once>::nbytes == KPK_COPIED_STEPS,
                      "LDS");

        if constexpr (TransB)
            few_copied_nt<rows, cols, each, stages, Once>(tile, lds);
        else
            few_copied_nn<rows, cols, each, stages, Once>(tile, lds);
    }
    /* of f64 more rows than four, and any by the wider tiles */
    template <u32 cols, u32 Once>
    static DEV_MEMBER void make_many(const FewTile<T> &tile, u8 *lds)
    {
        if constexpr (sizeof(T) == 8)
            few_copied_f64<cols, cols == KPK_COPIED_COLS ? 5 : 4, Once>(tile,
                                                                        lds);
        else
            make<few_rows, cols, Once>(tile, lds);
    }
    template <u32 cols>
    static DEV_MEMBER void make_aligned(const FewTile<T> &tile, u8 *lds)
    {
        if constexpr (sizeof(T) == 4 || cols == KPK_COPIED_COLS) {
            if (tile.nrows <= 4) {
                if (tile.nrows == 1)
                    make<1, cols, 16>(tile, lds);
                else if (tile.nrows == 2)
                    make<2, cols, 16>(tile, lds);
                else
                    make<4, cols, 16>(tile, lds);
                return;
            }
        }
        make_many<cols, 16>(tile, lds);
    }
    static DEV_MEMBER bool are_aligned(const T *p, u32 ld, i64 stride)
    {
        return is_aligned(p, 16) && ld % n == 0 && stride % n == 0;
    }
    template <u32 cols>
    static DEV_MEMBER bool run(const Gemm<T> &g, u32 lds_nbytes)
    {
        LDS_BYTES(lds);
        const bool aligned = are_aligned(g.a, g.lda, g.stride_a) &&
                             are_aligned(g.b, g.ldb, g.stride_b);

        if (dynamic_lds_nbytes() < lds_nbytes)
            return false;
        each_part(g, [&](const GemmPart &part) {
            each_tile<few_rows, cols, 1, 1>(g, [&](u32 x, u32 y) {
                const FewTile<T> tile(g, part, x, y, cols);

                if (aligned)
                    make_aligned<cols>(tile, lds);
                else
                    make_many<cols, sizeof(T)>(tile, lds);
            });
        });
        return true;
    }
    static DEV_MEMBER bool run_any(const Gemm<T> &g)
    {
        constexpr u32 cols = KPK_COPIED_COLS;

        if constexpr (sizeof(T) == 8) {
            if (run<2 * cols>(g, KPK_COPIED_F64_LDS))
                return true;
        } else if constexpr (!TransB) {
            if (run<2 * cols>(g, KPK_COPIED_LDS(2 * cols)))
                return true;
        }
        return run<cols>(g, KPK_COPIED_LDS(cols));
    }
};
