/* hip_graph_memory.h - memory that graphs allocate and free */
#ifndef SIM_HIP_GRAPH_MEMORY_H
#define SIM_HIP_GRAPH_MEMORY_H

#include "op_queue.h"

#include "../base/allocation.h"

struct graph_memory;
struct graph_memory *graph_memory_new(struct device *device, uint64_t size);
void *graph_memory_address(const struct graph_memory *m);
struct graph_memory *graph_memory_ref(struct graph_memory *m);
void graph_memory_unref(struct graph_memory *m);
/* With a reference, the memory that begins there, if no node frees it yet. */
struct graph_memory *graph_memory_to_free(const void *ptr);
/* Claims the memory for an instantiated graph, or releases it. Only one such
 * graph at a time may have it. */
bool graph_memory_claim(struct graph_memory *m, bool claim);
/* Allocates or frees on the queue. */
hipError_t graph_memory_run(struct graph_memory *m, bool allocates,
                            struct queue *q);
bool graph_memory_is_allocated(const struct graph_memory *m);

/* The memory that holds the address, as an allocation. */
bool graph_memory_at(const void *ptr, struct sim_alloc *out);
/* Frees memory of a graph: on a queue, or at once if `queue` is NULL. */
hipError_t graph_memory_free(uint64_t base, struct queue *queue);
void graph_memory_reset(const struct device *device);

#endif
