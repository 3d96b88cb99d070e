/* fused_sample.c - sample */
#include "fused.h"

#include "../philox_ref.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum logits { SPREAD, NARROW, EQUAL, STEPS, SOME_LOW, ONE_INF, NOTHING };

static const struct sample_case {
    uint32_t n, k;
    float p, temperature;
    enum logits logits;
    unsigned draws;
} sample_cases[] = {
    {1, 0, 1, 1, SPREAD, 2},
    {2, 0, 1, 1, SPREAD, 8},
    {100, 0, 1, 1, SPREAD, 30},
    {100, 5, 1, 1, SPREAD, 20},
    {100, 0, 0.7f, 0.8f, SPREAD, 20},
    {1000, 40, 0.95f, 0.8f, SPREAD, 20},
    {1000, 40, 0.5f, 1.5f, STEPS, 10},
    {1000, 1000000, 1, 1, SPREAD, 4},
    {1000, 10, 0, 1, SPREAD, 4},
    {1000, 10, 0.5f, 0, STEPS, 2},
    {1000, 0, 1, -1, SPREAD, 2},
    {1000, 3, 1, 1e-30f, STEPS, 3},
    {1000, 0, 1, INFINITY, NARROW, 5},
    {5000, 0, 0.9f, 1, NARROW, 4},
    {5000, 3000, 0.5f, 1, EQUAL, 4},
    {5000, 0, 1, 1, EQUAL, 4},
    {5000, 4000, 0.9f, 1, STEPS, 4},
    {3000, 40, 0.95f, 1, SOME_LOW, 4},
    {3000, 0, 1, 1, ONE_INF, 3},
    {3000, 40, 1, 1, NOTHING, 2},
    {40000, 40, 0.95f, 0.7f, SPREAD, 2},
};

struct ranked {
    kt_real x;
    uint32_t i;
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked *p = a, *q = b;

    if (p->x != q->x)
        return p->x > q->x ? -1 : 1;
    return p->i < q->i ? -1 : 1;
}

static void make_logits(const struct sample_case *c, enum kt_type type, void *x,
                        uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const kt_real v = kt_get(type, x, i);

        switch (c->logits) {
        case SPREAD:
            kt_put(type, x, i, v * fabsl(v));
            break;
        case NARROW:
            kt_put(type, x, i, v / 8);
            break;
        case EQUAL:
            kt_put(type, x, i, -3);
            break;
        case STEPS:
            kt_put(type, x, i, (kt_real)(i * i % 5));
            break;
        case SOME_LOW:
            if (i % 3 == 0)
                kt_put(type, x, i, i % 2 ? -INFINITY : NAN);
            break;
        case ONE_INF:
            if (i == 1234)
                kt_put(type, x, i, INFINITY);
            break;
        case NOTHING:
            kt_put(type, x, i, i % 2 ? -INFINITY : NAN);
            break;
        }
    }
}

/* Whether `token` may be what the 64 random bits r draw; the weights of the
 * kernel are good to 2^-20. */
static bool may_be_drawn(const struct sample_case *c, const struct ranked *rank,
                         uint32_t n, uint32_t token, uint64_t r)
{
    const kt_real slack = 0x1p-20L;
    const bool greedy = !(c->temperature > 0);
    kt_real all = 0, sum = 0, u = ldexpl((kt_real)r, -64), before, end = 0;
    uint32_t kept = greedy ? 1 : c->k > 0 && c->k < n ? c->k : n;
    kt_real *w;
    bool found = false;

    if (n == 0)
        return token == UINT32_MAX;
    w = malloc(n * sizeof(*w));
    if (!w)
        abort();
    for (uint32_t i = 0; i < n; i++) {
        w[i] = rank[i].x == rank[0].x
                   ? 1
                   : expl((rank[i].x - rank[0].x) / c->temperature);
        if (w[i] < 0x1p-31L)
            w[i] = 0;
    }
    for (uint32_t i = 0; i < kept; i++)
        all += w[i];
    /* the least sum of at least p times all weights, by whole weights */
    for (uint32_t i = 0; i < kept && c->p < 1 && !greedy; i++) {
        sum += w[i];
        end = sum;
        if (sum >= c->p * all)
            break;
    }
    if (end == 0)
        end = all;
    sum = 0;
    for (uint32_t i = 0; i < kept && !found; i++) {
        before = sum;
        sum += w[i];
        if (rank[i].i != token)
            continue;
        found = u * end >= before - slack * all &&
                u * end <= sum + slack * all && w[i] > 0;
        /* with p next to a step, one token more or less */
        if (!found)
            for (int more = -1; more <= 1; more += 2) {
                const kt_real other = end + more * w[i];

                found = found || (fabsl(end - c->p * all) < slack * all &&
                                  u * other >= before - slack * all &&
                                  u * other <= sum + slack * all);
            }
    }
    free(w);
    return found;
}

void fused_run_sample(struct kt *t, const struct kt_row *row)
{
    /* the tokens of the first device: each must draw the same */
    static uint32_t drawn[KT_NTYPES][NCASES(sample_cases)][32];
    static bool known[KT_NTYPES];
    const enum kt_type type = row->a;
    const size_t size = kt_size(type);

    for (size_t k = 0; k < NCASES(sample_cases); k++) {
        const struct sample_case *c = &sample_cases[k];
        void *x = kt_host(t, type, c->n, KT_SMALL, k);
        struct ranked *rank = kt_alloc(t, c->n * sizeof(*rank));
        uint32_t nranked = 0, n = c->n, top_k = c->k;
        char *text = kt_alloc(t, 96);

        snprintf(text, 96, "n %u, k %u, p %g, temperature %g, logits %d", n,
                 top_k, (double)c->p, (double)c->temperature, c->logits);
        t->what = text;
        make_logits(c, type, x, n);
        for (uint32_t i = 0; i < n; i++) {
            const kt_real v = kt_get(type, x, i);

            if (!isnan(v) && v != -INFINITY)
                rank[nranked++] = (struct ranked){v, i};
        }
        qsort(rank, nranked, sizeof(*rank), by_rank);

        const void *src = kt_device(t, x, n * size, k % 2 * size);
        void *token = kt_device(t, NULL, 4, 0);

        for (unsigned draw = 0; draw < c->draws; draw++) {
            const uint64_t seed = UINT64_C(0x9e3779b97f4a7c15) * (k + 1);
            const uint64_t offset = draw == 1 ? UINT64_C(0xfffffffff) : draw;
            const unsigned block = draw % 2 ? 1024 : 160;
            uint32_t words[4], got;

            if (!KT_LAUNCH(t, 1, block, 0, src, token, n, top_k, c->p,
                           c->temperature, seed, offset))
                return;
            kt_read(t, &got, token, 4);
            t->checks++;
            philox_ref(seed, offset, 0, words);
            if (!may_be_drawn(c, rank, nranked, got,
                              (uint64_t)words[0] << 32 | words[1]))
                kt_fail(t, "draw %u: token %u", draw, got);
            if (known[type] && got != drawn[type][k][draw])
                kt_fail(t, "draw %u: token %u, another device drew %u", draw,
                        got, drawn[type][k][draw]);
            drawn[type][k][draw] = got;
        }
    }
    known[type] = true;
}
