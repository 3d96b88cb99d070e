/* event.c - events: a marker operation on a queue, or a launch's start or end
 */
#include "runtime.h"

#include <stdlib.h>

struct ihipEvent_t {
    unsigned flags;
    int device; /* current at creation */
    struct op *op;
    bool at_start; /* stands for the start of the operation */
    struct captured captured;
    struct shared_event *shared; /* NULL: not shared with processes */
};

/* Takes over the reference to what is shared, unless it fails. */
static hipEvent_t new_event(unsigned flags, struct shared_event *shared)
{
    hipEvent_t event = calloc(1, sizeof(*event));

    if (!event || ((flags & hipEventInterprocess) && !shared) ||
        !handle_add(event, HANDLE_EVENT)) {
        free(event);
        return NULL;
    }
    event->flags = flags;
    event->shared = shared;
    event->device = this_thread()->device;
    return event;
}

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
    event = new_event(flags, (flags & hipEventInterprocess) ? shared_event_new()
                                                            : NULL);
    if (!event)
        return hipErrorOutOfMemory;
    *out = event;
    return hipSuccess;
}

hipError_t event_from_shared(hipEvent_t *out, struct shared_event *s)
{
    hipEvent_t event =
        new_event(hipEventDisableTiming | hipEventInterprocess, s);

    if (!event)
        return hipErrorOutOfMemory;
    *out = event;
    return hipSuccess;
}

struct shared_event *event_shared(hipEvent_t event)
{
    struct shared_event *s = NULL;

    pthread_mutex_lock(&rt.lock);
    if (handle_valid(event, HANDLE_EVENT) && event->shared)
        s = shared_event_ref(event->shared);
    pthread_mutex_unlock(&rt.lock);
    return s;
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
    pthread_mutex_lock(&rt.lock);
    ours = handle_remove(event, HANDLE_EVENT);
    pthread_mutex_unlock(&rt.lock);
    if (!ours)
        LEAVE(hipErrorContextIsDestroyed);
    op_unref(event->op);
    captured_clear(&event->captured);
    shared_event_unref(event->shared);
    free(event);
    LEAVE(hipSuccess);
}

hipError_t event_attach(hipEvent_t event, struct op *op, bool at_start)
{
    struct op *before = NULL;
    bool known;

    pthread_mutex_lock(&rt.lock);
    known = handle_valid(event, HANDLE_EVENT);
    if (known) {
        before = event->op;
        event->op = op_ref(op);
        event->at_start = at_start;
    }
    pthread_mutex_unlock(&rt.lock);
    op_unref(before);
    return known ? hipSuccess : hipErrorInvalidHandle;
}

bool event_operation(hipEvent_t event, struct op **out)
{
    bool known;

    *out = NULL;
    pthread_mutex_lock(&rt.lock);
    known = handle_valid(event, HANDLE_EVENT);
    if (known && event->op)
        *out = op_ref(event->op);
    pthread_mutex_unlock(&rt.lock);
    return known;
}

/* Whether the stream that it was last recorded on is captured by now. */
static bool event_stream_is_captured(hipEvent_t event)
{
    struct op *op;
    bool captured = event_operation(event, &op) && op && op->queue &&
                    is_capturing(op->queue);

    op_unref(op);
    return captured;
}

bool event_wait_captured(hipEvent_t event, struct queue *q, hipError_t *error)
{
    if (!handle_valid(event, HANDLE_EVENT))
        return false;
    if (captured_is_active(&event->captured)) {
        *error = capture_join(q, &event->captured);
        return true;
    }
    *error = hipErrorStreamCaptureIsolation;
    return rt.release > 5 && event_stream_is_captured(event);
}

/* A record, or a wait, that other processes may wait for, or end. */
struct shared_op {
    struct op op;
    struct shared_event *shared;
    uint64_t turn;
};

static hipError_t run_shared_record(struct op *op)
{
    const struct shared_op *o = (const struct shared_op *)op;

    shared_event_reach(o->shared, o->turn);
    return hipSuccess;
}

static hipError_t run_shared_wait(struct op *op)
{
    const struct shared_op *o = (const struct shared_op *)op;

    shared_event_wait(o->shared, o->turn);
    return hipSuccess;
}

static void release_shared(struct op *op)
{
    shared_event_unref(((struct shared_op *)op)->shared);
}

/* Takes over the reference. */
static struct op *shared_op(struct shared_event *s,
                            hipError_t (*run)(struct op *), uint64_t turn)
{
    struct shared_op *o =
        (struct shared_op *)new_op(sizeof(*o), run, release_shared);

    if (!o) {
        shared_event_unref(s);
        return NULL;
    }
    o->shared = s;
    o->turn = turn;
    o->op.runs_after_fault = true;
    return &o->op;
}

hipError_t wait_for_shared(struct queue *q, struct shared_event *s)
{
    struct op *op =
        shared_op(shared_event_ref(s), run_shared_wait, shared_event_turn(s));

    return op ? submit(q, op) : hipErrorOutOfMemory;
}

hipError_t record_event(struct queue *q, hipEvent_t event)
{
    hipError_t error = hipErrorOutOfMemory;
    struct shared_event *s;
    struct op *op;

    if (!handle_valid(event, HANDLE_EVENT))
        return hipErrorInvalidHandle;
    s = event_shared(event);
    op = s ? shared_op(s, run_shared_record, shared_event_record(s))
           : new_op(sizeof(*op), NULL, NULL);
    if (op) {
        op_ref(op);
        error = submit(q, op);
        if (error == hipSuccess)
            error = event_attach(event, op, false);
        op_unref(op);
    }
    return error;
}

static hipError_t record(hipEvent_t event, struct queue *q)
{
    hipError_t error = hipErrorInvalidHandle;

    if (!q)
        return hipErrorContextIsDestroyed;
    if (handle_valid(event, HANDLE_EVENT) &&
        (is_capturing(q) || event->device == q->device->ordinal)) {
        captured_clear(&event->captured);
        error = is_capturing(q) ? capture_record(q, &event->captured)
                                : record_event(q, event);
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
    if (!q || flags != EXTERNAL || !is_capturing(q))
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

    pthread_mutex_lock(&rt.lock);
    fault = op->queue->device->fault;
    pthread_mutex_unlock(&rt.lock);
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
