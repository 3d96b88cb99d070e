/* sdwa.h - sub-dword addressing: bytes and words of operands and results */
#ifndef SIM_ISA_SDWA_H
#define SIM_ISA_SDWA_H

#include "wave.h"

/* Selects and extends a byte or word of each lane as o->sel and o->sext say. */
void sim_sdwa_select(const struct operand *o, const uint32_t *src,
                     uint32_t out[MAX_LANES], unsigned nlanes);

/* Puts `value` into the part of `old` that the instruction's dst_sel names. */
void sim_sdwa_merge(const struct insn *in, const uint32_t *value,
                    const uint32_t *old, uint32_t out[MAX_LANES],
                    unsigned nlanes);

#endif
