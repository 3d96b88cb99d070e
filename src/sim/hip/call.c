/* call.c - how every call begins and ends */
#define _GNU_SOURCE
#include "call.h"

#include "capture_state.h"
#include "fault_injection.h"
#include "process_state.h"
#include "thread_state.h"
#include "visible.h"

#include "../base/processor.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool initialised, gone;
static pid_t owner;

/* ---- static programs ---------------------------------------------------- */

/* Uses only a system call, because the C library may not work here. */
static void refuse_static_program(void)
{
    static const char text[] =
        "kpk-sim: this program was linked with -static, and a static program "
        "cannot load a HIP runtime; link it without -static\n";
    static bool said;

    if (!said && write(STDERR_FILENO, text, sizeof(text) - 1) > 0)
        said = true;
}

/* ---- the process -------------------------------------------------------- */

static uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static void initialise(void)
{
    int list[MAX_DEVICES] = {0}, i;

    owner = getpid();
    threads_begin();
    process.release = (int)number_from("KPK_SIM_HIP_VERSION", RELEASE_DEFAULT);
    if (process.release < 5 || process.release > 7) {
        process_complain("KPK_SIM_HIP_VERSION is %d, not 5, 6 or 7: taking %d",
                         process.release, RELEASE_DEFAULT);
        process.release = RELEASE_DEFAULT;
    }
    process.copy_delay_us = number_from("KPK_SIM_COPY_DELAY_US", 0);
    process.launch_blocking = number_from("HIP_LAUNCH_BLOCKING", 0) != 0;
    process.ndevices = visible_devices(list);
    for (i = 0; i < process.ndevices; i++) {
        process.devices[i].ordinal = i;
        process.devices[i].sim = sim_device_get(list[i]);
    }
    if (sim_device_error())
        process_complain("%s", sim_device_error());
    initialised = true;
}

bool calls_end(void)
{
    if (!initialised || gone || owner != getpid())
        return false;
    gone = true;
    return true;
}

/* ---- every call --------------------------------------------------------- */

hipError_t call_enter(const char *function, enum call_need need)
{
    struct thread *t;
    hipError_t error;

    if (gone)
        return hipErrorDeinitialized;
    if (!thread_has_variables()) {
        refuse_static_program();
        return hipErrorNotSupported;
    }
    pthread_once(&once, initialise);
    t = thread_self();
    if (!t)
        return hipErrorOutOfMemory;
    error = fault_injected(function);
    if (error != hipSuccess)
        return error;
    if (need == NEED_NOTHING)
        return hipSuccess;
    if (process.ndevices == 0)
        return hipErrorNoDevice;
    if (__atomic_load_n(&thread_device()->sim->lost, __ATOMIC_RELAXED))
        return hipErrorLaunchFailure;
    return capture_refuses(function);
}

hipError_t call_leave(hipError_t error)
{
    struct thread *t = gone || !thread_has_variables() ? NULL : thread_self();

    if (!t)
        return error;
    /* Up to 6.x the last error is that of the last call, good or bad; from 7.0
     * it is the last real error, and "not ready" is none. */
    const bool real = error != hipSuccess && error != hipErrorNotReady;

    if (real || process.release < 7)
        t->last_error = error;
    if (real)
        t->sticky_error = error;
    return error;
}

void call_ready(void)
{
    if (thread_has_variables())
        pthread_once(&once, initialise);
}
