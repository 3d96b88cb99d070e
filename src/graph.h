/* graph.h - whether a stream records */
#ifndef KPK_GRAPH_H
#define KPK_GRAPH_H

#include "instance.h"

#pragma GCC visibility push(hidden)

/* The kpk_capture_state of a stream; KPK_CAPTURE_NONE if the driver has no
 * query for it. */
hipError_t kpk_i_capture_state(const kpk_instance *inst, void *stream,
                               int *out);

#pragma GCC visibility pop

#endif
