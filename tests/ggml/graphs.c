/*
 * graphs.c - are nodes fused, and graphs recorded and replayed?
 *
 *   KPK_HIP_LIBRARY=.../counted_hip.so graphs .../libggml-kpack.so
 *
 * Computes small graphs on a simulated GPU, each RUNS times with other inputs,
 * with recordings and fusions and without. Counted are the launches that the
 * host makes, the replays of recordings, and the kernels that the GPU runs. The
 * results are the same bits in all ways.
 */
#include "counted_hip.h"

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS = 256,
    ROWS = 32, /* of weights */
    TOKENS = 3,
    CHAIN = 8, /* nodes behind the others: few are not recorded */
    RUNS = 4,
    MOST_RECORDINGS = 64, /* kept by src/ggml/graph.c */
    MOST_OUTPUTS = 4
};

static int faults;

static void fault(const char *graph, const char *way, int run, const char *what,
                  unsigned long got, unsigned long wanted)
{
    printf("%s, %s, run %d: %lu %s, wanted %lu\n", graph, way, run + 1, got,
           what, wanted);
    faults++;
}

static void must(bool good, const char *what)
{
    if (good)
        return;
    (void)fprintf(stderr, "graphs: %s\n", what);
    exit(2);
}

/* ---- graphs ---- */

struct graph {
    struct ggml_context *ctx;
    ggml_backend_buffer_t buffer;
    struct ggml_cgraph *graph;
    int64_t columns;
    struct ggml_tensor *outputs[MOST_OUTPUTS];
    size_t noutputs;
};

static struct ggml_tensor *rows(struct graph *g, int64_t n)
{
    return ggml_new_tensor_2d(g->ctx, GGML_TYPE_F32, g->columns, n);
}

static void output(struct graph *g, struct ggml_tensor *t)
{
    ggml_build_forward_expand(g->graph, t);
    g->outputs[g->noutputs++] = t;
}

/* The product of x and blocks. */
static struct ggml_tensor *product(struct graph *g, struct ggml_tensor *x)
{
    struct ggml_tensor *weights =
        ggml_new_tensor_2d(g->ctx, GGML_TYPE_Q4_0, g->columns, ROWS);

    return ggml_mul_mat(g->ctx, weights, x);
}

static struct ggml_tensor *norm_of(struct graph *g, struct ggml_tensor *x)
{
    return ggml_mul(g->ctx, ggml_rms_norm(g->ctx, x, 1e-5f), rows(g, 1));
}

static struct ggml_tensor *norm(struct graph *g)
{
    return norm_of(g, rows(g, TOKENS));
}

/* Another node reads the norm before its scaling by the weights. */
static struct ggml_tensor *norm_alone(struct graph *g)
{
    struct ggml_tensor *x = ggml_rms_norm(g->ctx, rows(g, TOKENS), 1e-5f);
    struct ggml_tensor *out = ggml_mul(g->ctx, x, rows(g, 1));

    ggml_build_forward_expand(g->graph, out);
    output(g, ggml_scale(g->ctx, x, 2));
    return out;
}

static struct ggml_tensor *norm_of_sum(struct graph *g)
{
    struct ggml_tensor *sum =
        ggml_add(g->ctx, rows(g, TOKENS), rows(g, TOKENS));
    struct ggml_tensor *out = norm_of(g, sum);

    ggml_build_forward_expand(g->graph, out);
    output(g, ggml_scale(g->ctx, sum, 2)); /* the sum is stored */
    return out;
}

static struct ggml_tensor *norm_for_products(struct graph *g)
{
    struct ggml_tensor *x = norm(g);

    output(g, product(g, x));
    return product(g, x);
}

static struct ggml_tensor *norm_for_others(struct graph *g)
{
    struct ggml_tensor *x = norm(g);

    output(g, ggml_scale(g->ctx, x, 2));
    return product(g, x);
}

static struct ggml_tensor *norm_behind_norm(struct graph *g)
{
    struct ggml_tensor *sum = ggml_add(g->ctx, rows(g, TOKENS), norm(g));
    struct ggml_tensor *out = product(g, norm_of(g, sum));

    ggml_build_forward_expand(g->graph, out);
    output(g, ggml_scale(g->ctx, sum, 2));
    return out;
}

static struct ggml_tensor *swiglu(struct graph *g)
{
    return product(g,
                   ggml_swiglu_split(g->ctx, rows(g, TOKENS), rows(g, TOKENS)));
}

static struct ggml_tensor *geglu(struct graph *g)
{
    return product(g,
                   ggml_geglu_split(g->ctx, rows(g, TOKENS), rows(g, TOKENS)));
}

static struct ggml_tensor *reglu(struct graph *g)
{
    return product(g,
                   ggml_reglu_split(g->ctx, rows(g, TOKENS), rows(g, TOKENS)));
}

static struct ggml_tensor *one_input(struct graph *g)
{
    struct ggml_tensor *x = rows(g, TOKENS);

    output(g, product(g, x));
    output(g, product(g, x));
    return product(g, x);
}

typedef struct ggml_tensor *make(struct graph *g);

/* clang-format off */
#define GRAPHS(X) /* launches without the chain */          \
    /* graph              apart  fused */                   \
    X(norm,               2,     1)                         \
    X(norm_alone,         3,     3)                         \
    X(norm_of_sum,        4,     2)                         \
    X(norm_for_products,  6,     3)                         \
    X(norm_for_others,    5,     4)                         \
    X(norm_behind_norm,   8,     3)                         \
    X(swiglu,             3,     2)                         \
    X(geglu,              3,     2)                         \
    X(reglu,              3,     3) /* no row of fuse.c */  \
    X(one_input,          6,     4)
/* clang-format on */

static const struct row {
    const char *name;
    make *make;
    unsigned long launches[2]; /* apart, fused */
} table[] = {
#define X(name, apart, fused) {#name, name, {apart, fused}},
    GRAPHS(X)
#undef X
};

/* Numbers of -1 to 1. */
static float next_number(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) * 0x1p-23f - 1;
}

/* A seed changes numbers, not blocks: blocks are weights. */
static void fill(const struct graph *g, uint32_t seed)
{
    uint32_t nth = 0;

    for (struct ggml_tensor *t = ggml_get_first_tensor(g->ctx); t;
         t = ggml_get_next_tensor(g->ctx, t), nth++) {
        const bool blocks = t->type != GGML_TYPE_F32;
        const size_t n = (size_t)ggml_nelements(t);
        uint32_t state = (blocks ? 0 : seed) * 97 + nth;
        float *numbers = malloc(n * sizeof(*numbers));
        void *made = malloc(ggml_nbytes(t));

        must(numbers && made, "no memory");
        for (size_t i = 0; i < n; i++)
            numbers[i] = next_number(&state);
        if (blocks)
            ggml_quantize_chunk(t->type, numbers, made, 0, ggml_nrows(t),
                                t->ne[0], NULL);
        else
            memcpy(made, numbers, ggml_nbytes(t));
        /* results, too: what is not computed shows */
        ggml_backend_tensor_set(t, made, 0, ggml_nbytes(t));
        free(made);
        free(numbers);
    }
}

static struct graph new_graph(ggml_backend_t backend, make *make,
                              int64_t columns, int chain)
{
    const size_t nbytes = 64 * ggml_tensor_overhead() + ggml_graph_overhead();
    struct graph g = {.columns = columns};
    struct ggml_tensor *last;

    g.ctx = ggml_init((struct ggml_init_params){nbytes, NULL, true});
    must(g.ctx, "no context");
    g.graph = ggml_new_graph(g.ctx);
    last = make(&g);
    for (int i = 0; i < chain; i++)
        last = ggml_scale(g.ctx, last, 1.25f);
    output(&g, last);
    g.buffer = ggml_backend_alloc_ctx_tensors(g.ctx, backend);
    must(g.buffer, "no memory on the GPU");
    return g;
}

static void free_graph(struct graph *g)
{
    ggml_backend_buffer_free(g->buffer);
    ggml_free(g->ctx);
}

/* ---- counts ---- */

struct counts {
    unsigned long launches, replays, kernels;
};

static struct counts counts_now(void)
{
    static const struct counted_hip *(*counted)(void);
    static int (*stats)(void *);

    if (!stats) {
        const char *path = getenv("KPK_HIP_LIBRARY");
        void *count = path ? dlopen(path, RTLD_NOW) : NULL;
        void *sim = dlopen("libamdhip64.so.7", RTLD_NOW);

        must(count && sim, "KPK_HIP_LIBRARY is not counted_hip.so");
        counted =
            (const struct counted_hip *(*)(void))dlsym(count, "counted_hip");
        stats = (int (*)(void *))dlsym(sim, "kpkSimGetStats");
        must(counted && stats, "no simulated GPU");
    }
    return (struct counts){counted()->launches, counted()->replays,
                           (unsigned long)stats(NULL)};
}

/* Computes once, with new inputs, and counts. */
static struct counts compute(ggml_backend_t backend, const struct graph *g,
                             int run)
{
    struct counts before, after;

    fill(g, (uint32_t)run + 1);
    before = counts_now();
    must(ggml_backend_graph_compute(backend, g->graph) == GGML_STATUS_SUCCESS,
         "a graph was not computed");
    after = counts_now();
    return (struct counts){after.launches - before.launches,
                           after.replays - before.replays,
                           after.kernels - before.kernels};
}

static void check_counts(const char *graph, const char *way, int run,
                         struct counts got, struct counts wanted)
{
    if (got.launches != wanted.launches)
        fault(graph, way, run, "launches", got.launches, wanted.launches);
    if (got.replays != wanted.replays)
        fault(graph, way, run, "replays", got.replays, wanted.replays);
    if (got.kernels != wanted.kernels)
        fault(graph, way, run, "kernels", got.kernels, wanted.kernels);
}

/* n launches; none if a recorded graph is replayed. */
static struct counts wanted_counts(unsigned long n, bool recording, int run)
{
    return (struct counts){.launches = recording && run > 1 ? 0 : n,
                           .replays = recording && run > 0,
                           .kernels = n};
}

/* ---- results ---- */

struct results {
    size_t n;
    char *bytes; /* all outputs, run by run */
};

static void read_results(const struct graph *g, struct results *r)
{
    for (size_t i = 0; i < g->noutputs; i++) {
        const size_t nbytes = ggml_nbytes(g->outputs[i]);

        r->bytes = realloc(r->bytes, r->n + nbytes);
        must(r->bytes, "no memory");
        ggml_backend_tensor_get(g->outputs[i], r->bytes + r->n, 0, nbytes);
        r->n += nbytes;
    }
}

static bool same_results(const struct results *a, const struct results *b)
{
    return a->n == b->n && memcmp(a->bytes, b->bytes, a->n) == 0;
}

/* ---- the tests ---- */

static const struct way {
    const char *without;
    bool recording, fusing;
} ways[] = {
    {"graphs,fusion", false, false}, /* first: the results that are wanted */
    {"graphs", false, true},
    {"fusion", true, false},
    {"", true, true},
};

static ggml_backend_t backend_without(const char *what)
{
    ggml_backend_t backend;

    must(setenv("KPK_GGML_WITHOUT", what, 1) == 0, "no memory");
    backend = ggml_backend_init_by_name("KPACK0", NULL);
    must(backend, "no KPACK0");
    return backend;
}

static void test_launches(const struct row *row)
{
    struct results wanted = {0, NULL};

    for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
        const struct way *way = &ways[w];
        ggml_backend_t backend = backend_without(way->without);
        struct graph g = new_graph(backend, row->make, COLUMNS, CHAIN);
        struct results got = {0, NULL};

        for (int run = 0; run < RUNS; run++) {
            const struct counts counts = compute(backend, &g, run);

            check_counts(row->name, way->without, run, counts,
                         wanted_counts(row->launches[way->fusing] + CHAIN,
                                       way->recording, run));
            read_results(&g, &got);
        }
        if (w == 0) {
            wanted = got;
        } else {
            if (!same_results(&got, &wanted)) {
                printf("%s, %s: the results differ\n", row->name, way->without);
                faults++;
            }
            free(got.bytes);
        }
        free_graph(&g);
        ggml_backend_free(backend);
    }
    free(wanted.bytes);
}

/* A larger graph wants more memory: recordings have the address of the old. */
static void test_memory_grows(void)
{
    const unsigned long n = 4 + CHAIN; /* one_input, fused */
    struct results wanted = {0, NULL}, got = {0, NULL};
    ggml_backend_t backend = backend_without("");
    struct graph small = new_graph(backend, one_input, COLUMNS, CHAIN);
    struct graph large = new_graph(backend, one_input, 64 * COLUMNS, CHAIN);

    for (int run = 0; run < RUNS; run++)
        (void)compute(backend, &small, run);
    read_results(&small, &wanted);
    check_counts("larger", "", 0, compute(backend, &large, 0),
                 wanted_counts(n, true, 0));
    /* recorded anew, then replayed */
    for (int run = 1; run < RUNS; run++) {
        const struct counts counts = compute(backend, &small, RUNS - 1);

        check_counts("small behind larger", "", run, counts,
                     wanted_counts(n, true, run));
        got.n = 0;
        read_results(&small, &got);
        if (!same_results(&got, &wanted)) {
            printf("small behind larger, run %d: the results differ\n", run);
            faults++;
        }
    }
    free(got.bytes);
    free(wanted.bytes);
    free_graph(&large);
    free_graph(&small);
    ggml_backend_free(backend);
}

/* The graph that was not used for longest is forgotten, no other one. */
static void test_many_graphs(void)
{
    enum { MANY = MOST_RECORDINGS + 1 };
    const unsigned long n = 1 + CHAIN; /* norm, fused */
    ggml_backend_t backend = backend_without("");
    struct graph graphs[MANY];

    for (int i = 0; i < MANY; i++) {
        graphs[i] = new_graph(backend, norm, COLUMNS, CHAIN);
        check_counts("many", "", i, compute(backend, &graphs[i], 0),
                     wanted_counts(n, true, 0));
    }
    check_counts("last of many", "", 1, compute(backend, &graphs[MANY - 1], 0),
                 wanted_counts(n, true, 1));
    check_counts("second of many", "", 1, compute(backend, &graphs[1], 0),
                 wanted_counts(n, true, 1));
    check_counts("first of many", "", 1, compute(backend, &graphs[0], 0),
                 wanted_counts(n, true, 0));
    for (int i = 0; i < MANY; i++)
        free_graph(&graphs[i]);
    ggml_backend_free(backend);
}

static void test_few_nodes(void)
{
    ggml_backend_t backend = backend_without("");
    struct graph g = new_graph(backend, norm, COLUMNS, 6);

    for (int run = 0; run < RUNS; run++)
        check_counts("few nodes", "", run, compute(backend, &g, run),
                     wanted_counts(1 + 6, false, run));
    free_graph(&g);
    ggml_backend_free(backend);
}

int main(int argc, char **argv)
{
    must(argc == 2, "usage: graphs .../libggml-kpack.so");
    must(ggml_backend_load(argv[1]), "the backend was not loaded");
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        test_launches(&table[i]);
    test_memory_grows();
    test_many_graphs();
    test_few_nodes();
    printf("graphs: %d faults\n", faults);
    return faults != 0;
}
