/* fill_op.c - the operation that fills memory with a value */
#include "fill_op.h"

#include "copy_op.h"
#include "hip_peer.h"
#include "op_queue.h"
#include "process_state.h"

#include "../base/allocation.h"
#include "../base/host_access.h"

#include <string.h>

struct fill_op {
    struct op op;
    struct fill fill;
};

static void fill_row(uint8_t *at, size_t n, uint32_t value, uint32_t element)
{
    size_t i;

    if (element == 1) {
        memset(at, (int)(value & 0xff), n);
        return;
    }
    for (i = 0; i < n; i += element)
        memcpy(at + i, &value, element); /* little-endian */
}

static hipError_t run_fill(struct op *op)
{
    const struct fill *f = &((const struct fill_op *)op)->fill;
    size_t row, slice;

    for (slice = 0; slice < f->depth; slice++)
        for (row = 0; row < f->height; row++) {
            uint64_t dst = f->dst + slice * f->slice + row * f->pitch;
            uint8_t *to = sim_mem_host_view(dst, f->width);

            if (!to) {
                process_complain(
                    "a fill of %zu bytes at 0x%llx met memory that was "
                    "freed before it ran",
                    f->width, (unsigned long long)dst);
                return hipErrorIllegalAddress;
            }
            fill_row(to, f->width, f->value, f->element);
            sim_mem_mark_written(dst, f->width);
        }
    return hipSuccess;
}

hipError_t fill_find(const struct fill *f, struct sim_alloc *a)
{
    bool known;

    if (!f->dst || f->dst % f->element)
        return hipErrorInvalidValue;
    return copy_check_end(
        (const void *)(uintptr_t)f->dst,
        copy_span(f->width, f->height, f->depth, f->pitch, f->slice), false,
        &known, a);
}

hipError_t fill_check(const struct fill *f)
{
    struct sim_alloc a;

    return fill_find(f, &a);
}

hipError_t fill_on(const struct fill *f, struct queue *q, bool wait)
{
    struct fill_op *op = (struct fill_op *)op_new(sizeof(*op), run_fill, NULL);
    hipError_t error;

    if (!op)
        return hipErrorOutOfMemory;
    op->fill = *f;
    peers_map(f->dst, q->device->sim->ordinal);
    op_ref(&op->op);
    error = op_submit(q, &op->op);
    if (error == hipSuccess && wait) {
        op_wait(&op->op);
        error = queues_error(q->device);
    }
    op_unref(&op->op);
    return error;
}
