/*
 * rows8_along.h - few rows by the steps of rows8_ring.h: where rows of B lie
 * along N, and where columns of B lie along K
 */
#pragma once

#include "nvidia/gemm/rows8_mma.h"
#include "nvidia/gemm/rows8_ring.h"

/*
 * ---- rows of B along N ----
 *
 * Where tiles are wider than a warp's columns, warps lie side by side; else all
 * warps lie along K.
 */

/* The sums of a warp's first `lanes` lanes and of all that have the same
 * columns, to LDS where no step is needed any more. */
template <u32 rows, u32 n>
DEV void put_row_sums(f32 (&sums)[rows][n], u32 lanes, f32 *to, u32 log2_cols)
{
    NO_UNROLL
    for (u32 mask = lanes; mask < 32; mask *= 2) {
        UNROLL
        for (u32 i = 0; i < rows * n; i++)
            sums[i / n][i % n] +=
                __shfl_xor_sync(0xffffffffu, sums[i / n][i % n], mask);
    }
    __syncthreads();
    if (threadIdx.x % 32 < lanes) {
        UNROLL
        for (u32 r = 0; r < rows; r++) {
            UNROLL
            for (u32 e = 0; e < n; e++)
                to[(r << log2_cols) + e] = sums[r][e];
        }
    }
}

/*
 * f32, by FMA. A lane has four columns of four rows of B. Lanes lie side by
 * side across the tile's columns, and the rest of them along K: so a warp's
 * step has 4 to 32 of K. Each row of A has a line in LDS for them.
 */
template <u32 rows, u32 Stages, u32 Once>
DEV void rows8_along_n_fma(const Rows8Tile<f32> &t, u8 *lds, u32 ranks,
                           u32 rank)
{
    constexpr u32 n = 4, each = 4, line = 128;
    const u32 log2_cols = rows8_log2(t.ncols, 4), lanes = 1u << log2_cols >> 2;
    const u32 l = threadIdx.x % 32, warp = threadIdx.x / 32;
    const u32 once = 32 / lanes * each, step = rows8_warps * once;
    const u32 k_end = t.part.k_end, c = l % lanes * n;
    const u32 there = c < t.ncols ? min_of(t.ncols - c, n) : 0;
    const f32 *const b = t.b + t.col0 + (there ? c : 0);
    /* the piece of A that the lane copies */
    const u32 a_row = l * each / once, a_k = l * each % once;
    WarpSteps<each, rows * line, Stages, Once> steps(lds);
    f32 sums[rows][n] = {};
    u32 k0 = t.part.k_begin + warp * once, ahead = k0;

    const auto copy = [&]() {
        const u32 at = ahead + l / lanes * each;

        steps.copy([&](u32) { return l * 16; },
                   [&](u32 i, u32 *nbytes) {
                       const bool is_there = at + i < k_end;

                       *nbytes = is_there ? there * (u32)sizeof(f32) : 0;
                       return reinterpret_cast<const u8 *>(
                           b + (u64)(is_there ? at + i : 0) * t.g.ldb);
                   },
                   [&](u32 to) {
                       NO_UNROLL
                       for (u32 r = a_row; r < rows; r += 32 * each / once) {
                           const u32 ka = ahead + a_k;
                           const u32 left = r < t.nrows && ka < k_end
                                                ? min_of(k_end - ka, n)
                                                : 0;

                           steps.template copy_piece<Once>(
                               to + r * line + a_k * (u32)sizeof(f32),
                               reinterpret_cast<const u8 *>(
                                   t.a + ((u64)(left ? r : 0) * t.g.lda +
                                          (left ? ka : 0))),
                               left * (u32)sizeof(f32));
                       }
                   });
        ahead += step;
    };

    steps.begin(copy);
    NO_UNROLL
    for (; k0 < k_end; k0 += step) {
        const u8 *const now = steps.take();
        const u8 *const x_at = now + each * 512 + l / lanes * 16;
        Piece w[each];

        UNROLL
        for (u32 i = 0; i < each; i++)
            w[i] = *reinterpret_cast<const Piece *>(now + i * 512 + l * 16);
        copy();
        UNROLL
        for (u32 r = 0; r < rows; r++) {
            const Piece x = *reinterpret_cast<const Piece *>(x_at + r * line);

            UNROLL
            for (u32 i = 0; i < each; i++) {
                UNROLL
                for (u32 e = 0; e < n; e++)
                    sums[r][e] = fmaf(bits_as<f32>(x[i]), bits_as<f32>(w[i][e]),
                                      sums[r][e]);
            }
        }
    }
    async_copies_wait<0>();
    __syncwarp();
    f32 *const all = reinterpret_cast<f32 *>(lds);

    put_row_sums(sums, lanes, all + (warp * rows << log2_cols) + c, log2_cols);
    rows8_finish(t, all, rows, log2_cols, rows8_warps, ranks, rank);
}

/*
 * All other types, by rows8_mma.h's steps of 64 columns: 16 of K of f16 and
 * bf16, 8 of f64. Lines of 128 bytes of B lie in LDS as in memory.
 */
template <typename T> struct Rows8AlongN {
    static constexpr u32 k = 16, groups = 1; /* lines of a row */
    static constexpr u32 a_nbytes = 256;     /* of 8 rows */
    static constexpr u32 pairs = AlongNStep<T>::pairs;
};
template <> struct Rows8AlongN<f64> {
    static constexpr u32 k = 8, groups = 4;
    static constexpr u32 a_nbytes = 512;
    static constexpr u32 pairs = AlongNStep<f64>::pairs;
};

/* A warp's sums as AlongNStep makes them, to LDS. */
template <u32 n, u32 pairs, u32 count, typename S>
DEV void put_mma_sums(const S (&sums)[count][4], S *to, u32 log2_cols)
{
    const u32 l = threadIdx.x % 32;

    UNROLL
    for (u32 j = 0; j < count; j++) {
        UNROLL
        for (u32 e = 0; e < 4; e++)
            to[((l % 4 * 2 + e % 2) << log2_cols) +
               (j / pairs * 8 + l / 4) * n + j % pairs * 2 + e / 2] =
                sums[j][e];
    }
}

template <u32 Stages, u32 Once, typename T>
DEV void rows8_along_n_mma(const Rows8Tile<T> &t, u8 *lds, u32 ranks, u32 rank)
{
    typedef typename Gemm<T>::S S;
    typedef Rows8AlongN<T> Way;
    typedef AlongNStep<T> Step;
    constexpr u32 n = per16<T>::value, log2_warp = 6, lane_k = Way::k / 4;
    constexpr u32 pieces = Way::k / 4 * Way::groups, pairs = Way::pairs;
    const u32 log2_cols = rows8_log2(t.ncols, log2_warp);
    const u32 across = 1u << (log2_cols - log2_warp);
    const u32 step = rows8_warps / across * Way::k;
    const u32 l = threadIdx.x % 32, warp = threadIdx.x / 32;
    const u32 k_end = t.part.k_end, c0 = warp % across * 64;
    const T *const b = t.b + t.col0;
    const bool has_row = l / 4 < t.nrows;
    const T *const a = t.a + (u64)(has_row ? l / 4 : 0) * t.g.lda;
    WarpSteps<pieces, Way::a_nbytes, Stages, Once> steps(lds);
    S sums[Way::groups * pairs][4] = {};
    u32 k0 = t.part.k_begin + warp / across * Way::k, ahead = k0;

    /* the lines of lane_k of K have the same turn */
    const auto turn_of = [](u32 line) { return line / lane_k * 2; };
    const auto copy = [&]() {
        steps.copy(
            [&](u32 i) {
                return place_in_lines(l / 8, l % 8,
                                      turn_of(i / Way::groups * 4 + l / 8));
            },
            [&](u32 i, u32 *nbytes) {
                const u32 k = ahead + i / Way::groups * 4 + l / 8;
                const u32 c = c0 + (i % Way::groups * 8 + l % 8) * n;
                const u32 there =
                    c < t.ncols && k < k_end ? min_of(t.ncols - c, n) : 0;

                *nbytes = there * (u32)sizeof(T);
                return reinterpret_cast<const u8 *>(
                    b + ((u64)(there ? k : 0) * t.g.ldb + (there ? c : 0)));
            },
            [&](u32 to) {
                const u32 k = ahead + l % 4 * lane_k;
                const u32 left =
                    has_row && k < k_end ? min_of(k_end - k, lane_k) : 0;
                const u8 *const p =
                    reinterpret_cast<const u8 *>(a + (left ? k : 0));

                if constexpr (sizeof(T) == 8)
                    steps.template copy_piece<Once>(to + l * 16, p,
                                                    left * (u32)sizeof(T));
                else
                    async_copy_few<8>(to + l * 8, p, left * (u32)sizeof(T));
            });
        ahead += step;
    };

    steps.begin(copy);
    NO_UNROLL
    for (; k0 < k_end; k0 += step) {
        const u8 *const now = steps.take();
        Piece w[Way::groups][lane_k];
        const Pack<T, lane_k> x =
            reinterpret_cast<const Pack<T, lane_k> *>(now + pieces * 512)[l];

        UNROLL
        for (u32 g = 0; g < Way::groups; g++) {
            UNROLL
            for (u32 i = 0; i < lane_k; i++) {
                const u32 line = l % 4 * lane_k + i;

                w[g][i] = piece_in_lines(
                    now, line / 4 * 4 * Way::groups + g * 4 + line % 4, l / 4,
                    turn_of(line));
            }
        }
        copy();
        UNROLL
        for (u32 g = 0; g < Way::groups; g++)
            Step::multiply(&sums[g * pairs], w[g], x);
    }
    async_copies_wait<0>();
    S *const all = reinterpret_cast<S *>(lds);

    __syncthreads();
    put_mma_sums<n, pairs>(
        sums, all + (warp / across * rows8_rows << log2_cols) + c0, log2_cols);
    rows8_finish(t, all, rows8_rows, log2_cols, rows8_warps / across, ranks,
                 rank);
}

/* ---- columns of B along K ---- */

/* Up to so many rows of A are read a step ahead: for more, registers lack. */
constexpr u32 rows_ahead = 4;

/* A piece of A, with zeros behind its first `left` elements. */
template <u32 Once, typename T> DEV Piece load_row(const T *p, u32 left)
{
    if (Once == 16 && left >= per16<T>::value)
        return bits_as<Piece>(load_pack<per16<T>::value>(p));
    return load_piece(p, left);
}

/* A warp's sums of four columns over its lanes, to LDS where no step is needed
 * any more. */
template <u32 rows, typename S>
DEV void put_lane_sums(S (&sums)[4 * rows], S *to)
{
    constexpr u32 half = 2 * rows;
    const u32 lane = lane_id() % 32;

    sum_over_lanes(sums);
    UNROLL
    for (u32 i = 0; i < 2; i++) {
        UNROLL
        for (u32 mask = half; mask < 32; mask *= 2)
            sums[i] += __shfl_xor_sync(0xffffffffu, sums[i], mask);
    }
    __syncthreads();
    if (lane < half) {
        UNROLL
        for (u32 i = 0; i < 2; i++) {
            const u32 v = lane * 2 + i;

            to[v % rows * KPK_ALONG_COLS + v / rows] = sums[i];
        }
    }
}

/* By FMA: lanes along K, four columns a warp, two warps over K. A stays in
 * L1. */
template <u32 rows, u32 Stages, u32 Once, typename T>
DEV void rows8_along_k_fma(const Rows8Tile<T> &t, u8 *lds, u32 ranks, u32 rank)
{
    typedef typename Gemm<T>::S S;
    constexpr u32 n = per16<T>::value, each = 4, values = each * rows;
    constexpr u32 cols = KPK_ALONG_COLS, across = cols / each;
    constexpr u32 groups = rows8_warps / across, piece_k = 32 * n;
    const u32 lane = lane_id() % 32, warp = threadIdx.x / 32;
    const u32 c0 = warp % across * each, k_end = t.part.k_end;
    const T *column[each], *row[rows];
    WarpSteps<each, 0, Stages, Once> steps(lds);
    S sums[values] = {};
    u32 k = t.part.k_begin + warp / across * piece_k + lane * n, ahead = k;

    UNROLL
    for (u32 c = 0; c < each; c++)
        column[c] = t.b + (u64)(t.col0 + min_of(c0 + c, t.ncols - 1)) * t.g.ldb;
    UNROLL
    for (u32 r = 0; r < rows; r++)
        row[r] = t.a + (u64)min_of(r, t.nrows - 1) * t.g.lda;

    const auto copy = [&]() {
        const u32 left = k_end > ahead ? min_of(k_end - ahead, n) : 0;

        steps.copy([&](u32) { return lane * 16; },
                   [&](u32 i, u32 *nbytes) {
                       *nbytes = c0 + i < t.ncols ? left * (u32)sizeof(T) : 0;
                       return reinterpret_cast<const u8 *>(column[i] +
                                                           (left ? ahead : 0));
                   },
                   [](u32) {});
        ahead += groups * piece_k;
    };
    Piece x[rows];
    const auto load = [&]() {
        UNROLL
        for (u32 r = 0; r < rows; r++)
            x[r] = load_row<Once>(row[r] + k, k_end > k ? k_end - k : 0);
    };

    steps.begin(copy);
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
        k += groups * piece_k;
        if (rows <= rows_ahead)
            load();
        const u8 *const lines = steps.take();

        UNROLL
        for (u32 i = 0; i < each; i++)
            w[i] =
                *reinterpret_cast<const Piece *>(lines + i * 512 + lane * 16);
        copy();
        UNROLL
        for (u32 i = 0; i < values; i++)
            sums[i] = piece_dot<T>::of(now[i % rows], w[i / rows], sums[i]);
    }
    async_copies_wait<0>();
    S *const all = reinterpret_cast<S *>(lds);

    put_lane_sums<rows>(sums, all + warp / across * rows * cols + c0);
    rows8_finish(t, all, rows, constant_log2(cols), groups, ranks, rank);
}

/* A tile and how far it is asked for, or multiplied. */
template <typename T> struct Rows8Place {
    Rows8Turns<T> turns;
    GemmPart part;
    u32 row0, col0, nrows, ncols, k;
    const T *a, *b;

    DEV_MEMBER explicit Rows8Place(const Rows8Turns<T> &first) : turns(first)
    {
        find();
    }
    DEV_MEMBER bool more() const
    {
        return turns.at < turns.count;
    }
    DEV_MEMBER void find()
    {
        if (!more())
            return;

        const Rows8Tile<T> t = turns.tile(part);

        row0 = t.row0, col0 = t.col0, nrows = t.nrows, ncols = t.ncols;
        a = t.a, b = t.b;
        k = part.k_begin;
    }
    DEV_MEMBER void next()
    {
        turns.at += clusters();
        find();
    }
};

/*
 * By mma, with rows8_mma.h's steps. Each warp makes all columns over a part of
 * K. Lines of A, too, have 128 bytes in LDS. Steps go on from tile to tile.
 */
template <u32 cols, u32 Stages, u32 Once, typename T> struct AlongKMma {
    typedef typename Gemm<T>::S S;
    static constexpr u32 n = per16<T>::value, pieces = cols / 4;
    static constexpr u32 piece_k = 8 * n, step = rows8_warps * piece_k;
    WarpSteps<pieces, 1024, Stages, Once> steps;
    Rows8Place<T> ahead; /* the next step to copy */
    S sums[cols / 16][4];

    static DEV_MEMBER u32 place(u32 line)
    {
        return place_in_lines(line, threadIdx.x % 8, line % 2 * 4);
    }
    DEV_MEMBER void copy()
    {
        const u32 l = threadIdx.x % 32, warp = threadIdx.x / 32;

        if (!ahead.more()) {
            async_copies_end();
            return;
        }

        const u32 k = ahead.k + warp * piece_k + l % 8 * n;
        const u32 k_end = ahead.part.k_end;
        const u32 left = k_end > k ? min_of(k_end - k, n) : 0;
        const u32 at = left ? k : 0;

        steps.copy(
            [&](u32) { return place(l / 8); },
            [&](u32 i, u32 *nbytes) {
                const u32 c = l / 8 + i * 4;

                *nbytes = c < ahead.ncols ? left * (u32)sizeof(T) : 0;
                return reinterpret_cast<const u8 *>(
                    ahead.b + ((u64)(ahead.col0 + min_of(c, ahead.ncols - 1)) *
                                   ahead.turns.g.ldb +
                               at));
            },
            [&](u32 to) {
                UNROLL
                for (u32 i = 0; i < 2; i++) {
                    const u32 r = l / 8 + i * 4;
                    const bool has_row = r < ahead.nrows;

                    steps.template copy_piece<Once>(
                        to + i * 512 + place(l / 8),
                        reinterpret_cast<const u8 *>(
                            ahead.a +
                            ((u64)(has_row ? r : 0) * ahead.turns.g.lda + at)),
                        has_row ? left * (u32)sizeof(T) : 0);
                }
            });
        ahead.k += step;
        if (ahead.k >= k_end)
            ahead.next();
    }
    /* Adds a step's products, and copies the next step. */
    DEV_MEMBER void multiply()
    {
        const u8 *const lines = steps.take();
        const u32 l = threadIdx.x % 32;
        Piece w[2][cols / 8], x[2];

        UNROLL
        for (u32 h = 0; h < 2; h++) {
            const auto piece_of = [&](u32 line) {
                return piece_in_lines(lines, line, l % 4 + h * 4, line % 2 * 4);
            };

            UNROLL
            for (u32 i = 0; i < cols / 8; i++)
                w[h][i] = piece_of(l / 4 + i * 8);
            x[h] = piece_of(cols + l / 4);
        }
        copy();
        UNROLL
        for (u32 h = 0; h < 2; h++) {
            UNROLL
            for (u32 i = 0; i < cols / 16; i++)
                AlongKStep<T>::multiply(sums[i], w[h][2 * i], w[h][2 * i + 1],
                                        x[h]);
        }
    }
    DEV_MEMBER void put_sums(S *all) const
    {
        const u32 l = threadIdx.x % 32, warp = threadIdx.x / 32;

        UNROLL
        for (u32 i = 0; i < cols / 16; i++) {
            UNROLL
            for (u32 e = 0; e < 4; e++)
                all[(warp * rows8_rows + l % 4 * 2 + e % 2) * cols + i * 16 +
                    e / 2 * 8 + l / 4] = sums[i][e];
        }
    }
    static DEV_MEMBER void run(const Rows8Turns<T> &turns, u8 *lds, u8 *joined)
    {
        S *const all = reinterpret_cast<S *>(joined);
        Rows8Place<T> now(turns);
        AlongKMma m = {WarpSteps<pieces, 1024, Stages, Once>(lds),
                       Rows8Place<T>(turns),
                       {}};

        m.steps.begin([&] { m.copy(); });
        NO_UNROLL
        for (; now.more(); now.next()) {
            UNROLL
            for (u32 i = 0; i < cols / 4; i++)
                m.sums[i / 4][i % 4] = 0;

            /* K of 0 has a step of zeros, too */
            NO_UNROLL
            do {
                m.multiply();
                now.k += step;
            } while (now.k < now.part.k_end);
            m.put_sums(all);

            Rows8Tile<T> t(turns.g, now.part, 0, 0, 0);

            t.row0 = now.row0, t.col0 = now.col0;
            t.nrows = now.nrows, t.ncols = now.ncols;
            rows8_finish(t, all, rows8_rows, constant_log2(cols), rows8_warps,
                         turns.ranks, turns.rank);
        }
        async_copies_wait<0>();
    }
};
