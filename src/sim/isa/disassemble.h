/* disassemble.h - LLVM's text of an instruction */
#ifndef SIM_ISA_DISASSEMBLE_H
#define SIM_ISA_DISASSEMBLE_H

#include "code.h"

/* LLVM's text of the instruction at `addr`; returns its size, 0 if illegal. */
size_t sim_disassemble(const struct sim_code *code, uint64_t addr,
                       unsigned wave_size, char *text, size_t ntext);

#endif
