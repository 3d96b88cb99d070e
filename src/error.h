/* error.h - the calling thread's last failure, and text built piece by piece */
#ifndef KPK_ERROR_H
#define KPK_ERROR_H

#include "gpu.h"
#include "internal.h"

#include <stdarg.h>

#pragma GCC visibility push(hidden)

/* The thread's last failure. A call that succeeds although a step of it failed
 * puts the former failure back. */
enum { KPK_I_MESSAGE_NBYTES = 2048 };
struct kpk_i_failure {
    int driver; /* see kpk_error_driver() */
    char text[KPK_I_MESSAGE_NBYTES];
};
void kpk_i_keep_failure(struct kpk_i_failure *out);
void kpk_i_put_back_failure(const struct kpk_i_failure *from);

/* A NULL that a public call does not take. */
#define KPK_I_NEED(kpk_pointer)                                                \
    do {                                                                       \
        if (!(kpk_pointer))                                                    \
            return kpk_i_fail(KPK_ERR_ARG, "%s: %s is NULL", __func__,         \
                              #kpk_pointer);                                   \
    } while (0)

/* Adds to the message of the failure that was told just now. */
void kpk_i_fail_more(const char *format, ...)
    __attribute__((format(__printf__, 1, 2)));

/* kpk_i_fail() for a call that returned `error`: "<message>: <call>
 * returned <name> (<number>), <text>". The status is KPK_ERR_DRIVER. */
kpk_status kpk_i_fail_gpu(const struct kpk_i_gpu *gpu, const char *call,
                          hipError_t error, const char *format, ...)
    __attribute__((format(__printf__, 4, 5)));

/* Has a failure been told that a fault of a GPU was behind? */
bool kpk_i_has_faulted(const struct kpk_i_gpu *gpu);

/* The driver's error behind the failure that was told just now. */
void kpk_i_fail_behind(hipError_t error);

/* A bounded string that is built piece by piece; what does not fit is cut. */
struct kpk_i_text {
    char *at;
    size_t room;
};
void kpk_i_append(struct kpk_i_text *text, const char *format, ...)
    __attribute__((format(__printf__, 2, 3)));

/* The driver lacks a function that `what` needs: KPK_ERR_UNSUPPORTED. */
kpk_status kpk_i_lacks(const struct kpk_i_gpu *gpu, const char *what,
                       const char *hip_name);

#pragma GCC visibility pop

#endif
