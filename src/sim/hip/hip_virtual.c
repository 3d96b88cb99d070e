/* hip_virtual.c - virtual memory management: reserve, create, map, set access
 *
 * A handle stands for physical memory. The memory lives, and counts against its
 * device, as long as the program holds the handle or a mapping.
 */
#define _GNU_SOURCE
#include "call.h"
#include "handle.h"
#include "hip_pool.h"
#include "op_queue.h"
#include "process_state.h"
#include "thread_state.h"

#include "../base/allocation.h"
#include "../base/reservation.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct physical *hipMemGenericAllocationHandle_t;

typedef struct {
    int type, requestedHandleType;
    hipMemLocation location;
    void *win32HandleMetaData;
    struct {
        unsigned char compressionType, gpuDirectRDMACapable;
        unsigned short usage;
    } allocFlags;
} hipMemAllocationProp;

enum { TYPE_PINNED = 1, LOCATION_DEVICE = 1 };
enum { HANDLE_TYPE_NONE = 0, HANDLE_TYPE_FD = 1 };
enum { ACCESS_NONE = 0, ACCESS_READ = 1, ACCESS_READ_WRITE = 3 };

struct physical {
    int fd;
    uint64_t size;
    struct device *device;
    bool imported; /* the exporting process accounts for it */
    unsigned held; /* by the program */
    size_t nmapped;
    hipMemAllocationProp prop;
};

struct mapping {
    struct mapping *next;
    uint64_t base, size;
    struct physical *memory;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mapping *mappings;

static bool is_granular(uint64_t n)
{
    return n != 0 && n % SIM_VIRTUAL_GRANULE == 0;
}

/* ---- address space ------------------------------------------------------ */

HIP_API hipError_t hipMemAddressReserve(void **ptr, size_t size, size_t align,
                                        void *at, unsigned long long flags)
{
    ENTER();
    if (!ptr || flags != 0)
        LEAVE(hipErrorInvalidValue);
    if (!is_granular(size) || (align & (align - 1)) != 0)
        LEAVE(process.release < 7 ? hipErrorOutOfMemory : hipErrorInvalidValue);
    *ptr = (void *)(uintptr_t)sim_virtual_reserve(size, align, (uintptr_t)at);
    LEAVE(*ptr ? hipSuccess : hipErrorOutOfMemory);
}

HIP_API hipError_t hipMemAddressFree(void *ptr, size_t size)
{
    ENTER();
    LEAVE(ptr && size && sim_virtual_release((uintptr_t)ptr, size)
              ? hipSuccess
              : hipErrorInvalidValue);
}

/* ---- memory ------------------------------------------------------------- */

static bool is_good(const hipMemAllocationProp *p)
{
    return p && p->type == TYPE_PINNED && p->location.type == LOCATION_DEVICE &&
           process_device(p->location.id);
}

HIP_API hipError_t hipMemGetAllocationGranularity(
    size_t *granularity, const hipMemAllocationProp *prop, int option)
{
    enum { RECOMMENDED = 1 };

    ENTER();
    if (!granularity || !is_good(prop) || option < 0 || option > RECOMMENDED)
        LEAVE(hipErrorInvalidValue);
    *granularity = SIM_VIRTUAL_GRANULE;
    LEAVE(hipSuccess);
}

/* Makes a handle for existing memory; NULL if host memory is short. */
static struct physical *new_physical(int fd, uint64_t size,
                                     const hipMemAllocationProp *prop,
                                     bool imported)
{
    struct physical *m = calloc(1, sizeof(*m));

    if (!m || !handle_add(m, HANDLE_PHYSICAL)) {
        free(m);
        return NULL;
    }
    *m = (struct physical){.fd = fd,
                           .size = size,
                           .device = process_device(prop->location.id),
                           .imported = imported,
                           .held = 1,
                           .prop = *prop};
    return m;
}

/* With the lock held. */
static void drop_unused(struct physical *m)
{
    if (m->held || m->nmapped)
        return;
    handle_remove(m, HANDLE_PHYSICAL);
    close(m->fd);
    if (!m->imported)
        sim_mem_discharge(m->device->sim->ordinal, m->size);
    free(m);
}

/* A handle that the program holds; with the lock held. */
static bool is_held(struct physical *m)
{
    return handle_valid(m, HANDLE_PHYSICAL) && m->held;
}

static hipError_t create(struct physical **out, size_t size,
                         const hipMemAllocationProp *prop)
{
    const int device = process_device(prop->location.id)->sim->ordinal;
    int fd;

    if (!sim_mem_charge(device, size)) {
        pools_empty();
        if (!sim_mem_charge(device, size))
            return hipErrorOutOfMemory;
    }
    fd = sim_physical_new(size);
    *out = fd < 0 ? NULL : new_physical(fd, size, prop, false);
    if (*out)
        return hipSuccess;
    if (fd >= 0)
        close(fd);
    sim_mem_discharge(device, size);
    return hipErrorOutOfMemory;
}

HIP_API hipError_t hipMemCreate(hipMemGenericAllocationHandle_t *handle,
                                size_t size, const hipMemAllocationProp *prop,
                                unsigned long long flags)
{
    ENTER();
    if (!handle || !is_good(prop) || flags != 0 || !is_granular(size))
        LEAVE(hipErrorInvalidValue);
    if (prop->requestedHandleType != HANDLE_TYPE_NONE &&
        prop->requestedHandleType != HANDLE_TYPE_FD)
        LEAVE(hipErrorNotSupported);
    LEAVE(create(handle, size, prop));
}

HIP_API hipError_t hipMemRelease(hipMemGenericAllocationHandle_t handle)
{
    bool held;

    ENTER();
    pthread_mutex_lock(&lock);
    held = is_held(handle);
    if (held) {
        handle->held--;
        drop_unused(handle);
    }
    pthread_mutex_unlock(&lock);
    LEAVE(held ? hipSuccess : hipErrorInvalidValue);
}

HIP_API hipError_t hipMemGetAllocationPropertiesFromHandle(
    hipMemAllocationProp *prop, hipMemGenericAllocationHandle_t handle)
{
    bool held;

    ENTER();
    pthread_mutex_lock(&lock);
    held = prop && is_held(handle);
    if (held)
        *prop = handle->prop;
    pthread_mutex_unlock(&lock);
    LEAVE(held ? hipSuccess : hipErrorInvalidValue);
}

/* ---- between processes -------------------------------------------------- */

HIP_API hipError_t
hipMemExportToShareableHandle(void *out, hipMemGenericAllocationHandle_t handle,
                              int type, unsigned long long flags)
{
    int fd = -1;
    bool fits;

    ENTER();
    pthread_mutex_lock(&lock);
    fits = out && flags == 0 && type == HANDLE_TYPE_FD && is_held(handle) &&
           handle->prop.requestedHandleType == type;
    if (fits)
        fd = fcntl(handle->fd, F_DUPFD_CLOEXEC, 0);
    pthread_mutex_unlock(&lock);
    if (!fits)
        LEAVE(hipErrorInvalidValue);
    if (fd < 0)
        LEAVE(hipErrorOutOfMemory);
    *(int *)out = fd;
    LEAVE(hipSuccess);
}

/* CUDA passes the descriptor itself, AMD's runtime a pointer to it. */
static int shared_descriptor(void *handle)
{
    enum { DESCRIPTORS = 1 << 16 }; /* no pointer is so small */

    return (uintptr_t)handle < DESCRIPTORS ? (int)(uintptr_t)handle
                                           : *(int *)handle;
}

HIP_API hipError_t hipMemImportFromShareableHandle(
    hipMemGenericAllocationHandle_t *handle, void *os_handle, int type)
{
    hipMemAllocationProp prop = {.type = TYPE_PINNED,
                                 .requestedHandleType = type,
                                 .location = {.type = LOCATION_DEVICE}};
    struct stat st;
    int fd;

    ENTER();
    if (!handle || !os_handle || type != HANDLE_TYPE_FD)
        LEAVE(hipErrorInvalidValue);
    fd = fcntl(shared_descriptor(os_handle), F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        LEAVE(hipErrorInvalidValue);
    prop.location.id = thread_device()->ordinal;
    *handle = fstat(fd, &st) == 0 && is_granular((uint64_t)st.st_size)
                  ? new_physical(fd, (uint64_t)st.st_size, &prop, true)
                  : NULL;
    if (!*handle)
        close(fd);
    LEAVE(*handle ? hipSuccess : hipErrorInvalidValue);
}

/* ---- mapping ------------------------------------------------------------ */

static hipError_t map(uint64_t base, uint64_t size, struct physical *m)
{
    struct mapping *it = malloc(sizeof(*it));

    if (!it)
        return hipErrorOutOfMemory;
    if (!sim_virtual_map(base, size, m->fd, 0, m->device->sim->ordinal)) {
        free(it);
        return hipErrorInvalidValue;
    }
    *it = (struct mapping){mappings, base, size, m};
    mappings = it;
    m->nmapped++;
    return hipSuccess;
}

HIP_API hipError_t hipMemMap(void *ptr, size_t size, size_t offset,
                             hipMemGenericAllocationHandle_t handle,
                             unsigned long long flags)
{
    hipError_t error = hipErrorInvalidValue;

    ENTER();
    /* HIP knows no offset but 0. */
    if (!ptr || (uintptr_t)ptr % SIM_VIRTUAL_GRANULE || !is_granular(size) ||
        offset != 0 || flags != 0)
        LEAVE(hipErrorInvalidValue);
    pthread_mutex_lock(&lock);
    if (is_held(handle) && size <= handle->size)
        error = map((uintptr_t)ptr, size, handle);
    pthread_mutex_unlock(&lock);
    LEAVE(error);
}

/* Maps parts of a texture's array, which is not supported. */
HIP_API hipError_t hipMemMapArrayAsync(const void *list, unsigned count,
                                       hipStream_t stream)
{
    ENTER();
    (void)stream;
    LEAVE(!list || !count ? hipErrorInvalidValue : hipErrorNotSupported);
}

static struct mapping *mapping_at(uint64_t address)
{
    struct mapping *m = mappings;

    while (m && address - m->base >= m->size)
        m = m->next;
    return m;
}

/* Whether whole mappings, one behind the other, make up the range. */
static bool is_whole(uint64_t base, uint64_t size)
{
    const uint64_t end = base + size;

    while (base < end) {
        const struct mapping *m = mapping_at(base);

        if (!m || m->base != base || m->size > end - base)
            return false;
        base += m->size;
    }
    return true;
}

static void unmap(struct mapping *m)
{
    struct mapping **link = &mappings;

    while (*link != m)
        link = &(*link)->next;
    *link = m->next;
    sim_virtual_unmap(m->base);
    m->memory->nmapped--;
    drop_unused(m->memory);
    free(m);
}

HIP_API hipError_t hipMemUnmap(void *ptr, size_t size)
{
    const uint64_t base = (uintptr_t)ptr;
    uint64_t at;
    bool whole;
    int i;

    ENTER();
    for (i = 0; i < process.ndevices; i++) /* any device may use the memory */
        queues_wait(&process.devices[i]);
    pthread_mutex_lock(&lock);
    whole = ptr && size && base + size > base && is_whole(base, size);
    for (at = base; whole && at < base + size;) {
        struct mapping *m = mapping_at(at);

        at += m->size;
        unmap(m);
    }
    pthread_mutex_unlock(&lock);
    LEAVE(whole ? hipSuccess : hipErrorInvalidValue);
}

HIP_API hipError_t hipMemRetainAllocationHandle(
    hipMemGenericAllocationHandle_t *handle, void *addr)
{
    struct mapping *m;

    ENTER();
    if (!handle || !addr)
        LEAVE(hipErrorInvalidValue);
    pthread_mutex_lock(&lock);
    m = mapping_at((uintptr_t)addr);
    if (m) {
        m->memory->held++;
        *handle = m->memory;
    }
    pthread_mutex_unlock(&lock);
    LEAVE(m ? hipSuccess : hipErrorInvalidValue);
}

/* ---- access ------------------------------------------------------------- */

static bool is_access(const hipMemAccessDesc *d)
{
    return d->location.type == LOCATION_DEVICE &&
           process_device(d->location.id) &&
           (d->flags == ACCESS_NONE || d->flags == ACCESS_READ ||
            d->flags == ACCESS_READ_WRITE);
}

static void set_bit(uint64_t *bits, int bit, bool on)
{
    if (on)
        __atomic_fetch_or(bits, UINT64_C(1) << bit, __ATOMIC_RELEASE);
    else
        __atomic_fetch_and(bits, ~(UINT64_C(1) << bit), __ATOMIC_RELEASE);
}

/* The allocation that stands for a mapping; it cannot go under the lock. */
static struct sim_alloc *allocation_of(const struct mapping *m)
{
    struct sim_alloc *a;

    sim_mem_pin();
    a = (struct sim_alloc *)(uintptr_t)sim_mem_find(m->base);
    sim_mem_unpin();
    return a;
}

HIP_API hipError_t hipMemSetAccess(void *ptr, size_t size,
                                   const hipMemAccessDesc *desc, size_t count)
{
    const uint64_t base = (uintptr_t)ptr;
    uint64_t at;
    bool good;
    size_t i;

    ENTER();
    good = ptr && size && base + size > base && desc && count;
    for (i = 0; good && i < count; i++)
        good = is_access(&desc[i]);
    pthread_mutex_lock(&lock);
    good = good && is_whole(base, size);
    for (at = base; good && at < base + size;) {
        const struct mapping *m = mapping_at(at);
        struct sim_alloc *a = allocation_of(m);

        for (i = 0; i < count; i++) {
            int device = process_device(desc[i].location.id)->sim->ordinal;

            set_bit(&a->no_read, device, !(desc[i].flags & ACCESS_READ));
            set_bit(&a->no_write, device, desc[i].flags != ACCESS_READ_WRITE);
        }
        at += m->size;
    }
    pthread_mutex_unlock(&lock);
    LEAVE(good ? hipSuccess : hipErrorInvalidValue);
}

HIP_API hipError_t hipMemGetAccess(unsigned long long *flags,
                                   const hipMemLocation *location, void *ptr)
{
    const struct mapping *m;
    uint64_t bit;

    ENTER();
    if (!flags || !location || location->type != LOCATION_DEVICE ||
        !process_device(location->id))
        LEAVE(hipErrorInvalidValue);
    bit = UINT64_C(1) << process_device(location->id)->sim->ordinal;
    pthread_mutex_lock(&lock);
    m = mapping_at((uintptr_t)ptr);
    if (m) {
        const struct sim_alloc *a = allocation_of(m);

        *flags = (a->no_read & bit)    ? ACCESS_NONE
                 : (a->no_write & bit) ? ACCESS_READ
                                       : ACCESS_READ_WRITE;
    }
    pthread_mutex_unlock(&lock);
    LEAVE(m ? hipSuccess : hipErrorInvalidValue);
}
