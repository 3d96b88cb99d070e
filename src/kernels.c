/* kernels.c - all kernels of a module at once, for typed launchers
 *
 * A set of kernels is the instance's slot of the module: its kernels stand
 * there in the order of the module's table, which is the numbers that the
 * generated header uses.
 */
#include "base/fnv1a.h"
#include "error.h"
#include "instance.h"
#include "load.h"
#include "module.h"

static uint64_t layout_of(const kpk_module *module)
{
    uint64_t h = FNV1A_EMPTY;

    for (size_t i = 0; i < module->nkernels; i++) {
        const struct kpk_kernel_desc *desc = &module->kernels[i];
        const struct kpk_arg_desc *args = &module->args[desc->first_arg];

        h = fnv1a_layout_kernel(h, kpk_i_string(module, desc->name));
        for (size_t a = 0; a < desc->nargs; a++)
            h = fnv1a_layout_arg(h, args[a].offset, args[a].size);
    }
    return h;
}

static kpk_status work_load(kpk_instance *inst, void *slot)
{
    return kpk_i_load_slot(inst, slot);
}

kpk_status kpk_kernels_get(kpk_instance *inst, const kpk_module *module,
                           uint64_t layout, const kpk_kernels **out)
{
    struct kpk_i_slot *slot = NULL;
    kpk_status st;

    KPK_I_NEED(inst);
    KPK_I_NEED(module);
    KPK_I_NEED(out);
    for (size_t i = 0; i < inst->nslots && !slot; i++) {
        if (inst->slots[i].module == module)
            slot = &inst->slots[i];
    }
    if (!slot)
        return kpk_i_fail(KPK_ERR_NO_MODULE,
                          "module %s of this header is not among the %zu that "
                          "the instance was opened with; another pack may have "
                          "one of the same name",
                          kpk_module_name(module), inst->nslots);
    if (layout != layout_of(module))
        return kpk_i_fail(KPK_ERR_FORMAT,
                          "the launchers of module %s are not of the build "
                          "that was linked: its kernels or their arguments are "
                          "others. Compile the program with the headers of "
                          "this build",
                          kpk_module_name(module));
    st = kpk_i_with_lock(inst, work_load, slot);
    if (st == KPK_OK)
        *out = (const kpk_kernels *)slot;
    return st;
}
