/* event_state.h - an event: the operation, the capture or the page behind it */
#ifndef SIM_HIP_EVENT_STATE_H
#define SIM_HIP_EVENT_STATE_H

#include "capture_state.h"

struct shared_event;

struct ihipEvent_t {
    unsigned flags;
    int device; /* current at creation */
    struct op *op;
    bool at_start; /* stands for the start of the operation */
    struct captured captured;
    struct shared_event *shared; /* NULL: not shared with processes */
};

/* Takes over the reference to `shared`, unless it fails. */
hipEvent_t event_new(unsigned flags, struct shared_event *shared);
/* An event that takes over the reference. */
hipError_t event_from_shared(hipEvent_t *out, struct shared_event *s);
/* The event's shared state, with a reference; NULL for an ordinary event. */
struct shared_event *event_shared(hipEvent_t event);

/* Makes the event stand for an operation: its start or its end. */
hipError_t event_attach(hipEvent_t event, struct op *op, bool at_start);
/* Sets *out to the event's operation, with a reference; NULL for an event that
 * was never recorded. False if the event is unknown. */
bool event_operation(hipEvent_t event, struct op **out);

/*
 * Whether a wait for the event on this queue belongs to a capture, and so does
 * not wait; *error is its outcome then.
 */
bool event_wait_captured(hipEvent_t event, struct queue *queue,
                         hipError_t *error);

/* A record on the queue, and a wait of the queue, outside captures. */
hipError_t event_record(struct queue *queue, hipEvent_t event);
hipError_t event_wait(struct queue *queue, hipEvent_t event);
/* Submits a wait for a recorded operation. */
hipError_t event_wait_op(struct queue *queue, struct op *recorded);
/* Whether the event is shared; *error is the outcome of the wait then. */
bool event_wait_shared(struct queue *queue, hipEvent_t event,
                       hipError_t *error);

#endif
