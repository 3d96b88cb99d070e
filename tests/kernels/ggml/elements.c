/* elements.c - functions of one element, of two, and gates */
#include "ggml_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Shapes of a result, of an operand repeated to fill it, and launches. */
static const struct shape {
    uint32_t ne[4], repeated[4];
    enum lie a, b, out;
    unsigned grid, block;
} shapes[] = {
    {{1, 1, 1, 1}, {1, 1, 1, 1}, DENSE, DENSE, DENSE, 1, 32},
    {{1000, 1, 1, 1}, {1000, 1, 1, 1}, DENSE, DENSE, DENSE, 1, 256},
    {{10, 5, 4, 3}, {10, 5, 4, 3}, GAPS, REVERSED, DENSE, 3, 64},
    {{10, 5, 4, 3}, {1, 5, 1, 3}, REVERSED, DENSE, GAPS, 2, 256},
    {{33, 6, 4, 2}, {11, 3, 2, 1}, DENSE, GAPS, REVERSED, 5, 1024},
    {{64, 7, 1, 1}, {64, 1, 1, 1}, DENSE, DENSE, DENSE, 1, 96},
    {{4, 3, 0, 2}, {1, 1, 1, 1}, DENSE, DENSE, DENSE, 1, 32},
};

/* ---- two operands ---- */

static kt_real both(char op, kt_real x, kt_real y)
{
    return op == 'a' ? x + y : op == 's' ? x - y : op == 'm' ? x * y : x / y;
}

/* The name's first letter behind ggml_ tells the operation. */
void ggml_run_binary(struct kt *t, const struct kt_row *row)
{
    const char op = row->symbol[strlen("ggml_")];

    for (size_t k = 0; k < 2 * NCASES(shapes); k++) {
        const struct shape *s = &shapes[k / 2];
        const enum kt_data data = k % 2 ? KT_HOSTILE : KT_SMALL;
        struct gt a = gt_make(t, row->a, s->ne, s->a, data, k);
        struct gt b = gt_make(t, row->b, s->repeated, s->b, data, k + 50);
        kt_real *want = kt_alloc(t, (a.n + 1) * sizeof(*want));

        for (size_t i = 0; i < a.n; i++)
            want[i] =
                both(op, gt_get(&a, i), gt_get(&b, gt_repeated(&b, &a, i)));
        gt_place(t, &a);
        gt_place(t, &b);

        const struct gt out = gt_result(t, row->a, s->ne, s->out);

        t->what = k % 2 ? "hostile" : "small";
        if (!KT_LAUNCH(t, s->grid, s->block, 0, a.t, b.t, out.t))
            return;
        gt_check(t, &out, want, NULL, (struct kt_gate){1, 0, NULL, false});
    }
}

/* ---- functions ---- */

/* alpha_n, alpha_p, beta and eps of xielu; slopes, limits and so on */
static const float parameters[4] = {0.75f, 1.25f, 0.5f, -0.125f};

static kt_real sigmoid(kt_real x)
{
    return 1 / (1 + expl(-x));
}
static kt_real hardened(kt_real x)
{
    return x <= -3 ? 0 : x >= 3 ? 1 : (x + 3) / 6;
}
/* x times a weight that goes to 0 at -infinity */
static kt_real weighted(kt_real x, kt_real weight)
{
    return x == -INFINITY ? -0.0L : x * weight;
}
static kt_real swish(kt_real x, kt_real factor)
{
    return weighted(x, sigmoid(factor * x));
}
static kt_real gelu_erf(kt_real x)
{
    return weighted(x, erfcl(-x * sqrtl(0.5L)) / 2);
}
static kt_real gelu(kt_real x)
{
    return swish(x, 2 * 0.7978845608028653558798921L * (1 + 0.044715L * x * x));
}
static kt_real xielu(kt_real x)
{
    const float *p = parameters;

    return (x > 0 ? p[1] * x * x : (expm1l(fminl(x, p[3])) - x) * p[0]) +
           p[2] * x;
}
static kt_real limited(kt_real x, kt_real low, kt_real high)
{
    return x < low ? low : x > high ? high : x;
}

/*
 * Each function's value, its error in units of V times the value's size, and
 * what may be added to that size; `far` if it is tested on numbers of every
 * magnitude.
 */
#define FUNCTIONS(X)                                                           \
    X(abs, 0, 0, true, fabsl(x))                                               \
    X(sgn, 0, 0, true, (kt_real)((x > 0) - (x < 0)))                           \
    X(neg, 0, 0, true, -x)                                                     \
    X(step, 0, 0, true, x > 0 ? 1 : 0)                                         \
    X(tanh, 8, 0, true, tanhl(x))                                              \
    X(elu, 8, 0, true, x > 0 ? x : expm1l(x))                                  \
    X(relu, 0, 0, true, x <= 0 ? 0 : x)                                        \
    X(sigmoid, 14, 0, true, sigmoid(x))                                        \
    X(gelu, 14, 0, true, gelu(x))                                              \
    X(gelu_quick, 24, 0, false, swish(x, 1.702f))                              \
    X(silu, 14, 0, true, swish(x, 1))                                          \
    X(hardswish, 4, 1, false, weighted(x, hardened(x)))                        \
    X(hardsigmoid, 2, 0.5L, true, isnan(x) ? x : hardened(x))                  \
    X(exp, 6, 0, true, expl(x))                                                \
    X(expm1, 6, 0, true, expm1l(x))                                            \
    X(softplus, 8, 0, true,                                                    \
      isnan(x) ? x : fmaxl(x, 0) + log1pl(expl(-fabsl(x))))                    \
    X(gelu_erf, 40, 0, true, gelu_erf(x))                                      \
    X(xielu, 8, 4, false, xielu(x))                                            \
    X(floor, 0, 0, true, floorl(x))                                            \
    X(ceil, 0, 0, true, ceill(x))                                              \
    X(round, 0, 0, true, roundl(x))                                            \
    X(trunc, 0, 0, true, truncl(x))                                            \
    X(sqr, 0, 0, true, x *x)                                                   \
    X(sqrt, 0, 0, true, sqrtl(x))                                              \
    X(log, 4, 0, true, logl(x))                                                \
    X(sin, 4, 0, false, sinl(x))                                               \
    X(cos, 4, 0, false, cosl(x))                                               \
    X(leaky_relu, 0, 0, true, x > 0 ? x : parameters[0] * x)                   \
    X(clamp, 0, 0, true, limited(x, parameters[0], parameters[1]))             \
    X(scale, 2, 2, false, parameters[0] * x + parameters[1])                   \
    X(fill, 0, 0, true, parameters[0])

#define REFERENCE(name, error, more, far, ...)                                 \
    static kt_real of_##name(kt_real x)                                        \
    {                                                                          \
        (void)x; /* fill */                                                    \
        return __VA_ARGS__;                                                    \
    }
FUNCTIONS(REFERENCE)

static const struct function {
    const char *name;
    kt_real error, more;
    bool far;
    kt_real (*value)(kt_real x);
} functions[] = {
#define ROW(name, error, more, far, ...) {#name, error, more, far, of_##name},
    FUNCTIONS(ROW)};

void ggml_run_unary(struct kt *t, const struct kt_row *row)
{
    const size_t length = (size_t)(strrchr(row->symbol, '_') - row->symbol) - 5;
    const float *p = parameters;
    size_t which = 0;

    while (which < NCASES(functions) &&
           (strlen(functions[which].name) != length ||
            strncmp(functions[which].name, row->symbol + 5, length) != 0))
        which++;
    if (which == NCASES(functions)) {
        kt_fail(t, "has no reference");
        return;
    }

    const struct function *f = &functions[which];

    for (size_t k = 0; k < 2 * NCASES(shapes); k++) {
        const struct shape *s = &shapes[k / 2];
        const bool hostile = k % 2 && f->far;
        struct gt a =
            gt_make(t, row->a, s->ne, s->a, hostile ? KT_HOSTILE : KT_SMALL, k);
        kt_real *want = kt_alloc(t, (a.n + 1) * sizeof(*want));
        kt_real *scale = kt_alloc(t, (a.n + 1) * sizeof(*scale));

        for (size_t i = 0; i < a.n; i++) {
            want[i] = f->value(gt_get(&a, i));
            scale[i] = isfinite(want[i])
                           ? f->error * (fabsl(want[i]) + f->more) + 0x1p-110L
                           : 0;
        }
        gt_place(t, &a);

        const struct gt out = gt_result(t, row->a, s->ne, s->out);

        t->what = hostile ? "hostile" : "small";
        if (!KT_LAUNCH(t, s->grid, s->block, 0, a.t, out.t, p[0], p[1], p[2],
                       p[3]))
            return;
        gt_check(t, &out, want, NULL, (struct kt_gate){1, V, scale, false});
    }
}

/* ---- gates ---- */

static kt_real gated(const char *name, kt_real x, kt_real y)
{
    if (strncmp(name, "reglu", 5) == 0)
        return fmaxl(x, 0) * y;
    if (strncmp(name, "geglu_erf", 9) == 0)
        return gelu_erf(x) * y;
    if (strncmp(name, "geglu_quick", 11) == 0)
        return swish(x, 1.702f) * y;
    if (strncmp(name, "geglu", 5) == 0)
        return gelu(x) * y;
    if (strncmp(name, "swiglu_oai", 10) == 0)
        return swish(fminl(x, parameters[1]), parameters[0]) *
               (limited(y, -parameters[1], parameters[1]) + 1);
    if (strncmp(name, "swiglu_clamp", 12) == 0) {
        x = fminl(x, parameters[1]);
        y = limited(y, -parameters[1], parameters[1]);
    }
    return swish(x, 1) * y;
}

/*
 * From 40 on each function of the gate is the gate itself, and products of
 * these whole numbers lie halfway between two numbers of bf16 now and then: the
 * results must be the even ones.
 */
static void check_halfway(struct kt *t, const struct kt_row *row)
{
    const uint32_t ne[4] = {3000, 1, 1, 1};
    const float alpha = 1.25f, limit = 1000;
    const uint32_t one = strstr(row->symbol, "_oai") != NULL;
    struct gt a = gt_make(t, row->a, ne, DENSE, KT_ZERO, 0);
    struct gt b = gt_make(t, row->a, ne, DENSE, KT_ZERO, 0);
    kt_real *want = kt_alloc(t, a.n * sizeof(*want));

    for (size_t i = 0; i < a.n; i++) {
        const kt_real x = 40 + (kt_real)(i % 88), y = 65 + (kt_real)(i % 61);

        kt_put(row->a, a.host, i, x);
        kt_put(row->a, b.host, i, y - one);
        want[i] = x * y;
    }
    gt_place(t, &a);
    gt_place(t, &b);

    const struct gt out = gt_result(t, row->a, ne, DENSE);

    t->what = "products halfway between two numbers";
    if (KT_LAUNCH(t, 2, 256, 0, a.t, b.t, out.t, alpha, limit))
        gt_check(t, &out, want, NULL, KT_EXACT);
}

void ggml_run_gate(struct kt *t, const struct kt_row *row)
{
    const float alpha = parameters[0], limit = parameters[1];

    check_halfway(t, row);

    for (size_t k = 0; k < NCASES(shapes); k++) {
        const struct shape *s = &shapes[k];
        struct gt a = gt_make(t, row->a, s->ne, s->a, KT_SMALL, k);
        struct gt b = gt_make(t, row->a, s->ne, s->b, KT_SMALL, k + 50);
        kt_real *want = kt_alloc(t, (a.n + 1) * sizeof(*want));
        kt_real *scale = kt_alloc(t, (a.n + 1) * sizeof(*scale));

        for (size_t i = 0; i < a.n; i++) {
            const kt_real x = gt_get(&a, i), y = gt_get(&b, i);

            want[i] = gated(row->symbol + 5, x, y);
            scale[i] = 40 * fabsl(want[i]) + 4 * fabsl(gated("swiglu", x, 1));
        }
        gt_place(t, &a);
        gt_place(t, &b);

        const struct gt out = gt_result(t, row->a, s->ne, s->out);

        t->what = "small";
        if (!KT_LAUNCH(t, s->grid, s->block, 0, a.t, b.t, out.t, alpha, limit))
            return;
        gt_check(t, &out, want, NULL, (struct kt_gate){1, V, scale, false});
    }
}
