/*
 * rows8_along_k.h - few rows where columns of B lie along K, by rows8_ring.h
 */
#pragma once

#include "nvidia/gemm/rows8_mma.h"
#include "nvidia/gemm/rows8_ring.h"

/* Up to so many rows of A are read a step ahead: for more, registers lack. */
constexpr u32 rows_ahead = 4;

/* A piece of A, with zeros behind its first `left` elements. */
template <u32 Once, typename T> DEV Piece load_row(const T *p, u32 left)
{
    if (Once == 16 && left >= per16<T>::value)
        return bits_as<Piece>(load_pack<per16<T>::value>(p));
    return load_piece(p, left);
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
        for (u32 i = 0; i < 2; i++) {
            const u32 v = lane * 2 + i;

            all[(warp / across * rows + v % rows) * cols + c0 + v / rows] =
                sums[i];
        }
    }
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
template <u32 cols, u32 Stages, u32 Once, typename T>
DEV void rows8_along_k_mma(const Rows8Turns<T> &turns, u8 *lds, u8 *joined)
{
    typedef typename Gemm<T>::S S;
    constexpr u32 n = per16<T>::value, pieces = cols / 4;
    constexpr u32 piece_k = 8 * n, step = rows8_warps * piece_k;
    const u32 l = threadIdx.x % 32, warp = threadIdx.x / 32;
    const u32 first = warp * piece_k + l % 8 * n;
    const Gemm<T> &g = turns.g;
    Rows8Place<T> ahead(turns), now(turns);
    WarpSteps<pieces, 1024, Stages, Once> steps(lds);

    const auto place = [&](u32 line) {
        return place_in_lines(line, l % 8, line % 2 * 4);
    };
    const auto copy = [&]() {
        if (!ahead.more()) {
            async_copies_end();
            return;
        }

        const u32 k = ahead.k + first, k_end = ahead.part.k_end;
        const u32 left = k_end > k ? min_of(k_end - k, n) : 0;
        const u32 at = left ? k : 0;

        steps.copy(
            [&](u32) { return place(l / 8); },
            [&](u32 i, u32 *nbytes) {
                const u32 c = l / 8 + i * 4;

                *nbytes = c < ahead.ncols ? left * (u32)sizeof(T) : 0;
                return reinterpret_cast<const u8 *>(
                    ahead.b +
                    ((u64)(ahead.col0 + min_of(c, ahead.ncols - 1)) * g.ldb +
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
                            ahead.a + ((u64)(has_row ? r : 0) * g.lda + at)),
                        has_row ? left * (u32)sizeof(T) : 0);
                }
            });
        ahead.k += step;
        if (ahead.k >= k_end)
            ahead.next();
    };

    steps.begin(copy);
    NO_UNROLL
    for (; now.more(); now.next()) {
        S sums[cols / 16][4] = {};

        /* K of 0 has a step of zeros, too */
        NO_UNROLL
        do {
            const u8 *const lines = steps.take();
            Piece w[2][cols / 8], x[2];

            UNROLL
            for (u32 h = 0; h < 2; h++) {
                const auto piece_of = [&](u32 line) {
                    return piece_in_lines(lines, line, l % 4 + h * 4,
                                          line % 2 * 4);
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
                    AlongKStep<T>::multiply(sums[i], w[h][2 * i],
                                            w[h][2 * i + 1], x[h]);
            }
            now.k += step;
        } while (now.k < now.part.k_end);

        S *const all = reinterpret_cast<S *>(joined);

        UNROLL
        for (u32 i = 0; i < cols / 16; i++) {
            UNROLL
            for (u32 e = 0; e < 4; e++)
                all[(warp * rows8_rows + l % 4 * 2 + e % 2) * cols + i * 16 +
                    e / 2 * 8 + l / 4] = sums[i][e];
        }

        Rows8Tile<T> t(g, now.part, 0, 0, 0);

        t.row0 = now.row0, t.col0 = now.col0;
        t.nrows = now.nrows, t.ncols = now.ncols;
        rows8_finish(t, all, rows8_rows, constant_log2(cols), rows8_warps,
                     turns.ranks, turns.rank);
    }
    async_copies_wait<0>();
}
