/* places.c - results that depend on where an element lies */
#include "ggml_test.h"

#include <limits.h>
#include <math.h>

static const struct shape {
    uint32_t ne[4];
    enum lie x, out;
    unsigned grid, block;
} shapes[] = {
    {{1, 1, 1, 1}, DENSE, DENSE, 1, 32},
    {{10, 10, 4, 3}, GAPS, DENSE, 3, 64},
    {{33, 20, 2, 1}, REVERSED, GAPS, 2, 256},
    {{7, 64, 1, 2}, DENSE, REVERSED, 1, 1024},
};

void ggml_run_keep_band(struct kt *t, const struct kt_row *row)
{
    static const struct {
        int32_t low, high;
        float other;
    } bands[] = {{0, 0, 0}, {INT32_MIN, 5, -INFINITY}, {1, INT32_MAX, 0}};

    (void)row;
    for (size_t k = 0; k < NCASES(shapes) * NCASES(bands); k++) {
        const struct shape *s = &shapes[k % NCASES(shapes)];
        const size_t b = k / NCASES(shapes);
        int32_t low = bands[b].low, high = bands[b].high;
        float other = bands[b].other;
        struct gt x = gt_make(t, KT_F32, s->ne, s->x, KT_HOSTILE, k);
        const struct gt out = gt_result(t, KT_F32, s->ne, s->out);
        kt_real *want = kt_alloc(t, out.n * sizeof(*want));

        for (size_t i = 0; i < out.n; i++) {
            const int64_t ahead =
                (int64_t)(i % s->ne[0]) - (int64_t)(i / s->ne[0] % s->ne[1]);

            want[i] =
                ahead >= low && ahead <= high ? gt_get(&x, i) : (kt_real)other;
        }
        gt_place(t, &x);
        t->what = "a band";
        if (!KT_LAUNCH(t, s->grid, s->block, 0, x.t, out.t, low, high, other))
            return;
        gt_check(t, &out, want, NULL, KT_EXACT);
    }
}

void ggml_run_arange(struct kt *t, const struct kt_row *row)
{
    float start = -3.25f, step = 0.75f;

    (void)row;
    for (uint32_t n = 1; n < 4000; n = n * 7 + 1) {
        const uint32_t ne[4] = {n, 1, 1, 1};
        const struct gt out = gt_result(t, KT_F32, ne, DENSE);
        kt_real *want = kt_alloc(t, n * sizeof(*want));

        for (uint32_t i = 0; i < n; i++)
            want[i] = (kt_real)start + (kt_real)step * i;
        t->what = "a range";
        if (!KT_LAUNCH(t, 2, 64, 0, out.t, start, step))
            return;
        gt_check(t, &out, want, NULL, (struct kt_gate){1, 0, NULL, false});
    }
}

void ggml_run_roll(struct kt *t, const struct kt_row *row)
{
    (void)row;
    for (size_t k = 0; k < NCASES(shapes); k++) {
        const struct shape *s = &shapes[k];
        struct gt x = gt_make(t, KT_F32, s->ne, s->x, KT_SMALL, k);
        const struct gt out = gt_result(t, KT_F32, s->ne, s->out);
        kpk_ggml_place from;
        kt_real *want = kt_alloc(t, out.n * sizeof(*want));

        for (uint32_t d = 0; d < 4; d++)
            from.i[d] = (d == 1 ? s->ne[d] - 1 : 2 * d + 1) % s->ne[d];
        for (size_t i = 0; i < out.n; i++) {
            size_t rest = i, at = 0, below = 1;

            for (size_t d = 0; d < 4; d++) {
                at += (rest + from.i[d]) % s->ne[d] * below;
                below *= s->ne[d];
                rest /= s->ne[d];
            }
            want[i] = gt_get(&x, at);
        }
        gt_place(t, &x);
        t->what = "a roll";
        if (!KT_LAUNCH(t, s->grid, s->block, 0, x.t, out.t, from))
            return;
        gt_check(t, &out, want, NULL, KT_EXACT);
    }
}

void ggml_run_timestep(struct kt *t, const struct kt_row *row)
{
    static const uint32_t dims[] = {320, 2, 15};
    const float period = 10000;

    (void)row;
    for (size_t k = 0; k < NCASES(dims); k++) {
        uint32_t dim = dims[k];
        const uint32_t nx[4] = {5, 1, 1, 1}, ne[4] = {dim, 5, 1, 1};
        struct gt x = gt_make(t, KT_F32, nx, DENSE, KT_SMALL, k);
        const struct gt out = gt_result(t, KT_F32, ne, k ? GAPS : DENSE);
        kt_real *want = kt_alloc(t, out.n * sizeof(*want));
        kt_real *scale = kt_alloc(t, out.n * sizeof(*scale));

        kt_put(KT_F32, x.host, 0, 999);
        for (size_t i = 0; i < out.n; i++) {
            const uint32_t c = (uint32_t)(i % dim), half = dim / 2;
            const kt_real angle =
                gt_get(&x, i / dim) *
                powl(period, -(kt_real)(c % half) / (kt_real)half);

            want[i] = c >= 2 * half ? 0 : c < half ? cosl(angle) : sinl(angle);
            scale[i] = c >= 2 * half ? 0 : 4 + 32 * fabsl(angle);
        }
        gt_place(t, &x);
        t->what = "times as angles";
        if (!KT_LAUNCH(t, 2, 96, 0, x.t, out.t, dim, period))
            return;
        gt_check(t, &out, want, NULL, (struct kt_gate){1, V, scale, false});
    }
}
