/* kpack/host_code.h - calls of the runtime for host code beside kernels
 *
 * They are for a pack's own sources, such as kernels/host, which are built with
 * the runtime: they are no part of kpack.h, and may change with each release.
 */
#ifndef KPACK_HOST_CODE_H
#define KPACK_HOST_CODE_H

#include <kpack.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the thread's kpk_error_message(); returns `status` so that it can be
 * returned. */
kpk_status kpk_i_fail(kpk_status status, const char *format, ...)
    __attribute__((format(__printf__, 2, 3)));

/* The target that selects the rows of a module's launch shapes on a device: the
 * target of the code that runs there. The result is the device's string, the
 * code's string, or stored in `name`. */
enum { KPK_I_SM_NBYTES = 16 };
const char *kpk_i_target_of_rows(const kpk_module *module, const char *device,
                                 char name[KPK_I_SM_NBYTES]);

/* ---- processes that work together ---------------------------------------- */

struct kpk_i_party {
    /* Fills all [members][nbytes] by rank with what all members called with;
     * not 0 if one cannot be reached. */
    int (*gather)(void *caller, const void *mine, void *all, size_t nbytes);
    void *caller;
    uint32_t rank, members;
};

/* Fills all [members][nbytes]. If a member comes with another status than
 * KPK_OK, all fail with it; `what` says what that one could not do. */
kpk_status kpk_i_party_meet(const struct kpk_i_party *party, kpk_status own,
                            const char *what, const void *mine, size_t nbytes,
                            void *all);

/* Returns when all have come, or the gather has failed. */
void kpk_i_party_wait(const struct kpk_i_party *party);

/* of [members]: gives the own memory to all, and gets that of the others, until
 * kpk_i_party_unshare(). */
kpk_status kpk_i_party_share(const struct kpk_i_party *party,
                             kpk_instance *inst, char **of);
void kpk_i_party_unshare(const struct kpk_i_party *party, kpk_instance *inst,
                         char **of);

#ifdef __cplusplus
}
#endif

#endif
