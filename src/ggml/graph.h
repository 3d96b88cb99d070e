/* graph.h - graphs of ggml on a stream */
#ifndef KPK_GGML_GRAPH_H
#define KPK_GGML_GRAPH_H

#include "gpu.h"

/*
 * The memory that a stream's graphs use beside their tensors, and recordings of
 * those that came twice. One thread at a time calls with it.
 */
struct graphs;

/* NULL if there is no memory. `stream` stays the caller's. */
struct graphs *graphs_open(struct gpu *gpu, void *stream);
/* Wait for the stream before. */
void graphs_close(struct graphs *g);

/* Queues a graph's work on the stream. A failure is told on stderr. */
enum ggml_status graphs_compute(struct graphs *g,
                                const struct ggml_cgraph *graph);

#endif
