/* pool.c - stream-ordered allocation and memory pools
 *
 * Memory comes at once; a free happens when its stream gets to it, so that a
 * kernel that uses the memory later in the stream is caught.
 */
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

enum { NATTRIBUTES = 8, RELEASE_THRESHOLD = 4, USED_CURRENT = 7 };

struct ihipMemPoolHandle_t {
    struct ihipMemPoolHandle_t *next;
    struct device *device;
    uint64_t attributes[NATTRIBUTES + 1];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static hipMemPool_t pools;

static hipMemPool_t new_pool(struct device *device)
{
    hipMemPool_t pool = calloc(1, sizeof(*pool));
    int i;

    if (!pool || !handle_add(pool, HANDLE_POOL)) {
        free(pool);
        return NULL;
    }
    pool->device = device;
    for (i = 1; i < RELEASE_THRESHOLD; i++)
        pool->attributes[i] = 1; /* reuse in all ways */
    pool->next = pools;
    pools = pool;
    return pool;
}

static hipMemPool_t default_pool(struct device *device)
{
    pthread_mutex_lock(&lock);
    if (!device->default_pool)
        device->default_pool = new_pool(device);
    pthread_mutex_unlock(&lock);
    return device->default_pool;
}

void pools_shutdown(void)
{
    while (pools) {
        hipMemPool_t pool = pools;

        pools = pool->next;
        free(pool);
    }
}

static hipError_t allocate(void **ptr, size_t size, struct device *device,
                           struct queue *q)
{
    struct sim_alloc *a;
    hipError_t error = hipErrorContextIsDestroyed;

    if (!q)
        return error;
    error = hipErrorInvalidValue;
    if (ptr) {
        *ptr = NULL;
        error = hipSuccess;
        if (size) {
            a = sim_mem_alloc(device->sim->ordinal, size, 0, SIM_MEM_DEVICE);
            error = a ? hipSuccess : hipErrorOutOfMemory;
            if (a) {
                a->origin = BY_MALLOC;
                *ptr = (void *)(uintptr_t)a->base;
            }
        }
    }
    queue_unref(q);
    return error;
}

HIP_API hipError_t hipMallocAsync(void **ptr, size_t size, hipStream_t stream)
{
    struct queue *q;

    ENTER();
    q = stream_queue(stream);
    LEAVE(allocate(ptr, size, q ? q->device : NULL, q));
}

HIP_API hipError_t hipMallocFromPoolAsync(void **ptr, size_t size,
                                          hipMemPool_t pool, hipStream_t stream)
{
    ENTER();
    if (!handle_valid(pool, HANDLE_POOL))
        LEAVE(hipErrorInvalidValue);
    LEAVE(allocate(ptr, size, pool->device, stream_queue(stream)));
}

struct free_op {
    struct op op;
    uint64_t base;
};

static hipError_t run_free(struct op *op)
{
    sim_mem_free(((struct free_op *)op)->base);
    return hipSuccess;
}

HIP_API hipError_t hipFreeAsync(void *ptr, hipStream_t stream)
{
    hipError_t error = hipErrorOutOfMemory;
    struct sim_alloc a;
    struct free_op *f;
    struct queue *q;

    ENTER();
    if (!ptr || !find_allocation(ptr, &a) || a.base != (uintptr_t)ptr ||
        a.origin != BY_MALLOC)
        LEAVE(hipErrorInvalidValue);
    q = stream_queue(stream);
    if (!q)
        LEAVE(hipErrorContextIsDestroyed);
    f = (struct free_op *)new_op(sizeof(*f), run_free, NULL);
    if (f) {
        f->base = a.base;
        f->op.runs_after_fault = true;
        error = submit(q, &f->op);
    }
    queue_unref(q);
    LEAVE(error);
}

HIP_API hipError_t hipMemPoolCreate(hipMemPool_t *pool,
                                    const hipMemPoolProps *props)
{
    ENTER();
    if (!pool || !props || props->allocType != 1 || props->location.type != 1)
        LEAVE(hipErrorInvalidValue);
    if (!device_at(props->location.id))
        LEAVE(hipErrorInvalidDevice);
    pthread_mutex_lock(&lock);
    *pool = new_pool(device_at(props->location.id));
    pthread_mutex_unlock(&lock);
    LEAVE(*pool ? hipSuccess : hipErrorOutOfMemory);
}

HIP_API hipError_t hipMemPoolDestroy(hipMemPool_t pool)
{
    hipMemPool_t *link;
    int i;

    ENTER();
    for (i = 0; i < rt.ndevices; i++)
        if (pool && pool == rt.devices[i].default_pool)
            LEAVE(hipErrorInvalidValue);
    pthread_mutex_lock(&lock);
    if (!pool || !handle_remove(pool, HANDLE_POOL)) {
        pthread_mutex_unlock(&lock);
        LEAVE(hipErrorInvalidValue);
    }
    for (link = &pools; *link && *link != pool; link = &(*link)->next)
        ;
    *link = pool->next;
    for (i = 0; i < rt.ndevices; i++)
        if (rt.devices[i].current_pool == pool)
            rt.devices[i].current_pool = NULL;
    pthread_mutex_unlock(&lock);
    free(pool);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t *pool, int device)
{
    ENTER();
    if (!pool)
        LEAVE(hipErrorInvalidValue);
    if (!device_at(device))
        LEAVE(hipErrorInvalidDevice);
    *pool = default_pool(device_at(device));
    LEAVE(*pool ? hipSuccess : hipErrorOutOfMemory);
}

HIP_API hipError_t hipDeviceGetMemPool(hipMemPool_t *pool, int device)
{
    struct device *d;

    ENTER();
    if (!pool)
        LEAVE(hipErrorInvalidValue);
    d = device_at(device);
    if (!d)
        LEAVE(hipErrorInvalidDevice);
    *pool = d->current_pool ? d->current_pool : default_pool(d);
    LEAVE(*pool ? hipSuccess : hipErrorOutOfMemory);
}

HIP_API hipError_t hipDeviceSetMemPool(int device, hipMemPool_t pool)
{
    ENTER();
    if (!device_at(device))
        LEAVE(hipErrorInvalidDevice);
    if (!handle_valid(pool, HANDLE_POOL) || pool->device != device_at(device))
        LEAVE(hipErrorInvalidValue);
    device_at(device)->current_pool = pool;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipMemPoolTrimTo(hipMemPool_t pool, size_t keep)
{
    ENTER();
    (void)keep; /* nothing is held back */
    LEAVE(handle_valid(pool, HANDLE_POOL) ? hipSuccess : hipErrorInvalidValue);
}

/* The first three attributes are ints, the others 64-bit sizes. */
HIP_API hipError_t hipMemPoolSetAttribute(hipMemPool_t pool, int attribute,
                                          void *value)
{
    ENTER();
    if (!handle_valid(pool, HANDLE_POOL) || !value || attribute < 1 ||
        attribute > NATTRIBUTES)
        LEAVE(hipErrorInvalidValue);
    if (attribute < RELEASE_THRESHOLD)
        pool->attributes[attribute] = (uint64_t) * (const int *)value;
    else
        memcpy(&pool->attributes[attribute], value, 8);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipMemPoolGetAttribute(hipMemPool_t pool, int attribute,
                                          void *value)
{
    uint64_t used, total;

    ENTER();
    if (!handle_valid(pool, HANDLE_POOL) || !value || attribute < 1 ||
        attribute > NATTRIBUTES)
        LEAVE(hipErrorInvalidValue);
    if (attribute == USED_CURRENT) {
        sim_mem_info(pool->device->sim->ordinal, &used, &total);
        memcpy(value, &used, 8);
    } else if (attribute < RELEASE_THRESHOLD) {
        *(int *)value = (int)pool->attributes[attribute];
    } else {
        memcpy(value, &pool->attributes[attribute], 8);
    }
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipMemPoolSetAccess(hipMemPool_t pool,
                                       const hipMemAccessDesc *list, size_t n)
{
    ENTER();
    LEAVE(handle_valid(pool, HANDLE_POOL) && list && n ? hipSuccess
                                                       : hipErrorInvalidValue);
}

HIP_API hipError_t hipMemPoolGetAccess(int *flags, hipMemPool_t pool,
                                       const hipMemLocation *location)
{
    ENTER();
    if (!flags || !handle_valid(pool, HANDLE_POOL) || !location)
        LEAVE(hipErrorInvalidValue);
    *flags = 3; /* read and write */
    LEAVE(hipSuccess);
}
