/* kernel_get.h - a kernel's function, found in its module */
#ifndef KPK_KERNEL_GET_H
#define KPK_KERNEL_GET_H

#include "instance.h"
#include "internal.h"

#pragma GCC visibility push(hidden)

/* The kernel's function, found in its module the first time. It is refused
 * with KPK_ERR_UNLOADED unless the module is loaded. */
kpk_status kpk_i_function(const kpk_kernel *kernel, hipFunction_t *out);

/* An action on a kernel's function, which stays valid meanwhile: under the
 * instance's lock with its device current. */
typedef kpk_status kpk_i_use(kpk_instance *inst, const kpk_kernel *kernel,
                             hipFunction_t function, void *what);
kpk_status kpk_i_with_function(const kpk_kernel *kernel, kpk_i_use *use,
                               void *what);

#pragma GCC visibility pop

#endif
