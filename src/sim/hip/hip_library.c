/* hip_library.c - modules by their newer names, and the linker
 *
 * A library loads as a module of the current device; its kernels are functions.
 * The linker takes one code object or bundle and gives it back: compiling and
 * linking need AMD's compiler.
 */
#include "call.h"
#include "handle.h"
#include "hip_cooperative.h"
#include "hip_launch.h"
#include "hip_module.h"
#include "hip_occupancy.h"
#include "hip_register.h"
#include "kernel_op.h"
#include "op_queue.h"
#include "process_state.h"
#include "stream_queue.h"

#include "../base/loaded_object.h"

#include <stdlib.h>
#include <string.h>

typedef struct hipLinkState *hipLinkState_t;

#define OPTIONS int *options, void **values, unsigned noptions
#define IGNORE_OPTIONS ((void)options, (void)values, (void)noptions)

static hipError_t as_library(hipError_t error, const hipModule_t *module)
{
    if (error == hipSuccess)
        module_set_library(*module);
    return error;
}

HIP_API hipError_t hipLibraryLoadData(hipModule_t *library, const void *code,
                                      OPTIONS, int *library_options,
                                      void **library_values,
                                      unsigned nlibrary_options)
{
    ENTER();
    IGNORE_OPTIONS;
    (void)library_options;
    (void)library_values;
    (void)nlibrary_options;
    if (!library || !code)
        LEAVE(hipErrorInvalidValue);
    LEAVE(as_library(module_from_memory(library, code, SIZE_MAX), library));
}

HIP_API hipError_t hipLibraryLoadFromFile(hipModule_t *library,
                                          const char *name, OPTIONS,
                                          int *library_options,
                                          void **library_values,
                                          unsigned nlibrary_options)
{
    ENTER();
    IGNORE_OPTIONS;
    (void)library_options;
    (void)library_values;
    (void)nlibrary_options;
    if (!library || !name)
        LEAVE(hipErrorInvalidValue);
    LEAVE(as_library(module_from_file(library, name), library));
}

HIP_API hipError_t hipLibraryUnload(hipModule_t library)
{
    ENTER();
    if (!handle_valid(library, HANDLE_MODULE))
        LEAVE(hipErrorInvalidHandle);
    LEAVE(module_unload(library));
}

HIP_API hipError_t hipLibraryGetKernel(hipFunction_t *kernel,
                                       hipModule_t library, const char *name)
{
    ENTER();
    if (!kernel || !library || !name)
        LEAVE(hipErrorInvalidValue);
    if (!handle_valid(library, HANDLE_MODULE))
        LEAVE(hipErrorInvalidHandle);
    *kernel = loaded_function(module_loaded(library), name);
    LEAVE(*kernel ? hipSuccess : hipErrorNotFound);
}

HIP_API hipError_t hipLibraryGetKernelCount(unsigned *count,
                                            hipModule_t library)
{
    ENTER();
    if (!count || !library)
        LEAVE(hipErrorInvalidValue);
    if (!handle_valid(library, HANDLE_MODULE))
        LEAVE(hipErrorInvalidHandle);
    *count = module_loaded(library)->object->nkernels;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipLibraryEnumerateKernels(hipFunction_t *kernels,
                                              unsigned n, hipModule_t library)
{
    const struct sim_code_object *o;
    unsigned i;

    ENTER();
    if (!kernels || !library)
        LEAVE(hipErrorInvalidValue);
    if (!handle_valid(library, HANDLE_MODULE))
        LEAVE(hipErrorInvalidHandle);
    o = module_loaded(library)->object;
    for (i = 0; i < n && i < o->nkernels; i++) {
        kernels[i] =
            loaded_function(module_loaded(library), o->kernels[i].name);
        if (!kernels[i])
            LEAVE(hipErrorOutOfMemory);
    }
    LEAVE(hipSuccess);
}

static hipError_t library_global(hipModule_t library, const char *name,
                                 bool managed_only, hipDeviceptr_t *dptr,
                                 size_t *bytes)
{
    if ((!dptr && !bytes) || !name || !*name)
        return hipErrorInvalidValue;
    if (!handle_valid(library, HANDLE_MODULE))
        return hipErrorInvalidHandle;
    return module_global(library, name, managed_only, dptr, bytes);
}

HIP_API hipError_t hipLibraryGetGlobal(hipDeviceptr_t *dptr, size_t *bytes,
                                       hipModule_t library, const char *name)
{
    ENTER();
    LEAVE(library_global(library, name, false, dptr, bytes));
}

HIP_API hipError_t hipLibraryGetManaged(hipDeviceptr_t *dptr, size_t *bytes,
                                        hipModule_t library, const char *name)
{
    ENTER();
    LEAVE(library_global(library, name, true, dptr, bytes));
}

/* ---- kernels ------------------------------------------------------------ */

HIP_API hipError_t hipKernelGetLibrary(hipModule_t *library,
                                       hipFunction_t kernel)
{
    hipModule_t found;

    ENTER();
    if (!library || !kernel)
        LEAVE(hipErrorInvalidValue);
    found = handle_valid(kernel, HANDLE_FUNCTION) ? module_library_of(kernel)
                                                  : NULL;
    if (!found)
        LEAVE(hipErrorInvalidHandle);
    *library = found;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipKernelGetName(const char **name, hipFunction_t kernel)
{
    ENTER();
    if (!name || !kernel)
        LEAVE(hipErrorInvalidValue);
    if (!handle_valid(kernel, HANDLE_FUNCTION) || !module_library_of(kernel))
        LEAVE(hipErrorInvalidHandle);
    *name = kernel->kernel->name;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipKernelGetFunction(hipFunction_t *function,
                                        hipFunction_t kernel)
{
    ENTER();
    if (!function || !kernel)
        LEAVE(hipErrorInvalidValue);
    *function = kernel;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipKernelGetParamInfo(hipFunction_t kernel, size_t index,
                                         size_t *offset, size_t *size)
{
    ENTER();
    if (!kernel || !offset)
        LEAVE(hipErrorInvalidValue);
    if (!handle_valid(kernel, HANDLE_FUNCTION))
        LEAVE(hipErrorInvalidDeviceFunction);
    if (index >= kernel->kernel->nexplicit)
        LEAVE(hipErrorInvalidValue);
    *offset = kernel->kernel->args[index].offset;
    if (size)
        *size = kernel->kernel->args[index].size;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipKernelGetAttribute(int *value, int which,
                                         hipFunction_t kernel, int device)
{
    ENTER();
    if (!value)
        LEAVE(hipErrorInvalidValue);
    if (!handle_valid(kernel, HANDLE_FUNCTION))
        LEAVE(hipErrorInvalidHandle);
    if (!process_device(device))
        LEAVE(hipErrorInvalidDevice);
    LEAVE(kernel_attribute(kernel, which, value));
}

HIP_API hipError_t hipKernelSetAttribute(int which, int value,
                                         hipFunction_t kernel, int device)
{
    ENTER();
    if (!kernel)
        LEAVE(hipErrorInvalidValue);
    if (!handle_valid(kernel, HANDLE_FUNCTION))
        LEAVE(hipErrorInvalidDeviceFunction);
    if (!process_device(device))
        LEAVE(hipErrorInvalidDevice);
    LEAVE(kernel_set_attribute(kernel, which, value));
}

HIP_API hipError_t hipKernelSetAttributeForDevice(hipFunction_t kernel,
                                                  int which, int value,
                                                  int device)
{
    ENTER();
    if (!handle_valid(kernel, HANDLE_FUNCTION))
        LEAVE(hipErrorInvalidHandle);
    if (!process_device(device))
        LEAVE(hipErrorInvalidDevice);
    LEAVE(kernel_set_attribute(kernel, which, value));
}

/* ---- linking ------------------------------------------------------------ */

enum input { CUBIN, PTX, FATBINARY, OBJECT, LIBRARY, NINPUTS };

struct hipLinkState {
    void *bytes; /* the one input */
    size_t n;
};

static hipError_t add(hipLinkState_t state, int type, const void *data,
                      size_t n)
{
    if (!handle_valid(state, HANDLE_LINK) || !data || !n)
        return hipErrorInvalidValue;
    if ((type != CUBIN && type != FATBINARY && type != OBJECT) ||
        state->bytes) {
        process_complain(
            "the linker takes one code object or bundle and nothing "
            "else: bitcode, SPIR-V and several inputs need AMD's "
            "compiler, which is not there; link with hipcc beforehand");
        return hipErrorNotSupported;
    }
    state->bytes = malloc(n);
    if (!state->bytes)
        return hipErrorOutOfMemory;
    memcpy(state->bytes, data, n);
    state->n = n;
    return hipSuccess;
}

HIP_API hipError_t hipLinkCreate(unsigned noptions, int *options, void **values,
                                 hipLinkState_t *out)
{
    hipLinkState_t state;

    ENTER();
    IGNORE_OPTIONS;
    if (!out)
        LEAVE(hipErrorInvalidValue);
    state = calloc(1, sizeof(*state));
    if (!state || !handle_add(state, HANDLE_LINK)) {
        free(state);
        LEAVE(hipErrorOutOfMemory);
    }
    *out = state;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipLinkAddData(hipLinkState_t state, int type, void *data,
                                  size_t n, const char *name, unsigned noptions,
                                  int *options, void **values)
{
    ENTER();
    IGNORE_OPTIONS;
    (void)name;
    LEAVE(add(state, type, data, n));
}

HIP_API hipError_t hipLinkAddFile(hipLinkState_t state, int type,
                                  const char *name, unsigned noptions,
                                  int *options, void **values)
{
    hipError_t error;
    void *bytes;
    size_t n;

    ENTER();
    IGNORE_OPTIONS;
    if (!handle_valid(state, HANDLE_LINK) || !name)
        LEAVE(hipErrorInvalidValue);
    error = module_read_file(name, &bytes, &n);
    if (error == hipSuccess) {
        error = add(state, type, bytes, n);
        free(bytes);
    }
    LEAVE(error);
}

/* The image belongs to the state and is freed with it. */
HIP_API hipError_t hipLinkComplete(hipLinkState_t state, void **image,
                                   size_t *n)
{
    ENTER();
    if (!handle_valid(state, HANDLE_LINK) || !image || !n || !state->bytes)
        LEAVE(hipErrorInvalidValue);
    *image = state->bytes;
    *n = state->n;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipLinkDestroy(hipLinkState_t state)
{
    ENTER();
    if (!handle_remove(state, HANDLE_LINK))
        LEAVE(hipErrorInvalidValue);
    free(state->bytes);
    free(state);
    LEAVE(hipSuccess);
}

/* ---- launches with attributes ------------------------------------------- */

typedef struct {
    int id;
    char pad[4];
    union {
        char bytes[64];
        int cooperative;
    } value;
} hipLaunchAttribute;

typedef struct {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    hipStream_t stream;
    hipLaunchAttribute *attrs;
    unsigned numAttrs;
} hipLaunchConfig_t;

typedef struct {
    unsigned gridDimX, gridDimY, gridDimZ;
    unsigned blockDimX, blockDimY, blockDimZ;
    unsigned sharedMemBytes;
    hipStream_t hStream;
    hipLaunchAttribute *attrs;
    unsigned numAttrs;
} HIP_LAUNCH_CONFIG;

/* Priorities and windows have no effect; no other attribute is known. */
static hipError_t read_attributes(const hipLaunchAttribute *list, unsigned n,
                                  bool *cooperative)
{
    enum { WINDOW = 1, COOPERATIVE = 2, PRIORITY = 8 };
    unsigned i;

    *cooperative = false;
    if (n && !list)
        return hipErrorInvalidValue;
    for (i = 0; i < n; i++)
        if (list[i].id == COOPERATIVE)
            *cooperative = list[i].value.cooperative != 0;
        else if (list[i].id != WINDOW && list[i].id != PRIORITY)
            return hipErrorInvalidValue;
    return hipSuccess;
}

HIP_API hipError_t hipLaunchKernelExC(const hipLaunchConfig_t *config,
                                      const void *stub, void **args)
{
    struct launch l = {.params = args};
    hipError_t error;
    bool cooperative;

    ENTER();
    if (!config || !stub)
        LEAVE(hipErrorInvalidValue);
    error = read_attributes(config->attrs, config->numAttrs, &cooperative);
    if (error != hipSuccess)
        LEAVE(error);
    if (cooperative)
        LEAVE(cooperative_launch_stub(stub, config->gridDim, config->blockDim,
                                      args, config->dynamicSmemBytes,
                                      stream_queue(config->stream)));
    LEAVE(registered_launch(stub, config->gridDim, config->blockDim,
                            config->dynamicSmemBytes, &l,
                            stream_queue(config->stream)));
}

HIP_API hipError_t hipDrvLaunchKernelEx(const HIP_LAUNCH_CONFIG *config,
                                        hipFunction_t function, void **params,
                                        void **extra)
{
    hipError_t error;
    bool cooperative;
    struct queue *q;

    ENTER();
    if (!config || !handle_valid(function, HANDLE_FUNCTION))
        LEAVE(hipErrorInvalidValue);
    error = read_attributes(config->attrs, config->numAttrs, &cooperative);
    if (error != hipSuccess)
        LEAVE(error);
    q = stream_queue(config->hStream);
    if (!q)
        LEAVE(hipErrorContextIsDestroyed);
    {
        const uint32_t blocks[3] = {config->gridDimX, config->gridDimY,
                                    config->gridDimZ};
        struct launch l = {
            .function = function,
            .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
            .shared = config->sharedMemBytes,
            .params = params,
            .extra = extra};

        error = cooperative ? cooperative_launch(&l, blocks, q)
                            : launch_blocks(&l, blocks, q);
    }
    queue_unref(q);
    LEAVE(error);
}
