/* nodes.c - questions about a graph's nodes, for files that fuse them */
#include "nodes.h"

int node_behind(const struct ggml_cgraph *graph, int i)
{
    if (i == NO_NODE)
        return NO_NODE;
    for (i++; i < graph->n_nodes; i++)
        if (!is_nothing(graph->nodes[i]))
            return i;
    return NO_NODE;
}

bool node_is(const struct ggml_cgraph *graph, int i, enum ggml_op op)
{
    return i != NO_NODE && graph->nodes[i]->op == op &&
           graph->nodes[i]->flags & GGML_TENSOR_FLAG_COMPUTE;
}

int32_t node_uses_of(const struct ggml_cgraph *graph,
                     const struct ggml_tensor *t)
{
    const struct ggml_hash_set *all = &graph->visited_hash_set;

    const size_t at = ggml_hash_find(all, t);

    return t->flags & GGML_TENSOR_FLAG_OUTPUT || at == GGML_HASHSET_FULL ||
                   !ggml_bitset_get(all->used, at)
               ? -1
               : graph->use_counts[at];
}

int32_t node_uses(const struct ggml_cgraph *graph, int i)
{
    return node_uses_of(graph, graph->nodes[i]);
}

bool overlap_of(const struct ggml_tensor *a, const struct ggml_tensor *b)
{
    return a && b && a->data && b->data && overlap(a, b);
}
