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

struct what {
    kpk_comm_op op;
    bool small;
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

static bool open_group(struct kt *t, uint32_t ranks, bool small,
                       struct group *g)
{
    const kpk_comm_options options = {
        .small_nbytes = small ? 32768 : 16, /* the other way by the size */
        .large_nbytes = 4096,
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

/* What rank r must have got of this round's inputs x. */
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
    }
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
    const kpk_comm_type type = row->a == KT_F16    ? KPK_COMM_F16
                               : row->a == KT_BF16 ? KPK_COMM_BF16
                                                   : KPK_COMM_F32;
    struct group g = {0};
    kpk_comm_plan plan;
    void *got[MOST], *x[MOST];

    if (!open_group(t, c->ranks, what->small, &g))
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
    if (strcmp(plan.kernel, row->symbol) != 0 && what->small)
        kt_fail(t, "the plan took %s", plan.kernel);
    /* Three calls: with both parities of slots, and one again. */
    for (uint64_t round = 0; round < 3; round++) {
        for (uint32_t r = 0; r < c->ranks; r++) {
            kt_fill(row->a, x[r], in_n, KT_SMALL, 100 * round + r);
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

#define WHAT(op, is_small)                                                     \
    &(const struct what)                                                       \
    {                                                                          \
        op, is_small                                                           \
    }
#define SUMS(suffix, type)                                                     \
    {"all_reduce_small_" suffix, run, type, type,                              \
     WHAT(KPK_COMM_ALL_REDUCE, true)},                                         \
        {"all_reduce_large_" suffix, run, type, type,                          \
         WHAT(KPK_COMM_ALL_REDUCE, false)},                                    \
        {"reduce_scatter_small_" suffix, run, type, type,                      \
         WHAT(KPK_COMM_REDUCE_SCATTER, true)},                                 \
    {                                                                          \
        "reduce_scatter_large_" suffix, run, type, type,                       \
            WHAT(KPK_COMM_REDUCE_SCATTER, false)                               \
    }

static const struct kt_row rows[] = {
    SUMS("f32", KT_F32),
    SUMS("f16", KT_F16),
    SUMS("bf16", KT_BF16),
    {"all_gather_small", run, KT_F16, KT_F16, WHAT(KPK_COMM_ALL_GATHER, true)},
    {"all_gather_large", run, KT_F32, KT_F32, WHAT(KPK_COMM_ALL_GATHER, false)},
    {"broadcast_small", run, KT_BF16, KT_BF16, WHAT(KPK_COMM_BROADCAST, true)},
    {"broadcast_large", run, KT_F16, KT_F16, WHAT(KPK_COMM_BROADCAST, false)},
};

KT_MAIN(kpk_module_comm, rows)
