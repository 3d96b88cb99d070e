/* copy_async.c - copies and fills that a stream does in its turn */
#include "on_device.h"

static kpk_status copy(kpk_instance *inst, void *dst, const void *src,
                       size_t nbytes, hipMemcpyKind kind, void *stream)
{
    KPK_I_ON_DEVICE(inst, hipMemcpyAsync, (dst, src, nbytes, kind, stream),
                    "cannot copy %zu bytes from %p to %p in a stream of device "
                    "%d",
                    nbytes, src, dst, inst->ordinal);
}

kpk_status kpk_copy_to_async(kpk_instance *inst, void *device_dst,
                             const void *host_src, size_t nbytes, void *stream)
{
    KPK_I_NEED(inst);
    if (nbytes == 0)
        return KPK_OK;
    KPK_I_NEED(device_dst);
    KPK_I_NEED(host_src);
    return copy(inst, device_dst, host_src, nbytes, hipMemcpyHostToDevice,
                stream);
}

kpk_status kpk_copy_from_async(kpk_instance *inst, void *host_dst,
                               const void *device_src, size_t nbytes,
                               void *stream)
{
    KPK_I_NEED(inst);
    if (nbytes == 0)
        return KPK_OK;
    KPK_I_NEED(host_dst);
    KPK_I_NEED(device_src);
    return copy(inst, host_dst, device_src, nbytes, hipMemcpyDeviceToHost,
                stream);
}

kpk_status kpk_copy_async(kpk_instance *inst, void *device_dst,
                          const void *device_src, size_t nbytes, void *stream)
{
    KPK_I_NEED(inst);
    if (nbytes == 0)
        return KPK_OK;
    KPK_I_NEED(device_dst);
    KPK_I_NEED(device_src);
    return copy(inst, device_dst, device_src, nbytes, hipMemcpyDeviceToDevice,
                stream);
}

static kpk_status copy_peer(kpk_instance *inst, void *dst,
                            const kpk_instance *from, const void *src,
                            size_t nbytes, void *stream)
{
    KPK_I_ON_DEVICE(
        inst, hipMemcpyPeerAsync,
        (dst, inst->device.index, src, from->device.index, nbytes, stream),
        "cannot copy %zu bytes from device %d to device %d", nbytes,
        from->ordinal, inst->ordinal);
}

kpk_status kpk_copy_peer_async(kpk_instance *inst, void *device_dst,
                               const kpk_instance *from, const void *device_src,
                               size_t nbytes, void *stream)
{
    KPK_I_NEED(inst);
    KPK_I_NEED(from);
    if (inst->gpu != from->gpu)
        return kpk_i_fail(KPK_ERR_UNSUPPORTED,
                          "cannot copy from device %d (%s) to device %d (%s): "
                          "they have different drivers. Copy through memory of "
                          "the host",
                          from->ordinal, from->device.target, inst->ordinal,
                          inst->device.target);
    if (nbytes == 0)
        return KPK_OK;
    KPK_I_NEED(device_dst);
    KPK_I_NEED(device_src);
    return copy_peer(inst, device_dst, from, device_src, nbytes, stream);
}

static kpk_status fill(kpk_instance *inst, void *dst, uint8_t value,
                       size_t nbytes, void *stream)
{
    KPK_I_ON_DEVICE(inst, hipMemsetAsync, (dst, value, nbytes, stream),
                    "cannot fill %zu bytes at %p in a stream of device %d",
                    nbytes, dst, inst->ordinal);
}

kpk_status kpk_fill_async(kpk_instance *inst, void *device_dst, uint8_t value,
                          size_t nbytes, void *stream)
{
    KPK_I_NEED(inst);
    if (nbytes == 0)
        return KPK_OK;
    KPK_I_NEED(device_dst);
    return fill(inst, device_dst, value, nbytes, stream);
}
