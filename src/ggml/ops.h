/* ops.h - operations of ggml as launches of the pack's kernels */
#ifndef KPK_GGML_OPS_H
#define KPK_GGML_OPS_H

#include "launch.h"

/* Modules that the backend links and opens. */
extern const kpk_module *const ops_modules[];
extern const size_t ops_nmodules;

/*
 * ops_node() launches a node. Without `launching` it only says whether it can:
 * then tensors need no data, and threads may call at once. If a launch fails, a
 * sentence is on stderr.
 */
bool ops_node(struct run *run, const struct ggml_tensor *node);

/* Launches the kernel that rotates a group's Q and K and converts Q, K and V
 * for attention, with this many threads. */
bool ops_heads_to_cache(struct run *run, const struct group *group,
                        uint64_t threads);

#endif
