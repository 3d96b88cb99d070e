/*
 * col2im.h - col2im1d: the columns of a transposed convolution, added up
 *
 * src  [b, l_in, c_out, k], contiguous
 * dst  [b, c_out, l_out], contiguous
 * dst[b, o, t] is the sum of src[b, i, o, kk] over i * stride + kk = t, from
 * the largest i down, in f32 for f16 and bf16 and rounded once; no term gives
 * 0.
 */
#pragma once

#include "add.h"
#include "conv/image_tile.h"

template <typename T>
DEV void columns_to_signal(u64 numel, u64 l_out, u64 l_in, u64 c_out, u64 k,
                           u64 stride, const T *RESTRICT src, T *RESTRICT dst)
{
    using A = calc_t<T>;

    for (u64 n = global_thread(); n < numel; n += global_threads()) {
        u64 b = n;
        const u64 t = take(b, l_out), o = take(b, c_out);
        const u64 last = divide(t, stride);
        A sum = {};

        for (u64 kk = t - last * stride, i = last; kk < k; kk += stride, i--) {
            if (i < l_in)
                sum = add_in_type(
                    sum,
                    convert<A>(src[((b * l_in + i) * c_out + o) * k + kk]));
            if (i == 0)
                break;
        }
        dst[n] = convert<T>(sum);
    }
}
