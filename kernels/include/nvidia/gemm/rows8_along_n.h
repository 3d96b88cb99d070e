/*
 * rows8_along_n.h - few rows where rows of B lie along N, by rows8_ring.h
 *
 * Where tiles are wider than a warp's columns, warps lie side by side; else all
 * warps lie along K.
 */
#pragma once

#include "nvidia/gemm/rows8_mma.h"
#include "nvidia/gemm/rows8_ring.h"

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
    /* lanes that have the same columns */
    NO_UNROLL
    for (u32 mask = lanes; mask < 32; mask *= 2) {
        UNROLL
        for (u32 i = 0; i < rows * n; i++)
            sums[i / n][i % n] +=
                __shfl_xor_sync(0xffffffffu, sums[i / n][i % n], mask);
    }
    f32 *const all = reinterpret_cast<f32 *>(lds);

    __syncthreads();
    if (l < lanes) {
        UNROLL
        for (u32 r = 0; r < rows; r++) {
            UNROLL
            for (u32 e = 0; e < n; e++)
                all[((warp * rows + r) << log2_cols) + c + e] = sums[r][e];
        }
    }
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
    UNROLL
    for (u32 j = 0; j < Way::groups * pairs; j++) {
        UNROLL
        for (u32 e = 0; e < 4; e++)
            all[((warp / across * rows8_rows + l % 4 * 2 + e % 2)
                 << log2_cols) +
                c0 + (j / pairs * 8 + l / 4) * n + j % pairs * 2 + e / 2] =
                sums[j][e];
    }
    rows8_finish(t, all, rows8_rows, log2_cols, rows8_warps / across, ranks,
                 rank);
}
