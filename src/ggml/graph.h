/* graph.h - graphs of ggml on a stream */
#ifndef KPK_GGML_GRAPH_H
#define KPK_GGML_GRAPH_H

#include "gpu.h"

/*
 * A stream's memory for graphs, beside their tensors, and recordings of graphs
 * that were computed twice. One thread at a time may use it.
 */
struct graphs;

/* NULL if there is no memory. The caller keeps ownership of `stream`. */
struct graphs *graphs_open(struct gpu *gpu, void *stream);
/* The caller must wait for the stream first. */
void graphs_close(struct graphs *g);

/* Queues a graph's work on the stream. Failures are reported on stderr. */
enum ggml_status graphs_compute(struct graphs *g,
                                const struct ggml_cgraph *graph);

#endif
