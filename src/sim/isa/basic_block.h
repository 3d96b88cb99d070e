/* basic_block.h - runs of instructions with one way in and one way out
 *
 * A block is decoded once and kept with the code. It holds sums that the
 * interpreter would otherwise work out for every instruction: instructions of
 * each class, registers needed. Waits and hints count, and are no steps.
 */
#ifndef SIM_ISA_BASIC_BLOCK_H
#define SIM_ISA_BASIC_BLOCK_H

#include "code.h"

struct step {
    insn_fn *run; /* copy of in->run: saves a load before the call */
    const struct insn *in;
    uint32_t offset; /* from the block's begin */
    bool quiet;      /* scalar, and cannot fault, stop the wave or yield */
    bool on_lanes;   /* obeys EXEC, and counts active lanes */
};

struct block {
    uint64_t begin,
        end; /* addresses: of the first instruction, past the last */
    uint64_t count[NUM_CLASSES];
    uint32_t ninsns, nsteps;
    uint16_t nvgprs, nagprs; /* registers that the block needs */
    /* The blocks that came after it last: branch not taken, and taken. */
    _Atomic(const struct block *) next[2];
    struct block *older; /* made before it for the same code */
    struct step steps[];
};

/*
 * The block that begins at `pc`, which is a multiple of 4 inside the code, made
 * now if need be; NULL: no memory. It ends behind the first instruction that
 * may jump, stop the wave or change MODE, or before its length gets out of
 * hand.
 */
const struct block *sim_block_at(struct sim_code *code, uint64_t pc,
                                 unsigned wave_size);

/* Frees the blocks of a code whose instructions are forgotten. */
void sim_blocks_free(struct sim_code *code);

static inline bool sim_class_on_lanes(unsigned class)
{
    return class == CLASS_VALU || class == CLASS_VMEM || class == CLASS_LDS ||
           class == CLASS_MATRIX;
}

#endif
