/* fake_hip.c - a HIP runtime that runs nothing and fails on command
 *
 * With FAKE_HIP_ADDS it runs one kernel, vector_add, for programs on machines
 * that have no simulated GPU. Otherwise built three times: as it is (a HIP of 6
 * and later, both property layouts), with FAKE_HIP_5 (the old layout alone, no
 * hipGetProcAddress), and with FAKE_HIP_BROKEN (without a function that kpack
 * needs). A file that the environment variable FAKE_HIP_IDLE names has no
 * device, others have one until a test sets them up.
 */
#define _GNU_SOURCE /* dladdr */
#include "fake_hip.h"

/* HIP up to 6.0 has this as a C++ function. */
#define EXT_LAUNCH "hipExtModuleLaunchKernel"
#ifdef FAKE_HIP_5
#define hipExtModuleLaunchKernel                                               \
    _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j
#endif
#include "hip_api.h"

#ifndef _WIN32
#include <dlfcn.h>
#endif
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef _WIN32
#define API __declspec(dllexport)
#else
#define API __attribute__((visibility("default")))
#endif

#define X(need, result, name, args) API result name args;
KPK_HIP_TABLE(X)
KPK_HIP_NEWER_TABLE(X)
#undef X

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    NOT_SUPPORTED = 801,
    UNKNOWN = 999
};

/* An unloaded module's slot is used again as late as possible, so that a late
 * use is noticed. */
enum { NMODULES = 256 };
static struct ihipModule_t {
    int device;
    const void *image;
    atomic_int is_loaded;
    unsigned char table[64]; /* its one variable */
} modules[NMODULES];
static int next_module;

struct ihipModuleSymbol_t {
    struct ihipModule_t *module;
    char name[64];
};

static _Thread_local int current;

static void set_current(int device)
{
    current = device;
}

static int get_current(void)
{
    return current;
}

extern API struct fake_hip fake_hip;
struct fake_hip fake_hip = {.set_current = set_current,
                            .get_current = get_current,
                            .targets = {"gfx90a:sramecc+:xnack-"}};

__attribute__((constructor)) static void look_at_file(void)
{
#ifdef _WIN32
    fake_hip.ndevices = 1;
#else
    const char *idle = getenv("FAKE_HIP_IDLE");
    Dl_info info;

    fake_hip.ndevices =
        !(idle && dladdr(&fake_hip, &info) && strstr(info.dli_fname, idle));
#endif
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ihipModuleSymbol_t functions[256];
static int nfunctions;

static int fail(void)
{
    atomic_fetch_add(&fake_hip.nfailed, 1);
    return fake_hip.fail_error;
}

/* Counts the call; the error that it has to fail with, or 0. */
static int enter(const char *name)
{
    const int nth = fake_hip.fail_nth;
    int left;

    atomic_fetch_add(&fake_hip.ncalls, 1);
    if (fake_hip.hold_name && strcmp(name, fake_hip.hold_name) == 0) {
        atomic_store(&fake_hip.held, 1);
        while (!atomic_load(&fake_hip.released))
            usleep(1000);
    }
    if (fake_hip.fail_name && strcmp(name, fake_hip.fail_name) == 0 &&
        (fake_hip.fail_nth == 0 || --fake_hip.fail_nth == 0)) {
        if (fake_hip.fail_nth == 0 && nth)
            fake_hip.fail_name = NULL;
        return fail();
    }
    left = atomic_load(&fake_hip.fail_in);
    if (left > 0) {
        left = atomic_fetch_sub(&fake_hip.fail_in, 1) - 1;
        if (left == 0)
            return fail();
    }
    if (left == 0 && fake_hip.fail_all_later)
        return fail();
    return SUCCESS;
}

#define ENTER()                                                                \
    do {                                                                       \
        int error_ = enter(__func__);                                          \
        if (error_)                                                            \
            return error_;                                                     \
    } while (0)

/* A module that a function or memory of a variable is of; it may be loaded no
 * more. */
static int is_gone(const struct ihipModule_t *module)
{
    if (module && atomic_load(&module->is_loaded))
        return 0;
    atomic_fetch_add(&fake_hip.nviolations, 1);
    return 1;
}

static int is_gone_from(const void *at)
{
    const unsigned char *first = (const unsigned char *)modules;
    const unsigned char *byte = at;

    return byte >= first && byte < first + sizeof(modules) &&
           is_gone(&modules[(size_t)(byte - first) / sizeof(modules[0])]);
}

static int lies(const char *name)
{
    return fake_hip.lie_name && strcmp(name, fake_hip.lie_name) == 0;
}

const char *hipGetErrorName(int error)
{
    if (lies(__func__))
        return NULL;
    return error == UNKNOWN ? "hipErrorUnknown" : "hipErrorFake";
}

const char *hipGetErrorString(int error)
{
    if (lies("hipGetErrorName"))
        return NULL;
    return error == UNKNOWN ? "unknown error" : "made up";
}

int hipRuntimeGetVersion(int *version)
{
    ENTER();
    *version = fake_hip.version;
    return SUCCESS;
}

int hipGetDeviceCount(int *count)
{
    ENTER();
    if (fake_hip.ndevices == 0)
        return NO_DEVICE;
    *count = lies(__func__) ? -1 : fake_hip.ndevices;
    return SUCCESS;
}

int hipGetDevice(int *device)
{
    ENTER();
    *device = current;
    return SUCCESS;
}

int hipSetDevice(int device)
{
    ENTER();
    atomic_fetch_add(&fake_hip.nsets, 1);
    if (device < 0 || device >= fake_hip.ndevices)
        return INVALID_DEVICE;
    current = device;
    return SUCCESS;
}

static void put(unsigned char *at, size_t offset, const void *from, size_t n)
{
    memcpy(at + offset, from, n);
}

static void put_int(unsigned char *at, size_t offset, int value)
{
    put(at, offset, &value, sizeof(value));
}

static void put_u64(unsigned char *at, size_t offset, uint64_t value)
{
    put(at, offset, &value, sizeof(value));
}

static const int limits_of_block[3] = {1024, 1024, 512};
static const int limits_of_grid[3] = {2147483647, 65536, 65535};

/* Every byte that is no field below is 0x5a, so that a wrong offset shows. */
int hipGetDeviceProperties(hipDeviceProp_t *out, int device)
{
    unsigned char *const to = (unsigned char *)out;
    const char *target;

    ENTER();
    if (device < 0 || device >= fake_hip.ndevices)
        return INVALID_DEVICE;
    target = fake_hip.targets[device];
    memset(to, 0x5a, 792);
    put(to, 0, "Old Layout", sizeof("Old Layout"));
    put_u64(to, 256, 16000000001u);
    put_u64(to, 264, 65536);
    put_int(to, 276, 64);
    put_int(to, 280, 1024);
    put(to, 284, limits_of_block, sizeof(limits_of_block));
    put(to, 296, limits_of_grid, sizeof(limits_of_grid));
    put_int(to, 336, 104);
    put(to, 396, target, strlen(target) + 1);
    put_int(to, 656, 1);
    put_int(to, 660, 0);
    return SUCCESS;
}

#ifndef FAKE_HIP_5
int hipGetDevicePropertiesR0600(hipDeviceProp_tR0600 *out, int device)
{
    unsigned char *const to = (unsigned char *)out;
    const char *target;

    ENTER();
    if (device < 0 || device >= fake_hip.ndevices)
        return INVALID_DEVICE;
    target = fake_hip.targets[device];
    memset(to, 0x5a, 1472);
    put(to, 0, "New Layout", sizeof("New Layout"));
    put_u64(to, 288, 64000000001u);
    put_u64(to, 296, 65536);
    put_int(to, 308, 64);
    put_int(to, 320, 1024);
    put(to, 324, limits_of_block, sizeof(limits_of_block));
    put(to, 336, limits_of_grid, sizeof(limits_of_grid));
    put_int(to, 388, 228);
    put_int(to, 688, !fake_hip.not_cooperative);
    put_int(to, 692,
            !fake_hip.not_cooperative && !fake_hip.not_cooperative_multi);
    put(to, 1160, target, strlen(target) + 1);
    return SUCCESS;
}
#endif

int hipDeviceSynchronize(void)
{
    ENTER();
    atomic_fetch_add(&fake_hip.nsyncs, 1);
    return SUCCESS;
}

static int load(hipModule_t *module, const void *image)
{
    struct ihipModule_t *m = NULL;

    if (memcmp(image, "\177ELF", 4) != 0)
        return INVALID_IMAGE;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < NMODULES && !m; i++) {
        m = &modules[next_module++ % NMODULES];
        if (atomic_load(&m->is_loaded))
            m = NULL;
    }
    if (m) {
        m->device = current;
        m->image = image;
        atomic_store(&m->is_loaded, 1);
    }
    pthread_mutex_unlock(&lock);
    if (!m)
        return UNKNOWN;
    atomic_fetch_add(&fake_hip.live, 1);
    atomic_fetch_add(&fake_hip.nloads, 1);
    atomic_fetch_add(&fake_hip.nloads_of_device[current], 1);
    *module = m;
    return SUCCESS;
}

int hipModuleLoadData(hipModule_t *module, const void *image)
{
    ENTER();
    if (lies(__func__)) {
        *module = NULL;
        return SUCCESS;
    }
    return load(module, image);
}

int hipModuleLoadDataEx(hipModule_t *module, const void *image, unsigned n,
                        hipJitOption *options, void **values)
{
    ENTER();
    if (lies(__func__)) {
        *module = NULL;
        return SUCCESS;
    }
    for (unsigned i = 0; i < n; i++) {
        if (options[i] && values[i])
            atomic_fetch_add(&fake_hip.noptions, 1);
    }
    return load(module, image);
}

/* Every module has one variable, `table`, and one texture, `present`. */
int hipModuleGetGlobal(void **address, size_t *nbytes, hipModule_t module,
                       const char *name)
{
    ENTER();
    if (module->device != current)
        atomic_fetch_add(&fake_hip.nviolations, 1);
    if (strcmp(name, "table") != 0)
        return NOT_FOUND;
    *address = lies(__func__) ? NULL : module->table;
    *nbytes = sizeof(module->table);
    return SUCCESS;
}

int hipModuleGetTexRef(textureReference **texture, hipModule_t module,
                       const char *name)
{
    ENTER();
    (void)module;
    if (lies(__func__)) {
        *texture = NULL;
        return SUCCESS;
    }
    if (strcmp(name, "present") == 0) {
        *texture = (textureReference *)&fake_hip;
        return SUCCESS;
    }
    return strcmp(name, "absent") == 0 ? NOT_FOUND : NOT_SUPPORTED;
}

int hipFuncGetAttribute(int *value, int attribute, hipFunction_t function)
{
    ENTER();
    if (is_gone(function->module))
        return INVALID_HANDLE;
    if (function->module->device != current)
        atomic_fetch_add(&fake_hip.nviolations, 1);
    fake_hip.attribute = attribute;
    *value = 1000 + attribute;
    return SUCCESS;
}

int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                       hipFunction_t function,
                                                       int block, size_t nbytes)
{
    ENTER();
    if (block <= 0 || is_gone(function->module) ||
        function->module->device != current)
        return INVALID_VALUE;
    *blocks = nbytes > 32768 ? 1 : fake_hip.blocks_per_unit;
    if (lies(__func__))
        *blocks = -1;
    return SUCCESS;
}

int hipModuleOccupancyMaxPotentialBlockSize(int *grid, int *block,
                                            hipFunction_t function,
                                            size_t nbytes, int limit)
{
    ENTER();
    (void)nbytes;
    if (is_gone(function->module) || function->module->device != current)
        return INVALID_VALUE;
    fake_hip.block_limit = limit;
    *grid = lies(__func__) && limit == 0 ? -1 : 456;
    *block = lies(__func__) ? -1 : limit && limit < 512 ? limit : 512;
    return SUCCESS;
}

int hipModuleUnload(hipModule_t module)
{
    ENTER();
    if (!module)
        return INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < nfunctions; i++) {
        if (functions[i].module == module)
            functions[i].module = NULL;
    }
    atomic_store(&module->is_loaded, 0);
    memset(module->table, 0xdd, sizeof(module->table));
    pthread_mutex_unlock(&lock);
    atomic_fetch_sub(&fake_hip.live, 1);
    atomic_fetch_add(&fake_hip.nunloads, 1);
    return SUCCESS;
}

int hipModuleGetFunction(hipFunction_t *function, hipModule_t module,
                         const char *name)
{
    int free_at = -1;

    ENTER();
    /* HIP up to 6 aborts the process here. */
    if (module->device != current)
        atomic_fetch_add(&fake_hip.nviolations, 1);
    atomic_fetch_add(&fake_hip.nlookups, 1);
    if (lies(__func__)) {
        *function = NULL;
        return SUCCESS;
    }
    pthread_mutex_lock(&lock);
    for (int i = 0; i < nfunctions && free_at < 0; i++) {
        if (!functions[i].module)
            free_at = i;
    }
    if (free_at < 0 && nfunctions < 256)
        free_at = nfunctions++;
    if (free_at >= 0) {
        functions[free_at].module = module;
        strncpy(functions[free_at].name, name, 63);
        *function = &functions[free_at];
    }
    pthread_mutex_unlock(&lock);
    return free_at >= 0 ? SUCCESS : NOT_FOUND;
}

static void note_arguments(struct fake_launch *to, void **params, void **extra)
{
    to->has_params = params != NULL;
    for (int i = 0; params && i < FAKE_MAX_PARAMS; i++) {
        if (fake_hip.param_nbytes[i])
            memcpy(&to->params[i], params[i], fake_hip.param_nbytes[i]);
    }
    to->has_extra = extra != NULL;
    if (extra && extra[0] == (void *)1 && extra[2] == (void *)2 &&
        extra[4] == (void *)3) {
        to->extra_nbytes = *(size_t *)extra[3];
        if (to->extra_nbytes <= sizeof(to->extra))
            memcpy(to->extra, extra[1], to->extra_nbytes);
    }
}

static void note(const char *call, const struct ihipModuleSymbol_t *function,
                 const unsigned grid[3], const unsigned block[3],
                 size_t shared_nbytes, void *stream, void **params,
                 void **extra)
{
    struct fake_launch *to = &fake_hip.last;

    pthread_mutex_lock(&lock);
    if (!function->module || function->module->device != current)
        atomic_fetch_add(&fake_hip.nviolations, 1);
    memset(to, 0, sizeof(*to));
    to->call = call;
    memcpy(to->kernel, function->name, sizeof(to->kernel));
    memcpy(to->grid, grid, sizeof(to->grid));
    memcpy(to->block, block, sizeof(to->block));
    to->shared_nbytes = (unsigned)shared_nbytes;
    to->device = current;
    to->stream = stream;
    note_arguments(to, params, extra);
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&fake_hip.nlaunches, 1);
}

#define THREE(x, y, z) ((const unsigned[3]){x, y, z})

/* vector_add(a, b, c, n): memory of the GPU is the host's. */
static void add(void **params)
{
#ifdef FAKE_HIP_ADDS
    const float *a = *(const float **)params[0];
    const float *b = *(const float **)params[1];
    float *c = *(float **)params[2];

    for (uint32_t i = 0; i < *(uint32_t *)params[3]; i++)
        c[i] = a[i] + b[i];
#else
    (void)params;
#endif
}

int hipModuleLaunchKernel(hipFunction_t function, unsigned gx, unsigned gy,
                          unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared_nbytes, hipStream_t stream,
                          void **params, void **extra)
{
    ENTER();
    note(__func__, function, THREE(gx, gy, gz), THREE(bx, by, bz),
         shared_nbytes, stream, params, extra);
    if (params && strcmp(function->name, "vector_add") == 0)
        add(params);
    return SUCCESS;
}

int hipExtModuleLaunchKernel(hipFunction_t function, uint32_t gx, uint32_t gy,
                             uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz,
                             size_t shared_nbytes, hipStream_t stream,
                             void **params, void **extra, hipEvent_t start,
                             hipEvent_t stop, uint32_t flags)
{
    const int error = enter(EXT_LAUNCH);

    if (error)
        return error;
    note(EXT_LAUNCH, function, THREE(gx, gy, gz), THREE(bx, by, bz),
         shared_nbytes, stream, params, extra);
    fake_hip.last.start_event = start;
    fake_hip.last.stop_event = stop;
    fake_hip.last.flags = flags;
    return SUCCESS;
}

#ifndef FAKE_HIP_5
int hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned gx,
                                     unsigned gy, unsigned gz, unsigned bx,
                                     unsigned by, unsigned bz,
                                     unsigned shared_nbytes, hipStream_t stream,
                                     void **params)
{
    ENTER();
    note(__func__, function, THREE(gx, gy, gz), THREE(bx, by, bz),
         shared_nbytes, stream, params, NULL);
    return SUCCESS;
}

int hipModuleLaunchCooperativeKernelMultiDevice(hipFunctionLaunchParams *list,
                                                unsigned n, unsigned flags)
{
    const int before = current;

    ENTER();
    for (unsigned i = 0; i < n; i++) {
        current = list[i].function->module->device;
        note(__func__, list[i].function, list[i].grid, list[i].block,
             list[i].shared_nbytes, list[i].stream, list[i].params, NULL);
    }
    current = before;
    fake_hip.last.flags = flags;
    fake_hip.last.nlaunches = n;
    return SUCCESS;
}
#endif

/* Memory in use, so that leak checkers find it. */
enum { MOST_KEPT = 4096 };
static void *kept[MOST_KEPT];

static void replace(const void *old, void *with)
{
    size_t i = 0;

    pthread_mutex_lock(&lock);
    while (i < MOST_KEPT - 1 && kept[i] != old)
        i++;
    kept[i] = with;
    pthread_mutex_unlock(&lock);
}

static int give_out(const char *name, size_t nbytes, void **out)
{
    *out = lies(name) ? NULL : malloc(nbytes ? nbytes : 1);
    if (*out) {
        replace(NULL, *out);
        atomic_fetch_add(&fake_hip.live, 1);
    }
    return *out || lies(name) ? SUCCESS : UNKNOWN;
}

static int drop_handle(void *handle)
{
    if (!handle)
        return SUCCESS;
    replace(handle, NULL);
    atomic_fetch_sub(&fake_hip.live, 1);
    free(handle);
    return SUCCESS;
}

int hipMalloc(void **ptr, size_t nbytes)
{
    ENTER();
    return give_out(__func__, nbytes, ptr);
}

int hipExtMallocWithFlags(void **ptr, size_t nbytes, unsigned flags)
{
    ENTER();
    fake_hip.flags = flags;
    return give_out(__func__, nbytes, ptr);
}

int hipDeviceCanAccessPeer(int *can, int device, int peer)
{
    ENTER();
    *can = !lies(__func__) && device != peer;
    return SUCCESS;
}

int hipDeviceEnablePeerAccess(int peer, unsigned flags)
{
    ENTER();
    fake_hip.flags = flags;
    fake_hip.peers[0] = current;
    fake_hip.peers[1] = peer;
    return SUCCESS;
}

/* A handle says where the memory is. Each import is memory of its own. */
int hipIpcGetMemHandle(hipIpcMemHandle_t *out, void *ptr)
{
    ENTER();
    memset(out->bytes, 0, sizeof(out->bytes));
    memcpy(out->bytes, &ptr, sizeof(ptr));
    return SUCCESS;
}

int hipIpcOpenMemHandle(void **out, hipIpcMemHandle_t handle, unsigned flags)
{
    ENTER();
    fake_hip.flags = flags;
    memcpy(&fake_hip.imported, handle.bytes, sizeof(fake_hip.imported));
    return give_out(__func__, 16, out);
}

int hipIpcCloseMemHandle(void *ptr)
{
    ENTER();
    return drop_handle(ptr);
}

int hipFree(void *ptr)
{
    ENTER();
    return drop_handle(ptr);
}

int hipMemcpy(void *to, const void *from, size_t nbytes, int kind)
{
    ENTER();
    if ((kind != 1 && kind != 2) || is_gone_from(kind == 1 ? to : from))
        return INVALID_VALUE;
    if (nbytes)
        memcpy(to, from, nbytes);
    return SUCCESS;
}

int hipMemset(void *to, int value, size_t nbytes)
{
    ENTER();
    if (nbytes)
        memset(to, value, nbytes);
    return SUCCESS;
}

/* ---- streams and events: one byte each -------------------------------- */

int hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags)
{
    ENTER();
    fake_hip.flags = flags;
    return give_out(__func__, 1, (void **)stream);
}

int hipStreamDestroy(hipStream_t stream)
{
    ENTER();
    return drop_handle(stream);
}

int hipStreamQuery(hipStream_t stream)
{
    ENTER();
    (void)stream;
    return fake_hip.not_ready ? NOT_READY : SUCCESS;
}

int hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags)
{
    ENTER();
    fake_hip.waited_stream = stream;
    fake_hip.waited_event = event;
    return flags ? INVALID_VALUE : SUCCESS;
}

int hipEventCreateWithFlags(hipEvent_t *event, unsigned flags)
{
    ENTER();
    fake_hip.flags = flags;
    return give_out(__func__, 1, (void **)event);
}

int hipEventDestroy(hipEvent_t event)
{
    ENTER();
    return drop_handle(event);
}

int hipEventRecord(hipEvent_t event, hipStream_t stream)
{
    ENTER();
    fake_hip.recorded_event = event;
    fake_hip.recorded_stream = stream;
    return SUCCESS;
}

int hipEventQuery(hipEvent_t event)
{
    ENTER();
    (void)event;
    return fake_hip.not_ready ? NOT_READY : SUCCESS;
}

int hipEventSynchronize(hipEvent_t event)
{
    ENTER();
    (void)event;
    atomic_fetch_add(&fake_hip.nsyncs, 1);
    return SUCCESS;
}

int hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t stop)
{
    ENTER();
    *ms = start == stop ? 0 : 2.5f;
    return fake_hip.not_ready ? NOT_READY : SUCCESS;
}

/* ---- copies in streams, pinned memory, the device's state --------------- */

int hipMemcpyAsync(void *to, const void *from, size_t nbytes, int kind,
                   hipStream_t stream)
{
    ENTER();
    if (kind < 1 || kind > 3 || nbytes == 0)
        return INVALID_VALUE;
    memcpy(to, from, nbytes);
    fake_hip.copy_kind = kind;
    fake_hip.copy_stream = stream;
    return SUCCESS;
}

int hipMemcpyPeerAsync(void *to, int to_device, const void *from,
                       int from_device, size_t nbytes, hipStream_t stream)
{
    ENTER();
    memcpy(to, from, nbytes);
    fake_hip.peers[0] = to_device;
    fake_hip.peers[1] = from_device;
    fake_hip.copy_stream = stream;
    return SUCCESS;
}

int hipMemsetAsync(void *to, int value, size_t nbytes, hipStream_t stream)
{
    ENTER();
    memset(to, value, nbytes);
    fake_hip.copy_stream = stream;
    return SUCCESS;
}

int hipHostMalloc(void **ptr, size_t nbytes, unsigned flags)
{
    ENTER();
    fake_hip.flags = flags;
    return give_out(__func__, nbytes, ptr);
}

int hipHostFree(void *ptr)
{
    ENTER();
    return drop_handle(ptr);
}

int hipMemGetInfo(size_t *unused, size_t *all)
{
    ENTER();
    *unused = (size_t)(current + 1) << 30;
    *all = (size_t)(current + 1) << 34;
    return SUCCESS;
}

int hipDeviceGetAttribute(int *out, hipDeviceAttribute_t attribute, int device)
{
    ENTER();
    *out = 1000 * device + attribute;
    return attribute < 0 ? INVALID_VALUE : SUCCESS;
}

/* ---- graphs: one stream at a time records ------------------------------- */

int hipStreamBeginCapture(hipStream_t stream, int mode)
{
    ENTER();
    fake_hip.capture_mode = mode;
    fake_hip.capturing = stream;
    return SUCCESS;
}

int hipStreamEndCapture(hipStream_t stream, hipGraph_t *graph)
{
    ENTER();
    if (stream != fake_hip.capturing)
        return INVALID_VALUE;
    fake_hip.capturing = NULL;
    return give_out(__func__, 1, (void **)graph);
}

int hipGraphInstantiate(hipGraphExec_t *exec, hipGraph_t graph,
                        hipGraphNode_t *node, char *log, size_t nbytes)
{
    ENTER();
    if (!graph || node || log || nbytes)
        return INVALID_VALUE;
    return give_out(__func__, 1, (void **)exec);
}

int hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream)
{
    ENTER();
    fake_hip.graph_stream = stream;
    return exec ? SUCCESS : INVALID_VALUE;
}

int hipGraphDestroy(hipGraph_t graph)
{
    ENTER();
    return drop_handle(graph);
}

int hipGraphExecDestroy(hipGraphExec_t exec)
{
    ENTER();
    return drop_handle(exec);
}

#ifndef FAKE_HIP_5
int hipStreamIsCapturing(hipStream_t stream, int *state)
{
    ENTER();
    *state = stream && stream == fake_hip.capturing;
    return SUCCESS;
}
#endif

#ifndef FAKE_HIP_5
/* Knows one function only: the rest is left for dlsym() to find. */
API int hipGetProcAddress(const char *name, void **to, int version,
                          uint64_t flags, void *status);
int hipGetProcAddress(const char *name, void **to, int version, uint64_t flags,
                      void *status)
{
    int (*found)(void **, size_t) = hipMalloc;

    (void)flags;
    (void)status;
    atomic_fetch_add(&fake_hip.nproc_addresses, 1);
    if (version < 600 || strcmp(name, "hipMalloc") != 0)
        return INVALID_VALUE;
    memcpy(to, &found, sizeof(*to));
    return SUCCESS;
}
#endif

#ifndef FAKE_HIP_BROKEN
int hipStreamSynchronize(hipStream_t stream)
{
    (void)stream;
    ENTER();
    atomic_fetch_add(&fake_hip.nsyncs, 1);
    return SUCCESS;
}
#endif
