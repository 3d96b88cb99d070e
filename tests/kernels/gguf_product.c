/* gguf_product.c - what the tests of GGUF kernels share */
#include "gguf_product.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Sets t->what; the text lives as long as the row. */
void name_case(struct kt *t, const char *what, size_t a, size_t b)
{
    char *text = kt_alloc(t, 96);

    snprintf(text, 96, "%s %zux%zu", what, a, b);
    t->what = text;
}

/* Puts nblocks blocks on the device, `lead` bytes behind an aligned address,
 * and a copy in *host. `tail` bytes of NaNs follow the last block. */
const void *device_blocks(struct kt *t, enum gguf_id id, size_t nblocks,
                          enum gguf_data data, size_t tail, size_t lead,
                          uint8_t **host)
{
    const size_t nbytes = nblocks * gguf_format_of(id)->nbytes;

    *host = kt_alloc(t, nbytes + tail);
    gguf_fill(id, *host, nblocks, data, nblocks + (uint64_t)id);
    memset(*host + nbytes, 0xff, tail);
    return kt_device(t, *host, nbytes + tail, lead);
}

/* Reports a value beyond its bound, the first few of a row. */
void check_near(struct kt *t, size_t i, double got, double want, double bound)
{
    t->checks++;
    if (isfinite(want) ? fabs(got - want) <= bound : !isfinite(got))
        return;
    if (t->failures < 8)
        kt_fail(t, "index %zu: want %.9g within %.3g, got %.9g", i, want, bound,
                got);
    else
        t->failures++;
}

/* ---- quantize_q8_1 ---- */

/* values that block number b is made of */
static void activation_block(float *x, size_t b, uint64_t *seed)
{
    for (size_t i = 0; i < 32; i++) {
        const double u =
            (double)(kt_random(seed) >> 11) * 0x1p-53 * 2 - 1; /* [-1, 1) */
        const size_t round = b / 10;
        uint32_t code;

        switch (b % 10) {
        case 0:
            x[i] = (float)(4 * u);
            break;
        case 1:
            x[i] = 0;
            break;
        case 2: /* exact halves of both signs in units of d, 127 the most */
            x[i] = (float)(2 * round + 1) * 0.125f *
                   (i == 5 ? 127 : (float)i * 4 - 63.5f);
            break;
        case 3:
            x[i] = i == 17 ? -3e30f : (float)u;
            break;
        case 4:
            x[i] = (float)(u * 1e-6);
            break;
        case 5:
            x[i] = (float)(u * 1e-3);
            break;
        case 6: /* the sum passes f16's largest number */
            x[i] = (float)(6000 + u);
            break;
        case 7:
            x[i] = i == 3 ? NAN : i == 9 ? INFINITY : (float)u;
            break;
        case 8: /* next to halves of a d that is no power of two */
            x[i] = (float)(2 * round + 1) * 0.7f *
                   (i == 5 ? 127 : (float)i * 4 - 63.5f);
            x[i] = nextafterf(x[i], u < 0 ? -INFINITY : INFINITY);
            break;
        default: /* any code */
            code = (uint32_t)kt_random(seed);
            memcpy(&x[i], &code, sizeof(code));
            break;
        }
    }
}

/* a row of numbers, padded, to Q8_1 */
typedef void quantize_row(const float *, size_t, size_t, uint8_t *);

static void run_quantize_as(struct kt *t, const struct kt_row *row,
                            quantize_row *quantize)
{
    /* the last three: enough workgroups for each way to share the work; of
     * those of a row the last four may be two */
    static const struct {
        size_t nrows, columns;
    } cases[] = {{1, 1},    {2, 31},    {3, 32},    {1, 33},
                 {2, 511},  {3, 512},   {1, 513},   {2, 1056},
                 {3, 2561}, {130, 515}, {2050, 70}, {683, 1500}};

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        const size_t nrows = cases[c].nrows, kx = cases[c].columns;
        const size_t padded = round_up(kx, 512);
        const size_t nbytes = nrows * padded / 32 * Q8_1_NBYTES;
        float *x = kt_alloc(t, nrows * padded * sizeof(*x));
        uint8_t *want = kt_alloc(t, nbytes), *got = kt_alloc(t, nbytes);
        int32_t kx_arg = (int32_t)kx, padded_arg = (int32_t)padded;
        uint8_t *in = kt_alloc(t, nrows * kx * kt_size(row->a));
        uint64_t seed = c;
        const void *dx;
        void *dy;

        name_case(t, "activations", nrows, kx);
        for (size_t b = 0; b < nrows * padded / 32; b++)
            activation_block(x + 32 * b, b + c, &seed);
        for (size_t i = 0; i < nrows * kx; i++) {
            kt_put(row->a, in, i, (kt_real)x[i]);
            x[i] = (float)kt_get(row->a, in, i);
        }
        for (size_t r = 0; r < nrows; r++)
            quantize(x + r * kx, kx, padded,
                     want + r * (padded / 32) * Q8_1_NBYTES);
        dx = kt_device(t, in, nrows * kx * kt_size(row->a),
                       c % 2 ? kt_size(row->a) : 0);
        dy = kt_device(t, NULL, nbytes, 4);
        if (!kt_launch(t,
                       (const unsigned[3]){(unsigned)(padded / 256),
                                           (unsigned)nrows, 1},
                       (const unsigned[3]){256, 1, 1}, 0,
                       KPK_ARGS(dx, dy, kx_arg, padded_arg)))
            return;
        kt_read(t, got, dy, nbytes);
        /* a NaN sum is a NaN of any code */
        for (size_t b = 0; b < nbytes; b += Q8_1_NBYTES)
            if (isnan(kt_get(KT_F16, want + b, 1)) &&
                isnan(kt_get(KT_F16, got + b, 1)))
                memcpy(want + b + 2, got + b + 2, 2);
        kt_check_bytes(t, got, want, nbytes, "the Q8_1 blocks");
    }
}

void run_quantize(struct kt *t, const struct kt_row *row)
{
    run_quantize_as(t, row, q8_1_quantize);
}

void run_quantize_quants(struct kt *t, const struct kt_row *row)
{
    run_quantize_as(t, row, q8_1_quantize_quants);
}

/* ---- products ---- */

static bool is_tame(const struct product_case *c)
{
    return c->data_around == TAME || c->data_around == LARGE ||
           c->data_around == SMALL;
}

/* ncols columns of k values and their Q8_1 blocks, `padded` elements apart. */
static uint8_t *columns_of(struct kt *t, const struct product_case *c, size_t k,
                           size_t padded, float *x)
{
    const size_t column = padded / 32 * Q8_1_NBYTES;
    uint8_t *y = kt_alloc(t, c->ncols * column);
    uint64_t seed = 99;

    kt_fill(KT_F32, x, c->ncols * k, KT_SMALL, k + c->nrows);
    for (size_t i = 0; c->data_around == FAINT && i < c->ncols * k; i++)
        x[i] *= 0x1p-12f;
    for (size_t i = 0; c->data_around == SMALL && i < c->ncols * k; i++)
        x[i] *= 0x1p-18f;
    /* not in all columns, and not the same blocks in those */
    for (size_t i = 0; c->data_around == LARGE && i < c->ncols * k; i++) {
        const size_t j = i / k, b = i % k / 32;

        if (j % 4 == 3)
            continue;
        if ((b + j) % 5 == 0)
            x[i] += 3000;
        else if ((b + j) % 5 == 2)
            x[i] = -8.27e6f + 1e4f * x[i];
    }
    for (size_t j = 0; j < c->ncols; j++) {
        q8_1_quantize(x + j * k, k, padded, y + j * column);
        if (is_tame(c))
            continue;
        memset(y + j * column + k / 32 * Q8_1_NBYTES, 0xff,
               (padded - k) / 32 * Q8_1_NBYTES);
        for (size_t b = 0; b < k / 32; b++)
            kt_put(KT_F16, y + j * column + b * Q8_1_NBYTES + 2, 0,
                   (kt_real)(kt_random(&seed) % 64) - 32);
    }
    return y;
}

/* Result i within bound of want, then rounded to its type: rounding keeps the
 * order, so it is between what the ends become. */
static void check_result(struct kt *t, enum kt_type type, const uint8_t *got,
                         size_t i, double want, double bound)
{
    const double value = (double)kt_get(type, got, i);
    uint8_t ends[16];
    double low, high;

    if (type == KT_F32 || !isfinite(want)) {
        check_near(t, i, value, want, bound);
        return;
    }
    kt_put(type, ends, 0, (kt_real)(want - bound));
    kt_put(type, ends, 1, (kt_real)(want + bound));
    low = (double)kt_get(type, ends, 0);
    high = (double)kt_get(type, ends, 1);
    if (value >= low && value <= high)
        t->checks++;
    else
        check_near(t, i, value, want, bound);
}

/* A product of quantized columns and, where they are close, of the columns. */
struct both_products {
    struct gguf_sum sum, exact;
    double error; /* largest change by quantizing */
};

static bool has_exact(const struct product_case *c)
{
    return is_tame(c) && c->data == GGUF_RANDOM;
}

/* row r and column j go to [r * ncols + j] */
static void fill_products(const struct product *p, const struct product_case *c,
                          const uint8_t *w, const uint8_t *y, const float *x,
                          size_t y_stride, struct both_products *both)
{
    const struct gguf_format *f = gguf_format_of(p->id);
    const size_t k = c->nblocks * f->elems;

    for (size_t r = 0; r < c->nrows; r++) {
        struct gguf_row weights =
            gguf_row(p->id, w + r * c->nblocks * f->nbytes, k, p->cols == 0);

        for (size_t j = 0; j < c->ncols; j++, both++) {
            both->sum = gguf_product(&weights, y + j * y_stride);
            if (!has_exact(c))
                continue;
            both->exact = gguf_float_product(&weights, x + j * k);
            both->error = gguf_quantization_error(&weights, x + j * k);
        }
        gguf_row_free(&weights);
    }
}

/* dst[j * stride + r] against both references */
static void check_products(struct kt *t, const struct kt_row *row,
                           const struct product_case *c,
                           const struct both_products *both, const uint8_t *got,
                           size_t stride)
{
    const struct product *p = row->detail;
    const struct gguf_format *f = gguf_format_of(p->id);
    const size_t k = c->nblocks * f->elems, size = kt_size(row->a);
    const double rounding = ((double)k / 32 + 16) * 0x1p-24;
    const uint8_t sentinel[4] = {0xa5, 0xa5, 0xa5, 0xa5};

    for (size_t r = 0; r < stride; r++) {
        for (size_t j = 0; j < c->ncols; j++) {
            const size_t at = j * stride + r;
            const struct both_products *want;

            if (r >= c->nrows) { /* between the columns */
                kt_check_bytes(t, got + at * size, sentinel, size,
                               "the gap in dst");
                continue;
            }
            want = &both[r * c->ncols + j];
            check_result(t, row->a, got, at,
                         want->sum.value + 0 * want->sum.size,
                         rounding * want->sum.size);
            if (has_exact(c))
                check_result(t, row->a, got, at, want->exact.value,
                             want->error + rounding * want->sum.size);
        }
    }
}

void run_product_on(struct kt *t, const struct kt_row *row,
                    const struct product_case *c, unsigned grid_x)
{
    if (!kt_turn(t))
        return;

    const struct product *p = row->detail;
    const size_t size = kt_size(row->a);
    const struct gguf_format *f = gguf_format_of(p->id);
    const size_t k = c->nblocks * f->elems;
    const size_t padded = round_up(k, 512) + (is_tame(c) ? 0 : 512);
    const size_t y_stride = padded / 32 * Q8_1_NBYTES;
    const size_t stride = c->data_around == CUT ? c->nrows - 2
                          : is_tame(c)          ? c->nrows
                                                : c->nrows + 3;
    uint8_t *w;
    const void *vx =
        device_blocks(t, p->id, c->nrows * c->nblocks, c->data,
                      is_tame(c) ? 0 : 512 / f->elems * f->nbytes,
                      c->data_around == HOSTILE ? f->align : 0, &w);
    float *x = kt_alloc(t, c->ncols * k * sizeof(*x));
    const uint8_t *y = columns_of(t, c, k, padded, x);
    const void *vy =
        kt_device(t, y, c->ncols * y_stride, c->data_around == HOSTILE ? 4 : 0);
    const size_t ndst =
        (c->ncols - 1) * stride + (stride < c->nrows ? stride : c->nrows);
    void *dst = kt_device(t, NULL, ndst * size, 0);
    uint8_t *got = kt_alloc(t, c->ncols * stride * size);
    int32_t ncols_x = (int32_t)k, nrows_x = (int32_t)c->nrows;
    int32_t ncols_y = (int32_t)c->ncols,
            nrows_y = (int32_t)(p->in_blocks ? padded / 32 : padded);
    int32_t nrows_dst = (int32_t)stride;
    const unsigned grid[3] = {
        grid_x ? grid_x
               : (unsigned)((c->nrows + p->tile_rows - 1) / p->tile_rows),
        (unsigned)((c->ncols + p->tile_cols - 1) / p->tile_cols), 1};
    const unsigned block[3] = {32, p->cols > 4 ? 2 : 4, 1};
    struct kt_shared *both =
        kt_shared(t, c->nrows * c->ncols * sizeof(struct both_products));

    name_case(t, c->name, c->nrows, k);
    if (!both->filled)
        fill_products(p, c, w, y, x, y_stride, both->data);
    both->filled = true;
    if (p->cols ? !kt_launch(t, grid, block, 0,
                             KPK_ARGS(vx, vy, dst, ncols_x, nrows_x, nrows_y,
                                      nrows_dst))
                : !kt_launch(t, grid, block, 0,
                             KPK_ARGS(vx, vy, dst, ncols_x, nrows_x, ncols_y,
                                      nrows_y, nrows_dst)))
        return;
    memset(got, 0xa5, c->ncols * stride * size);
    kt_read(t, got, dst, ndst * size);
    check_products(t, row, c, both->data, got, stride);
}

void run_product(struct kt *t, const struct kt_row *row,
                 const struct product_case *c)
{
    run_product_on(t, row, c, 0);
}

/* Q4_0 as the specification's examples quantize it, and their results. */
static void quantize_q4_0(const float *x, uint8_t *b)
{
    float most = 0, d;

    for (size_t i = 0; i < 32; i++)
        if (fabsf(x[i]) > fabsf(most))
            most = x[i];
    d = most / -8;
    kt_put(KT_F16, b, 0, (kt_real)d);
    for (size_t i = 0; i < 16; i++) {
        const float inverse = d != 0 ? 1 / d : 0;
        const int low = (int)(x[i] * inverse + 8.5f);
        const int high = (int)(x[i + 16] * inverse + 8.5f);

        b[2 + i] =
            (uint8_t)((low < 15 ? low : 15) | (high < 15 ? high : 15) << 4);
    }
}

void run_example(struct kt *t, size_t n, size_t ncols, float unit,
                 const double *want)
{
    float *x = kt_alloc(t, n * ncols * sizeof(*x));
    uint8_t *w = kt_alloc(t, n * ncols / 32 * 18);
    const size_t column = round_up(n, 512) / 32 * Q8_1_NBYTES;
    uint8_t *y = kt_alloc(t, ncols * column);
    float *got = kt_alloc(t, ncols * ncols * sizeof(*got));
    float *dst = kt_device(t, NULL, ncols * ncols * sizeof(*dst), 0);
    int32_t nx = (int32_t)n, rows = (int32_t)ncols, cols = rows;
    int32_t ny = (int32_t)round_up(n, 512);
    const void *vx, *vy;
    bool done;

    name_case(t, "example", ncols, n);
    for (size_t i = 0; i < n * ncols; i++)
        x[i] = (float)i * unit;
    for (size_t b = 0; b < n * ncols / 32; b++)
        quantize_q4_0(x + 32 * b, w + 18 * b);
    for (size_t j = 0; j < ncols; j++)
        q8_1_quantize(x + j * n, n, round_up(n, 512), y + j * column);
    vx = kt_device(t, w, n * ncols / 32 * 18, 0);
    vy = kt_device(t, y, ncols * column, 0);
    if (ncols == 1)
        done = kt_launch(t, (const unsigned[3]){1, 1, 1},
                         (const unsigned[3]){32, 4, 1}, 0,
                         KPK_ARGS(vx, vy, dst, nx, rows, ny, rows));
    else
        done = kt_launch(t, (const unsigned[3]){1, 1, 1},
                         (const unsigned[3]){32, 4, 1}, 0,
                         KPK_ARGS(vx, vy, dst, nx, rows, cols, ny, rows));
    if (!done)
        return;
    kt_read(t, got, dst, ncols * ncols * sizeof(*got));
    for (size_t i = 0; i < ncols * ncols; i++)
        check_near(t, i, (double)got[i], want[i], want[i] * 1e-6);
}

static bool is_legacy(const struct product *p)
{
    return gguf_format_of(p->id)->elems == 32;
}

static bool is_nvidia(const struct kt *t)
{
    return strncmp(t->target, "sm_", 3) == 0;
}

static void run_products(struct kt *t, const struct kt_row *row,
                         const struct product_case *cases, size_t n)
{
    const struct product *p = row->detail;

    for (size_t i = 0; i < n; i++)
        if (!p->in_blocks || cases[i].data_around != CUT)
            run_product(t, row, &cases[i]);
}
#define RUN_PRODUCTS(t, row, cases)                                            \
    run_products(t, row, cases, sizeof(cases) / sizeof((cases)[0]))

static void run_few_rows(struct kt *t, const struct kt_row *row)
{
    const struct product *p = row->detail;
    const size_t n = p->cols;
    const struct product_case cases[] = {
        {"random", 1, 1, n, GGUF_RANDOM, TAME},
        {"random", 9, 3, n, GGUF_RANDOM, TAME},
        {"hostile", 3, 2, n, GGUF_RANDOM, HOSTILE},
        {"hostile", 5, 33, n, GGUF_EXTREME, HOSTILE},
        {"zero", 2, 64, n, GGUF_ZERO, TAME},
        {"scales", 7, 8, n, GGUF_SCALES, TAME},
        {"nonfinite", 10, 9, n, GGUF_NONFINITE, TAME},
        {"long", 3, is_legacy(p) ? 145 : 19, n, GGUF_RANDOM,
         n % 2 ? TAME : HOSTILE},
        {"poisoned", 35, is_legacy(p) ? 37 : 5, n, GGUF_RANDOM, POISONED},
        {"cut", 9, 3, n, GGUF_RANDOM, CUT},
        {"large columns", 9, 3, n, GGUF_RANDOM, LARGE},
        {"large columns", 5, 33, n, GGUF_RANDOM, LARGE},
        {"small columns", 6, 3, n, GGUF_RANDOM, SMALL},
    };

    RUN_PRODUCTS(t, row, cases);
}

static void run_lengths(struct kt *t, const struct kt_row *row)
{
    static const size_t legacy_lengths[] = {0, 63, 65, 127, 128, 129};
    static const size_t k_lengths[] = {0, 7, 8, 15, 16, 17};
    const struct product *p = row->detail;

    for (size_t i = 0; i < 6; i++) {
        const size_t nblocks = is_legacy(p) ? legacy_lengths[i] : k_lengths[i];
        const struct product_case c = {"length",    1 + i,
                                       nblocks,     p->cols,
                                       GGUF_RANDOM, i % 2 ? HOSTILE : TAME};

        run_product(t, row, &c);
    }
}

/* A workgroup takes several of these rows. The way is the same for all types
 * once the numbers are added up, so one type has long rows. */
static void run_several_rows(struct kt *t, const struct kt_row *row)
{
    const struct product *p = row->detail;
    const size_t n = p->cols;
    const bool longer = is_nvidia(t) || row->a == KT_F32 || is_legacy(p);
    const struct product_case cases[] = {
        {"several rows", 1219, longer ? 8 : 2, n, GGUF_RANDOM, TAME},
        {"several rows", 1217, longer ? 3 : 1, n, GGUF_RANDOM,
         n % 2 ? HOSTILE : TAME},
    };

    if (!p->few_rows)
        RUN_PRODUCTS(t, row, cases);
}

/* One column: grids with fewer workgroups than candle launches, and with more;
 * rows that begin on multiples of 16, and not; several passes. sm_80 and later.
 */
static void run_compact_grids(struct kt *t, const struct kt_row *row)
{
    const struct product *p = row->detail;
    const size_t n = p->cols;
    const bool legacy = is_legacy(p);
    const struct {
        struct product_case c;
        unsigned grid;
    } compact[] = {
        {{"compact", 35, legacy ? 9 : 3, n, GGUF_RANDOM, TAME}, 1},
        {{"compact", 67, legacy ? 8 : 2, n, GGUF_RANDOM, POISONED}, 5},
        {{"compact", 21, legacy ? 33 : 5, n, GGUF_RANDOM, HOSTILE}, 2},
        {{"compact", 34, legacy ? 16 : 8, n, GGUF_EXTREME, CUT}, 6},
        {{"too many", 7, legacy ? 16 : 8, n, GGUF_RANDOM, TAME}, 40},
        {{"compact", 43, legacy ? 328 : 40, n, GGUF_RANDOM, TAME}, 3},
    };

    if (n != 1 || p->id == GGUF_Q8_0 || !is_nvidia(t) ||
        strtol(t->target + 3, NULL, 10) < 80)
        return;
    for (size_t i = 0; i < sizeof(compact) / sizeof(compact[0]); i++)
        if (!p->in_blocks || compact[i].c.data_around != CUT)
            run_product_on(t, row, &compact[i].c, compact[i].grid);
}

/* Enough workgroups for NVIDIA's other ways to share the work, as in two steps.
 * AMD's kernels have no such ways. */
static void run_many_rows(struct kt *t, const struct kt_row *row)
{
    const struct product *p = row->detail;
    const size_t n = p->cols;
    const bool legacy = is_legacy(p);
    const struct product_case many[] = {
        {"more rows", n == 1 ? 4099 : 8195, legacy ? 8 : 2, n, GGUF_RANDOM,
         TAME},
        {"many rows", 40005, 1, n, GGUF_RANDOM, TAME},
        {"many longer rows", 6005, legacy ? 48 : 8, n, GGUF_RANDOM, TAME},
        {"many long rows", n > 1 && n <= 4 ? 4603 : 35, legacy ? 112 : 14, n,
         GGUF_RANDOM, TAME},
        {"row a workgroup", 779, legacy ? 128 : 16, n, GGUF_RANDOM, TAME},
        {"long row a workgroup", 131, legacy ? 217 : 29, n, GGUF_RANDOM, TAME},
        {"two rows a workgroup", 1051, legacy ? 96 : 12, n, GGUF_RANDOM, TAME},
        {"four rows a workgroup", 2899, legacy ? 64 : 8, n, GGUF_RANDOM, TAME},
        {"one in a few", 5003, legacy ? 35 : 5, n, GGUF_RANDOM, TAME},
        {"one in a few of many", 20011, legacy ? 35 : 5, n, GGUF_RANDOM, TAME},
    };
    const struct product_case large[] = {
        {"many rows, large columns", 40005, 2, n, GGUF_RANDOM, LARGE},
        {"more rows, large columns", n == 1 ? 4099 : 8195, 8, n, GGUF_RANDOM,
         LARGE},
        {"long rows, large columns", 779, 128, n, GGUF_RANDOM, LARGE},
    };

    if (!is_nvidia(t) ||
        (row->a != KT_F32 && p->id != GGUF_Q4_0 && p->id != GGUF_Q3_K))
        return;
    RUN_PRODUCTS(t, row, many);
    if (gguf_format_of(p->id)->vec == GGUF_BIAS_S)
        RUN_PRODUCTS(t, row, large);
}

void run_mat_vec(struct kt *t, const struct kt_row *row)
{
    static const double example[] = {5561664.5};
    const struct product *p = row->detail;

    run_few_rows(t, row);
    run_lengths(t, row);
    run_several_rows(t, row);
    run_compact_grids(t, row);
    run_many_rows(t, row);
    if (p->id == GGUF_Q4_0 && p->cols == 1 && !p->in_blocks)
        run_example(t, 256, 1, 1, example);
}
