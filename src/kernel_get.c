/* kernel_get.c - gets an instance's kernels, and answers questions about them
 *
 * The first kpk_kernel_get() for a module loads the module; the first for a
 * kernel resolves its function. Both happen under the instance's lock.
 *
 * A kpk_kernel lives as long as the instance. While its module is unloaded it
 * is refused; once the module is loaded again, its function is resolved again.
 */
#include "kernel_get.h"
#include "error.h"
#include "load.h"
#include "module.h"
#include "names.h"

/* A kernel's name in the code object. */
static const char *symbol_of(const kpk_kernel *kernel)
{
    const struct kpk_i_slot *slot = kernel->slot;
    const uint32_t *symbols = slot->module->objects[slot->object].symbols;

    return symbols
               ? kpk_i_string(slot->module, symbols[kpk_kernel_index(kernel)])
               : kpk_kernel_name(kernel);
}

/* Under the lock, with the instance's device current and the module loaded. */
static kpk_status resolve(kpk_instance *inst, kpk_kernel *kernel)
{
    struct kpk_i_slot *slot = kernel->slot;
    hipFunction_t function = NULL;
    hipError_t error;

    if (atomic_load_explicit(&kernel->function, memory_order_relaxed))
        return KPK_OK;
    error = inst->gpu->hipModuleGetFunction(
        &function,
        atomic_load_explicit(&slot->hip_module, memory_order_relaxed),
        symbol_of(kernel));
    if (error != hipSuccess)
        return kpk_i_fail_gpu(inst->gpu, "hipModuleGetFunction", error,
                              "module %s is loaded on device %d, but kernel %s "
                              "is not found in it",
                              kpk_module_name(slot->module), inst->ordinal,
                              kpk_kernel_name(kernel));
    if (!function)
        return kpk_i_fail(KPK_ERR_DRIVER,
                          "cannot find kernel %s of module %s on device %d: "
                          "%s returned success, but no function",
                          kpk_kernel_name(kernel),
                          kpk_module_name(slot->module), inst->ordinal,
                          inst->gpu->call_name("hipModuleGetFunction"));
    atomic_store_explicit(&kernel->function, function, memory_order_release);
    return KPK_OK;
}

static kpk_status work_get(kpk_instance *inst, void *kernel)
{
    kpk_status st = kpk_i_load_slot(inst, ((kpk_kernel *)kernel)->slot);

    return st == KPK_OK ? resolve(inst, kernel) : st;
}

/* A call to make with a kernel's function, and its argument. */
struct use {
    kpk_kernel *kernel;
    kpk_i_use *call;
    void *what;
};

static kpk_status work_use(kpk_instance *inst, void *what)
{
    const struct use *use = what;
    kpk_kernel *kernel = use->kernel;
    const struct kpk_i_slot *slot = kernel->slot;
    kpk_status st;

    if (!atomic_load_explicit(&slot->hip_module, memory_order_relaxed))
        return kpk_i_fail(KPK_ERR_UNLOADED,
                          "module %s of kernel %s has been unloaded; load it "
                          "again with kpk_load(), or fetch a kernel of it",
                          kpk_module_name(slot->module),
                          kpk_kernel_name(kernel));
    st = resolve(inst, kernel);
    if (st != KPK_OK)
        return st;
    return use->call(
        inst, kernel,
        atomic_load_explicit(&kernel->function, memory_order_relaxed),
        use->what);
}

kpk_status kpk_i_with_function(const kpk_kernel *kernel, kpk_i_use *call,
                               void *what)
{
    /* The caller's view is const, the kernel is the instance's and is not. */
    struct use use = {(kpk_kernel *)kernel, call, what};

    return kpk_i_with_lock(kernel->inst, work_use, &use);
}

static kpk_status tell_function(kpk_instance *inst, const kpk_kernel *kernel,
                                hipFunction_t function, void *out)
{
    (void)inst;
    (void)kernel;
    *(hipFunction_t *)out = function;
    return KPK_OK;
}

kpk_status kpk_i_function(const kpk_kernel *kernel, hipFunction_t *out)
{
    *out = atomic_load_explicit(&kernel->function, memory_order_acquire);
    return *out ? KPK_OK : kpk_i_with_function(kernel, tell_function, out);
}

static kpk_status get(kpk_kernel *kernel, const kpk_kernel **out)
{
    kpk_status st = KPK_OK;

    if (!atomic_load_explicit(&kernel->function, memory_order_acquire))
        st = kpk_i_with_lock(kernel->inst, work_get, kernel);
    if (st == KPK_OK)
        *out = kernel;
    return st;
}

kpk_status kpk_kernel_get(kpk_instance *inst, const char *name,
                          const kpk_kernel **out)
{
    const kpk_kernel *other;
    kpk_kernel *kernel;

    KPK_I_NEED(inst);
    KPK_I_NEED(name);
    KPK_I_NEED(out);
    kernel = kpk_i_names_find(inst, name, &other);
    if (!kernel)
        return kpk_i_fail(KPK_ERR_NO_KERNEL,
                          "no kernel \"%s\" in the %zu module%s that are open. "
                          "kpk_module_kernel() and `kpack list` show what "
                          "there is",
                          name, inst->nslots, inst->nslots == 1 ? "" : "s");
    if (other)
        return kpk_i_fail(KPK_ERR_AMBIGUOUS,
                          "kernel \"%s\" is in module %s and in module %s. "
                          "Name the module with kpk_kernel_get_in()",
                          name, kpk_module_name(kernel->slot->module),
                          kpk_module_name(other->slot->module));
    return get(kernel, out);
}

kpk_status kpk_kernel_get_in(kpk_instance *inst, const char *module,
                             const char *name, const kpk_kernel **out)
{
    struct kpk_i_slot *slot = NULL;
    size_t i;
    kpk_status st;

    KPK_I_NEED(inst);
    KPK_I_NEED(module);
    KPK_I_NEED(name);
    KPK_I_NEED(out);
    st = kpk_i_find_slot(inst, module, &slot);
    if (st == KPK_OK)
        st = kpk_module_find_kernel(slot->module, name, &i);
    if (st != KPK_OK)
        return st;
    return get(&slot->kernels[i], out);
}

const char *kpk_kernel_name(const kpk_kernel *kernel)
{
    return kernel ? kpk_i_string(kernel->slot->module, kernel->desc->name)
                  : NULL;
}

const kpk_module *kpk_kernel_module(const kpk_kernel *kernel)
{
    return kernel ? kernel->slot->module : NULL;
}

size_t kpk_kernel_index(const kpk_kernel *kernel)
{
    return kernel ? (size_t)(kernel->desc - kernel->slot->module->kernels) : 0;
}

kpk_status kpk_kernel_attrs(const kpk_kernel *kernel, kpk_attrs *out)
{
    KPK_I_NEED(kernel);
    KPK_I_NEED(out);
    kpk_i_attrs(kernel->attrs, out);
    return KPK_OK;
}

/* Both at one moment: of a module that is loaded and unloaded meanwhile they
 * would not belong together. */
static kpk_status tell_handles(kpk_instance *inst, const kpk_kernel *kernel,
                               hipFunction_t function, void *out)
{
    void **handles = out;

    (void)inst;
    handles[0] =
        atomic_load_explicit(&kernel->slot->hip_module, memory_order_relaxed);
    handles[1] = function;
    return KPK_OK;
}

kpk_status kpk_kernel_raw(const kpk_kernel *kernel, void **module,
                          void **function)
{
    void *handles[2] = {NULL, NULL};
    kpk_status st;

    KPK_I_NEED(kernel);
    st = kpk_i_with_function(kernel, tell_handles, handles);
    if (st != KPK_OK)
        return st;
    if (module)
        *module = handles[0];
    if (function)
        *function = handles[1];
    return KPK_OK;
}
