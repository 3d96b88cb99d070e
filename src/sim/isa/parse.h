/* parse.h - takes LLVM's text of one instruction apart */
#ifndef SIM_ISA_PARSE_H
#define SIM_ISA_PARSE_H

#include "../base/processor.h"
#include "insn.h"

/*
 * Takes one line of LLVM's text apart into `in`, looking its row up. False
 * with a reason in `why` if there is no row or the text has a part that is not
 * understood; in->row tells which. Exposed for tests.
 */
bool sim_parse(const char *text, const struct sim_target *target,
               struct insn *in, char why[128]);

/* Copies the mnemonic of LLVM's text without the suffix that names its
 * encoding (empty if it is too long); returns what follows it. */
const char *sim_parse_mnemonic(const char *text, char name[MAX_NAME]);

#endif
