/*
 * rows8_mma.h - rows8.h's products by mma.sync, of f16, bf16 and some of f64
 *
 * The 16 rows of mma.sync are columns of B, and its 8 columns are rows of A.
 * Both operands come from memory straight into mma.sync's registers: a lane may
 * hold any k, as long as A and B agree. Each of the 8 warps makes all 64
 * columns over every 8th piece of K; the warps' sums are joined in LDS.
 */
#pragma once

#include "matrix/rows8_tile.h"
#include "nvidia/copy/any_piece.h"
#if KPK_WARPGROUPS
#include "nvidia/gemm/rows8_ring.h"
#endif

/* ---- a warp's steps ---- */

/* B along K: a piece of columns l/4 and l/4 + 8, and of row l/4 of A. */
template <typename T> struct AlongKStep {
    static DEV_MEMBER void multiply(f32 (&sum)[4], const Piece &w,
                                    const Piece &w8, const Piece &x)
    {
        UNROLL
        for (u32 h = 0; h < 4; h += 2)
            MmaOp<T>::call(sum, {w[h], w8[h], w[h + 1], w8[h + 1]}, x[h],
                           x[h + 1]);
    }
};
template <> struct AlongKStep<f64> {
    static DEV_MEMBER void multiply(f64 (&sum)[4], const Piece &w,
                                    const Piece &w8, const Piece &x)
    {
        mma_f64(sum, piece_part<f64>(w, 0), piece_part<f64>(w8, 0),
                piece_part<f64>(w, 1), piece_part<f64>(w8, 1),
                piece_part<f64>(x, 0), piece_part<f64>(x, 1));
    }
};

/* B along N: a piece from each of rows 4 (l%4) to 4 (l%4) + 3 of 16, and the
 * same k of row l/4 of A; for f64 half as many rows. Rows l/4 and l/4 + 8 of an
 * instruction are two columns side by side; a piece has `pairs` such pairs. */
template <typename T> struct AlongNStep {
    static constexpr u32 pairs = 4;

    static DEV_MEMBER void multiply(f32 (*sums)[4], const Piece (&w)[4],
                                    const Pack<T, 4> &four)
    {
        const Pack<u32, 2> x = bits_as<Pack<u32, 2>>(four);

        UNROLL
        for (u32 j = 0; j < pairs; j++)
            MmaOp<T>::call(sums[j],
                           {__byte_perm(w[0][j], w[1][j], 0x5410),
                            __byte_perm(w[0][j], w[1][j], 0x7632),
                            __byte_perm(w[2][j], w[3][j], 0x5410),
                            __byte_perm(w[2][j], w[3][j], 0x7632)},
                           x[0], x[1]);
    }
};
template <> struct AlongNStep<f64> {
    static constexpr u32 pairs = 1;

    static DEV_MEMBER void multiply(f64 (*sums)[4], const Piece (&w)[2],
                                    const Pack<f64, 2> &x)
    {
        mma_f64(sums[0], piece_part<f64>(w[0], 0), piece_part<f64>(w[0], 1),
                piece_part<f64>(w[1], 0), piece_part<f64>(w[1], 1), x[0], x[1]);
    }
};

/* ---- straight from memory ------------------------------------------- */

/* The blocks that share a tile along K, and this one's number. */
struct Sharing {
    u32 ranks, rank;
};

/*
 * Adds up the warps' sums and stores them. sums[j][i] belongs to row 2 (l%4) +
 * i%2 of A, and to column(j, l/4 + i/2 * 8) of the tile.
 */
template <u32 groups, typename T, typename S, class Column>
DEV void rows8_join(const Rows8Tile<T> &t, u8 *lds, const Sharing &sharing,
                    const S (&sums)[groups][4], Column column)
{
    constexpr u32 cols = groups * 16;
    constexpr u32 pitch = KPK_WARPGROUPS ? cols : cols + 4; /* apart in banks */
    const u32 l = threadIdx.x % 32;
    S *const all = reinterpret_cast<S *>(lds);

    __syncthreads();
    UNROLL
    for (u32 j = 0; j < groups; j++) {
        UNROLL
        for (u32 i = 0; i < 4; i++)
            all[(threadIdx.x / 32 * rows8_rows + l % 4 * 2 + i % 2) * pitch +
                column(j, l / 4 + i / 2 * 8)] = sums[j][i];
    }
#if KPK_WARPGROUPS
    rows8_finish(t, all, rows8_rows, constant_log2(cols), rows8_warps,
                 sharing.ranks, sharing.rank);
#else
    __syncthreads();
    UNROLL
    for (u32 i = threadIdx.x; i < rows8_rows * cols; i += rows8_threads) {
        const u32 r = i / cols, c = i % cols;
        S sum = 0;

        UNROLL
        for (u32 w = 0; w < rows8_threads / 32; w++)
            sum += all[(w * rows8_rows + r) * pitch + c];
        t.put(r, c, sum);
    }
#endif
}

/* columns of B along K: a lane has piece l%4 of every 8th column from l/4 on */
template <u32 groups, bool Aligned, typename T>
DEV void rows8_mma_nt(const Rows8Tile<T> &t, u8 *lds, const Sharing &sharing)
{
    typedef AnyPiece<Aligned> Any;
    constexpr u32 cols = 2 * groups; /* of a lane */
    constexpr u32 n = per16<T>::value, pace = rows8_threads / 32 * 4 * n;
    /* pieces on their way */
    constexpr u32 most = groups == 1 ? 4 : sizeof(T) == 2 ? 2 : 1;
    constexpr u32 once = Aligned || most == 1 ? most : most / 2;
    const u32 l = threadIdx.x % 32, k_end = t.part.k_end;
    const T *const a =
        t.a + ((u64)min_of(l / 4, t.nrows - 1) * t.g.lda + l % 4 * n);
    const T *b[cols];
    typename Gemm<T>::S sums[groups][4] = {};

    UNROLL
    for (u32 i = 0; i < cols; i++)
        b[i] = t.b +
               ((u64)(t.col0 + min_of(l / 4 + 8 * i, t.ncols - 1)) * t.g.ldb +
                l % 4 * n);
    /* a lane's columns are 8 apart, and so turned by the same */
    const u32 turn_a = Any::turn_of(a), turn_b = Any::turn_of(b[0]);

    NO_UNROLL
    for (u32 k = t.part.k_begin + threadIdx.x / 32 * 4 * n; k < k_end;
         k += once * pace) {
        Any w[once][cols], x[once];
        const bool whole = k_end - k >= (once - 1) * pace + 4 * n;
        const auto left_of = [&](u32 s) {
            const u32 at = k + s * pace + l % 4 * n;

            return whole ? n : k_end > at ? k_end - at : 0;
        };

        UNROLL
        for (u32 s = 0; s < once; s++) {
            UNROLL
            for (u32 i = 0; i < cols; i++)
                w[s][i].load(b[i] + k + s * pace, left_of(s));
            x[s].load(a + k + s * pace, left_of(s));
        }
        UNROLL
        for (u32 s = 0; s < once; s++) {
            Piece v[cols], row = x[s].get(turn_a);

            UNROLL
            for (u32 i = 0; i < cols; i++)
                v[i] = w[s][i].get(turn_b);
            if (!whole) {
                UNROLL
                for (u32 i = 0; i < cols; i++)
                    v[i] = first_of_piece<T>(v[i], left_of(s));
                row = first_of_piece<T>(row, left_of(s));
            }
            UNROLL
            for (u32 j = 0; j < groups; j++)
                AlongKStep<T>::multiply(sums[j], v[2 * j], v[2 * j + 1], row);
        }
    }
    rows8_join(t, lds, sharing, sums,
               [](u32 j, u32 row) -> u32 { return j * 16 + row; });
}

/*
 * Rows of B along N: a lane has columns 8 (l/4) to 8 (l/4) + 7 of rows 4 (l%4)
 * to 4 (l%4) + 3 of 16, and puts two rows' numbers into a word.
 */
template <bool AlignedA, bool AlignedB, typename T>
DEV void rows8_mma_nn(const Rows8Tile<T> &t, u8 *lds, const Sharing &sharing)
{
    typedef AnyPiece<AlignedB> Any;
    constexpr u32 once = AlignedB ? 4 : 2;
    constexpr u32 pace = rows8_threads / 2; /* pieces of 16 */
    const u32 l = threadIdx.x % 32, k_end = t.part.k_end;
    const u32 c = t.col0 + l / 4 * 8;
    const u32 cols = t.g.n > c ? min_of(t.g.n - c, 8u) : 0;
    const T *const a =
        t.a + ((u64)min_of(l / 4, t.nrows - 1) * t.g.lda + l % 4 * 4);
    const T *const b = t.b + ((u64)(l % 4 * 4) * t.g.ldb + (cols ? c : 0));
    f32 sums[4][4] = {};

    NO_UNROLL
    for (u32 k = t.part.k_begin + threadIdx.x / 32 * 16; k < k_end;
         k += once * pace) {
        Any w[once][4];
        Pack<T, 4> x[once];
        const bool whole = k_end - k >= (once - 1) * pace + 16;
        const auto has = [&](u32 s, u32 i) {
            return whole || k + s * pace + l % 4 * 4 + i < k_end;
        };

        UNROLL
        for (u32 s = 0; s < once; s++) {
            const T *const at = a + k + s * pace;

            UNROLL
            for (u32 i = 0; i < 4; i++)
                w[s][i].load(b + (u64)(k + s * pace + i) * t.g.ldb,
                             has(s, i) ? cols : 0);
            if (AlignedA && whole) {
                x[s] = load_pack<4>(at);
                continue;
            }
            UNROLL
            for (u32 i = 0; i < 4; i++) {
                x[s][i] = T();
                if (has(s, i))
                    x[s][i] = at[i];
            }
        }
        UNROLL
        for (u32 s = 0; s < once; s++) {
            Piece v[4];

            /* 16 rows on, a row is turned by the same */
            UNROLL
            for (u32 i = 0; i < 4; i++)
                v[i] = w[s][i].get(Any::turn_of(b + (u64)i * t.g.ldb));
            AlongNStep<T>::multiply(sums, v, x[s]);
        }
    }
    rows8_join(t, lds, sharing, sums, [](u32 j, u32 row) -> u32 {
        return row % 8 * 8 + 2 * j + row / 8;
    });
}

template <u32 cols, bool AlongB, typename T>
DEV void rows8_mma(const Rows8Tile<T> &t, u8 *lds,
                   const Sharing &sharing = {1, 0})
{
    constexpr u32 n = per16<T>::value;
    const bool b_aligned = is_aligned(t.b, 16) && t.g.ldb % n == 0;

    if constexpr (AlongB) {
        if (b_aligned && is_aligned(t.a, 16) && t.g.lda % n == 0)
            rows8_mma_nt<cols / 16, true>(t, lds, sharing);
        else
            rows8_mma_nt<cols / 16, false>(t, lds, sharing);
    } else if (!b_aligned) {
        rows8_mma_nn<false, false>(t, lds, sharing);
    } else if (is_aligned(t.a, 8) && t.g.lda % 4 == 0) {
        rows8_mma_nn<true, true>(t, lds, sharing);
    } else {
        rows8_mma_nn<false, true>(t, lds, sharing);
    }
}
