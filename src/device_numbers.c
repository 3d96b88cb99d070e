/* device_numbers.c - one numbering of all GPUs: HIP's devices first, then
 * CUDA's
 *
 * Starting CUDA's driver takes a fifth of a second, so it is left alone while a
 * device of HIP's is asked for.
 */
#include "device_numbers.h"
#include "cuda.h"
#include "error.h"
#include "hip.h"

#include <stdio.h>

static kpk_status count_devices(const struct kpk_i_gpu *gpu, int *out)
{
    int count = 0;
    const hipError_t error = gpu->hipGetDeviceCount(&count);

    /* HIP also returns this error without a kernel driver: zero devices, no
     * failure. */
    if (error == hipErrorNoDevice)
        count = 0;
    else if (error != hipSuccess)
        return kpk_i_fail_gpu(gpu, "hipGetDeviceCount", error,
                              "cannot count the GPUs");
    if (count < 0)
        return kpk_i_fail(KPK_ERR_DRIVER,
                          "cannot count the GPUs: %s returned success and the "
                          "number %d",
                          gpu->call_name("hipGetDeviceCount"), count);
    *out = count;
    return KPK_OK;
}

/* How many devices the two drivers have, and why one has none. */
struct counts {
    int hip, cuda;
    kpk_status cuda_status; /* status of CUDA's bind */
    char no_hip[1024];      /* the reason, or "" */
    char no_cuda[512];
};

/* Counts HIP's devices. Without HIP the count is 0, and no_hip says why. */
static kpk_status count_hip(struct counts *out)
{
    kpk_status st = kpk_i_hip_bind();

    out->hip = 0;
    out->no_hip[0] = '\0';
    if (st == KPK_OK)
        return count_devices(&kpk_i_hip, &out->hip);
    if (st != KPK_ERR_NO_DRIVER)
        return st;
    (void)snprintf(out->no_hip, sizeof(out->no_hip), "%s", kpk_error_message());
    return KPK_OK;
}

/* Counts CUDA's devices; 0 if there is no driver or it does not start. Fails,
 * with both reasons, if there is no HIP either. */
static kpk_status count_cuda(struct counts *out)
{
    kpk_status st;
    int error;

    out->cuda = 0;
    out->no_cuda[0] = '\0';
    out->cuda_status = kpk_i_cuda_bind();
    if (out->cuda_status == KPK_OK)
        return count_devices(&kpk_i_cuda, &out->cuda);
    (void)snprintf(out->no_cuda, sizeof(out->no_cuda), "%s",
                   kpk_error_message());
    if (!*out->no_hip)
        return KPK_OK;
    error = kpk_error_driver();
    st = kpk_i_fail(KPK_ERR_NO_DRIVER, "%s. For NVIDIA GPUs: %s", out->no_hip,
                    out->no_cuda);
    kpk_i_fail_behind(error);
    return st;
}

kpk_status kpk_device_count(int *out)
{
    struct kpk_i_failure before;
    struct counts counts;
    kpk_status st;

    KPK_I_NEED(out);
    kpk_i_keep_failure(&before);
    st = count_hip(&counts);
    if (st == KPK_OK)
        st = count_cuda(&counts);
    if (st != KPK_OK)
        return st;
    kpk_i_put_back_failure(&before); /* an absent driver is no failure */
    *out = counts.hip + counts.cuda;
    return KPK_OK;
}

static kpk_status no_such_device(int device, const struct counts *counts)
{
    const int count = counts->hip + counts->cuda;

    if (count == 0)
        (void)kpk_i_fail(
            KPK_ERR_NO_DEVICE,
            "no device was found: neither HIP (%s) nor CUDA (%s) sees a GPU. "
            "For an AMD GPU, check that the amdgpu driver is loaded, that this "
            "user may open /dev/kfd and /dev/dri/render*, and that "
            "HIP_VISIBLE_DEVICES does not hide it; for an NVIDIA GPU, that "
            "nvidia-smi lists it",
            *counts->no_hip ? counts->no_hip : kpk_i_hip.path,
            *counts->no_cuda ? counts->no_cuda : kpk_i_cuda.path);
    else
        (void)kpk_i_fail(KPK_ERR_NO_DEVICE,
                         "device %d was asked for, but there %s %d GPU%s: the "
                         "highest number is %d",
                         device, count == 1 ? "is" : "are", count,
                         count == 1 ? "" : "s", count - 1);
    /* The caller may mean a CUDA device. */
    if (count && counts->cuda_status == KPK_ERR_DRIVER)
        kpk_i_fail_more(". CUDA's are not among them: %s", counts->no_cuda);
    return KPK_ERR_NO_DEVICE;
}

static kpk_status find(int device, const struct kpk_i_gpu **gpu, int *index)
{
    struct counts counts;
    kpk_status st = count_hip(&counts);

    if (st != KPK_OK)
        return st;
    if (device >= 0 && device < counts.hip) {
        *gpu = &kpk_i_hip;
        *index = device;
        return KPK_OK;
    }
    st = count_cuda(&counts);
    if (st != KPK_OK)
        return st;
    if (device < 0 || device >= counts.hip + counts.cuda)
        return no_such_device(device, &counts);
    *gpu = &kpk_i_cuda;
    *index = device - counts.hip;
    return KPK_OK;
}

kpk_status kpk_i_find_device(int device, const struct kpk_i_gpu **gpu,
                             kpk_device *out)
{
    struct kpk_i_failure before;
    kpk_device found;
    int index;
    kpk_status st;

    kpk_i_keep_failure(&before);
    st = find(device, gpu, &index);
    if (st == KPK_OK)
        st = (*gpu)->describe(*gpu, index, &found);
    if (st != KPK_OK)
        return st;
    kpk_i_put_back_failure(&before); /* an absent driver is no failure */
    found.platform = (*gpu)->platform;
    found.index = index;
    *out = found;
    return KPK_OK;
}

kpk_status kpk_device_get(int device, kpk_device *out)
{
    const struct kpk_i_gpu *gpu;

    KPK_I_NEED(out);
    return kpk_i_find_device(device, &gpu, out);
}

/* Binds one driver; `call` names the public call for messages. */
static kpk_status find_driver(const char *call, kpk_platform platform,
                              const struct kpk_i_gpu **out)
{
    *out = platform == KPK_CUDA ? &kpk_i_cuda : &kpk_i_hip;
    if (platform != KPK_HIP && platform != KPK_CUDA)
        return kpk_i_fail(KPK_ERR_ARG, "%s: %d is neither KPK_HIP nor KPK_CUDA",
                          call, (int)platform);
    return platform == KPK_CUDA ? kpk_i_cuda_bind() : kpk_i_hip_bind();
}

kpk_status kpk_platform_device_count(kpk_platform platform, int *out)
{
    const struct kpk_i_gpu *gpu;
    kpk_status st;

    KPK_I_NEED(out);
    st = find_driver(__func__, platform, &gpu);
    return st == KPK_OK ? count_devices(gpu, out) : st;
}

kpk_status kpk_driver_info(kpk_platform platform, int *version,
                           const char **path)
{
    const struct kpk_i_gpu *gpu = NULL;
    kpk_status st = find_driver(__func__, platform, &gpu);

    if (st != KPK_OK)
        return st;
    if (version)
        *version = gpu->version;
    if (path)
        *path = gpu->path;
    return KPK_OK;
}

kpk_status kpk_current_device(kpk_platform platform, int *out)
{
    const struct kpk_i_gpu *gpu;
    struct kpk_i_failure before;
    struct counts counts = {0};
    int index = 0;
    hipError_t error;
    kpk_status st;

    KPK_I_NEED(out);
    st = find_driver(__func__, platform, &gpu);
    if (st != KPK_OK)
        return st;
    kpk_i_keep_failure(&before);
    if (platform == KPK_CUDA)
        st = count_hip(&counts); /* HIP's devices have the first numbers */
    if (st != KPK_OK)
        return st;
    kpk_i_put_back_failure(&before); /* an absent HIP is no failure */
    error = gpu->hipGetDevice(&index);
    if (error == hipErrorNoDevice || error == hipErrorInvalidContext) {
        (void)kpk_i_fail(KPK_ERR_NO_DEVICE,
                         "no device of %s is current on this thread: %s "
                         "returned %d",
                         gpu->title, gpu->call_name("hipGetDevice"), error);
        kpk_i_fail_behind(error);
        return KPK_ERR_NO_DEVICE;
    }
    if (error != hipSuccess)
        return kpk_i_fail_gpu(gpu, "hipGetDevice", error,
                              "cannot find out the current device");
    *out = counts.hip + index;
    return KPK_OK;
}
