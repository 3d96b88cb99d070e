/* turned_rows.c - rotary embedding with one position a token, or four */
#include "ggml_test.h"

#include <math.h>

static const struct rope_case {
    uint32_t ne[4];
    enum lie from, to;
    bool factors;
    kpk_ggml_rope r;
} rope_cases[] = {
#define BASE .base = 10000, .scale = 1, .attn = 1
    {{2, 1, 1, 1}, DENSE, DENSE, false, {BASE, .n_dims = 2, .turned = 2}},
    {{64, 3, 5, 2},
     GAPS,
     REVERSED,
     false,
     {BASE, .n_dims = 64, .turned = 64, .halves = 1}},
    {{80, 2, 4, 1},
     DENSE,
     GAPS,
     true,
     {.base = 1e6f,
      .scale = 0.25f,
      .ext = 0.75f,
      .attn = 1.25f,
      .corr_low = 3.5f,
      .corr_high = 12,
      .n_dims = 32,
      .first = 16,
      .turned = 32,
      .back = 1}},
    {{48, 2, 3, 2},
     REVERSED,
     DENSE,
     true,
     {BASE, .n_dims = 40, .turned = 40, .halves = 1, .pairs = {4, 5, 3, 2}}},
    {{48, 2, 3, 1},
     DENSE,
     DENSE,
     false,
     {BASE, .n_dims = 48, .turned = 48, .halves = 1, .pairs = {8, 7, 6, 2},
      .in_turn = 1}},
    {{48, 1, 3, 1},
     DENSE,
     DENSE,
     true,
     {.base = 10000,
      .scale = 0.5f,
      .ext = 1,
      .attn = 1,
      .corr_low = 2,
      .corr_high = 15,
      .n_dims = 24,
      .turned = 48,
      .halves = 1,
      .pairs = {6, 10, 4, 4},
      .restart = 1}},
};

/* which of the four positions a pair has, and the number of its angle */
static size_t position_of(const kpk_ggml_rope *r, size_t pair, size_t *number)
{
    size_t all = 0, at, which = 0, begin = 0;

    *number = pair;
    for (size_t i = 0; i < 4; i++)
        all += r->pairs[i];
    if (all == 0)
        return 0;
    at = pair % all;
    if (r->in_turn)
        return at < 3 * (size_t)r->pairs[at % 3] ? at % 3 : 3;
    while (at - begin >= r->pairs[which])
        begin += r->pairs[which++];
    if (r->restart)
        *number = at - begin;
    return which;
}

void ggml_run_rope(struct kt *t, const struct kt_row *row)
{
    for (size_t k = 0; k < NCASES(rope_cases); k++) {
        const struct rope_case *c = &rope_cases[k];
        const kpk_ggml_rope *r = &c->r;
        const size_t d = c->ne[0], tokens = c->ne[2], half = r->turned / 2;
        struct gt x = gt_make(t, row->a, c->ne, c->from, KT_SMALL, k);
        int32_t *positions = kt_alloc(t, 4 * tokens * sizeof(*positions));
        float *factors = kt_alloc(t, half * sizeof(*factors));
        kt_real *want = kt_alloc(t, x.n * sizeof(*want));
        kt_real *scale = kt_alloc(t, x.n * sizeof(*scale));
        const kt_real length =
            r->ext != 0 ? r->attn * (1 - 0.1L * logl(r->scale)) : r->attn;

        for (size_t i = 0; i < 4 * tokens; i++)
            positions[i] = (int32_t)(i * i * 131 + 7);
        for (size_t j = 0; j < half; j++)
            factors[j] = 1 + (float)j / 8;
        for (size_t i = 0; i < x.n; i++)
            want[i] = gt_get(&x, i);
        for (size_t i = 0; i < x.n / d; i++)
            for (size_t j = 0; j < half; j++) {
                size_t number;
                const size_t which = position_of(r, j, &number);
                const size_t p = i * d + r->first + (r->halves ? j : 2 * j);
                const size_t q = p + (r->halves ? half : 1);
                const kt_real a = want[p], b = want[q];
                const kt_real whole =
                    positions[which * tokens + i / c->ne[1] % tokens] *
                    powl(r->base, -2 * (kt_real)number / r->n_dims) /
                    (c->factors ? factors[j] : 1);
                const kt_real way =
                    ((kt_real)j - r->corr_low) /
                    fmaxl(0.001L, (kt_real)r->corr_high - r->corr_low);
                const kt_real mix = r->ext * (1 - fminl(1, fmaxl(0, way)));
                const kt_real angle =
                    whole * r->scale * (1 - mix) + whole * mix;
                const kt_real cosine = length * cosl(angle);
                const kt_real sine = length * sinl(r->back ? -angle : angle);

                want[p] = a * cosine - b * sine;
                want[q] = a * sine + b * cosine;
                scale[p] = scale[q] = 24 * length * (fabsl(a) + fabsl(b));
            }
        gt_place(t, &x);

        const struct gt out = gt_result(t, row->a, c->ne, c->to);
        const int32_t *dp =
            kt_device(t, positions, 4 * tokens * sizeof(*positions), 0);
        const float *df =
            c->factors ? kt_device(t, factors, half * sizeof(*factors), 0)
                       : NULL;

        t->what = "turned";
        if (!KT_LAUNCH(t, 2, 64, 0, x.t, dp, df, out.t, *r))
            return;
        gt_check(t, &out, want, NULL, (struct kt_gate){1, V, scale, false});
    }
}
