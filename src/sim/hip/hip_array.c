/* hip_array.c - arrays: linear images in device memory
 *
 * Rows are padded as the hardware wants them (base/image_descriptor.h). Devices
 * without images refuse arrays, as AMD's runtime does, and so are cube maps
 * everywhere.
 */
#include "hip_array.h"

#include "call.h"
#include "handle.h"
#include "hip_peer.h"
#include "hip_properties.h"
#include "op_queue.h"
#include "texel_format.h"
#include "thread_state.h"

#include "../base/allocation.h"
#include "../base/image_descriptor.h"

#include <pthread.h>
#include <stdlib.h>

pthread_mutex_t array_levels_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- making and freeing ------------------------------------------------- */

static uint32_t at_least_1(size_t n)
{
    return n ? (uint32_t)n : 1;
}

/* Whether the array is within every target's limits, as in hipDeviceProp_t:
 * elements of a row, rows, slices, layers. */
static bool fits(const struct array *a)
{
    enum { WIDEST = 16384, DEEPEST = 8192 };

    if (a->width == 0 || a->width > WIDEST || a->height > WIDEST ||
        a->depth > DEEPEST)
        return false;
    return a->flags & ARRAY_LAYERED ? a->depth != 0 : a->height || !a->depth;
}

static enum sim_image_type type_of(const struct array *a)
{
    if (a->flags & ARRAY_LAYERED)
        return a->height ? SIM_IMAGE_2D_ARRAY : SIM_IMAGE_1D_ARRAY;
    return a->depth ? SIM_IMAGE_3D : a->height ? SIM_IMAGE_2D : SIM_IMAGE_1D;
}

bool array_shape(struct array *a, unsigned nlevels)
{
    const struct reading as_elements = {0};
    uint32_t object[IMAGE_OBJECT_WORDS];
    char why[SIM_IMAGE_WHY];

    if ((a->flags & ~(unsigned)ARRAY_FLAGS) || (a->flags & ARRAY_CUBE) ||
        !fits(a))
        return false;
    a->image = (struct sim_image){.type = type_of(a),
                                  .width = (uint32_t)a->width,
                                  .height = at_least_1(a->height),
                                  .depth = at_least_1(a->depth),
                                  .nlevels = nlevels,
                                  .last_level = nlevels - 1};
    return texel_read(&a->texel, &as_elements, &a->image, object) &&
           sim_image_layout(&a->image, a->device->sim->target, &a->layout, why);
}

hipError_t array_memory_new(struct array *a)
{
    struct sim_alloc *memory =
        sim_mem_alloc(a->device->sim->ordinal, a->layout.nbytes,
                      SIM_IMAGE_ALIGN, SIM_MEM_DEVICE);

    if (!memory)
        return hipErrorOutOfMemory;
    peers_bar(memory);
    a->base = a->image.base = memory->base;
    return hipSuccess;
}

static hipError_t make(hipArray_t *out, const struct array *like)
{
    struct array *a = calloc(1, sizeof(*a));
    hipError_t error;

    if (!a)
        return hipErrorOutOfMemory;
    *a = *like;
    a->device = thread_device();
    error = hipErrorNotSupported;
    if (device_has_images(a->device))
        error = array_shape(a, 1) ? array_memory_new(a) : hipErrorInvalidValue;
    if (error == hipSuccess && !handle_add(a, HANDLE_ARRAY)) {
        sim_mem_free(a->base);
        error = hipErrorOutOfMemory;
    }
    if (error != hipSuccess) {
        free(a);
        return error;
    }
    *out = a;
    return hipSuccess;
}

HIP_API hipError_t hipMallocArray(hipArray_t *out,
                                  const hipChannelFormatDesc *desc,
                                  size_t width, size_t height, unsigned flags)
{
    struct array a = {.width = width, .height = height, .flags = flags};

    ENTER();
    if (!out || !desc || (flags & ARRAY_LAYERED) ||
        !texel_of_desc(desc, &a.texel))
        LEAVE(hipErrorInvalidValue);
    LEAVE(make(out, &a));
}

HIP_API hipError_t hipMalloc3DArray(hipArray_t *out,
                                    const hipChannelFormatDesc *desc,
                                    hipExtent extent, unsigned flags)
{
    struct array a = {.width = extent.width,
                      .height = extent.height,
                      .depth = extent.depth,
                      .flags = flags};

    ENTER();
    if (!out || !desc || !texel_of_desc(desc, &a.texel))
        LEAVE(hipErrorInvalidValue);
    LEAVE(make(out, &a));
}

static hipError_t make_of_format(hipArray_t *out,
                                 const HIP_ARRAY3D_DESCRIPTOR *d)
{
    struct array a = {.width = d->Width,
                      .height = d->Height,
                      .depth = d->Depth,
                      .flags = d->Flags};

    if (!out || !texel_of_format(d->Format, d->NumChannels, &a.texel))
        return hipErrorInvalidValue;
    return make(out, &a);
}

HIP_API hipError_t hipArrayCreate(hipArray_t *out,
                                  const HIP_ARRAY_DESCRIPTOR *d)
{
    HIP_ARRAY3D_DESCRIPTOR flat = {0};

    ENTER();
    if (!d)
        LEAVE(hipErrorInvalidValue);
    flat.Width = d->Width;
    flat.Height = d->Height;
    flat.Format = d->Format;
    flat.NumChannels = d->NumChannels;
    LEAVE(make_of_format(out, &flat));
}

HIP_API hipError_t hipArray3DCreate(hipArray_t *out,
                                    const HIP_ARRAY3D_DESCRIPTOR *d)
{
    ENTER();
    LEAVE(d ? make_of_format(out, d) : hipErrorInvalidValue);
}

static void forget_level(struct array *level)
{
    struct array **link;

    pthread_mutex_lock(&array_levels_lock);
    for (link = &level->mip->levels; *link && *link != level;
         link = &(*link)->next)
        ;
    if (*link)
        *link = level->next;
    pthread_mutex_unlock(&array_levels_lock);
}

static hipError_t destroy(hipArray_t a)
{
    if (!a)
        return hipErrorInvalidValue;
    if (!handle_remove(a, HANDLE_ARRAY))
        return hipErrorContextIsDestroyed;
    queues_wait(a->device);
    if (a->mip)
        forget_level(a);
    else
        sim_mem_free(a->base);
    free(a);
    return hipSuccess;
}

HIP_API hipError_t hipFreeArray(hipArray_t array)
{
    ENTER();
    LEAVE(destroy(array));
}

HIP_API hipError_t hipArrayDestroy(hipArray_t array)
{
    ENTER();
    LEAVE(destroy(array));
}

/* ---- questions ---------------------------------------------------------- */

HIP_API hipError_t hipArrayGetInfo(hipChannelFormatDesc *desc,
                                   hipExtent *extent, unsigned *flags,
                                   hipArray_t a)
{
    ENTER();
    if (!handle_valid(a, HANDLE_ARRAY))
        LEAVE(hipErrorInvalidHandle);
    if (desc)
        *desc = texel_desc(&a->texel);
    if (extent)
        *extent = (hipExtent){a->width, a->height, a->depth};
    if (flags)
        *flags = a->flags;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipGetChannelDesc(hipChannelFormatDesc *desc, hipArray_t a)
{
    hipError_t error;

    ENTER();
    if (!desc)
        LEAVE(hipErrorInvalidValue);
    if (!a)
        LEAVE(hipErrorInvalidHandle);
    error = device_images_here();
    if (error == hipSuccess && !handle_valid(a, HANDLE_ARRAY))
        error = hipErrorInvalidHandle;
    if (error == hipSuccess)
        *desc = texel_desc(&a->texel);
    LEAVE(error);
}

HIP_API hipError_t hipArrayGetDescriptor(HIP_ARRAY_DESCRIPTOR *d, hipArray_t a)
{
    ENTER();
    if (!d)
        LEAVE(hipErrorInvalidValue);
    if (!handle_valid(a, HANDLE_ARRAY))
        LEAVE(hipErrorInvalidHandle);
    *d = (HIP_ARRAY_DESCRIPTOR){a->width, a->height, a->texel.format,
                                a->texel.channels};
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipArray3DGetDescriptor(HIP_ARRAY3D_DESCRIPTOR *d,
                                           hipArray_t a)
{
    ENTER();
    if (!d)
        LEAVE(hipErrorInvalidValue);
    if (!handle_valid(a, HANDLE_ARRAY))
        LEAVE(hipErrorInvalidHandle);
    *d = (HIP_ARRAY3D_DESCRIPTOR){a->width,        a->height,         a->depth,
                                  a->texel.format, a->texel.channels, a->flags};
    LEAVE(hipSuccess);
}

bool array_is_handle(const void *pointer)
{
    return handle_valid(pointer, HANDLE_ARRAY);
}

bool array_element(const void *array, size_t *nbytes)
{
    const struct array *a = array;

    if (!handle_valid(a, HANDLE_ARRAY))
        return false;
    *nbytes = texel_nbytes(&a->texel);
    return true;
}

bool array_rows(const void *array, struct array_rows *out)
{
    const struct array *a = array;
    const struct sim_image_level *l;

    if (!handle_valid(a, HANDLE_ARRAY))
        return false;
    l = &a->layout.level[a->level];
    out->element = a->layout.texel_nbytes;
    out->at = (void *)(uintptr_t)(a->base + l->offset);
    out->row = l->width * out->element;
    out->nrows = l->height;
    out->nslices = a->image.type == SIM_IMAGE_3D ? l->depth : a->image.depth;
    out->pitch = l->pitch * out->element;
    out->slice = a->layout.slice_nbytes;
    return true;
}

const struct array *mipmap_whole(hipMipmappedArray_t mip)
{
    return handle_valid(mip, HANDLE_MIPMAPPED_ARRAY) ? &mip->whole : NULL;
}
