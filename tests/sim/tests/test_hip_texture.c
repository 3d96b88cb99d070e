/* test_hip_texture.c - objects and references of textures, surface objects
 *
 * Accepted arguments, answers, and the descriptors in memory for kernels.
 * programs/textures.hip tests the texels that kernels read.
 */
#include "hip_test.h"

#include "sim/base/image_descriptor.h"

#include <stdlib.h>
#include <string.h>

hipError_t hipCreateSurfaceObject(hipSurfaceObject_t *out,
                                  const hipResourceDesc *resource);
hipError_t hipDestroySurfaceObject(hipSurfaceObject_t object);
hipError_t hipTexRefGetArray(hipArray_t *out, const textureReference *r);

enum { SAMPLER_AT = 12, TYPE_AT = 8, ORDER_AT = 9 }; /* dwords */
enum { OVERRIDE_FORMAT = 1, AS_INTEGER = 1, NORMALIZED = 2, SRGB = 16 };

static const hipChannelFormatDesc floats = {32, 0, 0, 0,
                                            hipChannelFormatKindFloat};
static const hipChannelFormatDesc bytes4 = {8, 8, 8, 8,
                                            hipChannelFormatKindUnsigned};

static hipArray_t new_array(const hipChannelFormatDesc *desc, size_t width,
                            size_t height, size_t depth, unsigned flags)
{
    hipArray_t a = NULL;

    EXPECT(hipSuccess, hipMalloc3DArray(
                           &a, desc, (hipExtent){width, height, depth}, flags));
    return a;
}

static hipResourceDesc of_array(hipArray_t a)
{
    hipResourceDesc d = {.resType = hipResourceTypeArray};

    d.res.array.array = a;
    return d;
}

static hipResourceDesc of_line(void *at, size_t nbytes)
{
    hipResourceDesc d = {.resType = hipResourceTypeLinear};

    d.res.linear.devPtr = at;
    d.res.linear.desc = floats;
    d.res.linear.sizeInBytes = nbytes;
    return d;
}

static hipResourceDesc of_rows(void *at, size_t width, size_t height,
                               size_t pitch)
{
    hipResourceDesc d = {.resType = hipResourceTypePitch2D};

    d.res.pitch2D.devPtr = at;
    d.res.pitch2D.desc = floats;
    d.res.pitch2D.width = width;
    d.res.pitch2D.height = height;
    d.res.pitch2D.pitchInBytes = pitch;
    return d;
}

static const struct sim_target *target_of(int device)
{
    return sim_device_get(device)->target;
}

/* ---- objects ------------------------------------------------------------ */

static void test_objects_are_checked(void **state)
{
    const hipTextureDesc plain = {.normalizedCoords = 1};
    const struct hipResourceViewDesc view = {
        .format = hipResViewFormatFloat1, .width = 8, .height = 8};
    struct hipResourceViewDesc bad_view = view;
    hipArray_t a = new_array(&floats, 8, 8, 0, 0);
    hipResourceDesc array = of_array(a), none = of_array(NULL), bad;
    hipTextureDesc t = plain;
    hipTextureObject_t o = NULL;
    char *memory;

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&memory, 4096));
    EXPECT(hipErrorInvalidValue,
           hipCreateTextureObject(NULL, &array, &t, NULL));
    EXPECT(hipErrorInvalidValue, hipCreateTextureObject(&o, NULL, &t, NULL));
    EXPECT(hipErrorInvalidValue,
           hipCreateTextureObject(&o, &array, NULL, NULL));
    EXPECT(hipErrorInvalidValue, hipCreateTextureObject(&o, &none, &t, NULL));
    bad = of_array((hipArray_t)memory);
    EXPECT(hipErrorInvalidValue, hipCreateTextureObject(&o, &bad, &t, NULL));
    bad = array;
    bad.resType = (enum hipResourceType)4;
    EXPECT(hipErrorInvalidValue, hipCreateTextureObject(&o, &bad, &t, NULL));
    t.maxAnisotropy = 2;
    EXPECT(hipErrorNotSupported, hipCreateTextureObject(&o, &array, &t, NULL));
    t = plain;
    t.mipmapLevelBias = 1;
    EXPECT(hipErrorNotSupported, hipCreateTextureObject(&o, &array, &t, NULL));
    /* Views are of arrays, and have a format. */
    bad = of_line(memory, 4096);
    EXPECT(hipErrorInvalidValue,
           hipCreateTextureObject(&o, &bad, &plain, &view));
    bad_view.format = hipResViewFormatNone;
    EXPECT(hipErrorInvalidValue,
           hipCreateTextureObject(&o, &array, &plain, &bad_view));
    bad_view.format = hipResViewFormatUnsignedBlockCompressed1;
    EXPECT(hipErrorInvalidValue,
           hipCreateTextureObject(&o, &array, &plain, &bad_view));
    EXPECT(hipSuccess, hipCreateTextureObject(&o, &array, &plain, &view));
    EXPECT(hipSuccess, hipDestroyTextureObject(o));
    EXPECT(hipErrorInvalidValue, hipDestroyTextureObject(o));
    EXPECT(hipSuccess, hipDestroyTextureObject(NULL));
    EXPECT(hipErrorInvalidValue,
           hipDestroyTextureObject((hipTextureObject_t)memory));
    EXPECT(hipErrorInvalidValue, hipFree(memory + 1));
    EXPECT(hipSuccess, hipFreeArray(a));
    EXPECT(hipErrorInvalidValue,
           hipCreateTextureObject(&o, &array, &plain, NULL)); /* freed */
    EXPECT(hipSuccess, hipFree(memory));
}

static void test_memory_of_textures_is_checked(void **state)
{
    enum { N = 4096, WIDEST = 16384 };
    const hipTextureDesc t = {.readMode = hipReadModeElementType};
    char *memory;
    const struct {
        size_t at, nbytes;
        hipError_t want;
    } lines[] = {
        {0, N, hipSuccess},
        {256, N - 256, hipSuccess},
        {256, N, hipErrorInvalidValue}, /* beyond the allocation */
        {4, 256, hipErrorInvalidValue},
        {0, 3, hipErrorInvalidValue}, /* no whole element */
        {0, SIZE_MAX, hipErrorInvalidValue},
    };
    const struct {
        size_t at, width, height, pitch;
        hipError_t want;
    } rows[] = {
        {0, 64, 16, 256, hipSuccess},
        {0, 64, 8, 512, hipSuccess},
        {0, 60, 16, 0, hipSuccess},
        {0, 65, 15, 256, hipErrorInvalidValue}, /* rows overlap */
        {0, 64, 17, 256, hipErrorInvalidValue},
        {128, 16, 2, 256, hipErrorInvalidValue},
        {0, 16, 2, 128, hipErrorInvalidValue},
        {0, 0, 2, 256, hipErrorInvalidValue},
        {0, 16, 0, 256, hipErrorInvalidValue},
        {0, WIDEST, 1, 4 * WIDEST, hipErrorInvalidValue},
        {0, 1, WIDEST, 256, hipErrorInvalidValue},
    };
    hipTextureObject_t o;
    hipResourceDesc d;
    size_t i;

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&memory, N));
    for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        d = of_line(memory + lines[i].at, lines[i].nbytes);
        EXPECT(lines[i].want, hipCreateTextureObject(&o, &d, &t, NULL));
        if (lines[i].want == hipSuccess)
            EXPECT(hipSuccess, hipDestroyTextureObject(o));
    }
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        d = of_rows(memory + rows[i].at, rows[i].width, rows[i].height,
                    rows[i].pitch);
        EXPECT(rows[i].want, hipCreateTextureObject(&o, &d, &t, NULL));
        if (rows[i].want == hipSuccess)
            EXPECT(hipSuccess, hipDestroyTextureObject(o));
    }
    d = of_line(NULL, N);
    EXPECT(hipErrorInvalidValue, hipCreateTextureObject(&o, &d, &t, NULL));
    d = of_rows(NULL, 4, 4, 256);
    EXPECT(hipErrorInvalidValue, hipCreateTextureObject(&o, &d, &t, NULL));
    d = of_line(memory, N);
    d.res.linear.desc.f = hipChannelFormatKindNone;
    EXPECT(hipErrorInvalidValue, hipCreateTextureObject(&o, &d, &t, NULL));
    d.res.linear.desc =
        (hipChannelFormatDesc){8, 8, 8, 0, hipChannelFormatKindUnsigned};
    EXPECT(hipErrorInvalidValue, hipCreateTextureObject(&o, &d, &t, NULL));
    EXPECT(hipSuccess, hipFree(memory));
    d = of_line(memory, N);
    EXPECT(hipErrorInvalidValue, hipCreateTextureObject(&o, &d, &t, NULL));
}

/* sRGB is for four fractions of 8 bits, and not in a line. */
static void test_srgb_is_for_some(void **state)
{
    hipTextureDesc t = {.readMode = hipReadModeNormalizedFloat, .sRGB = 1};
    hipArray_t a = new_array(&bytes4, 8, 8, 0, 0);
    hipArray_t b = new_array(&floats, 8, 8, 0, 0);
    hipResourceDesc d = of_array(a), one = of_array(b), line;
    hipTextureObject_t o;
    char *memory;

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&memory, 256));
    EXPECT(hipSuccess, hipCreateTextureObject(&o, &d, &t, NULL));
    EXPECT(hipSuccess, hipDestroyTextureObject(o));
    EXPECT(hipSuccess, hipCreateTextureObject(&o, &one, &t, NULL));
    EXPECT(hipSuccess, hipDestroyTextureObject(o));
    line = of_line(memory, 256);
    line.res.linear.desc = bytes4;
    EXPECT(hipErrorInvalidValue, hipCreateTextureObject(&o, &line, &t, NULL));
    t.readMode = hipReadModeElementType;
    EXPECT(hipErrorInvalidValue, hipCreateTextureObject(&o, &d, &t, NULL));
    EXPECT(hipSuccess, hipFree(memory));
    EXPECT(hipSuccess, hipFreeArray(a));
    EXPECT(hipSuccess, hipFreeArray(b));
}

static void test_objects_tell_what_they_are(void **state)
{
    const hipTextureDesc t = {.addressMode = {hipAddressModeMirror,
                                              hipAddressModeWrap,
                                              hipAddressModeBorder},
                              .filterMode = hipFilterModeLinear,
                              .readMode = hipReadModeElementType,
                              .borderColor = {1, 2, 3, 4},
                              .normalizedCoords = 1,
                              .maxMipmapLevelClamp = 3};
    const struct hipResourceViewDesc v = {.format = hipResViewFormatFloat1,
                                          .width = 8};
    hipArray_t a = new_array(&floats, 8, 0, 0, 0);
    const hipResourceDesc d = of_array(a);
    struct hipResourceViewDesc view;
    hipTextureObject_t o;
    hipTextureDesc texture;
    hipResourceDesc resource;

    (void)state;
    EXPECT(hipSuccess, hipCreateTextureObject(&o, &d, &t, &v));
    EXPECT(hipSuccess, hipGetTextureObjectResourceDesc(&resource, o));
    EXPECT(hipSuccess, hipGetTextureObjectTextureDesc(&texture, o));
    EXPECT(hipSuccess, hipGetTextureObjectResourceViewDesc(&view, o));
    assert_memory_equal(&d, &resource, sizeof(d));
    assert_memory_equal(&t, &texture, sizeof(t));
    assert_true(view.format == v.format && view.width == v.width);
    EXPECT(hipErrorInvalidValue, hipGetTextureObjectResourceDesc(NULL, o));
    EXPECT(hipErrorInvalidValue,
           hipGetTextureObjectResourceDesc(&resource, NULL));
    EXPECT(hipErrorInvalidValue, hipGetTextureObjectTextureDesc(NULL, o));
    EXPECT(hipErrorInvalidValue,
           hipGetTextureObjectTextureDesc(&texture, NULL));
    EXPECT(hipErrorInvalidValue, hipGetTextureObjectResourceViewDesc(NULL, o));
    EXPECT(hipErrorInvalidValue,
           hipGetTextureObjectResourceViewDesc(&view, NULL));
    EXPECT(hipSuccess, hipDestroyTextureObject(o));
    EXPECT(hipErrorInvalidValue, hipGetTextureObjectResourceDesc(&resource, o));
    EXPECT(hipSuccess, hipFreeArray(a));
}

/* The driver's structures come back as they went in. */
static void test_the_drivers_objects(void **state)
{
    HIP_TEXTURE_DESC t = {.addressMode = {HIP_TR_ADDRESS_MODE_CLAMP},
                          .filterMode = HIP_TR_FILTER_MODE_LINEAR,
                          .flags = NORMALIZED | AS_INTEGER},
                     texture;
    HIP_RESOURCE_VIEW_DESC v = {.format = HIP_RES_VIEW_FORMAT_FLOAT_1X32}, view;
    HIP_RESOURCE_DESC d, resource;
    hipTextureObject_t o;
    hipTextureDesc plain;
    hipArray_t a = new_array(&floats, 8, 8, 0, 0);
    char *memory;
    unsigned flags;

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&memory, 4096));
    memset(&d, 0, sizeof(d));
    d.resType = HIP_RESOURCE_TYPE_ARRAY;
    d.res.array.hArray = a;
    EXPECT(hipErrorInvalidValue, hipTexObjectCreate(NULL, &d, &t, NULL));
    EXPECT(hipErrorInvalidValue, hipTexObjectCreate(&o, NULL, &t, NULL));
    EXPECT(hipErrorInvalidValue, hipTexObjectCreate(&o, &d, NULL, NULL));
    EXPECT(hipSuccess, hipTexObjectCreate(&o, &d, &t, &v));
    EXPECT(hipSuccess, hipTexObjectGetResourceDesc(&resource, o));
    EXPECT(hipSuccess, hipTexObjectGetTextureDesc(&texture, o));
    EXPECT(hipSuccess, hipTexObjectGetResourceViewDesc(&view, o));
    assert_memory_equal(&d, &resource, sizeof(d));
    assert_memory_equal(&t, &texture, sizeof(t));
    assert_memory_equal(&v, &view, sizeof(v));
    EXPECT(hipErrorInvalidValue, hipTexObjectGetResourceDesc(NULL, o));
    EXPECT(hipErrorInvalidValue, hipTexObjectGetTextureDesc(NULL, o));
    EXPECT(hipErrorInvalidValue, hipTexObjectGetResourceViewDesc(NULL, o));
    EXPECT(hipSuccess, hipTexObjectDestroy(o));
    EXPECT(hipErrorInvalidValue, hipTexObjectGetResourceDesc(&resource, o));

    memset(&d, 0, sizeof(d));
    d.resType = HIP_RESOURCE_TYPE_LINEAR;
    d.res.linear.devPtr = memory;
    d.res.linear.format = HIP_AD_FORMAT_SIGNED_INT16;
    d.res.linear.numChannels = 2;
    d.res.linear.sizeInBytes = 4096;
    EXPECT(hipSuccess, hipTexObjectCreate(&o, &d, &t, NULL));
    EXPECT(hipSuccess, hipTexObjectGetResourceDesc(&resource, o));
    assert_memory_equal(&d, &resource, sizeof(d));
    EXPECT(hipSuccess, hipTexObjectDestroy(o));
    d.res.linear.numChannels = 3;
    EXPECT(hipErrorInvalidValue, hipTexObjectCreate(&o, &d, &t, NULL));

    memset(&d, 0, sizeof(d));
    d.resType = HIP_RESOURCE_TYPE_PITCH2D;
    d.res.pitch2D.devPtr = memory;
    d.res.pitch2D.format = HIP_AD_FORMAT_UNSIGNED_INT8;
    d.res.pitch2D.numChannels = 4;
    d.res.pitch2D.width = 10;
    d.res.pitch2D.height = 8;
    d.res.pitch2D.pitchInBytes = 512;
    for (flags = 0; flags < 4; flags++) {
        t.flags = flags | (flags == 0 ? SRGB : 0);
        EXPECT(hipSuccess, hipTexObjectCreate(&o, &d, &t, NULL));
        EXPECT(hipSuccess, hipTexObjectGetResourceDesc(&resource, o));
        EXPECT(hipSuccess, hipTexObjectGetTextureDesc(&texture, o));
        EXPECT(hipSuccess, hipGetTextureObjectTextureDesc(&plain, o));
        assert_memory_equal(&d, &resource, sizeof(d));
        assert_int_equal(texture.flags, t.flags);
        assert_int_equal(plain.readMode, flags & AS_INTEGER
                                             ? hipReadModeElementType
                                             : hipReadModeNormalizedFloat);
        assert_int_equal(plain.normalizedCoords, (flags & NORMALIZED) != 0);
        EXPECT(hipSuccess, hipTexObjectDestroy(o));
    }
    EXPECT(hipSuccess, hipFree(memory));
    EXPECT(hipSuccess, hipFreeArray(a));
}

/* ---- what kernels find -------------------------------------------------- */

/* An image's descriptor, the device library's numbers, and a sampler's. */
static void test_objects_hold_descriptors(void **state)
{
    enum { LAYERED = 1, UNSIGNED_8 = 11, UNORM_8 = 2, FLOAT_32 = 15 };
    enum { R = 1, RGBA = 8 };
    static const struct {
        const hipChannelFormatDesc *desc;
        size_t width, height, depth;
        unsigned flags;
        enum hipTextureReadMode mode;
        enum sim_image_type type;
        enum sim_number_format number;
        uint32_t hsa_type, hsa_order;
    } rows[] = {
        {&floats, 9, 0, 0, 0, hipReadModeElementType, SIM_IMAGE_1D,
         SIM_NUMBER_FLOAT, FLOAT_32, R},
        {&floats, 9, 7, 0, 0, hipReadModeElementType, SIM_IMAGE_2D,
         SIM_NUMBER_FLOAT, FLOAT_32, R},
        {&bytes4, 9, 7, 5, 0, hipReadModeElementType, SIM_IMAGE_3D,
         SIM_NUMBER_UINT, UNSIGNED_8, RGBA},
        {&bytes4, 9, 0, 5, LAYERED, hipReadModeNormalizedFloat,
         SIM_IMAGE_1D_ARRAY, SIM_NUMBER_UNORM, UNORM_8, RGBA},
        {&bytes4, 9, 7, 5, LAYERED, hipReadModeNormalizedFloat,
         SIM_IMAGE_2D_ARRAY, SIM_NUMBER_UNORM, UNORM_8, RGBA},
    };
    int device;
    size_t i;

    (void)state;
    for (device = 0; device < 2; device++) {
        EXPECT(hipSuccess, hipSetDevice(device));
        for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
            hipArray_t a =
                new_array(rows[i].desc, rows[i].width, rows[i].height,
                          rows[i].depth, rows[i].flags);
            const hipResourceDesc d = of_array(a);
            const hipTextureDesc t = {.readMode = rows[i].mode,
                                      .addressMode = {hipAddressModeWrap},
                                      .normalizedCoords = (int)i & 1};
            hipTextureObject_t o;
            struct sim_image image;
            struct sim_sampler sampler;
            const uint32_t *words;
            char why[SIM_IMAGE_WHY];

            EXPECT(hipSuccess, hipCreateTextureObject(&o, &d, &t, NULL));
            words = (const uint32_t *)(const void *)o;
            assert_true(
                sim_image_decode(words, target_of(device), &image, why));
            assert_true(sim_sampler_decode(words + SAMPLER_AT,
                                           target_of(device), &sampler, why));
            assert_int_equal(image.type, rows[i].type);
            assert_int_equal(image.number, rows[i].number);
            assert_int_equal(image.width, rows[i].width);
            assert_int_equal(image.height, rows[i].height ? rows[i].height : 1);
            assert_int_equal(image.depth, rows[i].depth ? rows[i].depth : 1);
            assert_int_equal(words[TYPE_AT], rows[i].hsa_type);
            assert_int_equal(words[ORDER_AT], rows[i].hsa_order);
            assert_int_equal(sampler.unnormalised, !(i & 1));
            /* Unnormalized coordinates are not repeated. */
            assert_int_equal(sampler.clamp[0],
                             i & 1 ? SIM_CLAMP_WRAP : SIM_CLAMP_EDGE);
            assert_int_equal(sampler.clamp[2], sampler.clamp[0]);
            EXPECT(hipSuccess, hipDestroyTextureObject(o));
            EXPECT(hipSuccess, hipFreeArray(a));
        }
    }
    EXPECT(hipSuccess, hipSetDevice(0));
}

/* gfx90a has no filter of slices; layers are refused with them. */
static void test_gfx90a_filters_no_slices(void **state)
{
    enum { GFX90A = 1 };
    const hipTextureDesc t = {.filterMode = hipFilterModeLinear};
    int device;

    (void)state;
    for (device = 0; device < 2; device++) {
        hipTextureObject_t o;
        hipResourceDesc d;
        hipArray_t a;

        EXPECT(hipSuccess, hipSetDevice(device));
        a = new_array(&floats, 4, 4, 4, 0);
        d = of_array(a);
        if (device == GFX90A) {
            EXPECT(hipErrorNotSupported,
                   hipCreateTextureObject(&o, &d, &t, NULL));
        } else {
            EXPECT(hipSuccess, hipCreateTextureObject(&o, &d, &t, NULL));
            EXPECT(hipSuccess, hipDestroyTextureObject(o));
        }
        EXPECT(hipSuccess, hipFreeArray(a));
    }
    EXPECT(hipSuccess, hipSetDevice(0));
}

static void test_levels_want_fractions(void **state)
{
    const hipExtent extent = {8, 8, 0};
    hipTextureDesc t = {.normalizedCoords = 0};
    hipResourceDesc d = {.resType = hipResourceTypeMipmappedArray};
    hipMipmappedArray_t mip;
    hipTextureObject_t o;
    struct sim_image image;
    char why[SIM_IMAGE_WHY];

    (void)state;
    EXPECT(hipErrorInvalidValue, hipCreateTextureObject(&o, &d, &t, NULL));
    EXPECT(hipSuccess, hipMallocMipmappedArray(&mip, &floats, extent, 3, 0));
    d.res.mipmap.mipmap = mip;
    EXPECT(hipErrorInvalidValue, hipCreateTextureObject(&o, &d, &t, NULL));
    t.normalizedCoords = 1;
    EXPECT(hipSuccess, hipCreateTextureObject(&o, &d, &t, NULL));
    assert_true(sim_image_decode((const uint32_t *)(const void *)o,
                                 target_of(0), &image, why));
    assert_true(image.nlevels == 3 && image.last_level == 2);
    EXPECT(hipSuccess, hipDestroyTextureObject(o));
    EXPECT(hipSuccess, hipFreeMipmappedArray(mip));
    EXPECT(hipErrorInvalidValue, hipCreateTextureObject(&o, &d, &t, NULL));
}

/* ---- surfaces ----------------------------------------------------------- */

static void test_surfaces(void **state)
{
    enum { LAYERED = 1, SURFACE = 2 };
    hipArray_t a = new_array(&floats, 8, 8, 0, SURFACE);
    hipArray_t plain = new_array(&floats, 8, 8, 0, 0);
    hipArray_t layered = new_array(&floats, 8, 8, 2, LAYERED);
    hipResourceDesc d = of_array(a);
    hipSurfaceObject_t s;

    (void)state;
    EXPECT(hipErrorInvalidValue, hipCreateSurfaceObject(NULL, &d));
    EXPECT(hipErrorInvalidValue, hipCreateSurfaceObject(&s, NULL));
    EXPECT(hipSuccess, hipCreateSurfaceObject(&s, &d));
    assert_int_equal(((const uint32_t *)(const void *)s)[ORDER_AT], 1);
    EXPECT(hipSuccess, hipDestroySurfaceObject(s));
    EXPECT(hipErrorInvalidValue, hipDestroySurfaceObject(s));
    EXPECT(hipSuccess, hipDestroySurfaceObject(NULL));
    d.resType = hipResourceTypeLinear;
    EXPECT(hipErrorInvalidValue, hipCreateSurfaceObject(&s, &d));
    d = of_array(NULL);
    EXPECT(hipErrorInvalidValue, hipCreateSurfaceObject(&s, &d));
    d = of_array(plain);
    EXPECT(hipSuccess, hipCreateSurfaceObject(&s, &d));
    EXPECT(hipErrorInvalidValue,
           hipDestroyTextureObject((hipTextureObject_t)s)); /* not one */
    EXPECT(hipSuccess, hipDestroySurfaceObject(s));
    d = of_array(layered); /* for other uses */
    EXPECT(hipErrorInvalidValue, hipCreateSurfaceObject(&s, &d));
    EXPECT(hipSuccess, hipFreeArray(a));
    EXPECT(hipSuccess, hipFreeArray(plain));
    EXPECT(hipSuccess, hipFreeArray(layered));
    d = of_array(a);
    EXPECT(hipErrorInvalidValue, hipCreateSurfaceObject(&s, &d));
}

/* ---- references --------------------------------------------------------- */

/* Fields go in and out; odd answers are AMD's. */
static void test_fields_of_references(void **state)
{
    float colour[4] = {1, 2, 3, 4}, bias = 0, least = 0, most = 0;
    enum hipTextureAddressMode address;
    enum hipTextureFilterMode filter;
    enum hipArray_Format format;
    const textureReference *same;
    textureReference r = {0};
    int channels, anisotropy;
    unsigned flags;
    size_t offset = 7;

    (void)state;
    EXPECT(hipSuccess, hipTexRefSetFormat(&r, HIP_AD_FORMAT_HALF, 2));
    EXPECT(hipSuccess, hipTexRefGetFormat(&format, &channels, &r));
    assert_true(format == HIP_AD_FORMAT_HALF && channels == 2);
    EXPECT(hipSuccess, hipTexRefSetFlags(&r, NORMALIZED | SRGB));
    EXPECT(hipSuccess, hipTexRefGetFlags(&flags, &r));
    assert_int_equal(flags, NORMALIZED | SRGB);
    assert_int_equal(r.readMode, hipReadModeNormalizedFloat);
    EXPECT(hipSuccess, hipTexRefSetFilterMode(&r, hipFilterModeLinear));
    EXPECT(hipSuccess, hipTexRefGetFilterMode(&filter, &r));
    assert_int_equal(filter, hipFilterModeLinear);
    EXPECT(hipSuccess, hipTexRefSetAddressMode(&r, 1, hipAddressModeBorder));
    EXPECT(hipSuccess, hipTexRefGetAddressMode(&address, &r, 1));
    assert_int_equal(address, hipAddressModeBorder);
    EXPECT(hipSuccess, hipTexRefSetAddressMode(&r, 2, hipAddressModeMirror));
    EXPECT(hipErrorInvalidValue, hipTexRefGetAddressMode(&address, &r, 2));
    EXPECT(hipErrorInvalidValue,
           hipTexRefSetAddressMode(&r, 3, hipAddressModeMirror));
    EXPECT(hipErrorInvalidValue,
           hipTexRefSetAddressMode(&r, -1, hipAddressModeMirror));
    EXPECT(hipSuccess, hipTexRefSetMaxAnisotropy(&r, 4));
    EXPECT(hipErrorInvalidValue, hipTexRefGetMaxAnisotropy(&anisotropy, &r));
    assert_int_equal(anisotropy, 4);
    EXPECT(hipSuccess, hipTexRefSetMipmapFilterMode(&r, hipFilterModeLinear));
    EXPECT(hipErrorInvalidValue, hipTexRefGetMipmapFilterMode(&filter, &r));
    EXPECT(hipSuccess, hipTexRefSetMipmapLevelBias(&r, 2));
    EXPECT(hipErrorInvalidValue, hipTexRefGetMipmapLevelBias(&bias, &r));
    EXPECT(hipSuccess, hipTexRefSetMipmapLevelClamp(&r, 1, 3));
    EXPECT(hipErrorInvalidValue,
           hipTexRefGetMipmapLevelClamp(&least, &most, &r));
    assert_true(bias == 2 && least == 1 && most == 3);
    EXPECT(hipSuccess, hipTexRefSetBorderColor(&r, colour));
    EXPECT(hipErrorInvalidValue, hipTexRefSetBorderColor(&r, NULL));
    EXPECT(hipErrorInvalidValue,
           hipTexRefSetFormat(NULL, HIP_AD_FORMAT_HALF, 1));
    EXPECT(hipErrorInvalidValue, hipTexRefGetFormat(NULL, &channels, &r));
    EXPECT(hipErrorInvalidValue, hipTexRefGetFlags(&flags, NULL));
    EXPECT(hipSuccess, hipGetTextureReference(&same, &r));
    assert_ptr_equal(same, &r);
    EXPECT(hipErrorInvalidValue, hipGetTextureReference(NULL, &r));
    EXPECT(hipSuccess, hipGetTextureAlignmentOffset(&offset, &r));
    assert_int_equal(offset, 0);
    EXPECT(hipErrorInvalidValue, hipGetTextureAlignmentOffset(NULL, &r));
}

/* Nobody registered it, and no module has it. */
static void test_unknown_references(void **state)
{
    HIP_ARRAY_DESCRIPTOR rows = {16, 4, HIP_AD_FORMAT_FLOAT, 1};
    hipArray_t a = new_array(&floats, 8, 8, 0, 0), found;
    textureReference r = {0};
    hipDeviceptr_t at;
    char *memory;
    size_t offset;

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&memory, 4096));
    EXPECT(hipErrorInvalidSymbol,
           hipBindTexture(&offset, &r, memory, &floats, 4096));
    EXPECT(hipErrorInvalidSymbol,
           hipBindTexture2D(&offset, &r, memory, &floats, 16, 4, 256));
    EXPECT(hipErrorInvalidSymbol, hipBindTextureToArray(&r, a, &floats));
    EXPECT(hipErrorInvalidSymbol, hipBindTextureToArray(NULL, a, &floats));
    EXPECT(hipErrorInvalidSymbol,
           hipBindTextureToMipmappedArray(&r, NULL, &floats));
    EXPECT(hipErrorNotFound, hipTexRefSetArray(&r, a, OVERRIDE_FORMAT));
    EXPECT(hipErrorInvalidValue, hipTexRefSetArray(&r, a, 0));
    EXPECT(hipErrorInvalidValue, hipTexRefSetArray(&r, NULL, OVERRIDE_FORMAT));
    EXPECT(hipErrorNotFound, hipTexRefSetMipmappedArray(
                                 &r, (hipMipmappedArray_t)a, OVERRIDE_FORMAT));
    EXPECT(hipErrorNotFound, hipTexRefSetAddress(&offset, &r, memory, 4096));
    EXPECT(hipErrorNotFound, hipTexRefSetAddress2D(&r, &rows, memory, 256));
    EXPECT(hipErrorInvalidValue, hipTexRefGetArray(&found, &r));
    EXPECT(hipErrorInvalidValue, hipTexRefGetAddress(&at, &r));
    EXPECT(hipSuccess, hipUnbindTexture(&r)); /* succeeds without a binding */
    EXPECT(hipErrorInvalidValue, hipUnbindTexture(NULL));
    EXPECT(hipSuccess, hipFree(memory));
    EXPECT(hipSuccess, hipFreeArray(a));
}

/* A module's reference: its initial state, each way to bind it, and its end
 * with its module. */
static void test_references_of_modules(void **state)
{
    HIP_ARRAY_DESCRIPTOR rows = {16, 4, HIP_AD_FORMAT_FLOAT, 1};
    hipArray_t a = new_array(&floats, 8, 8, 0, 0), found;
    textureReference *r, *other, copy;
    hipDeviceptr_t at, address;
    hipModule_t module;
    char *memory;
    size_t n, before, after, offset = 1, size;
    void *image = read_program("gfx1100", "textures", &n);

    (void)state;
    EXPECT(hipSuccess, hipModuleLoadData(&module, image));
    EXPECT(hipSuccess, hipMalloc((void **)&memory, 4096));
    EXPECT(hipErrorInvalidValue, hipModuleGetTexRef(NULL, module, "reference"));
    EXPECT(hipErrorInvalidValue, hipModuleGetTexRef(&r, module, NULL));
    EXPECT(hipErrorInvalidValue, hipModuleGetTexRef(&r, module, ""));
    EXPECT(hipErrorInvalidHandle, hipModuleGetTexRef(&r, NULL, "reference"));
    EXPECT(hipErrorNotFound, hipModuleGetTexRef(&r, module, "nothing"));
    EXPECT(hipSuccess, hipModuleGetTexRef(&r, module, "reference"));
    EXPECT(hipSuccess, hipModuleGetTexRef(&other, module, "reference"));
    assert_true(r->readMode == hipReadModeNormalizedFloat && r != other);
    assert_true(r->format == HIP_AD_FORMAT_FLOAT && r->numChannels == 1);
    EXPECT(hipSuccess,
           hipModuleGetGlobal(&address, &size, module, "reference"));
    assert_int_equal(size, sizeof(*r));

    EXPECT(hipSuccess, hipTexRefSetArray(r, a, OVERRIDE_FORMAT));
    EXPECT(hipSuccess, hipTexRefGetArray(&found, r));
    assert_ptr_equal(found, a);
    EXPECT(hipErrorInvalidValue, hipTexRefGetAddress(&at, r));
    EXPECT(hipSuccess, hipMemcpyDtoH(&copy, address, sizeof(copy)));
    assert_memory_equal(&copy, r, sizeof(copy)); /* what kernels see */
    EXPECT(hipSuccess, hipTexRefSetAddress(&offset, r, memory, 4096));
    EXPECT(hipSuccess, hipTexRefGetAddress(&at, r));
    assert_true(at == memory && offset == 0);
    EXPECT(hipErrorInvalidValue, hipTexRefGetArray(&found, r));
    EXPECT(hipErrorInvalidValue, hipTexRefSetAddress(NULL, r, memory + 64, 64));
    EXPECT(hipSuccess, hipTexRefSetAddress2D(r, &rows, memory, 256));
    EXPECT(hipSuccess, hipTexRefGetAddress(&at, r));
    assert_ptr_equal(at, memory);
    EXPECT(hipSuccess, hipUnbindTexture(r));
    assert_null(r->textureObject);
    EXPECT(hipErrorInvalidValue, hipTexRefGetAddress(&at, r));

    EXPECT(hipSuccess, hipMemGetInfo(&before, NULL));
    EXPECT(hipSuccess, hipTexRefSetArray(r, a, OVERRIDE_FORMAT));
    EXPECT(hipSuccess, hipModuleUnload(module));
    EXPECT(hipErrorNotFound, hipTexRefSetArray(r, a, OVERRIDE_FORMAT));
    EXPECT(hipSuccess, hipMemGetInfo(&after, NULL));
    assert_true(after >= before); /* the object went, too */
    EXPECT(hipErrorNotFound, hipModuleGetTexRef(&r, module, "reference"));
    EXPECT(hipSuccess, hipFree(memory));
    EXPECT(hipSuccess, hipFreeArray(a));
    free(image);
}

/* ---- devices without images --------------------------------------------- */

static void no_textures(void)
{
    const hipTextureDesc t = {.normalizedCoords = 1};
    hipTextureObject_t o = (hipTextureObject_t)&t;
    hipSurfaceObject_t s = (hipSurfaceObject_t)&t;
    hipResourceDesc d = of_line(NULL, 0);
    hipChannelFormatDesc desc;
    textureReference r = {0};
    int format, channels;

    EXPECT(hipErrorNotSupported, hipCreateTextureObject(&o, &d, &t, NULL));
    EXPECT(hipErrorNotSupported,
           hipCreateTextureObject(NULL, NULL, NULL, NULL));
    EXPECT(hipErrorNotSupported, hipDestroyTextureObject(o));
    EXPECT(hipSuccess, hipDestroyTextureObject(NULL));
    EXPECT(hipErrorNotSupported, hipGetTextureObjectResourceDesc(&d, o));
    EXPECT(hipErrorInvalidValue, hipGetTextureObjectResourceDesc(NULL, o));
    EXPECT(hipErrorNotSupported, hipCreateSurfaceObject(&s, &d));
    EXPECT(hipErrorNotSupported, hipUnbindTexture(&r));
    EXPECT(hipErrorNotSupported, hipTexRefSetFlags(&r, 0));
    EXPECT(hipErrorNotSupported,
           hipTexRefGetFormat((enum hipArray_Format *)&format, &channels, &r));
    EXPECT(hipErrorNotSupported,
           hipGetChannelDesc(&desc, (hipArray_const_t)&t));
}

static void test_no_textures_without_images(void **state)
{
    static const char *const cdna3[] = {"KPK_SIM_DEVICES=gfx942", NULL};
    static const char *const cdna4[] = {"KPK_SIM_DEVICES=gfx950", NULL};

    (void)state;
    in_child(cdna3, no_textures);
    in_child(cdna4, no_textures);
}

int main(void)
{
    const struct CMUnitTest fresh[] = {
        cmocka_unit_test(test_no_textures_without_images),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects_are_checked),
        cmocka_unit_test(test_memory_of_textures_is_checked),
        cmocka_unit_test(test_srgb_is_for_some),
        cmocka_unit_test(test_objects_tell_what_they_are),
        cmocka_unit_test(test_the_drivers_objects),
        cmocka_unit_test(test_objects_hold_descriptors),
        cmocka_unit_test(test_gfx90a_filters_no_slices),
        cmocka_unit_test(test_levels_want_fractions),
        cmocka_unit_test(test_surfaces),
        cmocka_unit_test(test_fields_of_references),
        cmocka_unit_test(test_unknown_references),
        cmocka_unit_test(test_references_of_modules),
    };
    int failed;

    (void)setenv("KPK_SIM_DEVICES", "gfx1100,gfx90a", 1);
    failed = cmocka_run_group_tests(fresh, NULL, NULL);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
