/* test_hip_memory.c - allocation, copies, fills, and what a pointer is */
#define _GNU_SOURCE
#include "hip_test.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

hipError_t hipPointerSetAttribute(const void *value,
                                  hipPointer_attribute attribute,
                                  hipDeviceptr_t ptr);

static void test_allocation(void **state)
{
    size_t before, during, after, total;
    char *p = (char *)1, *q;

    (void)state;
    EXPECT(hipErrorInvalidValue, hipMalloc(NULL, 4));
    EXPECT(hipSuccess, hipMalloc((void **)&p, 0));
    assert_null(p);
    EXPECT(hipErrorOutOfMemory, hipMalloc((void **)&p, (size_t)1 << 60));
    EXPECT(hipSuccess, hipMemGetInfo(&before, &total));
    EXPECT(hipSuccess, hipMalloc((void **)&p, 1000));
    EXPECT(hipSuccess, hipMemGetInfo(&during, NULL));
    assert_int_equal(before - during, 1000);
    assert_int_equal((uintptr_t)p % 256, 0);
    EXPECT(hipErrorInvalidValue, hipFree(p + 8));
    EXPECT(hipErrorInvalidValue, hipHostFree(p + 8));
    EXPECT(hipSuccess, hipFree(p));
    EXPECT(hipErrorInvalidValue, hipFree(p)); /* twice */
    EXPECT(hipSuccess, hipFree(NULL));
    EXPECT(hipSuccess, hipMemGetInfo(&after, NULL));
    assert_int_equal(before, after);
    /* All of the memory, and not a byte more. */
    EXPECT(hipSuccess, hipMalloc((void **)&p, total));
    EXPECT(hipErrorOutOfMemory, hipMalloc((void **)&q, 1));
    EXPECT(hipSuccess, hipFree(p));
}

static void test_copies_check_their_ranges(void **state)
{
    char host[64], back[64];
    char *p, *q;
    int i;

    (void)state;
    for (i = 0; i < 64; i++)
        host[i] = (char)(i * 3);
    EXPECT(hipSuccess, hipMalloc((void **)&p, 64));
    EXPECT(hipSuccess, hipMalloc((void **)&q, 64));
    EXPECT(hipSuccess, hipMemcpy(p, host, 64, hipMemcpyHostToDevice));
    EXPECT(hipSuccess, hipMemcpy(q + 1, p, 63, hipMemcpyDeviceToDevice));
    EXPECT(hipSuccess, hipMemcpy(back, q + 1, 63, hipMemcpyDeviceToHost));
    assert_memory_equal(back, host, 63);
    EXPECT(hipSuccess, hipMemcpyDtoH(back, p, 64));
    assert_memory_equal(back, host, 64);
    EXPECT(hipSuccess, hipMemcpy(back, host, 64, hipMemcpyHostToHost));
    EXPECT(hipSuccess, hipMemcpy(NULL, NULL, 0, hipMemcpyHostToDevice));
    EXPECT(hipErrorInvalidValue, hipMemcpy(NULL, p, 1, hipMemcpyDefault));
    EXPECT(hipErrorInvalidValue, hipMemcpy(p, NULL, 1, hipMemcpyDefault));
    EXPECT(hipErrorInvalidMemcpyDirection,
           hipMemcpy(p, host, 1, (hipMemcpyKind)5));
    EXPECT(hipErrorInvalidValue, hipMemcpy(p, host, 65, hipMemcpyHostToDevice));
    EXPECT(hipErrorInvalidValue,
           hipMemcpy(back, p + 1, 64, hipMemcpyDeviceToHost));
    EXPECT(hipErrorInvalidValue, /* not device memory */
           hipMemcpy(back, host, 64, hipMemcpyHostToDevice));
    EXPECT(hipSuccess, hipFree(p));
    EXPECT(hipErrorInvalidValue, /* freed */
           hipMemcpy(p, host, 64, hipMemcpyHostToDevice));
    EXPECT(hipSuccess, hipFree(q));
}

static void test_fills(void **state)
{
    uint8_t back[40];
    char *p, host;
    int i;

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&p, 40));
    EXPECT(hipSuccess, hipMemset(p, 0x1ab, 40));
    EXPECT(hipSuccess, hipMemsetD8(p + 1, 7, 3));
    EXPECT(hipSuccess, hipMemsetD16(p + 8, 0x1234, 4));
    EXPECT(hipSuccess, hipMemsetD32(p + 16, (int)0xdeadbeef, 2));
    EXPECT(hipSuccess, hipMemcpyDtoH(back, p, 40));
    for (i = 0; i < 40; i++) {
        static const uint8_t wide[4] = {0xef, 0xbe, 0xad, 0xde};
        uint8_t want = 0xab;

        if (i >= 1 && i < 4)
            want = 7;
        if (i >= 8 && i < 16)
            want = i % 2 ? 0x12 : 0x34;
        if (i >= 16 && i < 24)
            want = wide[i % 4];
        assert_int_equal(back[i], want);
    }
    EXPECT(hipSuccess, hipMemset(NULL, 0, 0));
    EXPECT(hipErrorInvalidValue, hipMemset(NULL, 0, 1));
    EXPECT(hipErrorInvalidValue, hipMemset(&host, 0, 1));
    EXPECT(hipErrorInvalidValue, hipMemset(p, 0, 41));
    EXPECT(hipErrorInvalidValue, hipMemsetD32(p, 0, 11));
    EXPECT(hipErrorInvalidValue, hipMemsetD32(p, 0, SIZE_MAX / 2));
    EXPECT(hipSuccess, hipFree(p));
}

static void test_rectangles(void **state)
{
    uint8_t host[5][7], back[5][9];
    uint8_t *p;
    size_t pitch;
    int x, y;

    (void)state;
    for (y = 0; y < 5; y++)
        for (x = 0; x < 7; x++)
            host[y][x] = (uint8_t)(16 * y + x);
    EXPECT(hipSuccess, hipMallocPitch((void **)&p, &pitch, 7, 5));
    assert_true(pitch >= 7 && pitch % 64 == 0);
    EXPECT(hipSuccess, hipMemset2D(p, pitch, 0xee, pitch, 5));
    EXPECT(hipSuccess,
           hipMemcpy2D(p, pitch, host, 7, 7, 5, hipMemcpyHostToDevice));
    EXPECT(hipSuccess,
           hipMemcpy2D(back, 9, p, pitch, 9, 5, hipMemcpyDeviceToHost));
    for (y = 0; y < 5; y++)
        for (x = 0; x < 9; x++)
            assert_int_equal(back[y][x], x < 7 ? 16 * y + x : 0xee);
    EXPECT(hipErrorInvalidPitchValue,
           hipMemcpy2D(p, 4, host, 7, 7, 5, hipMemcpyHostToDevice));
    EXPECT(hipErrorInvalidValue,
           hipMemcpy2D(p, pitch, host, 7, 7, 6, hipMemcpyHostToDevice));
    EXPECT(hipSuccess, hipFree(p));
}

/* A pitch smaller than the row is refused. */
static void test_fills_fit_their_pitch(void **state)
{
    const hipExtent extent = {8, 4, 2};
    hipPitchedPtr p;

    (void)state;
    EXPECT(hipSuccess, hipMalloc3D(&p, extent));
    EXPECT(hipSuccess, hipMemset2D(p.ptr, p.pitch, 1, 8, 4));
    EXPECT(hipErrorInvalidValue, hipMemset2D(p.ptr, 1, 1, 8, 4));
    EXPECT(hipErrorInvalidValue,
           hipMemset2DAsync(p.ptr, p.pitch, 1, p.pitch + 1, 4, NULL));
    EXPECT(hipSuccess, hipMemset2D(p.ptr, 0, 1, 0, 4)); /* nothing to do */
    EXPECT(hipSuccess, hipMemset3D(p, 1, extent));
    p.pitch = 1;
    EXPECT(hipErrorInvalidValue, hipMemset3D(p, 1, extent));
    EXPECT(hipSuccess, hipFree(p.ptr));
}

static void test_boxes_fit_their_pitch(void **state)
{
    hipMemcpy3DParms p = {.extent = {8, 2, 2}, .kind = hipMemcpyDeviceToDevice};
    char *a, *b;

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&a, 256));
    EXPECT(hipSuccess, hipMalloc((void **)&b, 256));
    p.srcPtr = (hipPitchedPtr){a, 16, 16, 4};
    p.dstPtr = (hipPitchedPtr){b, 16, 16, 4};
    EXPECT(hipSuccess, hipMemcpy3D(&p));
    p.dstPtr.pitch = 15;
    EXPECT(hipErrorInvalidPitchValue, hipMemcpy3D(&p));
    p.dstPtr.pitch = 16;
    p.dstPos.x = 9;
    EXPECT(hipErrorInvalidValue, hipMemcpy3D(&p));
    p.dstPos.x = 8;
    EXPECT(hipSuccess, hipMemcpy3D(&p));
    p.srcPtr.pitch = INT32_MAX;
    EXPECT(hipErrorInvalidValue, hipMemcpy3D(&p));
    EXPECT(hipSuccess, hipFree(a));
    EXPECT(hipSuccess, hipFree(b));
}

/* NULL is refused even if the position in the box is not 0. */
static void test_a_box_without_memory_is_refused(void **state)
{
    char plain[64] = "";
    hipMemcpy3DParms p = {.extent = {8, 2, 2}, .kind = hipMemcpyHostToHost};

    (void)state;
    p.srcPos = p.dstPos = (hipPos){1, 1, 0};
    p.srcPtr = (hipPitchedPtr){NULL, 16, 16, 2};
    p.dstPtr = (hipPitchedPtr){plain, 16, 16, 2};
    EXPECT(hipErrorInvalidValue, hipMemcpy3D(&p));
    p.srcPtr.ptr = plain;
    p.dstPtr.ptr = NULL;
    EXPECT(hipErrorInvalidValue, hipMemcpy3D(&p));
}

static void test_host_memory(void **state)
{
    hipPointerAttribute_t a;
    unsigned flags;
    char *p, *device, own[64];
    void *q;

    (void)state;
    EXPECT(hipErrorInvalidValue, hipHostMalloc(NULL, 4, 0));
    EXPECT(hipSuccess, hipHostMalloc((void **)&p, 4, 0x100)); /* unknown */
    EXPECT(hipSuccess, hipHostFree(p));
    EXPECT(hipSuccess, hipHostMalloc((void **)&p, 100, hipHostMallocMapped));
    p[99] = 5; /* the host reaches it */
    EXPECT(hipSuccess, hipHostGetDevicePointer((void **)&device, p, 0));
    assert_ptr_equal(device, p);
    EXPECT(hipSuccess, hipHostGetFlags(&flags, p));
    assert_int_equal(flags, hipHostMallocMapped);
    EXPECT(hipSuccess, hipPointerGetAttributes(&a, p + 10));
    assert_int_equal(*(int *)&a, 1); /* from 6.0 on: host */
    assert_ptr_equal(a.hostPointer, p + 10);
    EXPECT(hipErrorInvalidValue, hipFree(p + 8));
    EXPECT(hipSuccess, hipHostFree(p));
    EXPECT(hipSuccess, hipHostFree(NULL));
    EXPECT(hipErrorInvalidValue, hipHostFree(own));

    EXPECT(hipErrorInvalidValue, hipHostRegister(NULL, 4, 0));
    EXPECT(hipErrorInvalidValue, hipHostRegister(own, 0, 0));
    EXPECT(hipErrorInvalidValue, hipHostGetDevicePointer(&q, own, 0));
    EXPECT(hipSuccess, hipHostRegister(own, 64, 0));
    EXPECT(hipErrorHostMemoryAlreadyRegistered,
           hipHostRegister(own + 60, 8, 0));
    EXPECT(hipSuccess, hipHostGetDevicePointer(&q, own, 0));
    EXPECT(hipSuccess, hipHostUnregister(own));
    EXPECT(hipErrorHostMemoryNotRegistered, hipHostUnregister(own));
    EXPECT(hipSuccess, hipHostRegister(own, 64, 0)); /* once more */
    EXPECT(hipSuccess, hipHostUnregister(own));
}

/* As programs do that free registered memory and get the same block again. */
static void test_registering_again(void **state)
{
    static char own[128];
    char *p;
    void *q;

    (void)state;
    EXPECT(hipSuccess, hipHostRegister(own, 64, 0));
    EXPECT(hipSuccess, hipHostRegister(own, 64, 0));
    EXPECT(hipSuccess, hipHostRegister(own, 8, 0)); /* the first stays */
    EXPECT(hipSuccess, hipHostRegister(own + 16, 48, 0));
    EXPECT(hipErrorInvalidValue, hipHostGetDevicePointer(&q, own + 64, 0));
    EXPECT(hipSuccess, hipHostGetDevicePointer(&q, own + 63, 0));
    EXPECT(hipSuccess, hipHostRegister(own, 128, 0)); /* or the longer one */
    EXPECT(hipSuccess, hipHostGetDevicePointer(&q, own + 127, 0));
    EXPECT(hipSuccess, hipHostUnregister(own));
    EXPECT(hipErrorHostMemoryNotRegistered, hipHostUnregister(own));

    EXPECT(hipSuccess, hipHostRegister(own, 32, 0));
    EXPECT(hipSuccess, hipHostRegister(own + 64, 32, 0));
    EXPECT(hipErrorHostMemoryAlreadyRegistered, hipHostRegister(own, 128, 0));
    EXPECT(hipSuccess, hipHostGetDevicePointer(&q, own + 31, 0));
    EXPECT(hipErrorInvalidValue, hipHostGetDevicePointer(&q, own + 32, 0));
    EXPECT(hipSuccess, hipHostUnregister(own + 64));
    EXPECT(hipSuccess, hipHostUnregister(own));

    EXPECT(hipSuccess, hipHostMalloc((void **)&p, 64, 0));
    EXPECT(hipErrorHostMemoryAlreadyRegistered, hipHostRegister(p, 64, 0));
    EXPECT(hipSuccess, hipHostFree(p));
}

static void test_managed_memory(void **state)
{
    hipPointerAttribute_t a;
    int *p;

    (void)state;
    EXPECT(hipErrorInvalidValue, hipMallocManaged((void **)&p, 64, 7));
    EXPECT(hipErrorInvalidValue, hipMallocManaged((void **)&p, 0, 1));
    EXPECT(hipSuccess, hipMallocManaged((void **)&p, 64, 1));
    p[15] = 3;
    EXPECT(hipSuccess, hipPointerGetAttributes(&a, p));
    assert_int_equal(a.isManaged, 1);
    EXPECT(hipSuccess, hipMemset(p, 1, 64));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    assert_int_equal(p[15], 0x01010101);
    EXPECT(hipSuccess, hipMemPrefetchAsync(p, 64, 0, NULL));
    EXPECT(hipErrorInvalidValue, hipMemPrefetchAsync(p, 65, 0, NULL));
    EXPECT(hipSuccess, hipFree(p));
}

static void test_host_memory_that_is_not_there(void **state)
{
    const size_t n = 3 * 4096;
    char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);

    (void)state;
    assert_true(p != MAP_FAILED);
    EXPECT(hipSuccess, hipHostRegister(p, n, 0));
    EXPECT(hipSuccess, hipHostUnregister(p));
    assert_int_equal(munmap(p + 4096, 4096), 0);
    EXPECT(hipErrorInvalidValue, hipHostRegister(p, n, 0));
    EXPECT(hipSuccess, hipHostRegister(p + 8192, 4096, 0));
    EXPECT(hipSuccess, hipHostUnregister(p + 8192));
    EXPECT(hipErrorInvalidValue, hipHostAlloc((void **)&p, 4, 999));
}

/* Advice covers whole pages; a query answers where a range's pages agree. */
static void test_advice_is_kept_by_pages(void **state)
{
    enum { PAGE = 4096, READ_MOSTLY = 1, PREFERRED, ACCESSED_BY, PREFETCHED };
    enum { NO_DEVICE = -2, CPU = -1 };
    int value = 9, list[4], values[2];
    void *data[] = {&values[0], &values[1]};
    size_t sizes[] = {4, 4};
    hipMemRangeAttribute attributes[] = {(hipMemRangeAttribute)READ_MOSTLY,
                                         (hipMemRangeAttribute)PREFERRED};
    char *p, *device;

    (void)state;
#define ASK(what, at, n)                                                       \
    hipMemRangeGetAttribute(&value, sizeof(value), (hipMemRangeAttribute)what, \
                            at, n)
    EXPECT(hipSuccess, hipMallocManaged((void **)&p, 3 * PAGE, 1));
    EXPECT(hipSuccess, ASK(READ_MOSTLY, p, PAGE));
    assert_int_equal(value, 0);
    EXPECT(hipSuccess, hipMemAdvise(p, PAGE, hipMemAdviseSetReadMostly, 0));
    EXPECT(hipSuccess, ASK(READ_MOSTLY, p, PAGE));
    assert_int_equal(value, 1);
    EXPECT(hipSuccess, ASK(READ_MOSTLY, p, PAGE + 1));
    assert_int_equal(value, 0);
    EXPECT(hipSuccess, ASK(PREFERRED, p, 3 * PAGE));
    assert_int_equal(value, NO_DEVICE);
    EXPECT(
        hipSuccess, /* the page that it begins in, too */
        hipMemAdvise(p + PAGE + 8, PAGE, hipMemAdviseSetPreferredLocation, 1));
    EXPECT(hipSuccess, ASK(PREFERRED, p + PAGE, 2 * PAGE));
    assert_int_equal(value, 1);
    EXPECT(hipSuccess, ASK(PREFERRED, p, 2 * PAGE));
    assert_int_equal(value, NO_DEVICE);
    EXPECT(hipSuccess,
           hipMemRangeGetAttributes(data, sizes, attributes, 2, p, PAGE));
    assert_int_equal(values[0], 1);
    assert_int_equal(values[1], NO_DEVICE);
    EXPECT(hipSuccess, hipMemPrefetchAsync(p, 3 * PAGE, CPU, NULL));
    EXPECT(hipSuccess, hipMemPrefetchAsync(p + PAGE, PAGE, 0, NULL));
    EXPECT(hipSuccess, ASK(PREFETCHED, p + 2 * PAGE, PAGE));
    assert_int_equal(value, CPU);
    EXPECT(hipSuccess, ASK(PREFETCHED, p + PAGE, 1));
    assert_int_equal(value, 0);
    EXPECT(hipSuccess, hipMemAdvise(p, PAGE, hipMemAdviseSetAccessedBy, CPU));
    EXPECT(hipSuccess, hipMemAdvise(p, PAGE, hipMemAdviseSetAccessedBy, 1));
    EXPECT(hipSuccess,
           hipMemRangeGetAttribute(list, sizeof(list),
                                   (hipMemRangeAttribute)ACCESSED_BY, p, PAGE));
    assert_int_equal(list[0], 1);
    assert_int_equal(list[1], CPU);
    assert_int_equal(list[2], NO_DEVICE);
    EXPECT(hipSuccess, hipMemAdvise(p, PAGE, hipMemAdviseUnsetAccessedBy, CPU));
    EXPECT(hipSuccess,
           hipMemRangeGetAttribute(list, sizeof(list),
                                   (hipMemRangeAttribute)ACCESSED_BY, p, PAGE));
    assert_int_equal(list[0], 1);
    EXPECT(hipErrorInvalidValue, ASK(999, p, PAGE));
    EXPECT(hipErrorInvalidValue, ASK(READ_MOSTLY, p, 0));
    EXPECT(hipErrorInvalidValue, ASK(READ_MOSTLY, p, 3 * PAGE + 1));
    EXPECT(hipErrorInvalidValue,
           hipMemRangeGetAttribute(list, 8, (hipMemRangeAttribute)READ_MOSTLY,
                                   p, PAGE));
    EXPECT(hipErrorInvalidValue,
           hipMemRangeGetAttribute(list, 10, (hipMemRangeAttribute)ACCESSED_BY,
                                   p, PAGE));
    EXPECT(hipSuccess, hipMalloc((void **)&device, PAGE));
    EXPECT(hipErrorInvalidValue, ASK(READ_MOSTLY, device, PAGE));
    EXPECT(hipSuccess, ASK(100, device, PAGE)); /* coherency */
    assert_int_equal(value, 1);                 /* coarse grain */
    /* Mostly read is no device's matter; a location is. */
    EXPECT(hipSuccess, hipMemAdvise(p, PAGE, hipMemAdviseSetReadMostly, 99));
    EXPECT(hipSuccess, hipMemAdvise(p, PAGE, hipMemAdviseUnsetReadMostly, -12));
    EXPECT(hipErrorInvalidDevice,
           hipMemAdvise(p, PAGE, hipMemAdviseSetPreferredLocation, 99));
    EXPECT(hipErrorInvalidValue,
           hipMemAdvise(p, PAGE, (hipMemoryAdvise)77, 99));
#undef ASK
    EXPECT(hipSuccess, hipFree(device));
    EXPECT(hipSuccess, hipFree(p));
}

/* Rectangles by the driver's structure, from and to an array, too. */
static void test_copies_by_the_drivers_structure(void **state)
{
    enum { W = 8, H = 3, PITCH = 64, HOST = 1, DEVICE = 2, ARRAY = 10 };
    HIP_ARRAY_DESCRIPTOR desc = {.Width = W / 4,
                                 .Height = H,
                                 .Format = HIP_AD_FORMAT_UNSIGNED_INT32,
                                 .NumChannels = 1};
    unsigned char host[H][W], back[H][W] = {{0}}, *device;
    hip_Memcpy2D to = {.srcMemoryType = (hipMemoryType)HOST,
                       .srcHost = host,
                       .srcPitch = W,
                       .dstMemoryType = (hipMemoryType)DEVICE,
                       .dstPitch = PITCH,
                       .WidthInBytes = W,
                       .Height = H},
                 from = {.srcXInBytes = 4,
                         .srcY = 1,
                         .srcMemoryType = (hipMemoryType)DEVICE,
                         .srcPitch = PITCH,
                         .dstMemoryType = (hipMemoryType)HOST,
                         .dstHost = back,
                         .dstPitch = W,
                         .WidthInBytes = 4,
                         .Height = 2},
                 bad;
    hipArray *array;
    int x, y;

    (void)state;
    for (y = 0; y < H; y++)
        for (x = 0; x < W; x++)
            host[y][x] = (unsigned char)(16 * y + x);
    EXPECT(hipSuccess, hipMalloc((void **)&device, PITCH * H));
    to.dstDevice = from.srcDevice = device;
    EXPECT(hipSuccess, hipMemcpyParam2D(&to));
    EXPECT(hipSuccess, hipMemcpyParam2DAsync(&from, NULL));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    assert_memory_equal(back[0], host[1] + 4, 4);
    assert_memory_equal(back[1], host[2] + 4, 4);
    bad = to;
    bad.dstPitch = W - 1;
    EXPECT(hipErrorInvalidValue, hipMemcpyParam2D(&bad));
    bad = to;
    bad.dstDevice = NULL;
    EXPECT(hipErrorInvalidValue, hipMemcpyParam2D(&bad));
    EXPECT(hipErrorInvalidValue, hipMemcpyParam2D(NULL));

    EXPECT(hipSuccess, hipSetDevice(1)); /* the other has no images */
    EXPECT(hipSuccess, hipArrayCreate(&array, &desc));
    to.dstMemoryType = from.srcMemoryType = (hipMemoryType)ARRAY;
    to.dstArray = from.srcArray = array;
    memset(back, 0, sizeof(back));
    EXPECT(hipSuccess, hipDrvMemcpy2DUnaligned(&to));
    EXPECT(hipSuccess, hipMemcpyParam2D(&from));
    assert_memory_equal(back[0], host[1] + 4, 4);
    from.srcXInBytes = 2; /* no whole element */
    EXPECT(hipErrorInvalidValue, hipMemcpyParam2D(&from));
    EXPECT(hipSuccess, hipArrayDestroy(array));
    EXPECT(hipSuccess, hipSetDevice(0));
    EXPECT(hipSuccess, hipFree(device));
}

static void test_what_a_pointer_is(void **state)
{
    hipPointerAttribute_t a;
    hipDeviceptr_t base;
    size_t size;
    char *p, here;

    (void)state;
    EXPECT(hipSuccess, hipSetDevice(1));
    EXPECT(hipSuccess, hipMalloc((void **)&p, 100));
    EXPECT(hipSuccess, hipPointerGetAttributes(&a, p + 99));
    assert_int_equal(*(int *)&a, 2); /* from 6.0 on: device */
    assert_int_equal(a.device, 1);
    assert_ptr_equal(a.devicePointer, p + 99);
    assert_null(a.hostPointer);
    EXPECT(hipSuccess, hipPointerGetAttributes(&a, &here));
    assert_int_equal(*(int *)&a, 0); /* unregistered */
    EXPECT(hipSuccess, hipMemGetAddressRange(&base, &size, p + 50));
    assert_ptr_equal(base, p);
    assert_int_equal(size, 100);
    EXPECT(hipErrorNotFound, hipMemGetAddressRange(&base, &size, p + 100));
    EXPECT(hipErrorInvalidValue, hipPointerGetAttributes(NULL, p));
    EXPECT(hipSuccess, hipFree(p));
    EXPECT(hipSuccess, hipSetDevice(0));
}

enum { RANGE_START = 11, RANGE_SIZE = 12, NO_SUCH_ATTRIBUTE = 99 };

static void ranges_of_6(void)
{
    uint32_t size[2] = {0, 77};
    hipDeviceptr_t base;
    size_t range;
    char *p;

    EXPECT(hipSuccess, hipMalloc((void **)&p, 100));
    EXPECT(hipSuccess,
           hipPointerGetAttribute(size, (hipPointer_attribute)RANGE_SIZE, p));
    assert_int_equal(size[0], 100);
    assert_int_equal(size[1], 77); /* four bytes, no more */
    EXPECT(hipErrorNotFound, hipMemGetAddressRange(&base, &range, NULL));
    EXPECT(hipErrorNotFound, hipMemGetAddressRange(&base, &range, p + 100));
    EXPECT(hipSuccess, hipFree(p));
}

static void test_pointer_attributes_by_list(void **state)
{
    static const char *const six[] = {"KPK_SIM_HIP_VERSION=6", NULL};
    hipPointer_attribute which[] = {(hipPointer_attribute)RANGE_SIZE,
                                    (hipPointer_attribute)NO_SUCH_ATTRIBUTE,
                                    (hipPointer_attribute)RANGE_START};
    uint64_t size = 1, nothing = 1, start = 1;
    void *data[] = {&size, &nothing, &start};
    const hipPointer_attribute sync = (hipPointer_attribute)6;
    unsigned yes = 1;
    bool set = true;
    char *p, here;

    (void)state;
    in_child(six, ranges_of_6);
    EXPECT(hipSuccess, hipMalloc((void **)&p, 100));
    EXPECT(hipSuccess, hipDrvPointerGetAttributes(3, which, data, p));
    assert_int_equal(size, 100);
    assert_int_equal(nothing, 1); /* unknown: left alone */
    assert_int_equal(start, (uintptr_t)p);
    EXPECT(hipSuccess, hipDrvPointerGetAttributes(3, which, data, &here));
    assert_int_equal(size, 0);
    assert_int_equal(start, 0);
    EXPECT(hipSuccess, hipPointerGetAttribute(&set, sync, p));
    assert_false(set);
    EXPECT(hipSuccess, hipPointerSetAttribute(&yes, sync, p));
    EXPECT(hipSuccess, hipPointerGetAttribute(&set, sync, p + 9));
    assert_true(set);
    EXPECT(hipErrorInvalidDevicePointer,
           hipPointerSetAttribute(&yes, sync, &here));
    yes = 2;
    EXPECT(hipErrorInvalidValue, hipPointerSetAttribute(&yes, sync, p));
    EXPECT(hipErrorInvalidValue,
           hipDrvPointerGetAttributes(3, which, data, NULL));
    EXPECT(hipSuccess, hipFree(p));
}

/* AMD's runtime knows these by name, and has nothing to say. */
static void test_pointer_attributes_that_are_not_there(void **state)
{
    static const int unsupported[] = {1, 5, 10, 14, 15, 17};
    char *p;
    uint64_t data = 77;
    size_t i;

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&p, 100));
    for (i = 0; i < sizeof(unsupported) / sizeof(unsupported[0]); i++)
        EXPECT(hipErrorNotSupported,
               hipPointerGetAttribute(&data,
                                      (hipPointer_attribute)unsupported[i], p));
    assert_int_equal(data, 77);
    EXPECT(hipErrorInvalidValue,
           hipPointerGetAttribute(&data, (hipPointer_attribute)-1, p));
    EXPECT(hipErrorInvalidValue,
           hipPointerGetAttribute(&data, (hipPointer_attribute)18, p));
    EXPECT(hipSuccess, hipFree(p));
}

static void test_signal_memory_is_the_hosts_too(void **state)
{
    uint64_t *signal;

    (void)state;
    EXPECT(hipErrorInvalidValue,
           hipExtMallocWithFlags((void **)&signal, 16, hipMallocSignalMemory));
    EXPECT(hipSuccess,
           hipExtMallocWithFlags((void **)&signal, 8, hipMallocSignalMemory));
    *signal = 6;
    EXPECT(hipSuccess, hipStreamWriteValue64(NULL, signal, 7, 0));
    EXPECT(hipSuccess, hipStreamSynchronize(NULL));
    assert_int_equal(*signal, 7);
    EXPECT(hipSuccess, hipFree(signal));
}

static void test_copy_without_compute_units(void **state)
{
    char *a, *b, back = 0;

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&a, 64));
    EXPECT(hipSuccess, hipMalloc((void **)&b, 64));
    EXPECT(hipSuccess, hipMemset(a, 9, 64));
    EXPECT(hipSuccess, hipMemcpy(b, a, 64, (hipMemcpyKind)1024));
    EXPECT(hipSuccess, hipMemcpy(&back, b + 63, 1, hipMemcpyDeviceToHost));
    assert_int_equal(back, 9);
    EXPECT(hipErrorInvalidMemcpyDirection,
           hipMemcpy(b, a, 64, (hipMemcpyKind)1023));
    EXPECT(hipSuccess, hipFree(a));
    EXPECT(hipSuccess, hipFree(b));
}

static void test_either_free_takes_either_memory(void **state)
{
    char *pinned, *device, own[64];

    (void)state;
    EXPECT(hipSuccess, hipHostMalloc((void **)&pinned, 64, 0));
    EXPECT(hipSuccess, hipMalloc((void **)&device, 64));
    EXPECT(hipSuccess, hipHostRegister(own, sizeof(own), 0));
    EXPECT(hipSuccess, hipFree(pinned));
    EXPECT(hipErrorInvalidValue, hipFree(pinned));
    EXPECT(hipSuccess, hipHostFree(device));
    EXPECT(hipErrorInvalidValue, hipFree(own));
    EXPECT(hipErrorInvalidValue, hipHostFree(own));
    EXPECT(hipSuccess, hipHostUnregister(own));
}

static void test_prefetch_checks_in_order(void **state)
{
    char *p, here[8];

    (void)state;
    EXPECT(hipSuccess, hipMallocManaged((void **)&p, 64, 1));
    EXPECT(hipErrorInvalidValue, hipMemPrefetchAsync(NULL, 64, 9, NULL));
    EXPECT(hipErrorInvalidValue, hipMemPrefetchAsync(p, 65, 9, NULL));
    EXPECT(hipErrorInvalidDevice, hipMemPrefetchAsync(p, 64, 9, NULL));
    EXPECT(hipErrorNotSupported, hipMemPrefetchAsync(here, 8, 0, NULL));
    EXPECT(hipErrorContextIsDestroyed,
           hipMemPrefetchAsync(p, 65, 9, (hipStream_t)(void *)here));
    EXPECT(hipSuccess, hipFree(p));
}

static void pointer_types_of_5(void)
{
    hipPointerAttribute_t a;
    char *p, here;

    EXPECT(hipSuccess, hipMalloc((void **)&p, 100));
    EXPECT(hipSuccess, hipPointerGetAttributes(&a, p));
    assert_int_equal(a.memoryType, hipMemoryTypeDevice);
    EXPECT(hipErrorInvalidValue, hipPointerGetAttributes(&a, &here));
    EXPECT(hipSuccess, hipFree(p));
}

static void test_pointer_types_of_5(void **state)
{
    static const char *const five[] = {"KPK_SIM_HIP_VERSION=5", NULL};

    (void)state;
    in_child(five, pointer_types_of_5);
}

/* Device memory is out of the host's reach, as it is beside a real GPU. */
static void test_host_access_to_device_memory_faults(void **state)
{
    volatile char *p;
    int status;
    pid_t pid;

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&p, 64));
    pid = fork();
    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL);
        p[0] = 1;
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
    EXPECT(hipSuccess, hipFree((void *)(uintptr_t)p));
}

static void test_stream_ordered_allocation(void **state)
{
    hipMemPool_t pool;
    hipStream_t stream;
    char *p;

    (void)state;
    EXPECT(hipSuccess, hipStreamCreate(&stream));
    EXPECT(hipSuccess, hipMallocAsync((void **)&p, 64, stream));
    EXPECT(hipSuccess, hipMemsetAsync(p, 1, 64, stream));
    EXPECT(hipSuccess, hipFreeAsync(p, stream));
    EXPECT(hipSuccess, hipStreamSynchronize(stream));
    EXPECT(hipErrorInvalidValue, hipFree(p));
    EXPECT(hipErrorInvalidValue, hipFreeAsync(p, stream));
    EXPECT(hipSuccess, hipDeviceGetDefaultMemPool(&pool, 0));
    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&p, 64, pool, stream));
    EXPECT(hipSuccess, hipFreeAsync(p, stream));
    EXPECT(hipErrorInvalidValue, hipMemPoolDestroy(pool));
    EXPECT(hipSuccess, hipStreamDestroy(stream));
}

static void test_copies_between_devices(void **state)
{
    char *a, *b, host[16] = "between devices", back[16];

    (void)state;
    EXPECT(hipSuccess, hipMalloc((void **)&a, 16));
    EXPECT(hipSuccess, hipSetDevice(1));
    EXPECT(hipSuccess, hipMalloc((void **)&b, 16));
    EXPECT(hipSuccess, hipMemcpy(a, host, 16, hipMemcpyHostToDevice));
    EXPECT(hipSuccess, hipMemcpyPeer(b, 1, a, 0, 16));
    EXPECT(hipErrorInvalidDevice, hipMemcpyPeer(b, 2, a, 0, 16));
    EXPECT(hipSuccess, hipMemcpy(back, b, 16, hipMemcpyDefault));
    assert_string_equal(back, host);
    EXPECT(hipSuccess, hipFree(b));
    EXPECT(hipSuccess, hipSetDevice(0));
    EXPECT(hipSuccess, hipFree(a));
}

/* A blocking copy from another device's memory waits for the streams of that
 * device, whether or not anything used its default stream before. */
static void copy_from_a_busy_device(void)
{
    unsigned *p, got[64] = {0}, want[64], turns = 3000000, i, k;
    void *params[] = {&turns, &p};
    hipStream_t stream;
    hipFunction_t spin;
    hipModule_t own;
    size_t n;
    void *code = read_api("gfx1100", &n);

    EXPECT(hipSuccess, hipSetDevice(1));
    EXPECT(hipSuccess, hipModuleLoadData(&own, code));
    EXPECT(hipSuccess, hipModuleGetFunction(&spin, own, "spin"));
    EXPECT(hipSuccess, hipMalloc((void **)&p, sizeof(got)));
    EXPECT(hipSuccess, hipStreamCreate(&stream));
    EXPECT(hipSuccess, hipModuleLaunchKernel(spin, 1, 1, 1, 64, 1, 1, 0, stream,
                                             params, NULL));
    EXPECT(hipSuccess, hipSetDevice(0));
    EXPECT(hipSuccess, hipMemcpy(got, p, sizeof(got), hipMemcpyDeviceToHost));
    for (i = 0; i < 64; i++) {
        for (want[i] = i, k = 0; k < turns; k++)
            want[i] = want[i] * 1664525u + 1013904223u;
        assert_int_equal(got[i], want[i]);
    }
    free(code);
}

static void test_copy_waits_for_the_other_device(void **state)
{
    static const char *const as_it_is[] = {NULL};

    (void)state;
    in_child(as_it_is, copy_from_a_busy_device);
}

static void test_reset_frees_the_devices_memory(void **state)
{
    size_t before, after;
    void *p, *q;

    (void)state;
    /* frees of earlier tests may still be under way on streams */
    EXPECT(hipSuccess, hipDeviceReset());
    EXPECT(hipSuccess, hipMemGetInfo(&before, NULL));
    EXPECT(hipSuccess, hipMalloc(&p, 1 << 20));
    EXPECT(hipSuccess, hipHostMalloc(&q, 1 << 20, 0));
    EXPECT(hipSuccess, hipDeviceReset());
    EXPECT(hipSuccess, hipMemGetInfo(&after, NULL));
    assert_int_equal(before, after);
    EXPECT(hipErrorInvalidValue, hipFree(p));
    EXPECT(hipErrorInvalidValue, hipHostFree(q));
}

/* Many lives: the quarantine turns over, the space is used again. */
static void test_many_allocations(void **state)
{
    static void *p[3000];
    char host[100], back[100];
    int round, i;

    (void)state;
    for (round = 0; round < 3; round++) {
        for (i = 0; i < 3000; i++)
            EXPECT(hipSuccess, hipMalloc(&p[i], (size_t)(100 + i)));
        memset(host, round + 1, 100);
        EXPECT(hipSuccess, hipMemcpy(p[1], host, 100, hipMemcpyHostToDevice));
        EXPECT(hipSuccess, hipMemcpy(back, p[1], 100, hipMemcpyDeviceToHost));
        assert_memory_equal(host, back, 100);
        for (i = 0; i < 3000; i++)
            EXPECT(hipSuccess, hipFree(p[(i * 7) % 3000]));
    }
}

int main(void)
{
    const struct CMUnitTest fresh[] = {
        /* each needs a new process */
        cmocka_unit_test(test_copy_waits_for_the_other_device),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pointer_types_of_5),
        cmocka_unit_test(test_pointer_attributes_by_list),
        cmocka_unit_test(test_pointer_attributes_that_are_not_there),
        cmocka_unit_test(test_allocation),
        cmocka_unit_test(test_copies_check_their_ranges),
        cmocka_unit_test(test_fills),
        cmocka_unit_test(test_rectangles),
        cmocka_unit_test(test_fills_fit_their_pitch),
        cmocka_unit_test(test_boxes_fit_their_pitch),
        cmocka_unit_test(test_a_box_without_memory_is_refused),
        cmocka_unit_test(test_host_memory),
        cmocka_unit_test(test_registering_again),
        cmocka_unit_test(test_managed_memory),
        cmocka_unit_test(test_host_memory_that_is_not_there),
        cmocka_unit_test(test_advice_is_kept_by_pages),
        cmocka_unit_test(test_copies_by_the_drivers_structure),
        cmocka_unit_test(test_what_a_pointer_is),
        cmocka_unit_test(test_signal_memory_is_the_hosts_too),
        cmocka_unit_test(test_copy_without_compute_units),
        cmocka_unit_test(test_either_free_takes_either_memory),
        cmocka_unit_test(test_prefetch_checks_in_order),
        cmocka_unit_test(test_host_access_to_device_memory_faults),
        cmocka_unit_test(test_stream_ordered_allocation),
        cmocka_unit_test(test_copies_between_devices),
        cmocka_unit_test(test_reset_frees_the_devices_memory),
        cmocka_unit_test(test_many_allocations),
    };

    int failed;

    (void)setenv("KPK_SIM_DEVICES", "gfx942,gfx1100", 1);
    failed = cmocka_run_group_tests(fresh, NULL, NULL);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
