/*
 * tile_turns.h - which of a grid's tiles are a block's, on sm_90
 *
 * Those at the distance of the grid's blocks. Where the launch made clusters,
 * tiles that are left when every block has had as many are a cluster's, whose
 * blocks share them, unless that takes as long as one tile a block, or they are
 * more than `most`.
 */
#pragma once

#include "division.h"
#include "nvidia/cluster.h"

struct TileTurns {
    u64 at, step, alone, count;
    bool shared;

    DEV_MEMBER TileTurns(u64 block, u64 blocks, u64 tiles, u32 most, bool calls)
        : at(block), step(blocks), alone(tiles), count(tiles), shared(false)
    {
        const u32 ranks = most ? cluster_blocks() : 1;

        if (ranks > 1 && ranks <= most) {
            const u64 left =
                tiles < blocks
                    ? tiles
                    : tiles - divide_if(calls, tiles, blocks) * blocks;

            if (left <= clusters() * (ranks - 1))
                alone -= left;
            turn();
        }
    }
    DEV_MEMBER bool more() const
    {
        return at < count;
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
            at = alone + cluster_index();
            step = clusters();
        }
    }
};
