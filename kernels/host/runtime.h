/*
 * runtime.h - the runtime's functions for the host code of kpack's modules
 *
 * The functions are not part of kpack.h and may change with the runtime, which
 * is built together with their callers. src/internal.h declares them for the
 * runtime itself.
 */
#ifndef KPACK_HOST_RUNTIME_H
#define KPACK_HOST_RUNTIME_H

#include <kpack.h>

/* Sets kpk_error_message(); returns `status`. */
kpk_status kpk_i_fail(kpk_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The target that selects the rows of a module's launch shapes on a device: the
 * target of the code that runs there. The result is the device's string, the
 * code's string, or stored in `name`. */
enum { KPK_I_SM_NBYTES = 16 };
const char *kpk_i_target_of_rows(const kpk_module *module, const char *device,
                                 char name[KPK_I_SM_NBYTES]);

#endif
