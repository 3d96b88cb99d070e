/* wait_rules.h - the waits of an instruction, by its mnemonic */
#ifndef SIM_ISA_WAIT_RULES_H
#define SIM_ISA_WAIT_RULES_H

#include "waits.h"

struct insn;
struct sim_target;

/* `name` as LLVM prints it, without the encoding's suffix. */
struct waits sim_waits_of(const char *name, const struct insn *in,
                          const struct sim_target *target);

#endif
