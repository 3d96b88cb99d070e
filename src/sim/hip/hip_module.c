/* hip_module.c - modules: images in all accepted forms, functions, globals */
#define _GNU_SOURCE
#include "hip_module.h"

#include "call.h"
#include "handle.h"
#include "hip_error.h"
#include "process_state.h"
#include "thread_state.h"

#include "../base/allocation.h"
#include "../base/bundle_pick.h"
#include "../base/host_access.h"
#include "../base/loaded_object.h"
#include "../base/loader.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ihipModule_t {
    struct ihipModule_t *next;
    struct loaded *loaded;
    bool is_library; /* loaded by its newer name: its functions know it */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static hipModule_t modules;

/* ---- loading ------------------------------------------------------------ */

/* Causes of a failed load; each release has its answers (facts, 4.3). */
enum failure { NOT_ELF, REFUSED, NO_ENTRY, BAD_BUNDLE, NFAILURES };

static hipError_t load_error(enum failure failure, const char *why)
{
    static const hipError_t answers[][NFAILURES] = {
        /* NOT_ELF, REFUSED, NO_ENTRY, BAD_BUNDLE */
        {hipErrorInvalidKernelFile, hipErrorSharedObjectInitFailed,
         hipErrorNoBinaryForGpu, hipErrorInvalidValue}, /* 5 */
        {hipErrorInvalidKernelFile, hipErrorNoBinaryForGpu,
         hipErrorNoBinaryForGpu, hipErrorInvalidValue}, /* 6 */
        {hipErrorInvalidImage, hipErrorNoBinaryForGpu, hipErrorInvalidImage,
         hipErrorInvalidImage}, /* 7 */
    };

    if (log_level() > 0)
        process_complain("module not loaded: %s", why);
    return answers[process.release - 5][failure];
}

static hipError_t load_elf(struct device *device, const void *elf, size_t size,
                           struct loaded **out)
{
    struct sim_code_object *object;
    struct loaded *loaded;
    char why[256] = "";

    switch (sim_code_object_load(device->sim, elf, size, &object, why)) {
    case SIM_LOAD_OK:
        break;
    case SIM_LOAD_NOT_ELF:
        return load_error(NOT_ELF, why);
    case SIM_LOAD_NO_MEMORY:
        return hipErrorOutOfMemory;
    default:
        return load_error(REFUSED, why);
    }
    /* ABI version 4, that is code object version 6, came with 6.2. */
    if (process.release < 6 && object->abi_version > 3) {
        sim_code_object_free(object);
        return load_error(REFUSED, "code object version 6 is not supported");
    }
    loaded = calloc(1, sizeof(*loaded));
    if (!loaded) {
        sim_code_object_free(object);
        return hipErrorOutOfMemory;
    }
    loaded->object = object;
    loaded->device = device;
    loaded->refs = 1;
    *out = loaded;
    return hipSuccess;
}

hipError_t loaded_from_image(struct device *device, const void *image,
                             size_t size, struct loaded **out)
{
    void *expanded = NULL;
    const void *elf = image;
    size_t nbytes = size;
    hipError_t error;
    char why[256] = "";

    switch (sim_bundle_pick(device->sim, image, size, &elf, &nbytes, &expanded,
                            why)) {
    case SIM_BUNDLE_OK:
    case SIM_BUNDLE_NONE:
        break;
    case SIM_BUNDLE_NO_ENTRY:
        return load_error(NO_ENTRY, why);
    case SIM_BUNDLE_CORRUPT:
        return load_error(BAD_BUNDLE, why);
    case SIM_BUNDLE_NO_MEMORY:
        return hipErrorOutOfMemory;
    }
    error = load_elf(device, elf, nbytes, out);
    free(expanded);
    return error;
}

/* ---- managed variables -------------------------------------------------- */

/*
 * A managed variable x is two symbols: `x`, a pointer that the code goes
 * through, and `x.managed`, what it holds at first. The one copy that host and
 * device share is made here, where no host code registered one.
 */
struct managed {
    struct managed *next;
    const char *name; /* x.managed's, in the code object */
    struct sim_alloc *memory;
};

static const char managed_suffix[] = ".managed";

static bool is_managed(const char *symbol, const char *name)
{
    size_t n = strlen(name);

    return strncmp(symbol, name, n) == 0 &&
           strcmp(symbol + n, managed_suffix) == 0;
}

static hipError_t connect_one(struct loaded *loaded,
                              const struct sim_global *pointer,
                              const struct sim_global *initial)
{
    struct managed *m = calloc(1, sizeof(*m));
    const uint8_t *from = sim_mem_host_view(initial->address, initial->size);
    uint8_t *to = sim_mem_host_view(pointer->address, sizeof(uint64_t));

    if (m)
        m->memory = sim_mem_alloc(loaded->device->sim->ordinal, initial->size,
                                  0, SIM_MEM_MANAGED);
    if (!m || !m->memory || !from || !to) {
        free(m);
        return hipErrorOutOfMemory;
    }
    m->name = initial->name;
    m->next = loaded->managed;
    loaded->managed = m;
    memcpy(m->memory->bytes, from, initial->size);
    memcpy(to, &m->memory->base, sizeof(uint64_t));
    sim_mem_mark_written(pointer->address, sizeof(uint64_t));
    return hipSuccess;
}

static hipError_t connect_managed(struct loaded *loaded)
{
    const struct sim_code_object *o = loaded->object;
    hipError_t error = hipSuccess;
    uint32_t i, k;

    for (i = 0; i < o->nglobals; i++)
        for (k = 0; k < o->nglobals && error == hipSuccess; k++)
            if (o->globals[k].size &&
                is_managed(o->globals[k].name, o->globals[i].name))
                error = connect_one(loaded, &o->globals[i], &o->globals[k]);
    return error;
}

/* ---- references ----------------------------------------------------- */

void loaded_ref(struct loaded *loaded)
{
    __atomic_fetch_add(&loaded->refs, 1, __ATOMIC_RELAXED);
}

void loaded_unref(struct loaded *loaded)
{
    if (!loaded || __atomic_fetch_sub(&loaded->refs, 1, __ATOMIC_ACQ_REL) != 1)
        return;
    while (loaded->functions) {
        hipFunction_t f = loaded->functions;

        loaded->functions = f->next;
        handle_remove(f, HANDLE_FUNCTION);
        free(f);
    }
    while (loaded->managed) {
        struct managed *m = loaded->managed;

        loaded->managed = m->next;
        sim_mem_free(m->memory->base);
        free(m);
    }
    if (loaded->textures_free)
        loaded->textures_free(loaded);
    sim_code_object_free(loaded->object);
    free(loaded);
}

hipError_t module_from_memory(hipModule_t *out, const void *image, size_t size)
{
    hipModule_t module = calloc(1, sizeof(*module));
    hipError_t error = hipErrorOutOfMemory;

    if (!module)
        return error;
    error = loaded_from_image(thread_device(), image, size, &module->loaded);
    if (module->loaded) /* NULL after a failure */
        error = connect_managed(module->loaded);
    if (error == hipSuccess && !handle_add(module, HANDLE_MODULE))
        error = hipErrorOutOfMemory;
    if (error != hipSuccess) {
        loaded_unref(module->loaded);
        free(module);
        return error;
    }
    pthread_mutex_lock(&lock);
    module->next = modules;
    modules = module;
    pthread_mutex_unlock(&lock);
    *out = module;
    return hipSuccess;
}

hipError_t module_read_file(const char *name, void **out, size_t *n)
{
    FILE *file = fopen(name, "rb");
    hipError_t error = hipErrorFileNotFound;
    char *bytes = NULL;
    long size;

    if (!file)
        return error;
    if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 &&
        fseek(file, 0, SEEK_SET) == 0) {
        error =
            process.release < 7 ? hipErrorInvalidValue : hipErrorInvalidImage;
        if (size > 0) {
            bytes = malloc((size_t)size);
            error = hipErrorOutOfMemory;
            if (bytes && fread(bytes, 1, (size_t)size, file) == (size_t)size)
                error = hipSuccess;
        }
        *n = (size_t)size;
    }
    (void)fclose(file); /* only read: no error to report */
    if (error != hipSuccess) {
        free(bytes);
        return error;
    }
    *out = bytes;
    return hipSuccess;
}

hipError_t module_from_file(hipModule_t *out, const char *name)
{
    void *bytes;
    size_t n;
    hipError_t error = module_read_file(name, &bytes, &n);

    if (error == hipSuccess) {
        error = module_from_memory(out, bytes, n);
        free(bytes);
    }
    return error;
}

HIP_API hipError_t hipModuleLoad(hipModule_t *module, const char *name)
{
    ENTER();
    if (!module || !name || !*name)
        LEAVE(hipErrorInvalidValue);
    LEAVE(module_from_file(module, name));
}

HIP_API hipError_t hipModuleLoadData(hipModule_t *module, const void *image)
{
    ENTER();
    if (!module || !image)
        LEAVE(hipErrorInvalidValue);
    LEAVE(module_from_memory(module, image, SIZE_MAX));
}

/* The options are ignored, as AMD's runtime does. */
HIP_API hipError_t hipModuleLoadDataEx(hipModule_t *module, const void *image,
                                       unsigned n, int *options, void **values)
{
    ENTER();
    (void)n;
    (void)options;
    (void)values;
    if (!module || !image)
        LEAVE(hipErrorInvalidValue);
    LEAVE(module_from_memory(module, image, SIZE_MAX));
}

HIP_API hipError_t hipModuleLoadFatBinary(hipModule_t *module,
                                          const void *image)
{
    ENTER();
    if (!module || !image)
        LEAVE(hipErrorInvalidValue);
    LEAVE(module_from_memory(module, image, SIZE_MAX));
}

/* HIP 5.2 looks NULL up as any handle. */
static hipError_t no_module(void)
{
    return process.release == 5 ? hipErrorNotFound : hipErrorInvalidHandle;
}

hipError_t module_unload(hipModule_t module)
{
    hipModule_t *link;

    pthread_mutex_lock(&lock);
    if (!handle_remove(module, HANDLE_MODULE)) {
        pthread_mutex_unlock(&lock);
        return hipErrorNotFound;
    }
    for (link = &modules; *link != module; link = &(*link)->next)
        ;
    *link = module->next;
    pthread_mutex_unlock(&lock);
    loaded_unref(module->loaded);
    free(module);
    return hipSuccess;
}

struct loaded *module_loaded(hipModule_t module)
{
    return module->loaded;
}

void module_set_library(hipModule_t module)
{
    pthread_mutex_lock(&lock);
    module->is_library = true;
    pthread_mutex_unlock(&lock);
}

hipModule_t module_library_of(hipFunction_t function)
{
    hipModule_t m;

    pthread_mutex_lock(&lock);
    for (m = modules; m; m = m->next)
        if (m->is_library && m->loaded == function->loaded)
            break;
    pthread_mutex_unlock(&lock);
    return m;
}

HIP_API hipError_t hipModuleUnload(hipModule_t module)
{
    ENTER();
    LEAVE(module ? module_unload(module) : no_module());
}

void modules_shutdown(void)
{
    while (modules) {
        hipModule_t module = modules;

        modules = module->next;
        loaded_unref(module->loaded);
        free(module);
    }
}

/* ---- looking up --------------------------------------------------------- */

static hipFunction_t make_function(struct loaded *loaded, const char *name)
{
    const struct sim_kernel *kernel =
        sim_code_object_kernel(loaded->object, name);
    hipFunction_t f;

    if (!kernel)
        return NULL;
    for (f = loaded->functions; f; f = f->next)
        if (f->kernel == kernel)
            return f;
    f = calloc(1, sizeof(*f));
    if (!f || !handle_add(f, HANDLE_FUNCTION)) {
        free(f);
        return NULL;
    }
    f->loaded = loaded;
    f->kernel = kernel;
    f->next = loaded->functions;
    loaded->functions = f;
    return f;
}

hipFunction_t loaded_function(struct loaded *loaded, const char *name)
{
    hipFunction_t f;

    pthread_mutex_lock(&lock);
    f = make_function(loaded, name);
    pthread_mutex_unlock(&lock);
    return f;
}

const struct sim_global *loaded_global(const struct loaded *loaded,
                                       const char *name)
{
    uint32_t i;

    for (i = 0; i < loaded->object->nglobals; i++)
        if (strcmp(loaded->object->globals[i].name, name) == 0)
            return &loaded->object->globals[i];
    return NULL;
}

/* Up to 6.x AMD's runtime ends the process here, and so does this one. */
static void check_device(const struct loaded *loaded, const char *function)
{
    if (process.release < 7 && loaded->device != thread_device()) {
        process_complain(
            "%s: the module was loaded for device %d and device %d is "
            "current; HIP %d aborts here",
            function, loaded->device->ordinal, thread_self()->device,
            process.release);
        abort();
    }
}

HIP_API hipError_t hipModuleGetFunction(hipFunction_t *function,
                                        hipModule_t module, const char *name)
{
    hipFunction_t f;

    ENTER();
    if (!function || !name || (!*name && process.release != 5))
        LEAVE(hipErrorInvalidValue);
    if (!module)
        LEAVE(no_module());
    if (!handle_valid(module, HANDLE_MODULE))
        LEAVE(hipErrorNotFound);
    check_device(module->loaded, __func__);
    f = loaded_function(module->loaded, name);
    if (!f)
        LEAVE(hipErrorNotFound);
    *function = f;
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipModuleGetFunctionCount(unsigned *count,
                                             hipModule_t module)
{
    ENTER();
    if (!count)
        LEAVE(hipErrorInvalidValue);
    if (!module)
        LEAVE(hipErrorInvalidHandle);
    if (!handle_valid(module, HANDLE_MODULE))
        LEAVE(hipErrorNotFound);
    *count = module->loaded->object->nkernels;
    LEAVE(hipSuccess);
}

hipError_t module_global(hipModule_t module, const char *name,
                         bool managed_only, hipDeviceptr_t *dptr, size_t *bytes)
{
    const struct sim_global *global = loaded_global(module->loaded, name);
    const struct managed *m = module->loaded->managed;

    while (m && !is_managed(m->name, name))
        m = m->next;
    if (!global || (managed_only && !m))
        return hipErrorNotFound;
    if (dptr)
        *dptr =
            (hipDeviceptr_t)(uintptr_t)(m ? m->memory->base : global->address);
    if (bytes)
        *bytes = m ? m->memory->size : global->size;
    return hipSuccess;
}

HIP_API hipError_t hipModuleGetGlobal(hipDeviceptr_t *dptr, size_t *bytes,
                                      hipModule_t module, const char *name)
{
    ENTER();
    if ((!dptr && !bytes) || !name || !*name)
        LEAVE(hipErrorInvalidValue);
    if (!module)
        LEAVE(no_module());
    if (!handle_valid(module, HANDLE_MODULE))
        LEAVE(hipErrorNotFound);
    check_device(module->loaded, __func__);
    LEAVE(module_global(module, name, false, dptr, bytes));
}
