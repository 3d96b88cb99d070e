/* node.h - devices as the driver's nodes, addresses as numbers, one clock
 *
 * Node 0 is the CPU; node n is the simulated device n - 1.
 */
#ifndef SIM_THUNK_NODE_H
#define SIM_THUNK_NODE_H

#include "../base/processor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True from DtifCreate() on: HIP 7's layouts, doorbells rung by a call. */
extern bool thunk_is_dtif;

static inline struct sim_device *thunk_device(uint32_t node)
{
    return node == 0 ? NULL : sim_device_get((int)node - 1);
}

static inline uint32_t thunk_node(const struct sim_device *device)
{
    return (uint32_t)device->ordinal + 1;
}

/* Interfaces of this folder pass addresses as numbers; only this function makes
 * pointers of them. */
static inline void *thunk_pointer(uint64_t address)
{
    return (void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */
}

/* The clock that CPU, GPUs and signals share, in nanoseconds. */
uint64_t thunk_now(void);

#endif
