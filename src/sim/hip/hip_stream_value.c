/* hip_stream_value.c - waits for values in memory, and writes of them
 *
 * A wait or write is an operation on a queue, a batch several operations in
 * order.
 */
#define _GNU_SOURCE
#include "hip_stream_value.h"

#include "call.h"
#include "op_queue.h"
#include "stream_queue.h"

#include "../base/allocation.h"
#include "../base/host_access.h"

#include <time.h>

enum { WAIT_GTE, WAIT_EQ, WAIT_AND, WAIT_NOR };

struct value_op {
    struct op op;
    uint64_t address, value, mask;
    uint32_t nbytes;
    unsigned condition;
};

static uint64_t read_value(const struct value_op *v, const uint8_t *view)
{
    if (v->nbytes == 4)
        return __atomic_load_n((const uint32_t *)(const void *)view,
                               __ATOMIC_ACQUIRE);
    return __atomic_load_n((const uint64_t *)(const void *)view,
                           __ATOMIC_ACQUIRE);
}

static bool holds(const struct value_op *v, uint64_t now)
{
    now &= v->mask;
    switch (v->condition) {
    case WAIT_GTE:
        return v->nbytes == 4 ? (int32_t)(now - (v->value & v->mask)) >= 0
                              : (int64_t)(now - (v->value & v->mask)) >= 0;
    case WAIT_EQ:
        return now == (v->value & v->mask);
    case WAIT_AND:
        return (now & v->value) != 0;
    default:
        return (~(now | v->value) & v->mask) != 0;
    }
}

static hipError_t run_wait_value(struct op *op)
{
    const struct value_op *v = (const struct value_op *)op;
    struct timespec nap = {0, 20000};

    for (;;) {
        const uint8_t *view = sim_mem_host_view(v->address, v->nbytes);

        if (!view)
            return hipErrorIllegalAddress;
        if (holds(v, read_value(v, view)) || queues_stopping())
            return hipSuccess;
        nanosleep(&nap, NULL);
    }
}

static hipError_t run_write_value(struct op *op)
{
    const struct value_op *v = (const struct value_op *)op;
    uint8_t *view = sim_mem_host_view(v->address, v->nbytes);

    if (!view)
        return hipErrorIllegalAddress;
    if (v->nbytes == 4)
        __atomic_store_n((uint32_t *)(void *)view, (uint32_t)v->value,
                         __ATOMIC_RELEASE);
    else
        __atomic_store_n((uint64_t *)(void *)view, v->value, __ATOMIC_RELEASE);
    sim_mem_mark_written(v->address, v->nbytes);
    return hipSuccess;
}

static hipError_t check_value(const struct value_op *v)
{
    return v->address && v->address % v->nbytes == 0 &&
                   v->condition <= WAIT_NOR &&
                   sim_mem_host_view(v->address, v->nbytes)
               ? hipSuccess
               : hipErrorInvalidValue;
}

static hipError_t submit_value(struct queue *q, const struct value_op *like,
                               hipError_t (*run)(struct op *))
{
    struct value_op *v = (struct value_op *)op_new(sizeof(*v), run, NULL);

    if (!v)
        return hipErrorOutOfMemory;
    v->address = like->address;
    v->value = like->value;
    v->mask = like->mask;
    v->nbytes = like->nbytes;
    v->condition = like->condition;
    return op_submit(q, &v->op);
}

static hipError_t value_op(hipStream_t stream, const struct value_op *like,
                           hipError_t (*run)(struct op *))
{
    struct queue *q;
    hipError_t error = check_value(like);

    if (error != hipSuccess)
        return error;
    q = stream_queue(stream);
    if (!q)
        return hipErrorContextIsDestroyed;
    error = submit_value(q, like, run);
    queue_unref(q);
    return error;
}

HIP_API hipError_t hipStreamWaitValue32(hipStream_t stream, void *ptr,
                                        uint32_t value, unsigned flags,
                                        uint32_t mask)
{
    struct value_op v = {.address = (uintptr_t)ptr,
                         .value = value,
                         .mask = mask,
                         .nbytes = 4,
                         .condition = flags};

    ENTER();
    LEAVE(value_op(stream, &v, run_wait_value));
}

HIP_API hipError_t hipStreamWaitValue64(hipStream_t stream, void *ptr,
                                        uint64_t value, unsigned flags,
                                        uint64_t mask)
{
    struct value_op v = {.address = (uintptr_t)ptr,
                         .value = value,
                         .mask = mask,
                         .nbytes = 8,
                         .condition = flags};

    ENTER();
    LEAVE(value_op(stream, &v, run_wait_value));
}

HIP_API hipError_t hipStreamWriteValue32(hipStream_t stream, void *ptr,
                                         uint32_t value, unsigned flags)
{
    struct value_op v = {
        .address = (uintptr_t)ptr, .value = value, .nbytes = 4};

    ENTER();
    (void)flags;
    LEAVE(value_op(stream, &v, run_write_value));
}

HIP_API hipError_t hipStreamWriteValue64(hipStream_t stream, void *ptr,
                                         uint64_t value, unsigned flags)
{
    struct value_op v = {
        .address = (uintptr_t)ptr, .value = value, .nbytes = 8};

    ENTER();
    (void)flags;
    LEAVE(value_op(stream, &v, run_write_value));
}

/* ---- batches ------------------------------------------------------------ */

enum {
    BATCH_WAIT_32 = 1,
    BATCH_WRITE_32 = 2,
    BATCH_WAIT_64 = 4,
    BATCH_WRITE_64 = 5,
    MAX_BATCH = 256
};

/* Barriers and flushes of remote writes are no operations here either. */
static hipError_t read_batched(const hipStreamBatchMemOpParams *p,
                               struct value_op *v,
                               hipError_t (**run)(struct op *))
{
    const bool waits =
        p->operation == BATCH_WAIT_32 || p->operation == BATCH_WAIT_64;
    const bool wide =
        p->operation == BATCH_WAIT_64 || p->operation == BATCH_WRITE_64;

    if (!waits && !wide && p->operation != BATCH_WRITE_32)
        return hipErrorInvalidValue;
    *v = (struct value_op){.address = (uintptr_t)p->value.address,
                           .value = wide ? p->value.value64 : p->value.value,
                           .mask = wide ? UINT64_MAX : UINT32_MAX,
                           .nbytes = wide ? 8 : 4,
                           .condition = waits ? p->value.flags : WAIT_GTE};
    *run = waits ? run_wait_value : run_write_value;
    return check_value(v);
}

hipError_t value_batch_check(const hipStreamBatchMemOpParams *list,
                             unsigned count)
{
    hipError_t (*run)(struct op *);
    hipError_t error = hipSuccess;
    struct value_op v;
    unsigned i;

    if (!list || count == 0 || count > MAX_BATCH)
        return hipErrorInvalidValue;
    for (i = 0; i < count && error == hipSuccess; i++)
        error = read_batched(&list[i], &v, &run);
    return error;
}

hipError_t value_batch_submit(struct queue *q,
                              const hipStreamBatchMemOpParams *list,
                              unsigned count)
{
    hipError_t (*run)(struct op *);
    hipError_t error = hipSuccess;
    struct value_op v;
    unsigned i;

    for (i = 0; i < count && error == hipSuccess; i++) {
        error = read_batched(&list[i], &v, &run);
        if (error == hipSuccess)
            error = submit_value(q, &v, run);
    }
    return error;
}

HIP_API hipError_t hipStreamBatchMemOp(hipStream_t stream, unsigned count,
                                       hipStreamBatchMemOpParams *list,
                                       unsigned flags)
{
    hipError_t error;
    struct queue *q;

    ENTER();
    error = flags ? hipErrorInvalidValue : value_batch_check(list, count);
    if (error != hipSuccess)
        LEAVE(error); /* all or none */
    q = stream_queue(stream);
    if (!q)
        LEAVE(hipErrorContextIsDestroyed);
    error = value_batch_submit(q, list, count);
    queue_unref(q);
    LEAVE(error);
}
