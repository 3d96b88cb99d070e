/*
 * grouped_tile.h - rows of tokens times their experts' matrices on sm_90, by
 * the tiles of wgmma_tile.h
 *
 * The tiles of all experts are one sequence: expert by expert, from strip to
 * strip of an expert's columns, and down its rows within a strip. Tile i goes
 * to block i mod grid, so blocks that run at the same time share a strip of
 * weights in the L2 cache, and all have as many tiles, however many rows each
 * expert has. A launch takes the larger of two sizes of tiles, or the smaller
 * one where experts have few rows, by what each would take.
 */
#pragma once

#include "matrix/moe_args.h"
#include "nvidia/gemm/tile_loop.h"

template <typename T, typename R, u32 Rows, u32 Cols, class Tile>
struct GroupedTiles {
    typedef MoeProduct<T, R> Product;
    static constexpr u32 warp = 32, all_lanes = ~0u;

    struct Place {
        u32 expert, first, nrows, col0; /* first: in `sorted` */
        static constexpr bool shared = false;
    };
    const Product &g;
    TileTurns turns;
    u32 across;
    /* 32 experts at a time, one per lane. Per lane: the expert's first row and
     * its rows, and the tiles of all experts up to this one. */
    u32 experts0, before; /* the first of the 32, and the tiles before it */
    u32 first, nrows, upto;
    Place ahead; /* the tile at turns.at, and its rows of the input */
    typename Tile::CopyA rows;

    /* down: tiles of Rows rows of all experts */
    DEV_MEMBER GroupedTiles(const Product &product, u32 down, u32 blocks)
        : g(product),
          turns(block(), blocks, (u64)down * div_up(product.size.n, Cols), 0),
          across(div_up(product.size.n, Cols)), experts0(0), before(0)
    {
        look(0);
        find();
    }
    static DEV_MEMBER u64 block()
    {
        return blockIdx.x + (u64)gridDim.x * blockIdx.y;
    }
    /* Lane `lane`'s v, in a form that ptxas knows to be uniform, so that
     * branches on it are uniform: see tests/build/uniform.sh. */
    static DEV_MEMBER u32 of_lane(u32 v, u32 lane)
    {
        return uniform_of_warp(__shfl_sync(all_lanes, v, lane));
    }
    DEV_MEMBER u32 tiles_of(u32 rows) const
    {
        return div_up(rows, Rows) * across;
    }
    /* Loads the rows of experts e to e + 31, one expert per lane. */
    DEV_MEMBER void look(u32 e)
    {
        const u32 mine = e + threadIdx.x % warp;

        experts0 = e;
        first = nrows = 0;
        if (mine < g.size.experts) {
            first = g.place_of(mine);
            nrows = g.rows_from(first, mine);
        }
        upto = tiles_of(nrows);
        UNROLL
        for (u32 i = 1; i < warp; i *= 2) {
            const u32 v = __shfl_up_sync(all_lanes, upto, i);

            if (threadIdx.x % warp >= i)
                upto += v;
        }
    }
    DEV_MEMBER bool more() const
    {
        return turns.more();
    }
    DEV_MEMBER bool is_last() const
    {
        return turns.is_last();
    }
    DEV_MEMBER Place next()
    {
        const Place now = ahead;

        turns.next();
        find();
        return now;
    }
    DEV_MEMBER void find()
    {
        if (!more())
            return;
        for (u32 all; turns.at - before >= (all = of_lane(upto, warp - 1));) {
            before += all;
            look(experts0 + warp);
        }
        const u32 in_experts = turns.at - before; /* tile among the 32's */
        const u32 lane = uniform_of_warp(
            __popc(__ballot_sync(all_lanes, upto <= in_experts)));
        const u32 of_expert = of_lane(nrows, lane);
        const u32 in_expert =
            in_experts - of_lane(upto - tiles_of(nrows), lane);
        const u32 down = div_up(of_expert, Rows), strip = in_expert / down;
        const u32 row0 = (in_expert - strip * down) * Rows;

        ahead = {experts0 + lane, of_lane(first, lane) + row0, of_expert - row0,
                 strip * Cols};
        rows = typename Tile::CopyA([&](u32 line) -> const T * {
            const u32 r = row_of(ahead, line);

            if (r == ~0u)
                return nullptr;
            return g.input +
                   (u64)(g.topk_weights ? r : r / g.size.topk) * g.size.k;
        });
    }
    /* the output's row of a tile's line, ~0: none */
    DEV_MEMBER u32 row_of(const Place &p, u32 line) const
    {
        return line < p.nrows ? g.row_at(p.first + line) : ~0u;
    }
    DEV_MEMBER typename Tile::Start begin(const Tile &tile,
                                          typename Tile::CopyA &a,
                                          typename Tile::CopyB &b) const
    {
        const u32 n = g.size.n, k = g.size.k;

        a = rows;
        b = typename Tile::CopyB(g.weights + (u64)ahead.expert * n * k,
                                 ahead.col0, n, k, 0);
        return {k, tile.works(ahead.nrows, 0)};
    }
    DEV_MEMBER void store(const Tile &tile, const Place &p, u8 *lds) const
    {
        const u32 n = g.size.n;
        const bool pieces = n % 8 == 0 && is_aligned(g.output, 16);

        tile.each_piece(lds, [&](u32 line, u32 c, const f32 *sums) {
            const u32 r = row_of(p, line), col = p.col0 + c;

            if (r == ~0u || col >= n)
                return;
            const f32 factor = g.topk_weights ? g.topk_weights[r] : 1;
            R *const to = g.output + ((u64)r * n + col);
            Pack<f32, 4> v[2];

            UNROLL
            for (u32 i = 0; i < 8; i++) {
                if (i % 4 == 0)
                    v[i / 4] = load_pack<4>(sums + i);
                v[i / 4][i % 4] *= factor;
            }
            if (!pieces) {
                UNROLL
                for (u32 i = 0; i < 8; i++) {
                    if (col + i < n)
                        to[i] = convert<R>(v[i / 4][i % 4]);
                }
            } else if constexpr (sizeof(R) == 4) {
                store_pack(to, v[0]);
                store_pack(to + 4, v[1]);
            } else {
                Pack<R, 8> all;

                UNROLL
                for (u32 i = 0; i < 8; i++)
                    all[i] = convert<R>(v[i / 4][i % 4]);
                store_piece(to, all);
            }
        });
    }
    /* rows of no expert become 0 */
    DEV_MEMBER void clear() const
    {
        const u32 none = uniform_of_warp(g.place_of(0));
        const u32 end = uniform_of_warp(g.place_of(g.size.experts));

        for (u32 i = turns.at; i < none + g.size.m - end; i += turns.step) {
            const u32 r =
                uniform_of_warp(g.row_at(i < none ? i : i - none + end));

            for (u32 col = threadIdx.x; r != ~0u && col < g.size.n;
                 col += Tile::threads)
                g.output[(u64)r * g.size.n + col] = R{};
        }
    }
};

/* A product by tiles of one size. step_ns: time of a step of 64 along K;
 * start_ns: time of a tile outside of its steps. */
template <u32 Rows, u32 Cols, u32 Down, u32 Deep, u32 Stages, u32 step_ns,
          u32 start_ns>
struct GroupedBy {
    template <typename T>
    using Tile = WarpgroupTile<
        T, true, true, Rows, Cols, Down, Deep, Stages, 0, 0,
        ListedCopy<T, WarpgroupLines<true, Rows>, Down * Deep * 128>>;
    static constexpr u32 lds_nbytes = Tile<bf16>::lds_nbytes;

    /* The tiles of Rows rows of all experts. */
    template <typename T, typename R>
    static DEV_MEMBER u32 down(const MoeProduct<T, R> &g)
    {
        u32 n = 0;

        _Pragma("unroll 8") for (u32 e = threadIdx.x % 32; e < g.size.experts;
                                 e += 32) n +=
            div_up(g.rows_from(g.place_of(e), e), Rows);
        return uniform_of_warp(
            join_lanes(n, [](u32 a, u32 b) { return a + b; }));
    }
    /* The time of a block's tiles. */
    static DEV_MEMBER f32 cost(u32 down, const MoeSizes &size, u32 blocks)
    {
        return (f32)div_up(down * div_up(size.n, Cols), blocks) *
               (f32)(div_up(size.k, wgmma_k) * step_ns + start_ns);
    }
    template <typename T, typename R>
    static DEV_MEMBER void run(const MoeProduct<T, R> &g, u32 down, u32 blocks)
    {
        extern __shared__ __attribute__((aligned(128))) u8 lines[];
        GroupedTiles<T, R, Rows, Cols, Tile<T>> tiles(g, down, blocks);
        Tile<T> tile;

        tiles.clear();
        tile.run(lines, tiles);
    }
};

/* Blocks of the launch that compute, as many as run at once. */
template <u32 lds_nbytes> DEV u32 grouped_blocks()
{
    return (u32)min_of<u64>((u64)gridDim.x * gridDim.y,
                            multiprocessors() *
                                (228 * 1024 / (lds_nbytes + 1024)));
}

/* Makes a product by tiles; false, with nothing done, if the launch is not made
 * for them, rows are not aligned to 16 bytes, or tiles are too many to count.
 */
template <typename T, typename R>
DEV bool moe_gemm_by_tiles(const MoeProduct<T, R> &g)
{
    typedef GroupedBy<128, 256, 2, 1, 4, 1000, 7000> Many;
    typedef GroupedBy<64, 128, 1, 2, 4, 470, 4200> Few;
    const MoeSizes &size = g.size;
    const f32 most =
        (f32)size.experts * (f32)(size.m / 64 + 1) * (f32)(size.n / 128 + 1);

    if (dynamic_lds_nbytes() < Many::lds_nbytes || blockDim.x != 256 ||
        size.experts == 0 || most >= 0x1p30f || size.k % 8 != 0 ||
        !is_aligned(g.input, 16) || !is_aligned(g.weights, 16))
        return false;

    const u32 blocks = grouped_blocks<Many::lds_nbytes>();

    if (blockIdx.x + (u64)gridDim.x * blockIdx.y >= blocks)
        return true;

    const u32 few = Few::down(g), many = Many::down(g);

    if (Few::cost(few, size, blocks) < Many::cost(many, size, blocks))
        Few::run(g, few, blocks);
    else
        Many::run(g, many, blocks);
    return true;
}
