/* graph.c - graphs as such: nodes, edges, clones, and questions about them */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

static uint64_t last_id;

/* ---- nodes and edges ---------------------------------------------------- */

bool node_add_dep(hipGraphNode_t node, hipGraphNode_t dep)
{
    hipGraphNode_t *grown =
        realloc(node->deps, (node->ndeps + 1) * sizeof(node->deps[0]));

    if (!grown)
        return false;
    node->deps = grown;
    node->deps[node->ndeps++] = dep;
    return true;
}

static bool depends_on(const struct hipGraphNode *node,
                       const struct hipGraphNode *dep)
{
    size_t i;

    for (i = 0; i < node->ndeps; i++)
        if (node->deps[i] == dep)
            return true;
    return false;
}

static void drop_dep(hipGraphNode_t node, const struct hipGraphNode *dep)
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
    node_free_work(node);
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
        if (!node_add_dep(node, deps[i])) {
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
        drop_dep(graph->nodes[i], node);
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
    graph_let_go(graph);
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

        if (!copy || node_copy_work(copy, node) != hipSuccess)
            return false;
        copy->id = node->id;
        copy->enabled = node->enabled;
    }
    /* Dependencies may come later in the order of creation. */
    for (i = 0; i < from->nnodes; i++)
        for (k = 0; k < from->nodes[i]->ndeps; k++)
            if (!node_add_dep(
                    to->nodes[i],
                    graph_node_by_id(to, from->nodes[i]->deps[k]->id)))
                return false;
    return true;
}

hipGraph_t graph_clone(hipGraph_t graph)
{
    hipGraph_t clone = graph_new();

    if (clone && (!clone_nodes(clone, graph) || !graph_hold_as(clone, graph))) {
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

/* Kahn's way: whoever has all dependencies behind it comes next. */
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

/* ---- HIP's functions ---------------------------------------------------- */

HIP_API hipError_t hipGraphCreate(hipGraph_t *graph, unsigned flags)
{
    ENTER();
    if (!graph || flags != 0)
        LEAVE(hipErrorInvalidValue);
    *graph = graph_new();
    LEAVE(*graph ? hipSuccess : hipErrorOutOfMemory);
}

HIP_API hipError_t hipGraphDestroy(hipGraph_t graph)
{
    ENTER();
    if (!handle_valid(graph, HANDLE_GRAPH))
        LEAVE(hipErrorInvalidValue);
    graph_free(graph);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipGraphClone(hipGraph_t *clone, hipGraph_t graph)
{
    ENTER();
    if (!clone || !handle_valid(graph, HANDLE_GRAPH))
        LEAVE(hipErrorInvalidValue);
    *clone = graph_clone(graph);
    LEAVE(*clone ? hipSuccess : hipErrorOutOfMemory);
}

HIP_API hipError_t hipGraphNodeFindInClone(hipGraphNode_t *out,
                                           hipGraphNode_t original,
                                           hipGraph_t clone)
{
    hipGraphNode_t found;

    ENTER();
    if (!out || !handle_valid(original, HANDLE_NODE) ||
        !handle_valid(clone, HANDLE_GRAPH) || !clone->is_clone)
        LEAVE(hipErrorInvalidValue);
    found = graph_node_by_id(clone, original->id);
    if (!found)
        LEAVE(hipErrorInvalidValue);
    *out = found;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipGraphDestroyNode(hipGraphNode_t node)
{
    ENTER();
    if (!handle_valid(node, HANDLE_NODE))
        LEAVE(hipErrorInvalidValue);
    graph_remove(node);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipGraphNodeGetType(hipGraphNode_t node, int *type)
{
    ENTER();
    if (!handle_valid(node, HANDLE_NODE) || !type)
        LEAVE(hipErrorInvalidValue);
    /* Up to 5.x 0 was none. */
    *type = (int)node->type + (rt.release < 6);
    LEAVE(hipSuccess);
}

/* ---- edges ---- */

static hipError_t check_edges(hipGraph_t graph, const hipGraphNode_t *from,
                              const hipGraphNode_t *to, size_t n)
{
    size_t i;

    if (!handle_valid(graph, HANDLE_GRAPH) || (n && (!from || !to)))
        return hipErrorInvalidValue;
    for (i = 0; i < n; i++)
        if (from[i] == to[i] || !handle_valid(from[i], HANDLE_NODE) ||
            !handle_valid(to[i], HANDLE_NODE) || from[i]->graph != graph ||
            to[i]->graph != graph)
            return hipErrorInvalidValue;
    return hipSuccess;
}

HIP_API hipError_t hipGraphAddDependencies(hipGraph_t graph,
                                           const hipGraphNode_t *from,
                                           const hipGraphNode_t *to, size_t n)
{
    hipError_t error;
    size_t i;

    ENTER();
    error = check_edges(graph, from, to, n);
    for (i = 0; i < n && error == hipSuccess; i++)
        if (depends_on(to[i], from[i]))
            error = hipErrorInvalidValue;
        else if (!node_add_dep(to[i], from[i]))
            error = hipErrorOutOfMemory;
    LEAVE(error);
}

HIP_API hipError_t hipGraphRemoveDependencies(hipGraph_t graph,
                                              const hipGraphNode_t *from,
                                              const hipGraphNode_t *to,
                                              size_t n)
{
    hipError_t error;
    size_t i;

    ENTER();
    error = check_edges(graph, from, to, n);
    for (i = 0; i < n && error == hipSuccess; i++)
        if (!depends_on(to[i], from[i]))
            error = hipErrorInvalidValue;
    for (i = 0; i < n && error == hipSuccess; i++)
        drop_dep(to[i], from[i]);
    LEAVE(error);
}

/* ---- lists ---- */

/* Without room for a list only its length is told; room that is left is
 * filled with NULL. */
hipError_t give_nodes(hipGraphNode_t *out, size_t *n,
                      const hipGraphNode_t *nodes, size_t count)
{
    size_t i;

    if (out)
        for (i = 0; i < *n; i++)
            out[i] = i < count ? nodes[i] : NULL;
    if (!out || *n > count)
        *n = count;
    return hipSuccess;
}

HIP_API hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t *out,
                                    size_t *n)
{
    ENTER();
    if (!handle_valid(graph, HANDLE_GRAPH) || !n)
        LEAVE(hipErrorInvalidValue);
    LEAVE(give_nodes(out, n, graph->nodes, graph->nnodes));
}

HIP_API hipError_t hipGraphGetRootNodes(hipGraph_t graph, hipGraphNode_t *out,
                                        size_t *n)
{
    hipGraphNode_t *roots;
    size_t count = 0, i;

    ENTER();
    if (!handle_valid(graph, HANDLE_GRAPH) || !n)
        LEAVE(hipErrorInvalidValue);
    roots = calloc(graph->nnodes + 1, sizeof(roots[0]));
    if (!roots)
        LEAVE(hipErrorOutOfMemory);
    for (i = 0; i < graph->nnodes; i++)
        if (graph->nodes[i]->ndeps == 0)
            roots[count++] = graph->nodes[i];
    give_nodes(out, n, roots, count);
    free(roots);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipGraphNodeGetDependencies(hipGraphNode_t node,
                                               hipGraphNode_t *out, size_t *n)
{
    ENTER();
    if (!handle_valid(node, HANDLE_NODE) || !n)
        LEAVE(hipErrorInvalidValue);
    LEAVE(give_nodes(out, n, node->deps, node->ndeps));
}

HIP_API hipError_t hipGraphNodeGetDependentNodes(hipGraphNode_t node,
                                                 hipGraphNode_t *out, size_t *n)
{
    hipGraphNode_t *found;
    size_t count = 0, i;

    ENTER();
    if (!handle_valid(node, HANDLE_NODE) || !n)
        LEAVE(hipErrorInvalidValue);
    found = calloc(node->graph->nnodes + 1, sizeof(found[0]));
    if (!found)
        LEAVE(hipErrorOutOfMemory);
    for (i = 0; i < node->graph->nnodes; i++)
        if (depends_on(node->graph->nodes[i], node))
            found[count++] = node->graph->nodes[i];
    give_nodes(out, n, found, count);
    free(found);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipGraphGetEdges(hipGraph_t graph, hipGraphNode_t *from,
                                    hipGraphNode_t *to, size_t *n)
{
    hipGraphNode_t *ends[2];
    size_t count = 0, given, i, k;

    ENTER();
    if (!handle_valid(graph, HANDLE_GRAPH) || !n || !from != !to)
        LEAVE(hipErrorInvalidValue);
    for (i = 0; i < graph->nnodes; i++)
        count += graph->nodes[i]->ndeps;
    ends[0] = calloc(2 * count + 1, sizeof(ends[0][0]));
    if (!ends[0])
        LEAVE(hipErrorOutOfMemory);
    ends[1] = ends[0] + count;
    for (i = 0, count = 0; i < graph->nnodes; i++)
        for (k = 0; k < graph->nodes[i]->ndeps; k++) {
            ends[0][count] = graph->nodes[i]->deps[k];
            ends[1][count++] = graph->nodes[i];
        }
    given = *n;
    give_nodes(from, &given, ends[0], count);
    give_nodes(to, n, ends[1], count);
    free(ends[0]);
    LEAVE(hipSuccess);
}
