/* reservation.h - address space and memory apart
 *
 * A reservation is address space alone: programs have no access, and kernels
 * find nothing there. Physical memory is a file descriptor, so that it can be
 * given to another process. Mapped at a place of a reservation it is an
 * allocation like others; the same memory may be mapped at several places.
 */
#ifndef SIM_BASE_RESERVATION_H
#define SIM_BASE_RESERVATION_H

#include "allocation.h"

/* Reservations and mappings are multiples of this size. */
enum { SIM_VIRTUAL_GRANULE = 4096 };

/*
 * Reserves address space for `size` bytes, aligned to `align` (0 or a power of
 * two), at `at` if that range is free. Returns the address, 0 on failure.
 */
uint64_t sim_virtual_reserve(uint64_t size, uint64_t align, uint64_t at);

/* Frees a reservation. False if there is none of this size, or it is in use. */
bool sim_virtual_release(uint64_t base, uint64_t size);

/* A file descriptor of `size` bytes of memory, all 0, which the caller closes;
 * -1 if there is no memory. */
int sim_physical_new(uint64_t size);

/*
 * Maps `size` bytes of physical memory, from `offset` on, at `base`. NULL if
 * the range is not inside one reservation or overlaps a mapping. No device may
 * access the mapping until no_read and no_write say so.
 */
struct sim_alloc *sim_virtual_map(uint64_t base, uint64_t size, int fd,
                                  uint64_t offset, int device);

/* Takes a mapping away. Nothing may use it any more. */
bool sim_virtual_unmap(uint64_t base);

#endif
