/* transposed_tile.h - sm_90's tiles of few rows of C, by the tiles of
 * warpgroups */
#pragma once

#include "matrix/skinny_tile.h"
#include "nvidia/gemm/gemm_f16.h"
#include "nvidia/gemm/skinny_f16.h"

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
               TileOrder<T, Rows, Cols>{g}.fits_32_bits() &&
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
};

/* The kernels for few rows; the launch's LDS size selects the tile. */
template <typename T, bool TransB> struct SkinnyWarpgroups {
    template <u32 Rows, u32 Cols, u32 Deep, u32 Stages, u32 More, u32 Shares,
              u32 B, u32 Lds>
    static DEV_MEMBER bool by_tile(const Gemm<T> &g)
    {
        static_assert(Lds + KPK_SKINNY_OWN_LDS + 1024 <= 227 * 1024,
                      "there is LDS for steps beside the kernel's own");

        if constexpr (has_wgmma_tile(B, TransB)) {
            typedef WarpgroupTile<T, TransB, true, Rows, Cols,
                                  skinny_threads / 128 / Deep, Deep, Stages,
                                  More, Shares>
                Tile;

            return gemm_by<TransposedTiles<T, Cols, Rows, Tile>, Tile>(g);
        }
        return false;
    }
    static DEV_MEMBER bool fast(const Gemm<T> &g)
    {
#define TILE(tile, rows, cols, deep, stages, more, shares, b, ...)             \
    case KPK_TILE_##tile:                                                      \
        return by_tile<rows, cols, deep, stages, more, shares, b,              \
                       KPK_TILE_LDS(tile, rows, cols, deep, stages, more)>(g);
        switch (wgmma_tile_number()) {
            KPK_GEMM_TILES_8(TILE)
        }
#undef TILE
        return false;
    }
    /* Ragged products with any number of rows, if the launch asks for them, in
     * blocks of more warps than gemm_*_m64 has. */
    template <u32 Rows, u32 WarpRows>
    static DEV_MEMBER bool ragged(const Gemm<T> &g)
    {
        typedef RaggedTile<T, true, TransB, Rows, 64, WarpRows> Tile;

        if (dynamic_lds_nbytes() !=
            KPK_RAGGED_LDS(Rows, Rows == 64 ? KPK_RAGGED_MORE : 0))
            return false;
        let_next_launch_begin();
        return gemm_by<RaggedTiles<T, Rows, 64, Tile>, Tile>(g);
    }
    /* Products that warpgroup tiles cannot take, and launches without LDS. */
    static DEV_MEMBER void unaligned(const Gemm<T> &g, u8 *lds)
    {
        if (ragged<128, 32>(g) || ragged<64, 16>(g))
            return;
        skinny_mma_tiles<T, TransB>(g, lds);
    }
};
