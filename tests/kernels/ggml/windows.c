/* windows.c - windows that move over images, and images of another size */
#include "ggml_test.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- windows ---- */

static const struct window_case {
    uint32_t image[4];
    kpk_ggml_window w;
    enum lie from, to;
    unsigned grid, block;
} window_cases[] = {
    {{1, 1, 1, 1}, {{1, 1}, {1, 1}, {0, 0}, {1, 1}}, DENSE, DENSE, 1, 32},
    {{20, 1, 3, 2}, {{3, 1}, {1, 1}, {1, 0}, {1, 1}}, GAPS, DENSE, 2, 64},
    {{11, 9, 2, 3}, {{3, 2}, {2, 3}, {1, 0}, {1, 1}}, DENSE, GAPS, 3, 256},
    {{8, 7, 3, 1}, {{3, 4}, {1, 2}, {2, 3}, {3, 1}}, REVERSED, REVERSED, 1, 96},
    /* windows outside of the image */
    {{4, 5, 1, 2}, {{2, 1}, {3, 1}, {3, 2}, {1, 1}}, DENSE, DENSE, 1, 1024},
};

static uint32_t positions(const struct window_case *c, size_t d)
{
    return (c->image[d] + 2 * c->w.padding[d] -
            c->w.dilation[d] * (c->w.size[d] - 1) - 1) /
               c->w.step[d] +
           1;
}

/* The input under a tap of the window at a position; NaN outside. */
static kt_real under(const struct gt *x, const kpk_ggml_window *w,
                     const size_t position[2], const size_t tap[2], size_t c,
                     size_t n)
{
    const uint32_t *ne = x->t.ne;
    int64_t at[2];

    for (size_t d = 0; d < 2; d++) {
        at[d] = (int64_t)(position[d] * w->step[d] + tap[d] * w->dilation[d]) -
                w->padding[d];
        if (at[d] < 0 || at[d] >= ne[d])
            return NAN;
    }
    return gt_get(x, ((n * ne[2] + c) * ne[1] + (size_t)at[1]) * ne[0] +
                         (size_t)at[0]);
}

void ggml_run_im2col(struct kt *t, const struct kt_row *row)
{
    for (size_t k = 0; k < NCASES(window_cases); k++) {
        const struct window_case *c = &window_cases[k];
        kpk_ggml_window w = c->w;
        const uint32_t ne[4] = {w.size[0] * w.size[1] * c->image[2],
                                positions(c, 0), positions(c, 1), c->image[3]};
        struct gt x = gt_make(t, row->a, c->image, c->from, KT_SMALL, k);
        const struct gt out = gt_result(t, row->b, ne, c->to);
        kt_real *want = kt_alloc(t, out.n * sizeof(*want));

        for (size_t i = 0; i < out.n; i++) {
            const size_t r = i % ne[0], at = i / ne[0];
            const size_t tap[2] = {r % w.size[0], r / w.size[0] % w.size[1]};
            const size_t position[2] = {at % ne[1], at / ne[1] % ne[2]};
            const kt_real v =
                under(&x, &w, position, tap, r / w.size[0] / w.size[1],
                      at / ne[1] / ne[2]);

            want[i] = isnan(v) ? 0 : v;
        }
        gt_place(t, &x);
        t->what = "columns of an image";
        if (!KT_LAUNCH(t, c->grid, c->block, 0, x.t, out.t, w))
            return;
        gt_check(t, &out, want, NULL, KT_EXACT);
    }
}

void ggml_run_pool(struct kt *t, const struct kt_row *row)
{
    const bool most = strstr(row->symbol, "_max_") != NULL;

    for (size_t k = 0; k < 2 * NCASES(window_cases); k++) {
        const struct window_case *c = &window_cases[k / 2];
        kpk_ggml_window w = c->w;
        const uint32_t taps = w.size[0] * w.size[1];
        const uint32_t ne[4] = {positions(c, 0), positions(c, 1), c->image[2],
                                c->image[3]};
        uint32_t divisor = k % 2 ? taps : 0;
        struct gt x = gt_make(t, row->a, c->image, c->from, KT_SMALL, k);
        const struct gt out = gt_result(t, KT_F32, ne, c->to);
        kt_real *want = kt_alloc(t, out.n * sizeof(*want));
        kt_real *scale = kt_alloc(t, out.n * sizeof(*scale));

        for (size_t i = 0; i < out.n; i++) {
            const size_t position[2] = {i % ne[0], i / ne[0] % ne[1]};
            const size_t plane = i / ne[0] / ne[1];
            kt_real sum = 0, size = 0, top = -FLT_MAX;
            uint32_t n = 0;

            for (size_t tap = 0; tap < taps; tap++) {
                const kt_real v =
                    under(&x, &w, position,
                          (const size_t[2]){tap % w.size[0], tap / w.size[0]},
                          plane % ne[2], plane / ne[2]);

                if (isnan(v))
                    continue;
                n++;
                sum += v;
                size += fabsl(v);
                top = fmaxl(top, v);
            }
            want[i] = most ? top : n ? sum / (divisor ? divisor : n) : 0;
            scale[i] = most ? 0 : size * n;
        }
        gt_place(t, &x);
        t->what = divisor ? "divided by the window" : "divided by the inputs";
        if (!KT_LAUNCH(t, c->grid, c->block, 0, x.t, out.t, w, divisor))
            return;
        gt_check(t, &out, want, NULL,
                 (struct kt_gate){most ? 0 : 1, V, scale, false});
    }
}

/* ---- transposed ---- */

void ggml_run_conv_transpose(struct kt *t, const struct kt_row *row)
{
    static const struct {
        uint32_t length, inputs, taps, channels, step;
        enum lie weights, x, out;
    } cases[] = {
        {1, 1, 1, 1, 1, DENSE, DENSE, DENSE},
        {13, 7, 3, 9, 2, GAPS, REVERSED, GAPS},
        {5, 2, 2, 3, 3, REVERSED, GAPS, REVERSED},
        {17, 3, 40, 2, 5, DENSE, DENSE, DENSE},
    };

    for (size_t k = 0; k < NCASES(cases); k++) {
        const uint32_t taps = cases[k].taps, length = cases[k].length;
        uint32_t step = cases[k].step;
        const uint32_t nw[4] = {taps, cases[k].channels, cases[k].inputs, 1};
        const uint32_t nx[4] = {length, cases[k].inputs, 1, 1};
        const uint32_t ne[4] = {(length - 1) * step + taps, cases[k].channels,
                                1, 1};
        struct gt w = gt_make(t, row->a, nw, cases[k].weights, KT_SMALL, k);
        struct gt x = gt_make(t, KT_F32, nx, cases[k].x, KT_SMALL, k + 9);
        const struct gt out = gt_result(t, KT_F32, ne, cases[k].out);
        kt_real *want = kt_alloc(t, out.n * sizeof(*want));
        kt_real *scale = kt_alloc(t, out.n * sizeof(*scale));

        for (size_t c = 0; c < nx[1]; c++)
            for (size_t i = 0; i < length; i++)
                for (size_t o = 0; o < ne[1]; o++)
                    for (size_t tap = 0; tap < taps; tap++) {
                        const size_t at = o * ne[0] + i * step + tap;
                        const kt_real v =
                            gt_get(&x, c * length + i) *
                            gt_get(&w, (c * ne[1] + o) * taps + tap);

                        want[at] += v;
                        scale[at] += fabsl(v) * (taps * nx[1] + 1);
                    }
        gt_place(t, &w);
        gt_place(t, &x);
        t->what = "a transposed convolution";
        if (!KT_LAUNCH(t, 2, 64, 0, w.t, x.t, out.t, step))
            return;
        gt_check(t, &out, want, NULL, (struct kt_gate){1, V, scale, false});
    }
}

/* ---- images of another size ---- */

static kt_real cubic(kt_real d)
{
    const kt_real a = -0.75L;

    d = fabsl(d);
    return d <= 1   ? ((a + 2) * d - (a + 3)) * d * d + 1
           : d <= 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
                    : 0;
}
static kt_real linear(kt_real d)
{
    return fabsl(d) < 1 ? 1 - fabsl(d) : 0;
}

/* The value at a place between inputs, where edges go on without end. */
static kt_real between(const struct gt *x, kt_real at_w, kt_real at_h,
                       size_t plane, kt_real (*weight)(kt_real))
{
    const uint32_t *ne = x->t.ne;
    kt_real sum = 0;

    for (int64_t h = -3; h < ne[1] + 3; h++)
        for (int64_t w = -3; w < ne[0] + 3; w++) {
            const size_t row = h < 0 ? 0 : h >= ne[1] ? ne[1] - 1 : (size_t)h;
            const size_t column = w < 0        ? 0
                                  : w >= ne[0] ? ne[0] - 1
                                               : (size_t)w;

            sum += weight(at_w - w) * weight(at_h - h) *
                   gt_get(x, (plane * ne[1] + row) * ne[0] + column);
        }
    return sum;
}

void ggml_run_upscale(struct kt *t, const struct kt_row *row)
{
    static const struct {
        uint32_t from[4], to[4];
        float offset; /* 0: the corners' places stay */
        enum lie x, out;
    } cases[] = {
        {{1, 1, 1, 1}, {1, 1, 1, 1}, 0.5f, DENSE, DENSE},
        {{2, 5, 7, 3}, {5, 7, 11, 4}, 0.5f, GAPS, DENSE},
        {{5, 7, 11, 4}, {2, 5, 7, 3}, 0.5f, REVERSED, GAPS},
        {{4, 6, 2, 1}, {8, 12, 2, 1}, 0.5f, DENSE, REVERSED},
        {{4, 5, 2, 2}, {9, 13, 2, 2}, 0, DENSE, DENSE},
    };
    const char kind = row->symbol[strlen("ggml_upscale_bi")];

    for (size_t k = 0; k < NCASES(cases); k++) {
        const uint32_t *to = cases[k].to, *from = cases[k].from;
        struct gt x = gt_make(t, KT_F32, from, cases[k].x, KT_SMALL, k);
        const struct gt out = gt_result(t, KT_F32, to, cases[k].out);
        kpk_ggml_scale s = {.offset = cases[k].offset};
        kt_real *want = kt_alloc(t, out.n * sizeof(*want));
        kt_real *scale = kt_alloc(t, out.n * sizeof(*scale));

        for (size_t d = 0; d < 4; d++)
            s.factor[d] = d < 2 && s.offset == 0
                              ? (float)(to[d] - 1) / (float)(from[d] - 1)
                              : (float)to[d] / (float)from[d];
        for (size_t i = 0; i < out.n; i++) {
            const size_t place[4] = {i % to[0], i / to[0] % to[1],
                                     i / to[0] / to[1] % to[2],
                                     i / to[0] / to[1] / to[2]};
            size_t at[4];
            kt_real near[2];

            for (size_t d = 0; d < 4; d++)
                at[d] = (size_t)((float)place[d] / s.factor[d]);
            for (size_t d = 0; d < 2; d++)
                near[d] =
                    ((kt_real)place[d] + s.offset) / s.factor[d] - s.offset;

            const size_t plane = at[3] * from[2] + at[2];

            want[i] =
                kind == 'a'
                    ? gt_get(&x, (plane * from[1] + at[1]) * from[0] + at[0])
                    : between(&x, near[0], near[1], plane,
                              kind == 'l' ? linear : cubic);
            scale[i] = kind == 'a' ? 0 : 64 * 16;
        }
        gt_place(t, &x);
        t->what = s.offset != 0 ? "another size" : "the corners stay";
        if (!KT_LAUNCH(t, 2, 128, 0, x.t, out.t, s))
            return;
        gt_check(t, &out, want, NULL,
                 (struct kt_gate){kind == 'a' ? 0 : 1, V, scale, false});
    }
}
