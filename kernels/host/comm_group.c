/* comm_group.c - groups of GPUs: their workspaces, buffers and launches
 *
 * Numbers that kernels/include/comm/group.h has too are marked; a workspace is
 * explained there.
 */
#include "comm_group.h"

#include <kpack/host_code.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE = 16,        /* bytes that a thread moves at once */
    LINE = 128,        /* COMM_LINE */
    BLOCKS = 128,      /* COMM_BLOCKS */
    THREADS = 512,     /* COMM_THREADS */
    FAILED = 512,      /* COMM_FAILED */
    SLOTS = 16384,     /* COMM_SLOTS */
    FEW_THREADS = 128, /* of a block of a small message */
    MOST_ARGS = 32,
    SMALL_NBYTES = 256 << 10,
    LARGE_NBYTES = 64 << 20,
    LIMIT_MS = 10000
};

struct buffer {
    struct buffer *next;
    uint64_t nbytes;
    char *of[KPK_COMM_MOST_RANKS];
};

struct kpk_comm {
    kpk_instance *insts[KPK_COMM_MOST_RANKS]; /* NULL of another process */
    char *workspaces[KPK_COMM_MOST_RANKS];
    uint32_t ranks, blocks; /* blocks that surely run at once */
    uint32_t small_nbytes, limit_ms;
    uint64_t large_nbytes;
    struct buffer *buffers;
    /* The first wait in vain that a check has found, which ends the group:
     * 1 + the rank that did not come, and above 16 bits who waited. */
    _Atomic uint32_t missed;
    struct kpk_i_party party; /* its gather is NULL in one process */
};

static const struct {
    const char *name;
    bool sums;          /* kernels by type; else of bytes */
    bool takes_results; /* room for sums of one launch */
} ops[] = {
    [KPK_COMM_ALL_REDUCE] = {"all_reduce", true, true},
    [KPK_COMM_REDUCE_SCATTER] = {"reduce_scatter", true, false},
    [KPK_COMM_ALL_GATHER] = {"all_gather", false, false},
    [KPK_COMM_BROADCAST] = {"broadcast", false, false},
};

static const struct {
    const char *name;
    uint32_t nbytes;
} types[] = {
    [KPK_COMM_F16] = {"f16", 2},
    [KPK_COMM_BF16] = {"bf16", 2},
    [KPK_COMM_F32] = {"f32", 4},
};

enum {
    NOPS = sizeof(ops) / sizeof(ops[0]),
    NTYPES = sizeof(types) / sizeof(types[0])
};

static uint64_t div_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- a group ------------------------------------------------------------ */

/* Bytes from the start of a workspace. */
static uint64_t results_at(const kpk_comm *comm)
{
    const uint64_t slots = UINT64_C(4) * comm->ranks * comm->small_nbytes;

    return SLOTS + div_up(slots, LINE) * LINE;
}

static uint64_t workspace_nbytes(const kpk_comm *comm)
{
    const uint64_t whole = (uint64_t)LINE * comm->ranks;

    return results_at(comm) + div_up(comm->large_nbytes, whole) * whole;
}

static kpk_status make_workspace(kpk_comm *comm, uint32_t rank)
{
    const uint64_t nbytes = workspace_nbytes(comm);
    void *made = NULL;
    kpk_status st = kpk_malloc_uncached(comm->insts[rank], nbytes, &made);

    comm->workspaces[rank] = made;
    if (st == KPK_OK)
        st = kpk_fill(comm->insts[rank], made, 0, nbytes);
    if (st == KPK_OK) /* the fill may go on when the call returns */
        st = kpk_sync(comm->insts[rank], NULL);
    return st;
}

/* What a rank's launches noted: 0, or 1 + the rank that did not come. */
static kpk_status noted_by(const kpk_comm *comm, uint32_t rank, uint32_t *out)
{
    return kpk_copy_from(comm->insts[rank], out,
                         comm->workspaces[rank] + FAILED, sizeof(*out));
}

static kpk_status meet(kpk_comm *comm)
{
    kpk_status st = KPK_OK;

    for (uint32_t r = 0; r < comm->ranks && st == KPK_OK; r++)
        for (uint32_t s = 0; s < comm->ranks && st == KPK_OK; s++)
            st = kpk_peer_enable(comm->insts[r], comm->insts[s]);
    for (uint32_t r = 0; r < comm->ranks && st == KPK_OK; r++)
        st = make_workspace(comm, r);
    return st;
}

/* A compute unit takes one block. */
static uint32_t most_blocks(const kpk_instance *inst, uint32_t sharing)
{
    const uint32_t units = kpk_instance_device(inst)->compute_units / sharing;

    return (uint32_t)least(BLOCKS, units ? units : 1);
}

static uint32_t blocks_of(const kpk_comm *comm)
{
    uint32_t blocks = BLOCKS;

    for (uint32_t r = 0; r < comm->ranks; r++) {
        const int index = kpk_instance_device(comm->insts[r])->index;
        uint32_t sharing = 1; /* ranks on this device */

        for (uint32_t s = 0; s < comm->ranks; s++)
            sharing +=
                s != r && kpk_instance_device(comm->insts[s])->index == index;
        blocks = (uint32_t)least(blocks, most_blocks(comm->insts[r], sharing));
    }
    return blocks;
}

/* NULL with *st if that fails. */
static kpk_comm *new_group(const char *call, uint32_t ranks,
                           const kpk_comm_options *options, kpk_status *st)
{
    const kpk_comm_options o = options ? *options : (kpk_comm_options){0};
    kpk_comm *comm = NULL;

    if (ranks < KPK_COMM_LEAST_RANKS || ranks > KPK_COMM_MOST_RANKS)
        *st = kpk_i_fail(KPK_ERR_ARG, "%s: a group has %d to %d ranks, not %lu",
                         call, KPK_COMM_LEAST_RANKS, KPK_COMM_MOST_RANKS,
                         (unsigned long)ranks);
    else if (o.small_nbytes > SMALL_NBYTES)
        *st = kpk_i_fail(KPK_ERR_ARG, "%s: small_nbytes is %lu, the most is %d",
                         call, (unsigned long)o.small_nbytes, SMALL_NBYTES);
    else if (!(comm = calloc(1, sizeof(*comm))))
        *st = kpk_i_fail(KPK_ERR_NOMEM, "no memory for a group of %lu GPUs",
                         (unsigned long)ranks);
    if (!comm)
        return NULL;
    comm->ranks = ranks;
    comm->small_nbytes = (uint32_t)(div_up(o.small_nbytes, PIECE) * PIECE);
    comm->large_nbytes = o.large_nbytes;
    comm->limit_ms = o.limit_ms ? o.limit_ms : LIMIT_MS;
    if (!comm->small_nbytes)
        comm->small_nbytes = SMALL_NBYTES;
    if (!comm->large_nbytes)
        comm->large_nbytes = LARGE_NBYTES;
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
    }
    if (st == KPK_OK) {
        comm->blocks = blocks_of(comm);
        st = meet(comm);
    }
    if (st == KPK_OK)
        *out = comm;
    else
        (void)kpk_comm_close(comm); /* the sentence is of what failed first */
    return st;
}

/* What ranks of a group over processes must agree on, and what they have. */
struct terms {
    int32_t version;
    uint32_t rank, ranks;
    uint32_t platform;
    uint32_t small_nbytes, limit_ms;
    uint64_t large_nbytes;
    uint32_t blocks;
};

static kpk_status agree(kpk_comm *comm, const struct terms *own,
                        const struct terms *other)
{
    const char *what = NULL;

    if (other->version != own->version)
        what = "different releases of kpack";
    else if (other->ranks != own->ranks)
        what = "different numbers of ranks";
    else if (other->platform != own->platform)
        what = "GPUs of different vendors";
    else if (other->small_nbytes != own->small_nbytes ||
             other->large_nbytes != own->large_nbytes ||
             other->limit_ms != own->limit_ms)
        what = "different options";
    if (what)
        return kpk_i_fail(
            KPK_ERR_ARG, "kpk_comm_open_rank: ranks %lu and %lu have %s",
            (unsigned long)own->rank, (unsigned long)other->rank, what);
    comm->blocks = (uint32_t)least(comm->blocks, other->blocks);
    return KPK_OK;
}

static kpk_status meet_processes(kpk_comm *comm)
{
    const struct kpk_i_party *party = &comm->party;
    kpk_instance *inst = comm->insts[party->rank];
    const struct terms own = {.version = kpk_version(),
                              .rank = party->rank,
                              .ranks = comm->ranks,
                              .platform =
                                  (uint32_t)kpk_instance_device(inst)->platform,
                              .small_nbytes = comm->small_nbytes,
                              .limit_ms = comm->limit_ms,
                              .large_nbytes = comm->large_nbytes,
                              .blocks = most_blocks(inst, 1)};
    struct terms all[KPK_COMM_MOST_RANKS];
    kpk_status st = kpk_i_party_meet(party, KPK_OK, "", &own, sizeof(own), all);

    comm->blocks = own.blocks;
    for (uint32_t s = 0; st == KPK_OK && s < party->members; s++)
        st = agree(comm, &own, &all[s]);
    if (st != KPK_OK)
        return st;
    st = make_workspace(comm, party->rank);
    st = kpk_i_party_meet(party, st, "make a workspace", NULL, 0, NULL);
    return st == KPK_OK ? kpk_i_party_share(party, inst, comm->workspaces) : st;
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
    comm->party.gather = NULL; /* all fail: nobody is waited for */
    (void)kpk_comm_close(comm);
    return st;
}

/* Before memory is given back: waits until nobody uses it, then gives up that
 * of the others. Who has waited in vain, found by a check or not yet, does not
 * wait again. */
static void part(kpk_comm *comm)
{
    const struct kpk_i_party *party = &comm->party;
    kpk_instance *inst = comm->insts[party->rank];
    uint32_t noted = 0;
    const bool meets = !atomic_load(&comm->missed) &&
                       noted_by(comm, party->rank, &noted) == KPK_OK && !noted;

    if (meets) /* until all have done their launches */
        kpk_i_party_wait(party);
    kpk_i_party_unshare(party, inst, comm->workspaces);
    for (struct buffer *b = comm->buffers; b; b = b->next)
        kpk_i_party_unshare(party, inst, b->of);
    if (meets) /* until all have given up the memory that is freed next */
        kpk_i_party_wait(party);
}

kpk_status kpk_comm_close(kpk_comm *comm)
{
    kpk_status st = KPK_OK;

    if (!comm)
        return KPK_OK;
    if (comm->party.gather)
        part(comm);
    for (uint32_t r = 0; r < comm->ranks; r++) {
        const kpk_status freed =
            comm->workspaces[r] ? kpk_free(comm->insts[r], comm->workspaces[r])
                                : KPK_OK;

        if (st == KPK_OK)
            st = freed;
    }
    while (comm->buffers) {
        struct buffer *b = comm->buffers;

        comm->buffers = b->next;
        free(b);
    }
    free(comm);
    return st;
}

static kpk_status usable(const kpk_comm *comm, const char *call)
{
    const uint32_t missed = atomic_load(&comm->missed);

    if (!missed)
        return KPK_OK;
    return kpk_i_fail(KPK_ERR_TIMEOUT,
                      "%s: the group has ended, because rank %lu waited for "
                      "rank %lu for %lu ms in vain. Close it and open another "
                      "one",
                      call, (unsigned long)(missed >> 16),
                      (unsigned long)((missed & 0xffff) - 1),
                      (unsigned long)comm->limit_ms);
}

/* A group over processes learns where the others have theirs. */
static kpk_status share_buffer(kpk_comm *comm, struct buffer *b)
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
    struct buffer *b;
    kpk_status st;

    if (!comm || !buffers)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_comm_register: %s is NULL",
                          comm ? "buffers" : "comm");
    for (uint32_t r = 0; r < comm->ranks; r++)
        if (comm->insts[r] && !buffers[r])
            return kpk_i_fail(KPK_ERR_ARG,
                              "kpk_comm_register: buffers[%lu] is NULL",
                              (unsigned long)r);
    st = usable(comm, "kpk_comm_register");
    if (st != KPK_OK)
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

/* ---- plans -------------------------------------------------------------- */

/*
 * A message goes through the workspaces if it fits a slot, and if what a GPU
 * sends takes no longer than the barriers of the other way.
 */
static bool is_small(const kpk_comm *comm, uint64_t nbytes)
{
    return nbytes <= comm->small_nbytes &&
           nbytes * (comm->ranks - 1) <= SMALL_NBYTES;
}

kpk_status kpk_comm_choose(const kpk_comm *comm, kpk_comm_op op,
                           kpk_comm_type type, uint64_t n, kpk_comm_plan *out)
{
    kpk_comm_plan plan = {.op = op};
    uint64_t nbytes, pieces, threads;
    bool small;

    if (!comm || !out)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_comm_choose: %s is NULL",
                          comm ? "out" : "comm");
    if ((unsigned)op >= NOPS)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_comm_choose: no operation is %d",
                          (int)op);
    if ((unsigned)type >= NTYPES)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_comm_choose: no type is %d",
                          (int)type);
    nbytes = n * types[type].nbytes;
    small = is_small(comm, nbytes);
    snprintf(plan.kernel, sizeof(plan.kernel), "%s_%s%s%s", ops[op].name,
             small ? "small" : "large", ops[op].sums ? "_" : "",
             ops[op].sums ? types[type].name : "");
    plan.registered = !small;
    plan.element_nbytes = ops[op].sums ? types[type].nbytes : 1;
    plan.n = nbytes / plan.element_nbytes;
    plan.each = plan.n;
    if (!small && ops[op].takes_results) {
        /* the ranks' shares are whole lines */
        const uint64_t whole = (uint64_t)LINE * comm->ranks;
        const uint64_t most = comm->large_nbytes / whole * whole;

        plan.each = least(plan.n, (most ? most : whole) / plan.element_nbytes);
    }
    pieces = div_up(plan.each * plan.element_nbytes, PIECE);
    if (!small && ops[op].takes_results)
        pieces = div_up(pieces, comm->ranks);
    threads = small ? FEW_THREADS : THREADS;
    plan.shape.block[0] = (uint32_t)threads;
    plan.shape.grid[0] = (uint32_t)least(div_up(pieces, threads), comm->blocks);
    for (int axis = 1; axis < 3; axis++)
        plan.shape.grid[axis] = plan.shape.block[axis] = 1;
    *out = plan;
    return KPK_OK;
}

/* ---- launches ----------------------------------------------------------- */

/* The registered buffer in which a rank's input lies. */
static const struct buffer *buffer_of(const kpk_comm *comm, uint32_t rank,
                                      const char *in, uint64_t nbytes)
{
    const struct buffer *b = comm->buffers;

    while (b && (in < b->of[rank] || in + nbytes > b->of[rank] + b->nbytes))
        b = b->next;
    return b;
}

struct arguments {
    kpk_arg list[MOST_ARGS];
    size_t n;
};

static void add(struct arguments *a, const void *value, size_t nbytes)
{
    a->list[a->n++] = (kpk_arg){value, nbytes};
}
#define ADD(a, variable) add((a), &(variable), sizeof(variable))

/*
 * Where the ranks take a large all-reduce's sums. Rank `rank` alone knows its
 * `out`, so the others' follow from a registered buffer or from the inputs, or
 * are in the workspaces. AMD's memory model has no rule for plain memory that
 * one GPU caches and another one writes.
 */
static void find_targets(const kpk_comm *comm, uint32_t rank,
                         char *const of[KPK_COMM_MOST_RANKS], char *out,
                         char *to[KPK_COMM_MOST_RANKS])
{
    const kpk_device *device = kpk_instance_device(comm->insts[rank]);
    const bool writes = device->platform == KPK_CUDA && out == of[rank];

    for (uint32_t s = 0; s < comm->ranks; s++)
        to[s] = writes ? of[s] : comm->workspaces[s] + results_at(comm);
}

/* One launch; `in` is the rank's input, of[] all ranks' if they are read. */
static kpk_status launch(const kpk_comm *comm, const kpk_comm_plan *plan,
                         const kpk_kernel *kernel, uint32_t rank, uint32_t root,
                         const char *in, char *const of[KPK_COMM_MOST_RANKS],
                         char *out, uint64_t n, void *stream)
{
    const kpk_launch_options options = {
        .shape = plan->shape, .stream = stream, .flags = KPK_LAUNCH_EARLY};
    struct arguments a = {.n = 0};
    char *to[KPK_COMM_MOST_RANKS] = {0};

    for (int s = 0; s < KPK_COMM_MOST_RANKS; s++)
        ADD(&a, comm->workspaces[s]);
    ADD(&a, rank);
    ADD(&a, comm->ranks);
    ADD(&a, comm->small_nbytes);
    ADD(&a, comm->limit_ms);
    if (!plan->registered)
        ADD(&a, in);
    for (int s = 0; plan->registered && s < KPK_COMM_MOST_RANKS; s++)
        ADD(&a, of[s]);
    if (plan->registered && ops[plan->op].takes_results) {
        find_targets(comm, rank, of, out, to);
        for (int s = 0; s < KPK_COMM_MOST_RANKS; s++)
            ADD(&a, to[s]);
    }
    ADD(&a, out);
    ADD(&a, n);
    if (plan->op == KPK_COMM_BROADCAST)
        ADD(&a, root);
    return kpk_launch_ex(kernel, &options, a.list, a.n);
}

static kpk_status of_another_process(const char *call, uint32_t rank)
{
    return kpk_i_fail(KPK_ERR_ARG, "%s: rank %lu is another process's", call,
                      (unsigned long)rank);
}

static kpk_status check_call(const kpk_comm *comm, const kpk_comm_plan *plan,
                             uint32_t rank, uint32_t root, const void *in,
                             const void *out)
{
    if (!comm || !plan)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_comm_launch: %s is NULL",
                          comm ? "plan" : "comm");
    if (rank >= comm->ranks ||
        (plan->op == KPK_COMM_BROADCAST && root >= comm->ranks))
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_comm_launch: the group has no rank %lu",
                          (unsigned long)(rank >= comm->ranks ? rank : root));
    if (plan->n && (!in || !out))
        return kpk_i_fail(KPK_ERR_ARG, "kpk_comm_launch: %s is NULL",
                          in ? "out" : "in");
    if (!comm->insts[rank])
        return of_another_process("kpk_comm_launch", rank);
    return usable(comm, "kpk_comm_launch");
}

/* Where all ranks' inputs lie; KPK_ERR_ARG if they are not registered. */
static kpk_status find_inputs(const kpk_comm *comm, const kpk_comm_plan *plan,
                              uint32_t rank, const char *in,
                              char *of[KPK_COMM_MOST_RANKS])
{
    const uint64_t rows = plan->op == KPK_COMM_REDUCE_SCATTER ? comm->ranks : 1;
    const struct buffer *b =
        buffer_of(comm, rank, in, rows * plan->n * plan->element_nbytes);

    if (!b)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_comm_launch: %s reads the inputs of all ranks, "
                          "but rank %lu's is in no registered buffer: call "
                          "kpk_comm_register()",
                          plan->kernel, (unsigned long)rank);
    for (uint32_t s = 0; s < comm->ranks; s++)
        of[s] = b->of[s] + (in - b->of[rank]);
    return KPK_OK;
}

kpk_status kpk_comm_launch(kpk_comm *comm, const kpk_comm_plan *plan,
                           uint32_t rank, uint32_t root, const void *in,
                           void *out, void *stream)
{
    char *of[KPK_COMM_MOST_RANKS] = {0};
    const char *from = in;
    char *to = out;
    const kpk_kernel *kernel;
    kpk_status st = check_call(comm, plan, rank, root, in, out);

    if (st == KPK_OK && plan->registered)
        st = find_inputs(comm, plan, rank, from, of);
    if (st == KPK_OK)
        st = kpk_kernel_get(comm->insts[rank], plan->kernel, &kernel);
    for (uint64_t i = 0; st == KPK_OK && i < plan->n; i += plan->each) {
        const uint64_t nbytes = plan->each * plan->element_nbytes;

        st = launch(comm, plan, kernel, rank, root, from, of, to,
                    least(plan->each, plan->n - i), stream);
        for (uint32_t s = 0; s < comm->ranks; s++)
            if (of[s])
                of[s] += nbytes;
        from += nbytes;
        to += nbytes;
    }
    return st;
}

kpk_status kpk_comm_check(kpk_comm *comm, uint32_t rank)
{
    uint32_t failed = 0;
    uint32_t none = 0;
    kpk_status st;

    if (!comm || rank >= comm->ranks)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_comm_check: %s",
                          comm ? "no such rank" : "comm is NULL");
    if (!comm->insts[rank])
        return of_another_process("kpk_comm_check", rank);
    st = noted_by(comm, rank, &failed);
    if (st != KPK_OK)
        return st;
    if (!failed)
        return usable(comm, "kpk_comm_check");
    (void)atomic_compare_exchange_strong(&comm->missed, &none,
                                         rank << 16 | failed);
    return kpk_i_fail(KPK_ERR_TIMEOUT,
                      "rank %lu waited for rank %lu for %lu ms in vain: it "
                      "does not make the same calls, or its GPU or process has "
                      "ended. Close the group and open another one",
                      (unsigned long)rank, (unsigned long)(failed - 1),
                      (unsigned long)comm->limit_ms);
}
