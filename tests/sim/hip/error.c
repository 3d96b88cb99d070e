/* error.c - names and phrases of HIP errors */
#include "runtime.h"

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

    runtime_ready();
    if (rt.release == 5) /* which has no phrases */
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
