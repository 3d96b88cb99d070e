/* gated.c - silu_mul, gelu_mul; quantize_q8_1_quants_f16, silu_mul_quantize,
 * gelu_mul_quantize */
#include "fused.h"

#include <math.h>
#include <stdio.h>

static kt_real gate_silu(kt_real x)
{
    return x == -INFINITY ? -0.0L : x / (1 + expl(-x));
}

static kt_real gate_gelu(kt_real x)
{
    const kt_real u =
        0.7978845608028653558798921L * (x + 0.044715L * x * x * x);

    return x == -INFINITY ? -0.0L : x / (1 + expl(-2 * u));
}

void fused_run_gated(struct kt *t, const struct kt_row *row)
{
    static const struct {
        size_t n;
        unsigned grid, block;
        size_t lead;
        enum kt_data data; /* KT_WIDE: up; gates all over the tail */
        bool in_place;
    } cases[] = {{1, 1, 32, 0, KT_SMALL, false},
                 {1000, 1, 1024, 1, KT_SMALL, false},
                 {4096, 4, 1024, 0, KT_SMALL, true},
                 {4099, 1, 256, 0, KT_HOSTILE, false},
                 {20000, 3, 256, 1, KT_HOSTILE, true},
                 {4096, 1, 256, 0, KT_WIDE, false},
                 {0, 1, 64, 0, KT_SMALL, false}};
    const bool gelu = *(const bool *)row->detail;
    const enum kt_type type = row->a;
    const size_t size = kt_size(type);

    for (size_t c = 0; c < NCASES(cases); c++) {
        const size_t n = cases[c].n, nbytes = n * size;
        void *g = kt_host(t, type, n, cases[c].data, 2 * c);
        void *u = kt_host(t, type, n, cases[c].data, 2 * c + 1);
        kt_real *want = kt_alloc(t, n * sizeof(*want));
        kt_real *scale = kt_alloc(t, n * sizeof(*scale));

        for (size_t i = 0; i < n; i++) {
            if (cases[c].data == KT_WIDE)
                kt_put(type, g, i,
                       (gelu ? -14 : -190) * (kt_real)i / (kt_real)n);
            const kt_real x = kt_get(type, g, i);
            kt_real y = kt_get(type, u, i);

            /* 0 times inf, or next to it */
            if (isinf(y) && (x < -8 || fabsl(x) < 0x1p-120L))
                kt_put(type, u, i, y = 1);
            const kt_real f = gelu ? gate_gelu(x) : gate_silu(x);

            want[i] = f * y;
            /* numbers below 2^-240 may count as 0 */
            scale[i] = isfinite(want[i]) && isfinite(x)
                           ? fabsl(want[i]) * 14 + fabsl(y) * 0x1p-216L
                           : 0;
        }
        void *dg = kt_device(t, g, nbytes, cases[c].lead * size);
        const void *du = kt_device(t, u, nbytes, cases[c].lead * size);
        void *dst = cases[c].in_place
                        ? dg
                        : kt_device(t, NULL, nbytes, cases[c].lead * size);
        void *got = kt_alloc(t, nbytes);

        t->what = cases[c].data == KT_HOSTILE ? "hostile"
                  : cases[c].data == KT_WIDE  ? "tail"
                                              : "small";
        if (!KT_LAUNCH(t, cases[c].grid, cases[c].block, 0, n, dg, du, dst))
            return;
        kt_read(t, got, dst, nbytes);
        kt_check(t, type, got, want, n, (struct kt_gate){1, V, scale, false});
    }
}

/* ---- quantize_q8_1_quants_f16, silu_mul_quantize, gelu_mul_quantize ---- */

static const struct made_case {
    uint32_t rows;
    size_t n, padded, stride;
    unsigned grid, block;
    size_t lead;
    enum kt_data data;
} made_cases[] = {
    {1, 1, 32, 1, 1, 32, 1, KT_SMALL},
    {3, 31, 64, 31, 2, 64, 0, KT_SMALL},
    {2, 32, 512, 64, 1, 256, 0, KT_SMALL},
    {5, 100, 512, 200, 3, 96, 0, KT_SMALL},
    {5, 100, 512, 200, 3, 1024, 1, KT_SMALL},
    {2, 1536, 1536, 3072, 3, 256, 0, KT_SMALL},
    {7, 577, 1024, 577, 2, 256, 0, KT_SMALL},
    {4, 256, 512, 512, 2, 256, 0, KT_HOSTILE},
    {65, 1020, 1024, 2040, 30, 256, 0, KT_SMALL},
    {64, 1023, 1024, 1023, 9, 64, 0, KT_SMALL},
    {0, 64, 64, 64, 1, 64, 0, KT_SMALL},
};

void fused_run_made(struct kt *t, const struct kt_row *row)
{
    const enum made made = *(const enum made *)row->detail;
    const enum kt_type type = row->a;
    const size_t size = kt_size(type);

    for (size_t k = 0; k < NCASES(made_cases); k++) {
        const struct made_case *c = &made_cases[k];
        const size_t stride = made == PLAIN ? c->n : c->stride;
        const size_t total = c->rows * stride, nbytes = total * size;
        const size_t nq = c->rows * c->padded / 32 * 36;
        const uint32_t rows = c->rows;
        const int32_t n = (int32_t)c->n, padded = (int32_t)c->padded;
        const uint64_t numbers = stride;
        void *g = kt_host(t, type, total, c->data, 2 * k);
        void *u = kt_host(t, type, total, c->data, 2 * k + 1);
        kt_real *want = kt_alloc(t, (rows * c->n + 1) * sizeof(*want));
        uint8_t *got = kt_alloc(t, nq + 1);
        char *text = kt_alloc(t, 96);

        (void)snprintf(text, 96, "%u x %zu, every %zu, %u x %u", rows, c->n,
                       stride, c->grid, c->block);
        t->what = text;
        for (size_t r = 0; r < rows; r++)
            for (size_t i = 0; i < c->n; i++) {
                const size_t at = r * stride + i;
                kt_real x, y;

                /* in all but some blocks only numbers, so that most have
                 * scales: beyond f16's there is nothing to compare */
                if (c->data == KT_HOSTILE && i / 32 % 2) {
                    kt_put(type, g, at, (kt_real)(i % 7) - 3);
                    kt_put(type, u, at, (kt_real)(i % 5) / 4);
                }
                x = kt_get(type, g, at);
                y = kt_get(type, u, at);
                want[r * c->n + i] = made == PLAIN  ? x
                                     : made == SILU ? gate_silu(x) * y
                                                    : gate_gelu(x) * y;
            }
        const void *dg = kt_device(t, g, nbytes, c->lead * size);
        const void *du = kt_device(t, u, nbytes, c->lead * size);
        void *vy = kt_device(t, NULL, nq, 4);

        if (made == PLAIN
                ? !KT_LAUNCH(t, c->grid, c->block, 0, dg, vy, rows, n, padded)
                : !KT_LAUNCH(t, c->grid, c->block, 0, dg, du, vy, rows, n,
                             padded, numbers))
            return;
        kt_read(t, got, vy, nq);
        if (c->data != KT_HOSTILE) {
            fused_check_blocks(t, got, want, rows, c->n, c->padded, 32 * V);
            continue;
        }
        for (size_t b = 1; b < rows * c->padded / 32; b += 2) {
            const size_t r = b / (c->padded / 32), first = b % (c->padded / 32);
            const size_t count = 32 * first >= c->n ? 0 : 32;

            fused_check_block(t, got + 36 * b, want + r * c->n + 32 * first,
                              count, 32 * V, true);
        }
    }
}
