/* hip_graph.c - graphs as such: nodes, edges, clones, and questions */
#include "call.h"
#include "graph.h"
#include "handle.h"
#include "process_state.h"

#include <stdlib.h>

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
    *type = (int)node->type + (process.release < 6);
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
        if (graph_node_depends_on(to[i], from[i]))
            error = hipErrorInvalidValue;
        else if (!graph_node_add_dep(to[i], from[i]))
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
        if (!graph_node_depends_on(to[i], from[i]))
            error = hipErrorInvalidValue;
    for (i = 0; i < n && error == hipSuccess; i++)
        graph_node_drop_dep(to[i], from[i]);
    LEAVE(error);
}

/* ---- lists ---- */

/* Gives a list's length, and its nodes unless out is NULL. Room behind the last
 * node is filled with NULL. */
static hipError_t give_nodes(hipGraphNode_t *out, size_t *n,
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
        if (graph_node_depends_on(node->graph->nodes[i], node))
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
