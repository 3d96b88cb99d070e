/* kpk_sim.h - functions of the simulated runtime besides HIP
 *
 * Exported by the simulated libamdhip64.so alone: a program looks the functions
 * up with dlsym() if it should run on real hardware too.
 */
#ifndef KPK_SIM_H
#define KPK_SIM_H

#include "../base/config.h"
#include "../run/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The report of the last kernel fault of the process, with kernel, instruction,
 * workgroup, wave, lane, address and allocation; "" if there was none. The text
 * stays until the calling thread asks again.
 */
const char *kpkSimLastFault(void);

/* The last fault's kind (enum sim_fault_kind), SIM_FAULT_NONE without one. */
int kpkSimLastFaultKind(void);

/*
 * Forgets the last fault and lets the devices work again, without freeing
 * anything. Tests call it between planted bugs.
 */
void kpkSimClearFault(void);

/*
 * Counters of all launches that ended since the process began or
 * kpkSimResetStats() was called; registers, LDS, scratch and occupancy are
 * those of the last launch. Returns the number of launches.
 */
int kpkSimGetStats(struct sim_stats *stats);
void kpkSimResetStats(void);

/* The switches of base/config.h; changes hold for later launches. */
struct sim_config *kpkSimConfig(void);

#ifdef __cplusplus
}
#endif

#endif
