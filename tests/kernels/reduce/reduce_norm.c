/* reduce_norm.c - layernorm and rmsnorm of rows */
#include "reduce.h"

#include <math.h>
#include <string.h>

static const struct norm_case {
    const char *name;
    size_t rows, n;
    enum rows_data data;
    unsigned block_x, block_y; /* 0: the contract's */
    bool alpha, beta;
    float eps;
    size_t lead;
} norm_cases[] = {
    {"", 3, 1, SMALL, 0, 1, true, true, 1e-5f, 1},
    {"", 3, 2, SMALL, 0, 1, true, false, 1e-5f, 0},
    {"", 3, 31, SMALL, 0, 1, false, true, 1e-5f, 0},
    {"", 3, 32, SMALL, 0, 1, true, true, 0, 0},
    {"", 3, 33, SMALL, 0, 1, false, false, 1e-5f, 1},
    {"", 2, 128, SMALL, 0, 1, true, true, 1e-5f, 0},
    {"", 2, 512, SMALL, 0, 1, true, true, 1e-5f, 0},
    {"", 2, 1000, SMALL, 0, 1, true, true, 1e-5f, 0},
    {"", 2, 1023, SMALL, 0, 1, true, true, 1e-5f, 0},
    {"", 2, 1024, SMALL, 0, 1, true, true, 1e-5f, 0},
    {"", 2, 1025, SMALL, 0, 1, true, true, 0, 0},
    {"", 2, 4096, SMALL, 0, 1, true, true, 1e-5f, 0},
    {"", 1, 8192, SMALL, 0, 1, true, true, 1e-5f, 1},
    {"", 1, 16384, SMALL, 0, 1, true, false, 1e-5f, 0},
    {"", 1, 40000, SMALL, 0, 1, true, true, 1e-5f, 0},
    {"", 1, 40001, SMALL, 0, 1, false, true, 1e-5f, 0},
    {"", 2, 2000, SMALL, 64, 1, true, true, 1e-5f, 0},
    {"", 1, 5000, SMALL, 128, 1, true, true, 1e-5f, 0},
    {"", 1, 5001, SMALL, 256, 1, true, true, 1e-5f, 0},
    {"", 1, 4096, SMALL, 512, 1, true, true, 1e-5f, 0},
    {"long in a small block", 1, 20000, SMALL, 32, 1, true, true, 1e-5f, 0},
    {"four rows a block", 8, 300, SMALL, 32, 4, true, true, 1e-5f, 0},
    {"rows of 8 threads", 16, 50, SMALL, 8, 16, true, true, 1e-5f, 0},
    {"rows of 16 threads", 16, 128, FAR_MEAN, 16, 8, true, true, 1e-5f, 0},
    {"rows of 16 threads", 8, 77, SMALL, 16, 8, true, true, 1e-5f, 1},
    {"odd block", 2, 500, SMALL, 48, 1, true, true, 1e-5f, 0},
    {"odd blocks of rows", 6, 100, SMALL, 20, 3, true, true, 1e-5f, 0},
    {"constant", 2, 1000, CONSTANT, 0, 1, true, true, 1e-5f, 0},
    {"constant", 1, 40000, CONSTANT, 0, 1, true, true, 1e-5f, 0},
    {"constant, eps 0", 2, 1000, CONSTANT, 0, 1, true, true, 0, 0},
    {"far mean", 2, 1000, FAR_MEAN, 0, 1, true, true, 1e-5f, 0},
    {"far mean", 1, 40000, FAR_MEAN, 0, 1, true, true, 1e-5f, 0},
    {"far mean", 2, 4096, FAR_MEAN, 0, 1, false, false, 1e-5f, 0},
    {"7e9", 2, 2000, BIG, 0, 1, true, true, 1e-5f, 0},
    {"zeros", 2, 100, ZEROS, 0, 1, true, true, 1e-5f, 0},
    {"huge", 2, 33, HUGE_ROWS, 0, 1, true, true, 1e-5f, 1},
    {"huge", 2, 256, HUGE_ROWS, 0, 1, true, true, 0, 0},
    {"huge", 2, 700, HUGE_ROWS, 64, 1, false, true, 1e-5f, 0},
    {"huge", 2, 2048, HUGE_ROWS, 0, 1, true, true, 1e-5f, 0},
    {"huge", 2, 2100, HUGE_ROWS, 32, 1, true, false, 1e-5f, 0},
    {"huge", 2, 2100, HUGE_ROWS, 32, 1, false, false, 1e-5f, 1},
    {"huge, four rows a block", 8, 100, HUGE_ROWS, 32, 4, true, true, 0, 0},
    {"huge, of 64 threads", 4, 200, HUGE_ROWS, 64, 2, true, true, 0, 0},
    {"huge, rows of 8 threads", 8, 50, HUGE_ROWS, 8, 8, true, true, 1e-5f, 0},
    {"huge, odd block", 2, 150, HUGE_ROWS, 48, 1, true, true, 1e-5f, 0},
    {"huge, odd blocks", 3, 60, HUGE_ROWS, 20, 3, true, true, 1e-5f, 0},
    {"huge constant", 1, 1024, EQUAL_HUGE, 0, 1, true, true, 0, 0},
    {"huge constant", 1, 64, EQUAL_HUGE, 0, 1, true, true, 1e-5f, 1},
    {"tiny", 2, 100, TINY, 0, 1, true, true, 0, 1},
    {"tiny", 2, 1024, TINY, 0, 1, true, true, 0, 0},
    {"tiny", 1, 2100, TINY, 32, 1, true, true, 0, 0},
    {"tiny, eps", 2, 1024, TINY, 0, 1, true, true, 1e-5f, 0},
    {"least", 2, 128, LEAST, 0, 1, true, true, 0, 0},
    {"least", 2, 1024, LEAST, 0, 1, true, true, 0, 0},
};
#define NNORM_CASES (sizeof(norm_cases) / sizeof(norm_cases[0]))

/* the row's reference and the bounds of its errors */
static void norm_reference(enum kt_type type, bool layer, const void *x,
                           size_t first, const void *alpha, const void *beta,
                           const struct norm_case *c, size_t threads,
                           kt_real *want, kt_real *bound)
{
    const kt_real v = reduce_inner_roundoff(type), p = kt_depth(c->n, threads);
    const kt_real n = (kt_real)c->n;
    kt_real mean = 0, magnitude = 0, squares = 0, var = 0;

    for (size_t i = 0; i < c->n; i++) {
        const kt_real e = kt_get(type, x, first + i);

        mean += e / n;
        magnitude += fabsl(e) / n;
        squares += e * e / n;
    }
    for (size_t i = 0; i < c->n; i++) {
        const kt_real d = kt_get(type, x, first + i) - mean;

        var += d * d / n;
    }
    for (size_t i = 0; i < c->n; i++) {
        const kt_real e = kt_get(type, x, first + i);
        const kt_real a = alpha ? kt_get(type, alpha, i) : 1;
        const kt_real b = beta ? kt_get(type, beta, i) : 0;

        if (!layer) {
            want[i] = e / sqrtl(squares + (kt_real)c->eps) * a;
            bound[i] = fabsl(want[i]) * (p / 2 + 6) * v;
            continue;
        }
        const kt_real spread = sqrtl(var + (kt_real)c->eps);
        /* rows of one value, and eps = 0: beta */
        const kt_real z = spread > 0 ? (e - mean) / spread : 0;
        const kt_real q =
            spread > 0 ? (mean * mean + var) / (spread * spread) : 1;

        want[i] = z * a + b;
        bound[i] = fabsl(a) * v *
                       ((p + 4) * fminl(q, 4) * fabsl(z) + 4 * fabsl(z) +
                        (var > 0 ? p * magnitude / spread : 0)) +
                   2 * v * fabsl(want[i]);
    }
}

static void run_norm_case(struct kt *t, const struct norm_case *c, bool layer,
                          enum kt_type type)
{
    const size_t total = c->rows * c->n, size = kt_size(type);
    const size_t lead = c->lead * size;
    int32_t n = (int32_t)c->n;
    int32_t block = (int32_t)(c->block_x    ? c->block_x
                              : c->n < 1024 ? 32
                                            : 1024);
    void *x = kt_host(t, type, total, KT_SMALL, c->n);
    void *alpha = c->alpha ? kt_host(t, type, c->n, KT_SMALL, 3) : NULL;
    void *beta = layer && c->beta ? kt_host(t, type, c->n, KT_SMALL, 4) : NULL;
    kt_real *want = kt_alloc(t, total * sizeof(*want));
    kt_real *bound = kt_alloc(t, total * sizeof(*bound));
    float eps = c->eps;

    for (size_t r = 0; r < c->rows; r++) {
        reduce_fill_row(type, x, r * c->n, c->n, c->data);
        norm_reference(type, layer, x, r * c->n, alpha, beta, c, (size_t)block,
                       want + r * c->n, bound + r * c->n);
    }
    const void *src = kt_device(t, x, total * size, lead);
    void *dst = kt_device(t, NULL, total * size, lead);
    const void *a = alpha ? kt_device(t, alpha, c->n * size, lead) : NULL;
    const void *b = beta ? kt_device(t, beta, c->n * size, lead) : NULL;
    void *got = kt_alloc(t, total * size);
    const unsigned grid[3] = {(unsigned)c->rows / c->block_y, 1, 1};
    const unsigned threads[3] = {(unsigned)block, c->block_y, 1};

    reduce_name_case(t, c->name, c->n, (size_t)block);
    if (layer ? !kt_launch(t, grid, threads, 0,
                           KPK_ARGS(src, dst, a, b, n, block, eps))
              : !kt_launch(t, grid, threads, 0,
                           KPK_ARGS(src, dst, a, n, block, eps)))
        return;
    kt_read(t, got, dst, total * size);
    kt_check(t, type, got, want, total,
             (struct kt_gate){0.5L, 1, bound, false});
}

/*
 * A grid so large that a block takes its neighbours' rows too, a few ones over
 * and over, one of them huge: each must come out as in a small grid.
 */
static void run_shared_norm(struct kt *t, bool layer, enum kt_type type,
                            size_t rows, size_t columns, unsigned threads)
{
    if (!kt_turn(t))
        return;

    const size_t row = columns * kt_size(type);
    char *x = kt_alloc(t, rows * row), *got = kt_alloc(t, rows * row);
    const void *alpha = kt_host(t, type, columns, KT_SMALL, 3);
    int32_t n = (int32_t)columns, block = (int32_t)threads;
    float eps = 1e-5f;

    reduce_name_case(t, "shared blocks", columns, threads);
    kt_fill(type, x, PERIOD * columns, KT_SMALL, columns);
    reduce_fill_row(type, x, 3 * columns, columns, HUGE_ROWS);
    for (size_t r = PERIOD; r < rows; r++)
        memcpy(x + r * row, x + r % PERIOD * row, row);
    const void *src = kt_device(t, x, rows * row, 0);
    const void *a = kt_device(t, alpha, row, 0), *b = NULL;
    void *dst = kt_device(t, NULL, rows * row, 0);

    for (size_t part = rows; part > 0; part = part == rows ? PERIOD : 0) {
        const unsigned grid[3] = {(unsigned)part, 1, 1};
        const unsigned shape[3] = {threads, 1, 1};

        if (layer ? !kt_launch(t, grid, shape, 0,
                               KPK_ARGS(src, dst, a, b, n, block, eps))
                  : !kt_launch(t, grid, shape, 0,
                               KPK_ARGS(src, dst, a, n, block, eps)))
            return;
        if (part == rows) {
            kt_read(t, got, dst, rows * row);
            kpk_fill(t->inst, dst, 0xA5, rows * row);
        }
    }
    kt_read(t, x, dst, PERIOD * row); /* run_norm_case() checks these rows */
    for (size_t r = 0; r < rows; r++)
        kt_check_bytes(t, got + r * row, x + r % PERIOD * row, row,
                       "the rows of a small grid");
}

void reduce_run_norm(struct kt *t, const struct kt_row *row)
{
    const bool layer = *(const bool *)row->detail;

    if (row->a == KT_F32) { /* a pair of rows at once, and one by one */
        run_shared_norm(t, layer, row->a, 2053, 100, 1024);
        run_shared_norm(t, layer, row->a, 2053, 516, 1024);
        run_shared_norm(t, layer, row->a, 16389, 1100, 128);
    }
    if (row->a == KT_BF16) {
        run_shared_norm(t, layer, row->a, 16389, 80, 128);
        run_shared_norm(t, layer, row->a, 2053, 1288, 1024);
    }

    for (size_t c = 0; c < NNORM_CASES; c++) {
        const bool squares_overflow =
            norm_cases[c].data == BIG && row->a == KT_F16;

        if (!squares_overflow && kt_turn(t))
            run_norm_case(t, &norm_cases[c], layer, row->a);
    }
}
