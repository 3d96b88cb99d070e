/* capture_state.h - the current captures and the calls that they forbid */
#ifndef SIM_HIP_CAPTURE_STATE_H
#define SIM_HIP_CAPTURE_STATE_H

#include "op_queue.h"

struct ihipGraph;
struct thread;

enum capture_mode {
    CAPTURE_GLOBAL,
    CAPTURE_THREAD_LOCAL,
    CAPTURE_RELAXED,
    CAPTURE_NMODES
};

struct capture {
    struct capture *next;
    uint64_t id;
    struct ihipGraph *graph;
    bool graph_is_ours; /* not yet the program's */
    enum capture_mode mode;
    const struct thread *owner;
    struct queue *origin;
    bool invalid;
};

struct capture *capture_of(const struct queue *queue);
bool capture_is_active(const struct queue *queue);

/* Begins on the origin, with a new number. */
void capture_start(struct capture *capture);
/* One stream leaves the capture; all leave. The recorded graph remains. */
void capture_leave(struct queue *queue);
void capture_dissolve(struct capture *capture);
/* Makes the nodes the stream's tail, or adds them to it; false: no memory. */
bool capture_set_tail(struct queue *queue, struct hipGraphNode *const *nodes,
                      size_t n, bool keep);

/* The nodes behind an event that was recorded on a capturing stream. */
struct captured {
    uint64_t id; /* the capture's; 0: none */
    struct hipGraphNode **nodes;
    size_t nnodes;
};
hipError_t capture_record(struct queue *queue, struct captured *event);
void captured_clear(struct captured *event);
/* Whether the event's capture still goes on. */
bool captured_is_active(const struct captured *event);
/* A wait for such an event: its stream takes part in the capture from then. */
hipError_t capture_join(struct queue *queue, const struct captured *event);

/*
 * Checks for calls that are forbidden while streams are captured: hipSuccess if
 * the call is allowed, else its answer, and the capture becomes invalid.
 */
hipError_t capture_refuses(const char *function);      /* by functions.def */
hipError_t capture_forbids_queue(struct queue *queue); /* on this stream */
hipError_t capture_forbids_wait(struct queue *queue);  /* for this stream */
/* A callback on the default stream; a pool's memory on a stream that is not
 * captured. */
hipError_t capture_forbids_callback(const struct queue *queue);
hipError_t capture_forbids_pool(const struct queue *queue);
/* Asking or waiting for an event, that was last recorded on this queue (NULL:
 * on none yet). */
hipError_t capture_forbids_event(const struct captured *event,
                                 struct queue *queue, bool waits);
/* Whether a capture is on a stream that the device's default stream waits for;
 * such captures become invalid if asked. */
bool capture_default_stream_minds(const struct device *device,
                                  bool invalidates);

#endif
