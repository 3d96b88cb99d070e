/* kernel_packet.h - a kernel dispatch packet, run */
#ifndef SIM_THUNK_KERNEL_PACKET_H
#define SIM_THUNK_KERNEL_PACKET_H

#include "ring.h"

/*
 * Runs the kernel dispatch packet at `packet`. Returns 0 or the queue's error;
 * a memory fault has then been reported to the events, if any wait for one.
 */
int64_t thunk_run_kernel(const struct thunk_queue *queue,
                         const uint8_t *packet);

#endif
