/* nodes.h - nodes of a graph, as files that fuse them look at them */
#ifndef KPK_GGML_NODES_H
#define KPK_GGML_NODES_H

#include "launch.h"

#include <ggml-impl.h>

enum { NO_NODE = -1 };

/* The next node that is work; NO_NODE: there is none. */
int node_behind(const struct ggml_cgraph *graph, int i);
/* Whether node i, which may be NO_NODE, is to compute an operation. */
bool node_is(const struct ggml_cgraph *graph, int i, enum ggml_op op);
/* How many nodes read node i; -1 if the user wants it, too. */
int32_t node_uses(const struct ggml_cgraph *graph, int i);
/* The same for a tensor that is a node, a view say. */
int32_t node_uses_of(const struct ggml_cgraph *graph,
                     const struct ggml_tensor *t);
/* Whether two tensors with memory share a part of it. */
bool overlap_of(const struct ggml_tensor *a, const struct ggml_tensor *b);

#endif
