/* fault_injection.h - errors on demand: KPK_SIM_FAULTS */
#ifndef SIM_HIP_FAULT_INJECTION_H
#define SIM_HIP_FAULT_INJECTION_H

#include "abi.h"

/* The error that this call of `function` must return, or hipSuccess. */
hipError_t fault_injected(const char *function);

#endif
