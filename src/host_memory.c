/* host_memory.c - pinned memory of the host, which copies reach directly */
#include "on_device.h"

/* For copies of all devices: hipHostMallocPortable, CU_MEMHOSTALLOC_PORTABLE.
 */
enum { PORTABLE = 1 };

static kpk_status allocate(kpk_instance *inst, size_t nbytes, void **out)
{
    KPK_I_ON_DEVICE(inst, hipHostMalloc, (out, nbytes, PORTABLE),
                    "cannot allocate %zu bytes of pinned memory", nbytes);
}

kpk_status kpk_malloc_host(kpk_instance *inst, size_t nbytes, void **out)
{
    void *ptr = NULL;
    kpk_status st;

    KPK_I_NEED(inst);
    KPK_I_NEED(out);
    if (!nbytes) {
        *out = NULL;
        return KPK_OK;
    }
    st = allocate(inst, nbytes, &ptr);
    KPK_I_HAND_OVER(inst, hipHostMalloc, st, ptr, hipHostFree, out);
}

kpk_status kpk_free_host(kpk_instance *inst, void *ptr)
{
    KPK_I_NEED(inst);
    if (!ptr)
        return KPK_OK;
    KPK_I_ON_DEVICE(inst, hipHostFree, (ptr), "cannot free pinned memory at %p",
                    ptr);
}
