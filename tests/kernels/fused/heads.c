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

/* A case's operands, on the host, and results; `rows` of a cache have `kept`
 * numbers each. */
struct heads {
    uint32_t all; /* heads of a token: Q's, K's, V's */
    size_t width, total, kept, nq;
    uint64_t rows;
    float *x, *bias, *q_norm, *k_norm, *table;
    int64_t *ids;
    kt_real *want, *scale;
    float *got;
    uint16_t *got_q, *got_cache;
};

static const float heads_eps = 1e-6f;

static struct heads make_heads(struct kt *t, const struct heads_case *c,
                               uint64_t seed)
{
    struct heads h = {.all = c->heads + 2 * c->kv_heads,
                      .kept = 2 * (size_t)c->kv_heads * c->d,
                      .nq = (size_t)c->tokens * c->heads * c->d,
                      .rows = c->tokens + 2};

    h.width = (size_t)h.all * c->d;
    h.total = c->tokens * h.width;
    h.x = kt_host(t, KT_F32, h.total, KT_SMALL, seed);
    h.bias = kt_host(t, KT_F32, h.width, KT_SMALL, seed + 50);
    h.q_norm = kt_host(t, KT_F32, c->d, KT_SMALL, seed + 60);
    h.k_norm = kt_host(t, KT_F32, c->d, KT_SMALL, seed + 70);
    h.table = kt_host(t, KT_F32, (size_t)c->tokens * c->d, KT_SMALL, seed + 80);
    h.ids = kt_alloc(t, h.rows * sizeof(*h.ids));
    h.want = kt_alloc(t, (h.total + 1) * sizeof(*h.want));
    h.scale = kt_alloc(t, (h.total + 1) * sizeof(*h.scale));
    h.got = kt_alloc(t, (h.total + 1) * 4);
    h.got_q = kt_alloc(t, (h.nq + 1) * 2);
    h.got_cache = kt_alloc(t, h.rows * h.kept * 2);
    for (size_t i = 0; c->how & LARGE && i < h.total; i++) {
        const size_t head = i % h.width / c->d;

        if (head % 2 && head < c->heads + c->kv_heads)
            h.x[i] *= 0x1p120F;
    }
    /* the last first; of four or more one below, and one beyond the rows */
    for (uint32_t i = 0; i < c->tokens; i++)
        h.ids[i] = i == 2   ? -1
                   : i == 3 ? (int64_t)h.rows
                            : (int64_t)(h.rows - 1 - i);
    return h;
}

static void compute_heads(const struct heads_case *c, const struct heads *h)
{
    for (uint32_t i = 0; i < c->tokens; i++)
        for (uint32_t head = 0; head < h->all; head++) {
            const size_t at = i * h->width + (size_t)head * c->d;
            const bool of_q = head < c->heads,
                       of_v = head >= c->heads + c->kv_heads;
            const float *norm = of_q && (c->how & NORMED_Q) ? h->q_norm
                                : !of_q && !of_v && (c->how & NORMED_K)
                                    ? h->k_norm
                                    : NULL;

            wide_head(
                c, h->x + at,
                c->how & BIASED ? h->bias + (size_t)head * c->d : NULL, norm,
                c->how & TURNED && !of_v ? h->table + (size_t)i * c->d : NULL,
                heads_eps, h->want + at, h->scale + at);
        }
}

/* Launches and reads the results. False if the launch failed. */
static bool launch_heads(struct kt *t, const struct heads_case *c,
                         const struct heads *h)
{
    const uint32_t flags = c->how & NEOX;
    void *qkv = kt_device(t, h->x, h->total * 4, 0);
    const void *bias =
        c->how & BIASED ? kt_device(t, h->bias, h->width * 4, 0) : NULL;
    const void *q_norm =
        c->how & NORMED_Q ? kt_device(t, h->q_norm, c->d * 4, 0) : NULL;
    const void *k_norm =
        c->how & NORMED_K ? kt_device(t, h->k_norm, c->d * 4, 0) : NULL;
    const void *table =
        c->how & TURNED
            ? kt_device(t, h->table, (size_t)c->tokens * c->d * 4, 0)
            : NULL;
    const void *ids =
        c->how & KEPT ? kt_device(t, h->ids, c->tokens * 8, 0) : NULL;
    void *cache =
        c->how & KEPT ? kt_device(t, NULL, h->rows * h->kept * 2, 0) : NULL;
    void *q = kt_device(t, NULL, h->nq * 2, 0);

    if (!KT_LAUNCH(t, c->grid, c->block, 0, qkv, bias, q_norm, k_norm, table, q,
                   ids, cache, h->rows, c->tokens, c->heads, c->kv_heads, c->d,
                   heads_eps, flags))
        return false;
    kt_read(t, h->got_q, q, h->nq * 2);
    kt_read(t, h->got, qkv, h->total * 4);
    if (cache)
        kt_read(t, h->got_cache, cache, h->rows * h->kept * 2);
    return true;
}

/* With a cache K and V go there, and qkv stays as it was. */
static void check_heads(struct kt *t, const struct heads_case *c,
                        const struct heads *h)
{
    const struct kt_gate numbers = {0.5L, (c->d + 16) * V, NULL, false};
    const size_t nheads = (size_t)c->heads * c->d;
    uint16_t *untouched = kt_alloc(t, h->rows * h->kept * 2);
    bool *written = kt_alloc(t, h->rows);

    memset(untouched, 0xa5, h->rows * h->kept * 2);
    for (uint32_t i = 0; i < c->tokens; i++) {
        const size_t at = i * h->width, at_k = at + nheads;
        struct kt_gate gate = numbers;

        gate.scale = h->scale + at;
        kt_check(t, KT_F16, h->got_q + i * nheads, h->want + at, nheads, gate);
        gate.scale += nheads;
        if (!(c->how & KEPT)) {
            kt_check(t, KT_F32, h->got + at_k, h->want + at_k, h->kept, gate);
            continue;
        }
        kt_check_bytes(t, h->got + at, h->x + at, h->width * 4, "qkv");
        if (h->ids[i] < 0 || (uint64_t)h->ids[i] >= h->rows)
            continue;
        written[h->ids[i]] = true;
        kt_check(t, KT_F16, h->got_cache + (size_t)h->ids[i] * h->kept,
                 h->want + at_k, h->kept, gate);
    }
    for (size_t r = 0; c->how & KEPT && r < h->rows; r++)
        if (!written[r])
            kt_check_bytes(t, h->got_cache + r * h->kept, untouched,
                           h->kept * 2, "another row of the cache");
}

void fused_run_heads(struct kt *t, const struct kt_row *row)
{
    (void)row;
    for (size_t k = 0; k < NCASES(heads_cases); k++) {
        const struct heads_case *c = &heads_cases[k];
        const struct heads h = make_heads(t, c, k);
        char *text = kt_alloc(t, 96);

        (void)snprintf(text, 96, "%u x (%u + 2 x %u) x %u, how %u", c->tokens,
                       c->heads, c->kv_heads, c->d, c->how);
        t->what = text;
        compute_heads(c, &h);
        if (!launch_heads(t, c, &h))
            return;
        check_heads(t, c, &h);
    }
}
