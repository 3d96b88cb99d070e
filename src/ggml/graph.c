/*
 * graph.c - graphs of ggml on a stream: launched, recorded and replayed
 *
 * A model computes the same graph for each token, at the same addresses: what
 * differs is in the tensors. A graph that comes for the first time is launched
 * node by node, and all that its launches depend on is kept as its key. The
 * second time the launches are recorded as a graph of the driver, and from then
 * on one call replays them. If a recording fails, the stream records no more.
 */
#include "graph.h"

#include "experts.h"
#include "fuse.h"
#include "heads.h"
#include "ops.h"

#include <ggml-impl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RECORDINGS = 64, /* that a stream keeps */
    FEW_NODES = 8    /* launching these is as fast as finding a recording */
};

/* ---- keys of nodes: all that their launches depend on ---- */

struct tensor_key {
    const void *data;
    int64_t type; /* -1: there is no such operand */
    int64_t ne[GGML_MAX_DIMS];
    size_t nb[GGML_MAX_DIMS];
};
struct node_key {
    int32_t op, flags, uses, unused;
    int32_t params[GGML_MAX_OP_PARAMS / sizeof(int32_t)];
    struct tensor_key out, src[GGML_MAX_SRC];
};

static struct tensor_key key_of(const struct ggml_tensor *t)
{
    struct tensor_key key = {.type = -1};

    if (!t)
        return key;
    key.data = t->data;
    key.type = (int64_t)t->type;
    memcpy(key.ne, t->ne, sizeof(key.ne));
    memcpy(key.nb, t->nb, sizeof(key.nb));
    return key;
}

/* Which nodes are fused depends on flags and uses. */
static void fill_key(struct node_key *key, const struct ggml_cgraph *graph,
                     int i)
{
    const struct ggml_tensor *node = graph->nodes[i];

    key->op = (int32_t)node->op;
    key->flags = node->flags;
    key->uses = ggml_node_get_use_count(graph, i);
    key->unused = 0;
    memcpy(key->params, node->op_params, sizeof(key->params));
    key->out = key_of(node);
    for (size_t s = 0; s < GGML_MAX_SRC; s++)
        key->src[s] = key_of(node->src[s]);
}

/* ---- recordings ---- */

struct recording {
    uint64_t uid;  /* the graph's number, if ggml gave it one */
    uint64_t used; /* when it was last used: a number that grows */
    int n;
    struct node_key *keys;
    void *exec; /* NULL: came once */
};

struct graphs {
    struct gpu *gpu;
    void *stream;
    bool fusing, no_early;
    char *memory; /* of struct run: shared, heads, sorted, tables, scratch */
    size_t shared_nbytes, heads_nbytes, sorted_nbytes;
    size_t table_nbytes, scratch_nbytes;
    void *recorder;               /* the stream that records; NULL: none does */
    void *side, *forked, *joined; /* see struct run */
    uint64_t now;
    int nkeys; /* room for keys */
    struct node_key *keys;
    struct recording recordings[RECORDINGS];
};

static void forget_exec(struct graphs *g, struct recording *r)
{
    if (r->exec)
        (void)gpu_check(kpk_graph_exec_destroy(g->gpu->inst, r->exec),
                        "freeing a graph");
    r->exec = NULL;
}

static void forget(struct graphs *g, struct recording *r)
{
    forget_exec(g, r);
    free(r->keys);
    memset(r, 0, sizeof(*r));
}

/* The stream may be broken, too. */
static void record_no_more(struct graphs *g)
{
    if (g->recorder)
        (void)kpk_stream_destroy(g->gpu->inst, g->recorder);
    g->recorder = NULL;
}

static bool find_keys(struct graphs *g, const struct ggml_cgraph *graph)
{
    if (graph->n_nodes > g->nkeys) {
        struct node_key *more =
            realloc(g->keys, (size_t)graph->n_nodes * sizeof(*more));

        if (!more)
            return false;
        g->keys = more;
        g->nkeys = graph->n_nodes;
    }
    for (int i = 0; i < graph->n_nodes; i++)
        fill_key(&g->keys[i], graph, i);
    return true;
}

/* The one that was not used for longest makes room for a graph. */
static struct recording *new_recording(struct graphs *g, int n)
{
    struct recording *r = g->recordings;

    for (size_t i = 1; i < RECORDINGS; i++)
        if (g->recordings[i].used < r->used)
            r = &g->recordings[i];
    if (r->exec &&
        !gpu_check(kpk_sync(g->gpu->inst, g->stream), "waiting for the GPU"))
        return NULL;
    forget(g, r);
    r->keys = malloc((size_t)n * sizeof(*r->keys));
    if (!r->keys)
        return NULL;
    memcpy(r->keys, g->keys, (size_t)n * sizeof(*r->keys));
    r->n = n;
    return r;
}

/* The graph's recording. *known: the graph came before. */
static struct recording *
find_recording(struct graphs *g, const struct ggml_cgraph *graph, bool *known)
{
    const size_t nbytes = (size_t)graph->n_nodes * sizeof(struct node_key);
    struct recording *r = NULL;

    *known = true;
    for (struct recording *old = g->recordings;
         !r && old < g->recordings + RECORDINGS; old++)
        if (old->keys && graph->uid != 0 && old->uid == graph->uid)
            r = old;
    if (!r && !find_keys(g, graph))
        return NULL;
    for (struct recording *old = g->recordings;
         !r && old < g->recordings + RECORDINGS; old++)
        if (old->keys && old->n == graph->n_nodes &&
            memcmp(old->keys, g->keys, nbytes) == 0)
            r = old;
    if (!r) {
        *known = false;
        r = new_recording(g, graph->n_nodes);
    }
    if (r) {
        r->uid = graph->uid;
        r->used = ++g->now;
    }
    return r;
}

/* ---- launches ---- */

static char *part(const struct graphs *g, size_t first)
{
    return g->memory ? g->memory + first : NULL;
}

static struct run new_run(struct graphs *g, void *stream)
{
    const size_t heads = g->shared_nbytes, sorted = heads + g->heads_nbytes;
    const size_t tables = sorted + g->sorted_nbytes;

    return (struct run){.inst = g->gpu->inst,
                        .fusing = g->fusing,
                        .launching = stream != NULL,
                        .no_early = g->no_early,
                        .stream = stream,
                        .side = g->joined ? g->side : NULL,
                        .forked = g->forked,
                        .joined = g->joined,
                        .shared = part(g, 0),
                        .heads = part(g, heads),
                        .sorted = part(g, sorted),
                        .tables = part(g, tables),
                        .table_room = g->table_nbytes,
                        .scratch = part(g, tables + TABLES * g->table_nbytes)};
}

/* Asks, or launches, node by node or several together. */
static bool run_nodes(struct graphs *g, struct run *run,
                      const struct ggml_cgraph *graph)
{
    for (int i = 0, n; i < graph->n_nodes; i += n) {
        const struct ggml_tensor *node = graph->nodes[i];
        enum heads heads;

        n = 1;
        if (is_nothing(node) || !(node->flags & GGML_TENSOR_FLAG_COMPUTE))
            continue;
        heads = heads_node(run, graph, i);
        if (heads == HEADS_SERVED)
            continue;
        n = heads == HEADS_NONE ? fuse_nodes(run, graph, i) : 0;
        if (n > 0)
            continue;
        n = heads == HEADS_NONE ? experts_nodes(run, graph, i) : 0;
        if (heads == HEADS_NONE && n == 0)
            n = fuse_gate(run, graph, i);
        if (heads == HEADS_NONE && n == 0)
            n = fuse_products(run, graph, i);
        for (int j = i; j < i + n; j++)
            forget_made_of(run, graph->nodes[j]);
        if (n > 0)
            continue;
        n = 1;
        forget_made_of(run, node);
        if ((heads == HEADS_FAILED || !ops_node(run, node)) && run->launching) {
            (void)fprintf(stderr, "ggml-kpack: %s: %s (%s) failed\n",
                          g->gpu->name, ggml_op_desc(node), node->name);
            return false;
        }
    }
    return true;
}

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Allocates memory for the largest node. Recordings contain its address. */
static bool make_memory(struct graphs *g, const struct ggml_cgraph *graph)
{
    kpk_instance *inst = g->gpu->inst;
    struct run measure = new_run(g, NULL);

    measure.shared = measure.heads = measure.scratch = NULL;
    measure.sorted = measure.tables = NULL;
    (void)run_nodes(g, &measure, graph);
    if (measure.shared_nbytes <= g->shared_nbytes &&
        measure.heads_nbytes <= g->heads_nbytes &&
        measure.sorted_nbytes <= g->sorted_nbytes &&
        measure.table_nbytes <= g->table_nbytes &&
        measure.scratch_nbytes <= g->scratch_nbytes)
        return true;
    if (!gpu_check(kpk_sync(inst, g->stream), "waiting for the GPU"))
        return false;
    for (size_t i = 0; i < RECORDINGS; i++)
        forget_exec(g, &g->recordings[i]);
    if (!gpu_check(kpk_free(inst, g->memory), "freeing memory"))
        return false;
    g->memory = NULL;
    g->shared_nbytes = most(g->shared_nbytes, measure.shared_nbytes);
    g->heads_nbytes = most(g->heads_nbytes, measure.heads_nbytes);
    g->sorted_nbytes = most(g->sorted_nbytes, measure.sorted_nbytes);
    g->table_nbytes = most(g->table_nbytes, measure.table_nbytes);
    g->scratch_nbytes = most(g->scratch_nbytes, measure.scratch_nbytes);
    if (gpu_check(kpk_malloc(inst,
                             g->shared_nbytes + g->heads_nbytes +
                                 g->sorted_nbytes + TABLES * g->table_nbytes +
                                 g->scratch_nbytes,
                             (void **)&g->memory),
                  "memory for a graph"))
        return true;
    g->shared_nbytes = g->heads_nbytes = g->sorted_nbytes = 0;
    g->table_nbytes = g->scratch_nbytes = 0;
    return false;
}

static bool launch_all(struct graphs *g, const struct ggml_cgraph *graph,
                       void *stream)
{
    struct run run = new_run(g, stream);

    return run_nodes(g, &run, graph);
}

/* ---- recording ---- */

/* Another stream records, since one that failed to may refuse all work. */
static bool record(struct graphs *g, struct recording *r,
                   const struct ggml_cgraph *graph)
{
    kpk_instance *inst = g->gpu->inst;
    void *recorded = NULL;
    bool good;

    /* relaxed: other threads may call the driver, and record, meanwhile */
    if (kpk_capture_begin(inst, g->recorder, KPK_CAPTURE_RELAXED) != KPK_OK)
        return false;
    good = launch_all(g, graph, g->recorder);
    good = kpk_capture_end(inst, g->recorder, &recorded) == KPK_OK && good;
    good = good && kpk_graph_instantiate(inst, recorded, &r->exec) == KPK_OK;
    (void)kpk_graph_destroy(inst, recorded);
    return good;
}

static void not_recorded(struct graphs *g)
{
    (void)fprintf(stderr, "ggml-kpack: %s: graphs are not recorded: %s\n",
                  g->gpu->name, kpk_error_message());
    record_no_more(g);
}

/* Prompts seldom come again, and their graphs gain nothing by being recorded.
 */
static bool is_worth_recording(const struct ggml_cgraph *graph)
{
    if (graph->n_nodes <= FEW_NODES)
        return false;
    for (int i = 0; i < graph->n_nodes; i++)
        if (graph->nodes[i]->op == GGML_OP_MUL_MAT &&
            graph->nodes[i]->ne[1] >= MANY_COLUMNS)
            return false;
    return true;
}

enum ggml_status graphs_compute(struct graphs *g,
                                const struct ggml_cgraph *graph)
{
    struct recording *r = NULL;
    bool known = false;

    if (g->recorder && is_worth_recording(graph))
        r = find_recording(g, graph, &known);
    if ((!r || !r->exec) && !make_memory(g, graph))
        return GGML_STATUS_ALLOC_FAILED;
    if (r && known && !r->exec && !record(g, r, graph))
        not_recorded(g);
    if (r && r->exec) {
        if (kpk_graph_launch(g->gpu->inst, r->exec, g->stream) == KPK_OK)
            return GGML_STATUS_SUCCESS;
        not_recorded(g);
        forget_exec(g, r);
        if (!make_memory(g, graph))
            return GGML_STATUS_ALLOC_FAILED;
    }
    return launch_all(g, graph, g->stream) ? GGML_STATUS_SUCCESS
                                           : GGML_STATUS_FAILED;
}

/* ---- open and close ---- */

/* KPK_GGML_WITHOUT, a comma-separated list, disables features, to find the
 * cause of a fault. */
enum { GRAPHS = 1, FUSION = 2, EARLY = 4 };

static unsigned left_out(void)
{
    static const char *const names[] = {"graphs", "fusion", "early"};
    const char *at = getenv("KPK_GGML_WITHOUT");
    unsigned out = 0;

    while (at && *at) {
        const size_t n = strcspn(at, ",");
        size_t i = 0;

        while (i < 3 &&
               (n != strlen(names[i]) || strncmp(at, names[i], n) != 0))
            i++;
        if (i < 3)
            out |= 1u << i;
        else
            (void)fprintf(stderr,
                          "ggml-kpack: KPK_GGML_WITHOUT: '%.*s' is none of "
                          "graphs, fusion and early\n",
                          (int)n, at);
        at += n + (at[n] == ',');
    }
    return out;
}

struct graphs *graphs_open(struct gpu *gpu, void *stream)
{
    struct graphs *g = calloc(1, sizeof(*g));
    const unsigned without = left_out();

    if (!g)
        return NULL;
    g->gpu = gpu;
    g->stream = stream;
    g->fusing = !(without & FUSION);
    g->no_early = without & EARLY;
    if (!(without & GRAPHS) &&
        kpk_stream_create(gpu->inst, KPK_STREAM_NON_BLOCKING, &g->recorder) !=
            KPK_OK)
        g->recorder = NULL;
    if (kpk_stream_create(gpu->inst, KPK_STREAM_NON_BLOCKING, &g->side) !=
            KPK_OK ||
        kpk_event_create(gpu->inst, KPK_EVENT_NO_TIMING, &g->forked) !=
            KPK_OK ||
        kpk_event_create(gpu->inst, KPK_EVENT_NO_TIMING, &g->joined) != KPK_OK)
        g->joined = NULL; /* without both events, launches are serial */
    return g;
}

void graphs_close(struct graphs *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < RECORDINGS; i++)
        forget(g, &g->recordings[i]);
    record_no_more(g);
    if (g->joined)
        (void)kpk_event_destroy(g->gpu->inst, g->joined);
    if (g->forked)
        (void)kpk_event_destroy(g->gpu->inst, g->forked);
    if (g->side)
        (void)kpk_stream_destroy(g->gpu->inst, g->side);
    (void)gpu_check(kpk_free(g->gpu->inst, g->memory), "freeing memory");
    free(g->keys);
    free(g);
}
