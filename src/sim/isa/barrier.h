/* barrier.h - workgroup barriers and the end of waves */
#ifndef SIM_ISA_BARRIER_H
#define SIM_ISA_BARRIER_H

#include "wave.h"

void sim_barrier(struct wave *w);
void sim_barrier_signal(struct wave *w, int32_t id, bool is_first);
void sim_barrier_wait(struct wave *w, int32_t id);
/* gfx12's named barriers: `members` 0 leaves the number as it is. */
void sim_barrier_init(struct wave *w, int32_t id, unsigned members);
void sim_barrier_join(struct wave *w, int32_t id);
void sim_barrier_signal_named(struct wave *w, int32_t id, unsigned members,
                              bool is_first);
void sim_wave_end(struct wave *w);
/* After an instruction, while lanes are known that missed a barrier. */
void sim_barrier_check_absent(struct wave *w, const struct insn *in);

#endif
