/*
 * rows8_copied.h - rows8.h's products of f32 and f64 on sm_90, by copies: which
 */
#pragma once

#include "nvidia/copy/mma_operands.h"
#include "nvidia/gemm/rows8_along.h"

/* By copies, if the launch gave LDS for them. */
template <typename T, bool TransB> struct CopiedRows {
    static constexpr u32 n = per16<T>::value, size = sizeof(T);
    static constexpr u32 lds_nbytes =
        TransB ? KPK_ALONG_LDS : KPK_ACROSS_LDS(size);
    static constexpr u32 most_cols = TransB      ? KPK_ALONG_COLS
                                     : size == 4 ? 128
                                                 : 512;

    template <u32 rows, u32 Once>
    static DEV_MEMBER void make(const Rows8Tile<T> &t, u8 *lds, u32 ranks,
                                u32 rank)
    {
        if constexpr (TransB)
            rows8_along_k_fma<rows, KPK_ALONG_STAGES, Once>(t, lds, ranks,
                                                            rank);
        else if constexpr (size == 4)
            rows8_along_n_fma<rows, KPK_ACROSS_STAGES(size), Once>(t, lds,
                                                                   ranks, rank);
        else
            rows8_along_n_mma<KPK_ACROSS_STAGES(size), Once>(t, lds, ranks,
                                                             rank);
    }
    /* Makes the tile's rows, up to `most` at a time. */
    template <u32 most, u32 Once>
    static DEV_MEMBER void make_in_parts(const Rows8Tile<T> &all, u8 *lds,
                                         u32 ranks, u32 rank)
    {
        NO_UNROLL
        for (u32 r = 0; r < all.nrows; r += most) {
            Rows8Tile<T> t(all);

            t.row0 += r;
            t.nrows = min_of(all.nrows - r, most);
            t.a += (u64)r * t.g.lda;
            make<most, Once>(t, lds, ranks, rank);
        }
    }
    static DEV_MEMBER void make_any(const Rows8Tile<T> &t, bool aligned,
                                    u8 *lds, u32 ranks, u32 rank)
    {
        constexpr bool few = size == 8 && TransB; /* registers */

        if (!aligned)
            make_in_parts<few ? 4 : rows8_rows, size>(t, lds, ranks, rank);
        else if (size == 8 && !TransB)
            make<rows8_rows, 16>(t, lds, ranks, rank);
        else if (t.nrows == 1)
            make<1, 16>(t, lds, ranks, rank);
        else if (t.nrows == 2)
            make<2, 16>(t, lds, ranks, rank);
        else if (few || t.nrows <= 4)
            make_in_parts<4, 16>(t, lds, ranks, rank);
        else
            make<rows8_rows, 16>(t, lds, ranks, rank);
    }
    static DEV_MEMBER bool are_aligned(const T *p, u32 ld, i64 stride)
    {
        return is_aligned(p, 16) && ld % n == 0 && stride % n == 0;
    }
    /* joined: LDS of the kernel's own, for sums while steps go on */
    static DEV_MEMBER bool run(const Gemm<T> &g, u8 *joined)
    {
        LDS_BYTES(lds);
        const u32 there = dynamic_lds_nbytes();
        const bool aligned = are_aligned(g.a, g.lda, g.stride_a) &&
                             are_aligned(g.b, g.ldb, g.stride_b);

        if (there < lds_nbytes)
            return false;
        let_next_launch_begin();
        wait_for_launch_before();
        if constexpr (size == 8 && TransB) {
            if (there >= KPK_ALONG_MMA_LDS) {
                constexpr u32 cols = KPK_ALONG_MMA_COLS;
                const Rows8Turns<T> turns(g, cols, 4);

                if (aligned)
                    AlongKMma<cols, KPK_ALONG_STAGES, 16, T>::run(turns, lds,
                                                                  joined);
                else
                    AlongKMma<cols, KPK_ALONG_STAGES, size, T>::run(turns, lds,
                                                                    joined);
                return true;
            }
        }
        NO_UNROLL
        for (Rows8Turns<T> turns(g, most_cols, TransB ? 4 : 2 * n);
             turns.at < turns.count; turns.at += clusters()) {
            GemmPart part;
            const Rows8Tile<T> t = turns.tile(part);

            make_any(t, aligned, lds, turns.ranks, turns.rank);
        }
        return true;
    }
};
