/* heads.c - attention_heads */
#include "fused.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* LARGE: every second head of Q and K has squares beyond f32's range */
enum {
    BIASED = 2,
    NORMED_Q = 4,
    NORMED_K = 8,
    TURNED = 16,
    KEPT = 32,
    LARGE = 64
};

static const struct heads_case {
    uint32_t tokens, heads, kv_heads, d;
    unsigned how, grid, block;
} heads_cases[] = {
    {1, 1, 1, 2, NEOX | TURNED | KEPT, 1, 32},
    {1, 9, 3, 64, TURNED | KEPT, 4, 128},
    {3, 4, 2, 128, NEOX | TURNED | KEPT | BIASED, 3, 64},
    {5, 4, 1, 256, NEOX | TURNED | KEPT | NORMED_Q | NORMED_K, 2, 256},
    {2, 3, 3, 40, TURNED | KEPT | NORMED_K | BIASED, 7, 96},
    {4, 2, 2, 200, TURNED | BIASED | NORMED_Q | NORMED_K, 1, 32},
    {4, 3, 1, 72, NEOX | TURNED, 2, 128},
    {6, 2, 1, 8, NEOX | KEPT, 1, 64},
    {2, 3, 2, 72, TURNED | KEPT | NORMED_Q | NORMED_K | LARGE, 2, 64},
    {0, 2, 1, 8, NEOX | KEPT | TURNED, 1, 64},
};

/* The result for a head of d numbers, and the size of the terms behind each
 * number. */
static void wide_head(const struct heads_case *c, const float *x,
                      const float *bias, const float *norm, const float *table,
                      float eps, kt_real *y, kt_real *scale)
{
    const uint32_t half = c->d / 2;
    kt_real most = 0;

    for (uint32_t i = 0; i < c->d; i++)
        y[i] = (kt_real)x[i] + (bias ? bias[i] : 0);
    if (norm)
        fused_wide_norm(y, norm, c->d, eps, y);
    for (uint32_t i = 0; i < c->d; i++)
        most = fmaxl(most, fabsl(y[i]));
    for (uint32_t j = 0; table && j < half; j++) {
        const uint32_t p = c->how & NEOX ? j : 2 * j;
        const uint32_t q = c->how & NEOX ? j + half : 2 * j + 1;
        const kt_real a = y[p], b = y[q];
        const float *turn = table + 2 * (size_t)j;

        y[p] = a * turn[0] - b * turn[1];
        y[q] = a * turn[1] + b * turn[0];
    }
    for (uint32_t i = 0; i < c->d; i++)
        scale[i] = most * 4;
}

void fused_run_heads(struct kt *t, const struct kt_row *row)
{
    const float eps = 1e-6f;

    (void)row;
    for (size_t k = 0; k < NCASES(heads_cases); k++) {
        const struct heads_case *c = &heads_cases[k];
        const uint32_t all = c->heads + 2 * c->kv_heads, flags = c->how & NEOX;
        const size_t width = (size_t)all * c->d, total = c->tokens * width;
        const size_t kept = 2 * (size_t)c->kv_heads * c->d;
        const uint64_t rows = c->tokens + 2;
        const size_t nq = (size_t)c->tokens * c->heads * c->d;
        float *x = kt_host(t, KT_F32, total, KT_SMALL, k);
        float *bias = kt_host(t, KT_F32, width, KT_SMALL, k + 50);
        float *q_norm = kt_host(t, KT_F32, c->d, KT_SMALL, k + 60);
        float *k_norm = kt_host(t, KT_F32, c->d, KT_SMALL, k + 70);
        float *table =
            kt_host(t, KT_F32, (size_t)c->tokens * c->d, KT_SMALL, k + 80);
        int64_t *ids = kt_alloc(t, rows * sizeof(*ids));
        kt_real *want = kt_alloc(t, (total + 1) * sizeof(*want));
        kt_real *scale = kt_alloc(t, (total + 1) * sizeof(*scale));
        float *got = kt_alloc(t, (total + 1) * 4);
        uint16_t *got_q = kt_alloc(t, (nq + 1) * 2);
        uint16_t *got_cache = kt_alloc(t, rows * kept * 2);
        uint16_t *untouched = kt_alloc(t, rows * kept * 2);
        bool *written = kt_alloc(t, rows);
        char *text = kt_alloc(t, 96);

        (void)snprintf(text, 96, "%u x (%u + 2 x %u) x %u, how %u", c->tokens,
                       c->heads, c->kv_heads, c->d, c->how);
        t->what = text;
        memset(untouched, 0xa5, rows * kept * 2);
        for (size_t i = 0; c->how & LARGE && i < total; i++) {
            const size_t h = i % width / c->d;

            if (h % 2 && h < c->heads + c->kv_heads)
                x[i] *= 0x1p120F;
        }
        /* the last first; of four or more one below, and one beyond the rows */
        for (uint32_t i = 0; i < c->tokens; i++)
            ids[i] = i == 2   ? -1
                     : i == 3 ? (int64_t)rows
                              : (int64_t)(rows - 1 - i);
        for (uint32_t i = 0; i < c->tokens; i++)
            for (uint32_t h = 0; h < all; h++) {
                const size_t at = i * width + (size_t)h * c->d;
                const bool of_q = h < c->heads,
                           of_v = h >= c->heads + c->kv_heads;
                const float *norm = of_q && (c->how & NORMED_Q) ? q_norm
                                    : !of_q && !of_v && (c->how & NORMED_K)
                                        ? k_norm
                                        : NULL;

                wide_head(
                    c, x + at, c->how & BIASED ? bias + (size_t)h * c->d : NULL,
                    norm,
                    c->how & TURNED && !of_v ? table + (size_t)i * c->d : NULL,
                    eps, want + at, scale + at);
            }
        void *qkv = kt_device(t, x, total * 4, 0);
        const void *dbias =
            c->how & BIASED ? kt_device(t, bias, width * 4, 0) : NULL;
        const void *dq =
            c->how & NORMED_Q ? kt_device(t, q_norm, c->d * 4, 0) : NULL;
        const void *dk =
            c->how & NORMED_K ? kt_device(t, k_norm, c->d * 4, 0) : NULL;
        const void *dtable =
            c->how & TURNED
                ? kt_device(t, table, (size_t)c->tokens * c->d * 4, 0)
                : NULL;
        const void *dids =
            c->how & KEPT ? kt_device(t, ids, c->tokens * 8, 0) : NULL;
        void *cache =
            c->how & KEPT ? kt_device(t, NULL, rows * kept * 2, 0) : NULL;
        void *q = kt_device(t, NULL, nq * 2, 0);
        const struct kt_gate numbers = {0.5L, (c->d + 16) * V, NULL, false};

        if (!KT_LAUNCH(t, c->grid, c->block, 0, qkv, dbias, dq, dk, dtable, q,
                       dids, cache, rows, c->tokens, c->heads, c->kv_heads,
                       c->d, eps, flags))
            return;
        kt_read(t, got_q, q, nq * 2);
        kt_read(t, got, qkv, total * 4);
        if (cache)
            kt_read(t, got_cache, cache, rows * kept * 2);
        for (uint32_t i = 0; i < c->tokens; i++) {
            const size_t at = i * width, nheads = (size_t)c->heads * c->d;
            struct kt_gate gate = numbers;

            gate.scale = scale + at;
            kt_check(t, KT_F16, got_q + i * nheads, want + at, nheads, gate);
            gate.scale += nheads;
            if (!cache) {
                kt_check(t, KT_F32, got + at + nheads, want + at + nheads, kept,
                         gate);
                continue;
            }
            kt_check_bytes(t, got + at, x + at, width * 4, "qkv");
            if (ids[i] < 0 || (uint64_t)ids[i] >= rows)
                continue;
            written[ids[i]] = true;
            kt_check(t, KT_F16, got_cache + (size_t)ids[i] * kept,
                     want + at + nheads, kept, gate);
        }
        for (size_t r = 0; cache && r < rows; r++)
            if (!written[r])
                kt_check_bytes(t, got_cache + r * kept, untouched, kept * 2,
                               "another row of the cache");
    }
}
