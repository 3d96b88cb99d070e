/* capture_state.c - the captures that go on, and what they forbid
 *
 * A capture begins on one stream, its origin. Another stream joins when it
 * waits for an event of a stream that takes part. Each stream has a tail: the
 * nodes that its next node depends on.
 */
#include "capture_state.h"

#include "functions.h"
#include "op_queue.h"
#include "process_state.h"
#include "thread_state.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct capture *captures; /* that go on */
static int ncaptures;            /* read without the lock: usually 0 */
static uint64_t last_id;

struct capture *capture_of(const struct queue *q)
{
    return __atomic_load_n(&q->capture, __ATOMIC_ACQUIRE);
}

bool capture_is_active(const struct queue *q)
{
    return capture_of(q) != NULL;
}

static bool none_goes_on(void)
{
    return __atomic_load_n(&ncaptures, __ATOMIC_ACQUIRE) == 0;
}

/* ---- beginning, ending, tails ------------------------------------------- */

void capture_start(struct capture *c)
{
    pthread_mutex_lock(&lock);
    c->id = ++last_id;
    c->next = captures;
    captures = c;
    __atomic_fetch_add(&ncaptures, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&c->origin->capture, c, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

void capture_leave(struct queue *q)
{
    __atomic_store_n(&q->capture, NULL, __ATOMIC_RELEASE);
    free(q->tail);
    q->tail = NULL;
    q->ntail = 0;
}

/* Ends the capture on every stream; the recorded graph stays. */
void capture_dissolve(struct capture *c)
{
    struct capture **link;
    struct queue *q;
    int i;

    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&process.lock);
    for (i = 0; i < process.ndevices; i++)
        for (q = process.devices[i].queues; q; q = q->next)
            if (capture_of(q) == c)
                capture_leave(q);
    pthread_mutex_unlock(&process.lock);
    for (link = &captures; *link != c; link = &(*link)->next)
        ;
    *link = c->next;
    __atomic_fetch_sub(&ncaptures, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

bool capture_set_tail(struct queue *q, struct hipGraphNode *const *nodes,
                      size_t n, bool keep)
{
    size_t old = keep ? q->ntail : 0, i, k;
    struct hipGraphNode **tail = calloc(old + n + 1, sizeof(tail[0]));

    if (!tail)
        return false;
    if (old)
        memcpy(tail, q->tail, old * sizeof(tail[0]));
    for (i = 0; i < n; i++) {
        for (k = 0; k < old && tail[k] != nodes[i]; k++)
            ;
        if (k == old)
            tail[old++] = nodes[i];
    }
    free(q->tail);
    q->tail = tail;
    q->ntail = old;
    return true;
}

/* ---- events ------------------------------------------------------------- */

void captured_clear(struct captured *event)
{
    free(event->nodes);
    memset(event, 0, sizeof(*event));
}

hipError_t capture_record(struct queue *q, struct captured *event)
{
    const struct capture *c = capture_of(q);

    if (c->invalid)
        return hipErrorStreamCaptureInvalidated;
    event->nodes = calloc(q->ntail + 1, sizeof(event->nodes[0]));
    if (!event->nodes)
        return hipErrorOutOfMemory;
    if (q->ntail)
        memcpy(event->nodes, q->tail, q->ntail * sizeof(event->nodes[0]));
    event->nnodes = q->ntail;
    event->id = c->id;
    return hipSuccess;
}

/* With the lock held. */
static struct capture *by_id(uint64_t id)
{
    struct capture *c;

    for (c = id ? captures : NULL; c && c->id != id; c = c->next)
        ;
    return c;
}

bool captured_is_active(const struct captured *event)
{
    bool active;

    if (!event->id)
        return false;
    pthread_mutex_lock(&lock);
    active = by_id(event->id) != NULL;
    pthread_mutex_unlock(&lock);
    return active;
}

hipError_t capture_join(struct queue *q, const struct captured *event)
{
    hipError_t error = hipSuccess;
    struct capture *c;

    if (q->is_null)
        return hipErrorStreamCaptureImplicit;
    pthread_mutex_lock(&lock);
    c = by_id(event->id);
    if (!c || c->invalid) {
        error = hipErrorStreamCaptureInvalidated;
    } else if (capture_of(q) && capture_of(q) != c) {
        c->invalid = true;
        capture_of(q)->invalid = true;
        error = hipErrorStreamCaptureMerge;
    } else if (capture_set_tail(q, event->nodes, event->nnodes,
                                capture_of(q) != NULL)) {
        __atomic_store_n(&q->capture, c, __ATOMIC_RELEASE);
    } else {
        error = hipErrorOutOfMemory;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

/* ---- calls that captures forbid ------------------------------------------ */

/* Whether a capture forbids the call: one of this thread, or a global one of
 * another thread. */
static bool minds_setting(const struct capture *c, const struct thread *t)
{
    return c->mode != CAPTURE_RELAXED &&
           (c->owner == t || c->mode == CAPTURE_GLOBAL);
}

/* The same, unless this thread's capture mode is relaxed. */
static bool minds_unsafe(const struct capture *c, const struct thread *t)
{
    return t->capture_mode != CAPTURE_RELAXED && minds_setting(c, t) &&
           (c->owner == t || t->capture_mode == CAPTURE_GLOBAL);
}

static bool minds_all(const struct capture *c, const struct thread *t)
{
    (void)t;
    return process.release > 5 || c->mode == CAPTURE_GLOBAL;
}

/* The refusal, if there is a capture that `minds` names. */
static hipError_t forbid(bool (*minds)(const struct capture *,
                                       const struct thread *),
                         bool invalidates, hipError_t refusal)
{
    const struct thread *t = thread_self();
    hipError_t error = hipSuccess;
    struct capture *c;

    if (none_goes_on())
        return hipSuccess;
    pthread_mutex_lock(&lock);
    for (c = captures; c; c = c->next)
        if (minds(c, t)) {
            c->invalid |= invalidates && process.release > 5;
            error = refusal;
        }
    pthread_mutex_unlock(&lock);
    return error;
}

/* UNSAFE in functions.def */
static hipError_t forbid_unsafe(void)
{
    return forbid(minds_unsafe, true, hipErrorStreamCaptureUnsupported);
}

hipError_t capture_refuses(const char *function)
{
    const unsigned refusal = none_goes_on()
                                 ? REFUSES_NOTHING
                                 : function_refusal(function, process.release);
    hipError_t error = hipSuccess;

    if (refusal & REFUSES_UNSAFE)
        error = forbid_unsafe();
    if (error == hipSuccess && (refusal & REFUSES_SETTING))
        error = forbid(minds_setting, false, hipErrorStreamCaptureUnsupported);
    if (refusal & REFUSES_BLOCKING)
        error = forbid(minds_all, true, hipErrorStreamCaptureImplicit);
    if (refusal & REFUSES_WAITING)
        error = forbid(minds_all, true, hipErrorStreamCaptureUnsupported);
    return error;
}

hipError_t capture_forbids_queue(struct queue *q)
{
    if (!capture_is_active(q) || process.release == 5)
        return hipSuccess;
    capture_of(q)->invalid = true;
    return hipErrorStreamCaptureUnsupported;
}

hipError_t capture_forbids_wait(struct queue *q)
{
    if (q->is_null || process.release == 5)
        return hipSuccess;
    return capture_is_active(q) ? capture_forbids_queue(q) : forbid_unsafe();
}

/* With the lock held: a capture that the default stream would wait for. */
static bool is_blocking_on(const struct capture *c, const struct device *device)
{
    return c->origin->device == device &&
           !(c->origin->flags & hipStreamNonBlocking);
}

bool capture_default_stream_minds(const struct device *device, bool invalidates)
{
    struct capture *c;
    bool minds = false;

    if (process.release == 5 || none_goes_on())
        return false;
    pthread_mutex_lock(&lock);
    for (c = captures; c; c = c->next)
        if (is_blocking_on(c, device)) {
            c->invalid |= invalidates;
            minds = true;
        }
    pthread_mutex_unlock(&lock);
    return minds;
}

hipError_t capture_forbids_callback(const struct queue *q)
{
    return process.release >= 7 && q->is_null &&
                   capture_default_stream_minds(q->device, true)
               ? hipErrorStreamCaptureImplicit
               : hipSuccess;
}

hipError_t capture_forbids_pool(const struct queue *q)
{
    return process.release >= 7 && !capture_is_active(q) &&
                   capture_default_stream_minds(q->device, false)
               ? hipErrorStreamCaptureUnsupported
               : hipSuccess;
}

/* HIP 6 minds that the event's stream is captured, HIP 7 that the event is. */
hipError_t capture_forbids_event(const struct captured *event, struct queue *q,
                                 bool waits)
{
    hipError_t error = hipSuccess;
    struct capture *c;

    if (process.release == 5 || none_goes_on())
        return hipSuccess;
    pthread_mutex_lock(&lock);
    c = by_id(event->id);
    if (!c && q && process.release == 6)
        c = capture_of(q);
    if (c) {
        c->invalid = true;
        error = hipErrorCapturedEvent;
    }
    pthread_mutex_unlock(&lock);
    if (error == hipSuccess && process.release == 6)
        return waits && q ? capture_forbids_wait(q) : hipSuccess;
    return error == hipSuccess ? forbid_unsafe() : error;
}
