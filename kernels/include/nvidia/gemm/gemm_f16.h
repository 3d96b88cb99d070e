/*
 * gemm_f16.h - products of f16 and bf16 on sm_80 and later: tiles with
 * asynchronous copies, and ragged tiles for unaligned operands
 */
#pragma once

#include "early.h"
#include "matrix/gemm_tile.h"
#include "nvidia/gemm/ragged_tile.h"
#include "nvidia/gemm/tile_loop.h"
#if KPK_WARPGROUPS
#include "nvidia/gemm/tensor_map_tile.h"
#endif

#if KPK_WARPGROUPS
/* Tiles whose steps are copied by TMA with tensor maps. The two blocks of a
 * cluster make the two tiles of a pair. */
template <typename T, bool TransA, bool TransB, u32 Rows, u32 Cols, class Tile>
struct MappedTiles {
    typedef TileOrder<T, Rows, Cols> Order;
    static constexpr u32 blocks = Tile::blocks; /* of a pair, or 1 */
    const Gemm<T> &g;
    u32 down, of_part; /* pairs per column of tiles, and per matrix */
    u32 first, apart, count;

    struct Place {
        u32 row0, col0, b, z_a, z_b;
    };

    DEV_MEMBER explicit MappedTiles(const Gemm<T> &gemm)
        : g(gemm), down(div_up(gemm.m, blocks * Rows)),
          of_part(down * div_up(gemm.n, Cols)),
          first((u32)(blocks > 1 ? cluster_index() : Order::block())),
          apart((u32)(blocks > 1 ? clusters() : Order::blocks())), count(0)
    {
        const u32 all = of_part * gemm.batch;

        if (first < all)
            count = (all - first - 1) / apart + 1;
    }
    /* Whether operands meet the limits of tensor maps, and results can be
     * stored to C as 16-byte pieces. */
    static DEV_MEMBER bool fits(const Gemm<T> &g)
    {
        const u32 most = 0x7fffffff;
        const bool one = g.batch == 1;

        return dynamic_lds_nbytes() >= Tile::lds_nbytes &&
               Order{g}.fits_32_bits() && Order::blocks() < 1u << 30 &&
               cluster_blocks() == blocks &&
               (f32)Order{g}.count() * (f32)(g.k / wgmma_k + 1) < 0x1p31f &&
               Tile::CopyA::fits(g.a, g.lda, g.batch, g.stride_a) &&
               Tile::CopyB::fits(g.b, g.ldb, g.batch, g.stride_b) &&
               (one || (g.stride_a >= 0 && g.stride_b >= 0)) && g.m <= most &&
               g.n <= most && g.k <= most && g.k > 0 && g.splits == 1 &&
               g.beta == 0 && is_aligned(g.c, 16) && g.ldc % 8 == 0 &&
               g.n % 8 == 0 && (one || g.stride_c % 8 == 0);
    }
    DEV_MEMBER u32 steps() const
    {
        return div_up(g.k, wgmma_k);
    }
    /* in the order of TileOrder */
    DEV_MEMBER Place place(u32 i) const
    {
        constexpr u32 strip = 2048 / (Rows * blocks);
        u32 at = first + i * apart, b = 0, top = 0, width = down;

        if (at >= of_part) {
            b = at / of_part;
            at -= b * of_part;
        }
        if (down > strip) {
            const u32 of_strip = strip * (of_part / down);
            const u32 strips = at / of_strip;

            at -= strips * of_strip;
            top = strips * strip;
            width = min_of(strip, down - top);
        }
        const u32 column = at / width;

        u32 row = (top + at - column * width) * blocks;

        /* If a pair has one tile, both blocks make that tile and store the same
         * results, because copies of rows behind A are slow. */
        if (blocks > 1)
            row = min_of(row + cluster_rank(), (g.m - 1) / Rows);
        return {row * Rows, column * Cols, b, g.stride_a == 0 ? 0 : b,
                g.stride_b == 0 ? 0 : b};
    }
    DEV_MEMBER TensorShape shape_a() const
    {
        return Tile::A::shape(g.a, g.m, g.k, g.lda, g.batch, g.stride_a);
    }
    DEV_MEMBER TensorShape shape_b() const
    {
        return Tile::B::shape(g.b, g.n, g.k, g.ldb, g.batch, g.stride_b);
    }
    DEV_MEMBER void store(const Tile &tile, const Place &p, u8 *lds) const
    {
        const GemmOut<T> out(g, GemmPart{p.b, 0, 0, g.k});

        tile.store_rows(
            lds, out.c + ((u64)p.row0 * g.ldc + p.col0), g.ldc, g.alpha,
            {(i32)min_of(g.m - p.row0, Rows), (i32)min_of(g.n - p.col0, Cols)},
            [&](u32 c) {
                return p.col0 + c < g.n ? out.bias_pair(p.col0 + c)
                                        : Pack<f32, 2>{};
            });
    }
};
#endif

/* Makes the product by Tiles; false, with nothing done, if Tiles do not fit. */
template <class Tiles, class Tile, typename T>
DEV bool gemm_by(const Gemm<T> &g)
{
    /* aligned, so that no copy splits a sector of memory */
    extern __shared__ __attribute__((aligned(128))) u8 lines[];

    if (!Tiles::fits(g))
        return false;

    Tiles tiles(g);
    Tile tile;

    tile.run(lines, tiles);
    return true;
}

#if KPK_WARPGROUPS
/* The tile's number (wgmma_shapes.h), from the launch's LDS size. */
DEV u32 wgmma_tile_number()
{
    return KPK_TILE_OF_LDS(dynamic_lds_nbytes());
}
/* Whether the tile exists for a B with lines along K, or across K. */
DEV constexpr bool has_wgmma_tile(u32 b, bool along)
{
    return b == KPK_B_ANY || (b == KPK_B_ALONG) == along;
}
#endif

template <typename T, bool TransA, bool TransB, u32 Size> struct AsyncGemm {
#if KPK_WARPGROUPS
    /* By maps, if they may be used, and if a step of the tile takes longer than
     * one thread takes to start its copies. */
    template <u32 Rows, u32 Cols, u32 Lds, bool Paired = false>
    static DEV_MEMBER bool mapped(const Gemm<T> &g)
    {
        if constexpr (!TransA && Lds > 113 * 1024 && Cols >= 128 &&
                      Rows * Cols > 64 * 128) {
            typedef MappedTile<T, !TransA, TransB, Rows, Cols,
                               mapped_stages(Rows, Cols, Lds), Paired>
                Tile;

            return gemm_by<MappedTiles<T, TransA, TransB, Rows, Cols, Tile>,
                           Tile>(g);
        }
        return false;
    }
    template <u32 Rows, u32 Cols, u32 Deep, u32 Stages, u32 More, u32 Shares,
              u32 B>
    static DEV_MEMBER bool by_tile(const Gemm<T> &g)
    {
        if constexpr (has_wgmma_tile(B, TransB)) {
            typedef WarpgroupTile<T, !TransA, TransB, Rows, Cols, Size / 64,
                                  Deep, Stages, More, Shares>
                Tile;

            return mapped<Rows, Cols,
                          KPK_WARPGROUP_LDS(Rows, Cols, Deep, Stages, More)>(
                       g) ||
                   gemm_by<GemmTiles<T, Rows, Cols, Tile>, Tile>(g);
        }
        return false;
    }
    /* Pairs of the tile with that number; false, with nothing done, if it has
     * none, or the launch or the operands are not made for them. */
    static DEV_MEMBER bool by_pairs(const Gemm<T> &g, u32 number)
    {
#define PAIRS(tile, rows, cols, deep, stages, more, shares, b, along, across,  \
              pairs)                                                           \
    case KPK_TILE_##tile:                                                      \
        if constexpr (KPK_ROOM pairs && has_wgmma_tile(b, TransB))             \
            return mapped<rows, cols,                                          \
                          KPK_WARPGROUP_LDS(rows, cols, deep, stages, more),   \
                          true>(g);                                            \
        return false;
        switch (number) {
            KPK_GEMM_TILES_128(PAIRS)
        }
#undef PAIRS
        return false;
    }
    /* A switch, because on a way from tile to tile the code of each would have
     * to come from memory. */
    static DEV_MEMBER bool fast(const Gemm<T> &g)
    {
#define TILE(tile, rows, cols, deep, stages, more, shares, b, ...)             \
    case KPK_TILE_##tile:                                                      \
        return by_tile<rows, cols, deep, stages, more, shares, b>(g);
        if constexpr (Size == 128) {
            u32 number = wgmma_tile_number();

            if (number >= KPK_PAIRS) {
                number -= KPK_PAIRS;
                if (by_pairs(g, number))
                    return true;
            }
            switch (number) {
                KPK_GEMM_TILES_128(TILE)
            }
        } else {
            switch (wgmma_tile_number()) {
                KPK_GEMM_TILES_64(TILE)
            }
        }
#undef TILE
        return false;
    }
#else
    /* The larger tiles have 256 rows. */
    static constexpr u32 rows = Size == 128 ? 2 * Size : Size;
    typedef AsyncTile<T, !TransA, TransB, rows, Size, Size / 2, Size / 2> Tile;

    static DEV_MEMBER bool fast(const Gemm<T> &g)
    {
        return gemm_by<GemmTiles<T, rows, Size, Tile>, Tile>(g);
    }
#endif
    typedef TileOrder<T, Size, Size> Order;
    typedef RaggedTile<T, !TransA, TransB, Size, 64> Ragged;

    /* Launches that gave no LDS: a result a thread. */
    static DEV_MEMBER void plain_tile(const Gemm<T> &g,
                                      const typename Order::Place &at)
    {
        const GemmPart &part = at.part;
        const T *const a = g.a + (i64)part.b * g.stride_a;
        const T *const b = g.b + (i64)part.b * g.stride_b;
        const GemmOut<T> out(g, part);

        NO_UNROLL
        for (u32 i = threadIdx.x; i < Size * Size; i += 2 * Size) {
            const u32 r = at.row0 + i / Size;
            const u32 c = at.col0 + i % Size;
            typename Gemm<T>::S sum = 0;

            if (r >= g.m || c >= g.n)
                continue;
            NO_UNROLL
            for (u32 k = part.k_begin; k < part.k_end; k++)
                sum +=
                    (float)a[TransA ? (u64)k * g.lda + r : (u64)r * g.lda + k] *
                    (float)b[TransB ? (u64)c * g.ldb + k : (u64)k * g.ldb + c];
            out.put(r, c, sum);
        }
    }
    static DEV_MEMBER void run(const Gemm<T> &g)
    {
        const Order order{g};

        if (fast(g))
            return;
        meet_launches();
        if (gemm_by<RaggedTiles<T, Size, 64, Ragged>, Ragged>(g))
            return;
        NO_UNROLL
        for (u64 t = order.block(); t < order.count(); t += order.blocks())
            plain_tile(g, order.place(t));
    }
};
