/* heads.h - Q, K and V on their way to attention, as one launch */
#ifndef KPK_GGML_HEADS_H
#define KPK_GGML_HEADS_H

#include "launch.h"

#include <ggml-impl.h>

enum heads { HEADS_NONE, HEADS_SERVED, HEADS_FAILED };

/*
 * heads_node() asks for, or launches, node i if it is one of a group:
 * HEADS_NONE if it is not, or without run->fusing. The nodes of a group need
 * not follow each other, so all nodes of a graph must be given in turn.
 */
enum heads heads_node(struct run *run, const struct ggml_cgraph *graph, int i);

#endif
