/* device_state.c - queries of an instance's device */
#include "on_device.h"

static kpk_status memory_info(kpk_instance *inst, size_t *unused, size_t *all)
{
    KPK_I_ON_DEVICE(inst, hipMemGetInfo, (unused, all),
                    "cannot tell how much memory device %d has left",
                    inst->ordinal);
}

kpk_status kpk_memory_info(kpk_instance *inst, size_t *free_nbytes,
                           size_t *total_nbytes)
{
    size_t unused = 0;
    size_t all = 0;
    kpk_status st;

    KPK_I_NEED(inst);
    st = memory_info(inst, &unused, &all);
    if (st == KPK_OK && free_nbytes)
        *free_nbytes = unused;
    if (st == KPK_OK && total_nbytes)
        *total_nbytes = all;
    return st;
}

static kpk_status attribute(kpk_instance *inst, int number, int *out)
{
    KPK_I_ON_DEVICE(
        inst, hipDeviceGetAttribute, (out, number, inst->device.index),
        "cannot tell attribute %d of device %d", number, inst->ordinal);
}

kpk_status kpk_device_attr(kpk_instance *inst, int attr, int *out)
{
    int value = 0;
    kpk_status st;

    KPK_I_NEED(inst);
    KPK_I_NEED(out);
    st = attribute(inst, attr, &value);
    if (st == KPK_OK)
        *out = value;
    return st;
}
