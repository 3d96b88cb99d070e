/*
 * skinny_gemm.h - C = alpha A B + beta C + bias for few rows: B is read once
 *
 * A block of 256 threads makes up to 8 rows x 64 columns of C. Sums are made
 * with FMA, on any target.
 */
#pragma once

#include "early.h"
#include "matrix/gemm.h"
#include "matrix/skinny_tile.h"
#if KPK_SM >= 80
#include "nvidia/gemm/skinny_f16.h"
#endif
#if KPK_WARPGROUPS
#include "nvidia/gemm/skinny_f32_f64.h"
#include "nvidia/gemm/transposed_tile.h"
#endif

/* ---- the kernels ---------------------------------------------------- */

template <typename T, bool TransB> DEV void gemm_skinny(const Gemm<T> &g)
{
    typedef typename Gemm<T>::S S;
    constexpr u32 pitch = skinny_cols + 4;
    __shared__ __attribute__((aligned(16)))
    u8 lds[skinny_threads / 32 * skinny_rows * pitch * sizeof(S)];

#if KPK_WARPGROUPS
    if constexpr (sizeof(T) == 2) {
        static_assert(sizeof(lds) <= KPK_SKINNY_OWN_LDS, "beside steps");
        if (SkinnyWarpgroups<T, TransB>::fast(g)) /* it waits by itself */
            return;
        wait_for_launch_before();
        SkinnyWarpgroups<T, TransB>::unaligned(g, lds);
        return;
    } else if (skinny_copied<T, TransB>(g, lds)) { /* so does this */
        return;
    }
#endif
    wait_for_launch_before();
#if KPK_SM >= 80
    if constexpr (sizeof(T) == 2) {
        skinny_mma_tiles<T, TransB>(g, lds);
        return;
    }
#endif
    each_part(g, [&](const GemmPart &part) {
        each_tile<skinny_rows, skinny_cols, 1, 1>(g, [&](u32 x, u32 y) {
            const SkinnyTile<T> tile(read_again(g), part, x, y, skinny_cols);
            const u32 c0 = threadIdx.x / 32 * warp_cols;

            if constexpr (!TransB)
                skinny_nn(tile, lds);
            else if (KPK_SM >= 80 && sizeof(T) == 4 && tile.nrows == 1)
                skinny_nt<1>(tile, c0);
            else
                skinny_nt<skinny_rows>(tile, c0);
        });
    });
}

/* C of the sums over the splits, in their order; a thread has 4 results */
template <typename T> DEV void gemm_join(const Gemm<T> &g)
{
    typedef typename Gemm<T>::S S;
    constexpr u32 once = 4;
    const u64 each = (u64)g.m * g.n, total = each * g.batch;

    NO_UNROLL
    for (u64 b = blockIdx.z; b < g.batch; b += gridDim.z) {
        const GemmOut<T> out(g, {b, 0, 0, 0});

        NO_UNROLL
        for (u64 i = global_thread() * once; i < each;
             i += global_threads() * once) {
            const S *const from = g.partial + (b * each + i);
            const u32 n = (u32)min_of(each - i, (u64)once);
            u32 row = (u32)divide(i, (u64)g.n);
            u32 col = (u32)(i - (u64)row * g.n);
            Pack<S, once> sum = {};

            if (n == once) {
                sum = load_anywhere<once>(from);
                _Pragma("unroll 4") for (u32 s = 1; s < g.splits; s++)
                {
                    const Pack<S, once> more =
                        load_anywhere<once>(from + s * total);

                    UNROLL
                    for (u32 e = 0; e < once; e++)
                        sum[e] += more[e];
                }
            } else {
                UNROLL
                for (u32 e = 0; e + 1 < once; e++) {
                    if (e >= n)
                        break;
                    sum[e] = from[e];
                    for (u32 s = 1; s < g.splits; s++)
                        sum[e] += from[s * total + e];
                }
            }
            UNROLL
            for (u32 e = 0; e < once; e++) {
                if (e >= n)
                    break;
                out.finish(row, col, sum[e]);
                if (++col == g.n)
                    col = 0, row++;
            }
        }
    }
}

/* rows of `from` to rows of `to`, piece by piece of 16 bytes */
template <typename T>
DEV void gemm_align(const T *from, T *to, u32 rows, u32 cols, u32 ld_from,
                    u32 ld_to, i64 stride_from, i64 stride_to, u32 batch)
{
    constexpr u32 n = per16<T>::value;
    const u64 across = ld_to / n, each = rows * across;

    NO_UNROLL
    for (u64 i = global_thread(); i < each * batch; i += global_threads()) {
        const u64 line = divide(i, across), b = divide(line, (u64)rows);
        const u64 row = line - b * rows;
        const u32 col = (u32)(i - line * across) * n;
        const u32 left = col < cols ? cols - col : 0;

        store_pack(reinterpret_cast<u32 *>(
                       to + ((i64)b * stride_to + (i64)(row * ld_to + col))),
                   load_piece(from + ((i64)b * stride_from +
                                      (i64)(row * ld_from + col)),
                              left));
    }
}
