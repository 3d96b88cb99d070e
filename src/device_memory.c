/* device_memory.c - device memory for programs that do not call HIP themselves
 */
#include "on_device.h"

static kpk_status allocate(kpk_instance *inst, size_t nbytes, void **out)
{
    KPK_I_ON_DEVICE(inst, hipMalloc, (out, nbytes),
                    "cannot allocate %zu bytes on device %d", nbytes,
                    inst->ordinal);
}

kpk_status kpk_malloc(kpk_instance *inst, size_t nbytes, void **out)
{
    void *ptr = NULL;
    kpk_status st;

    KPK_I_NEED(inst);
    KPK_I_NEED(out);
    st = allocate(inst, nbytes, &ptr);
    if (st == KPK_OK && !nbytes) { /* NULL is right */
        *out = ptr;
        return st;
    }
    KPK_I_HAND_OVER(inst, hipMalloc, st, ptr, hipFree, out);
}

static kpk_status allocate_uncached(kpk_instance *inst, size_t nbytes,
                                    void **out)
{
    KPK_I_ON_DEVICE(inst, hipExtMallocWithFlags,
                    (out, nbytes, hipDeviceMallocUncached),
                    "cannot allocate %zu uncached bytes on device %d", nbytes,
                    inst->ordinal);
}

kpk_status kpk_malloc_uncached(kpk_instance *inst, size_t nbytes, void **out)
{
    void *ptr = NULL;
    kpk_status st;

    KPK_I_NEED(inst);
    KPK_I_NEED(out);
    if (!nbytes) {
        *out = NULL;
        return KPK_OK;
    }
    st = allocate_uncached(inst, nbytes, &ptr);
    KPK_I_HAND_OVER(inst, hipExtMallocWithFlags, st, ptr, hipFree, out);
}

kpk_status kpk_free(kpk_instance *inst, void *ptr)
{
    KPK_I_NEED(inst);
    if (!ptr)
        return KPK_OK; /* CUDA's driver refuses to free 0 */
    KPK_I_ON_DEVICE(inst, hipFree, (ptr), "cannot free %p on device %d", ptr,
                    inst->ordinal);
}

kpk_status kpk_copy_to(kpk_instance *inst, void *device_dst,
                       const void *host_src, size_t nbytes)
{
    KPK_I_NEED(inst);
    if (nbytes) {
        KPK_I_NEED(device_dst);
        KPK_I_NEED(host_src);
    }
    KPK_I_ON_DEVICE(inst, hipMemcpy,
                    (device_dst, host_src, nbytes, hipMemcpyHostToDevice),
                    "cannot copy %zu bytes to %p on device %d", nbytes,
                    device_dst, inst->ordinal);
}

kpk_status kpk_copy_from(kpk_instance *inst, void *host_dst,
                         const void *device_src, size_t nbytes)
{
    KPK_I_NEED(inst);
    if (nbytes) {
        KPK_I_NEED(host_dst);
        KPK_I_NEED(device_src);
    }
    KPK_I_ON_DEVICE(inst, hipMemcpy,
                    (host_dst, device_src, nbytes, hipMemcpyDeviceToHost),
                    "cannot copy %zu bytes from %p on device %d", nbytes,
                    device_src, inst->ordinal);
}

kpk_status kpk_fill(kpk_instance *inst, void *device_dst, uint8_t value,
                    size_t nbytes)
{
    KPK_I_NEED(inst);
    if (nbytes)
        KPK_I_NEED(device_dst);
    KPK_I_ON_DEVICE(inst, hipMemset, (device_dst, value, nbytes),
                    "cannot fill %zu bytes at %p on device %d", nbytes,
                    device_dst, inst->ordinal);
}

kpk_status kpk_sync(kpk_instance *inst, void *stream)
{
    KPK_I_NEED(inst);
    KPK_I_ON_DEVICE(inst, hipStreamSynchronize, (stream),
                    "waiting for a stream of device %d failed", inst->ordinal);
}
