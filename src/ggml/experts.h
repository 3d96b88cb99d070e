/* experts.h - the nodes around a mixture of experts, as one launch each */
#ifndef KPK_GGML_EXPERTS_H
#define KPK_GGML_EXPERTS_H

#include "launch.h"

#include <ggml-impl.h>

/*
 * experts_nodes() asks for, or launches, the nodes from `first` on that choose
 * experts, or that add up the experts' results. Views between them are skipped.
 *
 * Returns their number with the views; 0 if there are none, or without
 * run->fusing.
 */
int experts_nodes(struct run *run, const struct ggml_cgraph *graph, int first);

#endif
