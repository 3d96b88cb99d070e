/* hip_texture.c - texture objects and surface objects
 *
 * Accepted arguments, the order of checks and the features left out (border
 * colours, anisotropy, biases, limits of levels) are as in AMD's runtime. As
 * there, the objects lie in memory that host and kernels reach.
 */
#include "hip_texture.h"

#include "allocation_lookup.h"
#include "call.h"
#include "handle.h"
#include "hip_array.h"
#include "hip_properties.h"
#include "op_queue.h"
#include "texel_format.h"
#include "thread_state.h"

#include "../base/allocation.h"
#include "../base/image_descriptor.h"
#include "../base/processor.h"

#include <string.h>

/* ---- samplers ----------------------------------------------------------- */

/* The first direction's mode serves every direction. Without normalized
 * coordinates nothing is repeated. */
static enum sim_clamp clamp_of(const hipTextureDesc *t)
{
    switch (t->addressMode[0]) {
    case ADDRESS_WRAP:
        return t->normalizedCoords ? SIM_CLAMP_WRAP : SIM_CLAMP_EDGE;
    case ADDRESS_MIRROR:
        return t->normalizedCoords ? SIM_CLAMP_MIRROR : SIM_CLAMP_EDGE;
    case ADDRESS_BORDER:
        return SIM_CLAMP_BORDER;
    default:
        return SIM_CLAMP_EDGE;
    }
}

static bool encode_sampler(const hipTextureDesc *t, bool has_levels,
                           uint32_t words[SIM_SAMPLER_WORDS])
{
    enum { POINT = 1, LINEAR, MAX_LOD = 4095 };
    const enum sim_clamp clamp = clamp_of(t);
    const bool linear = t->filterMode == FILTER_LINEAR;
    const struct sim_sampler s = {
        .clamp = {clamp, clamp, clamp},
        .linear_mag = linear,
        .linear_min = linear,
        .z_filter = linear ? LINEAR : POINT,
        .mip_filter = !has_levels                            ? 0
                      : t->mipmapFilterMode == FILTER_LINEAR ? LINEAR
                                                             : POINT,
        .unnormalised = !t->normalizedCoords,
        .max_lod = MAX_LOD};
    char why[SIM_IMAGE_WHY];

    return sim_sampler_encode(&s, thread_device()->sim->target, words, why);
}

/* ---- the memory behind a texture ----------------------------------------- */

static bool encode_image(const struct sim_image *image,
                         uint32_t object[IMAGE_OBJECT_WORDS])
{
    char why[SIM_IMAGE_WHY];

    return sim_image_encode(image, thread_device()->sim->target, object, why);
}

/* Texture of an array or mipmapped array, in the array's format or a view's. */
static hipError_t read_array(const struct array *a, const hipTextureDesc *t,
                             const hipResourceViewDesc *view,
                             struct texture_object *o)
{
    const struct reading r = {t->readMode == READ_NORMALIZED_FLOAT,
                              t->sRGB == 1};
    struct sim_image image = a->image;
    struct texel texel = a->texel;

    if ((view && !texel_of_view(view->format, &texel)) ||
        !texel_read(&texel, &r, &image, o->image) ||
        !encode_image(&image, o->image))
        return hipErrorInvalidValue;
    return hipSuccess;
}

/* Whether the range lies in one allocation. */
static bool is_memory(const void *at, uint64_t nbytes)
{
    struct sim_alloc a;

    return allocation_find(at, &a) && nbytes <= a.base + a.size - (uintptr_t)at;
}

/* Elements in a line, through a buffer descriptor; sRGB has none. */
static hipError_t read_linear(const hipResourceDesc *d, const hipTextureDesc *t,
                              struct texture_object *o)
{
    enum { GFX9_NUMBER = 12, GFX9_DATA = 15, FORMAT = 12, SELECT_BITS = 3 };
    const struct sim_target *target = thread_device()->sim->target;
    const struct reading r = {t->readMode == READ_NORMALIZED_FLOAT,
                              t->sRGB == 1};
    const uint64_t base = (uintptr_t)d->res.linear.devPtr;
    struct sim_image image = {0};
    struct texel texel;
    uint64_t n;
    unsigned i;

    if (!texel_of_desc(&d->res.linear.desc, &texel))
        return hipErrorInvalidValue;
    n = d->res.linear.sizeInBytes / texel_nbytes(&texel);
    if (n == 0 || n >= UINT32_MAX ||
        !texel_read(&texel, &r, &image, o->image) ||
        image.number == SIM_NUMBER_SRGB ||
        !is_memory(d->res.linear.devPtr, d->res.linear.sizeInBytes))
        return hipErrorInvalidValue;
    o->image[0] = (uint32_t)base;
    o->image[1] = (uint32_t)(base >> 32 & 0xffff) | texel_nbytes(&texel) << 16;
    o->image[2] = o->image[ELEMENTS] = (uint32_t)n;
    o->image[3] =
        target->major <= 9
            ? (uint32_t)image.number << GFX9_NUMBER | image.data << GFX9_DATA
            : sim_format_encode(image.data, image.number, target) << FORMAT;
    if (target->major == 10)
        o->image[3] |= 1u << 24; /* RESOURCE_LEVEL, always set */
    for (i = 0; i < 4; i++)
        o->image[3] |= (uint32_t)image.select[i] << SELECT_BITS * i;
    return hipSuccess;
}

/* Whether rows are that far apart anyway: gfx10.1 knows no other images. */
static bool has_pitch(const struct sim_image *image, size_t nbytes)
{
    struct sim_image_layout layout;
    char why[SIM_IMAGE_WHY];

    return sim_image_layout(image, thread_device()->sim->target, &layout,
                            why) &&
           layout.level[0].pitch * (size_t)layout.texel_nbytes == nbytes;
}

/* Rows of the program's memory. */
static hipError_t read_pitch_2d(const hipResourceDesc *d,
                                const hipTextureDesc *t,
                                struct texture_object *o)
{
    const struct reading r = {t->readMode == READ_NORMALIZED_FLOAT,
                              t->sRGB == 1};
    const size_t width = d->res.pitch2D.width, height = d->res.pitch2D.height;
    struct sim_image image = {.base = (uintptr_t)d->res.pitch2D.devPtr,
                              .type = SIM_IMAGE_2D,
                              .width = (uint32_t)width,
                              .height = (uint32_t)height,
                              .depth = 1,
                              .nlevels = 1};
    size_t pitch = d->res.pitch2D.pitchInBytes, row;
    struct texel texel;

    if (!width || !height || !texel_of_desc(&d->res.pitch2D.desc, &texel) ||
        !texel_read(&texel, &r, &image, o->image))
        return hipErrorInvalidValue;
    row = width * texel_nbytes(&texel);
    if (pitch == 0)
        pitch = (row + SIM_IMAGE_ALIGN - 1) & ~(size_t)(SIM_IMAGE_ALIGN - 1);
    if (pitch < row || pitch > UINT32_MAX ||
        !is_memory(d->res.pitch2D.devPtr, pitch * (height - 1) + row))
        return hipErrorInvalidValue;
    if (!has_pitch(&image, pitch))
        image.pitch = (uint32_t)(pitch / texel_nbytes(&texel));
    return encode_image(&image, o->image) ? hipSuccess : hipErrorOutOfMemory;
}

/* ---- making ------------------------------------------------------------- */

static bool is_aligned(const void *p)
{
    return (uintptr_t)p % SIM_IMAGE_ALIGN == 0;
}

/* gfx90a has no linear filter of slices, and so AMD's runtime has none of
 * layers either. */
static bool lacks_filter(const struct array *a, const hipTextureDesc *t)
{
    return a->depth > 0 && t->filterMode == FILTER_LINEAR &&
           strcmp(thread_device()->sim->target->name, "gfx90a") == 0;
}

static hipError_t check_resource(const hipResourceDesc *d,
                                 const hipTextureDesc *t,
                                 const hipResourceViewDesc *view)
{
    enum { WIDEST = 16384 };

    if (view && d->resType != RESOURCE_ARRAY &&
        d->resType != RESOURCE_MIPMAPPED)
        return hipErrorInvalidValue;
    switch (d->resType) {
    case RESOURCE_ARRAY:
        if (!handle_valid(d->res.array.array, HANDLE_ARRAY))
            return hipErrorInvalidValue;
        return lacks_filter(d->res.array.array, t) ? hipErrorNotSupported
                                                   : hipSuccess;
    case RESOURCE_MIPMAPPED:
        return mipmap_whole(d->res.mipmap.mipmap) && t->normalizedCoords
                   ? hipSuccess
                   : hipErrorInvalidValue;
    case RESOURCE_LINEAR:
        return d->res.linear.devPtr && is_aligned(d->res.linear.devPtr)
                   ? hipSuccess
                   : hipErrorInvalidValue;
    case RESOURCE_PITCH_2D:
        return d->res.pitch2D.devPtr && is_aligned(d->res.pitch2D.devPtr) &&
                       d->res.pitch2D.width < WIDEST &&
                       d->res.pitch2D.height < WIDEST &&
                       d->res.pitch2D.pitchInBytes % SIM_IMAGE_ALIGN == 0
                   ? hipSuccess
                   : hipErrorInvalidValue;
    default:
        return hipErrorInvalidValue;
    }
}

static hipError_t read_resource(const hipResourceDesc *d,
                                const hipTextureDesc *t,
                                const hipResourceViewDesc *view,
                                struct texture_object *o)
{
    switch (d->resType) {
    case RESOURCE_ARRAY:
        return read_array(d->res.array.array, t, view, o);
    case RESOURCE_MIPMAPPED:
        return read_array(mipmap_whole(d->res.mipmap.mipmap), t, view, o);
    case RESOURCE_LINEAR:
        return read_linear(d, t, o);
    default:
        return read_pitch_2d(d, t, o);
    }
}

/* Allocates memory that kernels read, and stores the object in it. */
static void *new_object(const void *bytes, size_t nbytes, enum handle_kind kind)
{
    struct sim_alloc *a =
        sim_mem_alloc(thread_device()->sim->ordinal, nbytes, 0, SIM_MEM_HOST);

    if (!a)
        return NULL;
    memcpy(a->bytes, bytes, nbytes);
    a->readonly = true;
    if (!handle_add(a->bytes, kind)) {
        sim_mem_free(a->base);
        return NULL;
    }
    return a->bytes;
}

hipError_t texture_create(hipTextureObject_t *out, const hipResourceDesc *d,
                          const hipTextureDesc *t,
                          const hipResourceViewDesc *view)
{
    struct texture_object o = {0};
    hipError_t error = device_images_here();

    if (error != hipSuccess)
        return error;
    if (!out || !d || !t)
        return hipErrorInvalidValue;
    error = check_resource(d, t, view);
    if (error == hipSuccess && (t->maxAnisotropy || t->mipmapLevelBias != 0))
        error = hipErrorNotSupported;
    if (error == hipSuccess)
        error = read_resource(d, t, view, &o);
    if (error != hipSuccess)
        return error;
    if (!encode_sampler(t, d->resType == RESOURCE_MIPMAPPED, o.sampler))
        return hipErrorInvalidValue;
    o.resource = *d;
    o.texture = *t;
    if (view)
        o.view = *view;
    *out = new_object(&o, sizeof(o), HANDLE_TEXTURE);
    return *out ? hipSuccess : hipErrorOutOfMemory;
}

/* Waits for the object's device: its kernels may still read the object. */
static hipError_t destroy(void *object, enum handle_kind kind)
{
    struct sim_alloc a;

    if (!handle_remove(object, kind) || !allocation_find(object, &a))
        return hipErrorInvalidValue;
    queues_wait(allocation_owner(&a));
    sim_mem_free(a.base);
    return hipSuccess;
}

void texture_forget(hipTextureObject_t object)
{
    if (handle_remove(object, HANDLE_TEXTURE))
        sim_mem_free((uintptr_t)object);
}

hipError_t texture_destroy(hipTextureObject_t object)
{
    const hipError_t error = object ? device_images_here() : hipSuccess;

    return object && error == hipSuccess ? destroy(object, HANDLE_TEXTURE)
                                         : error;
}

HIP_API hipError_t hipCreateTextureObject(hipTextureObject_t *out,
                                          const hipResourceDesc *d,
                                          const hipTextureDesc *t,
                                          const hipResourceViewDesc *view)
{
    ENTER();
    LEAVE(texture_create(out, d, t, view));
}

HIP_API hipError_t hipDestroyTextureObject(hipTextureObject_t object)
{
    ENTER();
    LEAVE(texture_destroy(object));
}

/* ---- questions ---------------------------------------------------------- */

const struct texture_object *
texture_find(const void *out, hipTextureObject_t object, hipError_t *error)
{
    *error = out && object ? device_images_here() : hipErrorInvalidValue;
    if (*error == hipSuccess && !handle_valid(object, HANDLE_TEXTURE))
        *error = hipErrorInvalidValue;
    return *error == hipSuccess ? object : NULL;
}

/* X(function, type of the answer, field of the object) */
#define QUESTION_TABLE(X)                                                      \
    X(hipGetTextureObjectResourceDesc, hipResourceDesc, resource)              \
    X(hipGetTextureObjectTextureDesc, hipTextureDesc, texture)                 \
    X(hipGetTextureObjectResourceViewDesc, hipResourceViewDesc, view)

#define X(name, type, field)                                                   \
    HIP_API hipError_t name(type *out, hipTextureObject_t object)              \
    {                                                                          \
        const struct texture_object *o;                                        \
        hipError_t error;                                                      \
                                                                               \
        ENTER();                                                               \
        o = texture_find(out, object, &error);                                 \
        if (o)                                                                 \
            *out = o->field;                                                   \
        LEAVE(error);                                                          \
    }
QUESTION_TABLE(X)
#undef X

/* ---- surfaces ----------------------------------------------------------- */

static hipError_t surface_create(hipSurfaceObject_t *out,
                                 const hipResourceDesc *d)
{
    const struct reading as_elements = {0};
    struct surface_object o = {0};
    const struct array *a;
    struct sim_image image;
    hipError_t error = device_images_here();

    if (error != hipSuccess)
        return error;
    if (!out || !d || d->resType != RESOURCE_ARRAY ||
        !handle_valid(d->res.array.array, HANDLE_ARRAY))
        return hipErrorInvalidValue;
    a = d->res.array.array;
    if (a->flags && !(a->flags & ARRAY_SURFACE))
        return hipErrorInvalidValue;
    image = a->image;
    if (!texel_read(&a->texel, &as_elements, &image, o.image) ||
        !encode_image(&image, o.image))
        return hipErrorInvalidValue;
    *out = new_object(&o, sizeof(o), HANDLE_SURFACE);
    return *out ? hipSuccess : hipErrorOutOfMemory;
}

HIP_API hipError_t hipCreateSurfaceObject(hipSurfaceObject_t *out,
                                          const hipResourceDesc *d)
{
    ENTER();
    LEAVE(surface_create(out, d));
}

HIP_API hipError_t hipDestroySurfaceObject(hipSurfaceObject_t object)
{
    ENTER();
    LEAVE(object ? destroy(object, HANDLE_SURFACE) : hipSuccess);
}

/* Headers of HIP 5 declare these two as C++. */
HIP_API hipError_t
_Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc(
    hipSurfaceObject_t *out, const hipResourceDesc *d)
    __attribute__((alias("hipCreateSurfaceObject")));
HIP_API hipError_t
_Z23hipDestroySurfaceObjectP13__hip_surface(hipSurfaceObject_t object)
    __attribute__((alias("hipDestroySurfaceObject")));
