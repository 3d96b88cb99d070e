/* kpack/host_code.h - calls of the runtime for host code beside kernels
 *
 * They are for a pack's own sources, such as kernels/host, which are built with
 * the runtime: they are no part of kpack.h, and may change with each release.
 */
#ifndef KPACK_HOST_CODE_H
#define KPACK_HOST_CODE_H

#include <kpack.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the thread's kpk_error_message(); returns `status` so that it can be
 * returned. */
kpk_status kpk_i_fail(kpk_status status, const char *format, ...)
    __attribute__((format(__printf__, 2, 3)));

/* The target that selects the rows of a module's launch shapes on a device: the
 * target of the code that runs there. The result is the device's string, the
 * code's string, or stored in `name`. */
enum { KPK_I_SM_NBYTES = 16 };
const char *kpk_i_target_of_rows(const kpk_module *module, const char *device,
                                 char name[KPK_I_SM_NBYTES]);

#ifdef __cplusplus
}
#endif

#endif
