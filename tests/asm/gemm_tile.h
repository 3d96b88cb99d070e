/* gemm_tile.h - selects a GEMM kernel out of its configuration table */
#ifndef GEMM_TILE_H
#define GEMM_TILE_H

#include <kpack.h>

/* D [M][N] = A [M][K] x B [N][K], on a device of that many compute units. */
struct gemm_problem {
    int64_t m, n, k;
    int64_t compute_units;
    int bias;  /* 1: a bias is added */
    int split; /* 1: K may be split over workgroups, 0: it may not */
};

struct gemm_choice {
    size_t row; /* of the table */
    uint32_t tile_m, tile_n, splits;
};

/*
 * gemm_select() picks the tile: one that divides N, takes the fewest rounds
 * over the compute units, and of those the one with the fewest rows beyond M,
 * then the fewest idle units, then the largest.
 *
 *   kind    the module that has the table, "bf16gemm" of an imported pack
 *   target  the device's target ID
 */
kpk_status gemm_select(const kpk_module *kind, const char *target,
                       const struct gemm_problem *problem,
                       struct gemm_choice *out);

#endif
