/*
 * product.h - products of strided matrices with f32 results
 *
 *   m     [k, rows, ...] of numbers or of GGUF's blocks
 *   x     [k, columns, ...] of numbers
 *   ids   absent, or [columns, tokens] i32
 *   out   [rows, columns, ...] f32
 *
 * Without ids the outer dimensions of out are multiples of m's, and adjacent
 * results share a matrix. With ids out is [rows, columns, tokens], and ids
 * choose a matrix for each column of a token; x is repeated to fill the
 * columns. If the matrix does not exist, the column becomes zero.
 *
 * A group of 32 threads computes one element. These kernels are for few
 * columns, and for layouts and types that modules gemm, quantized and moe do
 * not support.
 */
#pragma once

#include "ggml/tensor.h"
#include "gguf/block.h"

/* weights stored as numbers, not as blocks */
template <typename T> struct NumberRow {
    static constexpr u32 elems = 1; /* elements along k per thread and step */

    template <typename X>
    static DEV_MEMBER f32 dot(const u8 *row, i64 step, const u8 *x, i64 x_step,
                              u32 k)
    {
        return convert<f32>(*(const T *)(row + (i64)k * step)) *
               convert<f32>(*(const X *)(x + (i64)k * x_step));
    }
};

/* weights in blocks: four neighbours at once */
template <class F> struct BlockedRow {
    static constexpr u32 elems = 4;

    template <typename X>
    static DEV_MEMBER f32 dot(const u8 *row, i64, const u8 *x, i64 x_step,
                              u32 quad)
    {
        constexpr u32 quads = F::elems / 4;
        const Quad q = quad_of<F, BlockPlace::anywhere>(
            row + (u64)(quad / quads) * F::bytes, quad % quads);
        f32 sum = 0;

        UNROLL
        for (u32 i = 0; i < 4; i++)
            sum += quad_value(q, (int)i) *
                   convert<f32>(*(const X *)(x + (i64)(4 * quad + i) * x_step));
        return sum;
    }
};

template <class Weights, typename X>
DEV void ggml_mul_mat(const Tensor &m, const Tensor &x, const Tensor &ids,
                      const Tensor &out)
{
    const u32 n = out.ne[0] * rows_of(out), parts = m.ne[0] / Weights::elems;

    meet_launches();
    NO_UNROLL
    for (u64 g = global_thread() / 32; g < n; g += global_threads() / 32) {
        const Place p = place_of((u32)g, out.ne);
        Place of_m = p, of_x = p;
        bool exists = true;

        of_m.i[0] = of_x.i[0] = 0;
        of_m.i[1] = p.i[0];
        if (ids.data) {
            const u32 id = value_at<u32>(ids, {{p.i[1], p.i[2], 0, 0}});

            of_m.i[2] = id;
            of_x = repeated(of_x, x.ne);
            exists = id < m.ne[2];
        } else {
            UNROLL
            for (u32 d = 2; d < 4; d++)
                of_m.i[d] =
                    divide_uniform(p.i[d], divide_uniform(out.ne[d], m.ne[d]));
        }
        const u8 *row = address_of<const u8>(m, of_m);
        const u8 *column = address_of<const u8>(x, of_x);
        f32 sum = 0;

        NO_UNROLL
        for (u32 k = lane_id() % 32; exists && k < parts; k += 32)
            sum += Weights::template dot<X>(row, m.nb[0], column, x.nb[0], k);
        sum = join_lanes(sum, [](f32 a, f32 b) { return a + b; });
        if (lane_id() % 32 == 0)
            *address_of<f32>(out, p) = sum;
    }
}
