/*
 * wgmma_shapes.h - tiles of module gemm on sm_90, for kernels and
 * gemm.csv.c
 *
 * A kernel has several tiles and takes the first whose LDS the launch gave.
 */
#pragma once

/* Bytes of LDS for `stages` steps, from a multiple of 1024 on. A step has
 * `deep` times 64 of K of `rows` rows of A and `cols` columns of B. `more` KiB
 * tell tiles apart, and give tensor_map_tile.h as many steps beside its
 * results. */
#define KPK_WARPGROUP_LDS(rows, cols, deep, stages, more)                      \
    ((stages) * (deep)*128 * ((rows) + (cols)) + 1024 * (1 + (more)))

/* X(size in the kernel's name, rows, columns, deep, stages, more, shares,
 * apart): each size's tiles begin with the one of most LDS. For few rows of C
 * the columns here are rows of C. deep: pieces of 64 of K in a step, which the
 * warpgroups take in turn; a single warpgroup takes all. shares: how many
 * blocks of a cluster may share a tile, 0 for none: LDS must have room for
 * their sums. apart: 1 if one warpgroup only copies. */
/* where B lies along K */
#define KPK_WARPGROUP_MIDDLE(X) X(128, 128, 192, 1, 5, 18, 4, 0)
#define KPK_WARPGROUP_BROAD(X) X(128, 128, 160, 1, 6, 0, 4, 0)
/* for any */
#define KPK_WARPGROUP_EVEN(X) X(128, 128, 128, 1, 6, 19, 8, 0)
#define KPK_WARPGROUP_WIDE(X) X(128, 128, 256, 1, 4, 18, 4, 0)
/* where B lies along K */
#define KPK_WARPGROUP_SLIM(X) X(128, 128, 80, 1, 8, 0, 4, 0)
#define KPK_WARPGROUP_THIN(X) X(128, 128, 96, 1, 7, 0, 4, 0)
/* for any */
#define KPK_WARPGROUP_LONG(X) X(128, 128, 64, 1, 8, 2, 4, 0)
#define KPK_WARPGROUP_LONE(X) X(64, 64, 64, 1, 12, 28, 8, 0)
#define KPK_WARPGROUP_FLAT(X) X(64, 64, 128, 1, 8, 24, 4, 0)
#define KPK_WARPGROUP_SMALL(X) X(64, 64, 64, 1, 5, 28, 8, 0)
#define KPK_WARPGROUP_TWICE(X) X(64, 128, 128, 1, 3, 2, 0, 0)
#define KPK_WARPGROUP_HALF(X) X(64, 64, 128, 1, 4, 0, 0, 0)
/* where B lies along K */
#define KPK_WARPGROUP_LEAN(X) X(64, 64, 80, 2, 6, 2, 4, 0)
#define KPK_WARPGROUP_FINE(X) X(64, 64, 96, 1, 9, 24, 4, 0)
#define KPK_WARPGROUP_LOW(X) X(64, 64, 160, 1, 7, 5, 4, 0)
/* where B lies along K, and where not */
#define KPK_WARPGROUP_FEW_64(X) X(8, 64, 64, 1, 12, 1, 8, 1)
#define KPK_WARPGROUP_FEW_32(X) X(8, 64, 32, 1, 16, 0, 8, 1)
#define KPK_WARPGROUP_ACROSS_64(X) X(8, 64, 64, 2, 6, 1, 8, 0)
#define KPK_WARPGROUP_ACROSS_32(X) X(8, 64, 32, 2, 8, 0, 8, 0)
/* for any */
#define KPK_WARPGROUP_FEW_16(X) X(8, 64, 16, 2, 9, 0, 0, 0)
#define KPK_WARPGROUP_FEW_16_TWICE(X) X(8, 64, 16, 2, 4, 0, 0, 0)

/* Bytes of LDS for bf16x3_tile.h: two steps of 64 of K, with three limbs of 2
 * bytes for each number of both operands. */
#define KPK_LIMB_LDS(size) (2 * 64 * 3 * 2 * 2 * (size))

/* Bytes of LDS for rows8_copied.h: 8 warps with `stages` steps each. A step has
 * `pieces` pieces of B for each lane and `more` bytes of A. `size`, below,
 * counts an element's bytes. */
#define KPK_ROWS8_LDS(stages, pieces, more)                                    \
    (8 * (stages) * ((pieces)*512 + (more)))
/* where rows of B lie along N */
#define KPK_ACROSS_STAGES(size) ((size) == 4 ? 8 : 5)
#define KPK_ACROSS_LDS(size)                                                   \
    KPK_ROWS8_LDS(KPK_ACROSS_STAGES(size), (size) == 4 ? 4 : 8,                \
                  (size) == 4 ? 1024 : 512)
/* where columns of B lie along K: for one row to four, and for more of f64 */
#define KPK_ALONG_STAGES 4
#define KPK_ALONG_COLS 16
#define KPK_ALONG_LDS KPK_ROWS8_LDS(KPK_ALONG_STAGES, 4, 0)
#define KPK_ALONG_MMA_COLS 32
#define KPK_ALONG_MMA_LDS KPK_ROWS8_LDS(KPK_ALONG_STAGES, 8, 1024)
