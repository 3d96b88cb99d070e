/* on_device.h - one call of the driver on an instance's device */
#ifndef KPK_ON_DEVICE_H
#define KPK_ON_DEVICE_H

#include "error.h"
#include "instance.h"

#pragma GCC visibility push(hidden)

/* Makes the device current, evaluates `call`, which returns the status of the
 * driver's function `name`, restores the current device, and returns from the
 * calling function. The other arguments are the message of a failure. */
#define KPK_I_ON_DEVICE_AS(inst, name, call, ...)                              \
    do {                                                                       \
        intptr_t saved;                                                        \
        hipError_t error;                                                      \
        kpk_status st = kpk_i_enter((inst), &saved);                           \
                                                                               \
        if (st != KPK_OK)                                                      \
            return st;                                                         \
        error = (call);                                                        \
        if (error != hipSuccess)                                               \
            st = kpk_i_fail_gpu((inst)->gpu, #name, error, __VA_ARGS__);       \
        return kpk_i_leave((inst), saved, st);                                 \
    } while (0)

/* The same of a plain call. */
#define KPK_I_ON_DEVICE(inst, name, arguments, ...)                            \
    KPK_I_ON_DEVICE_AS(inst, name, (inst)->gpu->name arguments, __VA_ARGS__)

/* What a call made that returned `st`: a success without it is a failure. */
kpk_status kpk_i_made(const kpk_instance *inst, kpk_status st,
                      const char *hip_name, const void *made);

/* Returns from the calling function, which function `name` of the driver served
 * with status `st`: hands `made` over in *out. `destroy` of the driver ends
 * what was made although the current device did not come back. */
#define KPK_I_HAND_OVER(inst, name, st, made, destroy, out)                    \
    do {                                                                       \
        const kpk_status ends = kpk_i_made((inst), (st), #name, (made));       \
                                                                               \
        if (ends == KPK_OK)                                                    \
            *(out) = (made);                                                   \
        else if (made)                                                         \
            (void)(inst)->gpu->destroy(made);                                  \
        return ends;                                                           \
    } while (0)

/* The answer of a query: "not yet" is a success too. */
hipError_t kpk_i_answer(hipError_t error, int *done);

#pragma GCC visibility pop

#endif
