/* hip_ipc.c - memory and events of another process
 *
 * A handle names a file descriptor of the process that made it: the file of its
 * device memory, or of an event's page. The other process opens the file by way
 * of /proc, as the system allows for processes of one user. The mapping stays
 * until it is closed, even if the first process ends.
 */
#define _GNU_SOURCE
#include "hip_ipc.h"

#include "allocation_lookup.h"
#include "call.h"
#include "event_state.h"
#include "handle.h"
#include "op_queue.h"
#include "origin.h"
#include "process_state.h"
#include "shared_event.h"
#include "thread_state.h"

#include "../base/allocation.h"
#include "../base/reservation.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MEMORY_MAGIC = 0x6b706d31, EVENT_MAGIC = 0x6b706531 };

typedef union {
    char reserved[64];
    struct {
        uint32_t magic;
        int32_t process, fd;
        uint64_t at, size; /* the allocation's place in the file */
        uint64_t offset;   /* the pointer's place in the allocation */
        uint64_t serial;
    } is;
} hipIpcMemHandle_t;

typedef union {
    char reserved[64];
    struct {
        uint32_t magic;
        int32_t process, fd;
    } is;
} hipIpcEventHandle_t;

/* Opens another process's descriptor in this one; -1 on failure. */
static int descriptor_of(int pid, int fd)
{
    char path[64];
    int ours;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
    ours = open(path, O_RDWR | O_CLOEXEC);
    if (ours < 0)
        process_complain(
            "process %d has no descriptor %d to share, or does not let "
            "this one have it: it must be alive, and the same user's",
            pid, fd);
    return ours;
}

/* ---- memory ------------------------------------------------------------- */

/* Memory of another process, mapped once however often it is opened. */
struct opened {
    struct opened *next;
    hipIpcMemHandle_t handle;
    uint64_t base, reserved;
    enum origin origin; /* BY_IPC or BY_IMPORT */
    unsigned refs;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct opened *opened;

static bool make_handle(hipIpcMemHandle_t *handle, const void *ptr)
{
    struct sim_alloc a;
    uint64_t at;
    int fd;

    if (!allocation_find(ptr, &a) || !sim_mem_shared_file(a.base, &fd, &at))
        return false;
    memset(handle, 0, sizeof(*handle));
    handle->is.magic = MEMORY_MAGIC;
    handle->is.process = (int32_t)getpid();
    handle->is.fd = fd;
    handle->is.at = at;
    handle->is.size = a.size;
    handle->is.offset = (uintptr_t)ptr - a.base;
    handle->is.serial = a.serial;
    return true;
}

HIP_API hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t *handle, void *ptr)
{
    ENTER();
    LEAVE(handle && ptr && make_handle(handle, ptr) ? hipSuccess
                                                    : hipErrorInvalidValue);
}

static bool same_memory(const hipIpcMemHandle_t *a, const hipIpcMemHandle_t *b)
{
    return a->is.process == b->is.process && a->is.at == b->is.at &&
           a->is.serial == b->is.serial;
}

/* With the lock held. */
static struct opened *open_memory(const hipIpcMemHandle_t *handle,
                                  enum origin origin)
{
    const uint64_t granule = SIM_VIRTUAL_GRANULE;
    struct opened *o = calloc(1, sizeof(*o));
    struct sim_alloc *a = NULL;
    int fd = o ? descriptor_of(handle->is.process, handle->is.fd) : -1;

    if (fd < 0)
        goto out;
    o->handle = *handle;
    o->reserved = (handle->is.size + 2 * granule - 1) & ~(granule - 1);
    o->base = sim_virtual_reserve(o->reserved, 0, 0);
    if (o->base)
        a = sim_virtual_map(o->base, handle->is.size, fd, handle->is.at,
                            thread_device()->sim->ordinal);
    if (a) {
        a->no_read = a->no_write = 0;
        a->origin = origin;
        o->origin = origin;
        o->next = opened;
        opened = o;
    } else if (o->base) {
        sim_virtual_release(o->base, o->reserved);
    }
    close(fd); /* the mapping keeps the memory */
out:
    if (!a) {
        free(o);
        o = NULL;
    }
    return o;
}

HIP_API hipError_t hipIpcOpenMemHandle(void **ptr, hipIpcMemHandle_t handle,
                                       unsigned flags)
{
    /* hipIpcMemLazyEnablePeerAccess, which was 0 up to 5.x */
    const unsigned lazy_enable_peer_access = process.release > 5;
    struct opened *o;

    ENTER();
    if (!ptr || flags != lazy_enable_peer_access ||
        handle.is.magic != MEMORY_MAGIC || handle.is.size == 0)
        LEAVE(hipErrorInvalidValue);
    if (handle.is.process == (int32_t)getpid())
        LEAVE(hipErrorInvalidContext); /* the caller's own handle */
    pthread_mutex_lock(&lock);
    o = opened;
    while (o && (o->origin != BY_IPC || !same_memory(&o->handle, &handle)))
        o = o->next;
    if (!o)
        o = open_memory(&handle, BY_IPC);
    if (o) {
        o->refs++;
        *ptr = (void *)(uintptr_t)(o->base + handle.is.offset);
    }
    pthread_mutex_unlock(&lock);
    LEAVE(o ? hipSuccess : hipErrorInvalidDevicePointer);
}

static hipError_t close_memory(uint64_t address, enum origin origin)
{
    struct opened **link, *o;

    pthread_mutex_lock(&lock);
    link = &opened;
    while (*link && ((*link)->origin != origin ||
                     address - (*link)->base >= (*link)->handle.is.size))
        link = &(*link)->next;
    o = *link;
    if (o && --o->refs == 0) {
        *link = o->next;
        sim_virtual_unmap(o->base);
        sim_virtual_release(o->base, o->reserved);
        free(o);
    }
    pthread_mutex_unlock(&lock);
    return o ? hipSuccess : hipErrorInvalidValue;
}

HIP_API hipError_t hipIpcCloseMemHandle(void *ptr)
{
    int i;

    ENTER();
    for (i = 0; i < process.ndevices; i++)
        queues_wait(&process.devices[i]);
    LEAVE(close_memory((uintptr_t)ptr, BY_IPC));
}

/* ---- memory of pools ---------------------------------------------------- */

HIP_API hipError_t hipMemPoolExportPointer(hipIpcMemHandle_t *data, void *ptr)
{
    ENTER();
    LEAVE(data && ptr && make_handle(data, ptr) ? hipSuccess
                                                : hipErrorInvalidValue);
}

/* Also in the process that exported it: at another address, then. */
HIP_API hipError_t hipMemPoolImportPointer(void **ptr, hipMemPool_t pool,
                                           const hipIpcMemHandle_t *data)
{
    struct opened *o;

    ENTER();
    if (!ptr || !handle_valid(pool, HANDLE_POOL) || !data ||
        data->is.magic != MEMORY_MAGIC)
        LEAVE(hipErrorInvalidValue);
    pthread_mutex_lock(&lock);
    o = open_memory(data, BY_IMPORT);
    if (o) {
        o->refs = 1;
        *ptr = (void *)(uintptr_t)(o->base + data->is.offset);
    }
    pthread_mutex_unlock(&lock);
    LEAVE(o ? hipSuccess : hipErrorOutOfMemory);
}

hipError_t ipc_import_free(uint64_t base, struct queue *q)
{
    if (q)
        queue_wait(q);
    return close_memory(base, BY_IMPORT);
}

/* ---- events ------------------------------------------------------------- */

HIP_API hipError_t hipIpcGetEventHandle(hipIpcEventHandle_t *handle,
                                        hipEvent_t event)
{
    struct shared_event *s;

    ENTER();
    if (!handle || !event)
        LEAVE(hipErrorInvalidValue);
    s = event_shared(event);
    if (!s) /* not made with hipEventInterprocess, for one */
        LEAVE(hipErrorInvalidConfiguration);
    memset(handle, 0, sizeof(*handle));
    handle->is.magic = EVENT_MAGIC;
    handle->is.process = (int32_t)getpid();
    handle->is.fd = shared_event_descriptor(s);
    shared_event_unref(s);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipIpcOpenEventHandle(hipEvent_t *event,
                                         hipIpcEventHandle_t handle)
{
    struct shared_event *s;
    hipError_t error;

    ENTER();
    if (!event || handle.is.magic != EVENT_MAGIC)
        LEAVE(hipErrorInvalidValue);
    if (handle.is.process == (int32_t)getpid())
        LEAVE(hipErrorInvalidContext);
    s = shared_event_of(descriptor_of(handle.is.process, handle.is.fd));
    if (!s)
        LEAVE(hipErrorInvalidValue);
    error = event_from_shared(event, s);
    if (error != hipSuccess)
        shared_event_unref(s);
    LEAVE(error);
}
