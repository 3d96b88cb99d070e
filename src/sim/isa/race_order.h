/* race_order.h - what a wave's waits, write-backs and invalidations order for
 * other workgroups
 *
 * Under KPK_SIM_RACES. A wave that writes a flag releases what its waits have
 * completed; on cards with several L2 caches stores also need a write-back that
 * a wait has completed, unless they went to the device by their own scope. A
 * wave that has read a flag, and waited for the value, acquires what it tells
 * by an invalidation.
 *
 * Waves of one group are not told apart: what one acquires all have, and the
 * release of one tells of the accesses of all that came before.
 */
#ifndef SIM_ISA_RACE_ORDER_H
#define SIM_ISA_RACE_ORDER_H

#include "race_clocks.h"

struct insn;
struct wave;

enum flag_access { FLAG_READ, FLAG_WRITE, FLAG_UPDATE };

/* A lane of the running instruction touches a flag. */
void sim_order_flag(struct wave *w, uint64_t at, unsigned n,
                    enum flag_access how);

/* After it ran. */
void sim_order_drop(struct wave *w, const struct insn *in);
struct race_times sim_order_issue(struct wave *w);

/* A wait has completed an operation. */
void sim_order_complete(struct wave *w, const struct insn *in,
                        const struct race_times *times);

#endif
