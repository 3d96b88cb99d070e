/* fault_report.h - the report of what a wave did wrong */
#ifndef SIM_ISA_FAULT_REPORT_H
#define SIM_ISA_FAULT_REPORT_H

#include "../base/kernel_fault.h"
#include "wave.h"

/*
 * Reports a fault of the running instruction and stops the wave. `lane` is -1
 * without a lane, `address` 0 without an address. The text is completed with
 * kernel, instruction, offset, workgroup and wave. Only the first fault counts.
 */
void sim_fault_raise(struct wave *w, enum sim_fault_kind kind, int lane,
                     uint64_t address, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/*
 * Says on stderr what a card lets pass and a reader should know, in the same
 * form. The wave goes on. Each kind is said once for each code object.
 */
void sim_warn(struct wave *w, enum sim_fault_kind kind, int lane,
              const char *format, ...) __attribute__((format(printf, 4, 5)));

/* True once sim_warn() has said this kind for the wave's code object. */
bool sim_warned(const struct wave *w, enum sim_fault_kind kind);

/* The newest warning of the process, "" if there is none; for tests. */
const char *sim_last_warning(void);
void sim_forget_warning(void);

#endif
