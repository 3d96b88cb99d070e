/* ring.h - a queue of packets, and the kind of its next packet */
#ifndef SIM_THUNK_RING_H
#define SIM_THUNK_RING_H

#include "../run/dispatch.h"

#include <stdbool.h>
#include <stdint.h>

struct thunk_queue {
    uint64_t id;
    struct sim_device *device;
    bool is_sdma;
    bool stopped;       /* after an error: no more packets are taken */
    bool paused;        /* by its owner */
    bool needs_scratch; /* ROCr was asked for scratch */
    uint8_t *ring;
    uint64_t nbytes;
    volatile uint64_t *doorbell, *write_index, *read_index;
    uint64_t amd_queue;  /* address of ROCr's queue object, AQL only */
    struct sim_gws *gws; /* NULL until asked for */
};

/* Kind of work at the head of a queue. */
enum thunk_work {
    THUNK_NO_WORK, /* no packet, or one that has to wait */
    THUNK_PACKET,  /* a short packet */
    THUNK_KERNEL
};

/* Errors of a queue, as ROCr knows them: bits of its inactive signal. */
#define THUNK_NEEDS_SCRATCH INT64_C(1)
#define THUNK_BAD_DIMENSIONS INT64_C(2)
#define THUNK_BAD_GROUP_MEMORY INT64_C(4)
#define THUNK_BAD_CODE INT64_C(8)
#define THUNK_BAD_PACKET INT64_C(32)
#define THUNK_BAD_WORKGROUP INT64_C(64)
#define THUNK_BAD_ADDRESS (INT64_C(1) << 29)
#define THUNK_ILLEGAL_INSN (INT64_C(1) << 30)
#define THUNK_TRAPPED (INT64_C(1) << 31)

#endif
