/* event_state.c - an event: the operation, the capture or the page behind it
 *
 * An event stands for a marker operation on a queue, or for a launch's start or
 * end. It may be part of a capture, and may be shared between processes.
 */
#include "event_state.h"

#include "capture_state.h"
#include "handle.h"
#include "op_queue.h"
#include "process_state.h"
#include "shared_event.h"
#include "thread_state.h"

#include <pthread.h>
#include <stdlib.h>

/* Takes over the reference to `shared`, unless it fails. */
hipEvent_t event_new(unsigned flags, struct shared_event *shared)
{
    hipEvent_t event = calloc(1, sizeof(*event));

    if (!event || ((flags & hipEventInterprocess) && !shared) ||
        !handle_add(event, HANDLE_EVENT)) {
        free(event);
        return NULL;
    }
    event->flags = flags;
    event->shared = shared;
    event->device = thread_self()->device;
    return event;
}

hipError_t event_from_shared(hipEvent_t *out, struct shared_event *s)
{
    hipEvent_t event =
        event_new(hipEventDisableTiming | hipEventInterprocess, s);

    if (!event)
        return hipErrorOutOfMemory;
    *out = event;
    return hipSuccess;
}

struct shared_event *event_shared(hipEvent_t event)
{
    struct shared_event *s = NULL;

    pthread_mutex_lock(&process.lock);
    if (handle_valid(event, HANDLE_EVENT) && event->shared)
        s = shared_event_ref(event->shared);
    pthread_mutex_unlock(&process.lock);
    return s;
}

hipError_t event_attach(hipEvent_t event, struct op *op, bool at_start)
{
    struct op *before = NULL;
    bool known;

    pthread_mutex_lock(&process.lock);
    known = handle_valid(event, HANDLE_EVENT);
    if (known) {
        before = event->op;
        event->op = op_ref(op);
        event->at_start = at_start;
    }
    pthread_mutex_unlock(&process.lock);
    op_unref(before);
    return known ? hipSuccess : hipErrorInvalidHandle;
}

bool event_operation(hipEvent_t event, struct op **out)
{
    bool known;

    *out = NULL;
    pthread_mutex_lock(&process.lock);
    known = handle_valid(event, HANDLE_EVENT);
    if (known && event->op)
        *out = op_ref(event->op);
    pthread_mutex_unlock(&process.lock);
    return known;
}

/* Whether the stream that it was last recorded on is captured by now. */
static bool event_stream_is_captured(hipEvent_t event)
{
    struct op *op;
    bool captured = event_operation(event, &op) && op && op->queue &&
                    capture_is_active(op->queue);

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
    return process.release > 5 && event_stream_is_captured(event);
}

/* ---- waits and records -------------------------------------------------- */

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
        (struct shared_op *)op_new(sizeof(*o), run, release_shared);

    if (!o) {
        shared_event_unref(s);
        return NULL;
    }
    o->shared = s;
    o->turn = turn;
    o->op.runs_after_fault = true;
    return &o->op;
}

static hipError_t wait_for_shared(struct queue *q, struct shared_event *s)
{
    struct op *op =
        shared_op(shared_event_ref(s), run_shared_wait, shared_event_turn(s));

    return op ? op_submit(q, op) : hipErrorOutOfMemory;
}

hipError_t event_record(struct queue *q, hipEvent_t event)
{
    hipError_t error = hipErrorOutOfMemory;
    struct shared_event *s;
    struct op *op;

    if (!handle_valid(event, HANDLE_EVENT))
        return hipErrorInvalidHandle;
    s = event_shared(event);
    op = s ? shared_op(s, run_shared_record, shared_event_record(s))
           : op_new(sizeof(*op), NULL, NULL);
    if (op) {
        op_ref(op);
        error = op_submit(q, op);
        if (error == hipSuccess)
            error = event_attach(event, op, false);
        op_unref(op);
    }
    return error;
}

hipError_t event_wait_op(struct queue *q, struct op *recorded)
{
    struct op *op = op_new(sizeof(*op), NULL, NULL);

    if (!op || !op_after(op, recorded)) {
        op_unref(op);
        return hipErrorOutOfMemory;
    }
    return op_submit(q, op);
}

/* Whether the event is shared; *error is the outcome of the wait then. */
bool event_wait_shared(struct queue *q, hipEvent_t event, hipError_t *error)
{
    struct shared_event *s = event_shared(event);

    if (!s)
        return false;
    *error = wait_for_shared(q, s);
    shared_event_unref(s);
    return true;
}

hipError_t event_wait(struct queue *q, hipEvent_t event)
{
    struct op *recorded;
    hipError_t error;

    if (!event_operation(event, &recorded))
        return hipErrorInvalidHandle;
    if (event_wait_shared(q, event, &error)) {
        op_unref(recorded);
        return error;
    }
    error = recorded ? event_wait_op(q, recorded) : hipSuccess;
    op_unref(recorded);
    return error;
}
