/* sort.c - asort: stable, NaN last when ascending and first when descending */
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

extern const kpk_module kpk_module_sort;

enum keys {
    RANDOM,
    HOSTILE, /* NaN, infinities, both zeros */
    FEW,     /* three values: nearly all are ties */
    EQUAL,
    REVERSED,
    N_KEYS
};
static const char *const key_names[N_KEYS] = {"random", "hostile", "few values",
                                              "all equal", "reversed"};

static void *make_keys(struct kt *t, enum kt_type type, enum keys keys,
                       size_t n)
{
    void *x = kt_host(t, type, n, keys == HOSTILE ? KT_HOSTILE : KT_WIDE, n);
    uint64_t state = n;

    for (size_t i = 0; i < n; i++) {
        if (keys == FEW)
            kt_put(type, x, i, (kt_real)(kt_random(&state) % 3));
        else if (keys == EQUAL)
            kt_put(type, x, i, 1);
        else if (keys == REVERSED)
            kt_put(type, x, i, (kt_real)((n - i) % 120));
    }
    return x;
}

/* One row for qsort(), which takes no context of its own. */
static struct {
    const kt_real *keys;
    bool descending;
} order;

static int by_key(const void *a, const void *b)
{
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const kt_real x = order.keys[i], y = order.keys[j];
    int sign = isnan(x) || isnan(y) ? (isnan(x) ? 1 : 0) - (isnan(y) ? 1 : 0)
                                    : (x > y) - (x < y);

    if (order.descending)
        sign = -sign;
    return sign ? sign : (i > j) - (i < j);
}

static void run_case(struct kt *t, const struct kt_row *row, enum keys keys,
                     int ncols, unsigned nrows, unsigned block)
{
    const size_t n = (size_t)ncols * nrows;
    const void *x = make_keys(t, row->a, keys, n);
    void *dx = kt_device(t, x, n * kt_size(row->a), 0);
    uint32_t *dst = kt_device(t, NULL, n * 4, 0);
    uint32_t *got = kt_alloc(t, n * 4), *want = kt_alloc(t, n * 4);
    kt_real *values = kt_alloc(t, n * sizeof(*values));
    char *text = kt_alloc(t, 96);
    int padded = 1;

    while (padded < ncols)
        padded *= 2;
    snprintf(text, 96, "%s, %u rows of %d, block %u", key_names[keys], nrows,
             ncols, block);
    t->what = text;
    if (block == 0)
        block = padded < 1024 ? (unsigned)padded : 1024;
    if (!KT_LAUNCH(t, nrows, block, padded <= 16384 ? (size_t)padded * 4 : 0,
                   dx, dst, ncols, padded))
        return;
    for (size_t i = 0; i < n; i++) {
        values[i] = kt_get(row->a, x, i);
        want[i] = (uint32_t)(i % (size_t)ncols);
    }
    for (unsigned r = 0; r < nrows; r++) {
        order.keys = values + (size_t)r * (size_t)ncols;
        order.descending = row->b;
        qsort(want + (size_t)r * (size_t)ncols, (size_t)ncols, 4, by_key);
    }
    kt_read(t, got, dst, n * 4);
    kt_check_bits(t, KT_U32, got, want, n);
}

static void run(struct kt *t, const struct kt_row *row)
{
    static const int short_rows[] = {1,  2,  3,   4,   7,   31,   32,  33,
                                     63, 65, 100, 129, 500, 1000, 1024};
    static const int long_rows[] = {1025, 2048, 3000, 5000};

    for (size_t s = 0; s < sizeof(short_rows) / sizeof(short_rows[0]); s++)
        run_case(t, row, (enum keys)(s % N_KEYS), short_rows[s], 5, 0);
    for (int keys = 0; keys < N_KEYS; keys++) {
        run_case(t, row, (enum keys)keys, 200, 3, 0);
        run_case(t, row, (enum keys)keys, 1024, 2, 256); /* 4 a thread */
        run_case(t, row, (enum keys)keys, 100, 2, 32);
        run_case(t, row, (enum keys)keys, 700, 2, 64); /* 16 a thread */
    }
    for (size_t s = 0; s < sizeof(long_rows) / sizeof(long_rows[0]); s++)
        run_case(t, row, s % 2 ? HOSTILE : FEW, long_rows[s], 1, 0);
    run_case(t, row, HOSTILE, 16384, 1, 0);
    run_case(t, row, HOSTILE, 16385, 1, 1024); /* longer than LDS */
    run_case(t, row, FEW, 1000, 1, 1);         /* and with too few threads */
}

/* A row's second column says whether it descends. */
#define ROW(name, type)                                                        \
    {"asort_asc_" name, run, type, (enum kt_type)0, NULL},                     \
        {"asort_desc_" name, run, type, (enum kt_type)1, NULL},
static const struct kt_row rows[] = {
    ROW("u8", KT_U8) ROW("u32", KT_U32) ROW("i64", KT_I64) ROW("f16", KT_F16)
        ROW("bf16", KT_BF16) ROW("f32", KT_F32) ROW("f64", KT_F64)
            ROW("i16", KT_I16) ROW("i32", KT_I32)};

KT_MAIN(kpk_module_sort, rows)
