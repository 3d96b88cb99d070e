/* driver.c - calls of HIP and CUDA that kpack does not wrap
 *
 * kpack has found the driver already; the same file is opened again here, which
 * gives the same library.
 */
#include "driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* A function of a platform's driver; NULL with a fault. */
static void *find(kpk_platform platform, const char *name, struct fault *fault)
{
    const char *path;
    void *library, *function;

    if (kpk_driver_info(platform, NULL, &path) != KPK_OK) {
        fail(fault, "%s", kpk_error_message());
        return NULL;
    }
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    function = library ? dlsym(library, name) : NULL;
    if (!function)
        fail(fault, "%s has no %s, which splitting over devices needs", path,
             name);
    return function;
}

typedef int hip_copy_peer(void *, int, const void *, int, size_t);
typedef int cuda_copy(unsigned long long, unsigned long long, size_t);

bool driver_copy_peer(const kpk_device *to_device, void *to,
                      const kpk_device *from_device, const void *from,
                      size_t nbytes, struct fault *fault)
{
    const bool hip = to_device->platform == KPK_HIP;
    const char *name = hip ? "hipMemcpyPeer" : "cuMemcpy";
    void *found;
    int status;

    if (to_device->platform != from_device->platform)
        return fail(fault,
                    "%s and %s have different drivers: a model is split over "
                    "devices of one driver",
                    to_device->name, from_device->name);
    found = find(to_device->platform, name, fault);
    if (!found)
        return false;
    if (hip) {
        hip_copy_peer *copy;

        memcpy(&copy, &found, sizeof(copy));
        status = copy(to, to_device->index, from, from_device->index, nbytes);
    } else { /* addresses tell the devices */
        cuda_copy *copy;

        memcpy(&copy, &found, sizeof(copy));
        status = copy((uintptr_t)to, (uintptr_t)from, nbytes);
    }
    return status == 0 || fail(fault, "%s from %s to %s failed: error %d", name,
                               from_device->name, to_device->name, status);
}

/* ---- recording ---- */

/* One name for HIP, one for CUDA; arguments and results are alike. */
#define RECORDER_TABLE(X)                                                      \
    X(stream_create, hipStreamCreateWithFlags, cuStreamCreate,                 \
      (void **, unsigned))                                                     \
    X(stream_destroy, hipStreamDestroy, cuStreamDestroy_v2, (void *))          \
    X(begin, hipStreamBeginCapture, cuStreamBeginCapture_v2, (void *, int))    \
    X(end, hipStreamEndCapture, cuStreamEndCapture, (void *, void **))         \
    X(instantiate, hipGraphInstantiateWithFlags, cuGraphInstantiateWithFlags,  \
      (void **, void *, unsigned long long))                                   \
    X(launch, hipGraphLaunch, cuGraphLaunch, (void *, void *))                 \
    X(destroy, hipGraphDestroy, cuGraphDestroy, (void *))                      \
    X(destroy_exec, hipGraphExecDestroy, cuGraphExecDestroy, (void *))         \
    X(event_create, hipEventCreateWithFlags, cuEventCreate,                    \
      (void **, unsigned))                                                     \
    X(event_destroy, hipEventDestroy, cuEventDestroy_v2, (void *))             \
    X(event_record, hipEventRecord, cuEventRecord, (void *, void *))           \
    X(event_wait, hipEventSynchronize, cuEventSynchronize, (void *))           \
    X(host_alloc, hipHostMalloc, cuMemHostAlloc, (void **, size_t, unsigned))  \
    X(host_free, hipHostFree, cuMemFreeHost, (void *))                         \
    X(copy_back, hipMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2,                     \
      (void *, const void *, size_t, void *))

/* How the device becomes the thread's current one, and what was before it. */
#define HIP_CURRENT_TABLE(X)                                                   \
    X(get_device, hipGetDevice, , (int *))                                     \
    X(set_device, hipSetDevice, , (int))
#define CUDA_CURRENT_TABLE(X)                                                  \
    X(retain, , cuDevicePrimaryCtxRetain, (void **, int))                      \
    X(release, , cuDevicePrimaryCtxRelease_v2, (int))                          \
    X(push, , cuCtxPushCurrent_v2, (void *))                                   \
    X(pop, , cuCtxPopCurrent_v2, (void **))

struct recorder {
#define X(name, hip, cuda, args) int(*name) args;
    RECORDER_TABLE(X)
    HIP_CURRENT_TABLE(X)
    CUDA_CURRENT_TABLE(X)
#undef X
    bool hip;
    int device, before; /* the recorder's; HIP's current one before it */
    void *context;      /* of CUDA's */
    void *stream, *exec;
    void *event, *host; /* of recorder_fetch() */
    size_t host_nbytes;
};

/* 0, or the driver's error. */
static int enter(struct recorder *r)
{
    if (!r->hip)
        return r->push(r->context);
    return r->get_device(&r->before) != 0 || r->set_device(r->device) != 0;
}

static void leave(struct recorder *r)
{
    void *context;

    if (r->hip)
        (void)r->set_device(r->before);
    else
        (void)r->pop(&context);
}

static bool find_functions(struct recorder *r)
{
    const kpk_platform platform = r->hip ? KPK_HIP : KPK_CUDA;
    struct fault unsaid;
    void *found;

#define X(name, hip_name, cuda_name, args)                                     \
    found = find(platform, r->hip ? #hip_name : #cuda_name, &unsaid);          \
    if (!found)                                                                \
        return false;                                                          \
    memcpy(&r->name, &found, sizeof(found));
    RECORDER_TABLE(X)
    if (r->hip) {
        HIP_CURRENT_TABLE(X)
    } else {
        CUDA_CURRENT_TABLE(X)
    }
#undef X
    return true;
}

struct recorder *recorder_open(const kpk_device *device)
{
    struct recorder *r = calloc(1, sizeof(*r));
    bool good;

    if (!r)
        return NULL;
    r->hip = device->platform == KPK_HIP;
    r->device = device->index;
    good =
        find_functions(r) && (r->hip || r->retain(&r->context, r->device) == 0);
    if (good && enter(r) == 0) {
        good = r->stream_create(&r->stream, 0) == 0;
        leave(r);
    }
    if (good && r->stream)
        return r;
    recorder_close(r);
    return NULL;
}

void recorder_close(struct recorder *r)
{
    if (!r)
        return;
    if (r->stream && enter(r) == 0) {
        if (r->exec)
            (void)r->destroy_exec(r->exec);
        if (r->event)
            (void)r->event_destroy(r->event);
        if (r->host)
            (void)r->host_free(r->host);
        (void)r->stream_destroy(r->stream);
        leave(r);
    }
    if (r->context)
        (void)r->release(r->device);
    free(r);
}

void *recorder_stream(const struct recorder *r)
{
    return r ? r->stream : NULL;
}

bool recorder_start(struct recorder *r)
{
    enum { RELAXED = 2 }; /* other threads' calls, and their own, go on */
    bool good;

    if (enter(r) != 0)
        return false;
    if (r->exec)
        (void)r->destroy_exec(r->exec);
    r->exec = NULL;
    good = r->begin(r->stream, RELAXED) == 0;
    leave(r);
    return good;
}

bool recorder_end(struct recorder *r)
{
    void *graph = NULL;
    bool good;

    if (enter(r) != 0)
        return false;
    good = r->end(r->stream, &graph) == 0 &&
           r->instantiate(&r->exec, graph, 0) == 0;
    if (graph)
        (void)r->destroy(graph);
    leave(r);
    return good;
}

bool recorder_replay(struct recorder *r)
{
    bool good = r->exec && enter(r) == 0;

    if (good) {
        good = r->launch(r->exec, r->stream) == 0;
        leave(r);
    }
    return good;
}

/* Memory of the host that the device writes to while the host goes on. */
static bool make_host(struct recorder *r, size_t nbytes)
{
    enum { NO_TIMES = 2 };

    if (!r->event && r->event_create(&r->event, NO_TIMES) != 0)
        return false;
    if (nbytes <= r->host_nbytes)
        return true;
    if (r->host)
        (void)r->host_free(r->host);
    r->host = NULL, r->host_nbytes = 0;
    if (r->host_alloc(&r->host, nbytes, 0) != 0)
        return false;
    r->host_nbytes = nbytes;
    return true;
}

bool recorder_fetch(struct recorder *r, const void *from, size_t nbytes)
{
    bool good;

    if (enter(r) != 0)
        return false;
    good = make_host(r, nbytes) &&
           r->copy_back(r->host, from, nbytes, r->stream) == 0 &&
           r->event_record(r->event, r->stream) == 0;
    leave(r);
    return good;
}

bool recorder_fetched(struct recorder *r, void *to, size_t nbytes)
{
    bool good;

    if (enter(r) != 0)
        return false;
    good = r->event_wait(r->event) == 0;
    leave(r);
    if (good)
        memcpy(to, r->host, nbytes);
    return good;
}
