/* dpp.h - data parallel primitives: a source read from another lane */
#ifndef SIM_ISA_DPP_H
#define SIM_ISA_DPP_H

#include "wave.h"

/*
 * Moves `src` between lanes as in->dpp says into `out`. Lanes that get no
 * value and may not be written are taken out of w->mask.
 */
void sim_dpp_move32(struct wave *w, const struct insn *in, const uint32_t *src,
                    uint32_t out[MAX_LANES]);

#endif
