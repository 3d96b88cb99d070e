/* wave_init.h - a wave's registers at its start */
#ifndef SIM_RUN_WAVE_INIT_H
#define SIM_RUN_WAVE_INIT_H

#include "../isa/wave.h"

/* Bytes that the kernel descriptor's fields are read from. */
enum { DESCRIPTOR_NBYTES = 64 };

/* Reads the descriptor's fields into a run. */
void sim_run_read_descriptor(struct run *run,
                             const uint8_t bytes[DESCRIPTOR_NBYTES]);

/* Sets the registers of wave w->index of w->group; w->v, w->a, w->scratch, the
 * pointers to group and run and how many registers the wave before in the same
 * memory used are set. False if a kernel preloads SGPRs and has no kernarg
 * segment to read them from. */
bool sim_wave_init(struct wave *w);

/* Bytes of scratch that a whole wave has. */
uint64_t sim_wave_scratch_nbytes(const struct run *run);

#endif
