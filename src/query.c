/* query.c - what HIP says of loaded kernels and modules: attributes,
 * occupancy, device variables, texture references */
#include "internal.h"

static kpk_status impossible(const struct kpk_i_gpu *gpu, const char *call,
                             int number)
{
    return kpk_i_fail(KPK_ERR_HIP,
                      "%s returned success and an impossible number, %d",
                      gpu->call_name(call), number);
}

/* The kernel's function with its device current. */
static kpk_status enter_kernel(const kpk_kernel *kernel,
                               hipFunction_t *function, intptr_t *saved)
{
    kpk_status st = kpk_i_function(kernel, function);

    return st == KPK_OK ? kpk_i_enter(kernel->inst, saved) : st;
}

kpk_status kpk_kernel_hip_attr(const kpk_kernel *kernel, kpk_hip_attr attr,
                               int *out)
{
    hipFunction_t function;
    intptr_t saved;
    int value = 0;
    hipError_t error;
    kpk_status st;

    KPK_I_NEED(kernel);
    KPK_I_NEED(out);
    if (!kernel->inst->gpu->hipFuncGetAttribute)
        return kpk_i_lacks(kernel->inst->gpu, "an attribute of a kernel",
                           "hipFuncGetAttribute");
    st = enter_kernel(kernel, &function, &saved);
    if (st != KPK_OK)
        return st;
    error = kernel->inst->gpu->hipFuncGetAttribute(
        &value, (hipFunction_attribute)attr, function);
    if (error != hipSuccess)
        st = kpk_i_fail_gpu(kernel->inst->gpu, "hipFuncGetAttribute", error,
                            "cannot read attribute %d of %s", (int)attr,
                            kpk_kernel_name(kernel));
    st = kpk_i_leave(kernel->inst, saved, st);
    if (st == KPK_OK)
        *out = value;
    return st;
}

kpk_status kpk_occupancy(const kpk_kernel *kernel, uint32_t block,
                         size_t shared_nbytes, uint32_t *out)
{
    hipFunction_t function;
    intptr_t saved;
    int blocks = 0;
    hipError_t error = hipSuccess;
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
    st = enter_kernel(kernel, &function, &saved);
    if (st != KPK_OK)
        return st;
    /* CUDA knows no limit of the kernel's own here. */
    if (block <= kernel->attrs->max_block)
        error = kernel->inst->gpu
                    ->hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
                        &blocks, function, (int)block, shared_nbytes);
    if (error != hipSuccess)
        st = kpk_i_fail_gpu(
            kernel->inst->gpu,
            "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", error,
            "cannot tell the occupancy of %s with a block of %u",
            kpk_kernel_name(kernel), block);
    else if (blocks < 0)
        st = impossible(kernel->inst->gpu,
                        "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
                        blocks);
    st = kpk_i_leave(kernel->inst, saved, st);
    if (st == KPK_OK)
        *out = (uint32_t)blocks;
    return st;
}

kpk_status kpk_occupancy_shape(const kpk_kernel *kernel, uint32_t shared_nbytes,
                               uint32_t most, kpk_shape *out)
{
    hipFunction_t function;
    intptr_t saved;
    int grid = 0;
    int block = 0;
    hipError_t error;
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
    st = enter_kernel(kernel, &function, &saved);
    if (st != KPK_OK)
        return st;
    error = kernel->inst->gpu->hipModuleOccupancyMaxPotentialBlockSize(
        &grid, &block, function, shared_nbytes, (int)most);
    if (error != hipSuccess)
        st = kpk_i_fail_gpu(
            kernel->inst->gpu, "hipModuleOccupancyMaxPotentialBlockSize", error,
            "cannot tell the best block of %s", kpk_kernel_name(kernel));
    else if (grid <= 0 || block <= 0)
        st = impossible(kernel->inst->gpu,
                        "hipModuleOccupancyMaxPotentialBlockSize",
                        grid <= 0 ? grid : block);
    st = kpk_i_leave(kernel->inst, saved, st);
    if (st != KPK_OK)
        return st;
    *out = (kpk_shape){
        {(uint32_t)grid, 1, 1}, {(uint32_t)block, 1, 1}, shared_nbytes};
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
    return kpk_i_fail(KPK_ERR_HIP,
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

/* The address of a stretch of a variable, if it is all inside. */
static kpk_status find_part(kpk_instance *inst, const char *module,
                            const char *name, size_t offset, size_t nbytes,
                            void **out)
{
    void *at = NULL;
    size_t has = 0;
    kpk_status st = kpk_global(inst, module, name, &at, &has);

    if (st != KPK_OK)
        return st;
    if (offset > has || nbytes > has - offset)
        return kpk_i_fail(KPK_ERR_ARG,
                          "variable \"%s\" of module %s has %zu bytes; %zu "
                          "bytes from %zu on were asked for",
                          name, module, has, nbytes, offset);
    *out = (unsigned char *)at + offset;
    return KPK_OK;
}

kpk_status kpk_global_write(kpk_instance *inst, const char *module,
                            const char *name, size_t offset,
                            const void *host_src, size_t nbytes)
{
    void *at = NULL;
    kpk_status st;

    KPK_I_NEED(inst);
    KPK_I_NEED(module);
    KPK_I_NEED(name);
    if (nbytes)
        KPK_I_NEED(host_src);
    st = find_part(inst, module, name, offset, nbytes, &at);
    return st == KPK_OK ? kpk_copy_to(inst, at, host_src, nbytes) : st;
}

kpk_status kpk_global_read(kpk_instance *inst, const char *module,
                           const char *name, size_t offset, void *host_dst,
                           size_t nbytes)
{
    void *at = NULL;
    kpk_status st;

    KPK_I_NEED(inst);
    KPK_I_NEED(module);
    KPK_I_NEED(name);
    if (nbytes)
        KPK_I_NEED(host_dst);
    st = find_part(inst, module, name, offset, nbytes, &at);
    return st == KPK_OK ? kpk_copy_from(inst, host_dst, at, nbytes) : st;
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
