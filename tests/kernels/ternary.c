/* ternary.c - where: bits of one operand or the other */
#include "elementwise.h"

extern const kpk_module kpk_module_ternary;

static void want_where(const struct ew *e, const void *const element[],
                       struct ew_want *want)
{
    const bool first = kt_get_int(e->in[0], element[0], 0) != 0;

    want->bits = kt_get_bits(e->out, element[first ? 1 : 2], 0);
}

/* Conditions: half are 0, the others of every kind, 2^32 among them. */
static void conditions(const struct ew *e, size_t k, void *data, size_t n)
{
    static const uint64_t codes[] = {
        0, 1, 0, 2, 0, 255, 0, UINT64_MAX, 0, UINT64_C(0x8000000000000000)};
    uint64_t state = n;

    if (k != 0)
        return;
    for (size_t i = 0; i < n; i++) {
        uint64_t code = codes[kt_random(&state) % 10];

        if (e->in[0] == KT_I64 && code == 2)
            code = UINT64_C(1) << 32;
        kt_put_bits(e->in[0], data, i, code);
    }
}

/* NaN's bits pass through, so floats are compared as integers of their size. */
static void run(struct kt *t, const struct kt_row *row)
{
    static const enum kt_type integer[KT_NTYPES] = {
        [KT_U8] = KT_U8,   [KT_U32] = KT_U32,  [KT_I64] = KT_I64,
        [KT_F8] = KT_U8,   [KT_BF16] = KT_I16, [KT_F16] = KT_I16,
        [KT_F32] = KT_U32, [KT_F64] = KT_I64};
    const enum kt_type type = integer[row->b];
    const struct ew e = {.out = type,
                         .nin = 3,
                         .in = {row->a, type, type},
                         .bits = true,
                         .want = want_where,
                         .large_grid = row->a == KT_U8,
                         .tame = conditions};

    ew_run(t, &e);
}

#define ROW(id, I, name, T) {"where_" id "_" name, run, I, T, NULL},
#define F8_ROWS(id, I)                                                         \
    ROW(id, I, "fp8_e4m3", KT_F8)                                              \
    ROW(id, I, "f8e4m3", KT_F8)
#define ROWS(id, I)                                                            \
    ROW(id, I, "u8", KT_U8)                                                    \
    ROW(id, I, "u32", KT_U32)                                                  \
    ROW(id, I, "i64", KT_I64)                                                  \
    ROW(id, I, "f16", KT_F16)                                                  \
    ROW(id, I, "bf16", KT_BF16)                                                \
    ROW(id, I, "f32", KT_F32)                                                  \
    ROW(id, I, "f64", KT_F64)                                                  \
    F8_ROWS(id, I)

static const struct kt_row rows[] = {ROWS("u8", KT_U8) ROWS("u32", KT_U32) ROWS(
    "i64", KT_I64) F8_ROWS("i16", KT_I16) F8_ROWS("i32", KT_I32)};

KT_MAIN(kpk_module_ternary, rows)
