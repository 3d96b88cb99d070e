/*
 * heads_to_cache.h - Q, K and V on their way to attention
 *
 *   q, k      [d, heads, tokens] f32, which are turned by strided_rope.h
 *   v         [columns, tokens] f32
 *   queries   [d, heads, tokens] f16, without gaps: Q, turned, times a factor
 *   keys, values
 *             rows of f16, of which ids choose one for each token's K and V:
 * its heads follow each other
 *
 * The numbers are those of ggml_rope_f32, ggml_scale_f32 and
 * ggml_set_rows_f16_f32. d and columns are even.
 */
#pragma once

#include "ggml/rows.h"
#include "ggml/strided_rope.h"

/* the row of a cache that a token has; NULL: none */
DEV f16 *cache_row(const Tensor &cache, const Tensor &ids, u32 wide, u32 token)
{
    Place p = {{0, token, 0, 0}};

    return choose_row(p, ids, wide, cache.ne[1]) ? address_of<f16>(cache, p)
                                                 : nullptr;
}

DEV void ggml_heads_to_cache(const kpk_ggml_heads &h, const i32 *positions,
                             const f32 *factors, const kpk_ggml_rope &r)
{
    const u32 d = h.q.ne[0], half = d / 2, tokens = h.q.ne[2];
    const u32 of_q = half * h.q.ne[1], of_k = half * h.k.ne[1];
    const u32 all = of_q + of_k + h.v.ne[0] / 2;
    const Turner turner(r, positions, factors, tokens);

    each_of(all * tokens, [&](u32 i) {
        const u32 token = tokens == 1 ? 0 : divide_uniform(i, all);
        u32 at = i - token * all;

        if (at >= of_q + of_k) {
            const Row<const f32> from(h.v, {{0, token, 0, 0}});
            f16 *to = cache_row(h.values, h.value_ids, h.wide, token);

            at = 2 * (at - of_q - of_k);
            if (!to)
                return;
            to[at] = convert<f16>(from[at]);
            to[at + 1] = convert<f16>(from[at + 1]);
            return;
        }
        const bool query = at < of_q;

        at -= query ? 0 : of_q;
        const u32 head = divide_uniform(at, half);
        const Row<const f32> from(query ? h.q : h.k, {{0, head, token, 0}});
        const Turned two = turner.pair(from, d, token, at - head * half);
        const f32 factor = query ? h.factor : 1.0f;
        f16 *to =
            query ? static_cast<f16 *>(h.queries) + ((u64)token * h.q.ne[1]) * d
                  : cache_row(h.keys, h.key_ids, h.wide, token);

        if (!to)
            return;
        UNROLL
        for (u32 k = 0; k < 2; k++)
            to[head * d + two.c[k]] = convert<f16>(two.v[k] * factor);
    });
}
