/* touched.h - bytes of memory that a launch reads and writes
 *
 * Workgroups run on several threads; the result does not depend on their order.
 */
#ifndef SIM_BASE_TOUCHED_H
#define SIM_BASE_TOUCHED_H

#include "pipe_work.h"

#include <stdbool.h>

struct touched;

struct touched *sim_touched_new(void); /* NULL: no memory */
void sim_touched_free(struct touched *t);

/* Bytes [at, at + n), at least one, are read or written; false: no room. */
bool sim_touched_note(struct touched *t, uint64_t at, unsigned n, bool write);

/* The 64 bytes around `at` take this number of turns of an atomic unit. */
bool sim_touched_atomic(struct touched *t, uint64_t at, unsigned turns);

/* Sets the counters of different bytes and of the hottest place. */
void sim_touched_count(const struct touched *t, struct sim_work *out);

#endif
