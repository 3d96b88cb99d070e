/* comm.c - module comm: the ranks of a group on one device, each in a stream
 *
 * A device runs the launches of several streams at once, so all that the ranks
 * do is done here. tests/comm has groups of several devices.
 */
#include "harness.h"

#include "kpack/candle/comm_group.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const kpk_module kpk_module_comm;

enum { MOST = KPK_COMM_MOST_RANKS };

enum way { SMALL, MEDIUM, LARGE }; /* and shares, pushed or pulled */

struct what {
    kpk_comm_op op;
    enum way way;
};

struct call_case {
    uint32_t ranks;
    size_t n; /* elements */
    size_t lead, root;
    bool in_place;
};

static const struct call_case cases[] = {
    {2, 1, 0, 0, false},   {2, 1000, 0, 1, true}, {3, 777, 1, 2, false},
    {4, 4099, 0, 3, true}, {8, 515, 0, 5, false}, {5, 64, 3, 0, true},
};

struct group {
    kpk_comm *comm;
    void *streams[MOST];
    void *in[MOST], *out[MOST];
};

static bool ok(struct kt *t, kpk_status st)
{
    if (st != KPK_OK)
        kt_fail(t, "%s", kpk_error_message());
    return st == KPK_OK;
}

static bool open_group(struct kt *t, uint32_t ranks, enum way way,
                       uint64_t large_nbytes, struct group *g)
{
    const kpk_comm_options options = {
        .small_nbytes = way == SMALL ? 131072 : 16, /* the way by the size */
        .medium_nbytes = way == MEDIUM ? 32768 : 1,
        .large_nbytes = large_nbytes,
        .limit_ms = 60000};
    kpk_instance *insts[MOST];
    bool all = true;

    for (uint32_t r = 0; r < ranks; r++) {
        insts[r] = t->inst;
        all &= ok(t, kpk_stream_create(t->inst, KPK_STREAM_NON_BLOCKING,
                                       &g->streams[r]));
    }
    return all && ok(t, kpk_comm_open(insts, ranks, &options, &g->comm));
}

static void close_group(struct kt *t, uint32_t ranks, struct group *g)
{
    for (uint32_t r = 0; r < ranks; r++)
        ok(t, kpk_stream_destroy(t->inst, g->streams[r]));
    ok(t, kpk_comm_close(g->comm));
}

/* One call on all ranks. */
static bool call_all(struct kt *t, const struct group *g, uint32_t ranks,
                     const kpk_comm_plan *plan, uint32_t root)
{
    bool all = true;

    for (uint32_t r = 0; r < ranks; r++)
        all &= ok(t, kpk_comm_launch(g->comm, plan, r, root, g->in[r],
                                     g->out[r], g->streams[r]));
    for (uint32_t r = 0; r < ranks; r++)
        all &= ok(t, kpk_sync(t->inst, g->streams[r])) &&
               ok(t, kpk_comm_check(g->comm, r));
    return all;
}

static void check_sums(struct kt *t, enum kt_type type, const void *got,
                       void *const *x, uint32_t ranks, size_t first, size_t n)
{
    kt_real *want = kt_alloc(t, n * sizeof(*want));
    kt_real *scale = kt_alloc(t, n * sizeof(*scale));

    for (size_t i = 0; i < n; i++)
        for (uint32_t r = 0; r < ranks; r++) {
            want[i] += kt_get(type, x[r], first + i);
            scale[i] += fabsl(kt_get(type, x[r], first + i));
        }
    kt_check(t, type, got, want, n,
             (struct kt_gate){0.5L, ranks * 0x1p-24L, scale, false});
}

/* The result of rank r for this round's inputs x. */
static void check_rank(struct kt *t, const struct kt_row *row,
                       const struct call_case *c, uint32_t r, const void *got,
                       const void *got0, void *const *x)
{
    const struct what *what = row->detail;
    const size_t nbytes = c->n * kt_size(row->a);

    switch (what->op) {
    case KPK_COMM_ALL_REDUCE:
        if (r == 0)
            check_sums(t, row->a, got, x, c->ranks, 0, c->n);
        else
            kt_check_bytes(t, got, got0, nbytes, "the sum of rank 0");
        break;
    case KPK_COMM_REDUCE_SCATTER:
        check_sums(t, row->a, got, x, c->ranks, r * c->n, c->n);
        break;
    case KPK_COMM_ALL_GATHER:
        for (uint32_t s = 0; s < c->ranks; s++)
            kt_check_bytes(t, (const char *)got + s * nbytes, x[s], nbytes,
                           "the row of a rank");
        break;
    case KPK_COMM_BROADCAST:
        kt_check_bytes(t, got, x[c->root], nbytes, "the root's row");
        break;
    case KPK_COMM_NORM: /* run_norm() */
        break;
    }
}

static kpk_comm_type comm_type(enum kt_type type)
{
    return type == KT_F16    ? KPK_COMM_F16
           : type == KT_BF16 ? KPK_COMM_BF16
                             : KPK_COMM_F32;
}

static void run_case(struct kt *t, const struct kt_row *row,
                     const struct call_case *c)
{
    const struct what *what = row->detail;
    const size_t size = kt_size(row->a);
    const size_t in_n =
        c->n * (what->op == KPK_COMM_REDUCE_SCATTER ? c->ranks : 1);
    const size_t out_n =
        c->n * (what->op == KPK_COMM_ALL_GATHER ? c->ranks : 1);
    const bool in_place = c->in_place && in_n == out_n;
    const kpk_comm_type type = comm_type(row->a);
    struct group g = {0};
    kpk_comm_plan plan;
    void *got[MOST], *x[MOST];

    if (!open_group(t, c->ranks, what->way, 4096, &g))
        return;
    for (uint32_t r = 0; r < c->ranks; r++) {
        x[r] = kt_host(t, row->a, in_n, KT_SMALL, 0);
        got[r] = kt_alloc(t, out_n * size);
        g.in[r] = kt_device(t, NULL, in_n * size, c->lead * size);
        g.out[r] = in_place ? g.in[r]
                            : kt_device(t, NULL, out_n * size, c->lead * size);
    }
    if (!ok(t, kpk_comm_register(g.comm, g.in, in_n * size)) ||
        !ok(t, kpk_comm_choose(g.comm, what->op, type, c->n, &plan)))
        return;
    if (strcmp(plan.kernel, row->symbol) != 0 &&
        (what->way == SMALL || (what->way == MEDIUM && c->n > 16)))
        kt_fail(t, "the plan took %s", plan.kernel);
    /* Three calls: with both parities of slots, and one again. */
    for (uint64_t round = 0; round < 3; round++) {
        for (uint32_t r = 0; r < c->ranks; r++) {
            kt_fill(row->a, x[r], in_n, KT_SMALL, 100 * round + r);
            if (round == 1 && r % 2) /* NaNs that medium.h's words avoid */
                memset(x[r], 0xff, in_n < 12 ? size : 12 * size);
            kt_write(t, g.in[r], x[r], in_n * size);
        }
        if (!call_all(t, &g, c->ranks, &plan, (uint32_t)c->root))
            break;
        for (uint32_t r = 0; r < c->ranks; r++) {
            kt_read(t, got[r], g.out[r], out_n * size);
            check_rank(t, row, c, r, got[r], got[0], x);
        }
    }
    close_group(t, c->ranks, &g);
}

static void run(struct kt *t, const struct kt_row *row)
{
    char what[64];

    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        if (!kt_turn(t))
            continue;
        snprintf(what, sizeof(what), "%u ranks, %zu elements",
                 (unsigned)cases[k].ranks, cases[k].n);
        t->what = what;
        run_case(t, row, &cases[k]);
    }
}

/* ---- sums with a residual and a norm ------------------------------------ */

static const struct norm_case {
    uint32_t ranks, rows, columns;
    uint32_t padded; /* columns of a row of Q8_1 blocks */
    bool residual, in_place, weight;
    float times; /* factor of the inputs; squares overflow f32 with the last */
} norm_cases[] = {
    {2, 1, 72, 96, true, true, true, 1},
    {3, 5, 40, 96, true, false, true, 1},
    {2, 1, 8184, 8192, true, true, true, 1},
    {2, 2100, 8, 32, true, true, true, 1}, /* medium: several launches */
    {3, 300, 8, 32, true, true, true, 1},  /* large: several launches */
    {2, 1, 8000, 8032, true, true, true, 0x1p66F}, /* in parts on NVIDIA's */
    {8, 3, 136, 160, false, false, true, 1},
    {5, 2, 320, 320, true, false, false, 1},
    {4, 9, 72, 96, true, true, true, 0x1p70F},
};

struct norm_data {
    void *x[MOST];
    void *residual, *weight;
    void *sum; /* rounded twice, as all-reduce and addition do */
    kt_real *want;
};

/* The type's value of v. */
static kt_real rounded(enum kt_type type, kt_real v)
{
    const uint64_t code = kt_encode(type, v);

    return kt_get(type, &code, 0);
}

static void norm_reference(enum kt_type type, const struct norm_case *c,
                           float eps, const struct norm_data *d)
{
    for (size_t r = 0; r < c->rows; r++) {
        kt_real squares = 0, scale;

        for (size_t i = r * c->columns; i < (r + 1) * c->columns; i++) {
            float sum = (float)kt_get(type, d->x[0], i);

            for (uint32_t s = 1; s < c->ranks; s++)
                sum += (float)kt_get(type, d->x[s], i);
            sum = (float)rounded(type, sum);
            if (c->residual)
                sum += (float)kt_get(type, d->residual, i);
            kt_put(type, d->sum, i, sum);
            squares += kt_get(type, d->sum, i) * kt_get(type, d->sum, i);
        }
        scale = 1 / sqrtl(squares / c->columns + (kt_real)eps);
        for (size_t i = 0; i < c->columns; i++)
            d->want[r * c->columns + i] =
                kt_get(type, d->sum, r * c->columns + i) * scale *
                (c->weight ? kt_get(type, d->weight, i) : 1);
    }
}

/* Numbers within half a step of a block's scale, which fits the greatest. */
static void check_block(struct kt *t, const uint8_t *block, const kt_real *want,
                        size_t count)
{
    const kt_real d = kt_get(KT_F16, block, 0), s = kt_get(KT_F16, block, 1);
    kt_real most = 0, sum = 0;

    for (size_t i = 0; i < count; i++)
        most = fmaxl(most, fabsl(want[i]));
    if (fabsl(d - most / 127) > most / 127 * 0x1p-10L + 0x1p-24L)
        kt_fail(t, "the scale is %Lg, of %Lg", d, most / 127);
    for (size_t i = 0; i < 32; i++) {
        const kt_real q = (int8_t)block[4 + i];

        sum += q;
        if (fabsl(q * d - (i < count ? want[i] : 0)) > d * 0.57L)
            kt_fail(t, "quant %zu is %Lg times %Lg, of %Lg", i, q, d,
                    i < count ? want[i] : 0);
    }
    if (fabsl(s - sum * most / 127) >
        fabsl(sum * most / 127) * 0x1p-9L + 0x1p-23L)
        kt_fail(t, "the block's sum is %Lg, of %Lg", s, sum * most / 127);
}

static void check_norm(struct kt *t, enum kt_type type,
                       const struct norm_case *c, bool blocks, const void *got,
                       const kt_real *want)
{
    const size_t n = (size_t)c->rows * c->columns, across = c->padded / 32;
    kt_real *scale = kt_alloc(t, n * sizeof(*scale));

    for (size_t i = 0; i < n; i++)
        scale[i] = fabsl(want[i]);
    if (!blocks)
        kt_check(t, type, got, want, n,
                 (struct kt_gate){0.5L,
                                  (kt_depth(c->columns, 32) + 8) * 0x1p-24L,
                                  scale, false});
    for (size_t b = 0; blocks && b < c->rows * across; b++) {
        const size_t first = b % across * 32;
        const size_t left = first < c->columns ? c->columns - first : 0;

        check_block(t, (const uint8_t *)got + b * 36,
                    want + b / across * c->columns + first,
                    left < 32 ? left : 32);
    }
}

static struct norm_data norm_data(struct kt *t, enum kt_type type,
                                  const struct norm_case *c)
{
    const size_t n = (size_t)c->rows * c->columns;
    struct norm_data d = {{NULL},
                          kt_host(t, type, n, KT_SMALL, 50),
                          kt_host(t, type, c->columns, KT_SMALL, 51),
                          kt_alloc(t, n * kt_size(type)),
                          kt_alloc(t, n * sizeof(kt_real))};

    for (uint32_t r = 0; r < c->ranks; r++) {
        d.x[r] = kt_host(t, type, n, KT_SMALL, r);
        for (size_t i = 0; c->times != 1 && type != KT_F16 && i < n; i++)
            kt_put(type, d.x[r], i,
                   kt_get(type, d.x[r], i) * (kt_real)c->times);
    }
    return d;
}

static enum way norm_way(const struct kt_row *row)
{
    return strstr(row->symbol, "_small_")    ? SMALL
           : strstr(row->symbol, "_medium_") ? MEDIUM
                                             : LARGE;
}

/* Blocks that share a row are a cluster if `clustered`: a plan makes none where
 * ranks share a device, but this one has nothing else to do. */
static void run_norm_case(struct kt *t, const struct kt_row *row,
                          const struct norm_case *c, bool clustered)
{
    const enum kt_type type = row->a;
    const enum way way = norm_way(row);
    const bool blocks = strstr(row->symbol, "_q8_1_") != NULL;
    const size_t nbytes = (size_t)c->rows * c->columns * kt_size(type);
    const size_t out_nbytes =
        blocks ? (size_t)c->rows * (c->padded / 32) * 36 : nbytes;
    const struct norm_data d = norm_data(t, type, c);
    struct group g = {0};
    kpk_comm_norm_args args[MOST];
    kpk_comm_plan plan;
    void *got[MOST];

    if (!open_group(t, c->ranks, way, 32768, &g))
        return;
    norm_reference(type, c, 1e-5F, &d);
    for (uint32_t r = 0; r < c->ranks; r++) {
        g.in[r] = kt_device(t, d.x[r], nbytes, 0);
        args[r] = (kpk_comm_norm_args){
            g.in[r],
            c->residual ? kt_device(t, d.residual, nbytes, 0) : NULL,
            kt_device(t, NULL, nbytes, 0),
            c->weight ? kt_device(t, d.weight, c->columns * kt_size(type), 0)
                      : NULL,
            kt_device(t, NULL, out_nbytes, 0),
            1e-5F};
        if (c->in_place)
            args[r].sum = (void *)(uintptr_t)args[r].residual;
        got[r] = kt_alloc(t, out_nbytes);
    }
    if (!ok(t, kpk_comm_register(g.comm, g.in, nbytes)) ||
        !ok(t, kpk_comm_choose_norm(g.comm, comm_type(type), c->rows,
                                    c->columns, blocks ? c->padded : 0, &plan)))
        return;
    if (strcmp(plan.kernel, row->symbol) != 0)
        kt_fail(t, "the plan took %s", plan.kernel);
    if (plan.clustered)
        kt_fail(t, "clusters, on a device of all ranks");
    plan.clustered = clustered && plan.parts > 1;
    ok(t, kpk_sync(t->inst, NULL)); /* the buffers' filling */
    for (uint32_t r = 0; r < c->ranks; r++)
        ok(t, kpk_comm_norm(g.comm, &plan, r, &args[r], g.streams[r]));
    for (uint32_t r = 0; r < c->ranks; r++) {
        void *sum = kt_alloc(t, nbytes);

        if (!ok(t, kpk_sync(t->inst, g.streams[r])) ||
            !ok(t, kpk_comm_check(g.comm, r)))
            break;
        kt_read(t, sum, args[r].sum, nbytes);
        kt_check_bits(t, type, sum, d.sum, (size_t)c->rows * c->columns);
        kt_read(t, got[r], args[r].out, out_nbytes);
        kt_check_bytes(t, got[r], got[0], out_nbytes, "the norm of rank 0");
    }
    check_norm(t, type, c, blocks, got[0], d.want);
    close_group(t, c->ranks, &g);
}

static bool has_clusters(const struct kt *t)
{
    const kpk_device *device = kpk_instance_device(t->inst);

    return device->platform == KPK_CUDA && atoi(device->target + 3) >= 90;
}

static void run_norm(struct kt *t, const struct kt_row *row)
{
    char what[64];

    for (size_t k = 0; k < sizeof(norm_cases) / sizeof(norm_cases[0]); k++) {
        const struct norm_case *c = &norm_cases[k];

        if (norm_way(row) == LARGE && c->ranks == 2)
            continue; /* plans for two ranks take the medium kernels */
        if (!kt_turn(t))
            continue;
        snprintf(what, sizeof(what), "%u ranks, %u x %u", (unsigned)c->ranks,
                 (unsigned)c->rows, (unsigned)c->columns);
        t->what = what;
        run_norm_case(t, row, c, false);
        if (has_clusters(t) && c->columns >= 8000)
            run_norm_case(t, row, c, true);
    }
}

#define WHAT(op, way)                                                          \
    &(const struct what)                                                       \
    {                                                                          \
        op, way                                                                \
    }
#define NORM(name, suffix, type)                                               \
    {name "_small_" suffix, run_norm, type, type, NULL},                       \
        {name "_medium_" suffix, run_norm, type, type, NULL},                  \
    {                                                                          \
        name "_large_" suffix, run_norm, type, type, NULL                      \
    }
#define SUMS(suffix, type)                                                     \
    {"all_reduce_small_" suffix, run, type, type,                              \
     WHAT(KPK_COMM_ALL_REDUCE, SMALL)},                                        \
        {"all_reduce_medium_" suffix, run, type, type,                         \
         WHAT(KPK_COMM_ALL_REDUCE, MEDIUM)},                                   \
        {"all_reduce_pushed_" suffix, run, type, type,                         \
         WHAT(KPK_COMM_ALL_REDUCE, LARGE)},                                    \
        {"reduce_scatter_small_" suffix, run, type, type,                      \
         WHAT(KPK_COMM_REDUCE_SCATTER, SMALL)},                                \
        NORM("all_reduce_norm", suffix, type),                                 \
        NORM("all_reduce_norm_q8_1", suffix, type),                            \
    {                                                                          \
        "reduce_scatter_large_" suffix, run, type, type,                       \
            WHAT(KPK_COMM_REDUCE_SCATTER, LARGE)                               \
    }

static const struct kt_row rows[] = {
    SUMS("f32", KT_F32),
    SUMS("f16", KT_F16),
    SUMS("bf16", KT_BF16),
    {"all_gather_small", run, KT_F16, KT_F16, WHAT(KPK_COMM_ALL_GATHER, SMALL)},
    {"all_gather_large", run, KT_F32, KT_F32, WHAT(KPK_COMM_ALL_GATHER, LARGE)},
    {"broadcast_small", run, KT_BF16, KT_BF16, WHAT(KPK_COMM_BROADCAST, SMALL)},
    {"broadcast_large", run, KT_F16, KT_F16, WHAT(KPK_COMM_BROADCAST, LARGE)},
};

KT_MAIN(kpk_module_comm, rows)
