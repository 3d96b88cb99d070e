/* vector_add.c - c = a + b, f32 */
#include "harness.h"

extern const kpk_module kpk_module_vector_add;

static void run_size(struct kt *t, uint32_t n, unsigned grid, unsigned block,
                     size_t lead)
{
    const size_t nbytes = n * sizeof(float);
    const float *a = kt_host(t, KT_F32, n, KT_HOSTILE, n);
    const float *b = kt_host(t, KT_F32, n, KT_HOSTILE, n + 1);
    float *da = kt_device(t, a, nbytes, 0);
    float *db = kt_device(t, b, nbytes, lead);
    float *dc = kt_device(t, NULL, nbytes, 0);
    float *got = kt_alloc(t, nbytes);
    kt_real *want = kt_alloc(t, (size_t)n * sizeof(*want));

    if (!KT_LAUNCH(t, grid, block, 0, da, db, dc, n))
        return;
    for (size_t i = 0; i < n; i++)
        want[i] = (kt_real)a[i] + b[i];
    kt_read(t, got, dc, nbytes);
    kt_check(t, KT_F32, got, want, n, KT_EXACT);
}

static void run(struct kt *t, const struct kt_row *row)
{
    static const uint32_t sizes[] = {0, 1, 63, 64, 65, 1023, 1024, 1025, 30011};

    (void)row;
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        const uint32_t n = sizes[s];

        t->what = "a thread an element";
        run_size(t, n, n / 1024 + 1, 1024, 0);
        t->what = "256 threads of 16 bytes";
        run_size(t, n, n / 1024 + 1, 256, 0);
        t->what = "one small block";
        run_size(t, n, 1, 32, 0);
        t->what = "unaligned";
        run_size(t, n, n / 300 + 2, 300, 4);
    }
}

static const struct kt_row rows[] = {{"vector_add", run, KT_F32, KT_F32, NULL}};

KT_MAIN(kpk_module_vector_add, rows)
