/* allocation_lookup.h - the allocation behind an address */
#ifndef SIM_HIP_ALLOCATION_LOOKUP_H
#define SIM_HIP_ALLOCATION_LOOKUP_H

#include "../base/allocation.h"

#include <stdbool.h>
#include <stddef.h>

struct device;

/* The live allocation that holds the address, or the memory of a graph, mapped
 * or not; false if there is none. */
bool allocation_find(const void *ptr, struct sim_alloc *out);
/* The device that owns the allocation; NULL if no visible device does. */
struct device *allocation_owner(const struct sim_alloc *a);
/* Whether the process has every page of the range mapped, allocated or not. */
bool allocation_pages_mapped(const void *ptr, size_t size);

#endif
