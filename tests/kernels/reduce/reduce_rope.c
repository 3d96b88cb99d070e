/* reduce_rope.c - rotary embedding, of a table of angles */
#include "reduce.h"

#include <math.h>

static const struct rope_case {
    const char *name;
    size_t b, h, t, d;
    size_t table_t; /* rows of the table, at least t */
    bool batches;   /* a table a batch */
} rope_cases[] = {
    {"d=2", 1, 1, 1, 2, 1, false},     {"d=64", 2, 3, 5, 64, 5, false},
    {"d=128", 1, 2, 3, 128, 3, false}, {"longer table", 2, 3, 4, 10, 9, false},
    {"t=1", 3, 2, 1, 6, 1, true},      {"3-D tables", 3, 2, 5, 8, 5, true},
    {"h > t", 2, 7, 3, 12, 3, true},   {"two blocks", 2, 3, 30, 16, 30, false},
};
#define NROPE_CASES (sizeof(rope_cases) / sizeof(rope_cases[0]))

static void run_rope_case(struct kt *t, const struct rope_case *c,
                          enum rope kind, enum kt_type type)
{
    const size_t total = c->b * c->h * c->t * c->d, size = kt_size(type);
    const size_t half = c->d / 2;
    const size_t entries = (c->batches ? c->b : 1) * c->table_t * half;
    const void *x = kt_host(t, type, total, KT_SMALL, total);
    const void *cosines = kt_host(t, type, entries, KT_SMALL, 5);
    const void *sines = kt_host(t, type, entries, KT_SMALL, 6);
    kt_real *want = kt_alloc(t, total * sizeof(*want));
    kt_real *scale = kt_alloc(t, total * sizeof(*scale));
    uint32_t b = (uint32_t)c->b, h = (uint32_t)c->h, tt = (uint32_t)c->t;
    uint32_t d = (uint32_t)c->d, bh = b * h, td = tt * d;
    uint32_t stride_b = c->batches ? h * tt * d : 0;

    for (size_t n = 0; n < c->b; n++)
        for (size_t k = 0; k < c->h * c->t; k++)
            for (size_t j = 0; j < half; j++) {
                /* rows are by head, then time; in rope_thd the other way */
                const size_t time = kind == ROPE_THD ? k / c->h : k % c->t;
                const size_t row = (n * c->h * c->t + k) * c->d;
                const size_t first = row + (kind == ROPE_I ? 2 * j : j);
                const size_t second = first + (kind == ROPE_I ? 1 : half);
                const size_t entry =
                    ((c->batches ? n * c->t : 0) + time) * half + j;
                const kt_real a = kt_get(type, x, first);
                const kt_real e = kt_get(type, x, second);
                const kt_real co = kt_get(type, cosines, entry);
                const kt_real si = kt_get(type, sines, entry);

                want[first] = a * co - e * si;
                scale[first] = fabsl(a * co) + fabsl(e * si);
                want[second] = a * si + e * co;
                scale[second] = fabsl(a * si) + fabsl(e * co);
            }
    const void *src = kt_device(t, x, total * size, size);
    const void *dcos = kt_device(t, cosines, entries * size, 0);
    const void *dsin = kt_device(t, sines, entries * size, size);
    void *dst = kt_device(t, NULL, total * size, 0);
    void *got = kt_alloc(t, total * size);
    const unsigned grid = (unsigned)((total / 2 + 1023) / 1024);
    bool ok;

    t->what = c->name;
    if (kind == ROPE_I)
        ok =
            KT_LAUNCH(t, grid, 1024, 0, src, dcos, dsin, dst, bh, td, stride_b);
    else if (kind == ROPE)
        ok = KT_LAUNCH(t, grid, 1024, 0, src, dcos, dsin, dst, bh, td, d,
                       stride_b);
    else
        ok = KT_LAUNCH(t, grid, 1024, 0, src, dcos, dsin, dst, b, tt, h, d,
                       stride_b);
    if (!ok)
        return;
    kt_read(t, got, dst, total * size);
    kt_check(
        t, type, got, want, total,
        (struct kt_gate){0.5L, 2 * reduce_inner_roundoff(type), scale, false});
}

void reduce_run_rope(struct kt *t, const struct kt_row *row)
{
    for (size_t c = 0; c < NROPE_CASES; c++)
        run_rope_case(t, &rope_cases[c], *(const enum rope *)row->detail,
                      row->a);
}
