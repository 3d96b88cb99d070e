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
        u32 at = i - token * all;

        if (at >= turned) {
            const Row<const f32> from(h.v, {{0, token, 0, 0}});
            f16 *to = cache_row(h.values, h.value_ids, h.wide, token);

            at = 2 * (at - turned);
            if (!to)
                return;
            to[at] = convert<f16>(from[at]);
            to[at + 1] = convert<f16>(from[at + 1]);
            return;
        }
        const u32 part = divide_uniform(at, half), first = part * h.at_once;
        const u32 end = min_of(first + h.at_once, heads);
        const Turn turn = turner.turn(token, at - part * half);
        f16 *const keys = cache_row(h.keys, h.key_ids, h.wide, token);

        NO_UNROLL
        for (u32 head = first; head < end; head++) {
            const bool query = head < of_q;
            const u32 own = query ? head : head - of_q;
            const Pack<f32, 2> two = turn.of(
                Row<const f32>(query ? h.q : h.k, {{0, own, token, 0}}), d);
            const f32 factor = query ? h.factor : 1.0f;
            f16 *to =
                query ? static_cast<f16 *>(h.queries) + (u64)token * of_q * d
                      : keys;

            UNROLL
            for (u32 k = 0; to && k < 2; k++)
                to[own * d + turn.c[k]] = convert<f16>(two[k] * factor);
        }
    });
}
