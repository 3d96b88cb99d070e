/* ops.h - operations of ggml as launches of the pack's kernels */
#ifndef KPK_GGML_OPS_H
#define KPK_GGML_OPS_H

#include "gpu.h"

/* Modules that the backend links and opens. */
extern const kpk_module *const ops_modules[];
extern const size_t ops_nmodules;

/*
 * One node is asked, measured or launched by the same code, so that the answers
 * cannot differ: only a launch has a stream.
 */
struct run {
    kpk_instance *inst;
    bool launching;
    void *stream;
    char *scratch;         /* of `launching`: memory for the node alone */
    size_t scratch_nbytes; /* the most that a node wanted */
    size_t scratch_used;   /* by this node */
};

/*
 * ops_node() launches a node, or says without `launching` whether it can.
 * Tensors then need no data. Threads may ask at once. If a launch fails, a
 * sentence is on stderr.
 */
bool ops_node(struct run *run, const struct ggml_tensor *node);

/* Whether a node is no work: a view, or empty. */
bool ops_is_nothing(const struct ggml_tensor *node);

#endif
