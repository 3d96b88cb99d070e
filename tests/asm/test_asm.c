/* test_asm.c - hand-written kernels out of an imported pack
 *
 * They are selected through the tables that came with them, launched with
 * packed arguments in 16-byte slots, and checked against plain C. The GEMM's
 * matrices are random; its reference is in double.
 */
#include "gemm_tile.h"
#include "plain_index.h"
#include "unit_checks.h"

#include <kpack/hand.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { MAX_DEVICES = 4 };

static int ndevices;
static kpk_instance *instances[MAX_DEVICES];

static uint32_t seed = 1;
static uint32_t next_random(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

static void *to_device(kpk_instance *inst, const void *host, size_t nbytes)
{
    void *at = NULL;

    assert_ok(kpk_malloc(inst, nbytes, &at));
    assert_ok(kpk_copy_to(inst, at, host, nbytes));
    return at;
}

static void *allocate(size_t nbytes)
{
    void *at = calloc(1, nbytes);

    assert_non_null(at);
    return at;
}

static float of_bf16(uint16_t half)
{
    const uint32_t bits = (uint32_t)half << 16;
    float f;

    memcpy(&f, &bits, sizeof(f));
    return f;
}

/* The nearest, ties to even; f is no NaN. */
static uint16_t to_bf16(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static const kpk_module *table_of(const char *kind)
{
    const kpk_module *module = kpk_pack_find(&kpk_hand, kind);

    if (!module)
        fail_msg("the pack has no module %s", kind);
    return module;
}

/* ---- top-k softmax ---- */

enum { EXPERTS = 128, K = 4, GUARD_ROWS = 3 };

/* The largest subm that is worth it, of the kernels for these logits. */
static size_t select_topk(const kpk_instance *inst, size_t ntokens, int bf16,
                          uint32_t *subm)
{
    static const char *const names[] = {"dtype", "num_experts", "topk", "subm"};
    const kpk_module *kind = table_of("topksoftmax");
    kpk_condition conditions[] = {{0, KPK_EQUAL, 0, bf16 ? "bf16" : "fp32"},
                                  {0, KPK_EQUAL, EXPERTS, NULL},
                                  {0, KPK_EQUAL, K, NULL},
                                  {0, KPK_EQUAL, 0, NULL}};
    const kpk_query query = {.target = kpk_instance_device(inst)->target,
                             .conditions = conditions,
                             .nconditions = 4};
    size_t row = 0;
    kpk_status st = KPK_ERR_NO_ROW;

    for (int i = 0; i < 4; i++)
        assert_ok(
            kpk_table_find_column(kind, 0, names[i], &conditions[i].column));
    for (*subm = ntokens < 10000 ? 4 : 12; *subm > 0 && st != KPK_OK;) {
        conditions[3].i = *subm;
        st = kpk_table_select(kind, 0, &query, &row);
        if (st != KPK_OK)
            (*subm)--;
    }
    assert_ok(st);
    return row;
}

struct topk_case {
    uint32_t ntokens;
    int bf16;
    uint32_t renormalize;
    uint32_t out_stride; /* bytes */
    uint32_t subm;       /* the expected kernel's */
};

static const struct topk_case topk_cases[] = {
    {1, 0, 1, 16, 4},      {3, 0, 0, 16, 4},  {4, 0, 1, 48, 4},
    {61, 0, 1, 16, 4},     {61, 1, 1, 16, 4}, {6, 1, 0, 32, 4},
    {10001, 0, 1, 16, 12},
};

/* Few different values, so that there are ties, and infinities. */
static void fill_logits(float *logits, size_t n, int bf16)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t r = next_random();

        logits[i] = r % 50 == 0
                        ? -INFINITY
                        : ((float)(r % 64) - 32) * (bf16 ? 0.25f : 0.3f);
    }
    /* A row with one number alone, and one of large ones. */
    for (size_t e = 0; n > EXPERTS && e < EXPERTS; e++) {
        logits[e] = e == 77 ? -3.0f : -INFINITY;
        logits[EXPERTS + e] = 1000.0f + (float)(e % 5);
    }
}

static void check_token(const struct topk_case *c, uint32_t token,
                        const float *logits, const int32_t *indices,
                        const float *weights)
{
    double most = -INFINITY;
    double sum = 0;
    double chosen_sum = 0;
    double wanted[K];
    bool taken[EXPERTS] = {false};

    for (int e = 0; e < EXPERTS; e++)
        most = fmax(most, (double)logits[e]);
    for (int e = 0; e < EXPERTS; e++)
        sum += exp((double)logits[e] - most);
    for (int k = 0; k < K; k++) {
        int best = -1;

        for (int e = 0; e < EXPERTS; e++)
            if (!taken[e] && (best < 0 || logits[e] > logits[best]))
                best = e;
        taken[best] = true;
        if (indices[k] != best)
            fail_msg("token %u, place %d: expert %d, not %d", token, k,
                     indices[k], best);
        wanted[k] = exp((double)logits[best] - most) / sum;
        chosen_sum += wanted[k];
    }
    for (int k = 0; k < K; k++) {
        const double w = c->renormalize ? wanted[k] / chosen_sum : wanted[k];

        /* v_exp, v_rcp and a sum of 128: a few units in the last place, and
         * 1e-7 for the flushed ones */
        if (!(fabs((double)weights[k] - w) <= 2e-6 * w + 1e-30))
            fail_msg("token %u, place %d: weight %.9g, not %.9g", token, k,
                     (double)weights[k], w);
    }
}

static void run_topk(kpk_instance *inst, const struct topk_case *c)
{
    const size_t nlogits = (size_t)c->ntokens * EXPERTS;
    const size_t out_nbytes = (size_t)(c->ntokens + GUARD_ROWS) * c->out_stride;
    float *logits = allocate(nlogits * sizeof(*logits));
    uint16_t *halves = allocate(nlogits * sizeof(*halves));
    unsigned char *indices = allocate(out_nbytes);
    unsigned char *weights = allocate(out_nbytes);
    const kpk_kernel *kernel = NULL;
    unsigned char buffer[128];
    uint32_t subm;
    const size_t row = select_topk(inst, c->ntokens, c->bf16, &subm);
    void *in, *out_i, *out_w;
    kpk_shape shape = {{0, 1, 1}, {256, 1, 1}, 0};

    assert_int_equal(subm, c->subm);
    assert_ok(kpk_table_kernel(inst, table_of("topksoftmax"), 0, row, &kernel));
    fill_logits(logits, nlogits, c->bf16);
    for (size_t i = 0; i < nlogits; i++)
        halves[i] = to_bf16(logits[i]);
    if (c->bf16)
        for (size_t i = 0; i < nlogits; i++)
            logits[i] = of_bf16(halves[i]);
    memset(indices, 0xee, out_nbytes);
    in = c->bf16 ? to_device(inst, halves, nlogits * sizeof(*halves))
                 : to_device(inst, logits, nlogits * sizeof(*logits));
    out_i = to_device(inst, indices, out_nbytes);
    out_w = to_device(inst, indices, out_nbytes);
    {
        const kpk_value values[] = {
            kpk_ptr(out_i),          kpk_ptr(out_w),        kpk_ptr(in),
            kpk_u32(c->ntokens),     kpk_u32(EXPERTS),      kpk_u32(K),
            kpk_u32(c->renormalize), kpk_u32(c->out_stride)};

        assert_ok(kpk_values_pack(KPK_LAYOUT_SLOTS, values, 8, buffer,
                                  sizeof(buffer), NULL));
    }
    shape.grid[0] = (c->ntokens + subm - 1) / subm;
    assert_ok(kpk_launch_packed(kernel, &shape, NULL, buffer, sizeof(buffer)));
    assert_ok(kpk_copy_from(inst, indices, out_i, out_nbytes));
    assert_ok(kpk_copy_from(inst, weights, out_w, out_nbytes));
    for (uint32_t t = 0; t < c->ntokens; t++) {
        int32_t row_indices[K];
        float row_weights[K];

        memcpy(row_indices, indices + (size_t)t * c->out_stride,
               sizeof(row_indices));
        memcpy(row_weights, weights + (size_t)t * c->out_stride,
               sizeof(row_weights));
        check_token(c, t, logits + (size_t)t * EXPERTS, row_indices,
                    row_weights);
    }
    /* Nothing behind a row's four, and nothing behind the last token. */
    for (size_t i = 0; i < out_nbytes; i++) {
        if (i / c->out_stride < c->ntokens &&
            i % c->out_stride < sizeof(int32_t[K]))
            continue;
        if (indices[i] != 0xee || weights[i] != 0xee)
            fail_msg("%u tokens: byte %zu behind the results was written",
                     c->ntokens, i);
    }
    assert_ok(kpk_free(inst, in));
    assert_ok(kpk_free(inst, out_i));
    assert_ok(kpk_free(inst, out_w));
    free(logits);
    free(halves);
    free(indices);
    free(weights);
}

static void test_topksoftmax_agrees_with_plain_c(void **state)
{
    (void)state;
    for (int d = 0; d < ndevices; d++)
        for (size_t i = 0; i < sizeof(topk_cases) / sizeof(topk_cases[0]); i++)
            run_topk(instances[d], &topk_cases[i]);
}

/* ---- GEMM: which kernel ---- */

/* Worked out by hand from the tables in hsa/, by the rule of gemm_tile.h. */
static const struct tile_case {
    const char *target;
    struct gemm_problem problem;
    uint32_t tile_m, tile_n, splits;
} tile_cases[] = {
    /* N is a multiple of 64 alone: the tiles of 128 columns are out. */
    {"gfx942", {64, 192, 64, 304, 0, 0}, 32, 64, 1},
    /* One round either way, no row beyond M: 32 x 64 fills 8 units, not 2. */
    {"gfx942", {64, 256, 64, 304, 1, 0}, 32, 64, 1},
    /* The same with splits: K has 8 parts, 304 / 8 units to spare. */
    {"gfx942", {64, 256, 512, 304, 1, 1}, 32, 64, 8},
    /* 45 rows: 19 beyond M for both heights; the small tile idles less. */
    {"gfx942", {45, 256, 512, 304, 1, 1}, 32, 64, 8},
    /* 70 rows: 26 beyond M with 32, 58 with 64. */
    {"gfx942", {70, 256, 64, 304, 0, 0}, 32, 64, 1},
    /* 1024 groups of 32 x 64 take 11 rounds of 100, 256 of 64 x 128 take 3. */
    {"gfx942", {1024, 2048, 64, 100, 0, 0}, 64, 128, 1},
    /* gfx950 has 128 x 128: 128 groups, 2 rounds. */
    {"gfx950:sramecc+:xnack-", {1024, 2048, 64, 100, 0, 0}, 128, 128, 1},
    /* K of one part cannot be split, and a full device is split in two. */
    {"gfx950", {32, 64, 64, 256, 0, 1}, 32, 64, 1},
    {"gfx942", {64, 128, 1024, 1, 0, 1}, 64, 128, 1},
};

static void test_gemm_tile_is_the_one_of_the_rule(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(tile_cases) / sizeof(tile_cases[0]); i++) {
        const struct tile_case *c = &tile_cases[i];
        struct gemm_choice got;

        assert_ok(
            gemm_select(table_of("bf16gemm"), c->target, &c->problem, &got));
        if (got.tile_m != c->tile_m || got.tile_n != c->tile_n ||
            got.splits != c->splits)
            fail_msg("case %zu: %u x %u in %u, not %u x %u in %u", i,
                     got.tile_m, got.tile_n, got.splits, c->tile_m, c->tile_n,
                     c->splits);
    }
}

static void test_gemm_that_no_tile_divides_has_no_row(void **state)
{
    const struct gemm_problem odd = {64, 100, 64, 304, 0, 1};
    struct gemm_choice got;

    (void)state;
    assert_status(gemm_select(table_of("bf16gemm"), "gfx942", &odd, &got),
                  KPK_ERR_NO_ROW);
    assert_status(gemm_select(table_of("bf16gemm"), "gfx1100", &odd, &got),
                  KPK_ERR_NO_ROW);
}

static void test_tables_have_their_index(void **state)
{
    static const char *const kinds[] = {"topksoftmax", "bf16gemm"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        const kpk_module *kind = table_of(kinds[i]);

        assert_int_equal(kind->ntables, 1);
        assert_true(plain_index_is_right(kind->strings, kind->tables));
    }
}

/* ---- GEMM: results ---- */

struct gemm_case {
    uint32_t m, n, k;
    uint32_t tile_m, tile_n;
    int splitk_kernel;
    uint32_t splits;
    uint32_t out_bf16, bias;
};

static const struct gemm_case gemm_cases[] = {
    /* ragged M, each tile, fp32 and bf16 */
    {45, 128, 320, 32, 64, 0, 1, 0, 1},
    {45, 128, 320, 32, 64, 0, 1, 1, 0},
    {1, 256, 64, 64, 128, 0, 1, 0, 0},
    {130, 128, 128, 64, 128, 0, 1, 1, 1},
    {200, 256, 192, 128, 128, 0, 1, 1, 1},
    /* splits that put D to zero themselves: even, uneven, more than parts */
    {45, 128, 320, 32, 64, 1, 2, 0, 1},
    {45, 128, 320, 32, 64, 1, 3, 1, 1},
    {33, 256, 448, 64, 128, 1, 4, 0, 1},
    {33, 256, 448, 64, 128, 1, 4, 1, 0},
    {64, 128, 128, 64, 128, 1, 5, 0, 1},
    /* and without a split */
    {45, 128, 320, 32, 64, 1, 1, 1, 1},
    /* splits into a D that the caller has put to zero */
    {45, 128, 320, 32, 64, 0, 3, 0, 1},
    {45, 128, 320, 64, 128, 0, 2, 1, 1},
};

struct gemm {
    const struct gemm_case *c;
    uint16_t *a, *b, *bias;
    unsigned char *d;
    size_t d_nbytes;
    void *da, *db, *dbias, *dd, *dsemaphore;
};

/* Between -2 and 2. */
static uint16_t *random_halves(size_t n)
{
    uint16_t *to = allocate(n * sizeof(*to));

    for (size_t i = 0; i < n; i++)
        to[i] = to_bf16(((float)(next_random() % 65536) - 32768) / 16384);
    return to;
}

static struct gemm make_gemm(kpk_instance *inst, const struct gemm_case *c)
{
    static const uint32_t zeros[1024];
    struct gemm g = {.c = c};
    const size_t na = (size_t)c->m * c->k;
    const size_t nb = (size_t)c->n * c->k;

    g.d_nbytes = (size_t)c->m * c->n * (c->out_bf16 ? 2 : 4);
    g.a = random_halves(na);
    g.b = random_halves(nb);
    g.bias = random_halves(c->n);
    g.d = allocate(g.d_nbytes);
    /* Garbage, unless the kernel adds to what is there: NaNs. */
    memset(g.d, c->splitk_kernel || c->splits == 1 ? 0xff : 0, g.d_nbytes);
    g.da = to_device(inst, g.a, na * 2);
    g.db = to_device(inst, g.b, nb * 2);
    g.dbias = to_device(inst, g.bias, (size_t)c->n * 2);
    g.dd = to_device(inst, g.d, g.d_nbytes);
    g.dsemaphore = to_device(inst, zeros, sizeof(zeros));
    return g;
}

static void free_gemm(kpk_instance *inst, struct gemm *g)
{
    void *const device[] = {g->da, g->db, g->dbias, g->dd, g->dsemaphore};

    for (size_t i = 0; i < sizeof(device) / sizeof(device[0]); i++)
        assert_ok(kpk_free(inst, device[i]));
    free(g->a);
    free(g->b);
    free(g->bias);
    free(g->d);
}

enum { NVALUES = 22 };
static void gemm_values(const struct gemm *g, kpk_value to[NVALUES])
{
    const struct gemm_case *c = g->c;
    const uint32_t d_row = c->n * (c->out_bf16 ? 2 : 4);
    const kpk_value values[NVALUES] = {
        kpk_ptr(g->dd),       kpk_ptr(NULL),
        kpk_ptr(g->da),       kpk_ptr(g->db),
        kpk_f32(1),           kpk_f32(0),
        kpk_u32(0),           kpk_u32(0),
        kpk_u32(d_row),       kpk_u32(0),
        kpk_u32(c->k * 2),    kpk_u32(0),
        kpk_u32(c->k * 2),    kpk_u32(0),
        kpk_u32(c->m),        kpk_u32(c->n),
        kpk_u32(c->k),        kpk_u32(c->splits),
        kpk_u32(c->out_bf16), kpk_ptr(g->dbias),
        kpk_u32(c->bias),     kpk_ptr(c->splits > 1 ? g->dsemaphore : NULL)};

    memcpy(to, values, sizeof(values));
}

static void pack_gemm(const struct gemm *g, unsigned char buffer[352])
{
    kpk_value values[NVALUES];
    size_t nbytes = 0;

    gemm_values(g, values);
    assert_ok(kpk_values_pack(KPK_LAYOUT_SLOTS, values, NVALUES, buffer, 352,
                              &nbytes));
    assert_int_equal(nbytes, 352);
}

static const kpk_kernel *gemm_kernel(kpk_instance *inst,
                                     const struct gemm_case *c)
{
    char name[100];
    const kpk_kernel *kernel = NULL;
    const kpk_module *kind = table_of("bf16gemm");
    size_t columns[3];
    size_t row;
    kpk_condition conditions[3];
    const kpk_query query = {.target = kpk_instance_device(inst)->target,
                             .conditions = conditions,
                             .nconditions = 3};

    assert_ok(kpk_table_find_column(kind, 0, "tileM", &columns[0]));
    assert_ok(kpk_table_find_column(kind, 0, "tileN", &columns[1]));
    assert_ok(kpk_table_find_column(kind, 0, "splitK", &columns[2]));
    conditions[0] = (kpk_condition){columns[0], KPK_EQUAL, c->tile_m, NULL};
    conditions[1] = (kpk_condition){columns[1], KPK_EQUAL, c->tile_n, NULL};
    conditions[2] =
        (kpk_condition){columns[2], KPK_EQUAL, c->splitk_kernel, NULL};
    if (kpk_table_select(kind, 0, &query, &row) != KPK_OK)
        return NULL; /* a tile that this processor does not have */
    assert_ok(kpk_table_kernel(inst, kind, 0, row, &kernel));
    (void)snprintf(name, sizeof(name), "%ux%u%s", c->tile_m, c->tile_n,
                   c->splitk_kernel ? "_splitk_clean" : "E");
    assert_non_null(strstr(kpk_kernel_name(kernel), name));
    return kernel;
}

static void check_gemm(kpk_instance *inst, struct gemm *g)
{
    const struct gemm_case *c = g->c;
    uint32_t semaphores[1024];

    assert_ok(kpk_copy_from(inst, g->d, g->dd, g->d_nbytes));
    for (uint32_t i = 0; i < c->m; i++) {
        for (uint32_t j = 0; j < c->n; j++) {
            double sum = c->bias ? (double)of_bf16(g->bias[j]) : 0;
            double size = fabs(sum);
            double tolerance;
            float got;

            for (uint32_t k = 0; k < c->k; k++) {
                const double product =
                    (double)of_bf16(g->a[(size_t)i * c->k + k]) *
                    (double)of_bf16(g->b[(size_t)j * c->k + k]);

                sum += product;
                size += fabs(product);
            }
            if (c->out_bf16) {
                uint16_t half;

                memcpy(&half, g->d + ((size_t)i * c->n + j) * 2, 2);
                got = of_bf16(half);
            } else {
                memcpy(&got, g->d + ((size_t)i * c->n + j) * 4, 4);
            }
            /* f32 sums; a bf16 result is rounded once a split, each time what
             * has come together, which `size` bounds */
            tolerance =
                size * 1e-6 +
                (c->out_bf16
                     ? (c->splits == 1 ? fabs(sum) : c->splits * size) / 256
                     : 0);
            if (!(fabs((double)got - sum) <= tolerance))
                fail_msg("%u x %u x %u, tile %u x %u, %u splits: [%u][%u] is "
                         "%g, not %g",
                         c->m, c->n, c->k, c->tile_m, c->tile_n, c->splits, i,
                         j, (double)got, sum);
        }
    }
    assert_ok(
        kpk_copy_from(inst, semaphores, g->dsemaphore, sizeof(semaphores)));
    for (int i = 0; i < 1024; i++)
        if (semaphores[i] != 0)
            fail_msg("semaphore %d is %u in the end", i, semaphores[i]);
}

static int run_gemm(kpk_instance *inst, const struct gemm_case *c)
{
    const kpk_kernel *kernel = gemm_kernel(inst, c);
    const kpk_shape shape = {
        {c->n / c->tile_n, (c->m + c->tile_m - 1) / c->tile_m, c->splits},
        {256, 1, 1},
        0};
    unsigned char buffer[352];
    struct gemm g;

    if (!kernel)
        return 0;
    g = make_gemm(inst, c);
    pack_gemm(&g, buffer);
    assert_ok(kpk_launch_packed(kernel, &shape, NULL, buffer, sizeof(buffer)));
    check_gemm(inst, &g);
    /* Once more over its own result: the counters are as before. All values
     * are given to kernels that take one less, too. */
    if (c->splitk_kernel || c->splits == 1) {
        kpk_value values[NVALUES];

        gemm_values(&g, values);
        assert_ok(kpk_launch_values(kernel, &shape, NULL, KPK_LAYOUT_SLOTS,
                                    values, NVALUES));
        check_gemm(inst, &g);
        values[14].nbytes = 8;
        assert_status(kpk_launch_values(kernel, &shape, NULL, KPK_LAYOUT_SLOTS,
                                        values, NVALUES),
                      KPK_ERR_KERNEL_ARGS);
        assert_message("\"M\" lies at bytes 224 to 227, but value 14 at bytes "
                       "224 to 231");
    }
    free_gemm(inst, &g);
    return 1;
}

static void test_gemm_agrees_with_plain_c(void **state)
{
    int nrun = 0;

    (void)state;
    for (int d = 0; d < ndevices; d++)
        for (size_t i = 0; i < sizeof(gemm_cases) / sizeof(gemm_cases[0]); i++)
            nrun += run_gemm(instances[d], &gemm_cases[i]);
    /* all but the tile of gfx950 on gfx942 */
    assert_int_equal(nrun, 2 * sizeof(gemm_cases) / sizeof(gemm_cases[0]) - 1);
}

/* From the problem to the result, as a host does it. */
static void test_selected_gemm_agrees_with_plain_c(void **state)
{
    (void)state;
    for (int d = 0; d < ndevices; d++) {
        const kpk_device *device = kpk_instance_device(instances[d]);
        const struct gemm_problem problem = {
            50, 256, 512, device->compute_units, 1, 1};
        struct gemm_choice choice;
        struct gemm_case c;

        assert_ok(gemm_select(table_of("bf16gemm"), device->target, &problem,
                              &choice));
        assert_int_equal(choice.splits, 8);
        c = (struct gemm_case){
            50, 256, 512, choice.tile_m, choice.tile_n, 1, choice.splits, 1, 1};
        assert_int_equal(run_gemm(instances[d], &c), 1);
    }
}

/* ---- buffers that a launch accepts ---- */

/* The kernel's metadata says 336 bytes, and hosts pass a struct of 352. A
 * struct may also end behind the last argument. */
static void test_buffers_of_real_hosts_are_accepted_and_no_others(void **state)
{
    static const struct gemm_case plain = {32, 64, 64, 32, 64, 0, 1, 0, 0};
    static const struct gemm_case clean = {32, 64, 64, 32, 64, 1, 1, 0, 0};
    const kpk_shape shape = {{1, 1, 1}, {256, 1, 1}, 0};
    const struct {
        const struct gemm_case *kernel;
        size_t nbytes;
        const char *says; /* NULL: accepted */
    } cases[] = {
        {&plain, 352, NULL},
        {&plain, 336, NULL},
        {&plain, 324, NULL},
        {&plain, 323, "\"add_bias\" lies at bytes 320 to 323"},
        {&clean, 352, NULL},
        {&clean, 344, NULL},
        {&clean, 343, "\"ptr_semaphore\" lies at bytes 336 to 343"},
        {&clean, 336, "\"ptr_semaphore\" lies at bytes 336 to 343"},
        {&clean, 0, "\"ptr_D\" lies at bytes 0 to 7"},
    };

    (void)state;
    for (int d = 0; d < ndevices; d++) {
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            struct gemm g = make_gemm(instances[d], cases[i].kernel);
            const kpk_kernel *kernel =
                gemm_kernel(instances[d], cases[i].kernel);
            unsigned char buffer[352];
            kpk_status st;

            pack_gemm(&g, buffer);
            st = kpk_launch_packed(kernel, &shape, NULL, buffer,
                                   cases[i].nbytes);
            if (cases[i].says) {
                assert_status(st, KPK_ERR_KERNEL_ARGS);
                assert_message(cases[i].says);
            } else {
                assert_ok(st);
                check_gemm(instances[d], &g);
            }
            free_gemm(instances[d], &g);
        }
    }
}

/* By pointer, without the paddings that the kernel lists: 22 of 76 entries. */
static void test_padding_of_slots_takes_no_argument(void **state)
{
    static const struct gemm_case c = {32, 64, 64, 32, 64, 1, 1, 0, 1};

    (void)state;
    for (int d = 0; d < ndevices; d++) {
        struct gemm g = make_gemm(instances[d], &c);
        const kpk_kernel *kernel = gemm_kernel(instances[d], &c);
        const kpk_shape shape = {{1, 1, 1}, {256, 1, 1}, 0};
        void *none = NULL;
        float one = 1, zero = 0;
        uint32_t no = 0, yes = 1, row = 128, d_row = 256, m = 32, n = 64;
        kpk_kernel_decl decl;

        assert_ok(kpk_module_kernel(kpk_kernel_module(kernel),
                                    kpk_kernel_index(kernel), &decl));
        assert_int_equal(decl.nargs, 76);
        assert_int_equal(decl.nargs_given, 22);
        assert_int_equal(decl.packed_nbytes, 352);
        assert_ok(kpk_launch(kernel, &shape, NULL,
                             KPK_ARGS(g.dd, none, g.da, g.db, one, zero, no, no,
                                      d_row, no, row, no, row, no, m, n, n, yes,
                                      no, g.dbias, yes, none)));
        check_gemm(instances[d], &g);
        free_gemm(instances[d], &g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_topksoftmax_agrees_with_plain_c),
        cmocka_unit_test(test_gemm_tile_is_the_one_of_the_rule),
        cmocka_unit_test(test_gemm_that_no_tile_divides_has_no_row),
        cmocka_unit_test(test_tables_have_their_index),
        cmocka_unit_test(test_gemm_agrees_with_plain_c),
        cmocka_unit_test(test_selected_gemm_agrees_with_plain_c),
        cmocka_unit_test(test_buffers_of_real_hosts_are_accepted_and_no_others),
        cmocka_unit_test(test_padding_of_slots_takes_no_argument),
    };
    int failed = 0;

    if (kpk_device_count(&ndevices) != KPK_OK || ndevices != 2) {
        printf("no gfx942 and gfx950: %s\n", kpk_error_message());
        return 1;
    }
    for (int i = 0; i < ndevices; i++) {
        if (kpk_open(&kpk_hand, i, &instances[i]) != KPK_OK) {
            printf("%s\n", kpk_error_message());
            return 1;
        }
    }
    failed = cmocka_run_group_tests_name("asm", tests, NULL, NULL);
    for (int i = 0; i < ndevices; i++)
        failed += kpk_close(instances[i]) != KPK_OK;
    return failed != 0;
}
