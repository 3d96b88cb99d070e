/* reached.h - a record of the instructions that programs run */
#ifndef SIM_ISA_REACHED_H
#define SIM_ISA_REACHED_H

#include "../base/processor.h"

/*
 * With KPK_SIM_COVERAGE=FILE, appends "PROCESSOR MNEMONIC" to the file the
 * first time that this process reaches the instruction; `text` is LLVM's, of
 * one instruction or a pair. Does nothing otherwise. Callers hold the
 * decoder's lock.
 */
void sim_coverage_note(const struct sim_target *target, const char *text);

#endif
