/* scope_rules.h - how far a memory instruction reaches among the caches
 *
 * Worked out when an instruction is decoded. A card has caches that some of its
 * compute units share; workgroups on different ones meet at a level that LLVM
 * calls agent scope and this page the device. Each family says by other bits
 * that a load or store goes there, and has other instructions for caches.
 *
 * Source: LLVM's "User Guide for AMDGPU Backend", memory model.
 */
#ifndef SIM_ISA_SCOPE_RULES_H
#define SIM_ISA_SCOPE_RULES_H

#include <stdbool.h>
#include <stdint.h>

struct sim_target;

enum reach {
    REACH_LOAD = 1,        /* if it loads: past every cache below the device */
    REACH_STORE = 2,       /* if it stores: done when the device has it */
    REACH_WRITES_BACK = 4, /* brings earlier stores to the device */
    REACH_DROPS_L0 = 8,    /* invalidates the compute unit's cache */
    REACH_DROPS_L1 = 16    /* invalidates what lies between it and the device */
};

uint8_t sim_reach_of(const char *name, uint32_t flags,
                     const struct sim_target *target);

/* The instructions that release to the device and acquire from it, in words. */
struct scope_rules {
    const char *write_back; /* NULL: a store that is done has arrived */
    const char *invalidate;
    /* Stores of device scope look like others: each may be a flag. */
    bool plain_flags;
};
const struct scope_rules *sim_scope_rules(const struct sim_target *target);

#endif
