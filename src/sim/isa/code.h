/* code.h - the decoded form of a code allocation */
#ifndef SIM_ISA_CODE_H
#define SIM_ISA_CODE_H

#include "../base/allocation.h"
#include "../base/processor.h"
#include "insn.h"

#include <stdatomic.h>
#include <stddef.h>

struct block; /* see basic_block.h */

struct sim_code {
    const uint8_t *bytes;
    uint64_t base, size;
    uint32_t generation; /* the allocation's code_generation */
    const struct sim_target *target;
    /* A slot per dword of code, filled when first reached; [0] as decoded for
     * waves of 64 lanes, [1] for 32. */
    _Atomic(struct insn *) *slot[2];
    _Atomic(struct block *) *block[2]; /* slots of blocks, by first dword */
    _Atomic(struct block *) newest;    /* the last decoded block */
    _Atomic uint32_t warned;           /* a bit for each enum sim_fault_kind */
};

#endif
