/* comm_open.c - groups of GPUs: workspaces, buffers, timeouts */
#include "comm_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_BY_LIBRARY = 0xfffe,
    WHY_NBYTES = 600,
    LARGE_NBYTES = 64 << 20,
    LIMIT_MS = 10000
};
#define MOST_NBYTES (UINT64_C(1) << 40) /* of a workspace's parts */

/* ---- a group ------------------------------------------------------------ */

static uint64_t workspace_nbytes(const kpk_comm *comm)
{
    return kpk_i_comm_medium_at(comm) +
           UINT64_C(2) * comm->ranks * comm->slot_nbytes;
}

/*
 * CUDA's driver loads a kernel when it is first asked about it or launched, and
 * may wait for the device to be idle then: in vain, if a kernel there waits for
 * a launch that comes later. So all are loaded before the first launch.
 */
static kpk_status load_kernels(kpk_instance *inst)
{
    const kpk_kernel *kernel;
    const kpk_module *module;
    kpk_kernel_decl decl;
    kpk_status st = kpk_kernel_get(inst, "all_gather_small", &kernel);

    if (st != KPK_OK)
        return st;
    module = kpk_kernel_module(kernel);
    for (size_t i = 0; st == KPK_OK && i < kpk_module_kernel_count(module);
         i++) {
        int most_threads;

        st = kpk_module_kernel(module, i, &decl);
        if (st == KPK_OK)
            st = kpk_kernel_get_in(inst, kpk_module_name(module), decl.name,
                                   &kernel);
        if (st == KPK_OK)
            st = kpk_kernel_driver_attr(kernel, KPK_DRIVER_ATTR_MAX_BLOCK,
                                        &most_threads);
        if (st == KPK_ERR_UNSUPPORTED) /* nor does such a driver load late */
            st = KPK_OK;
    }
    return st;
}

static kpk_status make_workspace(kpk_comm *comm, uint32_t rank)
{
    const uint64_t nbytes = workspace_nbytes(comm);
    const uint64_t slots = kpk_i_comm_medium_at(comm);
    void *made = NULL;
    kpk_status st = kpk_malloc_uncached(comm->insts[rank], nbytes, &made);

    comm->workspaces[rank] = made;
    if (st == KPK_OK)
        st = kpk_fill(comm->insts[rank], made, 0, slots);
    if (st == KPK_OK) /* all ones are the empty words of medium.h */
        st = kpk_fill(comm->insts[rank], (char *)made + slots, 0xff,
                      nbytes - slots);
    if (st == KPK_OK) /* the fill may go on when the call returns */
        st = kpk_sync(comm->insts[rank], NULL);
    return st;
}

/* Reads a rank's timeout word: 0, or 1 + the rank that did not come. */
static kpk_status noted_by(const kpk_comm *comm, uint32_t rank, uint32_t *out)
{
    return kpk_copy_from(comm->insts[rank], out,
                         comm->workspaces[rank] + COMM_FAILED, sizeof(*out));
}

/* A compute unit takes one block. */
static uint32_t most_blocks(const kpk_instance *inst, uint32_t sharing)
{
    const uint32_t units = kpk_instance_device(inst)->compute_units / sharing;

    return (uint32_t)comm_least(COMM_BLOCKS, units ? units : 1);
}

static void count_blocks(kpk_comm *comm)
{
    comm->blocks = COMM_BLOCKS;
    for (uint32_t r = 0; r < comm->ranks; r++) {
        const int index = kpk_instance_device(comm->insts[r])->index;
        uint32_t sharing = 1; /* ranks on this device */

        for (uint32_t s = 0; s < comm->ranks; s++)
            sharing +=
                s != r && kpk_instance_device(comm->insts[s])->index == index;
        comm->share_a_device |= sharing > 1;
        comm->blocks = (uint32_t)comm_least(
            comm->blocks, most_blocks(comm->insts[r], sharing));
    }
}

/* ---- who does the work -------------------------------------------------- */

/* Why the kernels of module comm cannot serve a group: "" if they can, as far
 * as that is known without a try. */
static void why_not_kernels(const kpk_comm *comm, char why[WHY_NBYTES])
{
    why[0] = 0;
    if (comm->by_library)
        snprintf(why, WHY_NBYTES, "the options ask for a library");
    else if (comm->ranks > KPK_COMM_MOST_RANKS)
        snprintf(why, WHY_NBYTES,
                 "%lu ranks are more than the %d that module comm serves",
                 (unsigned long)comm->ranks, KPK_COMM_MOST_RANKS);
}

/* Finds RCCL or NCCL; `why` says why the group needs it. */
static kpk_status find_library(const kpk_comm *comm, const kpk_instance *inst,
                               const char *why, const char **engine)
{
    char missing[WHY_NBYTES];

    if (kpk_i_collectives_find(inst, engine) == KPK_OK)
        return KPK_OK;
    snprintf(missing, sizeof(missing), "%s", kpk_error_message());
    return kpk_i_fail(
        KPK_ERR_UNSUPPORTED, "a group of %lu GPUs needs %s, because %s: %s",
        (unsigned long)comm->ranks,
        kpk_instance_device(inst)->platform == KPK_HIP ? "RCCL" : "NCCL", why,
        missing);
}

/* A group of one process, by a library. */
static kpk_status open_library(kpk_comm *comm, const char *why)
{
    uint8_t id[KPK_I_ID_NBYTES];
    const char *engine = NULL;
    kpk_status st = find_library(comm, comm->insts[0], why, &engine);

    if (st == KPK_OK)
        st = kpk_i_collectives_id(comm->insts[0], id);
    if (st == KPK_OK)
        st = kpk_i_collectives_open(comm->insts, 0, comm->ranks, comm->ranks,
                                    id, comm->library);
    if (st == KPK_OK)
        comm->engine = engine;
    return st;
}

static kpk_status reach_each_other(kpk_comm *comm)
{
    kpk_status st = KPK_OK;

    for (uint32_t r = 0; r < comm->ranks && st == KPK_OK; r++)
        for (uint32_t s = 0; s < comm->ranks && st == KPK_OK; s++)
            st = kpk_peer_enable(comm->insts[r], comm->insts[s]);
    return st;
}

static kpk_status meet(kpk_comm *comm)
{
    char why[WHY_NBYTES];
    kpk_status st;

    why_not_kernels(comm, why);
    if (*why)
        return open_library(comm, why);
    st = reach_each_other(comm);
    if (st == KPK_ERR_UNSUPPORTED) {
        snprintf(why, sizeof(why), "%s", kpk_error_message());
        return open_library(comm, why);
    }
    count_blocks(comm);
    for (uint32_t r = 0; r < comm->ranks && st == KPK_OK; r++)
        st = load_kernels(comm->insts[r]);
    for (uint32_t r = 0; r < comm->ranks && st == KPK_OK; r++)
        st = make_workspace(comm, r);
    return st;
}

struct defaults {
    uint32_t small_nbytes, small_sum_nbytes, medium_nbytes;
};

/* Up to which size a way is the fastest: measured on H200 for 2 and 4 ranks. Of
 * more ranks it depends on what a rank sends. */
static struct defaults defaults_of(uint32_t ranks)
{
    return ranks == 2 ? (struct defaults){256 << 10, 0, 2 << 20}
                      : (struct defaults){(384 << 10) / (ranks - 1),
                                          (16 << 10) / (ranks - 1),
                                          (1152 << 10) / (ranks - 1)};
}

static kpk_comm *allocate_group(uint32_t ranks)
{
    kpk_comm *comm = calloc(1, sizeof(*comm));

    if (!comm)
        return NULL;
    comm->ranks = ranks;
    comm->insts = calloc(ranks, sizeof(*comm->insts));
    comm->library = calloc(ranks, sizeof(struct ncclComm *));
    if (comm->insts && comm->library)
        return comm;
    free(comm->insts);
    free(comm->library);
    free(comm);
    return NULL;
}

/* NULL with *st if that fails. */
static kpk_comm *new_group(const char *call, uint32_t ranks,
                           const kpk_comm_options *options, kpk_status *st)
{
    const kpk_comm_options o = options ? *options : (kpk_comm_options){0};
    kpk_comm *comm = NULL;

    if (ranks < KPK_COMM_LEAST_RANKS || ranks > MOST_BY_LIBRARY)
        *st = kpk_i_fail(KPK_ERR_ARG, "%s: a group has %d to %d ranks, not %lu",
                         call, KPK_COMM_LEAST_RANKS, MOST_BY_LIBRARY,
                         (unsigned long)ranks);
    else if (o.small_nbytes > MOST_SMALL_NBYTES)
        *st =
            kpk_i_fail(KPK_ERR_ARG, "%s: small_nbytes is %lu, the most is %d",
                       call, (unsigned long)o.small_nbytes, MOST_SMALL_NBYTES);
    else if (o.medium_nbytes > MOST_NBYTES || o.large_nbytes > MOST_NBYTES)
        *st = kpk_i_fail(KPK_ERR_ARG,
                         "%s: medium_nbytes and large_nbytes are 2^40 at most",
                         call);
    else if (!(comm = allocate_group(ranks)))
        *st = kpk_i_fail(KPK_ERR_NOMEM, "no memory for a group of %lu GPUs",
                         (unsigned long)ranks);
    if (!comm)
        return NULL;
    comm->by_library = o.by_library != 0;
    comm->small_nbytes =
        (uint32_t)(comm_div_up(o.small_nbytes ? o.small_nbytes
                                              : defaults_of(ranks).small_nbytes,
                               PIECE) *
                   PIECE);
    comm->small_sum_nbytes = o.small_nbytes
                                 ? comm->small_nbytes
                                 : defaults_of(ranks).small_sum_nbytes;
    comm->large_nbytes = o.large_nbytes;
    comm->limit_ms = o.limit_ms ? o.limit_ms : LIMIT_MS;
    if (!comm->large_nbytes)
        comm->large_nbytes = LARGE_NBYTES;
    comm->medium_nbytes =
        comm_div_up(o.medium_nbytes ? o.medium_nbytes
                                    : defaults_of(ranks).medium_nbytes,
                    COMM_LINE) *
        COMM_LINE;
    comm->slot_nbytes =
        comm_div_up(comm_most(comm->medium_nbytes,
                              comm_div_up(comm->large_nbytes,
                                          (uint64_t)COMM_LINE * ranks) *
                                  COMM_LINE),
                    UINT64_C(2) * COMM_RUN) *
        2 * COMM_RUN;
    return comm;
}

kpk_status kpk_comm_open(kpk_instance *const *insts, uint32_t ranks,
                         const kpk_comm_options *options, kpk_comm **out)
{
    kpk_status st = KPK_OK;
    kpk_comm *comm;

    if (!insts || !out)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_comm_open: %s is NULL",
                          insts ? "out" : "insts");
    comm = new_group("kpk_comm_open", ranks, options, &st);
    if (!comm)
        return st;
    for (uint32_t r = 0; r < ranks && st == KPK_OK; r++) {
        comm->insts[r] = insts[r];
        if (!insts[r])
            st = kpk_i_fail(KPK_ERR_ARG, "kpk_comm_open: insts[%lu] is NULL",
                            (unsigned long)r);
        else if (kpk_instance_device(insts[r])->platform !=
                 kpk_instance_device(insts[0])->platform)
            st = kpk_i_fail(KPK_ERR_ARG,
                            "kpk_comm_open: insts[0] and insts[%lu] have "
                            "different drivers",
                            (unsigned long)r);
    }
    if (st == KPK_OK)
        st = meet(comm);
    if (st == KPK_OK)
        *out = comm;
    else
        (void)kpk_comm_close(comm); /* keeps the message of the first failure */
    return st;
}

/* A rank's settings, which must be equal in all processes of a group, and its
 * resources. */
struct terms {
    int32_t version;
    uint32_t rank, ranks;
    uint32_t platform;
    uint32_t small_nbytes, limit_ms;
    uint64_t medium_nbytes, large_nbytes;
    uint32_t by_library;
    uint32_t blocks;
    char host[KPK_I_HOST_NBYTES];
};

static kpk_status agree(kpk_comm *comm, const struct terms *own,
                        const struct terms *other, uint32_t place)
{
    const char *what = NULL;

    if (other->rank != place)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_comm_open_rank: the gather has rank %lu in "
                          "place %lu: two processes have one rank, or it is "
                          "not by rank",
                          (unsigned long)other->rank, (unsigned long)place);
    if (other->version != own->version)
        what = "different releases of kpack";
    else if (other->ranks != own->ranks)
        what = "different numbers of ranks";
    else if (other->platform != own->platform)
        what = "GPUs of different vendors";
    else if (other->small_nbytes != own->small_nbytes ||
             other->medium_nbytes != own->medium_nbytes ||
             other->large_nbytes != own->large_nbytes ||
             other->limit_ms != own->limit_ms ||
             other->by_library != own->by_library)
        what = "different options";
    if (what)
        return kpk_i_fail(
            KPK_ERR_ARG, "kpk_comm_open_rank: ranks %lu and %lu have %s",
            (unsigned long)own->rank, (unsigned long)other->rank, what);
    comm->blocks = (uint32_t)comm_least(comm->blocks, other->blocks);
    return KPK_OK;
}

/* By a library: rank 0 makes the id, and the gather carries it. */
static kpk_status open_library_over(kpk_comm *comm, const char *why)
{
    const struct kpk_i_party *party = &comm->party;
    kpk_instance *inst = comm->insts[party->rank];
    uint8_t own[KPK_I_ID_NBYTES] = {0};
    uint8_t(*all)[KPK_I_ID_NBYTES] =
        calloc(party->members, sizeof(*all)); /* NOLINT: members are not 0 */
    const char *engine = NULL;
    kpk_status st = find_library(comm, inst, why, &engine);

    if (st == KPK_OK && !all)
        st = kpk_i_fail(KPK_ERR_NOMEM, "no memory for ids of %lu ranks",
                        (unsigned long)party->members);
    if (st == KPK_OK && party->rank == 0)
        st = kpk_i_collectives_id(inst, own);
    st =
        kpk_i_party_meet(party, st, "find RCCL or NCCL", own, sizeof(own), all);
    if (st == KPK_OK) {
        st = kpk_i_collectives_open(&inst, party->rank, 1, party->members,
                                    all[0], &comm->library[party->rank]);
        st =
            kpk_i_party_meet(party, st, "open its communicator", NULL, 0, NULL);
    }
    if (st == KPK_OK)
        comm->engine = engine;
    free(all);
    return st;
}

/* Workspaces of the kernels. `why` is set if the ranks do not reach them. */
static kpk_status share_workspaces(kpk_comm *comm, char why[WHY_NBYTES])
{
    const struct kpk_i_party *party = &comm->party;
    kpk_instance *inst = comm->insts[party->rank];
    kpk_status st = load_kernels(inst);

    if (st == KPK_OK)
        st = make_workspace(comm, party->rank);
    st = kpk_i_party_meet(party, st, "make a workspace", NULL, 0, NULL);
    if (st != KPK_OK)
        return st;
    st = kpk_i_party_share(party, inst, comm->workspaces);
    if (st == KPK_ERR_DRIVER || st == KPK_ERR_UNSUPPORTED)
        snprintf(why, WHY_NBYTES, "%s", kpk_error_message());
    return st;
}

/* Frees the workspace, which RCCL and NCCL do not need. All ranks call it, even
 * without a workspace. */
static void drop_workspace(kpk_comm *comm)
{
    const uint32_t rank = comm->party.rank;

    if (rank >= KPK_COMM_MOST_RANKS || !comm->workspaces[rank])
        return;
    kpk_i_party_wait(&comm->party); /* until no rank maps it */
    (void)kpk_free(comm->insts[rank], comm->workspaces[rank]);
    comm->workspaces[rank] = NULL;
}

/* Opens the group with module comm if all ranks can access each other's memory,
 * else with RCCL or NCCL. All ranks decide alike, from the same data. */
static kpk_status meet_processes(kpk_comm *comm)
{
    const struct kpk_i_party *party = &comm->party;
    kpk_instance *inst = comm->insts[party->rank];
    struct terms own = {.version = kpk_version(),
                        .rank = party->rank,
                        .ranks = comm->ranks,
                        .platform =
                            (uint32_t)kpk_instance_device(inst)->platform,
                        .small_nbytes = comm->small_nbytes,
                        .limit_ms = comm->limit_ms,
                        .medium_nbytes = comm->medium_nbytes,
                        .large_nbytes = comm->large_nbytes,
                        .by_library = comm->by_library,
                        .blocks = most_blocks(inst, 1)};
    struct terms *all = calloc(party->members, sizeof(*all));
    char why[WHY_NBYTES];
    kpk_status st = KPK_OK;

    if (!all)
        return kpk_i_fail(KPK_ERR_NOMEM, "no memory for terms of %lu ranks",
                          (unsigned long)party->members);
    kpk_i_host_name(own.host);
    why_not_kernels(comm, why);
    st = kpk_i_party_meet(party, KPK_OK, "", &own, sizeof(own), all);
    comm->blocks = own.blocks;
    for (uint32_t s = 0; st == KPK_OK && s < party->members; s++) {
        st = agree(comm, &own, &all[s], s);
        if (!*why && strcmp(all[s].host, all[0].host) != 0)
            snprintf(why, sizeof(why), "rank 0 is on host %s, rank %lu on %s",
                     all[0].host, (unsigned long)s, all[s].host);
    }
    free(all);
    if (st == KPK_OK && !*why)
        st = share_workspaces(comm, why);
    if (*why &&
        (st == KPK_OK || st == KPK_ERR_DRIVER || st == KPK_ERR_UNSUPPORTED)) {
        drop_workspace(comm);
        st = open_library_over(comm, why);
    }
    return st;
}

kpk_status kpk_comm_open_rank(kpk_instance *inst, uint32_t rank, uint32_t ranks,
                              const kpk_comm_options *options,
                              kpk_comm_gather gather, void *caller,
                              kpk_comm **out)
{
    kpk_status st = KPK_OK;
    kpk_comm *comm;

    if (!inst || !gather || !out)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_comm_open_rank: %s is NULL",
                          !inst     ? "inst"
                          : !gather ? "gather"
                                    : "out");
    if (rank >= ranks)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_comm_open_rank: %lu ranks have no rank %lu",
                          (unsigned long)ranks, (unsigned long)rank);
    comm = new_group("kpk_comm_open_rank", ranks, options, &st);
    if (!comm)
        return st;
    comm->insts[rank] = inst;
    comm->party = (struct kpk_i_party){gather, caller, rank, ranks};
    st = meet_processes(comm);
    if (st == KPK_OK) {
        *out = comm;
        return KPK_OK;
    }
    comm->party.gather = NULL; /* all ranks fail: close() meets no other rank */
    (void)kpk_comm_close(comm);
    return st;
}

/* Closes the communicators, or aborts them if a rank has timed out. */
static kpk_status close_library(kpk_comm *comm)
{
    kpk_status st = KPK_OK;

    for (uint32_t r = 0; r < comm->ranks; r++)
        if (comm->library[r]) {
            const kpk_status closed =
                atomic_load(&comm->missed)
                    ? kpk_i_collectives_abort(comm->insts[r], comm->library[r])
                    : kpk_i_collectives_close(comm->insts[r], comm->library[r]);

            st = st == KPK_OK ? closed : st;
        }
    return st;
}

/* Waits, before memory is freed, until no rank uses it, and unmaps the other
 * ranks' memory. A rank with a timeout, reported or not, does not wait again.
 */
static void part(kpk_comm *comm)
{
    const struct kpk_i_party *party = &comm->party;
    kpk_instance *inst = comm->insts[party->rank];
    uint32_t noted = 0;
    const bool meets = !atomic_load(&comm->missed) &&
                       noted_by(comm, party->rank, &noted) == KPK_OK && !noted;

    if (meets) /* waits for the launches of all ranks */
        kpk_i_party_wait(party);
    kpk_i_party_unshare(party, inst, comm->workspaces);
    for (struct comm_buffer *b = comm->buffers; b; b = b->next)
        kpk_i_party_unshare(party, inst, b->of);
    if (meets) /* until all have given up the memory that is freed next */
        kpk_i_party_wait(party);
}

kpk_status kpk_comm_close(kpk_comm *comm)
{
    kpk_status st;

    if (!comm)
        return KPK_OK;
    st = close_library(comm);
    if (comm->party.gather && !comm->engine)
        part(comm);
    for (uint32_t r = 0; r < KPK_COMM_MOST_RANKS; r++) {
        const kpk_status freed =
            comm->workspaces[r] ? kpk_free(comm->insts[r], comm->workspaces[r])
                                : KPK_OK;

        st = st == KPK_OK ? freed : st;
    }
    while (comm->buffers) {
        struct comm_buffer *b = comm->buffers;

        comm->buffers = b->next;
        free(b);
    }
    free(comm->insts);
    free(comm->library);
    free(comm);
    return st;
}

const char *kpk_comm_engine(const kpk_comm *comm)
{
    if (!comm)
        return "";
    return comm->engine ? comm->engine : "module comm";
}

/* In a group over processes, exchanges the buffers' handles with other ranks.
 */
static kpk_status share_buffer(kpk_comm *comm, struct comm_buffer *b)
{
    const struct kpk_i_party *party = &comm->party;
    const uint64_t own = b->nbytes;
    uint64_t nbytes[KPK_COMM_MOST_RANKS];
    kpk_status st =
        kpk_i_party_meet(party, KPK_OK, "", &own, sizeof(own), nbytes);

    for (uint32_t s = 0; st == KPK_OK && s < comm->ranks; s++)
        if (nbytes[s] != own)
            st = kpk_i_fail(KPK_ERR_ARG,
                            "kpk_comm_register: the buffers of ranks %lu and "
                            "%lu have %llu and %llu bytes",
                            (unsigned long)party->rank, (unsigned long)s,
                            (unsigned long long)own,
                            (unsigned long long)nbytes[s]);
    return st == KPK_OK
               ? kpk_i_party_share(party, comm->insts[party->rank], b->of)
               : st;
}

kpk_status kpk_comm_register(kpk_comm *comm, void *const *buffers,
                             uint64_t nbytes)
{
    struct comm_buffer *b;
    kpk_status st;

    if (!comm || !buffers)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_comm_register: %s is NULL",
                          comm ? "buffers" : "comm");
    for (uint32_t r = 0; r < comm->ranks; r++)
        if (comm->insts[r] && !buffers[r])
            return kpk_i_fail(KPK_ERR_ARG,
                              "kpk_comm_register: buffers[%lu] is NULL",
                              (unsigned long)r);
    st = kpk_i_comm_usable(comm, "kpk_comm_register");
    if (st != KPK_OK || comm->engine) /* libraries need no buffers */
        return st;
    b = calloc(1, sizeof(*b));
    if (!b)
        return kpk_i_fail(KPK_ERR_NOMEM, "no memory to register buffers");
    b->nbytes = nbytes;
    for (uint32_t r = 0; r < comm->ranks; r++)
        b->of[r] = comm->insts[r] ? buffers[r] : NULL;
    if (comm->party.gather)
        st = share_buffer(comm, b);
    if (st == KPK_OK) {
        b->next = comm->buffers;
        comm->buffers = b;
        return KPK_OK;
    }
    free(b);
    return st;
}

/* Records the first timeout, which ends the group. */
static void end_group(kpk_comm *comm, uint32_t rank, uint32_t missed)
{
    uint32_t none = 0;

    (void)atomic_compare_exchange_strong(&comm->missed, &none,
                                         rank << 16 | missed);
}

/* Of a library; a rank that has ended ends the group. */
static kpk_status check_library(kpk_comm *comm, uint32_t rank)
{
    kpk_status st = kpk_i_comm_usable(comm, "kpk_comm_check");

    if (st == KPK_OK)
        st = kpk_i_collectives_state(comm->insts[rank], comm->library[rank]);
    if (st != KPK_OK)
        end_group(comm, rank, SOME);
    return st;
}

kpk_status kpk_comm_check(kpk_comm *comm, uint32_t rank)
{
    uint32_t failed = 0;
    kpk_status st;

    if (!comm || rank >= comm->ranks)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_comm_check: %s",
                          comm ? "no such rank" : "comm is NULL");
    if (!comm->insts[rank])
        return kpk_i_comm_not_here("kpk_comm_check", rank);
    if (comm->engine)
        return check_library(comm, rank);
    st = noted_by(comm, rank, &failed);
    if (st != KPK_OK)
        return st;
    if (!failed)
        return kpk_i_comm_usable(comm, "kpk_comm_check");
    end_group(comm, rank, failed);
    return kpk_i_fail(KPK_ERR_TIMEOUT,
                      "rank %lu waited for rank %lu for %lu ms in vain: it "
                      "does not make the same calls, or its GPU or process has "
                      "ended. Close the group and open another one",
                      (unsigned long)rank, (unsigned long)(failed - 1),
                      (unsigned long)comm->limit_ms);
}

/* A library waits for ever for a rank that does not come. */
static kpk_status wait_for_library(kpk_comm *comm, uint32_t rank, void *stream)
{
    const uint64_t begin = kpk_i_now_ms();
    struct ncclComm *library = comm->library[rank];
    int done = 0;
    kpk_status st = check_library(comm, rank);

    while (st == KPK_OK && !done) {
        st = kpk_stream_query(comm->insts[rank], stream, &done);
        if (st == KPK_OK && !done)
            st = check_library(comm, rank);
        if (st == KPK_OK && !done && kpk_i_now_ms() - begin > comm->limit_ms)
            st = kpk_i_fail(KPK_ERR_TIMEOUT,
                            "rank %lu waited for a call of %s for %lu ms in "
                            "vain: another rank does not make the same calls, "
                            "or its GPU, process or host has ended. Close the "
                            "group and open another one",
                            (unsigned long)rank, comm->engine,
                            (unsigned long)comm->limit_ms);
    }
    if (st != KPK_OK && library) { /* abort, so that the stream's work ends */
        end_group(comm, rank, SOME);
        comm->library[rank] = NULL;
        (void)kpk_i_collectives_abort(comm->insts[rank], library);
    }
    return st;
}

kpk_status kpk_comm_sync(kpk_comm *comm, uint32_t rank, void *stream)
{
    kpk_status st;

    if (!comm || rank >= comm->ranks)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_comm_sync: %s",
                          comm ? "no such rank" : "comm is NULL");
    if (!comm->insts[rank])
        return kpk_i_comm_not_here("kpk_comm_sync", rank);
    if (comm->engine)
        return wait_for_library(comm, rank, stream);
    st = kpk_sync(comm->insts[rank], stream);
    return st == KPK_OK ? kpk_comm_check(comm, rank) : st;
}
