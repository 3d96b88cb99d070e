/*
 * tile_columns.h - which columns a tile multiplies, and where results go
 *
 * Column c of a product is row from(c) of the Q8_1 columns, and its results are
 * row to(c) of the output. A dense product has all of them, one behind the
 * other. Of a mixture of experts a tile has the columns that chose its expert.
 * thread() is the thread's number in the workgroup: tile_thread(), or the same
 * made anew for each tile of a loop.
 */
#pragma once

#include "quantized/tile_layout.h"

struct AllColumns {
    static constexpr bool are_neighbours = true;
    static constexpr int lds_nbytes = 0;

    static DEV_MEMBER int thread()
    {
        return tile_thread();
    }
    static DEV_MEMBER int from(int c)
    {
        return c;
    }
    static DEV_MEMBER int to(int c)
    {
        return c;
    }
};

/* two lists in LDS, for up to `most` columns */
struct ChosenColumns {
    static constexpr bool are_neighbours = false;
    static constexpr int most = 128, lds_nbytes = 2 * 4 * most;
    const u32 *input, *output;
    int tid;

    DEV_MEMBER int thread() const
    {
        return tid;
    }
    DEV_MEMBER int from(int c) const
    {
        return (int)input[c];
    }
    DEV_MEMBER int to(int c) const
    {
        return (int)output[c];
    }
};
