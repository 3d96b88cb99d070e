/* host_access.h - the host's access to device memory
 *
 * Copies and fills by the host access device memory at its host address, and
 * record the bytes that they write.
 */
#ifndef SIM_BASE_HOST_ACCESS_H
#define SIM_BASE_HOST_ACCESS_H

#include "allocation.h"

/*
 * The host address of [addr, addr + n) for a copy by the host. NULL unless the
 * range lies in one live allocation or in adjacent mappings of virtual memory.
 * After a write, sim_mem_mark_written() clears the "never written" bits.
 */
uint8_t *sim_mem_host_view(uint64_t addr, uint64_t n);
void sim_mem_mark_written(uint64_t addr, uint64_t n);

/* With a large BAR: marks those pages of [addr, addr + n) as written that the
 * program itself has touched. */
void sim_mem_note_host(const struct sim_alloc *a, uint64_t addr, uint64_t n);

/* Marks a whole allocation as never written, before its next use. */
void sim_mem_forget_written(uint64_t addr, uint64_t n);

/* Copies the "written" bits along with a device-to-device copy. */
void sim_mem_copy_written(uint64_t dst, uint64_t src, uint64_t n);

#endif
