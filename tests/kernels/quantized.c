/* quantized.c - the GGUF kernels against references in double
 *
 * Dequantising, rows and Q8_1 must be exact. Products must stay within the
 * rounding of f32 sums: T units in the last place of the sum of all terms'
 * magnitudes, T = columns / 32 + 16, as the kernels' specification sets it.
 * Where a reference is not finite, so must be the result, and no other element
 * may be touched by it.
 */
#include "../../kernels/include/gguf/formats.h"
#include "gguf_ref.h"
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const kpk_module kpk_module_quantized;

/* ---- what the rows share ---- */

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Sets t->what; the text lives as long as the row. */
static void name_case(struct kt *t, const char *what, size_t a, size_t b)
{
    char *text = kt_alloc(t, 96);

    snprintf(text, 96, "%s %zux%zu", what, a, b);
    t->what = text;
}

/* nblocks blocks on the device, and a copy in *host. `tail` bytes of NaNs
 * follow that belong to nobody. */
static const void *device_blocks(struct kt *t, enum gguf_id id, size_t nblocks,
                                 enum gguf_data data, size_t tail, size_t lead,
                                 uint8_t **host)
{
    const size_t nbytes = nblocks * gguf_formats[id].nbytes;

    *host = kt_alloc(t, nbytes + tail);
    gguf_fill(id, *host, nblocks, data, nblocks + (uint64_t)id);
    memset(*host + nbytes, 0xff, tail);
    return kt_device(t, *host, nbytes + tail, lead);
}

/* Reports a value beyond its bound, the first few of a row. */
static void check_near(struct kt *t, size_t i, double got, double want,
                       double bound)
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

/* Numbers that must be exact; any infinity or NaN is as good as another. */
static void check_exact(struct kt *t, enum kt_type type, const void *got,
                        const float *want, size_t n)
{
    kt_real *w = kt_alloc(t, n * sizeof(*w));
    uint8_t code[4];

    for (size_t i = 0; i < n; i++) {
        const kt_real v = kt_get(type, got, i);

        kt_put(type, code, 0, (kt_real)want[i]);
        w[i] = kt_get(type, code, 0);
        if (!isfinite(want[i]) && !isfinite(v))
            w[i] = v;
    }
    kt_check(t, type, got, w, n, KT_EXACT);
}

static const struct data_case {
    const char *name;
    enum gguf_data data;
} all_data[] = {
    {"random", GGUF_RANDOM},       {"zero", GGUF_ZERO},
    {"extreme", GGUF_EXTREME},     {"scales", GGUF_SCALES},
    {"nonfinite", GGUF_NONFINITE},
};
static const struct data_case every_code = {"every byte", GGUF_CODES};
#define NDATA (sizeof(all_data) / sizeof(all_data[0]))

/* ---- dequantize_block_* ---- */

/* how callers launch it, and what the third argument counts */
struct dequantize_shape {
    enum gguf_id id;
    unsigned elems, threads; /* of a workgroup */
    size_t unit;             /* elements; 0: no third argument */
};

static void run_dequantize(struct kt *t, const struct kt_row *row)
{
    const struct dequantize_shape *s = row->detail;
    const struct gguf_format *f = &gguf_formats[s->id];
    static const size_t counts[] = {1, 3, 7, 8, 9, 15, 16, 17, 40, 256};

    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        const struct data_case *d =
            counts[c] == 256 ? &every_code : &all_data[c % NDATA];
        const size_t n = counts[c] * f->elems;
        const unsigned grid = (unsigned)((n + s->elems - 1) / s->elems);
        const size_t lead = c % 2 ? f->align : 0;
        uint8_t *host;
        const void *x =
            device_blocks(t, s->id, counts[c], d->data, 0, lead, &host);
        void *y = kt_device(t, NULL, n * kt_size(row->a),
                            c % 3 == 2 ? kt_size(row->a) : 0);
        void *got = kt_alloc(t, n * kt_size(row->a));
        float *want = kt_alloc(t, n * sizeof(*want));
        int32_t count = (int32_t)(s->unit ? n / s->unit : 0);

        name_case(t, d->name, counts[c], f->elems);
        gguf_dequantize(s->id, host, n, want);
        if (s->unit ? !KT_LAUNCH(t, grid, s->threads, 0, x, y, count)
                    : !KT_LAUNCH(t, grid, s->threads, 0, x, y))
            return;
        kt_read(t, got, y, n * kt_size(row->a));
        check_exact(t, row->a, got, want, n);
    }
}

/* ---- get_rows_* ---- */

struct rows_shape {
    enum gguf_id id;
    unsigned threads;
    size_t per_group; /* columns to a workgroup as launched */
};

static const uint32_t row_ids[] = {4, 0, 2, 2, 4, 1};
#define NIDS (sizeof(row_ids) / sizeof(row_ids[0]))
#define NSOURCE 5

static bool launch_get_rows(struct kt *t, const void *src, size_t ne00,
                            size_t nb01, size_t per_group, unsigned threads,
                            float *got)
{
    const void *ids = kt_device(t, row_ids, sizeof(row_ids), 0);
    float *dst = kt_device(t, NULL, NIDS * ne00 * sizeof(float), 0);
    int64_t n = (int64_t)ne00;

    if (!kt_launch(t,
                   (const unsigned[3]){
                       NIDS, (unsigned)((ne00 + per_group - 1) / per_group), 1},
                   (const unsigned[3]){threads, 1, 1}, 0,
                   KPK_ARGS(src, ids, dst, n, nb01)))
        return false;
    kt_read(t, got, dst, NIDS * ne00 * sizeof(float));
    return true;
}

static void run_get_rows(struct kt *t, const struct kt_row *row)
{
    const struct rows_shape *s = row->detail;
    const struct gguf_format *f = &gguf_formats[s->id];
    static const size_t legacy[] = {32, 512 + 32, 1312}, k[] = {256, 768, 1024};

    for (size_t c = 0; c < 3; c++) {
        const size_t ne00 = f->elems == 32 ? legacy[c] : k[c];
        /* rows may be farther apart than they are long */
        const size_t used = ne00 / f->elems * f->nbytes;
        const size_t nb01 = used + (c == 1 ? f->nbytes : 0);
        const struct data_case *d = &all_data[c == 2 ? 4 : 3 * c];
        uint8_t *host;
        const void *src =
            device_blocks(t, s->id, nb01 / f->nbytes * NSOURCE, d->data, 0,
                          c == 1 ? f->align : 0, &host);
        float *got = kt_alloc(t, NIDS * ne00 * sizeof(*got));
        float *want = kt_alloc(t, NIDS * ne00 * sizeof(*want));

        name_case(t, d->name, NIDS, ne00);
        for (size_t i = 0; i < NIDS; i++)
            gguf_dequantize(s->id, host + row_ids[i] * nb01, ne00,
                            want + i * ne00);
        if (!launch_get_rows(t, src, ne00, nb01, s->per_group, s->threads, got))
            return;
        check_exact(t, KT_F32, got, want, NIDS * ne00);
    }
}

static void run_get_float_rows(struct kt *t, const struct kt_row *row)
{
    static const size_t lengths[] = {1, 31, 257, 600};

    for (size_t c = 0; c < sizeof(lengths) / sizeof(lengths[0]); c++) {
        const size_t ne00 = lengths[c];
        const void *host = kt_host(t, row->a, NSOURCE * ne00, KT_HOSTILE, c);
        const void *src = kt_device(t, host, NSOURCE * ne00 * kt_size(row->a),
                                    kt_size(row->a));
        float *got = kt_alloc(t, NIDS * ne00 * sizeof(*got));
        float *want = kt_alloc(t, NIDS * ne00 * sizeof(*want));

        name_case(t, "hostile", NIDS, ne00);
        for (size_t i = 0; i < NIDS * ne00; i++)
            want[i] = (float)kt_get(row->a, host,
                                    row_ids[i / ne00] * ne00 + i % ne00);
        if (!launch_get_rows(t, src, ne00, 0, 256, 256, got))
            return;
        kt_check_bits(t, KT_F32, got, want, NIDS * ne00);
    }
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

static void run_quantize(struct kt *t, const struct kt_row *row)
{
    static const size_t columns[] = {1, 31, 32, 33, 511, 512, 513, 1056, 2561};

    (void)row;
    for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
        const size_t nrows = 1 + c % 3, kx = columns[c];
        const size_t padded = round_up(kx, 512);
        const size_t nbytes = nrows * padded / 32 * Q8_1_NBYTES;
        float *x = kt_alloc(t, nrows * padded * sizeof(*x));
        uint8_t *want = kt_alloc(t, nbytes), *got = kt_alloc(t, nbytes);
        int32_t kx_arg = (int32_t)kx, padded_arg = (int32_t)padded;
        uint64_t seed = c;
        const void *dx;
        void *dy;

        name_case(t, "activations", nrows, kx);
        for (size_t b = 0; b < nrows * padded / 32; b++)
            activation_block(x + 32 * b, b + c, &seed);
        for (size_t r = 0; r < nrows; r++)
            q8_1_quantize(x + r * kx, kx, padded,
                          want + r * (padded / 32) * Q8_1_NBYTES);
        dx = kt_device(t, x, nrows * kx * sizeof(*x), c % 2 ? sizeof(*x) : 0);
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

/* ---- products ---- */

struct product {
    enum gguf_id id;
    size_t cols;      /* of the symbol; tiled products: 0, any */
    size_t tile_rows; /* of a workgroup */
    size_t tile_cols;
};

struct product_case {
    const char *name;
    size_t nrows, nblocks, ncols;
    enum gguf_data data;
    /* POISONED: NaNs behind the weights and in the columns' padding, odd
     * strides, sums that do not fit the quants; HOSTILE: odd alignments too;
     * CUT: dst takes fewer rows than the matrix has */
    enum { TAME, POISONED, HOSTILE, CUT } data_around;
};

/* ncols columns of k values and their Q8_1 blocks, `padded` elements apart. */
static uint8_t *columns_of(struct kt *t, const struct product_case *c, size_t k,
                           size_t padded, float *x)
{
    const size_t column = padded / 32 * Q8_1_NBYTES;
    uint8_t *y = kt_alloc(t, c->ncols * column);
    uint64_t seed = 99;

    kt_fill(KT_F32, x, c->ncols * k, KT_SMALL, k + c->nrows);
    for (size_t j = 0; j < c->ncols; j++) {
        q8_1_quantize(x + j * k, k, padded, y + j * column);
        if (!c->data_around)
            continue;
        memset(y + j * column + k / 32 * Q8_1_NBYTES, 0xff,
               (padded - k) / 32 * Q8_1_NBYTES);
        for (size_t b = 0; b < k / 32; b++)
            kt_put(KT_F16, y + j * column + b * Q8_1_NBYTES + 2, 0,
                   (kt_real)(kt_random(&seed) % 64) - 32);
    }
    return y;
}

/* dst[j * stride + r] against both references */
static void check_products(struct kt *t, const struct product *p,
                           const struct product_case *c, const uint8_t *w,
                           const uint8_t *y, const float *x, size_t y_stride,
                           const float *got, size_t stride)
{
    const struct gguf_format *f = &gguf_formats[p->id];
    const size_t k = c->nblocks * f->elems;
    const double rounding = ((double)k / 32 + 16) * 0x1p-24;
    const uint8_t sentinel[4] = {0xa5, 0xa5, 0xa5, 0xa5};

    for (size_t r = 0; r < stride; r++) {
        struct gguf_row row = {0};

        if (r < c->nrows)
            row = gguf_row(p->id, w + r * c->nblocks * f->nbytes, k,
                           p->cols == 0);
        for (size_t j = 0; j < c->ncols; j++) {
            const size_t at = j * stride + r;
            struct gguf_sum sum, exact;

            if (r >= c->nrows) { /* between the columns */
                kt_check_bytes(t, got + at, sentinel, 4, "the gap in dst");
                continue;
            }
            sum = gguf_product(&row, y + j * y_stride);
            check_near(t, at, (double)got[at], sum.value + 0 * sum.size,
                       rounding * sum.size);
            if (c->data_around || c->data != GGUF_RANDOM)
                continue;
            exact = gguf_float_product(&row, x + j * k);
            check_near(t, at, (double)got[at], exact.value,
                       gguf_quantization_error(&row, x + j * k) +
                           rounding * sum.size);
        }
        gguf_row_free(&row);
    }
}

static void run_product(struct kt *t, const struct product *p,
                        const struct product_case *c)
{
    const struct gguf_format *f = &gguf_formats[p->id];
    const size_t k = c->nblocks * f->elems;
    const size_t padded = round_up(k, 512) + (c->data_around ? 512 : 0);
    const size_t y_stride = padded / 32 * Q8_1_NBYTES;
    const size_t stride = c->data_around == CUT ? c->nrows - 2
                          : c->data_around      ? c->nrows + 3
                                                : c->nrows;
    uint8_t *w;
    const void *vx =
        device_blocks(t, p->id, c->nrows * c->nblocks, c->data,
                      c->data_around ? 512 / f->elems * f->nbytes : 0,
                      c->data_around == HOSTILE ? f->align : 0, &w);
    float *x = kt_alloc(t, c->ncols * k * sizeof(*x));
    const uint8_t *y = columns_of(t, c, k, padded, x);
    const void *vy =
        kt_device(t, y, c->ncols * y_stride, c->data_around == HOSTILE ? 4 : 0);
    const size_t ndst =
        (c->ncols - 1) * stride + (stride < c->nrows ? stride : c->nrows);
    float *dst = kt_device(t, NULL, ndst * sizeof(*dst), 0);
    float *got = kt_alloc(t, c->ncols * stride * sizeof(*got));
    int32_t ncols_x = (int32_t)k, nrows_x = (int32_t)c->nrows;
    int32_t ncols_y = (int32_t)c->ncols, nrows_y = (int32_t)padded;
    int32_t nrows_dst = (int32_t)stride;
    const unsigned grid[3] = {
        (unsigned)((c->nrows + p->tile_rows - 1) / p->tile_rows),
        (unsigned)((c->ncols + p->tile_cols - 1) / p->tile_cols), 1};
    const unsigned block[3] = {32, p->cols > 4 ? 2 : 4, 1};

    name_case(t, c->name, c->nrows, k);
    if (p->cols ? !kt_launch(t, grid, block, 0,
                             KPK_ARGS(vx, vy, dst, ncols_x, nrows_x, nrows_y,
                                      nrows_dst))
                : !kt_launch(t, grid, block, 0,
                             KPK_ARGS(vx, vy, dst, ncols_x, nrows_x, ncols_y,
                                      nrows_y, nrows_dst)))
        return;
    memset(got, 0xa5, c->ncols * stride * sizeof(*got));
    kt_read(t, got, dst, ndst * sizeof(*got));
    check_products(t, p, c, w, y, x, y_stride, got, stride);
}

/* Q4_0 as the specification's examples quantise it, and their results. */
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

static void run_example(struct kt *t, size_t n, size_t ncols, float unit,
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

static void run_mat_vec(struct kt *t, const struct kt_row *row)
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
        {"long", 3, gguf_formats[p->id].elems == 32 ? 145 : 19, n, GGUF_RANDOM,
         n % 2 ? TAME : HOSTILE},
        {"poisoned", 35, gguf_formats[p->id].elems == 32 ? 37 : 5, n,
         GGUF_RANDOM, POISONED},
        {"cut", 9, 3, n, GGUF_RANDOM, CUT},
    };
    const struct product_case many = {"many rows", 4097,        1,
                                      n,           GGUF_RANDOM, TAME};
    static const size_t legacy_lengths[] = {0, 63, 65, 127, 128, 129};
    static const size_t k_lengths[] = {0, 7, 8, 15, 16, 17};
    static const double example[] = {5561664.5};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        run_product(t, p, &cases[i]);
    for (size_t i = 0; i < 6; i++) {
        const size_t nblocks =
            gguf_formats[p->id].elems == 32 ? legacy_lengths[i] : k_lengths[i];
        const struct product_case c = {
            "length", 1 + i, nblocks, n, GGUF_RANDOM, i % 2 ? HOSTILE : TAME};

        run_product(t, p, &c);
    }
    if (n <= 2 || p->id == GGUF_Q4_0)
        run_product(t, p, &many);
    if (p->id == GGUF_Q4_0 && n == 1)
        run_example(t, 256, 1, 1, example);
}

static void run_tiled(struct kt *t, const struct kt_row *row)
{
    const struct product *p = row->detail;
    const bool k = gguf_formats[p->id].elems == 256;
    const size_t rows = p->tile_rows, cols = p->tile_cols;
    const struct product_case cases[] = {
        {"random", 1, 1, 1, GGUF_RANDOM, TAME},
        {"random", rows + 1, k ? 1 : 3, 9, GGUF_RANDOM, TAME},
        {"hostile", rows - 1, k ? 2 : 7, 4, GGUF_EXTREME, HOSTILE},
        {"hostile", rows, k ? 1 : 3, cols - 1, GGUF_RANDOM, HOSTILE},
        {"random", 5, k ? 3 : 9, cols + 1, GGUF_RANDOM, TAME},
        {"scales", 11, k ? 1 : 8, cols, GGUF_SCALES, TAME},
        {"nonfinite", rows + 2, 1, 5, GGUF_NONFINITE, TAME},
        {"zero", 3, 2, 2, GGUF_ZERO, TAME},
        {"poisoned", 7, k ? 3 : 5, 3, GGUF_RANDOM, POISONED},
        {"cut", 9, 3, 5, GGUF_RANDOM, CUT},
    };
    static const double example[] = {347604,    888153.06,  1422216, 1944456,
                                     869780.69, 2483145,    4105096, 5675912,
                                     1391908.6, 4078099.75, 6787976, 9407368,
                                     1914080.5, 5673137.5,  9470856, 13138824};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        run_product(t, p, &cases[i]);
    if (p->id == GGUF_Q4_0)
        run_example(t, 256, 4, 0.25f, example);
}

/* ---- dequantize_mul_mat_vec_* ---- */

static void run_float_mat_vec(struct kt *t, const struct kt_row *row)
{
    const struct product *p = row->detail;
    const struct gguf_format *f = &gguf_formats[p->id];
    static const struct {
        size_t nrows, nblocks;
        enum gguf_data data;
        float unit; /* y is -4 to 4 of them */
    } cases[] = {{1, 1, GGUF_RANDOM, 1},
                 {3, 2, GGUF_EXTREME, 1},
                 {5, 3, GGUF_RANDOM, 1},
                 {3, 35, GGUF_SCALES, 1},
                 {4, 4, GGUF_ZERO, 1},
                 {6, 5, GGUF_NONFINITE, 1},
                 /* quants times y are no f32, elements times y are */
                 {2, 3, GGUF_TINY, 0x1p125f}};

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        const size_t nrows = cases[c].nrows, nblocks = cases[c].nblocks;
        const size_t k = nblocks * f->elems;
        const double rounding = ((double)k / 32 + 24) * 0x1p-24;
        float *y = kt_host(t, KT_F32, k, KT_SMALL, c);
        const void *dy;
        float *got = kt_alloc(t, nrows * sizeof(*got));
        float *dst = kt_device(t, NULL, nrows * sizeof(*dst), 0);
        int32_t ncols = (int32_t)k, rows = (int32_t)nrows;
        uint8_t *w;
        const void *vx = device_blocks(t, p->id, nrows * nblocks, cases[c].data,
                                       0, c % 2 ? f->align : 0, &w);

        for (size_t i = 0; i < k; i++)
            y[i] *= cases[c].unit;
        dy = kt_device(t, y, k * sizeof(*y), c % 2 ? sizeof(*y) : 0);
        name_case(t, "float column", nrows, k);
        if (p->id == GGUF_Q5_K
                ? !KT_LAUNCH(t, (unsigned)nrows, 32, 0, vx, dy, dst, ncols)
                : !KT_LAUNCH(t, (unsigned)nrows, 32, 0, vx, dy, dst, ncols,
                             rows))
            return;
        kt_read(t, got, dst, nrows * sizeof(*got));
        for (size_t r = 0; r < nrows; r++) {
            struct gguf_row wr =
                gguf_row(p->id, w + r * nblocks * f->nbytes, k, false);
            const struct gguf_sum sum = gguf_float_product(&wr, y);

            check_near(t, r, (double)got[r], sum.value + 0 * sum.size,
                       rounding * sum.size);
            gguf_row_free(&wr);
        }
    }
}

/* ---- indexed_moe_forward_* ---- */

static void run_moe(struct kt *t, const struct kt_row *row)
{
    const struct product *p = row->detail;
    const struct gguf_format *f = &gguf_formats[p->id];
    enum { EXPERTS = 4, BATCH = 2, TOPK = 3 };
    static const uint32_t ids[BATCH * TOPK] = {3, 0, 1, 1, 3, 2};
    const void *dids = kt_device(t, ids, sizeof(ids), 0);

    for (size_t c = 0; c < 4; c++) {
        const size_t inputs = c % 2 ? TOPK : 1, n = 1 + 2 * c;
        const size_t nblocks = f->elems == 32 ? 9 + 4 * c : 1 + c;
        const size_t k = nblocks * f->elems, padded = round_up(k, 512);
        const size_t y_stride = padded / 32 * Q8_1_NBYTES;
        const size_t ninputs = BATCH * inputs, ndst = n * BATCH * TOPK;
        const double rounding = ((double)k / 32 + 16) * 0x1p-24;
        float *x = kt_host(t, KT_F32, ninputs * k, KT_SMALL, c);
        uint8_t *y = kt_alloc(t, ninputs * y_stride), *w;
        const void *vx = device_blocks(t, p->id, EXPERTS * n * nblocks,
                                       c == 3 ? GGUF_NONFINITE : GGUF_RANDOM, 0,
                                       c == 2 ? f->align : 0, &w);
        float *dst = kt_device(t, NULL, ndst * sizeof(*dst), 0);
        float *got = kt_alloc(t, ndst * sizeof(*got));
        int32_t n32 = (int32_t)n, k32 = (int32_t)k, batch = BATCH, topk = TOPK;
        int32_t padded32 = (int32_t)padded, dim1 = (int32_t)inputs;
        const void *vy;

        name_case(t, inputs == 1 ? "one input" : "inputs", n, k);
        for (size_t i = 0; i < ninputs; i++)
            q8_1_quantize(x + i * k, k, padded, y + i * y_stride);
        vy = kt_device(t, y, ninputs * y_stride, 0);
        if (!kt_launch(t, (const unsigned[3]){(unsigned)n, BATCH, TOPK},
                       (const unsigned[3]){32, 4, 1}, 0,
                       KPK_ARGS(vx, vy, dids, dst, n32, k32, batch, topk,
                                padded32, dim1)))
            return;
        kt_read(t, got, dst, ndst * sizeof(*got));
        for (size_t i = 0; i < ndst; i++) {
            const size_t task = i / n;
            const size_t input = inputs == 1 ? task / TOPK : task;
            struct gguf_row wr = gguf_row(
                p->id, w + (ids[task] * n + i % n) * nblocks * f->nbytes, k,
                false);
            const struct gguf_sum sum = gguf_product(&wr, y + input * y_stride);

            check_near(t, i, (double)got[i], sum.value + 0 * sum.size,
                       rounding * sum.size);
            gguf_row_free(&wr);
        }
    }
}

/* ---- the table ---- */

/* clang-format off */
#define DEQUANTIZE(name, id, counts, threads, elems, join)                      \
    {"dequantize_block_" #name "_f32", run_dequantize, KT_F32, KT_F32,          \
     &(const struct dequantize_shape){GGUF_##id, elems, threads,                \
                                      GGUF_UNIT_##counts}},                     \
    {"dequantize_block_" #name "_f16", run_dequantize, KT_F16, KT_F32,          \
     &(const struct dequantize_shape){GGUF_##id, elems, threads,                \
                                      GGUF_UNIT_##counts}},
#define GET_FLOAT_ROWS(name, type)                                              \
    {"get_rows_" name, run_get_float_rows, type, KT_F32, NULL}
#define PRODUCT(symbol, run, ...)                                               \
    {symbol, run, KT_F32, KT_F32, &(const struct product){__VA_ARGS__}},
#define MAT_VEC(name, id)                                                       \
    PRODUCT("mul_mat_vec_" #name "_q8_1_cuda1", run_mat_vec, id, 1, 1, 1)       \
    PRODUCT("mul_mat_vec_" #name "_q8_1_cuda2", run_mat_vec, id, 2, 2, 2)       \
    PRODUCT("mul_mat_vec_" #name "_q8_1_cuda3", run_mat_vec, id, 3, 2, 3)       \
    PRODUCT("mul_mat_vec_" #name "_q8_1_cuda4", run_mat_vec, id, 4, 2, 4)       \
    PRODUCT("mul_mat_vec_" #name "_q8_1_cuda5", run_mat_vec, id, 5, 2, 5)       \
    PRODUCT("mul_mat_vec_" #name "_q8_1_cuda6", run_mat_vec, id, 6, 2, 6)       \
    PRODUCT("mul_mat_vec_" #name "_q8_1_cuda7", run_mat_vec, id, 7, 2, 7)       \
    PRODUCT("mul_mat_vec_" #name "_q8_1_cuda8", run_mat_vec, id, 8, 2, 8)
#define FLOAT_MAT_VEC(name, id)                                                 \
    PRODUCT("dequantize_mul_mat_vec_" name, run_float_mat_vec, id, 1, 1, 1)
#define FLOAT_MAT_VEC_cuda(lower, id) FLOAT_MAT_VEC(#lower "_cuda", id)
#define FLOAT_MAT_VEC_plain(lower, id) FLOAT_MAT_VEC(#lower, id)
#define FLOAT_MAT_VEC_grid(lower, id) FLOAT_MAT_VEC(#lower, id)
#define EXPERTS_no(name, id)
#define EXPERTS_yes(name, id)                                                   \
    PRODUCT("indexed_moe_forward_" #name "_q8_1", run_moe, id, 1, 1, 1)
#define FORMAT(name, lower, short, id, tiled, column, experts, counts, threads, \
               elems, join, row_threads, row_columns, rows, cols, passes)       \
    DEQUANTIZE(name, id, counts, threads, elems, join)                          \
    {"get_rows_" #name, run_get_rows, KT_F32, KT_F32,                           \
     &(const struct rows_shape){GGUF_##id, row_threads, row_columns}},          \
    FLOAT_MAT_VEC_##column(lower, GGUF_##id)                                    \
    MAT_VEC(name, GGUF_##id)                                                    \
    PRODUCT("mul_mat_" #name, run_tiled, GGUF_##id, 0, rows, cols)              \
    EXPERTS_##experts(short, GGUF_##id)

static const struct kt_row rows[] = {
    GGUF_WEIGHTS(FORMAT)
    GGUF_NUMBERS(DEQUANTIZE)
    GET_FLOAT_ROWS("f32", KT_F32),
    GET_FLOAT_ROWS("f16", KT_F16),
    GET_FLOAT_ROWS("bf16", KT_BF16),
    {"quantize_q8_1", run_quantize, KT_F32, KT_F32, NULL},
};
/* clang-format on */

KT_MAIN(kpk_module_quantized, rows)
