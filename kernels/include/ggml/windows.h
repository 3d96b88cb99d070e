/*
 * windows.h - windows that move over images, and images of another size
 *
 *   im2col     out [taps, w, h, images]: a row has the inputs under a position,
 *              columns of the window first, then its rows, then channels; 0
 *              outside of the image
 *   pool       the maximum or the average of the inputs under a window, summed
 *              in f32. The divisor is given; 0: as many as lie in the image. A
 *              window outside of it has the average 0 and the maximum -FLT_MAX
 *   conv_transpose_1d
 *              out [n, channels]: each input adds a window of weights [taps,
 *              channels, inputs], `step` from one to the next
 *   upscale    out [any, ...] at the places that `factor` gives, see
 *              kpk_ggml_scale; nearest, or of 2 or 4 neighbours each way
 *
 * An image is [w, h, channels, images].
 */
#pragma once

#include "ggml/tensor.h"
#include "reduce/numbers.h"

typedef kpk_ggml_window Window;

/* the input under a tap of the window at a place of dimension d, which may lie
 * outside of the image: then at 2^31 or more */
DEV u32 under(const Window &w, u32 d, u32 place, u32 tap)
{
    return place * w.step[d] + tap * w.dilation[d] - w.padding[d];
}

template <typename T, typename To>
DEV void ggml_im2col(const Tensor &x, const Tensor &out, const Window &w)
{
    each_place(out, [&](const Place &p) {
        const u32 row = p.i[0] / w.size[0], channel = row / w.size[1];
        const Place q = {{under(w, 0, p.i[1], p.i[0] - row * w.size[0]),
                          under(w, 1, p.i[2], row - channel * w.size[1]),
                          channel, p.i[3]}};
        const bool inside = q.i[0] < x.ne[0] && q.i[1] < x.ne[1];

        *address_of<To>(out, p) =
            inside ? convert<To>(value_at<T>(x, q)) : To{};
    });
}

struct PoolMax {
    f32 value = -0x1.fffffep127f;

    DEV_MEMBER void take(f32 x)
    {
        value = max_or_nan(value, x);
    }
    DEV_MEMBER f32 result(u32) const
    {
        return value;
    }
};

struct PoolAverage {
    f32 sum = 0;
    u32 n = 0;

    DEV_MEMBER void take(f32 x)
    {
        sum += x;
        n++;
    }
    DEV_MEMBER f32 result(u32 divisor) const
    {
        return n > 0 ? sum / (f32)(divisor > 0 ? divisor : n) : 0.0f;
    }
};

template <class Pool, typename T>
DEV void ggml_pool(const Tensor &x, const Tensor &out, const Window &w,
                   u32 divisor)
{
    each_place(out, [&](const Place &p) {
        Pool pool;
        Place q = p;

        for (u32 h = 0; h < w.size[1]; h++) {
            q.i[1] = under(w, 1, p.i[1], h);
            for (u32 k = 0; k < w.size[0]; k++) {
                q.i[0] = under(w, 0, p.i[0], k);
                if (q.i[0] < x.ne[0] && q.i[1] < x.ne[1])
                    pool.take(convert<f32>(value_at<T>(x, q)));
            }
        }
        *address_of<f32>(out, p) = pool.result(divisor);
    });
}

/* T is the type of the weights */
template <typename T>
DEV void ggml_conv_transpose_1d(const Tensor &weights, const Tensor &x,
                                const Tensor &out, u32 step)
{
    const u32 taps = weights.ne[0], inputs = weights.ne[2];

    each_place(out, [&](const Place &p) {
        const u32 first = p.i[0] < taps ? 0 : (p.i[0] - taps) / step + 1;
        f32 sum = 0;

        for (u32 at = first; at < x.ne[0] && at * step <= p.i[0]; at++)
            for (u32 c = 0; c < inputs; c++)
                sum += convert<f32>(value_at<T>(
                           weights, {{p.i[0] - at * step, p.i[1], c, 0}})) *
                       value_at<f32>(x, {{at, c, 0, 0}});
        *address_of<f32>(out, p) = sum;
    });
}

/* ---- images of another size ---- */

typedef kpk_ggml_scale Scale;

DEV void ggml_upscale_nearest(const Tensor &x, const Tensor &out,
                              const Scale &s)
{
    each_place(out, [&](const Place &p) {
        Place q;

        UNROLL
        for (u32 d = 0; d < 4; d++)
            q.i[d] = min_of((u32)((f32)p.i[d] / s.factor[d]), x.ne[d] - 1);
        *address_of<f32>(out, p) = value_at<f32>(x, q);
    });
}

/* The neighbours of a place in one dimension, and how much each counts: 2, or
 * the 4 of a cubic convolution with a = -0.75. */
template <u32 n> struct Neighbours {
    u32 at[n];
    f32 weight[n];

    DEV_MEMBER Neighbours(u32 place, f32 factor, f32 offset, u32 size)
    {
        const f32 x = ((f32)place + offset) / factor - offset;
        const i32 first = (i32)floorf(x), last = (i32)size - 1;

        UNROLL
        for (u32 i = 0; i < n; i++)
            at[i] =
                (u32)max_of(0, min_of(first + (i32)i - (i32)(n / 2 - 1), last));
        if constexpr (n == 2) {
            const f32 part = x - (f32)at[0]; /* beyond an edge: the edge */

            weight[1] = part < 0 ? 0.0f : part > 1 ? 1.0f : part;
            weight[0] = 1 - weight[1];
        } else {
            const f32 part = x - (f32)first;

            weight[0] = far(part + 1);
            weight[1] = near(part);
            weight[2] = near(1 - part);
            weight[3] = far(2 - part);
        }
    }
    static DEV_MEMBER f32 near(f32 d)
    {
        return (1.25f * d - 2.25f) * d * d + 1;
    }
    static DEV_MEMBER f32 far(f32 d)
    {
        return ((-0.75f * d + 3.75f) * d - 6) * d + 3;
    }
};

template <u32 n>
DEV void ggml_upscale(const Tensor &x, const Tensor &out, const Scale &s)
{
    each_place(out, [&](const Place &p) {
        const Neighbours<n> across(p.i[0], s.factor[0], s.offset, x.ne[0]);
        const Neighbours<n> down(p.i[1], s.factor[1], s.offset, x.ne[1]);
        Place q;
        f32 sum = 0;

        UNROLL
        for (u32 d = 2; d < 4; d++)
            q.i[d] = min_of((u32)((f32)p.i[d] / s.factor[d]), x.ne[d] - 1);
        UNROLL
        for (u32 h = 0; h < n; h++) {
            f32 line = 0;

            q.i[1] = down.at[h];
            UNROLL
            for (u32 w = 0; w < n; w++) {
                q.i[0] = across.at[w];
                line += value_at<f32>(x, q) * across.weight[w];
            }
            sum += line * down.weight[h];
        }
        *address_of<f32>(out, p) = sum;
    });
}
