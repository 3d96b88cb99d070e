/*
 * skinny_schedule.h - few rows on sm_80 and later: the tiles of a block, and
 * the join of partial sums
 *
 * A launch has as many blocks as run at once, one or two per multiprocessor.
 * Tiles are just wide enough for as few rounds over the grid as possible. The
 * blocks of a cluster split a tile along K.
 */
#pragma once

#include "matrix/skinny_tile.h"
#include "nvidia/copy/cluster.h"

constexpr u32 skinny_warps = skinny_threads / 32;

/* The tiles of a launch, one after another for each cluster. */
template <typename T> struct SkinnyTurns {
    const Gemm<T> &g;
    u32 width; /* of a tile */
    u64 at, count;

    /* A tile has up to `most` columns, a multiple of `unit`. */
    DEV_MEMBER SkinnyTurns(const Gemm<T> &gemm, u32 most, u32 unit)
        : g(gemm), width(most), at(cluster_index())
    {
        const u64 lines = (u64)div_up(g.m, skinny_rows) * g.batch * g.splits;
        const u32 all = (u32)min_of(clusters(), (u64)1 << 20);

        if (lines > 0 && lines < all && g.n > 0) {
            const u32 once = all / (u32)lines; /* tiles of a line */
            const u32 rounds = div_up(g.n, min_of(once * most, 1u << 30));

            width = div_up(div_up(g.n, once * rounds), unit) * unit;
        }
        count = lines * div_up(g.n, width);
    }
    DEV_MEMBER bool more() const
    {
        return at < count;
    }
    DEV_MEMBER void next()
    {
        at += clusters();
    }
    /* part: the range of K that the block sums up */
    DEV_MEMBER SkinnyTile<T> tile(GemmPart &part) const
    {
        const u32 across = div_up(g.n, width), down = div_up(g.m, skinny_rows);
        const u64 line = divide(at, (u64)across), z = divide(line, (u64)down);

        part.split = divide(z, (u64)g.batch);
        part.b = z - part.split * g.batch;
        split_k(g, part);
        if (cluster_blocks() > 1)
            share_k<T>(part, cluster_rank(), cluster_blocks());

        SkinnyTile<T> t(g, part, (u32)(line - z * down), 0, 0);

        t.col0 = (u32)(at - line * across) * width;
        t.ncols = min_of(g.n - t.col0, width);
        return t;
    }
};

/*
 * Stores a tile. LDS has `slots` partial sums of each result, in 8 rows of 1 <<
 * log2_cols; they are added up over slots and over the blocks of the cluster.
 */
template <typename T, typename S>
DEV void skinny_finish(const SkinnyTile<T> &t, S *all, u32 log2_cols, u32 slots)
{
    const u32 each = skinny_rows << log2_cols, cols = 1 << log2_cols;
    const u32 there = t.nrows << log2_cols;
    const u32 ranks = cluster_blocks(), rank = cluster_rank();
    const auto sum_of_slots = [&](u32 i) {
        S sum = 0;

        _Pragma("unroll 4") for (u32 s = 0; s < slots; s++) sum +=
            all[s * each + i];
        return sum;
    };

    __syncthreads();
    if (KPK_SM < 90 || ranks == 1) {
        NO_UNROLL
        for (u32 i = threadIdx.x; i < there; i += skinny_threads)
            t.put(i >> log2_cols, i % cols, sum_of_slots(i));
    } else if constexpr (KPK_SM >= 90) {
        NO_UNROLL
        for (u32 i = threadIdx.x; i < there; i += skinny_threads)
            all[i] = sum_of_slots(i);
        cluster_show();
        NO_UNROLL
        for (u32 i = rank * skinny_threads + threadIdx.x; i < there;
             i += skinny_threads * ranks) {
            S sum = 0;

            for (u32 r = 0; r < ranks; r++)
                sum += cluster_read(all + i, r);
            t.put(i >> log2_cols, i % cols, sum);
        }
        cluster_meet();
    }
    __syncthreads();
}
