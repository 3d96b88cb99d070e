/* instance.c - what an instance tells, and work on its device
 *
 * Modules are loaded and functions resolved under the instance's lock. The
 * results are published with release stores, so that everyone after that finds
 * them with two loads and no lock.
 */
#include "instance.h"
#include "error.h"
#include "process.h"
#include "select_object.h"

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
    (void)kpk_i_fail(KPK_ERR_NO_MODULE,
                     "no module \"%s\" among the %zu that are open", name,
                     inst->nslots);
    return KPK_ERR_NO_MODULE;
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

kpk_status kpk_i_enter(const kpk_instance *inst, intptr_t *saved)
{
    return inst->gpu->enter(inst->gpu, inst->device.index, saved);
}

kpk_status kpk_i_leave(const kpk_instance *inst, intptr_t saved, kpk_status st)
{
    return inst->gpu->leave(inst->gpu, inst->device.index, saved, st);
}

kpk_status kpk_i_with_lock(kpk_instance *inst, kpk_i_work *work, void *what)
{
    intptr_t saved;
    kpk_status st = kpk_i_check_process();

    if (st != KPK_OK)
        return st;
    kpk_i_lock(&inst->lock);
    st = kpk_i_enter(inst, &saved);
    if (st == KPK_OK) {
        st = work(inst, what);
        st = kpk_i_leave(inst, saved, st);
    }
    kpk_i_unlock(&inst->lock);
    return st;
}
