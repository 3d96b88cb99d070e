/* mode.h - the MODE register, and how the host computes by it */
#ifndef SIM_ISA_MODE_H
#define SIM_ISA_MODE_H

#include "wave.h"

/* Sets MODE and what follows from it (s_setreg, s_round_mode...). */
void sim_wave_set_mode(struct wave *w, uint32_t mode);

/* Lets the host compute as an instruction of this rule does. */
void sim_mode_obey(struct wave *w, enum fp_rule rule);

/* The thread's rounding and denormals, to be restored behind a wave's slice. */
unsigned sim_host_fp(void);
void sim_host_fp_restore(unsigned saved);

#endif
