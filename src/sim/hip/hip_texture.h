/* hip_texture.h - texture objects and surface objects
 *
 * A texture object is memory that kernels read: the image's descriptor, then
 * the sampler's. Surface objects have the first alone.
 */
#ifndef SIM_HIP_TEXTURE_H
#define SIM_HIP_TEXTURE_H

#include "hip_array.h"

enum { RESOURCE_ARRAY, RESOURCE_MIPMAPPED, RESOURCE_LINEAR, RESOURCE_PITCH_2D };
enum { ADDRESS_WRAP, ADDRESS_CLAMP, ADDRESS_MIRROR, ADDRESS_BORDER };
enum { FILTER_POINT, FILTER_LINEAR };
enum { READ_ELEMENT, READ_NORMALIZED_FLOAT };

typedef struct texture_object *hipTextureObject_t;
typedef struct surface_object *hipSurfaceObject_t;

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
/* Destroys an object that no kernel can read any more; 0 does nothing. */
void texture_forget(hipTextureObject_t object);
/* The object; NULL with *error set if there is none. */
const struct texture_object *
texture_find(const void *out, hipTextureObject_t object, hipError_t *error);

#endif
