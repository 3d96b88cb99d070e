/*
 * tile_loop.h - the tiles of C that a block makes one after another, on sm_80
 * and later, and their ways from memory and to it
 */
#pragma once

#include "matrix/gemm_args.h"
#include "nvidia/gemm/mma_tile.h"
#if KPK_WARPGROUPS
#include "nvidia/copy/cluster.h"
#include "nvidia/gemm/wgmma_tile.h"
#endif

/*
 * The tiles of a block: tile i goes to block i mod grid. In a launch with
 * clusters of at most `most` blocks, the tiles of the last partial round go to
 * whole clusters instead: the blocks of a cluster split a tile along K, if this
 * is faster than one tile per block.
 */
struct TileTurns {
    u32 at, step, count;
    bool shared = false;
#if KPK_WARPGROUPS
    u32 alone;
#endif

    /* Fewer than 2^30 tiles: no sum of indices overflows. */
    DEV_MEMBER TileTurns(u64 block, u64 blocks, u64 tiles, u32 most)
        : at(below(block)), step(below(blocks)), count((u32)tiles)
    {
#if KPK_WARPGROUPS
        const u32 ranks = most ? cluster_blocks() : 1;

        alone = count;
        if (ranks > 1 && ranks <= most) {
            const u32 left = count >= step ? count % step : count;

            if (left <= clusters() * (ranks - 1))
                alone -= left;
            turn();
        }
#endif
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
#if KPK_WARPGROUPS
        if (!shared && alone < count && at >= alone) {
            shared = true;
            at = alone + below(cluster_index());
            step = below(clusters());
        }
#endif
    }
};

/*
 * The sequence of all parts' tiles. A part's tiles come in strips of a few
 * tiles down, and column by column within a strip: blocks that run at the same
 * time then read about as much of A as of B.
 */
template <typename T, u32 Rows, u32 Cols> struct TileOrder {
    typedef typename Gemm<T>::S S;
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
    DEV_MEMBER bool has_few() const
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

    /* Stores a tile's sums, by way of LDS. */
    template <class Tile>
    DEV_MEMBER void store(const Tile &tile, const Place &p, u8 *lds) const
    {
        const GemmOut<T> out(g, p.part);

        if constexpr (!is_same<typename Tile::Extent, void>::value) {
            if (out.takes_pieces() && g.n % per16<T>::value == 0) {
                tile.store_rows(lds, out.c + ((u64)p.row0 * g.ldc + p.col0),
                                g.ldc, g.alpha,
                                {(i32)min_of(g.m - p.row0, Rows),
                                 (i32)min_of(g.n - p.col0, Cols)},
                                [&](u32 c) {
                                    return p.col0 + c < g.n
                                               ? out.bias_pair(p.col0 + c)
                                               : Pack<f32, 2>{};
                                });
                return;
            }
        }
        const bool pairs = out.takes_pairs();

        tile.each_pair(lds, [&](u32 r, u32 c, const Pack<S, 2> &sums) {
            put_pair(out, pairs, p, r, c, sums);
        });
    }
    /* pairs: out.takes_pairs() */
    DEV_MEMBER void put_pair(const GemmOut<T> &out, bool pairs, const Place &p,
                             u32 r, u32 c, const Pack<S, 2> &sums) const
    {
        const u32 cols = g.n - p.col0;

        if (r >= g.m - p.row0 || c >= cols)
            return;
        if (c + 1 == cols)
            out.put(p.row0 + r, p.col0 + c, sums[0]);
        else if (pairs)
            out.store_pair(p.row0 + r, p.col0 + c, sums);
        else
            out.put_pair(p.row0 + r, p.col0 + c, sums);
    }
};

/*
 * A block's tiles of C, one after another, as a Tile asks for them. Turned: a
 * tile's rows are columns of C.
 */
template <typename T, u32 Rows, u32 Cols, class Tile, bool Turned = false>
struct GemmTiles : TileOrder<T, Rows, Cols> {
    typedef TileOrder<T, Rows, Cols> Order;
    typedef typename Order::Place Place;
    using Order::g;
    TileTurns turns;
    Place ahead; /* the tile at turns.at */

    DEV_MEMBER explicit GemmTiles(const Gemm<T> &gemm)
        : GemmTiles(gemm, Order::block(), Order::blocks())
    {
    }
    DEV_MEMBER GemmTiles(const Gemm<T> &gemm, u64 block, u64 blocks)
        : Order{gemm}, turns(block, blocks, Order::count(), Tile::shares)
    {
        find();
    }
    DEV_MEMBER bool more() const
    {
        return turns.more();
    }
    DEV_MEMBER bool is_last() const
    {
        return turns.is_last();
    }
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
    /* The operand of a tile's rows, and of its columns. */
    struct Side {
        const T *matrix;
        u32 first, extent, ld;
        i64 stride;
    };
    static DEV_MEMBER Side side(const Gemm<T> &g, bool of_c_rows,
                                const Place &p = {})
    {
        return of_c_rows ? Side{g.a, p.row0, g.m, g.lda, g.stride_a}
                         : Side{g.b, p.col0, g.n, g.ldb, g.stride_b};
    }
    template <class Copy> static DEV_MEMBER bool fits(const Gemm<T> &g, Side s)
    {
        return Copy::fits(s.matrix, s.ld, g.batch, s.stride);
    }
    /* Whether LDS is enough for the tile, indices fit 32 bits, and rows of all
     * matrices are aligned as the tile's copies want. */
    static DEV_MEMBER bool fits(const Gemm<T> &g)
    {
        return dynamic_lds_nbytes() >= Tile::lds_nbytes && Order{g}.has_few() &&
               fits<typename Tile::CopyA>(g, side(g, !Turned)) &&
               fits<typename Tile::CopyB>(g, side(g, Turned));
    }
    template <class Copy> DEV_MEMBER Copy copy_of(const Side &s) const
    {
        return Copy(s.matrix + (i64)ahead.part.b * s.stride, s.first, s.extent,
                    s.ld, ahead.part.k_begin);
    }
    DEV_MEMBER typename Tile::Start begin([[maybe_unused]] const Tile &tile,
                                          typename Tile::CopyA &a,
                                          typename Tile::CopyB &b) const
    {
        a = copy_of<typename Tile::CopyA>(side(g, !Turned, ahead));
        b = copy_of<typename Tile::CopyB>(side(g, Turned, ahead));
        const u32 nk = ahead.part.k_end - ahead.part.k_begin;

        if constexpr (is_same<typename Tile::Extent, void>::value)
            return {nk};
        else
            return {nk,
                    Turned || tile.works(g.m - ahead.row0, g.n - ahead.col0)};
    }
#if KPK_WARPGROUPS
    DEV_MEMBER void share(Tile &tile, const Place &p, u8 *lds) const
    {
        const GemmOut<T> out(g, p.part);
        const bool pairs = out.takes_pairs();

        tile.each_shared(
            lds, more(), [&](u32 r0, u32 c0, u32 cols, const f32 *sums) {
                const u32 l = threadIdx.x % 32;

                NO_UNROLL
                for (u32 c = l % 8 * 2; c < cols; c += 16) {
                    UNROLL
                    for (u32 r = l / 8; r < 16; r += 4)
                        Order::put_pair(
                            out, pairs, p, r0 + r, c0 + c,
                            load_pack<2>(sums + r * Tile::rows_pitch + c));
                }
            });
    }
#endif
};
