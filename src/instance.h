/* instance.h - what an instance holds, and work on its device */
#ifndef KPK_INSTANCE_H
#define KPK_INSTANCE_H

#include "gpu.h"
#include "internal.h"
#include "os.h"

#include <stdatomic.h>

#pragma GCC visibility push(hidden)

/* A module's table of launch shapes and its columns' indices: see shape.c. */
enum { KPK_I_SHAPE_COLUMNS = 12 };
struct kpk_i_shapes {
    const struct kpk_table *table; /* NULL if it has none */
    uint32_t columns[KPK_I_SHAPE_COLUMNS];
};

struct kpk_i_slot { /* a module in an instance */
    const kpk_module *module;
    size_t object; /* selected code object; none if `fits` is false */
    bool fits;
    kpk_fit fit;
    size_t rank;                     /* rank of the object's target */
    _Atomic(hipModule_t) hip_module; /* NULL while not loaded */
    kpk_i_rwlock held;               /* read-locked: must stay loaded */
    kpk_kernel *kernels;             /* [module->nkernels] */
    struct kpk_i_shapes shapes;
};

struct kpk_kernel {
    kpk_instance *inst;
    struct kpk_i_slot *slot;
    const struct kpk_kernel_desc *desc;
    const struct kpk_kernel_attrs *attrs; /* NULL if no object fits */
    uint32_t nargs_given;                 /* desc->nargs less padding */
    uint32_t nbytes_needed;               /* least size of a packed buffer */
    uint32_t unlisted_nbytes;  /* arguments' size, if the metadata lists none */
    uint32_t nshared_pointers; /* arguments that point to shared memory */
    _Atomic(hipFunction_t) function; /* NULL while not resolved */
    /* a bit for each of the kernel's first 64 rows in the table of launch
     * shapes: 1 if the row is for the device */
    uint64_t rows;
    size_t first_row;
};

/* Sizes of blocks: 512 bytes, and 16 steps for each doubling above it. */
enum {
    KPK_I_POOL_LEAST = 9, /* 2^9 */
    KPK_I_POOL_MOST = 61,
    KPK_I_POOL_STEPS = 16,
    KPK_I_POOL_NSIZES =
        (KPK_I_POOL_MOST - KPK_I_POOL_LEAST) * KPK_I_POOL_STEPS + 1,
    KPK_I_POOL_NBUCKETS = 1024 /* of blocks in use, by their address */
};

struct kpk_i_block; /* see stream_memory.c */
struct kpk_i_pool {
    kpk_i_mutex lock; /* of all members below */
    size_t used_nbytes, idle_nbytes;
    struct kpk_i_block *used[KPK_I_POOL_NBUCKETS];
    struct kpk_i_block *idle[KPK_I_POOL_NSIZES];
};

struct kpk_instance {
    const struct kpk_i_gpu *gpu;
    int ordinal; /* kpack's number of the device */
    kpk_device device;
    kpk_i_mutex lock; /* loading and unloading */
    size_t nslots;
    struct kpk_i_slot *slots; /* sorted by module name */
    kpk_kernel *kernels;      /* every slot's, slot by slot */
    kpk_kernel **names;       /* hash table by name, see names.c */
    size_t names_mask;
    struct kpk_i_pool pool; /* device memory of kpk_malloc_async() */
};

/* kpk_i_enter() makes the instance's device current for the calling thread and
 * saves the one that was; kpk_i_leave() restores it and returns `st`. If it
 * fails to, the message names the current device, and a KPK_OK in `st` becomes
 * KPK_ERR_DRIVER. */
kpk_status kpk_i_enter(const kpk_instance *inst, intptr_t *saved);
kpk_status kpk_i_leave(const kpk_instance *inst, intptr_t saved, kpk_status st);

/* An action under the instance's lock with its device current. */
typedef kpk_status kpk_i_work(kpk_instance *inst, void *what);
kpk_status kpk_i_with_lock(kpk_instance *inst, kpk_i_work *work, void *what);

kpk_status kpk_i_find_slot(const kpk_instance *inst, const char *name,
                           struct kpk_i_slot **out);

#pragma GCC visibility pop

#endif
