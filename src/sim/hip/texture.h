/* texture.h - types shared by arrays, textures and surfaces
 *
 * An array is a linear image of the simulated hardware
 * (base/image_descriptor.h), and copies treat it as rows in memory. A texture
 * object is memory that kernels read: the image's descriptor, then the
 * sampler's. Surface objects have the first alone.
 */
#ifndef SIM_HIP_TEXTURE_H
#define SIM_HIP_TEXTURE_H

#include "runtime.h"

#include "../base/image_descriptor.h"

/* ---- HIP's structures --------------------------------------------------- */

enum { KIND_SIGNED, KIND_UNSIGNED, KIND_FLOAT };
enum { ARRAY_LAYERED = 1, ARRAY_SURFACE = 2, ARRAY_CUBE = 4, ARRAY_FLAGS = 15 };
enum { RESOURCE_ARRAY, RESOURCE_MIPMAPPED, RESOURCE_LINEAR, RESOURCE_PITCH_2D };
enum { ADDRESS_WRAP, ADDRESS_CLAMP, ADDRESS_MIRROR, ADDRESS_BORDER };
enum { FILTER_POINT, FILTER_LINEAR };
enum { READ_ELEMENT, READ_NORMALIZED_FLOAT };

typedef struct array *hipArray_t;
typedef struct mipmapped_array *hipMipmappedArray_t;
typedef struct texture_object *hipTextureObject_t;
typedef struct surface_object *hipSurfaceObject_t;

typedef struct {
    size_t Width, Height;
    int Format;
    unsigned NumChannels;
} HIP_ARRAY_DESCRIPTOR;

typedef struct {
    size_t Width, Height, Depth;
    int Format;
    unsigned NumChannels, Flags;
} HIP_ARRAY3D_DESCRIPTOR;

typedef struct {
    int resType;
    union {
        struct {
            hipArray_t array;
        } array;
        struct {
            hipMipmappedArray_t mipmap;
        } mipmap;
        struct {
            void *devPtr;
            hipChannelFormatDesc desc;
            size_t sizeInBytes;
        } linear;
        struct {
            void *devPtr;
            hipChannelFormatDesc desc;
            size_t width, height, pitchInBytes;
        } pitch2D;
    } res;
} hipResourceDesc;

typedef struct {
    int addressMode[3], filterMode, readMode, sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned maxAnisotropy;
    int mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
} hipTextureDesc;

typedef struct {
    int format;
    size_t width, height, depth;
    unsigned firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer;
} hipResourceViewDesc;

typedef struct {
    int normalized, readMode, filterMode, addressMode[3];
    hipChannelFormatDesc channelDesc;
    int sRGB;
    unsigned maxAnisotropy;
    int mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    hipTextureObject_t textureObject;
    int numChannels, format;
} textureReference;

/* ---- elements (texel.c) ------------------------------------------------- */

/* An element of an array or a texture: one, two or four channels. */
struct texel {
    int format; /* hipArray_Format */
    unsigned channels;
};

/* From each of HIP's three ways to say it; false if there is no such. */
bool texel_of_format(int format, unsigned channels, struct texel *out);
bool texel_of_desc(const hipChannelFormatDesc *desc, struct texel *out);
bool texel_of_view(int view_format, struct texel *out);

unsigned texel_nbytes(const struct texel *texel);
hipChannelFormatDesc texel_desc(const struct texel *texel);
/* An unknown format gives a description without channels, which every function
 * refuses. */
hipChannelFormatDesc texel_desc_of(int format, unsigned channels);
int texel_view(const struct texel *texel); /* hipResourceViewFormat */

/*
 * Sets the texel's formats and channels in the image, as the hardware reads
 * them. Behind the descriptor's eight dwords go the fields that AMD's device
 * library reads: its own numbers of type and order, the width. False if the
 * hardware has no such format.
 */
struct reading {
    bool normalized; /* 8 and 16-bit integers read as fractions */
    bool srgb;       /* matters to four channels alone */
};
enum {
    CHANNEL_TYPE = SIM_IMAGE_WORDS,
    CHANNEL_ORDER,
    ELEMENTS, /* of a row */
    IMAGE_OBJECT_WORDS = 12
};
bool texel_read(const struct texel *texel, const struct reading *reading,
                struct sim_image *image, uint32_t object[IMAGE_OBJECT_WORDS]);

/* ---- arrays (array.c, mipmap.c) ----------------------------------------- */

struct array {
    uint64_t base;
    size_t width, height, depth; /* elements, rows, slices; as asked, 0 too */
    struct texel texel;
    unsigned flags;
    struct device *device;
    struct sim_image image;
    struct sim_image_layout layout;
    unsigned level;          /* the image's level that copies reach */
    struct array *next;      /* a level's: of the same mipmapped array */
    hipMipmappedArray_t mip; /* owner of a level; NULL: owns its memory */
};

/* Whether cards have an image of this size; makes it one of that many levels,
 * with its format and its layout on the device. */
bool array_shape(struct array *a, unsigned nlevels);
/* Memory for it, on its device. */
hipError_t array_memory_new(struct array *a);
void mipmap_forget(struct array *level);
/* A mipmapped array as one array with every level; NULL: a bad handle. */
const struct array *mipmap_whole(hipMipmappedArray_t mip);

/* ---- objects (texture.c) ------------------------------------------------ */

enum { SAMPLER_OBJECT_WORDS = 8 };

struct texture_object {
    uint32_t image[IMAGE_OBJECT_WORDS], sampler[SAMPLER_OBJECT_WORDS];
    hipResourceDesc resource;
    hipTextureDesc texture;
    hipResourceViewDesc view;
};

struct surface_object {
    uint32_t image[IMAGE_OBJECT_WORDS];
};

hipError_t texture_create(hipTextureObject_t *out,
                          const hipResourceDesc *resource,
                          const hipTextureDesc *texture,
                          const hipResourceViewDesc *view);
hipError_t texture_destroy(hipTextureObject_t object);
/* The same where nothing can read it any more; there may be none. */
void texture_forget(hipTextureObject_t object);
/* The object, if there is one; else *error says why not. */
const struct texture_object *
texture_find(const void *out, hipTextureObject_t object, hipError_t *error);

/* hipErrorNotSupported if the current device has no images. */
hipError_t images_here(void);

#endif
