/* queue.c - queues, each with a thread that does what is put into it
 *
 * A thread per queue, so that a packet that waits, or a kernel that waits for
 * another queue's, holds up no other queue. HIP 5's ROCr rings by a store into
 * memory: the thread looks for it, busily at first and then ever less often.
 * HIP 7's, over libdtif.so, rings by a call, which wakes the thread and then
 * gives it a moment: that runtime waits busily for small kernels and would keep
 * them from the processor that they need.
 */
#define _GNU_SOURCE
#include "thunk.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
    MAX_QUEUES = 1024,
    DOORBELL_PAGE = 8192, /* ROCr derives a slot's number from the address */
    BUSY_NS = 20000,
    FIRST_SLEEP_NS = 20000,
    LONGEST_SLEEP_NS = 500000,
    RING_NS = 200000, /* what a caller that rings waits at most */
    STACK_NBYTES = 1 << 20
};

struct queue {
    struct thunk_queue q; /* first */
    pthread_t thread;
    atomic_bool quit;
    pthread_mutex_t lock;
    pthread_cond_t rung, drained;
    bool is_rung;
    bool has_drained;
    uint64_t own_read, own_write; /* of SDMA queues: ours, not ROCr's */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct queue *queues[MAX_QUEUES]; /* by ID; [0] stays free */
static uint64_t *doorbells;

/* ---- the thread of a queue ---- */

static struct timespec after(uint64_t ns)
{
    uint64_t t = thunk_now() + ns;

    return (struct timespec){(time_t)(t / 1000000000), (long)(t % 1000000000)};
}

static void sleep_until_rung(struct queue *q, uint64_t ns)
{
    struct timespec until = after(ns);

    pthread_mutex_lock(&q->lock);
    q->has_drained = true;
    pthread_cond_broadcast(&q->drained);
    if (!q->is_rung)
        pthread_cond_timedwait(&q->rung, &q->lock, &until);
    q->is_rung = false;
    pthread_mutex_unlock(&q->lock);
}

/* Waits a while that grows with the time that nothing has been done. */
static void rest(struct queue *q, uint64_t idle_ns, uint64_t *sleep_ns)
{
    if (idle_ns < BUSY_NS) {
        sched_yield();
        return;
    }
    sleep_until_rung(q, *sleep_ns);
    if (*sleep_ns < LONGEST_SLEEP_NS)
        *sleep_ns *= 2;
}

static void *serve(void *arg)
{
    struct queue *q = arg;
    uint64_t last = thunk_now(), sleep_ns = FIRST_SLEEP_NS;

    while (!atomic_load(&q->quit)) {
        enum thunk_step step = THUNK_IDLE;

        if (!q->q.stopped && !q->q.paused)
            step =
                q->q.is_sdma ? thunk_sdma_step(&q->q) : thunk_aql_step(&q->q);
        if (step == THUNK_DONE) {
            last = thunk_now();
            sleep_ns = FIRST_SLEEP_NS;
        } else {
            rest(q, thunk_now() - last, &sleep_ns);
        }
    }
    return NULL;
}

/* ---- making and destroying ---- */

static void init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attr);
    pthread_condattr_destroy(&attr);
}

static void release(struct queue *q)
{
    pthread_cond_destroy(&q->rung);
    pthread_cond_destroy(&q->drained);
    pthread_mutex_destroy(&q->lock);
    free(q);
}

/* One page has a slot for each queue that there can be. With the lock held. */
static bool doorbells_ready(void)
{
    uint8_t *page;
    uint64_t base;

    if (doorbells)
        return true;
    page = mmap(NULL, (size_t)2 * DOORBELL_PAGE, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return false;
    base = ((uint64_t)(uintptr_t)page + DOORBELL_PAGE - 1) &
           ~(uint64_t)(DOORBELL_PAGE - 1);
    doorbells = (uint64_t *)(uintptr_t)base;
    return true;
}

static bool take_id(struct queue *q)
{
    uint64_t id;

    pthread_mutex_lock(&lock);
    for (id = 1; id < MAX_QUEUES && queues[id]; id++)
        ;
    if (id == MAX_QUEUES || !doorbells_ready()) {
        pthread_mutex_unlock(&lock);
        return false;
    }
    q->q.id = id;
    q->q.doorbell = doorbells + id;
    *q->q.doorbell = q->q.is_sdma ? 0 : UINT64_MAX;
    queues[id] = q;
    pthread_mutex_unlock(&lock);
    return true;
}

static void give_id_back(const struct queue *q)
{
    pthread_mutex_lock(&lock);
    queues[q->q.id] = NULL;
    pthread_mutex_unlock(&lock);
}

static bool start_thread(struct queue *q)
{
    pthread_attr_t attr;
    bool ok;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_NBYTES);
    ok = pthread_create(&q->thread, &attr, serve, q) == 0;
    pthread_attr_destroy(&attr);
    return ok;
}

static struct queue *new_queue(struct sim_device *device, bool is_sdma,
                               void *ring, uint64_t nbytes)
{
    struct queue *q = calloc(1, sizeof(*q));

    if (!q)
        return NULL;
    q->q.device = device;
    q->q.is_sdma = is_sdma;
    q->q.ring = ring;
    q->q.nbytes = nbytes;
    pthread_mutex_init(&q->lock, NULL);
    init_condition(&q->rung);
    init_condition(&q->drained);
    return q;
}

KMT_API kmt_status hsaKmtCreateQueueExt(uint32_t node, uint32_t type,
                                        uint32_t percentage, int32_t priority,
                                        uint32_t engine, void *ring,
                                        uint64_t nbytes,
                                        struct kmt_event *event,
                                        struct kmt_queue *resource)
{
    bool is_sdma = type == KMT_QUEUE_SDMA || type == KMT_QUEUE_SDMA_XGMI ||
                   type == KMT_QUEUE_SDMA_ENGINE;
    struct queue *q;

    (void)percentage;
    (void)priority;
    (void)engine;
    (void)event;
    if (!thunk_device(node))
        return KMT_INVALID_NODE;
    if (!is_sdma && type != KMT_QUEUE_AQL)
        return KMT_NOT_SUPPORTED;
    if (!ring || nbytes == 0 || (nbytes & (nbytes - 1)))
        return KMT_INVALID_PARAMETER;
    q = new_queue(thunk_device(node), is_sdma, ring, nbytes);
    if (!q)
        return KMT_NO_MEMORY;
    if (is_sdma) {
        resource->write_index = &q->own_write;
        resource->read_index = &q->own_read;
    } else {
        /* The read index lies in ROCr's queue object, at 128. */
        q->q.amd_queue = (uint64_t)(uintptr_t)resource->read_index - 128;
    }
    q->q.write_index = resource->write_index;
    q->q.read_index = resource->read_index;
    if (!take_id(q)) {
        release(q);
        return KMT_NO_MEMORY;
    }
    resource->id = q->q.id;
    resource->doorbell = (uint64_t *)q->q.doorbell;
    if (!start_thread(q)) {
        give_id_back(q);
        release(q);
        return KMT_NO_MEMORY;
    }
    return KMT_OK;
}

KMT_API kmt_status hsaKmtCreateQueue(uint32_t node, uint32_t type,
                                     uint32_t percentage, int32_t priority,
                                     void *ring, uint64_t nbytes,
                                     struct kmt_event *event,
                                     struct kmt_queue *resource)
{
    return hsaKmtCreateQueueExt(node, type, percentage, priority, 0, ring,
                                nbytes, event, resource);
}

static struct queue *queue_by_id(uint64_t id)
{
    struct queue *q;

    pthread_mutex_lock(&lock);
    q = id < MAX_QUEUES ? queues[id] : NULL;
    pthread_mutex_unlock(&lock);
    return q;
}

static void wake(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->is_rung = true;
    q->has_drained = false;
    pthread_cond_signal(&q->rung);
    pthread_mutex_unlock(&q->lock);
}

static void stop(struct queue *q)
{
    atomic_store(&q->quit, true);
    wake(q);
    pthread_join(q->thread, NULL);
    give_id_back(q);
    release(q);
}

KMT_API kmt_status hsaKmtDestroyQueue(uint64_t id)
{
    struct queue *q = queue_by_id(id);

    if (!q)
        return KMT_INVALID_HANDLE;
    stop(q);
    return KMT_OK;
}

void thunk_queues_shutdown(void)
{
    uint64_t id;

    for (id = 1; id < MAX_QUEUES; id++) {
        struct queue *q = queue_by_id(id);

        if (q)
            stop(q);
    }
}

/* ---- using ---- */

KMT_API kmt_status hsaKmtQueueRingDoorbell(uint64_t id)
{
    struct queue *q = queue_by_id(id);
    struct timespec until = after(RING_NS);

    if (!q)
        return KMT_INVALID_HANDLE;
    wake(q);
    pthread_mutex_lock(&q->lock);
    while (!q->has_drained &&
           pthread_cond_timedwait(&q->drained, &q->lock, &until) == 0)
        ;
    pthread_mutex_unlock(&q->lock);
    return KMT_OK;
}

/* Of what can be changed, only a share of 0 has a meaning here: a pause. */
KMT_API kmt_status hsaKmtUpdateQueue(uint64_t id, uint32_t percentage,
                                     int32_t priority, void *ring,
                                     uint64_t nbytes, struct kmt_event *event)
{
    struct queue *q = queue_by_id(id);

    (void)priority;
    (void)ring;
    (void)nbytes;
    (void)event;
    if (!q)
        return KMT_INVALID_HANDLE;
    q->q.paused = percentage == 0;
    return KMT_OK;
}

/* Work is spread over the host's processors; there are no CUs to choose. */
KMT_API kmt_status hsaKmtSetQueueCUMask(uint64_t id, uint32_t nbits,
                                        const uint32_t *mask)
{
    return queue_by_id(id) && nbits && mask ? KMT_OK : KMT_INVALID_PARAMETER;
}

KMT_API kmt_status hsaKmtAllocQueueGWS(uint64_t id, uint32_t n, uint32_t *first)
{
    (void)n;
    if (!queue_by_id(id))
        return KMT_INVALID_HANDLE;
    if (first)
        *first = 0;
    return KMT_OK;
}
