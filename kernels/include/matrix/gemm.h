/*
 * gemm.h - C = alpha A B + beta C + bias, by tiles of 128 x 128 or 64 x 64:
 * which way each type takes on each target
 */
#pragma once

#include "matrix/gemm_tile.h"
#if KPK_SM >= 80
#include "nvidia/gemm/tile_choice.h"
#endif

/*
 * The part of C that a block of `Size` makes at a time. Where matrix
 * instructions are so fast that LDS could not keep up, two or four large tiles
 * of f16 and bf16 are made as one, in steps of half the length, so that two
 * such blocks fit LDS.
 */
template <typename T, u32 Size> struct GemmShape {
    static constexpr bool joins = sizeof(T) == 2 && Size == 128;
    static constexpr u32 down = joins && matrix_rate >= 1024 ? 2 : 1;
    static constexpr u32 across = joins && matrix_rate >= 2048 ? 2 : 1;
    static constexpr u32 m = down * Size, n = across * Size;
    static constexpr u32 step = down > 1 ? step_nbytes / 2 : step_nbytes;
};

template <typename T, bool TransA, bool TransB, u32 Size>
DEV void gemm(const Gemm<T> &g)
{
#if KPK_SM >= 80
    TileChoice<T, TransA, TransB, Size>::run(g);
#else
    typedef GemmShape<T, Size> Shape;
    __shared__ __attribute__((aligned(16)))
    u8 lds[(Shape::m + Shape::n) * Shape::step];

    each_part(g, [&](const GemmPart &part) {
        each_tile<Shape::m, Shape::n, Shape::down, Shape::across>(
            g, [&](u32 x, u32 y) {
                gemm_tile<T, TransA, TransB, Shape::m, Shape::n, 2 * Size,
                          Shape::step>(g, part, x * Shape::m, y * Shape::n,
                                       lds);
            });
    });
#endif
}
