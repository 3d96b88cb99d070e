/* hip_unsupported.c - functions that are exported only so that programs link
 *
 * Memory shared with graphics, and the other refused functions of
 * functions.def. Each answers hipErrorNotSupported.
 */
#include "call.h"
#include "op_queue.h"
#include "stream_queue.h"

/* The arguments are not looked at, whatever they are. */
#define REFUSED(release, name, ...)                                            \
    HIP_API hipError_t name(void)                                              \
    {                                                                          \
        ENTER();                                                               \
        LEAVE(hipErrorNotSupported);                                           \
    }
#define WORKS(...)
#include "functions.def"

/* Invalid arguments have their own error; valid ones give hipErrorNotSupported.
 */
static hipError_t no_semaphores(const void *semaphores, const void *params,
                                hipStream_t stream)
{
    struct queue *q = semaphores && params ? stream_queue(stream) : NULL;

    if (!q)
        return hipErrorInvalidValue;
    queue_unref(q);
    return hipErrorNotSupported;
}

HIP_API hipError_t hipSignalExternalSemaphoresAsync(const void *semaphores,
                                                    const void *params,
                                                    unsigned n,
                                                    hipStream_t stream)
{
    ENTER();
    (void)n;
    LEAVE(no_semaphores(semaphores, params, stream));
}

HIP_API hipError_t hipWaitExternalSemaphoresAsync(const void *semaphores,
                                                  const void *params,
                                                  unsigned n,
                                                  hipStream_t stream)
{
    ENTER();
    (void)n;
    LEAVE(no_semaphores(semaphores, params, stream));
}
