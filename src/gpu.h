/* gpu.h - what the runtime asks of a GPU's driver, in HIP's words
 *
 * HIP's module API is CUDA's driver API under other names, down to the numbers
 * of errors and attributes. So HIP's signatures are the interface: HIP itself
 * fills one such struct (hip.c), CUDA's driver another (cuda.c), and there is
 * one way to launch.
 */
#ifndef KPK_GPU_H
#define KPK_GPU_H

#include "hip_api.h"
#include "internal.h"

struct kpk_i_gpu {
    /* The functions by name. Optional ones may be NULL. */
#define X(need, result, name, args) result(*name) args;
    KPK_HIP_TABLE(X)
    KPK_HIP_NEWER_TABLE(X)
#undef X

    /* Work that the two drivers do differently. `device` is the driver's own
     * number. */

    /* Fills all of `out` but its platform and index. */
    kpk_status (*describe)(const struct kpk_i_gpu *gpu, int device,
                           kpk_device *out);
    /* enter() makes the device current for this thread and saves the one that
     * was current; leave() restores it. leave() returns `st`, or its own
     * failure if `st` is KPK_OK. */
    kpk_status (*enter)(const struct kpk_i_gpu *gpu, int device,
                        intptr_t *saved);
    kpk_status (*leave)(const struct kpk_i_gpu *gpu, int device, intptr_t saved,
                        kpk_status st);
    /* hipModuleLaunchKernel() in clusters of `cluster` blocks, unless `cluster`
     * is NULL; `early`: as KPK_LAUNCH_EARLY. NULL if the driver has neither. */
    hipError_t (*launch_with)(hipFunction_t function, const kpk_shape *shape,
                              const uint32_t cluster[3], bool early,
                              hipStream_t stream, void **params);
    /* The driver's own name of a HIP function, for messages. */
    const char *(*call_name)(const char *hip_name);
    /* The same, for a HIP function that failed last on this thread. If several
     * of the driver's functions replace it, the one that failed. */
    const char *(*failed_name)(const char *hip_name);
    /* The replacement for a function that the platform has given up; NULL for
     * other functions. The pointer is NULL if the platform gave up none. */
    const char *(*instead)(const char *hip_name);
    /* The PTX compiler's last log on this thread; "" without a log. */
    const char *(*compile_log)(void);

    kpk_platform platform;
    const char *title; /* "HIP", "the CUDA driver" */
    int version;       /* in the driver's encoding; 0: unknown */
    int major, minor;  /* the same, for messages */
    const char *path;  /* the library's file */
};

#endif
