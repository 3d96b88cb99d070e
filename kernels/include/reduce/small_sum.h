/*
 * small_sum.h - fast_sum_small_*: a thread for each output
 *
 * src  strided through info, as in fast.h
 * dst  [outputs] of T, contiguous
 * Any 1-D grid and block. Hosts launch blocks of 256 threads for rows of up to
 * 32 elements; longer rows are right, but slow. A thread adds its elements in
 * the order of the view, as the reference does: f32's and f64's sums have its
 * bits. f16 and bf16 sum in f32 and round once.
 */
#pragma once

#include "reduce/fold.h"

template <typename T>
DEV void small_sum(u64 outputs, u64 R, u64 num_dims, const size_t *info,
                   const T *src, T *dst)
{
    using OP = sum_of<T>;

    for (u64 o = global_thread(); o < outputs; o += global_threads()) {
        const line where = find_line(outputs * R, R, num_dims, info, o * R);
        const typename OP::value v =
            where.straight
                ? fold_line<OP, u64>(src + where.base, where.step, R, 0, 1)
                : fold_strided<OP>(src, o * R, R, num_dims, info, 0, 1);

        dst[o] = OP::result(v, o * R, R, num_dims, info);
    }
}
