/*
 * f32_f64_tile.h - a warp's products of f32 and f64, for mma_tile.h
 *
 * Nothing is turned over: f32 is multiplied number by number, and of f64's
 * matrix instruction a lane gives the numbers one by one.
 */
#pragma once

#include "nvidia/gemm/mma_tile.h"

/* ---- f32 ------------------------------------------------------------ */

/*
 * A lane's numbers of one operand, whose step lies as L says: four k of N rows
 * at a time. Four neighbouring lanes read two addresses, so that LDS serves 16
 * lanes at once.
 */
template <class L, u32 N, u32 Lanes> struct FmaOperand {
    static_assert(N % 4 == 0, "pieces of four rows");

    /* row i of the N rows of lane `at` of Lanes */
    static DEV_MEMBER u32 row(u32 at, u32 i)
    {
        return L::along ? at + i * Lanes : at * 4 + i % 4 + i / 4 * (4 * Lanes);
    }
    /* Piece c of N: four k of row c, or four rows of one k. */
    static DEV_MEMBER Pack<f32, 4> load(const u8 *step, u32 at, u32 quad, u32 c)
    {
        const u32 r = row(at, row_of(c, 0));

        return load_pack<4>(reinterpret_cast<const f32 *>(
            step + (L::along ? L::place(r, quad)
                             : L::place(quad * 4 + k_of(c, 0), r / 4))));
    }
    /* Row and k of number e in piece c. */
    static DEV_MEMBER u32 row_of(u32 c, u32 e)
    {
        return L::along ? c : c % (N / 4) * 4 + e;
    }
    static DEV_MEMBER u32 k_of(u32 c, u32 e)
    {
        return L::along ? e : c / (N / 4);
    }
};

/* The lanes of a warp: 4 down, 8 across. */
template <class LinesA, class LinesB, u32 WarpRows, u32 WarpCols>
struct WarpProduct<f32, LinesA, LinesB, WarpRows, WarpCols> {
    static constexpr u32 m = WarpRows / 4, n = WarpCols / 8;
    typedef FmaOperand<LinesA, m, 4> A;
    typedef FmaOperand<LinesB, n, 8> B;

    f32 sums[m][n];
    u32 row0, col0, lane_row, lane_col;

    DEV_MEMBER WarpProduct(u32 row, u32 col)
        : row0(row), col0(col),
          lane_row(threadIdx.x % 2 + threadIdx.x / 16 % 2 * 2),
          lane_col(threadIdx.x / 2 % 8)
    {
    }
    DEV_MEMBER void clear()
    {
        UNROLL
        for (u32 i = 0; i < m * n; i++)
            sums[i / n][i % n] = 0;
    }
    DEV_MEMBER void begin(const u8 *)
    {
    }
    /* Unrolled by two, the loop is slower where both operands lie along K. */
    template <bool More, class Next>
    DEV_MEMBER void multiply(const u8 *&step, Next next)
    {
        const u8 *const a = step + row0 * LinesA::row_nbytes;
        const u8 *const b = step + LinesA::nbytes + col0 * LinesB::row_nbytes;

        NO_UNROLL
        for (u32 quad = 0; quad < step_nbytes / 16; quad++) {
            f32 x[m][4];

            UNROLL
            for (u32 c = 0; c < m; c++) {
                const Pack<f32, 4> v = A::load(a, lane_row, quad, c);

                UNROLL
                for (u32 e = 0; e < 4; e++)
                    x[A::row_of(c, e)][A::k_of(c, e)] = v[e];
            }
            UNROLL
            for (u32 c = 0; c < n; c++) {
                const Pack<f32, 4> v = B::load(b, lane_col, quad, c);

                UNROLL
                for (u32 e = 0; e < 4; e++) {
                    UNROLL
                    for (u32 i = 0; i < m; i++) {
                        f32 &sum = sums[i][B::row_of(c, e)];

                        sum = fmaf(x[i][B::k_of(c, e)], v[e], sum);
                    }
                }
            }
        }
        next();
    }
    template <u32 Cols, class Store>
    DEV_MEMBER void each(u32 i, u32, Store store) const
    {
        static_assert(Cols == WarpCols, "in one go");
        UNROLL
        for (u32 e = 0; e < 4 * n; e++)
            store(A::row(lane_row, e / n), B::row(lane_col, e % n),
                  Pack<f32, 1>{{sums[i * 4 + e / n][e % n]}});
    }
};

/* ---- f64 ------------------------------------------------------------ */

/* With t = l%4 and g = l/4, a lane has rows g and g + 8 of an operand, at k t
 * and t + 4. The numbers are loaded one by one, to the registers in which the
 * instruction wants them. */
template <> struct MmaAtom<f64> {
    static constexpr u32 k = 8;
    typedef f64 Fragment[2][2]; /* [row][k] */

    template <class L> static DEV_MEMBER u32 place_of(u32 row0, bool)
    {
        const u32 g = row0 + lane_id() / 4, t = lane_id() % 4;

        return L::along ? L::place(g, t / 2) + t % 2 * 8
                        : L::place(t, g / 2) + g % 2 * 8;
    }
    /* Four of K are 32 bytes of a line, and eight rows 64 bytes, before and
     * after the permutation. */
    template <class L>
    static DEV_MEMBER void load(Fragment &f, const u8 *step, u32 at, u32 i,
                                u32 part)
    {
        UNROLL
        for (u32 e = 0; e < 4; e++) {
            const u32 h = e / 2, k = part * 2 + e % 2;
            const u32 to = L::along ? (at ^ k * 32) + h * 8 * L::line_nbytes
                                    : (at ^ h * 64) + k * 4 * L::line_nbytes;

            f[h][e % 2] = *reinterpret_cast<const f64 *>(
                step + to + i * 16 * L::row_nbytes);
        }
    }
    static DEV_MEMBER void multiply(f64 (&d)[4], const Fragment &a,
                                    const Fragment &b, u32 half)
    {
        mma_f64(d, a[0][0], a[1][0], a[0][1], a[1][1], b[half][0], b[half][1]);
    }
};
