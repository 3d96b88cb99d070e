/* ipc.c - device memory that several processes use */
#include "on_device.h"

#include <string.h>

static kpk_status get_handle(kpk_instance *inst, void *ptr,
                             hipIpcMemHandle_t *out)
{
    KPK_I_ON_DEVICE(inst, hipIpcGetMemHandle, (out, ptr),
                    "cannot share %p of device %d with other processes: it "
                    "must be the start of an allocation",
                    ptr, inst->ordinal);
}

kpk_status kpk_ipc_export(kpk_instance *inst, void *ptr, kpk_ipc_memory *out)
{
    hipIpcMemHandle_t handle;
    kpk_status st;

    KPK_I_NEED(inst);
    KPK_I_NEED(ptr);
    KPK_I_NEED(out);
    if (!inst->gpu->hipIpcGetMemHandle)
        return kpk_i_lacks(inst->gpu, "memory for other processes",
                           "hipIpcGetMemHandle");
    st = get_handle(inst, ptr, &handle);
    if (st == KPK_OK)
        memcpy(out->bytes, handle.bytes, sizeof(handle.bytes));
    return st;
}

static kpk_status open_handle(kpk_instance *inst, hipIpcMemHandle_t handle,
                              void **out)
{
    const unsigned flags =
        inst->gpu->platform == KPK_HIP && inst->gpu->major < 6
            ? 0
            : hipIpcMemLazyEnablePeerAccess;

    KPK_I_ON_DEVICE(inst, hipIpcOpenMemHandle, (out, handle, flags),
                    "device %d cannot use the memory of another process: the "
                    "process must live, and the device reach the memory's",
                    inst->ordinal);
}

kpk_status kpk_ipc_import(kpk_instance *inst, const kpk_ipc_memory *memory,
                          void **out)
{
    hipIpcMemHandle_t handle;
    void *ptr = NULL;
    kpk_status st;

    KPK_I_NEED(inst);
    KPK_I_NEED(memory);
    KPK_I_NEED(out);
    if (!inst->gpu->hipIpcOpenMemHandle || !inst->gpu->hipIpcCloseMemHandle)
        return kpk_i_lacks(inst->gpu, "memory of another process",
                           "hipIpcOpenMemHandle");
    memcpy(handle.bytes, memory->bytes, sizeof(handle.bytes));
    st = open_handle(inst, handle, &ptr);
    KPK_I_HAND_OVER(inst, hipIpcOpenMemHandle, st, ptr, hipIpcCloseMemHandle,
                    out);
}

kpk_status kpk_ipc_close(kpk_instance *inst, void *ptr)
{
    KPK_I_NEED(inst);
    if (!ptr)
        return KPK_OK;
    if (!inst->gpu->hipIpcCloseMemHandle)
        return kpk_i_lacks(inst->gpu, "memory of another process",
                           "hipIpcCloseMemHandle");
    KPK_I_ON_DEVICE(inst, hipIpcCloseMemHandle, (ptr),
                    "cannot give back %p, memory of another process, on "
                    "device %d",
                    ptr, inst->ordinal);
}
