/* hip_texture_driver.c - texture objects by the driver's structures
 *
 * The driver's structures hold the same values in another layout. Their extra
 * fields (reserved fields, flags of resources) are left alone.
 */
#include "call.h"
#include "hip_array.h"
#include "hip_texture.h"
#include "texel_format.h"

#include <string.h>

enum { READ_AS_INTEGER = 1, NORMALIZED_COORDINATES = 2, SRGB = 0x10 };

typedef struct {
    int resType;
    union {
        struct {
            hipArray_t hArray;
        } array;
        struct {
            hipMipmappedArray_t hMipmappedArray;
        } mipmap;
        struct {
            void *devPtr;
            int format;
            unsigned numChannels;
            size_t sizeInBytes;
        } linear;
        struct {
            void *devPtr;
            int format;
            unsigned numChannels;
            size_t width, height, pitchInBytes;
        } pitch2D;
        int reserved[32];
    } res;
    unsigned flags;
} HIP_RESOURCE_DESC;

typedef struct {
    int addressMode[3], filterMode;
    unsigned flags, maxAnisotropy;
    int mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    float borderColor[4];
    int reserved[12];
} HIP_TEXTURE_DESC;

typedef struct {
    hipResourceViewDesc view; /* the same fields */
    unsigned reserved[16];
} HIP_RESOURCE_VIEW_DESC;

/* ---- to HIP's ----------------------------------------------------------- */

static hipResourceDesc resource_of(const HIP_RESOURCE_DESC *d)
{
    hipResourceDesc r = {.resType = d->resType};

    switch (d->resType) {
    case RESOURCE_ARRAY:
        r.res.array.array = d->res.array.hArray;
        break;
    case RESOURCE_MIPMAPPED:
        r.res.mipmap.mipmap = d->res.mipmap.hMipmappedArray;
        break;
    case RESOURCE_LINEAR:
        r.res.linear.devPtr = d->res.linear.devPtr;
        r.res.linear.desc =
            texel_desc_of(d->res.linear.format, d->res.linear.numChannels);
        r.res.linear.sizeInBytes = d->res.linear.sizeInBytes;
        break;
    case RESOURCE_PITCH_2D:
        r.res.pitch2D.devPtr = d->res.pitch2D.devPtr;
        r.res.pitch2D.desc =
            texel_desc_of(d->res.pitch2D.format, d->res.pitch2D.numChannels);
        r.res.pitch2D.width = d->res.pitch2D.width;
        r.res.pitch2D.height = d->res.pitch2D.height;
        r.res.pitch2D.pitchInBytes = d->res.pitch2D.pitchInBytes;
        break;
    default: /* refused by its type */
        break;
    }
    return r;
}

static hipTextureDesc texture_of(const HIP_TEXTURE_DESC *d)
{
    hipTextureDesc t = {
        .filterMode = d->filterMode,
        .readMode =
            d->flags & READ_AS_INTEGER ? READ_ELEMENT : READ_NORMALIZED_FLOAT,
        .sRGB = (d->flags & SRGB) != 0,
        .normalizedCoords = (d->flags & NORMALIZED_COORDINATES) != 0,
        .maxAnisotropy = d->maxAnisotropy,
        .mipmapFilterMode = d->mipmapFilterMode,
        .mipmapLevelBias = d->mipmapLevelBias,
        .minMipmapLevelClamp = d->minMipmapLevelClamp,
        .maxMipmapLevelClamp = d->maxMipmapLevelClamp};

    memcpy(t.addressMode, d->addressMode, sizeof(t.addressMode));
    memcpy(t.borderColor, d->borderColor, sizeof(t.borderColor));
    return t;
}

/* ---- and back ----------------------------------------------------------- */

static void put_resource(const struct texture_object *o, void *out)
{
    const hipResourceDesc *r = &o->resource;
    HIP_RESOURCE_DESC *d = out;
    struct texel texel;

    memset(d, 0, sizeof(*d));
    d->resType = r->resType;
    switch (r->resType) {
    case RESOURCE_ARRAY:
        d->res.array.hArray = r->res.array.array;
        break;
    case RESOURCE_MIPMAPPED:
        d->res.mipmap.hMipmappedArray = r->res.mipmap.mipmap;
        break;
    case RESOURCE_LINEAR:
        texel_of_desc(&r->res.linear.desc, &texel); /* cannot fail here */
        d->res.linear.devPtr = r->res.linear.devPtr;
        d->res.linear.format = texel.format;
        d->res.linear.numChannels = texel.channels;
        d->res.linear.sizeInBytes = r->res.linear.sizeInBytes;
        break;
    default:
        texel_of_desc(&r->res.pitch2D.desc, &texel);
        d->res.pitch2D.devPtr = r->res.pitch2D.devPtr;
        d->res.pitch2D.format = texel.format;
        d->res.pitch2D.numChannels = texel.channels;
        d->res.pitch2D.width = r->res.pitch2D.width;
        d->res.pitch2D.height = r->res.pitch2D.height;
        d->res.pitch2D.pitchInBytes = r->res.pitch2D.pitchInBytes;
    }
}

static void put_texture(const struct texture_object *o, void *out)
{
    const hipTextureDesc *t = &o->texture;
    HIP_TEXTURE_DESC *d = out;

    *d = (HIP_TEXTURE_DESC){
        .filterMode = t->filterMode,
        .flags = (t->readMode == READ_ELEMENT ? READ_AS_INTEGER : 0u) |
                 (t->normalizedCoords == 1 ? NORMALIZED_COORDINATES : 0u) |
                 (t->sRGB == 1 ? SRGB : 0u),
        .maxAnisotropy = t->maxAnisotropy,
        .mipmapFilterMode = t->mipmapFilterMode,
        .mipmapLevelBias = t->mipmapLevelBias,
        .minMipmapLevelClamp = t->minMipmapLevelClamp,
        .maxMipmapLevelClamp = t->maxMipmapLevelClamp};
    memcpy(d->addressMode, t->addressMode, sizeof(d->addressMode));
    memcpy(d->borderColor, t->borderColor, sizeof(d->borderColor));
}

static void put_view(const struct texture_object *o, void *out)
{
    *(HIP_RESOURCE_VIEW_DESC *)out = (HIP_RESOURCE_VIEW_DESC){.view = o->view};
}

/* ---- the functions ------------------------------------------------------ */

HIP_API hipError_t hipTexObjectCreate(hipTextureObject_t *out,
                                      const HIP_RESOURCE_DESC *d,
                                      const HIP_TEXTURE_DESC *t,
                                      const HIP_RESOURCE_VIEW_DESC *view)
{
    hipResourceDesc resource;
    hipTextureDesc texture;

    ENTER();
    if (!out || !d || !t)
        LEAVE(hipErrorInvalidValue);
    resource = resource_of(d);
    texture = texture_of(t);
    LEAVE(texture_create(out, &resource, &texture, view ? &view->view : NULL));
}

HIP_API hipError_t hipTexObjectDestroy(hipTextureObject_t object)
{
    ENTER();
    LEAVE(texture_destroy(object));
}

/* X(function, function that converts the answer) */
#define QUESTION_TABLE(X)                                                      \
    X(hipTexObjectGetResourceDesc, put_resource)                               \
    X(hipTexObjectGetTextureDesc, put_texture)                                 \
    X(hipTexObjectGetResourceViewDesc, put_view)

#define X(name, put)                                                           \
    HIP_API hipError_t name(void *out, hipTextureObject_t object)              \
    {                                                                          \
        const struct texture_object *o;                                        \
        hipError_t error;                                                      \
                                                                               \
        ENTER();                                                               \
        o = texture_find(out, object, &error);                                 \
        if (o)                                                                 \
            put(o, out);                                                       \
        LEAVE(error);                                                          \
    }
QUESTION_TABLE(X)
#undef X
