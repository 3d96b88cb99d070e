/* cuda.c - finds the machine's CUDA driver and gives it HIP's signatures
 *
 * Nearly every function of HIP's that kpack calls is one of the CUDA driver
 * API's under another name; handles, error numbers and attributes are equal
 * where kpack passes them on. So most adapters below are one call. The driver
 * is never linked and never touched while a device of HIP's is asked for:
 * starting it takes a fifth of a second.
 *
 * Kernels run in a device's primary context, which CUDA's runtime, PyTorch and
 * their like use too, so pointers and streams mix freely with theirs. It is
 * retained the first time that a device is entered, and for ever.
 */
#include "cuda.h"
#include "cuda_api.h"
#include "error.h"
#include "library.h"
#include "process.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
#define X(need, name, exported, args) CUresult(*name) args;
    KPK_CUDA_TABLE(X)
#undef X
} cuda;

/* The numbers of cuda.h that kpack uses. */
enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_STUB_LIBRARY = 34,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
    FUNC_SHARED_NBYTES = 1,
    FUNC_MAX_DYNAMIC_SHARED_NBYTES = 8,
    DEVICE_MAX_SHARED_NBYTES_OPTIN = 97,
    JIT_ERROR_LOG_BUFFER = 5,
    JIT_ERROR_LOG_BUFFER_NBYTES = 6
};

/* A launch's list of packed arguments: HIP ends it with 3, CUDA with 0. */
enum { LAUNCH_PARAM_END = 0, NUM_EXTRA = 5 };

enum { MAX_DEVICES = 64 };

static int ndevices;
static kpk_i_mutex primary_lock = KPK_I_MUTEX_FRESH;
static _Atomic(CUcontext) primary[MAX_DEVICES];

static _Thread_local char compile_text[256];

/* The driver's function that this thread called last, for messages: an adapter
 * may call several. */
static _Thread_local const char *called = "cuInit";
#define CALL(name, args) (called = #name, cuda.name args)

static CUdeviceptr address(const void *ptr)
{
    return (CUdeviceptr)(uintptr_t)ptr;
}

/* ---- HIP's functions ---------------------------------------------------- */

static const char *error_name(hipError_t error)
{
    const char *name = NULL;

    return cuda.cuGetErrorName(error, &name) == CUDA_SUCCESS ? name : NULL;
}

static const char *error_string(hipError_t error)
{
    const char *text = NULL;

    return cuda.cuGetErrorString(error, &text) == CUDA_SUCCESS ? text : NULL;
}

static hipError_t device_count(int *out)
{
    *out = ndevices;
    return CUDA_SUCCESS;
}

/* Keeps the first line of the PTX compiler's log. */
static void keep_log(const char *log)
{
    const size_t n = strcspn(log, "\n");

    (void)snprintf(compile_text, sizeof(compile_text), "%.*s", (int)n, log);
}

static hipError_t load_data(hipModule_t *out, const void *image)
{
    static const unsigned char elf[] = {0x7f, 'E', 'L', 'F'};
    char log[1024] = "";
    int options[] = {JIT_ERROR_LOG_BUFFER, JIT_ERROR_LOG_BUFFER_NBYTES};
    /* CUDA takes numbers as pointers. */
    void *values[] = {log, (void *)(uintptr_t)(sizeof(log) - 1)}; /* NOLINT */
    CUresult error;

    compile_text[0] = '\0';
    if (memcmp(image, elf, sizeof(elf)) == 0)
        return CALL(cuModuleLoadData, (out, image));
    error = CALL(cuModuleLoadDataEx, (out, image, 2, options, values));
    if (error != CUDA_SUCCESS)
        keep_log(log);
    return error;
}

static hipError_t load_data_ex(hipModule_t *out, const void *image, unsigned n,
                               hipJitOption *options, void **values)
{
    compile_text[0] = '\0';
    return CALL(cuModuleLoadDataEx, (out, image, n, options, values));
}

/* CUDA launches with more than 48 KiB of dynamic shared memory only if the
 * function's limit was raised before. Raises the limit, once per function, to
 * the device's maximum less the function's static shared memory. */
static CUresult allow_shared(CUfunction function)
{
    CUdevice device;
    int most = 0;
    int own = 0;
    CUresult error = CALL(cuCtxGetDevice, (&device));

    if (error == CUDA_SUCCESS)
        error = CALL(cuDeviceGetAttribute,
                     (&most, DEVICE_MAX_SHARED_NBYTES_OPTIN, device));
    if (error == CUDA_SUCCESS)
        error = CALL(cuFuncGetAttribute, (&own, FUNC_SHARED_NBYTES, function));
    if (error == CUDA_SUCCESS && own < most)
        error = CALL(cuFuncSetAttribute,
                     (function, FUNC_MAX_DYNAMIC_SHARED_NBYTES, most - own));
    return error;
}

static hipError_t get_function(hipFunction_t *out, hipModule_t module,
                               const char *name)
{
    CUfunction function = NULL;
    CUresult error = CALL(cuModuleGetFunction, (&function, module, name));

    if (error == CUDA_SUCCESS)
        error = allow_shared(function);
    if (error == CUDA_SUCCESS)
        *out = function;
    return error;
}

static hipError_t get_global(void **out, size_t *nbytes, hipModule_t module,
                             const char *name)
{
    CUdeviceptr at = 0;
    CUresult error = CALL(cuModuleGetGlobal, (&at, nbytes, module, name));

    if (error == CUDA_SUCCESS)
        *out = (void *)(uintptr_t)at; /* NOLINT: an address of the device */
    return error;
}

/* HIP's list is buffer, its size and an end, which CUDA writes as 0; NULL stays
 * NULL. */
static void **cuda_extra(void **extra, void *list[NUM_EXTRA])
{
    if (!extra)
        return NULL;
    memcpy(list, extra, NUM_EXTRA * sizeof(*list));
    list[NUM_EXTRA - 1] = (void *)(uintptr_t)LAUNCH_PARAM_END;
    return list;
}

static hipError_t launch(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz,
                         unsigned bx, unsigned by, unsigned bz, unsigned shared,
                         hipStream_t stream, void **params, void **extra)
{
    void *list[NUM_EXTRA];

    return CALL(cuLaunchKernel, (f, gx, gy, gz, bx, by, bz, shared, stream,
                                 params, cuda_extra(extra, list)));
}

/* Sizes are threads here. KPK_LAUNCH_ANY_ORDER is a permission; CUDA has no
 * use for it. */
static hipError_t ext_launch(hipFunction_t f, uint32_t tx, uint32_t ty,
                             uint32_t tz, uint32_t bx, uint32_t by, uint32_t bz,
                             size_t shared, hipStream_t stream, void **params,
                             void **extra, hipEvent_t start, hipEvent_t stop,
                             uint32_t flags)
{
    CUresult error = CUDA_SUCCESS;

    (void)flags;
    if (start)
        error = CALL(cuEventRecord, (start, stream));
    if (error == CUDA_SUCCESS)
        error = launch(f, tx / bx, ty / by, tz / bz, bx, by, bz,
                       (unsigned)shared, stream, params, extra);
    if (error == CUDA_SUCCESS && stop)
        error = CALL(cuEventRecord, (stop, stream));
    return error;
}

static hipError_t launch_with(hipFunction_t f, const kpk_shape *shape,
                              const uint32_t cluster[3], bool early,
                              hipStream_t stream, void **params)
{
    CUlaunchAttribute attributes[2], *next = attributes;
    CUlaunchConfig config = {.shared_nbytes = shape->shared_nbytes,
                             .stream = stream,
                             .attributes = attributes};

    for (int i = 0; i < 3; i++) {
        config.grid[i] = shape->grid[i];
        config.block[i] = shape->block[i];
    }
    if (cluster) {
        next->id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        memcpy(next++->value.cluster, cluster, 3 * sizeof(*cluster));
    }
    if (early) {
        next->id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        next++->value.early = 1;
    }
    config.nattributes = (unsigned)(next - attributes);
    return CALL(cuLaunchKernelEx, (&config, f, params, NULL));
}

/* 0 bytes are a success and NULL, as with HIP. */
static hipError_t allocate(void **out, size_t nbytes)
{
    CUdeviceptr at = 0;
    const CUresult error =
        nbytes ? CALL(cuMemAlloc, (&at, nbytes)) : CUDA_SUCCESS;

    if (error == CUDA_SUCCESS)
        *out = (void *)(uintptr_t)at; /* NOLINT: an address of the device */
    return error;
}

static hipError_t release(void *ptr)
{
    return CALL(cuMemFree, (address(ptr)));
}

static hipError_t copy(void *dst, const void *src, size_t nbytes,
                       hipMemcpyKind kind)
{
    if (nbytes == 0)
        return CUDA_SUCCESS;
    if (kind == hipMemcpyHostToDevice)
        return CALL(cuMemcpyHtoD, (address(dst), src, nbytes));
    return CALL(cuMemcpyDtoH, (dst, address(src), nbytes));
}

static hipError_t fill(void *dst, int value, size_t nbytes)
{
    return nbytes
               ? CALL(cuMemsetD8, (address(dst), (unsigned char)value, nbytes))
               : CUDA_SUCCESS;
}

static hipError_t copy_async(void *dst, const void *src, size_t nbytes,
                             hipMemcpyKind kind, hipStream_t stream)
{
    if (kind == hipMemcpyHostToDevice)
        return CALL(cuMemcpyHtoDAsync, (address(dst), src, nbytes, stream));
    if (kind == hipMemcpyDeviceToHost)
        return CALL(cuMemcpyDtoHAsync, (dst, address(src), nbytes, stream));
    return CALL(cuMemcpyDtoDAsync,
                (address(dst), address(src), nbytes, stream));
}

static hipError_t fill_async(void *dst, int value, size_t nbytes,
                             hipStream_t stream)
{
    return CALL(cuMemsetD8Async,
                (address(dst), (unsigned char)value, nbytes, stream));
}

/* CUDA reports an error only: `node` and `log` stay unset. */
static hipError_t instantiate(hipGraphExec_t *out, hipGraph_t graph,
                              hipGraphNode_t *node, char *log, size_t nbytes)
{
    (void)node;
    (void)log;
    (void)nbytes;
    return CALL(cuGraphInstantiateWithFlags, (out, graph, 0));
}

static hipError_t max_potential_block(int *grid, int *block, hipFunction_t f,
                                      size_t shared, int most)
{
    return CALL(cuOccupancyMaxPotentialBlockSize,
                (grid, block, f, NULL, shared, most));
}

/* ---- devices ------------------------------------------------------------ */

static kpk_status describe(const struct kpk_i_gpu *gpu, int device,
                           kpk_device *out)
{
    static const struct {
        int attribute; /* CUdevice_attribute */
        size_t offset;
    } numbers[] = {
        {10, offsetof(kpk_device, wave_size)},
        {1, offsetof(kpk_device, max_block)},
        {2, offsetof(kpk_device, max_block_dim[0])},
        {3, offsetof(kpk_device, max_block_dim[1])},
        {4, offsetof(kpk_device, max_block_dim[2])},
        {5, offsetof(kpk_device, max_grid[0])},
        {6, offsetof(kpk_device, max_grid[1])},
        {7, offsetof(kpk_device, max_grid[2])},
        {16, offsetof(kpk_device, compute_units)},
        {95, offsetof(kpk_device, cooperative)},
    };
    enum { MAJOR = 75, MINOR = 76 }; /* compute capability */
    size_t memory = 0;
    int shared = 0;
    int major = 0;
    int minor = 0;
    CUdevice d = 0;
    CUresult error = CALL(cuDeviceGet, (&d, device));

    memset(out, 0, sizeof(*out));
    if (error == CUDA_SUCCESS)
        error = CALL(cuDeviceGetName, (out->name, (int)sizeof(out->name), d));
    if (error == CUDA_SUCCESS)
        error = CALL(cuDeviceTotalMem, (&memory, d));
    if (error == CUDA_SUCCESS)
        error = CALL(cuDeviceGetAttribute, (&major, MAJOR, d));
    if (error == CUDA_SUCCESS)
        error = CALL(cuDeviceGetAttribute, (&minor, MINOR, d));
    if (error == CUDA_SUCCESS)
        error = CALL(cuDeviceGetAttribute,
                     (&shared, DEVICE_MAX_SHARED_NBYTES_OPTIN, d));
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        int value = 0;

        if (error == CUDA_SUCCESS)
            error =
                CALL(cuDeviceGetAttribute, (&value, numbers[i].attribute, d));
        memcpy((unsigned char *)out + numbers[i].offset, &value, sizeof(value));
    }
    if (error != CUDA_SUCCESS)
        return kpk_i_fail_gpu(gpu, called, error,
                              "cannot read the properties of CUDA device %d",
                              device);
    (void)snprintf(out->target, sizeof(out->target), "sm_%d%d", major, minor);
    out->memory_nbytes = memory;
    out->lds_nbytes = (uint64_t)shared;
    if (!cuda.cuLaunchCooperativeKernel)
        out->cooperative = 0;
    return KPK_OK;
}

static CUresult retain_primary(int device)
{
    CUcontext context = NULL;
    CUdevice d = 0;
    CUresult error;

    kpk_i_lock(&primary_lock);
    error = CALL(cuDeviceGet, (&d, device));
    if (error == CUDA_SUCCESS &&
        !atomic_load_explicit(&primary[device], memory_order_relaxed))
        error = CALL(cuDevicePrimaryCtxRetain, (&context, d));
    if (context)
        atomic_store_explicit(&primary[device], context, memory_order_release);
    kpk_i_unlock(&primary_lock);
    return error;
}

/* The device's primary context, retained the first time. */
static CUresult find_primary(int device, CUcontext *out)
{
    CUcontext own =
        atomic_load_explicit(&primary[device], memory_order_acquire);
    const CUresult error = own ? CUDA_SUCCESS : retain_primary(device);

    if (error == CUDA_SUCCESS)
        own = atomic_load_explicit(&primary[device], memory_order_acquire);
    *out = own;
    return error;
}

/* The context of a host's own is not replaced but covered: cuCtxSetCurrent()
 * would let the thread find another one afterwards. */
static kpk_status enter(const struct kpk_i_gpu *gpu, int device,
                        intptr_t *saved)
{
    CUcontext current = NULL;
    CUcontext own = NULL;
    CUresult error;
    kpk_status st = kpk_i_check_process();

    if (st != KPK_OK)
        return st;
    error = find_primary(device, &own);
    if (error == CUDA_SUCCESS)
        error = CALL(cuCtxGetCurrent, (&current));
    *saved = current != own;
    if (error == CUDA_SUCCESS && *saved)
        error = CALL(cuCtxPushCurrent, (own));
    if (error != CUDA_SUCCESS)
        return kpk_i_fail_gpu(gpu, called, error,
                              "cannot make CUDA device %d current", device);
    return KPK_OK;
}

static kpk_status leave(const struct kpk_i_gpu *gpu, int device, intptr_t saved,
                        kpk_status st)
{
    CUcontext popped = NULL;
    const CUresult error =
        saved ? CALL(cuCtxPopCurrent, (&popped)) : CUDA_SUCCESS;

    if (error == CUDA_SUCCESS)
        return st;
    if (st == KPK_OK)
        return kpk_i_fail_gpu(gpu, called, error,
                              "the call did its work, but cannot take CUDA "
                              "device %d back from this thread: it is current "
                              "now",
                              device);
    kpk_i_fail_more(". After that cuCtxPopCurrent() returned %d: CUDA device "
                    "%d is current now",
                    (int)error, device);
    return st;
}

/* The destination's device is current. */
static hipError_t copy_peer_async(void *dst, int dst_device, const void *src,
                                  int src_device, size_t nbytes,
                                  hipStream_t stream)
{
    CUcontext from = NULL;
    CUcontext to =
        atomic_load_explicit(&primary[dst_device], memory_order_acquire);
    const CUresult error = find_primary(src_device, &from);

    if (error != CUDA_SUCCESS)
        return error;
    return CALL(cuMemcpyPeerAsync,
                (address(dst), to, address(src), from, nbytes, stream));
}

static hipError_t can_access_peer(int *out, int device, int peer)
{
    CUdevice here = 0;
    CUdevice there = 0;
    CUresult error = CALL(cuDeviceGet, (&here, device));

    if (error == CUDA_SUCCESS)
        error = CALL(cuDeviceGet, (&there, peer));
    if (error != CUDA_SUCCESS)
        return error;
    return CALL(cuDeviceCanAccessPeer, (out, here, there));
}

static hipError_t enable_peer_access(int peer, unsigned flags)
{
    CUcontext there = NULL;
    const CUresult error = find_primary(peer, &there);

    if (error != CUDA_SUCCESS)
        return error;
    return CALL(cuCtxEnablePeerAccess, (there, flags));
}

/* All memory of CUDA's devices can be used with flags. */
static hipError_t allocate_with_flags(void **out, size_t nbytes, unsigned flags)
{
    (void)flags;
    return allocate(out, nbytes);
}

static hipError_t ipc_export(hipIpcMemHandle_t *out, void *ptr)
{
    return CALL(cuIpcGetMemHandle, (out, address(ptr)));
}

static hipError_t ipc_import(void **out, hipIpcMemHandle_t handle,
                             unsigned flags)
{
    CUdeviceptr at = 0;
    const CUresult error = CALL(cuIpcOpenMemHandle, (&at, handle, flags));

    if (error == CUDA_SUCCESS)
        *out = (void *)(uintptr_t)at; /* NOLINT: an address of the device */
    return error;
}

static hipError_t ipc_close(void *ptr)
{
    return CALL(cuIpcCloseMemHandle, (address(ptr)));
}

static hipError_t device_attribute(int *out, hipDeviceAttribute_t attribute,
                                   int device)
{
    CUdevice d = 0;
    const CUresult error = CALL(cuDeviceGet, (&d, device));

    if (error != CUDA_SUCCESS)
        return error;
    return CALL(cuDeviceGetAttribute, (out, attribute, d));
}

/* CUdevice is a handle: the number is found by comparing all devices'. */
static hipError_t current_device(int *out)
{
    CUdevice current = 0;
    CUdevice d = 0;
    CUresult error = CALL(cuCtxGetDevice, (&current));

    for (int i = 0; error == CUDA_SUCCESS && i < ndevices; i++) {
        error = CALL(cuDeviceGet, (&d, i));
        if (error == CUDA_SUCCESS && d == current) {
            *out = i;
            return CUDA_SUCCESS;
        }
    }
    return error == CUDA_SUCCESS ? hipErrorInvalidDevice : error;
}

/* HIP's functions that take an adapter, and the function of the driver that it
 * calls: where a driver lacks the one the other is NULL. */
/* clang-format off */
#define ADAPTER_TABLE(X)                                                       \
    X(hipGetErrorName,          error_name,          cuGetErrorName)           \
    X(hipGetErrorString,        error_string,        cuGetErrorString)         \
    X(hipGetDeviceCount,        device_count,        cuDeviceGetCount)         \
    X(hipModuleLoadData,        load_data,           cuModuleLoadData)         \
    X(hipModuleLoadDataEx,      load_data_ex,        cuModuleLoadDataEx)       \
    X(hipModuleGetFunction,     get_function,        cuModuleGetFunction)      \
    X(hipModuleGetGlobal,       get_global,          cuModuleGetGlobal)        \
    X(hipModuleLaunchKernel,    launch,              cuLaunchKernel)           \
    X(hipExtModuleLaunchKernel, ext_launch,          cuEventRecord)            \
    X(hipMalloc,                allocate,            cuMemAlloc)               \
    X(hipExtMallocWithFlags,    allocate_with_flags, cuMemAlloc)               \
    X(hipDeviceCanAccessPeer,   can_access_peer,     cuDeviceCanAccessPeer)    \
    X(hipDeviceEnablePeerAccess, enable_peer_access, cuCtxEnablePeerAccess)    \
    X(hipIpcGetMemHandle,       ipc_export,          cuIpcGetMemHandle)        \
    X(hipIpcOpenMemHandle,      ipc_import,          cuIpcOpenMemHandle)       \
    X(hipIpcCloseMemHandle,     ipc_close,           cuIpcCloseMemHandle)      \
    X(hipFree,                  release,             cuMemFree)                \
    X(hipMemcpy,                copy,                cuMemcpyHtoD)             \
    X(hipMemset,                fill,                cuMemsetD8)               \
    X(hipMemcpyAsync,           copy_async,          cuMemcpyDtoDAsync)        \
    X(hipMemcpyPeerAsync,       copy_peer_async,     cuMemcpyPeerAsync)        \
    X(hipMemsetAsync,           fill_async,          cuMemsetD8Async)          \
    X(hipGraphInstantiate,      instantiate,         cuGraphInstantiateWithFlags) \
    X(hipDeviceGetAttribute,    device_attribute,    cuDeviceGetAttribute)     \
    X(hipGetDevice,             current_device,      cuCtxGetDevice)           \
    X(hipModuleOccupancyMaxPotentialBlockSize,                                 \
                                max_potential_block, cuOccupancyMaxPotentialBlockSize)
/* clang-format on */

/* Functions that newer drivers have dropped, and what to do instead. */
static const struct {
    const char *hip, *cuda, *instead;
} dropped[] = {
    {"hipModuleGetTexRef", "cuModuleGetTexRef",
     "Pass the kernel a texture object, which cuTexObjectCreate() makes, as an "
     "argument"},
    {"hipModuleLaunchCooperativeKernelMultiDevice",
     "cuLaunchCooperativeKernelMultiDevice",
     "Launch on each device with KPK_LAUNCH_COOPERATIVE of kpk_launch_ex(), "
     "and let the host or events keep them in step"},
};
enum { NDROPPED = sizeof(dropped) / sizeof(dropped[0]) };

static const char *second_of(const char *const pairs[][2], size_t n,
                             const char *first)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(pairs[i][0], first) == 0)
            return pairs[i][1];
    }
    return NULL;
}

#define X(hip, cuda_name) {#hip, #cuda_name},
static const char *const same_names[][2] = {KPK_CUDA_SAME_TABLE(X)};
#undef X
#define X(hip, adapter, cuda_name) {#hip, #cuda_name},
static const char *const adapter_names[][2] = {ADAPTER_TABLE(X)};
#undef X
enum {
    NSAME = sizeof(same_names) / sizeof(same_names[0]),
    NADAPTERS = sizeof(adapter_names) / sizeof(adapter_names[0])
};

/* The CUDA name for messages about functions that did not fail: an absent
 * function, or a call without a result. */
static const char *call_name(const char *hip_name)
{
    const char *name = second_of(same_names, NSAME, hip_name);

    if (!name)
        name = second_of(adapter_names, NADAPTERS, hip_name);
    for (int i = 0; i < NDROPPED && !name; i++) {
        if (strcmp(dropped[i].hip, hip_name) == 0)
            name = dropped[i].cuda;
    }
    return name ? name : hip_name;
}

static const char *failed_name(const char *hip_name)
{
    const char *name = second_of(same_names, NSAME, hip_name);

    return name ? name : called;
}

static const char *instead(const char *hip_name)
{
    for (int i = 0; i < NDROPPED; i++) {
        if (strcmp(dropped[i].hip, hip_name) == 0)
            return dropped[i].instead;
    }
    return NULL;
}

static const char *compile_log(void)
{
    return compile_text;
}

/* ---- finding it --------------------------------------------------------- */

/* Functions that CUDA dropped stay NULL, as do the ones that only hip_device.c
 * calls. */
struct kpk_i_gpu kpk_i_cuda = {
    .describe = describe,
    .enter = enter,
    .leave = leave,
    .call_name = call_name,
    .failed_name = failed_name,
    .instead = instead,
    .compile_log = compile_log,
    .platform = KPK_CUDA,
    .title = "the CUDA driver",
};

static const char *file_of_driver(void)
{
    const char *file;
    void *at;

    memcpy(&at, &cuda.cuModuleLoadData, sizeof(at));
    file = kpk_i_file_with(at);
    return file ? file : "a CUDA driver";
}

/* Binds all rows; fails if a needed function is missing. */
static kpk_status bind_functions(void *handle, const char *what)
{
    const char *missing = NULL;

#define X(need, name, exported, args)                                          \
    kpk_i_store_function(&cuda.name, kpk_i_library_symbol(handle, #exported)); \
    if ((need) && !cuda.name)                                                  \
        missing = #exported;
    KPK_CUDA_TABLE(X)
#undef X
    if (missing)
        return kpk_i_fail(KPK_ERR_NO_DRIVER,
                          "%s is no CUDA driver that kpack can use: it has no "
                          "%s. A driver of CUDA 11.0 or newer is needed",
                          what, missing);
#define X(hip, cuda_name) kpk_i_cuda.hip = cuda.cuda_name;
    KPK_CUDA_SAME_TABLE(X)
#undef X
#define X(hip, adapter, cuda_name)                                             \
    kpk_i_cuda.hip = cuda.cuda_name ? (adapter) : NULL;
    ADAPTER_TABLE(X)
#undef X
    kpk_i_cuda.launch_with = cuda.cuLaunchKernelEx ? launch_with : NULL;
    return KPK_OK;
}

/* The file's name is kept once the driver is: it is the loader's, and ends with
 * the driver. */
static kpk_status start_driver(void)
{
    const char *path = file_of_driver();
    CUresult error = CALL(cuInit, (0));

    ndevices = 0;
    if (error == CUDA_ERROR_STUB_LIBRARY) {
        (void)kpk_i_fail(KPK_ERR_NO_DRIVER,
                         "%s is a stub of CUDA's toolkit, which programs are "
                         "linked with, and no driver. Install NVIDIA's driver",
                         path);
        kpk_i_fail_behind(error);
        return KPK_ERR_NO_DRIVER;
    }
    if (error == CUDA_SUCCESS)
        error = CALL(cuDeviceGetCount, (&ndevices));
    if (error != CUDA_SUCCESS && error != CUDA_ERROR_NO_DEVICE)
        return kpk_i_fail_gpu(&kpk_i_cuda, called, error,
                              "the CUDA driver (%s) does not start%s", path,
                              error == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
                                  ? ", for it is of another release than the "
                                    "kernel's part: restart the machine"
                                  : "");
    if (ndevices > MAX_DEVICES)
        ndevices = MAX_DEVICES;
    if (CALL(cuDriverGetVersion, (&kpk_i_cuda.version)) != CUDA_SUCCESS)
        kpk_i_cuda.version = 0; /* no reason to fail: only messages need it */
    kpk_i_cuda.major = kpk_i_cuda.version / 1000;
    kpk_i_cuda.minor = kpk_i_cuda.version % 1000 / 10;
    kpk_i_cuda.path = path;
    return KPK_OK;
}

static kpk_status use_handle(void *handle, const char *what)
{
    kpk_status st = bind_functions(handle, what);

    return st == KPK_OK ? start_driver() : st;
}

struct search {
    struct kpk_i_tried tried;
    void *idle; /* the first that starts, but has no device */
    kpk_status status;
    struct kpk_i_failure why; /* the first that does not start */
};

static bool use_file(const char *name, void *what)
{
    struct search *search = what;
    void *handle = kpk_i_open_library(name, &search->tried);
    kpk_status st;

    if (!handle)
        return false;
    st = use_handle(handle, name);
    if (st == KPK_OK && ndevices > 0)
        return true;
    if (st == KPK_OK && !search->idle)
        search->idle = handle;
    if (st != KPK_OK && search->status == KPK_OK) {
        search->status = st;
        kpk_i_keep_failure(&search->why);
    }
    if (st != KPK_OK)
        kpk_i_library_close(handle);
    return false;
}

static kpk_status use_files(void)
{
    struct search search = {.status = KPK_OK};

    if (kpk_i_each_file(&kpk_i_cuda_library, use_file, &search))
        return KPK_OK;
    if (search.idle)
        return use_handle(search.idle, "the CUDA driver");
    if (search.status != KPK_OK) {
        kpk_i_put_back_failure(&search.why);
        return search.status;
    }
    return kpk_i_fail(KPK_ERR_NO_DRIVER, "no CUDA driver: %s%s%s%s",
                      kpk_i_cuda_library.absent, *search.tried.why ? " (" : "",
                      search.tried.why, *search.tried.why ? ")" : "");
}

/* A copy that is in the process wins: linked, or loaded privately. */
static bool use_loaded(kpk_status *st)
{
    void *handle = KPK_I_PROCESS;

    if (!kpk_i_library_symbol(KPK_I_PROCESS, "cuModuleLoadData")) {
        handle = kpk_i_library_loaded(&kpk_i_cuda_library, 0);
        if (!handle)
            return false;
    }
    *st = use_handle(handle, "the CUDA driver in this process");
    if (*st != KPK_OK && handle != KPK_I_PROCESS)
        kpk_i_library_close(handle);
    return true;
}

static kpk_status use_variable(const char *path)
{
    void *handle = kpk_i_library_open(path);
    kpk_status st;

    if (!handle)
        return kpk_i_does_not_load("no CUDA driver: ", "KPK_CUDA_LIBRARY",
                                   path);
    st = use_handle(handle, path);
    /* The handle is kept for the life of the process once it is in use. */
    if (st != KPK_OK)
        kpk_i_library_close(handle);
    return st;
}

static kpk_status find_and_bind(void)
{
    const char *variable = kpk_i_secure_getenv("KPK_CUDA_LIBRARY");
    kpk_status st = KPK_OK;

    if (variable && !*variable)
        return kpk_i_fail(KPK_ERR_NO_DRIVER, "KPK_CUDA_LIBRARY is empty, so no "
                                             "CUDA driver is looked for");
    if (kpk_i_program_is_static())
        return kpk_i_fail(KPK_ERR_NO_DRIVER,
                          "this program is linked with -static, and the CUDA "
                          "driver, a shared library, cannot be loaded into it");
    if (use_loaded(&st))
        return st;
    return variable ? use_variable(variable) : use_files();
}

kpk_status kpk_i_cuda_bind(void)
{
    static atomic_bool bound;

    return kpk_i_bind_once(&bound, find_and_bind);
}
