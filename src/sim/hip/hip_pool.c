/* hip_pool.c - stream-ordered allocation and memory pools
 *
 * A pool holds chunks, each an allocation of its own that ends at the byte that
 * was asked for. hipMallocAsync() gives a chunk at once; hipFreeAsync() takes
 * it out of the pool's use at once, too, but kernels of the stream that come
 * before may use it, hence an operation on the stream marks the time from which
 * nobody may: until it is handed out again the chunk counts as freed.
 *
 * A freed chunk goes to the next request of the same size, where its stream
 * asks, or one that waits for that, or where the stream has come to the free
 * (hipMemPoolReuse...). Freed bytes beyond the release threshold go back to the
 * device when the program waits for a stream or for the device.
 */
#define _GNU_SOURCE
#include "hip_pool.h"

#include "allocation_lookup.h"
#include "call.h"
#include "capture_node.h"
#include "capture_state.h"
#include "handle.h"
#include "hip_graph_memory.h"
#include "hip_ipc.h"
#include "hip_peer.h"
#include "op_queue.h"
#include "origin.h"
#include "process_state.h"
#include "stream_queue.h"
#include "thread_state.h"

#include "../base/allocation.h"
#include "../base/host_access.h"
#include "../base/reservation.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum attribute {
    REUSE_FOLLOW_EVENTS = 1,
    REUSE_OPPORTUNISTIC,
    REUSE_INTERNAL,
    RELEASE_THRESHOLD,
    RESERVED_CURRENT,
    RESERVED_HIGH,
    USED_CURRENT,
    USED_HIGH,
    NATTRIBUTES
};

enum { ACCESS_NONE = 0, ACCESS_READ = 1, ACCESS_READ_WRITE = 3 };
enum { LOCATION_DEVICE = 1, TYPE_PINNED = 1 };

struct chunk {
    struct chunk *next;
    hipMemPool_t pool;
    uint64_t base, size;
    bool in_use;
    struct queue *stream;  /* the freeing stream, which may reuse the chunk;
                            * NULL: any stream, as the host waited */
    struct queue *waiter;  /* waits for an event of `stream`; may be NULL */
    struct op *freed;      /* until the stream has come to the free */
    uint64_t times_handed; /* tells frees of successive owners apart */
};

struct ihipMemPoolHandle_t {
    struct ihipMemPoolHandle_t *next;
    struct device *device;
    struct chunk *chunks;
    uint64_t used, held; /* bytes in use; freed and not given back */
    uint64_t max_size;   /* 0: no limit */
    bool destroyed;      /* goes with its last chunk in use */
    bool imported;       /* another process allocates from it */
    int handle_types;    /* kinds of handles for exports */
    uint64_t attributes[NATTRIBUTES];
    int access[MAX_DEVICES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static hipMemPool_t pools;

/* ---- pools and chunks, with the lock held ------------------------------- */

static hipMemPool_t new_pool(struct device *device)
{
    hipMemPool_t pool = calloc(1, sizeof(*pool));
    int i;

    if (!pool || !handle_add(pool, HANDLE_POOL)) {
        free(pool);
        return NULL;
    }
    pool->device = device;
    for (i = REUSE_FOLLOW_EVENTS; i < RELEASE_THRESHOLD; i++)
        pool->attributes[i] = 1;
    pool->access[device->ordinal] = ACCESS_READ_WRITE;
    pool->next = pools;
    pools = pool;
    return pool;
}

static struct chunk *chunk_at(uint64_t base)
{
    hipMemPool_t pool;
    struct chunk *c;

    for (pool = pools; pool; pool = pool->next)
        for (c = pool->chunks; c; c = c->next)
            if (c->base == base)
                return c;
    return NULL;
}

static void raise_marks(hipMemPool_t pool)
{
    uint64_t *reserved = &pool->attributes[RESERVED_HIGH];
    uint64_t *used = &pool->attributes[USED_HIGH];

    if (*used < pool->used)
        *used = pool->used;
    if (*reserved < pool->used + pool->held)
        *reserved = pool->used + pool->held;
}

static void drop_marks_of_free(struct chunk *c)
{
    op_unref(c->freed);
    if (c->stream)
        queue_unref(c->stream);
    if (c->waiter)
        queue_unref(c->waiter);
    c->freed = NULL;
    c->stream = c->waiter = NULL;
}

static void free_chunk(struct chunk *c)
{
    struct chunk **link = &c->pool->chunks;

    while (*link != c)
        link = &(*link)->next;
    *link = c->next;
    if (c->in_use)
        c->pool->used -= c->size;
    else
        c->pool->held -= c->size;
    sim_mem_resume(c->base); /* or it would count as freed already */
    sim_mem_free(c->base);
    drop_marks_of_free(c);
    free(c);
}

static bool is_idle(const struct chunk *c)
{
    return !c->in_use && (!c->freed || op_done(c->freed));
}

/* Gives chunks back until no more than `keep` bytes are held. */
static void trim(hipMemPool_t pool, uint64_t keep)
{
    struct chunk *c, *next;

    for (c = pool->chunks; c && pool->held > keep; c = next) {
        next = c->next;
        if (is_idle(c))
            free_chunk(c);
    }
}

static void free_pool(hipMemPool_t pool)
{
    hipMemPool_t *link = &pools;

    while (*link != pool)
        link = &(*link)->next;
    *link = pool->next;
    while (pool->chunks)
        free_chunk(pool->chunks);
    free(pool);
}

/* A chunk came to the end of its use; the pool may have, too. */
static void settle(hipMemPool_t pool)
{
    struct chunk *c;

    trim(pool, pool->attributes[RELEASE_THRESHOLD]);
    if (!pool->destroyed)
        return;
    for (c = pool->chunks; c; c = c->next)
        if (!is_idle(c))
            return;
    free_pool(pool);
}

static bool may_reuse(const struct chunk *c, uint64_t size,
                      const struct queue *stream)
{
    if (c->in_use || c->size != size)
        return false;
    if (!c->stream || c->stream == stream || c->waiter == stream)
        return true;
    return c->pool->attributes[REUSE_OPPORTUNISTIC] && is_idle(c);
}

static struct chunk *take_chunk(hipMemPool_t pool, uint64_t size,
                                const struct queue *stream)
{
    struct chunk *c;

    for (c = pool->chunks; c && !may_reuse(c, size, stream); c = c->next)
        ;
    if (!c)
        return NULL;
    drop_marks_of_free(c);
    sim_mem_resume(c->base);
    sim_mem_forget_written(c->base, size);
    pool->held -= size;
    return c;
}

static struct chunk *make_chunk(hipMemPool_t pool, uint64_t size)
{
    struct sim_alloc *a;
    struct chunk *c;
    int i;

    if (pool->max_size && pool->used + pool->held + size > pool->max_size)
        trim(pool, 0);
    if (pool->max_size && pool->used + pool->held + size > pool->max_size)
        return NULL;
    /* HIP 6 compares the pool's highest size so far with the limit, so freed
     * memory cannot be allocated again. */
    if (process.release == 6 && pool->max_size &&
        pool->attributes[RESERVED_HIGH] + size > pool->max_size)
        return NULL;
    c = calloc(1, sizeof(*c));
    a = c ? sim_mem_alloc(pool->device->sim->ordinal, size, 0, SIM_MEM_DEVICE)
          : NULL;
    if (!a) {
        free(c);
        return NULL;
    }
    a->origin = BY_POOL;
    peers_bar(a);
    c->pool = pool;
    c->base = a->base;
    c->size = size;
    c->next = pool->chunks;
    pool->chunks = c;
    for (i = 0; i < process.ndevices; i++)
        if (pool->access[i] != ACCESS_NONE)
            peers_let_in(c->base, &process.devices[i]);
    return c;
}

static void *allocate_from(hipMemPool_t pool, uint64_t size,
                           const struct queue *stream)
{
    struct chunk *c = take_chunk(pool, size, stream);

    if (!c)
        c = make_chunk(pool, size);
    if (!c)
        return NULL;
    c->in_use = true;
    c->times_handed++;
    pool->used += size;
    raise_marks(pool);
    return (void *)(uintptr_t)c->base;
}

static hipMemPool_t default_pool(struct device *device)
{
    if (!device->default_pool)
        device->default_pool = new_pool(device);
    return device->default_pool;
}

static hipMemPool_t current_pool(struct device *device)
{
    return device->current_pool ? device->current_pool : default_pool(device);
}

/* ---- calls from other files --------------------------------------------- */

void pools_shutdown(void)
{
    while (pools) {
        hipMemPool_t pool = pools;

        pools = pool->next;
        while (pool->chunks) {
            struct chunk *c = pool->chunks;

            pool->chunks = c->next;
            drop_marks_of_free(c);
            free(c);
        }
        free(pool);
    }
}

/* With nothing running on the device. */
void pools_reset(const struct device *device)
{
    hipMemPool_t pool;

    pthread_mutex_lock(&lock);
    for (pool = pools; pool; pool = pool->next)
        while (pool->device == device && pool->chunks)
            free_chunk(pool->chunks);
    pthread_mutex_unlock(&lock);
}

void pools_trim(const struct device *device)
{
    hipMemPool_t pool;

    pthread_mutex_lock(&lock);
    for (pool = pools; pool; pool = pool->next)
        if (pool->device == device)
            trim(pool, pool->attributes[RELEASE_THRESHOLD]);
    pthread_mutex_unlock(&lock);
}

void pools_empty(void)
{
    hipMemPool_t pool;

    pthread_mutex_lock(&lock);
    for (pool = pools; pool; pool = pool->next)
        trim(pool, 0);
    pthread_mutex_unlock(&lock);
}

void pools_follow(const struct queue *stream, struct queue *waiter)
{
    hipMemPool_t pool;
    struct chunk *c;

    pthread_mutex_lock(&lock);
    for (pool = pools; pool; pool = pool->next)
        for (c = pool->chunks; c; c = c->next)
            if (c->freed && c->stream == stream && !c->waiter &&
                pool->attributes[REUSE_FOLLOW_EVENTS]) {
                c->waiter = waiter;
                queue_ref(waiter);
            }
    pthread_mutex_unlock(&lock);
}

static void hold(struct chunk *c)
{
    c->in_use = false;
    c->pool->used -= c->size;
    c->pool->held += c->size;
}

hipError_t pool_free(uint64_t base)
{
    struct chunk *c;

    pthread_mutex_lock(&lock);
    c = chunk_at(base);
    if (c && c->in_use) {
        hold(c);
        sim_mem_suspend(base);
        settle(c->pool);
    }
    pthread_mutex_unlock(&lock);
    return c ? hipSuccess : hipErrorInvalidValue;
}

/* ---- allocating and freeing --------------------------------------------- */

static hipError_t allocate(void **ptr, size_t size, hipMemPool_t pool,
                           struct queue *q)
{
    hipError_t error = hipSuccess;

    if (!q)
        return hipErrorInvalidHandle;
    *ptr = NULL;
    if (size && !pool)
        error = capture_forbids_pool(q);
    if (error == hipSuccess && size && capture_is_active(q)) {
        error = capture_alloc(q, pool ? pool->device : q->device, size, ptr);
    } else if (error == hipSuccess && size) {
        pthread_mutex_lock(&lock);
        if (!pool)
            pool = current_pool(q->device);
        if (pool)
            *ptr = allocate_from(pool, size, q);
        pthread_mutex_unlock(&lock);
        error = *ptr ? hipSuccess : hipErrorOutOfMemory;
    }
    queue_unref(q);
    return error;
}

HIP_API hipError_t hipMallocAsync(void **ptr, size_t size, hipStream_t stream)
{
    ENTER();
    if (!ptr)
        LEAVE(hipErrorInvalidValue);
    LEAVE(allocate(ptr, size, NULL, stream_queue(stream)));
}

HIP_API hipError_t hipMallocFromPoolAsync(void **ptr, size_t size,
                                          hipMemPool_t pool, hipStream_t stream)
{
    ENTER();
    if (!ptr || !handle_valid(pool, HANDLE_POOL) || pool->imported)
        LEAVE(hipErrorInvalidValue);
    LEAVE(allocate(ptr, size, pool, stream_queue(stream)));
}

struct free_op {
    struct op op;
    uint64_t base;
    uint64_t times_handed; /* the chunk's, at the free */
    bool of_pool;
};

static hipError_t run_free(struct op *op)
{
    const struct free_op *f = (const struct free_op *)op;
    struct chunk *c;

    if (!f->of_pool) {
        sim_mem_free(f->base);
        return hipSuccess;
    }
    pthread_mutex_lock(&lock);
    c = chunk_at(f->base);
    if (c && !c->in_use && c->times_handed == f->times_handed) {
        op_unref(c->freed); /* a reference to this operation */
        c->freed = NULL;
        sim_mem_suspend(f->base);
        if (c->pool->destroyed)
            settle(c->pool);
    }
    pthread_mutex_unlock(&lock);
    return hipSuccess;
}

/* Records a free in the pool before its stream executes it. */
static bool note_free(struct free_op *f, struct queue *q)
{
    struct chunk *c = chunk_at(f->base);

    if (!c || !c->in_use)
        return false;
    hold(c);
    f->times_handed = c->times_handed;
    c->freed = op_ref(&f->op);
    c->stream = q;
    queue_ref(q);
    return true;
}

static hipError_t free_on(const struct sim_alloc *a, struct queue *q)
{
    hipError_t error = hipErrorOutOfMemory;
    struct free_op *f = (struct free_op *)op_new(sizeof(*f), run_free, NULL);

    if (!f)
        return error;
    f->base = a->base;
    f->of_pool = a->origin == BY_POOL;
    f->op.runs_after_fault = true;
    pthread_mutex_lock(&lock);
    if (f->of_pool && !note_free(f, q)) {
        op_unref(&f->op);
        error = hipErrorInvalidValue;
    } else {
        error = op_submit(q, &f->op);
    }
    pthread_mutex_unlock(&lock);
    return error;
}

hipError_t pool_free_in_order(void *ptr, struct queue *q)
{
    struct sim_alloc a;

    if (!allocation_find(ptr, &a) || a.base != (uintptr_t)ptr)
        return hipErrorInvalidValue;
    switch (a.origin) {
    case BY_GRAPH:
        return graph_memory_free(a.base, q);
    case BY_IMPORT:
        return ipc_import_free(a.base, q);
    case BY_MALLOC:
    case BY_POOL:
        return free_on(&a, q);
    default:
        return hipErrorInvalidValue;
    }
}

HIP_API hipError_t hipFreeAsync(void *ptr, hipStream_t stream)
{
    hipError_t error;
    struct sim_alloc a;
    struct queue *q;

    ENTER();
    if (!ptr)
        LEAVE(hipErrorInvalidValue);
    q = stream_queue(stream);
    if (!q)
        LEAVE(hipErrorInvalidHandle);
    error = capture_forbids_pool(q);
    if (error == hipSuccess && !capture_is_active(q))
        error = pool_free_in_order(ptr, q);
    else if (error == hipSuccess)
        error = allocation_find(ptr, &a) && a.base == (uintptr_t)ptr
                    ? capture_free(q, ptr)
                    : hipErrorInvalidValue;
    queue_unref(q);
    LEAVE(error);
}

/* ---- pools -------------------------------------------------------------- */

HIP_API hipError_t hipMemPoolCreate(hipMemPool_t *pool,
                                    const hipMemPoolProps *props)
{
    ENTER();
    if (!pool || !props || props->allocType != TYPE_PINNED ||
        props->location.type != LOCATION_DEVICE ||
        !process_device(props->location.id))
        LEAVE(hipErrorInvalidValue);
    pthread_mutex_lock(&lock);
    *pool = new_pool(process_device(props->location.id));
    if (*pool && process.release >= 6)
        (*pool)->max_size = props->maxSize;
    if (*pool)
        (*pool)->handle_types = props->handleTypes;
    pthread_mutex_unlock(&lock);
    LEAVE(*pool ? hipSuccess : hipErrorOutOfMemory);
}

HIP_API hipError_t hipMemPoolDestroy(hipMemPool_t pool)
{
    struct device *device;

    ENTER();
    pthread_mutex_lock(&lock);
    if (!handle_valid(pool, HANDLE_POOL) ||
        pool == pool->device->default_pool) {
        pthread_mutex_unlock(&lock);
        LEAVE(hipErrorInvalidValue);
    }
    handle_remove(pool, HANDLE_POOL);
    device = pool->device;
    if (device->current_pool == pool)
        device->current_pool = NULL;
    pool->destroyed = true;
    pool->attributes[RELEASE_THRESHOLD] = 0;
    settle(pool);
    pthread_mutex_unlock(&lock);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t *pool, int device)
{
    ENTER();
    if (!pool)
        LEAVE(hipErrorInvalidValue);
    if (!process_device(device))
        LEAVE(hipErrorInvalidDevice);
    pthread_mutex_lock(&lock);
    *pool = default_pool(process_device(device));
    pthread_mutex_unlock(&lock);
    LEAVE(*pool ? hipSuccess : hipErrorOutOfMemory);
}

HIP_API hipError_t hipDeviceGetMemPool(hipMemPool_t *pool, int device)
{
    ENTER();
    if (!pool || !process_device(device))
        LEAVE(hipErrorInvalidValue);
    pthread_mutex_lock(&lock);
    *pool = current_pool(process_device(device));
    pthread_mutex_unlock(&lock);
    LEAVE(*pool ? hipSuccess : hipErrorOutOfMemory);
}

HIP_API hipError_t hipDeviceSetMemPool(int device, hipMemPool_t pool)
{
    ENTER();
    if (!process_device(device) || !handle_valid(pool, HANDLE_POOL))
        LEAVE(hipErrorInvalidValue);
    if (pool->device != process_device(device))
        LEAVE(hipErrorInvalidDevice);
    pthread_mutex_lock(&lock);
    process_device(device)->current_pool = pool;
    pthread_mutex_unlock(&lock);
    LEAVE(hipSuccess);
}

/* The device of a place and kind of memory. Pools exist only for pinned memory
 * on a device. */
static struct device *pool_place(const hipMemLocation *location, int type)
{
    enum { PINNED = 1, ON_DEVICE = 1 };

    return location && location->type == ON_DEVICE && type == PINNED
               ? process_device(location->id)
               : NULL;
}

static hipError_t pool_at(hipMemPool_t *pool, const hipMemLocation *location,
                          int type, hipMemPool_t (*which)(struct device *))
{
    struct device *d = pool_place(location, type);

    if (!pool || !d)
        return hipErrorInvalidValue;
    pthread_mutex_lock(&lock);
    *pool = which(d);
    pthread_mutex_unlock(&lock);
    return *pool ? hipSuccess : hipErrorOutOfMemory;
}

HIP_API hipError_t hipMemGetDefaultMemPool(hipMemPool_t *pool,
                                           const hipMemLocation *location,
                                           int type)
{
    ENTER();
    LEAVE(pool_at(pool, location, type, default_pool));
}

HIP_API hipError_t hipMemGetMemPool(hipMemPool_t *pool,
                                    const hipMemLocation *location, int type)
{
    ENTER();
    LEAVE(pool_at(pool, location, type, current_pool));
}

HIP_API hipError_t hipMemSetMemPool(const hipMemLocation *location, int type,
                                    hipMemPool_t pool)
{
    struct device *d;

    ENTER();
    d = pool_place(location, type);
    if (!d || !handle_valid(pool, HANDLE_POOL) || pool->device != d)
        LEAVE(hipErrorInvalidValue);
    pthread_mutex_lock(&lock);
    d->current_pool = pool;
    pthread_mutex_unlock(&lock);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipMemPoolTrimTo(hipMemPool_t pool, size_t keep)
{
    ENTER();
    if (!handle_valid(pool, HANDLE_POOL))
        LEAVE(hipErrorInvalidValue);
    pthread_mutex_lock(&lock);
    trim(pool, keep);
    pthread_mutex_unlock(&lock);
    LEAVE(hipSuccess);
}

/* ---- between processes: the pointers are in hip_ipc.c -------------------- */

enum { HANDLE_TYPE_FD = 1 };

/* Behind the descriptor is which devices have access, and no more: what is
 * allocated from the pool is exported one by one. */
HIP_API hipError_t hipMemPoolExportToShareableHandle(void *out,
                                                     hipMemPool_t pool,
                                                     int type, unsigned flags)
{
    int access[MAX_DEVICES], fd;

    ENTER();
    if (!out || !handle_valid(pool, HANDLE_POOL) || flags != 0 ||
        type != HANDLE_TYPE_FD || pool->handle_types != type)
        LEAVE(hipErrorInvalidValue);
    fd = sim_physical_new(SIM_VIRTUAL_GRANULE);
    if (fd < 0)
        LEAVE(hipErrorOutOfMemory);
    pthread_mutex_lock(&lock);
    memcpy(access, pool->access, sizeof(access));
    pthread_mutex_unlock(&lock);
    if (pwrite(fd, access, sizeof(access), 0) != sizeof(access)) {
        close(fd);
        LEAVE(hipErrorOutOfMemory);
    }
    *(int *)out = fd;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipMemPoolImportFromShareableHandle(hipMemPool_t *pool,
                                                       void *handle, int type,
                                                       unsigned flags)
{
    int access[MAX_DEVICES];

    ENTER();
    if (!pool || !handle || flags != 0 || type != HANDLE_TYPE_FD ||
        pread((int)(uintptr_t)handle, access, sizeof(access), 0) !=
            sizeof(access))
        LEAVE(hipErrorInvalidValue);
    pthread_mutex_lock(&lock);
    *pool = new_pool(thread_device());
    if (*pool) {
        (*pool)->imported = true;
        memcpy((*pool)->access, access, sizeof(access));
    }
    pthread_mutex_unlock(&lock);
    LEAVE(*pool ? hipSuccess : hipErrorOutOfMemory);
}

/* ---- attributes --------------------------------------------------------- */

/* The first three are ints, the others 64-bit sizes. */
static bool is_int(int attribute)
{
    return attribute < RELEASE_THRESHOLD;
}

static hipError_t set_attribute(hipMemPool_t pool, int attribute, void *value)
{
    uint64_t size = 0;

    if (is_int(attribute)) {
        pool->attributes[attribute] = *(const int *)value != 0;
        return hipSuccess;
    }
    memcpy(&size, value, sizeof(size));
    /* Current sizes cannot be set, high-water marks only be cleared. */
    if (attribute == RESERVED_CURRENT || attribute == USED_CURRENT ||
        (attribute != RELEASE_THRESHOLD && size != 0))
        return hipErrorInvalidValue;
    pool->attributes[attribute] = size;
    return hipSuccess;
}

HIP_API hipError_t hipMemPoolSetAttribute(hipMemPool_t pool, int attribute,
                                          void *value)
{
    hipError_t error;

    ENTER();
    if (!handle_valid(pool, HANDLE_POOL) || !value || attribute < 1 ||
        attribute >= NATTRIBUTES)
        LEAVE(hipErrorInvalidValue);
    pthread_mutex_lock(&lock);
    error = set_attribute(pool, attribute, value);
    pthread_mutex_unlock(&lock);
    LEAVE(error);
}

HIP_API hipError_t hipMemPoolGetAttribute(hipMemPool_t pool, int attribute,
                                          void *value)
{
    uint64_t size;

    ENTER();
    if (!handle_valid(pool, HANDLE_POOL) || !value || attribute < 1 ||
        attribute >= NATTRIBUTES)
        LEAVE(hipErrorInvalidValue);
    pthread_mutex_lock(&lock);
    size = attribute == USED_CURRENT       ? pool->used
           : attribute == RESERVED_CURRENT ? pool->used + pool->held
                                           : pool->attributes[attribute];
    pthread_mutex_unlock(&lock);
    if (is_int(attribute))
        *(int *)value = (int)size;
    else
        memcpy(value, &size, sizeof(size));
    LEAVE(hipSuccess);
}

/* ---- access by devices --------------------------------------------------- */

static hipError_t check_access(const hipMemAccessDesc *list, size_t n)
{
    size_t i;

    if (n > (size_t)process.ndevices)
        return hipErrorInvalidDevice;
    for (i = 0; i < n; i++) {
        if (list[i].location.type != LOCATION_DEVICE)
            return hipErrorInvalidValue;
        if (!process_device(list[i].location.id) ||
            list[i].flags == ACCESS_NONE)
            return hipErrorInvalidDevice;
        if (list[i].flags < ACCESS_NONE || list[i].flags > ACCESS_READ_WRITE)
            return hipErrorInvalidValue;
    }
    return hipSuccess;
}

/* AMD's runtime maps the pool's memory for reading and writing, whichever of
 * the two is asked for. */
static void give_access(hipMemPool_t pool, int device, int access)
{
    struct chunk *c;

    pool->access[device] = access;
    for (c = pool->chunks; c; c = c->next)
        peers_let_in(c->base, process_device(device));
}

HIP_API hipError_t hipMemPoolSetAccess(hipMemPool_t pool,
                                       const hipMemAccessDesc *list, size_t n)
{
    hipError_t error;
    size_t i;

    ENTER();
    if (!handle_valid(pool, HANDLE_POOL) || !list)
        LEAVE(hipErrorInvalidValue);
    error = check_access(list, n);
    if (error != hipSuccess)
        LEAVE(error);
    pthread_mutex_lock(&lock);
    for (i = 0; i < n; i++)
        if (process_device(list[i].location.id) != pool->device)
            give_access(pool, list[i].location.id, (int)list[i].flags);
    pthread_mutex_unlock(&lock);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipMemPoolGetAccess(int *flags, hipMemPool_t pool,
                                       const hipMemLocation *location)
{
    ENTER();
    if (!flags || !handle_valid(pool, HANDLE_POOL) || !location ||
        location->type != LOCATION_DEVICE || !process_device(location->id))
        LEAVE(hipErrorInvalidValue);
    pthread_mutex_lock(&lock);
    *flags = pool->access[location->id];
    pthread_mutex_unlock(&lock);
    LEAVE(hipSuccess);
}
