/*
 * strided_rope.h - rotary embedding of strided rows, with one position or
 * several
 *
 *   x, out      [d, heads, tokens, sequences], of one shape; out may be x
 *   positions   [tokens] i32, or four runs of tokens if rope.pairs says so
 *   factors     [n_dims / 2] f32: divide the angles; or null
 *
 * A table of cosines and sines serves all layers with the same rotation.
 *
 * Elements rope.first to rope.first + turned - 1 are rotated in pairs; the
 * others are copied.
 */
#pragma once

#include "fused/angles.h"
#include "ggml/tensor.h"

/* The number of a pair's position, 0 to 3, and the first pair of its run. */
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

/* A pair of elements of a row, its rotation, and whether it is rotated. */
struct Turn {
    u32 c[2];
    f32 cosine, sine;
    bool turns;

    /* The pair of x, a row of n, after the rotation. The second element may lie
     * behind the row's end. */
    template <class X> DEV_MEMBER Pack<f32, 2> of(const X &x, u32 n) const
    {
        const f32 a = convert<f32>(x[c[0]]);
        const f32 b = c[1] < n ? convert<f32>(x[c[1]]) : 0;

        if (!turns)
            return {{a, b}};
        /* explicit, so that every kernel that uses this rounds alike */
        return {{fused(a, cosine, -rounded_product(b, sine)),
                 fused(a, sine, rounded_product(b, cosine))}};
    }
};

/* Rotates pairs of rows; `tokens` counts the tokens of all sequences. */
struct Turner {
    const kpk_ggml_rope &r;
    const i32 *positions;
    u32 tokens;
    const f32 *table; /* made by ggml_rope_table() with this r; or null */
    rope_args args;
    rope_angles angles;

    DEV_MEMBER Turner(const kpk_ggml_rope &how, const i32 *p,
                      const f32 *factors, u32 n, const f32 *made = nullptr)
        : r(how), positions(p), tokens(n), table(made)
    {
        args = {p,     factors, r.n_dims,   r.base,     r.scale,
                r.ext, r.attn,  r.corr_low, r.corr_high};
        if (!table)
            angles.begin(args);
    }
    /* pair number `pair` of a token's rows */
    DEV_MEMBER Turn turn(u32 token, u32 pair) const
    {
        const u32 half = r.turned / 2;
        Turn t = {{0, 0}, 1, 0, pair < half};

        if (!t.turns) { /* two elements that are not rotated */
            UNROLL
            for (u32 i = 0; i < 2; i++) {
                t.c[i] = 2 * (pair - half) + i;
                t.c[i] += t.c[i] >= r.first ? r.turned : 0;
            }
            return t;
        }
        t.c[0] = r.first + (r.halves ? pair : 2 * pair);
        t.c[1] = t.c[0] + (r.halves ? half : 1);
        if (table) {
            const Pack<f32, 2> made =
                load_pack<2>(table + 2 * ((u64)token * half + pair));

            t.cosine = made[0];
            t.sine = made[1];
            return t;
        }

        const Section section = section_of(r, pair);
        rope_args of = args;

        /* the angle's number may be less than the pair's */
        if (of.freq_factors)
            of.freq_factors += section.begin;
        of.corr_low -= (f32)section.begin;
        of.corr_high -= (f32)section.begin;
        angles.at(of, positions[section.which * tokens + token],
                  pair - section.begin, t.cosine, t.sine);
        if (r.back)
            t.sine = -t.sine;
        return t;
    }
};

/* table [tokens, r.turned / 2] of two f32: cosines and sines */
DEV void ggml_rope_table(const i32 *positions, const f32 *factors, f32 *table,
                         u32 tokens, const kpk_ggml_rope &r)
{
    const u32 half = r.turned / 2;
    const Turner turner(r, positions, factors, tokens);

    each_of(tokens * half, [&](u32 i) {
        const u32 token = divide_uniform(i, half);
        const Turn turn = turner.turn(token, i - token * half);

        store_pack<2>(table + 2 * (u64)i,
                      Pack<f32, 2>{{turn.cosine, turn.sine}});
    });
}

template <typename T>
DEV void ggml_rope(const Tensor &x, const i32 *positions, const f32 *factors,
                   const Tensor &out, const kpk_ggml_rope &r)
{
    const u32 ne[4] = {div_up(out.ne[0], 2u), out.ne[1], out.ne[2], out.ne[3]};
    const Turner turner(r, positions, factors, out.ne[2]);

    each_of(ne[0] * rows_of(out), [&](u32 i) {
        Place p = place_of(i, ne);
        const u32 pair = p.i[0];

        p.i[0] = 0;
        const Turn turn = turner.turn(p.i[2], pair);
        const Row<T> to(out, p);
        const Pack<f32, 2> two = turn.of(Row<const T>(x, p), out.ne[0]);

        UNROLL
        for (u32 k = 0; k < 2; k++)
            if (turn.c[k] < out.ne[0])
                to[turn.c[k]] = convert<T>(two[k]);
    });
}
