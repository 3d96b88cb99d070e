/* exec.h - the wave loop */
#ifndef SIM_ISA_EXEC_H
#define SIM_ISA_EXEC_H

#include "wave.h"

/* Runs a wave until it stops or has run `quantum` more instructions. */
void sim_wave_run(struct wave *w, uint64_t quantum);

#endif
