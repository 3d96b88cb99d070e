/* unary.c - out = f(in), every function and float type, and copies
 *
 * References are long double; where f64 must be correctly rounded they are the
 * CPU's own double. Gates come from the kernels' specification.
 */
#include "elementwise.h"

#include <math.h>
#include <string.h>

extern const kpk_module kpk_module_unary;

/* How far a result may be off. */
enum gate {
    EXACT,  /* the correctly rounded value */
    DIV,    /* correctly rounded; f16, bf16: 1 ulp */
    NEAR,   /* 4 ulp; f16, bf16: 1 */
    CIRCLE, /* 2 eps; f16, bf16: 1 ulp */
    FAR,    /* 8 ulp; f16, bf16: 1 */
    TAIL,   /* 8 ulp, and 64 of the least number; f16, bf16: 1 ulp */
    SMOOTH  /* 2 eps max(1, |x|) max(1, |param|); f16, bf16: 1.5 eps */
};

struct function {
    kt_real (*f)(kt_real x, kt_real param);
    double (*f64)(double x); /* f64's exact reference */
    enum gate gate;
    bool zero_sign; /* zeros have the reference's sign */
    bool has_param;
};

static kt_real f_neg(kt_real x, kt_real p)
{
    (void)p;
    return -x;
}
static kt_real f_abs(kt_real x, kt_real p)
{
    (void)p;
    return fabsl(x);
}
static kt_real f_recip(kt_real x, kt_real p)
{
    (void)p;
    return 1 / x;
}
static double d_recip(double x)
{
    return 1 / x;
}
static kt_real f_exp(kt_real x, kt_real p)
{
    (void)p;
    return expl(x);
}
static kt_real f_log(kt_real x, kt_real p)
{
    (void)p;
    return logl(x);
}
static kt_real f_sin(kt_real x, kt_real p)
{
    (void)p;
    return sinl(x);
}
static kt_real f_cos(kt_real x, kt_real p)
{
    (void)p;
    return cosl(x);
}
static kt_real f_tanh(kt_real x, kt_real p)
{
    (void)p;
    return tanhl(x);
}
static kt_real f_erf(kt_real x, kt_real p)
{
    (void)p;
    return erfl(x);
}
static kt_real f_sqrt(kt_real x, kt_real p)
{
    (void)p;
    return sqrtl(x);
}
static kt_real f_ceil(kt_real x, kt_real p)
{
    (void)p;
    return ceill(x);
}
static kt_real f_floor(kt_real x, kt_real p)
{
    (void)p;
    return floorl(x);
}
static kt_real f_round(kt_real x, kt_real p)
{
    (void)p;
    return roundl(x);
}
static kt_real f_normcdf(kt_real x, kt_real p)
{
    (void)p;
    return erfcl(-x / sqrtl(2)) / 2;
}
static kt_real f_sqr(kt_real x, kt_real p)
{
    (void)p;
    return x * x;
}
static double d_sqr(double x)
{
    return x * x;
}
static kt_real f_relu(kt_real x, kt_real p)
{
    (void)p;
    return isnan(x) ? x : fmaxl(x, 0);
}
static kt_real f_sign(kt_real x, kt_real p)
{
    (void)p;
    return (x > 0) - (x < 0);
}
static kt_real f_silu(kt_real x, kt_real p)
{
    (void)p;
    return isinf(x) && x < 0 ? -0.0L : x / (1 + expl(-x));
}
static kt_real f_sigmoid(kt_real x, kt_real p)
{
    (void)p;
    return 1 / (1 + expl(-x));
}
static kt_real f_gelu(kt_real x, kt_real p)
{
    const kt_real u =
        0.79788456080286535587989211986876L * (x + 0.044715L * x * x * x);

    (void)p;
    return isinf(x) && x < 0 ? -0.0L : x / (1 + expl(-2 * u));
}
static kt_real f_gelu_erf(kt_real x, kt_real p)
{
    return isinf(x) && x < 0 ? -0.0L : x * f_normcdf(x, p);
}
static kt_real f_elu(kt_real x, kt_real p)
{
    return x > 0 ? x : p * expm1l(x);
}
static kt_real f_pow(kt_real x, kt_real p)
{
    return powl(x, p);
}

/* clang-format off */
static const struct function
    neg      = {f_neg,      NULL,    EXACT,  true,  false},
    absolute = {f_abs,      NULL,    EXACT,  true,  false},
    recip    = {f_recip,    d_recip, DIV,    true,  false},
    exponent = {f_exp,      NULL,    NEAR,   false, false},
    logarithm = {f_log,     NULL,    NEAR,   false, false},
    sine     = {f_sin,      NULL,    CIRCLE, true,  false},
    cosine   = {f_cos,      NULL,    CIRCLE, false, false},
    tanhyp   = {f_tanh,     NULL,    NEAR,   true,  false},
    error    = {f_erf,      NULL,    FAR,    true,  false},
    root     = {f_sqrt,     sqrt,    DIV,    true,  false},
    ceiling  = {f_ceil,     NULL,    EXACT,  true,  false},
    flooring = {f_floor,    NULL,    EXACT,  true,  false},
    rounding = {f_round,    NULL,    EXACT,  true,  false},
    normcdf  = {f_normcdf,  NULL,    TAIL,   false, false},
    square   = {f_sqr,      d_sqr,   EXACT,  false, false},
    relu     = {f_relu,     NULL,    EXACT,  false, false},
    sign     = {f_sign,     NULL,    EXACT,  false, false},
    silu     = {f_silu,     NULL,    TAIL,   true,  false},
    sigmoid  = {f_sigmoid,  NULL,    TAIL,   false, false},
    gelu     = {f_gelu,     NULL,    TAIL,   true,  false},
    gelu_erf = {f_gelu_erf, NULL,    TAIL,   true,  false},
    elu      = {f_elu,      NULL,    SMOOTH, false, true},
    power    = {f_pow,      NULL,    FAR,    false, true};

/* arguments from which results of TAIL are 0, in f32 and in f64 */
static const struct tail {
    const struct function *function;
    kt_real end[2];
} tails[] = {
    {&normcdf, {-14.5L, -39}},    {&silu, {-110, -760}},
    {&sigmoid, {-105, -750}},     {&gelu, {-11.5L, -22.5L}},
    {&gelu_erf, {-14.5L, -39}},
};
/* clang-format on */

struct with {
    const struct function *function;
    kt_real param;
};

/* The allowance for an element: the whole gate, except for f8. */
static kt_real allowance(enum kt_type type, const struct with *with, kt_real x,
                         kt_real want)
{
    const bool half = type == KT_F16 || type == KT_BF16;
    const kt_real ulp = kt_ulp(type, want), eps = kt_eps(type);
    const kt_real tiny = type == KT_F32 ? 0x1p-126L : 0; /* subnormal results */

    switch (with->function->gate) {
    case EXACT:
        return 0;
    case DIV:
        return half ? ulp : 0;
    case NEAR:
        return half ? ulp : 4 * ulp + tiny;
    case CIRCLE:
        return half ? ulp : 2 * eps;
    case FAR:
        return half ? ulp : 8 * ulp + tiny;
    case TAIL:
        return half ? ulp : 8 * ulp + 64 * kt_ulp(type, 0);
    case SMOOTH:
        return (half ? 1.5L : 2) * eps * fmaxl(1, fabsl(x)) *
               fmaxl(1, fabsl(with->param));
    }
    return 0;
}

static void want_function(const struct ew *e, const void *const element[],
                          struct ew_want *want)
{
    const struct with *with = e->with;
    const struct function *function = with->function;
    const kt_real x = kt_get(e->in[0], element[0], 0);

    if (function->f64 && e->out == KT_F64)
        want->value = function->f64((double)x);
    else
        want->value = function->f(x, with->param);
    if (e->out == KT_F8) { /* saturates; half an ulp and a little is rounding */
        if (fabsl(want->value) > kt_max(KT_F8))
            want->value = copysignl(kt_max(KT_F8), want->value);
    } else {
        want->scale = allowance(e->out, with, x, want->value);
        if (!isfinite(want->scale))
            want->scale = 0;
    }
}

/* Numbers that rounding, reduction and branches turn on. */
static void plant(const struct ew *e, size_t k, void *data, size_t n)
{
    static const kt_real numbers[] = {0.5L,
                                      -0.5L,
                                      1.5L,
                                      -1.5L,
                                      2.5L,
                                      -2.5L,
                                      0x1.fffffep-2L,
                                      1e5L,
                                      1e30L,
                                      -1e5L,
                                      1e-5L,
                                      -1e-5L,
                                      3.14159265358979L,
                                      1.5707963267948966L,
                                      -2,
                                      -6,
                                      -9,
                                      -13.5L,
                                      20,
                                      -20,
                                      0x1p-130L,
                                      0x1.8p-126L,
                                      709.7L,
                                      -745,
                                      88.72L,
                                      -103.9L};

    const struct with *with = e->with;
    const enum kt_type type = e->in[0];

    (void)k;
    if (n < 1000)
        return;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        kt_put(type, data, 2 * i, numbers[i]);
    for (size_t f = 0; f < sizeof(tails) / sizeof(tails[0]); f++)
        if (tails[f].function == with->function && kt_size(type) >= 4 &&
            n > 4000)
            for (size_t i = 1; i < n; i += 2) /* spread over the tail */
                kt_put(type, data, i,
                       tails[f].end[type == KT_F64] * (kt_real)i / (kt_real)n);
}

static void run(struct kt *t, const struct kt_row *row)
{
    static const kt_real params[] = {1, 0.5L, 2, -1, 0, 2.7L, 3};
    struct with with = {row->detail, 1};
    uint64_t code;
    struct ew e = {
        .out = row->a,
        .nin = 1,
        .in = {row->a},
        .want = want_function,
        .with = &with,
        .gate = {.zero_sign = with.function->zero_sign},
        .in_place = true,
        .all_codes = kt_size(row->a) <= 2,
        .tame = plant,
    };

    if (row->a == KT_F8)
        e.gate.ulps = with.function->gate == EXACT ? 0 : 0.5001L;
    else
        e.gate.abs = with.function->gate == EXACT ? 0 : 1;
    if (!with.function->has_param) {
        ew_run(t, &e);
        return;
    }
    e.before[0] = (kpk_arg){&code, kt_size(row->a)};
    e.nbefore = 1;
    for (size_t k = 0; k < sizeof(params) / sizeof(params[0]); k++) {
        code = kt_encode(row->a, params[k]);
        with.param = kt_get(row->a, &code, 0);
        if (k == 0)
            ew_run(t, &e);
        else
            ew_run_values(t, &e);
    }
}

static void want_copy(const struct ew *e, const void *const element[],
                      struct ew_want *want)
{
    want->bits = kt_get_bits(e->in[0], element[0], 0);
}

static void run_copy(struct kt *t, const struct kt_row *row)
{
    struct ew e = {
        .out = row->a,
        .nin = 1,
        .in = {row->a},
        .bits = true,
        .want = want_copy,
        .moves = true,
        .large_grid = true,
        .huge = row->a == KT_U8,
        .in_place = true,
        .all_codes = kt_size(row->a) <= 2,
    };

    /* as integers, so that NaN's bits count too */
    if (kt_is_float(row->a))
        e.out = e.in[0] = row->b;
    ew_run(t, &e);
}

static void run_transpose(struct kt *t, const struct kt_row *row)
{
    /* a grid of 0: candle's */
    static const struct {
        const char *name;
        size_t rows, cols, batch, lead;
        unsigned grid[2], block[2];
    } cases[] = {
        {"one", 1, 1, 1, 1, {0}, {32, 8}},
        {"a row", 1, 77, 2, 0, {0}, {32, 8}},
        {"a column", 130, 1, 3, 1, {0}, {32, 8}},
        {"tiles", 128, 256, 2, 0, {0}, {32, 8}},
        {"tiles that are not aligned", 128, 128, 2, 1, {0}, {32, 8}},
        {"edges", 144, 208, 3, 0, {0}, {32, 8}},
        {"odd", 131, 67, 2, 1, {0}, {32, 8}},
        {"few blocks", 192, 320, 2, 0, {2, 1}, {32, 8}},
        {"a thread", 33, 35, 2, 0, {1, 2}, {1, 1}},
        {"another block", 144, 96, 1, 0, {1, 3}, {100, 3}},
    };
    const size_t size = kt_size(row->a);

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        if (!kt_turn(t))
            continue;

        size_t rows = cases[c].rows, cols = cases[c].cols;
        const size_t batch = cases[c].batch;
        const size_t nbytes = batch * rows * cols * size;
        const size_t lead = cases[c].lead * size;
        const char *x = kt_host(t, row->a, batch * rows * cols, KT_HOSTILE, c);
        char *want = kt_alloc(t, nbytes), *got = kt_alloc(t, nbytes);
        const void *src = kt_device(t, x, nbytes, lead);
        void *dst = kt_device(t, NULL, nbytes, lead);
        const bool few = cases[c].grid[0] > 0;
        const unsigned grid[] = {
            few ? cases[c].grid[0] : (unsigned)(cols + 31) / 32,
            few ? cases[c].grid[1] : (unsigned)(rows + 31) / 32,
            (unsigned)batch};
        const unsigned block[] = {cases[c].block[0], cases[c].block[1], 1};

        for (size_t i = 0; i < batch * rows * cols; i++) {
            const size_t in = i % (rows * cols);
            const size_t to = i - in + in % cols * rows + in / cols;

            memcpy(want + to * size, x + i * size, size);
        }
        t->what = cases[c].name;
        if (!kt_launch(t, grid, block, 0, KPK_ARGS(rows, cols, src, dst)))
            return;
        kt_read(t, got, dst, nbytes);
        kt_check_bytes(t, got, want, nbytes, "dst");
    }
}

/* clang-format off */
#define ROW(name, suffix, type, function) {name suffix, run, type, type, &(function)},
#define ROWS(name, function)                   \
    ROW(name, "_f16", KT_F16, function)        \
    ROW(name, "_bf16", KT_BF16, function)      \
    ROW(name, "_f32", KT_F32, function)        \
    ROW(name, "_f64", KT_F64, function)        \
    ROW(name, "_fp8_e4m3", KT_F8, function)    \
    ROW(name, "_f8e4m3", KT_F8, function)
#define COPY(suffix, type, integer) \
    {"ucopy_" suffix, run_copy, type, integer, NULL}, \
    {"transpose2d_" suffix, run_transpose, type, type, NULL},

static const struct kt_row rows[] = {
    ROWS("uneg", neg)           ROWS("uabs", absolute)      ROWS("urecip", recip)
    ROWS("uexp", exponent)      ROWS("ulog", logarithm)     ROWS("usin", sine)
    ROWS("ucos", cosine)        ROWS("utanh", tanhyp)       ROWS("uerf", error)
    ROWS("usqrt", root)         ROWS("uceil", ceiling)      ROWS("ufloor", flooring)
    ROWS("uround", rounding)    ROWS("unormcdf", normcdf)   ROWS("usqr", square)
    ROWS("urelu", relu)         ROWS("usign", sign)         ROWS("usilu", silu)
    ROWS("usigmoid", sigmoid)   ROWS("ugelu", gelu)         ROWS("ugelu_erf", gelu_erf)
    ROWS("uelu", elu)           ROWS("upowf", power)
    COPY("u8", KT_U8, KT_U8)    COPY("u32", KT_U32, KT_U32) COPY("i64", KT_I64, KT_I64)
    COPY("f16", KT_F16, KT_I16) COPY("bf16", KT_BF16, KT_I16)
    COPY("f32", KT_F32, KT_U32) COPY("f64", KT_F64, KT_I64)
    COPY("f8_e4m3", KT_F8, KT_U8) COPY("f8e4m3", KT_F8, KT_U8)
    COPY("i16", KT_I16, KT_I16) COPY("i32", KT_I32, KT_I32)
};
/* clang-format on */

KT_MAIN(kpk_module_unary, rows)
