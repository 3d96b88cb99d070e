/*
 * attend_shapes.h - tiles of attention of many queries
 *
 * attention.csv.c uses it, too, for the dynamic LDS of launches.
 */
#pragma once

/* clang-format off */
/*
 * By mma.sync (attend_mma.h): so much that sm_86 has it, 99 KiB in all.
 *
 *   keys     in a stage of K and V
 *   at_once  keys whose scores a warp holds
 *   stages   in LDS
 *   q_in_lds operands of Q are read again for each stage, not held
 *   blocks   on a multiprocessor, at least
 */
#define ATTEND_SHAPES(X)                                                       \
    /* d, keys, at_once, stages, q_in_lds, blocks */                           \
    X( 64, 64, 32, 3, 0, 2)                                                    \
    X(128, 32, 32, 2, 1, 2)                                                    \
    X(256, 16, 16, 3, 0, 1)
/* the same in static LDS, for launches without dynamic LDS */
#define ATTEND_FALLBACK_SHAPES(X)                                              \
    X( 64, 32, 32, 2, 0, 1)                                                    \
    X(128, 16, 16, 2, 0, 1)                                                    \
    X(256, 16, 16, 2, 0, 1)

/*
 * On sm_90 (attend_wgmma.h), of its 227 KiB.
 *
 *   groups   computing warpgroups, with 64 queries each; one more copies
 *   keys     in a tile
 *   slots    for tiles of K and V
 */
#define ATTEND_GROUPS_SHAPES(X)                                                \
    /* d, groups, keys, slots */                                               \
    X( 64, 3, 128, 4)                                                          \
    X(128, 2, 128, 4)                                                          \
    X(256, 2, 64, 4)
/* clang-format on */

#define ATTEND_LDS(d, keys, stages, q_in_lds)                                  \
    ((q_in_lds)*128 * (d)*2 + (stages) * (keys) * (d)*4)
#define ATTEND_GROUPS_THREADS(groups) (((groups) + 1) * 128)
#define ATTEND_GROUPS_LDS(d, groups, keys, slots)                              \
    ((groups)*64 * (d)*2 + (slots) * (keys) * (d)*2)
/* For the second form's masks: slots of an f16 for each query and key of a
 * tile, as many as fit into the static LDS that a launch without more has. */
#define ATTEND_MASK_SLOTS 2
#define ATTEND_MASK_SLOT(groups, keys) ((groups)*64 * (keys)*2)
#define ATTEND_STATIC_LDS (32 << 10)
#define ATTEND_STATIC_MASKS(groups, keys)                                      \
    (ATTEND_STATIC_LDS / ATTEND_MASK_SLOT(groups, keys))
#define ATTEND_MASK_LDS(groups, keys)                                          \
    ((ATTEND_MASK_SLOTS - ATTEND_STATIC_MASKS(groups, keys)) *                 \
     ATTEND_MASK_SLOT(groups, keys))
