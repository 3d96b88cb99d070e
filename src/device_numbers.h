/* device_numbers.h - one numbering of all GPUs */
#ifndef KPK_DEVICE_NUMBERS_H
#define KPK_DEVICE_NUMBERS_H

#include "gpu.h"
#include "internal.h"

#pragma GCC visibility push(hidden)

/* Describes device number `device` and returns its driver. */
kpk_status kpk_i_find_device(int device, const struct kpk_i_gpu **gpu,
                             kpk_device *out);

#pragma GCC visibility pop

#endif
