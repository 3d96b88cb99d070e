/*
 * places.h - results that depend on where an element lies
 *
 *   keep_band   x where dimension 0 is `low` to `high` ahead of dimension 1,
 *               else another number
 *   arange      start + step i
 *   roll        x moved by `shift` in each dimension, round and round
 *   timestep_embedding
 *               out [dim, n]: cosines, then sines, of x [n] times
 *               period^(-i / (dim / 2)); an odd dim ends in 0
 */
#pragma once

#include "ggml/tensor.h"
#include "unary_math.h"

DEV void ggml_keep_band(const Tensor &x, const Tensor &out, i32 low, i32 high,
                        f32 other)
{
    each_place(out, [&](const Place &p) {
        const i32 ahead = (i32)p.i[0] - (i32)p.i[1];

        *address_of<f32>(out, p) =
            low <= ahead && ahead <= high ? value_at<f32>(x, p) : other;
    });
}

DEV void ggml_arange(const Tensor &out, f32 start, f32 step)
{
    each_of(out.ne[0], [&](u32 i) {
        *address_of<f32>(out, {{i, 0, 0, 0}}) = start + step * (f32)i;
    });
}

/* `from` is the place in x of the result's first element. */
DEV void ggml_roll(const Tensor &x, const Tensor &out, const Place &from)
{
    each_place(out, [&](const Place &p) {
        Place q;

        UNROLL
        for (u32 d = 0; d < 4; d++) {
            q.i[d] = p.i[d] + from.i[d];
            q.i[d] -= q.i[d] >= x.ne[d] ? x.ne[d] : 0;
        }
        *address_of<f32>(out, p) = value_at<f32>(x, q);
    });
}

DEV void ggml_timestep_embedding(const Tensor &x, const Tensor &out, u32 dim,
                                 f32 period)
{
    const u32 half = dim / 2;

    each_place(out, [&](const Place &p) {
        const bool sine = p.i[0] >= half;
        const u32 i = sine ? p.i[0] - half : p.i[0];
        const f32 rate = expf(-logf(period) * (f32)i / (f32)half);
        const f32 angle = value_at<f32>(x, {{p.i[1], 0, 0, 0}}) * rate;

        *address_of<f32>(out, p) = i >= half ? 0.0f
                                   : sine    ? sin_f32(angle)
                                             : cosf(angle);
    });
}
