/* kernels.c - all kernels of a module at once, for typed launchers
 *
 * A set of kernels is the instance's slot of the module: its kernels stand
 * there in the order of the module's table, which is the numbers that the
 * generated header uses.
 */
#include "internal.h"

/* FNV-1a, 64 bits, as in names.c. */
static uint64_t hash_byte(uint64_t h, unsigned char byte)
{
    return (h ^ byte) * 0x100000001b3u;
}

static uint64_t hash_word(uint64_t h, uint32_t word)
{
    for (unsigned shift = 0; shift < 32; shift += 8)
        h = hash_byte(h, (unsigned char)(word >> shift));
    return h;
}

/* As gen/write/launchers.c computes it: names and where arguments lie. */
static uint64_t layout_of(const kpk_module *module)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < module->nkernels; i++) {
        const struct kpk_kernel_desc *desc = &module->kernels[i];
        const struct kpk_arg_desc *args = &module->args[desc->first_arg];
        const char *name = kpk_i_string(module, desc->name);

        for (; *name; name++)
            h = hash_byte(h, (unsigned char)*name);
        h = hash_byte(h, 0);
        for (size_t a = 0; a < desc->nargs; a++)
            h = hash_word(hash_word(h, args[a].offset), args[a].size);
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
