/* copies.c - any layout to any other, and repeated tensors */
#include "ggml_test.h"

#include <math.h>

static const struct copy_case {
    uint32_t src[4], out[4];
    enum lie from, to;
    unsigned grid, block;
} copy_cases[] = {
    {{1, 1, 1, 1}, {1, 1, 1, 1}, DENSE, DENSE, 1, 32},
    {{1000, 1, 1, 1}, {1000, 1, 1, 1}, DENSE, DENSE, 1, 256},
    {{10, 5, 4, 3}, {10, 5, 4, 3}, REVERSED, DENSE, 3, 64},
    {{10, 5, 4, 3}, {10, 5, 4, 3}, GAPS, REVERSED, 1, 256},
    {{10, 6, 4, 3}, {12, 3, 1, 20}, GAPS, DENSE, 2, 96},
    {{7, 9, 1, 2}, {2, 3, 7, 3}, REVERSED, GAPS, 9, 64},
    {{4, 0, 1, 1}, {0, 4, 1, 1}, DENSE, DENSE, 1, 32},
};

/* as the kernels convert: floats to integers are cut and saturate */
static kt_real converted(enum kt_type to, kt_real v)
{
    uint64_t bits = 0;

    if (kt_is_float(to))
        return v;
    kt_put(to, &bits, 0, v);
    return kt_get(to, &bits, 0);
}

void ggml_run_copy(struct kt *t, const struct kt_row *row)
{
    for (size_t k = 0; k < 2 * NCASES(copy_cases); k++) {
        const struct copy_case *c = &copy_cases[k / 2];
        struct gt src = gt_make(t, row->a, c->src, c->from,
                                k % 2 ? KT_HOSTILE : KT_SMALL, k);
        kt_real *want = kt_alloc(t, (src.n + 1) * sizeof(*want));

        for (size_t i = 0; i < src.n; i++)
            want[i] = converted(row->b, gt_get(&src, i));
        gt_place(t, &src);

        const struct gt out = gt_result(t, row->b, c->out, c->to);

        t->what = k % 2 ? "hostile" : "small";
        if (!KT_LAUNCH(t, c->grid, c->block, 0, src.t, out.t))
            return;
        gt_check(t, &out, want, NULL,
                 (struct kt_gate){0.5L, 0, NULL, row->a == row->b});
    }
}

void ggml_run_repeat(struct kt *t, const struct kt_row *row)
{
    static const struct copy_case cases[] = {
        {{1, 1, 1, 1}, {5, 3, 2, 4}, DENSE, DENSE, 1, 32},
        {{5, 3, 2, 1}, {10, 3, 4, 2}, GAPS, DENSE, 2, 256},
        {{64, 1, 3, 1}, {64, 9, 3, 1}, REVERSED, GAPS, 7, 64},
    };

    for (size_t k = 0; k < NCASES(cases); k++) {
        const struct copy_case *c = &cases[k];
        struct gt src = gt_make(t, row->a, c->src, c->from, KT_HOSTILE, k);
        const struct gt out = gt_result(t, row->a, c->out, c->to);
        kt_real *want = kt_alloc(t, out.n * sizeof(*want));

        for (size_t i = 0; i < out.n; i++)
            want[i] = gt_get(&src, gt_repeated(&src, &out, i));
        gt_place(t, &src);
        t->what = "repeated";
        if (!KT_LAUNCH(t, c->grid, c->block, 0, src.t, out.t))
            return;
        gt_check(t, &out, want, NULL, KT_EXACT);
    }
}
