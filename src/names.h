/* names.h - finds a kernel of an instance by its name */
#ifndef KPK_NAMES_H
#define KPK_NAMES_H

#include "internal.h"

#pragma GCC visibility push(hidden)

kpk_status kpk_i_names_make(kpk_instance *inst, size_t nkernels);

/* The kernel of that name, the only one that fits the device, or the only one:
 * else *other is set, and the first found is returned. NULL: no such kernel.
 */
kpk_kernel *kpk_i_names_find(const kpk_instance *inst, const char *name,
                             const kpk_kernel **other);

#pragma GCC visibility pop

#endif
