/*
 * neighbours.h - which blocks take their neighbours' outputs, and how many
 *
 * One block in 2^shift stays. AMD's chips have up to 8 dies and assign blocks
 * to them in turn. So blocks that stay form runs of 8; if every 2^shift-th
 * block stayed, with a shift from 3 up all would be on one die.
 */
#pragma once

#include "walk.h"

DEV bool neighbour_takes_it(u32 shift)
{
    return is_left_out(1u << shift, log_walk_run);
}

/* The first of the 2^shift outputs of a block that stays. */
DEV u32 first_taken(u32 shift)
{
    constexpr u32 run = (1u << log_walk_run) - 1;
    const u32 block = blockIdx.x, apart = log_walk_run + shift;

    if constexpr (run == 0)
        return block;
    return (block >> apart << apart) + ((block & run) << shift);
}

/* The number of outputs from `first` on, which may be 0. */
DEV u32 outputs_taken(u32 first, u32 shift)
{
    const u32 grid = gridDim.x;

    return first < grid ? min_of(1u << shift, grid - first) : 0;
}
