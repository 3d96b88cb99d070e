/* hip_devices.c - devices, versions, contexts */
#define _GNU_SOURCE
#include "call.h"
#include "hip_memory.h"
#include "hip_pool.h"
#include "op_queue.h"
#include "process_state.h"
#include "thread_state.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

HIP_API hipError_t hipInit(unsigned flags)
{
    ENTER();
    /* HIP 5.2 does not look. */
    LEAVE(flags == 0 || process.release == 5 ? hipSuccess
                                             : hipErrorInvalidValue);
}

/* ---- versions ----------------------------------------------------------- */

static hipError_t version(int *out)
{
    /* major * 10^7 + minor * 10^5 + patch, a release per series */
    static const int versions[] = {50731921, 60241134, 70125424};

    if (!out)
        return hipErrorInvalidValue;
    *out = versions[process.release - 5];
    return hipSuccess;
}

HIP_API hipError_t hipDriverGetVersion(int *out)
{
    ENTER();
    LEAVE(version(out));
}

HIP_API hipError_t hipRuntimeGetVersion(int *out)
{
    ENTER_WITH(NEED_NOTHING);
    LEAVE(version(out));
}

/* ---- list of devices ---------------------------------------------------- */

HIP_API hipError_t hipGetDeviceCount(int *count)
{
    ENTER_WITH(NEED_NOTHING);
    if (!count)
        LEAVE(hipErrorInvalidValue);
    *count = process.ndevices;
    LEAVE(process.ndevices ? hipSuccess : hipErrorNoDevice);
}

HIP_API hipError_t hipGetDevice(int *device)
{
    ENTER();
    if (!device)
        LEAVE(hipErrorInvalidValue);
    *device = thread_self()->device;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipSetDevice(int device)
{
    ENTER_WITH(NEED_NOTHING);
    if (process.ndevices == 0)
        LEAVE(hipErrorNoDevice);
    if (!process_device(device))
        LEAVE(hipErrorInvalidDevice);
    thread_self()->device = device;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipDeviceGet(hipDevice_t *device, int ordinal)
{
    ENTER();
    if (!device)
        LEAVE(process.release == 5 ? hipErrorInvalidDevice
                                   : hipErrorInvalidValue);
    if (!process_device(ordinal))
        LEAVE(hipErrorInvalidDevice);
    *device = ordinal;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipDeviceGetName(char *name, int len, hipDevice_t device)
{
    ENTER();
    if (!process_device(device))
        LEAVE(hipErrorInvalidDevice);
    if (!name || len <= 0)
        LEAVE(hipErrorInvalidValue);
    /* HIP 5.2 fails unless the whole name fits. */
    if (process.release == 5 &&
        (size_t)len <=
            strlen(process_device(device)->sim->target->product->name))
        LEAVE(hipErrorInvalidValue);
    snprintf(name, (size_t)len, "%s",
             process_device(device)->sim->target->product->name);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipDeviceComputeCapability(int *major, int *minor,
                                              hipDevice_t device)
{
    ENTER();
    if (!process_device(device))
        LEAVE(hipErrorInvalidDevice);
    if (!major || !minor)
        LEAVE(hipErrorInvalidValue);
    *major = process_device(device)->sim->target->major;
    *minor = process_device(device)->sim->target->minor;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t device)
{
    ENTER();
    if (!process_device(device))
        LEAVE(hipErrorInvalidDevice);
    if (!bytes)
        LEAVE(hipErrorInvalidValue);
    *bytes = process_device(device)->sim->memory_nbytes;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipDeviceGetPCIBusId(char *text, int len, int device)
{
    ENTER();
    if (!process_device(device))
        LEAVE(hipErrorInvalidDevice);
    if (!text || len <= 0)
        LEAVE(hipErrorInvalidValue);
    /* A short buffer gets the ID's beginning and an error. */
    snprintf(text, (size_t)len, "0000:%02x:00.0",
             (unsigned)process_device(device)->sim->ordinal + 1);
    LEAVE(len < 13 ? hipErrorInvalidValue : hipSuccess);
}

HIP_API hipError_t hipDeviceGetByPCIBusId(int *device, const char *text)
{
    unsigned domain, bus, slot, function;
    int i;

    ENTER();
    if (!device || !text)
        LEAVE(hipErrorInvalidValue);
    /* NOLINTNEXTLINE(cert-err34-c): widths keep the numbers in range */
    if (sscanf(text, "%4x:%2x:%2x.%1x", &domain, &bus, &slot, &function) != 4)
        LEAVE(hipErrorInvalidValue);
    for (i = 0; i < process.ndevices; i++)
        if (domain == 0 && slot == 0 &&
            bus == (unsigned)process.devices[i].sim->ordinal + 1) {
            *device = i;
            LEAVE(hipSuccess);
        }
    LEAVE(hipErrorInvalidValue);
}

/* ---- state of a device -------------------------------------------------- */

HIP_API hipError_t hipDeviceSynchronize(void)
{
    hipError_t error;

    ENTER();
    error = queues_wait(thread_device());
    pools_trim(thread_device());
    LEAVE(error);
}

/*
 * Waits, forgets a fault, and frees what hipMalloc() and its kin gave out.
 * Streams, events and modules stay, as they do with AMD's runtime.
 */
HIP_API hipError_t hipDeviceReset(void)
{
    struct device *device;

    ENTER_WITH(NEED_NOTHING);
    if (process.ndevices == 0)
        LEAVE(hipErrorNoDevice);
    device = thread_device();
    queues_wait(device);
    memory_free_device(device);
    pthread_mutex_lock(&process.lock);
    device->fault = hipSuccess;
    device->flags = 0;
    pthread_mutex_unlock(&process.lock);
    __atomic_store_n(&device->sim->lost, false, __ATOMIC_RELAXED);
    LEAVE(hipSuccess);
}

enum { SCHEDULE_MASK = 7 };

HIP_API hipError_t hipSetDeviceFlags(unsigned flags)
{
    ENTER();
    if ((flags & ~0x1fu) || ((flags & 7) & ((flags & 7) - 1)))
        LEAVE(hipErrorInvalidValue);
    thread_device()->flags = flags & SCHEDULE_MASK;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipGetDeviceFlags(unsigned *flags)
{
    ENTER();
    if (!flags)
        LEAVE(hipErrorInvalidValue);
    *flags = thread_device()->flags;
    LEAVE(hipSuccess);
}

/* The limits of a work-item's stack and of kernels' heap are only stored;
 * kernels' printf() uses the heap. */
enum { LIMIT_STACK, LIMIT_PRINTF, LIMIT_HEAP, NLIMITS, LIMIT_RANGE = 3 };
enum { MAX_STACK = 131056 };

static hipError_t find_limit(int limit, size_t **held)
{
    static size_t limits[NLIMITS] = {1024, 1 << 20, 4 << 20};

    if (limit < 0 || limit >= LIMIT_RANGE)
        return hipErrorInvalidValue;
    if (limit == LIMIT_PRINTF && process.release > 5)
        return hipErrorUnsupportedLimit;
    *held = &limits[limit];
    return hipSuccess;
}

HIP_API hipError_t hipDeviceGetLimit(size_t *value, int limit)
{
    size_t *held;
    hipError_t error;

    ENTER();
    if (!value)
        LEAVE(hipErrorInvalidValue);
    error = find_limit(limit, &held);
    if (error == hipSuccess)
        *value = *held;
    LEAVE(error);
}

HIP_API hipError_t hipDeviceSetLimit(int limit, size_t value)
{
    size_t *held;
    hipError_t error;

    ENTER();
    error = find_limit(limit, &held);
    if (error == hipSuccess && value > MAX_STACK && limit == LIMIT_STACK)
        error = hipErrorInvalidValue;
    if (error == hipSuccess)
        *held = value;
    LEAVE(error);
}

HIP_API hipError_t hipDeviceGetCacheConfig(int *config)
{
    ENTER();
    if (!config)
        LEAVE(hipErrorInvalidValue);
    *config = 0;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipDeviceSetCacheConfig(int config)
{
    ENTER();
    (void)config; /* AMD's takes any, too */
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipDeviceGetSharedMemConfig(int *config)
{
    ENTER();
    if (!config)
        LEAVE(hipErrorInvalidValue);
    *config = 1; /* banks of four bytes */
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipDeviceSetSharedMemConfig(int config)
{
    ENTER();
    LEAVE(config < 0 || config > 2 ? hipErrorInvalidValue : hipSuccess);
}

/* ---- links --------------------------------------------------------------- */

HIP_API hipError_t hipExtGetLinkTypeAndHopCount(int from, int to,
                                                uint32_t *type, uint32_t *hops)
{
    ENTER();
    if (!type || !hops || from == to || from < 0 || to < 0)
        LEAVE(hipErrorInvalidValue);
    if (!process_device(from) || !process_device(to))
        LEAVE(hipErrorInvalidDevice);
    *type = 2; /* PCIe */
    *hops = 1;
    LEAVE(hipSuccess);
}

/* ---- contexts: thin names for devices ----------------------------------- */

static hipCtx_t context_of(const struct device *device)
{
    return (hipCtx_t)(uintptr_t)device;
}

static struct device *device_of(hipCtx_t context)
{
    int i;

    for (i = 0; i < process.ndevices; i++)
        if (context == context_of(&process.devices[i]))
            return &process.devices[i];
    return NULL;
}

static hipError_t push(struct device *device)
{
    struct context_entry *e = malloc(sizeof(*e));
    struct thread *t = thread_self();

    if (!e)
        return hipErrorOutOfMemory;
    e->device = device;
    e->below = t->contexts;
    t->contexts = e;
    t->device = device->ordinal;
    return hipSuccess;
}

HIP_API hipError_t hipCtxCreate(hipCtx_t *ctx, unsigned flags,
                                hipDevice_t device)
{
    ENTER();
    (void)flags;
    if (!ctx)
        LEAVE(hipErrorInvalidValue);
    if (!process_device(device))
        LEAVE(hipErrorInvalidDevice);
    *ctx = context_of(process_device(device));
    LEAVE(push(process_device(device)));
}

static void pop(struct thread *t)
{
    struct context_entry *e = t->contexts;

    t->contexts = e->below;
    free(e);
    t->device = t->contexts ? t->contexts->device->ordinal : 0;
}

HIP_API hipError_t hipCtxDestroy(hipCtx_t ctx)
{
    struct thread *t;

    ENTER();
    if (!device_of(ctx))
        LEAVE(hipErrorInvalidValue);
    t = thread_self();
    if (t->contexts && t->contexts->device == device_of(ctx))
        pop(t);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipCtxPushCurrent(hipCtx_t ctx)
{
    ENTER();
    if (!device_of(ctx))
        LEAVE(hipErrorInvalidContext);
    LEAVE(push(device_of(ctx)));
}

HIP_API hipError_t hipCtxPopCurrent(hipCtx_t *ctx)
{
    struct thread *t;

    ENTER();
    t = thread_self();
    if (!t->contexts)
        LEAVE(hipErrorInvalidContext);
    if (ctx)
        *ctx = context_of(t->contexts->device);
    pop(t);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipCtxSetCurrent(hipCtx_t ctx)
{
    struct thread *t;

    ENTER();
    t = thread_self();
    if (!ctx) {
        if (t->contexts)
            pop(t);
        LEAVE(hipSuccess);
    }
    if (!device_of(ctx))
        LEAVE(hipErrorInvalidContext);
    if (t->contexts)
        pop(t);
    LEAVE(push(device_of(ctx)));
}

HIP_API hipError_t hipCtxGetCurrent(hipCtx_t *ctx)
{
    ENTER();
    if (!ctx)
        LEAVE(hipErrorInvalidValue);
    *ctx = context_of(thread_device());
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipCtxGetDevice(hipDevice_t *device)
{
    ENTER();
    if (!device)
        LEAVE(hipErrorInvalidValue);
    *device = thread_self()->device;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipCtxGetFlags(unsigned *flags)
{
    ENTER();
    if (!flags)
        LEAVE(hipErrorInvalidValue);
    *flags = thread_device()->flags;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipCtxGetApiVersion(hipCtx_t ctx, int *api)
{
    ENTER();
    (void)ctx;
    if (!api)
        LEAVE(hipErrorInvalidValue);
    *api = 4;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipCtxSynchronize(void)
{
    ENTER();
    LEAVE(hipErrorNotSupported); /* as AMD's runtime in every release */
}

HIP_API hipError_t hipCtxEnablePeerAccess(hipCtx_t peer, unsigned flags)
{
    ENTER();
    if (!device_of(peer) || flags != 0)
        LEAVE(hipErrorInvalidValue);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipCtxDisablePeerAccess(hipCtx_t peer)
{
    ENTER();
    LEAVE(device_of(peer) ? hipSuccess : hipErrorInvalidValue);
}

HIP_API hipError_t hipDevicePrimaryCtxRetain(hipCtx_t *ctx, hipDevice_t device)
{
    ENTER();
    if (!process_device(device))
        LEAVE(hipErrorInvalidDevice);
    if (!ctx)
        LEAVE(hipErrorInvalidValue);
    *ctx = context_of(process_device(device));
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device)
{
    ENTER();
    LEAVE(process_device(device) ? hipSuccess : hipErrorInvalidDevice);
}

HIP_API hipError_t hipDevicePrimaryCtxReset(hipDevice_t device)
{
    ENTER();
    LEAVE(process_device(device) ? hipSuccess : hipErrorInvalidDevice);
}

HIP_API hipError_t hipDevicePrimaryCtxSetFlags(hipDevice_t device,
                                               unsigned flags)
{
    ENTER();
    (void)flags;
    if (!process_device(device))
        LEAVE(hipErrorInvalidDevice);
    LEAVE(hipErrorContextAlreadyInUse);
}

HIP_API hipError_t hipDevicePrimaryCtxGetState(hipDevice_t device,
                                               unsigned *flags, int *active)
{
    ENTER();
    if (!process_device(device))
        LEAVE(hipErrorInvalidDevice);
    if (flags)
        *flags = 0;
    if (active)
        *active = device == thread_self()->device;
    LEAVE(hipSuccess);
}
