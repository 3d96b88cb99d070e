/* float_weights.c - weights that are f16 or bf16, against wide sums
 *
 * Numbers must be exact. Products with up to eight columns are sums of f32:
 * a unit in the last place of the sum of all terms' magnitudes for each of the
 * columns / 32 + 24 additions. mul_mat_T rounds its columns to T first, and
 * may cut off where it adds (gemm.c).
 */
#include "float_weights.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void name_case(struct kt *t, const char *what, size_t a, size_t b)
{
    char *text = kt_alloc(t, 96);

    snprintf(text, 96, "%s %zux%zu", what, a, b);
    t->what = text;
}

/* ---- dequantize_block_ ---- */

void run_floats_dequantize(struct kt *t, const struct kt_row *row)
{
    const struct float_weights *f = row->detail;
    static const struct {
        size_t n;
        enum kt_data data;
    } cases[] = {{0, KT_SMALL},     {1, KT_SMALL},      {7, KT_HOSTILE},
                 {8, KT_HOSTILE},   {9, KT_HOSTILE},    {511, KT_HOSTILE},
                 {512, KT_HOSTILE}, {513, KT_HOSTILE},  {4095, KT_WIDE},
                 {4097, KT_WIDE},   {9001, KT_HOSTILE}, {65536, KT_CODES}};

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        const size_t n = cases[c].n, nbytes = n * kt_size(row->b);
        const void *x = kt_host(t, row->a, n, cases[c].data, c);
        const void *dx =
            kt_device(t, x, n * kt_size(row->a), c % 2 ? kt_size(row->a) : 0);
        void *y = kt_device(t, NULL, nbytes, c % 3 == 2 ? kt_size(row->b) : 0);
        void *got = kt_alloc(t, nbytes), *want = kt_alloc(t, nbytes);
        const unsigned grid = n ? (unsigned)((n + f->elems - 1) / f->elems) : 1;
        int32_t count = (int32_t)n;

        name_case(t, "numbers", n, 1);
        for (size_t i = 0; i < n; i++)
            kt_put(row->b, want, i, kt_get(row->a, x, i));
        if (!KT_LAUNCH(t, grid, f->threads, 0, dx, y, count))
            return;
        kt_read(t, got, y, nbytes);
        kt_check_bits(t, row->b, got, want, n);
    }
}

/* ---- products ---- */

struct product_case {
    const char *name;
    size_t nrows, k, ncols;
    enum {
        TAME,
        HOSTILE, /* odd alignments and strides, NaNs between the columns */
        CUT,     /* dst takes fewer rows than the matrix has */
        SPECIAL, /* infinities and NaNs in some weights and columns */
        TINY     /* subnormal weights */
    } data;
};

static void *make_weights(struct kt *t, enum kt_type type,
                          const struct product_case *c)
{
    const size_t n = c->nrows * c->k;
    void *w = kt_host(t, type, n, KT_SMALL, c->k + 1);

    for (size_t i = 0; c->data == TINY && i < n; i++)
        kt_put_bits(type, w, i,
                    kt_get_bits(type, w, i) &
                        (type == KT_F16 ? 0x83ff : 0x807f));
    if (c->data == SPECIAL && n) {
        kt_put(type, w, n / 2, INFINITY);
        kt_put(type, w, n - 1, NAN);
        kt_put(type, w, 0, -INFINITY);
    }
    return w;
}

/* ncols columns of k numbers, `stride` apart, in *all that a column spans */
static float *make_columns(struct kt *t, enum kt_type type,
                           const struct product_case *c, size_t stride)
{
    float *y = kt_host(t, KT_F32, c->ncols * stride, KT_SMALL, c->k);

    for (size_t i = 0; i < c->ncols * stride; i++) {
        if (i % stride >= c->k)
            y[i] = NAN; /* belongs to nobody */
        else if (c->data == TINY && type == KT_BF16)
            y[i] *= 0x1p100f;
    }
    if (c->data == SPECIAL && c->ncols > 1 && c->k)
        y[stride + c->k / 3] = -INFINITY;
    return y;
}

static void check_product(struct kt *t, const struct kt_row *row,
                          const struct product_case *c, const void *w,
                          const float *y, size_t y_stride, const float *got,
                          size_t stride)
{
    const struct float_weights *f = row->detail;
    const bool tile = f->kind == TILE;
    const uint64_t steps = c->k / 32; /* of a lane */
    const kt_real each = tile ? (kt_real)(c->k + 8) * 0x1p-23L
                              : (kt_real)(steps + 24) * 0x1p-24L;
    /* gfx90a's matrix instructions take subnormals as zeros */
    const kt_real flushed = tile && strncmp(t->target, "gfx90a", 6) == 0
                                ? (row->a == KT_F16 ? 0x1p-14L : 0x1p-126L)
                                : 0;
    const size_t n = c->ncols * stride;
    kt_real *want = kt_alloc(t, n * sizeof(*want));
    kt_real *scale = kt_alloc(t, n * sizeof(*scale));
    uint8_t code[8];

    for (size_t j = 0; j < c->ncols; j++)
        for (size_t r = 0; r < stride; r++) {
            const size_t at = j * stride + r;
            kt_real sum = 0, all = 0, lost = 0;

            if (r >= c->nrows) { /* between the columns */
                memset(code, 0xa5, sizeof(code));
                want[at] = kt_get(KT_F32, code, 0);
                continue;
            }
            for (size_t k = 0; k < c->k; k++) {
                const kt_real a = kt_get(row->a, w, r * c->k + k);
                kt_real b = y[j * y_stride + k];

                if (tile) {
                    kt_put(row->a, code, 0, b);
                    b = kt_get(row->a, code, 0);
                }
                sum += a * b;
                all += fabsl(a * b);
                lost += (fabsl(a) + fabsl(b)) * flushed;
            }
            want[at] = sum;
            scale[at] = isfinite(all) ? all * each + lost : 0;
        }
    kt_check(t, KT_F32, got, want, n, (struct kt_gate){0.5L, 1, scale, false});
}

static void run_case(struct kt *t, const struct kt_row *row,
                     const struct product_case *c)
{
    const struct float_weights *f = row->detail;
    const size_t size = kt_size(row->a);
    const bool odd = c->data == HOSTILE;
    /* a lone column has no stride, and no rows that are left out */
    const size_t y_stride = c->k + (odd && f->kind != WARP ? 3 : 0);
    const size_t stride = f->kind == WARP  ? c->nrows
                          : c->data == CUT ? c->nrows - 2
                                           : c->nrows + (odd ? 3 : 0);
    const size_t written = stride < c->nrows ? stride : c->nrows;
    const size_t ndst = (c->ncols - 1) * stride + written;
    const void *w = make_weights(t, row->a, c);
    const float *y = make_columns(t, row->a, c, y_stride);
    const size_t ny = (c->ncols - 1) * y_stride + c->k;
    const void *vx = kt_device(t, w, c->nrows * c->k * size, odd ? size : 0);
    const void *vy = kt_device(t, y, ny * 4, odd ? 4 : 0);
    float *dst = kt_device(t, NULL, ndst * 4, odd ? 4 : 0);
    float *got = kt_alloc(t, c->ncols * stride * sizeof(*got));
    int32_t k = (int32_t)c->k, nrows = (int32_t)c->nrows;
    int32_t ncols = (int32_t)c->ncols, nrows_y = (int32_t)y_stride;
    int32_t nrows_dst = (int32_t)stride;
    const unsigned grid[3] = {(unsigned)((c->nrows + f->rows - 1) / f->rows),
                              (unsigned)((c->ncols + f->cols - 1) / f->cols),
                              1};
    bool done = false;

    name_case(t, c->name, c->nrows, c->k);
    switch (f->kind) {
    case WARP:
        done = kt_launch(t, grid, (const unsigned[3]){32, 1, 1}, 0,
                         KPK_ARGS(vx, vy, dst, k, nrows));
        break;
    case COLUMNS:
        done =
            kt_launch(t, grid, (const unsigned[3]){32, f->cols > 4 ? 2 : 4, 1},
                      0, KPK_ARGS(vx, vy, dst, k, nrows, nrows_y, nrows_dst));
        break;
    case TILE:
        done = kt_launch(
            t, grid, (const unsigned[3]){128, 1, 1}, 0,
            KPK_ARGS(vx, vy, dst, k, nrows, ncols, nrows_y, nrows_dst));
        break;
    }
    if (!done)
        return;
    memset(got, 0xa5, c->ncols * stride * sizeof(*got));
    kt_read(t, got, dst, ndst * 4);
    check_product(t, row, c, w, y, y_stride, got, stride);
}

void run_floats_product(struct kt *t, const struct kt_row *row)
{
    const struct float_weights *f = row->detail;
    const size_t n = f->cols;
    const struct product_case few[] = {
        {"one", 1, 1, n, TAME},
        {"none", 3, 0, n, TAME},
        {"odd", 5, 7, n, HOSTILE},
        {"piece", 9, 8, n, TAME},
        {"odd", 4, 9, n, HOSTILE},
        {"odd", 7, 263, n, HOSTILE},
        {"long", 3, 2304, n, TAME},
        {"odd", 2, 4099, n, HOSTILE},
        {"cut", 9, 96, n, CUT},
        {"special", 11, 45, n, SPECIAL},
        {"special", 6, 512, n, SPECIAL},
        {"tiny", 5, 130, n, TINY},
        /* so many rows that a workgroup takes several */
        {"several rows", 1219, 24, n, TAME},
        {"several rows", 1217, 13, n, HOSTILE},
    };
    const struct product_case tiles[] = {
        {"one", 1, 1, 1, TAME},
        {"none", 3, 0, 2, TAME},
        {"odd", f->rows + 1, 9, 9, HOSTILE},
        {"step", f->rows, 64, f->cols, TAME},
        {"steps", f->rows - 1, 192, f->cols + 1, TAME},
        {"odd", 2 * f->rows + 3, 131, f->cols - 1, HOSTILE},
        {"odd", 5, 259, 2 * f->cols + 1, HOSTILE},
        {"cut", 9, 96, 5, CUT},
        {"special", 70, 77, 6, SPECIAL},
        {"tiny", 17, 130, 18, TINY},
    };

    if (f->kind == TILE)
        for (size_t i = 0; i < sizeof(tiles) / sizeof(tiles[0]); i++)
            run_case(t, row, &tiles[i]);
    else
        for (size_t i = 0; i < sizeof(few) / sizeof(few[0]); i++)
            run_case(t, row, &few[i]);
}
