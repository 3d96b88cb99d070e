/* host_access.h - the bytes that the host reads and writes
 *
 * Copies and fills of the host go to device memory by an address of their own,
 * and keep the record of the bytes that were ever written.
 */
#ifndef SIM_BASE_HOST_ACCESS_H
#define SIM_BASE_HOST_ACCESS_H

#include "allocation.h"

/*
 * The interpreter's view of [addr, addr + n) for a host-side copy: NULL if the
 * range is not inside one live allocation, or inside mappings of virtual memory
 * that adjoin. sim_mem_mark_written() after a write keeps the "never written"
 * bits right.
 */
uint8_t *sim_mem_host_view(uint64_t addr, uint64_t n);
void sim_mem_mark_written(uint64_t addr, uint64_t n);

/* With a large BAR: takes what the host touched of [addr, addr + n) by itself
 * as written, in whole pages. */
void sim_mem_note_host(const struct sim_alloc *a, uint64_t addr, uint64_t n);

/* Marks a whole allocation as never written, before its next use. */
void sim_mem_forget_written(uint64_t addr, uint64_t n);

/* Copies the "written" bits along with a device-to-device copy. */
void sim_mem_copy_written(uint64_t dst, uint64_t src, uint64_t n);

#endif
