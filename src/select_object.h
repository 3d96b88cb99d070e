/* select_object.h - which code object runs on which device */
#ifndef KPK_SELECT_OBJECT_H
#define KPK_SELECT_OBJECT_H

#include "internal.h"

#pragma GCC visibility push(hidden)

/* kpk_select() for a target ID that HIP reports. Never refuses the ID: an
 * unknown part is a feature that no code object names. */
kpk_status kpk_i_select_reported(const kpk_module *module, const char *target,
                                 kpk_selection *out);

/* Among code objects with the same fit, the one with the higher rank is more
 * specific. */
size_t kpk_i_target_rank(const char *target);

#pragma GCC visibility pop

#endif
