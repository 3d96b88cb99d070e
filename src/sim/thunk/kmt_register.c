/* kmt_register.c - memory of the program's own that GPUs may use for a while
 *
 * As from the driver, each registration has an address for GPUs that is not
 * the host's; HIP 5 relies on that. So ranges may overlap as they like. The
 * same range registered again is counted.
 */
#include "kmt_register.h"

#include "kmt.h"
#include "node.h"

#include "../base/allocation.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

struct range {
    struct range *next;
    uint64_t host, gpu, nbytes;
    uint32_t flags;
    unsigned count;
    void *user;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range *ranges; /* the last one first */

/* ---- the address space of an alias: whole pages, without access ---- */

static uint64_t pages_around(uint64_t host, uint64_t nbytes)
{
    return (host % PAGE + nbytes + PAGE - 1) / PAGE * PAGE;
}

static uint64_t reserve(uint64_t host, uint64_t nbytes)
{
    void *p = mmap(NULL, pages_around(host, nbytes), PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return p == MAP_FAILED ? 0 : (uint64_t)(uintptr_t)p + host % PAGE;
}

static void give_back(uint64_t gpu, uint64_t nbytes)
{
    munmap(thunk_pointer(gpu - gpu % PAGE), pages_around(gpu, nbytes));
}

/* ---- finding; with the lock held ---- */

static bool contains(const struct range *r, uint64_t addr)
{
    return addr - r->host < r->nbytes || addr - r->gpu < r->nbytes;
}

static struct range *find(uint64_t addr)
{
    struct range *r = ranges;

    while (r && !contains(r, addr))
        r = r->next;
    return r;
}

static struct range *find_exactly(uint64_t host, uint64_t nbytes)
{
    struct range *r = ranges;

    while (r && (r->host != host || r->nbytes != nbytes))
        r = r->next;
    return r;
}

/* ---- the calls ---- */

static struct range *new_range(uint64_t host, uint64_t nbytes, uint32_t flags)
{
    struct range *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    *r = (struct range){NULL, host, reserve(host, nbytes), nbytes, flags,
                        1,    NULL};
    if (r->gpu && sim_mem_alias(r->gpu, thunk_pointer(host), nbytes))
        return r;
    if (r->gpu)
        give_back(r->gpu, nbytes);
    free(r);
    return NULL;
}

KMT_API kmt_status hsaKmtRegisterMemoryWithFlags(void *address, uint64_t nbytes,
                                                 uint32_t flags)
{
    uint64_t host = (uint64_t)(uintptr_t)address;
    struct range *r;

    if (!address || nbytes == 0 || host + nbytes < host)
        return KMT_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    r = find_exactly(host, nbytes);
    if (r) {
        r->count++;
    } else {
        r = new_range(host, nbytes, flags);
        if (r) {
            r->next = ranges;
            ranges = r;
        }
    }
    pthread_mutex_unlock(&lock);
    return r ? KMT_OK : KMT_NO_MEMORY;
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
    uint64_t addr = (uint64_t)(uintptr_t)address;
    struct range **at, *r;

    pthread_mutex_lock(&lock);
    for (at = &ranges; *at && (*at)->host != addr && (*at)->gpu != addr;
         at = &(*at)->next)
        ;
    r = *at;
    if (r && --r->count == 0) {
        *at = r->next;
        sim_mem_free(r->gpu);
        give_back(r->gpu, r->nbytes);
        free(r);
    }
    pthread_mutex_unlock(&lock);
    return r ? KMT_OK : KMT_NOT_REGISTERED;
}

uint64_t thunk_registered_address(uint64_t addr, uint64_t nbytes)
{
    const struct range *r;

    pthread_mutex_lock(&lock);
    r = find_exactly(addr, nbytes);
    if (!r)
        r = find(addr);
    if (r && addr - r->host < r->nbytes)
        addr = r->gpu + (addr - r->host);
    pthread_mutex_unlock(&lock);
    return addr;
}

/* ---- asking ---- */

bool thunk_describe_registered(uint64_t addr, struct kmt_pointer *info)
{
    const struct range *r;

    pthread_mutex_lock(&lock);
    r = find(addr);
    if (r) {
        info->type = KMT_POINTER_REGISTERED;
        info->flags = r->flags;
        info->cpu = thunk_pointer(r->host);
        info->gpu = r->gpu;
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
    r = find(addr);
    if (r)
        r->user = user;
    pthread_mutex_unlock(&lock);
    return r != NULL;
}
