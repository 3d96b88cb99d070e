/*
 * upsample.h - nearest and bilinear enlargement (or reduction) of images
 *
 * x    [b, c, d2, d3], strided
 * dst  [b, c, out2, out3], contiguous
 * Places are worked out in f64, as the host gives the scales: in integers or in
 * f32 some of them would come out next door.
 */
#pragma once

#include "conv/image_rows.h"

/* floor(place), at most the last of `length` */
template <typename W> DEV W place_below(f64 place, W length)
{
    const f64 last = (f64)(length - 1);

    return (W)(place < last ? place : last);
}

template <typename T> struct Nearest {
    const Image &x;
    const T *RESTRICT src;
    f64 scale2, scale3;

    template <u32 V, typename W>
    DEV_MEMBER void write(W b, W c, W i2, W i3, T *to) const
    {
        const T *row = src + b * x.sb + c * x.sc +
                       place_below((f64)i2 * scale2, (W)x.h) * x.sh;
        const f64 first = (f64)i3;
        Pack<T, V> out;

        UNROLL
        for (u32 i = 0; i < V; i++)
            out[i] = row[place_below((first + i) * scale3, (W)x.w) * x.sw];
        store_pack<V>(to, out);
    }
};

template <typename T>
DEV void upsample_nearest(u64 out2, u64 out3, f64 scale2, f64 scale3,
                          const size_t *info, const T *RESTRICT src,
                          T *RESTRICT dst)
{
    constexpr u32 V = per16<T>::value < 4 ? per16<T>::value : 4;

    if (leaves_at_once(V))
        return;
    const Image x = image_2d(info);

    each_output<V>(x, out2, out3, dst, Nearest<T>{x, src, scale2, scale3});
}

/* An axis: the inputs per output, and the place of output i. */
struct Places {
    f64 factor;
    bool align_corners;

    DEV_MEMBER f64 at(f64 i) const
    {
        /* rounded before the subtraction, as candle does; a fused operation
         * would give other weights */
        const f64 place =
            align_corners ? factor * i : rounded_product(factor, i + 0.5) - 0.5;

        return place > 0 ? place : 0;
    }
};

/* the two inputs between which an output lies, and the weight of the second */
template <typename W> struct Between {
    W first, second;
    f64 weight;

    DEV_MEMBER Between(f64 place, W length)
    {
        first = place_below(place, length);
        second = first + 1 < length ? first + 1 : first;
        weight = place - (f64)first;
        weight = weight < 1 ? weight : 1;
    }
};

DEV f64 axis_factor(u64 in, u64 out, bool align_corners, bool has_scale,
                    f64 scale)
{
    if (align_corners)
        return out > 1 ? (f64)(in - 1) / (f64)(out - 1) : 0;
    return has_scale ? 1 / scale : (f64)in / (f64)out;
}

template <typename T> struct Bilinear {
    const Image &x;
    const T *RESTRICT src;
    Places places_h, places_w;

    /* neighbouring outputs share columns of the input */
    template <u32 V, typename W>
    DEV_MEMBER void write(W b, W c, W ih, W iw, T *to) const
    {
        const Between<W> h(places_h.at((f64)ih), (W)x.h);
        const T *plane = src + b * x.sb + c * x.sc;
        const T *upper = plane + h.first * x.sh;
        const T *lower = plane + h.second * x.sh;
        const f64 leftmost = (f64)iw;
        f64 v00 = 0, v01 = 0, v10 = 0, v11 = 0;
        W left = 0, right = 0; /* columns of v00, v10 and of v01, v11 */
        Pack<T, V> out;

        UNROLL
        for (u32 i = 0; i < V; i++) {
            const Between<W> w(places_w.at(leftmost + i), (W)x.w);

            if (i > 0 && w.first == right) {
                v00 = v01;
                v10 = v11;
            } else if (i == 0 || w.first != left) {
                v00 = convert<f64>(upper[w.first * x.sw]);
                v10 = convert<f64>(lower[w.first * x.sw]);
            }
            if (i == 0 || w.second != right) {
                v01 = convert<f64>(upper[w.second * x.sw]);
                v11 = convert<f64>(lower[w.second * x.sw]);
            }
            left = w.first;
            right = w.second;

            const f64 top = v00 * (1 - w.weight) + v01 * w.weight;
            const f64 bottom = v10 * (1 - w.weight) + v11 * w.weight;

            out[i] = convert<T>(top * (1 - h.weight) + bottom * h.weight);
        }
        store_pack<V>(to, out);
    }
};

template <typename T>
DEV void upsample_bilinear(u64 w_out, u64 h_out, bool align_corners,
                           bool has_scale_h, f64 scale_h, bool has_scale_w,
                           f64 scale_w, const size_t *info,
                           const T *RESTRICT src, T *RESTRICT dst)
{
    constexpr u32 V = per16<T>::value < 4 ? per16<T>::value : 4;

    if (leaves_at_once(V))
        return;
    const Image x = image_2d(info);

    each_output<V>(
        x, h_out, w_out, dst,
        Bilinear<T>{
            x,
            src,
            {axis_factor(x.h, h_out, align_corners, has_scale_h, scale_h),
             align_corners},
            {axis_factor(x.w, w_out, align_corners, has_scale_w, scale_w),
             align_corners}});
}
