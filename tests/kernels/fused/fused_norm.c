/* fused_norm.c - rmsnorm_add, add_rmsnorm_quantize_q8_1,
 * rmsnorm_add_rmsnorm_quantize_q8_1_quants */
#include "fused.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* a number rounded to the type */
static kt_real rounded(enum kt_type type, kt_real v)
{
    const uint64_t code = kt_encode(type, v);

    return kt_get(type, &code, 0);
}

/* The last three: rows whose squares leave f32's range, because src is large,
 * or residual, or because all is tiny and eps 0. */
enum {
    NO_RESIDUAL = 1,
    NO_SUM = 2,
    NO_ALPHA = 4,
    IN_PLACE = 8,
    SPECIAL = 16,
    LARGE_SRC = 32,
    LARGE_RESIDUAL = 64,
    TINY = 128
};

static const struct norm_case {
    size_t rows, n, padded;
    unsigned threads;
    size_t lead;
    unsigned how;
} norm_cases[] = {
    {3, 1, 32, 32, 1, 0},
    {2, 7, 512, 32, 0, NO_ALPHA},
    {2, 32, 32, 32, 0, 0},
    {3, 64, 512, 64, 0, IN_PLACE},
    {2, 100, 128, 32, 0, NO_SUM},
    {2, 100, 512, 128, 1, NO_RESIDUAL},
    {2, 1024, 1024, 256, 0, 0},
    {1, 1025, 1536, 128, 0, IN_PLACE},
    {2, 2560, 2560, 256, 0, NO_SUM},
    {1, 4096, 4096, 512, 0, 0},
    {1, 4096, 4096, 1024, 0, IN_PLACE},
    {1, 5000, 5120, 128, 0, NO_SUM},
    {1, 5000, 5120, 256, 0, IN_PLACE},
    {1, 14336, 14336, 1024, 0, 0},
    {3, 96, 512, 32, 0, SPECIAL},
    {2, 96, 512, 32, 0, LARGE_SRC},
    {2, 300, 512, 64, 1, LARGE_SRC | LARGE_RESIDUAL | NO_SUM},
    {2, 256, 256, 64, 0, LARGE_RESIDUAL | IN_PLACE},
    {2, 1200, 1216, 64, 0, LARGE_RESIDUAL | NO_ALPHA},
    {1, 1200, 1216, 64, 0, LARGE_SRC | IN_PLACE},
    {2, 160, 160, 32, 0, TINY},
    {1, 1100, 1120, 64, 1, TINY | IN_PLACE},
};

static float norm_eps(const struct norm_case *c)
{
    return c->how & TINY ? 0 : 1e-5F;
}

/* v of SMALL, as large or as tiny as the case says */
static void scale_norm(const struct norm_case *c, enum kt_type type, void *v,
                       size_t n, unsigned large)
{
    const kt_real times = c->how & large ? (type == KT_F16 ? 0x1p12L : 0x1p120L)
                          : c->how & TINY
                              ? (type == KT_F16 ? 0x1p-12L : 0x1p-100L)
                              : 1;

    for (size_t i = 0; times != 1 && i < n; i++)
        kt_put(type, v, i, kt_get(type, v, i) * times);
}

struct norm_data {
    void *src, *residual, *alpha;
    void *sum;     /* rounded to the type */
    kt_real *want; /* the normed row */
    kt_real *scale;
};

static struct norm_data norm_data(struct kt *t, const struct norm_case *c,
                                  enum kt_type type, float eps)
{
    const size_t total = c->rows * c->n;
    struct norm_data d = {kt_host(t, type, total, KT_SMALL, c->n),
                          kt_host(t, type, total, KT_SMALL, c->n + 1),
                          kt_host(t, type, c->n, KT_SMALL, 3),
                          kt_alloc(t, total * kt_size(type)),
                          kt_alloc(t, total * sizeof(kt_real)),
                          kt_alloc(t, total * sizeof(kt_real))};

    scale_norm(c, type, d.src, total, LARGE_SRC);
    scale_norm(c, type, d.residual, total, LARGE_RESIDUAL);
    if (c->how & SPECIAL) { /* a row of zeros, one with a NaN, one with inf */
        for (size_t i = 0; i < c->n; i++) {
            kt_put(type, d.src, i, 0);
            kt_put(type, d.residual, i, 0);
        }
        kt_put(type, d.src, c->n + 40, NAN);
        kt_put(type, d.residual, 2 * c->n + 7, -INFINITY);
    }
    for (size_t r = 0; r < c->rows; r++) {
        kt_real squares = 0;

        for (size_t i = r * c->n; i < (r + 1) * c->n; i++) {
            const kt_real a = kt_get(type, d.src, i);
            const kt_real b =
                c->how & NO_RESIDUAL ? 0 : kt_get(type, d.residual, i);
            const kt_real s = rounded(type, a + b);

            kt_put(type, d.sum, i, a + b);
            squares += s * s;
        }
        for (size_t i = 0; i < c->n; i++) {
            const size_t at = r * c->n + i;
            const kt_real g = 1 / sqrtl(squares / (kt_real)c->n + (kt_real)eps);

            d.want[at] = kt_get(type, d.sum, at) * g *
                         (c->how & NO_ALPHA ? 1 : kt_get(type, d.alpha, i));
            d.scale[at] = fabsl(d.want[at]);
        }
    }
    return d;
}

struct norm_buffers {
    const void *src, *alpha;
    void *residual, *sum;
};

static struct norm_buffers norm_buffers(struct kt *t, const struct norm_case *c,
                                        const struct norm_data *d,
                                        enum kt_type type)
{
    const size_t size = kt_size(type), nbytes = c->rows * c->n * size;
    struct norm_buffers on = {kt_device(t, d->src, nbytes, c->lead * size),
                              NULL, NULL, NULL};

    if (!(c->how & NO_ALPHA))
        on.alpha = kt_device(t, d->alpha, c->n * size, c->lead * size);
    if (!(c->how & NO_RESIDUAL))
        on.residual = kt_device(t, d->residual, nbytes, 0);
    if (c->how & IN_PLACE)
        on.sum = on.residual;
    else if (!(c->how & NO_SUM))
        on.sum = kt_device(t, NULL, nbytes, 0);
    return on;
}

static void check_sum(struct kt *t, const struct norm_case *c,
                      enum kt_type type, const struct norm_data *d,
                      const void *sum)
{
    const size_t n = c->rows * c->n;
    void *got = kt_alloc(t, n * kt_size(type));

    if (!sum)
        return;
    kt_read(t, got, sum, n * kt_size(type));
    kt_check_bits(t, type, got, d->sum, n);
}

static void name_norm(struct kt *t, const struct norm_case *c)
{
    char *text = kt_alloc(t, 96);

    snprintf(text, 96, "%zu x %zu, block %u, how %u", c->rows, c->n, c->threads,
             c->how);
    t->what = text;
}

static bool run_norm_numbers(struct kt *t, const struct norm_case *c,
                             enum kt_type type, const struct norm_data *d,
                             const struct norm_buffers *on, float eps)
{
    const size_t nbytes = c->rows * c->n * kt_size(type);
    void *dst = kt_device(t, NULL, nbytes, 0);
    void *got = kt_alloc(t, nbytes);
    int32_t n = (int32_t)c->n, block = (int32_t)c->threads;

    if (!KT_LAUNCH(t, (unsigned)c->rows, c->threads, 0, on->src, on->residual,
                   dst, on->sum, on->alpha, n, block, eps))
        return false;
    kt_read(t, got, dst, nbytes);
    kt_check(t, type, got, d->want, c->rows * c->n,
             (struct kt_gate){0.5L, (kt_depth(c->n, c->threads) + 8) * V,
                              d->scale, false});
    return true;
}

static bool run_norm_blocks(struct kt *t, const struct norm_case *c,
                            const struct norm_data *d,
                            const struct norm_buffers *on, float eps,
                            bool of_quants)
{
    const size_t blocks = c->padded / 32, nq = blocks * c->rows * 36;
    void *vy = kt_device(t, NULL, nq, 4);
    uint8_t *got = kt_alloc(t, nq);
    int32_t n = (int32_t)c->n, padded = (int32_t)c->padded;

    if (!KT_LAUNCH(t, (unsigned)c->rows, c->threads, 0, on->src, on->residual,
                   on->sum, on->alpha, vy, n, padded, eps))
        return false;
    kt_read(t, got, vy, nq);
    for (size_t b = 0; b < blocks * c->rows; b++) {
        const size_t r = b / blocks, first = b % blocks * 32;
        const size_t count = first >= c->n       ? 0
                             : c->n - first < 32 ? c->n - first
                                                 : 32;

        fused_check_block(t, got + 36 * b, d->want + r * c->n + first, count,
                          (kt_depth(c->n, c->threads) + 8) * V, of_quants);
    }
    return true;
}

/* a negative width; and for blocks, a negative padded width: the sum alone */
static void check_negative_norm(struct kt *t, enum kt_type type, bool numbers)
{
    const size_t nbytes = (size_t)NEG_ROWS * NEG_COLS * kt_size(type);
    const void *src =
        kt_device(t, kt_host(t, type, (size_t)NEG_ROWS * NEG_COLS, KT_SMALL, 1),
                  nbytes, 0);
    const void *none = NULL;
    const float eps = 1e-5f;

    for (size_t i = 0; i < 2 * NCASES(fused_negative_widths); i++) {
        const bool of_padded = i >= NCASES(fused_negative_widths);
        const int32_t width =
            fused_negative_widths[i % NCASES(fused_negative_widths)];
        int32_t n = of_padded ? NEG_COLS : width, block = 32;
        int32_t padded = of_padded ? width : NEG_COLS;
        void *dst = kt_device(t, NULL, nbytes, 0);
        void *sum = kt_device(t, NULL, nbytes, 0);

        t->what = of_padded ? "a negative padded width" : "a negative width";
        if (numbers && of_padded)
            break;
        if (!(numbers ? KT_LAUNCH(t, NEG_ROWS, 32, 0, src, none, dst, sum, none,
                                  n, block, eps)
                      : KT_LAUNCH(t, NEG_ROWS, 32, 0, src, none, sum, none, dst,
                                  n, padded, eps)))
            return;
        fused_check_untouched(t, dst, nbytes);
        if (!of_padded)
            fused_check_untouched(t, sum, nbytes);
    }
}

void fused_run_norm(struct kt *t, const struct kt_row *row)
{
    const enum kt_type type = row->a;
    const enum norm_kind kind = *(const enum norm_kind *)row->detail;

    for (size_t i = 0; i < NCASES(norm_cases); i++) {
        const struct norm_case *c = &norm_cases[i];
        const float eps = norm_eps(c);
        const struct norm_data d = norm_data(t, c, type, eps);
        const struct norm_buffers on = norm_buffers(t, c, &d, type);

        name_norm(t, c);
        if (kind == NUMBERS
                ? !run_norm_numbers(t, c, type, &d, &on, eps)
                : !run_norm_blocks(t, c, &d, &on, eps, kind == QUANTS))
            return;
        check_sum(t, c, type, &d, on.sum);
    }
    check_negative_norm(t, type, kind == NUMBERS);
}

/* ---- rmsnorm_add_rmsnorm_quantize_q8_1_quants ---- */

/* The sum has the bits of rmsnorm_add's norm of src, plus residual: each step
 * is rounded. */
static void check_steps(struct kt *t, const struct norm_case *c,
                        const void *src, const void *inner, float eps,
                        const float *residual, const float *sum)
{
    const char *symbol = t->symbol;
    const size_t total = c->rows * c->n;
    const void *none = NULL;
    const int32_t columns = (int32_t)c->n, block = (int32_t)c->threads;
    void *out = kt_device(t, NULL, total * sizeof(float), c->lead * 4);
    float *want = kt_alloc(t, total * sizeof(*want));
    bool launched;

    t->symbol = "rmsnorm_add_f32";
    launched = KT_LAUNCH(t, (unsigned)c->rows, c->threads, 0, src, none, out,
                         none, inner, columns, block, eps);
    t->symbol = symbol;
    if (!launched)
        return;
    kt_read(t, want, out, total * sizeof(*want));
    for (size_t i = 0; i < total; i++)
        want[i] += residual[i];
    kt_check_bits(t, KT_F32, sum, want, total);
}

void fused_run_norm_twice(struct kt *t, const struct kt_row *row)
{
    (void)row;
    for (size_t k = 0; k < NCASES(norm_cases); k++) {
        const struct norm_case *c = &norm_cases[k];
        const float eps = norm_eps(c);
        const size_t n = c->n, total = c->rows * n, nbytes = total * 4;
        const size_t nq = c->rows * c->padded / 32 * 36, lead = c->lead * 4;
        const bool weights = !(c->how & NO_ALPHA);
        float *src = kt_host(t, KT_F32, total, KT_SMALL, k);
        float *residual = kt_host(t, KT_F32, total, KT_SMALL, k + 1);
        float *inner = kt_host(t, KT_F32, n, KT_SMALL, k + 2);
        float *alpha = kt_host(t, KT_F32, n, KT_SMALL, k + 3);
        kt_real *sum = kt_alloc(t, total * sizeof(*sum));
        kt_real *want = kt_alloc(t, total * sizeof(*want));
        kt_real *scale = kt_alloc(t, total * sizeof(*scale));
        const kt_real slack = (2 * kt_depth(n, c->threads) + 24) * V;
        int32_t columns = (int32_t)n, padded = (int32_t)c->padded;
        uint8_t *got = kt_alloc(t, nq);
        float *got_sum = kt_alloc(t, nbytes);

        name_norm(t, c);
        scale_norm(c, KT_F32, src, total, LARGE_SRC);
        scale_norm(c, KT_F32, residual, total, LARGE_RESIDUAL);
        if (c->how & SPECIAL) { /* rows of zeros, with a NaN, with inf */
            memset(src, 0, n * 4);
            memset(residual, 0, n * 4);
            src[n + 40] = NAN;
            residual[2 * n + 7] = -INFINITY;
        }
        for (size_t i = 0; i < total; i++)
            sum[i] = src[i];
        for (size_t r = 0; r < c->rows; r++) {
            kt_real *of = sum + r * n;
            fused_wide_norm(of, weights ? inner : NULL, n, eps, of);
            for (size_t i = 0; i < n; i++) {
                scale[r * n + i] =
                    fabsl(of[i]) + fabsl((kt_real)residual[r * n + i]);
                of[i] += residual[r * n + i];
            }
            fused_wide_norm(of, weights ? alpha : NULL, n, eps, want + r * n);
        }
        const void *dsrc = kt_device(t, src, nbytes, lead);
        void *dres = kt_device(t, residual, nbytes, lead);
        const void *dinner = weights ? kt_device(t, inner, n * 4, lead) : NULL;
        const void *dalpha = weights ? kt_device(t, alpha, n * 4, lead) : NULL;
        void *dsum =
            c->how & IN_PLACE ? dres : kt_device(t, NULL, nbytes, lead);
        void *vy = kt_device(t, NULL, nq, 4);

        if (!KT_LAUNCH(t, (unsigned)c->rows, c->threads, 0, dsrc, dinner, dres,
                       dsum, dalpha, vy, columns, padded, eps))
            return;
        kt_read(t, got, vy, nq);
        kt_read(t, got_sum, dsum, nbytes);
        kt_check(t, KT_F32, got_sum, sum, total,
                 (struct kt_gate){0.5L, slack, scale, false});
        if (!(c->how & (SPECIAL | LARGE_SRC | TINY)))
            check_steps(t, c, dsrc, dinner, eps, residual, got_sum);
        /* a sum that cancels keeps its terms' error */
        fused_check_blocks(t, got, want, c->rows, n, c->padded, 4 * slack);
    }
}
