/*
 * skinny_f16.h - skinny_gemm.h's products of f16 and bf16 by mma.sync
 *
 * The 16 rows of mma.sync are columns of B, and its 8 columns are rows of A.
 * Both operands come from memory straight into mma.sync's registers: a lane may
 * hold any k, as long as A and B agree. Each of the 8 warps makes all columns
 * of the tile over every 8th piece of K; the warps' sums are joined in LDS.
 */
#pragma once

#include "nvidia/copy/any_piece.h"
#include "nvidia/gemm/skinny_schedule.h"

/*
 * Adds up the warps' sums and stores them. sums[j][i] belongs to row 2 (l%4) +
 * i%2 of A, and to column(j, l/4 + i/2 * 8) of the tile.
 */
template <u32 groups, typename T, class Column>
DEV void skinny_join(const SkinnyTile<T> &t, u8 *lds,
                     const f32 (&sums)[groups][4], Column column)
{
    constexpr u32 cols = groups * 16;
    const u32 l = threadIdx.x % 32;
    f32 *const all = reinterpret_cast<f32 *>(lds);

    UNROLL
    for (u32 j = 0; j < groups; j++) {
        UNROLL
        for (u32 i = 0; i < 4; i++)
            all[(threadIdx.x / 32 * skinny_rows + l % 4 * 2 + i % 2) * cols +
                column(j, l / 4 + i / 2 * 8)] = sums[j][i];
    }
    skinny_finish(t, all, constant_log2(cols), skinny_warps);
}

/* columns of B along K: a lane has piece l%4 of every 8th column from l/4 on */
template <u32 groups, bool Aligned, typename T>
DEV void skinny_mma_nt(const SkinnyTile<T> &t, u8 *lds)
{
    typedef AnyPiece<Aligned> Any;
    constexpr u32 cols = 2 * groups; /* of a lane */
    constexpr u32 n = per16<T>::value, pace = skinny_threads / 32 * 4 * n;
    /* pieces on their way */
    constexpr u32 once = (groups == 1 ? 4 : 2) / (Aligned ? 1 : 2);
    const u32 l = threadIdx.x % 32, k_end = t.part.k_end;
    const T *const a =
        t.a + ((u64)min_of(l / 4, t.nrows - 1) * t.g.lda + l % 4 * n);
    const T *b[cols];
    f32 sums[groups][4] = {};

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
            for (u32 j = 0; j < groups; j++) {
                const Piece &w0 = v[2 * j], &w8 = v[2 * j + 1];

                UNROLL
                for (u32 h = 0; h < 4; h += 2)
                    MmaOp<T>::call(sums[j],
                                   {w0[h], w8[h], w0[h + 1], w8[h + 1]}, row[h],
                                   row[h + 1]);
            }
        }
    }
    skinny_join(t, lds, sums,
                [](u32 j, u32 row) -> u32 { return j * 16 + row; });
}

/*
 * Rows of B along N: a lane has columns 8 (l/4) to 8 (l/4) + 7 of rows 4 (l%4)
 * to 4 (l%4) + 3 of 16, and puts two rows' numbers into a word.
 */
template <bool AlignedB, typename T>
DEV void skinny_mma_nn(const SkinnyTile<T> &t, u8 *lds)
{
    typedef AnyPiece<AlignedB> Any;
    constexpr u32 once = AlignedB ? 4 : 2;
    constexpr u32 pace = skinny_threads / 2; /* pieces of 16 */
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

            const Pack<u32, 2> row = bits_as<Pack<u32, 2>>(x[s]);

            UNROLL
            for (u32 j = 0; j < 4; j++)
                MmaOp<T>::call(sums[j],
                               {__byte_perm(v[0][j], v[1][j], 0x5410),
                                __byte_perm(v[0][j], v[1][j], 0x7632),
                                __byte_perm(v[2][j], v[3][j], 0x5410),
                                __byte_perm(v[2][j], v[3][j], 0x7632)},
                               row[0], row[1]);
        }
    }
    skinny_join(t, lds, sums, [](u32 j, u32 row) -> u32 {
        return row % 8 * 8 + 2 * j + row / 8;
    });
}

template <u32 cols, bool TransB, typename T>
DEV void skinny_mma(const SkinnyTile<T> &t, u8 *lds)
{
    constexpr u32 n = per16<T>::value;
    const bool b_aligned = is_aligned(t.b, 16) && t.g.ldb % n == 0;

    if constexpr (TransB) {
        if (b_aligned && is_aligned(t.a, 16) && t.g.lda % n == 0)
            skinny_mma_nt<cols / 16, true>(t, lds);
        else
            skinny_mma_nt<cols / 16, false>(t, lds);
    } else if (b_aligned) {
        skinny_mma_nn<true>(t, lds);
    } else {
        skinny_mma_nn<false>(t, lds);
    }
}

/* Computes the block's tiles; they are narrow if the grid has enough blocks. */
template <typename T, bool TransB>
DEV void skinny_mma_tiles(const Gemm<T> &g, u8 *lds)
{
    constexpr u32 unit = TransB ? narrow_cols : skinny_cols;

    NO_UNROLL
    for (SkinnyTurns<T> turns(g, skinny_cols, unit); turns.more();
         turns.next()) {
        GemmPart part;
        const SkinnyTile<T> t = turns.tile(part);

        if (TransB && turns.width == narrow_cols)
            skinny_mma<narrow_cols, TransB>(t, lds);
        else
            skinny_mma<skinny_cols, TransB>(t, lds);
    }
}
