/* hip_error.c - names of HIP errors, the last error, logging of errors */
#include "hip_error.h"

#include "call.h"
#include "process_state.h"
#include "thread_state.h"

#include <stdatomic.h>
#include <stdlib.h>

static const struct {
    hipError_t number;
    const char *name, *phrase;
} errors[] = {
#define X(number, name, phrase) {name, #name, phrase},
    HIP_ERROR_TABLE(X)
#undef X
};

static int row_of(hipError_t error)
{
    int i;

    for (i = 0; i < (int)(sizeof(errors) / sizeof(errors[0])); i++)
        if (errors[i].number == error)
            return i;
    return -1;
}

HIP_API const char *hipGetErrorName(hipError_t error)
{
    int row = row_of(error);

    return row < 0 ? "hipErrorUnknown" : errors[row].name;
}

HIP_API const char *hipGetErrorString(hipError_t error)
{
    int row = row_of(error);

    call_ready();
    if (process.release == 5) /* which has no phrases */
        return hipGetErrorName(error);
    return row < 0 ? "unknown error" : errors[row].phrase;
}

HIP_API hipError_t hipDrvGetErrorName(hipError_t error, const char **text)
{
    ENTER_WITH(NEED_NOTHING);
    if (!text || row_of(error) < 0)
        LEAVE(hipErrorInvalidValue);
    *text = errors[row_of(error)].name;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipDrvGetErrorString(hipError_t error, const char **text)
{
    ENTER_WITH(NEED_NOTHING);
    if (!text || row_of(error) < 0)
        LEAVE(hipErrorInvalidValue);
    *text = errors[row_of(error)].phrase;
    LEAVE(hipSuccess);
}

/* ---- last error --------------------------------------------------------- */

HIP_API hipError_t hipGetLastError(void)
{
    struct thread *t;
    hipError_t error = call_enter(__func__, NEED_NOTHING);

    if (error != hipSuccess || !(t = thread_self()))
        return error;
    error = t->last_error;
    t->last_error = hipSuccess;
    return error;
}

HIP_API hipError_t hipPeekAtLastError(void)
{
    struct thread *t;
    hipError_t error = call_enter(__func__, NEED_NOTHING);

    if (error != hipSuccess || !(t = thread_self()))
        return error;
    return t->last_error;
}

HIP_API hipError_t hipExtGetLastError(void)
{
    struct thread *t;
    hipError_t error = call_enter(__func__, NEED_NOTHING);

    if (error != hipSuccess || !(t = thread_self()))
        return error;
    error = t->sticky_error;
    t->sticky_error = hipSuccess;
    return error;
}

/* ---- log level ----------------------------------------------------------- */

enum { AS_ENVIRONMENT = -1 };

static atomic_long level = AS_ENVIRONMENT, wanted;

size_t log_level(void)
{
    const char *text = getenv("AMD_LOG_LEVEL");
    long set = level, asked = text ? strtol(text, NULL, 10) : 0;

    if (set != AS_ENVIRONMENT)
        return (size_t)set;
    return asked > 0 ? (size_t)asked : 0;
}

/* Sets the level only: logs have neither a buffer nor a mask of areas. */
HIP_API hipError_t hipExtSetLoggingParams(size_t most, size_t size, size_t mask)
{
    ENTER_WITH(NEED_NOTHING);
    (void)size;
    (void)mask;
    wanted = (long)(most & INT32_MAX);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipExtEnableLogging(void)
{
    ENTER_WITH(NEED_NOTHING);
    level = wanted;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipExtDisableLogging(void)
{
    ENTER_WITH(NEED_NOTHING);
    level = 0;
    LEAVE(hipSuccess);
}
