/* cuda.h - the machine's CUDA driver */
#ifndef KPK_CUDA_H
#define KPK_CUDA_H

#include "gpu.h"
#include "internal.h"

#pragma GCC visibility push(hidden)

/* Valid once kpk_i_cuda_bind() has succeeded. It finds the driver unless that
 * is done; a failure is tried again at the next call. */
extern struct kpk_i_gpu kpk_i_cuda;
kpk_status kpk_i_cuda_bind(void);

#pragma GCC visibility pop

#endif
