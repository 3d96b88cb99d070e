/* heads.h - Q, K and V on their way to attention, as one launch */
#ifndef KPK_GGML_HEADS_H
#define KPK_GGML_HEADS_H

#include "launch.h"

#include <ggml-impl.h>

enum heads { HEADS_NONE, HEADS_SERVED, HEADS_FAILED };

/*
 * heads_node() measures or launches node i if it belongs to a group; otherwise,
 * or without run->fusing, it returns HEADS_NONE. The nodes of a group need not
 * be adjacent, so all nodes of a graph must be given in order.
 */
enum heads heads_node(struct run *run, const struct ggml_cgraph *graph, int i);

#endif
