/* capture_node.h - calls on a captured stream, recorded as nodes of its graph
 */
#ifndef SIM_HIP_CAPTURE_NODE_H
#define SIM_HIP_CAPTURE_NODE_H

#include "op_queue.h"

struct fill;
struct launch;

/* Each puts a node behind the stream's tail. */
hipError_t capture_launch(struct queue *queue, const struct launch *launch);
hipError_t capture_copy(struct queue *queue, const hipMemcpy3DParms *p);
hipError_t capture_fill(struct queue *queue, const struct fill *fill);
hipError_t capture_host(struct queue *queue, hipHostFn_t function, void *data);
hipError_t capture_record_node(struct queue *queue, hipEvent_t event);
/* hipMallocAsync() and hipFreeAsync(). */
hipError_t capture_alloc(struct queue *queue, struct device *device,
                         uint64_t size, void **ptr);
hipError_t capture_free(struct queue *queue, void *ptr);

#endif
