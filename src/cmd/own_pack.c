/* own_pack.c - the pack that the command looks into: its own, or a file's */
#include "own_pack.h"
#include "exit_status.h"

#ifndef CMD_PACK /* the build defines the pack that it carries */
#define CMD_PACK kpk_candle
#define CMD_PACK_HEADER <kpack/candle.h>
#endif
#include CMD_PACK_HEADER

#include <stdio.h>
#include <string.h>

const kpk_pack *cmd_pack = &CMD_PACK;
const char *cmd_pack_path = "";

kpk_status cmd_find_object(const kpk_module *module, const char *target,
                           size_t *out)
{
    kpk_object object = {.data = NULL};
    kpk_status st = kpk_module_find_object(module, target, out);

    if (st == KPK_OK)
        st = kpk_module_object_info(module, *out, &object);
    return st == KPK_OK && object.nbytes == 0 ? KPK_ERR_NO_TARGET : st;
}

/* How good a module is for a target: 2 has exactly that, 1 fits, 0 does not. */
static int goodness(const kpk_module *module, const char *target)
{
    kpk_selection selection;
    size_t object;

    if (cmd_find_object(module, target, &object) == KPK_OK)
        return 2;
    return kpk_select(module, target, &selection) == KPK_OK;
}

void cmd_offer_names(struct nearest *nearest, bool modules, bool kernels)
{
    for (size_t i = 0; i < kpk_pack_module_count(cmd_pack); i++) {
        const kpk_module *module = kpk_pack_module(cmd_pack, i);
        kpk_kernel_decl kernel;

        if (modules)
            nearest_offer(nearest, kpk_module_name(module));
        for (size_t k = 0; kernels && k < kpk_module_kernel_count(module);
             k++) {
            cmd_need(kpk_module_kernel(module, k, &kernel));
            nearest_offer(nearest, kernel.name);
        }
    }
}

const kpk_module *cmd_find_module(const char *name, const char *target)
{
    const kpk_module *module = kpk_pack_find(cmd_pack, name);

    if (!module) {
        struct nearest nearest = nearest_to(name);

        cmd_offer_names(&nearest, true, false);
        (void)fprintf(
            stderr,
            "kpack: the pack has no module \"%s\"; `kpack list%s%s` shows "
            "them%s\n",
            name, *cmd_pack_path ? " " : "", cmd_pack_path,
            nearest_hint(&nearest));
        return NULL;
    }
    for (size_t i = 0; i < kpk_pack_module_count(cmd_pack); i++) {
        const kpk_module *other = kpk_pack_module(cmd_pack, i);

        if (strcmp(kpk_module_name(other), name) == 0 &&
            goodness(other, target) > goodness(module, target))
            module = other;
    }
    return module;
}
