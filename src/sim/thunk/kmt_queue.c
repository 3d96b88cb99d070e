/* kmt_queue.c - queues, and the threads that do what is put into them
 *
 * HIP 5's ROCr rings a doorbell by a store into memory, and so one thread, the
 * leader, looks at all queues in turn: busily while there has been work of
 * late, then less and less. When it finds a kernel to run, it leaves the lead
 * to another thread and runs it; so a kernel that takes long, or waits for
 * another queue's, holds nothing else up, and a small one needs no switch of
 * threads. HIP 7's, over libdtif.so, rings by a call, which wakes the leader
 * and gives it a moment: that runtime waits busily for small kernels and would
 * keep them from the processor that they need.
 */
#define _GNU_SOURCE
#include "kmt_queue.h"

#include "aql.h"
#include "kmt.h"
#include "node.h"
#include "ring.h"
#include "sdma.h"

#include "../run/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

enum {
    MAX_QUEUES = 1024,
    MAX_THREADS = 256,
    DOORBELL_PAGE = 8192, /* ROCr derives a slot's number from the address */
    BUSY_NS = 20000,
    SHORT_SLEEP_NS = 20000,
    LATELY_NS =
        100000000, /* while there was work so lately, sleeps are short */
    LONG_SLEEP_NS = 1000000,
    RING_NS = 200000, /* longest wait of a caller that rings */
    STACK_NBYTES = 1 << 20
};

struct queue {
    struct thunk_queue q;         /* first */
    bool busy;                    /* a thread is executing its packets */
    bool closing;                 /* no thread may begin to */
    uint64_t own_read, own_write; /* SDMA queues: our indices, not ROCr's */
};

static struct {
    pthread_mutex_t lock; /* guards all of this, and busy and closing above */
    pthread_once_t once;
    pthread_cond_t rung;              /* the leader has reason to look */
    pthread_cond_t no_lead;           /* somebody has to lead */
    pthread_cond_t settled;           /* a queue is not busy, or is empty */
    struct queue *queues[MAX_QUEUES]; /* by ID; [0] stays free */
    unsigned nqueues;
    uint64_t *doorbells;
    pthread_t threads[MAX_THREADS];
    unsigned nthreads, nfollowers;
    bool has_leader, is_rung, quit;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static void init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attr);
    pthread_condattr_destroy(&attr);
}

static void init_conditions(void)
{
    init_condition(&all.rung);
    init_condition(&all.no_lead);
    init_condition(&all.settled);
}

/* Waits with the lock held; false when the time is over. */
static bool wait_for(pthread_cond_t *condition, uint64_t until_ns)
{
    struct timespec until = {(time_t)(until_ns / 1000000000),
                             (long)(until_ns % 1000000000)};

    return pthread_cond_timedwait(condition, &all.lock, &until) == 0;
}

/* ---- the threads; they hold the lock except during the work itself ------- */

static void *serve(void *arg);

static void add_thread(void)
{
    pthread_attr_t attr;

    if (all.nthreads == MAX_THREADS)
        return;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_NBYTES);
    if (pthread_create(&all.threads[all.nthreads], &attr, serve, NULL) == 0)
        all.nthreads++;
    pthread_attr_destroy(&attr);
}

static void leave_the_lead(void)
{
    all.has_leader = false;
    if (all.nfollowers)
        pthread_cond_signal(&all.no_lead);
    else
        add_thread();
}

static enum thunk_work look(struct queue *q)
{
    if (q->busy || q->closing || q->q.stopped || q->q.paused)
        return THUNK_NO_WORK;
    return q->q.is_sdma ? thunk_sdma_look(&q->q) : thunk_aql_look(&q->q);
}

/* One packet of a queue, without the lock and, if it is long, the lead. */
static void do_packet(struct queue *q, enum thunk_work work)
{
    q->busy = true;
    if (work == THUNK_KERNEL)
        leave_the_lead();
    pthread_mutex_unlock(&all.lock);
    if (q->q.is_sdma)
        thunk_sdma_step(&q->q);
    else
        thunk_aql_step(&q->q);
    pthread_mutex_lock(&all.lock);
    q->busy = false;
    pthread_cond_broadcast(&all.settled);
}

/* Serves the queues in turn, starting after the one that was served last.
 * Returns the kind of work done. */
static enum thunk_work look_around(unsigned *at)
{
    unsigned i, seen = 0;

    for (i = 0; i < MAX_QUEUES && seen < all.nqueues; i++) {
        struct queue *q;
        enum thunk_work work;

        *at = (*at + 1) % MAX_QUEUES;
        q = all.queues[*at];
        if (!q)
            continue;
        seen++;
        work = look(q);
        if (work == THUNK_NO_WORK)
            continue;
        do_packet(q, work);
        return work;
    }
    return THUNK_NO_WORK;
}

/* Waits a while before the next look. */
static void rest(uint64_t idle_ns)
{
    if (idle_ns < BUSY_NS && !thunk_is_dtif) {
        pthread_mutex_unlock(&all.lock);
        sched_yield();
        pthread_mutex_lock(&all.lock);
        return;
    }
    if (!all.is_rung)
        wait_for(&all.rung,
                 thunk_now() +
                     (idle_ns < LATELY_NS ? SHORT_SLEEP_NS : LONG_SLEEP_NS));
    all.is_rung = false;
}

static void lead(void)
{
    static unsigned at;
    uint64_t last = thunk_now();

    all.has_leader = true;
    while (!all.quit) {
        switch (look_around(&at)) {
        case THUNK_KERNEL:
            return; /* it left the lead */
        case THUNK_PACKET:
            last = thunk_now();
            break;
        default:
            pthread_cond_broadcast(&all.settled);
            rest(thunk_now() - last);
        }
    }
    all.has_leader = false;
}

static void *serve(void *arg)
{
    /* Short sleeps are to be short. */
    prctl(PR_SET_TIMERSLACK, 1);
    pthread_mutex_lock(&all.lock);
    while (!all.quit) {
        if (all.has_leader) {
            all.nfollowers++;
            pthread_cond_wait(&all.no_lead, &all.lock);
            all.nfollowers--;
            continue;
        }
        lead();
    }
    pthread_mutex_unlock(&all.lock);
    return arg;
}

/* ---- making and destroying ---- */

/* Maps one page of doorbells, with a slot for every possible queue. */
static bool doorbells_ready(void)
{
    uint8_t *page;
    uint64_t base;

    if (all.doorbells)
        return true;
    page = mmap(NULL, (size_t)2 * DOORBELL_PAGE, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return false;
    base = ((uint64_t)(uintptr_t)page + DOORBELL_PAGE - 1) &
           ~(uint64_t)(DOORBELL_PAGE - 1);
    all.doorbells = thunk_pointer(base);
    return true;
}

static kmt_status add_queue(struct queue *q)
{
    kmt_status status = KMT_NO_MEMORY;
    uint64_t id;

    pthread_once(&all.once, init_conditions);
    pthread_mutex_lock(&all.lock);
    all.quit = false;
    if (all.nthreads == 0)
        add_thread();
    for (id = 1; id < MAX_QUEUES && all.queues[id]; id++)
        ;
    if (id < MAX_QUEUES && all.nthreads && doorbells_ready()) {
        q->q.id = id;
        q->q.doorbell = all.doorbells + id;
        *q->q.doorbell = q->q.is_sdma ? 0 : UINT64_MAX;
        all.queues[id] = q;
        all.nqueues++;
        status = KMT_OK;
    }
    pthread_mutex_unlock(&all.lock);
    return status;
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
    q = calloc(1, sizeof(*q));
    if (!q)
        return KMT_NO_MEMORY;
    q->q.device = thunk_device(node);
    q->q.is_sdma = is_sdma;
    q->q.ring = ring;
    q->q.nbytes = nbytes;
    if (is_sdma) {
        resource->write_index = &q->own_write;
        resource->read_index = &q->own_read;
    } else {
        /* The read index lies in ROCr's queue object, at 128. */
        q->q.amd_queue = (uint64_t)(uintptr_t)resource->read_index - 128;
    }
    q->q.write_index = resource->write_index;
    q->q.read_index = resource->read_index;
    if (add_queue(q) != KMT_OK) {
        free(q);
        return KMT_NO_MEMORY;
    }
    resource->id = q->q.id;
    resource->doorbell = (uint64_t *)q->q.doorbell;
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

/* With the lock held. */
static struct queue *queue_by_id(uint64_t id)
{
    return id < MAX_QUEUES ? all.queues[id] : NULL;
}

KMT_API kmt_status hsaKmtDestroyQueue(uint64_t id)
{
    struct queue *q;

    pthread_mutex_lock(&all.lock);
    q = queue_by_id(id);
    if (q) {
        q->closing = true;
        while (q->busy)
            pthread_cond_wait(&all.settled, &all.lock);
        all.queues[id] = NULL;
        all.nqueues--;
    }
    pthread_mutex_unlock(&all.lock);
    if (q)
        free(q->q.gws);
    free(q);
    return q ? KMT_OK : KMT_INVALID_HANDLE;
}

void thunk_queues_shutdown(void)
{
    unsigned n;

    pthread_mutex_lock(&all.lock);
    all.quit = true;
    n = all.nthreads;
    if (n) {
        pthread_cond_broadcast(&all.rung);
        pthread_cond_broadcast(&all.no_lead);
    }
    pthread_mutex_unlock(&all.lock);
    while (n > 0)
        pthread_join(all.threads[--n], NULL);
    all.nthreads = 0;
    sim_pool_stop();
}

/* ---- using ---- */

KMT_API kmt_status hsaKmtQueueRingDoorbell(uint64_t id)
{
    uint64_t until = thunk_now() + RING_NS;
    struct queue *q;

    pthread_mutex_lock(&all.lock);
    all.is_rung = true;
    pthread_cond_signal(&all.rung);
    while ((q = queue_by_id(id)) && (q->busy || look(q) != THUNK_NO_WORK) &&
           wait_for(&all.settled, until))
        ;
    pthread_mutex_unlock(&all.lock);
    return KMT_OK;
}

/* A share of 0 pauses the queue. Other changes have no effect. */
KMT_API kmt_status hsaKmtUpdateQueue(uint64_t id, uint32_t percentage,
                                     int32_t priority, void *ring,
                                     uint64_t nbytes, struct kmt_event *event)
{
    struct queue *q;

    (void)priority;
    (void)ring;
    (void)nbytes;
    (void)event;
    pthread_mutex_lock(&all.lock);
    q = queue_by_id(id);
    if (q)
        q->q.paused = percentage == 0;
    pthread_mutex_unlock(&all.lock);
    return q ? KMT_OK : KMT_INVALID_HANDLE;
}

/* Work is spread over the host's processors; there are no CUs to choose. */
KMT_API kmt_status hsaKmtSetQueueCUMask(uint64_t id, uint32_t nbits,
                                        const uint32_t *mask)
{
    (void)id;
    return nbits && mask ? KMT_OK : KMT_INVALID_PARAMETER;
}

KMT_API kmt_status hsaKmtAllocQueueGWS(uint64_t id, uint32_t n, uint32_t *first)
{
    kmt_status status = KMT_OK;
    struct queue *q;

    (void)n;
    pthread_mutex_lock(&all.lock);
    q = queue_by_id(id);
    if (!q)
        status = KMT_INVALID_HANDLE;
    else if (!q->q.gws && !(q->q.gws = calloc(1, sizeof(*q->q.gws))))
        status = KMT_NO_MEMORY;
    pthread_mutex_unlock(&all.lock);
    if (first)
        *first = 0;
    return status;
}
