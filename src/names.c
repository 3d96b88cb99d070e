/* names.c - finds a kernel of an instance by its name
 *
 * A hash table with open addressing, filled when the instance is opened and
 * constant from then on: looking up one name among 700 costs a hash and one
 * or two string comparisons, and no lock. The hash has no key: who can choose
 * the names in a program's pack can choose its code, too.
 */
#include "names.h"
#include "base/fnv1a.h"
#include "error.h"
#include "instance.h"

#include <stdlib.h>
#include <string.h>

kpk_status kpk_i_names_make(kpk_instance *inst, size_t nkernels)
{
    size_t size = 4;

    while (size < nkernels * 2) /* at most half full: short probes */
        size *= 2;
    inst->names = calloc(size, sizeof(*inst->names));
    if (!inst->names)
        return kpk_i_fail(KPK_ERR_NOMEM,
                          "no memory for the names of %zu kernels", nkernels);
    inst->names_mask = size - 1;
    for (size_t i = 0; i < nkernels; i++) {
        size_t at =
            fnv1a_text(FNV1A_EMPTY, kpk_kernel_name(&inst->kernels[i])) &
            inst->names_mask;

        while (inst->names[at])
            at = (at + 1) & inst->names_mask;
        inst->names[at] = &inst->kernels[i];
    }
    return KPK_OK;
}

kpk_kernel *kpk_i_names_find(const kpk_instance *inst, const char *name,
                             const kpk_kernel **other)
{
    size_t at = fnv1a_text(FNV1A_EMPTY, name) & inst->names_mask;
    kpk_kernel *found = NULL;

    *other = NULL;
    for (; inst->names[at]; at = (at + 1) & inst->names_mask) {
        kpk_kernel *kernel = inst->names[at];

        if (strcmp(kpk_kernel_name(kernel), name) != 0 ||
            (found && found->slot->fits && !kernel->slot->fits))
            continue;
        /* A kernel that runs on this device goes before one that does not. */
        if (found && found->slot->fits == kernel->slot->fits) {
            *other = kernel;
            continue;
        }
        found = kernel;
        *other = NULL;
    }
    return found;
}
