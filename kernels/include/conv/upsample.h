/*
 * upsample.h - nearest and bilinear enlargement (or reduction) of images
 *
 * x    [b, c, d2, d3], strided
 * dst  [b, c, out2, out3], contiguous
 * Any 1-D grid. Places are worked out in f64, as the host gives the scales: in
 * integers or in f32 some of them would come out next door.
 */
#pragma once

#include "conv/tile.h"

DEV u64 nearest(u64 i, f64 scale, u64 length)
{
    const u64 at = (u64)((f64)i * scale);

    return at < length ? at : length - 1;
}

template <typename T>
DEV void upsample_nearest(u64 out2, u64 out3, f64 scale2, f64 scale3,
                          const size_t *info, const T *RESTRICT src,
                          T *RESTRICT dst)
{
    const Image x = image_2d(info);
    const u64 n = x.b * x.c * out2 * out3;

    for (u64 i = global_thread(); i < n; i += global_threads()) {
        u64 b = i;
        const u64 i3 = take(b, out3), i2 = take(b, out2), c = take(b, x.c);

        dst[i] = src[b * x.sb + c * x.sc + nearest(i2, scale2, x.h) * x.sh +
                     nearest(i3, scale3, x.w) * x.sw];
    }
}

/* the two inputs between which an output lies, and the weight of the second */
struct Between {
    u64 first, second;
    f64 weight;
};

/* in: the axis's length; factor: inputs an output */
DEV Between between(u64 i, u64 in, f64 factor, bool align_corners)
{
    /* rounded before the subtraction: fused, weights would be others' no more
     */
    const f64 place = align_corners
                          ? factor * (f64)i
                          : rounded_product(factor, (f64)i + 0.5) - 0.5;
    const f64 at = place > 0 ? place : 0;
    const u64 floor = (u64)at;
    Between s;

    s.first = floor < in ? floor : in - 1;
    s.second = s.first + 1 < in ? s.first + 1 : in - 1;
    s.weight = at - (f64)s.first;
    s.weight = s.weight < 1 ? s.weight : 1;
    return s;
}

DEV f64 axis_factor(u64 in, u64 out, bool align_corners, bool has_scale,
                    f64 scale)
{
    if (align_corners)
        return out > 1 ? (f64)(in - 1) / (f64)(out - 1) : 0;
    return has_scale ? 1 / scale : (f64)in / (f64)out;
}

template <typename T>
DEV void upsample_bilinear(u64 w_out, u64 h_out, bool align_corners,
                           bool has_scale_h, f64 scale_h, bool has_scale_w,
                           f64 scale_w, const size_t *info,
                           const T *RESTRICT src, T *RESTRICT dst)
{
    const Image x = image_2d(info);
    const u64 n = x.b * x.c * h_out * w_out;
    const f64 factor_h =
        axis_factor(x.h, h_out, align_corners, has_scale_h, scale_h);
    const f64 factor_w =
        axis_factor(x.w, w_out, align_corners, has_scale_w, scale_w);

    for (u64 i = global_thread(); i < n; i += global_threads()) {
        u64 b = i;
        const u64 iw = take(b, w_out), ih = take(b, h_out), c = take(b, x.c);
        const Between h = between(ih, x.h, factor_h, align_corners);
        const Between w = between(iw, x.w, factor_w, align_corners);
        const T *plane = src + b * x.sb + c * x.sc;
        const T *upper = plane + h.first * x.sh;
        const T *lower = plane + h.second * x.sh;
        const f64 v00 = convert<f64>(upper[w.first * x.sw]);
        const f64 v01 = convert<f64>(upper[w.second * x.sw]);
        const f64 v10 = convert<f64>(lower[w.first * x.sw]);
        const f64 v11 = convert<f64>(lower[w.second * x.sw]);
        const f64 top = v00 * (1 - w.weight) + v01 * w.weight;
        const f64 bottom = v10 * (1 - w.weight) + v11 * w.weight;

        dst[i] = convert<T>(top * (1 - h.weight) + bottom * h.weight);
    }
}
