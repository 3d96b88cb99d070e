/* runtime.c - process and thread state, and the door of every call */
#define _GNU_SOURCE
#include "runtime.h"

#include "hostcall.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct runtime rt = {.lock = PTHREAD_MUTEX_INITIALIZER,
                     .release = RELEASE_DEFAULT};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_key;
static bool initialised, gone;
static pid_t owner;

static __thread struct thread *self;

void complain(const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "kpk-sim: %s\n", text);
}

/* ---- static programs ---------------------------------------------------- */

/*
 * A program linked with -static that loads this library has a second C library
 * in it, whose thread-local variables nobody set up: their addresses are next
 * to 0. LLVM and malloc need theirs as much as this file does.
 */
static bool has_thread_variables(void)
{
    struct thread **volatile address = &self;

    return (uintptr_t)address > 65536;
}

/* By the system call alone: nothing else is sure to work. */
static void refuse_static_program(void)
{
    static const char text[] =
        "kpk-sim: this program was linked with -static, and a static program "
        "cannot load a HIP runtime; link it without -static\n";
    static bool said;

    if (!said && write(STDERR_FILENO, text, sizeof(text) - 1) > 0)
        said = true;
}

/* ---- threads ------------------------------------------------------------ */

static void drop_thread(void *pointer)
{
    struct thread *t = pointer;
    int i;

    for (i = 0; i < MAX_DEVICES; i++)
        if (t->queues[i])
            queue_close(t->queues[i]);
    while (t->calls) {
        struct call_configuration *c = t->calls;

        t->calls = c->below;
        free(c->arguments);
        free(c);
    }
    while (t->contexts) {
        struct context_entry *e = t->contexts;

        t->contexts = e->below;
        free(e);
    }
    free(t);
    self = NULL;
}

struct thread *this_thread(void)
{
    if (!self) {
        self = calloc(1, sizeof(*self));
        if (self)
            pthread_setspecific(thread_key, self);
    }
    return self;
}

struct device *device_at(int ordinal)
{
    return ordinal >= 0 && ordinal < rt.ndevices ? &rt.devices[ordinal] : NULL;
}

struct device *current_device(void)
{
    return &rt.devices[this_thread()->device];
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
    pthread_key_create(&thread_key, drop_thread);
    rt.release = (int)number_from("KPK_SIM_HIP_VERSION", RELEASE_DEFAULT);
    if (rt.release < 5 || rt.release > 7) {
        complain("KPK_SIM_HIP_VERSION is %d, not 5, 6 or 7: taking %d",
                 rt.release, RELEASE_DEFAULT);
        rt.release = RELEASE_DEFAULT;
    }
    rt.copy_delay_us = number_from("KPK_SIM_COPY_DELAY_US", 0);
    rt.launch_blocking = number_from("HIP_LAUNCH_BLOCKING", 0) != 0;
    rt.ndevices = visible_devices(list);
    for (i = 0; i < rt.ndevices; i++) {
        rt.devices[i].ordinal = i;
        rt.devices[i].sim = sim_device_get(list[i]);
    }
    if (sim_device_error())
        complain("%s", sim_device_error());
    initialised = true;
}

/*
 * The end of the process drops queued work, as a real process takes its queues
 * with it, and waits for running operations. A forked child has none of the
 * threads and must not wait for them.
 */
__attribute__((destructor)) static void shut_down(void)
{
    if (!initialised || gone || owner != getpid())
        return;
    gone = true;
    if (on_worker()) /* exit() in a callback: it cannot wait for itself */
        return;
    queues_shutdown();
    if (self) {
        memset(self->queues, 0, sizeof(self->queues)); /* closed by now */
        drop_thread(self);
    }
    pthread_key_delete(thread_key);
    launches_shutdown();
    registered_shutdown();
    modules_shutdown();
    pools_shutdown();
    hostcalls_shutdown();
    handles_shutdown();
    sim_mem_shutdown();
}

/* ---- every call --------------------------------------------------------- */

hipError_t enter(const char *function, enum need need)
{
    struct thread *t;
    hipError_t error;

    if (gone)
        return hipErrorDeinitialized;
    if (!has_thread_variables()) {
        refuse_static_program();
        return hipErrorNotSupported;
    }
    pthread_once(&once, initialise);
    t = this_thread();
    if (!t)
        return hipErrorOutOfMemory;
    error = injected_fault(function);
    if (error != hipSuccess)
        return error;
    if (need == NEED_NOTHING)
        return hipSuccess;
    if (rt.ndevices == 0)
        return hipErrorNoDevice;
    if (__atomic_load_n(&current_device()->sim->lost, __ATOMIC_RELAXED))
        return hipErrorLaunchFailure;
    return capture_refuses(function);
}

hipError_t leave(hipError_t error)
{
    struct thread *t = gone || !has_thread_variables() ? NULL : this_thread();

    if (!t)
        return error;
    /* Up to 6.x the last error is that of the last call, good or bad; from 7.0
     * it is the last real error, and "not ready" is none. */
    const bool real = error != hipSuccess && error != hipErrorNotReady;

    if (real || rt.release < 7)
        t->last_error = error;
    if (real)
        t->sticky_error = error;
    return error;
}

HIP_API hipError_t hipGetLastError(void)
{
    struct thread *t;
    hipError_t error = enter(__func__, NEED_NOTHING);

    if (error != hipSuccess || !(t = this_thread()))
        return error;
    error = t->last_error;
    t->last_error = hipSuccess;
    return error;
}

HIP_API hipError_t hipPeekAtLastError(void)
{
    struct thread *t;
    hipError_t error = enter(__func__, NEED_NOTHING);

    if (error != hipSuccess || !(t = this_thread()))
        return error;
    return t->last_error;
}

HIP_API hipError_t hipExtGetLastError(void)
{
    struct thread *t;
    hipError_t error = enter(__func__, NEED_NOTHING);

    if (error != hipSuccess || !(t = this_thread()))
        return error;
    error = t->sticky_error;
    t->sticky_error = hipSuccess;
    return error;
}

void runtime_ready(void)
{
    if (has_thread_variables())
        pthread_once(&once, initialise);
}

HIP_API hipError_t hipInit(unsigned flags)
{
    ENTER();
    /* HIP 5.2 does not look. */
    LEAVE(flags == 0 || rt.release == 5 ? hipSuccess : hipErrorInvalidValue);
}
