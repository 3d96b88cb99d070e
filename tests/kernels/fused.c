/* fused.c - the fused steps of language models against wide references
 *
 * v = 2^-24 is f32's unit roundoff, in which all of them compute.
 */
#include "harness.h"

#include "gguf_product.h"
#include "philox_ref.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const kpk_module kpk_module_fused;

#define V 0x1p-24L

static kt_real depth(size_t n, size_t threads)
{
    const size_t own = (n + threads - 1) / threads;
    kt_real p = (kt_real)own;

    for (size_t t = threads; t > 1; t = (t + 1) / 2)
        p += 1;
    return p;
}

/* what numbers become in the type */
static kt_real rounded(enum kt_type type, kt_real v)
{
    const uint64_t code = kt_encode(type, v);

    return kt_get(type, &code, 0);
}

/* ---- rmsnorm_add, add_rmsnorm_quantize_q8_1 ---- */

enum { NO_RESIDUAL = 1, NO_SUM = 2, NO_ALPHA = 4, IN_PLACE = 8, SPECIAL = 16 };

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
};
#define NCASES(cases) (sizeof(cases) / sizeof((cases)[0]))

struct norm_data {
    void *src, *residual, *alpha;
    void *sum;     /* as the type has it */
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

/* A block: its scale is right, and its quants are the nearest, or next to a
 * tie. `slack` is what the values may be off by, relative. of_quants: its sum
 * is that of its quants. */
static void check_block(struct kt *t, const uint8_t *block, const kt_real *want,
                        size_t count, kt_real slack, bool of_quants)
{
    kt_real most = 0, sum = 0, size = 0, quants = 0;
    const kt_real d = kt_get(KT_F16, block, 0);
    const kt_real s = kt_get(KT_F16, block, 1);

    t->checks += 34;
    for (size_t i = 0; i < count; i++) {
        if (of_quants && isnan(want[i])) /* its quant is 0 */
            continue;
        if (fabsl(want[i]) > most) /* false for a NaN */
            most = fabsl(want[i]);
        sum += want[i];
        size += fabsl(want[i]);
    }
    if (isnan(sum) || isinf(most)) {
        if (isfinite(s))
            kt_fail(t, "the sum of what has no sum: %Lg", s);
        return;
    }
    for (size_t i = 0; of_quants && i < 32; i++)
        quants += (int8_t)block[4 + i];
    if (of_quants)
        sum = quants * most / 127;
    if (fabsl(d - most / 127) >
        kt_ulp(KT_F16, most / 127) / 2 + most / 127 * slack)
        kt_fail(t, "scale %Lg of %Lg", d, most / 127);
    if (fabsl(s - sum) > kt_ulp(KT_F16, sum) / 2 + size * (slack + 8 * V))
        kt_fail(t, "sum %Lg of %Lg", s, sum);
    for (size_t i = 0; i < 32; i++) {
        const kt_real x = i < count && most > 0 && !isnan(want[i])
                              ? want[i] / (most / 127)
                              : 0;
        const int8_t q = (int8_t)block[4 + i];

        if (fabsl(x - q) > 0.5L + 127 * 2 * (slack + 2 * V)) {
            kt_fail(t, "quant %zu: %d of %Lg", i, q, x);
            return;
        }
    }
}

enum norm_kind { NUMBERS, SUMS, QUANTS }; /* what is stored, or its sums */

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
             (struct kt_gate){0.5L, (depth(c->n, c->threads) + 8) * V, d->scale,
                              false});
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

        check_block(t, got + 36 * b, d->want + r * c->n + first, count,
                    (depth(c->n, c->threads) + 8) * V, of_quants);
    }
    return true;
}

/* Rows of a negative width: nobody writes. The buffers have 64 columns. */
enum { NEG_COLS = 64, NEG_ROWS = 2 };
static const int32_t negative_widths[] = {-1, -NEG_COLS, INT32_MIN};

static void check_untouched(struct kt *t, const void *dst, size_t nbytes)
{
    uint8_t *got = kt_alloc(t, nbytes), *want = kt_alloc(t, nbytes);

    memset(want, 0xa5, nbytes); /* what kt_device() leaves */
    kt_read(t, got, dst, nbytes);
    kt_check_bytes(t, got, want, nbytes, "what nobody writes");
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

    for (size_t i = 0; i < 2 * NCASES(negative_widths); i++) {
        const bool of_padded = i >= NCASES(negative_widths);
        const int32_t width = negative_widths[i % NCASES(negative_widths)];
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
        check_untouched(t, dst, nbytes);
        if (!of_padded)
            check_untouched(t, sum, nbytes);
    }
}

static void run_norm(struct kt *t, const struct kt_row *row)
{
    const enum kt_type type = row->a;
    const enum norm_kind kind = *(const enum norm_kind *)row->detail;
    const float eps = 1e-5f;

    for (size_t i = 0; i < NCASES(norm_cases); i++) {
        const struct norm_case *c = &norm_cases[i];
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

/* A row of blocks for each row of n numbers; `slack` as of check_block(). */
static void check_blocks(struct kt *t, const uint8_t *got, const kt_real *want,
                         size_t rows, size_t n, size_t padded, kt_real slack)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t first = 0; first < padded; first += 32) {
            const size_t count = first >= n       ? 0
                                 : n - first < 32 ? n - first
                                                  : 32;

            check_block(t, got, want + r * n + first, count, slack, true);
            got += 36;
        }
}

/* ---- rmsnorm_add_rmsnorm_quantize_q8_1_quants ---- */

/* y = x / sqrt(mean(x^2) + eps) * alpha, alpha null for 1 */
static void wide_norm(const kt_real *x, const float *alpha, size_t n, float eps,
                      kt_real *y)
{
    kt_real squares = 0;

    for (size_t i = 0; i < n; i++)
        squares += x[i] * x[i];
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] / sqrtl(squares / (kt_real)n + (kt_real)eps) *
               (alpha ? (kt_real)alpha[i] : 1);
}

static void run_norm_twice(struct kt *t, const struct kt_row *row)
{
    const float eps = 1e-5f;

    (void)row;
    for (size_t k = 0; k < NCASES(norm_cases); k++) {
        const struct norm_case *c = &norm_cases[k];
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
        const kt_real slack = (2 * depth(n, c->threads) + 24) * V;
        int32_t columns = (int32_t)n, padded = (int32_t)c->padded;
        uint8_t *got = kt_alloc(t, nq);
        float *got_sum = kt_alloc(t, nbytes);

        name_norm(t, c);
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
            wide_norm(of, weights ? inner : NULL, n, eps, of);
            for (size_t i = 0; i < n; i++) {
                scale[r * n + i] =
                    fabsl(of[i]) + fabsl((kt_real)residual[r * n + i]);
                of[i] += residual[r * n + i];
            }
            wide_norm(of, weights ? alpha : NULL, n, eps, want + r * n);
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
        /* a sum that cancels keeps the error of what it was made of */
        check_blocks(t, got, want, c->rows, n, c->padded, 4 * slack);
    }
}

/* ---- silu_mul, gelu_mul ---- */

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

static void run_gated(struct kt *t, const struct kt_row *row)
{
    static const struct {
        size_t n;
        unsigned grid, block;
        size_t lead;
        enum kt_data data;
        bool in_place;
    } cases[] = {{1, 1, 32, 0, KT_SMALL, false},
                 {1000, 1, 1024, 1, KT_SMALL, false},
                 {4096, 4, 1024, 0, KT_SMALL, true},
                 {4099, 1, 256, 0, KT_HOSTILE, false},
                 {20000, 3, 256, 1, KT_HOSTILE, true},
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
            const kt_real x = kt_get(type, g, i);
            kt_real y = kt_get(type, u, i);

            /* 0 times inf, or next to it */
            if (isinf(y) && (x < -8 || fabsl(x) < 0x1p-120L))
                kt_put(type, u, i, y = 1);
            const kt_real f = gelu ? gate_gelu(x) : gate_silu(x);

            want[i] = f * y;
            /* e^x has a relative error that grows with x */
            scale[i] = isfinite(want[i]) && isfinite(x)
                           ? fabsl(want[i]) * (8 + fminl(fabsl(x * x), 200)) +
                                 fabsl(y) * (1 + fabsl(x)) * 0x1p-102L
                           : 0;
        }
        void *dg = kt_device(t, g, nbytes, cases[c].lead * size);
        const void *du = kt_device(t, u, nbytes, cases[c].lead * size);
        void *dst = cases[c].in_place
                        ? dg
                        : kt_device(t, NULL, nbytes, cases[c].lead * size);
        void *got = kt_alloc(t, nbytes);

        t->what = cases[c].data == KT_HOSTILE ? "hostile" : "small";
        if (!KT_LAUNCH(t, cases[c].grid, cases[c].block, 0, n, dg, du, dst))
            return;
        kt_read(t, got, dst, nbytes);
        kt_check(t, type, got, want, n, (struct kt_gate){1, V, scale, false});
    }
}

/* ---- quantize_q8_1_quants_f16, silu_mul_quantize, gelu_mul_quantize ---- */

enum made { PLAIN, SILU, GELU };

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

static void run_made(struct kt *t, const struct kt_row *row)
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
            check_blocks(t, got, want, rows, c->n, c->padded, 32 * V);
            continue;
        }
        for (size_t b = 1; b < rows * c->padded / 32; b += 2) {
            const size_t r = b / (c->padded / 32), first = b % (c->padded / 32);
            const size_t count = 32 * first >= c->n ? 0 : 32;

            check_block(t, got + 36 * b, want + r * c->n + 32 * first, count,
                        32 * V, true);
        }
    }
}

/* ---- softmax_masked ---- */

enum mask { NO_MASK, CAUSAL, ADDED, ALL_HIDDEN, WITH_NAN, WITH_INF };

static const struct softmax_case {
    size_t rows, n;
    unsigned threads;
    size_t rows_per_mask;
    enum mask mask;
    float scale;
    size_t lead;
    bool in_place;
} softmax_cases[] = {
    {4, 1, 32, 2, CAUSAL, 1, 0, false},
    {3, 33, 32, 3, NO_MASK, 0.125f, 1, false},
    {8, 64, 32, 4, CAUSAL, 0.125f, 0, true},
    {6, 128, 64, 3, ADDED, 2, 0, false},
    {4, 1000, 32, 2, CAUSAL, 0.5f, 0, true},
    {4, 1001, 64, 4, ADDED, 0.5f, 0, true},
    {2, 4096, 256, 1, ADDED, 0.0883883f, 0, false},
    {2, 9000, 128, 2, CAUSAL, 1, 0, true},
    {1, 40000, 1024, 1, ADDED, 1, 0, false},
    {3, 96, 96, 1, ADDED, -1, 0, false},
    {2, 200, 32, 1, ALL_HIDDEN, 1, 0, false},
    {2, 9000, 32, 1, ALL_HIDDEN, 1, 1, false},
    {3, 300, 32, 3, WITH_NAN, 1, 0, false},
    {3, 9000, 32, 3, WITH_INF, 1, 0, false},
};

static void mask_row(const struct softmax_case *c, enum kt_type type,
                     void *mask, size_t r)
{
    for (size_t i = 0; i < c->n; i++) {
        const size_t at = r * c->n + i;

        if (c->mask == ALL_HIDDEN ||
            (c->mask == CAUSAL &&
             i > (r + 1) * c->n / c->rows_per_mask)) /* a few at the front */
            kt_put(type, mask, at, -INFINITY);
        else if (c->mask == CAUSAL)
            kt_put(type, mask, at, 0);
    }
    if (c->mask == WITH_NAN && r == 1)
        kt_put(type, mask, r * c->n + c->n / 2, NAN);
    if (c->mask == WITH_INF && r == 1)
        kt_put(type, mask, r * c->n + c->n / 2, INFINITY);
}

static void run_softmax(struct kt *t, const struct kt_row *row)
{
    const enum kt_type type = row->a;
    const size_t size = kt_size(type);

    for (size_t k = 0; k < NCASES(softmax_cases); k++) {
        const struct softmax_case *c = &softmax_cases[k];
        const size_t total = c->rows * c->n, nm = c->rows_per_mask * c->n;
        void *x = kt_host(t, type, total, KT_SMALL, k);
        void *m = kt_host(t, type, nm, KT_SMALL, k + 100);
        kt_real *want = kt_alloc(t, total * sizeof(*want));
        kt_real *scale = kt_alloc(t, total * sizeof(*scale));
        const kt_real p = depth(c->n, c->threads);
        int32_t n = (int32_t)c->n;
        uint32_t per = (uint32_t)c->rows_per_mask;
        char *text = kt_alloc(t, 96);

        snprintf(text, 96, "%zu x %zu, block %u, mask %d", c->rows, c->n,
                 c->threads, c->mask);
        t->what = text;
        for (size_t r = 0; r < c->rows_per_mask; r++)
            mask_row(c, type, m, r);
        for (size_t r = 0; r < c->rows; r++) {
            kt_real most = -INFINITY, sum = 0, *w = want + r * c->n;

            for (size_t i = 0; i < c->n; i++) {
                w[i] = kt_get(type, x, r * c->n + i) * c->scale;
                if (c->mask != NO_MASK)
                    w[i] += kt_get(type, m, r % c->rows_per_mask * c->n + i);
                most = fmaxl(most, w[i]);
            }
            for (size_t i = 0; i < c->n; i++)
                sum += most == -INFINITY ? 0 : expl(w[i] - most);
            for (size_t i = 0; i < c->n; i++) {
                const kt_real d = w[i] - most;

                scale[r * c->n + i] =
                    p + 12 + (isfinite(d) ? fabsl(d) + 2 * fabsl(most) : 0);
                w[i] = most == -INFINITY ? 0 : expl(d) / sum;
                scale[r * c->n + i] *= w[i];
            }
        }
        void *src = kt_device(t, x, total * size, c->lead * size);
        const void *mask = c->mask == NO_MASK
                               ? NULL
                               : kt_device(t, m, nm * size, c->lead * size);
        void *dst = c->in_place
                        ? src
                        : kt_device(t, NULL, total * size, c->lead * size);
        void *got = kt_alloc(t, total * size);

        if (!KT_LAUNCH(t, (unsigned)c->rows, c->threads, 0, src, mask, dst, n,
                       per, c->scale))
            return;
        kt_read(t, got, dst, total * size);
        /* 1 ulp: half for the last rounding, and subnormals of expf() */
        kt_check(t, type, got, want, total,
                 (struct kt_gate){1, V, scale, false});
    }
    for (size_t k = 0; k < NCASES(negative_widths); k++) {
        const size_t nbytes = (size_t)NEG_ROWS * NEG_COLS * size;
        const void *src = kt_device(
            t, kt_host(t, type, (size_t)NEG_ROWS * NEG_COLS, KT_SMALL, k),
            nbytes, 0);
        void *dst = kt_device(t, NULL, nbytes, 0);
        int32_t n = negative_widths[k];
        uint32_t per = 1;
        float factor = 1;

        t->what = "a negative width";
        if (!KT_LAUNCH(t, NEG_ROWS, 32, 0, src, src, dst, n, per, factor))
            return;
        check_untouched(t, dst, nbytes);
    }
}

/* ---- rope_pos ---- */

enum { NEOX = 1, FACTORS = 2, SAME = 4, LAUNCH_ONE = 8 };

static const struct rope_case {
    uint32_t tokens, heads, d, n_dims;
    float base, scale, ext, attn, low, high;
    unsigned how;
    size_t lead;
} rope_cases[] = {
    {1, 1, 2, 2, 10000, 1, 0, 1, 0, 0, 0, 0},
    {1, 32, 128, 128, 500000, 1, 0, 1, 0, 0, NEOX, 0},
    {3, 8, 128, 128, 500000, 1, 0, 1, 0, 0, NEOX | FACTORS | SAME, 0},
    {5, 3, 64, 64, 10000, 1, 0, 1, 0, 0, SAME, 0},
    {4, 2, 80, 32, 10000, 0.25f, 0, 1, 0, 0, NEOX, 0},
    {4, 2, 80, 32, 10000, 0.25f, 0, 0.5f, 0, 0, FACTORS, 1},
    {2, 3, 96, 96, 1e6f, 0.0625f, 1, 1, 10.5f, 30, NEOX, 0},
    {2, 3, 64, 64, 10000, 0.125f, 0.75f, 1.1f, 8, 8, FACTORS, 0},
    {2, 5, 7, 6, 10000, 1, 0, 1, 0, 0, NEOX, 0},
    {2, 5, 7, 6, 10000, 1, 0, 1, 0, 0, SAME, 0},
    {2, 2, 10, 6, 10000, 1, 0, 1, 0, 0, NEOX, 1},
    {2, 2, 6, 0, 10000, 1, 0, 1, 0, 0, NEOX, 0},
    {170, 9, 1400, 1400, 10000, 1, 0, 1, 0, 0, NEOX | LAUNCH_ONE, 0},
    {170, 9, 1400, 1400, 10000, 1, 0, 1, 0, 0, LAUNCH_ONE, 0},
};

static void run_rope(struct kt *t, const struct kt_row *row)
{
    const enum kt_type type = row->a;
    const size_t size = kt_size(type);

    for (size_t k = 0; k < NCASES(rope_cases); k++) {
        const struct rope_case *c = &rope_cases[k];
        const uint32_t half = c->n_dims / 2;
        const size_t total = (size_t)c->tokens * c->heads * c->d;
        const bool neox = c->how & NEOX;
        /* of large ones only a sample of tokens is compared */
        const uint32_t each = c->how & LAUNCH_ONE ? 53 : 1;
        void *x = kt_host(t, type, total, KT_SMALL, k);
        int32_t *positions = kt_alloc(t, c->tokens * sizeof(*positions));
        float *factors = kt_alloc(t, (half + 1) * sizeof(*factors));
        kt_real *want = kt_alloc(t, total * sizeof(*want));
        kt_real *scale = kt_alloc(t, total * sizeof(*scale));
        const kt_real length =
            c->ext != 0 ? c->attn * (1 - 0.1L * logl(c->scale)) : c->attn;
        const kt_real span = fmaxl(0.001L, (kt_real)c->high - c->low);
        uint32_t flags = neox ? 1 : 0;
        char *text = kt_alloc(t, 96);

        snprintf(text, 96, "%ux%ux%u, %u dims, how %u", c->tokens, c->heads,
                 c->d, c->n_dims, c->how);
        t->what = text;
        for (uint32_t i = 0; i < c->tokens; i++)
            positions[i] = i == 1   ? 1048575
                           : i == 2 ? 0
                                    : (int32_t)(131 * i + 7);
        for (uint32_t j = 0; j < half; j++)
            factors[j] = 1 + (float)j / 8;
        for (size_t r = 0; r < (size_t)c->tokens * c->heads; r++)
            for (uint32_t j = 0; j < c->d; j++)
                want[r * c->d + j] = kt_get(type, x, r * c->d + j);
        for (uint32_t token = 0; token < c->tokens; token += each)
            for (uint32_t j = 0; j < half; j++) {
                const kt_real whole =
                    positions[token] *
                    powl(c->base, -2 * (kt_real)j / c->n_dims) /
                    (c->how & FACTORS ? factors[j] : 1);
                const kt_real ramp =
                    1 - fminl(1, fmaxl(0, ((kt_real)j - c->low) / span));
                const kt_real mix = c->ext * ramp;
                const kt_real angle =
                    whole * c->scale * (1 - mix) + whole * mix;
                const kt_real co = cosl(angle) * length;
                const kt_real si = sinl(angle) * length;

                for (uint32_t h = 0; h < c->heads; h++) {
                    const size_t first = ((size_t)token * c->heads + h) * c->d;
                    const size_t p = first + (neox ? j : 2 * j);
                    const size_t q = neox ? p + half : p + 1;
                    const kt_real a = kt_get(type, x, p);
                    const kt_real e = kt_get(type, x, q);

                    want[p] = a * co - e * si;
                    want[q] = a * si + e * co;
                    scale[p] = scale[q] = (fabsl(a) + fabsl(e)) * fabsl(length);
                }
            }
        void *src = kt_device(t, x, total * size, c->lead * size);
        const void *dpos = kt_device(t, positions, c->tokens * 4, 0);
        const void *dfactors =
            c->how & FACTORS ? kt_device(t, factors, half * 4, 0) : NULL;
        void *dst = c->how & SAME
                        ? src
                        : kt_device(t, NULL, total * size, c->lead * size);
        uint8_t *got = kt_alloc(t, total * size);
        const size_t token_size = (size_t)c->heads * c->d;

        if (!KT_LAUNCH(t, 3, 256, 0, src, dpos, dfactors, dst, c->tokens,
                       c->heads, c->d, c->n_dims, c->base, c->scale, c->ext,
                       c->attn, c->low, c->high, flags))
            return;
        kt_read(t, got, dst, total * size);
        for (uint32_t token = 0; token < c->tokens; token += each)
            kt_check(t, type, got + token * token_size * size,
                     want + token * token_size, token_size,
                     (struct kt_gate){0.5L, 6 * V, scale + token * token_size,
                                      false});
    }
}

/* ---- rope_table ---- */

static void run_rope_table(struct kt *t, const struct kt_row *row)
{
    (void)row;
    for (size_t k = 0; k < NCASES(rope_cases); k++) {
        const struct rope_case *c = &rope_cases[k];
        const uint32_t half = c->n_dims / 2, dims = 2 * half;
        const size_t total = (size_t)c->tokens * dims;
        int32_t *positions = kt_alloc(t, c->tokens * sizeof(*positions));
        float *factors = kt_alloc(t, (half + 1) * sizeof(*factors));
        kt_real *want = kt_alloc(t, (total + 1) * sizeof(*want));
        const kt_real length =
            c->ext != 0 ? c->attn * (1 - 0.1L * logl(c->scale)) : c->attn;
        const kt_real span = fmaxl(0.001L, (kt_real)c->high - c->low);
        char *text = kt_alloc(t, 96);

        (void)snprintf(text, 96, "%u tokens, %u dims, how %u", c->tokens, dims,
                       c->how);
        t->what = text;
        for (uint32_t i = 0; i < c->tokens; i++)
            positions[i] = i == 1   ? 1048575
                           : i == 2 ? 0
                                    : (int32_t)(131 * i + 7);
        for (uint32_t j = 0; j < half; j++)
            factors[j] = 1 + (float)j / 8;
        for (uint32_t i = 0; i < c->tokens * half; i++) {
            const uint32_t token = i / half, j = i % half;
            const kt_real whole = positions[token] *
                                  powl(c->base, -2 * (kt_real)j / dims) /
                                  (c->how & FACTORS ? factors[j] : 1);
            const kt_real ramp =
                1 - fminl(1, fmaxl(0, ((kt_real)j - c->low) / span));
            const kt_real mix = c->ext * ramp;
            const kt_real angle = whole * c->scale * (1 - mix) + whole * mix;

            want[2 * (size_t)i] = cosl(angle) * length;
            want[2 * (size_t)i + 1] = sinl(angle) * length;
        }
        const void *dpos = kt_device(t, positions, c->tokens * 4, 0);
        const void *dfactors =
            c->how & FACTORS ? kt_device(t, factors, half * 4, 0) : NULL;
        void *dst = kt_device(t, NULL, total * 4, 0);
        float *got = kt_alloc(t, (total + 1) * 4);

        if (!KT_LAUNCH(t, 3, 128, 0, dpos, dfactors, dst, c->tokens, dims,
                       c->base, c->scale, c->ext, c->attn, c->low, c->high))
            return;
        kt_read(t, got, dst, total * 4);
        kt_check(t, KT_F32, got, want, total,
                 (struct kt_gate){0.5L, 4 * V * fabsl(length), NULL, false});
    }
}

/* ---- attention_heads ---- */

enum { BIASED = 2, NORMED_Q = 4, NORMED_K = 8, TURNED = 16, KEPT = 32 };

static const struct heads_case {
    uint32_t tokens, heads, kv_heads, d;
    unsigned how, grid, block;
} heads_cases[] = {
    {1, 1, 1, 2, NEOX | TURNED | KEPT, 1, 32},
    {1, 9, 3, 64, TURNED | KEPT, 4, 128},
    {3, 4, 2, 128, NEOX | TURNED | KEPT | BIASED, 3, 64},
    {5, 4, 1, 256, NEOX | TURNED | KEPT | NORMED_Q | NORMED_K, 2, 256},
    {2, 3, 3, 40, TURNED | KEPT | NORMED_K | BIASED, 7, 96},
    {4, 2, 2, 200, TURNED | BIASED | NORMED_Q | NORMED_K, 1, 32},
    {4, 3, 1, 72, NEOX | TURNED, 2, 128},
    {6, 2, 1, 8, NEOX | KEPT, 1, 64},
    {0, 2, 1, 8, NEOX | KEPT | TURNED, 1, 64},
};

/* What a head of d numbers becomes, and how large what it is made of. */
static void wide_head(const struct heads_case *c, const float *x,
                      const float *bias, const float *norm, const float *table,
                      float eps, kt_real *y, kt_real *scale)
{
    const uint32_t half = c->d / 2;
    kt_real most = 0;

    for (uint32_t i = 0; i < c->d; i++)
        y[i] = (kt_real)x[i] + (bias ? bias[i] : 0);
    if (norm)
        wide_norm(y, norm, c->d, eps, y);
    for (uint32_t i = 0; i < c->d; i++)
        most = fmaxl(most, fabsl(y[i]));
    for (uint32_t j = 0; table && j < half; j++) {
        const uint32_t p = c->how & NEOX ? j : 2 * j;
        const uint32_t q = c->how & NEOX ? j + half : 2 * j + 1;
        const kt_real a = y[p], b = y[q];
        const float *turn = table + 2 * (size_t)j;

        y[p] = a * turn[0] - b * turn[1];
        y[q] = a * turn[1] + b * turn[0];
    }
    for (uint32_t i = 0; i < c->d; i++)
        scale[i] = most * 4;
}

static void run_heads(struct kt *t, const struct kt_row *row)
{
    const float eps = 1e-6f;

    (void)row;
    for (size_t k = 0; k < NCASES(heads_cases); k++) {
        const struct heads_case *c = &heads_cases[k];
        const uint32_t all = c->heads + 2 * c->kv_heads, flags = c->how & NEOX;
        const size_t width = (size_t)all * c->d, total = c->tokens * width;
        const size_t kept = 2 * (size_t)c->kv_heads * c->d;
        const uint64_t rows = c->tokens + 2;
        const size_t nq = (size_t)c->tokens * c->heads * c->d;
        float *x = kt_host(t, KT_F32, total, KT_SMALL, k);
        float *bias = kt_host(t, KT_F32, width, KT_SMALL, k + 50);
        float *q_norm = kt_host(t, KT_F32, c->d, KT_SMALL, k + 60);
        float *k_norm = kt_host(t, KT_F32, c->d, KT_SMALL, k + 70);
        float *table =
            kt_host(t, KT_F32, (size_t)c->tokens * c->d, KT_SMALL, k + 80);
        int64_t *ids = kt_alloc(t, rows * sizeof(*ids));
        kt_real *want = kt_alloc(t, (total + 1) * sizeof(*want));
        kt_real *scale = kt_alloc(t, (total + 1) * sizeof(*scale));
        float *got = kt_alloc(t, (total + 1) * 4);
        uint16_t *got_q = kt_alloc(t, (nq + 1) * 2);
        uint16_t *got_cache = kt_alloc(t, rows * kept * 2);
        uint16_t *untouched = kt_alloc(t, rows * kept * 2);
        bool *written = kt_alloc(t, rows);
        char *text = kt_alloc(t, 96);

        (void)snprintf(text, 96, "%u x (%u + 2 x %u) x %u, how %u", c->tokens,
                       c->heads, c->kv_heads, c->d, c->how);
        t->what = text;
        memset(untouched, 0xa5, rows * kept * 2);
        /* the last first; of four or more one below, and one beyond the rows */
        for (uint32_t i = 0; i < c->tokens; i++)
            ids[i] = i == 2   ? -1
                     : i == 3 ? (int64_t)rows
                              : (int64_t)(rows - 1 - i);
        for (uint32_t i = 0; i < c->tokens; i++)
            for (uint32_t h = 0; h < all; h++) {
                const size_t at = i * width + (size_t)h * c->d;
                const bool of_q = h < c->heads,
                           of_v = h >= c->heads + c->kv_heads;
                const float *norm = of_q && (c->how & NORMED_Q) ? q_norm
                                    : !of_q && !of_v && (c->how & NORMED_K)
                                        ? k_norm
                                        : NULL;

                wide_head(
                    c, x + at, c->how & BIASED ? bias + (size_t)h * c->d : NULL,
                    norm,
                    c->how & TURNED && !of_v ? table + (size_t)i * c->d : NULL,
                    eps, want + at, scale + at);
            }
        void *qkv = kt_device(t, x, total * 4, 0);
        const void *dbias =
            c->how & BIASED ? kt_device(t, bias, width * 4, 0) : NULL;
        const void *dq =
            c->how & NORMED_Q ? kt_device(t, q_norm, c->d * 4, 0) : NULL;
        const void *dk =
            c->how & NORMED_K ? kt_device(t, k_norm, c->d * 4, 0) : NULL;
        const void *dtable =
            c->how & TURNED
                ? kt_device(t, table, (size_t)c->tokens * c->d * 4, 0)
                : NULL;
        const void *dids =
            c->how & KEPT ? kt_device(t, ids, c->tokens * 8, 0) : NULL;
        void *cache =
            c->how & KEPT ? kt_device(t, NULL, rows * kept * 2, 0) : NULL;
        void *q = kt_device(t, NULL, nq * 2, 0);
        const struct kt_gate numbers = {0.5L, (c->d + 16) * V, NULL, false};

        if (!KT_LAUNCH(t, c->grid, c->block, 0, qkv, dbias, dq, dk, dtable, q,
                       dids, cache, rows, c->tokens, c->heads, c->kv_heads,
                       c->d, eps, flags))
            return;
        kt_read(t, got_q, q, nq * 2);
        kt_read(t, got, qkv, total * 4);
        if (cache)
            kt_read(t, got_cache, cache, rows * kept * 2);
        for (uint32_t i = 0; i < c->tokens; i++) {
            const size_t at = i * width, nheads = (size_t)c->heads * c->d;
            struct kt_gate gate = numbers;

            gate.scale = scale + at;
            kt_check(t, KT_F16, got_q + i * nheads, want + at, nheads, gate);
            gate.scale += nheads;
            if (!cache) {
                kt_check(t, KT_F32, got + at + nheads, want + at + nheads, kept,
                         gate);
                continue;
            }
            kt_check_bytes(t, got + at, x + at, width * 4, "qkv");
            if (ids[i] < 0 || (uint64_t)ids[i] >= rows)
                continue;
            written[ids[i]] = true;
            kt_check(t, KT_F16, got_cache + (size_t)ids[i] * kept,
                     want + at + nheads, kept, gate);
        }
        for (size_t r = 0; cache && r < rows; r++)
            if (!written[r])
                kt_check_bytes(t, got_cache + r * kept, untouched, kept * 2,
                               "another row of the cache");
    }
}

/* ---- argmax_last, argmax_rows ---- */

enum best { ANY, TIES, FIRST, LAST, SOME_NAN, ALL_LOW, ZEROS };

enum { MOST_ROWS = 8 };

static void run_argmax(struct kt *t, const struct kt_row *row)
{
    static const struct {
        uint32_t rows, n;
        unsigned grid, block;
        enum best best;
        size_t lead;
    } cases[] = {
        {1, 1, 1, 32, ANY, 1},         {2, 31, 1, 32, TIES, 1},
        {3, 1000, 5, 64, ANY, 0},      {1, 4096, 3, 256, LAST, 0},
        {2, 4099, 16, 96, FIRST, 0},   {1, 5000, 2, 1024, SOME_NAN, 1},
        {1, 3000, 4, 128, ALL_LOW, 0}, {1, 3000, 4, 128, ZEROS, 0},
        {2, 40000, 7, 256, TIES, 0},   {1, 40000, 40, 256, ANY, 1},
        {8, 300, 3, 256, ANY, 0},      {8, 3001, 19, 64, SOME_NAN, 0},
    };
    const bool all = row->detail; /* rows are answered, or the last */
    const enum kt_type type = row->a;
    const size_t size = kt_size(type);

    for (size_t k = 0; k < NCASES(cases); k++) {
        const uint32_t rows = cases[k].rows, n = cases[k].n;
        const size_t total = (size_t)rows * n, last = total - n;
        void *x = kt_host(t, type, total, KT_SMALL, k);
        uint32_t want[MOST_ROWS] = {0}, got[MOST_ROWS] = {0};
        uint64_t zero[2 * MOST_ROWS] = {0}, left[2 * MOST_ROWS];

        for (uint32_t i = 0; i < n; i++) {
            if (cases[k].best == TIES)
                kt_put(type, x, last + i, (kt_real)(i * i % 11));
            else if (cases[k].best == ALL_LOW)
                kt_put(type, x, last + i, -INFINITY);
            else if (cases[k].best == ZEROS) /* -0 is as great as 0 */
                kt_put(type, x, last + i, i % 3 ? 0.0L : -0.0L);
            else if (cases[k].best == SOME_NAN && i % 1700 == 900)
                kt_put(type, x, last + i, i == 900 ? -(kt_real)NAN : NAN);
        }
        if (cases[k].best == FIRST || cases[k].best == LAST)
            kt_put(type, x, last + (cases[k].best == LAST ? n - 1 : 0), 100);
        if (rows > 1) /* another row has a greater one */
            kt_put(type, x, 0, 1000);
        for (size_t i = 0; i < total; i++) {
            uint32_t *best = &want[i / n];
            const kt_real b = kt_get(type, x, i - i % n + *best);
            const kt_real v = kt_get(type, x, i);

            if (!isnan(b) && (isnan(v) || v > b))
                *best = (uint32_t)(i % n);
        }
        const void *src = kt_device(t, x, total * size, cases[k].lead * size);
        void *work = kt_device(t, zero, sizeof(zero), 0);
        void *dst = kt_device(t, NULL, sizeof(got), 0);

        t->what = "argmax";
        for (int again = 0; again < 2; again++) {
            const uint32_t answers = all ? rows : 1;

            if (!KT_LAUNCH(t, cases[k].grid, cases[k].block, 0, src, dst, work,
                           rows, n))
                return;
            kt_read(t, got, dst, sizeof(got));
            kt_read(t, left, work, sizeof(left));
            for (uint32_t r = 0; r < answers; r++) {
                const uint32_t best = want[all ? r : rows - 1];

                t->checks++;
                if (got[r] != best || left[2 * r] || left[2 * r + 1])
                    kt_fail(t, "case %zu: want %u, got %u; work %llx, %llu", k,
                            best, got[r], (unsigned long long)left[2 * r],
                            (unsigned long long)left[2 * r + 1]);
            }
        }
    }
}

/* ---- sample ---- */

enum logits { SPREAD, NARROW, EQUAL, STEPS, SOME_LOW, ONE_INF, NOTHING };

static const struct sample_case {
    uint32_t n, k;
    float p, temperature;
    enum logits logits;
    unsigned draws;
} sample_cases[] = {
    {1, 0, 1, 1, SPREAD, 2},
    {2, 0, 1, 1, SPREAD, 8},
    {100, 0, 1, 1, SPREAD, 30},
    {100, 5, 1, 1, SPREAD, 20},
    {100, 0, 0.7f, 0.8f, SPREAD, 20},
    {1000, 40, 0.95f, 0.8f, SPREAD, 20},
    {1000, 40, 0.5f, 1.5f, STEPS, 10},
    {1000, 1000000, 1, 1, SPREAD, 4},
    {1000, 10, 0, 1, SPREAD, 4},
    {1000, 10, 0.5f, 0, STEPS, 2},
    {1000, 0, 1, -1, SPREAD, 2},
    {1000, 3, 1, 1e-30f, STEPS, 3},
    {1000, 0, 1, INFINITY, NARROW, 5},
    {5000, 0, 0.9f, 1, NARROW, 4},
    {5000, 3000, 0.5f, 1, EQUAL, 4},
    {5000, 0, 1, 1, EQUAL, 4},
    {5000, 4000, 0.9f, 1, STEPS, 4},
    {3000, 40, 0.95f, 1, SOME_LOW, 4},
    {3000, 0, 1, 1, ONE_INF, 3},
    {3000, 40, 1, 1, NOTHING, 2},
    {40000, 40, 0.95f, 0.7f, SPREAD, 2},
};

struct ranked {
    kt_real x;
    uint32_t i;
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked *p = a, *q = b;

    if (p->x != q->x)
        return p->x > q->x ? -1 : 1;
    return p->i < q->i ? -1 : 1;
}

static void make_logits(const struct sample_case *c, enum kt_type type, void *x,
                        uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const kt_real v = kt_get(type, x, i);

        switch (c->logits) {
        case SPREAD:
            kt_put(type, x, i, v * fabsl(v));
            break;
        case NARROW:
            kt_put(type, x, i, v / 8);
            break;
        case EQUAL:
            kt_put(type, x, i, -3);
            break;
        case STEPS:
            kt_put(type, x, i, (kt_real)(i * i % 5));
            break;
        case SOME_LOW:
            if (i % 3 == 0)
                kt_put(type, x, i, i % 2 ? -INFINITY : NAN);
            break;
        case ONE_INF:
            if (i == 1234)
                kt_put(type, x, i, INFINITY);
            break;
        case NOTHING:
            kt_put(type, x, i, i % 2 ? -INFINITY : NAN);
            break;
        }
    }
}

/* Whether `token` may be what the 64 random bits r draw; the weights of the
 * kernel are good to 2^-20. */
static bool may_be_drawn(const struct sample_case *c, const struct ranked *rank,
                         uint32_t n, uint32_t token, uint64_t r)
{
    const kt_real slack = 0x1p-20L;
    const bool greedy = !(c->temperature > 0);
    kt_real all = 0, sum = 0, u = ldexpl((kt_real)r, -64), before, end = 0;
    uint32_t kept = greedy ? 1 : c->k > 0 && c->k < n ? c->k : n;
    kt_real *w;
    bool found = false;

    if (n == 0)
        return token == UINT32_MAX;
    w = malloc(n * sizeof(*w));
    if (!w)
        abort();
    for (uint32_t i = 0; i < n; i++) {
        w[i] = rank[i].x == rank[0].x
                   ? 1
                   : expl((rank[i].x - rank[0].x) / c->temperature);
        if (w[i] < 0x1p-31L)
            w[i] = 0;
    }
    for (uint32_t i = 0; i < kept; i++)
        all += w[i];
    /* the part p of it, and how much more that may be */
    for (uint32_t i = 0; i < kept && c->p < 1 && !greedy; i++) {
        sum += w[i];
        end = sum;
        if (sum >= c->p * all)
            break;
    }
    if (end == 0)
        end = all;
    sum = 0;
    for (uint32_t i = 0; i < kept && !found; i++) {
        before = sum;
        sum += w[i];
        if (rank[i].i != token)
            continue;
        found = u * end >= before - slack * all &&
                u * end <= sum + slack * all && w[i] > 0;
        /* with p next to a step, one token more or less */
        if (!found)
            for (int more = -1; more <= 1; more += 2) {
                const kt_real other = end + more * w[i];

                found = found || (fabsl(end - c->p * all) < slack * all &&
                                  u * other >= before - slack * all &&
                                  u * other <= sum + slack * all);
            }
    }
    free(w);
    return found;
}

static void run_sample(struct kt *t, const struct kt_row *row)
{
    /* the tokens of the first device: each must draw the same */
    static uint32_t drawn[KT_NTYPES][NCASES(sample_cases)][32];
    static bool known[KT_NTYPES];
    const enum kt_type type = row->a;
    const size_t size = kt_size(type);

    for (size_t k = 0; k < NCASES(sample_cases); k++) {
        const struct sample_case *c = &sample_cases[k];
        void *x = kt_host(t, type, c->n, KT_SMALL, k);
        struct ranked *rank = kt_alloc(t, c->n * sizeof(*rank));
        uint32_t nranked = 0, n = c->n, top_k = c->k;
        char *text = kt_alloc(t, 96);

        snprintf(text, 96, "n %u, k %u, p %g, temperature %g, logits %d", n,
                 top_k, (double)c->p, (double)c->temperature, c->logits);
        t->what = text;
        make_logits(c, type, x, n);
        for (uint32_t i = 0; i < n; i++) {
            const kt_real v = kt_get(type, x, i);

            if (!isnan(v) && v != -INFINITY)
                rank[nranked++] = (struct ranked){v, i};
        }
        qsort(rank, nranked, sizeof(*rank), by_rank);

        const void *src = kt_device(t, x, n * size, k % 2 * size);
        void *token = kt_device(t, NULL, 4, 0);

        for (unsigned draw = 0; draw < c->draws; draw++) {
            const uint64_t seed = UINT64_C(0x9e3779b97f4a7c15) * (k + 1);
            const uint64_t offset = draw == 1 ? UINT64_C(0xfffffffff) : draw;
            const unsigned block = draw % 2 ? 1024 : 160;
            uint32_t words[4], got;

            if (!KT_LAUNCH(t, 1, block, 0, src, token, n, top_k, c->p,
                           c->temperature, seed, offset))
                return;
            kt_read(t, &got, token, 4);
            t->checks++;
            philox_ref(seed, offset, 0, words);
            if (!may_be_drawn(c, rank, nranked, got,
                              (uint64_t)words[0] << 32 | words[1]))
                kt_fail(t, "draw %u: token %u", draw, got);
            if (known[type] && got != drawn[type][k][draw])
                kt_fail(t, "draw %u: token %u, another device drew %u", draw,
                        got, drawn[type][k][draw]);
            drawn[type][k][draw] = got;
        }
    }
    known[type] = true;
}

/* ---- the table ---- */

static const enum norm_kind numbers = NUMBERS, sums = SUMS, quants = QUANTS;
static const bool silu = false, gelu = true;
static const enum made made_plain = PLAIN, made_silu = SILU, made_gelu = GELU;

#define ROWS(T, TYPE)                                                          \
    {"rmsnorm_add_" #T, run_norm, TYPE, TYPE, &numbers},                       \
        {"add_rmsnorm_quantize_q8_1_" #T, run_norm, TYPE, TYPE, &sums},        \
        {"add_rmsnorm_quantize_q8_1_quants_" #T, run_norm, TYPE, TYPE,         \
         &quants},                                                             \
        {"silu_mul_" #T, run_gated, TYPE, TYPE, &silu},                        \
        {"gelu_mul_" #T, run_gated, TYPE, TYPE, &gelu},                        \
        {"softmax_masked_" #T, run_softmax, TYPE, TYPE, NULL},                 \
        {"rope_pos_" #T, run_rope, TYPE, TYPE, NULL},                          \
        {"argmax_last_" #T, run_argmax, TYPE, TYPE, NULL},                     \
    {                                                                          \
        "sample_" #T, run_sample, TYPE, TYPE, NULL                             \
    }

static const struct kt_row rows[] = {
    ROWS(f32, KT_F32),
    ROWS(f16, KT_F16),
    ROWS(bf16, KT_BF16),
    {"rmsnorm_add_rmsnorm_quantize_q8_1_quants_f32", run_norm_twice, KT_F32,
     KT_F32, NULL},
    {"quantize_q8_1_quants_f16", run_made, KT_F16, KT_F16, &made_plain},
    {"silu_mul_quantize_q8_1_quants_f32", run_made, KT_F32, KT_F32, &made_silu},
    {"gelu_mul_quantize_q8_1_quants_f32", run_made, KT_F32, KT_F32, &made_gelu},
    {"rope_table_f32", run_rope_table, KT_F32, KT_F32, NULL},
    {"attention_heads_f32", run_heads, KT_F32, KT_F16, NULL},
    {"argmax_rows_f32", run_argmax, KT_F32, KT_F32, "rows"},
};

KT_MAIN(kpk_module_fused, rows)
