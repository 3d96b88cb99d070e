/* hip.h - the machine's HIP runtime */
#ifndef KPK_HIP_H
#define KPK_HIP_H

#include "gpu.h"
#include "internal.h"

#pragma GCC visibility push(hidden)

/* Valid once kpk_i_hip_bind() has succeeded. It finds HIP unless that is done;
 * a failure is tried again at the next call. */
extern struct kpk_i_gpu kpk_i_hip;
kpk_status kpk_i_hip_bind(void);

#pragma GCC visibility pop

#endif
