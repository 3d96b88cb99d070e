/* row_functions.c - norms, sums and softmax of rows */
#include "ggml_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct norm_case {
    uint32_t ne[4];
    enum lie from, to;
    unsigned block;
    float eps;
} norm_cases[] = {
    {{1, 1, 1, 1}, DENSE, DENSE, 32, 1e-5f},
    {{64, 3, 1, 1}, DENSE, DENSE, 64, 1e-6f},
    {{33, 2, 3, 2}, GAPS, REVERSED, 32, 0.1f},
    {{1000, 2, 1, 2}, REVERSED, DENSE, 256, 1e-5f},
    {{1029, 2, 2, 1}, GAPS, GAPS, 1024, 0},
};

/* The letter behind ggml_ tells: norm, rms_norm, l2_norm, sum_rows. */
void ggml_run_norm(struct kt *t, const struct kt_row *row)
{
    const char kind = row->symbol[strlen("ggml_")];

    for (size_t k = 0; k < NCASES(norm_cases); k++) {
        const struct norm_case *c = &norm_cases[k];
        const size_t n = c->ne[0];
        const bool sums = kind == 's';
        const uint32_t out_ne[4] = {sums ? 1 : c->ne[0], c->ne[1], c->ne[2],
                                    c->ne[3]};
        struct gt x = gt_make(t, KT_F32, c->ne, c->from, KT_SMALL, k);
        const struct gt out = gt_result(t, KT_F32, out_ne, c->to);
        const size_t rows = x.n / n;
        kt_real *want = kt_alloc(t, x.n * sizeof(*want));
        kt_real *scale = kt_alloc(t, x.n * sizeof(*scale));
        const kt_real depth = kt_depth(n, c->block) + 8;

        for (size_t r = 0; r < rows; r++) {
            kt_real sum = 0, size = 0, squares = 0, mean;

            for (size_t i = 0; i < n; i++) {
                sum += gt_get(&x, r * n + i);
                size += fabsl(gt_get(&x, r * n + i));
            }
            mean = kind == 'n' ? sum / n : 0;
            for (size_t i = 0; i < n; i++) {
                const kt_real v = gt_get(&x, r * n + i) - mean;

                squares += v * v;
            }
            if (sums) {
                want[r] = sum * (kt_real)c->eps;
                scale[r] = depth * size * c->eps;
                continue;
            }
            const kt_real length = kind == 'l'
                                       ? fmaxl(sqrtl(squares), c->eps)
                                       : sqrtl(squares / n + (kt_real)c->eps);

            for (size_t i = 0; i < n; i++) {
                want[r * n + i] = (gt_get(&x, r * n + i) - mean) / length;
                scale[r * n + i] =
                    depth * (fabsl(want[r * n + i]) +
                             (kind == 'n' ? size / n / length : 0));
            }
        }
        gt_place(t, &x);
        t->what = "rows";
        if (!KT_LAUNCH(t, (unsigned)rows, c->block, 0, x.t, out.t, c->eps))
            return;
        gt_check(t, &out, want, NULL, (struct kt_gate){1, V, scale, false});
    }
}

void ggml_run_cumsum(struct kt *t, const struct kt_row *row)
{
    (void)row;
    for (size_t k = 0; k < NCASES(norm_cases); k++) {
        const struct norm_case *c = &norm_cases[k];
        const enum lie from = c->from == REVERSED ? GAPS : c->from;
        const enum lie to = c->to == REVERSED ? GAPS : c->to;
        struct gt x = gt_make(t, KT_F32, c->ne, from, KT_SMALL, k);
        const struct gt out = gt_result(t, KT_F32, c->ne, to);
        kt_real *want = kt_alloc(t, x.n * sizeof(*want));
        kt_real *scale = kt_alloc(t, x.n * sizeof(*scale));
        kt_real sum = 0, size = 0;

        for (size_t i = 0; i < x.n; i++) {
            sum = (i % c->ne[0] ? sum : 0) + gt_get(&x, i);
            size = (i % c->ne[0] ? size : 0) + fabsl(gt_get(&x, i));
            want[i] = sum;
            scale[i] = size * (kt_depth(c->ne[0], c->block) + 16);
        }
        gt_place(t, &x);
        t->what = "sums so far";
        if (!KT_LAUNCH(t, (unsigned)(x.n / c->ne[0]), c->block, 0, x.t, out.t))
            return;
        gt_check(t, &out, want, NULL, (struct kt_gate){1, V, scale, false});
    }
}

/* Numbers of few bits, so that some are equal; a NaN in every other row. */
void ggml_run_argmax(struct kt *t, const struct kt_row *row)
{
    (void)row;
    for (size_t k = 0; k < NCASES(norm_cases); k++) {
        const struct norm_case *c = &norm_cases[k];
        const uint32_t out_ne[4] = {1, c->ne[1], c->ne[2], c->ne[3]};
        struct gt x = gt_make(t, KT_F32, c->ne, c->from, KT_SMALL, k);
        const struct gt out = gt_result(t, KT_I32, out_ne, c->to);
        kt_real *want = kt_alloc(t, out.n * sizeof(*want));

        for (size_t r = 0; r < out.n; r++) {
            kt_real top = -INFINITY;

            for (size_t i = 0; i < c->ne[0]; i++) {
                const size_t at = r * c->ne[0] + i;
                const bool none = r % 2 && i == c->ne[0] / 3;
                const kt_real v = none ? NAN : roundl(gt_get(&x, at) * 8) / 8;

                kt_put(KT_F32, x.host, gt_at(&x, at), v);
                if (v >= top) {
                    top = v;
                    want[r] = (kt_real)i;
                }
            }
        }
        gt_place(t, &x);
        t->what = "the greatest";
        if (!KT_LAUNCH(t, (unsigned)out.n, c->block, 0, x.t, out.t))
            return;
        gt_check(t, &out, want, NULL, KT_EXACT);
    }
}

/* ---- softmax ---- */

static const struct soft_max_case {
    uint32_t ne[4];
    uint32_t mask[4]; /* [0] is 0: no mask */
    enum lie from, to;
    bool sinks, in_place;
    float scale, max_bias;
    unsigned block;
} soft_max_cases[] = {
    {{1, 1, 1, 1}, {0}, DENSE, DENSE, false, false, 1, 0, 32},
    {{70, 4, 3, 2}, {70, 4, 1, 1}, DENSE, DENSE, false, true, 0.5f, 0, 64},
    {{33, 4, 6, 2}, {33, 5, 1, 2}, GAPS, REVERSED, true, false, 0.25f, 8, 32},
    {{300, 2, 8, 1}, {300, 2, 2, 1}, REVERSED, GAPS, false, false, 1, 8, 256},
    {{1025, 2, 2, 1}, {0}, DENSE, DENSE, true, false, 2, 0, 1024},
};

/* A row in one launch, or in two: its parts' tops and sums, and the rest. */
enum turn { WHOLE, PART, JOIN };
enum { PARTS = 3 };

/* The tops and sums of the parts of a row of scores. */
static void sums_of_parts(const kt_real *scores, size_t n, float *sums,
                          kt_real *want)
{
    const size_t each = (n + PARTS - 1) / PARTS;

    for (size_t p = 0; p < PARTS; p++) {
        kt_real top = -INFINITY, sum = 0;

        for (size_t i = p * each; i < n && i < (p + 1) * each; i++)
            top = fmaxl(top, scores[i]);
        for (size_t i = p * each; i < n && i < (p + 1) * each; i++)
            sum += isinf(scores[i]) ? 0 : expl(scores[i] - top);
        sums[2 * p] = (float)(want[2 * p] = top);
        sums[2 * p + 1] = (float)(want[2 * p + 1] = sum);
    }
}

static void run_soft_max(struct kt *t, const struct kt_row *row, enum turn turn)
{
    for (size_t k = 0; k < NCASES(soft_max_cases); k++) {
        const struct soft_max_case *c = &soft_max_cases[k];
        const size_t n = c->ne[0], heads = c->ne[2];
        const bool masked = c->mask[0] > 0;
        struct gt x = gt_make(t, KT_F32, c->ne, c->from, KT_SMALL, k);
        struct gt mask =
            gt_make(t, row->a, masked ? c->mask : c->ne, GAPS, KT_SMALL, k + 9);
        float *sinks = kt_host(t, KT_F32, heads, KT_SMALL, k + 18);
        kt_real *want = kt_alloc(t, x.n * sizeof(*want));
        kt_real *scale = kt_alloc(t, x.n * sizeof(*scale));
        const kt_real depth = kt_depth(n, c->block) + 40;
        const size_t rows = x.n / n, nsums = rows * PARTS * 2;
        float *sums = kt_alloc(t, nsums * sizeof(*sums));
        kt_real *of_parts = kt_alloc(t, nsums * sizeof(*of_parts));
        kt_real *near = kt_alloc(t, nsums * sizeof(*near));

        for (size_t i = 0; i < mask.n; i += 5)
            kt_put(row->a, mask.host, gt_at(&mask, i), -INFINITY);
        for (size_t r = 0; r < x.n / n; r++) {
            const size_t head = r / c->ne[1] % heads;
            kt_real *w = want + r * n, top, sum;

            top = c->sinks ? sinks[head] : -INFINITY;
            for (size_t i = 0; i < n; i++) {
                w[i] = gt_get(&x, r * n + i) * c->scale;
                if (masked)
                    w[i] += gt_slope(head, heads, c->max_bias) *
                            gt_get(&mask, gt_repeated(&mask, &x, r * n + i));
                top = fmaxl(top, w[i]);
            }
            sums_of_parts(w, n, sums + r * PARTS * 2, of_parts + r * PARTS * 2);
            sum = c->sinks ? expl(sinks[head] - top) : 0;
            for (size_t i = 0; i < n; i++)
                sum += w[i] = expl(w[i] - top);
            for (size_t i = 0; i < n; i++) {
                w[i] /= sum;
                scale[r * n + i] = (depth + 2 * fabsl(top)) * w[i];
            }
        }
        gt_place(t, &x);
        gt_place(t, &mask);

        const float *device_sinks =
            c->sinks ? kt_device(t, sinks, heads * sizeof(*sinks), 0) : NULL;
        struct gt out = c->in_place ? x : gt_result(t, KT_F32, c->ne, c->to);
        const unsigned block = c->block < 256 ? c->block : 256;
        const uint32_t parts = PARTS;
        void *between =
            kt_device(t, turn == JOIN ? sums : NULL, nsums * sizeof(*sums), 0);

        if (!masked)
            mask.t.data = NULL;
        t->what = masked ? "masked" : "plain";
        if (turn == PART) {
            if (!KT_LAUNCH(t, (unsigned)rows * PARTS, block, 0, x.t, mask.t,
                           between, parts, c->scale, c->max_bias))
                return;
            kt_read(t, sums, between, nsums * sizeof(*sums));
            for (size_t i = 0; i < nsums; i++)
                near[i] =
                    isinf(of_parts[i]) ? 0 : (depth + 20) * fabsl(of_parts[i]);
            kt_check(t, KT_F32, sums, of_parts, nsums,
                     (struct kt_gate){1, V, near, false});
            continue;
        }
        if (turn == JOIN) {
            if (!KT_LAUNCH(t, (unsigned)rows * PARTS, block, 0, x.t, mask.t,
                           device_sinks, out.t, between, parts, c->scale,
                           c->max_bias))
                return;
        } else if (!KT_LAUNCH(t, (unsigned)(x.n / n), c->block, 0, x.t, mask.t,
                              device_sinks, out.t, c->scale, c->max_bias))
            return;
        gt_check(t, &out, want, NULL, (struct kt_gate){1, V, scale, false});
    }
}

void ggml_run_soft_max(struct kt *t, const struct kt_row *row)
{
    run_soft_max(t, row, WHOLE);
}

void ggml_run_soft_max_part(struct kt *t, const struct kt_row *row)
{
    run_soft_max(t, row, PART);
}

void ggml_run_soft_max_join(struct kt *t, const struct kt_row *row)
{
    run_soft_max(t, row, JOIN);
}
