/* decode.h - decodes instructions when they are first reached */
#ifndef SIM_ISA_DECODE_H
#define SIM_ISA_DECODE_H

#include "code.h"

/* Decodes the instruction at `addr` (dword aligned, inside the code). Never
 * fails: what cannot be run is an instruction that raises a fault. */
const struct insn *sim_decode(struct sim_code *code, uint64_t addr,
                              unsigned wave_size);

/* False for illegal and unknown instructions, which only raise a fault. */
bool sim_is_runnable(const struct insn *in);

/* Whether the instruction was decoded from these bytes, of which nbytes exist.
 */
bool sim_is_decoded_from(const struct insn *in, const uint8_t *bytes,
                         uint64_t nbytes);

#endif
