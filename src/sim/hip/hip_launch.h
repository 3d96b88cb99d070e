/* hip_launch.h - launches on streams, captured or not */
#ifndef SIM_HIP_LAUNCH_H
#define SIM_HIP_LAUNCH_H

#include "kernel_op.h"

/* Checks a grid in blocks, and launches. */
hipError_t launch_blocks(struct launch *l, const uint32_t blocks[3],
                         struct queue *queue);

#endif
