/* swap_loop.h - loads in front of loops of compare-and-swap
 *
 * LLVM compiles an atomic that a processor lacks to a load and a loop of
 * compare-and-swap, and programs do the same by hand. The load may be plain and
 * stale, because the swap holds its value against memory.
 */
#ifndef SIM_ISA_SWAP_LOOP_H
#define SIM_ISA_SWAP_LOOP_H

#include <stdbool.h>

struct wave;

/* Whether the running load's value is what the next compare-and-swap compares,
 * and not of another place. */
bool sim_swap_loop_follows(struct wave *w);

#endif
