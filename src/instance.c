/* instance.c - a pack opened on one device
 *
 * Opening selects a code object for every module and prepares one kpk_kernel
 * for every kernel; nothing is loaded. The first kpk_kernel_get() of a module
 * loads it, the first of a kernel resolves its function, both under the
 * instance's lock. The results are published with release stores, so that
 * everyone after that finds them with two loads and no lock.
 *
 * kpk_kernels live as long as the instance. One whose module was unloaded is
 * refused, not followed; its function is found anew once the module is loaded
 * again.
 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
    const struct kpk_i_slot *x = a;
    const struct kpk_i_slot *y = b;

    return strcmp(kpk_module_name(x->module), kpk_module_name(y->module));
}

static kpk_status fill_slots(kpk_instance *inst,
                             const kpk_module *const *modules)
{
    for (size_t i = 0; modules && i < inst->nslots; i++) {
        kpk_status st = kpk_i_module_check(modules[i]);

        if (st != KPK_OK)
            return st;
        inst->slots[i].module = modules[i];
    }
    qsort(inst->slots, inst->nslots, sizeof(*inst->slots), by_name);
    return KPK_OK;
}

/* Below 0 if a's code object is the better one, 0 if neither is. */
static int compare_fits(const struct kpk_i_slot *a, const struct kpk_i_slot *b)
{
    if (a->fit != b->fit)
        return a->fit < b->fit ? -1 : 1;
    return (a->rank < b->rank) - (a->rank > b->rank);
}

static kpk_status two_of_one_name(const struct kpk_i_slot *slot)
{
    return kpk_i_fail(KPK_ERR_ARG,
                      "two of the modules to be opened are called \"%s\". Open "
                      "them as two instances",
                      kpk_module_name(slot->module));
}

/* Modules of one name are for different targets: the one that fits best is
 * kept, as kpk_select() would choose; the first if none fits. */
static kpk_status drop_namesakes(kpk_instance *inst)
{
    size_t n = 0;

    for (size_t i = 0; i < inst->nslots; n++) {
        struct kpk_i_slot best = inst->slots[i];
        const struct kpk_i_slot *twin = NULL; /* fits as well as the best */

        while (++i < inst->nslots && by_name(&best, &inst->slots[i]) == 0) {
            const struct kpk_i_slot *slot = &inst->slots[i];
            const int order = compare_fits(slot, &best);

            if (slot->module == best.module)
                return two_of_one_name(slot);
            if (order < 0) {
                best = *slot;
                twin = NULL;
            } else if (order == 0 && slot->fits) {
                twin = slot;
            }
        }
        if (twin)
            return two_of_one_name(twin);
        inst->slots[n] = best;
    }
    inst->nslots = n;
    return KPK_OK;
}

/* One module that does not fit is left for later to complain about; if none
 * fits, the reason that the first one gives is the failure. */
static kpk_status select_objects(kpk_instance *inst)
{
    struct kpk_i_failure before;
    kpk_status first = KPK_OK;
    size_t nfit = 0;

    kpk_i_keep_failure(&before);
    for (size_t i = inst->nslots; i-- > 0;) {
        struct kpk_i_slot *slot = &inst->slots[i];
        kpk_selection selection;
        kpk_status st;

        slot->fit = KPK_FIT_NONE;
        if (slot->module->nobjects == 0 && slot->module->ntables)
            continue; /* holds tables of an imported pack, no code */
        st = kpk_i_select_reported(slot->module, inst->device.target,
                                   &selection);
        slot->fits = st == KPK_OK;
        slot->fit = slot->fits ? selection.fit : KPK_FIT_NONE;
        slot->object = slot->fits ? selection.object : 0;
        slot->rank = slot->fits ? kpk_i_target_rank(selection.target) : 0;
        nfit += slot->fits;
        if (st != KPK_OK)
            first = st;
    }
    if (nfit == 0 && inst->nslots)
        return first;
    kpk_i_put_back_failure(&before);
    return KPK_OK;
}

static void prepare_kernel(kpk_kernel *kernel, kpk_instance *inst,
                           struct kpk_i_slot *slot, size_t i)
{
    const kpk_module *module = slot->module;
    const struct kpk_kernel_desc *desc = &module->kernels[i];
    const struct kpk_arg_desc *args = module->args + desc->first_arg;

    kernel->inst = inst;
    kernel->slot = slot;
    kernel->desc = desc;
    kernel->attrs = slot->fits ? &module->objects[slot->object].attrs[i] : NULL;
    for (uint32_t a = 0; a < desc->nargs; a++) {
        kernel->nshared_pointers +=
            args[a].kind == KPK_ARG_DYNAMIC_SHARED_POINTER;
        if (kpk_i_arg_is_padding(module, desc, a))
            continue;
        kernel->nargs_given++;
        kernel->nbytes_needed = args[a].offset + args[a].size; /* ascending */
    }
    /* Some hand-written kernels list arguments beyond the segment that they
     * ask for. Their hosts pass the segment, and so may ours. */
    if (kernel->attrs && kernel->attrs->kernarg_nbytes < kernel->nbytes_needed)
        kernel->nbytes_needed = kernel->attrs->kernarg_nbytes;
    if (desc->nargs == 0)
        kernel->unlisted_nbytes = kernel->nbytes_needed = desc->explicit_nbytes;
}

static kpk_status make_kernels(kpk_instance *inst)
{
    size_t n = 0;
    kpk_kernel *next;

    for (size_t i = 0; i < inst->nslots; i++)
        n += inst->slots[i].module->nkernels;
    inst->kernels = calloc(n ? n : 1, sizeof(*inst->kernels));
    if (!inst->kernels)
        return kpk_i_fail(KPK_ERR_NOMEM, "no memory for %zu kernels", n);
    next = inst->kernels;
    for (size_t i = 0; i < inst->nslots; i++) {
        static const pthread_rwlock_t fresh = PTHREAD_RWLOCK_INITIALIZER;
        struct kpk_i_slot *slot = &inst->slots[i];

        memcpy(&slot->held, &fresh, sizeof(fresh));
        slot->kernels = next;
        for (size_t k = 0; k < slot->module->nkernels; k++)
            prepare_kernel(next++, inst, slot, k);
    }
    return kpk_i_names_make(inst, n);
}

static void release(kpk_instance *inst)
{
    if (!inst)
        return;
    if (inst->lock_made)
        (void)pthread_mutex_destroy(&inst->lock);
    free(inst->names);
    free(inst->kernels);
    free(inst->slots);
    free(inst);
}

/* Where a fault has been told of, the device is asked whether it still works.
 * Nothing else at the time of opening would show it. */
static kpk_status check_works(const kpk_instance *inst)
{
    intptr_t saved;
    hipError_t error;
    kpk_status st;

    if (!kpk_i_has_faulted(inst->gpu))
        return KPK_OK;
    st = kpk_i_enter(inst, &saved);
    if (st != KPK_OK)
        return st;
    error = inst->gpu->hipDeviceSynchronize();
    if (error != hipSuccess)
        st = kpk_i_fail_gpu(inst->gpu, "hipDeviceSynchronize", error,
                            "cannot open device %d (%s) after a fault in this "
                            "process",
                            inst->ordinal, inst->device.target);
    return kpk_i_leave(inst, saved, st);
}

kpk_status kpk_open_modules(const kpk_module *const *modules, size_t n,
                            int device, kpk_instance **out)
{
    kpk_instance *inst = NULL;
    kpk_status st;

    KPK_I_NEED(out);
    if (n)
        KPK_I_NEED(modules);
    inst = calloc(1, sizeof(*inst));
    if (!inst) {
        st = kpk_i_fail(KPK_ERR_NOMEM, "no memory to open %zu modules", n);
        goto out;
    }
    inst->ordinal = device;
    st = kpk_i_find_device(device, &inst->gpu, &inst->device);
    if (st == KPK_OK)
        st = check_works(inst);
    if (st != KPK_OK)
        goto out;
    inst->nslots = n;
    inst->slots = calloc(n ? n : 1, sizeof(*inst->slots));
    if (!inst->slots) {
        st = kpk_i_fail(KPK_ERR_NOMEM, "no memory to open %zu modules", n);
        goto out;
    }
    inst->lock_made = pthread_mutex_init(&inst->lock, NULL) == 0;
    if (!inst->lock_made) {
        st = kpk_i_fail(KPK_ERR_NOMEM, "no memory for a lock");
        goto out;
    }
    st = fill_slots(inst, modules);
    if (st == KPK_OK)
        st = select_objects(inst);
    if (st == KPK_OK)
        st = drop_namesakes(inst);
    if (st == KPK_OK)
        st = make_kernels(inst);
    if (st != KPK_OK)
        goto out;
    *out = inst;
    inst = NULL; /* the caller's now */
out:
    release(inst);
    return st;
}

kpk_status kpk_open(const kpk_pack *pack, int device, kpk_instance **out)
{
    KPK_I_NEED(pack);
    KPK_I_NEED(out);
    if (pack->format != KPK_FORMAT_VERSION)
        return kpk_i_fail(KPK_ERR_FORMAT,
                          "a pack's tables are of format %u, but this library "
                          "reads format %u. Build the pack and libkpack.a "
                          "with the same release of kpack",
                          (unsigned)pack->format, (unsigned)KPK_FORMAT_VERSION);
    return kpk_open_modules(pack->modules, pack->nmodules, device, out);
}

const kpk_device *kpk_instance_device(const kpk_instance *inst)
{
    return inst ? &inst->device : NULL;
}

int kpk_instance_ordinal(const kpk_instance *inst)
{
    return inst ? inst->ordinal : -1;
}

kpk_status kpk_i_find_slot(const kpk_instance *inst, const char *name,
                           struct kpk_i_slot **out)
{
    size_t low = 0;
    size_t high = inst->nslots;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct kpk_i_slot *slot = &inst->slots[middle];
        int order = strcmp(kpk_module_name(slot->module), name);

        if (order == 0) {
            *out = slot;
            return KPK_OK;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return kpk_i_fail(KPK_ERR_NO_MODULE,
                      "no module \"%s\" among the %zu that are open", name,
                      inst->nslots);
}

kpk_status kpk_instance_selection(const kpk_instance *inst, const char *module,
                                  kpk_selection *out)
{
    struct kpk_i_slot *slot = NULL;
    kpk_status st;

    KPK_I_NEED(inst);
    KPK_I_NEED(module);
    KPK_I_NEED(out);
    st = kpk_i_find_slot(inst, module, &slot);
    if (st != KPK_OK)
        return st;
    return kpk_i_select_reported(slot->module, inst->device.target, out);
}

/* First releases of HIP that read a code object version, generic targets apart.
 * Sources: ROCr's list of ABI versions, clr's release notes. */
static int least_hip_version(const struct kpk_code_object *object,
                             const char *target)
{
    if (strstr(target, "-generic"))
        return 60400000;
    if (object->cov >= 6)
        return 60300000;
    return 50000000;
}

static void hint_hip(struct kpk_i_text *text, const struct kpk_i_gpu *gpu,
                     const struct kpk_code_object *object, const char *target)
{
    const int least = least_hip_version(object, target);

    if (gpu->version && gpu->version < least)
        kpk_i_append(text,
                     " (code object version %u%s is read from HIP %d.%d on, "
                     "this is HIP %d.%d: rebuild the pack with COV=5 and "
                     "ARCHS for the processor itself)",
                     (unsigned)object->cov,
                     strstr(target, "-generic") ? " for a generic target" : "",
                     least / 10000000, least / 100000 % 100, gpu->major,
                     gpu->minor);
}

/* Adds the PTX compiler's log, or says that a cubin comes from a newer CUDA. A
 * driver takes cubins of its own major release and of all before. */
static void hint_cuda(struct kpk_i_text *text, const struct kpk_i_gpu *gpu,
                      const struct kpk_code_object *object, const char *target)
{
    const char *log = gpu->compile_log();

    if (*log)
        kpk_i_append(text, " (its compiler says: %s)", log);
    else if (strncmp(target, "sm_", 3) == 0 && gpu->version &&
             object->cov / 10 > (uint32_t)gpu->major)
        kpk_i_append(text,
                     " (it was made by CUDA %u.%u, this driver is for %d.%d: "
                     "update the driver, or build with an older toolkit)",
                     (unsigned)object->cov / 10, (unsigned)object->cov % 10,
                     gpu->major, gpu->minor);
}

static kpk_status load_failed(const kpk_instance *inst,
                              const struct kpk_i_slot *slot, const char *call,
                              hipError_t error)
{
    const struct kpk_code_object *object = &slot->module->objects[slot->object];
    const char *target = kpk_i_string(slot->module, object->target);
    char hint[512];
    struct kpk_i_text text = {hint, sizeof(hint)};

    hint[0] = '\0';
    (inst->gpu->platform == KPK_CUDA ? hint_cuda : hint_hip)(&text, inst->gpu,
                                                             object, target);
    return kpk_i_fail_gpu(
        inst->gpu, call, error,
        "cannot load module %s, code object %s, on device %d (%s)%s",
        kpk_module_name(slot->module), target, inst->ordinal,
        inst->device.target, hint);
}

/* Options of hipModuleLoadDataEx; NULL for hipModuleLoadData. */
struct load_options {
    struct kpk_i_slot *slot; /* NULL: every slot that fits */
    unsigned n;
    int *options;
    void **values;
};

static kpk_status load(kpk_instance *inst, struct kpk_i_slot *slot,
                       const struct load_options *with)
{
    const unsigned char *image = NULL;
    hipModule_t loaded = NULL;
    kpk_selection unused;
    hipError_t error;
    kpk_status st;

    if (atomic_load_explicit(&slot->hip_module, memory_order_relaxed))
        return KPK_OK;
    if (!slot->fits) /* says again why not */
        return kpk_i_select_reported(slot->module, inst->device.target,
                                     &unused);
    st = kpk_i_object_image(slot->module, slot->object, &image);
    if (st != KPK_OK)
        return st;
    if (with)
        error = inst->gpu->hipModuleLoadDataEx(&loaded, image, with->n,
                                               with->options, with->values);
    else
        error = inst->gpu->hipModuleLoadData(&loaded, image);
    if (error != hipSuccess)
        return load_failed(inst, slot,
                           with ? "hipModuleLoadDataEx" : "hipModuleLoadData",
                           error);
    if (!loaded)
        return kpk_i_fail(KPK_ERR_DRIVER,
                          "cannot load module %s on device %d: %s returned "
                          "success, but no module",
                          kpk_module_name(slot->module), inst->ordinal,
                          inst->gpu->call_name(with ? "hipModuleLoadDataEx"
                                                    : "hipModuleLoadData"));
    kpk_i_use_object(slot->module, slot->object, 1);
    atomic_store_explicit(&slot->hip_module, loaded, memory_order_release);
    return KPK_OK;
}

kpk_status kpk_i_load_slot(kpk_instance *inst, struct kpk_i_slot *slot)
{
    return load(inst, slot, NULL);
}

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

kpk_status kpk_i_enter(const kpk_instance *inst, intptr_t *saved)
{
    return inst->gpu->enter(inst->device.index, saved);
}

kpk_status kpk_i_leave(const kpk_instance *inst, intptr_t saved, kpk_status st)
{
    return inst->gpu->leave(inst->device.index, saved, st);
}

kpk_status kpk_i_with_lock(kpk_instance *inst, kpk_i_work *work, void *what)
{
    intptr_t saved;
    kpk_status st = kpk_i_check_process();

    if (st != KPK_OK)
        return st;
    (void)pthread_mutex_lock(&inst->lock);
    st = kpk_i_enter(inst, &saved);
    if (st == KPK_OK) {
        st = work(inst, what);
        st = kpk_i_leave(inst, saved, st);
    }
    (void)pthread_mutex_unlock(&inst->lock);
    return st;
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

static kpk_status load_all(kpk_instance *inst, const struct load_options *with)
{
    for (size_t i = 0; i < inst->nslots; i++) {
        kpk_status st = KPK_OK;

        if (inst->slots[i].fits)
            st = load(inst, &inst->slots[i], with);
        if (st != KPK_OK)
            return st;
    }
    return KPK_OK;
}

static kpk_status work_load(kpk_instance *inst, void *slot)
{
    return slot ? load(inst, slot, NULL) : load_all(inst, NULL);
}

static kpk_status work_load_ex(kpk_instance *inst, void *what)
{
    const struct load_options *with = what;

    return with->slot ? load(inst, with->slot, with) : load_all(inst, with);
}

kpk_status kpk_load(kpk_instance *inst, const char *module)
{
    struct kpk_i_slot *slot = NULL;
    kpk_status st = KPK_OK;

    KPK_I_NEED(inst);
    if (module)
        st = kpk_i_find_slot(inst, module, &slot);
    return st == KPK_OK ? kpk_i_with_lock(inst, work_load, slot) : st;
}

kpk_status kpk_load_ex(kpk_instance *inst, const char *module, unsigned n,
                       int *options, void **values)
{
    struct load_options with = {NULL, n, options, values};
    kpk_status st = KPK_OK;

    KPK_I_NEED(inst);
    if (n) {
        KPK_I_NEED(options);
        KPK_I_NEED(values);
    }
    if (!inst->gpu->hipModuleLoadDataEx)
        return kpk_i_lacks(inst->gpu, "kpk_load_ex()", "hipModuleLoadDataEx");
    if (module)
        st = kpk_i_find_slot(inst, module, &with.slot);
    return st == KPK_OK ? kpk_i_with_lock(inst, work_load_ex, &with) : st;
}

static kpk_status wait_for_device(const kpk_instance *inst)
{
    hipError_t error = inst->gpu->hipDeviceSynchronize();

    if (error == hipSuccess)
        return KPK_OK;
    return kpk_i_fail_gpu(inst->gpu, "hipDeviceSynchronize", error,
                          "work on device %d (%s) failed before its modules "
                          "were unloaded",
                          inst->ordinal, inst->device.target);
}

void kpk_i_hold_slot(struct kpk_i_slot *slot)
{
    (void)pthread_rwlock_rdlock(&slot->held);
}

void kpk_i_let_go(struct kpk_i_slot *slot)
{
    (void)pthread_rwlock_unlock(&slot->held);
}

/* Kernels are cut off first: none can be launched from a module that goes. Who
 * holds it is waited for; nobody takes hold of it meanwhile, for the lock is
 * ours. A module that HIP does not let go stays loaded. */
static kpk_status unload_slot(const kpk_instance *inst, struct kpk_i_slot *slot)
{
    hipModule_t loaded =
        atomic_load_explicit(&slot->hip_module, memory_order_relaxed);
    hipError_t error;

    if (!loaded)
        return KPK_OK;
    for (size_t i = 0; i < slot->module->nkernels; i++)
        atomic_store_explicit(&slot->kernels[i].function, NULL,
                              memory_order_release);
    (void)pthread_rwlock_wrlock(&slot->held);
    error = inst->gpu->hipModuleUnload(loaded);
    (void)pthread_rwlock_unlock(&slot->held);
    if (error != hipSuccess)
        return kpk_i_fail_gpu(inst->gpu, "hipModuleUnload", error,
                              "cannot unload module %s from device %d",
                              kpk_module_name(slot->module), inst->ordinal);
    kpk_i_use_object(slot->module, slot->object, -1);
    atomic_store_explicit(&slot->hip_module, NULL, memory_order_release);
    return KPK_OK;
}

static bool any_loaded(const kpk_instance *inst)
{
    for (size_t i = 0; i < inst->nslots; i++) {
        if (atomic_load_explicit(&inst->slots[i].hip_module,
                                 memory_order_relaxed))
            return true;
    }
    return false;
}

static kpk_status work_unload(kpk_instance *inst, void *slot)
{
    kpk_status st;

    if (!atomic_load_explicit(&((struct kpk_i_slot *)slot)->hip_module,
                              memory_order_relaxed))
        return KPK_OK;
    st = wait_for_device(inst);
    if (st != KPK_OK)
        return st;
    return unload_slot(inst, slot);
}

/* Goes on after a failure; the first one is reported. */
static kpk_status work_unload_all(kpk_instance *inst, void *unused)
{
    kpk_status first;

    (void)unused;
    if (!any_loaded(inst))
        return KPK_OK;
    first = wait_for_device(inst);
    for (size_t i = 0; i < inst->nslots; i++) {
        kpk_status st = unload_slot(inst, &inst->slots[i]);

        if (first == KPK_OK)
            first = st;
    }
    return first;
}

kpk_status kpk_unload(kpk_instance *inst, const char *module)
{
    struct kpk_i_slot *slot = NULL;
    kpk_status st;

    KPK_I_NEED(inst);
    if (!module)
        return kpk_i_with_lock(inst, work_unload_all, NULL);
    st = kpk_i_find_slot(inst, module, &slot);
    if (st != KPK_OK)
        return st;
    return kpk_i_with_lock(inst, work_unload, slot);
}

kpk_status kpk_close(kpk_instance *inst)
{
    kpk_status st = KPK_OK;

    if (inst && any_loaded(inst))
        st = kpk_i_with_lock(inst, work_unload_all, NULL);
    release(inst);
    return st;
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
