/* mode.h - the MODE register, and the host's floating-point state for it */
#ifndef SIM_ISA_MODE_H
#define SIM_ISA_MODE_H

#include "wave.h"

/* Sets MODE and the state derived from it (s_setreg, s_round_mode...). */
void sim_wave_set_mode(struct wave *w, uint32_t mode);

/* Sets the host's floating-point state for instructions of this rule. */
void sim_mode_obey(struct wave *w, enum fp_rule rule);

/* The thread's rounding and denormals, to be restored behind a wave's slice. */
unsigned sim_host_fp(void);
void sim_host_fp_restore(unsigned saved);

#endif
