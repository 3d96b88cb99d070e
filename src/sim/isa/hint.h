/* hint.h - waits, hints and other instructions without effect */
#ifndef SIM_ISA_HINT_H
#define SIM_ISA_HINT_H

#include "insn.h"

/* Runs waits, hints and the like, with no effect: the interpreter finishes
 * every instruction before the next. Callers may skip the call. */
insn_fn sim_run_nothing;

#endif
