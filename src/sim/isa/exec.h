/* exec.h - the wave loop, and what instructions do to waves */
#ifndef SIM_ISA_EXEC_H
#define SIM_ISA_EXEC_H

#include "wave.h"

/* Runs a wave until it stops or has run `quantum` more instructions. */
void sim_wave_run(struct wave *w, uint64_t quantum);

/* Sets MODE and what follows from it (s_setreg, s_round_mode...). */
void sim_wave_set_mode(struct wave *w, uint32_t mode);

/* Jumps; `pc` is an address. A wrong one faults at the next fetch. */
static inline void wave_jump(struct wave *w, uint64_t pc)
{
    w->pc = pc;
}

/* The clocks that kernels can read: one at a constant 100 MHz, one at the rate
 * of the device's shaders (clockRate). */
uint64_t sim_realtime(void);
uint64_t sim_shader_clock(const struct sim_target *target);

/* Barriers, see barrier.c. */
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
/* Wakes the waves of a group whose barrier is complete. */
void sim_barrier_update(struct group *g);

#endif
