/* hip_capture.c - streams that record what they are given into a graph
 *
 * When a capture ends, its origin's tail must depend on all that other streams
 * recorded.
 *
 * functions.def says which calls are refused meanwhile. On a captured stream,
 * launches, copies, fills, host functions and stream-ordered memory are
 * recorded; calls that wait for the stream are refused. Whole graphs, waits and
 * writes of values, copies between devices, and waits for events of streams
 * without a capture run at once and are not recorded, as on AMD's runtime.
 */
#include "hip_capture.h"

#include "call.h"
#include "capture_state.h"
#include "graph.h"
#include "handle.h"
#include "op_queue.h"
#include "stream_queue.h"
#include "thread_state.h"

#include <stdlib.h>

enum status { STATUS_NONE, STATUS_ACTIVE, STATUS_INVALIDATED };

/* ---- beginning and ending ----------------------------------------------- */

void capture_abandon(struct queue *q)
{
    struct capture *c = capture_of(q);

    if (c && c->origin == q) {
        capture_dissolve(c);
        if (c->graph_is_ours)
            graph_free(c->graph);
        free(c);
    } else if (c) {
        capture_leave(q);
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
    else if (mode < 0 || mode >= CAPTURE_NMODES)
        error = hipErrorInvalidValue;
    else if (capture_is_active(q))
        error = hipErrorIllegalState;
    else if (!(c = calloc(1, sizeof(*c))) ||
             !(c->graph = graph ? graph : graph_new()))
        error = hipErrorOutOfMemory;
    if (error == hipSuccess) {
        c->graph_is_ours = !graph;
        c->mode = (enum capture_mode)mode;
        c->owner = thread_self();
        c->origin = q;
        capture_start(c);
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
    if (!capture_set_tail(q, deps, ndeps, false))
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
    if (c->mode != CAPTURE_RELAXED && c->owner != thread_self())
        return hipErrorStreamCaptureWrongThread;
    if (c->invalid)
        error = hipErrorStreamCaptureInvalidated;
    else if (has_unjoined(c))
        error = hipErrorStreamCaptureUnjoined;
    capture_dissolve(c);
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
    if (q->is_null && capture_default_stream_minds(q->device, false))
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
    return capture_set_tail(q, deps, n, flags == ADD) ? hipSuccess
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
    if (!mode || *mode < 0 || *mode >= CAPTURE_NMODES)
        LEAVE(hipErrorInvalidValue);
    t = thread_self();
    before = t->capture_mode;
    t->capture_mode = *mode;
    *mode = before;
    LEAVE(hipSuccess);
}
