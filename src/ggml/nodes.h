/* nodes.h - questions about a graph's nodes, for files that fuse them */
#ifndef KPK_GGML_NODES_H
#define KPK_GGML_NODES_H

#include "launch.h"

#include <ggml-impl.h>

enum { NO_NODE = -1 };

/* The next node that computes something, or NO_NODE. */
int node_behind(const struct ggml_cgraph *graph, int i);
/* Whether node i, which may be NO_NODE, computes operation `op`. */
bool node_is(const struct ggml_cgraph *graph, int i, enum ggml_op op);
/* How many nodes read node i; -1 if it is an output of the graph, too. */
int32_t node_uses(const struct ggml_cgraph *graph, int i);
/* The same for a tensor that is a node, such as a view. */
int32_t node_uses_of(const struct ggml_cgraph *graph,
                     const struct ggml_tensor *t);
/* Whether two tensors with memory share a part of it. */
bool overlap_of(const struct ggml_tensor *a, const struct ggml_tensor *b);

#endif
