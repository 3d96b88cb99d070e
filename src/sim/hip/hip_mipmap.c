/* hip_mipmap.c - mipmapped arrays: images of several levels, each an array, too
 *
 * AMD's runtime has them on Linux late in release 7 only; before, it refuses
 * what is otherwise right. A level's array lives until it is freed, or the
 * whole is.
 */
#include "call.h"
#include "handle.h"
#include "hip_array.h"
#include "hip_properties.h"
#include "op_queue.h"
#include "process_state.h"
#include "texel_format.h"
#include "thread_state.h"

#include "../base/allocation.h"

#include <pthread.h>
#include <stdlib.h>

/* Halvings until the longest side is one element. */
static unsigned most_levels(const struct array *a)
{
    size_t longest = a->width > a->height ? a->width : a->height;
    unsigned n = 0;

    if (a->depth > longest)
        longest = a->depth;
    for (; longest; longest /= 2)
        n++;
    return n;
}

static hipError_t make(hipMipmappedArray_t *out, const struct array *like,
                       unsigned nlevels)
{
    hipMipmappedArray_t mip;
    hipError_t error;

    if (process.release < 7 || !device_has_images(thread_device()))
        return hipErrorNotSupported;
    mip = calloc(1, sizeof(*mip));
    if (!mip)
        return hipErrorOutOfMemory;
    mip->whole = *like;
    mip->whole.device = thread_device();
    error = nlevels > most_levels(like) ||
                    !array_shape(&mip->whole, nlevels ? nlevels : 1)
                ? hipErrorInvalidValue
                : array_memory_new(&mip->whole);
    if (error == hipSuccess && !handle_add(mip, HANDLE_MIPMAPPED_ARRAY)) {
        sim_mem_free(mip->whole.base);
        error = hipErrorOutOfMemory;
    }
    if (error != hipSuccess) {
        free(mip);
        return error;
    }
    *out = mip;
    return hipSuccess;
}

HIP_API hipError_t hipMallocMipmappedArray(hipMipmappedArray_t *out,
                                           const hipChannelFormatDesc *desc,
                                           hipExtent extent, unsigned nlevels,
                                           unsigned flags)
{
    struct array a = {.width = extent.width,
                      .height = extent.height,
                      .depth = extent.depth,
                      .flags = flags};

    ENTER();
    if (!out || !desc || !texel_of_desc(desc, &a.texel))
        LEAVE(hipErrorInvalidValue);
    LEAVE(make(out, &a, nlevels));
}

HIP_API hipError_t hipMipmappedArrayCreate(hipMipmappedArray_t *out,
                                           const HIP_ARRAY3D_DESCRIPTOR *d,
                                           unsigned nlevels)
{
    struct array a;

    ENTER();
    if (!out || !d)
        LEAVE(hipErrorInvalidValue);
    a = (struct array){.width = d->Width,
                       .height = d->Height,
                       .depth = d->Depth,
                       .flags = d->Flags};
    if (!texel_of_format(d->Format, d->NumChannels, &a.texel))
        LEAVE(hipErrorInvalidValue);
    LEAVE(make(out, &a, nlevels));
}

static hipError_t destroy(hipMipmappedArray_t mip)
{
    if (!mip || !handle_remove(mip, HANDLE_MIPMAPPED_ARRAY))
        return hipErrorInvalidValue;
    queues_wait(mip->whole.device);
    pthread_mutex_lock(&array_levels_lock);
    while (mip->levels) {
        struct array *level = mip->levels;

        mip->levels = level->next;
        handle_remove(level, HANDLE_ARRAY);
        free(level);
    }
    pthread_mutex_unlock(&array_levels_lock);
    sim_mem_free(mip->whole.base);
    free(mip);
    return hipSuccess;
}

HIP_API hipError_t hipFreeMipmappedArray(hipMipmappedArray_t mip)
{
    ENTER();
    LEAVE(destroy(mip));
}

HIP_API hipError_t hipMipmappedArrayDestroy(hipMipmappedArray_t mip)
{
    ENTER();
    LEAVE(destroy(mip));
}

/* ---- levels ------------------------------------------------------------- */

/* n divided by 2^level, but at least 1; 0 stays 0. */
static size_t halved(size_t n, unsigned level)
{
    return n == 0 ? 0 : (n >> level) ? n >> level : 1;
}

static hipError_t get_level(hipArray_t *out, hipMipmappedArray_t mip,
                            unsigned level)
{
    struct array *a;

    if (!out || !handle_valid(mip, HANDLE_MIPMAPPED_ARRAY) ||
        level >= mip->whole.image.nlevels)
        return hipErrorInvalidValue;
    a = malloc(sizeof(*a));
    if (!a)
        return hipErrorOutOfMemory;
    *a = mip->whole;
    a->width = halved(a->width, level);
    a->height = halved(a->height, level);
    if (!(a->flags & ARRAY_LAYERED))
        a->depth = halved(a->depth, level);
    a->level = a->image.first_level = a->image.last_level = level;
    a->mip = mip;
    if (!handle_add(a, HANDLE_ARRAY)) {
        free(a);
        return hipErrorOutOfMemory;
    }
    pthread_mutex_lock(&array_levels_lock);
    a->next = mip->levels;
    mip->levels = a;
    pthread_mutex_unlock(&array_levels_lock);
    *out = a;
    return hipSuccess;
}

HIP_API hipError_t hipGetMipmappedArrayLevel(hipArray_t *out,
                                             hipMipmappedArray_t mip,
                                             unsigned level)
{
    ENTER();
    LEAVE(get_level(out, mip, level));
}

HIP_API hipError_t hipMipmappedArrayGetLevel(hipArray_t *out,
                                             hipMipmappedArray_t mip,
                                             unsigned level)
{
    ENTER();
    LEAVE(get_level(out, mip, level));
}
