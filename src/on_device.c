/* on_device.c - what the driver answered to a call on an instance's device */
#include "on_device.h"

kpk_status kpk_i_made(const kpk_instance *inst, kpk_status st,
                      const char *hip_name, const void *made)
{
    if (st != KPK_OK || made)
        return st;
    return kpk_i_fail(KPK_ERR_DRIVER,
                      "%s returned success, but made nothing on device %d",
                      inst->gpu->call_name(hip_name), inst->ordinal);
}

hipError_t kpk_i_answer(hipError_t error, int *done)
{
    *done = error == hipSuccess;
    return error == hipErrorNotReady ? hipSuccess : error;
}
