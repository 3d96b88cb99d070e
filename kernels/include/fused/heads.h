/*
 * heads.h - the steps from the product of Q, K and V to attention
 *
 * rope_table_f32: table [tokens, n_dims / 2] of two f32, the cosine and the
 * sine of each pair's angle, by rope_positions.h, both times its length. The
 * layers of a model share one table.
 *
 * attention_heads_f32: bias, RMS norm of each head, rotation; then Q to f16,
 * and K and V to rows of a cache.
 *
 * qkv        [tokens, heads + 2 kv_heads, d] f32: Q, K and V of a token. d is
 *            even and at most 256
 * bias       [heads + 2 kv_heads, d] f32, or null
 * q_norm, k_norm  [d] f32, weights of the norms of a head of Q and of K; null:
 *            no norm. V has none
 * table      of rope_table_f32 with n_dims = d; null: no rotation
 * q          [tokens, heads, d] f16
 * ids        [tokens] i64: the row of the cache; a token of none (below 0, or
 *            from cache_rows on) is left out
 * cache      [cache_rows, 2 kv_heads, d] f16, K in front of V; null: K and V go
 *            back to qkv, and ids may be null
 *
 * Pair j is (2 j, 2 j + 1), and with the flag ROPE_NEOX (j, j + d / 2). Steps
 * are in f32; values stored as f16 are rounded once. Any 1-D grid, of blocks of
 * whole groups of 32 threads; pointers are aligned to two elements.
 */
#pragma once

#include "early.h"
#include "fused/rope_positions.h"
#include "reduce/norm_again.h"

DEV void rope_table(const rope_args &args, f32 *table, u32 tokens)
{
    const u32 half = args.n_dims / 2;
    const u64 items = (u64)tokens * half;
    u64 i = global_thread();

    meet_launches();
    if (i >= items)
        return;
    rope_angles angles;

    angles.begin(args);

    for (; i < items; i += global_threads()) {
        const u64 token = divide(i, half);
        Pack<f32, 2> turn;

        angles.at(args, args.positions[token], (u32)(i - token * half), turn[0],
                  turn[1]);
        store_pack<2>(table + 2 * i, turn);
    }
}

/* pairs of a lane: 32 lanes have a head of 256 */
constexpr u32 head_pairs = 4;

struct attention_heads {
    f32 *qkv;
    const f32 *bias, *q_norm, *k_norm, *table;
    f16 *q;
    const i64 *ids;
    f16 *cache;
    u64 cache_rows;
    u32 tokens, heads, kv_heads, d;
    f32 eps;

    /* the two numbers of pair j of a head */
    template <bool NEOX, typename T>
    DEV_MEMBER void load(const T *head, u32 j, f32 &a, f32 &b) const
    {
        if constexpr (NEOX) {
            a = head[j];
            b = head[j + d / 2];
        } else {
            const Pack<T, 2> p = load_pack<2>(head + 2 * j);

            a = p[0];
            b = p[1];
        }
    }
    template <bool NEOX, typename T>
    DEV_MEMBER void store(T *head, u32 j, f32 a, f32 b) const
    {
        if constexpr (NEOX) {
            head[j] = convert<T>(a);
            head[j + d / 2] = convert<T>(b);
        } else {
            const Pack<T, 2> p = {{convert<T>(a), convert<T>(b)}};

            store_pack<2>(head + 2 * j, p);
        }
    }
    /* Norms a head in f64 if its squares are out of range in f32; returns 1,
     * the factor left to apply. */
    DEV_MEMBER f32 norm_again(f32 (&a)[head_pairs], f32 (&b)[head_pairs]) const
    {
        f64 squares = 0;

        UNROLL
        for (u32 k = 0; k < head_pairs; k++)
            squares = fused((f64)a[k], (f64)a[k],
                            fused((f64)b[k], (f64)b[k], squares));
        const wide_terms terms = {
            0,
            reciprocal_root(join_lanes(squares, plus()) / (f64)d + (f64)eps)};

        UNROLL
        for (u32 k = 0; k < head_pairs; k++) {
            a[k] = terms(a[k]);
            b[k] = terms(b[k]);
        }
        return 1;
    }
    /* head h of a token's heads + 2 kv_heads, by 32 lanes */
    template <bool NEOX> DEV_MEMBER void one(u64 token, u32 h) const
    {
        const u32 all = heads + 2 * kv_heads, half = d / 2;
        const u32 lane = lane_id() % 32;
        const bool of_q = h < heads, of_v = h >= heads + kv_heads;
        const f32 *norm = of_q ? q_norm : of_v ? nullptr : k_norm;
        f32 *from = qkv + (token * all + h) * d;
        f32 a[head_pairs], b[head_pairs];

        UNROLL
        for (u32 k = 0; k < head_pairs; k++) {
            const u32 j = lane + 32 * k;

            a[k] = b[k] = 0;
            if (j < half) {
                load<NEOX>(from, j, a[k], b[k]);
                if (bias) {
                    f32 more_a, more_b;

                    load<NEOX>(bias + (u64)h * d, j, more_a, more_b);
                    a[k] += more_a;
                    b[k] += more_b;
                }
            }
        }
        if (norm) {
            f32 squares = 0;

            UNROLL
            for (u32 k = 0; k < head_pairs; k++)
                squares = fused(a[k], a[k], fused(b[k], b[k], squares));
            squares = join_lanes(squares, plus());
            const f32 mean = squares / (f32)d + eps;
            const f32 scale = squares_in_range<f32>(mean)
                                  ? reciprocal_root(mean)
                                  : norm_again(a, b);

            UNROLL
            for (u32 k = 0; k < head_pairs; k++) {
                const u32 j = lane + 32 * k;
                f32 x, y;

                if (j >= half)
                    break;
                load<NEOX>(norm, j, x, y);
                a[k] = a[k] * scale * x;
                b[k] = b[k] * scale * y;
            }
        }
        if (table && !of_v) {
            UNROLL
            for (u32 k = 0; k < head_pairs; k++) {
                const u32 j = lane + 32 * k;

                if (j >= half)
                    break;
                const Pack<f32, 2> turn =
                    load_pack<2>(table + 2 * (token * half + j));
                const f32 x = a[k], y = b[k];

                a[k] = x * turn[0] - y * turn[1];
                b[k] = x * turn[1] + y * turn[0];
            }
        }
        if (of_q) {
            store_all<NEOX>(q + (token * heads + h) * d, a, b);
        } else if (!cache) {
            store_all<NEOX>(from, a, b);
        } else {
            const u64 row = (u64)ids[token];

            if (row < cache_rows)
                store_all<NEOX>(cache + (row * 2 * kv_heads + h - heads) * d, a,
                                b);
        }
    }
    template <bool NEOX, typename T>
    DEV_MEMBER void store_all(T *head, const f32 (&a)[head_pairs],
                              const f32 (&b)[head_pairs]) const
    {
        UNROLL
        for (u32 k = 0; k < head_pairs; k++) {
            const u32 j = lane_id() % 32 + 32 * k;

            if (j < d / 2)
                store<NEOX>(head, j, a[k], b[k]);
        }
    }
    template <bool NEOX> DEV_MEMBER void run() const
    {
        const u32 all = heads + 2 * kv_heads;
        const u64 items = (u64)tokens * all, step = global_threads() / 32;

        meet_launches();
        /* 32 lanes stay together */
        for (u64 g = global_thread() / 32; g < items; g += step) {
            const u64 token = divide(g, all);

            one<NEOX>(token, (u32)(g - token * all));
        }
    }
};
