/* hip_module.h - code objects that are loaded, and modules */
#ifndef SIM_HIP_MODULE_H
#define SIM_HIP_MODULE_H

#include "process_state.h"

#include "../base/loaded_object.h"

struct loaded {
    struct sim_code_object *object;
    struct device *device;
    int refs; /* the module, and unfinished launches */
    hipFunction_t functions;
    struct managed *managed;
    struct module_texture *textures;
    void (*textures_free)(struct loaded *); /* NULL: it has none */
};

struct ihipModuleSymbol_t {
    struct ihipModuleSymbol_t *next;
    struct loaded *loaded;
    const struct sim_kernel *kernel;
};

/* Loads an image of any accepted form for one device. */
hipError_t loaded_from_image(struct device *device, const void *image,
                             size_t size, struct loaded **out);
/* The function of that name, made at the first request; NULL if none. */
hipFunction_t loaded_function(struct loaded *loaded, const char *name);
const struct sim_global *loaded_global(const struct loaded *loaded,
                                       const char *name);
void loaded_ref(struct loaded *loaded);
void loaded_unref(struct loaded *loaded);

/* Modules on the current device: from memory, from a file, and away again. */
hipError_t module_from_memory(hipModule_t *out, const void *image, size_t size);
hipError_t module_from_file(hipModule_t *out, const char *name);
hipError_t module_unload(hipModule_t module);
struct loaded *module_loaded(hipModule_t module);
/* Marks a module as a library. module_library_of() gives a function's library,
 * NULL for a function of a plain module. */
void module_set_library(hipModule_t module);
hipModule_t module_library_of(hipFunction_t function);
/* A variable's place and size, of managed variables alone if that is asked. */
hipError_t module_global(hipModule_t module, const char *name,
                         bool managed_only, hipDeviceptr_t *dptr,
                         size_t *bytes);
/* The whole file, in memory of the caller's. */
hipError_t module_read_file(const char *name, void **out, size_t *n);
void modules_shutdown(void);

#endif
