/* hip_properties.c - device properties in both layouts, attributes by number
 *
 * hipDeviceProp_t has two layouts: R0000 of HIP 4.x and 5.x, which the plain
 * name fills in every release, and R0600. One table gives each field its place
 * in both. An offset of -1 says that a layout has no such field.
 */
#include "hip_properties.h"

#include "call.h"
#include "process_state.h"
#include "thread_state.h"
#include "visible.h"

#include "../base/config.h"
#include "../base/processor.h"
#include "../run/dispatch.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum {
    R0000_NBYTES = 792,
    R0600_NBYTES = 1472,
    NAME_NBYTES = 256,
    UUID_AT = 256, /* R0600 only */
    ARCH_NAME_R0000 = 396,
    ARCH_NAME_R0600 = 1160,
    CLOCK_INSTRUCTION_KHZ = 1000000, /* the system's clock */
    WALL_CLOCK_KHZ = 100000,         /* of s_memrealtime */
    ARCH_FLAGS = 0x97ff /* bits 0-16 but funnel shift (11), extended barriers
                         * (13), surfaces (14), dynamic parallelism (16) */
};

/* WGP mode: pairs of compute units count as one from gfx10 on. */
uint32_t device_multiprocessors(const struct sim_target *t)
{
    return t->major >= 10 && t->simds_per_cu == 2 &&
                   t->product->compute_units > 1
               ? t->product->compute_units / 2
               : t->product->compute_units;
}

/* Compute units that a multiprocessor stands for. */
static uint32_t cus(const struct sim_target *t)
{
    return t->product->compute_units / device_multiprocessors(t);
}

static uint32_t max_waves(const struct sim_target *t)
{
    return t->max_waves_per_simd * t->simds_per_cu * cus(t);
}

uint32_t device_resident_threads(const struct sim_target *t)
{
    return max_waves(t) * t->default_wave;
}

/* HIP 5.2 knows no larger files. */
static uint32_t registers(const struct sim_target *t)
{
    return process.release == 5
               ? 65536
               : t->vgprs_per_simd * t->default_wave * t->simds_per_cu * cus(t);
}

static uint32_t max_grid_yz(void)
{
    return process.release == 5 ? INT_MAX : 65536;
}

static uint32_t gcn_arch(const struct sim_target *t)
{
    return t->major * 100u + t->minor * 10u + t->stepping;
}

/* CDNA 3 and later, and gfx1250, have no texture units. */
static bool images(const struct sim_target *t)
{
    return !(t->major == 9 && t->minor >= 4) && !(t->major == 12 && t->minor);
}

bool device_has_images(const struct device *device)
{
    return images(device->sim->target);
}

hipError_t device_images_here(void)
{
    return device_has_images(thread_device()) ? hipSuccess
                                              : hipErrorNotSupported;
}

/* Elements of a side, and slices or layers, as ROCr has them for all cards. */
static uint32_t side(const struct sim_target *t)
{
    return images(t) ? 16384 : 0;
}

static uint32_t layers(const struct sim_target *t)
{
    return images(t) ? 8192 : 0;
}

/* Attributes that HIP 5.2 does not know; as AMD's own library answers. */
static bool is_known(int attribute)
{
    static const short later[] = {
        1,  2,  4,  7,  12, 14, 15, 20, 22, 25, 32, 41, 42, 53,    62,    69,
        70, 72, 73, 75, 76, 78, 79, 84, 85, 89, 90, 91, 92, 10011, 10017,
    };
    size_t i;

    for (i = 0; process.release == 5 && i < sizeof(later) / sizeof(later[0]);
         i++)
        if (later[i] == attribute)
            return false;
    return true;
}

/*
 * X(offset in R0000, in R0600, bytes, attribute number or -1, value); t is the
 * target, d the device.
 */
/* clang-format off */
#define FIELDS(X)                                                              \
    X( 256,  288, 8,    -1, d->memory_nbytes)          /* totalGlobalMem */    \
    X( 264,  296, 8,    74, t->lds_nbytes)             /* sharedMemPerBlock */ \
    X(  -1,  696, 8,    75, t->lds_nbytes)             /* ...Optin */          \
    X(  -1,  640, 8,    76, t->lds_nbytes)             /* ...PerMultiprocessor */ \
    X( 376, 1416, 8, 10002, t->lds_nbytes)             /* maxSharedMemoryPerMultiProcessor */ \
    X( 272,  304, 4,    71, registers(t))              /* regsPerBlock */      \
    X(  -1,  648, 4,    72, registers(t))              /* regsPerMultiprocessor */ \
    X( 276,  308, 4,    87, t->default_wave)           /* warpSize */          \
    X( 280,  320, 4,    56, 1024)                      /* maxThreadsPerBlock */ \
    X( 284,  324, 4,    26, 1024)                      /* maxThreadsDim */     \
    X( 288,  328, 4,    27, 1024)                                              \
    X( 292,  332, 4,    28, 1024)                                              \
    X( 296,  336, 4,    29, INT_MAX)                   /* maxGridSize */       \
    X( 300,  340, 4,    30, max_grid_yz())                                     \
    X( 304,  344, 4,    31, max_grid_yz())                                     \
    X( 344,  624, 4,    57, device_resident_threads(t)) /* maxThreadsPerMultiProcessor */ \
    X(  -1,  712, 4,    25, max_waves(t)) /* maxBlocksPerMultiProcessor */ \
    X( 336,  388, 4,    63, device_multiprocessors(t))        /* multiProcessorCount */ \
    X( 308,  348, 4,     5, t->product->clock_khz)     /* clockRate */         \
    X( 352, 1424, 4,    -1, CLOCK_INSTRUCTION_KHZ)     /* clockInstructionRate */ \
    X(  -1,   -1, 4, 10017, WALL_CLOCK_KHZ)            /* wallClockRate */     \
    X( 312,  608, 4,    60, t->product->memory_clock_khz) /* memoryClockRate */ \
    X( 316,  612, 4,    59, t->product->memory_bus_bits) /* memoryBusWidth */ \
    X( 340,  616, 4,    19, t->product->l2_nbytes)    /* l2CacheSize */      \
    X( 320,  352, 8,    83, INT_MAX)                   /* totalConstMem */     \
    X( 328,  360, 4,    23, t->major)                  /* major */             \
    X( 332,  364, 4,    61, t->minor)                  /* minor */             \
    X( 392,   -1, 4,    -1, gcn_arch(t))               /* gcnArch */           \
    X( 356, 1428, 4,    -1, ARCH_FLAGS)                /* arch */              \
    X( 656,  688, 4,    10, 1)                         /* cooperativeLaunch */ \
    X( 660,  692, 4,    11, 1)                         /* cooperativeMultiDeviceLaunch */ \
    X( 748, 1448, 4, 10007, 1)                         /* ...UnmatchedFunc */  \
    X( 752, 1452, 4, 10008, 1)                         /* ...UnmatchedGridDim */ \
    X( 756, 1456, 4, 10009, 1)                         /* ...UnmatchedBlockDim */ \
    X( 760, 1460, 4, 10010, 1)                         /* ...UnmatchedSharedMem */ \
    X( 360,  576, 4,     8, 1)                         /* concurrentKernels */ \
    X(  -1,  600, 4,     2, 8)                         /* asyncEngineCount */  \
    X( 652,  396, 4,    16, 0)                         /* integrated */        \
    X( 764, 1464, 4, 10011, sim_config()->large_bar)   /* isLargeBar */        \
    X( 768, 1468, 4, 10012, 0)                         /* asicRevision */      \
    X( 388,  400, 4,     3, 1)                         /* canMapHostMemory */  \
    X( 772,  652, 4,    24, 1)                         /* managedMemory */     \
    X( 780,  676, 4,     9, process.release > 5)            /* concurrentManagedAccess */ \
    X( 784,  672, 4,    65, d->xnack == SIM_FEATURE_ON) /* pageableMemoryAccess */ \
    X( 788,  704, 4,    66, 0)                         /* ...UsesHostPageTables */ \
    X( 776,  708, 4,    13, 0)                         /* directManagedMemAccessFromHost */ \
    X(  -1,  684, 4,     4, 0)                         /* canUseHostPointerForRegisteredMem */ \
    X(  -1,  604, 4,    85, 1)                         /* unifiedAddressing */ \
    X(  -1,  628, 4,    78, 1)                         /* streamPrioritiesSupported */ \
    X(  -1,  728, 4,    -1, 1)                         /* hostRegisterSupported */ \
    X(  -1,  744, 4,    88, process.release > 5)                         /* memoryPoolsSupported */ \
    X(  -1,  776, 4,    -1, 1)                         /* unifiedFunctionPointers */ \
    X( 348,  404, 4,     6, 0)                         /* computeMode */       \
    X( 736,  392, 4,    18, 0)                         /* kernelExecTimeoutEnabled */ \
    X( 740,  580, 4,     0, 0) /* ECCEnabled */     \
    X( 364,  592, 4,    69, 0)                         /* pciDomainID */       \
    X( 368,  584, 4,    67, d->ordinal + 1)            /* pciBusID */          \
    X( 372,  588, 4,    68, 0)                         /* pciDeviceID */       \
    X( 712,  312, 8,    58, INT_MAX)                   /* memPitch */          \
    X( 720,  368, 8,    81, 256)                       /* textureAlignment */  \
    X( 728,  376, 8,    82, 256)                       /* texturePitchAlignment */ \
    X(  -1,  384, 4,    12, 1)                         /* deviceOverlap */     \
    X( 384,  656, 4,    17, 0)                         /* isMultiGpuBoard */   \
    X(  -1,   -1, 4, 10013, process.release > 5 || t->major == 9)                         /* CanUseStreamWaitValue */ \
    X(  -1,   -1, 4, 10014, images(t))                         /* ImageSupport */      \
    X( 664,  416, 4,    41, images(t) ? INT_MAX : 0)   /* maxTexture1DLinear */ \
    X(  -1,  412, 4,    42, images(t) ? INT_MAX : 0)   /* maxTexture1DMipmap */ \
    X( 668,  408, 4,    39, side(t))                   /* maxTexture1D */      \
    X( 672,  420, 4,    43, side(t))                   /* maxTexture2D */      \
    X( 676,  424, 4,    44, side(t))                                           \
    X( 680,  456, 4,    49, side(t))                   /* maxTexture3D */      \
    X( 684,  460, 4,    50, side(t))                                           \
    X( 688,  464, 4,    51, layers(t))                                         \
    X(  -1,  484, 4,    -1, side(t))                   /* maxTexture1DLayered */ \
    X(  -1,  488, 4,    -1, layers(t))                                         \
    X(  -1,  492, 4,    -1, side(t))                   /* maxTexture2DLayered */ \
    X(  -1,  496, 4,    -1, side(t))                                           \
    X(  -1,  500, 4,    -1, layers(t))                                         \
    X(  -1,  512, 4,    32, side(t))                   /* maxSurface1D */      \
    X(  -1,  516, 4,    -1, side(t))                   /* maxSurface2D */      \
    X(  -1,  520, 4,    -1, side(t))                                           \
    X(  -1,  524, 4,    -1, side(t))                   /* maxSurface3D */      \
    X(  -1,  528, 4,    -1, side(t))                                           \
    X(  -1,  532, 4,    -1, layers(t))                                         \
    X(  -1,  536, 4,    -1, side(t))                   /* maxSurface1DLayered */ \
    X(  -1,  540, 4,    -1, layers(t))                                         \
    X(  -1,  544, 4,    -1, side(t))                   /* maxSurface2DLayered */ \
    X(  -1,  548, 4,    -1, side(t))                                           \
    X(  -1,  552, 4,    -1, layers(t))                                         \
    X(  -1,   -1, 4,    84, INT_MAX)                   /* TotalGlobalMem */    \
    X(  -1,  620, 4,    70, t->product->l2_nbytes)    /* persistingL2CacheMaxSize */ \
    X(  -1,  568, 4,    79, 256)                       /* surfaceAlignment */  \
    X(  -1,   -1, 4,     1, 0)                         /* AccessPolicyMaxWindowSize */ \
    X(  -1,   -1, 4,     7, 0)                         /* ComputePreemptionSupported */ \
    X(  -1,   -1, 4,    14, 1)                         /* GlobalL1CacheSupported */ \
    X(  -1,   -1, 4,    15, 1)                         /* HostNativeAtomicSupported */ \
    X(  -1,   -1, 4,    20, 1)                         /* LocalL1CacheSupported */ \
    X(  -1,   -1, 4,    22, 0)                         /* LuidDeviceNodeMask */ \
    X(  -1,   -1, 4,    53, 0)                         /* MaxTextureCubemap */ \
    X(  -1,   -1, 4,    62, 0)                         /* MultiGpuBoardGroupID */ \
    X(  -1,   -1, 4,    73, 0)                         /* ReservedSharedMemPerBlock */ \
    X(  -1,   -1, 4,    89, process.release > 5)            /* VirtualMemoryManagementSupported */ \
    X(  -1,   -1, 4,    90, 1)                         /* HostRegisterSupported */ \
    X(  -1,   -1, 4,    91, 1)                         /* MemoryPoolSupportedHandleTypes */ \
    X(  -1,   -1, 4,    92, 0)                                                 \
    X(  -1,   -1, 4, 10005, 0)                         /* HIP answers 0 */ \
    X(  -1,   -1, 4, 10006, 0)                         /* likewise */ \
    X(  -1,   -1, 4, 10015, device_multiprocessors(t))          /* PhysicalMultiProcessorCount */ \
    X(  -1,   -1, 4, 10016, 1)                         /* FineGrainSupport */
/* clang-format on */

static void put(uint8_t *at, int offset, int nbytes, uint64_t value)
{
    uint32_t word = (uint32_t)value;

    if (offset < 0)
        return;
    if (nbytes == 8)
        memcpy(at + offset, &value, 8);
    else
        memcpy(at + offset, &word, 4);
}

static void fill(uint8_t *out, const struct sim_device *d, bool r0600)
{
    const struct sim_target *t = d->target;

    memset(out, 0, r0600 ? R0600_NBYTES : R0000_NBYTES);
    snprintf((char *)out, r0600 ? NAME_NBYTES : NAME_NBYTES / 2, "%s",
             t->product->name);
    snprintf((char *)out + (r0600 ? ARCH_NAME_R0600 : ARCH_NAME_R0000),
             NAME_NBYTES, "%s", d->target_id);
    if (r0600)
        device_uuid(d, (char *)out + UUID_AT);
#define X(r0000_at, r0600_at, nbytes, attribute, value)                        \
    put(out, ((const size_t[]){r0000_at, r0600_at})[r0600], nbytes,            \
        (uint64_t)(value));
    FIELDS(X)
#undef X
}

static hipError_t properties(void *out, int ordinal, bool r0600)
{
    const struct device *device = process_device(ordinal);

    if (!out)
        return hipErrorInvalidValue;
    if (!device)
        return hipErrorInvalidDevice;
    fill(out, device->sim, r0600);
    return hipSuccess;
}

HIP_API hipError_t hipGetDeviceProperties(void *out, int device)
{
    ENTER();
    LEAVE(properties(out, device, false));
}

HIP_API hipError_t hipGetDevicePropertiesR0000(void *out, int device)
{
    ENTER();
    LEAVE(properties(out, device, false));
}

HIP_API hipError_t hipGetDevicePropertiesR0600(void *out, int device)
{
    ENTER();
    LEAVE(properties(out, device, true));
}

static int clamp(uint64_t value)
{
    return value > INT_MAX ? INT_MAX : (int)value;
}

/* -1 is no attribute's number and never asked for. */
static bool attribute_value(const struct sim_device *d, int attribute, int *out)
{
    const struct sim_target *t = d->target;

    if (attribute < 0 || !is_known(attribute))
        return false;
#define X(r0000_at, r0600_at, nbytes, number, value)                           \
    if (attribute == (number)) {                                               \
        *out = clamp((uint64_t)(value));                                       \
        return true;                                                           \
    }
    FIELDS(X)
#undef X
    return false;
}

HIP_API hipError_t hipDeviceGetAttribute(int *value, int attribute, int device)
{
    ENTER();
    if (!value)
        LEAVE(hipErrorInvalidValue);
    if (!process_device(device))
        LEAVE(hipErrorInvalidDevice);
    if (!attribute_value(process_device(device)->sim, attribute, value))
        LEAVE(hipErrorInvalidValue);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipDeviceGetUuid(hipUUID *uuid, hipDevice_t device)
{
    ENTER();
    if (!uuid)
        LEAVE(hipErrorInvalidValue);
    if (!process_device(device))
        LEAVE(hipErrorInvalidDevice);
    device_uuid(process_device(device)->sim, uuid->bytes);
    LEAVE(hipSuccess);
}

/* ---- choosing a device by wishes ---------------------------------------- */

static uint64_t get(const uint8_t *at, int offset, int nbytes)
{
    uint64_t value = 0;

    memcpy(&value, at + offset, (size_t)nbytes);
    return value;
}

/* Each wish that a device fulfils counts one; zero is no wish. */
static int score(const struct sim_device *d, const uint8_t *wish, bool r0600)
{
    static const struct {
        int r0000, r0600, nbytes;
        bool at_least;
    } wishes[] = {
        {256, 288, 8, true},  /* totalGlobalMem */
        {264, 296, 8, true},  /* sharedMemPerBlock */
        {280, 320, 4, true},  /* maxThreadsPerBlock */
        {336, 388, 4, true},  /* multiProcessorCount */
        {308, 348, 4, true},  /* clockRate */
        {276, 308, 4, false}, /* warpSize */
        {328, 360, 4, false}, /* major */
        {332, 364, 4, false}, /* minor */
    };
    uint8_t has[R0600_NBYTES];
    int points = 0;
    size_t i;

    fill(has, d, r0600);
    for (i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
        int at = r0600 ? wishes[i].r0600 : wishes[i].r0000;
        uint64_t want = get(wish, at, wishes[i].nbytes);
        uint64_t have = get(has, at, wishes[i].nbytes);

        if (want)
            points += wishes[i].at_least ? have >= want : have == want;
    }
    return points;
}

static hipError_t choose(int *device, const void *wish, bool r0600)
{
    int i, best = -1;

    if (!device || !wish)
        return hipErrorInvalidValue;
    for (i = 0; i < process.ndevices; i++) {
        int points = score(process.devices[i].sim, wish, r0600);

        if (points > best) {
            best = points;
            *device = i;
        }
    }
    return hipSuccess;
}

HIP_API hipError_t hipChooseDevice(int *device, const void *wish)
{
    ENTER();
    LEAVE(choose(device, wish, false));
}

HIP_API hipError_t hipChooseDeviceR0000(int *device, const void *wish)
{
    ENTER();
    LEAVE(choose(device, wish, false));
}

HIP_API hipError_t hipChooseDeviceR0600(int *device, const void *wish)
{
    ENTER();
    LEAVE(choose(device, wish, true));
}
