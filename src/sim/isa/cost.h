/* cost.h - cycles of an instruction in the pipe that executes it
 *
 * Worked out when an instruction is decoded, from its mnemonic and the
 * processor. Where sources differ, the lower cost is taken: these numbers go
 * into lower bounds of time (base/cards.h).
 */
#ifndef SIM_ISA_COST_H
#define SIM_ISA_COST_H

#include <stdbool.h>
#include <stdint.h>

struct insn;
struct sim_target;

/* How a wait names the loads that may stay under way. */
enum wait_kind {
    WAIT_NONE,
    WAIT_VM_GFX9,  /* s_waitcnt up to gfx10: bits 3:0 and 15:14 */
    WAIT_VM_GFX11, /* bits 15:10 */
    WAIT_LOADS,    /* gfx12, and s_waitcnt_vmcnt of gfx10 and 11: bits 5:0 */
    WAIT_LOADS_DS, /* gfx12, with LDS: bits 13:8 */
    WAIT_ALL
};

enum lds_kind {
    LDS_NONE,
    LDS_READS,
    LDS_WRITES,
    LDS_ATOMIC,
    LDS_LANES /* moves between lanes: no banks */
};

struct cost {
    uint8_t rate;   /* enum sim_rate */
    uint8_t valu;   /* cycles of a SIMD: a wave on gfx9, 32 lanes later */
    uint8_t trans;  /* cycles of the transcendental unit, 32 lanes */
    uint8_t matrix; /* cycles of the matrix unit, a wave; 0: not published */
    bool matrix_blocks_valu;
    bool one_pass; /* gfx11: wave64 takes no longer than wave32 */
    uint8_t wait;  /* enum wait_kind */
    uint8_t lds;   /* enum lds_kind */
};

/* `name` as LLVM prints it, without the encoding's suffix. */
struct cost sim_cost_of(const char *name, const struct insn *in,
                        const struct sim_target *target);

#endif
