/* hip_stream_attr.c - attributes of streams
 *
 * There are two: how the host waits for a stream, which is kept and has no
 * effect, and its priority, which only its creation sets.
 */
#include "call.h"
#include "capture_state.h"
#include "op_queue.h"
#include "stream_queue.h"

enum { ATTR_SYNC_POLICY = 3, ATTR_PRIORITY = 8 };
enum { SYNC_AUTO = 1, SYNC_BLOCKING = 4 };

typedef union {
    char bytes[64];
    int number;
} hipStreamAttrValue;

/* A new stream's policy is 0. */
static int policy_of(const struct queue *q)
{
    const int policy = __atomic_load_n(&q->sync_policy, __ATOMIC_RELAXED);

    return policy ? policy : SYNC_AUTO;
}

static hipError_t set(struct queue *q, int which,
                      const hipStreamAttrValue *value)
{
    if (capture_is_active(q))
        return hipErrorStreamCaptureUnsupported;
    if (which != ATTR_SYNC_POLICY || value->number < SYNC_AUTO ||
        value->number > SYNC_BLOCKING)
        return hipErrorInvalidValue;
    __atomic_store_n(&q->sync_policy, value->number, __ATOMIC_RELAXED);
    return hipSuccess;
}

static hipError_t get(const struct queue *q, int which,
                      hipStreamAttrValue *value)
{
    if (which == ATTR_SYNC_POLICY)
        value->number = policy_of(q);
    else if (which == ATTR_PRIORITY)
        value->number = q->priority;
    else
        return hipErrorInvalidValue;
    return hipSuccess;
}

HIP_API hipError_t hipStreamSetAttribute(hipStream_t stream, int which,
                                         const hipStreamAttrValue *value)
{
    struct queue *q;
    hipError_t error;

    ENTER();
    if (!value)
        LEAVE(hipErrorInvalidValue);
    q = stream_queue(stream);
    if (!q)
        LEAVE(hipErrorInvalidHandle);
    error = set(q, which, value);
    queue_unref(q);
    LEAVE(error);
}

HIP_API hipError_t hipStreamGetAttribute(hipStream_t stream, int which,
                                         hipStreamAttrValue *value)
{
    struct queue *q;
    hipError_t error;

    ENTER();
    if (!value)
        LEAVE(hipErrorInvalidValue);
    q = stream_queue(stream);
    if (!q)
        LEAVE(hipErrorInvalidHandle);
    error = get(q, which, value);
    queue_unref(q);
    LEAVE(error);
}

HIP_API hipError_t hipStreamCopyAttributes(hipStream_t to, hipStream_t from)
{
    struct queue *dst, *src;

    ENTER();
    dst = stream_queue(to);
    src = stream_queue(from);
    if (dst && src)
        __atomic_store_n(&dst->sync_policy, policy_of(src), __ATOMIC_RELAXED);
    if (dst)
        queue_unref(dst);
    if (src)
        queue_unref(src);
    LEAVE(dst && src ? hipSuccess : hipErrorInvalidValue);
}
