/* access.h - every access of a wave to memory, checked to the byte
 *
 * Each function returns where the bytes are in the simulator, or NULL after it
 * raised the fault. `lane` is for the report, -1 for a scalar access.
 */
#ifndef SIM_ISA_ACCESS_H
#define SIM_ISA_ACCESS_H

#include "lane_places.h"

/* The allocation that contains [addr, addr + n), and the address of these bytes
 * in it; NULL after a fault. The caller handles copies in caches. */
const struct sim_alloc *sim_global_place(struct wave *w, uint64_t addr,
                                         unsigned n, enum access how, int lane,
                                         uint8_t **bytes);

uint8_t *sim_global_slow(struct wave *w, uint64_t addr, unsigned n,
                         enum access how, int lane);

/* Global memory: [addr, addr + n). The last allocation hit is tried first. */
static inline uint8_t *sim_global(struct wave *w, uint64_t addr, unsigned n,
                                  enum access how, int lane)
{
    const struct sim_alloc *a = w->last_hit[how != ACCESS_READ];

    if (a && addr - a->base < a->size && a->size - (addr - a->base) >= n &&
        !a->freed && !w->run->config.uninit && !w->run->races && !w->memory)
        return a->bytes + (addr - a->base);
    return sim_global_slow(w, addr, n, how, lane);
}

/* Bytes before `end` of LDS have been written. */
static inline void sim_lds_used(struct group *g, uint64_t end)
{
    if (end > g->lds_used)
        g->lds_used = (uint32_t)end;
}

/* LDS: bytes [offset, offset + n) of the workgroup's. */
uint8_t *sim_lds(struct wave *w, uint64_t offset, unsigned n, enum access how,
                 int lane);

/*
 * Scratch: `n` bytes (at most what is left of a dword) at `offset` of a lane's
 * private memory.
 */
uint8_t *sim_scratch(struct wave *w, uint64_t offset, unsigned n,
                     enum access how, int lane);

/* Whole-instruction counters. */
void sim_count_lds(struct wave *w, uint64_t mask, const uint32_t *offset,
                   unsigned n);

#endif
