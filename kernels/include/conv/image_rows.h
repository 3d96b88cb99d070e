/*
 * image_rows.h - outputs of images by packs of V neighbours in a row
 *
 * For kernels of one simple formula an output: pooling and upsampling. Any 1-D
 * grid. Neighbouring threads have neighbouring packs, which share inputs
 * through the cache.
 */
#pragma once

#include "conv/views.h"
#include "walk.h"

/* n / d, which a division by 1 should not cost a division */
template <typename W> DEV W quotient(W n, W d)
{
    return d == 1 ? n : n / d;
}

/*
 * f.write<V>(b, c, row, first column, address) for packs of V outputs of
 * [b, c, h, w]
 */
template <u32 V, u32 each, typename W, typename T, typename F>
DEV void each_pack(const Image &x, u64 h_out, u64 w_out, T *dst, const F &f)
{
    const W across = (W)(w_out / V), h = (W)h_out, channels = (W)x.c;
    const W n = (W)(x.b * x.c) * h * across;
    const Walk<W> walk(each, n);

    for (W p = walk.first; p < n; p += walk.step) {
        const W row = quotient(p, across), plane = quotient(row, h);
        const W b = quotient(plane, channels);

        f.template write<V>(b, plane - b * channels, row - plane * h,
                            (p - row * across) * V, dst + (u64)p * V);
    }
}

/*
 * The same, with packs of V outputs if `packs` and the layout allow it, else of
 * one output, and with 32-bit indices if they suffice. Blocks for which
 * leaves_at_once(each) is true must have left.
 */
template <u32 V, u32 each = V, typename T, typename F>
DEV void each_output(const Image &x, u64 h_out, u64 w_out, T *dst, const F &f,
                     bool packs = true)
{
    if (h_out == 0 || w_out == 0)
        return;
    if (!walk_is_short(x.b * x.c * h_out * w_out) || !fits_u32(x.h | x.w))
        each_pack<1, each, u64>(x, h_out, w_out, dst, f);
    else if (packs && w_out % V == 0 && is_aligned(dst, V * (u32)sizeof(T)))
        each_pack<V, each, u32>(x, h_out, w_out, dst, f);
    else
        each_pack<1, each, u32>(x, h_out, w_out, dst, f);
}
