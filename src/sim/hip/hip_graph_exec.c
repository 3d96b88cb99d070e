/* hip_graph_exec.c - graphs that run: instantiated, launched, updated
 *
 * The nodes run one after another in an order that the edges allow. Independent
 * nodes never run side by side, on which no program may count anyway.
 */
#define _GNU_SOURCE
#include "call.h"
#include "copy_op.h"
#include "event_state.h"
#include "fill_op.h"
#include "graph.h"
#include "handle.h"
#include "hip_graph_memory.h"
#include "hip_module.h"
#include "hip_pool.h"
#include "hip_stream.h"
#include "hip_stream_value.h"
#include "kernel_op.h"
#include "op_queue.h"
#include "stream_queue.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- running ------------------------------------------------------------ */

static hipError_t graph_run(hipGraphNode_t *order, size_t n, struct queue *q);

static hipError_t run_child(hipGraph_t graph, struct queue *q)
{
    hipGraphNode_t *order = graph_order(graph);
    hipError_t error =
        order ? graph_run(order, graph->nnodes, q) : hipErrorInvalidValue;

    free(order);
    return error;
}

static hipError_t run_node(hipGraphNode_t node, struct queue *q)
{
    switch (node->type) {
    case NODE_KERNEL:
        return launch_now(&node->u.kernel.launch, q);
    case NODE_MEMCPY:
        return copy_box(&node->u.copy, q);
    case NODE_MEMSET:
        return fill_on(&node->u.fill, q, false);
    case NODE_HOST:
        return stream_call_host(q, node->u.host.fn, node->u.host.userData);
    case NODE_GRAPH:
        return run_child(node->u.child, q);
    case NODE_WAIT_EVENT:
        return event_wait(q, node->u.event);
    case NODE_EVENT_RECORD:
        return event_record(q, node->u.event);
    case NODE_MEM_ALLOC:
        return graph_memory_run(node->u.memory.memory, true, q);
    case NODE_MEM_FREE:
        return node->u.memory.memory
                   ? graph_memory_run(node->u.memory.memory, false, q)
                   : pool_free_in_order(node->u.memory.params.dptr, q);
    case NODE_BATCH:
        return value_batch_submit(q, node->u.batch.paramArray,
                                  node->u.batch.count);
    case NODE_EMPTY:
        break;
    }
    return hipSuccess;
}

static hipError_t graph_run(hipGraphNode_t *order, size_t n, struct queue *q)
{
    hipError_t error = hipSuccess;
    size_t i;

    for (i = 0; i < n && error == hipSuccess; i++)
        if (order[i]->enabled)
            error = run_node(order[i], q);
    return error;
}

enum { AUTO_FREE = 1 }; /* of the flags */

/*
 * Handles memory that an earlier launch allocated and nothing freed: frees it
 * if the graph was instantiated with AUTO_FREE, else refuses the launch.
 */
static hipError_t settle_memory(hipGraphExec_t exec, struct queue *q)
{
    hipError_t error = hipSuccess;
    size_t i;

    for (i = 0; i < exec->graph->nnodes && error == hipSuccess; i++) {
        const struct hipGraphNode *node = exec->graph->nodes[i];

        if (node->type == NODE_MEM_ALLOC &&
            graph_memory_is_allocated(node->u.memory.memory))
            error = exec->flags & AUTO_FREE
                        ? graph_memory_run(node->u.memory.memory, false, q)
                        : hipErrorInvalidValue;
    }
    return error;
}

static hipError_t launch_graph(hipGraphExec_t exec, struct queue *q)
{
    hipError_t error;

    if (!handle_valid(exec, HANDLE_GRAPH_EXEC)) {
        if (q)
            queue_unref(q);
        return hipErrorInvalidValue;
    }
    if (!q)
        return hipErrorContextIsDestroyed;
    error = settle_memory(exec, q);
    if (error == hipSuccess)
        error = graph_run(exec->order, exec->graph->nnodes, q);
    queue_unref(q);
    return error;
}

HIP_API hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream)
{
    ENTER();
    LEAVE(launch_graph(exec, stream_queue(stream)));
}

HIP_API hipError_t hipGraphLaunch_spt(hipGraphExec_t exec, hipStream_t stream)
{
    ENTER();
    LEAVE(launch_graph(exec, stream_queue_spt(stream)));
}

/* Checks its arguments only: instantiated graphs need no upload. */
HIP_API hipError_t hipGraphUpload(hipGraphExec_t exec, hipStream_t stream)
{
    struct queue *q;

    ENTER();
    if (!handle_valid(exec, HANDLE_GRAPH_EXEC))
        LEAVE(hipErrorInvalidValue);
    q = stream_queue(stream);
    if (!q)
        LEAVE(hipErrorContextIsDestroyed);
    queue_unref(q);
    LEAVE(hipSuccess);
}

/* ---- instantiating ------------------------------------------------------ */

/* Graphs that allocate may be instantiated once at a time. */
static bool claim_memory(hipGraph_t graph, bool claim)
{
    size_t i, k;

    for (i = 0; i < graph->nnodes; i++)
        if (graph->nodes[i]->type == NODE_MEM_ALLOC &&
            !graph_memory_claim(graph->nodes[i]->u.memory.memory, claim))
            break;
    if (i == graph->nnodes)
        return true;
    for (k = 0; k < i; k++)
        if (graph->nodes[k]->type == NODE_MEM_ALLOC)
            graph_memory_claim(graph->nodes[k]->u.memory.memory, false);
    return false;
}

static void free_exec(hipGraphExec_t exec)
{
    graph_free(exec->graph);
    free(exec->order);
    free(exec);
}

static hipError_t instantiate(hipGraphExec_t *out, hipGraph_t graph,
                              uint64_t flags)
{
    enum { LAST_FLAG = 8 };
    hipGraphExec_t exec;

    /* One flag at a time. */
    if (!out || !handle_valid(graph, HANDLE_GRAPH) || flags > LAST_FLAG ||
        (flags & (flags - 1)))
        return hipErrorInvalidValue;
    if (!claim_memory(graph, true))
        return hipErrorNotSupported;
    exec = calloc(1, sizeof(*exec));
    if (!exec) {
        claim_memory(graph, false);
        return hipErrorOutOfMemory;
    }
    exec->flags = flags;
    exec->source = graph;
    exec->graph = graph_clone(graph);
    exec->order = exec->graph ? graph_order(exec->graph) : NULL;
    if (!exec->order || !handle_add(exec, HANDLE_GRAPH_EXEC)) {
        claim_memory(graph, false);
        free_exec(exec);
        return hipErrorInvalidValue; /* a cycle */
    }
    *out = exec;
    return hipSuccess;
}

HIP_API hipError_t hipGraphInstantiate(hipGraphExec_t *exec, hipGraph_t graph,
                                       hipGraphNode_t *bad, char *log, size_t n)
{
    ENTER();
    if (bad)
        *bad = NULL;
    if (log && n)
        *log = '\0';
    LEAVE(instantiate(exec, graph, 0));
}

HIP_API hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *exec,
                                                hipGraph_t graph,
                                                unsigned long long flags)
{
    ENTER();
    LEAVE(instantiate(exec, graph, flags));
}

typedef struct {
    hipGraphNode_t errNode_out;
    unsigned long long flags;
    int result_out;
    hipStream_t uploadStream;
} hipGraphInstantiateParams;

HIP_API hipError_t hipGraphInstantiateWithParams(
    hipGraphExec_t *exec, hipGraph_t graph, hipGraphInstantiateParams *params)
{
    enum { RESULT_SUCCESS, RESULT_ERROR };
    hipError_t error;

    ENTER();
    if (!params)
        LEAVE(hipErrorInvalidValue);
    error = instantiate(exec, graph, params->flags);
    params->errNode_out = NULL;
    params->result_out = error == hipSuccess ? RESULT_SUCCESS : RESULT_ERROR;
    LEAVE(error);
}

HIP_API hipError_t hipGraphExecDestroy(hipGraphExec_t exec)
{
    ENTER();
    if (!handle_remove(exec, HANDLE_GRAPH_EXEC))
        LEAVE(hipErrorInvalidValue);
    claim_memory(exec->graph, false);
    free_exec(exec);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipGraphExecGetFlags(hipGraphExec_t exec,
                                        unsigned long long *flags)
{
    ENTER();
    if (!handle_valid(exec, HANDLE_GRAPH_EXEC) || !flags)
        LEAVE(hipErrorInvalidValue);
    *flags = exec->flags;
    LEAVE(hipSuccess);
}

/* ---- updating from another graph ---------------------------------------- */

enum update_result {
    UPDATE_SUCCESS,
    UPDATE_ERROR,
    UPDATE_TOPOLOGY_CHANGED,
    UPDATE_NODE_TYPE_CHANGED,
    UPDATE_PARAMETERS_CHANGED = 5,
    UPDATE_NOT_SUPPORTED,
    UPDATE_FUNCTION_CHANGED = 7
};

static size_t place_of(const struct ihipGraph *graph, hipGraphNode_t node)
{
    size_t i;

    for (i = 0; i < graph->nnodes && graph->nodes[i] != node; i++)
        ;
    return i;
}

/* Nodes correspond by their order of creation. */
static enum update_result compare(hipGraph_t old, hipGraph_t new,
                                  hipGraphNode_t *bad)
{
    size_t i, k;

    if (old->nnodes != new->nnodes)
        return UPDATE_TOPOLOGY_CHANGED;
    for (i = 0; i < old->nnodes; i++) {
        const struct hipGraphNode *a = old->nodes[i], *b = new->nodes[i];

        *bad = new->nodes[i];
        if (a->type != b->type)
            return UPDATE_NODE_TYPE_CHANGED;
        if ((a->type == NODE_MEM_ALLOC || a->type == NODE_MEM_FREE) &&
            a->u.memory.memory != b->u.memory.memory)
            return UPDATE_NOT_SUPPORTED;
        if (a->type == NODE_MEMCPY && a->u.copy.kind != b->u.copy.kind)
            return UPDATE_PARAMETERS_CHANGED;
        if (a->type == NODE_KERNEL &&
            a->u.kernel.launch.function->loaded->device !=
                b->u.kernel.launch.function->loaded->device)
            return UPDATE_FUNCTION_CHANGED;
        if (a->ndeps != b->ndeps)
            return UPDATE_TOPOLOGY_CHANGED;
        for (k = 0; k < a->ndeps; k++)
            if (place_of(old, a->deps[k]) != place_of(new, b->deps[k]))
                return UPDATE_TOPOLOGY_CHANGED;
    }
    *bad = NULL;
    return UPDATE_SUCCESS;
}

HIP_API hipError_t hipGraphExecUpdate(hipGraphExec_t exec, hipGraph_t graph,
                                      hipGraphNode_t *bad, int *result)
{
    hipGraphNode_t node = NULL;
    enum update_result r;
    size_t i;

    ENTER();
    if (!handle_valid(exec, HANDLE_GRAPH_EXEC) ||
        !handle_valid(graph, HANDLE_GRAPH) || !bad || !result)
        LEAVE(hipErrorInvalidValue);
    r = compare(exec->graph, graph, &node);
    for (i = 0; i < graph->nnodes && r == UPDATE_SUCCESS; i++)
        if (graph_node_copy_work(exec->graph->nodes[i], graph->nodes[i]) !=
            hipSuccess) {
            node = graph->nodes[i];
            r = UPDATE_ERROR;
        }
    *bad = node;
    *result = (int)r;
    LEAVE(r == UPDATE_SUCCESS ? hipSuccess : hipErrorGraphExecUpdateFailure);
}

/* ---- a picture ---------------------------------------------------------- */

/* Prints a copy's direction, as in HtoD. */
static void print_copy(FILE *file, const hipMemcpy3DParms *p)
{
    static const char from[] = {'H', 'H', 'D', 'D', 'D'};
    static const char to[] = {'H', 'D', 'H', 'D', 'D'};
    const bool known = p->kind <= hipMemcpyDefault;

    (void)fprintf(file, "MEMCPY(%cto%c, %zu x %zu x %zu)",
                  p->srcArray ? 'A' : from[known ? p->kind : hipMemcpyDefault],
                  p->dstArray ? 'A' : to[known ? p->kind : hipMemcpyDefault],
                  p->extent.width, p->extent.height, p->extent.depth);
}

static void print_label(FILE *file, const struct hipGraphNode *node,
                        bool verbose)
{
    static const char *const types[] = {
        "KERNEL",     "MEMCPY",       "MEMSET",
        "HOST",       "GRAPH",        "EMPTY",
        "EVENT_WAIT", "EVENT_RECORD", [NODE_MEM_ALLOC] = "MEM_ALLOC",
        "MEM_FREE"};

    if (node->type == NODE_KERNEL)
        (void)fprintf(file, "%s%s", verbose ? "KERNEL " : "",
                      node->u.kernel.launch.function->kernel->name);
    else if (node->type == NODE_MEMCPY)
        print_copy(file, &node->u.copy);
    else
        (void)fputs(types[node->type], file);
}

/* Nodes are named by their graph's place in the picture and their own. */
static void print_graph(FILE *file, const struct ihipGraph *graph,
                        unsigned *ngraphs, bool verbose)
{
    const unsigned id = (*ngraphs)++;
    size_t i, k;

    (void)fprintf(file, "subgraph cluster_%u {\n", id);
    for (i = 0; i < graph->nnodes; i++) {
        (void)fprintf(file, "    g%u_%zu [label=\"", id, i);
        print_label(file, graph->nodes[i], verbose);
        (void)fputs("\"];\n", file);
    }
    for (i = 0; i < graph->nnodes; i++)
        for (k = 0; k < graph->nodes[i]->ndeps; k++)
            (void)fprintf(file, "    g%u_%zu -> g%u_%zu;\n", id,
                          place_of(graph, graph->nodes[i]->deps[k]), id, i);
    (void)fputs("}\n", file);
    for (i = 0; i < graph->nnodes; i++)
        if (graph->nodes[i]->type == NODE_GRAPH)
            print_graph(file, graph->nodes[i]->u.child, ngraphs, verbose);
}

HIP_API hipError_t hipGraphDebugDotPrint(hipGraph_t graph, const char *path,
                                         unsigned flags)
{
    enum { VERBOSE = 1, KERNEL_ATTRIBUTES = 1 << 9 };
    unsigned ngraphs = 0;
    FILE *file;

    ENTER();
    if (!handle_valid(graph, HANDLE_GRAPH) || !path)
        LEAVE(hipErrorInvalidValue);
    file = fopen(path, "w");
    if (!file)
        LEAVE(hipErrorOperatingSystem);
    (void)fputs("digraph dot {\n", file);
    print_graph(file, graph, &ngraphs, flags & (VERBOSE | KERNEL_ATTRIBUTES));
    (void)fputs("}\n", file);
    LEAVE(fclose(file) == 0 ? hipSuccess : hipErrorOperatingSystem);
}
