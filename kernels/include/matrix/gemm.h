/*
 * gemm.h - C = alpha A B + beta C + bias, by tiles of 128 x 128 or 64 x 64:
 * which way each type takes on each target
 */
#pragma once

#include "early.h"
#include "matrix/gemm_tile.h"
#if KPK_SM >= 80
#include "nvidia/gemm/f32_f64_tile.h"
#include "nvidia/gemm/gemm_f16.h"
#endif
#if KPK_WARPGROUPS
#include "nvidia/gemm/bf16x3_tile.h"
#include "nvidia/gemm/transposed_tile.h"
#endif

#if KPK_SM >= 80
/* Tiles of f32 and f64, if operands are aligned to `Once` bytes and the launch
 * gave LDS for two steps; `lds` has room for a third. */
template <typename T, bool TransA, bool TransB, u32 Size, u32 Once>
DEV bool gemm_by_copies(const Gemm<T> &g, u8 *lds, u8 *more_lds)
{
    typedef CopiedTile<T, !TransA, TransB, Size, Once> Tile;

    if (!Tile::fits(g))
        return false;
    each_part(g, [&](const GemmPart &part) {
        each_tile<Size, Size, 1, 1>(g, [&](u32 x, u32 y) {
            Tile::run(g, part, x * Size, y * Size, more_lds, lds);
        });
    });
    return true;
}
#endif

/*
 * The part of C that a block of `Size` computes at a time. If matrix
 * instructions are faster than LDS, two or four large tiles of f16 and bf16 are
 * joined to one, with steps of half the length, so that two blocks fit LDS.
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
    if constexpr (sizeof(T) == 2) {
        if (!KPK_WARPGROUPS) /* warpgroup kernels wait later */
            wait_for_launch_before();
        AsyncGemm<T, TransA, TransB, Size>::run(g);
        return;
    }
#endif
    typedef GemmShape<T, Size> Shape;
    constexpr u32 nbytes = (Shape::m + Shape::n) * Shape::step;
    __shared__ __attribute__((aligned(16))) u8 lds[nbytes];
#if KPK_SM >= 80
    LDS_BYTES(more_lds);
    const bool two = dynamic_lds_nbytes() >= 2 * nbytes;
    u8 *const steps = two ? more_lds : lds;
    const u32 flip = two ? nbytes : 0;

#if KPK_WARPGROUPS
    if constexpr (is_same<T, f32>::value) {
        if (LimbGemm<TransA, TransB, Size>::run(g, more_lds))
            return;
    }
#endif
    if constexpr (sizeof(T) > 2) {
        if (gemm_by_copies<T, TransA, TransB, Size, 16>(g, lds, more_lds))
            return;
    }
    if constexpr (sizeof(T) == 8) {
        if (gemm_by_copies<T, TransA, TransB, Size, 8>(g, lds, more_lds))
            return;
    }
#else
    u8 *const steps = lds;
    const u32 flip = 0;
#endif

    each_part(g, [&](const GemmPart &part) {
        each_tile<Shape::m, Shape::n, Shape::down, Shape::across>(
            g, [&](u32 x, u32 y) {
                gemm_tile<T, TransA, TransB, Shape::m, Shape::n, 2 * Size,
                          Shape::step>(g, part, x * Shape::m, y * Shape::n,
                                       steps, flip);
            });
    });
}
