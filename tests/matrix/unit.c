/* unit.c - each row of matrix_unit.h's table, against plain C */
#include "harness.h"

#include <math.h>
#include <string.h>

extern const kpk_module kpk_module_unit;

enum { ROWS = 16, PIECE_NBYTES = 16 };

/* The largest of a unit's pieces is 4; more than one unit, and the least. */
static const uint32_t npieces[] = {4, 12, 32};

/* i8 has no type of its own in the harness: bytes, taken as signed. */
static kt_real element(const struct kt_row *row, const void *data, size_t i)
{
    return row->a == KT_U8 ? (kt_real)((const int8_t *)data)[i]
                           : kt_get(row->a, data, i);
}

/* A wave's lanes: the kernel's, which need not be the device's. */
static uint32_t wave_of(struct kt *t)
{
    const kpk_kernel *kernel;
    kpk_attrs attrs = {.wave_size = 0};

    if (kpk_kernel_get(t->inst, t->symbol, &kernel) != KPK_OK ||
        kpk_kernel_attrs(kernel, &attrs) != KPK_OK)
        kt_fail(t, "no attributes: %s", kpk_error_message());
    if (strncmp(t->symbol, "wide_", 5) == 0 &&
        (strncmp(t->target, "gfx11", 5) == 0 ||
         strncmp(t->target, "gfx12", 5) == 0) &&
        attrs.wave_size != 64)
        kt_fail(t, "waves of %u, not of 64", (unsigned)attrs.wave_size);
    return attrs.wave_size;
}

/*
 * The sums are in row->b; each of the k additions may round once, of the
 * absolute sum at most. Matrix instructions may round, or cut off, within a
 * piece of k as they like: a bit more for that.
 */
static void run_size(struct kt *t, const struct kt_row *row, uint32_t n,
                     enum kt_data what)
{
    const size_t k = n * PIECE_NBYTES / kt_size(row->a);
    const void *a = kt_host(t, row->a, ROWS * k, what, n);
    const void *b = kt_host(t, row->a, ROWS * k, what, n + 1);
    const void *d = kt_host(t, row->b, (size_t)ROWS * ROWS, KT_SMALL, n + 2);
    const void *da = kt_device(t, a, ROWS * k * kt_size(row->a), 0);
    const void *db = kt_device(t, b, ROWS * k * kt_size(row->a), 0);
    void *dd = kt_device(t, d, ROWS * ROWS * kt_size(row->b), 0);
    void *got = kt_alloc(t, ROWS * ROWS * kt_size(row->b));
    kt_real want[ROWS * ROWS], size[ROWS * ROWS];

    if (!KT_LAUNCH(t, 1, wave_of(t), 0, da, db, dd, n))
        return;
    for (size_t i = 0; i < (size_t)ROWS * ROWS; i++) {
        want[i] = kt_get(row->b, d, i);
        size[i] = fabsl(want[i]);
        for (size_t e = 0; e < k; e++) {
            const kt_real product = element(row, a, i / ROWS * k + e) *
                                    element(row, b, i % ROWS * k + e);

            want[i] += product;
            size[i] += fabsl(product);
        }
    }
    kt_read(t, got, dd, ROWS * ROWS * kt_size(row->b));
    kt_check(t, row->b, got, want, (size_t)ROWS * ROWS,
             kt_is_float(row->b)
                 ? (struct kt_gate){.abs = (kt_real)(k + 8) * kt_eps(row->b),
                                    .scale = size}
                 : KT_EXACT);
}

static void run(struct kt *t, const struct kt_row *row)
{
    for (size_t i = 0; i < sizeof(npieces) / sizeof(npieces[0]); i++) {
        t->what = "small numbers";
        run_size(t, row, npieces[i], KT_SMALL);
        if (row->a == KT_U8) {
            t->what = "all bytes";
            run_size(t, row, npieces[i], KT_WIDE);
        }
    }
}

static const struct kt_row rows[] = {
    {"unit_i8", run, KT_U8, KT_I32, NULL},
    {"unit_f16", run, KT_F16, KT_F32, NULL},
    {"unit_bf16", run, KT_BF16, KT_F32, NULL},
    {"unit_f32", run, KT_F32, KT_F32, NULL},
    {"unit_f64", run, KT_F64, KT_F64, NULL},
    {"wide_i8", run, KT_U8, KT_I32, NULL},
    {"wide_f16", run, KT_F16, KT_F32, NULL},
    {"wide_bf16", run, KT_BF16, KT_F32, NULL},
    {"wide_f32", run, KT_F32, KT_F32, NULL},
    {"wide_f64", run, KT_F64, KT_F64, NULL},
};

KT_MAIN(kpk_module_unit, rows)
