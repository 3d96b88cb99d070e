/* hip_device.h - HIP's devices: their properties, and the current device */
#ifndef KPK_HIP_DEVICE_H
#define KPK_HIP_DEVICE_H

#include "gpu.h"
#include "internal.h"

#pragma GCC visibility push(hidden)

/* describe(), enter() and leave() of struct kpk_i_gpu. */
kpk_status kpk_i_hip_describe(const struct kpk_i_gpu *hip, int device,
                              kpk_device *out);
kpk_status kpk_i_hip_enter(const struct kpk_i_gpu *hip, int device,
                           intptr_t *saved);
kpk_status kpk_i_hip_leave(const struct kpk_i_gpu *hip, int device,
                           intptr_t saved, kpk_status st);

#pragma GCC visibility pop

#endif
