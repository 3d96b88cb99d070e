/* sort.c - asort: stable, NaN last when ascending and first when descending */
#include "harness.h"

#include "../../kernels/host/sort_rows.h"

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

/* `got` against qsort()'s result. */
static void check_sorted(struct kt *t, const struct kt_row *row, const void *x,
                         const uint32_t *got, size_t ncols, size_t nrows)
{
    const size_t n = ncols * nrows;
    uint32_t *want = kt_alloc(t, n * 4);
    kt_real *values = kt_alloc(t, n * sizeof(*values));

    for (size_t i = 0; i < n; i++) {
        values[i] = kt_get(row->a, x, i);
        want[i] = (uint32_t)(i % ncols);
    }
    for (size_t r = 0; r < nrows; r++) {
        order.keys = values + r * ncols;
        order.descending = row->b;
        qsort(want + r * ncols, ncols, 4, by_key);
    }
    kt_check_bits(t, KT_U32, got, want, n);
}

static void run_case(struct kt *t, const struct kt_row *row, enum keys keys,
                     int ncols, unsigned nrows, unsigned block)
{
    if (!kt_turn(t))
        return;
    const size_t n = (size_t)ncols * nrows;
    const void *x = make_keys(t, row->a, keys, n);
    void *dx = kt_device(t, x, n * kt_size(row->a), 0);
    uint32_t *dst = kt_device(t, NULL, n * 4, 0);
    uint32_t *got = kt_alloc(t, n * 4);
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
    kt_read(t, got, dst, n * 4);
    check_sorted(t, row, x, got, (size_t)ncols, nrows);
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

/* Rows for many blocks, of which so many fit the workspace. */
static void run_long_case(struct kt *t, const struct kt_row *row,
                          enum keys keys, uint32_t ncols, uint32_t nrows,
                          uint32_t fit)
{
    if (!kt_turn(t))
        return;
    const size_t n = (size_t)ncols * nrows;
    const void *x = make_keys(t, row->a, keys, n);
    void *dx = kt_device(t, x, n * kt_size(row->a), 0);
    uint32_t *dst = kt_device(t, NULL, n * 4, 0);
    uint32_t *got = kt_alloc(t, n * 4);
    char *text = kt_alloc(t, 96), kernel[32];
    uint64_t nbytes = 0;
    void *workspace;

    snprintf(text, 96, "%s, %u rows of %u, %u at a time", key_names[keys],
             (unsigned)nrows, (unsigned)ncols, (unsigned)fit);
    t->what = text;
    snprintf(kernel, sizeof(kernel), "asort_%s_%s", row->b ? "desc" : "asc",
             kt_name(row->a));
    if (kpk_sort_workspace(kernel, fit, ncols, &nbytes) != KPK_OK)
        kt_fail(t, "no workspace: %s", kpk_error_message());
    workspace = kt_device(t, NULL, nbytes, 0);
    if (kpk_sort_launch(t->inst, kernel, dx, dst, nrows, ncols, workspace,
                        nbytes, NULL) != KPK_OK)
        kt_fail(t, "not launched: %s", kpk_error_message());
    kt_read(t, got, dst, n * 4);
    check_sorted(t, row, x, got, ncols, nrows);
}

/* A tile and a bit; ends in the first and the second run of a merge, an odd run
 * left over, a power of two of tiles. */
static void run_long(struct kt *t, const struct kt_row *row)
{
    run_long_case(t, row, HOSTILE, 4097, 2, 2);
    run_long_case(t, row, FEW, 8192, 1, 1);
    run_long_case(t, row, EQUAL, 6145, 3, 2);
    run_long_case(t, row, REVERSED, 7000, 1, 1);
    run_long_case(t, row, RANDOM, 20481, 1, 1);
    run_long_case(t, row, HOSTILE, 1000, 2, 1); /* too short for more */
    run_long_case(t, row, HOSTILE, 4100, 1, 0); /* no workspace */
}

static void expect_refused(struct kt *t, const char *kernel, uint32_t ncols)
{
    uint64_t nbytes = 7;

    t->what = "refused";
    if (kpk_sort_workspace(kernel, 1, ncols, &nbytes) != KPK_ERR_ARG)
        kt_fail(t, "%s of %u columns has a workspace",
                kernel ? kernel : "no kernel", (unsigned)ncols);
    if (nbytes != 7)
        kt_fail(t, "a refused call stores %llu", (unsigned long long)nbytes);
}

/* The merge: more runs, and what the host's calls refuse. */
static void run_merge(struct kt *t, const struct kt_row *row)
{
    uint64_t nbytes = 0;
    uint32_t x = 0;

    run_long_case(t, row, RANDOM, 33000, 1, 1);
    expect_refused(t, NULL, 1);
    expect_refused(t, "asort_merge_wide", 1);
    expect_refused(t, "asort_asc_f32", UINT32_MAX);
    if (kpk_sort_workspace("asort_asc_f32", 1, 1, NULL) != KPK_ERR_ARG ||
        kpk_sort_launch(NULL, "asort_asc_f32", &x, &x, 1, 1, NULL, 0, NULL) !=
            KPK_ERR_ARG ||
        kpk_sort_launch(t->inst, "asort_asc_f32", NULL, &x, 1, 1, NULL, 0,
                        NULL) != KPK_ERR_ARG)
        kt_fail(t, "NULL is not refused");
    if (kpk_sort_workspace("asort_asc_i64", 3, 5000, &nbytes) != KPK_OK ||
        nbytes != UINT64_C(3) * 5000 * 24)
        kt_fail(t, "a workspace of %llu bytes", (unsigned long long)nbytes);
    if (kpk_sort_launch(t->inst, "asort_asc_f32", &x, &x, 0, 9, NULL, 0,
                        NULL) != KPK_OK)
        kt_fail(t, "no rows: %s", kpk_error_message());
}

/* A row's second column says whether it descends. */
#define ROW(name, type)                                                        \
    {"asort_asc_" name, run, type, (enum kt_type)0, NULL},                     \
        {"asort_desc_" name, run, type, (enum kt_type)1, NULL},                \
        {"asort_tiles_asc_" name, run_long, type, (enum kt_type)0, NULL},      \
        {"asort_tiles_desc_" name, run_long, type, (enum kt_type)1, NULL},
static const struct kt_row rows[] = {
    {"asort_merge_wide", run_merge, KT_F32, (enum kt_type)0, NULL},
    {"asort_merge_widest", run_merge, KT_I64, (enum kt_type)1, NULL},
    ROW("u8", KT_U8) ROW("u32", KT_U32) ROW("i64", KT_I64) ROW("f16", KT_F16)
        ROW("bf16", KT_BF16) ROW("f32", KT_F32) ROW("f64", KT_F64)
            ROW("i16", KT_I16) ROW("i32", KT_I32)};

KT_MAIN(kpk_module_sort, rows)
