/* hip_occupancy.c - attributes of functions and how many blocks fit a processor
 */
#include "hip_occupancy.h"

#include "call.h"
#include "handle.h"
#include "hip_module.h"
#include "hip_properties.h"
#include "hip_register.h"
#include "process_state.h"
#include "thread_state.h"

#include "../base/loaded_object.h"
#include "../base/processor.h"

#include <limits.h>
#include <string.h>

/* hipFunction_attribute and hipFuncAttribute numbers */
enum {
    MAX_THREADS_PER_BLOCK,
    SHARED_SIZE_BYTES,
    CONST_SIZE_BYTES,
    LOCAL_SIZE_BYTES,
    NUM_REGS,
    PTX_VERSION,
    BINARY_VERSION,
    CACHE_MODE_CA,
    MAX_DYNAMIC_SHARED_SIZE_BYTES,
    PREFERRED_SHARED_MEMORY_CARVEOUT,
    NATTRIBUTES
};

static const struct sim_target *target_of(hipFunction_t f)
{
    return f->loaded->device->sim->target;
}

static int max_dynamic_shared(hipFunction_t f)
{
    return (int)(target_of(f)->lds_nbytes - f->kernel->lds_nbytes);
}

static int attribute(hipFunction_t f, int which)
{
    const struct sim_target *t = target_of(f);

    switch (which) {
    case MAX_THREADS_PER_BLOCK:
        return (int)f->kernel->max_block;
    case SHARED_SIZE_BYTES:
        return (int)f->kernel->lds_nbytes;
    case CONST_SIZE_BYTES:
        return process.release == 5   ? 0
               : process.release == 6 ? INT_MAX - 1
                                      : -1;
    case LOCAL_SIZE_BYTES:
        return (int)f->kernel->scratch_nbytes;
    case NUM_REGS:
        return (int)f->kernel->vgprs;
    case PTX_VERSION:
        return process.release == 5 ? 30 : t->major * 10 + t->minor;
    case BINARY_VERSION:
        return process.release == 5 ? 2 : t->major * 10 + t->minor;
    case MAX_DYNAMIC_SHARED_SIZE_BYTES:
        return max_dynamic_shared(f);
    default: /* CACHE_MODE_CA, PREFERRED_SHARED_MEMORY_CARVEOUT */
        return 0;
    }
}

hipError_t kernel_attribute(hipFunction_t f, int which, int *value)
{
    if (which < 0 || which >= NATTRIBUTES)
        return hipErrorInvalidValue;
    *value = attribute(f, which);
    return hipSuccess;
}

HIP_API hipError_t hipFuncGetAttribute(int *value, int which, hipFunction_t f)
{
    ENTER();
    if (!value)
        LEAVE(hipErrorInvalidValue);
    if (!f)
        LEAVE(process.release == 5 ? hipErrorInvalidValue
                                   : hipErrorInvalidHandle);
    if (!handle_valid(f, HANDLE_FUNCTION))
        LEAVE(hipErrorInvalidDeviceFunction);
    LEAVE(kernel_attribute(f, which, value));
}

HIP_API hipError_t hipFuncGetAttributes(hipFuncAttributes *out,
                                        const void *stub)
{
    hipFunction_t f;

    ENTER();
    if (!out)
        LEAVE(hipErrorInvalidValue);
    if (!stub)
        LEAVE(hipErrorInvalidDeviceFunction);
    if (registered_function(stub, thread_device(), &f) != hipSuccess)
        LEAVE(hipErrorInvalidSymbol);
    memset(out, 0, sizeof(*out));
    out->binaryVersion = attribute(f, BINARY_VERSION);
    out->constSizeBytes = (size_t)attribute(f, CONST_SIZE_BYTES);
    out->localSizeBytes = f->kernel->scratch_nbytes;
    out->maxDynamicSharedSizeBytes = max_dynamic_shared(f);
    out->maxThreadsPerBlock = (int)f->kernel->max_block;
    out->numRegs = (int)f->kernel->vgprs;
    out->ptxVersion = attribute(f, PTX_VERSION);
    out->sharedSizeBytes = f->kernel->lds_nbytes;
    LEAVE(hipSuccess);
}

/* A stub, or from 7.0 on also a module's function. */
static hipError_t any_function(const void *handle, hipFunction_t *out)
{
    if (!handle)
        return hipErrorInvalidDeviceFunction;
    if (registered_function(handle, thread_device(), out) == hipSuccess)
        return hipSuccess;
    if (process.release < 7 || !handle_valid(handle, HANDLE_FUNCTION))
        return hipErrorInvalidDeviceFunction;
    *out = (hipFunction_t)(uintptr_t)handle;
    return hipSuccess;
}

hipError_t kernel_set_attribute(hipFunction_t f, int which, int value)
{
    if (which < 0 || which > NATTRIBUTES ||
        (which == MAX_DYNAMIC_SHARED_SIZE_BYTES &&
         (value < 0 || value > max_dynamic_shared(f))) ||
        (which == PREFERRED_SHARED_MEMORY_CARVEOUT &&
         (value < -1 || value > 100)))
        return hipErrorInvalidValue;
    return hipSuccess;
}

HIP_API hipError_t hipFuncSetAttribute(const void *function, int which,
                                       int value)
{
    hipFunction_t f;
    hipError_t error;

    ENTER();
    error = any_function(function, &f);
    LEAVE(error != hipSuccess ? error : kernel_set_attribute(f, which, value));
}

HIP_API hipError_t hipFuncSetCacheConfig(const void *function, int config)
{
    ENTER();
    (void)function;
    LEAVE(config < 0 || config > 3 ? hipErrorInvalidValue : hipSuccess);
}

HIP_API hipError_t hipFuncSetSharedMemConfig(const void *function, int config)
{
    ENTER();
    (void)function;
    LEAVE(config < 0 || config > 2 ? hipErrorInvalidValue : hipSuccess);
}

/* ---- occupancy ---------------------------------------------------------- */

static unsigned round_up(unsigned n, unsigned to)
{
    return to ? (n + to - 1) / to * to : n;
}

/*
 * Waves that a SIMD holds at once: as many as its registers allow. A wave64 on
 * a machine of wave32 takes each register twice.
 */
static unsigned waves_by_registers(hipFunction_t f)
{
    const struct sim_target *t = target_of(f);
    const struct sim_kernel *k = f->kernel;
    bool doubled = k->wave_size == 64 && t->default_wave == 32;
    unsigned file = doubled ? t->vgprs_per_simd / 2 : t->vgprs_per_simd;
    unsigned granule =
        k->wave_size == 64 ? t->vgpr_granule64 : t->vgpr_granule32;
    unsigned used = t->unified_vgprs ? round_up(k->vgprs, 4)
                                     : k->vgprs; /* vgprs includes AGPRs */
    unsigned waves;

    if (t->accum_vgprs && !t->unified_vgprs && k->agprs > used)
        used = k->agprs; /* two files of the same size */
    used = round_up(used ? used : 1, granule);
    waves = file / used;
    return waves < t->max_waves_per_simd ? waves : t->max_waves_per_simd;
}

/* The same of a multiprocessor. In WGP mode, from gfx10 on, a group has the
 * SIMDs of two compute units. */
static unsigned resident_waves(hipFunction_t f)
{
    const struct sim_target *t = target_of(f);

    return waves_by_registers(f) * t->simds_per_cu *
           (t->major >= 10 && t->simds_per_cu == 2 ? 2 : 1);
}

int occupancy_blocks(hipFunction_t f, int block, size_t dynamic)
{
    const struct sim_target *t = target_of(f);
    const struct sim_kernel *k = f->kernel;
    unsigned waves = ((unsigned)block + k->wave_size - 1) / k->wave_size;
    unsigned blocks = resident_waves(f) / waves;
    size_t lds = k->lds_nbytes + dynamic;

    if (lds && blocks > t->lds_nbytes / lds)
        blocks = (unsigned)(t->lds_nbytes / lds);
    return (int)blocks;
}

static hipError_t max_active(int *out, hipFunction_t f, int block,
                             size_t dynamic, unsigned flags)
{
    if (!out || !handle_valid(f, HANDLE_FUNCTION) || flags > 1 || block <= 0)
        return hipErrorInvalidValue;
    *out = (unsigned)block > f->kernel->max_block
               ? 0
               : occupancy_blocks(f, block, dynamic);
    return hipSuccess;
}

/*
 * AMD's rule: the largest block that is allowed, or as many threads as are
 * resident if these are fewer, though smaller blocks may fill a processor
 * better. Only no larger than the kernel's own limit, unlike AMD's.
 */
static hipError_t best_block(int *grid, int *block, hipFunction_t f,
                             size_t dynamic, int limit, unsigned flags)
{
    int wave, most, size, threads, blocks;

    if (!grid || !block || !handle_valid(f, HANDLE_FUNCTION) || flags > 1 ||
        limit < 0)
        return hipErrorInvalidValue;
    wave = (int)f->kernel->wave_size;
    most = (int)f->kernel->max_block;
    size = limit > 0 && limit < most ? limit : most;
    size = (int)round_up((unsigned)size, (unsigned)wave);
    if (size > most)
        size = most;
    threads = (int)resident_waves(f) * wave;
    if (threads == 0)
        return hipErrorUnknown;
    if (size > threads)
        size = threads;
    blocks = occupancy_blocks(f, size, dynamic);
    *block = size;
    *grid = blocks * (int)device_multiprocessors(target_of(f));
    return hipSuccess;
}

HIP_API hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
    int *blocks, hipFunction_t f, int block, size_t dynamic)
{
    ENTER();
    LEAVE(max_active(blocks, f, block, dynamic, 0));
}

HIP_API hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, hipFunction_t f, int block, size_t dynamic, unsigned flags)
{
    ENTER();
    LEAVE(max_active(blocks, f, block, dynamic, flags));
}

HIP_API hipError_t hipModuleOccupancyMaxPotentialBlockSize(
    int *grid, int *block, hipFunction_t f, size_t dynamic, int limit)
{
    ENTER();
    LEAVE(best_block(grid, block, f, dynamic, limit, 0));
}

HIP_API hipError_t hipModuleOccupancyMaxPotentialBlockSizeWithFlags(
    int *grid, int *block, hipFunction_t f, size_t dynamic, int limit,
    unsigned flags)
{
    ENTER();
    LEAVE(best_block(grid, block, f, dynamic, limit, flags));
}

HIP_API hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(
    int *blocks, const void *stub, int block, size_t dynamic)
{
    hipFunction_t f;

    ENTER();
    if (any_function(stub, &f) != hipSuccess)
        LEAVE(hipErrorInvalidDeviceFunction);
    LEAVE(max_active(blocks, f, block, dynamic, 0));
}

HIP_API hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, const void *stub, int block, size_t dynamic, unsigned flags)
{
    hipFunction_t f;

    ENTER();
    if (any_function(stub, &f) != hipSuccess)
        LEAVE(hipErrorInvalidDeviceFunction);
    LEAVE(max_active(blocks, f, block, dynamic, flags));
}

HIP_API hipError_t hipOccupancyMaxPotentialBlockSize(int *grid, int *block,
                                                     const void *stub,
                                                     size_t dynamic, int limit)
{
    hipFunction_t f;

    ENTER();
    if (any_function(stub, &f) != hipSuccess)
        LEAVE(hipErrorInvalidDeviceFunction);
    LEAVE(best_block(grid, block, f, dynamic, limit, 0));
}

/* Bytes in which a group takes LDS. */
static int64_t lds_granule(const struct sim_target *t)
{
    return t->major >= 10 ? 1024 : t->lds_nbytes > 65536 ? 1280 : 512;
}

/*
 * AMD's formula: the LDS that the static parts of all blocks leave, divided
 * among as many blocks as there are threads for. If the static parts alone are
 * too large, the result is below zero and wraps. The formula takes the granule
 * for a power of two, which is wrong on gfx950.
 */
static hipError_t available_shared(size_t *out, hipFunction_t f, int blocks,
                                   int block)
{
    const struct sim_target *t = target_of(f);
    const int64_t most = (int64_t)device_resident_threads(t) / block;
    int64_t left, among, each;

    if (most == 0)
        return hipErrorInvalidValue;
    left = (int64_t)t->lds_nbytes -
           (int64_t)f->kernel->lds_nbytes * (blocks < most ? blocks : most);
    among = (blocks < most) == (left >= 0) ? blocks : most;
    each = left >= 0 ? left / among : -((among - 1 - left) / among);
    *out = (size_t)(each & ~(lds_granule(t) - 1));
    return hipSuccess;
}

HIP_API hipError_t hipOccupancyAvailableDynamicSMemPerBlock(size_t *out,
                                                            const void *stub,
                                                            int blocks,
                                                            int block)
{
    hipFunction_t f;

    ENTER();
    if (!out || blocks <= 0 || block <= 0)
        LEAVE(hipErrorInvalidValue);
    if (!stub || registered_function(stub, thread_device(), &f) != hipSuccess)
        LEAVE(hipErrorInvalidDeviceFunction);
    LEAVE(available_shared(out, f, blocks, block));
}
