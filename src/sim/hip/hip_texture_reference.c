/* hip_texture_reference.c - variables that stand for textures
 *
 * A reference is a structure of the program with a copy in the code object.
 * Binding it makes a texture object for it and copies the structure over;
 * kernels find the object in there. A program's own references are registered
 * like variables (hip_register.c); those of modules are made here at each
 * request and live as long as their module. Answers, odd ones too, are AMD's.
 */
#include "call.h"
#include "handle.h"
#include "hip_array.h"
#include "hip_copy.h"
#include "hip_module.h"
#include "hip_properties.h"
#include "hip_register.h"
#include "hip_texture.h"
#include "stream_queue.h"
#include "texel_format.h"

#include "../base/image_descriptor.h"
#include "../base/loaded_object.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { OVERRIDE_FORMAT = 1 };
enum { READ_AS_INTEGER = 1, NORMALIZED_COORDINATES = 2, SRGB = 0x10 };

/* A module's. */
struct module_texture {
    textureReference reference; /* first: its address is the handle */
    struct module_texture *next;
    uint64_t address; /* of its copy */
};

/* ---- binding ------------------------------------------------------------ */

static hipTextureDesc texture_of(const textureReference *r)
{
    hipTextureDesc t = {.filterMode = r->filterMode,
                        .readMode = r->readMode,
                        .sRGB = r->sRGB,
                        .normalizedCoords = r->normalized,
                        .maxAnisotropy = r->maxAnisotropy,
                        .mipmapFilterMode = r->mipmapFilterMode,
                        .mipmapLevelBias = r->mipmapLevelBias,
                        .minMipmapLevelClamp = r->minMipmapLevelClamp,
                        .maxMipmapLevelClamp = r->maxMipmapLevelClamp};

    memcpy(t.addressMode, r->addressMode, sizeof(t.addressMode));
    return t;
}

static hipError_t unbind(textureReference *r)
{
    hipError_t error = texture_destroy(r->textureObject);

    if (error == hipSuccess)
        r->textureObject = NULL;
    return error;
}

/* A new object, and the reference's copy for the kernels. */
static hipError_t bind(textureReference *r, uint64_t address,
                       const hipResourceDesc *d,
                       const hipResourceViewDesc *view)
{
    const hipTextureDesc t = texture_of(r);
    hipError_t error = texture_create(&r->textureObject, d, &t, view);

    return error == hipSuccess
               ? copy_line((void *)(uintptr_t)address, r, sizeof(*r),
                           hipMemcpyHostToDevice, stream_queue(NULL), true)
               : error;
}

/* From the address to the next one that a texture may have; programs that pass
 * no place for it must have such a one. */
static hipError_t find_offset(size_t *out, const void *p, size_t *offset)
{
    const size_t past = (uintptr_t)p % SIM_IMAGE_ALIGN;
    hipError_t error = device_images_here();

    *offset = past ? SIM_IMAGE_ALIGN - past : 0;
    if (error == hipSuccess && *offset && !out)
        error = hipErrorInvalidValue;
    if (error == hipSuccess && out)
        *out = *offset;
    return error;
}

static hipError_t bind_memory(textureReference *r, uint64_t address,
                              hipResourceDesc *d, size_t *out)
{
    /* devPtr has one place in both kinds of memory. */
    uint8_t *p = d->res.linear.devPtr;
    size_t offset;
    hipError_t error = unbind(r);

    if (error == hipSuccess)
        error = find_offset(out, p, &offset);
    if (error != hipSuccess)
        return error;
    d->res.linear.devPtr = p - offset;
    return bind(r, address, d, NULL);
}

static hipResourceViewDesc view_of(const struct array *a,
                                   const hipChannelFormatDesc *desc)
{
    hipResourceViewDesc view = {
        .width = a->width, .height = a->height, .depth = a->depth};
    struct texel texel;

    if (texel_of_desc(desc, &texel))
        view.format = texel_view(&texel);
    return view;
}

static hipError_t bind_array(textureReference *r, uint64_t address,
                             const hipResourceDesc *d, const struct array *a,
                             const hipChannelFormatDesc *desc)
{
    hipResourceViewDesc view;
    hipError_t error = unbind(r);

    if (error != hipSuccess)
        return error;
    view = view_of(a, desc);
    return bind(r, address, d, &view);
}

/* ---- the program's own -------------------------------------------------- */

/* The device address of the reference's copy. */
static hipError_t find_copy(const textureReference *r, uint64_t *address)
{
    uint64_t size;
    hipError_t error = registered_variable(r, address, &size);

    if (error == hipSuccess && size != sizeof(*r))
        error = hipErrorInvalidSymbol;
    return error;
}

/* HIP declares them const, and writes them. */
static textureReference *writable(const textureReference *r)
{
    return (textureReference *)(uintptr_t)r;
}

HIP_API hipError_t hipBindTexture(size_t *offset, const textureReference *r,
                                  const void *at,
                                  const hipChannelFormatDesc *desc, size_t size)
{
    hipResourceDesc d = {.resType = RESOURCE_LINEAR};
    uint64_t address;
    hipError_t error;

    ENTER();
    error = find_copy(r, &address);
    if (error == hipSuccess && (!at || !desc))
        error = hipErrorInvalidValue;
    if (error != hipSuccess)
        LEAVE(error);
    d.res.linear.devPtr = (void *)(uintptr_t)at;
    d.res.linear.desc = *desc;
    d.res.linear.sizeInBytes = size;
    LEAVE(bind_memory(writable(r), address, &d, offset));
}

HIP_API hipError_t hipBindTexture2D(size_t *offset, const textureReference *r,
                                    const void *at,
                                    const hipChannelFormatDesc *desc,
                                    size_t width, size_t height, size_t pitch)
{
    hipResourceDesc d = {.resType = RESOURCE_PITCH_2D};
    uint64_t address;
    hipError_t error;

    ENTER();
    error = find_copy(r, &address);
    if (error == hipSuccess && (!at || !desc))
        error = hipErrorInvalidValue;
    if (error != hipSuccess)
        LEAVE(error);
    d.res.pitch2D.devPtr = (void *)(uintptr_t)at;
    d.res.pitch2D.desc = *desc;
    d.res.pitch2D.width = width;
    d.res.pitch2D.height = height;
    d.res.pitch2D.pitchInBytes = pitch;
    LEAVE(bind_memory(writable(r), address, &d, offset));
}

HIP_API hipError_t hipBindTextureToArray(const textureReference *r,
                                         hipArray_t array,
                                         const hipChannelFormatDesc *desc)
{
    const hipResourceDesc d = {.resType = RESOURCE_ARRAY,
                               .res.array.array = array};
    uint64_t address;
    hipError_t error;

    ENTER();
    error = find_copy(r, &address);
    if (error == hipSuccess && (!desc || !handle_valid(array, HANDLE_ARRAY)))
        error = hipErrorInvalidValue;
    LEAVE(error == hipSuccess
              ? bind_array(writable(r), address, &d, array, desc)
              : error);
}

HIP_API hipError_t hipBindTextureToMipmappedArray(
    const textureReference *r, hipMipmappedArray_t mip,
    const hipChannelFormatDesc *desc)
{
    const hipResourceDesc d = {.resType = RESOURCE_MIPMAPPED,
                               .res.mipmap.mipmap = mip};
    uint64_t address;
    hipError_t error;

    ENTER();
    error = find_copy(r, &address);
    if (error == hipSuccess && (!desc || !mipmap_whole(mip)))
        error = hipErrorInvalidValue;
    LEAVE(error == hipSuccess
              ? bind_array(writable(r), address, &d, mipmap_whole(mip), desc)
              : error);
}

HIP_API hipError_t hipUnbindTexture(const textureReference *r)
{
    hipError_t error = hipErrorInvalidValue;

    ENTER();
    if (r) {
        error = device_images_here();
        if (error == hipSuccess)
            error = unbind(writable(r));
    }
    LEAVE(error);
}

HIP_API hipError_t hipGetTextureReference(const textureReference **out,
                                          const void *symbol)
{
    hipError_t error;

    ENTER();
    error = out ? device_images_here() : hipErrorInvalidValue;
    if (error == hipSuccess)
        *out = symbol;
    LEAVE(error);
}

HIP_API hipError_t hipGetTextureAlignmentOffset(size_t *offset,
                                                const textureReference *r)
{
    hipError_t error;

    ENTER();
    error = offset && r ? device_images_here() : hipErrorInvalidValue;
    if (error == hipSuccess)
        *offset = 0;
    LEAVE(error);
}

/* ---- a module's --------------------------------------------------------- */

/* Of the lists of modules' references. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void textures_free(struct loaded *loaded)
{
    while (loaded->textures) {
        struct module_texture *t = loaded->textures;

        loaded->textures = t->next;
        handle_remove(t, HANDLE_TEXTURE_REFERENCE);
        texture_forget(t->reference.textureObject);
        free(t);
    }
}

static hipError_t new_texture(struct loaded *loaded, const char *name,
                              void **out)
{
    enum { FORMAT_FLOAT = 0x20 };
    static const textureReference at_first = {
        .readMode = READ_NORMALIZED_FLOAT,
        .addressMode = {ADDRESS_CLAMP, ADDRESS_CLAMP, ADDRESS_CLAMP},
        .channelDesc = {.x = 8, .f = KIND_SIGNED},
        .numChannels = 1,
        .format = FORMAT_FLOAT};
    const struct sim_global *global = loaded_global(loaded, name);
    struct module_texture *t;

    if (!global || global->size != sizeof(textureReference))
        return hipErrorNotFound;
    t = calloc(1, sizeof(*t));
    if (!t || !handle_add(t, HANDLE_TEXTURE_REFERENCE)) {
        free(t);
        return hipErrorOutOfMemory;
    }
    t->reference = at_first;
    t->address = global->address;
    t->next = loaded->textures;
    loaded->textures = t;
    loaded->textures_free = textures_free;
    *out = t;
    return hipSuccess;
}

HIP_API hipError_t hipModuleGetTexRef(void **reference, hipModule_t module,
                                      const char *name)
{
    hipError_t error;

    ENTER();
    if (!reference || !name || !*name)
        LEAVE(hipErrorInvalidValue);
    if (!module)
        LEAVE(hipErrorInvalidHandle);
    error = device_images_here();
    if (error == hipSuccess && !handle_valid(module, HANDLE_MODULE))
        error = hipErrorNotFound;
    if (error == hipSuccess) {
        pthread_mutex_lock(&lock);
        error = new_texture(module_loaded(module), name, reference);
        pthread_mutex_unlock(&lock);
    }
    LEAVE(error);
}

static uint64_t copy_of(const textureReference *r)
{
    return ((const struct module_texture *)(const void *)r)->address;
}

HIP_API hipError_t hipTexRefSetArray(textureReference *r, hipArray_t array,
                                     unsigned flags)
{
    const hipResourceDesc d = {.resType = RESOURCE_ARRAY,
                               .res.array.array = array};
    hipChannelFormatDesc desc;

    ENTER();
    if (!r || !array || flags != OVERRIDE_FORMAT)
        LEAVE(hipErrorInvalidValue);
    if (!handle_valid(r, HANDLE_TEXTURE_REFERENCE))
        LEAVE(hipErrorNotFound);
    if (!handle_valid(array, HANDLE_ARRAY))
        LEAVE(hipErrorInvalidValue);
    desc = texel_desc_of(r->format, (unsigned)r->numChannels);
    LEAVE(bind_array(r, copy_of(r), &d, array, &desc));
}

HIP_API hipError_t hipTexRefSetMipmappedArray(textureReference *r,
                                              hipMipmappedArray_t mip,
                                              unsigned flags)
{
    const hipResourceDesc d = {.resType = RESOURCE_MIPMAPPED,
                               .res.mipmap.mipmap = mip};
    hipChannelFormatDesc desc;

    ENTER();
    if (!r || !mip || flags != OVERRIDE_FORMAT)
        LEAVE(hipErrorInvalidValue);
    if (!handle_valid(r, HANDLE_TEXTURE_REFERENCE))
        LEAVE(hipErrorNotFound);
    if (!mipmap_whole(mip))
        LEAVE(hipErrorInvalidValue);
    desc = texel_desc_of(r->format, (unsigned)r->numChannels);
    LEAVE(bind_array(r, copy_of(r), &d, mipmap_whole(mip), &desc));
}

HIP_API hipError_t hipTexRefSetAddress(size_t *offset, textureReference *r,
                                       hipDeviceptr_t at, size_t size)
{
    hipResourceDesc d = {.resType = RESOURCE_LINEAR};

    ENTER();
    if (!r)
        LEAVE(hipErrorInvalidValue);
    if (!handle_valid(r, HANDLE_TEXTURE_REFERENCE))
        LEAVE(hipErrorNotFound);
    d.res.linear.devPtr = at;
    d.res.linear.desc = texel_desc_of(r->format, (unsigned)r->numChannels);
    d.res.linear.sizeInBytes = size;
    LEAVE(bind_memory(r, copy_of(r), &d, offset));
}

HIP_API hipError_t hipTexRefSetAddress2D(textureReference *r,
                                         const HIP_ARRAY_DESCRIPTOR *desc,
                                         hipDeviceptr_t at, size_t pitch)
{
    hipResourceDesc d = {.resType = RESOURCE_PITCH_2D};
    hipError_t error;

    ENTER();
    if (!r || !desc)
        LEAVE(hipErrorInvalidValue);
    if (!handle_valid(r, HANDLE_TEXTURE_REFERENCE))
        LEAVE(hipErrorNotFound);
    d.res.pitch2D.devPtr = at;
    d.res.pitch2D.desc = texel_desc_of(desc->Format, desc->NumChannels);
    d.res.pitch2D.width = desc->Width;
    d.res.pitch2D.height = desc->Height;
    d.res.pitch2D.pitchInBytes = pitch;
    error = unbind(r);
    LEAVE(error == hipSuccess ? bind(r, copy_of(r), &d, NULL) : error);
}

/* ---- a reference's resource --------------------------------------------- */

/* X(function, type, answer, whether the resource `d` has it) */
/* clang-format off */
#define BOUND_TABLE(X)                                                                                 \
    X(hipTexRefGetArray,          hipArray_t,          d->res.array.array,   d->resType == RESOURCE_ARRAY)     \
    X(hipTexRefGetMipMappedArray, hipMipmappedArray_t, d->res.mipmap.mipmap, d->resType == RESOURCE_MIPMAPPED) \
    X(hipTexRefGetAddress,        hipDeviceptr_t,      d->res.linear.devPtr, d->resType == RESOURCE_LINEAR || d->resType == RESOURCE_PITCH_2D)
/* clang-format on */

#define X(name, type, value, has)                                              \
    HIP_API hipError_t name(type *out, const textureReference *r)              \
    {                                                                          \
        const struct texture_object *o;                                        \
        const hipResourceDesc *d;                                              \
        hipError_t error;                                                      \
                                                                               \
        ENTER();                                                               \
        if (!out || !r)                                                        \
            LEAVE(hipErrorInvalidValue);                                       \
        o = texture_find(out, r->textureObject, &error);                       \
        if (!o)                                                                \
            LEAVE(error);                                                      \
        d = &o->resource;                                                      \
        if (!(has))                                                            \
            LEAVE(hipErrorInvalidValue);                                       \
        *out = value;                                                          \
        LEAVE(hipSuccess);                                                     \
    }
BOUND_TABLE(X)
#undef X

/* ---- a reference's sampler ---------------------------------------------- */

/*
 * X(function, parameters, refused if, action, answer). The reference is `r`.
 * AMD's runtime has no border colours, and answers some questions with an error
 * although it stores the result.
 */
/* clang-format off */
#define FIELD_TABLE(X)                                                                                                                                                                                            \
    X(hipTexRefSetFormat,           (textureReference *r, int format, int channels), !r, (r->format = format, r->numChannels = channels), hipSuccess)                                                             \
    X(hipTexRefSetFlags,            (textureReference *r, unsigned flags), !r, set_flags(r, flags), hipSuccess)                                                                                                   \
    X(hipTexRefSetFilterMode,       (textureReference *r, int mode), !r, r->filterMode = mode, hipSuccess)                                                                                                        \
    X(hipTexRefSetAddressMode,      (textureReference *r, int dim, int mode), !r || dim < 0 || dim > 2, r->addressMode[dim] = mode, hipSuccess)                                                                   \
    X(hipTexRefSetMaxAnisotropy,    (textureReference *r, unsigned most), !r, r->maxAnisotropy = most, hipSuccess)                                                                                                \
    X(hipTexRefSetMipmapFilterMode, (textureReference *r, int mode), !r, r->mipmapFilterMode = mode, hipSuccess)                                                                                                  \
    X(hipTexRefSetMipmapLevelBias,  (textureReference *r, float bias), !r, r->mipmapLevelBias = bias, hipSuccess)                                                                                                 \
    X(hipTexRefSetMipmapLevelClamp, (textureReference *r, float least, float most), !r, (r->minMipmapLevelClamp = least, r->maxMipmapLevelClamp = most), hipSuccess)                                              \
    X(hipTexRefSetBorderColor,      (textureReference *r, const float *colour), !r || !colour, (void)0, hipSuccess)                                                                                               \
    X(hipTexRefGetFormat,           (int *format, int *channels, const textureReference *r), !format || !channels || !r, (*format = r->format, *channels = r->numChannels), hipSuccess)                           \
    X(hipTexRefGetFlags,            (unsigned *flags, const textureReference *r), !flags || !r, *flags = flags_of(r), hipSuccess)                                                                                 \
    X(hipTexRefGetFilterMode,       (int *mode, const textureReference *r), !mode || !r, *mode = r->filterMode, hipSuccess)                                                                                       \
    X(hipTexRefGetMaxAnisotropy,    (int *most, const textureReference *r), !most || !r, *most = (int)r->maxAnisotropy, hipErrorInvalidValue)                                                                     \
    X(hipTexRefGetMipmapFilterMode, (int *mode, const textureReference *r), !mode || !r, *mode = r->mipmapFilterMode, hipErrorInvalidValue)                                                                       \
    X(hipTexRefGetMipmapLevelBias,  (float *bias, const textureReference *r), !bias || !r, *bias = r->mipmapLevelBias, hipErrorInvalidValue)                                                                      \
    X(hipTexRefGetMipmapLevelClamp, (float *least, float *most, const textureReference *r), !least || !most || !r, (*least = r->minMipmapLevelClamp, *most = r->maxMipmapLevelClamp), hipErrorInvalidValue)       \
    X(hipTexRefGetBorderColor,      (float *colour, const textureReference *r), !colour || !r, (void)0, hipSuccess)
/* clang-format on */

static void set_flags(textureReference *r, unsigned flags)
{
    r->readMode =
        flags & READ_AS_INTEGER ? READ_ELEMENT : READ_NORMALIZED_FLOAT;
    r->normalized = (flags & NORMALIZED_COORDINATES) != 0;
    r->sRGB = (flags & SRGB) != 0;
}

static unsigned flags_of(const textureReference *r)
{
    return (r->readMode == READ_ELEMENT ? READ_AS_INTEGER : 0u) |
           (r->normalized == 1 ? NORMALIZED_COORDINATES : 0u) |
           (r->sRGB == 1 ? SRGB : 0u);
}

#define X(name, parameters, refused, done, answer)                             \
    HIP_API hipError_t name parameters                                         \
    {                                                                          \
        hipError_t error;                                                      \
                                                                               \
        ENTER();                                                               \
        error = (refused) ? hipErrorInvalidValue : device_images_here();       \
        if (error != hipSuccess)                                               \
            LEAVE(error);                                                      \
        done;                                                                  \
        LEAVE(answer);                                                         \
    }
FIELD_TABLE(X)
#undef X

/* Two directions can be asked for, though three can be set. */
HIP_API hipError_t hipTexRefGetAddressMode(int *mode, const textureReference *r,
                                           int dim)
{
    hipError_t error;

    ENTER();
    error = mode && r ? device_images_here() : hipErrorInvalidValue;
    if (error == hipSuccess && dim != 0 && dim != 1)
        error = hipErrorInvalidValue;
    if (error == hipSuccess)
        *mode = r->addressMode[dim];
    LEAVE(error);
}
