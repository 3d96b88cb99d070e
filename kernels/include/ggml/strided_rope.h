/*
 * strided_rope.h - rotary embedding of strided rows, with one position or
 * several
 *
 *   x, out      [d, heads, tokens, sequences], of one shape; out may be x
 *   positions   [tokens] i32, or four runs of tokens if rope.pairs says so
 *   factors     [n_dims / 2] f32: divide the angles; or null
 *
 * Elements rope.first to rope.first + turned are turned, pair by pair; the
 * others are copied.
 */
#pragma once

#include "fused/angles.h"
#include "ggml/tensor.h"

/* Which of four positions a pair has, and the pair that its run begins with. */
struct Section {
    u32 which, begin;
};

DEV Section section_of(const kpk_ggml_rope &r, u32 pair)
{
    const u32 ends[3] = {r.pairs[0], r.pairs[0] + r.pairs[1],
                         r.pairs[0] + r.pairs[1] + r.pairs[2]};
    const u32 all = ends[2] + r.pairs[3];

    if (all == 0)
        return {0, 0};
    const u32 at = pair % all, third = at % 3;

    if (r.in_turn)
        return {at < 3 * r.pairs[third] ? third : 3, 0};
    const u32 which = (u32)(at >= ends[0]) + (at >= ends[1]) + (at >= ends[2]);
    const u32 begin = which == 0 ? 0 : ends[which - 1];

    return {which, r.restart ? pair - at + begin : 0};
}

template <typename T>
DEV void ggml_rope(const Tensor &x, const i32 *positions, const f32 *factors,
                   const Tensor &out, const kpk_ggml_rope &r)
{
    const u32 turned = r.turned, half = turned / 2;
    const u32 ne[4] = {div_up(out.ne[0], 2u), out.ne[1], out.ne[2], out.ne[3]};
    const rope_args args = {positions, factors, r.n_dims,   r.base,     r.scale,
                            r.ext,     r.attn,  r.corr_low, r.corr_high};
    rope_angles angles;

    angles.begin(args);
    each_of(ne[0] * rows_of(out), [&](u32 i) {
        Place p = place_of(i, ne), q;
        const u32 pair = p.i[0];

        q = p;
        if (pair >= half) { /* two elements of the others */
            p.i[0] = 2 * (pair - half);
            q.i[0] = p.i[0] + 1;
            p.i[0] += p.i[0] >= r.first ? turned : 0;
            q.i[0] += q.i[0] >= r.first ? turned : 0;
            *address_of<T>(out, p) = value_at<T>(x, p);
            if (q.i[0] < out.ne[0])
                *address_of<T>(out, q) = value_at<T>(x, q);
            return;
        }
        p.i[0] = r.first + (r.halves ? pair : 2 * pair);
        q.i[0] = p.i[0] + (r.halves ? half : 1);

        const Section section = section_of(r, pair);
        const f32 a = convert<f32>(value_at<T>(x, p));
        const f32 b = convert<f32>(value_at<T>(x, q));
        rope_args of = args;
        f32 cosine, sine;

        /* the angle's number may be less than the pair's */
        if (factors)
            of.freq_factors += section.begin;
        of.corr_low -= (f32)section.begin;
        of.corr_high -= (f32)section.begin;
        angles.at(of, positions[section.which * out.ne[2] + p.i[2]],
                  pair - section.begin, cosine, sine);
        if (r.back)
            sine = -sine;
        *address_of<T>(out, p) = convert<T>(a * cosine - b * sine);
        *address_of<T>(out, q) = convert<T>(a * sine + b * cosine);
    });
}
