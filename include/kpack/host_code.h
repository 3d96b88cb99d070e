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

/* Milliseconds of a clock that is never set. */
uint64_t kpk_i_now_ms(void);

/* ---- RCCL and NCCL ------------------------------------------------------- */

enum { KPK_I_ID_NBYTES = 128 };
struct ncclComm;

/* Finds RCCL for HIP's devices, NCCL for CUDA's; *engine names it. Fails with
 * KPK_ERR_UNSUPPORTED, and says what is missing. Before all calls below. */
kpk_status kpk_i_collectives_find(const kpk_instance *inst,
                                  const char **engine);

/* Makes the ID with which all ranks open a communicator; rank 0 calls it. */
kpk_status kpk_i_collectives_id(const kpk_instance *inst,
                                uint8_t id[KPK_I_ID_NBYTES]);

/* Opens ranks `first` to `first + n - 1` of `ranks`: insts [n], out [n].
 * Returns when all ranks have called it. */
kpk_status kpk_i_collectives_open(kpk_instance *const *insts, uint32_t first,
                                  uint32_t n, uint32_t ranks,
                                  const uint8_t id[KPK_I_ID_NBYTES],
                                  struct ncclComm **out);

/* One thread's calls for several ranks stand between the two; end() returns
 * `st`, or its own failure if that is KPK_OK. */
kpk_status kpk_i_collectives_begin(const kpk_instance *inst);
kpk_status kpk_i_collectives_end(const kpk_instance *inst, kpk_status st);

enum { KPK_I_F16 = 0, KPK_I_BF16 = 1, KPK_I_F32 = 2 };
struct kpk_i_collective {
    struct ncclComm *comm;
    const void *in;
    void *out;
    size_t n; /* elements of one rank */
    int type;
    uint32_t root;
    void *stream;
};
typedef kpk_status kpk_i_collective_call(kpk_instance *inst,
                                         const struct kpk_i_collective *c);
kpk_i_collective_call kpk_i_collectives_all_reduce;
kpk_i_collective_call kpk_i_collectives_reduce_scatter;
kpk_i_collective_call kpk_i_collectives_all_gather;
kpk_i_collective_call kpk_i_collectives_broadcast;

/* KPK_ERR_TIMEOUT if another rank has ended, KPK_ERR_DRIVER for what else went
 * wrong in calls that have returned. */
kpk_status kpk_i_collectives_state(const kpk_instance *inst,
                                   struct ncclComm *comm);

/* The end, after all calls are over; abort() ends calls that wait. */
kpk_status kpk_i_collectives_close(kpk_instance *inst, struct ncclComm *comm);
kpk_status kpk_i_collectives_abort(kpk_instance *inst, struct ncclComm *comm);

/* ---- processes that work together ---------------------------------------- */

struct kpk_i_party {
    /* Fills all [members][nbytes] by rank with what all members called with;
     * not 0 if one cannot be reached. */
    int (*gather)(void *caller, const void *mine, void *all, size_t nbytes);
    void *caller;
    uint32_t rank, members;
};

/* Fills all [members][nbytes]. If a member's `own` status is not KPK_OK, all
 * members fail with it; `what` names what the member could not do. */
kpk_status kpk_i_party_meet(const struct kpk_i_party *party, kpk_status own,
                            const char *what, const void *mine, size_t nbytes,
                            void *all);

/* Returns when all have come, or the gather has failed. */
void kpk_i_party_wait(const struct kpk_i_party *party);

/* The machine's name, for whether two processes are on one. */
enum { KPK_I_HOST_NBYTES = 64 };
void kpk_i_host_name(char out[KPK_I_HOST_NBYTES]);

/* of [members]: shares this member's memory with all, and maps theirs, until
 * kpk_i_party_unshare(). */
kpk_status kpk_i_party_share(const struct kpk_i_party *party,
                             kpk_instance *inst, char **of);
void kpk_i_party_unshare(const struct kpk_i_party *party, kpk_instance *inst,
                         char **of);

#ifdef __cplusplus
}
#endif

#endif
