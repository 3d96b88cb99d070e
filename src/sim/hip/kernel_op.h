/* kernel_op.h - the operation that runs a kernel, and the checks before it */
#ifndef SIM_HIP_KERNEL_OP_H
#define SIM_HIP_KERNEL_OP_H

#include "op_queue.h"

enum { MAX_BLOCK = 1024 };

struct launch {
    hipFunction_t function;
    const void *stub; /* NULL: a module's function */
    uint32_t grid[3]; /* work-items */
    uint32_t block[3];
    size_t shared;
    void **params, **extra;
    hipEvent_t start, stop;
    bool cooperative;
    bool any_device; /* takes the stream's device, not the current one */
    uint32_t grid_id, ngrids;           /* 0, 0 but for multi-device launches */
    uint64_t mg_sync;                   /* its shared barrier, 0 if none */
    uint64_t items_before, items_total; /* work-items in grids before; in all */
};

/* Copies the arguments and gives the dispatch to the queue, captured or not. */
hipError_t launch_now(const struct launch *l, struct queue *queue);
/* Checks common to all forms of launch; grid and block are not zero. */
hipError_t launch_check(const struct launch *l, struct queue *queue);
/* Checks, and sets l->grid to blocks times l->block. */
hipError_t launch_check_blocks(struct launch *l, const uint32_t blocks[3],
                               struct queue *queue);
void launches_shutdown(void);

#endif
