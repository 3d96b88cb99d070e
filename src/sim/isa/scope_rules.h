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
    REACH_STORE = 2,       /* a store is done when the device sees it */
    REACH_WRITES_BACK = 4, /* makes earlier stores visible to the device */
    REACH_DROPS_L0 = 8,    /* invalidates the compute unit's cache */
    REACH_DROPS_L1 = 16,   /* invalidates the caches between it and the L2 */
    REACH_DROPS_L2 = 32,   /* invalidates the L2's lines of other memory */
    REACH_DROPS_SCALAR = 64,
    REACH_LOAD_GROUP = 128, /* if it loads: past the compute unit's cache */
    REACH_SYSTEM = 256,     /* past the device's L2, too */
    REACH_GROUP_ONLY = 512, /* works if a group's waves are on several CUs */
    REACH_NARROW_WRITE_BACK = 1024, /* a kin that does not reach the device */
    REACH_NARROW_INVALIDATION = 2048
};

enum family {
    FAMILY_GFX9 = 1, /* to gfx90c, but gfx90a */
    FAMILY_GFX90A = 2,
    FAMILY_GFX94 = 4, /* gfx940 to gfx942, gfx950 */
    FAMILY_GFX10 = 8,
    FAMILY_GFX11 = 16,
    FAMILY_GFX120 = 32,
    FAMILY_GFX125 = 64
};

enum family sim_family_of(const struct sim_target *target);

uint16_t sim_reach_of(const char *name, uint32_t flags,
                      const struct sim_target *target);

/* The instructions that release to the device and acquire from it, in words. */
struct scope_rules {
    const char *write_back; /* NULL: a store that is done has arrived */
    const char *invalidate;
    /* Stores of device scope look like other stores, so any may be a flag. */
    bool plain_flags;
};
const struct scope_rules *sim_scope_rules(const struct sim_target *target);

#endif
