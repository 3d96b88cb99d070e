/* transposed_tile.h - sm_90's tiles of few rows of C, by the tiles of
 * warpgroups */
#pragma once

#include "matrix/rows8_tile.h"
#include "nvidia/gemm/rows8_mma.h"
#include "nvidia/gemm/tile_choice.h"

/*
 * Tiles of few rows of C. wgmma has never fewer than 64 rows, so its rows are
 * columns of B, and its columns are rows of A.
 */
template <typename T, u32 Rows, u32 Cols, class Tile>
struct TransposedTiles : GemmTiles<T, Rows, Cols, Tile, true> {
    typedef GemmTiles<T, Rows, Cols, Tile, true> G;
    typedef typename G::Place Place;
    using G::g;
    using G::G;

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

/* The kernels for few rows, by the tile that the launch asks for. */
template <typename T, bool TransB> struct Rows8Warpgroups {
    template <u32 Rows, u32 Cols, u32 Deep, u32 Stages, u32 More, u32 Shares,
              bool Apart, u32 B, u32 Lds>
    static DEV_MEMBER bool by_tile(const Gemm<T> &g)
    {
        static_assert(Lds + KPK_ROWS8_OWN_LDS + 1024 <= 227 * 1024,
                      "there is LDS for steps beside the kernel's own");

        if constexpr (has_wgmma_tile(B, TransB)) {
            typedef WarpgroupTile<T, TransB, true, Rows, Cols,
                                  (rows8_threads / 128 - Apart) / Deep, Deep,
                                  Stages, More, Shares, Apart>
                Tile;

            return gemm_by<TransposedTiles<T, Cols, Rows, Tile>, Tile>(g);
        }
        return false;
    }
    static DEV_MEMBER bool fast(const Gemm<T> &g)
    {
#define TILE(tile, rows, cols, deep, stages, more, shares, apart, b, ...)      \
    case KPK_TILE_##tile:                                                      \
        return by_tile<rows, cols, deep, stages, more, shares, apart, b,       \
                       KPK_TILE_LDS(tile, rows, cols, deep, stages, more)>(g);
        switch (wgmma_tile_number()) {
            KPK_GEMM_TILES_8(TILE)
        }
#undef TILE
        return false;
    }
    /* Ragged products of any number of rows, if the launch asks for it: blocks
     * of more warps than gemm_*_m64 has. */
    template <u32 Rows, u32 WarpRows>
    static DEV_MEMBER bool ragged(const Gemm<T> &g)
    {
        if (dynamic_lds_nbytes() != KPK_RAGGED_LDS(Rows))
            return false;
        let_next_launch_begin();
        return TileChoice<T, false, TransB, Rows>::template by_mma<
            Rows, 64, WarpRows, 32, ByRegisters>(g);
    }
    /* All that warpgroup tiles cannot take, and launches without LDS. */
    static DEV_MEMBER void unaligned(const Gemm<T> &g, u8 *lds)
    {
        if (ragged<128, 32>(g) || ragged<64, 16>(g))
            return;

        constexpr u32 unit = TransB ? narrow_cols : rows8_cols;

        NO_UNROLL
        for (Rows8Turns<T> turns(g, rows8_cols, unit); turns.at < turns.count;
             turns.at += clusters()) {
            GemmPart part;
            const Rows8Tile<T> t = turns.tile(part);
            const Sharing sharing = {turns.ranks, turns.rank};

            if constexpr (TransB) {
                if (turns.width == narrow_cols) {
                    rows8_mma<narrow_cols, true>(t, lds, sharing);
                    continue;
                }
            }
            rows8_mma<rows8_cols, TransB>(t, lds, sharing);
        }
    }
};
