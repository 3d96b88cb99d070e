/* hip_event.c - events: made, recorded, asked, waited for */
#include "call.h"
#include "capture_node.h"
#include "capture_state.h"
#include "event_state.h"
#include "handle.h"
#include "op_queue.h"
#include "process_state.h"
#include "shared_event.h"
#include "stream_queue.h"

#include <pthread.h>
#include <stdlib.h>

static hipError_t create(hipEvent_t *out, unsigned flags)
{
    /* To the device, to the system, without the system's fence: at most one,
     * and no difference here. */
    const unsigned release = 0x40000000u | 0x80000000u | 0x20000000u;
    const unsigned known = hipEventBlockingSync | hipEventDisableTiming |
                           hipEventInterprocess | release;
    hipEvent_t event;

    if (!out || (flags & ~known) ||
        ((flags & release) & ((flags & release) - 1)) ||
        ((flags & hipEventInterprocess) && !(flags & hipEventDisableTiming)))
        return hipErrorInvalidValue;
    event = event_new(flags, (flags & hipEventInterprocess) ? shared_event_new()
                                                            : NULL);
    if (!event)
        return hipErrorOutOfMemory;
    *out = event;
    return hipSuccess;
}

HIP_API hipError_t hipEventCreate(hipEvent_t *event)
{
    ENTER();
    LEAVE(create(event, 0));
}

HIP_API hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags)
{
    ENTER();
    LEAVE(create(event, flags));
}

HIP_API hipError_t hipEventDestroy(hipEvent_t event)
{
    bool ours;

    ENTER();
    if (!event)
        LEAVE(hipErrorInvalidHandle);
    pthread_mutex_lock(&process.lock);
    ours = handle_remove(event, HANDLE_EVENT);
    pthread_mutex_unlock(&process.lock);
    if (!ours)
        LEAVE(hipErrorContextIsDestroyed);
    op_unref(event->op);
    captured_clear(&event->captured);
    shared_event_unref(event->shared);
    free(event);
    LEAVE(hipSuccess);
}

static hipError_t record(hipEvent_t event, struct queue *q)
{
    hipError_t error = hipErrorInvalidHandle;

    if (!q)
        return hipErrorContextIsDestroyed;
    if (handle_valid(event, HANDLE_EVENT) &&
        (capture_is_active(q) || event->device == q->device->ordinal)) {
        captured_clear(&event->captured);
        error = capture_is_active(q) ? capture_record(q, &event->captured)
                                     : event_record(q, event);
    }
    queue_unref(q);
    return error;
}

HIP_API hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
{
    ENTER();
    if (!event)
        LEAVE(hipErrorInvalidHandle);
    LEAVE(record(event, stream_queue(stream)));
}

/* In a capture an external record is a node; elsewhere it is any record. */
HIP_API hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream,
                                           unsigned flags)
{
    enum { EXTERNAL = 1 };
    hipError_t error;
    struct queue *q;

    ENTER();
    if (!event)
        LEAVE(hipErrorInvalidHandle);
    if (flags & ~(unsigned)EXTERNAL)
        LEAVE(hipErrorInvalidValue);
    q = stream_queue(stream);
    if (!q || flags != EXTERNAL || !capture_is_active(q))
        LEAVE(record(event, q));
    error = capture_record_node(q, event);
    queue_unref(q);
    LEAVE(error);
}

HIP_API hipError_t hipEventRecord_spt(hipEvent_t event, hipStream_t stream)
{
    ENTER();
    if (!event)
        LEAVE(hipErrorInvalidHandle);
    LEAVE(record(event, stream_queue_spt(stream)));
}

static hipError_t fault_of(const struct op *op)
{
    hipError_t fault;

    pthread_mutex_lock(&process.lock);
    fault = op->queue->device->fault;
    pthread_mutex_unlock(&process.lock);
    return fault;
}

/* The operation of the latest record, with a reference; NULL: never recorded.
 */
static hipError_t look_at(hipEvent_t event, bool waits, struct op **op)
{
    hipError_t error;

    if (!event || !event_operation(event, op))
        return hipErrorInvalidHandle;
    error = capture_forbids_event(&event->captured, *op ? (*op)->queue : NULL,
                                  waits);
    if (error != hipSuccess)
        op_unref(*op);
    return error;
}

HIP_API hipError_t hipEventQuery(hipEvent_t event)
{
    hipError_t error;
    struct op *op;

    ENTER();
    error = look_at(event, false, &op);
    if (error != hipSuccess)
        LEAVE(error);
    if (event->shared &&
        !shared_event_is_done(event->shared, shared_event_turn(event->shared)))
        error = hipErrorNotReady;
    if (op) {
        if (error == hipSuccess)
            error = op_done(op) ? fault_of(op) : hipErrorNotReady;
        op_unref(op);
    }
    LEAVE(error);
}

HIP_API hipError_t hipEventSynchronize(hipEvent_t event)
{
    hipError_t error;
    struct op *op;

    ENTER();
    error = look_at(event, true, &op);
    if (error != hipSuccess)
        LEAVE(error);
    if (op) {
        op_wait(op);
        error = fault_of(op);
        op_unref(op);
    }
    if (event->shared)
        shared_event_wait(event->shared, shared_event_turn(event->shared));
    LEAVE(error);
}

static uint64_t time_of(hipEvent_t event, const struct op *op)
{
    return event->at_start ? op->start_ns : op->end_ns;
}

HIP_API hipError_t hipEventElapsedTime(float *ms, hipEvent_t start,
                                       hipEvent_t stop)
{
    struct op *from = NULL, *to = NULL;
    hipError_t error = hipErrorInvalidHandle;

    ENTER();
    if (!ms)
        LEAVE(hipErrorInvalidValue);
    if (start && stop && event_operation(start, &from) &&
        event_operation(stop, &to) && from && to &&
        !(start->flags & hipEventDisableTiming) &&
        !(stop->flags & hipEventDisableTiming) &&
        start->device == stop->device) {
        if (!op_done(from) || !op_done(to)) {
            error = hipErrorNotReady;
        } else {
            int64_t ns = (int64_t)(time_of(stop, to) - time_of(start, from));

            *ms = (float)((double)ns * 1e-6);
            error = hipSuccess;
        }
    }
    op_unref(from);
    op_unref(to);
    LEAVE(error);
}
