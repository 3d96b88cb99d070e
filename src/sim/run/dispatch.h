/* dispatch.h - runs one kernel dispatch on the simulated GPU
 *
 * Both front doors, the HIP functions and the simulated thunk, come down to
 * sim_dispatch_run().
 */
#ifndef SIM_RUN_DISPATCH_H
#define SIM_RUN_DISPATCH_H

#include "../base/counters.h"
#include "../base/dispatch_packet.h"
#include "../base/kernel_fault.h"

/*
 * Runs the dispatch to its end. Returns true, or false with *fault filled in
 * (the fault of the lowest workgroup that had one). *stats is added to if not
 * NULL. Blocking; several threads may run dispatches at once.
 */
bool sim_dispatch_run(const struct sim_dispatch *dispatch,
                      struct sim_stats *stats, struct sim_fault *fault);

#endif
