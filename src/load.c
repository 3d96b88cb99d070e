/* load.c - an instance's modules are loaded, held and unloaded */
#include "load.h"
#include "error.h"
#include "module.h"
#include "object_image.h"
#include "select_object.h"
#include "unpack.h"

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
    kpk_i_read_lock(&slot->held);
}

void kpk_i_let_go(struct kpk_i_slot *slot)
{
    kpk_i_read_unlock(&slot->held);
}

/* Clears the kernels' functions first, so that no new launch uses the module,
 * then waits for its holders. The caller has the instance's lock, so it gets no
 * new ones. A module that HIP fails to unload stays loaded. */
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
    kpk_i_write_lock(&slot->held);
    error = inst->gpu->hipModuleUnload(loaded);
    kpk_i_write_unlock(&slot->held);
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

kpk_status kpk_i_unload_all(kpk_instance *inst)
{
    return any_loaded(inst) ? kpk_i_with_lock(inst, work_unload_all, NULL)
                            : KPK_OK;
}
