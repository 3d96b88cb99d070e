/* hip_cooperative.h - cooperative launches */
#ifndef SIM_HIP_COOPERATIVE_H
#define SIM_HIP_COOPERATIVE_H

#include "kernel_op.h"

/* Checks a grid in blocks, and launches it as a cooperative one. */
hipError_t cooperative_launch(struct launch *l, const uint32_t blocks[3],
                              struct queue *queue);
/* The same of a `__global__` function; takes over the reference to the queue.
 */
hipError_t cooperative_launch_stub(const void *stub, dim3 grid, dim3 block,
                                   void **args, size_t shared,
                                   struct queue *queue);

#endif
