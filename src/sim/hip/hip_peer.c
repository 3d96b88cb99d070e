/* hip_peer.c - access of kernels to other devices' memory
 *
 * A kernel reaches memory of another device only where that memory is mapped
 * for it. AMD's runtime maps an allocation for all devices at once, at the
 * first of these: some device has asked for access to the owner, before the
 * allocation or after it; a copy goes between two devices and takes part of
 * it; another device's stream fills it. It never takes a mapping back, so
 * hipDeviceDisablePeerAccess() matters to later allocations alone, here
 * as well. An access to unmapped memory is a fault, as on a card.
 *
 * Copies and fills by HIP's functions need no access.
 */
#include "hip_peer.h"

#include "allocation_lookup.h"
#include "call.h"
#include "process_state.h"
#include "thread_state.h"

#include "../base/allocation.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* hipMalloc() and its kin: mapped memory has hipMemSetAccess(), and code,
 * pinned and managed memory are for all. */
static bool is_plain(const struct sim_alloc *a)
{
    return a->kind == SIM_MEM_DEVICE && !a->shared;
}

static bool has_guests(const struct device *owner)
{
    int i;

    for (i = 0; i < process.ndevices; i++)
        if (process.devices[i].peers >> owner->ordinal & 1)
            return true;
    return false;
}

static void open_all(struct device *owner)
{
    struct sim_alloc *a;
    uint64_t at = 0;

    while ((a = sim_mem_find_above(at)) != NULL) {
        at = a->base;
        if (is_plain(a) && a->device == owner->sim->ordinal)
            a->no_read = a->no_write = 0;
    }
}

void peers_bar(struct sim_alloc *a)
{
    const struct device *owner = allocation_owner(a);

    pthread_mutex_lock(&lock);
    if (owner && is_plain(a) && !has_guests(owner))
        a->no_read = a->no_write = ~(1ull << a->device);
    pthread_mutex_unlock(&lock);
}

static void let_in(uint64_t addr, uint64_t devices, int except_owner)
{
    struct sim_alloc *a;

    sim_mem_pin();
    a = (struct sim_alloc *)(uintptr_t)sim_mem_find(addr);
    if (a && is_plain(a) && a->device != except_owner) {
        a->no_read &= ~devices;
        a->no_write &= ~devices;
    }
    sim_mem_unpin();
}

void peers_let_in(uint64_t base, const struct device *device)
{
    let_in(base, 1ull << device->sim->ordinal, -1);
}

void peers_map(uint64_t addr, int device)
{
    let_in(addr, UINT64_MAX, device);
}

/* All simulated devices can access each other's memory, once the program has
 * enabled it as HIP demands. */
HIP_API hipError_t hipDeviceCanAccessPeer(int *can, int device, int peer)
{
    ENTER();
    if (!can)
        LEAVE(hipErrorInvalidValue);
    if (!process_device(device) || !process_device(peer))
        LEAVE(hipErrorInvalidDevice);
    *can = device != peer;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags)
{
    struct device *device;
    hipError_t error = hipErrorPeerAccessAlreadyEnabled;

    ENTER();
    if (flags != 0)
        LEAVE(hipErrorInvalidValue);
    if (!process_device(peer) || peer == thread_self()->device)
        LEAVE(hipErrorInvalidDevice);
    device = thread_device();
    pthread_mutex_lock(&lock);
    if (!(device->peers >> peer & 1)) {
        device->peers |= 1ull << peer;
        open_all(process_device(peer));
        error = hipSuccess;
    }
    pthread_mutex_unlock(&lock);
    LEAVE(error);
}

HIP_API hipError_t hipDeviceDisablePeerAccess(int peer)
{
    struct device *device;
    hipError_t error = hipErrorPeerAccessNotEnabled;

    ENTER();
    if (!process_device(peer) || peer == thread_self()->device)
        LEAVE(hipErrorInvalidDevice);
    device = thread_device();
    pthread_mutex_lock(&lock);
    if (device->peers >> peer & 1) {
        device->peers &= ~(1ull << peer);
        error = hipSuccess;
    }
    pthread_mutex_unlock(&lock);
    LEAVE(error);
}

HIP_API hipError_t hipDeviceGetP2PAttribute(int *value, int attribute, int from,
                                            int to)
{
    ENTER();
    if (!value || attribute < 0 || attribute > 3)
        LEAVE(hipErrorInvalidValue);
    if (!process_device(from) || !process_device(to) || from == to)
        LEAVE(hipErrorInvalidDevice);
    *value = attribute != 3; /* all but arrays */
    LEAVE(hipSuccess);
}
