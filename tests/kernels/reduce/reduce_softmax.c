/* reduce_softmax.c - softmax of rows */
#include "reduce.h"

#include <math.h>
#include <stdio.h>

static const struct softmax_case {
    const char *name;
    size_t rows, n;
    enum rows_data data;
    unsigned block_x, block_y;
    size_t lead;
} softmax_cases[] = {
    {"", 3, 1, SMALL, 1, 32, 1},
    {"", 3, 2, SMALL, 1, 32, 0},
    {"", 3, 31, SMALL, 1, 32, 0},
    {"", 3, 32, SMALL, 1, 32, 0},
    {"", 3, 33, SMALL, 1, 32, 1},
    {"", 2, 64, HUGE_SPREAD, 1, 32, 0},
    {"", 2, 128, SMALL, 1, 32, 0},
    {"", 2, 256, SMALL, 1, 32, 0},
    {"", 2, 512, SMALL, 1, 32, 0},
    {"", 2, 1000, SMALL, 1, 32, 0},
    {"", 2, 1024, HUGE_SPREAD, 1, 32, 0},
    {"", 2, 1024, SMALL, 1, 32, 1},
    {"", 1, 4096, SMALL, 1, 32, 0},
    {"", 1, 4093, HUGE_SPREAD, 1, 32, 0},
    {"", 1, 20000, SMALL, 1, 32, 0},
    {"", 1, 20001, HUGE_SPREAD, 1, 32, 0},
    {"", 2, 4096, SMALL, 1, 256, 0},
    {"", 2, 1000, SMALL, 1, 64, 0},
    {"", 1, 9999, SMALL, 1, 128, 0},
    {"", 1, 33000, SMALL, 1, 512, 0},
    {"", 1, 40000, SMALL, 1, 1024, 0},
    {"two rows a block", 4, 100, SMALL, 2, 32, 0},
    {"many rows a block", 32, 40, HUGE_SPREAD, 16, 4, 0},
    {"rows of 16 threads", 8, 128, SMALL, 4, 16, 0},
    {"rows of 16 threads", 8, 128, HUGE_SPREAD, 4, 16, 1},
    {"rows of 16 threads", 12, 101, WITH_NAN, 4, 16, 0},
    {"rows of 16 threads", 8, 3000, SMALL, 4, 16, 0},
    {"rows of 8 threads", 8, 640, SMALL, 4, 8, 0},
    {"rows of 16 threads", 8, 1024, HUGE_SPREAD, 8, 16, 0},
    {"rows of 8 threads", 3, 1025, SMALL, 3, 8, 1},
    {"three rows a block", 6, 128, SMALL, 3, 32, 0},
    {"rows of two waves", 4, 700, SMALL, 2, 128, 0},
    {"one thread a row", 64, 5, SMALL, 64, 1, 0},
    {"odd block", 2, 777, SMALL, 1, 48, 0},
    {"one -inf", 2, 100, ONE_MINUS_INF, 1, 32, 0},
    {"one -inf", 1, 20001, ONE_MINUS_INF, 1, 32, 0},
    {"all -inf", 2, 100, ALL_MINUS_INF, 1, 32, 0},
    {"all -inf", 1, 17000, ALL_MINUS_INF, 1, 32, 0},
    {"NaN", 2, 100, WITH_NAN, 1, 32, 0},
    {"NaN", 1, 17000, WITH_NAN, 1, 32, 0},
    {"inf", 2, 4096, WITH_INF, 1, 32, 0},
};
#define NSOFTMAX_CASES (sizeof(softmax_cases) / sizeof(softmax_cases[0]))

static void run_softmax_case(struct kt *t, const struct softmax_case *c,
                             enum kt_type type)
{
    const size_t total = c->rows * c->n, size = kt_size(type);
    void *x = kt_host(t, type, total, KT_SMALL, c->n);
    kt_real *want = kt_alloc(t, total * sizeof(*want));
    kt_real *scale = kt_alloc(t, total * sizeof(*scale));
    const kt_real v = reduce_inner_roundoff(type);
    const kt_real p = kt_depth(c->n, c->block_y);
    int32_t n = (int32_t)c->n;

    for (size_t r = 0; r < c->rows; r++) {
        kt_real most = -INFINITY, sum = 0;

        reduce_fill_row(type, x, r * c->n, c->n, c->data);
        for (size_t i = 0; i < c->n; i++)
            most = fmaxl(most, kt_get(type, x, r * c->n + i));
        for (size_t i = 0; i < c->n; i++)
            sum += expl(kt_get(type, x, r * c->n + i) - most);
        for (size_t i = 0; i < c->n; i++) {
            const kt_real d = kt_get(type, x, r * c->n + i) - most;

            want[r * c->n + i] = expl(d) / sum;
            scale[r * c->n + i] =
                want[r * c->n + i] * (p + 8 + (isfinite(d) ? fabsl(d) : 0));
        }
    }
    const void *src = kt_device(t, x, total * size, c->lead * size);
    void *dst = kt_device(t, NULL, total * size, c->lead * size);
    void *got = kt_alloc(t, total * size);
    char *what = kt_alloc(t, 128);

    snprintf(what, 128, "%s %zu rows of %zu, block %ux%u", c->name, c->rows,
             c->n, c->block_x, c->block_y);
    t->what = what;
    if (!kt_launch(t, (const unsigned[3]){(unsigned)c->rows / c->block_x, 1, 1},
                   (const unsigned[3]){c->block_x, c->block_y, 1}, 0,
                   KPK_ARGS(src, dst, n)))
        return;
    kt_read(t, got, dst, total * size);
    /* 1 ulp: half for the last rounding, and subnormals of expf() */
    kt_check(t, type, got, want, total, (struct kt_gate){1, v, scale, false});
}

void reduce_run_softmax(struct kt *t, const struct kt_row *row)
{
    for (size_t c = 0; c < NSOFTMAX_CASES; c++)
        if (kt_turn(t))
            run_softmax_case(t, &softmax_cases[c], row->a);
}
