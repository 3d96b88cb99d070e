/* hip_register.c - programs that hipcc compiled: embedded code and `<<<>>>`
 *
 * Before main() such a program hands over its fat binaries and tells which
 * host function stands for which kernel and which host variable for which
 * device variable. A binary is loaded for a device when something of it is
 * first used there. `k<<<grid, block, shared, stream>>>(args)` becomes
 * __hipPushCallConfiguration() and a call of the stub, which pops the
 * configuration and calls hipLaunchKernel().
 */
#define _GNU_SOURCE
#include "hip_register.h"

#include "call.h"
#include "hip_launch.h"
#include "hip_module.h"
#include "kernel_op.h"
#include "op_queue.h"
#include "process_state.h"
#include "stream_queue.h"
#include "thread_state.h"

#include "../base/allocation.h"
#include "../base/host_access.h"
#include "../base/loaded_object.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct fat_binary {
    struct fat_binary *next;
    const void *image;
    struct loaded *loaded[MAX_DEVICES];
};

/* A function or a variable of a binary. */
struct entry {
    struct entry *next;
    struct fat_binary *binary;
    const void *host; /* stub or shadow */
    char *name;       /* in the code object */
    bool is_function;
    void **managed; /* where the program keeps a managed variable's address */
    size_t size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fat_binary *binaries;
static struct entry *entries;

/* ---- registration ------------------------------------------------------- */

HIP_API void **__hipRegisterFatBinary(const void *data)
{
    const struct fat_binary_wrapper *wrapper = data;
    struct fat_binary *binary;

    if (!wrapper || wrapper->magic != FAT_BINARY_MAGIC ||
        wrapper->version != 1) {
        process_complain(
            "__hipRegisterFatBinary: not a fat binary of version 1");
        return NULL;
    }
    binary = calloc(1, sizeof(*binary));
    if (!binary)
        return NULL;
    binary->image = wrapper->binary;
    pthread_mutex_lock(&lock);
    binary->next = binaries;
    binaries = binary;
    pthread_mutex_unlock(&lock);
    return (void **)binary;
}

static struct entry *add_entry(void **binary, const void *host,
                               const char *name, bool is_function)
{
    struct entry *e = calloc(1, sizeof(*e));

    if (!e || !binary || !(e->name = strdup(name))) {
        free(e);
        return NULL;
    }
    e->binary = (struct fat_binary *)(void *)binary;
    e->host = host;
    e->is_function = is_function;
    pthread_mutex_lock(&lock);
    e->next = entries;
    entries = e;
    pthread_mutex_unlock(&lock);
    return e;
}

HIP_API void __hipRegisterFunction(void **binary, const void *stub,
                                   char *device_function, const char *name,
                                   unsigned thread_limit, void *tid, void *bid,
                                   dim3 *block, dim3 *grid, int *wave_size)
{
    (void)device_function;
    (void)thread_limit;
    (void)tid;
    (void)bid;
    (void)block;
    (void)grid;
    (void)wave_size;
    add_entry(binary, stub, name, true);
}

HIP_API void __hipRegisterVar(void **binary, void *shadow, char *host_name,
                              const char *name, int external, size_t size,
                              int constant, int global)
{
    struct entry *e = add_entry(binary, shadow, name, false);

    (void)host_name;
    (void)external;
    (void)constant;
    (void)global;
    if (e)
        e->size = size;
}

/* A `__managed__` variable: one copy, which host and devices reach through a
 * pointer each. */
HIP_API void __hipRegisterManagedVar(void **binary, void **pointer,
                                     const void *initial, const char *name,
                                     size_t size, unsigned align)
{
    struct entry *e = add_entry(binary, pointer, name, false);
    struct sim_alloc *a = sim_mem_alloc(-1, size, align, SIM_MEM_MANAGED);

    if (!e || !a) {
        process_complain("no memory for the managed variable %s", name);
        return;
    }
    if (initial)
        memcpy(a->bytes, initial, size);
    *pointer = a->bytes;
    e->managed = pointer;
    e->size = size;
}

/* References of textures and surfaces are variables to kernels. */
HIP_API void __hipRegisterTexture(void **binary, void *shadow, char *host_name,
                                  const char *name, int type, int normalised,
                                  int external)
{
    (void)host_name;
    (void)type;
    (void)normalised;
    (void)external;
    add_entry(binary, shadow, name, false);
}

HIP_API void __hipRegisterSurface(void **binary, void *shadow, char *host_name,
                                  const char *name, int type, int external)
{
    (void)host_name;
    (void)type;
    (void)external;
    add_entry(binary, shadow, name, false);
}

static void free_entry(struct entry *e)
{
    if (e->managed)
        sim_mem_free((uintptr_t)*e->managed);
    free(e->name);
    free(e);
}

static void free_binary(struct fat_binary *binary)
{
    int i;

    for (i = 0; i < MAX_DEVICES; i++)
        loaded_unref(binary->loaded[i]);
    free(binary);
}

HIP_API void __hipUnregisterFatBinary(void **handle)
{
    struct fat_binary *binary = (struct fat_binary *)(void *)handle, **link;
    struct entry **e;
    int i;

    pthread_mutex_lock(&lock);
    for (link = &binaries; *link && *link != binary; link = &(*link)->next)
        ;
    if (!*link) {
        pthread_mutex_unlock(&lock);
        return; /* the runtime was here first, at the process's end */
    }
    *link = binary->next;
    pthread_mutex_unlock(&lock);
    /* The binary's kernels may still run on a stream. */
    for (i = 0; i < process.ndevices; i++)
        if (binary->loaded[i])
            queues_wait(&process.devices[i]);
    pthread_mutex_lock(&lock);
    for (e = &entries; *e;) {
        struct entry *gone = *e;

        if (gone->binary != binary) {
            e = &gone->next;
            continue;
        }
        *e = gone->next;
        free_entry(gone);
    }
    pthread_mutex_unlock(&lock);
    free_binary(binary);
}

void registered_shutdown(void)
{
    while (entries) {
        struct entry *e = entries;

        entries = e->next;
        free_entry(e);
    }
    while (binaries) {
        struct fat_binary *b = binaries;

        binaries = b->next;
        free_binary(b);
    }
}

/* ---- looking up --------------------------------------------------------- */

/* Stores the addresses of the binary's managed variables in the device's code.
 */
static void connect_managed(const struct fat_binary *binary,
                            const struct loaded *loaded)
{
    const struct entry *e;

    for (e = entries; e; e = e->next) {
        const struct sim_global *g;
        uint8_t *view;

        if (e->binary != binary || !e->managed)
            continue;
        g = loaded_global(loaded, e->name);
        view = g ? sim_mem_host_view(g->address, sizeof(*e->managed)) : NULL;
        if (view) {
            memcpy(view, e->managed, sizeof(*e->managed));
            sim_mem_mark_written(g->address, sizeof(*e->managed));
        }
    }
}

/* With the lock held. */
static hipError_t load_for(struct fat_binary *binary, struct device *device,
                           struct loaded **out)
{
    struct loaded **slot = &binary->loaded[device->ordinal];
    hipError_t error = hipSuccess;

    if (!*slot) {
        error = loaded_from_image(device, binary->image, SIZE_MAX, slot);
        if (error == hipSuccess)
            connect_managed(binary, *slot);
    }
    *out = *slot;
    return error;
}

static const struct entry *find_entry(const void *host, bool is_function)
{
    const struct entry *e;

    for (e = entries; e; e = e->next)
        if (e->host == host && e->is_function == is_function)
            return e;
    return NULL;
}

hipError_t registered_function(const void *stub, struct device *device,
                               hipFunction_t *out)
{
    hipError_t error = hipErrorInvalidDeviceFunction;
    struct loaded *loaded;
    const struct entry *e;

    pthread_mutex_lock(&lock);
    e = find_entry(stub, true);
    if (e) {
        error = load_for(e->binary, device, &loaded);
        if (error == hipErrorInvalidImage) /* a bundle without this device */
            error = hipErrorNoBinaryForGpu;
        if (error == hipSuccess) {
            *out = loaded_function(loaded, e->name);
            if (!*out)
                error = hipErrorInvalidDeviceFunction;
        }
    }
    pthread_mutex_unlock(&lock);
    return error;
}

hipError_t registered_variable(const void *shadow, uint64_t *address,
                               uint64_t *size)
{
    hipError_t error = hipErrorInvalidSymbol;
    struct loaded *loaded;
    const struct entry *e;

    pthread_mutex_lock(&lock);
    e = find_entry(shadow, false);
    if (e && e->managed) {
        *address = (uintptr_t)*e->managed;
        *size = e->size;
        error = hipSuccess;
    } else if (e) {
        error = load_for(e->binary, thread_device(), &loaded);
        if (error == hipSuccess) {
            const struct sim_global *g = loaded_global(loaded, e->name);

            if (g) {
                *address = g->address;
                *size = g->size;
            } else {
                error = hipErrorInvalidSymbol;
            }
        }
    }
    pthread_mutex_unlock(&lock);
    return error;
}

HIP_API hipError_t hipGetSymbolAddress(void **address, const void *symbol)
{
    uint64_t at, size;
    hipError_t error;

    ENTER();
    if (!address)
        LEAVE(hipErrorInvalidValue);
    error = registered_variable(symbol, &at, &size);
    if (error == hipSuccess)
        *address = (void *)(uintptr_t)at;
    LEAVE(error);
}

HIP_API hipError_t hipGetSymbolSize(size_t *out, const void *symbol)
{
    uint64_t at, size;
    hipError_t error;

    ENTER();
    if (!out)
        LEAVE(hipErrorInvalidValue);
    error = registered_variable(symbol, &at, &size);
    if (error == hipSuccess)
        *out = size;
    LEAVE(error);
}

HIP_API hipError_t hipGetFuncBySymbol(hipFunction_t *function,
                                      const void *symbol)
{
    ENTER();
    if (!function || !symbol ||
        registered_function(symbol, thread_device(), function) != hipSuccess)
        LEAVE(hipErrorInvalidDeviceFunction);
    LEAVE(hipSuccess);
}

/* ---- launching ---------------------------------------------------------- */

static hipError_t push(dim3 grid, dim3 block, size_t shared, hipStream_t stream)
{
    struct call_configuration *c = calloc(1, sizeof(*c));
    struct thread *t = thread_self();

    if (!c)
        return hipErrorOutOfMemory;
    c->grid = grid;
    c->block = block;
    c->shared = shared;
    c->stream = stream;
    c->below = t->calls;
    t->calls = c;
    return hipSuccess;
}

/* The newest configuration, the caller's to free; NULL if there is none. */
static struct call_configuration *pop(void)
{
    struct thread *t = thread_self();
    struct call_configuration *c = t->calls;

    if (c)
        t->calls = c->below;
    return c;
}

HIP_API hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block,
                                              size_t shared, hipStream_t stream)
{
    ENTER();
    LEAVE(push(grid, block, shared, stream));
}

HIP_API hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block,
                                             size_t *shared,
                                             hipStream_t *stream)
{
    struct call_configuration *c;

    ENTER();
    c = pop();
    if (!c)
        LEAVE(hipErrorMissingConfiguration);
    *grid = c->grid;
    *block = c->block;
    *shared = c->shared;
    *stream = c->stream;
    free(c->arguments);
    free(c);
    LEAVE(hipSuccess);
}

hipError_t registered_launch(const void *stub, dim3 grid, dim3 block,
                             size_t shared, struct launch *l, struct queue *q)
{
    const uint32_t blocks[3] = {grid.x, grid.y, grid.z};
    hipError_t error = hipErrorInvalidDeviceFunction;

    if (!q)
        return process.release >= 7 ? hipErrorContextIsDestroyed
                                    : hipErrorInvalidValue;
    if (stub)
        error = registered_function(stub, q->device, &l->function);
    if (error == hipSuccess) {
        l->block[0] = block.x;
        l->block[1] = block.y;
        l->block[2] = block.z;
        l->shared = shared;
        l->any_device = true;
        l->stub = stub;
        error = launch_blocks(l, blocks, q);
        /* The runtime-style calls speak of configurations. */
        if (error == hipErrorInvalidValue &&
            (uint64_t)block.x * block.y * block.z > 1024)
            error = hipErrorInvalidConfiguration;
    }
    queue_unref(q);
    return error;
}

HIP_API hipError_t hipLaunchKernel(const void *stub, dim3 grid, dim3 block,
                                   void **args, size_t shared,
                                   hipStream_t stream)
{
    struct launch l = {.params = args};

    ENTER();
    LEAVE(
        registered_launch(stub, grid, block, shared, &l, stream_queue(stream)));
}

HIP_API hipError_t hipLaunchKernel_spt(const void *stub, dim3 grid, dim3 block,
                                       void **args, size_t shared,
                                       hipStream_t stream)
{
    struct launch l = {.params = args};

    ENTER();
    LEAVE(registered_launch(stub, grid, block, shared, &l,
                            stream_queue_spt(stream)));
}

HIP_API hipError_t hipExtLaunchKernel(const void *stub, dim3 grid, dim3 block,
                                      void **args, size_t shared,
                                      hipStream_t stream, hipEvent_t start,
                                      hipEvent_t stop, int flags)
{
    struct launch l = {.params = args, .start = start, .stop = stop};

    ENTER();
    (void)flags;
    LEAVE(
        registered_launch(stub, grid, block, shared, &l, stream_queue(stream)));
}

HIP_API hipError_t hipConfigureCall(dim3 grid, dim3 block, size_t shared,
                                    hipStream_t stream)
{
    ENTER();
    LEAVE(push(grid, block, shared, stream));
}

HIP_API hipError_t hipSetupArgument(const void *arg, size_t size, size_t offset)
{
    struct call_configuration *c;
    uint8_t *grown;

    ENTER();
    c = thread_self()->calls;
    if (!c)
        LEAVE(hipErrorMissingConfiguration);
    if (!arg || size > 65536 || offset > 65536)
        LEAVE(hipErrorInvalidValue);
    if (offset + size > c->narguments) {
        grown = realloc(c->arguments, offset + size);
        if (!grown)
            LEAVE(hipErrorOutOfMemory);
        memset(grown + c->narguments, 0, offset + size - c->narguments);
        c->arguments = grown;
        c->narguments = offset + size;
    }
    memcpy(c->arguments + offset, arg, size);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipLaunchByPtr(const void *stub)
{
    struct call_configuration *c;
    struct launch l = {0};
    hipError_t error;

    ENTER();
    c = pop();
    if (!c)
        LEAVE(hipErrorMissingConfiguration);
    {
        void *extra[] = {(void *)HIP_LAUNCH_PARAM_BUFFER_POINTER, c->arguments,
                         (void *)HIP_LAUNCH_PARAM_BUFFER_SIZE, &c->narguments,
                         (void *)HIP_LAUNCH_PARAM_END};

        l.extra = extra;
        error = registered_launch(stub, c->grid, c->block, c->shared, &l,
                                  stream_queue(c->stream));
    }
    free(c->arguments);
    free(c);
    LEAVE(error);
}
