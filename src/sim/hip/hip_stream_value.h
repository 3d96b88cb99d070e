/* hip_stream_value.h - waits for values in memory, and writes of them */
#ifndef SIM_HIP_STREAM_VALUE_H
#define SIM_HIP_STREAM_VALUE_H

#include "op_queue.h"

hipError_t value_batch_check(const hipStreamBatchMemOpParams *list,
                             unsigned count);
/* Checks each again: memory may be gone by now. */
hipError_t value_batch_submit(struct queue *queue,
                              const hipStreamBatchMemOpParams *list,
                              unsigned count);

#endif
