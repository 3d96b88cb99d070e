/* launch_report.h - counters and faults of launches, for kpk_sim.h to tell */
#ifndef SIM_HIP_LAUNCH_REPORT_H
#define SIM_HIP_LAUNCH_REPORT_H

#include "../run/dispatch.h"

void report_stats(const struct sim_stats *stats);
void report_fault(const struct sim_fault *fault);

#endif
