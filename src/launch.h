/* launch.h - the checks of a launch */
#ifndef KPK_LAUNCH_H
#define KPK_LAUNCH_H

#include "gpu.h"
#include "internal.h"

#pragma GCC visibility push(hidden)

/* Holds a launch against the limits of kernel, device and driver. */
kpk_status kpk_i_check_launch(const kpk_kernel *kernel, const kpk_shape *shape);

/* One pointer for each entry of the kernel's argument list: into the caller's
 * values, or, of a packed buffer, into that. */
kpk_status kpk_i_point_to_args(const kpk_kernel *kernel, const kpk_arg *args,
                               size_t nargs, void *params[KPK_MAX_ARGS]);
kpk_status kpk_i_point_into_buffer(const kpk_kernel *kernel, const void *buffer,
                                   size_t nbytes, void *params[KPK_MAX_ARGS]);

kpk_status kpk_i_check_stream(const kpk_kernel *kernel, const void *stream);
kpk_status kpk_i_launch_failed(const char *call, hipError_t error,
                               const kpk_kernel *kernel,
                               const kpk_shape *shape);

#pragma GCC visibility pop

#endif
