/* pageable.h - the program's own memory, which devices with XNACK reach
 *
 * A device that retries page faults (xnack+) runs in the address space of the
 * process: a kernel reaches all that is mapped there, malloc()'s memory too.
 * The mapping is looked up in /proc/self/maps, once for each mapping and
 * launch. If the program unmaps memory that the running kernel uses, the
 * interpreter gets a signal, which becomes a kernel fault.
 */
#ifndef SIM_BASE_PAGEABLE_H
#define SIM_BASE_PAGEABLE_H

#include "allocation.h"

#include <setjmp.h>

struct sim_pageable;

/*
 * The mapping that holds the address, as an allocation that lives until
 * sim_pageable_free() of the launch's list. NULL if no readable mapping holds
 * it, or if the mapping is the simulator's memory for allocations. Threads may
 * ask at once.
 */
const struct sim_alloc *sim_pageable_find(struct sim_pageable *_Atomic *list,
                                          uint64_t addr);
void sim_pageable_free(struct sim_pageable *list);

/*
 * Where a thread continues after it touched memory of `list` that is unmapped.
 * The thread calls sigsetjmp(landing.env, 0), then
 * sim_pageable_guard(&landing), which holds until sim_pageable_guard(NULL) or
 * the jump. `addr` is the address that caused the jump.
 */
struct sim_landing {
    sigjmp_buf env;
    struct sim_pageable *_Atomic *list;
    uint64_t addr;
};
void sim_pageable_guard(struct sim_landing *landing);

#endif
