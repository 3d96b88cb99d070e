/* stream_queue.c - the queue behind a stream handle */
#include "stream_queue.h"

#include "handle.h"
#include "op_queue.h"
#include "process_state.h"
#include "thread_state.h"

#include <pthread.h>

struct queue *stream_null_queue(struct device *device)
{
    struct queue *q, *spare = NULL;

    pthread_mutex_lock(&process.lock);
    q = device->null_queue;
    pthread_mutex_unlock(&process.lock);
    if (!q) {
        spare = queue_new(device, 0, 0);
        if (!spare)
            return NULL;
        pthread_mutex_lock(&process.lock);
        if (!device->null_queue) {
            spare->is_null = true;
            device->null_queue = spare;
            spare = NULL;
        }
        q = device->null_queue;
        pthread_mutex_unlock(&process.lock);
        if (spare)
            queue_close(spare);
    }
    queue_ref(q);
    return q;
}

static struct queue *thread_queue(struct device *device)
{
    struct queue **slot = &thread_self()->queues[device->ordinal];

    if (!*slot)
        *slot = queue_new(device, 0, 0);
    if (*slot)
        queue_ref(*slot);
    return *slot;
}

struct queue *stream_queue(hipStream_t stream)
{
    struct queue *q = NULL;

    if (!stream || stream == STREAM_LEGACY)
        return stream_null_queue(thread_device());
    if (stream == STREAM_PER_THREAD)
        return thread_queue(thread_device());
    pthread_mutex_lock(&process.lock);
    if (handle_valid(stream, HANDLE_STREAM)) {
        q = (struct queue *)stream;
        queue_ref(q);
    }
    pthread_mutex_unlock(&process.lock);
    return q;
}

struct queue *stream_queue_spt(hipStream_t stream)
{
    return stream_queue(stream ? stream : STREAM_PER_THREAD);
}
