/* open.c - a pack is opened on one device, and closed
 *
 * Opening selects a code object for every module and prepares one kpk_kernel
 * for every kernel; nothing is loaded.
 */
#include "device_numbers.h"
#include "error.h"
#include "instance.h"
#include "load.h"
#include "module.h"
#include "names.h"
#include "select_object.h"
#include "shape.h"
#include "stream_memory.h"

#include <stdlib.h>

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
        static const kpk_i_rwlock fresh = KPK_I_RWLOCK_FRESH;
        struct kpk_i_slot *slot = &inst->slots[i];

        memcpy(&slot->held, &fresh, sizeof(fresh));
        slot->kernels = next;
        for (size_t k = 0; k < slot->module->nkernels; k++)
            prepare_kernel(next++, inst, slot, k);
        if (slot->fits)
            kpk_i_find_shapes(slot, inst->device.target);
    }
    return kpk_i_names_make(inst, n);
}

static void release(kpk_instance *inst)
{
    if (!inst)
        return;
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

static kpk_status open_on(const kpk_module *const *modules, size_t n,
                          int device, kpk_instance **out)
{
    static const kpk_i_mutex fresh = KPK_I_MUTEX_FRESH;
    kpk_instance *inst;
    kpk_status st;

    inst = calloc(1, sizeof(*inst));
    if (!inst) {
        st = kpk_i_fail(KPK_ERR_NOMEM, "no memory to open %zu modules", n);
        goto out;
    }
    inst->ordinal = device;
    memcpy(&inst->lock, &fresh, sizeof(fresh));
    kpk_i_pool_make(&inst->pool);
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

/* Whether one of the modules has code for the device. A module of another
 * format counts as one without; open_on() reports it. */
static bool any_fits(const kpk_module *const *modules, size_t n,
                     const char *target)
{
    kpk_selection selection;

    for (size_t i = 0; i < n; i++) {
        if (kpk_i_module_check(modules[i]) == KPK_OK &&
            kpk_i_select_reported(modules[i], target, &selection) == KPK_OK)
            return true;
    }
    return false;
}

/* The first device, of so many, that runs the modules; below 0 if there is
 * none. */
static int first_fit(const kpk_module *const *modules, size_t n, int most,
                     kpk_device *out)
{
    const struct kpk_i_gpu *gpu;

    for (int i = 0; i < most && kpk_i_find_device(i, &gpu, out) == KPK_OK;
         i++) {
        if (any_fits(modules, n, out->target))
            return i;
    }
    return -1;
}

static kpk_status open_first(const kpk_module *const *modules, size_t n,
                             kpk_instance **out)
{
    struct kpk_i_failure before;
    kpk_device device;
    kpk_status st;
    int first;

    kpk_i_keep_failure(&before);
    first = first_fit(modules, n, INT32_MAX, &device);
    kpk_i_put_back_failure(&before); /* a device that does not fit is none */
    st = open_on(modules, n, first < 0 ? 0 : first, out);
    if (st == KPK_ERR_NO_TARGET)
        kpk_i_fail_more(". No other GPU of this machine would run it either");
    return st;
}

/* No module fits the requested device: adds to the message a device that one
 * fits. Does not load CUDA's driver if the device is HIP's. */
static void name_another(const kpk_module *const *modules, size_t n, int device)
{
    struct kpk_i_failure why;
    kpk_device other;
    int nhip = 0;
    int first;

    kpk_i_keep_failure(&why);
    (void)kpk_platform_device_count(KPK_HIP, &nhip);
    first = first_fit(modules, n, device < nhip ? nhip : INT32_MAX, &other);
    kpk_i_put_back_failure(&why);
    if (first >= 0)
        kpk_i_fail_more(". Device %d (%s) would run it: open device %d, or "
                        "KPK_ANY_DEVICE",
                        first, other.target, first);
}

kpk_status kpk_open_modules(const kpk_module *const *modules, size_t n,
                            int device, kpk_instance **out)
{
    kpk_status st;

    KPK_I_NEED(out);
    if (n)
        KPK_I_NEED(modules);
    if (device == KPK_ANY_DEVICE)
        return open_first(modules, n, out);
    st = open_on(modules, n, device, out);
    if (st == KPK_ERR_NO_TARGET)
        name_another(modules, n, device);
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

kpk_status kpk_close(kpk_instance *inst)
{
    kpk_status st = inst ? kpk_i_unload_all(inst) : KPK_OK;
    const kpk_status freed = inst ? kpk_i_pool_close(inst) : KPK_OK;

    release(inst);
    return st == KPK_OK ? freed : st;
}
