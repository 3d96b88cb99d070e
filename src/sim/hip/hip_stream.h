/* hip_stream.h - host functions on streams */
#ifndef SIM_HIP_STREAM_H
#define SIM_HIP_STREAM_H

#include "op_queue.h"

hipError_t stream_call_host(struct queue *queue, hipHostFn_t function,
                            void *data);

#endif
