/*
 * tile_choice.h - the tiles of a product on sm_80 and later: which of them a
 * launch takes, by its type, its LDS and where operands lie
 */
#pragma once

#include "early.h"
#include "nvidia/gemm/f32_f64_tile.h"
#include "nvidia/gemm/tile_loop.h"
#if KPK_WARPGROUPS
#include "nvidia/gemm/bf16x3_tile.h"
#include "nvidia/gemm/tensor_map_tile.h"
#endif

/* Steps of f16 and bf16 in LDS: as many steps of 48 KiB as one multiprocessor
 * has LDS for. */
constexpr u32 f16_stages = KPK_SM == 80 || KPK_SM == 87   ? 3
                           : KPK_SM < 90 || KPK_SM >= 120 ? 2
                                                          : 4;

#if KPK_WARPGROUPS
/* Tiles whose steps come by maps. */
template <typename T, u32 Rows, u32 Cols, class Tile>
struct MappedTiles : TileOrder<T, Rows, Cols> {
    typedef TileOrder<T, Rows, Cols> Order;
    using Order::g;
    u32 first, apart, count;

    struct Place : Order::Place {
        u32 z_a, z_b;
    };
    DEV_MEMBER explicit MappedTiles(const Gemm<T> &gemm)
        : Order{gemm}, first((u32)Order::block()), apart((u32)Order::blocks()),
          count(0)
    {
        const u32 all = (u32)Order::count();

        if (first < all)
            count = (all - first - 1) / apart + 1;
    }
    /* Whether all is as maps need it, and results go to C by pieces. */
    static DEV_MEMBER bool fits(const Gemm<T> &g)
    {
        const u32 most = 0x7fffffff;
        const bool one = g.batch == 1;

        return dynamic_lds_nbytes() >= Tile::lds_nbytes && Order{g}.has_few() &&
               Order::blocks() < 1u << 30 && cluster_blocks() == 1 &&
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
    DEV_MEMBER Place place(u32 i) const
    {
        const typename Order::Place p = Order::place(first + i * apart);

        return {p, g.stride_a == 0 ? 0 : (u32)p.part.b,
                g.stride_b == 0 ? 0 : (u32)p.part.b};
    }
    DEV_MEMBER TensorShape shape_a() const
    {
        return Tile::A::shape(g.a, g.m, g.k, g.lda, g.batch, g.stride_a);
    }
    DEV_MEMBER TensorShape shape_b() const
    {
        return Tile::B::shape(g.b, g.n, g.k, g.ldb, g.batch, g.stride_b);
    }
};
#endif

/* Makes the product by Tiles; false, with nothing done, if Tiles do not fit. */
template <class Tiles, class Tile, typename T>
DEV bool gemm_by(const Gemm<T> &g)
{
    /* sectors of memory must not be cut in two by what is in front */
    extern __shared__ __attribute__((aligned(128))) u8 lines[];

    if (!Tiles::fits(g))
        return false;

    Tiles tiles(g);
    Tile tile;

    tile.run(lines, tiles);
    return true;
}

#if KPK_WARPGROUPS
/* The number of the tile that the launch asks for, in wgmma_shapes.h. */
DEV u32 wgmma_tile_number()
{
    return KPK_TILE_OF_LDS(dynamic_lds_nbytes());
}
/* Whether kernels with B along K, or across, have a tile. */
DEV constexpr bool has_wgmma_tile(u32 b, bool along)
{
    return b == KPK_B_ANY || (b == KPK_B_ALONG) == along;
}
#endif

template <typename T, bool TransA, bool TransB, u32 Size> struct TileChoice {
    template <u32 Rows, u32 Cols, u32 WarpRows, u32 WarpCols, class By>
    static DEV_MEMBER bool by_mma(const Gemm<T> &g)
    {
        typedef MmaTile<T, !TransA, TransB, Rows, Cols, WarpRows, WarpCols, By>
            Tile;

        return gemm_by<GemmTiles<T, Rows, Cols, Tile>, Tile>(g);
    }
#if KPK_WARPGROUPS
    /* By maps, if they may be used, and if a step of the tile takes longer than
     * one thread takes to start its copies. */
    template <u32 Rows, u32 Cols, u32 Lds>
    static DEV_MEMBER bool mapped(const Gemm<T> &g)
    {
        if constexpr (!TransA && Lds > 113 * 1024 && Cols >= 128 &&
                      Rows * Cols > 64 * 128) {
            typedef MappedTile<T, !TransA, TransB, Rows, Cols,
                               mapped_stages(Rows, Cols, Lds)>
                Tile;

            return gemm_by<MappedTiles<T, Rows, Cols, Tile>, Tile>(g);
        }
        return false;
    }
    template <u32 Rows, u32 Cols, u32 Deep, u32 Stages, u32 More, u32 Shares,
              bool Apart, u32 B>
    static DEV_MEMBER bool by_tile(const Gemm<T> &g)
    {
        constexpr u32 groups = Size / 64 - Apart, deep = min_of(Deep, groups);

        if constexpr (has_wgmma_tile(B, TransB)) {
            typedef WarpgroupTile<T, !TransA, TransB, Rows, Cols, groups / deep,
                                  deep, Stages, More, Shares, Apart,
                                  div_up(Deep, groups)>
                Tile;

            return mapped<Rows, Cols,
                          KPK_WARPGROUP_LDS(Rows, Cols, Deep, Stages, More)>(
                       g) ||
                   gemm_by<GemmTiles<T, Rows, Cols, Tile>, Tile>(g);
        }
        return false;
    }
    /* A switch, because on a way from tile to tile the code of each would have
     * to come from memory. */
    static DEV_MEMBER bool by_warpgroups(const Gemm<T> &g)
    {
#define TILE(tile, rows, cols, deep, stages, more, shares, apart, b, ...)      \
    case KPK_TILE_##tile:                                                      \
        return by_tile<rows, cols, deep, stages, more, shares, apart, b>(g);
        if constexpr (Size == 128) {
            switch (wgmma_tile_number()) {
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
    static DEV_MEMBER bool by_limbs(const Gemm<T> &g)
    {
        typedef LimbTile<!TransA, TransB, Size> Tile;

        return g.k >= wgmma_k &&
               gemm_by<GemmTiles<T, Size, Size, Tile>, Tile>(g);
    }
#endif
    /* Without LDS, and if tiles are too many to count: a result a thread. */
    static DEV_MEMBER void plain(const Gemm<T> &g)
    {
        typedef typename Gemm<T>::S S;
        const TileOrder<T, Size, Size> order{g};

        NO_UNROLL
        for (u64 t = order.block(); t < order.count(); t += order.blocks()) {
            const auto at = order.place(t);
            const GemmPart &part = at.part;
            const T *const a = g.a + (i64)part.b * g.stride_a;
            const T *const b = g.b + (i64)part.b * g.stride_b;
            const GemmOut<T> out(g, part);

            NO_UNROLL
            for (u32 i = threadIdx.x; i < Size * Size; i += 2 * Size) {
                const u32 r = at.row0 + i / Size;
                const u32 c = at.col0 + i % Size;
                S sum = 0;

                if (r >= g.m || c >= g.n)
                    continue;
                NO_UNROLL
                for (u32 k = part.k_begin; k < part.k_end; k++)
                    sum +=
                        (S)a[TransA ? (u64)k * g.lda + r : (u64)r * g.lda + k] *
                        (S)b[TransB ? (u64)c * g.ldb + k : (u64)k * g.ldb + c];
                out.put(r, c, sum);
            }
        }
    }
    static DEV_MEMBER bool by_tiles(const Gemm<T> &g)
    {
#if KPK_WARPGROUPS
        if constexpr (sizeof(T) == 2) {
            if (by_warpgroups(g)) /* which wait themselves */
                return true;
            let_next_launch_begin();
        }
        wait_for_launch_before();
        if constexpr (is_same<T, f32>::value) {
            if (by_limbs(g))
                return true;
        }
#else
        wait_for_launch_before();
#endif
        if constexpr (sizeof(T) > 2) {
            return by_mma<Size, Size, 32, Size / 2, ByCopies<3>>(g) ||
                   by_mma<Size, Size, 32, Size / 2, ByCopies<3, sizeof(T)>>(g);
        } else {
            constexpr u32 rows = Size == 128 ? 256 : 64;

            return (!KPK_WARPGROUPS && by_mma<rows, Size, Size / 2, Size / 2,
                                              ByCopies<f16_stages>>(g)) ||
                   by_mma<Size, 64, 32, 32, ByRegisters>(g);
        }
    }
    static DEV_MEMBER void run(const Gemm<T> &g)
    {
        if (!by_tiles(g))
            plain(g);
    }
};
