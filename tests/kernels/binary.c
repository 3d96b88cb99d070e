/* binary.c - out = lhs op rhs: arithmetic exact, comparisons as IEEE says */
#include "elementwise.h"

#include <math.h>

extern const kpk_module kpk_module_binary;

enum op { ADD, SUB, MUL, DIV, MAXIMUM, MINIMUM, EQ, NE, LT, LE, GT, GE };

/* Integers modulo 2^64; the type's low bits are compared. */
static uint64_t of_integers(enum op op, enum kt_type type, int64_t x, int64_t y)
{
    const uint64_t a = (uint64_t)x, b = (uint64_t)y;

    (void)type;
    switch (op) {
    case ADD:
        return a + b;
    case SUB:
        return a - b;
    case MUL:
        return a * b;
    case DIV:
        return (uint64_t)(x / y);
    case MAXIMUM:
        return x > y ? a : b;
    case MINIMUM:
        return x < y ? a : b;
    case EQ:
        return x == y;
    case NE:
        return x != y;
    case LT:
        return x < y;
    case LE:
        return x <= y;
    case GT:
        return x > y;
    case GE:
        return x >= y;
    }
    return 0;
}

static uint64_t of_floats(enum op op, kt_real x, kt_real y)
{
    switch (op) {
    case EQ:
        return x == y;
    case NE:
        return x != y;
    case LT:
        return x < y;
    case LE:
        return x <= y;
    case GT:
        return x > y;
    default:
        return x >= y;
    }
}

/* In the type's own arithmetic where long double would round twice. */
static kt_real arithmetic(enum op op, enum kt_type type, kt_real x, kt_real y)
{
    const double a = (double)x, b = (double)y;
    const bool twice = type == KT_F64;

    switch (op) {
    case ADD:
        return twice ? (kt_real)(a + b) : x + y;
    case SUB:
        return twice ? (kt_real)(a - b) : x - y;
    case MUL:
        return twice ? (kt_real)(a * b) : x * y;
    case DIV:
        return twice ? (kt_real)(a / b) : x / y;
    case MAXIMUM: /* NaN if either is */
        return isnan(x) ? x : isnan(y) ? y : fmaxl(x, y);
    default:
        return isnan(x) ? x : isnan(y) ? y : fminl(x, y);
    }
}

static void want_bits(const struct ew *e, const void *const element[],
                      struct ew_want *want)
{
    const enum op op = *(const enum op *)e->with;
    const enum kt_type type = e->in[0];

    if (kt_is_float(type))
        want->bits = of_floats(op, kt_get(type, element[0], 0),
                               kt_get(type, element[1], 0));
    else
        want->bits = of_integers(op, type, kt_get_int(type, element[0], 0),
                                 kt_get_int(type, element[1], 0));
}

static void want_float(const struct ew *e, const void *const element[],
                       struct ew_want *want)
{
    want->value = arithmetic(*(const enum op *)e->with, e->out,
                             kt_get(e->out, element[0], 0),
                             kt_get(e->out, element[1], 0));
    if (e->out == KT_F8 && !isnan(want->value)) { /* saturates */
        const uint64_t code = kt_encode(KT_F8, want->value);

        want->value = kt_get(KT_F8, &code, 0);
    }
}

/* Division by 0, and of the smallest integer by -1, is undefined. */
static void no_zero(const struct ew *e, size_t k, void *data, size_t n)
{
    if (k != 1)
        return;
    for (size_t i = 0; i < n; i++) {
        const int64_t v = kt_get_int(e->in[1], data, i);

        if (v == 0 || v == -1)
            kt_put(e->in[1], data, i, 3);
    }
}

/* Equal numbers, too, so that comparisons go both ways. */
static void some_equal(const struct ew *e, size_t k, void *data, size_t n)
{
    for (size_t i = k; i < n; i += 3)
        kt_put(e->in[k], data, i, (kt_real)(i % 2));
}

static void run(struct kt *t, const struct kt_row *row)
{
    static const enum op ops[] = {ADD, SUB, MUL, DIV, MAXIMUM, MINIMUM,
                                  EQ,  NE,  LT,  LE,  GT,      GE};
    const enum op *op = &ops[(size_t)row->b];
    const bool compares = *op >= EQ;
    const bool half = row->a == KT_F16 || row->a == KT_BF16;
    struct ew e = {
        .out = compares ? KT_U8 : row->a,
        .nin = 2,
        .in = {row->a, row->a},
        .bits = compares || !kt_is_float(row->a),
        .with = op,
        .large_grid = *op == ADD,
    };

    e.want = e.bits ? want_bits : want_float;
    if (*op == DIV && !kt_is_float(row->a))
        e.tame = no_zero;
    if (*op > DIV)
        e.tame = some_equal;
    if (*op == DIV && half)
        e.gate.ulps = 1;
    ew_run(t, &e);
}

/* The operation stands in the row's second column. */
#define ROW(name, op, suffix, type)                                            \
    {name "_" suffix, run, type, (enum kt_type)(op), NULL},
#define ROWS(name, op)                                                         \
    ROW(name, op, "u8", KT_U8)                                                 \
    ROW(name, op, "u32", KT_U32)                                               \
    ROW(name, op, "i64", KT_I64)                                               \
    ROW(name, op, "f16", KT_F16)                                               \
    ROW(name, op, "bf16", KT_BF16)                                             \
    ROW(name, op, "f32", KT_F32)                                               \
    ROW(name, op, "f64", KT_F64)                                               \
    ROW(name, op, "f8_e4m3", KT_F8)                                            \
    ROW(name, op, "f8e4m3", KT_F8)                                             \
    ROW(name, op, "i16", KT_I16)                                               \
    ROW(name, op, "i32", KT_I32)

static const struct kt_row rows[] = {
    ROWS("badd", ADD) ROWS("bsub", SUB) ROWS("bmul", MUL) ROWS("bdiv", DIV)
        ROWS("bmaximum", MAXIMUM) ROWS("bminimum", MINIMUM) ROWS("eq", EQ)
            ROWS("ne", NE) ROWS("lt", LT) ROWS("le", LE) ROWS("gt", GT)
                ROWS("ge", GE)};

KT_MAIN(kpk_module_binary, rows)
