/* hip_managed.c - advice about managed memory, given and queried
 *
 * Advice has no effect, because host and devices share one copy. Notes keep it
 * for ranges of whole pages, the latest first; a query about a range gives a
 * value if all of its pages agree.
 */
#include "hip_managed.h"

#include "allocation_lookup.h"
#include "call.h"
#include "op_queue.h"
#include "origin.h"
#include "process_state.h"
#include "stream_queue.h"
#include "thread_state.h"

#include "../base/allocation.h"
#include "../base/processor.h"

#include <pthread.h>
#include <stdlib.h>

enum { PAGE = 4096 };
enum { NO_DEVICE = -2, CPU = -1 };

/* hipMemRangeAttribute */
enum attribute {
    READ_MOSTLY = 1,
    PREFERRED_LOCATION,
    ACCESSED_BY,
    LAST_PREFETCH,
    COHERENCY = 100
};
enum { FINE_GRAIN, COARSE_GRAIN, NEITHER };

struct note {
    struct note *next;
    uint64_t base, end;
    enum attribute what;
    int device; /* of ACCESSED_BY */
    int value;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct note *notes;

/* Drops the notes inside the range; with `like`, notes of its attribute and
 * device alone. With the lock held. */
static void drop(uint64_t base, uint64_t end, const struct note *like)
{
    struct note **link = &notes;

    while (*link) {
        struct note *n = *link;

        if (n->base >= base && n->end <= end &&
            (!like || (like->what == n->what && like->device == n->device))) {
            *link = n->next;
            free(n);
        } else {
            link = &n->next;
        }
    }
}

static hipError_t note(const void *ptr, size_t size, enum attribute what,
                       int device, int value)
{
    const uint64_t base = (uintptr_t)ptr & ~(uint64_t)(PAGE - 1);
    const uint64_t end =
        ((uintptr_t)ptr + size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    struct note *n = malloc(sizeof(*n));

    if (!n)
        return hipErrorOutOfMemory;
    *n = (struct note){NULL, base, end, what, device, value};
    pthread_mutex_lock(&lock);
    drop(base, end, n);
    n->next = notes;
    notes = n;
    pthread_mutex_unlock(&lock);
    return hipSuccess;
}

void managed_forget(uint64_t base, uint64_t size)
{
    pthread_mutex_lock(&lock);
    drop(base, (base + size + PAGE - 1) & ~(uint64_t)(PAGE - 1), NULL);
    pthread_mutex_unlock(&lock);
}

/* ---- telling; with the lock held ---------------------------------------- */

static int at(uint64_t address, enum attribute what, int device, int otherwise)
{
    const struct note *n;

    for (n = notes; n; n = n->next)
        if (n->what == what && n->device == device &&
            address - n->base < n->end - n->base)
            return n->value;
    return otherwise;
}

/* The value that all pages of the range have, or `mixed`. Values differ only
 * across the ends of notes, so asking there and at `base` is enough. */
static int over(uint64_t base, uint64_t size, enum attribute what, int device,
                int otherwise, int mixed)
{
    const int first = at(base, what, device, otherwise);
    const struct note *n;

    for (n = notes; n; n = n->next)
        if (n->what == what && n->device == device &&
            ((n->base - base < size &&
              at(n->base, what, device, otherwise) != first) ||
             (n->end - base < size &&
              at(n->end, what, device, otherwise) != first)))
            return mixed;
    return first;
}

static void tell_devices(int *out, size_t n, uint64_t base, uint64_t size)
{
    size_t used = 0;
    int device;

    /* The host comes last in the answer, as in AMD's runtime. */
    for (device = 0; device < process.ndevices && used < n; device++)
        if (over(base, size, ACCESSED_BY, device, 0, 0))
            out[used++] = device;
    if (used < n && over(base, size, ACCESSED_BY, CPU, 0, 0))
        out[used++] = CPU;
    while (used < n)
        out[used++] = NO_DEVICE;
}

static hipError_t tell(int *out, size_t nbytes, enum attribute what,
                       const void *ptr, size_t size)
{
    const uint64_t base = (uintptr_t)ptr;

    if (!out || !nbytes || nbytes % sizeof(int) ||
        (what != ACCESSED_BY && nbytes != sizeof(int)))
        return hipErrorInvalidValue;
    switch (what) {
    case READ_MOSTLY:
        *out = over(base, size, what, 0, 0, 0);
        return hipSuccess;
    case PREFERRED_LOCATION:
    case LAST_PREFETCH:
        *out = over(base, size, what, 0, NO_DEVICE, NO_DEVICE);
        return hipSuccess;
    case COHERENCY:
        *out = over(base, size, what, 0, FINE_GRAIN, NEITHER);
        return hipSuccess;
    case ACCESSED_BY:
        tell_devices(out, nbytes / sizeof(int), base, size);
        return hipSuccess;
    }
    return hipErrorInvalidValue;
}

/* ---- HIP's functions ---------------------------------------------------- */

static bool is_pageable_by(const struct device *device)
{
    return device->sim->xnack == SIM_FEATURE_ON;
}

/* Accepts managed memory, and the program's own if the device reaches it. */
static hipError_t check_managed(const void *ptr, size_t n)
{
    struct sim_alloc a;

    if (!ptr || n == 0)
        return hipErrorInvalidValue;
    if (!allocation_find(ptr, &a))
        return is_pageable_by(thread_device()) &&
                       allocation_pages_mapped(ptr, n)
                   ? hipSuccess
                   : hipErrorInvalidValue;
    if (n > a.size - ((uintptr_t)ptr - a.base))
        return hipErrorInvalidValue;
    return a.kind == SIM_MEM_MANAGED || (a.origin == BY_HOST_REGISTER &&
                                         is_pageable_by(thread_device()))
               ? hipSuccess
               : hipErrorInvalidValue;
}

static hipError_t prefetch(const void *ptr, size_t n, int device,
                           hipStream_t stream)
{
    struct sim_alloc a;
    struct queue *q;

    if (!ptr || n == 0)
        return hipErrorInvalidValue;
    q = stream_queue(stream);
    if (!q)
        return hipErrorContextIsDestroyed;
    queue_unref(q);
    if (allocation_find(ptr, &a) && n > a.size - ((uintptr_t)ptr - a.base))
        return hipErrorInvalidValue;
    if (device != CPU && !process_device(device))
        return hipErrorInvalidDevice;
    if (!allocation_find(ptr, &a) &&
        !is_pageable_by(device == CPU ? thread_device()
                                      : process_device(device)))
        return device == CPU ? hipErrorInvalidValue : hipErrorNotSupported;
    if (!allocation_find(ptr, &a) && !allocation_pages_mapped(ptr, n))
        return hipErrorInvalidValue;
    return note(ptr, n, LAST_PREFETCH, 0, device);
}

static hipError_t advise(const void *ptr, size_t n, int advice, int device)
{
    static const struct {
        int advice;
        enum attribute what;
        int value; /* MAX_DEVICES: the number that was given */
    } known[] = {{1, READ_MOSTLY, 1},
                 {2, READ_MOSTLY, 0},
                 {3, PREFERRED_LOCATION, MAX_DEVICES},
                 {4, PREFERRED_LOCATION, NO_DEVICE},
                 {5, ACCESSED_BY, 1},
                 {6, ACCESSED_BY, 0},
                 {100, COHERENCY, COARSE_GRAIN},
                 {101, COHERENCY, FINE_GRAIN}};
    const size_t nknown = sizeof(known) / sizeof(known[0]);
    hipError_t error;
    size_t i;

    for (i = 0; i < nknown && known[i].advice != advice;)
        i++;
    error = i < nknown ? check_managed(ptr, n) : hipErrorInvalidValue;
    if (error != hipSuccess)
        return error;
    /* READ_MOSTLY holds for all devices, so its device is not looked at. */
    if (device != CPU && !process_device(device) &&
        known[i].what != READ_MOSTLY)
        return hipErrorInvalidDevice;
    return note(ptr, n, known[i].what,
                known[i].what == ACCESSED_BY ? device : 0,
                known[i].value == MAX_DEVICES ? device : known[i].value);
}

HIP_API hipError_t hipMemPrefetchAsync(const void *ptr, size_t n, int device,
                                       hipStream_t stream)
{
    ENTER();
    LEAVE(prefetch(ptr, n, device, stream));
}

HIP_API hipError_t hipMemAdvise(const void *ptr, size_t n, int advice,
                                int device)
{
    ENTER();
    LEAVE(advise(ptr, n, advice, device));
}

/* From 7.1 on a place has a type: a device, or the host in one of three. */
static bool place(hipMemLocation location, int *device)
{
    enum { DEVICE = 1, HOST, HOST_NUMA, HOST_NUMA_CURRENT };

    *device = location.type == DEVICE ? location.id : CPU;
    return location.type >= DEVICE && location.type <= HOST_NUMA_CURRENT;
}

HIP_API hipError_t hipMemPrefetchAsync_v2(const void *ptr, size_t n,
                                          hipMemLocation location,
                                          unsigned flags, hipStream_t stream)
{
    int device;

    ENTER();
    if (flags != 0 || !place(location, &device))
        LEAVE(hipErrorInvalidValue);
    LEAVE(prefetch(ptr, n, device, stream));
}

HIP_API hipError_t hipMemAdvise_v2(const void *ptr, size_t n, int advice,
                                   hipMemLocation location)
{
    int device;

    ENTER();
    if (!place(location, &device))
        LEAVE(hipErrorInvalidValue);
    LEAVE(advise(ptr, n, advice, device));
}

HIP_API hipError_t hipMemRangeGetAttribute(void *data, size_t nbytes,
                                           int attribute, const void *ptr,
                                           size_t n)
{
    struct sim_alloc a;
    hipError_t error;

    ENTER();
    if (attribute == COHERENCY && data && nbytes == sizeof(int) && ptr && n &&
        allocation_find(ptr, &a) && a.kind != SIM_MEM_MANAGED) {
        *(int *)data = a.fine_grained ? FINE_GRAIN : COARSE_GRAIN;
        LEAVE(hipSuccess);
    }
    error = check_managed(ptr, n);
    if (error != hipSuccess)
        LEAVE(error);
    pthread_mutex_lock(&lock);
    error = tell(data, nbytes, (enum attribute)attribute, ptr, n);
    pthread_mutex_unlock(&lock);
    LEAVE(error);
}

HIP_API hipError_t hipMemRangeGetAttributes(void **data, size_t *nbytes,
                                            int *attributes, size_t count,
                                            const void *ptr, size_t n)
{
    hipError_t error;
    size_t i;

    ENTER();
    if (!data || !nbytes || !attributes || !count)
        LEAVE(hipErrorInvalidValue);
    error = check_managed(ptr, n);
    pthread_mutex_lock(&lock);
    for (i = 0; i < count && error == hipSuccess; i++)
        error = tell(data[i], nbytes[i], (enum attribute)attributes[i], ptr, n);
    pthread_mutex_unlock(&lock);
    LEAVE(error);
}
