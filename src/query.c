/* query.c - what HIP says of loaded kernels and modules: attributes,
 * occupancy, device variables, texture references */
#include "query.h"
#include "error.h"
#include "instance.h"
#include "kernel_get.h"
#include "load.h"

static kpk_status impossible(const struct kpk_i_gpu *gpu, const char *call,
                             int number)
{
    return kpk_i_fail(KPK_ERR_DRIVER,
                      "%s returned success and an impossible number, %d",
                      gpu->call_name(call), number);
}

/* A question about a kernel, and the answer. */
struct question {
    kpk_driver_attr attr;
    uint32_t block, most;
    size_t shared_nbytes;
    int value, grid;
};

static kpk_status ask_attr(kpk_instance *inst, const kpk_kernel *kernel,
                           hipFunction_t function, void *what)
{
    struct question *q = what;
    const hipError_t error = inst->gpu->hipFuncGetAttribute(
        &q->value, (hipFunction_attribute)q->attr, function);

    if (error == hipSuccess)
        return KPK_OK;
    return kpk_i_fail_gpu(inst->gpu, "hipFuncGetAttribute", error,
                          "cannot read attribute %d of %s", (int)q->attr,
                          kpk_kernel_name(kernel));
}

kpk_status kpk_kernel_driver_attr(const kpk_kernel *kernel,
                                  kpk_driver_attr attr, int *out)
{
    struct question q = {.attr = attr};
    kpk_status st;

    KPK_I_NEED(kernel);
    KPK_I_NEED(out);
    if (!kernel->inst->gpu->hipFuncGetAttribute)
        return kpk_i_lacks(kernel->inst->gpu, "an attribute of a kernel",
                           "hipFuncGetAttribute");
    st = kpk_i_with_function(kernel, ask_attr, &q);
    if (st == KPK_OK)
        *out = q.value;
    return st;
}

static kpk_status ask_occupancy(kpk_instance *inst, const kpk_kernel *kernel,
                                hipFunction_t function, void *what)
{
    static const char call[] =
        "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor";
    struct question *q = what;
    hipError_t error = hipSuccess;

    /* CUDA knows no limit of the kernel's own here. */
    if (q->block <= kernel->attrs->max_block)
        error = inst->gpu->hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
            &q->value, function, (int)q->block, q->shared_nbytes);
    if (error != hipSuccess)
        return kpk_i_fail_gpu(
            inst->gpu, call, error,
            "cannot tell the occupancy of %s with a block of %u",
            kpk_kernel_name(kernel), q->block);
    return q->value < 0 ? impossible(inst->gpu, call, q->value) : KPK_OK;
}

kpk_status kpk_i_occupancy(const kpk_kernel *kernel, uint32_t block,
                           size_t shared_nbytes, uint32_t *out)
{
    struct question q = {.block = block, .shared_nbytes = shared_nbytes};
    hipFunction_t function;
    intptr_t saved;
    kpk_status st = kpk_i_function(kernel, &function);

    if (st == KPK_OK)
        st = kpk_i_enter(kernel->inst, &saved);
    if (st != KPK_OK)
        return st;
    st = ask_occupancy(kernel->inst, kernel, function, &q);
    *out = (uint32_t)q.value;
    return kpk_i_leave(kernel->inst, saved, st);
}

kpk_status kpk_occupancy(const kpk_kernel *kernel, uint32_t block,
                         size_t shared_nbytes, uint32_t *out)
{
    struct question q = {.block = block, .shared_nbytes = shared_nbytes};
    kpk_status st;

    KPK_I_NEED(kernel);
    KPK_I_NEED(out);
    if (block == 0 || block > INT32_MAX)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_occupancy: a block of %u threads; it has 1 to "
                          "%d",
                          block, INT32_MAX);
    if (!kernel->inst->gpu->hipModuleOccupancyMaxActiveBlocksPerMultiprocessor)
        return kpk_i_lacks(
            kernel->inst->gpu, "the occupancy of a kernel",
            "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor");
    st = kpk_i_with_function(kernel, ask_occupancy, &q);
    if (st == KPK_OK)
        *out = (uint32_t)q.value;
    return st;
}

static kpk_status ask_shape(kpk_instance *inst, const kpk_kernel *kernel,
                            hipFunction_t function, void *what)
{
    static const char call[] = "hipModuleOccupancyMaxPotentialBlockSize";
    struct question *q = what;
    const hipError_t error = inst->gpu->hipModuleOccupancyMaxPotentialBlockSize(
        &q->grid, &q->value, function, q->shared_nbytes, (int)q->most);

    if (error != hipSuccess)
        return kpk_i_fail_gpu(inst->gpu, call, error,
                              "cannot tell the best block of %s",
                              kpk_kernel_name(kernel));
    if (q->grid <= 0)
        return impossible(inst->gpu, call, q->grid);
    return q->value <= 0 ? impossible(inst->gpu, call, q->value) : KPK_OK;
}

kpk_status kpk_occupancy_shape(const kpk_kernel *kernel, uint32_t shared_nbytes,
                               uint32_t most, kpk_shape *out)
{
    struct question q = {.most = most, .shared_nbytes = shared_nbytes};
    kpk_status st;

    KPK_I_NEED(kernel);
    KPK_I_NEED(out);
    if (most > INT32_MAX)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_occupancy_shape: most is %u; %d is the largest",
                          most, INT32_MAX);
    if (!kernel->inst->gpu->hipModuleOccupancyMaxPotentialBlockSize)
        return kpk_i_lacks(kernel->inst->gpu, "the best block of a kernel",
                           "hipModuleOccupancyMaxPotentialBlockSize");
    st = kpk_i_with_function(kernel, ask_shape, &q);
    if (st != KPK_OK)
        return st;
    *out = (kpk_shape){
        {(uint32_t)q.grid, 1, 1}, {(uint32_t)q.value, 1, 1}, shared_nbytes};
    return KPK_OK;
}

/* ---- device variables and texture references ---------------------------- */

/* One question to a module, and its answer. */
struct lookup {
    struct kpk_i_slot *slot;
    const char *name;
    void *found;
    size_t nbytes;
};

static kpk_status not_found(const kpk_instance *inst, const struct lookup *l,
                            const char *what, const char *call,
                            hipError_t error)
{
    const char *module = kpk_module_name(l->slot->module);
    kpk_status st;

    if (error == hipErrorNotFound)
        st = kpk_i_fail(KPK_ERR_NO_GLOBAL,
                        "module %s has no %s \"%s\". kpk_module_symbols() "
                        "lists what it has",
                        module, what, l->name);
    else if (error == hipErrorNotSupported)
        st = kpk_i_fail(KPK_ERR_UNSUPPORTED,
                        "device %d (%s) has no %s: %s returned %d",
                        inst->ordinal, inst->device.target, what,
                        inst->gpu->failed_name(call), (int)error);
    else
        return kpk_i_fail_gpu(inst->gpu, call, error,
                              "cannot find %s \"%s\" of module %s", what,
                              l->name, module);
    kpk_i_fail_behind(error);
    return st;
}

static kpk_status check_found(const kpk_instance *inst, const struct lookup *l,
                              const char *what, const char *call)
{
    if (l->found)
        return KPK_OK;
    return kpk_i_fail(KPK_ERR_DRIVER,
                      "cannot find %s \"%s\" of module %s: %s returned "
                      "success, but no address",
                      what, l->name, kpk_module_name(l->slot->module),
                      inst->gpu->call_name(call));
}

static kpk_status find_global(kpk_instance *inst, void *what)
{
    struct lookup *l = what;
    hipError_t error;
    kpk_status st = kpk_i_load_slot(inst, l->slot);

    if (st != KPK_OK)
        return st;
    error = inst->gpu->hipModuleGetGlobal(
        &l->found, &l->nbytes,
        atomic_load_explicit(&l->slot->hip_module, memory_order_relaxed),
        l->name);
    return error == hipSuccess
               ? check_found(inst, l, "variable", "hipModuleGetGlobal")
               : not_found(inst, l, "variable", "hipModuleGetGlobal", error);
}

static kpk_status find_texture(kpk_instance *inst, void *what)
{
    struct lookup *l = what;
    textureReference *found = NULL;
    hipError_t error;
    kpk_status st = kpk_i_load_slot(inst, l->slot);

    if (st != KPK_OK)
        return st;
    error = inst->gpu->hipModuleGetTexRef(
        &found,
        atomic_load_explicit(&l->slot->hip_module, memory_order_relaxed),
        l->name);
    l->found = found;
    return error == hipSuccess
               ? check_found(inst, l, "texture reference", "hipModuleGetTexRef")
               : not_found(inst, l, "texture reference", "hipModuleGetTexRef",
                           error);
}

static kpk_status look_up(kpk_instance *inst, const char *module,
                          const char *name, kpk_i_work *work,
                          struct lookup *out)
{
    kpk_status st;

    if (!*name) /* some releases of HIP answer it with success */
        return kpk_i_fail(KPK_ERR_ARG, "the name of a variable is empty");
    *out = (struct lookup){.name = name};
    st = kpk_i_find_slot(inst, module, &out->slot);
    return st == KPK_OK ? kpk_i_with_lock(inst, work, out) : st;
}

kpk_status kpk_global(kpk_instance *inst, const char *module, const char *name,
                      void **out, size_t *nbytes)
{
    struct lookup l = {.name = name};
    kpk_status st;

    KPK_I_NEED(inst);
    KPK_I_NEED(module);
    KPK_I_NEED(name);
    if (!inst->gpu->hipModuleGetGlobal)
        return kpk_i_lacks(inst->gpu, "a device variable",
                           "hipModuleGetGlobal");
    st = look_up(inst, module, name, find_global, &l);
    if (st != KPK_OK)
        return st;
    if (out)
        *out = l.found;
    if (nbytes)
        *nbytes = l.nbytes;
    return KPK_OK;
}

/* A stretch of a variable, of a module that stays loaded until it is let go. */
struct part {
    struct lookup variable;
    size_t offset, nbytes;
    bool held;
};

static kpk_status hold_part(kpk_instance *inst, void *what)
{
    struct part *part = what;
    struct lookup *l = &part->variable;
    kpk_status st = find_global(inst, l);

    if (st != KPK_OK)
        return st;
    if (part->offset > l->nbytes || part->nbytes > l->nbytes - part->offset)
        return kpk_i_fail(KPK_ERR_ARG,
                          "variable \"%s\" of module %s has %zu bytes; %zu "
                          "bytes from %zu on were asked for",
                          l->name, kpk_module_name(l->slot->module), l->nbytes,
                          part->nbytes, part->offset);
    kpk_i_hold_slot(l->slot);
    part->held = true;
    return KPK_OK;
}

/* The copy waits for the device's work: it holds the module, and leaves the
 * lock to others, who may want to load. */
static kpk_status copy_part(kpk_instance *inst, const char *module,
                            const char *name, struct part *part, bool write,
                            void *host)
{
    unsigned char *at;
    kpk_status st;

    if (!inst->gpu->hipModuleGetGlobal)
        return kpk_i_lacks(inst->gpu, "a device variable",
                           "hipModuleGetGlobal");
    st = look_up(inst, module, name, hold_part, &part->variable);
    if (st == KPK_OK) {
        at = (unsigned char *)part->variable.found + part->offset;
        st = write ? kpk_copy_to(inst, at, host, part->nbytes)
                   : kpk_copy_from(inst, host, at, part->nbytes);
    }
    if (part->held)
        kpk_i_let_go(part->variable.slot);
    return st;
}

kpk_status kpk_global_write(kpk_instance *inst, const char *module,
                            const char *name, size_t offset,
                            const void *host_src, size_t nbytes)
{
    struct part part = {.offset = offset, .nbytes = nbytes};

    KPK_I_NEED(inst);
    KPK_I_NEED(module);
    KPK_I_NEED(name);
    if (nbytes)
        KPK_I_NEED(host_src);
    return copy_part(inst, module, name, &part, true, (void *)host_src);
}

kpk_status kpk_global_read(kpk_instance *inst, const char *module,
                           const char *name, size_t offset, void *host_dst,
                           size_t nbytes)
{
    struct part part = {.offset = offset, .nbytes = nbytes};

    KPK_I_NEED(inst);
    KPK_I_NEED(module);
    KPK_I_NEED(name);
    if (nbytes)
        KPK_I_NEED(host_dst);
    return copy_part(inst, module, name, &part, false, host_dst);
}

kpk_status kpk_texture(kpk_instance *inst, const char *module, const char *name,
                       void **out)
{
    struct lookup l = {.name = name};
    kpk_status st;

    KPK_I_NEED(inst);
    KPK_I_NEED(module);
    KPK_I_NEED(name);
    KPK_I_NEED(out);
    if (!inst->gpu->hipModuleGetTexRef)
        return kpk_i_lacks(inst->gpu, "a texture reference",
                           "hipModuleGetTexRef");
    st = look_up(inst, module, name, find_texture, &l);
    if (st == KPK_OK)
        *out = l.found;
    return st;
}
