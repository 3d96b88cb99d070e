/* moe.c - routing, and products with experts' matrices, against wide sums */
#include "gguf_product.h"
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const kpk_module kpk_module_moe;

#define NCASES(cases) (sizeof(cases) / sizeof((cases)[0]))

/* ---- products ---- */

static const struct product_of {
    uint32_t experts, topk, tokens, n, k;
    unsigned grid_x, grid_y;
    bool weighted; /* topk_weights, and an input for each row */
    bool invalid;  /* some rows are of no expert */
    size_t lead;
    bool stray; /* two of the sorted numbers are no rows */
} products[] = {
    {1, 1, 1, 1, 256, 1, 1, false, false, 0, false},
    {4, 2, 3, 64, 256, 4, 1, false, false, 0, false},
    {8, 2, 9, 70, 512, 8, 2, true, false, 0, false},
    {3, 1, 200, 33, 256, 3, 1, false, true, 1, false},
    {5, 2, 40, 130, 768, 2, 1, true, true, 0, false},
    {2, 4, 37, 65, 256, 2, 2, false, true, 1, false},
    {6, 3, 0, 10, 256, 6, 1, false, false, 0, false},
    {3, 2, 9, 20, 256, 3, 1, true, true, 0, true},
};
/* widths that no format has */
static const struct product_of dense_products[] = {
    {2, 2, 5, 17, 1, 2, 1, false, true, 0, false},
    {2, 1, 20, 64, 63, 2, 1, true, false, 0, false},
    {3, 2, 12, 100, 72, 3, 2, false, true, 1, false},
    {2, 2, 70, 66, 200, 1, 1, true, true, 0, false},
    {3, 1, 400, 72, 72, 1, 1, false, false, 0, true},
};

struct routed {
    uint32_t m, inputs; /* rows of the output and of the input */
    int32_t *expert;    /* expert of each output row */
    int32_t *sorted, *ids, *offsets;
    float *weights;
    bool *left_alone; /* rows that nobody writes */
};

/* content of memory before any write */
static kt_real untouched(enum kt_type type)
{
    const uint64_t code = UINT64_C(0xa5a5a5a5a5a5a5a5);

    return kt_get(type, &code, 0);
}

static int32_t kind_of_expert(const struct product_of *c, uint32_t i,
                              uint64_t *seed)
{
    const uint64_t r = kt_random(seed);

    if (c->invalid && r % 5 == 0)
        return (int32_t[]){-1, (int32_t)c->experts, -70000, 70000}[i % 4];
    /* the first expert has many, the second none */
    if (c->experts > 2 && (r % 3 == 0 || r / 16 % c->experts == 1))
        return 0;
    return (int32_t)(r / 16 % c->experts);
}

/* Rows of each expert, and how they are sorted by their expert's number. */
static struct routed route(struct kt *t, const struct product_of *c)
{
    const uint32_t m = c->tokens * c->topk;
    struct routed r = {m,
                       c->weighted ? m : c->tokens,
                       kt_alloc(t, m * 4),
                       kt_alloc(t, m * 4),
                       kt_alloc(t, m * 4),
                       kt_alloc(t, (c->experts + 1) * 4),
                       kt_alloc(t, m * 4),
                       kt_alloc(t, m * sizeof(bool))};
    uint64_t seed = m + c->n;
    uint32_t used = 0;

    for (uint32_t i = 0; i < m; i++) {
        r.expert[i] = kind_of_expert(c, i, &seed);
        r.weights[i] = (float)(kt_random(&seed) % 1000) / 500 - 0.5f;
    }
    while (used < m) { /* a selection sort: the rows of the least one left */
        int32_t least = INT32_MAX;

        for (uint32_t i = 0; i < m; i++)
            if ((used == 0 || r.expert[i] > r.ids[used - 1]) &&
                r.expert[i] < least)
                least = r.expert[i];
        for (uint32_t i = m; i-- > 0;) /* in any order within an expert */
            if (r.expert[i] == least) {
                r.ids[used] = least;
                r.sorted[used++] = (int32_t)i;
            }
    }
    for (uint32_t e = 0; e <= c->experts; e++)
        for (uint32_t i = 0; i < m; i++)
            r.offsets[e] += r.ids[i] < (int32_t)e;
    for (uint32_t i = 0; c->stray && i < m; i += m / 2) {
        r.left_alone[r.sorted[i]] = true;
        r.sorted[i] = i % 2 ? -3 : (int32_t)m;
    }
    return r;
}

static void name_product(struct kt *t, const struct product_of *c)
{
    char *text = kt_alloc(t, 96);

    snprintf(text, 96, "%u experts, %u x %u rows, %u x %u%s", c->experts,
             c->tokens, c->topk, c->n, c->k,
             c->invalid ? ", some invalid" : "");
    t->what = text;
}

/* numbers of few bits: products of f16 are exact, and none is subnormal */
static void *inputs_of(struct kt *t, enum kt_type type, size_t n, uint64_t seed)
{
    void *x = kt_host(t, type, n, KT_SMALL, seed);

    for (size_t i = 0; i < n; i++)
        kt_put(type, x, i, roundl(kt_get(type, x, i) * 32) / 32);
    return x;
}

/*
 * Launches a product by tiles, and compares all of the output with sums over
 * `weights`, [experts, n, k] as the kernel should see them.
 */
static void check_tiles(struct kt *t, const struct product_of *c,
                        const kpk_shape *shape, const struct routed *r,
                        enum kt_type type, enum kt_type out_type,
                        const void *device_weights, const double *weights)
{
    const size_t size = kt_size(type), out = (size_t)r->m * c->n;
    const size_t nbytes = out * kt_size(out_type);
    const void *x = inputs_of(t, type, (size_t)r->inputs * c->k, c->n);
    kt_real *want = kt_alloc(t, out * sizeof(*want));
    kt_real *scale = kt_alloc(t, out * sizeof(*scale));
    /* gfx90a takes subnormal f16 as zeros */
    const kt_real flushed =
        strncmp(t->target, "gfx90a", 6) == 0 && type == KT_F16 ? 0x1p-14L : 0;

    for (uint32_t i = 0; i < r->m; i++)
        for (uint32_t j = 0; j < c->n; j++) {
            const size_t at = (size_t)i * c->n + j;
            const size_t from = c->weighted ? i : i / c->topk;
            const double *w = weights;
            kt_real sum = 0, all = 0, lost = 0, factor;

            if (r->left_alone[i])
                want[at] = untouched(out_type);
            if (r->left_alone[i] || r->expert[i] < 0 ||
                (uint32_t)r->expert[i] >= c->experts)
                continue;
            w += ((size_t)r->expert[i] * c->n + j) * c->k;
            for (uint32_t k = 0; k < c->k; k++) {
                const kt_real v = kt_get(type, x, from * c->k + k);

                sum += v * w[k];
                all += fabsl(v * w[k]);
                lost += fabsl(v) * flushed;
            }
            factor = c->weighted ? (kt_real)r->weights[i] : 1;
            want[at] = sum * factor;
            scale[at] = (all * (c->k + 8) * 0x1p-23L + lost) * fabsl(factor);
        }
    const void *dx =
        kt_device(t, x, (size_t)r->inputs * c->k * size, c->lead * size);
    const void *sorted = kt_device(t, r->sorted, r->m * 4, 0);
    const void *offsets = kt_device(t, r->offsets, (c->experts + 1) * 4, 0);
    const void *factors =
        c->weighted ? kt_device(t, r->weights, r->m * 4, 0) : NULL;
    void *dst = kt_device(t, NULL, nbytes, kt_size(out_type));
    void *got = kt_alloc(t, nbytes);
    int32_t experts = (int32_t)c->experts, topk = (int32_t)c->topk;
    int32_t m = (int32_t)r->m, n = (int32_t)c->n, k = (int32_t)c->k;

    if (!kt_launch(t, shape->grid, shape->block, shape->shared_nbytes,
                   KPK_ARGS(dx, device_weights, sorted, offsets, factors, dst,
                            experts, topk, m, n, k)))
        return;
    kt_read(t, got, dst, nbytes);
    kt_check(t, out_type, got, want, out,
             (struct kt_gate){0.5L, 1, scale, false});
}

static kpk_shape shape_of(const struct product_of *c)
{
    return (kpk_shape){{c->grid_x, c->grid_y, 1}, {128, 1, 1}, 0};
}

/* Runs in the case's grid. If the recommended shape has shared memory, runs in
 * it, too, because kernels take another path with shared memory. */
static void run_dense_case(struct kt *t, const struct product_of *c,
                           enum kt_type type, enum kt_type out_type)
{
    const size_t nw = (size_t)c->experts * c->n * c->k;
    const struct routed r = route(t, c);
    const void *w = inputs_of(t, type, nw, 7);
    double *weights = kt_alloc(t, nw * sizeof(*weights));
    const void *dw =
        kt_device(t, w, nw * kt_size(type), c->lead * kt_size(type));
    kpk_shape shape = shape_of(c);
    const kpk_kernel *kernel;

    name_product(t, c);
    for (size_t i = 0; i < nw; i++)
        weights[i] = (double)kt_get(type, w, i);
    check_tiles(t, c, &shape, &r, type, out_type, dw, weights);
    if (kpk_kernel_get(t->inst, t->symbol, &kernel) == KPK_OK &&
        kpk_kernel_shape(kernel, c->experts, c->n, &shape) == KPK_OK &&
        shape.shared_nbytes)
        check_tiles(t, c, &shape, &r, type, out_type, dw, weights);
}

/* ---- negative counts ---- */

enum { NEG_ROWS = 4, NEG_COLS = 20, NEG_EXPERTS = 2 };
enum written { NOTHING, ZEROS, AS_ONE };

/* experts, topk, m, n as launched, k as a factor; and what the output then has.
 * Without experts, no row has an expert. */
static const struct {
    int32_t experts, topk, m, n, k;
    enum written written;
    const char *what;
} negative_cases[] = {
    {NEG_EXPERTS, 1, NEG_ROWS, NEG_COLS, 1, AS_ONE, "sizes as they are"},
    {NEG_EXPERTS, -3, NEG_ROWS, NEG_COLS, 1, AS_ONE, "a negative topk"},
    {-NEG_EXPERTS, 1, NEG_ROWS, NEG_COLS, 1, ZEROS, "negative experts"},
    {INT32_MIN, 1, NEG_ROWS, NEG_COLS, 1, ZEROS, "the least experts"},
    {NEG_EXPERTS, 1, -NEG_ROWS, NEG_COLS, 1, NOTHING, "negative rows"},
    {NEG_EXPERTS, 1, INT32_MIN, NEG_COLS, 1, NOTHING, "the least rows"},
    {NEG_EXPERTS, 1, NEG_ROWS, -NEG_COLS, 1, NOTHING, "negative columns"},
    {NEG_EXPERTS, 1, NEG_ROWS, INT32_MIN, 1, NOTHING, "the least columns"},
    {NEG_EXPERTS, 1, NEG_ROWS, NEG_COLS, -1, ZEROS, "a negative k"},
};

/* how a product takes its input: as numbers, by tiles; as Q8_1, a token at a
 * time; as Q8_1, by tiles */
enum way { NUMBERS, ROWS, TILES };

/* `inputs` and `weights` are for k numbers a row. */
static void check_negative(struct kt *t, enum kt_type out, const void *inputs,
                           const void *weights, int32_t k, enum way way)
{
    const int32_t sorted[NEG_ROWS] = {2, 0, 3, 1}, ids[NEG_ROWS] = {0, 0, 1, 1};
    const int32_t offsets[NEG_EXPERTS + 1] = {0, 2, 4};
    const size_t nbytes = (size_t)NEG_ROWS * NEG_COLS * kt_size(out);
    uint8_t *one = kt_alloc(t, nbytes), *got = kt_alloc(t, nbytes);
    uint8_t *zeros = kt_alloc(t, nbytes), *nothing = kt_alloc(t, nbytes);
    const void *dsorted = kt_device(t, sorted, sizeof(sorted), 0);
    const void *dids = kt_device(t, ids, sizeof(ids), 0);
    const void *doffsets = kt_device(t, offsets, sizeof(offsets), 0);
    const void *none = NULL;

    memset(nothing, 0xa5, nbytes);
    for (size_t i = 0; i <= NCASES(negative_cases); i++) {
        const size_t at = i < NCASES(negative_cases) ? i : 0;
        int32_t experts = negative_cases[at].experts;
        int32_t topk = negative_cases[at].topk, m = negative_cases[at].m;
        int32_t n = negative_cases[at].n, nk = negative_cases[at].k * k;
        int32_t padded = i < NCASES(negative_cases) ? k : -k;
        enum written written = negative_cases[at].written;
        void *dst = kt_device(t, NULL, nbytes, 0);
        const unsigned grid[3] = {2, 1, 1};

        t->what = negative_cases[at].what;
        if (padded < 0) { /* impossible rows of Q8_1 */
            t->what = "negative padding";
            written = NOTHING;
            if (way == NUMBERS)
                break;
        }
        if (!(way == ROWS
                  ? kt_launch(t, grid, (const unsigned[3]){32, 4, 1}, 0,
                              KPK_ARGS(weights, inputs, dsorted, dids, none,
                                       dst, experts, topk, m, n, nk, padded))
              : way == TILES
                  ? kt_launch(t, grid, (const unsigned[3]){32, 4, 1}, 0,
                              KPK_ARGS(weights, inputs, dsorted, doffsets, dst,
                                       experts, topk, m, n, nk, padded))
                  : kt_launch(t, grid, (const unsigned[3]){128, 1, 1}, 0,
                              KPK_ARGS(inputs, weights, dsorted, doffsets, none,
                                       dst, experts, topk, m, n, nk))))
            return;
        kt_read(t, got, dst, nbytes);
        if (i == 0) {
            memcpy(one, got, nbytes);
            t->checks++;
            if (memcmp(one, zeros, nbytes) == 0)
                kt_fail(t, "nothing but zeros");
        }
        kt_check_bytes(t, got,
                       written == NOTHING ? nothing
                       : written == ZEROS ? zeros
                                          : one,
                       nbytes, "the output");
    }
}

static void run_dense(struct kt *t, const struct kt_row *row)
{
    enum { K = 64 };
    const size_t size = kt_size(row->a);
    const size_t nw = (size_t)NEG_EXPERTS * NEG_COLS * K;

    for (size_t i = 0; i < NCASES(products); i++)
        run_dense_case(t, &products[i], row->a, row->b);
    for (size_t i = 0; i < NCASES(dense_products); i++)
        run_dense_case(t, &dense_products[i], row->a, row->b);
    check_negative(t, row->b,
                   kt_device(t, inputs_of(t, row->a, (size_t)NEG_ROWS * K, 1),
                             (size_t)NEG_ROWS * K * size, 0),
                   kt_device(t, inputs_of(t, row->a, nw, 2), nw * size, 0), K,
                   NUMBERS);
}

/* Blocks of the experts, on the device and in *host. */
static const void *blocks_of(struct kt *t, const struct product_of *c,
                             enum gguf_id id, uint8_t **host)
{
    const size_t nblocks =
        (size_t)c->experts * c->n * (c->k / gguf_format_of(id)->elems);

    return device_blocks(t, id, nblocks, GGUF_RANDOM, 0,
                         c->lead * gguf_format_of(id)->align, host);
}

/*
 * More numbers than an int counts: only the last expert has any that are not
 * zero, and only it is used.
 */
static void run_far_expert(struct kt *t, bool tiles)
{
    const enum gguf_id id = GGUF_Q2_K;
    const size_t k = 512, n = 64, experts_n = 70000, blocks = n * k / 256;
    const size_t nbytes = blocks * gguf_format_of(id)->nbytes;
    const int32_t last = (int32_t)experts_n - 1, m = 1, topk = 1, zero = 0;
    const int32_t experts = (int32_t)experts_n, size_n = 64, size_k = 512;
    int32_t *offsets = kt_alloc(t, (experts_n + 1) * 4);
    uint8_t *host = kt_alloc(t, nbytes);
    float x[512], numbers[512], got[64];
    uint8_t input[1024], y[512 / 32 * Q8_1_NBYTES];
    char *w;

    t->what = "more numbers than 2^31";
    w = kt_large_device(t, experts_n * nbytes);
    if (!w)
        return;
    gguf_fill(id, host, blocks, GGUF_RANDOM, 5);
    kt_write(t, w + (experts_n - 1) * nbytes, host, nbytes);
    kt_fill(KT_F32, x, k, KT_SMALL, 6);
    for (size_t i = 0; i < k; i++) {
        const kt_real v = roundl((kt_real)x[i] * 32) / 32;

        x[i] = (float)v;
        kt_put(KT_F16, input, i, v);
    }
    q8_1_quantize(x, k, k, y);
    offsets[experts_n] = 1;

    const void *blocks_at = w, *dx = kt_device(t, input, k * 2, 0);
    const void *dy = kt_device(t, y, sizeof(y), 0), *none = NULL;
    const void *sorted = kt_device(t, &zero, 4, 0);
    const void *ids = kt_device(t, &last, 4, 0);
    const void *doffsets = kt_device(t, offsets, (experts_n + 1) * 4, 0);
    void *dst = kt_device(t, NULL, sizeof(got), 0);
    const bool ok =
        tiles ? kt_launch(t, (const unsigned[3]){64, 1, 1},
                          (const unsigned[3]){128, 1, 1}, 0,
                          KPK_ARGS(dx, blocks_at, sorted, doffsets, none, dst,
                                   experts, topk, m, size_n, size_k))
              : kt_launch(t, (const unsigned[3]){16, 1, 1},
                          (const unsigned[3]){32, 4, 1}, 0,
                          KPK_ARGS(blocks_at, dy, sorted, ids, none, dst,
                                   experts, topk, m, size_n, size_k, size_k));

    if (!ok)
        return;
    kt_read(t, got, dst, sizeof(got));
    for (size_t j = 0; j < n; j++) {
        struct gguf_row weights = gguf_row(id, host + j * nbytes / n, k, false);
        struct gguf_sum sum = gguf_product(&weights, y);

        if (tiles) {
            gguf_dequantize(id, host + j * nbytes / n, k, numbers);
            sum.value = sum.size = 0;
            for (size_t i = 0; i < k; i++) {
                sum.value += (double)numbers[i] * (double)x[i];
                sum.size += fabs((double)numbers[i] * (double)x[i]);
            }
        }
        /* f16's rounding of the weights */
        check_near(t, j, (double)got[j], sum.value,
                   sum.size * (tiles ? 0x1p-10 : 24 * 0x1p-22));
        gguf_row_free(&weights);
    }
}

static void run_prefill(struct kt *t, const struct kt_row *row)
{
    const enum gguf_id id = *(const enum gguf_id *)row->detail;

    for (size_t i = 0; i < NCASES(products); i++) {
        if (!kt_turn(t))
            continue;
        const struct product_of *c = &products[i];
        const size_t nw = (size_t)c->experts * c->n * c->k;
        const struct routed r = route(t, c);
        const kpk_shape shape = shape_of(c);
        double *weights = kt_alloc(t, nw * sizeof(*weights));
        float *numbers = kt_alloc(t, nw * sizeof(*numbers));
        uint8_t *host;
        const void *blocks = blocks_of(t, c, id, &host);

        name_product(t, c);
        gguf_dequantize(id, host, nw, numbers);
        for (size_t k = 0; k < nw; k++) {
            const uint64_t code = kt_encode(row->a, (kt_real)numbers[k]);

            weights[k] = (double)kt_get(row->a, &code, 0);
        }
        check_tiles(t, c, &shape, &r, row->a, KT_F32, blocks, weights);
    }
    if (id == GGUF_Q2_K && row->a == KT_F16)
        run_far_expert(t, true);

    const struct product_of small = {
        .experts = NEG_EXPERTS, .n = NEG_COLS, .k = 256};
    const size_t n = (size_t)NEG_ROWS * small.k;
    uint8_t *host;

    check_negative(
        t, KT_F32,
        kt_device(t, inputs_of(t, row->a, n, 1), n * kt_size(row->a), 0),
        blocks_of(t, &small, id, &host), (int32_t)small.k, NUMBERS);
}

/* ---- inputs in blocks of Q8_1 ---- */

/* Tiles take products without weights, and without stray rows. */
static struct product_of product_for(enum way way, size_t i)
{
    struct product_of c = products[i];

    if (way == TILES) {
        c.weighted = c.stray = false;
        c.topk = products[i].weighted ? 1 : products[i].topk;
        c.tokens = products[i].tokens * products[i].topk / c.topk;
    }
    return c;
}

/* A product's blocks: the experts', on the host and on the device, and the
 * inputs', columns of `column` bytes with `padded` numbers. */
struct in_blocks {
    enum way way;
    enum gguf_id id;
    uint8_t *host, *y;
    const void *blocks;
    size_t padded, column;
};

static struct in_blocks make_blocks(struct kt *t, const struct product_of *c,
                                    const struct routed *r, enum gguf_id id,
                                    enum way way)
{
    struct in_blocks v = {.way = way, .id = id, .padded = round_up(c->k, 512)};
    float *x = kt_alloc(t, (size_t)r->inputs * c->k * sizeof(*x));

    v.column = v.padded / 32 * Q8_1_NBYTES;
    v.y = kt_alloc(t, r->inputs * v.column);
    v.blocks = blocks_of(t, c, id, &v.host);
    kt_fill(KT_F32, x, (size_t)r->inputs * c->k, KT_SMALL, c->k);
    for (uint32_t k = 0; k < r->inputs; k++)
        q8_1_quantize(x + (size_t)k * c->k, c->k, v.padded, v.y + k * v.column);
    return v;
}

/* Launches case i and reads the output. False if the launch failed. */
static bool launch_blocks(struct kt *t, const struct product_of *c, size_t i,
                          const struct routed *r, const struct in_blocks *v,
                          float *got)
{
    const size_t nbytes = (size_t)r->m * c->n * sizeof(*got);
    const void *blocks = v->blocks;
    const void *y = kt_device(t, v->y, r->inputs * v->column,
                              v->way == TILES && i % 2 ? 0 : 4);
    const void *sorted = kt_device(t, r->sorted, r->m * 4, 0);
    const void *ids = kt_device(t, r->ids, r->m * 4, 0);
    const void *offsets = kt_device(t, r->offsets, (c->experts + 1) * 4, 0);
    const void *factors =
        c->weighted ? kt_device(t, r->weights, r->m * 4, 0) : NULL;
    void *dst = kt_device(t, NULL, nbytes, 4);
    int32_t experts = (int32_t)c->experts, topk = (int32_t)c->topk;
    int32_t m = (int32_t)r->m, n = (int32_t)c->n, k = (int32_t)c->k;
    int32_t padded = (int32_t)v->padded;
    /* the callers' grid, or one that must loop */
    const unsigned rows[3] = {i % 2 ? (c->n + 3) / 4 : 1,
                              i % 2 && r->m ? r->m : 1, 1};
    const unsigned tiles[3] = {c->grid_x, c->grid_y, (unsigned)(1 + i % 3)};
    const unsigned block[3] = {32, 4, 1};

    if (!(v->way == TILES
              ? kt_launch(t, tiles, block, 0,
                          KPK_ARGS(blocks, y, sorted, offsets, dst, experts,
                                   topk, m, n, k, padded))
              : kt_launch(t, rows, block, 0,
                          KPK_ARGS(blocks, y, sorted, ids, factors, dst,
                                   experts, topk, m, n, k, padded))))
        return false;
    kt_read(t, got, dst, nbytes);
    return true;
}

/* Row a, against the reference's product with the same blocks. */
static void check_row(struct kt *t, const struct product_of *c,
                      const struct routed *r, const struct in_blocks *v,
                      uint32_t a, const float *got)
{
    const struct gguf_format *f = gguf_format_of(v->id);
    const size_t row_nbytes = c->k / f->elems * f->nbytes;
    const uint8_t *y = v->y + (c->weighted ? a : a / c->topk) * v->column;
    const bool valid = r->expert[a] >= 0 && (uint32_t)r->expert[a] < c->experts;
    const double factor = c->weighted ? (double)r->weights[a] : 1;
    const uint32_t nblocks = c->k / 32; /* of Q8_1 */

    for (uint32_t b = 0; b < c->n; b++) {
        const size_t at = (size_t)a * c->n + b;
        struct gguf_sum sum = {0, 0};

        if (r->left_alone[a]) {
            check_near(t, a, (double)got[at], (double)untouched(KT_F32), 0);
            continue;
        }
        if (valid) {
            struct gguf_row w = gguf_row(
                v->id, v->host + ((size_t)r->expert[a] * c->n + b) * row_nbytes,
                c->k, v->way == TILES);

            sum = gguf_product(&w, y);
            gguf_row_free(&w);
        }
        check_near(t, at, (double)got[at], sum.value * factor,
                   sum.size * fabs(factor) * (nblocks + 8) * 0x1p-22);
    }
}

static void run_negative_blocks(struct kt *t, enum gguf_id id, enum way way)
{
    const struct product_of small = {
        .experts = NEG_EXPERTS, .n = NEG_COLS, .k = 512};
    const size_t column = small.k / 32 * Q8_1_NBYTES;
    float *x = kt_alloc(t, small.k * sizeof(*x));
    uint8_t *y = kt_alloc(t, NEG_ROWS * column), *host;

    for (uint32_t i = 0; i < NEG_ROWS; i++) {
        kt_fill(KT_F32, x, small.k, KT_SMALL, i);
        q8_1_quantize(x, small.k, small.k, y + i * column);
    }
    check_negative(t, KT_F32, kt_device(t, y, NEG_ROWS * column, 0),
                   blocks_of(t, &small, id, &host), (int32_t)small.k, way);
}

static void run_blocks(struct kt *t, const struct kt_row *row, enum way way)
{
    const enum gguf_id id = *(const enum gguf_id *)row->detail;

    for (size_t i = 0; i < NCASES(products); i++) {
        if (!kt_turn(t))
            continue;
        const struct product_of c = product_for(way, i);
        const struct routed r = route(t, &c);
        const struct in_blocks v = make_blocks(t, &c, &r, id, way);
        float *got = kt_alloc(t, (size_t)r.m * c.n * sizeof(*got));

        name_product(t, &c);
        if (!launch_blocks(t, &c, i, &r, &v, got))
            return;
        for (uint32_t a = 0; a < r.m; a++)
            check_row(t, &c, &r, &v, a, got);
    }
    if (id == GGUF_Q2_K && way == ROWS)
        run_far_expert(t, false);
    run_negative_blocks(t, id, way);
}

static void run_rows(struct kt *t, const struct kt_row *row)
{
    run_blocks(t, row, ROWS);
}

static void run_tiles(struct kt *t, const struct kt_row *row)
{
    run_blocks(t, row, TILES);
}

/* ---- moe_topk ---- */

enum { SIGMOID = 1, NORMALIZE = 2 };

static const struct topk_case {
    uint32_t tokens, experts, k, flags;
    bool bias;
    bool special; /* NaN, infinities */
    unsigned grid, block;
} topk_cases[] = {
    {1, 1, 1, 0, false, false, 1, 32},
    {5, 8, 2, NORMALIZE, false, false, 1, 64},
    {9, 60, 4, 0, false, false, 2, 128},
    {7, 128, 8, NORMALIZE, false, false, 2, 128},
    {7, 256, 8, SIGMOID | NORMALIZE, true, false, 2, 128},
    {3, 256, 6, SIGMOID, true, false, 1, 96},
    {6, 300, 10, 0, true, false, 1, 256},
    {4, 5, 7, NORMALIZE, false, false, 1, 128},
    {8, 33, 33, 0, false, true, 2, 128},
    {8, 40, 12, NORMALIZE, false, true, 2, 128},
    {8, 40, 12, SIGMOID, false, true, 2, 128},
    {0, 40, 12, SIGMOID, false, false, 1, 128},
    {17, 64, 8, 0, false, false, 1, 128},
    {17, 256, 8, SIGMOID, false, false, 3, 64},
    {10, 4, 4, 0, false, true, 1, 32},
    {10, 100, 8, NORMALIZE, false, true, 1, 64},
    {10, 256, 7, 0, false, true, 2, 64},
    {10, 12, 8, SIGMOID, false, true, 1, 96},
    {8, 40, 12, 0, true, true, 2, 128},
    {8, 300, 10, NORMALIZE, true, true, 1, 64},
    {8, 64, 8, SIGMOID, true, true, 1, 64},
};

/*
 * Tokens whose logits are hard to tell apart, by their number: less than a bit
 * of 24 apart at the top; the same, with others far below chosen too; equal
 * ones and both zeros; all within f32's last bits; huge ones; anything; as the
 * second, but no last bit is the same in all.
 */
static kt_real hard_logit(size_t token, uint32_t e)
{
    const uint32_t h = (e * 2654435761u) >> 7;

    switch (token % 7) {
    case 0:
        return 3 + (kt_real)(h % 64) * 0x1p-22L;
    case 1:
        return (h % 37 == 0 ? 12 : 0.001L) + (kt_real)(h % 16) * 0x1p-20L;
    case 2:
        return h % 3 ? 0.0 : -0.0;
    case 3:
        return -0.25L + (kt_real)(h % 4) * 0x1p-26L;
    case 4:
        return h % 2 ? -3e38L : -3.4e38L + (kt_real)(h % 1000) * 1e34L;
    case 5:
        return (kt_real)h / 0x1p20L - 8;
    default:
        return (h % 37 == 0 ? 12 : 0.5L) + (kt_real)(h % 16) * 0x1p-24L;
    }
}

static kt_real logit_score(kt_real x, uint32_t flags, kt_real top, kt_real sum)
{
    if (isnan(x))
        return 0;
    if (flags & SIGMOID)
        return 1 / (1 + expl(-x));
    return x == top ? 1 / sum : expl(x - top) / sum;
}

/* The k ids and weights of one token. */
static void check_token(struct kt *t, const struct topk_case *c,
                        const kt_real *x, const float *bias, const int32_t *ids,
                        const float *weights)
{
    kt_real top = -INFINITY, sum = 0, all = 0;
    bool *taken = calloc(c->experts + 1, sizeof(*taken));

    if (!taken)
        abort();
    for (uint32_t e = 0; e < c->experts; e++)
        top = fmaxl(top, x[e]);
    for (uint32_t e = 0; e < c->experts; e++)
        sum += isnan(x[e]) ? 0 : x[e] == top ? 1 : expl(x[e] - top);
    for (uint32_t i = 0; i < c->k && i < c->experts; i++)
        if (ids[i] >= 0 && (uint32_t)ids[i] < c->experts)
            all += logit_score(x[ids[i]], c->flags, top, sum);
    for (uint32_t i = 0; i < c->k; i++) {
        int32_t best = -1;
        kt_real most = 0, want = 0;

        t->checks += 2;
        for (uint32_t e = 0; e < c->experts; e++) {
            const kt_real v =
                isnan(x[e]) ? -INFINITY
                : c->bias
                    ? logit_score(x[e], c->flags, top, sum) + (kt_real)bias[e]
                    : x[e];

            /* a NaN comes behind -inf */
            if (!taken[e] &&
                (best < 0 || v > most || (isnan(x[best]) && !isnan(x[e])))) {
                best = (int32_t)e;
                most = v;
            }
        }
        if (best != ids[i])
            kt_fail(t, "choice %u: expert %d, not %d", i, ids[i], best);
        if (best >= 0) {
            taken[best] = true;
            want = logit_score(x[best], c->flags, top, sum);
            if (c->flags & NORMALIZE)
                want = all > 0 ? want / all : 0;
        }
        if (fabsl((kt_real)weights[i] - want) > want * 0x1p-19L + 0x1p-126L)
            kt_fail(t, "weight %u: %g, not %Lg", i, (double)weights[i], want);
    }
    free(taken);
}

static void run_topk(struct kt *t, const struct kt_row *row)
{
    const enum kt_type type = row->a;

    for (size_t i = 0; i < NCASES(topk_cases); i++) {
        const struct topk_case *c = &topk_cases[i];
        const size_t total = (size_t)c->tokens * c->experts;
        const size_t chosen = (size_t)c->tokens * c->k;
        void *x = kt_host(t, type, total, KT_SMALL, i);
        kt_real *values = kt_alloc(t, total * sizeof(*values));
        float *bias = kt_alloc(t, c->experts * 4);
        int32_t *ids = kt_alloc(t, chosen * 4);
        float *weights = kt_alloc(t, chosen * 4);
        char *text = kt_alloc(t, 96);

        snprintf(text, 96, "%u of %u experts, flags %u%s%s", c->k, c->experts,
                 c->flags, c->bias ? ", bias" : "",
                 c->special ? ", special" : "");
        t->what = text;
        for (size_t k = 0; k < total; k++) { /* some are equal */
            kt_put(type, x, k, roundl(kt_get(type, x, k) * 16) / 16);
            if (c->special && k % 7 == 3)
                kt_put(type, x, k,
                       (kt_real[]){NAN, -INFINITY, INFINITY,
                                   -(kt_real)NAN}[k / 7 % 4]);
            if (c->special && k / c->experts == 2) /* a token without any */
                kt_put(type, x, k, -INFINITY);
            if (c->special && type == KT_F32 && k / c->experts == 1 &&
                k % c->experts > 1) /* next to -inf, and farthest from it */
                kt_put_bits(type, x, k, k % 3 ? 0xffffffff : 0xff800001);
            if (c->special && !c->bias && type == KT_F32 && k / c->experts > 2)
                kt_put(type, x, k,
                       hard_logit(k / c->experts, (uint32_t)(k % c->experts)));
            values[k] = kt_get(type, x, k);
        }
        for (uint32_t e = 0; e < c->experts; e++)
            bias[e] = (float)(e * 7 % 64) / 64;
        const void *dx = kt_device(t, x, total * kt_size(type), 0);
        const void *dbias =
            c->bias ? kt_device(t, bias, c->experts * 4, 0) : NULL;
        void *did = kt_device(t, NULL, chosen * 4, 0);
        void *dw = kt_device(t, NULL, chosen * 4, 0);

        if (!KT_LAUNCH(t, c->grid, c->block, 0, dx, dbias, did, dw, c->tokens,
                       c->experts, c->k, c->flags))
            return;
        kt_read(t, ids, did, chosen * 4);
        kt_read(t, weights, dw, chosen * 4);
        for (uint32_t k = 0; k < c->tokens; k++)
            check_token(t, c, values + (size_t)k * c->experts, bias,
                        ids + (size_t)k * c->k, weights + (size_t)k * c->k);
    }
}

/* ---- moe_sort_ids ---- */

/* Each row stands once, in its expert's part. */
static void check_sorted(struct kt *t, const int32_t *expert, int32_t experts,
                         int32_t m, const int32_t *sorted,
                         const int32_t *offsets)
{
    int32_t *places = kt_alloc(t, (size_t)m * sizeof(*places));
    int32_t before = 0;

    for (int32_t i = 0; i < m; i++)
        places[i] = -1;
    for (int32_t i = 0; i < m; i++) {
        if (sorted[i] < 0 || sorted[i] >= m || places[sorted[i]] >= 0) {
            kt_fail(t, "place %d: row %d, or a second time", i, sorted[i]);
            return;
        }
        places[sorted[i]] = i;
    }
    for (int32_t e = 0; e <= experts; e++) {
        t->checks++;
        if (offsets[e] != before)
            kt_fail(t, "expert %d begins at %d, not %d", e, offsets[e], before);
        for (int32_t r = 0; e < experts && r < m; r++)
            before += expert[r] == e;
    }
    for (int32_t r = 0; r < m; r++) {
        const int32_t e = expert[r];
        const bool valid = e >= 0 && e < experts;
        const int32_t from = offsets[valid ? e : experts];
        const int32_t end = valid ? offsets[e + 1] : m;

        t->checks++;
        if (places[r] < from || places[r] >= end)
            kt_fail(t, "row %d of expert %d is at %d", r, e, places[r]);
    }
}

static void run_sort(struct kt *t, const struct kt_row *row)
{
    static const struct {
        int32_t tokens, topk, experts;
        int64_t gap; /* numbers behind a token's */
        bool invalid;
        unsigned block;
    } cases[] = {
        {1, 1, 1, 0, false, 32},        {0, 4, 3, 0, false, 64},
        {7, 2, 8, 6, false, 64},        {33, 3, 5, 0, true, 256},
        {100, 8, 128, 120, true, 1024}, {40, 1, 1023, 0, true, 1024},
        {50, 4, 1024, 1, true, 512},    {60, 10, 2500, 0, true, 1024},
        {9, 1, 0, 2, true, 32},
    };
    const int32_t negative[][3] = {{-1, 4, 2}, {1, -4, 2}, {1, 4, -1}};

    (void)row;
    for (size_t i = 0; i < NCASES(cases); i++) {
        const struct product_of c = {.experts = (uint32_t)cases[i].experts,
                                     .invalid = cases[i].invalid};
        int32_t topk = cases[i].topk, m = cases[i].tokens * topk;
        int32_t experts = cases[i].experts;
        int64_t stride = topk + cases[i].gap;
        const size_t nids = (size_t)(cases[i].tokens * stride);
        int32_t *expert = kt_alloc(t, (size_t)m * 4);
        int32_t *ids = kt_alloc(t, nids * 4);
        int32_t *sorted = kt_alloc(t, (size_t)m * 4);
        int32_t *offsets = kt_alloc(t, ((size_t)experts + 1) * 4);
        uint64_t seed = i;

        t->what = "sorting ids";
        for (int32_t r = 0; r < m; r++) {
            expert[r] = experts > 0 ? kind_of_expert(&c, (uint32_t)r, &seed)
                                    : r % 3 - 1;
            ids[r / topk * stride + r % topk] = expert[r];
        }
        const void *did = kt_device(t, ids, nids * 4, 0);
        void *dsorted = kt_device(t, NULL, (size_t)m * 4, 0);
        void *doffsets = kt_device(t, NULL, ((size_t)experts + 1) * 4, 0);

        if (!KT_LAUNCH(t, 1, cases[i].block, 0, did, stride, dsorted, doffsets,
                       topk, m, experts))
            return;
        kt_read(t, sorted, dsorted, (size_t)m * 4);
        kt_read(t, offsets, doffsets, ((size_t)experts + 1) * 4);
        check_sorted(t, expert, experts, m, sorted, offsets);
    }
    for (size_t i = 0; i < NCASES(negative); i++) {
        const int32_t ids[4] = {1, 0, 1, 1};
        int32_t topk = negative[i][0], m = negative[i][1];
        int32_t experts = negative[i][2], offsets[3], sorted[4];
        int64_t stride = 1;
        const void *did = kt_device(t, ids, sizeof(ids), 0);
        void *dsorted = kt_device(t, NULL, sizeof(sorted), 0);
        void *doffsets = kt_device(t, NULL, sizeof(offsets), 0);
        const int32_t none[3] = {0, 0, 0};
        uint8_t left[sizeof(sorted)];

        t->what = "negative sizes";
        memset(left, 0xa5, sizeof(left));
        if (!KT_LAUNCH(t, 1, 64, 0, did, stride, dsorted, doffsets, topk, m,
                       experts))
            return;
        kt_read(t, sorted, dsorted, sizeof(sorted));
        kt_read(t, offsets, doffsets, sizeof(offsets));
        if (topk < 0) { /* as 1 */
            check_sorted(t, ids, experts, m, sorted, offsets);
            continue;
        }
        kt_check_bytes(t, sorted, left, sizeof(sorted), "the rows");
        kt_check_bytes(t, offsets, experts < 0 ? (const void *)left : none,
                       sizeof(offsets), "the offsets");
    }
}

/* ---- moe_expert_offsets ---- */

static void run_offsets(struct kt *t, const struct kt_row *row)
{
    static const struct {
        int32_t m, experts;
        unsigned grid, block;
    } cases[] = {{0, 1, 1, 32},   {1, 1, 1, 32},    {5, 8, 1, 32},
                 {1000, 3, 1, 1}, {999, 64, 2, 16}, {3000, 700, 3, 256},
                 {10, 0, 1, 32}};
    const int32_t negative[][2] = {
        {10, -1}, {10, INT32_MIN}, {-5, 3}, {INT32_MIN, 3}};

    (void)row;
    for (size_t i = 0; i < NCASES(cases); i++) {
        int32_t m = cases[i].m, experts = cases[i].experts;
        int32_t *ids = kt_alloc(t, (size_t)m * 4);
        int32_t *want = kt_alloc(t, ((size_t)experts + 1) * 4);
        int32_t *got = kt_alloc(t, ((size_t)experts + 1) * 4);

        t->what = "offsets";
        for (int32_t k = 0; k < m; k++) /* from below 0 to beyond the last */
            ids[k] = (int32_t)((int64_t)k * (experts + 4) / m) - 2;
        for (int32_t e = 0; e <= experts; e++)
            for (int32_t k = 0; k < m; k++)
                want[e] += ids[k] < e;
        const void *did = kt_device(t, ids, (size_t)m * 4, 0);
        void *dst = kt_device(t, NULL, ((size_t)experts + 1) * 4, 0);

        if (!KT_LAUNCH(t, cases[i].grid, cases[i].block, 0, did, dst, m,
                       experts))
            return;
        kt_read(t, got, dst, ((size_t)experts + 1) * 4);
        kt_check_bytes(t, got, want, ((size_t)experts + 1) * 4, "the offsets");
    }
    for (size_t i = 0; i < NCASES(negative); i++) {
        const int32_t ids[10] = {0, 0, 1, 1, 1, 2, 2, 2, 2, 2};
        int32_t m = negative[i][0], experts = negative[i][1], got[4], want[4];
        const void *did = kt_device(t, ids, sizeof(ids), 0);
        void *dst = kt_device(t, NULL, sizeof(got), 0);

        t->what = experts < 0 ? "negative experts" : "negative rows";
        if (!KT_LAUNCH(t, 1, 32, 0, did, dst, m, experts))
            return;
        kt_read(t, got, dst, sizeof(got));
        memset(want, experts < 0 ? 0xa5 : 0, sizeof(want));
        kt_check_bytes(t, got, want, sizeof(got), "the offsets");
    }
}

/* clang-format off */
#define FORMAT(name, lower, short, id, ...)                                    \
    {"moe_gemm_gguf_" #lower, run_rows, KT_F32, KT_F32,                        \
     &(const enum gguf_id){GGUF_##id}},                                        \
    {"moe_mul_mat_" #lower, run_tiles, KT_F32, KT_F32,                         \
     &(const enum gguf_id){GGUF_##id}},                                        \
    {"moe_gemm_gguf_prefill_f16_" #lower, run_prefill, KT_F16, KT_F32,         \
     &(const enum gguf_id){GGUF_##id}},                                        \
    {"moe_gemm_gguf_prefill_bf16_" #lower, run_prefill, KT_BF16, KT_F32,       \
     &(const enum gguf_id){GGUF_##id}},

static const struct kt_row rows[] = {
    {"moe_gemm_f16", run_dense, KT_F16, KT_F16, NULL},
    {"moe_gemm_bf16", run_dense, KT_BF16, KT_BF16, NULL},
    {"moe_gemm_f16_f32", run_dense, KT_F16, KT_F32, NULL},
    {"moe_gemm_bf16_f32", run_dense, KT_BF16, KT_F32, NULL},
    GGUF_WEIGHTS(FORMAT)
    {"moe_topk_f32", run_topk, KT_F32, KT_F32, NULL},
    {"moe_topk_f16", run_topk, KT_F16, KT_F16, NULL},
    {"moe_topk_bf16", run_topk, KT_BF16, KT_BF16, NULL},
    {"moe_sort_ids", run_sort, KT_I32, KT_I32, NULL},
    {"moe_expert_offsets", run_offsets, KT_I32, KT_I32, NULL},
};
/* clang-format on */

KT_MAIN(kpk_module_moe, rows)
