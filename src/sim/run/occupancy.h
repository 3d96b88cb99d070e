/* occupancy.h - waves that a card holds at once, by registers and LDS */
#ifndef SIM_RUN_OCCUPANCY_H
#define SIM_RUN_OCCUPANCY_H

#include "../base/counters.h"
#include "../isa/wave.h"

/* Sets the counters of the resources that a kernel's groups use in a compute
 * unit. */
void sim_count_occupancy(const struct run *run, struct sim_stats *s);

#endif
