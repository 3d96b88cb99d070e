/* capture.c - streams that record what they are given into a graph
 *
 * A capture begins on one stream, its origin. Another stream joins when it
 * waits for an event of a stream that takes part. Each stream has a tail: the
 * nodes that its next node depends on. When the capture ends, the origin's tail
 * must depend on all that other streams recorded.
 *
 * capture.def lists the calls that are refused meanwhile. On a captured stream,
 * launches, copies, fills, host functions and stream-ordered memory are
 * recorded; calls that wait for the stream are refused. Whole graphs, waits and
 * writes of values, copies between devices, and waits for events of streams
 * without a capture run at once and are not recorded, as on AMD's runtime.
 */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

enum mode { MODE_GLOBAL, MODE_THREAD_LOCAL, MODE_RELAXED, NMODES };
enum status { STATUS_NONE, STATUS_ACTIVE, STATUS_INVALIDATED };

struct capture {
    struct capture *next;
    uint64_t id;
    hipGraph_t graph;
    bool graph_is_ours; /* not yet the program's */
    enum mode mode;
    const struct thread *owner;
    struct queue *origin;
    bool invalid;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct capture *captures; /* that go on */
static int ncaptures;            /* read without the lock: usually 0 */
static uint64_t last_id;

static struct capture *capture_of(const struct queue *q)
{
    return __atomic_load_n(&q->capture, __ATOMIC_ACQUIRE);
}

bool is_capturing(const struct queue *q)
{
    return capture_of(q) != NULL;
}

static bool none_goes_on(void)
{
    return __atomic_load_n(&ncaptures, __ATOMIC_ACQUIRE) == 0;
}

/* ---- tails -------------------------------------------------------------- */

static bool set_tail(struct queue *q, const hipGraphNode_t *nodes, size_t n,
                     bool keep)
{
    size_t old = keep ? q->ntail : 0, i, k;
    hipGraphNode_t *tail = calloc(old + n + 1, sizeof(tail[0]));

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

/* Adds a node behind the stream's tail; the tail is the node then. */
static hipError_t add_behind(struct queue *q, enum node_type type,
                             hipGraphNode_t *out)
{
    struct capture *c = capture_of(q);
    hipError_t error;

    if (c->invalid)
        return hipErrorStreamCaptureInvalidated;
    error = graph_add(c->graph, type, q->tail, q->ntail, out);
    if (error == hipSuccess) {
        (*out)->captured = true;
        if (!set_tail(q, out, 1, false))
            error = hipErrorOutOfMemory;
    }
    return error;
}

/* ---- recorded calls ----------------------------------------------------- */

hipError_t capture_launch(struct queue *q, const struct launch *l)
{
    hipGraphNode_t node;
    hipError_t error = add_behind(q, NODE_KERNEL, &node);

    if (error != hipSuccess)
        return error;
    return kernel_node_set(&node->u.kernel, l,
                           l->stub ? l->stub : (const void *)l->function);
}

hipError_t capture_copy(struct queue *q, const hipMemcpy3DParms *p)
{
    hipGraphNode_t node;
    hipError_t error = add_behind(q, NODE_MEMCPY, &node);

    if (error == hipSuccess)
        node->u.copy = *p;
    return error;
}

hipError_t capture_fill(struct queue *q, const struct fill *fill)
{
    hipGraphNode_t node;
    hipError_t error = add_behind(q, NODE_MEMSET, &node);

    if (error == hipSuccess)
        node->u.fill = *fill;
    return error;
}

hipError_t capture_host(struct queue *q, hipHostFn_t function, void *data)
{
    hipGraphNode_t node;
    hipError_t error = add_behind(q, NODE_HOST, &node);

    if (error == hipSuccess)
        node->u.host = (hipHostNodeParams){function, data};
    return error;
}

hipError_t capture_alloc(struct queue *q, struct device *device, uint64_t size,
                         void **ptr)
{
    enum { PINNED = 1, ON_DEVICE = 1 };
    hipMemAllocNodeParams p = {
        .poolProps = {.allocType = PINNED,
                      .location = {ON_DEVICE, device->ordinal}},
        .bytesize = size};
    hipGraphNode_t node;
    hipError_t error = add_behind(q, NODE_MEM_ALLOC, &node);

    if (error == hipSuccess)
        error = alloc_node_set(node, &p);
    *ptr = p.dptr;
    return error;
}

hipError_t capture_free(struct queue *q, void *ptr)
{
    hipGraphNode_t node;
    hipError_t error = add_behind(q, NODE_MEM_FREE, &node);

    if (error == hipSuccess && free_node_set(node, ptr) != hipSuccess)
        node->u.memory.params.dptr = ptr; /* memory of a pool */
    return error;
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

hipError_t capture_record_node(struct queue *q, hipEvent_t event)
{
    hipGraphNode_t node;
    hipError_t error = add_behind(q, NODE_EVENT_RECORD, &node);

    if (error == hipSuccess)
        node->u.event = event;
    return error;
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
    } else if (set_tail(q, event->nodes, event->nnodes,
                        capture_of(q) != NULL)) {
        __atomic_store_n(&q->capture, c, __ATOMIC_RELEASE);
    } else {
        error = hipErrorOutOfMemory;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

/* ---- what is forbidden -------------------------------------------------- */

enum {
    NOTHING = 0,
    UNSAFE = 1,
    SETTING = 2,
    BLOCKING = 4,
    WAITING = 8
}; /* capture.def says what they mean */

static const struct {
    const char *function;
    unsigned char refusal[3]; /* of HIP 5, 6, 7 */
} rows[] = {
#define REFUSES(function, five, six, seven) {#function, {five, six, seven}},
#include "capture.def"
#undef REFUSES
};

static unsigned refusal_of(const char *function)
{
    static const char variant[] = "_spt";
    size_t n = strlen(function), end = sizeof(variant) - 1, i;

    if (n > end && strcmp(function + n - end, variant) == 0)
        n -= end;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strncmp(rows[i].function, function, n) == 0 &&
            rows[i].function[n] == '\0')
            return rows[i].refusal[rt.release - 5];
    return NOTHING;
}

/* A thread's own captures stand in the way, and other threads' global ones. */
static bool minds_setting(const struct capture *c, const struct thread *t)
{
    return c->mode != MODE_RELAXED && (c->owner == t || c->mode == MODE_GLOBAL);
}

/* The same as far as the thread's own mode minds them. */
static bool minds_unsafe(const struct capture *c, const struct thread *t)
{
    return t->capture_mode != MODE_RELAXED && minds_setting(c, t) &&
           (c->owner == t || t->capture_mode == MODE_GLOBAL);
}

static bool minds_all(const struct capture *c, const struct thread *t)
{
    (void)t;
    return rt.release > 5 || c->mode == MODE_GLOBAL;
}

/* The refusal, if there is a capture that `minds` names. */
static hipError_t forbid(bool (*minds)(const struct capture *,
                                       const struct thread *),
                         bool invalidates, hipError_t refusal)
{
    const struct thread *t = this_thread();
    hipError_t error = hipSuccess;
    struct capture *c;

    if (none_goes_on())
        return hipSuccess;
    pthread_mutex_lock(&lock);
    for (c = captures; c; c = c->next)
        if (minds(c, t)) {
            c->invalid |= invalidates && rt.release > 5;
            error = refusal;
        }
    pthread_mutex_unlock(&lock);
    return error;
}

hipError_t capture_refuses(const char *function)
{
    const unsigned refusal = none_goes_on() ? NOTHING : refusal_of(function);
    hipError_t error = hipSuccess;

    if (refusal & UNSAFE)
        error = capture_forbids_unsafe();
    if (error == hipSuccess && (refusal & SETTING))
        error = forbid(minds_setting, false, hipErrorStreamCaptureUnsupported);
    if (refusal & BLOCKING)
        error = forbid(minds_all, true, hipErrorStreamCaptureImplicit);
    if (refusal & WAITING)
        error = forbid(minds_all, true, hipErrorStreamCaptureUnsupported);
    return error;
}

hipError_t capture_forbids_queue(struct queue *q)
{
    if (!is_capturing(q) || rt.release == 5)
        return hipSuccess;
    capture_of(q)->invalid = true;
    return hipErrorStreamCaptureUnsupported;
}

hipError_t capture_forbids_wait(struct queue *q)
{
    if (q->is_null || rt.release == 5)
        return hipSuccess;
    return is_capturing(q) ? capture_forbids_queue(q)
                           : capture_forbids_unsafe();
}

/* With the lock held: a capture that the default stream would wait for. */
static bool is_blocking_on(const struct capture *c, const struct device *device)
{
    return c->origin->device == device &&
           !(c->origin->flags & hipStreamNonBlocking);
}

static bool default_stream_minds(const struct device *device, bool invalidates)
{
    struct capture *c;
    bool minds = false;

    if (rt.release == 5 || none_goes_on())
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
    return rt.release >= 7 && q->is_null &&
                   default_stream_minds(q->device, true)
               ? hipErrorStreamCaptureImplicit
               : hipSuccess;
}

hipError_t capture_forbids_pool(const struct queue *q)
{
    return rt.release >= 7 && !is_capturing(q) &&
                   default_stream_minds(q->device, false)
               ? hipErrorStreamCaptureUnsupported
               : hipSuccess;
}

hipError_t capture_forbids_unsafe(void)
{
    return forbid(minds_unsafe, true, hipErrorStreamCaptureUnsupported);
}

/* HIP 6 minds that the event's stream is captured, HIP 7 that the event is. */
hipError_t capture_forbids_event(const struct captured *event, struct queue *q,
                                 bool waits)
{
    hipError_t error = hipSuccess;
    struct capture *c;

    if (rt.release == 5 || none_goes_on())
        return hipSuccess;
    pthread_mutex_lock(&lock);
    c = by_id(event->id);
    if (!c && q && rt.release == 6)
        c = capture_of(q);
    if (c) {
        c->invalid = true;
        error = hipErrorCapturedEvent;
    }
    pthread_mutex_unlock(&lock);
    if (error == hipSuccess && rt.release == 6)
        return waits && q ? capture_forbids_wait(q) : hipSuccess;
    return error == hipSuccess ? capture_forbids_unsafe() : error;
}

/* ---- beginning and ending ----------------------------------------------- */

static void leave_capture(struct queue *q)
{
    __atomic_store_n(&q->capture, NULL, __ATOMIC_RELEASE);
    free(q->tail);
    q->tail = NULL;
    q->ntail = 0;
}

/* Ends the capture on every stream; the recorded graph stays. */
static void dissolve(struct capture *c)
{
    struct capture **link;
    struct queue *q;
    int i;

    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&rt.lock);
    for (i = 0; i < rt.ndevices; i++)
        for (q = rt.devices[i].queues; q; q = q->next)
            if (capture_of(q) == c)
                leave_capture(q);
    pthread_mutex_unlock(&rt.lock);
    for (link = &captures; *link != c; link = &(*link)->next)
        ;
    *link = c->next;
    __atomic_fetch_sub(&ncaptures, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

void capture_abandon(struct queue *q)
{
    struct capture *c = capture_of(q);

    if (c && c->origin == q) {
        dissolve(c);
        if (c->graph_is_ours)
            graph_free(c->graph);
        free(c);
    } else if (c) {
        leave_capture(q);
    }
}

/* Takes over the reference to the queue. */
static hipError_t begin(struct queue *q, int mode, hipGraph_t graph)
{
    hipError_t error = hipSuccess;
    struct capture *c = NULL;

    if (!q)
        return hipErrorContextIsDestroyed;
    if (q->is_null)
        error = hipErrorStreamCaptureUnsupported;
    else if (mode < 0 || mode >= NMODES)
        error = hipErrorInvalidValue;
    else if (is_capturing(q))
        error = hipErrorIllegalState;
    else if (!(c = calloc(1, sizeof(*c))) ||
             !(c->graph = graph ? graph : graph_new()))
        error = hipErrorOutOfMemory;
    if (error == hipSuccess) {
        c->graph_is_ours = !graph;
        c->mode = (enum mode)mode;
        c->owner = this_thread();
        c->origin = q;
        pthread_mutex_lock(&lock);
        c->id = ++last_id;
        c->next = captures;
        captures = c;
        __atomic_fetch_add(&ncaptures, 1, __ATOMIC_RELEASE);
        __atomic_store_n(&q->capture, c, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&lock);
    } else {
        free(c);
    }
    queue_unref(q);
    return error;
}

HIP_API hipError_t hipStreamBeginCapture(hipStream_t stream, int mode)
{
    ENTER();
    LEAVE(begin(stream_queue(stream), mode, NULL));
}

HIP_API hipError_t hipStreamBeginCapture_spt(hipStream_t stream, int mode)
{
    ENTER();
    LEAVE(begin(stream_queue_spt(stream), mode, NULL));
}

HIP_API hipError_t hipStreamBeginCaptureToGraph(hipStream_t stream,
                                                hipGraph_t graph,
                                                const hipGraphNode_t *deps,
                                                const void *edge_data,
                                                size_t ndeps, int mode)
{
    hipError_t error;
    struct queue *q;
    size_t i;

    ENTER();
    if (edge_data)
        LEAVE(hipErrorNotSupported);
    if (!handle_valid(graph, HANDLE_GRAPH) || !deps != !ndeps)
        LEAVE(hipErrorInvalidValue);
    for (i = 0; i < ndeps; i++)
        if (!handle_valid(deps[i], HANDLE_NODE) || deps[i]->graph != graph)
            LEAVE(hipErrorInvalidValue);
    error = begin(stream_queue(stream), mode, graph);
    if (error != hipSuccess)
        LEAVE(error);
    q = stream_queue(stream);
    if (!set_tail(q, deps, ndeps, false))
        error = hipErrorOutOfMemory;
    queue_unref(q);
    LEAVE(error);
}

static bool is_before_tail(const struct queue *q, hipGraphNode_t node)
{
    size_t i, k;

    for (i = 0; i < q->ntail; i++)
        if (q->tail[i] == node)
            return true;
    for (i = 0; i < node->graph->nnodes; i++)
        for (k = 0; k < node->graph->nodes[i]->ndeps; k++)
            if (node->graph->nodes[i]->deps[k] == node)
                return true;
    return false;
}

/* Whether the origin's tail misses a recorded node among its dependencies.
 * Nodes that the program added itself, or took out of the tail, do not count.
 */
static bool has_unjoined(const struct capture *c)
{
    size_t i;

    for (i = 0; i < c->graph->nnodes; i++)
        if (c->graph->nodes[i]->captured &&
            !is_before_tail(c->origin, c->graph->nodes[i]))
            return true;
    return false;
}

static hipError_t end(struct queue *q, hipGraph_t *out)
{
    hipError_t error = hipSuccess;
    struct capture *c = capture_of(q);
    size_t i;

    if (q->is_null || !c)
        return hipErrorIllegalState;
    if (c->origin != q)
        return hipErrorStreamCaptureUnmatched;
    if (c->mode != MODE_RELAXED && c->owner != this_thread())
        return hipErrorStreamCaptureWrongThread;
    if (c->invalid)
        error = hipErrorStreamCaptureInvalidated;
    else if (has_unjoined(c))
        error = hipErrorStreamCaptureUnjoined;
    dissolve(c);
    for (i = 0; i < c->graph->nnodes; i++)
        c->graph->nodes[i]->captured = false; /* the mark is for this capture */
    *out = error == hipSuccess ? c->graph : NULL;
    if (error != hipSuccess && c->graph_is_ours)
        graph_free(c->graph);
    free(c);
    return error;
}

static hipError_t end_on(struct queue *q, hipGraph_t *out)
{
    hipError_t error = hipErrorInvalidValue;

    if (!q)
        return out ? hipErrorContextIsDestroyed : hipErrorInvalidValue;
    if (out)
        error = end(q, out);
    queue_unref(q);
    return error;
}

HIP_API hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t *graph)
{
    ENTER();
    LEAVE(end_on(stream_queue(stream), graph));
}

HIP_API hipError_t hipStreamEndCapture_spt(hipStream_t stream,
                                           hipGraph_t *graph)
{
    ENTER();
    LEAVE(end_on(stream_queue_spt(stream), graph));
}

/* ---- questions ---------------------------------------------------------- */

struct info {
    int *status;
    unsigned long long *id;
    hipGraph_t *graph;
    const hipGraphNode_t **deps;
    size_t *ndeps;
};

static hipError_t info(struct queue *q, const struct info *out)
{
    hipError_t error = hipSuccess;
    const struct capture *c;

    if (!q || !out->status) {
        if (q)
            queue_unref(q);
        return out->status ? hipErrorContextIsDestroyed : hipErrorInvalidValue;
    }
    if (q->is_null && default_stream_minds(q->device, false))
        error = hipErrorStreamCaptureImplicit; /* to ask harms nothing */
    c = capture_of(q);
    *out->status = !c           ? STATUS_NONE
                   : c->invalid ? STATUS_INVALIDATED
                                : STATUS_ACTIVE;
    if (c && !c->invalid) {
        if (out->id)
            *out->id = c->id;
        if (out->graph)
            *out->graph = c->graph;
        if (out->deps)
            *out->deps = q->tail;
        if (out->ndeps)
            *out->ndeps = q->ntail;
    }
    queue_unref(q);
    return error;
}

HIP_API hipError_t hipStreamIsCapturing(hipStream_t stream, int *status)
{
    const struct info out = {.status = status};

    ENTER();
    LEAVE(info(stream_queue(stream), &out));
}

HIP_API hipError_t hipStreamIsCapturing_spt(hipStream_t stream, int *status)
{
    const struct info out = {.status = status};

    ENTER();
    LEAVE(info(stream_queue_spt(stream), &out));
}

HIP_API hipError_t hipStreamGetCaptureInfo(hipStream_t stream, int *status,
                                           unsigned long long *id)
{
    const struct info out = {.status = status, .id = id};

    ENTER();
    LEAVE(info(stream_queue(stream), &out));
}

HIP_API hipError_t hipStreamGetCaptureInfo_spt(hipStream_t stream, int *status,
                                               unsigned long long *id)
{
    const struct info out = {.status = status, .id = id};

    ENTER();
    LEAVE(info(stream_queue_spt(stream), &out));
}

HIP_API hipError_t hipStreamGetCaptureInfo_v2(hipStream_t stream, int *status,
                                              unsigned long long *id,
                                              hipGraph_t *graph,
                                              const hipGraphNode_t **deps,
                                              size_t *ndeps)
{
    const struct info out = {status, id, graph, deps, ndeps};

    ENTER();
    LEAVE(info(stream_queue(stream), &out));
}

HIP_API hipError_t hipStreamGetCaptureInfo_v2_spt(
    hipStream_t stream, int *status, unsigned long long *id, hipGraph_t *graph,
    const hipGraphNode_t **deps, size_t *ndeps)
{
    const struct info out = {status, id, graph, deps, ndeps};

    ENTER();
    LEAVE(info(stream_queue_spt(stream), &out));
}

static hipError_t update_tail(struct queue *q, const hipGraphNode_t *deps,
                              size_t n, unsigned flags)
{
    enum { ADD, SET };
    struct capture *c = capture_of(q);
    size_t i;

    if (!c || c->invalid)
        return hipErrorIllegalState;
    if (flags > SET || (n && !deps))
        return hipErrorInvalidValue;
    for (i = 0; i < n; i++)
        if (!handle_valid(deps[i], HANDLE_NODE) || deps[i]->graph != c->graph)
            return hipErrorInvalidValue;
    for (i = 0; i < q->ntail && flags == SET; i++)
        q->tail[i]->captured = false; /* taken out on purpose */
    return set_tail(q, deps, n, flags == ADD) ? hipSuccess
                                              : hipErrorOutOfMemory;
}

HIP_API hipError_t hipStreamUpdateCaptureDependencies(hipStream_t stream,
                                                      hipGraphNode_t *deps,
                                                      size_t n, unsigned flags)
{
    hipError_t error;
    struct queue *q;

    ENTER();
    q = stream_queue(stream);
    if (!q)
        LEAVE(hipErrorContextIsDestroyed);
    error = update_tail(q, deps, n, flags);
    queue_unref(q);
    LEAVE(error);
}

HIP_API hipError_t hipThreadExchangeStreamCaptureMode(int *mode)
{
    struct thread *t;
    int before;

    ENTER();
    if (!mode || *mode < 0 || *mode >= NMODES)
        LEAVE(hipErrorInvalidValue);
    t = this_thread();
    before = t->capture_mode;
    t->capture_mode = *mode;
    *mode = before;
    LEAVE(hipSuccess);
}
