/* hip_pool.h - memory pools */
#ifndef SIM_HIP_POOL_H
#define SIM_HIP_POOL_H

#include "op_queue.h"

void pools_shutdown(void);
/* Frees all chunks of a device on which nothing runs. */
void pools_reset(const struct device *device);
/* pools_trim() gives back memory beyond the pools' thresholds, after a wait.
 * pools_empty() gives back all freed memory, when memory is short. */
void pools_trim(const struct device *device);
void pools_empty(void);
/* A stream waits for another one, so it may reuse memory that the other one
 * frees. */
void pools_follow(const struct queue *stream, struct queue *waiter);
/* hipFreeAsync() of the allocation at ptr. */
hipError_t pool_free_in_order(void *ptr, struct queue *queue);
/* Takes back a chunk that nothing uses any more. */
hipError_t pool_free(uint64_t base);

#endif
