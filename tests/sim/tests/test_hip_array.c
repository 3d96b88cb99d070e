/* test_hip_array.c - arrays and mipmapped arrays, and copies of them */
#include "hip_test.h"

#include <stdlib.h>
#include <string.h>

hipError_t hipArrayGetDescriptor(HIP_ARRAY_DESCRIPTOR *out, hipArray_t array);
hipError_t hipMemcpyAtoA(hipArray_t dst, size_t dst_at, hipArray_t src,
                         size_t src_at, size_t n);
hipError_t hipMemcpyDtoA(hipArray_t dst, size_t dst_at, hipDeviceptr_t src,
                         size_t n);
hipError_t hipMemcpyAtoD(hipDeviceptr_t dst, hipArray_t src, size_t src_at,
                         size_t n);

/* Into one, through another, and back: rows as if they had no padding. */
static void test_arrays(void **state)
{
    enum { WIDTH = 7, HEIGHT = 5 };
    hipChannelFormatDesc two = {32, 32, 0, 0, hipChannelFormatKindFloat};
    hipChannelFormatDesc three = {8, 8, 8, 0, hipChannelFormatKindUnsigned};
    float in[HEIGHT][WIDTH][2], out[HEIGHT][WIDTH][2] = {{{0}}};
    hipMemcpy3DParms p = {.extent = {2, 3, 1}, .kind = hipMemcpyDeviceToHost};
    hipArray_t a, b;
    int i;

    (void)state;
    for (i = 0; i < 2 * WIDTH * HEIGHT; i++)
        ((float *)in)[i] = (float)i;
    EXPECT(hipErrorInvalidValue, hipMallocArray(&a, &three, WIDTH, HEIGHT, 0));
    EXPECT(hipErrorInvalidValue, hipMallocArray(&a, &two, 0, HEIGHT, 0));
    EXPECT(hipSuccess, hipMallocArray(&a, &two, WIDTH, HEIGHT, 0));
    EXPECT(hipSuccess, hipMallocArray(&b, &two, WIDTH, HEIGHT, 0));
    EXPECT(hipSuccess,
           hipMemcpy2DToArray(a, 0, 0, in, sizeof(in[0]), sizeof(in[0]), HEIGHT,
                              hipMemcpyHostToDevice));
    EXPECT(hipErrorInvalidValue,
           hipMemcpy2DToArray(a, 0, 1, in, sizeof(in[0]), sizeof(in[0]), HEIGHT,
                              hipMemcpyHostToDevice));
    EXPECT(hipErrorInvalidPitchValue,
           hipMemcpy2DToArray(a, 0, 0, in, 8, 16, 2, hipMemcpyHostToDevice));
    EXPECT(hipErrorInvalidHandle,
           hipMemcpy2DToArray(NULL, 0, 0, in, 8, 8, 2, hipMemcpyHostToDevice));
    EXPECT(hipSuccess, hipMemcpyAtoA(b, 0, a, 0, sizeof(in)));
    EXPECT(hipSuccess,
           hipMemcpy2DFromArray(out, sizeof(out[0]), b, 0, 0, sizeof(out[0]),
                                HEIGHT, hipMemcpyDeviceToHost));
    assert_memory_equal(in, out, sizeof(in));
    /* A box: places and widths of the array are counted in elements. */
    memset(out, 0, sizeof(out));
    p.srcArray = b;
    p.srcPos.x = 5;
    p.srcPos.y = 1;
    p.dstPtr = (hipPitchedPtr){out, sizeof(out[0]), sizeof(out[0]), HEIGHT};
    EXPECT(hipSuccess, hipMemcpy3D(&p));
    assert_memory_equal(out[2], &in[3][5], 2 * sizeof(in[0][0]));
    assert_true(out[3][0][0] == 0 && out[0][2][0] == 0);
    p.srcPos.x = 6;
    EXPECT(hipErrorInvalidValue, hipMemcpy3D(&p));
    EXPECT(hipSuccess, hipFreeArray(a));
    EXPECT(hipErrorContextIsDestroyed, hipFreeArray(a));
    EXPECT(hipErrorInvalidValue, hipFreeArray(NULL));
    EXPECT(hipSuccess, hipFreeArray(b));
}

/* Sizes beyond the cards' limits and copies beyond the array are refused. */
static void test_limits_of_arrays(void **state)
{
    enum {
        LAYERED = 1,
        CUBE = 4,
        WIDEST = 16384,
        DEEPEST = 8192,
        TYPE_ARRAY = 10
    };
    static const struct {
        size_t width, height, depth;
        unsigned flags;
        hipError_t want;
    } extents[] = {
        {WIDEST, 0, 0, 0, hipSuccess},
        {WIDEST + 1, 0, 0, 0, hipErrorInvalidValue},
        {1, WIDEST, 0, 0, hipSuccess},
        {1, WIDEST + 1, 0, 0, hipErrorInvalidValue},
        {1, 1, DEEPEST, 0, hipSuccess},
        {1, 1, DEEPEST + 1, 0, hipErrorInvalidValue},
        {SIZE_MAX, SIZE_MAX, SIZE_MAX, 0, hipErrorInvalidValue},
        {0, 1, 1, 0, hipErrorInvalidValue},
        {1, 0, 1, 0, hipErrorInvalidValue},
        {1, 0, 1, 2 /* surfaces */, hipErrorInvalidValue},
        {1, 0, 6, LAYERED, hipSuccess},
        {1, 1, 6, LAYERED, hipSuccess},
        {1, 1, 0, LAYERED, hipErrorInvalidValue},
        {1, 0, 6, LAYERED | CUBE, hipErrorInvalidValue},
        {6, 6, 6, CUBE, hipErrorInvalidValue}, /* like AMD's runtime */
        {6, 6, 12, LAYERED | CUBE, hipErrorInvalidValue},
        {1, 1, 1, 16, hipErrorInvalidValue},
    };
    const hipChannelFormatDesc bytes = {8, 0, 0, 0,
                                        hipChannelFormatKindUnsigned};
    char host[64] = {0};
    hipArray_t a;
    int type = 0;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(extents) / sizeof(extents[0]); i++) {
        a = NULL;
        EXPECT(extents[i].want,
               hipMalloc3DArray(&a, &bytes,
                                (hipExtent){extents[i].width, extents[i].height,
                                            extents[i].depth},
                                extents[i].flags));
        if (a)
            EXPECT(hipSuccess, hipFreeArray(a));
    }
    EXPECT(hipSuccess, hipMallocArray(&a, &bytes, 8, 8, 0));
    EXPECT(hipSuccess,
           hipPointerGetAttribute(&type, HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, a));
    assert_int_equal(type, TYPE_ARRAY);
    EXPECT(hipSuccess, hipMemcpyHtoA(a, 1, host, 7));
    EXPECT(hipErrorInvalidValue, hipMemcpyHtoA(a, 1, host, 8));
    EXPECT(hipErrorInvalidValue, hipMemcpyHtoA(NULL, 0, host, 8));
    EXPECT(hipSuccess, hipMemcpyAtoH(host, a, 0, 8));
    EXPECT(hipErrorInvalidValue, hipMemcpyAtoH(host, a, 0, 64));
    EXPECT(hipErrorInvalidValue, hipMemcpyAtoH(host, NULL, 0, 8));
    EXPECT(hipSuccess, hipFreeArray(a));
}

/* Bytes from an offset on go over the ends of rows, and of slices. */
static void test_bytes_of_rows_of_different_lengths(void **state)
{
    enum { WIDE = 6, NARROW = 4, HEIGHT = 2, DEPTH = 3 };
    enum { N = WIDE * HEIGHT * DEPTH }; /* bytes of either */
    const hipChannelFormatDesc bytes = {8, 0, 0, 0,
                                        hipChannelFormatKindUnsigned};
    unsigned char in[N], out[N], *device;
    hipArray_t wide, narrow;
    unsigned i;

    (void)state;
    for (i = 0; i < N; i++)
        in[i] = (unsigned char)(i + 1);
    EXPECT(hipSuccess, hipMalloc3DArray(&wide, &bytes,
                                        (hipExtent){WIDE, HEIGHT, DEPTH}, 0));
    EXPECT(hipSuccess,
           hipMalloc3DArray(&narrow, &bytes, (hipExtent){NARROW, 3, 3}, 0));
    EXPECT(hipSuccess, hipMalloc((void **)&device, N));
    EXPECT(hipSuccess, hipMemcpy(device, in, N, hipMemcpyHostToDevice));
    EXPECT(hipSuccess, hipMemcpyDtoA(wide, 0, device, N));
    EXPECT(hipSuccess, hipMemcpyAtoA(narrow, 1, wide, 2, N - 3));
    EXPECT(hipErrorInvalidValue, hipMemcpyAtoA(narrow, 2, wide, 0, N - 1));
    EXPECT(hipErrorInvalidValue, hipMemcpyAtoA(narrow, 0, wide, 2, N - 1));
    EXPECT(hipErrorInvalidHandle, hipMemcpyAtoA(narrow, 0, NULL, 0, 1));
    EXPECT(hipSuccess, hipMemset(device, 0, N));
    EXPECT(hipSuccess, hipMemcpyAtoD(device, narrow, 1, N - 3));
    EXPECT(hipSuccess, hipMemcpy(out, device, N, hipMemcpyDeviceToHost));
    assert_memory_equal(out, in + 2, N - 3);
    assert_true(out[N - 3] == 0 && out[N - 1] == 0);
    EXPECT(hipSuccess, hipFree(device));
    EXPECT(hipSuccess, hipFreeArray(wide));
    EXPECT(hipSuccess, hipFreeArray(narrow));
}

/* Boxes stay inside of an array in every direction, though rows are padded. */
static void test_boxes_stay_inside(void **state)
{
    enum { W = 5, H = 3, D = 2, LAYERED = 1 };
    const hipChannelFormatDesc ints = {32, 0, 0, 0, hipChannelFormatKindSigned};
    static const struct {
        hipPos at;
        hipExtent extent;
        hipError_t want;
    } boxes[] = {
        {{0, 0, 0}, {W, H, D}, hipSuccess},
        {{W - 1, H - 1, D - 1}, {1, 1, 1}, hipSuccess},
        {{1, 0, 0}, {W, 1, 1}, hipErrorInvalidValue},
        {{0, 1, 0}, {1, H, 1}, hipErrorInvalidValue},
        {{0, 0, 1}, {1, 1, D}, hipErrorInvalidValue},
        {{W + 1, 0, 0}, {1, 1, 1}, hipErrorInvalidValue},
        {{0, SIZE_MAX, 0}, {1, 1, 1}, hipErrorInvalidValue},
        {{0, 0, 0}, {SIZE_MAX / 2, 1, 1}, hipErrorInvalidValue},
    };
    int in[D][H][W], out[D][H][W];
    size_t i, flags;

    (void)state;
    for (i = 0; i < W * H * D; i++)
        ((int *)in)[i] = (int)i;
    for (flags = 0; flags <= LAYERED; flags++) {
        hipMemcpy3DParms p = {0};
        hipArray_t a;

        EXPECT(hipSuccess, hipMalloc3DArray(&a, &ints, (hipExtent){W, H, D},
                                            (unsigned)flags));
        for (i = 0; i < sizeof(boxes) / sizeof(boxes[0]); i++) {
            p = (hipMemcpy3DParms){
                .dstArray = a,
                .dstPos = boxes[i].at,
                .srcPtr = {in, sizeof(in[0][0]), sizeof(in[0][0]), H},
                .extent = boxes[i].extent,
                .kind = hipMemcpyHostToDevice};
            EXPECT(boxes[i].want, hipMemcpy3D(&p));
        }
        memset(out, 0, sizeof(out));
        p = (hipMemcpy3DParms){
            .srcArray = a,
            .dstPtr = {out, sizeof(out[0][0]), sizeof(out[0][0]), H},
            .extent = {W, H, D},
            .kind = hipMemcpyDeviceToHost};
        EXPECT(hipSuccess, hipMemcpy3D(&p));
        assert_int_equal(out[D - 1][H - 1][W - 1], 0); /* the second box */
        out[D - 1][H - 1][W - 1] = in[D - 1][H - 1][W - 1];
        assert_memory_equal(in, out, sizeof(in));
        EXPECT(hipSuccess, hipFreeArray(a));
    }
}

/* CDNA 3 has no images, and AMD's runtime then no arrays either. */
static void no_arrays(void)
{
    const hipChannelFormatDesc bytes = {8, 0, 0, 0,
                                        hipChannelFormatKindUnsigned};
    HIP_ARRAY3D_DESCRIPTOR d = {.Width = 4,
                                .Height = 4,
                                .Format = HIP_AD_FORMAT_FLOAT,
                                .NumChannels = 1};
    hipMipmappedArray_t mip = NULL;
    hipArray_t a = NULL;
    int images = 1, side = 1;

    EXPECT(hipSuccess,
           hipDeviceGetAttribute(&images, hipDeviceAttributeImageSupport, 0));
    EXPECT(hipSuccess, hipDeviceGetAttribute(
                           &side, hipDeviceAttributeMaxTexture2DWidth, 0));
    assert_true(images == 0 && side == 0);
    EXPECT(hipErrorNotSupported, hipMallocArray(&a, &bytes, 4, 4, 0));
    EXPECT(hipErrorNotSupported, hipArray3DCreate(&a, &d));
    EXPECT(hipErrorNotSupported,
           hipMallocMipmappedArray(&mip, &bytes, (hipExtent){4, 4, 0}, 2, 0));
    assert_true(!a && !mip);
}

static void test_no_arrays_without_images(void **state)
{
    static const char *const cdna3[] = {"KPK_SIM_DEVICES=gfx942", NULL};

    (void)state;
    in_child(cdna3, no_arrays);
}

/* ---- levels ------------------------------------------------------------- */

static void copy_level(hipArray_t level, void *host, size_t width,
                       size_t height, hipMemcpyKind kind)
{
    if (kind == hipMemcpyHostToDevice)
        EXPECT(hipSuccess, hipMemcpy2DToArray(level, 0, 0, host, width, width,
                                              height, kind));
    else
        EXPECT(hipSuccess, hipMemcpy2DFromArray(host, width, level, 0, 0, width,
                                                height, kind));
}

/* Each level keeps its own texels, and copies beyond its size are refused. */
static void levels_are_apart(void)
{
    enum { LEVELS = 5, WIDTH = 16, HEIGHT = 5 };
    const hipChannelFormatDesc bytes = {8, 0, 0, 0,
                                        hipChannelFormatKindUnsigned};
    const hipExtent extent = {WIDTH, HEIGHT, 0};
    unsigned char host[WIDTH * HEIGHT], want[WIDTH * HEIGHT];
    hipArray_t levels[LEVELS], extra;
    hipMipmappedArray_t mip;
    size_t before, after;
    unsigned i;

    EXPECT(hipSuccess, hipMemGetInfo(&before, NULL));
    EXPECT(hipErrorInvalidValue,
           hipMallocMipmappedArray(&mip, &bytes, extent, LEVELS + 1, 0));
    EXPECT(hipSuccess,
           hipMallocMipmappedArray(&mip, &bytes, extent, LEVELS, 0));
    EXPECT(hipErrorInvalidValue, hipGetMipmappedArrayLevel(NULL, mip, 0));
    EXPECT(hipErrorInvalidValue, hipGetMipmappedArrayLevel(levels, NULL, 0));
    EXPECT(hipErrorInvalidValue,
           hipGetMipmappedArrayLevel(levels, mip, LEVELS));
    for (i = 0; i < LEVELS; i++) {
        HIP_ARRAY_DESCRIPTOR d;
        size_t w = WIDTH >> i, h = (HEIGHT >> i) ? HEIGHT >> i : 1;

        EXPECT(hipSuccess, hipGetMipmappedArrayLevel(&levels[i], mip, i));
        EXPECT(hipSuccess, hipArrayGetDescriptor(&d, levels[i]));
        assert_true(d.Width == w && d.Height == h);
        memset(host, (int)i + 1, sizeof(host));
        copy_level(levels[i], host, w, h, hipMemcpyHostToDevice);
        EXPECT(hipErrorInvalidValue,
               hipMemcpy2DToArray(levels[i], 0, 1, host, w, w, h,
                                  hipMemcpyHostToDevice));
    }
    for (i = 0; i < LEVELS; i++) {
        size_t w = WIDTH >> i, h = (HEIGHT >> i) ? HEIGHT >> i : 1;

        memset(want, (int)i + 1, sizeof(want));
        copy_level(levels[i], host, w, h, hipMemcpyDeviceToHost);
        assert_memory_equal(host, want, w * h);
    }
    EXPECT(hipSuccess, hipMipmappedArrayGetLevel(&extra, mip, 1));
    EXPECT(hipSuccess, hipFreeArray(extra));
    EXPECT(hipErrorContextIsDestroyed, hipFreeArray(extra));
    EXPECT(hipSuccess, hipFreeMipmappedArray(mip));
    EXPECT(hipErrorContextIsDestroyed, hipFreeArray(levels[0])); /* gone, too */
    EXPECT(hipErrorInvalidValue, hipFreeMipmappedArray(mip));
    EXPECT(hipErrorInvalidValue, hipFreeMipmappedArray(NULL));
    EXPECT(hipSuccess, hipMemGetInfo(&after, NULL));
    assert_int_equal(before, after);
}

/* The layouts of levels differ from one generation to another. */
static void test_levels_are_apart(void **state)
{
    static const char *const targets[] = {
        "KPK_SIM_DEVICES=gfx90a", "KPK_SIM_DEVICES=gfx1030",
        "KPK_SIM_DEVICES=gfx1100", "KPK_SIM_DEVICES=gfx1201"};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
        in_child((const char *const[]){targets[i], NULL}, levels_are_apart);
}

/* Levels of slices: the driver's way, and layers, which stay as many. */
static void test_levels_of_slices_and_layers(void **state)
{
    enum { LAYERED = 1, SIDE = 4, N = SIDE * SIDE * SIDE };
    HIP_ARRAY3D_DESCRIPTOR d = {.Width = SIDE,
                                .Height = SIDE,
                                .Depth = SIDE,
                                .Format = HIP_AD_FORMAT_UNSIGNED_INT8,
                                .NumChannels = 1};
    unsigned char in[N], out[N];
    unsigned flags, level, i;

    (void)state;
    for (i = 0; i < N; i++)
        in[i] = (unsigned char)(i + 1);
    for (flags = 0; flags <= LAYERED; flags++) {
        hipMipmappedArray_t mip;

        d.Flags = flags;
        EXPECT(hipErrorInvalidValue, hipMipmappedArrayCreate(NULL, &d, 3));
        EXPECT(hipErrorInvalidValue, hipMipmappedArrayCreate(&mip, NULL, 3));
        EXPECT(hipSuccess, hipMipmappedArrayCreate(&mip, &d, 3));
        for (level = 0; level < 3; level++) {
            const size_t side = SIDE >> level;
            const size_t depth = flags ? SIDE : side;
            hipMemcpy3DParms p = {.extent = {side, side, depth},
                                  .srcPtr = {in, side, side, side},
                                  .kind = hipMemcpyHostToDevice};

            EXPECT(hipSuccess,
                   hipMipmappedArrayGetLevel(&p.dstArray, mip, level));
            EXPECT(hipSuccess, hipMemcpy3D(&p));
            p = (hipMemcpy3DParms){.extent = p.extent,
                                   .srcArray = p.dstArray,
                                   .dstPtr = {out, side, side, side},
                                   .kind = hipMemcpyDeviceToHost};
            EXPECT(hipSuccess, hipMemcpy3D(&p));
            assert_memory_equal(in, out, side * side * depth);
            p.extent.depth++;
            EXPECT(hipErrorInvalidValue, hipMemcpy3D(&p));
        }
        EXPECT(hipSuccess, hipMipmappedArrayDestroy(mip));
    }
}

/* Linux had none before; what is wrong with a call comes first. */
static void levels_are_refused_last(void)
{
    hipChannelFormatDesc desc = {32, 0, 0, 0, hipChannelFormatKindFloat};
    const hipChannelFormatDesc three = {8, 8, 8, 0,
                                        hipChannelFormatKindUnsigned};
    const hipExtent extent = {8, 8, 0};
    hipMipmappedArray_t array = (hipMipmappedArray_t)&desc;

    EXPECT(hipErrorInvalidValue,
           hipMallocMipmappedArray(NULL, &desc, extent, 2, 0));
    EXPECT(hipErrorInvalidValue,
           hipMallocMipmappedArray(&array, NULL, extent, 2, 0));
    EXPECT(hipErrorInvalidValue,
           hipMallocMipmappedArray(&array, &three, extent, 2, 0));
    EXPECT(hipErrorNotSupported,
           hipMallocMipmappedArray(&array, &desc, extent, 2, 0));
    EXPECT(hipErrorInvalidValue, hipFreeMipmappedArray(NULL));
    EXPECT(hipErrorInvalidValue, hipFreeMipmappedArray(array));
}

static void test_levels_are_refused_last_before_7(void **state)
{
    static const char *const hip6[] = {"KPK_SIM_HIP_VERSION=6", NULL};

    (void)state;
    in_child(hip6, levels_are_refused_last);
}

int main(void)
{
    const struct CMUnitTest fresh[] = {
        /* each needs a new process */
        cmocka_unit_test(test_no_arrays_without_images),
        cmocka_unit_test(test_levels_are_apart),
        cmocka_unit_test(test_levels_are_refused_last_before_7),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_limits_of_arrays),
        cmocka_unit_test(test_bytes_of_rows_of_different_lengths),
        cmocka_unit_test(test_boxes_stay_inside),
        cmocka_unit_test(test_levels_of_slices_and_layers),
    };
    int failed;

    (void)setenv("KPK_SIM_DEVICES", "gfx1100,gfx90a", 1);
    failed = cmocka_run_group_tests(fresh, NULL, NULL);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
