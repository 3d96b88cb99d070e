/* hip_proc_address.c - functions by name, and the small rest of the interface
 */
#include "call.h"
#include "functions.h"
#include "handle.h"
#include "hip_module.h"
#include "hip_register.h"
#include "thread_state.h"

#include <stdio.h>
#include <string.h>

enum { SYMBOL_FOUND, SYMBOL_NOT_FOUND };
enum { PER_THREAD_STREAM = 2 }; /* of the flags */

static void *find(const char *name)
{
    return strncmp(name, "hip", 3) == 0 ? function_by_name(name) : NULL;
}

static hipError_t proc_address(const char *symbol, void **pfn, int hip_version,
                               uint64_t flags, int *status)
{
    char name[128];

    if (!symbol || !*symbol || !pfn)
        return hipErrorInvalidValue;
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
    return *pfn ? hipSuccess : hipErrorInvalidValue;
}

HIP_API hipError_t hipGetProcAddress(const char *symbol, void **pfn,
                                     int hip_version, uint64_t flags,
                                     int *status)
{
    ENTER_WITH(NEED_NOTHING);
    LEAVE(proc_address(symbol, pfn, hip_version, flags, status));
}

/* For programs compiled with a default stream per thread. */
HIP_API hipError_t hipGetProcAddress_spt(const char *symbol, void **pfn,
                                         int hip_version, uint64_t flags,
                                         int *status)
{
    ENTER_WITH(NEED_NOTHING);
    LEAVE(proc_address(symbol, pfn, hip_version,
                       flags ? flags : PER_THREAD_STREAM, status));
}

static hipError_t driver_entry(const char *symbol, void **pfn, bool per_thread,
                               int *status)
{
    char name[128];

    if (!symbol || !*symbol || !pfn)
        return hipErrorInvalidValue;
    snprintf(name, sizeof(name), "%s_spt", symbol);
    *pfn = per_thread ? find(name) : NULL;
    if (!*pfn)
        *pfn = find(symbol);
    if (status)
        *status = *pfn ? SYMBOL_FOUND : SYMBOL_NOT_FOUND;
    return *pfn ? hipSuccess : hipErrorInvalidValue;
}

HIP_API hipError_t hipGetDriverEntryPoint(const char *symbol, void **pfn,
                                          uint64_t flags, int *status)
{
    ENTER_WITH(NEED_NOTHING);
    LEAVE(driver_entry(symbol, pfn, flags & PER_THREAD_STREAM, status));
}

HIP_API hipError_t hipGetDriverEntryPoint_spt(const char *symbol, void **pfn,
                                              uint64_t flags, int *status)
{
    ENTER_WITH(NEED_NOTHING);
    (void)flags;
    LEAVE(driver_entry(symbol, pfn, true, status));
}

HIP_API const char *hipApiName(uint32_t id)
{
    const char *name = function_name_of_id(id);

    return name ? name : "unknown";
}

HIP_API const char *hipGetCmdName(unsigned op)
{
    (void)op;
    return "unknown";
}

/* Nothing here is traced. */
HIP_API void hipRegisterTracerCallback(void *callback)
{
    (void)callback;
}

HIP_API const char *hipKernelNameRef(hipFunction_t f)
{
    return handle_valid(f, HANDLE_FUNCTION) ? f->kernel->name : NULL;
}

HIP_API const char *hipKernelNameRefByPtr(const void *stub, hipStream_t stream)
{
    hipFunction_t f;

    (void)stream;
    if (call_enter(__func__, NEED_DEVICE) != hipSuccess ||
        registered_function(stub, thread_device(), &f) != hipSuccess)
        return NULL;
    return f->kernel->name;
}

HIP_API hipChannelFormatDesc hipCreateChannelDesc(int x, int y, int z, int w,
                                                  int kind)
{
    return (hipChannelFormatDesc){x, y, z, w, kind};
}

/* Eager: hipModuleLoad() loads at once. */
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
