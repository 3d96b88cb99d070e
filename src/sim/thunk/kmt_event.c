/* kmt_event.c - events, by which the driver wakes threads that wait for a GPU
 *
 * One lock and one condition variable for all: events are set a few thousand
 * times a second at most, and a wait may be for many of them. ROCr holds a
 * pointer to the record that it was given, and reads faults from there.
 */
#define _GNU_SOURCE
#include "kmt_event.h"

#include "kmt.h"

#include "../base/allocation.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

enum { MAX_EVENTS = 8192 };

struct event {
    struct kmt_event seen; /* ROCr has a pointer to it */
    bool used, manual_reset, set;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static pthread_once_t once = PTHREAD_ONCE_INIT;
/* Events by ID; [0] stays free, because 0 is no event. A destroyed event stays
 * readable. */
static struct event events[MAX_EVENTS];
/* A slot for each event, which GPUs write to; an allocation of the core. */
static struct sim_alloc *mailboxes;

static void prepare(void)
{
    pthread_condattr_t attr;

    mailboxes =
        sim_mem_map(-1, MAX_EVENTS * sizeof(uint64_t), 0, 0, SIM_MEM_HOST);

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &attr);
    pthread_condattr_destroy(&attr);
}

/* ---- making ---- */

KMT_API kmt_status
hsaKmtCreateEvent(const struct kmt_event_descriptor *descriptor,
                  bool manual_reset, bool is_set, struct kmt_event **out)
{
    static uint32_t last;
    struct event *e = NULL;
    uint32_t tries;

    pthread_once(&once, prepare);
    pthread_mutex_lock(&lock);
    for (tries = 0; tries < MAX_EVENTS && !e; tries++) {
        last = last % (MAX_EVENTS - 1) + 1;
        if (!events[last].used)
            e = &events[last];
    }
    if (e) {
        memset(e, 0, sizeof(*e));
        e->used = true;
        e->manual_reset = manual_reset;
        e->set = is_set;
        e->seen.id = last;
        e->seen.type = descriptor->type;
        e->seen.fault.node = descriptor->node;
        if (mailboxes)
            e->seen.mailbox = mailboxes->base + last * sizeof(uint64_t);
    }
    pthread_mutex_unlock(&lock);
    *out = e ? &e->seen : NULL;
    return e ? KMT_OK : KMT_NO_MEMORY;
}

/* The event that contains ROCr's record; NULL for a foreign record. With the
 * lock held. */
static struct event *event_of(const struct kmt_event *seen)
{
    uint64_t offset = (uint64_t)(uintptr_t)seen - (uint64_t)(uintptr_t)events;
    struct event *e = &events[offset / sizeof(*e) % MAX_EVENTS];

    return seen == &e->seen && e->used ? e : NULL;
}

KMT_API kmt_status hsaKmtDestroyEvent(struct kmt_event *seen)
{
    struct event *e;

    pthread_mutex_lock(&lock);
    e = event_of(seen);
    if (e) {
        e->used = false;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return e ? KMT_OK : KMT_INVALID_HANDLE;
}

/* ---- setting ---- */

static void set_locked(struct event *e)
{
    e->set = true;
    pthread_cond_broadcast(&changed);
}

void thunk_event_set(uint32_t id)
{
    pthread_mutex_lock(&lock);
    if (id > 0 && id < MAX_EVENTS && events[id].used)
        set_locked(&events[id]);
    pthread_mutex_unlock(&lock);
}

bool thunk_event_memory_fault(uint32_t node, uint64_t address, uint32_t reasons)
{
    bool any = false;
    uint32_t id;

    pthread_mutex_lock(&lock);
    for (id = 1; id < MAX_EVENTS; id++) {
        struct event *e = &events[id];

        if (!e->used || e->seen.type != KMT_EVENT_MEMORY)
            continue;
        e->seen.fault.node = node;
        e->seen.fault.address = address;
        e->seen.fault.reasons = reasons;
        e->seen.fault.severity = 1; /* fatal to the process */
        set_locked(e);
        any = true;
    }
    pthread_mutex_unlock(&lock);
    return any;
}

KMT_API kmt_status hsaKmtSetEvent(struct kmt_event *seen)
{
    struct event *e;

    pthread_mutex_lock(&lock);
    e = event_of(seen);
    if (e)
        set_locked(e);
    pthread_mutex_unlock(&lock);
    return e ? KMT_OK : KMT_INVALID_HANDLE;
}

KMT_API kmt_status hsaKmtResetEvent(struct kmt_event *seen)
{
    struct event *e;

    pthread_mutex_lock(&lock);
    e = event_of(seen);
    if (e)
        e->set = false;
    pthread_mutex_unlock(&lock);
    return e ? KMT_OK : KMT_INVALID_HANDLE;
}

KMT_API kmt_status hsaKmtQueryEventState(struct kmt_event *seen)
{
    struct event *e;
    bool set;

    pthread_mutex_lock(&lock);
    e = event_of(seen);
    set = e && e->set;
    pthread_mutex_unlock(&lock);
    return !e ? KMT_INVALID_HANDLE : set ? KMT_OK : KMT_WAIT_TIMEOUT;
}

/* ---- waiting ---- */

/* The two largest numbers mean for ever. */
static bool is_forever(uint32_t ms)
{
    return ms >= 0xfffffffe;
}

static struct timespec deadline(uint32_t ms)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += (long)(ms % 1000) * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    return t;
}

/* Whether the wait is over; clears events that reset themselves. An event that
 * is destroyed during the wait counts as set. */
static bool take(struct kmt_event *const *wanted, uint32_t n, bool all)
{
    uint32_t i, nset = 0;

    for (i = 0; i < n; i++) {
        const struct event *e = event_of(wanted[i]);

        nset += !e || e->set;
    }
    if (all ? nset < n : nset == 0)
        return false;
    for (i = 0; i < n; i++) {
        struct event *e = event_of(wanted[i]);

        if (e && e->set && !e->manual_reset)
            e->set = false;
    }
    return true;
}

KMT_API kmt_status
hsaKmtWaitOnMultipleEvents_Ext(struct kmt_event *const *wanted, uint32_t n,
                               bool all, uint32_t ms, const uint64_t *age)
{
    struct timespec until = deadline(is_forever(ms) ? 0 : ms);
    kmt_status status = KMT_OK;

    (void)age; /* drivers before 1.14 have none */
    if (!wanted || n == 0)
        return KMT_INVALID_HANDLE;
    pthread_once(&once, prepare);
    pthread_mutex_lock(&lock);
    while (!take(wanted, n, all)) {
        if (is_forever(ms)) {
            pthread_cond_wait(&changed, &lock);
        } else if (pthread_cond_timedwait(&changed, &lock, &until) ==
                   ETIMEDOUT) {
            status = take(wanted, n, all) ? KMT_OK : KMT_WAIT_TIMEOUT;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return status;
}

KMT_API kmt_status hsaKmtWaitOnMultipleEvents(struct kmt_event *const *wanted,
                                              uint32_t n, bool all, uint32_t ms)
{
    return hsaKmtWaitOnMultipleEvents_Ext(wanted, n, all, ms, NULL);
}

KMT_API kmt_status hsaKmtWaitOnEvent_Ext(struct kmt_event *wanted, uint32_t ms,
                                         const uint64_t *age)
{
    return hsaKmtWaitOnMultipleEvents_Ext(&wanted, 1, true, ms, age);
}

KMT_API kmt_status hsaKmtWaitOnEvent(struct kmt_event *wanted, uint32_t ms)
{
    return hsaKmtWaitOnMultipleEvents_Ext(&wanted, 1, true, ms, NULL);
}
