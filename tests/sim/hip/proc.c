/* proc.c - functions by name, and the small rest of the interface */
#define _GNU_SOURCE
#include "runtime.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { SYMBOL_FOUND, SYMBOL_NOT_FOUND };
enum { PER_THREAD_STREAM = 2 }; /* of the flags */

static void *find(const char *name)
{
    Dl_info info;
    void *self, *found = NULL;

    if (strncmp(name, "hip", 3) != 0 || !dladdr(&rt, &info))
        return NULL;
    /* This library's own, whatever else the process has loaded; where it is
     * part of the program, the program's. */
    self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!self)
        self = dlopen(NULL, RTLD_LAZY);
    if (!self)
        return NULL;
    found = dlsym(self, name);
    dlclose(self);
    return found;
}

HIP_API hipError_t hipGetProcAddress(const char *symbol, void **pfn,
                                     int hip_version, uint64_t flags,
                                     int *status)
{
    char name[128];

    ENTER_WITH(NEED_NOTHING);
    if (!symbol || !*symbol || !pfn)
        LEAVE(hipErrorInvalidValue);
    *pfn = NULL;
    if (hip_version >= 600 && (strcmp(symbol, "hipGetDeviceProperties") == 0 ||
                               strcmp(symbol, "hipChooseDevice") == 0)) {
        snprintf(name, sizeof(name), "%sR0600", symbol);
        *pfn = find(name);
    } else {
        snprintf(name, sizeof(name), "%s_spt", symbol);
        if (flags & PER_THREAD_STREAM)
            *pfn = find(name);
        if (!*pfn)
            *pfn = find(symbol);
    }
    if (status)
        *status = *pfn ? SYMBOL_FOUND : SYMBOL_NOT_FOUND;
    LEAVE(*pfn ? hipSuccess : hipErrorInvalidValue);
}

HIP_API hipError_t hipGetDriverEntryPoint(const char *symbol, void **pfn,
                                          uint64_t flags, int *status)
{
    ENTER_WITH(NEED_NOTHING);
    (void)flags;
    if (!symbol || !*symbol || !pfn)
        LEAVE(hipErrorInvalidValue);
    *pfn = find(symbol);
    if (status)
        *status = *pfn ? SYMBOL_FOUND : SYMBOL_NOT_FOUND;
    LEAVE(*pfn ? hipSuccess : hipErrorInvalidValue);
}

HIP_API const char *hipApiName(uint32_t id)
{
    (void)id;
    return "unknown";
}

HIP_API const char *hipKernelNameRef(hipFunction_t f)
{
    return handle_valid(f, HANDLE_FUNCTION) ? f->kernel->name : NULL;
}

HIP_API const char *hipKernelNameRefByPtr(const void *stub, hipStream_t stream)
{
    hipFunction_t f;

    (void)stream;
    if (enter(__func__, NEED_DEVICE) != hipSuccess ||
        host_function(stub, current_device(), &f) != hipSuccess)
        return NULL;
    return f->kernel->name;
}

/* Modules are loaded when they are asked for. */
HIP_API hipError_t hipModuleGetLoadingMode(int *mode)
{
    ENTER();
    if (!mode)
        LEAVE(hipErrorInvalidValue);
    *mode = 1; /* eager */
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipProfilerStart(void)
{
    ENTER();
    LEAVE(hipErrorNotSupported);
}

HIP_API hipError_t hipProfilerStop(void)
{
    ENTER();
    LEAVE(hipErrorNotSupported);
}
