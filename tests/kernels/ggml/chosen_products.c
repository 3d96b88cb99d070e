/* chosen_products.c - products of strided matrices, of chosen ones, slopes */
#include "../gguf_ref.h"
#include "ggml_test.h"

#include <math.h>
#include <stdio.h>

/* k in units: 7 numbers, or blocks */
static const struct product_case {
    uint32_t units, rows, columns, outer[2], share[2];
    uint32_t experts; /* above 0: ids choose one of them for each column */
    uint32_t x_columns;
    enum lie m, x, out;
    unsigned grid, block;
} product_cases[] = {
    {1, 1, 1, {1, 1}, {1, 1}, 0, 1, DENSE, DENSE, DENSE, 1, 32},
    {5, 3, 2, {2, 2}, {2, 1}, 0, 2, GAPS, REVERSED, DENSE, 2, 64},
    {3, 4, 9, {1, 2}, {3, 2}, 0, 9, REVERSED, GAPS, GAPS, 1, 256},
    {2, 5, 3, {4, 1}, {1, 1}, 6, 3, DENSE, GAPS, DENSE, 3, 96},
    {2, 5, 2, {7, 1}, {1, 1}, 3, 1, DENSE, DENSE, DENSE, 2, 128},
};

/* weight k of row i of matrix (j, l), in double */
static void weights_row(const struct gt *m, const enum gguf_id *id, size_t i,
                        size_t j, size_t l, size_t n, kt_real *out)
{
    const uint32_t *ne = m->t.ne;

    if (id) {
        const uint8_t *row = (const uint8_t *)m->host + i * (size_t)m->t.nb[1] +
                             j * (size_t)m->t.nb[2] + l * (size_t)m->t.nb[3];
        const struct gguf_format *f = gguf_format_of(*id);

        for (size_t e = 0; e < n; e++) {
            const struct gguf_element v =
                gguf_element(*id, row + e / f->elems * f->nbytes, e % f->elems);

            out[e] = (kt_real)v.scale * v.quant + v.bias;
        }
        return;
    }
    for (size_t e = 0; e < n; e++)
        out[e] = gt_get(m, ((l * ne[2] + j) * ne[1] + i) * n + e);
}

void ggml_run_product(struct kt *t, const struct kt_row *row)
{
    const enum gguf_id *id = row->detail;
    const struct gguf_format *f = id ? gguf_format_of(*id) : NULL;

    for (size_t c = 0; c < NCASES(product_cases); c++) {
        const struct product_case *p = &product_cases[c];
        const uint32_t k = p->units * (f ? (uint32_t)f->elems : 7);
        const uint32_t m_ne[4] = {
            k, p->rows, p->experts ? p->experts : p->outer[0], p->outer[1]};
        const uint32_t outer[2] = {p->outer[0] * p->share[0],
                                   p->outer[1] * p->share[1]};
        struct gt m = f ? gt_blocks(t, f, p->units, m_ne)
                        : gt_make(t, row->a, m_ne, p->m, KT_SMALL, c);
        struct gt x = gt_make(
            t, row->b, (const uint32_t[4]){k, p->x_columns, outer[0], outer[1]},
            p->x, KT_SMALL, c + 9);
        struct gt ids = gt_make(
            t, KT_I32, (const uint32_t[4]){p->columns, p->outer[0], 1, 1}, GAPS,
            KT_ZERO, 0);
        const struct gt out = gt_result(
            t, KT_F32,
            (const uint32_t[4]){p->rows, p->columns, outer[0], outer[1]},
            p->out);
        kt_real *want = kt_alloc(t, out.n * sizeof(*want));
        kt_real *scale = kt_alloc(t, out.n * sizeof(*scale));
        kt_real *w = kt_alloc(t, k * sizeof(*w));
        char *text = kt_alloc(t, 96);

        (void)snprintf(text, 96, "k %u, %u x %u, %u x %u, %u experts", k,
                       p->rows, p->columns, outer[0], outer[1], p->experts);
        t->what = text;
        if (f)
            gguf_fill(*id, m.host, m.nbytes / f->nbytes, GGUF_RANDOM, c);
        for (size_t i = 0; p->experts && i < ids.n; i++)
            kt_put(KT_I32, ids.host, gt_at(&ids, i),
                   i == 1 ? (kt_real)p->experts
                          : (kt_real)(i * 5 % p->experts));
        for (size_t i = 0; i < out.n; i++) {
            const size_t column = i / p->rows % p->columns;
            const size_t j = i / p->rows / p->columns % outer[0];
            const size_t l = i / p->rows / p->columns / outer[0];
            const size_t chosen =
                p->experts ? (size_t)gt_get(&ids, j * p->columns + column)
                           : j / p->share[0];

            if (p->experts && chosen >= p->experts)
                continue;
            weights_row(&m, id, i % p->rows, chosen, l / p->share[1], k, w);
            for (size_t e = 0; e < k; e++) {
                const kt_real v =
                    w[e] * gt_get(&x, ((l * outer[0] + j) * p->x_columns +
                                       column % p->x_columns) *
                                              k +
                                          e);

                want[i] += v;
                scale[i] += fabsl(v) * (kt_depth(k, 32) + 8);
            }
        }
        gt_place(t, &m);
        gt_place(t, &x);
        gt_place(t, &ids);
        if (!p->experts)
            ids.t.data = NULL;
        if (!KT_LAUNCH(t, p->grid, p->block, 0, m.t, x.t, ids.t, out.t))
            return;
        gt_check(t, &out, want, NULL, (struct kt_gate){1, V, scale, false});
    }
}

void ggml_run_slopes(struct kt *t, const struct kt_row *row)
{
    static const uint32_t numbers[] = {1, 8, 12, 71};

    (void)row;
    for (size_t c = 0; c < NCASES(numbers); c++) {
        const uint32_t heads = numbers[c];
        const float max_bias = 8;
        const struct gt out =
            gt_result(t, KT_F32, (const uint32_t[4]){heads, 1, 1, 1}, DENSE);
        kt_real *want = kt_alloc(t, heads * sizeof(*want));

        for (uint32_t i = 0; i < heads; i++)
            want[i] = gt_slope(i, heads, max_bias);
        t->what = "slopes";
        if (!KT_LAUNCH(t, 1, 64, 0, out.t.data, heads, max_bias))
            return;
        gt_check(t, &out, want, NULL, (struct kt_gate){4, 0, NULL, false});
    }
}
