/*
 * tile_loop.h - a block's tiles of C on sm_80 and later: their order, the loads
 * of operands and the stores of results
 */
#pragma once

#include "matrix/gemm_args.h"
#if KPK_WARPGROUPS
#include "nvidia/copy/cluster.h"
#include "nvidia/gemm/wgmma_tile.h"
#else
#include "nvidia/gemm/mma_tile.h"
#endif

#if KPK_WARPGROUPS
typedef u32 TileIndex; /* see fits_32_bits() */

/*
 * The tiles of a block: tile i goes to block i mod grid. In a launch with
 * clusters of at most `most` blocks, the tiles of the last partial round go to
 * whole clusters instead: the blocks of a cluster split a tile along K, if this
 * is faster than one tile per block.
 */
struct TileTurns {
    u32 at, step, alone, count;
    bool shared;

    /* Fewer than 2^30 tiles: no sum of indices overflows. */
    DEV_MEMBER TileTurns(u64 block, u64 blocks, u64 tiles, u32 most)
        : at(below(block)), step(below(blocks)), alone((u32)tiles),
          count((u32)tiles), shared(false)
    {
        const u32 ranks = most ? cluster_blocks() : 1;

        if (ranks > 1 && ranks <= most) {
            u32 left = count;

            if (count >= step)
                left = count % step;
            if (left <= clusters() * (ranks - 1))
                alone -= left;
            turn();
        }
    }
    static DEV_MEMBER u32 below(u64 v)
    {
        return (u32)min_of(v, (u64)1 << 30);
    }
    DEV_MEMBER bool more() const
    {
        return at < count;
    }
    DEV_MEMBER bool is_last() const
    {
        return at + step >= count;
    }
    DEV_MEMBER void next()
    {
        at += step;
        turn();
    }
    DEV_MEMBER void turn()
    {
        if (!shared && alone < count && at >= alone) {
            shared = true;
            at = alone + below(cluster_index());
            step = below(clusters());
        }
    }
};
#else
typedef u64 TileIndex;

/* The tiles of a block: tile i goes to block i mod grid. */
struct TileTurns {
    static constexpr bool shared = false;
    u64 at, step, count;

    DEV_MEMBER TileTurns(u64 block, u64 blocks, u64 tiles, u32)
        : at(block), step(blocks), count(tiles)
    {
    }
    DEV_MEMBER bool more() const
    {
        return at < count;
    }
    DEV_MEMBER void next()
    {
        at += step;
    }
};
#endif

/*
 * The sequence of all parts' tiles. A part's tiles come in strips of a few
 * tiles down, and column by column within a strip: blocks that run at the same
 * time then read about as much of A as of B.
 */
template <typename T, u32 Rows, u32 Cols> struct TileOrder {
    const Gemm<T> &g;

    struct Place {
        GemmPart part;
        u32 row0, col0;
        bool shared; /* by the blocks of a cluster */
    };
    static DEV_MEMBER u64 block()
    {
        return blockIdx.x +
               (u64)gridDim.x * (blockIdx.y + (u64)gridDim.y * blockIdx.z);
    }
    static DEV_MEMBER u64 blocks()
    {
        return (u64)gridDim.x * gridDim.y * gridDim.z;
    }
    DEV_MEMBER u64 of_part() const
    {
        return (u64)div_up(g.m, Rows) * div_up(g.n, Cols);
    }
    DEV_MEMBER u64 count() const
    {
        return of_part() * g.batch * g.splits;
    }
    /* Whether the tiles, and their products with small numbers, fit 32 bits:
     * unless there are very many tiny matrices. */
    DEV_MEMBER bool fits_32_bits() const
    {
        return (f32)of_part() * (f32)g.batch * (f32)g.splits < 0x1p30f;
    }
    template <typename I> DEV_MEMBER Place place(I tile) const
    {
        constexpr u32 strip = 2048 / Rows;
        const I each = (I)of_part();
        const u32 down = div_up(g.m, Rows), across = div_up(g.n, Cols);
        I which = 0, at = tile;
        u32 first = 0, width = down;
        Place p;

        if (__builtin_expect(tile >= each, 0)) {
            which = tile / each;
            at -= which * each;
        }
        if (down > strip) {
            const I of_strip = (I)strip * across, strips = at / of_strip;

            at -= strips * of_strip;
            first = (u32)strips * strip;
            width = min_of(strip, down - first);
        }
        const u32 column = (width & (width - 1)) == 0
                               ? (u32)(at >> log2_of(width))
                               : (u32)(at / width);

        p.part = {which, 0, 0, g.k};
        if (__builtin_expect(g.splits > 1, 0)) { /* else spare the divisions */
            const I split = which / g.batch;

            p.part.split = split;
            p.part.b = which - split * g.batch;
            split_k(g, p.part);
        }
        p.row0 = (first + ((u32)at - column * width)) * Rows;
        p.col0 = column * Cols;
        return p;
    }
};

/* A block's tiles of C, with the interface that AsyncTile expects. */
template <typename T, u32 Rows, u32 Cols, class Tile>
struct GemmTiles : TileOrder<T, Rows, Cols> {
    typedef TileOrder<T, Rows, Cols> Order;
    typedef typename Order::Place Place;
    using Order::g;
    TileTurns turns;
    Place ahead; /* the tile at turns.at */

    DEV_MEMBER explicit GemmTiles(const Gemm<T> &gemm)
        : Order{gemm},
          turns(Order::block(), Order::blocks(), Order::count(), Tile::shares)
    {
        find();
    }
    DEV_MEMBER bool more() const
    {
        return turns.more();
    }
#if KPK_WARPGROUPS
    DEV_MEMBER bool is_last() const
    {
        return turns.is_last();
    }
#endif
    DEV_MEMBER void find()
    {
        if (!more())
            return;
        ahead = Order::place(turns.at);
#if KPK_WARPGROUPS
        ahead.shared = turns.shared;
        if (turns.shared)
            share_k<T>(ahead.part, cluster_rank(), cluster_blocks());
#endif
    }
    DEV_MEMBER Place next()
    {
        const Place now = ahead;

        turns.next();
        find();
        return now;
    }
    /* Whether LDS is enough for the tile, indices fit TileIndex, and rows of
     * all matrices are aligned to 16 bytes. */
    static DEV_MEMBER bool fits(const Gemm<T> &g)
    {
        return dynamic_lds_nbytes() >= Tile::lds_nbytes &&
               (sizeof(TileIndex) > 4 || Order{g}.fits_32_bits()) &&
               Tile::CopyA::fits(g.a, g.lda, g.batch, g.stride_a) &&
               Tile::CopyB::fits(g.b, g.ldb, g.batch, g.stride_b);
    }
    DEV_MEMBER typename Tile::Start begin(const Tile &tile,
                                          typename Tile::CopyA &a,
                                          typename Tile::CopyB &b) const
    {
        const Place &p = ahead;

        a = typename Tile::CopyA(g.a + (i64)p.part.b * g.stride_a, p.row0, g.m,
                                 g.lda, p.part.k_begin);
        b = typename Tile::CopyB(g.b + (i64)p.part.b * g.stride_b, p.col0, g.n,
                                 g.ldb, p.part.k_begin);
        return {p.part.k_end - p.part.k_begin,
                tile.works(g.m - p.row0, g.n - p.col0)};
    }
    DEV_MEMBER void store(const Tile &tile, const Place &p, u8 *lds) const
    {
        const GemmOut<T> out(g, p.part);
        const u32 row0 = p.row0, col0 = p.col0;

#if KPK_WARPGROUPS
        if (takes_pieces(out)) {
            tile.store_rows(lds, out.c + ((u64)row0 * g.ldc + col0), g.ldc,
                            g.alpha, there(p),
                            [&](u32 c) { return bias_pair(out, col0 + c); });
            return;
        }
#else
        if (out.takes_pieces() && Rows <= g.m - row0 && Cols <= g.n - col0) {
            tile.store_rows(lds, out.c + ((u64)row0 * g.ldc + col0), g.ldc,
                            g.alpha,
                            [&](u32 c) { return out.bias_pair(col0 + c); });
            return;
        }
#endif
        tile.each_pair(lds, [&](u32 r, u32 c, const Pack<f32, 2> &sums) {
            put_pair(out, p, r, c, sums);
        });
    }
    DEV_MEMBER void put_pair(const GemmOut<T> &out, const Place &p, u32 r,
                             u32 c, const Pack<f32, 2> &sums) const
    {
        if (r >= g.m - p.row0 || c >= g.n - p.col0)
            return;
        if (c + 1 < g.n - p.col0)
            out.put_pair(p.row0 + r, p.col0 + c, sums);
        else
            out.put(p.row0 + r, p.col0 + c, sums[0]);
    }
#if KPK_WARPGROUPS
    /* Whether results may be stored as 16-byte pieces, each of which lies
     * wholly inside or wholly outside C. */
    DEV_MEMBER bool takes_pieces(const GemmOut<T> &out) const
    {
        return out.takes_pieces() && g.n % per16<T>::value == 0;
    }
    DEV_MEMBER Pack<f32, 2> bias_pair(const GemmOut<T> &out, u32 col) const
    {
        return col < g.n ? out.bias_pair(col) : Pack<f32, 2>{};
    }
    DEV_MEMBER typename Tile::Extent there(const Place &p) const
    {
        return {(i32)min_of(g.m - p.row0, Rows),
                (i32)min_of(g.n - p.col0, Cols)};
    }
#endif
#if KPK_WARPGROUPS
    DEV_MEMBER void share(Tile &tile, const Place &p, u8 *lds) const
    {
        const GemmOut<T> out(g, p.part);
        const bool pieces = takes_pieces(out);

        tile.each_shared(
            lds, more(), [&](u32 r0, u32 c0, u32 cols, const f32 *sums) {
                const u32 l = threadIdx.x % 32;

                NO_UNROLL
                for (u32 c = l % 8 * 8; c < cols; c += 64) {
                    _Pragma("unroll 2") for (u32 r = l / 8; r < 16; r += 4)
                        put_piece(out, pieces, p, r0 + r, c0 + c,
                                  sums + r * Tile::rows_pitch + c);
                }
            });
    }
    /* Stores eight sums of a row; pieces: by one store of 16 bytes. */
    DEV_MEMBER void put_piece(const GemmOut<T> &out, bool pieces,
                              const Place &p, u32 r, u32 c,
                              const f32 *sums) const
    {
        Pack<T, 8> v;

        if (r >= g.m - p.row0 || c >= g.n - p.col0)
            return;
        if (!pieces) {
            NO_UNROLL
            for (u32 i = 0; i < 8; i += 2)
                put_pair(out, p, r, c + i, load_pack<2>(sums + i));
            return;
        }
        UNROLL
        for (u32 i = 0; i < 8; i += 4) {
            const Pack<f32, 4> four = load_pack<4>(sums + i);

            UNROLL
            for (u32 e = 0; e < 4; e++)
                v[i + e] = convert<T>(out.value(p.col0 + c + i + e, four[e]));
        }
        store_piece(out.c + ((u64)(p.row0 + r) * g.ldc + p.col0 + c), v);
    }
#endif
};
