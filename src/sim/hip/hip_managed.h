/* hip_managed.h - advice about managed memory */
#ifndef SIM_HIP_MANAGED_H
#define SIM_HIP_MANAGED_H

#include <stdint.h>

/* Drops the advice about memory that is freed. */
void managed_forget(uint64_t base, uint64_t size);

#endif
