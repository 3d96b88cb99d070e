/* driver.c - calls of HIP and CUDA that kpack does not wrap
 *
 * kpack has found the driver already; the same file is opened again here, which
 * gives the same library.
 */
#include "driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* A function of a platform's driver; NULL with a fault. */
static void *find(kpk_platform platform, const char *name, struct fault *fault)
{
    const char *path;
    void *library, *function;

    if (kpk_driver_info(platform, NULL, &path) != KPK_OK) {
        fail(fault, "%s", kpk_error_message());
        return NULL;
    }
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    function = library ? dlsym(library, name) : NULL;
    if (!function)
        fail(fault, "%s has no %s, which splitting over devices needs", path,
             name);
    return function;
}

typedef int hip_copy_peer(void *, int, const void *, int, size_t);
typedef int cuda_copy(unsigned long long, unsigned long long, size_t);

bool driver_copy_peer(const kpk_device *to_device, void *to,
                      const kpk_device *from_device, const void *from,
                      size_t nbytes, struct fault *fault)
{
    const bool hip = to_device->platform == KPK_HIP;
    const char *name = hip ? "hipMemcpyPeer" : "cuMemcpy";
    void *found;
    int status;

    if (to_device->platform != from_device->platform)
        return fail(fault,
                    "%s and %s have different drivers: a model is split over "
                    "devices of one driver",
                    to_device->name, from_device->name);
    found = find(to_device->platform, name, fault);
    if (!found)
        return false;
    if (hip) {
        hip_copy_peer *copy;

        memcpy(&copy, &found, sizeof(copy));
        status = copy(to, to_device->index, from, from_device->index, nbytes);
    } else { /* addresses tell the devices */
        cuda_copy *copy;

        memcpy(&copy, &found, sizeof(copy));
        status = copy((uintptr_t)to, (uintptr_t)from, nbytes);
    }
    return status == 0 || fail(fault, "%s from %s to %s failed: error %d", name,
                               from_device->name, to_device->name, status);
}
