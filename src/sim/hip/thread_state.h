/* thread_state.h - state of a thread: device, streams, last error */
#ifndef SIM_HIP_THREAD_STATE_H
#define SIM_HIP_THREAD_STATE_H

#include "process_state.h"

struct call_configuration {
    struct call_configuration *below;
    dim3 grid, block;
    size_t shared;
    hipStream_t stream;
    uint8_t *arguments; /* of hipSetupArgument() */
    size_t narguments;
};

struct context_entry {
    struct context_entry *below;
    struct device *device;
};

struct thread {
    int device;
    hipError_t last_error;
    hipError_t sticky_error;           /* hipExtGetLastError() */
    struct queue *queues[MAX_DEVICES]; /* hipStreamPerThread */
    struct call_configuration *calls;
    struct context_entry *contexts;
    int capture_mode; /* hipThreadExchangeStreamCaptureMode() */
};

struct thread *thread_self(void); /* NULL: no memory */
struct device *thread_device(void);

/* False in a static program, in which nothing works. */
bool thread_has_variables(void);
void threads_begin(void);
void threads_shutdown(void);

#endif
