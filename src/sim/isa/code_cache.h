/* code_cache.h - decoded instructions, kept with their code allocation */
#ifndef SIM_ISA_CODE_CACHE_H
#define SIM_ISA_CODE_CACHE_H

#include "code.h"

/* The decoded form of an allocation, made now if need be; NULL: no memory. */
struct sim_code *sim_code_of(const struct sim_alloc *alloc,
                             const struct sim_target *target);

/*
 * The host, or a kernel, may have rewritten code: instructions that changed
 * are decoded again by the next kernel that starts.
 */
void sim_code_rewritten(void);

#endif
