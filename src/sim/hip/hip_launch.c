/* hip_launch.c - launches of modules' functions */
#define _GNU_SOURCE
#include "hip_launch.h"

#include "call.h"
#include "capture_node.h"
#include "capture_state.h"
#include "handle.h"
#include "hip_module.h"
#include "kernel_op.h"
#include "op_queue.h"
#include "process_state.h"
#include "stream_queue.h"

/* Copies the arguments and gives the dispatch to the queue. */
static hipError_t submit(const struct launch *l, struct queue *q)
{
    return capture_is_active(q) ? capture_launch(q, l) : launch_now(l, q);
}

hipError_t launch_blocks(struct launch *l, const uint32_t blocks[3],
                         struct queue *q)
{
    hipError_t error = launch_check_blocks(l, blocks, q);

    return error == hipSuccess ? submit(l, q) : error;
}

/* ---- module launches ---------------------------------------------------- */

static hipError_t unknown_stream(void)
{
    return process.release >= 7 ? hipErrorContextIsDestroyed
                                : hipErrorInvalidValue;
}

static hipError_t unknown_function(void)
{
    return process.release == 5 ? hipErrorInvalidImage : hipErrorInvalidHandle;
}

HIP_API hipError_t hipModuleLaunchKernel(hipFunction_t f, unsigned grid_x,
                                         unsigned grid_y, unsigned grid_z,
                                         unsigned block_x, unsigned block_y,
                                         unsigned block_z, unsigned shared,
                                         hipStream_t stream, void **params,
                                         void **extra)
{
    const uint32_t blocks[3] = {grid_x, grid_y, grid_z};
    struct launch l = {.function = f,
                       .block = {block_x, block_y, block_z},
                       .shared = shared,
                       .params = params,
                       .extra = extra};
    hipError_t error;
    struct queue *q;

    ENTER();
    q = stream_queue(stream);
    if (!q)
        LEAVE(unknown_stream());
    error = handle_valid(f, HANDLE_FUNCTION) ? launch_blocks(&l, blocks, q)
                                             : unknown_function();
    queue_unref(q);
    LEAVE(error);
}

/* Work-items and blocks, with the answers of each release. */
static hipError_t check_items(const struct launch *l)
{
    const uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    int i;

    if (process.release == 6 && l->params && l->extra)
        return hipErrorInvalidValue;
    for (i = 0; i < 3; i++) {
        if (process.release == 6 && (l->grid[i] == 0 || l->block[i] == 0))
            return hipErrorInvalidConfiguration;
        if (l->grid[i] == 0)
            return hipErrorInvalidValue;
        if (process.release != 6 &&
            (l->block[i] == 0 || l->block[i] > MAX_BLOCK))
            return hipErrorInvalidConfiguration;
    }
    if (threads > MAX_BLOCK || l->block[0] > MAX_BLOCK ||
        l->block[1] > MAX_BLOCK || l->block[2] > MAX_BLOCK)
        return process.release >= 7 ? hipErrorInvalidConfiguration
                                    : hipErrorInvalidValue;
    return l->params && l->extra ? hipErrorInvalidValue : hipSuccess;
}

/* A grid of fewer work-items than a block has is one smaller block; otherwise
 * a last block may be partial if the kernel was compiled for that. */
static hipError_t fit_blocks(struct launch *l)
{
    bool partial = false;
    int i;

    for (i = 0; i < 3; i++) {
        if (l->block[i] > l->grid[i] && process.release >= 6)
            l->block[i] = l->grid[i];
        partial = partial || l->grid[i] % l->block[i];
    }
    return partial && l->function->kernel->uniform_work_group_size
               ? hipErrorInvalidValue
               : hipSuccess;
}

/* Dimensions are work-items here. */
static hipError_t launch_items(struct launch *l, hipStream_t stream)
{
    struct queue *q = stream_queue(stream);
    hipError_t error;

    if (!q)
        return unknown_stream();
    error = handle_valid(l->function, HANDLE_FUNCTION) ? check_items(l)
                                                       : unknown_function();
    if (error == hipSuccess)
        error = launch_check(l, q);
    if (error == hipSuccess)
        error = fit_blocks(l);
    if (error == hipSuccess)
        error = submit(l, q);
    queue_unref(q);
    return error;
}

HIP_API hipError_t hipExtModuleLaunchKernel(hipFunction_t f, uint32_t grid_x,
                                            uint32_t grid_y, uint32_t grid_z,
                                            uint32_t block_x, uint32_t block_y,
                                            uint32_t block_z, size_t shared,
                                            hipStream_t stream, void **params,
                                            void **extra, hipEvent_t start,
                                            hipEvent_t stop, uint32_t flags)
{
    struct launch l = {.function = f,
                       .grid = {grid_x, grid_y, grid_z},
                       .block = {block_x, block_y, block_z},
                       .shared = shared,
                       .params = params,
                       .extra = extra,
                       .start = start,
                       .stop = stop};

    ENTER();
    (void)flags; /* flags may allow out-of-order starts; this runs in order */
    LEAVE(launch_items(&l, stream));
}

HIP_API hipError_t hipHccModuleLaunchKernel(hipFunction_t f, uint32_t grid_x,
                                            uint32_t grid_y, uint32_t grid_z,
                                            uint32_t block_x, uint32_t block_y,
                                            uint32_t block_z, size_t shared,
                                            hipStream_t stream, void **params,
                                            void **extra, hipEvent_t start,
                                            hipEvent_t stop)
{
    struct launch l = {.function = f,
                       .grid = {grid_x, grid_y, grid_z},
                       .block = {block_x, block_y, block_z},
                       .shared = shared,
                       .params = params,
                       .extra = extra,
                       .start = start,
                       .stop = stop};

    ENTER();
    LEAVE(launch_items(&l, stream));
}

/* Up to 6.0 the two had C++ names, from headers without extern "C". */
/* clang-format off */
HIP_API hipError_t _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j(
    hipFunction_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,
    size_t, hipStream_t, void **, void **, hipEvent_t, hipEvent_t, uint32_t)
    __attribute__((alias("hipExtModuleLaunchKernel")));
HIP_API hipError_t _Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_(
    hipFunction_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,
    size_t, hipStream_t, void **, void **, hipEvent_t, hipEvent_t)
    __attribute__((alias("hipHccModuleLaunchKernel")));
/* clang-format on */
