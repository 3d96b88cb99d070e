/*
 * tile_scheduler.h - which of a grid's tiles a block makes, on sm_90
 *
 * Tile i goes to block i mod grid. In a launch with clusters of at most `most`
 * blocks, the tiles of the last partial round go to whole clusters instead: the
 * blocks of a cluster split a tile along K, if this is faster than one tile per
 * block.
 */
#pragma once

#include "nvidia/copy/cluster.h"

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
