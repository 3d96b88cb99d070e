/* experts.c - which experts a token takes, and the sum of what they make */
#include "ggml_test.h"

#include <math.h>

static const struct experts_case {
    uint32_t experts, used, tokens, whole;
} choices[] = {
    {1, 1, 1, 0}, {5, 5, 3, 1}, {64, 8, 2, 0}, {65, 2, 4, 1}, {512, 16, 1, 1},
};

void ggml_run_choose_experts(struct kt *t, const struct kt_row *row)
{
    for (size_t k = 0; k < NCASES(choices); k++) {
        const struct experts_case *c = &choices[k];
        const uint32_t n = c->experts, used = c->used, tokens = c->tokens;
        const uint32_t ne[4] = {n, tokens, 1, 1};
        const uint32_t ids_ne[4] = {used, tokens, 1, 1};
        const uint32_t weights_ne[4] = {1, used, tokens, 1};
        struct gt logits = gt_make(t, row->a, ne, GAPS, KT_SMALL, k);
        kt_real *ids = kt_alloc(t, used * tokens * sizeof(*ids));
        kt_real *weights = kt_alloc(t, used * tokens * sizeof(*weights));
        const float least = 0x1p-14f;

        for (size_t i = 0; i < tokens; i++) {
            kt_real all = 0, sum = 0, most = -INFINITY;
            bool *taken = kt_alloc(t, n);

            for (size_t e = 0; e < n; e++)
                most = fmaxl(most, gt_get(&logits, i * n + e));
            for (size_t e = 0; e < n; e++)
                all += expl(gt_get(&logits, i * n + e) - most);
            for (size_t j = 0; j < used; j++) {
                size_t best = n;

                for (size_t e = 0; e < n; e++)
                    if (!taken[e] &&
                        (best == n || gt_get(&logits, i * n + e) >
                                          gt_get(&logits, i * n + best)))
                        best = e;
                taken[best] = true;
                ids[i * used + j] = best;
                weights[i * used + j] =
                    expl(gt_get(&logits, i * n + best) - most) / all;
                sum += weights[i * used + j];
            }
            for (size_t j = 0; c->whole && j < used; j++)
                weights[i * used + j] /= fmaxl(sum, least);
        }
        gt_place(t, &logits);

        const struct gt to_ids = gt_result(t, row->b, ids_ne, GAPS);
        const struct gt to_weights = gt_result(t, row->a, weights_ne, GAPS);

        t->what = "experts of a token";
        if (!KT_LAUNCH(t, tokens, 64, 0, logits.t, to_ids.t, to_weights.t,
                       c->whole, least))
            return;
        gt_check(t, &to_ids, ids, NULL, KT_EXACT);
        gt_check(t, &to_weights, weights, NULL,
                 (struct kt_gate){16, V, NULL, false});
    }
}

void ggml_run_add_up_experts(struct kt *t, const struct kt_row *row)
{
    static const uint32_t cases[][3] = {{1, 1, 1}, {33, 2, 3}, {257, 8, 2}};

    for (size_t k = 0; k < NCASES(cases); k++) {
        const uint32_t n = cases[k][0], used = cases[k][1];
        const uint32_t tokens = cases[k][2];
        const uint32_t ne[4] = {n, used, tokens, 1};
        const uint32_t w_ne[4] = {1, used, tokens, 1};
        const uint32_t out_ne[4] = {n, tokens, 1, 1};
        struct gt x = gt_make(t, row->a, ne, GAPS, KT_SMALL, k);
        struct gt w = gt_make(t, row->a, w_ne, DENSE, KT_SMALL, k + 9);
        kt_real *want = kt_alloc(t, n * tokens * sizeof(*want));
        kt_real *scale = kt_alloc(t, n * tokens * sizeof(*scale));

        for (size_t i = 0; i < n * tokens; i++)
            for (size_t e = 0; e < used; e++) {
                const kt_real v = gt_get(&x, (i / n * used + e) * n + i % n) *
                                  gt_get(&w, i / n * used + e);

                want[i] += v;
                scale[i] += 2 * used * fabsl(v);
            }
        gt_place(t, &x);
        gt_place(t, &w);

        const struct gt out = gt_result(t, row->b, out_ne, GAPS);

        t->what = "the sum of experts";
        if (!KT_LAUNCH(t, 2, 64, 0, x.t, w.t, out.t))
            return;
        gt_check(t, &out, want, NULL, (struct kt_gate){1, V, scale, false});
    }
}
