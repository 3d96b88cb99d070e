/* graph.c - graphs: nodes, their work, edges, clones */
#include "graph.h"

#include "handle.h"
#include "hip_graph_memory.h"
#include "hip_module.h"
#include "hip_stream_value.h"
#include "hip_user_object.h"
#include "kernel_op.h"
#include "process_state.h"

#include "../base/loaded_object.h"

#include <stdlib.h>
#include <string.h>

static uint64_t last_id;

/* ---- a node's work ------------------------------------------------------- */

static void kernel_node_free(struct kernel_node *k)
{
    if (k->launch.function)
        loaded_unref(k->launch.function->loaded);
    free(k->bytes);
    free(k->params);
    memset(k, 0, sizeof(*k));
}

static uint32_t bytes_of_args(const struct sim_kernel *kernel)
{
    uint32_t end = 0, i;

    for (i = 0; i < kernel->nexplicit; i++)
        if (end < kernel->args[i].offset + kernel->args[i].size)
            end = kernel->args[i].offset + kernel->args[i].size;
    return end;
}

/* Copies the arguments' present values. */
static hipError_t take_params(struct kernel_node *k, void **params)
{
    const struct sim_kernel *kernel = k->launch.function->kernel;
    uint32_t i;

    k->nbytes = bytes_of_args(kernel);
    k->bytes = calloc(1, k->nbytes + 1);
    k->params = calloc((size_t)kernel->nexplicit + 1, sizeof(k->params[0]));
    if (!k->bytes || !k->params)
        return hipErrorOutOfMemory;
    for (i = 0; i < kernel->nexplicit; i++) {
        if (!params[i])
            return hipErrorInvalidValue;
        k->params[i] = k->bytes + kernel->args[i].offset;
        memcpy(k->params[i], params[i], kernel->args[i].size);
    }
    return hipSuccess;
}

static hipError_t take_extra(struct kernel_node *k, void **extra)
{
    k->nbytes = *(const size_t *)extra[3];
    k->bytes = calloc(1, k->nbytes + 1);
    if (!k->bytes)
        return hipErrorOutOfMemory;
    if (extra[1] && k->nbytes)
        memcpy(k->bytes, extra[1], k->nbytes);
    return hipSuccess;
}

/* Pointers into the node itself, which may have been copied. */
static void point_at_own(struct kernel_node *k)
{
    k->launch.params = k->params;
    k->launch.extra = NULL;
    if (k->params)
        return;
    k->extra[0] = (void *)HIP_LAUNCH_PARAM_BUFFER_POINTER;
    k->extra[1] = k->bytes;
    k->extra[2] = (void *)HIP_LAUNCH_PARAM_BUFFER_SIZE;
    k->extra[3] = &k->nbytes;
    k->extra[4] = (void *)HIP_LAUNCH_PARAM_END;
    k->launch.extra = k->extra;
}

hipError_t graph_node_set_kernel(struct kernel_node *k,
                                 const struct launch *launch, const void *func)
{
    struct kernel_node fresh = {
        .func = func, .launch = *launch, .attribute = k->attribute};
    void *none[1] = {NULL};
    hipError_t error;

    memcpy(fresh.value, k->value, sizeof(fresh.value));
    fresh.launch.start = fresh.launch.stop = NULL;
    loaded_ref(launch->function->loaded);
    error = launch->extra
                ? take_extra(&fresh, launch->extra)
                : take_params(&fresh, launch->params ? launch->params : none);
    if (error != hipSuccess) {
        kernel_node_free(&fresh);
        return error;
    }
    kernel_node_free(k);
    *k = fresh;
    point_at_own(k);
    return hipSuccess;
}

static void free_work(hipGraphNode_t node)
{
    if (node->type == NODE_KERNEL)
        kernel_node_free(&node->u.kernel);
    if (node->type == NODE_GRAPH)
        graph_free(node->u.child);
    if (node->type == NODE_MEM_ALLOC || node->type == NODE_MEM_FREE)
        graph_memory_unref(node->u.memory.memory);
    if (node->type == NODE_BATCH)
        free(node->u.batch.paramArray);
}

/* The context is the calling thread's in any case. */
hipError_t graph_node_set_batch(hipGraphNode_t node,
                                const hipBatchMemOpNodeParams *p)
{
    hipStreamBatchMemOpParams *list;
    hipError_t error = p && p->flags == 0
                           ? value_batch_check(p->paramArray, p->count)
                           : hipErrorInvalidValue;

    if (error != hipSuccess)
        return error;
    list = calloc(p->count, sizeof(*list));
    if (!list)
        return hipErrorOutOfMemory;
    memcpy(list, p->paramArray, p->count * sizeof(*list));
    free(node->u.batch.paramArray);
    node->u.batch = *p;
    node->u.batch.paramArray = list;
    return hipSuccess;
}

hipError_t graph_node_copy_work(hipGraphNode_t to,
                                const struct hipGraphNode *from)
{
    hipGraph_t child;

    switch (from->type) {
    case NODE_KERNEL:
        to->u.kernel.attribute = from->u.kernel.attribute;
        memcpy(to->u.kernel.value, from->u.kernel.value,
               sizeof(to->u.kernel.value));
        return graph_node_set_kernel(&to->u.kernel, &from->u.kernel.launch,
                                     from->u.kernel.func);
    case NODE_GRAPH:
        child = graph_clone(from->u.child);
        if (!child)
            return hipErrorOutOfMemory;
        graph_free(to->u.child);
        to->u.child = child;
        return hipSuccess;
    case NODE_MEM_ALLOC:
    case NODE_MEM_FREE:
        graph_memory_ref(from->u.memory.memory);
        graph_memory_unref(to->u.memory.memory);
        to->u = from->u;
        return hipSuccess;
    case NODE_BATCH:
        return graph_node_set_batch(to, &from->u.batch);
    default:
        to->u = from->u;
        return hipSuccess;
    }
}

hipError_t graph_node_set_alloc(hipGraphNode_t node, hipMemAllocNodeParams *p)
{
    enum { PINNED = 1, ON_DEVICE = 1 };
    struct graph_memory *m;

    if (!p)
        return hipErrorInvalidValue;
    p->dptr = NULL;
    if (!p->bytesize || p->poolProps.allocType != PINNED ||
        p->poolProps.location.type != ON_DEVICE ||
        !process_device(p->poolProps.location.id))
        return hipErrorInvalidValue;
    m = graph_memory_new(process_device(p->poolProps.location.id), p->bytesize);
    if (!m)
        return hipErrorOutOfMemory;
    p->dptr = graph_memory_address(m);
    node->u.memory = (struct memory_node){m, *p};
    return hipSuccess;
}

hipError_t graph_node_set_free(hipGraphNode_t node, void *ptr)
{
    struct graph_memory *m = ptr ? graph_memory_to_free(ptr) : NULL;

    if (!m)
        return hipErrorInvalidValue;
    node->u.memory = (struct memory_node){.memory = m, .params = {.dptr = ptr}};
    return hipSuccess;
}

/* ---- nodes and edges ---------------------------------------------------- */

bool graph_node_add_dep(hipGraphNode_t node, hipGraphNode_t dep)
{
    hipGraphNode_t *grown =
        realloc(node->deps, (node->ndeps + 1) * sizeof(node->deps[0]));

    if (!grown)
        return false;
    node->deps = grown;
    node->deps[node->ndeps++] = dep;
    return true;
}

bool graph_node_depends_on(const struct hipGraphNode *node,
                           const struct hipGraphNode *dep)
{
    size_t i;

    for (i = 0; i < node->ndeps; i++)
        if (node->deps[i] == dep)
            return true;
    return false;
}

void graph_node_drop_dep(hipGraphNode_t node, const struct hipGraphNode *dep)
{
    size_t i, kept = 0;

    for (i = 0; i < node->ndeps; i++)
        if (node->deps[i] != dep)
            node->deps[kept++] = node->deps[i];
    node->ndeps = kept;
}

static hipGraphNode_t new_node(hipGraph_t graph, enum node_type type)
{
    hipGraphNode_t node = calloc(1, sizeof(*node));
    hipGraphNode_t *grown =
        realloc(graph->nodes, (graph->nnodes + 1) * sizeof(graph->nodes[0]));

    if (grown)
        graph->nodes = grown;
    if (!node || !grown || !handle_add(node, HANDLE_NODE)) {
        free(node);
        return NULL;
    }
    node->graph = graph;
    node->type = type;
    node->enabled = true;
    node->id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
    graph->nodes[graph->nnodes++] = node;
    return node;
}

static void free_node(hipGraphNode_t node)
{
    handle_remove(node, HANDLE_NODE);
    free_work(node);
    free(node->deps);
    free(node);
}

static bool deps_are_good(hipGraph_t graph, const hipGraphNode_t *deps,
                          size_t n)
{
    size_t i, k;

    for (i = 0; i < n; i++) {
        if (!handle_valid(deps[i], HANDLE_NODE) || deps[i]->graph != graph)
            return false;
        for (k = 0; k < i; k++)
            if (deps[k] == deps[i])
                return false;
    }
    return true;
}

hipError_t graph_add(hipGraph_t graph, enum node_type type,
                     const hipGraphNode_t *deps, size_t ndeps,
                     hipGraphNode_t *out)
{
    hipGraphNode_t node;
    size_t i;

    if (!out || !handle_valid(graph, HANDLE_GRAPH) || (ndeps && !deps) ||
        !deps_are_good(graph, deps, ndeps))
        return hipErrorInvalidValue;
    node = new_node(graph, type);
    if (!node)
        return hipErrorOutOfMemory;
    for (i = 0; i < ndeps; i++)
        if (!graph_node_add_dep(node, deps[i])) {
            graph_remove(node);
            return hipErrorOutOfMemory;
        }
    *out = node;
    return hipSuccess;
}

void graph_remove(hipGraphNode_t node)
{
    hipGraph_t graph = node->graph;
    size_t i, kept = 0;

    for (i = 0; i < graph->nnodes; i++) {
        graph_node_drop_dep(graph->nodes[i], node);
        if (graph->nodes[i] != node)
            graph->nodes[kept++] = graph->nodes[i];
    }
    graph->nnodes = kept;
    free_node(node);
}

/* ---- graphs ------------------------------------------------------------- */

hipGraph_t graph_new(void)
{
    hipGraph_t graph = calloc(1, sizeof(*graph));

    if (graph && !handle_add(graph, HANDLE_GRAPH)) {
        free(graph);
        graph = NULL;
    }
    return graph;
}

void graph_free(hipGraph_t graph)
{
    size_t i;

    if (!graph)
        return;
    handle_remove(graph, HANDLE_GRAPH);
    user_object_let_go(&graph->held);
    for (i = 0; i < graph->nnodes; i++)
        free_node(graph->nodes[i]);
    free(graph->nodes);
    free(graph);
}

hipGraphNode_t graph_node_by_id(hipGraph_t graph, uint64_t id)
{
    size_t i;

    for (i = 0; i < graph->nnodes; i++)
        if (graph->nodes[i]->id == id)
            return graph->nodes[i];
    return NULL;
}

static bool clone_nodes(hipGraph_t to, const struct ihipGraph *from)
{
    size_t i, k;

    for (i = 0; i < from->nnodes; i++) {
        const struct hipGraphNode *node = from->nodes[i];
        hipGraphNode_t copy = new_node(to, node->type);

        if (!copy || graph_node_copy_work(copy, node) != hipSuccess)
            return false;
        copy->id = node->id;
        copy->enabled = node->enabled;
    }
    /* Dependencies may come later in the order of creation. */
    for (i = 0; i < from->nnodes; i++)
        for (k = 0; k < from->nodes[i]->ndeps; k++)
            if (!graph_node_add_dep(
                    to->nodes[i],
                    graph_node_by_id(to, from->nodes[i]->deps[k]->id)))
                return false;
    return true;
}

hipGraph_t graph_clone(hipGraph_t graph)
{
    hipGraph_t clone = graph_new();

    if (clone && (!clone_nodes(clone, graph) ||
                  !user_object_hold_as(&clone->held, graph->held))) {
        graph_free(clone);
        return NULL;
    }
    if (clone)
        clone->is_clone = true;
    return clone;
}

static bool is_in(const hipGraphNode_t *list, size_t n, hipGraphNode_t node)
{
    size_t i;

    for (i = 0; i < n; i++)
        if (list[i] == node)
            return true;
    return false;
}

/* Kahn's algorithm: the next node is one whose dependencies all precede it. */
hipGraphNode_t *graph_order(hipGraph_t graph)
{
    hipGraphNode_t *order = calloc(graph->nnodes + 1, sizeof(order[0]));
    size_t n = 0, before, i, k;

    if (!order)
        return NULL;
    do {
        before = n;
        for (i = 0; i < graph->nnodes; i++) {
            hipGraphNode_t node = graph->nodes[i];

            for (k = 0; k < node->ndeps && is_in(order, n, node->deps[k]); k++)
                ;
            if (k == node->ndeps && !is_in(order, n, node))
                order[n++] = node;
        }
    } while (n > before);
    if (n == graph->nnodes)
        return order;
    free(order);
    return NULL;
}
