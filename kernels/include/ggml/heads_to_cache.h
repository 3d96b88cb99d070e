/*
 * heads_to_cache.h - Q, K and V on their way to attention
 *
 *   table     of ggml_rope_table_f32
 *   q, k      [d, heads, tokens] f32, which are turned by it
 *   v         [columns, tokens] f32
 *   queries   [d, heads, tokens] f16, without gaps: Q, turned, times a factor
 *   keys, values
 *             rows of f16, of which ids choose one for each token's K and V,
 *             whose heads follow each other
 *   q_weights, k_weights
 *             [d] f32: each head is normed before it turns
 *
 * The numbers are those of rmsnorm_add_f32, ggml_rope_f32, ggml_scale_f32 and
 * ggml_set_rows_f16_f32. d and columns are even. Normed heads are aligned to 16
 * bytes, and so are their weights; d is a multiple of 4, at most 256.
 */
#pragma once

#include "fused/add_norm.h"
#include "ggml/rows.h"
#include "ggml/strided_rope.h"

/* the row of a cache that a token has; NULL: none */
DEV f16 *cache_row(const Tensor &cache, const Tensor &ids, u32 wide, u32 token)
{
    Place p = {{0, token, 0, 0}};

    return choose_row(p, ids, wide, cache.ne[1]) ? address_of<f16>(cache, p)
                                                 : nullptr;
}

/* two numbers of V */
DEV void values_to_cache(const kpk_ggml_heads &h, u32 token, u32 pair)
{
    const Row<const f32> from(h.v, {{0, token, 0, 0}});
    f16 *to = cache_row(h.values, h.value_ids, h.wide, token);

    for (u32 c = 2 * pair; to && c < 2 * pair + 2; c++)
        to[c] = convert<f16>(from[c]);
}

/* A head of Q or of K. */
struct Head {
    bool query;
    u32 number; /* among Q's, or K's */
    Row<const f32> row;
    f16 *to; /* NULL: nowhere */

    DEV_MEMBER Head(const kpk_ggml_heads &h, u32 head, u32 token, f16 *keys)
        : query(head < h.q.ne[1]), number(query ? head : head - h.q.ne[1]),
          row(query ? h.q : h.k, {{0, number, token, 0}})
    {
        const u32 d = h.q.ne[0];

        to = query ? static_cast<f16 *>(h.queries) + (u64)token * h.q.ne[1] * d
                   : keys;
        if (to)
            to += number * d;
    }
    template <class X>
    DEV_MEMBER void turn(const kpk_ggml_heads &h, const Turn &turn,
                         const X &x) const
    {
        const Pack<f32, 2> two = turn.of(x, h.q.ne[0]);
        const f32 factor = query ? h.factor : 1.0f;

        UNROLL
        for (u32 k = 0; to && k < 2; k++)
            to[turn.c[k]] = convert<f16>(two[k] * factor);
    }
};

DEV void ggml_heads_to_cache(const kpk_ggml_heads &h, const f32 *table,
                             const kpk_ggml_rope &r)
{
    const u32 d = h.q.ne[0], half = d / 2, tokens = h.q.ne[2];
    const u32 of_q = h.q.ne[1], heads = of_q + h.k.ne[1];
    const u32 turned = half * div_up(heads, h.at_once);
    const u32 all = turned + h.v.ne[0] / 2;
    const Turner turner(r, nullptr, nullptr, tokens, table);

    each_of(all * tokens, [&](u32 i) {
        const u32 token = divide_uniform(i, all);
        const u32 at = i - token * all;

        if (at >= turned) {
            values_to_cache(h, token, at - turned);
            return;
        }
        const u32 part = divide_uniform(at, half), first = part * h.at_once;
        const u32 end = min_of(first + h.at_once, heads);
        const Turn turn = turner.turn(token, at - part * half);
        f16 *const keys = cache_row(h.keys, h.key_ids, h.wide, token);

        NO_UNROLL
        for (u32 number = first; number < end; number++) {
            const Head head(h, number, token, keys);

            head.turn(h, turn, head.row);
        }
    });
}

/*
 * A head's row times its norm's factor and weights; 32 neighbouring threads ask
 * for it together. Sums are made in the order of rmsnorm_add_f32: of four
 * columns, of the lanes, of every 128 columns.
 */
struct NormedRow {
    Row<const f32> x;
    const f32 *weights;
    bool is_wide = false; /* squares out of range */
    f32 factor = 0;
    f64 wide = 0;

    DEV_MEMBER NormedRow(const Row<const f32> &row, const f32 *w, u32 d,
                         u32 lane, f32 eps)
        : x(row), weights(w)
    {
        f32 all = 0;

        for (u32 first = 0; first < d; first += 128) {
            const u32 c = first + 4 * lane;
            f32 sum = 0;

            if (c < d) {
                const Pack<f32, 4> v = load_pack<4>(&x[c]);

                UNROLL
                for (u32 i = 0; i < 4; i++)
                    sum = fused(v[i], v[i], sum);
            }
            all += join_lanes(sum, plus());
        }

        const f32 mean = mean_of(all, (f32)d) + eps;

        factor = reciprocal_root(mean);
        if (!squares_in_range<f32>(mean)) {
            is_wide = true;
            wide = wide_terms_of<false>([this](u32 c) { return x[c]; }, d,
                                        group_size, (f64)eps)
                       .scale;
        }
    }
    DEV_MEMBER f32 operator[](u32 c) const
    {
        const f32 v = is_wide ? (f32)((f64)x[c] * wide) : x[c] * factor;

        return v * weights[c];
    }
};

DEV void ggml_norm_heads_to_cache(const kpk_ggml_heads &given,
                                  const f32 *q_weights, const f32 *k_weights,
                                  f32 eps, const f32 *table,
                                  const kpk_ggml_rope &r)
{
    const u32 d = given.q.ne[0], tokens = given.q.ne[2];
    const u32 turned = 32 * (given.q.ne[1] + given.k.ne[1]);
    const u32 pairs = given.v.ne[0] / 2;
    const u32 all = turned + 32 * div_up(pairs, 32u);

    each_of(all * tokens, [&](u32 i) {
        const u32 token = divide_uniform(i, all), at = i - token * all;
        const kpk_ggml_heads h = read_again(given);

        if (at >= turned) {
            if (at - turned < pairs)
                values_to_cache(h, token, at - turned);
            return;
        }
        const Head head(h, at / 32, token,
                        cache_row(h.keys, h.key_ids, h.wide, token));
        const NormedRow row(head.row, head.query ? q_weights : k_weights, d,
                            at % 32, eps);
        const Turner turner(r, nullptr, nullptr, tokens, table);

        for (u32 pair = at % 32; pair < d / 2; pair += 32)
            head.turn(h, turner.turn(token, pair), row);
    });
}
