/* cost.h - cycles of an instruction in the pipe that executes it
 *
 * Worked out when an instruction is decoded, from its mnemonic and the
 * processor. Where sources differ, the lower cost is taken: these numbers go
 * into lower bounds of time (base/time_bounds.h).
 */
#ifndef SIM_ISA_COST_H
#define SIM_ISA_COST_H

#include "insn.h"

struct sim_target;

/* `name` as LLVM prints it, without the encoding's suffix. */
struct cost sim_cost_of(const char *name, const struct insn *in,
                        const struct sim_target *target);

#endif
