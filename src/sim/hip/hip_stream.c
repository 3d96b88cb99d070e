/* hip_stream.c - streams and callbacks */
#define _GNU_SOURCE
#include "hip_stream.h"

#include "allocation_lookup.h"
#include "call.h"
#include "capture_node.h"
#include "capture_state.h"
#include "event_state.h"
#include "handle.h"
#include "hip_capture.h"
#include "hip_pool.h"
#include "hip_properties.h"
#include "op_queue.h"
#include "process_state.h"
#include "stream_queue.h"
#include "thread_state.h"

#include "../base/allocation.h"
#include "../base/processor.h"

#include <pthread.h>

enum { PRIORITY_HIGH = -1, PRIORITY_LOW = 1 };

/* ---- creation and destruction ------------------------------------------- */

static hipError_t create(hipStream_t *out, unsigned flags, int priority)
{
    struct queue *q;

    if (!out || flags > hipStreamNonBlocking)
        return hipErrorInvalidValue;
    if (priority < PRIORITY_HIGH)
        priority = PRIORITY_HIGH;
    if (priority > PRIORITY_LOW)
        priority = PRIORITY_LOW;
    q = queue_new(thread_device(), flags, priority);
    if (!q)
        return hipErrorOutOfMemory;
    if (!handle_add(q, HANDLE_STREAM)) {
        queue_close(q);
        return hipErrorOutOfMemory;
    }
    *out = (hipStream_t)q;
    return hipSuccess;
}

HIP_API hipError_t hipStreamCreate(hipStream_t *stream)
{
    ENTER();
    LEAVE(create(stream, 0, 0));
}

HIP_API hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags)
{
    ENTER();
    LEAVE(create(stream, flags, 0));
}

HIP_API hipError_t hipStreamCreateWithPriority(hipStream_t *stream,
                                               unsigned flags, int priority)
{
    ENTER();
    LEAVE(create(stream, flags, priority));
}

/* The mask is stored but has no effect: kernels run on all of the host's cores.
 */
HIP_API hipError_t hipExtStreamCreateWithCUMask(hipStream_t *stream, uint32_t n,
                                                const uint32_t *mask)
{
    hipError_t error;
    uint32_t i;

    ENTER();
    if (n == 0 || !mask)
        LEAVE(hipErrorInvalidValue);
    error = create(stream, 0, 0);
    for (i = 0; error == hipSuccess && i < n && i < CU_WORDS; i++)
        ((struct queue *)*stream)->cus[i] = mask[i];
    LEAVE(error);
}

/* Gives the stream's mask, cut to the device's multiprocessors; every
 * multiprocessor if none is left. */
HIP_API hipError_t hipExtStreamGetCUMask(hipStream_t stream, uint32_t n,
                                         uint32_t *mask)
{
    struct queue *q;
    uint32_t i, there, any = 0, cus;

    ENTER();
    cus = device_multiprocessors(thread_device()->sim->target);
    there = (cus + 31) / 32;
    if (!mask || n < there)
        LEAVE(hipErrorInvalidValue);
    q = stream_queue(stream);
    if (!q)
        LEAVE(hipErrorInvalidValue);
    for (i = 0; i < there; i++) {
        mask[i] = cus >= 32 * (i + 1) ? UINT32_MAX : (1u << (cus - 32 * i)) - 1;
        any |= mask[i] & q->cus[i];
    }
    for (i = 0; any && i < there; i++)
        mask[i] &= q->cus[i];
    queue_unref(q);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    ENTER();
    if (least)
        *least = PRIORITY_LOW;
    if (greatest)
        *greatest = PRIORITY_HIGH;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipStreamDestroy(hipStream_t stream)
{
    bool ours;

    ENTER();
    if (!stream || stream == STREAM_PER_THREAD || stream == STREAM_LEGACY)
        LEAVE(hipErrorInvalidHandle);
    pthread_mutex_lock(&process.lock);
    ours = handle_remove(stream, HANDLE_STREAM);
    pthread_mutex_unlock(&process.lock);
    if (!ours)
        LEAVE(hipErrorContextIsDestroyed);
    capture_abandon((struct queue *)stream);
    queue_close((struct queue *)stream);
    LEAVE(hipSuccess);
}

/* ---- questions ---------------------------------------------------------- */

static hipError_t synchronize(struct queue *q)
{
    hipError_t error;

    if (!q)
        return hipErrorContextIsDestroyed;
    error = capture_forbids_wait(q);
    if (error == hipSuccess) {
        error = queue_wait(q);
        pools_trim(q->device);
    }
    queue_unref(q);
    return error;
}

HIP_API hipError_t hipStreamSynchronize(hipStream_t stream)
{
    ENTER();
    LEAVE(synchronize(stream_queue(stream)));
}

HIP_API hipError_t hipStreamSynchronize_spt(hipStream_t stream)
{
    ENTER();
    LEAVE(synchronize(stream_queue_spt(stream)));
}

static hipError_t query(struct queue *q)
{
    hipError_t error;

    if (!q)
        return hipErrorContextIsDestroyed;
    error = capture_forbids_wait(q);
    if (error == hipSuccess)
        error = queue_idle(q) ? queue_wait(q) : hipErrorNotReady;
    queue_unref(q);
    return error;
}

HIP_API hipError_t hipStreamQuery(hipStream_t stream)
{
    ENTER();
    LEAVE(query(stream_queue(stream)));
}

HIP_API hipError_t hipStreamQuery_spt(hipStream_t stream)
{
    ENTER();
    LEAVE(query(stream_queue_spt(stream)));
}

static hipError_t get_flags(struct queue *q, unsigned *flags)
{
    if (!q)
        return hipErrorContextIsDestroyed;
    if (flags)
        *flags = q->flags;
    queue_unref(q);
    return flags ? hipSuccess : hipErrorInvalidValue;
}

HIP_API hipError_t hipStreamGetFlags(hipStream_t stream, unsigned *flags)
{
    ENTER();
    /* Up to 6.x the default stream has none. */
    if (!stream && process.release < 7)
        LEAVE(hipErrorInvalidValue);
    LEAVE(get_flags(stream_queue(stream), flags));
}

HIP_API hipError_t hipStreamGetFlags_spt(hipStream_t stream, unsigned *flags)
{
    ENTER();
    LEAVE(get_flags(stream_queue_spt(stream), flags));
}

static hipError_t get_priority(struct queue *q, int *priority)
{
    if (!q)
        return hipErrorContextIsDestroyed;
    if (priority)
        *priority = q->priority;
    queue_unref(q);
    return priority ? hipSuccess : hipErrorInvalidValue;
}

HIP_API hipError_t hipStreamGetPriority(hipStream_t stream, int *priority)
{
    ENTER();
    LEAVE(get_priority(stream_queue(stream), priority));
}

HIP_API hipError_t hipStreamGetPriority_spt(hipStream_t stream, int *priority)
{
    ENTER();
    LEAVE(get_priority(stream_queue_spt(stream), priority));
}

HIP_API hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t *device)
{
    struct queue *q;

    ENTER();
    if (!device)
        LEAVE(hipErrorInvalidValue);
    q = stream_queue(stream);
    if (!q)
        LEAVE(hipErrorContextIsDestroyed);
    *device = q->device->ordinal;
    queue_unref(q);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipStreamGetId(hipStream_t stream, unsigned long long *id)
{
    struct queue *q;

    ENTER();
    if (!id)
        LEAVE(hipErrorInvalidValue);
    q = stream_queue(stream);
    if (!q)
        LEAVE(hipErrorContextIsDestroyed);
    *id = q->id;
    queue_unref(q);
    LEAVE(hipSuccess);
}

HIP_API int hipGetStreamDeviceId(hipStream_t stream)
{
    struct queue *q;
    int device;

    if (call_enter(__func__, NEED_DEVICE) != hipSuccess)
        return -1;
    q = stream_queue(stream);
    if (!q)
        return -1;
    device = q->device->ordinal;
    queue_unref(q);
    return device;
}

HIP_API hipError_t hipStreamAttachMemAsync(hipStream_t stream, void *ptr,
                                           size_t n, unsigned flags)
{
    enum { ATTACH_GLOBAL = 1, ATTACH_HOST = 2, ATTACH_SINGLE = 4 };
    struct sim_alloc a;
    struct queue *q;
    bool pageable;

    ENTER();
    if (!ptr)
        LEAVE(hipErrorInvalidValue);
    q = stream_queue(stream);
    if (!q)
        LEAVE(hipErrorContextIsDestroyed);
    pageable = q->device->sim->xnack == SIM_FEATURE_ON;
    queue_unref(q);
    if (flags != ATTACH_GLOBAL && flags != ATTACH_HOST &&
        (flags != ATTACH_SINGLE || !stream))
        LEAVE(hipErrorInvalidValue);
    if (!allocation_find(ptr, &a))
        LEAVE(pageable && n && allocation_pages_mapped(ptr, n)
                  ? hipSuccess
                  : hipErrorInvalidValue);
    /* Only whole allocations can be attached; 0 means the whole, too. */
    if (a.kind == SIM_MEM_DEVICE || (n != 0 && n != a.size))
        LEAVE(hipErrorInvalidValue);
    LEAVE(hipSuccess);
}

/* ---- waiting for an event ----------------------------------------------- */

static hipError_t wait_event(struct queue *q, hipEvent_t event, unsigned flags)
{
    struct op *recorded;
    hipError_t error;

    if (!q)
        return hipErrorInvalidHandle;
    if (flags != 0 && handle_valid(event, HANDLE_EVENT)) {
        queue_unref(q);
        return hipErrorInvalidValue;
    }
    if (event_wait_captured(event, q, &error)) {
        queue_unref(q);
        return error;
    }
    if (!event_operation(event, &recorded)) {
        queue_unref(q);
        return hipErrorInvalidHandle;
    }
    if (event_wait_shared(q, event, &error)) {
        op_unref(recorded);
        queue_unref(q);
        return error;
    }
    if (!recorded) { /* never recorded counts as complete */
        queue_unref(q);
        return hipSuccess;
    }
    pools_follow(recorded->queue, q);
    error = event_wait_op(q, recorded);
    op_unref(recorded);
    queue_unref(q);
    return error;
}

HIP_API hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event,
                                      unsigned flags)
{
    ENTER();
    LEAVE(wait_event(stream_queue(stream), event, flags));
}

HIP_API hipError_t hipStreamWaitEvent_spt(hipStream_t stream, hipEvent_t event,
                                          unsigned flags)
{
    ENTER();
    LEAVE(wait_event(stream_queue_spt(stream), event, flags));
}

/* ---- callbacks ---------------------------------------------------------- */

struct callback {
    struct op op;
    hipStreamCallback_t with_status; /* NULL: calls `plain` */
    hipHostFn_t plain;
    hipStream_t stream;
    void *data;
};

static hipError_t run_callback(struct op *op)
{
    const struct callback *c = (const struct callback *)op;
    hipError_t fault;

    pthread_mutex_lock(&process.lock);
    fault = op->queue->device->fault;
    pthread_mutex_unlock(&process.lock);
    if (c->with_status)
        c->with_status(c->stream, fault, c->data);
    else
        c->plain(c->data);
    return hipSuccess;
}

static hipError_t submit_callback(struct queue *q, const struct callback *like)
{
    struct callback *c =
        (struct callback *)op_new(sizeof(*c), run_callback, NULL);

    if (!c)
        return hipErrorOutOfMemory;
    c->with_status = like->with_status;
    c->plain = like->plain;
    c->stream = like->stream;
    c->data = like->data;
    c->op.runs_after_fault = true;
    return op_submit(q, &c->op);
}

static hipError_t add_callback(struct queue *q, const struct callback *like)
{
    hipError_t error;

    if (!q)
        return hipErrorContextIsDestroyed;
    if (like->plain && capture_is_active(q)) {
        error = capture_host(q, like->plain, like->data);
    } else {
        error = capture_forbids_queue(q);
        if (error == hipSuccess && like->with_status)
            error = capture_forbids_callback(q);
        if (error == hipSuccess)
            error = submit_callback(q, like);
    }
    queue_unref(q);
    return error;
}

HIP_API hipError_t hipStreamAddCallback(hipStream_t stream,
                                        hipStreamCallback_t callback,
                                        void *data, unsigned flags)
{
    struct callback like = {
        .with_status = callback, .stream = stream, .data = data};

    ENTER();
    if (!callback || flags != 0)
        LEAVE(hipErrorInvalidValue);
    LEAVE(add_callback(stream_queue(stream), &like));
}

HIP_API hipError_t hipStreamAddCallback_spt(hipStream_t stream,
                                            hipStreamCallback_t callback,
                                            void *data, unsigned flags)
{
    struct callback like = {
        .with_status = callback, .stream = stream, .data = data};

    ENTER();
    if (!callback || flags != 0)
        LEAVE(hipErrorInvalidValue);
    LEAVE(add_callback(stream_queue_spt(stream), &like));
}

hipError_t stream_call_host(struct queue *q, hipHostFn_t function, void *data)
{
    struct callback like = {.plain = function, .data = data};

    return submit_callback(q, &like);
}

static hipError_t launch_host(struct queue *q, hipStream_t stream,
                              hipHostFn_t function, void *data)
{
    struct callback like = {.plain = function, .stream = stream, .data = data};

    return add_callback(q, &like);
}

HIP_API hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function,
                                     void *data)
{
    ENTER();
    if (!function)
        LEAVE(hipErrorInvalidValue);
    LEAVE(launch_host(stream_queue(stream), stream, function, data));
}

HIP_API hipError_t hipLaunchHostFunc_spt(hipStream_t stream,
                                         hipHostFn_t function, void *data)
{
    ENTER();
    if (!function)
        LEAVE(hipErrorInvalidValue);
    LEAVE(launch_host(stream_queue_spt(stream), stream, function, data));
}
