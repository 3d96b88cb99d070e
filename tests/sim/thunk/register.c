/* register.c - memory of the program's own that GPUs may use for a while
 *
 * Ranges may overlap and be registered more than once; each is kept until it is
 * deregistered. The core's table wants no overlaps, so it is given the unions:
 * the largest ranges without a gap. They are exchanged in a way that a kernel
 * that runs meanwhile finds every registered byte throughout.
 */
#include "register.h"

#include "thunk.h"

#include <pthread.h>
#include <stdlib.h>

struct range {
    struct range *next;
    uint64_t base, nbytes;
    uint32_t flags;
    void *user;
};

/* A range that the core knows. */
struct span {
    struct span *next;
    uint64_t base, end;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range *ranges; /* the last one first */
static struct span *spans;

static struct range **find(uint64_t addr)
{
    struct range **at = &ranges;

    while (*at && addr - (*at)->base >= (*at)->nbytes)
        at = &(*at)->next;
    return at;
}

/* ---- unions ---- */

/* Takes the spans that meet [base, end) off the list and widens it to them. */
static struct span *take_meeting(uint64_t *base, uint64_t *end)
{
    struct span **at = &spans, *taken = NULL;

    while (*at) {
        struct span *s = *at;

        if (s->base >= *end || s->end <= *base) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        s->next = taken;
        taken = s;
        *base = s->base < *base ? s->base : *base;
        *end = s->end > *end ? s->end : *end;
        at = &spans; /* what did not meet the narrower range may meet this */
    }
    return taken;
}

static void withdraw(struct span *gone)
{
    while (gone) {
        struct span *next = gone->next;

        sim_mem_unregister(gone->base, gone->end - gone->base);
        free(gone);
        gone = next;
    }
}

static bool announce(uint64_t base, uint64_t end)
{
    struct span *s = malloc(sizeof(*s));

    if (!s)
        return false;
    *s = (struct span){spans, base, end};
    if (!sim_mem_register_over((void *)(uintptr_t)base, end - base)) {
        free(s);
        return false;
    }
    spans = s;
    return true;
}

/* The unions of those ranges that lie within [base, end): the span there
 * before lost one of them. */
static void announce_rest(uint64_t base, uint64_t end)
{
    while (base < end) {
        const struct range *r;
        uint64_t first = end, last;
        bool grown = true;

        for (r = ranges; r; r = r->next)
            if (r->base >= base && r->base < first)
                first = r->base;
        if (first == end)
            return;
        for (last = first; grown;) {
            grown = false;
            for (r = ranges; r; r = r->next)
                if (r->base >= first && r->base <= last &&
                    r->base + r->nbytes > last) {
                    last = r->base + r->nbytes;
                    grown = true;
                }
        }
        announce(first, last);
        base = last;
    }
}

/* ---- the calls ---- */

KMT_API kmt_status hsaKmtRegisterMemoryWithFlags(void *address, uint64_t nbytes,
                                                 uint32_t flags)
{
    uint64_t base = (uint64_t)(uintptr_t)address, end = base + nbytes;
    struct range *r;
    struct span *covered;

    if (!address || nbytes == 0 || end < base)
        return KMT_INVALID_PARAMETER;
    r = calloc(1, sizeof(*r));
    if (!r)
        return KMT_NO_MEMORY;
    *r = (struct range){NULL, base, nbytes, flags, NULL};
    pthread_mutex_lock(&lock);
    covered = take_meeting(&base, &end);
    if (!announce(base, end)) {
        pthread_mutex_unlock(&lock);
        free(r);
        return KMT_NO_MEMORY;
    }
    withdraw(covered);
    r->next = ranges;
    ranges = r;
    pthread_mutex_unlock(&lock);
    return KMT_OK;
}

KMT_API kmt_status hsaKmtRegisterMemory(void *address, uint64_t nbytes)
{
    return hsaKmtRegisterMemoryWithFlags(address, nbytes, 0);
}

KMT_API kmt_status hsaKmtRegisterMemoryToNodes(void *address, uint64_t nbytes,
                                               uint64_t n,
                                               const uint32_t *nodes)
{
    (void)n;
    (void)nodes;
    return hsaKmtRegisterMemoryWithFlags(address, nbytes, 0);
}

KMT_API kmt_status hsaKmtDeregisterMemory(void *address)
{
    uint64_t base = (uint64_t)(uintptr_t)address, end;
    struct range **at, *r;
    struct span *old;

    pthread_mutex_lock(&lock);
    for (at = &ranges; *at && (*at)->base != base; at = &(*at)->next)
        ;
    r = *at;
    if (r) {
        *at = r->next;
        end = base + r->nbytes;
        old = take_meeting(&base, &end);
        announce_rest(base, end);
        withdraw(old);
    }
    pthread_mutex_unlock(&lock);
    free(r);
    return r ? KMT_OK : KMT_NOT_REGISTERED;
}

/* ---- asking ---- */

bool thunk_describe_registered(uint64_t addr, struct kmt_pointer *info)
{
    const struct range *r;

    pthread_mutex_lock(&lock);
    r = *find(addr);
    if (r) {
        info->type = KMT_POINTER_REGISTERED;
        info->flags = r->flags;
        info->cpu = (void *)(uintptr_t)r->base;
        info->gpu = r->base;
        info->nbytes = r->nbytes;
        info->user = r->user;
    }
    pthread_mutex_unlock(&lock);
    return r != NULL;
}

bool thunk_set_registered_user(uint64_t addr, void *user)
{
    struct range *r;

    pthread_mutex_lock(&lock);
    r = *find(addr);
    if (r)
        r->user = user;
    pthread_mutex_unlock(&lock);
    return r != NULL;
}
