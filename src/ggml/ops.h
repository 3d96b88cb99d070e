/* ops.h - operations of ggml as launches of the pack's kernels */
#ifndef KPK_GGML_OPS_H
#define KPK_GGML_OPS_H

#include "launch.h"

/* Modules that the backend links and opens. */
extern const kpk_module *const ops_modules[];
extern const size_t ops_nmodules;

/*
 * ops_node() launches a node, or says without `launching` whether it can.
 * Tensors then need no data. Threads may ask at once. If a launch fails, a
 * sentence is on stderr.
 */
bool ops_node(struct run *run, const struct ggml_tensor *node);

/* Q, turned as the group's rotation turns it, K and V on their way to
 * attention, by so many threads. */
bool ops_heads_to_cache(struct run *run, const struct group *group,
                        uint64_t threads);

#endif
