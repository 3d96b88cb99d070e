/* fill_op.h - the operation that fills memory with a value */
#ifndef SIM_HIP_FILL_OP_H
#define SIM_HIP_FILL_OP_H

#include "op_queue.h"

#include "../base/allocation.h"

struct fill {
    uint64_t dst;
    size_t width, height, depth, pitch, slice; /* bytes */
    uint32_t value;
    uint32_t element; /* bytes: 1, 2, 4 */
};

/* Check the arguments; fill_find() also returns the allocation. */
hipError_t fill_check(const struct fill *fill);
hipError_t fill_find(const struct fill *fill, struct sim_alloc *a);
hipError_t fill_on(const struct fill *fill, struct queue *queue, bool wait);

#endif
