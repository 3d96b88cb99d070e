/* mubuf.h - where the lanes of a buffer instruction go */
#ifndef SIM_ISA_MUBUF_H
#define SIM_ISA_MUBUF_H

#include "lane_places.h"

/*
 * Where the lanes of a buffer instruction go, by its operands from vaddr on;
 * p->lanes are those that are in range. False, with a fault, if it cannot be.
 */
bool sim_buffer_locate(struct wave *w, const struct insn *in,
                       const struct operand *op, unsigned nbytes,
                       struct places *p);

#endif
