/* test_hip_device.c - devices, properties in both layouts, errors by release */
#define _GNU_SOURCE
#include "hip_test.h"

#include <hip/amd_detail/hip_prof_str.h>

#include <dlfcn.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

hipError_t hipExtSetLoggingParams(size_t level, size_t size, size_t mask);
hipError_t hipExtEnableLogging(void);
hipError_t hipExtDisableLogging(void);
hipError_t hipGetProcAddress_spt(const char *symbol, void **pfn,
                                 int hip_version, uint64_t flags, int *status);

enum { R0000_NBYTES = 792, R0600_NBYTES = 1472, MAX_LIST = 8 };

/* ---- the layouts -------------------------------------------------------- */

/* Debian's 5.2.3 header has the layout that the plain name must fill. */
static void test_r0000_layout_is_the_header_of_5_2_3(void **state)
{
    hipDeviceProp_t p;

    (void)state;
    assert_int_equal(sizeof(p), R0000_NBYTES);
    memset(&p, 0xff, sizeof(p));
    EXPECT(hipSuccess, hipGetDeviceProperties(&p, 0));
    assert_string_equal(p.gcnArchName, "gfx942:sramecc+:xnack-");
    assert_non_null(strstr(p.name, "MI300X"));
    assert_int_equal(p.warpSize, 64);
    assert_int_equal(p.major, 9);
    assert_int_equal(p.minor, 4);
    assert_int_equal(p.sharedMemPerBlock, 65536);
    assert_int_equal(p.maxThreadsPerBlock, 1024);
    assert_int_equal(p.maxThreadsDim[2], 1024);
    assert_int_equal(p.maxGridSize[0], 2147483647);
    assert_int_equal(p.multiProcessorCount, 304);
    assert_int_equal(p.gcnArch, 942);
    assert_int_equal(p.canMapHostMemory, 1);
    assert_int_equal(p.cooperativeLaunch, 1);
    assert_int_equal(p.ECCEnabled, 0); /* an OpenCL field: HIP never sets it */
    assert_int_equal(p.arch.hasDoubles, 1);
    assert_int_equal(p.arch.hasSurfaceFuncs, 0);
    assert_true(p.totalGlobalMem >= (size_t)1 << 30);
}

static uint64_t at(const uint8_t *p, size_t offset, size_t n)
{
    uint64_t v = 0;

    memcpy(&v, p + offset, n);
    return v;
}

/* Offsets of hipDeviceProp_tR0600, from HIP 6's header. */
static void test_r0600_layout(void **state)
{
    uint8_t p[R0600_NBYTES + 16];

    (void)state;
    memset(p, 0xa5, sizeof(p));
    EXPECT(hipSuccess, hipGetDevicePropertiesR0600(p, 1));
    assert_non_null(strstr((char *)p, "7900"));
    assert_string_equal((char *)p + 1160, "gfx1100");
    assert_int_equal(at(p, 308, 4), 32);     /* warpSize */
    assert_int_equal(at(p, 360, 4), 11);     /* major */
    assert_int_equal(at(p, 296, 8), 65536);  /* sharedMemPerBlock */
    assert_int_equal(at(p, 320, 4), 1024);   /* maxThreadsPerBlock */
    assert_int_equal(at(p, 340, 4), 65536);  /* maxGridSize[1] */
    assert_int_equal(at(p, 388, 4), 48);     /* WGPs */
    assert_int_equal(p[R0600_NBYTES], 0xa5); /* nothing past the end */
}

static void test_r0000_does_not_write_past_its_792_bytes(void **state)
{
    uint8_t p[R0000_NBYTES + 16];

    (void)state;
    memset(p, 0xa5, sizeof(p));
    EXPECT(hipSuccess, hipGetDevicePropertiesR0000(p, 0));
    assert_int_equal(p[R0000_NBYTES], 0xa5);
}

static void test_property_errors(void **state)
{
    uint8_t p[R0600_NBYTES];

    (void)state;
    EXPECT(hipErrorInvalidValue, hipGetDeviceProperties(NULL, 0));
    EXPECT(hipErrorInvalidDevice,
           hipGetDeviceProperties((hipDeviceProp_t *)(void *)p, 2));
    EXPECT(hipErrorInvalidDevice, hipGetDevicePropertiesR0600(p, -1));
    EXPECT(hipErrorInvalidValue, hipGetDevicePropertiesR0600(NULL, 0));
}

static void test_attributes_by_number(void **state)
{
    static const struct {
        int attribute, device, value;
    } rows[] = {
        {hipDeviceAttributeWarpSize, 0, 64},
        {hipDeviceAttributeWarpSize, 1, 32},
        {hipDeviceAttributeMaxThreadsPerBlock, 0, 1024},
        {hipDeviceAttributeMultiprocessorCount, 0, 304},
        {hipDeviceAttributeMaxSharedMemoryPerBlock, 1, 65536},
        {hipDeviceAttributeComputeCapabilityMajor, 1, 11},
        {hipDeviceAttributeComputeCapabilityMinor, 0, 4},
        {hipDeviceAttributeMaxBlockDimX, 0, 1024},
        {hipDeviceAttributeMaxGridDimX, 0, 2147483647},
        {hipDeviceAttributeMaxGridDimY, 0, 65536},
        {hipDeviceAttributeManagedMemory, 0, 1},
        {hipDeviceAttributeCooperativeLaunch, 0, 1},
        {hipDeviceAttributeEccEnabled, 1, 0},
        {hipDeviceAttributeMaxSharedMemoryPerMultiprocessor, 0, 65536},
        {hipDeviceAttributePciBusId, 1, 2},
    };
    int value;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        value = -1;
        EXPECT(hipSuccess, hipDeviceGetAttribute(
                               &value, (hipDeviceAttribute_t)rows[i].attribute,
                               rows[i].device));
        assert_int_equal(value, rows[i].value);
    }
    EXPECT(hipErrorInvalidValue,
           hipDeviceGetAttribute(NULL, hipDeviceAttributeWarpSize, 0));
    EXPECT(hipErrorInvalidDevice,
           hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 9));
    EXPECT(hipErrorInvalidValue,
           hipDeviceGetAttribute(&value, (hipDeviceAttribute_t)777, 0));
}

static void test_choose_device(void **state)
{
    hipDeviceProp_t wish;
    int device = -1;

    (void)state;
    memset(&wish, 0, sizeof(wish));
    wish.warpSize = 32;
    EXPECT(hipSuccess, hipChooseDevice(&device, &wish));
    assert_int_equal(device, 1);
    wish.warpSize = 64;
    EXPECT(hipSuccess, hipChooseDevice(&device, &wish));
    assert_int_equal(device, 0);
    EXPECT(hipErrorInvalidValue, hipChooseDevice(NULL, &wish));
}

/* ---- devices ------------------------------------------------------------ */

static void test_device_calls(void **state)
{
    char text[64];
    int n = -1, minor;
    size_t bytes;

    (void)state;
    EXPECT(hipSuccess, hipInit(0));
    EXPECT(hipErrorInvalidValue, hipInit(1));
    EXPECT(hipSuccess, hipGetDeviceCount(&n));
    assert_int_equal(n, 2);
    EXPECT(hipErrorInvalidValue, hipGetDeviceCount(NULL));
    EXPECT(hipErrorInvalidDevice, hipSetDevice(2));
    EXPECT(hipErrorInvalidDevice, hipSetDevice(-1));
    EXPECT(hipSuccess, hipSetDevice(1));
    EXPECT(hipSuccess, hipGetDevice(&n));
    assert_int_equal(n, 1);
    EXPECT(hipSuccess, hipSetDevice(0));
    EXPECT(hipErrorInvalidValue, hipGetDevice(NULL));
    EXPECT(hipErrorInvalidDevice, hipDeviceGet(&n, 5));
    EXPECT(hipErrorInvalidDevice, hipDeviceGetName(text, 64, 7));
    EXPECT(hipErrorInvalidValue, hipDeviceGetName(NULL, 64, 0));
    EXPECT(hipErrorInvalidValue, hipDeviceGetName(text, 0, 0));
    EXPECT(hipSuccess, hipDeviceGetName(text, 4, 0));
    assert_string_equal(text, "AMD"); /* truncated, terminated */
    EXPECT(hipSuccess, hipDeviceComputeCapability(&n, &minor, 1));
    assert_int_equal(n, 11);
    EXPECT(hipSuccess, hipDeviceTotalMem(&bytes, 0));
    EXPECT(hipErrorInvalidValue, hipDeviceGetPCIBusId(text, 0, 1));
    EXPECT(hipErrorInvalidValue, hipDeviceGetPCIBusId(text, 6, 1));
    assert_string_equal(text, "0000:");
    EXPECT(hipSuccess, hipDeviceGetPCIBusId(text, 64, 1));
    EXPECT(hipSuccess, hipDeviceGetByPCIBusId(&n, text));
    assert_int_equal(n, 1);
    /* The address of an HDP register, which the simulated GPU lacks. */
    EXPECT(hipSuccess,
           hipDeviceGetAttribute(&n, (hipDeviceAttribute_t)10006, 0));
    assert_int_equal(n, 0);
    EXPECT(hipSuccess, hipDeviceSetCacheConfig((hipFuncCache_t)-1));
    EXPECT(hipSuccess, hipDeviceCanAccessPeer(&n, 0, 1));
    assert_int_equal(n, 1);
    EXPECT(hipSuccess, hipDeviceEnablePeerAccess(1, 0));
    EXPECT(hipErrorPeerAccessAlreadyEnabled, hipDeviceEnablePeerAccess(1, 0));
    EXPECT(hipSuccess, hipDeviceDisablePeerAccess(1));
    EXPECT(hipErrorPeerAccessNotEnabled, hipDeviceDisablePeerAccess(1));
}

static void test_contexts_stand_for_devices(void **state)
{
    hipCtx_t first, second, now;
    int device = -1;

    (void)state;
    EXPECT(hipSuccess, hipDevicePrimaryCtxRetain(&first, 0));
    EXPECT(hipSuccess, hipCtxCreate(&second, 0, 1));
    EXPECT(hipSuccess, hipCtxGetDevice(&device));
    assert_int_equal(device, 1);
    EXPECT(hipSuccess, hipCtxPushCurrent(first));
    EXPECT(hipSuccess, hipGetDevice(&device));
    assert_int_equal(device, 0);
    EXPECT(hipSuccess, hipCtxPopCurrent(&now));
    assert_ptr_equal(now, first);
    EXPECT(hipSuccess, hipCtxDestroy(second));
    EXPECT(hipSuccess, hipGetDevice(&device));
    assert_int_equal(device, 0);
    EXPECT(hipErrorInvalidContext, hipCtxPopCurrent(&now));
}

static void test_small_answers_about_devices(void **state)
{
    uint32_t type, hops;
    unsigned flags;
    size_t value;

    (void)state;
    EXPECT(hipSuccess, hipSetDeviceFlags(hipDeviceScheduleSpin | 8));
    EXPECT(hipSuccess, hipGetDeviceFlags(&flags));
    assert_int_equal(flags, hipDeviceScheduleSpin);
    EXPECT(hipSuccess, hipSetDeviceFlags(0));
    EXPECT(hipSuccess, hipDeviceSetLimit(hipLimitMallocHeapSize, 8 << 20));
    EXPECT(hipSuccess, hipDeviceGetLimit(&value, hipLimitMallocHeapSize));
    assert_int_equal(value, 8 << 20);
    EXPECT(hipErrorInvalidValue, hipDeviceSetLimit((enum hipLimit_t)7, 1));
    EXPECT(hipErrorInvalidValue, hipDeviceGetLimit(&value, (enum hipLimit_t)7));
    EXPECT(hipErrorUnsupportedLimit, hipDeviceSetLimit((enum hipLimit_t)1, 1));
    EXPECT(hipErrorInvalidValue, /* stack */
           hipDeviceSetLimit((enum hipLimit_t)0, 1 << 20));
    EXPECT(hipErrorInvalidValue,
           hipExtGetLinkTypeAndHopCount(0, 0, &type, &hops));
    EXPECT(hipErrorInvalidValue,
           hipExtGetLinkTypeAndHopCount(-1, 0, &type, &hops));
    EXPECT(hipErrorInvalidDevice,
           hipExtGetLinkTypeAndHopCount(0, 2, &type, &hops));
    EXPECT(hipSuccess, hipExtGetLinkTypeAndHopCount(0, 1, &type, &hops));
}

/* ---- errors ------------------------------------------------------------- */

static void test_error_names(void **state)
{
    const char *name;

    (void)state;
    assert_string_equal(hipGetErrorName(hipSuccess), "hipSuccess");
    assert_string_equal(hipGetErrorName((hipError_t)2), "hipErrorOutOfMemory");
    assert_string_equal(hipGetErrorName((hipError_t)3),
                        "hipErrorNotInitialized");
    assert_string_equal(hipGetErrorName((hipError_t)400),
                        "hipErrorInvalidHandle");
    assert_string_equal(hipGetErrorName((hipError_t)209),
                        "hipErrorNoBinaryForGpu");
    assert_string_equal(hipGetErrorName((hipError_t)4711), "hipErrorUnknown");
    assert_string_equal(hipGetErrorString((hipError_t)4711), "unknown error");
    /* Phrases, as AMD's runtime has them. */
    assert_string_equal(hipGetErrorString((hipError_t)52),
                        "__global__ function call is not configured");
    assert_string_equal(hipGetErrorString((hipError_t)712),
                        "part or all of the requested memory range is already "
                        "mapped");
    assert_string_equal(hipGetErrorString((hipError_t)906),
                        "operation would make the legacy stream depend on a "
                        "capturing blocking stream");
    EXPECT(hipSuccess, hipDrvGetErrorName((hipError_t)700, &name));
    assert_string_equal(name, "hipErrorIllegalAddress");
}

/* Numbers that the headers of all releases agree on, against Debian's. */
static void test_error_numbers_are_those_of_the_header(void **state)
{
#define ROW(name)                                                              \
    {                                                                          \
        name, #name                                                            \
    }
    static const struct {
        int number;
        const char *name;
    } rows[] = {
        ROW(hipErrorInvalidValue),
        ROW(hipErrorInvalidConfiguration),
        ROW(hipErrorInvalidPitchValue),
        ROW(hipErrorInvalidSymbol),
        ROW(hipErrorInvalidDevicePointer),
        ROW(hipErrorInvalidMemcpyDirection),
        ROW(hipErrorInvalidDeviceFunction),
        ROW(hipErrorNoDevice),
        ROW(hipErrorInvalidDevice),
        ROW(hipErrorInvalidImage),
        ROW(hipErrorInvalidContext),
        ROW(hipErrorNoBinaryForGpu),
        ROW(hipErrorInvalidKernelFile),
        ROW(hipErrorFileNotFound),
        ROW(hipErrorSharedObjectInitFailed),
        ROW(hipErrorInvalidHandle),
        ROW(hipErrorNotFound),
        ROW(hipErrorNotReady),
        ROW(hipErrorIllegalAddress),
        ROW(hipErrorLaunchOutOfResources),
        ROW(hipErrorLaunchTimeOut),
        ROW(hipErrorContextIsDestroyed),
        ROW(hipErrorAssert),
        ROW(hipErrorLaunchFailure),
        ROW(hipErrorHostMemoryAlreadyRegistered),
        ROW(hipErrorHostMemoryNotRegistered),
        ROW(hipErrorCooperativeLaunchTooLarge),
        ROW(hipErrorNotSupported),
        ROW(hipErrorUnknown),
        ROW(hipErrorRuntimeOther),
    };
#undef ROW
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_string_equal(hipGetErrorName((hipError_t)rows[i].number),
                            rows[i].name);
}

static void last_error_of_7(void)
{
    int n;

    EXPECT(hipErrorInvalidDevice, hipSetDevice(99));
    EXPECT(hipSuccess, hipGetDevice(&n)); /* does not hide the error */
    EXPECT(hipErrorInvalidDevice, hipPeekAtLastError());
    EXPECT(hipErrorInvalidDevice, hipGetLastError());
    EXPECT(hipSuccess, hipGetLastError());
}

static void last_error_of_6(void)
{
    int n;

    EXPECT(hipErrorInvalidDevice, hipSetDevice(99));
    EXPECT(hipSuccess, hipGetDevice(&n));
    EXPECT(hipSuccess, hipGetLastError()); /* the last call succeeded */
    EXPECT(hipErrorInvalidDevice, hipSetDevice(99));
    EXPECT(hipErrorInvalidDevice, hipGetLastError());
    EXPECT(hipSuccess, hipGetLastError());
    /* hipExtGetLastError() remembers. */
    EXPECT(hipErrorInvalidDevice, hipExtGetLastError());
    EXPECT(hipSuccess, hipExtGetLastError());
}

static void test_last_error_by_release(void **state)
{
    static const char *const seven[] = {"KPK_SIM_HIP_VERSION=7", NULL};
    static const char *const six[] = {"KPK_SIM_HIP_VERSION=6", NULL};

    (void)state;
    in_child(seven, last_error_of_7);
    in_child(six, last_error_of_6);
}

/* ---- the environment ---------------------------------------------------- */

static void no_device(void)
{
    hipDeviceProp_t p;
    int n = 5;
    void *ptr;

    EXPECT(hipErrorNoDevice, hipInit(0));
    EXPECT(hipErrorNoDevice, hipGetDeviceCount(&n));
    assert_int_equal(n, 0);
    EXPECT(hipErrorNoDevice, hipSetDevice(0));
    EXPECT(hipErrorNoDevice, hipGetDeviceProperties(&p, 0));
    EXPECT(hipErrorNoDevice, hipMalloc(&ptr, 4));
    assert_string_equal(hipGetErrorName(hipErrorNoDevice), "hipErrorNoDevice");
}

static void test_no_device(void **state)
{
    static const char *const none[] = {"KPK_SIM_DEVICES=none", NULL};
    static const char *const bad[] = {"KPK_SIM_DEVICES=gfx9999", NULL};
    static const char *const feature[] = {"KPK_SIM_DEVICES=gfx1100:xnack+",
                                          NULL};
    static const char *const hidden[] = {"HIP_VISIBLE_DEVICES=-1", NULL};

    (void)state;
    in_child(none, no_device);
    in_child(bad, no_device);
    in_child(feature, no_device);
    in_child(hidden, no_device);
}

static void one_visible(void)
{
    hipDeviceProp_t p;
    int n = 0;

    EXPECT(hipSuccess, hipGetDeviceCount(&n));
    assert_int_equal(n, 1);
    EXPECT(hipSuccess, hipGetDeviceProperties(&p, 0));
    assert_string_equal(p.gcnArchName, "gfx1100");
}

static const char *wanted_buses;

static void buses(void)
{
    char got[MAX_LIST + 1] = "", bus[32];
    int i, n = 0;

    EXPECT(*wanted_buses ? hipSuccess : hipErrorNoDevice,
           hipGetDeviceCount(&n));
    assert_true(n <= MAX_LIST);
    for (i = 0; i < n; i++) {
        EXPECT(hipSuccess, hipDeviceGetPCIBusId(bus, sizeof(bus), i));
        got[i] = bus[6]; /* 0000:0B:00.0 */
    }
    assert_string_equal(got, wanted_buses);
}

/* The answers are those of AMD's HIP 5.2.3 and 7.2.4, on three devices. */
static void test_visible_devices(void **state)
{
    enum { IN_5 = 1, IN_7 = 2, IN_BOTH = 3 };
    static const struct {
        int releases;
        const char *rocr, *hip, *cuda, *want; /* PCI buses */
    } rows[] = {
        {IN_BOTH, NULL, NULL, NULL, "123"},
        {IN_BOTH, "", NULL, NULL, ""},
        {IN_7, " ", NULL, NULL, ""},
        {IN_7, "2,0", NULL, NULL, "31"},
        {IN_7, "0,0,1", NULL, NULL, "1"},
        {IN_7, "2,7,0", NULL, NULL, "3"},
        {IN_7, "1, 0", NULL, NULL, "21"},
        {IN_BOTH, "1 ,0", NULL, NULL, "21"},
        {IN_7, "1\t ,  0 ,2 ", NULL, NULL, "213"},
        {IN_7, "1 0", NULL, NULL, ""},
        {IN_7, "0,,1", NULL, NULL, ""},
        {IN_7, "0,", NULL, NULL, "1"},
        {IN_7, "01", NULL, NULL, "2"},
        {IN_7, "-1", NULL, NULL, ""},
        {IN_7, "0,-1", NULL, NULL, "1"},
        {IN_5, NULL, "", NULL, "123"},
        {IN_7, NULL, "", NULL, ""},
        {IN_7, NULL, "-1", NULL, ""},
        {IN_7, NULL, "0,0,1", NULL, "12"},
        {IN_7, NULL, "1, 0", NULL, "2"},
        {IN_BOTH, NULL, "1 ,0", NULL, ""},
        {IN_7, NULL, "01", NULL, ""},
        {IN_7, NULL, "1,", NULL, "2"},
        {IN_7, NULL, "2x,0", NULL, ""},
        {IN_5, NULL, NULL, "", "123"},
        {IN_7, NULL, NULL, "", ""},
        {IN_BOTH, NULL, NULL, "1", "2"},
        {IN_5, NULL, "", "1", "2"},
        {IN_7, NULL, "", "1", ""},
        {IN_7, NULL, "0", "", "1"},
        {IN_7, NULL, "0", "1", "1"},
        {IN_7, "2,1", "1,0", NULL, "23"},
        {IN_7, "2,1", "2", NULL, ""},
        {IN_BOTH, "GPU-kpk-sim-00000001", NULL, NULL, "2"},
        {IN_7, " GPU-KPK-sim-00000001 , 0", NULL, NULL, "21"},
        {IN_7, "GPU-kpk-sim-0000000", NULL, NULL, ""},
        {IN_7, "2,0", "GPU-kpk-sim-00000000", NULL, "1"},
        {IN_5, NULL, "GPU-kpk-sim-00000000", NULL, ""},
        {IN_7, NULL, "GPU-kpk-sim-00000009", NULL, ""},
        {IN_7, NULL, "GPU-kpk-sim,2", NULL, "13"},
        {IN_7, NULL, "GPU-KPK-sim-00000001", NULL, ""},
    };
    size_t i;

    (void)state;
    for (i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        const char *const value[] = {rows[i / 2].rocr, rows[i / 2].hip,
                                     rows[i / 2].cuda};
        static const char *const name[] = {"ROCR", "HIP", "CUDA"};
        const char *environment[6] = {"KPK_SIM_DEVICES=gfx90a,gfx90a,gfx90a",
                                      i % 2 ? "KPK_SIM_HIP_VERSION=5"
                                            : "KPK_SIM_HIP_VERSION=7"};
        char text[3][100];
        int n = 2, k;

        if (!(rows[i / 2].releases & (i % 2 ? IN_5 : IN_7)))
            continue;
        for (k = 0; k < 3; k++) {
            snprintf(text[k], sizeof(text[k]), "%s_VISIBLE_DEVICES=%s", name[k],
                     value[k] ? value[k] : "");
            if (value[k])
                environment[n++] = text[k];
        }
        wanted_buses = rows[i / 2].want;
        in_child(environment, buses);
    }
}

static void features(void)
{
    static const char *const want[] = {
        "gfx90a:sramecc-:xnack+", "gfx906:sramecc+:xnack-",
        "gfx900:xnack-",          "gfx1030",
        "gfx1010:xnack+",         "gfx950:sramecc+:xnack-"};
    hipDeviceProp_t p;
    int i;

    for (i = 0; i < 6; i++) {
        EXPECT(hipSuccess, hipGetDeviceProperties(&p, i));
        assert_string_equal(p.gcnArchName, want[i]);
    }
    assert_int_equal(p.sharedMemPerBlock, 163840);
}

static void xnack_by_hsa(void)
{
    static const char *const want[] = {
        "gfx90a:sramecc+:xnack+", "gfx942:sramecc+:xnack-",
        "gfx908:sramecc+:xnack-", "gfx1030", "gfx1010:xnack-"};
    hipDeviceProp_t p;
    int i;

    for (i = 0; i < 5; i++) {
        EXPECT(hipSuccess, hipGetDeviceProperties(&p, i));
        assert_string_equal(p.gcnArchName, want[i]);
    }
}

static void little_memory(void)
{
    hipDeviceProp_t p;
    size_t left, total;
    void *most, *more;

    EXPECT(hipSuccess, hipGetDeviceProperties(&p, 1));
    assert_int_equal(p.totalGlobalMem, 3 << 20);
    EXPECT(hipSuccess, hipMemGetInfo(&left, &total));
    assert_int_equal(total, 3 << 20);
    assert_int_equal(left, 3 << 20);
    EXPECT(hipErrorOutOfMemory, hipMalloc(&more, (3 << 20) + 1));
    EXPECT(hipSuccess, hipMalloc(&most, 3 << 20));
    EXPECT(hipErrorOutOfMemory, hipMalloc(&more, 1));
    EXPECT(hipSuccess, hipFree(most));
    EXPECT(hipSuccess, hipMalloc(&more, 1));
}

static void no_devices(void)
{
    int n = -1;

    EXPECT(hipErrorNoDevice, hipGetDeviceCount(&n));
}

static void version_is_5(void)
{
    hipDeviceProp_t p;
    int v;

    EXPECT(hipSuccess, hipRuntimeGetVersion(&v));
    assert_int_equal(v / 10000000, 5);
    EXPECT(hipSuccess, hipGetDeviceProperties(&p, 0));
    assert_int_equal(p.maxGridSize[2], 2147483647);
}

static void test_environment(void **state)
{
    static const char *const visible[] = {"HIP_VISIBLE_DEVICES=1", NULL};
    static const char *const list[] = {
        "KPK_SIM_DEVICES=gfx90a:xnack+:sramecc-,gfx906,gfx900,gfx1030,"
        "gfx1010:xnack+,gfx950",
        NULL};
    static const char *const hsa[] = {
        "HSA_XNACK=1",
        "KPK_SIM_DEVICES=gfx90a,gfx942:xnack-,gfx908,gfx1030,gfx1010", NULL};
    static const char *const memory[] = {"KPK_SIM_MEMORY=3M", NULL};
    static const char *const sizes[][2] = {
        {"KPK_SIM_MEMORY=0"},    {"KPK_SIM_MEMORY=-1G"},
        {"KPK_SIM_MEMORY=M"},    {"KPK_SIM_MEMORY=1Mi"},
        {"KPK_SIM_MEMORY=9 G"},  {"KPK_SIM_MEMORY=20000000000G"},
        {"KPK_SIM_MEMORY=2.5G"},
    };
    static const char *const five[] = {"KPK_SIM_HIP_VERSION=5", NULL};
    size_t i;

    (void)state;
    in_child(visible, one_visible);
    in_child(list, features);
    in_child(hsa, xnack_by_hsa);
    in_child(memory, little_memory);
    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        in_child(sizes[i], no_devices);
    in_child(five, version_is_5);
}

/* ---- fault injection ---------------------------------------------------- */

static void second_and_later_calls(void)
{
    void *a, *b, *c;
    int n;

    EXPECT(hipSuccess, hipMalloc(&a, 16));
    EXPECT(hipErrorOutOfMemory, hipMalloc(&b, 16));
    EXPECT(hipSuccess, hipMalloc(&c, 16));
    EXPECT(hipSuccess, hipGetDevice(&n));
    EXPECT(hipErrorInvalidContext, hipGetDevice(&n));
    EXPECT(hipErrorInvalidContext, hipGetDevice(&n));
    EXPECT((hipError_t)719, hipDeviceSynchronize());
    EXPECT(hipSuccess, hipFree(a));
    EXPECT(hipSuccess, hipFree(c));
}

static void lost_device(void)
{
    void *p = NULL;
    int n;

    EXPECT(hipSuccess, hipMalloc(&p, 16));
    EXPECT(hipErrorLaunchFailure, hipMemset(p, 0, 16)); /* lost here */
    EXPECT(hipErrorLaunchFailure, hipFree(p));
    EXPECT(hipErrorLaunchFailure, hipDeviceSynchronize());
    EXPECT(hipSuccess, hipSetDevice(1)); /* device 1 works */
    EXPECT(hipSuccess, hipGetDevice(&n));
    EXPECT(hipSuccess, hipMalloc(&p, 16));
    EXPECT(hipSuccess, hipFree(p));
}

static void test_fault_injection(void **state)
{
    static const char *const some[] = {
        "KPK_SIM_FAULTS=hipMalloc:2=hipErrorOutOfMemory,"
        "hipGetDevice:2+=hipErrorInvalidContext,hipDeviceSynchronize=719",
        NULL};
    static const char *const lost[] = {"KPK_SIM_FAULTS=hipMemset:1=lost", NULL};

    (void)state;
    in_child(some, second_and_later_calls);
    in_child(lost, lost_device);
}

/* A program sets how much the runtime says. */
static void test_logging_is_switched_by_calls(void **state)
{
    FILE *file = tmpfile();
    int old = dup(STDERR_FILENO), step;
    hipModule_t module;
    long n[4] = {0};

    (void)state;
    assert_non_null(file);
    dup2(fileno(file), STDERR_FILENO);
    for (step = 0; step < 4; step++) {
        if (step == 1)
            EXPECT(hipSuccess, hipExtSetLoggingParams(1, 0, 0));
        if (step == 2)
            EXPECT(hipSuccess, hipExtEnableLogging());
        if (step == 3)
            EXPECT(hipSuccess, hipExtDisableLogging());
        EXPECT(hipErrorInvalidImage, hipModuleLoadData(&module, "no image"));
        fseek(file, 0, SEEK_END);
        n[step] = ftell(file);
    }
    dup2(old, STDERR_FILENO);
    close(old);
    fclose(file);
    assert_int_equal(n[1], 0); /* set, but not switched on */
    assert_true(n[2] > 0);
    assert_int_equal(n[3], n[2]);
}

static void test_functions_by_name(void **state)
{
    enum { LEGACY = 1 };
    hipError_t (*count)(int *) = NULL;
    void *plain, *newer, *direct;
    int status = -1, n = 0;

    (void)state;
    EXPECT(hipErrorInvalidValue,
           hipGetProcAddress(NULL, &plain, 602, 0, &status));
    EXPECT(hipErrorInvalidValue,
           hipGetProcAddress("hipNoSuchThing", &plain, 602, 0, &status));
    assert_int_equal(status, 1);
    EXPECT(hipSuccess,
           hipGetProcAddress("hipGetDeviceCount", &plain, 602, 0, &status));
    assert_int_equal(status, 0);
    memcpy(&count, &plain, sizeof(count));
    EXPECT(hipSuccess, count(&n));
    assert_int_equal(n, 2);
    EXPECT(hipSuccess,
           hipGetProcAddress("hipGetDeviceProperties", &plain, 502, 0, NULL));
    EXPECT(hipSuccess,
           hipGetProcAddress("hipGetDeviceProperties", &newer, 602, 0, NULL));
    EXPECT(hipSuccess,
           hipGetProcAddress("hipMemcpy_spt", &direct, 702, 0, NULL));
    EXPECT(hipSuccess,
           hipGetProcAddress_spt("hipMemcpy", &plain, 702, 0, NULL));
    assert_ptr_equal(plain, direct);
    EXPECT(hipSuccess,
           hipGetProcAddress_spt("hipMemcpy", &plain, 702, LEGACY, NULL));
    assert_ptr_not_equal(plain, direct);
    EXPECT(hipSuccess, hipGetProcAddress("hipGetDevicePropertiesR0600", &direct,
                                         602, 0, NULL));
    assert_ptr_equal(newer, direct);
    assert_ptr_not_equal(plain, direct);
}

/* Held against the numbers of 5.2.3's header, which has no two names for what
 * HIP 6 gave another layout. */
static void test_calls_have_the_numbers_of_the_header(void **state)
{
    const char *const unknown = "unknown";
    unsigned named = 0;
    uint32_t id;

    (void)state;
    for (id = HIP_API_ID_FIRST; id <= HIP_API_ID_LAST; id++) {
        const char *const name = hip_api_name(id), *const ours = hipApiName(id);
        const char *const layout = strstr(ours, "R0000");

        if (layout)
            assert_memory_equal(ours, name, (size_t)(layout - ours));
        else
            assert_string_equal(ours, name);
        named += strcmp(ours, unknown) != 0;
    }
    assert_true(named > 300);
    assert_string_equal(hipApiName(392), "hipGetFuncBySymbol");
    assert_string_equal(hipApiName(460), unknown);
    assert_string_equal(hipApiName(HIP_API_ID_NONE), unknown);
    assert_string_equal(hipApiName(UINT32_MAX), unknown);
}

/* Each row of the list is exported, and found by name; nothing else is. */
static void test_list_of_functions_is_what_is_exported(void **state)
{
    static const char *const rows[] = {
#define WORKS(release, name, ...) #name,
#define REFUSED(release, name, ...) #name,
#include "sim/hip/functions.def"
#undef WORKS
#undef REFUSED
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        void *linked = dlsym(RTLD_DEFAULT, rows[i]), *found = NULL;

        if (!linked)
            fail_msg("%s is not exported", rows[i]);
        if (strncmp(rows[i], "hip", 3) != 0)
            continue;
        (void)hipGetProcAddress(rows[i], &found, 502, 0, NULL);
        assert_ptr_equal(found, linked);
    }
}

static void test_refused_functions_say_so(void **state)
{
    static const char *const rows[] = {
#define WORKS(...)
#define REFUSED(release, name, ...) #name,
#include "sim/hip/functions.def"
#undef WORKS
#undef REFUSED
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        hipError_t (*call)(void) = NULL;
        void *found = dlsym(RTLD_DEFAULT, rows[i]);

        memcpy(&call, &found, sizeof(call));
        assert_non_null(call);
        if (call() != hipErrorNotSupported)
            fail_msg("%s does not answer hipErrorNotSupported", rows[i]);
    }
}

/* There are none to signal; AMD's runtime looks at the arguments first. */
static void test_external_semaphores_are_refused_last(void **state)
{
    static const char *const names[] = {"hipSignalExternalSemaphoresAsync",
                                        "hipWaitExternalSemaphoresAsync"};
    hipStream_t bad = (hipStream_t)0x1234;
    int some[64] = {0};
    size_t i;

    (void)state;
    for (i = 0; i < 2; i++) {
        hipError_t (*call)(const void *, const void *, unsigned, hipStream_t);
        void *found = dlsym(RTLD_DEFAULT, names[i]);

        memcpy(&call, &found, sizeof(call));
        assert_non_null(found);
        EXPECT(hipErrorInvalidValue, call(NULL, some, 1, NULL));
        EXPECT(hipErrorInvalidValue, call(some, NULL, 1, NULL));
        EXPECT(hipErrorInvalidValue, call(some, some, 1, bad));
        EXPECT(hipErrorNotSupported, call(some, some, 1, NULL));
    }
}

static void test_run_time_compilation_is_refused_in_words(void **state)
{
    (void)state;
    assert_int_equal(hiprtcCompileProgram(NULL, 0, NULL), 11);
    assert_string_equal(hiprtcGetErrorString(11),
                        "HIPRTC_ERROR_INTERNAL_ERROR");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_last_error_by_release),
        cmocka_unit_test(test_no_device),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_visible_devices),
        cmocka_unit_test(test_fault_injection),
        cmocka_unit_test(test_r0000_layout_is_the_header_of_5_2_3),
        cmocka_unit_test(test_r0600_layout),
        cmocka_unit_test(test_r0000_does_not_write_past_its_792_bytes),
        cmocka_unit_test(test_property_errors),
        cmocka_unit_test(test_attributes_by_number),
        cmocka_unit_test(test_choose_device),
        cmocka_unit_test(test_device_calls),
        cmocka_unit_test(test_contexts_stand_for_devices),
        cmocka_unit_test(test_small_answers_about_devices),
        cmocka_unit_test(test_error_names),
        cmocka_unit_test(test_error_numbers_are_those_of_the_header),
        cmocka_unit_test(test_functions_by_name),
        cmocka_unit_test(test_logging_is_switched_by_calls),
        cmocka_unit_test(test_calls_have_the_numbers_of_the_header),
        cmocka_unit_test(test_list_of_functions_is_what_is_exported),
        cmocka_unit_test(test_refused_functions_say_so),
        cmocka_unit_test(test_external_semaphores_are_refused_last),
        cmocka_unit_test(test_run_time_compilation_is_refused_in_words),
    };

    (void)setenv("KPK_SIM_DEVICES", "gfx942,gfx1100", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
