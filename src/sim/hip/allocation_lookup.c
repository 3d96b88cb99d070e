/* allocation_lookup.c - the allocation behind an address */
#include "allocation_lookup.h"

#include "hip_graph_memory.h"
#include "process_state.h"

#include "../base/allocation.h"

#include <sys/mman.h>

bool allocation_find(const void *ptr, struct sim_alloc *out)
{
    const struct sim_alloc *a;
    bool found = false;

    /* A graph's memory first: the table has only half of it while a worker maps
     * it. */
    if (graph_memory_at(ptr, out))
        return true;
    sim_mem_pin();
    a = sim_mem_find((uintptr_t)ptr);
    if (a && !__atomic_load_n(&a->freed, __ATOMIC_ACQUIRE)) {
        found = true;
        if (out) {
            *out = *a;
        }
    }
    sim_mem_unpin();
    return found;
}

struct device *allocation_owner(const struct sim_alloc *a)
{
    int i;

    for (i = 0; i < process.ndevices; i++)
        if (process.devices[i].sim->ordinal == a->device)
            return &process.devices[i];
    return NULL;
}

bool allocation_pages_mapped(const void *ptr, size_t size)
{
    enum { PAGE = 4096, AT_ONCE = 1024 };
    uintptr_t at = (uintptr_t)ptr & ~(uintptr_t)(PAGE - 1);
    const uintptr_t end = (uintptr_t)ptr + size;
    unsigned char in_core[AT_ONCE];

    if (end < (uintptr_t)ptr)
        return false;
    for (; at < end; at += (uintptr_t)AT_ONCE * PAGE) {
        const size_t left = end - at;

        if (mincore((void *)at,
                    left < (size_t)AT_ONCE * PAGE ? left
                                                  : (size_t)AT_ONCE * PAGE,
                    in_core) != 0)
            return false;
    }
    return true;
}
