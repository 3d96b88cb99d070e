/* fake_cuda.c - a CUDA driver that runs nothing and fails on command
 *
 * Its functions have the exported names of cuda.h, with their versions.
 */
#include "fake_cuda.h"

#include "cuda_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef _WIN32
#define API __declspec(dllexport)
#else
#define API __attribute__((visibility("default")))
#endif

#define X(need, name, exported, args) API CUresult exported args;
KPK_CUDA_TABLE(X)
#undef X

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    NO_BINARY_FOR_GPU = 209,
    INVALID_PTX = 218,
    NOT_FOUND = 500,
    NOT_READY = 600,
    UNKNOWN = 999
};

enum { JIT_ERROR_LOG_BUFFER = 5, JIT_ERROR_LOG_BUFFER_NBYTES = 6 };

struct CUctx_st {
    int device;
};

struct ihipModule_t {
    struct ihipModule_t
        *next; /* keeps modules that were not unloaded reachable */
    int device;
    int nfunctions;
    struct ihipModuleSymbol_t {
        struct ihipModule_t *module;
        char name[64];
    } functions[16];
};

static struct ihipModule_t *modules;
static struct CUctx_st primaries[4];
static struct CUctx_st hosts_own = {-1};
static _Thread_local struct CUctx_st *stack[FAKE_CUDA_DEPTH];
static _Thread_local int depth;

static void push_own(void)
{
    stack[depth++] = &hosts_own;
}

static void pop(void)
{
    depth--;
}

static int get_depth(void)
{
    return depth;
}

static int get_current(void)
{
    return depth ? stack[depth - 1]->device : -1;
}

extern API struct fake_cuda fake_cuda;
struct fake_cuda fake_cuda = {.push_own = push_own,
                              .pop = pop,
                              .ndevices = 1, /* until a test sets it up */
                              .capability = {90},
                              .depth = get_depth,
                              .current = get_current};

/* Counts the call; the error that it has to fail with, or 0. */
static int enter(const char *name)
{
    atomic_fetch_add(&fake_cuda.ncalls, 1);
    if (fake_cuda.fail_name && strcmp(name, fake_cuda.fail_name) == 0 &&
        (!fake_cuda.fail_nth || ++fake_cuda.nth == fake_cuda.fail_nth)) {
        fake_cuda.nfailed++;
        return fake_cuda.fail_error;
    }
    if (atomic_load(&fake_cuda.fail_in) == 0 && fake_cuda.fail_later)
        return fake_cuda.fail_error;
    if (atomic_load(&fake_cuda.fail_in) > 0 &&
        atomic_fetch_sub(&fake_cuda.fail_in, 1) == 1)
        return fake_cuda.fail_error;
    return SUCCESS;
}

/* Whether the function is to succeed without a result. */
static int lies(const char *name)
{
    return fake_cuda.lie_name && strcmp(name, fake_cuda.lie_name) == 0;
}

#define ENTER()                                                                \
    do {                                                                       \
        const int error_ = enter(__func__);                                    \
        if (error_)                                                            \
            return error_;                                                     \
    } while (0)

/* A call that works on the current context. */
#define ENTER_CONTEXT()                                                        \
    do {                                                                       \
        ENTER();                                                               \
        if (get_current() < 0) {                                               \
            atomic_fetch_add(&fake_cuda.nviolations, 1);                       \
            return INVALID_CONTEXT;                                            \
        }                                                                      \
    } while (0)

int cuInit(unsigned flags)
{
    (void)flags;
    atomic_fetch_add(&fake_cuda.ninits, 1);
    ENTER();
    return fake_cuda.init_error;
}

int cuDriverGetVersion(int *out)
{
    ENTER();
    *out = fake_cuda.version;
    return SUCCESS;
}

int cuGetErrorName(int error, const char **out)
{
    *out = error == NO_BINARY_FOR_GPU ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
                                      : "CUDA_ERROR_FAKE";
    return error == UNKNOWN ? INVALID_VALUE : SUCCESS;
}

int cuGetErrorString(int error, const char **out)
{
    *out = "made up";
    return error == UNKNOWN ? INVALID_VALUE : SUCCESS;
}

int cuDeviceGetCount(int *out)
{
    ENTER();
    *out = fake_cuda.ndevices;
    return SUCCESS;
}

int cuDeviceGet(int *out, int ordinal)
{
    ENTER();
    if (ordinal < 0 || ordinal >= fake_cuda.ndevices)
        return INVALID_DEVICE;
    *out = 70 + ordinal; /* a handle, not the ordinal */
    return SUCCESS;
}

int cuDeviceGetName(char *out, int nbytes, int device)
{
    ENTER();
    (void)snprintf(out, (size_t)nbytes, "Fake CUDA %d", device - 70);
    return SUCCESS;
}

int cuDeviceTotalMem_v2(size_t *out, int device)
{
    ENTER();
    (void)device;
    *out = (size_t)80 << 30;
    return SUCCESS;
}

int cuDeviceGetAttribute(int *out, int attribute, int device)
{
    static const int values[128] = {
        [1] = 1024,       [2] = 1024,  [3] = 1023,   [4] = 64,
        [5] = 2147483647, [6] = 65535, [7] = 65534,  [10] = 32,
        [16] = 132,       [95] = 1,    [97] = 232448};

    ENTER();
    if (attribute < 0 || attribute >= 128)
        return INVALID_VALUE;
    *out = attribute == 75   ? fake_cuda.capability[device - 70] / 10
           : attribute == 76 ? fake_cuda.capability[device - 70] % 10
                             : values[attribute];
    return *out || attribute == 76 ? SUCCESS : INVALID_VALUE;
}

int cuDevicePrimaryCtxRetain(CUcontext *out, int device)
{
    ENTER();
    atomic_fetch_add(&fake_cuda.nretains, 1);
    if (fake_cuda.slow)
        usleep(50000);
    if (fake_cuda.no_context) {
        *out = NULL;
        return SUCCESS;
    }
    primaries[device - 70].device = device - 70;
    *out = &primaries[device - 70];
    return SUCCESS;
}

int cuCtxGetCurrent(CUcontext *out)
{
    ENTER();
    *out = depth ? stack[depth - 1] : NULL;
    return SUCCESS;
}

int cuCtxGetDevice(int *out)
{
    ENTER();
    if (!depth)
        return INVALID_CONTEXT;
    *out = 70 + (get_current() < 0 ? fake_cuda.own_device : get_current());
    return SUCCESS;
}

int cuCtxPushCurrent_v2(CUcontext context)
{
    ENTER();
    if (depth == FAKE_CUDA_DEPTH)
        return INVALID_CONTEXT;
    stack[depth++] = context;
    return SUCCESS;
}

int cuCtxPopCurrent_v2(CUcontext *out)
{
    ENTER();
    if (depth == 0)
        return INVALID_CONTEXT;
    *out = stack[--depth];
    return SUCCESS;
}

int cuCtxSynchronize(void)
{
    ENTER_CONTEXT();
    return SUCCESS;
}

static int load(CUmodule *out, int ptx)
{
    struct ihipModule_t *m = calloc(1, sizeof(*m));

    if (!m)
        return UNKNOWN;
    m->device = get_current();
    m->next = modules;
    modules = m;
    fake_cuda.nptx += ptx;
    atomic_fetch_add(&fake_cuda.live, 1);
    *out = m;
    return SUCCESS;
}

int cuModuleLoadData(CUmodule *out, const void *image)
{
    ENTER_CONTEXT();
    return memcmp(image, "\177ELF", 4) == 0 ? load(out, 0) : INVALID_IMAGE;
}

static void write_log(unsigned n, const int *options, void **values)
{
    char *at = NULL;
    size_t room = 0;

    for (unsigned i = 0; i < n; i++) {
        if (options[i] == JIT_ERROR_LOG_BUFFER)
            at = values[i];
        if (options[i] == JIT_ERROR_LOG_BUFFER_NBYTES)
            room = (size_t)(uintptr_t)values[i];
    }
    if (at && room && fake_cuda.log)
        (void)snprintf(at, room, "%s", fake_cuda.log);
}

int cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned n,
                       int *options, void **values)
{
    const char *text = image;

    ENTER_CONTEXT();
    fake_cuda.noptions = (int)n;
    if (memcmp(image, "\177ELF", 4) == 0)
        return load(out, 0);
    if (strstr(text, ".version") && !fake_cuda.log)
        return load(out, 1);
    write_log(n, options, values);
    return INVALID_PTX;
}

int cuModuleUnload(CUmodule module)
{
    ENTER_CONTEXT();
    atomic_fetch_add(&fake_cuda.nviolations, module->device != get_current());
    for (CUmodule *at = &modules; *at; at = &(*at)->next)
        if (*at == module) {
            *at = module->next;
            break;
        }
    free(module);
    atomic_fetch_sub(&fake_cuda.live, 1);
    return SUCCESS;
}

int cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name)
{
    struct ihipModuleSymbol_t *f;

    ENTER_CONTEXT();
    if (module->nfunctions == 16)
        return NOT_FOUND;
    f = &module->functions[module->nfunctions++];
    f->module = module;
    strncpy(f->name, name, sizeof(f->name) - 1);
    *out = lies(__func__) ? NULL : f;
    return SUCCESS;
}

/* Every module has one variable, `table`. */
int cuModuleGetGlobal_v2(CUdeviceptr *out, size_t *nbytes, CUmodule module,
                         const char *name)
{
    static unsigned char table[64];

    ENTER_CONTEXT();
    (void)module;
    if (strcmp(name, "table") != 0)
        return NOT_FOUND;
    *out = lies(__func__) ? 0 : (unsigned long long)(uintptr_t)table;
    *nbytes = sizeof(table);
    return SUCCESS;
}

/* 1 is the static shared memory. */
int cuFuncGetAttribute(int *out, int attribute, CUfunction function)
{
    ENTER_CONTEXT();
    (void)function;
    *out = attribute != 1         ? 1000 + attribute
           : fake_cuda.own_shared ? fake_cuda.own_shared
                                  : 2448;
    return SUCCESS;
}

int cuFuncSetAttribute(CUfunction function, int attribute, int value)
{
    ENTER_CONTEXT();
    (void)function;
    if (attribute != 8)
        return INVALID_VALUE;
    fake_cuda.dynamic_shared = value;
    return SUCCESS;
}

/* A list of packed arguments ends with 0 here. */
static int note_extra(void **extra)
{
    if (!extra)
        return SUCCESS;
    if (extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4])
        return INVALID_VALUE;
    fake_cuda.last.extra_nbytes = *(size_t *)extra[3];
    return SUCCESS;
}

static int note(struct ihipModuleSymbol_t *f, const unsigned grid[3],
                const unsigned block[3], unsigned shared_nbytes, void *stream,
                void **params, void **extra, int cooperative)
{
    memset(&fake_cuda.last, 0, sizeof(fake_cuda.last));
    memcpy(fake_cuda.last.kernel, f->name, sizeof(f->name));
    memcpy(fake_cuda.last.grid, grid, sizeof(fake_cuda.last.grid));
    memcpy(fake_cuda.last.block, block, sizeof(fake_cuda.last.block));
    fake_cuda.last.shared_nbytes = shared_nbytes;
    fake_cuda.last.stream = stream;
    fake_cuda.last.device = get_current();
    fake_cuda.last.cooperative = cooperative;
    if (params)
        memcpy(&fake_cuda.last.param, params[0], 8);
    return note_extra(extra);
}

#define THREE(x, y, z) ((const unsigned[3]){x, y, z})

int cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz,
                   unsigned bx, unsigned by, unsigned bz,
                   unsigned shared_nbytes, CUstream stream, void **params,
                   void **extra)
{
    ENTER_CONTEXT();
    return note(f, THREE(gx, gy, gz), THREE(bx, by, bz), shared_nbytes, stream,
                params, extra, 0);
}

int cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy,
                              unsigned gz, unsigned bx, unsigned by,
                              unsigned bz, unsigned shared_nbytes,
                              CUstream stream, void **params)
{
    ENTER_CONTEXT();
    return note(f, THREE(gx, gy, gz), THREE(bx, by, bz), shared_nbytes, stream,
                params, NULL, 1);
}

int cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params,
                     void **extra)
{
    int error;

    ENTER_CONTEXT();
    error = note(f, config->grid, config->block, config->shared_nbytes,
                 config->stream, params, extra, 0);
    for (unsigned i = 0; i < config->nattributes; i++) {
        const CUlaunchAttribute *a = &config->attributes[i];

        if (a->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            memcpy(fake_cuda.last.cluster, a->value.cluster,
                   sizeof(fake_cuda.last.cluster));
        else if (a->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            fake_cuda.last.early = a->value.early;
        else
            return INVALID_VALUE;
    }
    return error;
}

/* Memory in use, so that leak checkers find it. Threads allocate at once. */
enum { MOST_KEPT = 4096 };
static _Atomic(void *) kept[MOST_KEPT];

static void replace(void *old, void *with)
{
    for (size_t i = 0; i < MOST_KEPT; i++) {
        void *is = old;

        if (atomic_compare_exchange_strong(&kept[i], &is, with))
            return;
    }
}

static int give_out(const char *name, size_t nbytes, void **out)
{
    *out = lies(name) ? NULL : malloc(nbytes);
    if (*out)
        replace(NULL, *out);
    atomic_fetch_add(&fake_cuda.live, *out != NULL);
    return *out || lies(name) ? SUCCESS : UNKNOWN;
}

static int drop_handle(void *handle)
{
    replace(handle, NULL);
    atomic_fetch_sub(&fake_cuda.live, 1);
    free(handle);
    return SUCCESS;
}

int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
    ENTER();
    *can = !lies(__func__) && device != peer;
    return SUCCESS;
}

int cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    ENTER_CONTEXT();
    (void)flags;
    fake_cuda.peers[0] = get_current();
    fake_cuda.peers[1] = peer->device;
    return SUCCESS;
}

int cuMemAlloc_v2(CUdeviceptr *out, size_t nbytes)
{
    void *at = NULL;
    int error;

    ENTER_CONTEXT();
    if (nbytes == 0)
        return INVALID_VALUE;
    error = give_out(__func__, nbytes, &at);
    *out = (unsigned long long)(uintptr_t)at;
    return error;
}

int cuIpcGetMemHandle(CUipcMemHandle *out, CUdeviceptr at)
{
    ENTER_CONTEXT();
    memset(out->bytes, 0, sizeof(out->bytes));
    memcpy(out->bytes, &at, sizeof(at));
    return SUCCESS;
}

int cuIpcOpenMemHandle_v2(CUdeviceptr *out, CUipcMemHandle handle,
                          unsigned flags)
{
    void *at = NULL;
    int error;

    ENTER_CONTEXT();
    if (flags != 1)
        return INVALID_VALUE;
    memcpy(&fake_cuda.imported, handle.bytes, sizeof(fake_cuda.imported));
    error = give_out(__func__, 16, &at);
    *out = (unsigned long long)(uintptr_t)at;
    return error;
}

int cuIpcCloseMemHandle(CUdeviceptr at)
{
    ENTER_CONTEXT();
    return drop_handle((void *)(uintptr_t)at);
}

int cuMemFree_v2(CUdeviceptr at)
{
    ENTER_CONTEXT();
    if (!at) /* as far as cuda.h says */
        return INVALID_VALUE;
    return drop_handle((void *)(uintptr_t)at);
}

int cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t n)
{
    ENTER_CONTEXT();
    memcpy((void *)(uintptr_t)to, from, n);
    return SUCCESS;
}

int cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t n)
{
    ENTER_CONTEXT();
    memcpy(to, (const void *)(uintptr_t)from, n);
    return SUCCESS;
}

int cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t n)
{
    ENTER_CONTEXT();
    memset((void *)(uintptr_t)to, value, n);
    return SUCCESS;
}

int cuStreamSynchronize(CUstream stream)
{
    ENTER_CONTEXT();
    (void)stream;
    return SUCCESS;
}

int cuStreamCreate(CUstream *out, unsigned flags)
{
    ENTER_CONTEXT();
    return flags > 1 ? INVALID_VALUE : give_out(__func__, 1, (void **)out);
}

int cuStreamDestroy_v2(CUstream stream)
{
    ENTER_CONTEXT();
    return drop_handle(stream);
}

int cuStreamQuery(CUstream stream)
{
    ENTER_CONTEXT();
    (void)stream;
    return fake_cuda.not_ready ? NOT_READY : SUCCESS;
}

int cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    ENTER_CONTEXT();
    (void)stream;
    (void)event;
    return flags ? INVALID_VALUE : SUCCESS;
}

int cuEventCreate(CUevent *out, unsigned flags)
{
    ENTER_CONTEXT();
    return flags > 3 ? INVALID_VALUE : give_out(__func__, 1, (void **)out);
}

int cuEventDestroy_v2(CUevent event)
{
    ENTER_CONTEXT();
    return drop_handle(event);
}

int cuEventRecord(CUevent event, CUstream stream)
{
    ENTER_CONTEXT();
    (void)event;
    (void)stream;
    fake_cuda.nevents++;
    return SUCCESS;
}

int cuEventQuery(CUevent event)
{
    ENTER_CONTEXT();
    (void)event;
    return fake_cuda.not_ready ? NOT_READY : SUCCESS;
}

int cuEventSynchronize(CUevent event)
{
    ENTER_CONTEXT();
    (void)event;
    return SUCCESS;
}

int cuEventElapsedTime(float *ms, CUevent start, CUevent stop)
{
    ENTER_CONTEXT();
    *ms = start == stop ? 0 : 2.5f;
    return SUCCESS;
}

int cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t n,
                         CUstream stream)
{
    ENTER_CONTEXT();
    memcpy((void *)(uintptr_t)to, from, n);
    fake_cuda.copy_stream = stream;
    return n ? SUCCESS : INVALID_VALUE;
}

int cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, CUstream stream)
{
    ENTER_CONTEXT();
    memcpy(to, (const void *)(uintptr_t)from, n);
    fake_cuda.copy_stream = stream;
    return n ? SUCCESS : INVALID_VALUE;
}

int cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n,
                         CUstream stream)
{
    ENTER_CONTEXT();
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, n);
    fake_cuda.copy_stream = stream;
    return n ? SUCCESS : INVALID_VALUE;
}

int cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                      CUcontext from_context, size_t n, CUstream stream)
{
    ENTER_CONTEXT();
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, n);
    fake_cuda.peers[0] = to_context->device;
    fake_cuda.peers[1] = from_context->device;
    fake_cuda.copy_stream = stream;
    return SUCCESS;
}

int cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n,
                    CUstream stream)
{
    ENTER_CONTEXT();
    memset((void *)(uintptr_t)to, value, n);
    fake_cuda.copy_stream = stream;
    return SUCCESS;
}

int cuMemHostAlloc(void **out, size_t n, unsigned flags)
{
    ENTER_CONTEXT();
    return flags == 1 ? give_out(__func__, n, out) : INVALID_VALUE;
}

int cuMemFreeHost(void *at)
{
    ENTER_CONTEXT();
    return drop_handle(at);
}

int cuMemGetInfo_v2(size_t *unused, size_t *all)
{
    ENTER_CONTEXT();
    *unused = (size_t)(get_current() + 1) << 30;
    *all = (size_t)(get_current() + 1) << 34;
    return SUCCESS;
}

int cuStreamBeginCapture_v2(CUstream stream, int mode)
{
    ENTER_CONTEXT();
    fake_cuda.capturing = stream;
    return mode > 2 ? INVALID_VALUE : SUCCESS;
}

int cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    ENTER_CONTEXT();
    if (stream != fake_cuda.capturing)
        return INVALID_VALUE;
    fake_cuda.capturing = NULL;
    return give_out(__func__, 1, (void **)graph);
}

int cuStreamIsCapturing(CUstream stream, int *state)
{
    ENTER_CONTEXT();
    *state = stream && stream == fake_cuda.capturing;
    return SUCCESS;
}

int cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
                                unsigned long long flags)
{
    ENTER_CONTEXT();
    return flags || !graph ? INVALID_VALUE
                           : give_out(__func__, 1, (void **)exec);
}

int cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    ENTER_CONTEXT();
    fake_cuda.graph_stream = stream;
    return exec ? SUCCESS : INVALID_VALUE;
}

int cuGraphDestroy(CUgraph graph)
{
    ENTER_CONTEXT();
    return drop_handle(graph);
}

int cuGraphExecDestroy(CUgraphExec exec)
{
    ENTER_CONTEXT();
    return drop_handle(exec);
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out, CUfunction f,
                                                int block, size_t nbytes)
{
    ENTER_CONTEXT();
    (void)f;
    *out = lies(__func__) ? -1 : block > 512 || nbytes > 65536 ? 1 : 2;
    return SUCCESS;
}

int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction f,
                                     size_t (*shared)(int), size_t nbytes,
                                     int most)
{
    ENTER_CONTEXT();
    (void)f;
    (void)nbytes;
    if (shared)
        return INVALID_VALUE;
    *grid = lies(__func__) ? 0 : 264;
    *block = most ? most : 512;
    return SUCCESS;
}
