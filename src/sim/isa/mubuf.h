/* mubuf.h - the addresses of a buffer instruction's lanes */
#ifndef SIM_ISA_MUBUF_H
#define SIM_ISA_MUBUF_H

#include "lane_places.h"

/*
 * Computes the addresses of a buffer instruction's lanes from its operands from
 * vaddr on; p->lanes are the lanes in range. False, with a fault, on an error.
 */
bool sim_buffer_locate(struct wave *w, const struct insn *in,
                       const struct operand *op, unsigned nbytes,
                       struct places *p);

#endif
