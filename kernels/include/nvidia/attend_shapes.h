/*
 * attend_shapes.h - how 8 warps share attention of many queries (attend_many.h)
 *
 * Also for attention.csv.c: a launch gives so much dynamic LDS.
 *
 *   units    of 16 queries, that a warp has
 *   groups   of warps, which wait for nobody else and have LDS of their own
 *   keys     of a stage of K and V
 *   at_once  of them, whose scores a warp holds
 *   stages   in LDS
 *   q_in_lds operands of Q are read again for each stage, not held
 */
#pragma once

/* clang-format off */
#define ATTEND_SHAPES(X)                                                       \
    /* d, units, groups, keys, at_once, stages, q_in_lds */                    \
    X( 64, 2, 2, 64, 64, 3, 0)                                                 \
    X(128, 2, 2, 64, 64, 2, 1)                                                 \
    X(256, 1, 2, 32, 32, 2, 1)
/* clang-format on */

#define ATTEND_LDS(d, units, groups, keys, stages, q_in_lds)                   \
    ((q_in_lds) * (units)*8 * 16 * (d)*2 + (groups) * (stages) * (keys) * (d)*4)
