/* fused_softmax.c - softmax_masked */
#include "fused.h"

#include <math.h>
#include <stdio.h>

enum mask { NO_MASK, CAUSAL, ADDED, ALL_HIDDEN, WITH_NAN, WITH_INF };

static const struct softmax_case {
    size_t rows, n;
    unsigned threads;
    size_t rows_per_mask;
    enum mask mask;
    float scale;
    size_t lead;
    bool in_place;
} softmax_cases[] = {
    {4, 1, 32, 2, CAUSAL, 1, 0, false},
    {3, 33, 32, 3, NO_MASK, 0.125f, 1, false},
    {8, 64, 32, 4, CAUSAL, 0.125f, 0, true},
    {6, 128, 64, 3, ADDED, 2, 0, false},
    {4, 1000, 32, 2, CAUSAL, 0.5f, 0, true},
    {4, 1001, 64, 4, ADDED, 0.5f, 0, true},
    {2, 4096, 256, 1, ADDED, 0.0883883f, 0, false},
    {2, 9000, 128, 2, CAUSAL, 1, 0, true},
    {1, 40000, 1024, 1, ADDED, 1, 0, false},
    {3, 96, 96, 1, ADDED, -1, 0, false},
    {2, 200, 32, 1, ALL_HIDDEN, 1, 0, false},
    {2, 9000, 32, 1, ALL_HIDDEN, 1, 1, false},
    {3, 300, 32, 3, WITH_NAN, 1, 0, false},
    {3, 9000, 32, 3, WITH_INF, 1, 0, false},
};

static void mask_row(const struct softmax_case *c, enum kt_type type,
                     void *mask, size_t r)
{
    for (size_t i = 0; i < c->n; i++) {
        const size_t at = r * c->n + i;

        if (c->mask == ALL_HIDDEN ||
            (c->mask == CAUSAL &&
             i > (r + 1) * c->n / c->rows_per_mask)) /* a few at the front */
            kt_put(type, mask, at, -INFINITY);
        else if (c->mask == CAUSAL)
            kt_put(type, mask, at, 0);
    }
    if (c->mask == WITH_NAN && r == 1)
        kt_put(type, mask, r * c->n + c->n / 2, NAN);
    if (c->mask == WITH_INF && r == 1)
        kt_put(type, mask, r * c->n + c->n / 2, INFINITY);
}

void fused_run_softmax(struct kt *t, const struct kt_row *row)
{
    const enum kt_type type = row->a;
    const size_t size = kt_size(type);

    for (size_t k = 0; k < NCASES(softmax_cases); k++) {
        const struct softmax_case *c = &softmax_cases[k];
        const size_t total = c->rows * c->n, nm = c->rows_per_mask * c->n;
        void *x = kt_host(t, type, total, KT_SMALL, k);
        void *m = kt_host(t, type, nm, KT_SMALL, k + 100);
        kt_real *want = kt_alloc(t, total * sizeof(*want));
        kt_real *scale = kt_alloc(t, total * sizeof(*scale));
        const kt_real p = kt_depth(c->n, c->threads);
        int32_t n = (int32_t)c->n;
        uint32_t per = (uint32_t)c->rows_per_mask;
        char *text = kt_alloc(t, 96);

        snprintf(text, 96, "%zu x %zu, block %u, mask %d", c->rows, c->n,
                 c->threads, c->mask);
        t->what = text;
        for (size_t r = 0; r < c->rows_per_mask; r++)
            mask_row(c, type, m, r);
        for (size_t r = 0; r < c->rows; r++) {
            kt_real most = -INFINITY, sum = 0, *w = want + r * c->n;

            for (size_t i = 0; i < c->n; i++) {
                w[i] = kt_get(type, x, r * c->n + i) * c->scale;
                if (c->mask != NO_MASK)
                    w[i] += kt_get(type, m, r % c->rows_per_mask * c->n + i);
                most = fmaxl(most, w[i]);
            }
            for (size_t i = 0; i < c->n; i++)
                sum += most == -INFINITY ? 0 : expl(w[i] - most);
            for (size_t i = 0; i < c->n; i++) {
                const kt_real d = w[i] - most;

                scale[r * c->n + i] =
                    p + 12 + (isfinite(d) ? fabsl(d) + 2 * fabsl(most) : 0);
                w[i] = most == -INFINITY ? 0 : expl(d) / sum;
                scale[r * c->n + i] *= w[i];
            }
        }
        void *src = kt_device(t, x, total * size, c->lead * size);
        const void *mask = c->mask == NO_MASK
                               ? NULL
                               : kt_device(t, m, nm * size, c->lead * size);
        void *dst = c->in_place
                        ? src
                        : kt_device(t, NULL, total * size, c->lead * size);
        void *got = kt_alloc(t, total * size);

        if (!KT_LAUNCH(t, (unsigned)c->rows, c->threads, 0, src, mask, dst, n,
                       per, c->scale))
            return;
        kt_read(t, got, dst, total * size);
        /* 1 ulp: half for the last rounding, and subnormals of expf() */
        kt_check(t, type, got, want, total,
                 (struct kt_gate){1, V, scale, false});
    }
    for (size_t k = 0; k < NCASES(fused_negative_widths); k++) {
        const size_t nbytes = (size_t)NEG_ROWS * NEG_COLS * size;
        const void *src = kt_device(
            t, kt_host(t, type, (size_t)NEG_ROWS * NEG_COLS, KT_SMALL, k),
            nbytes, 0);
        void *dst = kt_device(t, NULL, nbytes, 0);
        int32_t n = fused_negative_widths[k];
        uint32_t per = 1;
        float factor = 1;

        t->what = "a negative width";
        if (!KT_LAUNCH(t, NEG_ROWS, 32, 0, src, src, dst, n, per, factor))
            return;
        fused_check_untouched(t, dst, nbytes);
    }
}
