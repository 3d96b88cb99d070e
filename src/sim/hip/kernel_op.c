/* kernel_op.c - checks a launch, copies its arguments, runs the dispatch
 *
 * The arguments are in their kernarg segment when the launch call returns; the
 * dispatch itself is an operation of the stream. Segments are kept for the next
 * launch that needs one of the same size, since allocations are exact to the
 * byte so that a kernel that reads past its arguments is caught.
 */
#include "kernel_op.h"

#include "event_state.h"
#include "hip_module.h"
#include "hostcall.h"
#include "kernel_print.h"
#include "launch_report.h"
#include "op_queue.h"
#include "process_state.h"
#include "thread_state.h"

#include "../base/allocation.h"
#include "../base/host_access.h"
#include "../base/loaded_object.h"
#include "../run/dispatch.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KERNARG_ALIGN = 256,
    KERNARG_PAD = 16, /* compilers widen the last load: 3 dwords come as 4 */
    KEPT_SEGMENTS = 64,
    PACKET_NBYTES = 64,
    QUEUE_NBYTES = 256,
    STACK_NBYTES = 16384, /* if the compiler does not know the depth */
    ABI_V5 = 3
};

/* ---- kernarg segments --------------------------------------------------- */

struct segment {
    struct segment *next;
    uint64_t address, nbytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct segment *kept;
static int nkept;

static struct segment *take_segment(int device, uint64_t nbytes)
{
    struct segment *s, **link;
    const struct sim_alloc *a;

    pthread_mutex_lock(&lock);
    for (link = &kept; *link && (*link)->nbytes != nbytes;)
        link = &(*link)->next;
    s = *link;
    if (s) {
        *link = s->next;
        nkept--;
    }
    pthread_mutex_unlock(&lock);
    if (s)
        return s;
    s = calloc(1, sizeof(*s));
    a = s ? sim_mem_alloc(device, nbytes, KERNARG_ALIGN, SIM_MEM_INTERNAL)
          : NULL;
    if (!a) {
        free(s);
        return NULL;
    }
    s->address = a->base;
    s->nbytes = nbytes;
    return s;
}

static void give_segment(struct segment *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&lock);
    if (nkept < KEPT_SEGMENTS) {
        s->next = kept;
        kept = s;
        nkept++;
        s = NULL;
    }
    pthread_mutex_unlock(&lock);
    if (s) {
        sim_mem_free(s->address);
        free(s);
    }
}

void launches_shutdown(void)
{
    while (kept) {
        struct segment *s = kept;

        kept = s->next;
        free(s);
    }
}

/* ---- arguments ---------------------------------------------------------- */

/* Values of hidden arguments, looked up by the metadata's value_kind. */
struct hidden_values {
    uint32_t block_count[3];
    uint16_t group_size[3], remainder[3], grid_dims;
    uint32_t dynamic_lds;
    uint64_t queue, multigrid, hostcall, heap, printf;
};

static void put_hidden(const struct sim_arg *arg, const struct hidden_values *v,
                       uint8_t *segment)
{
    const struct {
        const char *kind;
        const void *value;
        uint32_t nbytes;
    } rows[] = {
        {"hidden_block_count_x", &v->block_count[0], 4},
        {"hidden_block_count_y", &v->block_count[1], 4},
        {"hidden_block_count_z", &v->block_count[2], 4},
        {"hidden_group_size_x", &v->group_size[0], 2},
        {"hidden_group_size_y", &v->group_size[1], 2},
        {"hidden_group_size_z", &v->group_size[2], 2},
        {"hidden_remainder_x", &v->remainder[0], 2},
        {"hidden_remainder_y", &v->remainder[1], 2},
        {"hidden_remainder_z", &v->remainder[2], 2},
        {"hidden_grid_dims", &v->grid_dims, 2},
        {"hidden_dynamic_lds_size", &v->dynamic_lds, 4},
        {"hidden_queue_ptr", &v->queue, 8},
        {"hidden_multigrid_sync_arg", &v->multigrid, 8},
        {"hidden_hostcall_buffer", &v->hostcall, 8},
        {"hidden_heap_v1", &v->heap, 8},
        {"hidden_printf_buffer", &v->printf, 8},
    }; /* all others are 0 */
    size_t i;

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(rows[i].kind, arg->value_kind) == 0 &&
            arg->size >= rows[i].nbytes)
            memcpy(segment + arg->offset, rows[i].value, rows[i].nbytes);
}

static uint32_t explicit_end(const struct sim_kernel *k)
{
    uint32_t i, end = 0;

    for (i = 0; i < k->nexplicit; i++)
        if (k->args[i].offset + k->args[i].size > end)
            end = k->args[i].offset + k->args[i].size;
    /* Metadata without a list of arguments has the segment's size alone. */
    return k->nargs == 0 ? k->kernarg_nbytes : end;
}

/*
 * The size of a launch's argument segment. It covers the list of arguments,
 * which in hand-written kernels may exceed the stated size, and is padded,
 * because compilers widen scalar loads and rely on the padding.
 */
static uint64_t segment_nbytes(const struct sim_kernel *k)
{
    uint64_t end = k->kernarg_nbytes;
    uint32_t i;

    for (i = 0; i < k->nargs; i++)
        if (end < (uint64_t)k->args[i].offset + k->args[i].size)
            end = (uint64_t)k->args[i].offset + k->args[i].size;
    return (end + KERNARG_PAD - 1) & ~(uint64_t)(KERNARG_PAD - 1);
}

static hipError_t put_params(const struct sim_kernel *k, void **params,
                             uint8_t *segment)
{
    uint32_t i;

    for (i = 0; i < k->nexplicit; i++) {
        if (!params[i])
            return hipErrorInvalidValue;
        memcpy(segment + k->args[i].offset, params[i], k->args[i].size);
    }
    return hipSuccess;
}

static bool extra_well_formed(void **extra)
{
    return extra[0] == (void *)HIP_LAUNCH_PARAM_BUFFER_POINTER &&
           extra[2] == (void *)HIP_LAUNCH_PARAM_BUFFER_SIZE && extra[3] &&
           extra[4] == (void *)HIP_LAUNCH_PARAM_END;
}

/*
 * The buffer has the layout of the segment. Up to 6.x its size is not looked
 * at, and only what the list of arguments names is taken from it.
 */
static hipError_t put_extra(const struct sim_kernel *k, void **extra,
                            uint8_t *segment)
{
    const uint8_t *buffer = extra[1];
    uint32_t end = explicit_end(k), i;
    size_t size = *(const size_t *)extra[3];

    if (process.release < 7) {
        for (i = 0; i < k->nexplicit && buffer; i++)
            memcpy(segment + k->args[i].offset, buffer + k->args[i].offset,
                   k->args[i].size);
        return hipSuccess;
    }
    if (end == 0)
        return size == 0 ? hipSuccess : hipErrorLaunchOutOfResources;
    if (!buffer || size == 0 || (k->nargs && size < end))
        return hipErrorInvalidValue;
    memcpy(segment, buffer, size < end ? size : end);
    return hipSuccess;
}

static bool has_hidden(const struct sim_kernel *k, const char *kind)
{
    uint32_t i;

    for (i = k->nexplicit; i < k->nargs; i++)
        if (strcmp(k->args[i].value_kind, kind) == 0)
            return true;
    return false;
}

/*
 * Pointers into LDS get their values here, whatever the caller passed: each
 * comes behind the one before, aligned for what it points to, and four bytes
 * are kept for it, as AMD's runtime does. So only the last one has room, the
 * dynamic part of the launch. Returns the LDS of a group without that part.
 * `segment` may be NULL.
 */
static uint32_t place_in_lds(const struct sim_kernel *k, uint8_t *segment)
{
    uint32_t at = k->lds_nbytes, i, align;

    for (i = 0; i < k->nexplicit; i++) {
        if (strcmp(k->args[i].value_kind, "dynamic_shared_pointer") != 0 ||
            k->args[i].size != sizeof(at))
            continue;
        align = k->args[i].pointee_align;
        if (align && (align & (align - 1)) == 0)
            at = (at + align - 1) & ~(align - 1);
        if (segment)
            memcpy(segment + k->args[i].offset, &at, sizeof(at));
        at += (uint32_t)sizeof(at);
    }
    return at;
}

static hipError_t fill_segment(const struct launch *l, struct hidden_values v,
                               uint8_t *segment)
{
    const struct sim_kernel *k = l->function->kernel;
    hipError_t error = hipSuccess;
    uint32_t i;

    memset(segment, 0, segment_nbytes(k));
    if (l->extra)
        error = put_extra(k, l->extra, segment);
    else if (l->params)
        error = put_params(k, l->params, segment);
    place_in_lds(k, segment);
    v.dynamic_lds = (uint32_t)l->shared;
    for (i = 0; i < 3; i++) {
        v.block_count[i] = l->grid[i] / l->block[i];
        v.group_size[i] = (uint16_t)l->block[i];
        v.remainder[i] = (uint16_t)(l->grid[i] % l->block[i]);
    }
    for (i = k->nexplicit; i < k->nargs; i++)
        put_hidden(&k->args[i], &v, segment);
    return error;
}

/* ---- the dispatch ------------------------------------------------------- */

struct kernel_op {
    struct op op;
    struct sim_dispatch dispatch;
    struct loaded *loaded;
    struct segment *segment, *multigrid;
    uint64_t printf; /* its buffer of texts, 0: has none */
    struct sim_gws gws;
    bool asks_host; /* may print, allocate */
};

static void release_kernel(struct op *op)
{
    struct kernel_op *k = (struct kernel_op *)op;

    loaded_unref(k->loaded);
    give_segment(k->segment);
    if (k->printf)
        sim_mem_free(k->printf);
    if (k->multigrid) {
        sim_mem_free(k->multigrid->address);
        free(k->multigrid);
    }
}

static void write_packet(const struct sim_dispatch *d)
{
    uint8_t *at = sim_mem_host_view(d->packet, PACKET_NBYTES);
    const uint16_t header = 2 | 1 << 8 | 2 << 9 | 2 << 11, setup = 3;

    memset(at, 0, PACKET_NBYTES);
    memcpy(at, &header, 2);
    memcpy(at + 2, &setup, 2);
    memcpy(at + 4, d->block, 6);
    memcpy(at + 12, d->grid, 12);
    memcpy(at + 24, &d->scratch_nbytes, 4);
    memcpy(at + 28, &d->lds_nbytes, 4);
    memcpy(at + 32, &d->descriptor, 8);
    memcpy(at + 40, &d->kernarg, 8);
    sim_mem_mark_written(d->packet, PACKET_NBYTES);
}

/* How a fault looks to the program. */
static hipError_t error_of(enum sim_fault_kind kind)
{
    switch (kind) {
    case SIM_FAULT_MEMORY:
    case SIM_FAULT_USE_AFTER_FREE:
    case SIM_FAULT_READONLY:
    case SIM_FAULT_MISALIGNED:
        return hipErrorIllegalAddress;
    case SIM_FAULT_BUDGET:
        return hipErrorLaunchTimeOut;
    default:
        return hipErrorLaunchFailure;
    }
}

static hipError_t run_kernel(struct op *op)
{
    struct kernel_op *k = (struct kernel_op *)op;
    struct sim_stats stats;
    struct hostcall_server server;
    struct sim_fault fault;
    bool ok;

    if (k->asks_host && !hostcall_start(&server, op->queue->device))
        return hipErrorOutOfMemory;
    memset(&stats, 0, sizeof(stats));
    memset(&fault, 0, sizeof(fault));
    write_packet(&k->dispatch);
    ok = sim_dispatch_run(&k->dispatch, &stats, &fault);
    if (k->asks_host)
        hostcall_stop(&server);
    if (k->printf)
        print_buffer_flush(k->printf, k->loaded->object);
    report_stats(&stats);
    if (ok)
        return hipSuccess;
    report_fault(&fault);
    return error_of(fault.kind);
}

/* The queue's own packet and amd_queue_t, made with its first launch. */
static bool prepare_queue(struct queue *q)
{
    const struct sim_alloc *queue, *packet;
    uint8_t *at;
    bool ready;

    pthread_mutex_lock(&lock);
    ready = q->hsa_queue != 0;
    if (!ready) {
        int device = q->device->sim->ordinal;

        queue = sim_mem_alloc(device, QUEUE_NBYTES, 0, SIM_MEM_INTERNAL);
        packet = sim_mem_alloc(device, PACKET_NBYTES, 0, SIM_MEM_INTERNAL);
        if (queue && packet) {
            at = sim_mem_host_view(queue->base, QUEUE_NBYTES);
            memset(at, 0, QUEUE_NBYTES);
            memcpy(at + 8, &packet->base, 8); /* hsa_queue.base_address */
            at[24] = 1;                       /* .size, in packets */
            sim_mem_mark_written(queue->base, QUEUE_NBYTES);
            q->packet = packet->base;
            q->hsa_queue = queue->base;
            ready = true;
        } else if (queue) {
            sim_mem_free(queue->base);
        }
    }
    pthread_mutex_unlock(&lock);
    return ready;
}

/*
 * The structure behind a cooperative kernel's grid barrier, in the device
 * library's layout: a pointer to the barrier of all devices, this grid's
 * number, the number of grids, work-items before this grid and in all, this
 * grid's own barrier, its number of workgroups.
 */
static struct segment *make_multigrid(const struct launch *l, int device)
{
    struct {
        uint64_t all;
        uint32_t grid_id, ngrids;
        uint64_t before, total;
        uint32_t own[2], workgroups, pad;
    } info = {.all = l->mg_sync,
              .grid_id = l->grid_id,
              .ngrids = l->ngrids,
              .before = l->items_before,
              .total = l->items_total};
    struct segment *s = calloc(1, sizeof(*s));
    const struct sim_alloc *a;
    uint64_t groups = 1;
    int i;

    a = s ? sim_mem_alloc(device, sizeof(info), 0, SIM_MEM_INTERNAL) : NULL;
    if (!a) {
        free(s);
        return NULL;
    }
    for (i = 0; i < 3; i++)
        groups *= (l->grid[i] + l->block[i] - 1) / l->block[i];
    info.workgroups = (uint32_t)groups;
    if (l->ngrids == 0) {
        info.ngrids = 1;
        info.total = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    }
    s->address = a->base;
    s->nbytes = sizeof(info);
    memcpy(sim_mem_host_view(a->base, sizeof(info)), &info, sizeof(info));
    sim_mem_mark_written(a->base, sizeof(info));
    return s;
}

static uint32_t scratch_of(const struct sim_kernel *k)
{
    if (k->uses_dynamic_stack && k->scratch_nbytes < STACK_NBYTES)
        return STACK_NBYTES;
    return k->scratch_nbytes;
}

static hipError_t build(const struct launch *l, struct queue *q,
                        struct kernel_op *op)
{
    const struct sim_kernel *k = l->function->kernel;
    struct sim_dispatch *d = &op->dispatch;
    int device = q->device->sim->ordinal, i;
    uint32_t ngroups;
    const uint64_t nbytes = segment_nbytes(k);
    struct hidden_values v = {.grid_dims = 3};
    uint8_t *bytes;
    hipError_t error;

    op->loaded = l->function->loaded;
    loaded_ref(op->loaded);
    if (!prepare_queue(q))
        return hipErrorOutOfMemory;
    if (l->cooperative && !(op->multigrid = make_multigrid(l, device)))
        return hipErrorOutOfMemory;
    if (nbytes) {
        op->segment = take_segment(device, nbytes);
        if (!op->segment)
            return hipErrorOutOfMemory;
        bytes = sim_mem_host_view(op->segment->address, nbytes);
        if (!bytes)
            return hipErrorUnknown;
        v.queue = q->hsa_queue;
        v.multigrid = op->multigrid ? op->multigrid->address : 0;
        op->asks_host = has_hidden(k, "hidden_hostcall_buffer");
        if (has_hidden(k, "hidden_heap_v1") &&
            !(v.heap = hostcall_heap(q->device)))
            return hipErrorOutOfMemory;
        if (op->asks_host && !(v.hostcall = hostcall_buffer(q->device)))
            return hipErrorOutOfMemory;
        if (op->asks_host && !l->cooperative)
            d->max_waves = HOSTCALL_MAX_WAVES;
        if (has_hidden(k, "hidden_printf_buffer")) {
            v.printf = op->printf = print_buffer_new(q->device);
            if (!v.printf)
                return hipErrorOutOfMemory;
        }
        error = fill_segment(l, v, bytes);
        if (error != hipSuccess)
            return error;
        sim_mem_mark_written(op->segment->address, nbytes);
    } else if (l->extra) {
        uint8_t none[1];

        error = put_extra(k, l->extra, none);
        if (error != hipSuccess)
            return error;
    }
    d->device = q->device->sim;
    d->kernel_name = k->name;
    d->descriptor = k->descriptor;
    d->kernarg = op->segment ? op->segment->address : 0;
    d->packet = q->packet;
    d->queue = q->hsa_queue;
    for (i = 0; i < 3; i++) {
        d->grid[i] = l->grid[i];
        d->block[i] = (uint16_t)l->block[i];
    }
    d->lds_nbytes = place_in_lds(k, NULL) + (uint32_t)l->shared;
    d->scratch_nbytes = scratch_of(k);
    if (l->cooperative) {
        /* The runtime initializes the barrier for the grid's workgroups. */
        for (i = 0, ngroups = 1; i < 3; i++)
            ngroups *= l->grid[i] / l->block[i];
        op->gws.resource[0].counter = (int32_t)ngroups - 1;
        d->gws = &op->gws;
    }
    return hipSuccess;
}

hipError_t launch_now(const struct launch *l, struct queue *q)
{
    struct kernel_op *op =
        (struct kernel_op *)op_new(sizeof(*op), run_kernel, release_kernel);
    hipError_t error;

    if (!op)
        return hipErrorOutOfMemory;
    error = build(l, q, op);
    if (error != hipSuccess) {
        op_unref(&op->op);
        return error;
    }
    op_ref(&op->op);
    error = op_submit(q, &op->op);
    if (error == hipSuccess && l->start)
        error = event_attach(l->start, &op->op, true);
    if (error == hipSuccess && l->stop)
        error = event_attach(l->stop, &op->op, false);
    if (error == hipSuccess && process.launch_blocking) {
        op_wait(&op->op);
        error = queues_error(q->device);
    }
    op_unref(&op->op);
    return error;
}

/* ---- checks ------------------------------------------------------------- */

hipError_t launch_check(const struct launch *l, struct queue *q)
{
    const struct sim_kernel *k = l->function->kernel;
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    const uint32_t lds = q->device->sim->target->lds_nbytes;

    if (l->shared > lds)
        return process.release == 5 ? hipErrorOutOfMemory
                                    : hipErrorInvalidValue;
    if (threads > MAX_BLOCK)
        return process.release == 5 ? hipErrorInvalidConfiguration
                                    : hipErrorInvalidValue;
    if (explicit_end(k) && !l->params && !l->extra)
        return hipErrorInvalidValue;
    if (threads > k->max_block)
        return hipErrorLaunchFailure;
    if (l->function->loaded->device != q->device)
        return hipErrorInvalidDevice;
    if (l->extra && !extra_well_formed(l->extra))
        return hipErrorInvalidValue;
    if (process.release >= 7 && !l->any_device && q->device != thread_device())
        return hipErrorInvalidHandle;
    if (place_in_lds(k, NULL) + l->shared > lds) {
        process_complain(
            "%s needs %u bytes of static and %zu of dynamic LDS; %s has "
            "%u",
            k->name, place_in_lds(k, NULL), l->shared,
            q->device->sim->target_id, lds);
        return hipErrorLaunchOutOfResources;
    }
    return hipSuccess;
}

/* Blocks and block sizes, with the answers of each release. */
static hipError_t check_dimensions(const uint32_t grid[3],
                                   const uint32_t block[3])
{
    bool zero_grid = false, zero_block = false;
    int i;

    for (i = 0; i < 3; i++) {
        uint32_t limit = i == 0 || process.release == 5 ? INT_MAX : 65536;

        if (grid[i] > limit)
            return hipErrorInvalidValue;
    }
    for (i = 0; i < 3; i++)
        if ((uint64_t)grid[i] * block[i] > UINT32_MAX &&
            (i == 0 || process.release >= 7))
            return process.release >= 7 ? hipErrorInvalidValue
                                        : hipErrorInvalidConfiguration;
    for (i = 0; i < 3; i++) {
        if (block[i] > 65535)
            return hipErrorInvalidValue;
        zero_grid = zero_grid || grid[i] == 0;
        zero_block = zero_block || block[i] == 0;
    }
    if (zero_block && !zero_grid && process.release == 6)
        return hipErrorInvalidConfiguration;
    return zero_grid || zero_block ? hipErrorInvalidValue : hipSuccess;
}

hipError_t launch_check_blocks(struct launch *l, const uint32_t blocks[3],
                               struct queue *q)
{
    hipError_t error = check_dimensions(blocks, l->block);
    int i;

    if (l->params && l->extra)
        return hipErrorInvalidValue;
    if (error == hipSuccess)
        error = launch_check(l, q);
    if (error != hipSuccess)
        return error;
    for (i = 0; i < 3; i++)
        l->grid[i] = blocks[i] * l->block[i];
    return hipSuccess;
}
