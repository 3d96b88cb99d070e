/* hip_cooperative.c - cooperative launches, on one device and on several
 *
 * A cooperative grid may hold no more blocks than can be resident at once, and
 * its kernels find a barrier structure through a hidden argument. Grids on
 * several devices share one more barrier, in memory that every device reaches.
 */
#include "hip_cooperative.h"

#include "call.h"
#include "handle.h"
#include "hip_launch.h"
#include "hip_module.h"
#include "hip_occupancy.h"
#include "hip_register.h"
#include "kernel_op.h"
#include "op_queue.h"
#include "process_state.h"
#include "stream_queue.h"
#include "thread_state.h"

#include "../base/allocation.h"
#include "../base/host_access.h"
#include "../base/processor.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static hipError_t check_resident(const struct launch *l,
                                 const uint32_t blocks[3])
{
    const struct sim_target *t = l->function->loaded->device->sim->target;
    uint64_t all = (uint64_t)blocks[0] * blocks[1] * blocks[2];
    uint64_t block = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    /* occupancy_blocks() counts pairs of compute units from gfx10 on. */
    uint64_t units = t->major >= 10 && t->simds_per_cu == 2
                         ? (t->product->compute_units + 1) / 2
                         : t->product->compute_units;

    if (block == 0 || block > l->function->kernel->max_block)
        return hipSuccess; /* the checks of the launch find the error */
    if (all >
        units * (uint64_t)occupancy_blocks(l->function, (int)block, l->shared))
        return hipErrorCooperativeLaunchTooLarge;
    return hipSuccess;
}

static hipError_t check_overflow(const uint32_t blocks[3],
                                 const uint32_t block[3])
{
    int i;

    for (i = 0; i < 3; i++)
        if ((uint64_t)blocks[i] * block[i] > UINT32_MAX)
            return process.release >= 7 ? hipErrorInvalidValue
                                        : hipErrorInvalidConfiguration;
    return hipSuccess;
}

hipError_t cooperative_launch(struct launch *l, const uint32_t blocks[3],
                              struct queue *q)
{
    hipError_t error = check_overflow(blocks, l->block);

    l->cooperative = true;
    if (error == hipSuccess)
        error = check_resident(l, blocks);
    if (error == hipSuccess)
        error = launch_blocks(l, blocks, q);
    return error;
}

/* ---- one device --------------------------------------------------------- */

HIP_API hipError_t hipModuleLaunchCooperativeKernel(
    hipFunction_t f, unsigned grid_x, unsigned grid_y, unsigned grid_z,
    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
    hipStream_t stream, void **params)
{
    const uint32_t blocks[3] = {grid_x, grid_y, grid_z};
    struct launch l = {.function = f,
                       .block = {block_x, block_y, block_z},
                       .shared = shared,
                       .params = params};
    hipError_t error = hipErrorInvalidHandle;
    struct queue *q;

    ENTER();
    q = stream_queue(stream);
    if (!q)
        LEAVE(process.release >= 7 ? hipErrorContextIsDestroyed
                                   : hipErrorInvalidValue);
    if (handle_valid(f, HANDLE_FUNCTION))
        error = cooperative_launch(&l, blocks, q);
    queue_unref(q);
    LEAVE(error);
}

hipError_t cooperative_launch_stub(const void *stub, dim3 grid, dim3 block,
                                   void **args, size_t shared, struct queue *q)
{
    const uint32_t blocks[3] = {grid.x, grid.y, grid.z};
    struct launch l = {
        .block = {block.x, block.y, block.z}, .shared = shared, .params = args};
    hipError_t error;

    if (!q)
        return process.release >= 7 ? hipErrorInvalidValue
                                    : hipErrorContextIsDestroyed;
    l.any_device = true;
    l.stub = stub;
    error = stub ? registered_function(stub, q->device, &l.function)
                 : hipErrorInvalidDeviceFunction;
    if (error == hipSuccess && (check_overflow(blocks, l.block) != hipSuccess ||
                                (uint64_t)block.x * block.y * block.z > 1024))
        error = hipErrorInvalidConfiguration;
    if (error == hipSuccess && shared > q->device->sim->target->lds_nbytes)
        error = hipErrorCooperativeLaunchTooLarge;
    if (error == hipSuccess)
        error = cooperative_launch(&l, blocks, q);
    queue_unref(q);
    return error;
}

HIP_API hipError_t hipLaunchCooperativeKernel(const void *stub, dim3 grid,
                                              dim3 block, void **args,
                                              unsigned shared,
                                              hipStream_t stream)
{
    ENTER();
    LEAVE(cooperative_launch_stub(stub, grid, block, args, shared,
                                  stream_queue(stream)));
}

HIP_API hipError_t hipLaunchCooperativeKernel_spt(const void *stub, dim3 grid,
                                                  dim3 block, void **args,
                                                  unsigned shared,
                                                  hipStream_t stream)
{
    ENTER();
    LEAVE(cooperative_launch_stub(stub, grid, block, args, shared,
                                  stream_queue_spt(stream)));
}

/* ---- several devices ---------------------------------------------------- */

enum { NO_PRE_SYNC = 1, NO_POST_SYNC = 2 };

/* One grid of a multi-device launch. */
struct part {
    struct launch launch;
    uint32_t blocks[3];
    struct queue *queue;
};

/* The shared barrier lives until the last grid is done: its own operation,
 * after all of them, frees it. */
struct shared_barrier {
    struct op op;
    uint64_t address;
};

static hipError_t free_barrier(struct op *op)
{
    sim_mem_free(((struct shared_barrier *)op)->address);
    return hipSuccess;
}

/* Waits for all earlier work of each part's queue. */
static hipError_t join_queues(struct part *parts, unsigned n)
{
    hipError_t error = hipSuccess;
    unsigned i;

    for (i = 0; i < n && error == hipSuccess; i++)
        error = queue_wait(parts[i].queue);
    return error;
}

static hipError_t check_parts(struct part *parts, unsigned n, bool cooperative)
{
    uint64_t devices = 0;
    unsigned i;
    int j;

    for (i = 0; i < n; i++) {
        const struct part *p = &parts[i];
        uint64_t bit = 1ull << p->queue->device->ordinal;

        for (j = 0; j < 3; j++) {
            if (p->launch.block[j] == 0)
                return hipErrorInvalidConfiguration;
            if (process.release >= 7 && cooperative &&
                (p->blocks[j] != parts[0].blocks[j] ||
                 p->launch.block[j] != parts[0].launch.block[j]))
                return hipErrorInvalidValue;
        }
        if (cooperative && (devices & bit))
            return hipErrorInvalidDevice;
        devices |= bit;
    }
    return hipSuccess;
}

static hipError_t launch_parts(struct part *parts, unsigned n, unsigned flags,
                               bool cooperative)
{
    hipError_t error = check_parts(parts, n, cooperative);
    int before = thread_self()->device;
    struct shared_barrier *barrier = NULL;
    uint64_t total = 0, shared = 0;
    unsigned i;
    int j;

    if (error == hipSuccess && !(flags & NO_PRE_SYNC))
        error = join_queues(parts, n);
    for (i = 0; i < n; i++) {
        struct launch *l = &parts[i].launch;
        uint64_t items = 1;

        for (j = 0; j < 3; j++)
            items *= (uint64_t)parts[i].blocks[j] * l->block[j];
        l->items_before = total;
        l->grid_id = i;
        l->ngrids = n;
        total += items;
    }
    if (error == hipSuccess && cooperative) {
        struct sim_alloc *a = sim_mem_alloc(-1, 16, 0, SIM_MEM_INTERNAL);

        barrier = (struct shared_barrier *)op_new(sizeof(*barrier),
                                                  free_barrier, NULL);
        if (!a || !barrier) {
            if (a)
                sim_mem_free(a->base);
            op_unref((struct op *)barrier);
            return hipErrorOutOfMemory;
        }
        barrier->op.runs_after_fault = true;
        barrier->address = a->base;
        memset(a->bytes, 0, 16);
        sim_mem_mark_written(a->base, 16);
        shared = a->base;
    }
    for (i = 0; i < n && error == hipSuccess; i++) {
        parts[i].launch.items_total = total;
        parts[i].launch.mg_sync = shared;
        thread_self()->device = parts[i].queue->device->ordinal;
        error = cooperative
                    ? cooperative_launch(&parts[i].launch, parts[i].blocks,
                                         parts[i].queue)
                    : launch_blocks(&parts[i].launch, parts[i].blocks,
                                    parts[i].queue);
    }
    thread_self()->device = before;
    if (barrier) {
        pthread_mutex_lock(&process.lock);
        for (i = 0; i < n; i++)
            if (parts[i].queue->newest)
                op_after(&barrier->op, parts[i].queue->newest);
        pthread_mutex_unlock(&process.lock);
        op_submit(parts[0].queue, &barrier->op);
    }
    if (error == hipSuccess && !(flags & NO_POST_SYNC))
        error = join_queues(parts, n);
    return error;
}

static void release_parts(struct part *parts, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++)
        if (parts[i].queue)
            queue_unref(parts[i].queue);
    free(parts);
}

HIP_API hipError_t hipModuleLaunchCooperativeKernelMultiDevice(
    hipFunctionLaunchParams *list, unsigned n, unsigned flags)
{
    hipError_t error = hipSuccess;
    struct part *parts;
    unsigned i;

    ENTER();
    if (!list || n == 0 || n > (unsigned)process.ndevices || flags > 3)
        LEAVE(hipErrorInvalidValue);
    parts = calloc(n, sizeof(*parts));
    if (!parts)
        LEAVE(hipErrorOutOfMemory);
    for (i = 0; i < n && error == hipSuccess; i++) {
        const hipFunctionLaunchParams *from = &list[i];
        struct launch l = {
            .function = from->function,
            .block = {from->blockDimX, from->blockDimY, from->blockDimZ},
            .shared = from->sharedMemBytes,
            .params = from->kernelParams};

        parts[i].launch = l;
        parts[i].blocks[0] = from->gridDimX;
        parts[i].blocks[1] = from->gridDimY;
        parts[i].blocks[2] = from->gridDimZ;
        if (!from->blockDimX || !from->blockDimY || !from->blockDimZ)
            error = hipErrorInvalidConfiguration;
        else if (!from->hStream ||
                 !handle_valid(from->function, HANDLE_FUNCTION) ||
                 !(parts[i].queue = stream_queue(from->hStream)))
            error = hipErrorInvalidHandle;
    }
    if (error == hipSuccess)
        error = launch_parts(parts, n, flags, true);
    release_parts(parts, n);
    LEAVE(error);
}

static hipError_t launch_list(hipLaunchParams *list, int n, unsigned flags,
                              bool cooperative)
{
    hipError_t error = hipSuccess;
    struct part *parts;
    int i;

    if (!list || n <= 0 || n > process.ndevices || flags > 3)
        return hipErrorInvalidValue;
    parts = calloc((size_t)n, sizeof(*parts));
    if (!parts)
        return hipErrorOutOfMemory;
    for (i = 0; i < n && error == hipSuccess; i++) {
        const hipLaunchParams *from = &list[i];
        struct launch l = {
            .block = {from->blockDim.x, from->blockDim.y, from->blockDim.z},
            .shared = from->sharedMem,
            .params = from->args,
            .any_device = true};

        parts[i].launch = l;
        parts[i].blocks[0] = from->gridDim.x;
        parts[i].blocks[1] = from->gridDim.y;
        parts[i].blocks[2] = from->gridDim.z;
        if (!from->stream || !(parts[i].queue = stream_queue(from->stream))) {
            error = hipErrorInvalidHandle;
            break;
        }
        error = registered_function(from->func, parts[i].queue->device,
                                    &parts[i].launch.function);
    }
    if (error == hipSuccess)
        error = launch_parts(parts, (unsigned)n, flags, cooperative);
    release_parts(parts, (unsigned)n);
    return error;
}

HIP_API hipError_t hipLaunchCooperativeKernelMultiDevice(hipLaunchParams *list,
                                                         int n, unsigned flags)
{
    ENTER();
    LEAVE(launch_list(list, n, flags, true));
}

HIP_API hipError_t hipExtLaunchMultiKernelMultiDevice(hipLaunchParams *list,
                                                      int n, unsigned flags)
{
    ENTER();
    LEAVE(launch_list(list, n, flags, false));
}
