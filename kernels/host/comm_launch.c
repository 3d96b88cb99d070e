/* comm_launch.c - plans and launches of a group's calls */
#include "comm_inside.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_ARGS = 40 };
#define MOST_ELEMENTS (UINT64_C(1) << 50)

static const struct {
    const char *name;
    bool sums;                   /* a kernel for each type; else for bytes */
    bool shares;                 /* has kernels `medium` and `pushed` */
    kpk_i_collective_call *call; /* of RCCL or NCCL */
    const char *of_library;
} ops[] = {
    [KPK_COMM_ALL_REDUCE] = {"all_reduce", true, true,
                             kpk_i_collectives_all_reduce, "ncclAllReduce"},
    [KPK_COMM_REDUCE_SCATTER] = {"reduce_scatter", true, false,
                                 kpk_i_collectives_reduce_scatter,
                                 "ncclReduceScatter"},
    [KPK_COMM_ALL_GATHER] = {"all_gather", false, false,
                             kpk_i_collectives_all_gather, "ncclAllGather"},
    [KPK_COMM_BROADCAST] = {"broadcast", false, false,
                            kpk_i_collectives_broadcast, "ncclBroadcast"},
};

enum way { SMALL, MEDIUM, PUSHED, LARGE };
enum {
    STEP = 2 /* pieces of a thread, or more: two steps at most */
};

/* Up to `blocks` blocks of `threads` with a piece for each thread; then up to
 * COMM_BLOCKS, with so many pieces for each. Blocks have more threads, up to
 * COMM_THREADS, where a thread would have more than `most` pieces. Measured on
 * H200: tests/bench/results/comm.csv. */
static const struct {
    const char *name;
    uint32_t threads, blocks, pieces, most;
} ways[] = {
    [SMALL] = {"small", 128, COMM_BLOCKS, 1, 1},
    [MEDIUM] = {"medium", 64, COMM_BLOCKS, 1, 1},
    [PUSHED] = {"pushed", 256, 64, 2, 4},
    [LARGE] = {"large", COMM_THREADS, COMM_BLOCKS, 1, 1},
};

static const struct {
    const char *name;
    uint32_t nbytes;
    int of_library;
} types[] = {
    [KPK_COMM_F16] = {"f16", 2, KPK_I_F16},
    [KPK_COMM_BF16] = {"bf16", 2, KPK_I_BF16},
    [KPK_COMM_F32] = {"f32", 4, KPK_I_F32},
};

enum {
    NOPS = sizeof(ops) / sizeof(ops[0]),
    NTYPES = sizeof(types) / sizeof(types[0])
};

/* ---- plans -------------------------------------------------------------- */

static enum way way_of(const kpk_comm *comm, bool has_medium, uint64_t nbytes)
{
    if (nbytes <= (has_medium ? comm->small_sum_nbytes : comm->small_nbytes))
        return SMALL;
    return has_medium && nbytes <= comm->medium_nbytes ? MEDIUM : LARGE;
}

/* The shape of a launch that moves this number of pieces. */
static kpk_shape shape_of(const kpk_comm *comm, enum way way, uint64_t pieces)
{
    uint32_t threads = ways[way].threads;
    uint64_t blocks;

    while (threads < COMM_THREADS &&
           (uint64_t)threads * COMM_BLOCKS * ways[way].most < pieces)
        threads *= 2;
    blocks = comm_div_up(pieces, threads);
    if (blocks > ways[way].blocks)
        blocks =
            comm_most(ways[way].blocks, comm_div_up(blocks, ways[way].pieces));
    return (kpk_shape){
        .grid = {(uint32_t)comm_least(blocks, comm->blocks), 1, 1},
        .block = {threads, 1, 1}};
}

static kpk_status too_many(const char *call, uint64_t n)
{
    return kpk_i_fail(KPK_ERR_ARG, "%s: %llu elements are more than 2^50", call,
                      (unsigned long long)n);
}

kpk_status kpk_comm_choose(const kpk_comm *comm, kpk_comm_op op,
                           kpk_comm_type type, uint64_t n, kpk_comm_plan *out)
{
    kpk_comm_plan plan = {.op = op};
    uint64_t nbytes, pieces, threads;
    enum way way;

    if (!comm || !out)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_comm_choose: %s is NULL",
                          comm ? "out" : "comm");
    if ((unsigned)op >= NOPS)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_comm_choose: no operation is %d",
                          (int)op);
    if ((unsigned)type >= NTYPES)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_comm_choose: no type is %d",
                          (int)type);
    if (n > MOST_ELEMENTS)
        return too_many("kpk_comm_choose", n);
    plan.type = type;
    if (comm->engine) {
        snprintf(plan.kernel, sizeof(plan.kernel), "%s", ops[op].of_library);
        plan.element_nbytes = types[type].nbytes;
        plan.n = plan.each = n;
        *out = plan;
        return KPK_OK;
    }
    nbytes = n * types[type].nbytes;
    way = way_of(comm, ops[op].shares, nbytes);
    if (way == LARGE && ops[op].shares)
        way = PUSHED;
    snprintf(plan.kernel, sizeof(plan.kernel), "%s_%s%s%s", ops[op].name,
             ways[way].name, ops[op].sums ? "_" : "",
             ops[op].sums ? types[type].name : "");
    plan.registered = way >= PUSHED;
    plan.element_nbytes = ops[op].sums ? types[type].nbytes : 1;
    plan.n = nbytes / plan.element_nbytes;
    plan.each = plan.n;
    if (way == PUSHED) {
        /* the ranks' shares are whole lines */
        const uint64_t whole = (uint64_t)COMM_LINE * comm->ranks;
        const uint64_t most = comm->large_nbytes / whole * whole;

        plan.each =
            comm_least(plan.n, (most ? most : whole) / plan.element_nbytes);
    }
    pieces = comm_div_up(plan.each * plan.element_nbytes, PIECE);
    if (way == PUSHED)
        pieces = comm_div_up(pieces, comm->ranks);
    plan.medium = way == MEDIUM || way == PUSHED;
    plan.shape = shape_of(comm, way, pieces);
    threads = (uint64_t)plan.shape.grid[0] * plan.shape.block[0];
    plan.step = STEP;
    if (pieces > STEP * threads && threads)
        plan.step = (uint32_t)comm_div_up(pieces, 2 * threads);
    *out = plan;
    return KPK_OK;
}

/* ---- launches ----------------------------------------------------------- */

/* The registered buffer in which a rank's input lies. */
static const struct comm_buffer *buffer_of(const kpk_comm *comm, uint32_t rank,
                                           const char *in, uint64_t nbytes)
{
    const struct comm_buffer *b = comm->buffers;

    while (b && (in < b->of[rank] || nbytes > b->nbytes ||
                 (uint64_t)(in - b->of[rank]) > b->nbytes - nbytes))
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

/* Adds the arguments that all kernels begin with. */
static void add_group(struct arguments *a, const kpk_comm *comm,
                      const uint32_t *rank)
{
    for (int s = 0; s < KPK_COMM_MOST_RANKS; s++)
        ADD(a, comm->workspaces[s]);
    ADD(a, *rank);
    ADD(a, comm->ranks);
    ADD(a, comm->small_nbytes);
    ADD(a, comm->limit_ms);
}

/* Where each rank's sums of a large all-reduce are stored: in place, or in the
 * rank's workspace. */
static void find_targets(const kpk_comm *comm, char *const *in_place,
                         char *to[KPK_COMM_MOST_RANKS])
{
    for (uint32_t s = 0; s < comm->ranks; s++)
        to[s] = in_place ? in_place[s]
                         : comm->workspaces[s] + kpk_i_comm_results_at(comm);
}

/* Launches one rank's kernel; `in` is the rank's input, of[] the result of
 * find_buffers(). */
static kpk_status launch(const kpk_comm *comm, const kpk_comm_plan *plan,
                         const kpk_kernel *kernel, uint32_t rank, uint32_t root,
                         const char *in, char *const of[KPK_COMM_MOST_RANKS],
                         char *out, uint64_t n, void *stream)
{
    const kpk_launch_options options = {
        .shape = plan->shape, .stream = stream, .flags = KPK_LAUNCH_EARLY};
    const uint64_t slots = kpk_i_comm_medium_at(comm);
    struct arguments a = {.n = 0};
    /* cppcheck-suppress variableScope ; the list points to it */
    char *to[KPK_COMM_MOST_RANKS] = {0};

    add_group(&a, comm, &rank);
    if (!plan->registered || plan->medium)
        ADD(&a, in);
    for (int s = 0;
         plan->registered && !plan->medium && s < KPK_COMM_MOST_RANKS; s++)
        ADD(&a, of[s]);
    if (plan->registered && plan->medium) {
        find_targets(comm, of[rank] ? of : NULL, to);
        for (int s = 0; s < KPK_COMM_MOST_RANKS; s++)
            ADD(&a, to[s]);
    }
    ADD(&a, out);
    ADD(&a, n);
    if (plan->op == KPK_COMM_BROADCAST)
        ADD(&a, root);
    if (plan->medium) {
        ADD(&a, slots);
        ADD(&a, comm->slot_nbytes);
        ADD(&a, plan->step);
    }
    return kpk_launch_ex(kernel, &options, a.list, a.n);
}

static kpk_status check_call(const kpk_comm *comm, const kpk_comm_plan *plan,
                             uint32_t rank, uint32_t root, const void *in,
                             const void *out)
{
    if (!comm || !plan)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_comm_launch: %s is NULL",
                          comm ? "plan" : "comm");
    if ((unsigned)plan->op >= NOPS)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_comm_launch: %s is for kpk_comm_norm()",
                          plan->kernel);
    if (rank >= comm->ranks ||
        (plan->op == KPK_COMM_BROADCAST && root >= comm->ranks))
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_comm_launch: the group has no rank %lu",
                          (unsigned long)(rank >= comm->ranks ? rank : root));
    if (plan->n && (!in || !out))
        return kpk_i_fail(KPK_ERR_ARG, "kpk_comm_launch: %s is NULL",
                          in ? "out" : "in");
    if (!comm->insts[rank])
        return kpk_i_comm_not_here("kpk_comm_launch", rank);
    return kpk_i_comm_usable(comm, "kpk_comm_launch");
}

/*
 * Sets of[] to the addresses of all ranks' inputs, if the kernel reads inputs
 * of other ranks or writes sums there. Fails with KPK_ERR_ARG if they are not
 * registered. An all-reduce reads no other rank's input. In place it writes the
 * sums to all ranks' buffers, whose addresses follow from the registration. It
 * does not on AMD's GPUs, whose memory model has no rule for ordinary memory
 * that one GPU caches and another GPU writes.
 */
static kpk_status find_buffers(const kpk_comm *comm, const kpk_comm_plan *plan,
                               uint32_t rank, const char *in, const char *out,
                               char *of[KPK_COMM_MOST_RANKS])
{
    const kpk_device *device = kpk_instance_device(comm->insts[rank]);
    const bool writes = plan->op == KPK_COMM_ALL_REDUCE;
    const uint64_t rows = plan->op == KPK_COMM_REDUCE_SCATTER ? comm->ranks : 1;
    const struct comm_buffer *b;

    if (!plan->registered ||
        (writes && (in != out || device->platform != KPK_CUDA)))
        return KPK_OK;
    b = buffer_of(comm, rank, in, rows * plan->n * plan->element_nbytes);
    if (!b)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_comm_launch: %s %s of all ranks, but rank %lu's "
                          "is in no registered buffer: call "
                          "kpk_comm_register()%s",
                          plan->kernel,
                          writes ? "writes into the outputs"
                                 : "reads the inputs",
                          (unsigned long)rank,
                          writes ? ", or give an out that is not in" : "");
    for (uint32_t s = 0; s < comm->ranks; s++)
        of[s] = b->of[s] + (in - b->of[rank]);
    return KPK_OK;
}

static kpk_status call_library(const kpk_comm *comm, const kpk_comm_plan *plan,
                               uint32_t rank, uint32_t root, const void *in,
                               void *out, void *stream)
{
    const struct kpk_i_collective c = {.comm = comm->library[rank],
                                       .in = in,
                                       .out = out,
                                       .n = plan->n,
                                       .type = types[plan->type].of_library,
                                       .root = root,
                                       .stream = stream};

    return plan->n ? ops[plan->op].call(comm->insts[rank], &c) : KPK_OK;
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

    if (st == KPK_OK && comm->engine)
        return call_library(comm, plan, rank, root, in, out, stream);
    if (st == KPK_OK)
        st = find_buffers(comm, plan, rank, from, to, of);
    if (st == KPK_OK)
        st = kpk_kernel_get(comm->insts[rank], plan->kernel, &kernel);
    for (uint64_t i = 0; st == KPK_OK && i < plan->n; i += plan->each) {
        const uint64_t nbytes = plan->each * plan->element_nbytes;

        st = launch(comm, plan, kernel, rank, root, from, of, to,
                    comm_least(plan->each, plan->n - i), stream);
        for (uint32_t s = 0; s < comm->ranks; s++)
            if (of[s])
                of[s] += nbytes;
        from += nbytes;
        to += nbytes;
    }
    return st;
}

/* ---- sums with a residual and a norm ------------------------------------ */

/* Bytes from a row to the next in a workspace: whole lines. */
static uint64_t norm_stride(const kpk_comm_plan *plan)
{
    return comm_div_up((uint64_t)plan->columns * plan->element_nbytes,
                       COMM_LINE) *
           COMM_LINE;
}

static kpk_status check_norm(const kpk_comm *comm, const kpk_comm_plan *plan)
{
    if (!plan->columns ||
        (uint64_t)plan->columns * plan->element_nbytes % PIECE != 0)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_comm_choose_norm: rows of %lu elements are not "
                          "whole pieces of %d bytes",
                          (unsigned long)plan->columns, PIECE);
    if (plan->padded % 32 != 0 ||
        (plan->padded && plan->padded < plan->columns))
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_comm_choose_norm: padded is %lu; it is 0, or a "
                          "multiple of 32 from %lu on",
                          (unsigned long)plan->padded,
                          (unsigned long)plan->columns);
    if (plan->registered && norm_stride(plan) > comm->large_nbytes)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_comm_choose_norm: a row is longer than the "
                          "group's large_nbytes, %llu",
                          (unsigned long long)comm->large_nbytes);
    return KPK_OK;
}

/* Whether the device's code has clusters, whose blocks exchange sums faster
 * than other blocks. */
static bool has_clusters(kpk_instance *inst, const char *kernel_name)
{
    const kpk_device *device = kpk_instance_device(inst);
    char name[KPK_I_SM_NBYTES];
    const kpk_kernel *kernel;
    const char *target;

    if (device->platform != KPK_CUDA ||
        kpk_kernel_get(inst, kernel_name, &kernel) != KPK_OK)
        return false;
    target =
        kpk_i_target_of_rows(kpk_kernel_module(kernel), device->target, name);
    return atoi(target + 3) >= 90;
}

/* Sets the shape: a thread for each piece of a row, the row shared by as many
 * blocks as the grid has room for. Ways that wait without barriers are faster
 * with many blocks, ways with barriers with few. */
static void shape_norm(const kpk_comm *comm, enum way way, kpk_comm_plan *plan)
{
    const uint64_t rows = plan->each / plan->columns;
    const uint64_t columns = comm_most(plan->padded, plan->columns);
    const uint64_t pieces = columns * plan->element_nbytes / PIECE;
    kpk_instance *inst = comm->insts[comm->party.rank];
    const bool shares = kpk_instance_device(inst)->platform == KPK_CUDA;
    const uint32_t most_parts = shares && way != LARGE ? COMM_MOST_PARTS : 1;
    uint32_t threads = 32, parts = 1;

    while (threads < ways[way].threads && threads < pieces)
        threads *= 2;
    while (parts < most_parts && (uint64_t)threads * parts < pieces &&
           rows * parts * 2 <= comm->blocks)
        parts *= 2;
    while (threads < COMM_THREADS && (uint64_t)threads * parts < pieces)
        threads *= 2;
    if ((uint64_t)threads * parts * plan->element_nbytes < pieces)
        parts = 1; /* a thread holds 16 numbers */
    plan->parts = parts;
    /* If several ranks share the device, their blocks may not fit it at once
     * as clusters. */
    plan->clustered =
        parts > 1 && !comm->share_a_device && has_clusters(inst, plan->kernel);
    plan->step = way == LARGE ? 2 : 1; /* rows of a block */
    plan->shape.block[0] = threads;
    plan->shape.grid[0] = (uint32_t)comm_least(rows * parts, comm->blocks);
    for (int axis = 1; axis < 3; axis++)
        plan->shape.grid[axis] = plan->shape.block[axis] = 1;
}

kpk_status kpk_comm_choose_norm(const kpk_comm *comm, kpk_comm_type type,
                                uint32_t rows, uint32_t columns,
                                uint32_t padded, kpk_comm_plan *out)
{
    const uint64_t n = (uint64_t)rows * columns;
    kpk_comm_plan plan = {.op = KPK_COMM_NORM,
                          .n = n,
                          .each = n,
                          .columns = columns,
                          .padded = padded};
    uint64_t row_nbytes;
    enum way way;
    kpk_status st;

    if (!comm || !out)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_comm_choose_norm: %s is NULL",
                          comm ? "out" : "comm");
    if ((unsigned)type >= NTYPES)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_comm_choose_norm: no type is %d",
                          (int)type);
    if (comm->engine)
        return kpk_i_fail(KPK_ERR_UNSUPPORTED,
                          "kpk_comm_choose_norm: this group goes through %s, "
                          "which has sums alone: call kpk_comm_launch(), then "
                          "a kernel of module fused",
                          comm->engine);
    if (n > MOST_ELEMENTS)
        return too_many("kpk_comm_choose_norm", n);
    plan.type = type;
    plan.element_nbytes = types[type].nbytes;
    row_nbytes = (uint64_t)columns * plan.element_nbytes;
    way = way_of(comm, true, n * plan.element_nbytes);
    if (comm->ranks == 2 && way == LARGE && row_nbytes <= comm->slot_nbytes)
        way = MEDIUM; /* two ranks send as much in one step as in two */
    plan.registered = way == LARGE;
    plan.medium = way == MEDIUM;
    st = check_norm(comm, &plan);
    if (st != KPK_OK)
        return st;
    snprintf(plan.kernel, sizeof(plan.kernel), "all_reduce_norm%s_%s_%s",
             padded ? "_q8_1" : "", ways[way].name, types[type].name);
    if (plan.registered)
        plan.each =
            comm_least(n, comm->large_nbytes / norm_stride(&plan) * columns);
    if (plan.medium)
        plan.each = comm_least(n, comm->slot_nbytes / row_nbytes * columns);
    shape_norm(comm, way, &plan);
    *out = plan;
    return KPK_OK;
}

/* One launch with arguments `n`; of[] has all ranks' inputs, if they are read.
 */
static kpk_status launch_norm(const kpk_comm *comm, const kpk_comm_plan *plan,
                              const kpk_kernel *kernel, uint32_t rank,
                              const kpk_comm_norm_args *n, uint32_t rows,
                              char *const of[KPK_COMM_MOST_RANKS], void *stream)
{
    const kpk_launch_options options = {
        .shape = plan->shape,
        .stream = stream,
        .flags = KPK_LAUNCH_EARLY,
        .cluster = {plan->clustered ? plan->parts : 1}};
    const uint64_t slots = kpk_i_comm_medium_at(comm);
    struct arguments a = {.n = 0};
    char *to[KPK_COMM_MOST_RANKS] = {0};

    find_targets(comm, NULL, to);
    add_group(&a, comm, &rank);
    if (!plan->registered)
        ADD(&a, n->in);
    for (int s = 0; plan->registered && s < KPK_COMM_MOST_RANKS; s++)
        ADD(&a, of[s]);
    for (int s = 0; plan->registered && s < KPK_COMM_MOST_RANKS; s++)
        ADD(&a, to[s]);
    if (plan->medium) {
        ADD(&a, slots);
        ADD(&a, comm->slot_nbytes);
    }
    ADD(&a, n->residual);
    ADD(&a, n->sum);
    ADD(&a, n->weight);
    ADD(&a, n->out);
    ADD(&a, rows);
    ADD(&a, plan->columns);
    ADD(&a, plan->padded);
    ADD(&a, n->eps);
    ADD(&a, plan->parts);
    ADD(&a, plan->step);
    return kpk_launch_ex(kernel, &options, a.list, a.n);
}

static kpk_status check_norm_call(const kpk_comm *comm,
                                  const kpk_comm_plan *plan, uint32_t rank,
                                  const kpk_comm_norm_args *n)
{
    if (!comm || !plan || !n)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_comm_norm: %s is NULL",
                          !comm   ? "comm"
                          : !plan ? "plan"
                                  : "args");
    if (plan->op != KPK_COMM_NORM)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_comm_norm: %s is for kpk_comm_launch()",
                          plan->kernel);
    if (rank >= comm->ranks)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_comm_norm: the group has no rank "
                          "%lu",
                          (unsigned long)rank);
    if (!comm->insts[rank])
        return kpk_i_comm_not_here("kpk_comm_norm", rank);
    if (plan->n && (!n->in || !n->sum || !n->out))
        return kpk_i_fail(KPK_ERR_ARG, "kpk_comm_norm: in, sum or out is NULL");
    if (((uintptr_t)n->in | (uintptr_t)n->residual | (uintptr_t)n->sum |
         (uintptr_t)n->weight | (plan->padded ? 0 : (uintptr_t)n->out)) %
            PIECE !=
        0)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_comm_norm: a pointer is not aligned to %d bytes",
                          PIECE);
    return kpk_i_comm_usable(comm, "kpk_comm_norm");
}

/* p + nbytes, or NULL if p is NULL */
static void *on_by(const void *p, uint64_t nbytes)
{
    return p ? (char *)p + nbytes : NULL;
}

kpk_status kpk_comm_norm(kpk_comm *comm, const kpk_comm_plan *plan,
                         uint32_t rank, const kpk_comm_norm_args *args,
                         void *stream)
{
    char *of[KPK_COMM_MOST_RANKS] = {0};
    const kpk_kernel *kernel;
    kpk_status st = check_norm_call(comm, plan, rank, args);
    kpk_comm_norm_args n;
    uint64_t nbytes, out_nbytes;

    if (st == KPK_OK)
        st = find_buffers(comm, plan, rank, args->in, NULL, of);
    if (st == KPK_OK)
        st = kpk_kernel_get(comm->insts[rank], plan->kernel, &kernel);
    if (st != KPK_OK)
        return st;
    n = *args;
    nbytes = plan->each * plan->element_nbytes;
    out_nbytes = plan->padded
                     ? plan->each / plan->columns * (plan->padded / 32) * 36
                     : nbytes;
    for (uint64_t i = 0; st == KPK_OK && i < plan->n; i += plan->each) {
        st = launch_norm(
            comm, plan, kernel, rank, &n,
            (uint32_t)(comm_least(plan->each, plan->n - i) / plan->columns), of,
            stream);
        for (uint32_t s = 0; s < comm->ranks; s++)
            of[s] = on_by(of[s], nbytes);
        n.in = on_by(n.in, nbytes);
        n.residual = on_by(n.residual, nbytes);
        n.sum = on_by(n.sum, nbytes);
        n.out = on_by(n.out, out_nbytes);
    }
    return st;
}

/* An all-reduce is in place on all ranks, or on none. */
static kpk_status check_places(const kpk_comm *comm, const kpk_comm_plan *plan,
                               const void *const *in, void *const *out)
{
    const bool moves = plan->op == KPK_COMM_ALL_REDUCE && plan->n;

    for (uint32_t r = 1; moves && r < comm->ranks; r++)
        if ((in[r] == out[r]) != (in[0] == out[0]))
            return kpk_i_fail(KPK_ERR_ARG,
                              "kpk_comm_launch_all: out is in on rank %d, and "
                              "not on rank %lu: it is on every rank, or on "
                              "none",
                              in[0] == out[0] ? 0 : (int)r,
                              (unsigned long)(in[0] == out[0] ? r : 0));
    return KPK_OK;
}

kpk_status kpk_comm_launch_all(kpk_comm *comm, const kpk_comm_plan *plan,
                               uint32_t root, const void *const *in,
                               void *const *out, void *const *streams)
{
    kpk_status st = KPK_OK;

    if (!comm || !plan || !in || !out || !streams)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_comm_launch_all: %s is NULL",
                          !comm   ? "comm"
                          : !plan ? "plan"
                          : !in   ? "in"
                          : !out  ? "out"
                                  : "streams");
    if (comm->party.gather)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_comm_launch_all: other ranks are "
                                       "other processes'");
    /* each rank's kernel waits for those of all other ranks */
    for (uint32_t r = 0; r < comm->ranks && st == KPK_OK; r++) {
        char *of[KPK_COMM_MOST_RANKS];

        st = check_call(comm, plan, r, root, in[r], out[r]);
        if (st == KPK_OK)
            st = find_buffers(comm, plan, r, in[r], out[r], of);
    }
    if (st == KPK_OK)
        st = check_places(comm, plan, in, out);
    if (st == KPK_OK && comm->engine)
        st = kpk_i_collectives_begin(comm->insts[0]);
    if (st != KPK_OK)
        return st;
    for (uint32_t r = 0; r < comm->ranks && st == KPK_OK; r++)
        st = kpk_comm_launch(comm, plan, r, root, in[r], out[r], streams[r]);
    return comm->engine ? kpk_i_collectives_end(comm->insts[0], st) : st;
}
