/* waits.h - which counters an instruction adds to, and what a wait leaves
 *
 * Worked out when an instruction is decoded, by wait_rules.h. A memory
 * operation adds one to each of its counters when it is issued and takes one
 * off when it completes; a wait for N holds the wave until a counter is N or
 * less.
 *
 * Sources: LLVM's "User Guide for AMDGPU Backend" (memory model), its wait pass
 * SIInsertWaitcnts, and AMD's manuals of the instruction sets.
 */
#ifndef SIM_ISA_WAITS_H
#define SIM_ISA_WAITS_H

#include <stdbool.h>
#include <stdint.h>

/* By gfx12's names. vmcnt is COUNTER_LOAD and up to gfx9 COUNTER_STORE, too;
 * vscnt is COUNTER_STORE; lgkmcnt is COUNTER_DS and COUNTER_KM in one. */
enum counter {
    COUNTER_NONE,
    COUNTER_LOAD,
    COUNTER_STORE,
    COUNTER_SAMPLE,
    COUNTER_BVH,
    COUNTER_DS,
    COUNTER_KM,
    COUNTER_ASYNC,
    NUM_COUNTERS
};

/* Operations of one counter and one of these kinds complete in order, except
 * ORDER_NONE. */
enum issue_order {
    ORDER_NONE,
    ORDER_VMEM,
    ORDER_LDS,
    ORDER_MESSAGE,
    ORDER_FROM_LDS
};

/* Up to gfx11 two loads of one type write a register in their order, without a
 * wait. LLVM has the first three, and waits between loads of LDS; AMD's own
 * kernels do not. */
enum load_type { LOAD_NONE, LOAD_PLAIN, LOAD_SAMPLER, LOAD_BVH, LOAD_LDS };

/* How an operation uses LDS: not at all; kept by late_lds.h; kept if all its
 * addresses are in LDS; a late move between LDS and memory; at once, after the
 * kept ones. */
enum lds_use { LDS_NOT, LDS_LATE, LDS_BY_ADDRESS, LDS_MOVED, LDS_AT_ONCE };

struct waits {
    uint8_t counter[2]; /* enum counter, that it adds to */
    uint8_t order[2];   /* enum issue_order, in each */
    uint8_t holds[2];   /* operations that each can count */
    uint8_t type;       /* enum load_type */
    uint8_t lds;        /* enum lds_use */
    uint8_t first_read; /* index in op[]; earlier operands are only written */
    bool returns;       /* op[0] is written when the operation completes */
    bool all_lanes;     /* it reads lanes that EXEC switches off */
    bool reads_vcc;     /* implicitly; no load can write M0 and EXEC */
    bool is_wait;
    /* In a wait: how many operations may still be pending. */
    uint8_t most[NUM_COUNTERS];
};
enum { NO_WAIT = 255 };

#endif
