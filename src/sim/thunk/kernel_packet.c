/* kernel_packet.c - a kernel dispatch packet becomes a dispatch of the core */
#include "kernel_packet.h"

#include "hsa_signal.h"
#include "kernel_symbol.h"
#include "kmt.h"
#include "kmt_event.h"
#include "node.h"
#include "ring.h"

#include "../run/dispatch.h"

#include <stdio.h>
#include <string.h>

enum { MAX_GROUP = 1024, NAME_LENGTH = 256 };

/* How hardware reports each of the interpreter's faults. */
static const struct {
    int64_t error;
    uint32_t memory_reasons; /* not 0: a memory fault first */
} reports[] = {
    [SIM_FAULT_MEMORY] = {THUNK_BAD_ADDRESS, KMT_FAULT_NOT_PRESENT},
    [SIM_FAULT_USE_AFTER_FREE] = {THUNK_BAD_ADDRESS, KMT_FAULT_NOT_PRESENT},
    [SIM_FAULT_READONLY] = {THUNK_BAD_ADDRESS, KMT_FAULT_READ_ONLY},
    [SIM_FAULT_MISALIGNED] = {THUNK_BAD_ADDRESS, 0},
    [SIM_FAULT_LDS] = {THUNK_BAD_ADDRESS, 0},
    [SIM_FAULT_SCRATCH] = {THUNK_BAD_ADDRESS, 0},
    [SIM_FAULT_UNINITIALISED] = {THUNK_TRAPPED, 0},
    [SIM_FAULT_RACE] = {THUNK_TRAPPED, 0},
    [SIM_FAULT_GROUP_RACE] = {THUNK_TRAPPED, 0},
    [SIM_FAULT_BARRIER] = {THUNK_TRAPPED, 0},
    [SIM_FAULT_BUDGET] = {THUNK_TRAPPED, 0},
    [SIM_FAULT_UNKNOWN_INSN] = {THUNK_ILLEGAL_INSN, 0},
    [SIM_FAULT_ILLEGAL_INSN] = {THUNK_ILLEGAL_INSN, 0},
    [SIM_FAULT_TRAP] = {THUNK_TRAPPED, 0},
    [SIM_FAULT_DROPPED] = {THUNK_TRAPPED, 0},
    [SIM_FAULT_DESCRIPTOR] = {THUNK_BAD_ADDRESS, 0},
};

static int64_t report(const struct thunk_queue *q, const struct sim_fault *f)
{
    fprintf(stderr, "kpack-sim: %s\n", f->text);
    if (reports[f->kind].memory_reasons)
        thunk_event_memory_fault(thunk_node(q->device), f->address,
                                 reports[f->kind].memory_reasons);
    return reports[f->kind].error;
}

static void copy(void *to, const uint8_t *packet, unsigned offset, unsigned n)
{
    memcpy(to, packet + offset, n);
}

/* Reads the packet; the error that a packet processor would find, or 0. */
static int64_t read_packet(const struct thunk_queue *q, const uint8_t *packet,
                           struct sim_dispatch *d)
{
    unsigned dimensions = packet[2] & 3, i;
    uint64_t items = 1;

    copy(d->block, packet, 4, sizeof(d->block));
    copy(d->grid, packet, 12, sizeof(d->grid));
    copy(&d->scratch_nbytes, packet, 24, 4);
    copy(&d->lds_nbytes, packet, 28, 4);
    copy(&d->descriptor, packet, 32, 8);
    copy(&d->kernarg, packet, 40, 8);
    d->device = q->device;
    d->packet = (uint64_t)(uintptr_t)packet;
    d->queue = q->amd_queue;
    d->gws = q->gws;
    if (dimensions == 0)
        return THUNK_BAD_DIMENSIONS;
    for (i = 0; i < 3; i++) {
        if (i >= dimensions)
            d->block[i] = 1, d->grid[i] = 1;
        if (d->block[i] == 0 || d->grid[i] == 0)
            return THUNK_BAD_DIMENSIONS;
        items *= d->block[i];
    }
    if (items > MAX_GROUP)
        return THUNK_BAD_WORKGROUP;
    if (d->lds_nbytes > q->device->target->lds_nbytes)
        return THUNK_BAD_GROUP_MEMORY;
    if (!thunk_memory(d->descriptor, 64) || (d->descriptor & 63))
        return THUNK_BAD_CODE;
    return 0;
}

int64_t thunk_run_kernel(const struct thunk_queue *q, const uint8_t *packet)
{
    struct sim_dispatch d = {0};
    struct sim_fault fault;
    char name[NAME_LENGTH];
    int64_t error = read_packet(q, packet, &d);

    if (error) {
        fprintf(stderr,
                "kpack-sim: a packet asks for a grid of %u,%u,%u and groups of "
                "%u,%u,%u with %u bytes of LDS, kernel object 0x%llx: queue "
                "error %lld\n",
                d.grid[0], d.grid[1], d.grid[2], d.block[0], d.block[1],
                d.block[2], d.lds_nbytes, (unsigned long long)d.descriptor,
                (long long)error);
        return error;
    }
    if (thunk_kernel_name(d.descriptor, name, sizeof(name)))
        d.kernel_name = name;
    return sim_dispatch_run(&d, NULL, &fault) ? 0 : report(q, &fault);
}
