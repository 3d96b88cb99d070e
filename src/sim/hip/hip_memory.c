/* hip_memory.c - allocation, host memory, and what a pointer is */
#define _GNU_SOURCE
#include "hip_memory.h"

#include "allocation_lookup.h"
#include "call.h"
#include "hip_array.h"
#include "hip_graph_memory.h"
#include "hip_ipc.h"
#include "hip_managed.h"
#include "hip_peer.h"
#include "hip_pool.h"
#include "op_queue.h"
#include "origin.h"
#include "process_state.h"
#include "thread_state.h"

#include "../base/allocation.h"

#include <string.h>

enum { PITCH = 256, DEVICE_INVALID = -2 };
#define HOST_COHERENT 0x40000000u
#define HOST_NON_COHERENT 0x80000000u
enum { FINE_GRAINED = 1, SIGNAL_MEMORY = 2 }; /* of hipExtMallocWithFlags */
enum { REGISTER_COARSE = 8 };                 /* of hipHostRegister */

/* Whether memory is coherent with the host while kernels run. This holds for
 * host memory unless its flags say otherwise, for managed memory, and for
 * device memory allocated as fine-grained. */
static bool is_fine_grained(enum sim_mem_kind kind, unsigned flags)
{
    if (kind == SIM_MEM_DEVICE)
        return flags & FINE_GRAINED;
    return kind != SIM_MEM_HOST || !(flags & HOST_NON_COHERENT);
}

static hipError_t allocate(void **ptr, size_t size, enum sim_mem_kind kind,
                           enum origin origin, unsigned flags)
{
    struct sim_alloc *a;

    if (!ptr)
        return hipErrorInvalidValue;
    *ptr = NULL;
    if (size == 0)
        return hipSuccess;
    a = sim_mem_alloc(thread_device()->sim->ordinal, size, 0, kind);
    if (!a) {
        pools_empty();
        a = sim_mem_alloc(thread_device()->sim->ordinal, size, 0, kind);
    }
    if (!a)
        return hipErrorOutOfMemory;
    a->origin = origin;
    a->flags = flags;
    a->fine_grained = is_fine_grained(kind, flags);
    peers_bar(a);
    *ptr = (void *)(uintptr_t)a->base;
    return hipSuccess;
}

/*
 * hipFree() accepts pinned memory and hipHostFree() device memory, as AMD's do.
 * Registered memory is released by hipHostUnregister() alone.
 */
static bool may_release(enum origin made_by, enum origin asked)
{
    if (asked == BY_HOST_REGISTER || made_by == BY_HOST_REGISTER)
        return asked == made_by;
    return made_by != BY_RUNTIME && made_by != BY_IPC;
}

static hipError_t release(void *ptr, enum origin origin)
{
    struct sim_alloc a;

    if (!ptr)
        return hipSuccess;
    if (!allocation_find(ptr, &a) || a.base != (uintptr_t)ptr ||
        !may_release(a.origin, origin))
        return hipErrorInvalidValue;
    if (allocation_owner(&a))
        queues_wait(allocation_owner(&a));
    if (a.kind == SIM_MEM_MANAGED)
        managed_forget(a.base, a.size);
    if (a.origin == BY_POOL)
        return pool_free(a.base);
    if (a.origin == BY_GRAPH)
        return graph_memory_free(a.base, NULL);
    if (a.origin == BY_IMPORT)
        return ipc_import_free(a.base, NULL);
    return sim_mem_free(a.base) ? hipSuccess : hipErrorInvalidValue;
}

void memory_free_device(const struct device *device)
{
    struct sim_alloc *a;
    uint64_t at = 0;

    sim_mem_pin();
    while ((a = sim_mem_find_above(at)) != NULL) {
        at = a->base;
        if (a->device == device->sim->ordinal &&
            (a->origin == BY_MALLOC || a->origin == BY_HOST_MALLOC))
            sim_mem_free(a->base);
    }
    sim_mem_unpin();
    pools_reset(device);
    graph_memory_reset(device);
}

/* ---- device memory ------------------------------------------------------ */

HIP_API hipError_t hipMalloc(void **ptr, size_t size)
{
    ENTER();
    LEAVE(allocate(ptr, size, SIM_MEM_DEVICE, BY_MALLOC, 0));
}

HIP_API hipError_t hipExtMallocWithFlags(void **ptr, size_t size,
                                         unsigned flags)
{
    ENTER();
    if (flags > 3)
        LEAVE(hipErrorInvalidValue);
    if (flags == SIGNAL_MEMORY && size != 8)
        LEAVE(hipErrorInvalidValue);
    /* A signal's value is memory that the host reads, too. */
    LEAVE(allocate(ptr, size,
                   flags == SIGNAL_MEMORY ? SIM_MEM_HOST : SIM_MEM_DEVICE,
                   BY_MALLOC, flags));
}

HIP_API hipError_t hipFree(void *ptr)
{
    ENTER();
    LEAVE(release(ptr, BY_MALLOC));
}

HIP_API hipError_t hipMallocManaged(void **ptr, size_t size, unsigned flags)
{
    ENTER();
    if (!ptr || size == 0 || (flags != 1 && flags != 2))
        LEAVE(hipErrorInvalidValue);
    LEAVE(allocate(ptr, size, SIM_MEM_MANAGED, BY_MALLOC, flags));
}

static hipError_t allocate_pitched(void **ptr, size_t *pitch, size_t width,
                                   size_t rows)
{
    size_t row = (width + PITCH - 1) & ~(size_t)(PITCH - 1);

    if (!ptr || !pitch)
        return hipErrorInvalidValue;
    if (width > SIZE_MAX / 4 || (row && rows > SIZE_MAX / 4 / row))
        return hipErrorOutOfMemory;
    *pitch = row;
    return allocate(ptr, row * rows, SIM_MEM_DEVICE, BY_MALLOC, 0);
}

HIP_API hipError_t hipMallocPitch(void **ptr, size_t *pitch, size_t width,
                                  size_t height)
{
    ENTER();
    LEAVE(allocate_pitched(ptr, pitch, width, height));
}

HIP_API hipError_t hipMemAllocPitch(hipDeviceptr_t *ptr, size_t *pitch,
                                    size_t width, size_t height,
                                    unsigned element)
{
    ENTER();
    if (element != 4 && element != 8 && element != 16)
        LEAVE(hipErrorInvalidValue);
    LEAVE(allocate_pitched(ptr, pitch, width, height));
}

HIP_API hipError_t hipMalloc3D(hipPitchedPtr *out, hipExtent extent)
{
    hipError_t error;
    size_t pitch;
    void *ptr;

    ENTER();
    if (!out)
        LEAVE(hipErrorInvalidValue);
    if (extent.depth && extent.height > SIZE_MAX / 4 / extent.depth)
        LEAVE(hipErrorOutOfMemory);
    error = allocate_pitched(&ptr, &pitch, extent.width,
                             extent.height * extent.depth);
    if (error == hipSuccess) {
        out->ptr = ptr;
        out->pitch = pitch;
        out->xsize = extent.width;
        out->ysize = extent.height;
    }
    LEAVE(error);
}

HIP_API hipError_t hipMemGetInfo(size_t *free_nbytes, size_t *total_nbytes)
{
    uint64_t used, total;

    ENTER();
    sim_mem_info(thread_device()->sim->ordinal, &used, &total);
    if (free_nbytes)
        *free_nbytes = total - used;
    if (total_nbytes)
        *total_nbytes = total;
    LEAVE(hipSuccess);
}

/* ---- host memory -------------------------------------------------------- */

static hipError_t allocate_host(void **ptr, size_t size, unsigned flags)
{
    /* Unknown flags are ignored. */
    if ((flags & HOST_COHERENT) && (flags & HOST_NON_COHERENT))
        return hipErrorInvalidValue; /* coherent and non-coherent */
    return allocate(ptr, size, SIM_MEM_HOST, BY_HOST_MALLOC, flags);
}

HIP_API hipError_t hipHostMalloc(void **ptr, size_t size, unsigned flags)
{
    ENTER();
    LEAVE(allocate_host(ptr, size, flags));
}

HIP_API hipError_t hipHostAlloc(void **ptr, size_t size, unsigned flags)
{
    enum { PORTABLE = 1, MAPPED = 2, WRITE_COMBINED = 4 };

    ENTER();
    /* Unlike hipHostMalloc() it refuses unknown flags. */
    if (process.release > 5 &&
        (flags & ~(unsigned)(PORTABLE | MAPPED | WRITE_COMBINED)))
        LEAVE(hipErrorInvalidValue);
    LEAVE(allocate_host(ptr, size, flags));
}

HIP_API hipError_t hipExtHostAlloc(void **ptr, size_t size, unsigned flags)
{
    ENTER();
    LEAVE(allocate_host(ptr, size, flags));
}

HIP_API hipError_t hipMallocHost(void **ptr, size_t size)
{
    ENTER();
    LEAVE(allocate_host(ptr, size, 0));
}

HIP_API hipError_t hipMemAllocHost(void **ptr, size_t size)
{
    ENTER();
    LEAVE(allocate_host(ptr, size, 0));
}

HIP_API hipError_t hipHostFree(void *ptr)
{
    ENTER();
    LEAVE(release(ptr, BY_HOST_MALLOC));
}

HIP_API hipError_t hipFreeHost(void *ptr)
{
    ENTER();
    LEAVE(release(ptr, BY_HOST_MALLOC));
}

static hipError_t register_memory(void *ptr, size_t size, unsigned flags)
{
    struct sim_alloc *a =
        sim_mem_register(thread_device()->sim->ordinal, ptr, size);

    if (!a)
        return hipErrorHostMemoryAlreadyRegistered;
    a->origin = BY_HOST_REGISTER;
    a->flags = flags;
    a->fine_grained = !(flags & REGISTER_COARSE);
    return hipSuccess;
}

/*
 * Registering again is fine with AMD's runtime: programs free memory without a
 * hipHostUnregister(), and the next block that they register has its address.
 * The first stays, as long as the longer of the two; it goes by one call.
 */
static hipError_t register_again(void *ptr, size_t size)
{
    const uint64_t at = (uintptr_t)ptr;
    struct sim_alloc old;
    hipError_t error;

    if (!allocation_find(ptr, &old) || old.origin != BY_HOST_REGISTER)
        return hipErrorHostMemoryAlreadyRegistered;
    if (size <= old.size - (at - old.base))
        return hipSuccess;
    if (at != old.base)
        return hipErrorHostMemoryAlreadyRegistered;
    sim_mem_free(old.base);
    error = register_memory(ptr, size, old.flags);
    if (error != hipSuccess) /* the rest overlaps: restore the old size */
        (void)register_memory(ptr, old.size, old.flags);
    return error;
}

HIP_API hipError_t hipHostRegister(void *ptr, size_t size, unsigned flags)
{
    hipError_t error;

    ENTER();
    if (size == 0 && process.release == 5)
        LEAVE(hipErrorOutOfMemory);
    if (!ptr || size == 0 || flags > 0xf || !allocation_pages_mapped(ptr, size))
        LEAVE(hipErrorInvalidValue);
    error = register_memory(ptr, size, flags);
    LEAVE(error == hipSuccess ? error : register_again(ptr, size));
}

HIP_API hipError_t hipHostUnregister(void *ptr)
{
    hipError_t error;

    ENTER();
    if (!ptr)
        LEAVE(process.release == 5 ? hipErrorHostMemoryNotRegistered
                                   : hipErrorInvalidValue);
    error = release(ptr, BY_HOST_REGISTER);
    LEAVE(error == hipSuccess ? error : hipErrorHostMemoryNotRegistered);
}

static bool is_host(const struct sim_alloc *a)
{
    return a->kind == SIM_MEM_HOST || a->kind == SIM_MEM_MANAGED;
}

HIP_API hipError_t hipHostGetDevicePointer(void **device, void *host,
                                           unsigned flags)
{
    struct sim_alloc a;

    ENTER();
    if (!device || !host || flags != 0 || !allocation_find(host, &a) ||
        !is_host(&a))
        LEAVE(hipErrorInvalidValue);
    *device = host; /* one address for both sides */
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipHostGetFlags(unsigned *flags, void *host)
{
    struct sim_alloc a;

    ENTER();
    if (!flags || !host || !allocation_find(host, &a) || a.kind != SIM_MEM_HOST)
        LEAVE(hipErrorInvalidValue);
    *flags = a.flags;
    LEAVE(hipSuccess);
}

/* ---- pointers' attributes ----------------------------------------------- */

enum memory_type { UNREGISTERED, HOST, DEVICE, MANAGED };
enum { ARRAY = 10, ARRAY_BEFORE_6 = 2 };

/* The numbers of hipMemoryType changed with 6.0. */
static int type_number(enum memory_type type)
{
    static const int before_6[] = {-1, 0, 1, 4};

    return process.release < 6 ? before_6[type] : (int)type;
}

static enum memory_type type_of(const struct sim_alloc *a)
{
    return a->kind == SIM_MEM_HOST      ? HOST
           : a->kind == SIM_MEM_MANAGED ? MANAGED
                                        : DEVICE;
}

HIP_API hipError_t hipPointerGetAttributes(hipPointerAttribute_t *out,
                                           const void *ptr)
{
    struct sim_alloc a;

    ENTER();
    if (!out || (!ptr && process.release < 7))
        LEAVE(hipErrorInvalidValue);
    memset(out, 0, sizeof(*out));
    if (!allocation_find(ptr, &a)) {
        if (process.release < 6)
            LEAVE(hipErrorInvalidValue);
        out->type = type_number(UNREGISTERED);
        out->device = DEVICE_INVALID;
        LEAVE(hipSuccess);
    }
    out->type = type_number(type_of(&a));
    out->device =
        allocation_owner(&a) ? allocation_owner(&a)->ordinal : DEVICE_INVALID;
    out->devicePointer = (void *)(uintptr_t)ptr;
    out->hostPointer = is_host(&a) ? (void *)(uintptr_t)ptr : NULL;
    out->isManaged = a.kind == SIM_MEM_MANAGED;
    out->allocationFlags = a.flags;
    LEAVE(hipSuccess);
}

enum {
    ATTRIBUTE_CONTEXT = 1,
    ATTRIBUTE_MEMORY_TYPE = 2,
    ATTRIBUTE_DEVICE_POINTER = 3,
    ATTRIBUTE_HOST_POINTER = 4,
    ATTRIBUTE_P2P_TOKENS = 5,
    ATTRIBUTE_SYNC_MEMOPS = 6,
    ATTRIBUTE_BUFFER_ID = 7,
    ATTRIBUTE_IS_MANAGED = 8,
    ATTRIBUTE_DEVICE_ORDINAL = 9,
    ATTRIBUTE_LEGACY_IPC = 10,
    ATTRIBUTE_RANGE_START = 11,
    ATTRIBUTE_RANGE_SIZE = 12,
    ATTRIBUTE_MAPPED = 13,
    ATTRIBUTE_HANDLE_TYPES = 14,
    ATTRIBUTE_RDMA = 15,
    ATTRIBUTE_ACCESS_FLAGS = 16,
    ATTRIBUTE_POOL = 17
};

static hipError_t pointer_attribute(void *data, int attribute, const void *ptr)
{
    struct sim_alloc a;

    if (data && attribute == ATTRIBUTE_MEMORY_TYPE && array_is_handle(ptr)) {
        *(int *)data = process.release < 6 ? ARRAY_BEFORE_6 : ARRAY;
        return hipSuccess;
    }
    if (!data || !ptr || !allocation_find(ptr, &a))
        return hipErrorInvalidValue;
    switch (attribute) {
    case ATTRIBUTE_MEMORY_TYPE:
        *(int *)data = type_number(type_of(&a));
        return hipSuccess;
    case ATTRIBUTE_DEVICE_POINTER:
        *(const void **)data = ptr;
        return hipSuccess;
    case ATTRIBUTE_HOST_POINTER:
        *(const void **)data = is_host(&a) ? ptr : NULL;
        return is_host(&a) ? hipSuccess : hipErrorInvalidValue;
    case ATTRIBUTE_SYNC_MEMOPS:
        *(bool *)data = a.sync_memops;
        return hipSuccess;
    case ATTRIBUTE_BUFFER_ID:
        *(unsigned *)data = (unsigned)a.serial;
        return hipSuccess;
    case ATTRIBUTE_IS_MANAGED:
        *(bool *)data = a.kind == SIM_MEM_MANAGED;
        return hipSuccess;
    case ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)data = allocation_owner(&a) ? allocation_owner(&a)->ordinal
                                            : DEVICE_INVALID;
        return hipSuccess;
    case ATTRIBUTE_RANGE_START:
        *(uint64_t *)data = a.base;
        return hipSuccess;
    case ATTRIBUTE_RANGE_SIZE:
        if (process.release >= 7)
            *(uint64_t *)data = a.size;
        else /* as AMD's runtime before 7.0 */
            *(uint32_t *)data = (uint32_t)a.size;
        return hipSuccess;
    case ATTRIBUTE_MAPPED:
        *(bool *)data = true;
        return hipSuccess;
    case ATTRIBUTE_ACCESS_FLAGS:
        *(unsigned *)data = a.flags;
        return hipSuccess;
    case ATTRIBUTE_CONTEXT: /* known, and no more than that */
    case ATTRIBUTE_P2P_TOKENS:
    case ATTRIBUTE_LEGACY_IPC:
    case ATTRIBUTE_HANDLE_TYPES:
    case ATTRIBUTE_RDMA:
    case ATTRIBUTE_POOL:
        return hipErrorNotSupported;
    default:
        return hipErrorInvalidValue;
    }
}

HIP_API hipError_t hipPointerGetAttribute(void *data, int attribute,
                                          hipDeviceptr_t ptr)
{
    ENTER();
    LEAVE(pointer_attribute(data, attribute, ptr));
}

static void clear_attribute(void *data, int attribute)
{
    switch (attribute) {
    case ATTRIBUTE_DEVICE_POINTER:
    case ATTRIBUTE_HOST_POINTER:
    case ATTRIBUTE_RANGE_START:
        memset(data, 0, sizeof(uint64_t));
        break;
    case ATTRIBUTE_RANGE_SIZE:
        memset(data, 0, process.release >= 7 ? 8 : 4);
        break;
    case ATTRIBUTE_MEMORY_TYPE:
    case ATTRIBUTE_BUFFER_ID:
        memset(data, 0, sizeof(int));
        break;
    case ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)data = DEVICE_INVALID;
        break;
    case ATTRIBUTE_SYNC_MEMOPS:
    case ATTRIBUTE_IS_MANAGED:
    case ATTRIBUTE_MAPPED:
        *(bool *)data = false;
        break;
    default:
        break;
    }
}

/* Only SYNC_MEMOPS can be set. It asks for synchronous copies; copies here
 * have that effect anyway. */
HIP_API hipError_t hipPointerSetAttribute(const void *value, int attribute,
                                          hipDeviceptr_t ptr)
{
    struct sim_alloc *a;

    ENTER();
    if (!value || !ptr || attribute != ATTRIBUTE_SYNC_MEMOPS ||
        *(const unsigned *)value > 1)
        LEAVE(hipErrorInvalidValue);
    if (!allocation_find(ptr, NULL))
        LEAVE(hipErrorInvalidDevicePointer);
    sim_mem_pin();
    a = (struct sim_alloc *)(uintptr_t)sim_mem_find((uintptr_t)ptr);
    if (a)
        a->sync_memops = *(const unsigned *)value;
    sim_mem_unpin();
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipDrvPointerGetAttributes(unsigned n, int *attributes,
                                              void **data, hipDeviceptr_t ptr)
{
    unsigned i;

    ENTER();
    if (n == 0 || !attributes || !data || !ptr)
        LEAVE(hipErrorInvalidValue);
    /* An attribute that the pointer has not is 0, and no error. */
    for (i = 0; i < n; i++)
        if (pointer_attribute(data[i], attributes[i], ptr) != hipSuccess)
            clear_attribute(data[i], attributes[i]);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipMemGetAddressRange(hipDeviceptr_t *base, size_t *size,
                                         hipDeviceptr_t ptr)
{
    struct sim_alloc a;

    ENTER();
    if (!base || !size)
        LEAVE(hipErrorInvalidValue);
    if (!allocation_find(ptr, &a))
        LEAVE(process.release >= 6 ? hipErrorNotFound
                                   : hipErrorInvalidDevicePointer);
    *base = (void *)(uintptr_t)a.base;
    *size = a.size;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipMemPtrGetInfo(void *ptr, size_t *size)
{
    struct sim_alloc a;

    ENTER();
    if (!ptr || !size || !allocation_find(ptr, &a))
        LEAVE(hipErrorInvalidValue);
    *size = a.size;
    LEAVE(hipSuccess);
}
