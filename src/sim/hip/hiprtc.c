/* hiprtc.c - run-time compilation, which is not supported
 *
 * hipRTC is AMD's compiler as a library. Programs that link hipRTC start;
 * their first call prints one sentence that hipRTC is not supported.
 */
#include "process_state.h"

#include <pthread.h>

enum { HIPRTC_SUCCESS = 0, HIPRTC_ERROR_INTERNAL_ERROR = 11 };

static void say_once(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool said;

    pthread_mutex_lock(&lock);
    if (!said)
        process_complain(
            "hipRTC is not there: it takes AMD's compiler into the "
            "process; compile the kernels beforehand, into the program "
            "or with hipcc --genco for hipModuleLoad()");
    said = true;
    pthread_mutex_unlock(&lock);
}

/* The arguments are not looked at, whatever they are. */
/* clang-format off */
#define HIPRTC_TABLE(X)                                                        \
    X(hiprtcAddNameExpression) X(hiprtcCompileProgram) X(hiprtcCreateProgram)  \
    X(hiprtcDestroyProgram)    X(hiprtcGetBitcode)     X(hiprtcGetBitcodeSize) \
    X(hiprtcGetCode)           X(hiprtcGetCodeSize)    X(hiprtcGetLoweredName) \
    X(hiprtcGetProgramLog)     X(hiprtcGetProgramLogSize)                      \
    X(hiprtcLinkAddData)       X(hiprtcLinkAddFile)    X(hiprtcLinkComplete)   \
    X(hiprtcLinkCreate)        X(hiprtcLinkDestroy)
/* clang-format on */

#define X(name)                                                                \
    HIP_API int name(void)                                                     \
    {                                                                          \
        say_once();                                                            \
        return HIPRTC_ERROR_INTERNAL_ERROR;                                    \
    }
HIPRTC_TABLE(X)
#undef X

HIP_API int hiprtcVersion(int *major, int *minor)
{
    if (major)
        *major = 9;
    if (minor)
        *minor = 0;
    return HIPRTC_SUCCESS;
}

HIP_API const char *hiprtcGetErrorString(int result)
{
    return result == HIPRTC_SUCCESS ? "HIPRTC_SUCCESS"
                                    : "HIPRTC_ERROR_INTERNAL_ERROR";
}
