/* stream_queue.h - the queue behind a stream handle */
#ifndef SIM_HIP_STREAM_QUEUE_H
#define SIM_HIP_STREAM_QUEUE_H

#include "op_queue.h"

/*
 * The queue of a stream handle, with a reference that queue_unref() gives
 * back; NULL if the handle is unknown. NULL and 1 are the legacy default
 * stream of the current device, 2 this thread's.
 */
struct queue *stream_queue(hipStream_t stream);
/* The same, with the default stream of the `_spt` functions. */
struct queue *stream_queue_spt(hipStream_t stream);
/* A device's legacy default stream, with a reference; NULL: no memory. */
struct queue *stream_null_queue(struct device *device);

#endif
