/* op_queue.c - queues of operations, each with a worker thread
 *
 * An operation starts when the operation before it in its queue and the
 * operations in its list `after` are done. Default streams add their order
 * when an operation is submitted: an operation on the legacy default stream
 * follows the newest operation of every blocking stream of its device, and an
 * operation on a blocking stream follows the newest one of the default stream.
 * Operations wait only for earlier ones, so there is no deadlock.
 *
 * A worker thread starts with the first operation of its queue. Ended workers
 * are joined by the next call, or when the process ends.
 */
#define _GNU_SOURCE
#include "op_queue.h"

#include "process_state.h"

#include "../base/allocation.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct ended {
    struct ended *next;
    pthread_t thread;
};

static struct ended *ended; /* with process.lock held */
static bool stopping;
static int nworkers;
static uint64_t nqueues; /* ever made */
static __thread bool working;
static pthread_cond_t worker_ended = PTHREAD_COND_INITIALIZER;

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- operations --------------------------------------------------------- */

struct op *op_new(size_t nbytes, hipError_t (*run)(struct op *),
                  void (*release)(struct op *))
{
    struct op *op = calloc(1, nbytes);

    if (op) {
        op->refs = 1;
        op->run = run;
        op->release = release;
        op->runs_after_fault = run == NULL;
    }
    return op;
}

static void free_op(struct op *op)
{
    size_t i;

    for (i = 0; i < op->nafter; i++)
        op_unref(op->after[i]);
    free(op->after);
    if (op->release)
        op->release(op);
    if (op->queue)
        queue_unref(op->queue);
    free(op);
}

struct op *op_ref(struct op *op)
{
    __atomic_fetch_add(&op->refs, 1, __ATOMIC_RELAXED);
    return op;
}

void op_unref(struct op *op)
{
    if (op && __atomic_fetch_sub(&op->refs, 1, __ATOMIC_ACQ_REL) == 1)
        free_op(op);
}

bool op_after(struct op *op, struct op *earlier)
{
    struct op **grown =
        realloc(op->after, (op->nafter + 1) * sizeof(op->after[0]));

    if (!grown)
        return false;
    op->after = grown;
    op->after[op->nafter++] = op_ref(earlier);
    return true;
}

bool op_done(struct op *op)
{
    bool done;

    pthread_mutex_lock(&process.lock);
    done = op->done;
    pthread_mutex_unlock(&process.lock);
    return done;
}

static void wait_locked(struct op *op)
{
    while (!op->done)
        pthread_cond_wait(&op->queue->finished, &process.lock);
}

void op_wait(struct op *op)
{
    pthread_mutex_lock(&process.lock);
    wait_locked(op);
    pthread_mutex_unlock(&process.lock);
}

/* ---- the worker --------------------------------------------------------- */

static void run_op(struct op *op, bool skip)
{
    op->start_ns = now_ns();
    if (op->run && !skip)
        op->error = op->run(op);
    op->end_ns = now_ns();
    /* Not with the last reference: an event may hold that for long. */
    if (op->release)
        op->release(op);
    op->release = NULL;
}

/* Takes the first operation off the queue once it may start. */
static struct op *next_op(struct queue *q)
{
    struct op *op;
    size_t i;

    while (!q->first && !q->closed && !stopping)
        pthread_cond_wait(&q->work, &process.lock);
    op = q->first;
    if (!op)
        return NULL;
    for (i = 0; i < op->nafter; i++)
        wait_locked(op->after[i]);
    q->first = op->next;
    if (!q->first)
        q->last = NULL;
    op->next = NULL;
    return op;
}

/* With the lock held. True if it was listed: the list's reference is then the
 * caller's. */
static bool unlist(struct queue *q)
{
    struct queue **link = &q->device->queues;

    while (*link && *link != q)
        link = &(*link)->next;
    if (!*link)
        return false;
    *link = q->next;
    return true;
}

static void drop(struct queue *q, int nrefs)
{
    if (__atomic_fetch_sub(&q->refs, nrefs, __ATOMIC_ACQ_REL) != nrefs)
        return;
    if (q->hsa_queue)
        sim_mem_free(q->hsa_queue);
    if (q->packet)
        sim_mem_free(q->packet);
    free(q->tail);
    pthread_cond_destroy(&q->work);
    pthread_cond_destroy(&q->finished);
    free(q);
}

static void note_end(struct queue *q)
{
    struct ended *e = malloc(sizeof(*e));

    if (e) {
        e->thread = pthread_self();
        e->next = ended;
        ended = e;
    } else {
        pthread_detach(pthread_self());
    }
    q->started = false;
    nworkers--;
    pthread_cond_broadcast(&worker_ended);
}

static void *work(void *pointer)
{
    struct queue *q = pointer;
    struct op *op;
    int nrefs = 1; /* the worker's */

    working = true;
    pthread_mutex_lock(&process.lock);
    while ((op = next_op(q)) != NULL) {
        bool skip = stopping ||
                    (q->device->fault != hipSuccess && !op->runs_after_fault);

        pthread_mutex_unlock(&process.lock);
        run_op(op, skip);
        pthread_mutex_lock(&process.lock);
        if (op->error != hipSuccess && q->device->fault == hipSuccess)
            q->device->fault = op->error;
        op->done = true;
        pthread_cond_broadcast(&q->finished);
        pthread_mutex_unlock(&process.lock);
        op_unref(op);
        pthread_mutex_lock(&process.lock);
    }
    note_end(q);
    if (q->closed) {
        nrefs += unlist(q);
        op = q->newest; /* it refers to the queue: break the circle */
        q->newest = NULL;
    }
    pthread_mutex_unlock(&process.lock);
    op_unref(op);
    drop(q, nrefs);
    return NULL;
}

bool queues_stopping(void)
{
    bool answer;

    pthread_mutex_lock(&process.lock);
    answer = stopping;
    pthread_mutex_unlock(&process.lock);
    return answer;
}

bool queue_on_worker(void)
{
    return working;
}

/* Joins the workers that ended. With the lock held, which it lets go. */
static void join_ended(void)
{
    while (ended) {
        struct ended *e = ended;

        ended = e->next;
        pthread_mutex_unlock(&process.lock);
        pthread_join(e->thread, NULL);
        free(e);
        pthread_mutex_lock(&process.lock);
    }
}

static bool start_worker(struct queue *q)
{
    queue_ref(q); /* the worker's */
    if (pthread_create(&q->worker, NULL, work, q) != 0) {
        __atomic_fetch_sub(&q->refs, 1, __ATOMIC_ACQ_REL);
        return false;
    }
    q->started = true;
    nworkers++;
    return true;
}

/* ---- queues ------------------------------------------------------------- */

static bool is_blocking(const struct queue *q)
{
    return !(q->flags & hipStreamNonBlocking);
}

static bool follow_newest(struct op *op, const struct queue *of)
{
    return !of->newest || of->newest->done || op_after(op, of->newest);
}

static bool follow_default_streams(struct op *op, const struct queue *q)
{
    const struct queue *other;

    if (!is_blocking(q))
        return true;
    if (!q->is_null)
        return !q->device->null_queue ||
               follow_newest(op, q->device->null_queue);
    for (other = q->device->queues; other; other = other->next)
        if (other != q && is_blocking(other) && !follow_newest(op, other))
            return false;
    return true;
}

bool op_after_queue(struct op *op, struct queue *q)
{
    bool ok;

    pthread_mutex_lock(&process.lock);
    ok = follow_newest(op, q);
    pthread_mutex_unlock(&process.lock);
    return ok;
}

bool op_after_device(struct op *op, const struct device *device)
{
    const struct queue *q;
    bool ok = true;

    pthread_mutex_lock(&process.lock);
    for (q = device->queues; q && ok; q = q->next)
        ok = !is_blocking(q) || follow_newest(op, q);
    pthread_mutex_unlock(&process.lock);
    return ok;
}

hipError_t op_submit(struct queue *q, struct op *op)
{
    hipError_t error = hipErrorOutOfMemory;
    struct op *before = NULL;

    pthread_mutex_lock(&process.lock);
    if (q->device->fault != hipSuccess && !op->runs_after_fault) {
        error = q->device->fault;
    } else if (follow_default_streams(op, q) &&
               (q->started || start_worker(q))) {
        error = hipSuccess;
        queue_ref(q);
        op->queue = q;
        before = q->newest;
        q->newest = op_ref(op);
        if (q->last)
            q->last->next = op;
        else
            q->first = op;
        q->last = op;
        pthread_cond_signal(&q->work);
    }
    pthread_mutex_unlock(&process.lock);
    op_unref(error == hipSuccess ? before : op);
    return error;
}

struct queue *queue_new(struct device *device, unsigned flags, int priority)
{
    struct queue *q = calloc(1, sizeof(*q));

    if (!q)
        return NULL;
    q->refs = 1;
    q->device = device;
    q->flags = flags;
    q->priority = priority;
    pthread_cond_init(&q->work, NULL);
    pthread_cond_init(&q->finished, NULL);
    pthread_mutex_lock(&process.lock);
    join_ended();
    q->id = ++nqueues;
    q->next = device->queues;
    device->queues = q;
    pthread_mutex_unlock(&process.lock);
    return q;
}

void queue_ref(struct queue *queue)
{
    __atomic_fetch_add(&queue->refs, 1, __ATOMIC_RELAXED);
}

void queue_unref(struct queue *q)
{
    drop(q, 1);
}

/*
 * Submitted operations still run. Until they are done the queue stays in the
 * device's list, so that waiting for the device includes them. Then the queue's
 * worker takes it out.
 */
void queue_close(struct queue *q)
{
    struct op *newest = NULL;
    bool listed = false;

    pthread_mutex_lock(&process.lock);
    q->closed = true;
    if (q->started) {
        pthread_cond_signal(&q->work);
    } else {
        listed = unlist(q);
        newest = q->newest;
        q->newest = NULL;
    }
    join_ended();
    pthread_mutex_unlock(&process.lock);
    op_unref(newest);
    if (listed)
        queue_unref(q);
}

/* ---- waiting ------------------------------------------------------------ */

static void wait_for_newest(struct queue *q)
{
    struct op *op = q->newest;

    if (!op || op->done)
        return;
    op_ref(op);
    wait_locked(op);
    pthread_mutex_unlock(&process.lock);
    op_unref(op);
    pthread_mutex_lock(&process.lock);
}

/*
 * Waits for all queues of the device, or for the blocking ones. Each wait
 * releases the lock, so the list may have changed, and the search begins anew.
 * Operations that other threads submit meanwhile may be waited for as well.
 */
static void wait_for_queues(struct device *device, bool all)
{
    struct queue *q;
    bool waited;

    do {
        waited = false;
        for (q = device->queues; q; q = q->next) {
            /* A listed queue is alive: the list holds a reference.
             * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
            if ((!all && !is_blocking(q)) || !q->newest || q->newest->done)
                continue;
            queue_ref(q);
            wait_for_newest(q);
            pthread_mutex_unlock(&process.lock);
            queue_unref(q);
            pthread_mutex_lock(&process.lock);
            waited = true;
            break;
        }
    } while (waited);
}

static hipError_t device_state(const struct device *device)
{
    if (__atomic_load_n(&device->sim->lost, __ATOMIC_RELAXED))
        return hipErrorLaunchFailure;
    return device->fault;
}

hipError_t queues_error(const struct device *device)
{
    hipError_t error;

    pthread_mutex_lock(&process.lock);
    error = device_state(device);
    pthread_mutex_unlock(&process.lock);
    return error;
}

hipError_t queue_wait(struct queue *q)
{
    hipError_t error;

    pthread_mutex_lock(&process.lock);
    if (q->is_null)
        wait_for_queues(q->device, false);
    else
        wait_for_newest(q);
    error = device_state(q->device);
    pthread_mutex_unlock(&process.lock);
    return error;
}

bool queue_idle(struct queue *q)
{
    const struct queue *other;
    bool idle;

    pthread_mutex_lock(&process.lock);
    idle = !q->newest || q->newest->done;
    if (q->is_null)
        for (other = q->device->queues; other && idle; other = other->next)
            idle = !is_blocking(other) || !other->newest || other->newest->done;
    pthread_mutex_unlock(&process.lock);
    return idle;
}

hipError_t queues_wait(struct device *device)
{
    hipError_t error;

    pthread_mutex_lock(&process.lock);
    wait_for_queues(device, true);
    error = device_state(device);
    pthread_mutex_unlock(&process.lock);
    return error;
}

void queues_shutdown(void)
{
    int i;

    pthread_mutex_lock(&process.lock);
    stopping = true;
    for (i = 0; i < process.ndevices; i++) {
        struct queue *q;

        for (q = process.devices[i].queues; q; q = q->next)
            pthread_cond_broadcast(&q->work);
    }
    while (nworkers > 0)
        pthread_cond_wait(&worker_ended, &process.lock);
    join_ended();
    pthread_mutex_unlock(&process.lock);
    for (i = 0; i < process.ndevices; i++)
        while (process.devices[i].queues)
            queue_close(process.devices[i].queues);
}
