/* stand_in.c - the unit tests' fake CUDA driver, set by environment variables
 *
 *   STAND_IN_DEVICES     "90,120": an sm_90 and an sm_120
 *   STAND_IN_INIT        "999": the error that cuInit() returns
 *   STAND_IN_PARAMS      "0:8,8:4": offsets and sizes of all kernels'
 *                        parameters
 *   STAND_IN_ATTRIBUTES  "1024,0,0,16,40": of all kernels, from number 0 on
 *
 * It runs no kernel: tests with it check how programs are built and found, and
 * how they handle the driver's answers.
 */
#define cuFuncGetAttribute fakes_cuFuncGetAttribute
/* Its functions, one under another name.
 * NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "../unit/fake_cuda.c"
#undef cuFuncGetAttribute

/* Each function is declared, then defined. */
#define FUNCTION(name, arguments)                                              \
    API int name arguments;                                                    \
    int name arguments

/* Reads numbers from a list, one character before each. */
static int numbers_of(const char *variable, int *out, int most)
{
    const char *at = getenv(variable);
    int n = 0;

    while (at && *at && n < most) {
        char *end;

        out[n++] = (int)strtol(at, &end, 10);
        at = *end ? end + 1 : end;
    }
    return n;
}

__attribute__((constructor)) static void read_environment(void)
{
    fake_cuda.version = 13000;
    fake_cuda.ndevices =
        numbers_of("STAND_IN_DEVICES", fake_cuda.capability, 4);
    (void)numbers_of("STAND_IN_INIT", &fake_cuda.init_error, 1);
}

FUNCTION(cuFuncGetAttribute, (int *out, int attribute, CUfunction function))
{
    int values[16];
    const int n = numbers_of("STAND_IN_ATTRIBUTES", values, 16);

    if (attribute < 0 || attribute >= n)
        return fakes_cuFuncGetAttribute(out, attribute, function);
    *out = values[attribute];
    return SUCCESS;
}

FUNCTION(cuFuncGetParamInfo,
         (CUfunction function, size_t index, size_t *offset, size_t *nbytes))
{
    int values[64];
    const int n = numbers_of("STAND_IN_PARAMS", values, 64);

    (void)function;
    if (2 * index + 1 >= (size_t)n)
        return INVALID_VALUE;
    *offset = (size_t)values[2 * index];
    *nbytes = (size_t)values[2 * index + 1];
    return SUCCESS;
}

/* Calls of tests/ways beside kpack. */

FUNCTION(cuCtxSetCurrent, (CUcontext context))
{
    ENTER();
    stack[0] = context;
    depth = context != NULL;
    return SUCCESS;
}
