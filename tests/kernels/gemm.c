/* gemm.c - C = alpha A B + beta C + bias, every layout, type and tile
 *
 * Operands' allocations end at their last element, so that the simulated GPU
 * finds reads beyond. Bytes of C between rows and matrices must not change.
 */
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

extern const kpk_module kpk_module_gemm;

enum { STEP_NBYTES = 128 }; /* a step along K */

/* The kernel of a row. */
struct kind {
    bool trans_a, trans_b;
    unsigned tile_m, tile_n, block;
};

struct problem {
    const char *what;
    uint32_t m, n, k;
    uint32_t pad_a, pad_b, pad_c; /* leading dimensions over the least */
    uint32_t batch;
    /* distances of matrices: 0 for one and the same, -1 backwards, 1, TURNS */
    int step_a, step_b, step_c;
    uint32_t splits;
    double alpha, beta;
    bool bias;
    size_t lead;          /* misalignment of pointers, in elements */
    unsigned grid[3];     /* 0: the number of tiles */
    enum kt_data data;    /* of A and B */
    int scale_a, scale_b; /* powers of two for A and B */
};

/* Interleaved matrices of a batch: row 0 of each, then row 1 of each, ... */
enum { TURNS = 2 };

/* One matrix of a batch in memory. */
struct operand {
    uint32_t rows, cols, ld;
    uint32_t batch;
    int step;
    int64_t stride; /* elements, signed */
    size_t extent;  /* elements of memory */
    size_t first;   /* where matrix 0 begins */
};

static struct operand make_operand(uint32_t rows, uint32_t cols, uint32_t pad,
                                   uint32_t batch, int step)
{
    const uint32_t row = cols + pad;
    struct operand o = {
        rows, cols, step == TURNS ? batch * row : row, batch, step, 0, 0, 0};
    const size_t one =
        rows && cols ? (size_t)(rows - 1) * o.ld + cols : (size_t)0;
    const size_t apart = step == TURNS ? row : one + 3;

    o.stride = step < 0 ? -(int64_t)apart : step ? (int64_t)apart : 0;
    o.extent = one + (step && batch ? (batch - 1) * apart : 0);
    o.first = step < 0 && batch ? (batch - 1) * apart : 0;
    return o;
}

static size_t place(const struct operand *o, uint32_t b, uint32_t r, uint32_t c)
{
    return (size_t)((int64_t)o->first + b * o->stride) + (size_t)r * o->ld + c;
}

/* A typed array as numbers. */
static kt_real *numbers(struct kt *t, enum kt_type type, const void *data,
                        size_t n)
{
    kt_real *v = kt_alloc(t, (n + 1) * sizeof(*v));

    for (size_t i = 0; i < n; i++)
        v[i] = kt_get(type, data, i);
    return v;
}

/* The accumulators' type: f32 or f64. */
static enum kt_type sum_type(enum kt_type type)
{
    return type == KT_F64 ? KT_F64 : KT_F32;
}

struct scalar {
    union {
        float f;
        double d;
    } u;
    kpk_arg arg;
};

static void set_scalar(struct scalar *s, enum kt_type type, double v)
{
    if (type == KT_F64)
        s->u.d = v;
    else
        s->u.f = (float)v;
    s->arg = (kpk_arg){&s->u, kt_size(sum_type(type))};
}

/*
 * Each of the k products, and what is done with their sum, may be rounded once
 * to the type of sums: the error is at most (k + 4) * eps / 2 of the sum of
 * absolute values, and a rounding to the type of C besides. Matrix
 * instructions cut off instead of rounding: twice that.
 */
static struct kt_gate gate_of(enum kt_type type, uint32_t k,
                              const kt_real *scale)
{
    struct kt_gate gate = {0.51L, 0, scale, false};

    gate.abs = (kt_real)(k + 4) * kt_eps(sum_type(type));
    return gate;
}

static unsigned tiles(uint32_t n, unsigned tile)
{
    return n ? (n - 1) / tile + 1 : 1;
}

static void check_result(struct kt *t, const struct kt_row *row,
                         const struct problem *p, const struct operand *o,
                         const kt_real *a, const kt_real *b,
                         const kt_real *bias, const void *old, const void *got)
{
    const struct kind *kind = row->detail;
    const struct operand *oc = &o[2];
    const size_t n = oc->extent;
    kt_real *want = kt_alloc(t, (n + 1) * sizeof(*want));
    kt_real *size = kt_alloc(t, (n + 1) * sizeof(*size));

    for (size_t i = 0; i < n; i++)
        want[i] = kt_get(row->a, old, i);
    for (uint32_t m = 0; m < p->batch; m++)
        for (uint32_t r = 0; r < p->m; r++)
            for (uint32_t c = 0; c < p->n; c++) {
                const size_t at = place(oc, m, r, c);
                kt_real sum = 0, abs = 0, v;

                for (uint32_t k = 0; k < p->k; k++) {
                    const kt_real x = kind->trans_a ? a[place(&o[0], m, k, r)]
                                                    : a[place(&o[0], m, r, k)];
                    const kt_real y = kind->trans_b ? b[place(&o[1], m, c, k)]
                                                    : b[place(&o[1], m, k, c)];

                    sum += x * y;
                    abs += fabsl(x * y);
                }
                v = p->alpha * sum;
                abs *= fabs(p->alpha);
                if (p->beta != 0) {
                    v += p->beta * want[at];
                    abs += fabsl(p->beta * want[at]);
                }
                if (p->bias) {
                    v += bias[c];
                    abs += fabsl(bias[c]);
                }
                want[at] = v;
                size[at] = isfinite(abs) ? abs : 0;
            }
    kt_check(t, row->a, got, want, n, gate_of(row->a, p->k, size));
}

static void scale(enum kt_type type, void *data, size_t n, int power)
{
    for (size_t i = 0; i < n && power; i++)
        kt_put(type, data, i, ldexpl(kt_get(type, data, i), power));
}

/* A problem's matrices, A, B and C, and the bias, on the host. */
struct host {
    struct operand o[3];
    void *a, *b, *old; /* C before the launch */
    const void *bias;
};

static struct host make_host(struct kt *t, const struct kt_row *row,
                             const struct problem *p)
{
    const struct kind *kind = row->detail;
    const enum kt_type type = row->a;
    struct host h = {
        .o = {make_operand(kind->trans_a ? p->k : p->m,
                           kind->trans_a ? p->m : p->k, p->pad_a, p->batch,
                           p->step_a),
              make_operand(kind->trans_b ? p->n : p->k,
                           kind->trans_b ? p->k : p->n, p->pad_b, p->batch,
                           p->step_b),
              make_operand(p->m, p->n, p->pad_c, p->batch, p->step_c)}};
    const struct operand *a = &h.o[0], *b = &h.o[1];

    h.a = kt_host(t, type, a->extent, p->data, 1);
    h.b = kt_host(t, type, b->extent, p->data, 2);
    h.old = kt_host(t, type, h.o[2].extent, KT_SMALL, 3);
    h.bias = kt_host(t, type, p->n, KT_SMALL, 4);
    if (p->data == KT_ZERO) { /* the special numbers, each alone in its sums */
        kt_fill(type, h.a, a->extent, KT_SMALL, 1);
        kt_fill(type, h.b, b->extent, KT_SMALL, 2);
        kt_put(type, h.a, place(a, 0, 0, 0), INFINITY);
        kt_put(type, h.a, place(a, 0, a->rows - 1, a->cols - 1), NAN);
        kt_put(type, h.b, place(b, 0, b->rows / 2, b->cols / 2), -INFINITY);
    }
    scale(type, h.a, a->extent, p->scale_a);
    scale(type, h.b, b->extent, p->scale_b);
    if (p->beta == 0) /* then C must not be read */
        for (uint32_t m = 0; m < p->batch; m++)
            for (uint32_t r = 0; r < p->m; r++)
                for (uint32_t c = 0; c < p->n; c++)
                    kt_put(type, h.old, place(&h.o[2], m, r, c), NAN);
    return h;
}

/* Adds up the splits' sums, which lie in `partial`, into c. */
static void launch_join(struct kt *t, enum kt_type type,
                        const struct problem *p, const struct operand *o,
                        const void *partial, const void *c, const void *bias,
                        const struct scalar *alpha, const struct scalar *beta)
{
    const char *symbol = t->symbol;
    const uint32_t cluster = t->cluster;
    char join[32];

    snprintf(join, sizeof(join), "gemm_join_%s", kt_name(type));
    t->symbol = join;
    t->cluster = 0;
    kt_launch(t, (const unsigned[3]){3, 1, p->batch},
              (const unsigned[3]){256, 1, 1}, 0,
              (const kpk_arg[]){{&partial, sizeof(partial)},
                                {&c, sizeof(c)},
                                {&bias, sizeof(bias)},
                                {&p->m, 4},
                                {&p->n, 4},
                                {&o->ld, 4},
                                {&o->stride, 8},
                                {&p->batch, 4},
                                {&p->splits, 4},
                                alpha->arg,
                                beta->arg},
              11);
    t->symbol = symbol;
    t->cluster = cluster;
}

/* Launches and reads C's memory into got. False if the launch failed. */
static bool launch_problem(struct kt *t, const struct kt_row *row,
                           const struct problem *p, const struct host *h,
                           size_t shared_nbytes, void *got)
{
    const struct kind *kind = row->detail;
    const enum kt_type type = row->a;
    const size_t size = kt_size(type), lead = p->lead * size;
    const struct operand *o = h->o;
    const size_t nsums = (size_t)p->splits * p->batch * p->m * p->n;
    char *a = kt_device(t, h->a, o[0].extent * size, lead);
    char *b = kt_device(t, h->b, o[1].extent * size, lead);
    char *c = kt_device(t, h->old, o[2].extent * size, lead);
    void *bias = p->bias ? kt_device(t, h->bias, p->n * size, lead) : NULL;
    void *partial = p->splits > 1
                        ? kt_device(t, NULL, nsums * kt_size(sum_type(type)), 0)
                        : NULL;
    const unsigned cluster = t->cluster ? t->cluster : 1;
    const unsigned grid[3] = {
        tiles(p->grid[0] ? p->grid[0] : tiles(p->m, kind->tile_m), cluster) *
            cluster,
        p->grid[1] ? p->grid[1] : tiles(p->n, kind->tile_n),
        p->grid[2] ? p->grid[2] : p->batch * p->splits};
    struct scalar alpha, beta;

    a += o[0].first * size, b += o[1].first * size, c += o[2].first * size;
    set_scalar(&alpha, type, p->alpha);
    set_scalar(&beta, type, p->beta);
    if (!kt_launch(t, grid, (const unsigned[3]){kind->block, 1, 1},
                   shared_nbytes,
                   (const kpk_arg[]){{&a, sizeof(a)},
                                     {&b, sizeof(b)},
                                     {&c, sizeof(c)},
                                     {&bias, sizeof(bias)},
                                     {&partial, sizeof(partial)},
                                     {&p->m, 4},
                                     {&p->n, 4},
                                     {&p->k, 4},
                                     {&o[0].ld, 4},
                                     {&o[1].ld, 4},
                                     {&o[2].ld, 4},
                                     {&o[0].stride, 8},
                                     {&o[1].stride, 8},
                                     {&o[2].stride, 8},
                                     {&p->batch, 4},
                                     {&p->splits, 4},
                                     alpha.arg,
                                     beta.arg},
                   18))
        return false;
    if (p->splits > 1)
        launch_join(t, type, p, &o[2], partial, c, bias, &alpha, &beta);
    kt_read(t, got, c - o[2].first * size, o[2].extent * size);
    return true;
}

static void run_with(struct kt *t, const struct kt_row *row,
                     const struct problem *p, size_t shared_nbytes)
{
    const enum kt_type type = row->a;
    const struct host h = make_host(t, row, p);
    void *got = kt_alloc(t, h.o[2].extent * kt_size(type));

    t->what = p->what;
    if (!launch_problem(t, row, p, &h, shared_nbytes, got))
        return;
    check_result(t, row, p, h.o, numbers(t, type, h.a, h.o[0].extent),
                 numbers(t, type, h.b, h.o[1].extent),
                 numbers(t, type, h.bias, p->n), h.old, got);
}

/*
 * Dynamic shared memory that a launch of the kernel may have, and its clusters:
 * what the rows of its table give, each for another tile, and none. AMD's have
 * none, and are tested in packs that have no shapes, too.
 */
struct way {
    size_t shared_nbytes;
    uint32_t cluster;
};
enum { MOST_WAYS = 20 };
static size_t ways_of(struct kt *t, struct way ways[MOST_WAYS])
{
    size_t table, shared, blocks, n = 0;
    kpk_table_decl decl;
    kpk_row row;
    kpk_cell nbytes, cluster;

    ways[n++] = (struct way){0, 0};
    if (strncmp(t->target, "sm_", 3) != 0)
        return n;
    if (kpk_module_find_table(&kpk_module_gemm, "gemm", &table) != KPK_OK ||
        kpk_module_table(&kpk_module_gemm, table, &decl) != KPK_OK ||
        kpk_table_find_column(&kpk_module_gemm, table, "shared_nbytes",
                              &shared) != KPK_OK ||
        kpk_table_find_column(&kpk_module_gemm, table, "blocks", &blocks) !=
            KPK_OK) {
        kt_fail(t, "%s", kpk_error_message());
        return n;
    }
    for (size_t i = 0; i < decl.nrows && n < MOST_WAYS; i++) {
        if (kpk_table_row(&kpk_module_gemm, table, i, &row) == KPK_OK &&
            strcmp(row.kernel, t->symbol) == 0 &&
            strcmp(row.target, t->target) == 0 &&
            kpk_table_cell(&kpk_module_gemm, table, i, shared, &nbytes) ==
                KPK_OK &&
            kpk_table_cell(&kpk_module_gemm, table, i, blocks, &cluster) ==
                KPK_OK &&
            nbytes.i > 0)
            ways[n++] = (struct way){(size_t)nbytes.i,
                                     cluster.i > 1 ? (uint32_t)cluster.i : 0};
    }
    return n;
}

static void run_problem(struct kt *t, const struct kt_row *row,
                        const struct problem *p)
{
    struct way ways[MOST_WAYS];
    const size_t n = ways_of(t, ways);

    for (size_t i = 0; i < n; i++) {
        t->cluster = ways[i].cluster;
        run_with(t, row, p, ways[i].shared_nbytes);
    }
    t->cluster = 0;
}

/* A product of two packed matrices. */
static struct problem plain(const char *what, uint32_t m, uint32_t n,
                            uint32_t k)
{
    return (struct problem){.what = what,
                            .m = m,
                            .n = n,
                            .k = k,
                            .batch = 1,
                            .step_a = 1,
                            .step_b = 1,
                            .step_c = 1,
                            .splits = 1,
                            .alpha = 1,
                            .data = KT_SMALL};
}

/* Rows of A so far apart that offsets do not fit 32 bits, counted in elements.
 */
static void run_far(struct kt *t, const struct kt_row *row)
{
    enum { M = 6, N = 5, K = 70 };
    const struct kind *kind = row->detail;
    const uint32_t m = M, n = N, k = K, lda = UINT32_C(1) << 30, one = 1;
    const size_t size = kt_size(row->a);
    const int64_t stride = 0;
    const char *a = kt_host(t, row->a, (size_t)M * K, KT_SMALL, 1);
    const void *b = kt_host(t, row->a, (size_t)N * K, KT_SMALL, 2);
    const kt_real *as = numbers(t, row->a, a, (size_t)M * K);
    const kt_real *bs = numbers(t, row->a, b, (size_t)N * K);
    const void *none = NULL;
    kt_real want[M * N], abs[M * N];
    void *got = kt_alloc(t, M * N * size);
    struct scalar alpha, beta;
    char *da;
    void *db, *dc;

    t->what = "rows far apart";
    da = kt_large_device(t, ((size_t)(M - 1) * lda + K) * size);
    if (!da)
        return;
    for (size_t r = 0; r < M; r++)
        kt_write(t, da + r * lda * size, a + r * K * size, K * size);
    db = kt_device(t, b, N * K * size, 0);
    dc = kt_device(t, NULL, M * N * size, 0);
    set_scalar(&alpha, row->a, 1);
    set_scalar(&beta, row->a, 0);
    kt_launch(t, (const unsigned[3]){1, 1, 1},
              (const unsigned[3]){kind->block, 1, 1}, 0,
              (const kpk_arg[]){{&da, sizeof(da)},
                                {&db, sizeof(db)},
                                {&dc, sizeof(dc)},
                                {&none, sizeof(none)},
                                {&none, sizeof(none)},
                                {&m, 4},
                                {&n, 4},
                                {&k, 4},
                                {&lda, 4},
                                {&k, 4},
                                {&n, 4},
                                {&stride, 8},
                                {&stride, 8},
                                {&stride, 8},
                                {&one, 4},
                                {&one, 4},
                                alpha.arg,
                                beta.arg},
              18);
    kt_read(t, got, dc, M * N * size);
    for (size_t i = 0; i < (size_t)M * N; i++) {
        want[i] = abs[i] = 0;
        for (size_t e = 0; e < K; e++) {
            const kt_real product = as[i / N * K + e] * bs[i % N * K + e];

            want[i] += product;
            abs[i] += fabsl(product);
        }
    }
    kt_check(t, row->a, got, want, (size_t)M * N, gate_of(row->a, K, abs));
}

/* Tiles that are whole, aligned, of more steps than fit shared memory. */
static void run_whole_tiles(struct kt *t, const struct kt_row *row)
{
    const struct kind *kind = row->detail;
    const uint32_t m = 2 * kind->tile_m, n = 2 * kind->tile_n;
    const uint32_t step = STEP_NBYTES / (uint32_t)kt_size(row->a);
    struct problem p = plain("whole tiles", m, n, 6 * step);
    struct way ways[MOST_WAYS];

    if (kind->tile_m > 8 && ways_of(t, ways) < 2)
        kt_fail(t, "its table gives no shared memory for %s", t->target);
    run_problem(t, row, &p);
    p.k = 5 * step + 8, p.alpha = -1.5, p.bias = true;
    p.pad_a = p.pad_b = p.pad_c = 8;
    p.what = "whole tiles, the last step not, apart";
    run_problem(t, row, &p);
    p.pad_c = 2, p.beta = 2;
    p.what = "whole tiles to rows that are not aligned";
    run_problem(t, row, &p);
    p = plain("whole tiles and rest, splits", m + 8, n + 40, 9 * step + 24);
    p.splits = 2, p.batch = 2, p.bias = true;
    run_problem(t, row, &p);
    p = plain("70 rows, 20 steps", 70, kind->tile_n + 8, 20 * step);
    p.grid[0] = 1;
    run_problem(t, row, &p);
    p = plain("rows and columns of eights, a batch", 2 * kind->tile_m + 8,
              kind->tile_n + 24, 5 * step + 16);
    p.batch = 3, p.step_a = p.step_c = TURNS, p.step_b = 0;
    p.pad_c = 8, p.alpha = -1.5, p.bias = true;
    run_problem(t, row, &p);
    p.grid[0] = p.grid[1] = p.grid[2] = 1;
    p.what = "the same by one block";
    run_problem(t, row, &p);
}

/* Numbers at the ends of f32, in sums that are not. */
static void run_extremes(struct kt *t, const struct kt_row *row)
{
    struct problem p = plain("up to the greatest number", 9, 11, 71);

    p.scale_a = 126, p.scale_b = -20;
    run_problem(t, row, &p);
    p = plain("the least numbers, and subnormal ones", 9, 11, 71);
    p.scale_a = 121, p.scale_b = -127;
    run_problem(t, row, &p);
}

static void run(struct kt *t, const struct kt_row *row)
{
    const struct kind *kind = row->detail;
    const uint32_t m = kind->tile_m, n = kind->tile_n;
    const uint32_t step = STEP_NBYTES / (uint32_t)kt_size(row->a);
    struct problem p = plain("one tile", m, n, 2 * step);

    run_problem(t, row, &p);
    p = plain("one element", 1, 1, 1);
    run_problem(t, row, &p);
    p = plain("a row over, a column short, unaligned", m + 1, n - 1, step + 1);
    p.pad_a = 1, p.pad_b = 3, p.pad_c = 5, p.lead = 1;
    p.alpha = -0.75, p.beta = 0.5, p.bias = true;
    run_problem(t, row, &p);
    p = plain("a row short, columns over", m - 1, n + 3, 2 * step - 1);
    p.pad_b = 4, p.alpha = 2, p.bias = true;
    run_problem(t, row, &p);
    p = plain("no k", 5, 9, 0);
    p.beta = -2, p.bias = true, p.pad_c = 2;
    run_problem(t, row, &p);
    p = plain("small matrices of a batch", 3, 10, 17);
    p.batch = 5, p.step_a = 0, p.step_b = -1, p.step_c = 1, p.grid[2] = 2;
    p.beta = 1, p.pad_a = 2;
    run_problem(t, row, &p);
    p = plain("backwards, one b for all", 7, 6, step);
    p.batch = 3, p.step_a = -1, p.step_b = 0, p.step_c = -1;
    run_problem(t, row, &p);
    p = plain("matrices whose rows take turns", 9, 12, step + 4);
    p.batch = 3, p.step_a = p.step_b = p.step_c = TURNS;
    p.pad_c = 1, p.beta = -1, p.bias = true;
    run_problem(t, row, &p);
    p = plain("splits, one block for all", m + 2, n + 2, 4 * step + 3);
    p.batch = 2, p.splits = 3, p.alpha = 0.5, p.beta = -1, p.bias = true;
    p.grid[0] = p.grid[1] = p.grid[2] = 1;
    run_problem(t, row, &p);
    if (kind->tile_m == 8) {
        p = plain("odd rows of many steps", m + 3, 2 * n + 3, 9 * step + 5);
        p.pad_a = 2, p.lead = 1, p.batch = 2;
        run_problem(t, row, &p);
        /* rows of B are aligned, if they lie along N */
        p.pad_b = 5, p.lead = 0;
        run_problem(t, row, &p);
    }
    p = plain("more splits than steps", 2, 3, step + 2);
    p.splits = 5, p.pad_c = 1;
    run_problem(t, row, &p);
    if (kt_size(row->a) == 2 && kind->tile_m == 128) {
        /* some targets make tiles of neighbouring blocks as one */
        p = plain("three rows of tiles, two columns", 2 * m + 1, 2 * n - 1,
                  step + 8);
        p.pad_b = 1, p.pad_c = 2, p.bias = true;
        run_problem(t, row, &p);
        p.grid[0] = 2, p.grid[1] = 1;
        p.what = "and fewer blocks than tiles";
        run_problem(t, row, &p);
        /* half of these blocks take all tiles; the last tile is not whole */
        p = plain("18 rows of tiles", 17 * m + 1, 3, 9);
        run_problem(t, row, &p);
        p.grid[0] = 11, p.what = "and 11 blocks for them";
        run_problem(t, row, &p);
    }
    if (strncmp(t->target, "sm_", 3) == 0)
        run_whole_tiles(t, row);
    p = plain("infinities and no numbers", 9, 11, 2 * step + 7);
    p.data = KT_ZERO;
    run_problem(t, row, &p);
    if (row->a == KT_F32) /* where a target may take numbers apart */
        run_extremes(t, row);
    if (row->a == KT_F16 && kind->tile_m <= 64 && kind->trans_b) {
        p = plain("65536 terms", 2, 3, 65536);
        run_problem(t, row, &p);
    }
    if (row->a == KT_F16 && kind->trans_b && !kind->trans_a)
        run_far(t, row);
}

/* Splits of random sums; gemm_join alone. */
static void run_join(struct kt *t, const struct kt_row *row)
{
    const enum kt_type type = row->a, s = sum_type(type);
    const uint32_t m = 19, n = 37, batch = 3, splits = 4, ldc = n + 2;
    const struct operand oc = make_operand(m, n, ldc - n, batch, -1);
    const size_t nsums = (size_t)splits * batch * m * n, size = kt_size(type);
    const void *partial = kt_host(t, s, nsums, KT_SMALL, 1);
    const void *old = kt_host(t, type, oc.extent, KT_SMALL, 2);
    const void *bias = kt_host(t, type, n, KT_SMALL, 3);
    const void *dpartial = kt_device(t, partial, nsums * kt_size(s), 0);
    char *dc = kt_device(t, old, oc.extent * size, 0);
    const void *dbias = kt_device(t, bias, n * size, 0);
    kt_real *want = numbers(t, type, old, oc.extent);
    kt_real *abs = kt_alloc(t, oc.extent * sizeof(*abs));
    void *got = kt_alloc(t, oc.extent * size);
    struct scalar alpha, beta;

    t->what = "random sums";
    set_scalar(&alpha, type, 1.5);
    set_scalar(&beta, type, -0.25);
    dc += oc.first * size;
    kt_launch(t, (const unsigned[3]){2, 1, 2}, (const unsigned[3]){256, 1, 1},
              0,
              (const kpk_arg[]){{&dpartial, sizeof(dpartial)},
                                {&dc, sizeof(dc)},
                                {&dbias, sizeof(dbias)},
                                {&m, 4},
                                {&n, 4},
                                {&ldc, 4},
                                {&oc.stride, 8},
                                {&batch, 4},
                                {&splits, 4},
                                alpha.arg,
                                beta.arg},
              11);
    kt_read(t, got, dc - oc.first * size, oc.extent * size);
    for (uint32_t b = 0; b < batch; b++)
        for (uint32_t i = 0; i < m * n; i++) {
            const size_t at = place(&oc, b, i / n, i % n);
            const kt_real was = want[at];

            want[at] = -0.25L * was + kt_get(type, bias, i % n);
            abs[at] = fabsl(was) + fabsl(kt_get(type, bias, i % n));
            for (uint32_t k = 0; k < splits; k++) {
                const kt_real v =
                    kt_get(s, partial, ((size_t)k * batch + b) * m * n + i);

                want[at] += 1.5L * v;
                abs[at] += 1.5L * fabsl(v);
            }
        }
    kt_check(t, type, got, want, oc.extent, gate_of(type, splits, abs));
}

/* Rows of all lengths and distances, exactly. */
static void run_align_case(struct kt *t, const struct kt_row *row,
                           uint32_t rows, uint32_t cols, uint32_t pad,
                           uint32_t batch, int step, size_t lead)
{
    const size_t size = kt_size(row->a);
    const struct operand o = make_operand(rows, cols, pad, batch, step);
    const uint32_t ld_to = (cols + 7) / 8 * 8;
    const int64_t stride_to = (int64_t)rows * ld_to + 8;
    const size_t nto = (size_t)batch * (size_t)stride_to;
    const void *from = kt_host(t, row->a, o.extent, KT_SMALL, 1);
    void *old = kt_host(t, row->a, nto, KT_SMALL, 2);
    char *dfrom = kt_device(t, from, o.extent * size, lead * size);
    void *dto = kt_device(t, old, nto * size, 0);
    kt_real *want = numbers(t, row->a, old, nto);
    void *got = kt_alloc(t, nto * size);

    dfrom += o.first * size;
    kt_launch(t, (const unsigned[3]){2, 1, 1}, (const unsigned[3]){256, 1, 1},
              0,
              (const kpk_arg[]){{&dfrom, sizeof(dfrom)},
                                {&dto, sizeof(dto)},
                                {&rows, 4},
                                {&cols, 4},
                                {&o.ld, 4},
                                {&ld_to, 4},
                                {&o.stride, 8},
                                {&stride_to, 8},
                                {&batch, 4}},
              9);
    kt_read(t, got, dto, nto * size);
    for (uint32_t b = 0; b < batch; b++)
        for (uint32_t r = 0; r < rows; r++)
            for (uint32_t c = 0; c < ld_to; c++)
                want[b * (size_t)stride_to + (size_t)r * ld_to + c] =
                    c < cols ? kt_get(row->a, from, place(&o, b, r, c)) : 0;
    kt_check(t, row->a, got, want, nto, (struct kt_gate){0, 0, NULL, false});
}

static void run_align(struct kt *t, const struct kt_row *row)
{
    t->what = "odd rows";
    run_align_case(t, row, 37, 83, 0, 2, 1, 1);
    t->what = "whole pieces, apart, backwards";
    run_align_case(t, row, 9, 40, 3, 3, -1, 0);
    t->what = "one matrix for all";
    run_align_case(t, row, 5, 6, 2, 2, 0, 0);
    t->what = "an element";
    run_align_case(t, row, 1, 1, 0, 1, 1, 1);
}

#define KIND(name, ta, tb, m, n, block)                                        \
    static const struct kind name = {ta, tb, m, n, block};
#define KINDS(layout, ta, tb)                                                  \
    KIND(layout##_m128, ta, tb, 128, 128, 256)                                 \
    KIND(layout##_m64, ta, tb, 64, 64, 128)
KINDS(nn, false, false)
KINDS(nt, false, true)
KINDS(tn, true, false)
KINDS(tt, true, true)
KIND(nn_m8, false, false, 8, 64, 256)
KIND(nt_m8, false, true, 8, 64, 256)

#define ROWS(name, TYPE)                                                       \
    {"gemm_nn_" name "_m128", run, TYPE, TYPE, &nn_m128},                      \
        {"gemm_nt_" name "_m128", run, TYPE, TYPE, &nt_m128},                  \
        {"gemm_tn_" name "_m128", run, TYPE, TYPE, &tn_m128},                  \
        {"gemm_tt_" name "_m128", run, TYPE, TYPE, &tt_m128},                  \
        {"gemm_nn_" name "_m64", run, TYPE, TYPE, &nn_m64},                    \
        {"gemm_nt_" name "_m64", run, TYPE, TYPE, &nt_m64},                    \
        {"gemm_tn_" name "_m64", run, TYPE, TYPE, &tn_m64},                    \
        {"gemm_tt_" name "_m64", run, TYPE, TYPE, &tt_m64},                    \
        {"gemm_nn_" name "_m8", run, TYPE, TYPE, &nn_m8},                      \
        {"gemm_nt_" name "_m8", run, TYPE, TYPE, &nt_m8},                      \
    {                                                                          \
        "gemm_join_" name, run_join, TYPE, TYPE, NULL                          \
    }
static const struct kt_row rows[] = {
    ROWS("f16", KT_F16),
    ROWS("bf16", KT_BF16),
    ROWS("f32", KT_F32),
    ROWS("f64", KT_F64),
    {"gemm_align_f16", run_align, KT_F16, KT_F16, NULL},
    {"gemm_align_bf16", run_align, KT_BF16, KT_BF16, NULL}};

KT_MAIN(kpk_module_gemm, rows)
