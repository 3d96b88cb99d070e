/* library.c - modules by their newer names, and the linker
 *
 * A library is a module of the device that was current when it was loaded; its
 * kernels are functions. The linker takes one code object or bundle and gives
 * it back: what has to be compiled or put together first needs AMD's compiler.
 */
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

typedef struct hipLinkState *hipLinkState_t;

#define OPTIONS int *options, void **values, unsigned noptions
#define IGNORE_OPTIONS ((void)options, (void)values, (void)noptions)

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
    LEAVE(module_from_memory(library, code, SIZE_MAX));
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
    LEAVE(module_from_file(library, name));
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
    if (!kernel || !name)
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
    if (!count)
        LEAVE(hipErrorInvalidValue);
    if (!handle_valid(library, HANDLE_MODULE))
        LEAVE(hipErrorInvalidHandle);
    *count = module_loaded(library)->object->nkernels;
    LEAVE(hipSuccess);
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
        complain("the linker takes one code object or bundle and nothing "
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
    error = read_file(name, &bytes, &n);
    if (error == hipSuccess) {
        error = add(state, type, bytes, n);
        free(bytes);
    }
    LEAVE(error);
}

/* The image is the state's, and goes with it. */
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
        LEAVE(launch_host_cooperative(stub, config->gridDim, config->blockDim,
                                      args, config->dynamicSmemBytes,
                                      stream_queue(config->stream)));
    LEAVE(launch_host_function(stub, config->gridDim, config->blockDim,
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

        error = cooperative ? launch_cooperative(&l, blocks, q)
                            : launch_blocks(&l, blocks, q);
    }
    queue_unref(q);
    LEAVE(error);
}
