/* transposed_tile.h - sm_90's tiles of few rows of C, by the tiles of
 * warpgroups */
#pragma once

#include "nvidia/gemm/tile_loop.h"

/*
 * Tiles of few rows of C. wgmma has never fewer than 64 rows, so its rows are
 * columns of B, and its columns are rows of A.
 */
template <typename T, u32 Rows, u32 Cols, class Tile>
struct TransposedTiles : GemmTiles<T, Rows, Cols, Tile> {
    typedef GemmTiles<T, Rows, Cols, Tile> G;
    typedef typename G::Place Place;
    using G::ahead;
    using G::g;

    DEV_MEMBER explicit TransposedTiles(const Gemm<T> &gemm) : G(gemm)
    {
    }
    static DEV_MEMBER bool fits(const Gemm<T> &g)
    {
        return dynamic_lds_nbytes() >= Tile::lds_nbytes &&
               TileOrder<T, Rows, Cols>{g}.has_few() &&
               Tile::CopyA::fits(g.b, g.ldb, g.batch, g.stride_b) &&
               Tile::CopyB::fits(g.a, g.lda, g.batch, g.stride_a);
    }
    DEV_MEMBER typename Tile::Start begin(const Tile &, typename Tile::CopyA &a,
                                          typename Tile::CopyB &b) const
    {
        const Place &p = ahead;

        a = typename Tile::CopyA(g.b + (i64)p.part.b * g.stride_b, p.col0, g.n,
                                 g.ldb, p.part.k_begin);
        b = typename Tile::CopyB(g.a + (i64)p.part.b * g.stride_a, p.row0, g.m,
                                 g.lda, p.part.k_begin);
        return {p.part.k_end - p.part.k_begin, true};
    }
    DEV_MEMBER void store(const Tile &tile, const Place &p, u8 *) const
    {
        const GemmOut<T> out(g, p.part);

        tile.each_sum([&](u32 c, u32 r, f32 sum) { put(out, p, r, c, sum); });
    }
    DEV_MEMBER void put(const GemmOut<T> &out, const Place &p, u32 r, u32 c,
                        f32 sum) const
    {
        if (r < g.m - p.row0 && c < g.n - p.col0)
            out.put(p.row0 + r, p.col0 + c, sum);
    }
    DEV_MEMBER void share(Tile &tile, const Place &p, u8 *lds) const
    {
        const GemmOut<T> out(g, p.part);

        tile.each_shared(
            lds, G::more(), [&](u32 c0, u32 r0, u32 rows, const f32 *sums) {
                NO_UNROLL
                for (u32 e = threadIdx.x % 32; e < 16 * rows; e += 32)
                    put(out, p, r0 + e / 16, c0 + e % 16,
                        sums[e % 16 * Tile::rows_pitch + e / 16]);
            });
    }
};
