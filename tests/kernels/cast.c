/* cast.c - out = in as another type, one rounding */
#include "elementwise.h"

#include <math.h>
#include <stdio.h>

extern const kpk_module kpk_module_cast;

/* kt_encode() is the rule: nearest even once, truncate and saturate. */
static void want_cast(const struct ew *e, const void *const element[],
                      struct ew_want *want)
{
    const enum kt_type from = e->in[0], to = e->out;

    if (from == to)
        want->bits = kt_get_bits(from, element[0], 0);
    else if (!kt_is_float(from) && !kt_is_float(to)) /* low bits */
        want->bits = (uint64_t)kt_get_int(from, element[0], 0);
    else
        want->bits = kt_encode(to, kt_get(from, element[0], 0));
}

/* Numbers at the edges of the types, and those that two roundings get wrong. */
static void edges(const struct ew *e, size_t k, void *data, size_t n)
{
    static const kt_real numbers[] = {255.9L,
                                      256,
                                      300,
                                      -1,
                                      -0.5L,
                                      1e10L,
                                      127.5L,
                                      -32768.5L,
                                      32767.9L,
                                      2147483647,
                                      2147483648.0L,
                                      -2147483649.0L,
                                      4294967295.0L,
                                      4294967296.0L,
                                      4294967040.0L,
                                      0x1p63L,
                                      -0x1p63L,
                                      0x1.fffffffffffffp62L,
                                      65504,
                                      65519,
                                      65520,
                                      65535.9L,
                                      0x1p-24L,
                                      0x1p-25L,
                                      0x1.8p-25L,
                                      1 + 0x1p-11L + 0x1p-40L,
                                      1 + 0x1p-8L + 0x1p-40L,
                                      1 + 0x1p-11L,
                                      17,
                                      17.00000001L,
                                      19,
                                      464,
                                      465,
                                      448,
                                      -1e30L,
                                      0x1p-10L,
                                      0x1.0001p-10L,
                                      0x1p-9L,
                                      16843009,
                                      0x1.000002p24L,
                                      0x1p-133L,
                                      0x1p-134L,
                                      0x1.8p-134L,
                                      3.3895313892515355e38L,
                                      3.4e38L,
                                      -3.4e38L,
                                      0x1.01p0L,
                                      9007199254740993,
                                      0x1.0000010000001p40L};
    const size_t count = sizeof(numbers) / sizeof(numbers[0]);

    (void)k;
    for (size_t i = 0; i < count && 2 * i < n && n > 1000; i++)
        kt_put(e->in[0], data, 2 * i, numbers[i]);
}

static void run(struct kt *t, const struct kt_row *row)
{
    const struct ew e = {.out = row->b,
                         .nin = 1,
                         .in = {row->a},
                         .bits = true,
                         .want = want_cast,
                         .all_codes = kt_size(row->a) <= 2,
                         .large_grid = row->a == KT_U8,
                         .tame = edges};

    ew_run(t, &e);
}

/* The specification's vectors, with results of a single, saturating rounding
 * where the specification rounds differently. */
static const struct vector {
    enum kt_type from, to;
    kt_real in;
    uint64_t out;
} vectors[] = {
    {KT_F32, KT_U8, 255.9L, 255},
    {KT_F32, KT_U8, 256, 255},
    {KT_F32, KT_U8, -1, 0},
    {KT_F8, KT_U8, 448, 255},
    {KT_U32, KT_BF16, 0x01010001, 0x4b81},
    {KT_F64, KT_F16, 1 + 0x1p-11L + 0x1p-40L, 0x3c01},
    {KT_F64, KT_BF16, 1 + 0x1p-8L + 0x1p-40L, 0x3f81},
    {KT_F64, KT_F8, 17.00000001L, 0x59},
    {KT_F32, KT_F8, 17, 0x58},
    {KT_F32, KT_F8, 19, 0x5a},
    {KT_F32, KT_F8, 465, 0x7e},
    {KT_F32, KT_F8, -1e30L, 0xfe},
    {KT_F32, KT_F8, 0x1p-10L, 0},
    {KT_F32, KT_F8, 0x1p-9L, 1},
    {KT_I64, KT_U32, -1, 0xffffffff},
};

/* Vectors by hand, for the kernels that have some; then all the cases. */
static void run_vectors(struct kt *t, const struct kt_row *row)
{
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        const struct vector *v = &vectors[i];
        const size_t n = 1, rank = 0;
        const size_t *info = NULL;
        uint64_t in = 0, got = 0;
        void *din, *dout;

        if (v->from != row->a || v->to != row->b)
            continue;
        kt_put(v->from, &in, 0, v->in);
        din = kt_device(t, &in, kt_size(v->from), 0);
        dout = kt_device(t, NULL, kt_size(v->to), 0);
        t->what = "a vector of the specification";
        if (!KT_LAUNCH(t, 1, 1024, 0, n, rank, info, din, dout))
            return;
        kt_read(t, &got, dout, kt_size(v->to));
        kt_check_bits(t, v->to, &got, &v->out, 1);
    }
    run(t, row);
}

/* clang-format off */
#define ROW(s, S, d, D) {"cast_" s "_" d, run_vectors, S, D, NULL},
#define INTEGERS(s, S)                                              \
    ROW(s, S, "u8", KT_U8)    ROW(s, S, "u32", KT_U32)              \
    ROW(s, S, "i16", KT_I16)  ROW(s, S, "i32", KT_I32)
#define FLOATS(s, S)                                                \
    ROW(s, S, "f16", KT_F16)  ROW(s, S, "bf16", KT_BF16)            \
    ROW(s, S, "f32", KT_F32)  ROW(s, S, "f64", KT_F64)
#define LONG(s, S)  ROW(s, S, "i64", KT_I64)
#define F8(s, S)    ROW(s, S, "f8_e4m3", KT_F8) ROW(s, S, "f8e4m3", KT_F8)

static const struct kt_row rows[] = {
    INTEGERS("u8", KT_U8)     LONG("u8", KT_U8)     FLOATS("u8", KT_U8)     F8("u8", KT_U8)
    INTEGERS("u32", KT_U32)   LONG("u32", KT_U32)   FLOATS("u32", KT_U32)   F8("u32", KT_U32)
    INTEGERS("i16", KT_I16)   LONG("i16", KT_I16)   FLOATS("i16", KT_I16)   F8("i16", KT_I16)
    INTEGERS("i32", KT_I32)   LONG("i32", KT_I32)   FLOATS("i32", KT_I32)   F8("i32", KT_I32)
    INTEGERS("i64", KT_I64)   LONG("i64", KT_I64)   FLOATS("i64", KT_I64)   F8("i64", KT_I64)
    INTEGERS("f16", KT_F16)   LONG("f16", KT_F16)   FLOATS("f16", KT_F16)   F8("f16", KT_F16)
    INTEGERS("bf16", KT_BF16) LONG("bf16", KT_BF16) FLOATS("bf16", KT_BF16) F8("bf16", KT_BF16)
    INTEGERS("f32", KT_F32)   LONG("f32", KT_F32)   FLOATS("f32", KT_F32)   F8("f32", KT_F32)
    INTEGERS("f64", KT_F64)   LONG("f64", KT_F64)   FLOATS("f64", KT_F64)   F8("f64", KT_F64)
    INTEGERS("f8_e4m3", KT_F8) LONG("f8_e4m3", KT_F8) FLOATS("f8_e4m3", KT_F8)
    INTEGERS("f8e4m3", KT_F8)  LONG("f8e4m3", KT_F8)  FLOATS("f8e4m3", KT_F8)
    ROW("f8_e4m3", KT_F8, "f8_e4m3", KT_F8) ROW("f8e4m3", KT_F8, "f8e4m3", KT_F8)
};
/* clang-format on */

KT_MAIN(kpk_module_cast, rows)
