/* chosen_rows.c - rows by ids, of numbers and of GGUF's blocks */
#include "../gguf_ref.h"
#include "ggml_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* columns in units: elements, or blocks */
static const struct rows_case {
    uint32_t units, rows, chosen, matrices, batches;
    uint32_t id_ne[2]; /* dims 1 and 2 of the ids of sets, which are repeated */
    enum lie lie;
    bool ids, wide, missing;
    unsigned grid, block;
} rows_cases[] = {
    {1, 1, 1, 1, 1, {1, 1}, DENSE, true, false, false, 1, 32},
    {3, 7, 4, 1, 1, {1, 1}, DENSE, true, true, false, 1, 256},
    {2, 5, 5, 3, 2, {3, 2}, GAPS, true, false, true, 3, 64},
    {4, 9, 6, 4, 2, {2, 1}, GAPS, true, true, true, 2, 96},
    {5, 6, 6, 2, 2, {1, 1}, GAPS, false, false, false, 4, 128},
};

/* ids: each row of a matrix once, some of them beyond its end */
static struct gt make_ids(struct kt *t, const struct rows_case *c,
                          const uint32_t ne[4], bool wide)
{
    struct gt ids = gt_make(t, wide ? KT_I64 : KT_I32, ne, GAPS, KT_ZERO, 0);

    for (size_t i = 0; i < ids.n; i++) {
        size_t id = (i % ne[0] * 2 + i / ne[0]) % c->rows;

        if (c->rows % 2 == 0)
            id = c->rows - 1 - i % ne[0];
        if (c->missing && i % ne[0] == 1)
            id = i % 3 ? SIZE_MAX : c->rows;
        kt_put(ids.type, ids.host, gt_at(&ids, i),
               id == SIZE_MAX ? -1 : (kt_real)id);
    }
    gt_place(t, &ids);
    if (!c->ids)
        ids.t.data = NULL;
    return ids;
}

/* the row that is meant, -1 for none */
static int64_t id_of(const struct rows_case *c, const struct gt *ids, size_t i,
                     size_t j, size_t k)
{
    const uint32_t *ne = ids->t.ne;
    const size_t at = (k % ne[2] * ne[1] + j % ne[1]) * ne[0] + i;
    const int64_t id = c->ids ? (int64_t)gt_get(ids, at) : (int64_t)i;

    return id < 0 || id >= (int64_t)c->rows ? -1 : id;
}

static const uint8_t *row_of(const struct gt *g, const uint8_t *bytes, size_t i,
                             size_t j, size_t k)
{
    return bytes + i * (size_t)g->t.nb[1] + j * (size_t)g->t.nb[2] +
           k * (size_t)g->t.nb[3];
}

static void name_case(struct kt *t, const struct rows_case *c)
{
    char *text = kt_alloc(t, 96);

    (void)snprintf(text, 96, "%u units, %u of %u rows, %u x %u", c->units,
                   c->chosen, c->rows, c->matrices, c->batches);
    t->what = text;
}

void ggml_run_get_rows(struct kt *t, const struct kt_row *row)
{
    const enum gguf_id *id = row->detail;
    const struct gguf_format *f = id ? gguf_format_of(*id) : NULL;

    for (size_t k = 0; k < NCASES(rows_cases); k++) {
        const struct rows_case *c = &rows_cases[k];
        const uint32_t columns = c->units * (f ? (uint32_t)f->elems : 3);
        const uint32_t ne[4] = {columns, c->rows, c->matrices, c->batches};
        const uint32_t out_ne[4] = {columns, c->chosen, ne[2], ne[3]};
        struct gt src = f ? gt_blocks(t, f, c->units, ne)
                          : gt_make(t, row->a, ne, c->lie, KT_HOSTILE, k);
        const struct gt ids = make_ids(
            t, c, (const uint32_t[4]){c->chosen, ne[2], ne[3], 1}, false);
        const struct gt out = gt_result(t, row->b, out_ne, c->lie);
        kt_real *want = kt_alloc(t, out.n * sizeof(*want));
        bool *skip = kt_alloc(t, out.n * sizeof(*skip));
        float *numbers = kt_alloc(t, columns * sizeof(*numbers));

        if (f)
            gguf_fill(*id, src.host, src.nbytes / f->nbytes, GGUF_RANDOM, k);
        for (size_t r = 0; r < out.n / columns; r++) {
            const size_t j = r / c->chosen % ne[2], l = r / c->chosen / ne[2];
            const int64_t from = id_of(c, &ids, r % c->chosen, j, l);

            if (f && from >= 0)
                gguf_dequantize(*id, row_of(&src, src.host, (size_t)from, j, l),
                                columns, numbers);
            for (size_t e = 0; e < columns; e++) {
                skip[r * columns + e] = from < 0;
                if (from >= 0)
                    want[r * columns + e] =
                        f ? numbers[e]
                          : gt_get(&src,
                                   ((l * ne[2] + j) * ne[1] + (size_t)from) *
                                           columns +
                                       e);
            }
        }
        gt_place(t, &src);
        name_case(t, c);
        if (!KT_LAUNCH(t, c->grid, c->block, 0, src.t, ids.t, out.t))
            return;
        gt_check(t, &out, want, skip, KT_EXACT);
    }
}

void ggml_run_set_rows(struct kt *t, const struct kt_row *row)
{
    for (size_t k = 0; k < NCASES(rows_cases); k++) {
        const struct rows_case *c = &rows_cases[k];
        const uint32_t columns = c->units * 3, wide = c->wide;
        const uint32_t ne[4] = {columns, c->chosen, c->matrices, c->batches};
        const uint32_t out_ne[4] = {columns, c->rows, ne[2], ne[3]};
        struct gt src = gt_make(t, row->a, ne, c->lie, KT_HOSTILE, k);
        const struct gt ids = make_ids(
            t, c, (const uint32_t[4]){c->chosen, c->id_ne[0], c->id_ne[1], 1},
            c->wide);
        const struct gt out = gt_result(t, row->b, out_ne, c->lie);
        kt_real *want = kt_alloc(t, out.n * sizeof(*want));
        bool *skip = kt_alloc(t, out.n * sizeof(*skip));

        memset(skip, 1, out.n * sizeof(*skip));
        for (size_t r = 0; r < src.n / columns; r++) {
            const size_t j = r / c->chosen % ne[2], l = r / c->chosen / ne[2];
            const int64_t to = id_of(c, &ids, r % c->chosen, j, l);

            for (size_t e = 0; to >= 0 && e < columns; e++) {
                const size_t at =
                    ((l * ne[2] + j) * c->rows + (size_t)to) * columns + e;

                skip[at] = false;
                want[at] = gt_get(&src, r * columns + e);
            }
        }
        gt_place(t, &src);
        name_case(t, c);
        if (!KT_LAUNCH(t, c->grid, c->block, 0, src.t, ids.t, out.t, wide))
            return;
        gt_check(t, &out, want, skip, (struct kt_gate){0.5L, 0, NULL, false});
    }
}

/* ---- blocks made of numbers ---- */

/* quants of a block from 0 to most, of which `zero` stands for 0; or codes */
static const struct made {
    enum gguf_id id;
    int most, zero;
    bool offset; /* numbers count from the least one */
} made[] = {
    {GGUF_Q4_0, 15, 8, false},  {GGUF_Q4_1, 15, 0, true},
    {GGUF_Q5_0, 31, 16, false}, {GGUF_Q5_1, 31, 0, true},
    {GGUF_Q8_0, 127, 0, false}, {GGUF_IQ4_NL, 0, 0, false},
};

static kt_real half_at(const uint8_t *p)
{
    return kt_get(KT_F16, p, 0);
}

static void check_half(struct kt *t, kt_real got, kt_real want, const char *of)
{
    const kt_real ulp = kt_ulp(KT_F16, want);

    t->checks++;
    if (fabsl(got - want) > 0.501L * ulp)
        kt_fail(t, "the %s is %Lg, want %Lg", of, got, want);
}

/* The scale of IQ4_NL is the best one for the codes; each code is the nearest
 * one by the scale of the largest number. */
static void check_codes(struct kt *t, const uint8_t *block, const kt_real *x,
                        kt_real largest)
{
    kt_real products = 0, squares = 0;

    for (size_t e = 0; e < 32; e++) {
        const int c = gguf_element(GGUF_IQ4_NL, block, e).quant;
        const kt_real v = largest == 0 ? 0 : x[e] / (largest / -127);

        products += x[e] * x[e] * x[e] * c;
        squares += x[e] * x[e] * c * c;
        t->checks++;
        for (size_t o = 0; o < 16; o++) {
            const uint8_t other[18] = {0, 0x3c, (uint8_t)o};
            const int d = gguf_element(GGUF_IQ4_NL, other, 0).quant;

            if (fabsl(v - d) < fabsl(v - c) - 1e-3L) {
                kt_fail(t, "element %zu is %d, %d is nearer", e, c, d);
                break;
            }
        }
    }
    check_half(t, half_at(block), squares > 0 ? products / squares : 0,
               "scale");
}

static void check_made(struct kt *t, const struct made *m, const uint8_t *block,
                       const kt_real *x)
{
    const struct gguf_format *f = gguf_format_of(m->id);
    kt_real largest = 0, least = INFINITY, greatest = -INFINITY, scale;

    for (size_t e = 0; e < 32; e++) {
        if (fabsl(x[e]) > fabsl(largest))
            largest = x[e];
        least = fminl(least, x[e]);
        greatest = fmaxl(greatest, x[e]);
    }
    if (m->most == 0) {
        check_codes(t, block, x, largest);
        return;
    }
    scale = m->offset ? (greatest - least) / m->most
            : m->zero ? largest / -m->zero
                      : fabsl(largest) / m->most;
    check_half(t, half_at(block + f->d), scale, "scale");
    if (m->offset)
        check_half(t, half_at(block + f->m), least, "minimum");
    for (size_t e = 0; e < 32; e++) {
        const struct gguf_element got = gguf_element(m->id, block, e);
        kt_real q = scale == 0 ? 0 : (x[e] - (m->offset ? least : 0)) / scale;
        const int quant = got.quant - m->zero; /* the rest is in the bias */

        if (m->zero)
            q = fminl(q, m->most - m->zero);
        t->checks++;
        if (fabsl(quant - q) > 0.5L + 1e-3L)
            kt_fail(t, "element %zu has the quant %d, want %Lg", e, quant, q);
    }
}

void ggml_run_set_blocks(struct kt *t, const struct kt_row *row)
{
    const struct made *m = made;
    const struct gguf_format *f;

    while (m->id != *(const enum gguf_id *)row->detail)
        m++;
    f = gguf_format_of(m->id);
    for (size_t k = 0; k < NCASES(rows_cases); k++) {
        const struct rows_case *c = &rows_cases[k];
        const uint32_t columns = c->units * 32, wide = c->wide;
        const uint32_t ne[4] = {columns, c->chosen, c->matrices, c->batches};
        const uint32_t out_ne[4] = {columns, c->rows, ne[2], ne[3]};
        struct gt src = gt_make(t, row->a, ne, c->lie, KT_SMALL, k);
        struct gt out = gt_blocks(t, f, c->units, out_ne);
        const struct gt ids = make_ids(
            t, c, (const uint32_t[4]){c->chosen, c->id_ne[0], c->id_ne[1], 1},
            c->wide);
        uint8_t *got = kt_alloc(t, out.nbytes);
        kt_real x[32];

        /* the first block has zeros alone */
        for (size_t e = 0; e < 32; e++)
            kt_put(row->a, src.host, gt_at(&src, e), 0);
        memset(out.host, 0xA5, out.nbytes);
        gt_place(t, &src);
        gt_place(t, &out);
        name_case(t, c);
        if (!KT_LAUNCH(t, c->grid, c->block, 0, src.t, ids.t, out.t, wide))
            return;
        kt_read(t, got, out.t.data, out.nbytes);
        for (size_t r = 0; r < src.n / columns; r++) {
            const size_t j = r / c->chosen % ne[2], l = r / c->chosen / ne[2];
            const int64_t to = id_of(c, &ids, r % c->chosen, j, l);

            for (size_t b = 0; to >= 0 && b < c->units; b++) {
                uint8_t *block =
                    (uint8_t *)row_of(&out, got, (size_t)to, j, l) +
                    b * f->nbytes;

                for (size_t e = 0; e < 32; e++)
                    x[e] = gt_get(&src, r * columns + b * 32 + e);
                check_made(t, m, block, x);
                memset(block, 0xA5, f->nbytes);
            }
        }
        kt_check_bytes(t, got, out.host, out.nbytes, "bytes between rows");
    }
}
