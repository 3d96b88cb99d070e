/* hip_device.c - HIP's devices: their properties, and the current device
 *
 * HIP has two layouts of its property structure. From 6.0 on the header
 * renames hipGetDeviceProperties to ...R0600 at compile time while the plain
 * name goes on filling the old layout for old binaries, so the name that is
 * found decides the layout. The offsets are HIP's ABI; gcnArchName has no
 * other source that all releases share.
 */
#include "hip_device.h"
#include "error.h"
#include "process.h"

#include <string.h>

/* clang-format off */
#define FIELD_TABLE(X)                                     \
    /* field                         R0000  R0600  nbytes */ \
    X(name,                              0,     0,    256) \
    X(gcnArchName,                     396,  1160,    256) \
    X(totalGlobalMem,                  256,   288,      8) \
    X(sharedMemPerBlock,               264,   296,      8) \
    X(warpSize,                        276,   308,      4) \
    X(maxThreadsPerBlock,              280,   320,      4) \
    X(maxThreadsDim,                   284,   324,     12) \
    X(maxGridSize,                     296,   336,     12) \
    X(multiProcessorCount,             336,   388,      4) \
    X(cooperativeLaunch,               656,   688,      4) \
    X(cooperativeMultiDeviceLaunch,    660,   692,      4)
/* clang-format on */

enum field {
#define X(field, r0000, r0600, nbytes) FIELD_##field,
    FIELD_TABLE(X)
#undef X
};

static const struct {
    uint16_t offset[2]; /* R0000, R0600 */
    uint16_t nbytes;
} fields[] = {
#define X(field, r0000, r0600, nbytes) {{r0000, r0600}, nbytes},
    FIELD_TABLE(X)
#undef X
};

/* The larger layout has 1472 bytes. A release that grows it must not write
 * past the end. */
struct properties {
    int layout; /* 0: R0000, 1: R0600 */
    _Alignas(16) unsigned char raw[4096];
};

static void read_field(const struct properties *from, enum field field,
                       void *to)
{
    memcpy(to, from->raw + fields[field].offset[from->layout],
           fields[field].nbytes);
}

static hipError_t read_properties(const struct kpk_i_gpu *hip,
                                  struct properties *to, int device)
{
    memset(to, 0, sizeof(*to));
    to->layout = hip->hipGetDevicePropertiesR0600 != NULL;
    if (to->layout)
        return hip->hipGetDevicePropertiesR0600((void *)to->raw, device);
    return hip->hipGetDeviceProperties((void *)to->raw, device);
}

static void read_all(const struct kpk_i_gpu *hip, const struct properties *from,
                     kpk_device *to)
{
    memset(to, 0, sizeof(*to));
    read_field(from, FIELD_name, to->name);
    read_field(from, FIELD_gcnArchName, to->target);
    to->name[sizeof(to->name) - 1] = '\0';
    to->target[sizeof(to->target) - 1] = '\0';
    read_field(from, FIELD_totalGlobalMem, &to->memory_nbytes);
    read_field(from, FIELD_sharedMemPerBlock, &to->lds_nbytes);
    read_field(from, FIELD_warpSize, &to->wave_size);
    read_field(from, FIELD_maxThreadsPerBlock, &to->max_block);
    read_field(from, FIELD_maxThreadsDim, to->max_block_dim);
    read_field(from, FIELD_maxGridSize, to->max_grid);
    read_field(from, FIELD_multiProcessorCount, &to->compute_units);
    read_field(from, FIELD_cooperativeLaunch, &to->cooperative);
    read_field(from, FIELD_cooperativeMultiDeviceLaunch,
               &to->cooperative_multi);
    /* HIP before 5.5 lacks the calls, whatever the device can do. */
    if (!hip->hipModuleLaunchCooperativeKernel)
        to->cooperative = 0;
    if (!hip->hipModuleLaunchCooperativeKernelMultiDevice)
        to->cooperative_multi = 0;
}

kpk_status kpk_i_hip_describe(const struct kpk_i_gpu *hip, int device,
                              kpk_device *out)
{
    struct properties properties;
    const hipError_t error = read_properties(hip, &properties, device);

    if (error != hipSuccess)
        return kpk_i_fail_gpu(hip, "hipGetDeviceProperties", error,
                              "cannot read the properties of device %d",
                              device);
    read_all(hip, &properties, out);
    return KPK_OK;
}

kpk_status kpk_i_hip_enter(const struct kpk_i_gpu *hip, int device,
                           intptr_t *saved)
{
    int current = 0;
    hipError_t error;
    kpk_status st = kpk_i_check_process();

    if (st != KPK_OK)
        return st;
    error = hip->hipGetDevice(&current);
    if (error != hipSuccess)
        return kpk_i_fail_gpu(hip, "hipGetDevice", error,
                              "cannot find out the current device");
    *saved = current;
    if (current == device)
        return KPK_OK;
    error = hip->hipSetDevice(device);
    if (error != hipSuccess)
        return kpk_i_fail_gpu(hip, "hipSetDevice", error,
                              "cannot make device %d current", device);
    return KPK_OK;
}

kpk_status kpk_i_hip_leave(const struct kpk_i_gpu *hip, int device,
                           intptr_t saved, kpk_status st)
{
    hipError_t error;

    if (saved == device)
        return st;
    error = hip->hipSetDevice((int)saved);
    if (error == hipSuccess)
        return st;
    if (st == KPK_OK)
        return kpk_i_fail_gpu(hip, "hipSetDevice", error,
                              "the call did its work, but cannot make device "
                              "%d current again; device %d is now",
                              (int)saved, device);
    kpk_i_fail_more(". After that hipSetDevice(%d) returned %d: device %d is "
                    "current now, no longer device %d",
                    (int)saved, (int)error, device, (int)saved);
    return st;
}
