/* host.c - streams, events and raw handles of HIP, linked, and CUDA, loaded */
#define __HIP_PLATFORM_AMD__ 1
#include "host.h"

#include <hip/hip_runtime_api.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void die(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(2);
}

/* ---- HIP ---- */

static int hip_create_stream(void **out)
{
    return hipStreamCreateWithFlags((hipStream_t *)out, hipStreamNonBlocking);
}

static int hip_destroy_stream(void *stream)
{
    return hipStreamDestroy(stream);
}

static int hip_create_event(void **out)
{
    return hipEventCreate((hipEvent_t *)out);
}

static int hip_destroy_event(void *event)
{
    return hipEventDestroy(event);
}

static int hip_wait_for_event(void *event)
{
    return hipEventSynchronize(event);
}

static int hip_elapsed(float *ms, void *start, void *stop)
{
    return hipEventElapsedTime(ms, start, stop);
}

static int hip_function(void **out, void *module, const char *name)
{
    return hipModuleGetFunction((hipFunction_t *)out, module, name);
}

static int hip_variable(void **out, size_t *nbytes, void *module,
                        const char *name)
{
    return hipModuleGetGlobal(out, nbytes, module, name);
}

static int hip_launch(void *function, unsigned grid, unsigned block,
                      void **params)
{
    return hipModuleLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, NULL,
                                 params, NULL);
}

static const struct host hip_host = {
    hip_create_stream, hip_destroy_stream, hip_create_event,
    hip_destroy_event, hip_wait_for_event, hip_elapsed,
    hip_function,      hip_variable,       hip_launch};

/* ---- CUDA's driver, the copy that kpack has loaded ---- */

/* clang-format off */
#define CUDA_TABLE(X)                                                          \
    X(cuDeviceGet, (int *, int))                                               \
    X(cuDevicePrimaryCtxRetain, (void **, int))                                \
    X(cuCtxSetCurrent, (void *))                                               \
    X(cuStreamCreate, (void **, unsigned))                                     \
    X(cuStreamDestroy_v2, (void *))                                            \
    X(cuEventCreate, (void **, unsigned))                                      \
    X(cuEventDestroy_v2, (void *))                                             \
    X(cuEventSynchronize, (void *))                                            \
    X(cuEventElapsedTime, (float *, void *, void *))                           \
    X(cuModuleGetFunction, (void **, void *, const char *))                    \
    X(cuModuleGetGlobal_v2, (uint64_t *, size_t *, void *, const char *))      \
    X(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned,         \
                       unsigned, unsigned, unsigned, void *, void **, void **))
/* clang-format on */
#include "../cuda_table.h"

static int cuda_create_stream(void **out)
{
    enum { CU_STREAM_NON_BLOCKING = 1 };

    return cuda.cuStreamCreate(out, CU_STREAM_NON_BLOCKING);
}

static int cuda_create_event(void **out)
{
    return cuda.cuEventCreate(out, 0);
}

static int cuda_variable(void **out, size_t *nbytes, void *module,
                         const char *name)
{
    uint64_t at = 0;
    const int error = cuda.cuModuleGetGlobal_v2(&at, nbytes, module, name);

    *out = (void *)(uintptr_t)at;
    return error;
}

static int cuda_launch(void *function, unsigned grid, unsigned block,
                       void **params)
{
    return cuda.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, NULL,
                               params, NULL);
}

/* Its streams and so on are made by calls of the driver's, found at run time.
 */
static const struct host *find_cuda(void)
{
    static struct host host;
    const char *path = NULL;
    const char *lacks;
    void *driver;

    if (kpk_driver_info(KPK_CUDA, NULL, &path) != KPK_OK)
        die(kpk_error_message());
    driver = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (!driver)
        die("the CUDA driver that kpack found is not loaded");
    lacks = fill_cuda(driver);
    if (lacks) {
        fprintf(stderr, "the CUDA driver has no %s\n", lacks);
        exit(2);
    }
    host = (struct host){cuda_create_stream,
                         cuda.cuStreamDestroy_v2,
                         cuda_create_event,
                         cuda.cuEventDestroy_v2,
                         cuda.cuEventSynchronize,
                         cuda.cuEventElapsedTime,
                         cuda.cuModuleGetFunction,
                         cuda_variable,
                         cuda_launch};
    return &host;
}

const struct host *host_of(const kpk_device *device)
{
    const struct host *host = &hip_host;
    void *context = NULL;
    int number = 0;
    int error;

    if (device->platform == KPK_HIP) {
        error = hipSetDevice(device->index);
    } else {
        host = find_cuda();
        error = cuda.cuDeviceGet(&number, device->index);
        if (error == 0)
            error = cuda.cuDevicePrimaryCtxRetain(&context, number);
        if (error == 0)
            error = cuda.cuCtxSetCurrent(context);
    }
    if (error != 0)
        die("the device cannot be made current");
    return host;
}
