/* hip_graph_memory.c - memory that graphs allocate and free
 *
 * A node that allocates has its address from the start, so that later nodes can
 * name it. The memory itself is there from the time that the node runs until
 * something frees it: a node of this graph or of another, hipFree() or
 * hipFreeAsync(). It outlives the graph, if need be.
 */
#include "hip_graph_memory.h"

#include "call.h"
#include "op_queue.h"
#include "origin.h"
#include "process_state.h"

#include "../base/allocation.h"
#include "../base/reservation.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct graph_memory {
    struct graph_memory *next;
    unsigned refs; /* nodes, operations under way, and being mapped */
    uint64_t base, size, reserved;
    struct device *device;
    bool allocated;    /* as the program sees it after its calls return */
    bool mapped;       /* accessible on the device */
    bool freed_by;     /* some node frees it */
    bool instantiated; /* in an instantiated graph, one at a time */
};

enum attribute { USED, USED_HIGH, RESERVED, RESERVED_HIGH, NATTRIBUTES };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct graph_memory *memories;
static uint64_t used[MAX_DEVICES], used_high[MAX_DEVICES],
    reserved_high[MAX_DEVICES];

struct graph_memory *graph_memory_new(struct device *device, uint64_t size)
{
    struct graph_memory *m = calloc(1, sizeof(*m));

    if (!m || size > UINT64_MAX / 4) {
        free(m);
        return NULL;
    }
    m->device = device;
    m->size = size;
    /* One page more: running off the end never meets a neighbour. */
    m->reserved = (size + 2 * SIM_VIRTUAL_GRANULE - 1) &
                  ~(uint64_t)(SIM_VIRTUAL_GRANULE - 1);
    m->base = sim_virtual_reserve(m->reserved, 0, 0);
    if (!m->base) {
        free(m);
        return NULL;
    }
    m->refs = 1;
    pthread_mutex_lock(&lock);
    m->next = memories;
    memories = m;
    pthread_mutex_unlock(&lock);
    return m;
}

void *graph_memory_address(const struct graph_memory *m)
{
    return (void *)(uintptr_t)m->base;
}

struct graph_memory *graph_memory_ref(struct graph_memory *m)
{
    if (!m)
        return NULL;
    pthread_mutex_lock(&lock);
    m->refs++;
    pthread_mutex_unlock(&lock);
    return m;
}

/* With the lock held. */
static void unref(struct graph_memory *m)
{
    struct graph_memory **link = &memories;

    if (--m->refs)
        return;
    while (*link != m)
        link = &(*link)->next;
    *link = m->next;
    sim_virtual_release(m->base, m->reserved);
    free(m);
}

void graph_memory_unref(struct graph_memory *m)
{
    if (!m)
        return;
    pthread_mutex_lock(&lock);
    unref(m);
    pthread_mutex_unlock(&lock);
}

/* The memory that holds the address; with the lock held. */
static struct graph_memory *find(uint64_t address)
{
    struct graph_memory *m = memories;

    while (m && address - m->base >= m->size)
        m = m->next;
    return m;
}

bool graph_memory_at(const void *ptr, struct sim_alloc *out)
{
    const struct graph_memory *m;

    pthread_mutex_lock(&lock);
    m = find((uintptr_t)ptr);
    if (m && out)
        *out = (struct sim_alloc){.base = m->base,
                                  .size = m->size,
                                  .kind = SIM_MEM_DEVICE,
                                  .device = m->device->sim->ordinal,
                                  .origin = BY_GRAPH};
    pthread_mutex_unlock(&lock);
    return m != NULL;
}

struct graph_memory *graph_memory_to_free(const void *ptr)
{
    struct graph_memory *m;

    pthread_mutex_lock(&lock);
    m = find((uintptr_t)ptr);
    if (m && (m->base != (uintptr_t)ptr || m->freed_by))
        m = NULL;
    if (m) {
        m->freed_by = true;
        m->refs++;
    }
    pthread_mutex_unlock(&lock);
    return m;
}

bool graph_memory_claim(struct graph_memory *m, bool claim)
{
    bool ok;

    pthread_mutex_lock(&lock);
    ok = !claim || !m->instantiated;
    if (ok)
        m->instantiated = claim;
    pthread_mutex_unlock(&lock);
    return ok;
}

/* ---- on the device's side; with the lock held --------------------------- */

static void raise_to(uint64_t *high, uint64_t value)
{
    if (*high < value)
        *high = value;
}

static bool map(struct graph_memory *m)
{
    const int device = m->device->sim->ordinal;
    struct sim_alloc *a = NULL;
    int fd;

    if (!sim_mem_charge(device, m->size))
        return false;
    fd = sim_physical_new(m->size);
    if (fd >= 0) {
        a = sim_virtual_map(m->base, m->size, fd, 0, device);
        close(fd); /* the mapping keeps it */
    }
    if (!a) {
        sim_mem_discharge(device, m->size);
        return false;
    }
    a->no_read = a->no_write = 0;
    a->origin = BY_GRAPH;
    m->mapped = true;
    m->refs++;
    used[m->device->ordinal] += m->size;
    raise_to(&used_high[m->device->ordinal], used[m->device->ordinal]);
    raise_to(&reserved_high[m->device->ordinal], used[m->device->ordinal]);
    return true;
}

static void unmap(struct graph_memory *m)
{
    if (!m->mapped)
        return;
    sim_virtual_unmap(m->base);
    sim_mem_discharge(m->device->sim->ordinal, m->size);
    m->mapped = false;
    used[m->device->ordinal] -= m->size;
    unref(m);
}

struct memory_op {
    struct op op;
    struct graph_memory *memory;
    bool allocates;
};

static hipError_t run_memory(struct op *op)
{
    const struct memory_op *o = (const struct memory_op *)op;
    hipError_t error = hipSuccess;

    pthread_mutex_lock(&lock);
    if (!o->allocates)
        unmap(o->memory);
    else if (!o->memory->mapped && !map(o->memory))
        error = hipErrorOutOfMemory;
    pthread_mutex_unlock(&lock);
    if (error != hipSuccess)
        process_complain(
            "a graph allocates %llu bytes, and the device has not so much",
            (unsigned long long)o->memory->size);
    return error;
}

static void release_memory(struct op *op)
{
    graph_memory_unref(((struct memory_op *)op)->memory);
}

hipError_t graph_memory_run(struct graph_memory *m, bool allocates,
                            struct queue *q)
{
    struct memory_op *o =
        (struct memory_op *)op_new(sizeof(*o), run_memory, release_memory);

    if (!o)
        return hipErrorOutOfMemory;
    o->memory = graph_memory_ref(m);
    o->allocates = allocates;
    o->op.runs_after_fault = true;
    m->allocated = allocates;
    return op_submit(q, &o->op);
}

bool graph_memory_is_allocated(const struct graph_memory *m)
{
    return m->allocated;
}

hipError_t graph_memory_free(uint64_t base, struct queue *q)
{
    hipError_t error = hipErrorInvalidValue;
    struct graph_memory *m;

    pthread_mutex_lock(&lock);
    m = find(base);
    if (m && m->base == base && m->allocated)
        m->refs++;
    else
        m = NULL;
    if (m && !q) { /* the device has been waited for */
        m->allocated = false;
        unmap(m);
        error = hipSuccess;
    }
    pthread_mutex_unlock(&lock);
    if (m && q)
        error = graph_memory_run(m, false, q);
    graph_memory_unref(m);
    return error;
}

void graph_memory_reset(const struct device *device)
{
    struct graph_memory *m, *next;

    pthread_mutex_lock(&lock);
    for (m = memories; m; m = next) {
        next = m->next;
        if (m->device == device) {
            m->allocated = false;
            unmap(m);
        }
    }
    pthread_mutex_unlock(&lock);
}

/* ---- graphs' memory, by device ------------------------------------------- */

/* Freed memory goes back at once, so "reserved" equals "used". */
HIP_API hipError_t hipDeviceGetGraphMemAttribute(int device, int attribute,
                                                 void *value)
{
    ENTER();
    if (!process_device(device))
        LEAVE(hipErrorInvalidDevice);
    if (!value || attribute < USED || attribute >= NATTRIBUTES)
        LEAVE(hipErrorInvalidValue);
    pthread_mutex_lock(&lock);
    *(uint64_t *)value = attribute == USED_HIGH       ? used_high[device]
                         : attribute == RESERVED_HIGH ? reserved_high[device]
                                                      : used[device];
    pthread_mutex_unlock(&lock);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipDeviceSetGraphMemAttribute(int device, int attribute,
                                                 const void *value)
{
    ENTER();
    if (!process_device(device))
        LEAVE(hipErrorInvalidDevice);
    /* The high marks alone can be set, and only cleared. */
    if (!value || (attribute != USED_HIGH && attribute != RESERVED_HIGH) ||
        *(const uint64_t *)value != 0)
        LEAVE(hipErrorInvalidValue);
    pthread_mutex_lock(&lock);
    *(attribute == USED_HIGH ? &used_high[device] : &reserved_high[device]) = 0;
    pthread_mutex_unlock(&lock);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipDeviceGraphMemTrim(int device)
{
    ENTER();
    LEAVE(process_device(device) ? hipSuccess : hipErrorInvalidDevice);
}
