/* host_access.h - the bits that say which bytes of an allocation were written
 */
#ifndef SIM_BASE_HOST_ACCESS_H
#define SIM_BASE_HOST_ACCESS_H

#include <stdint.h>

/* Bits for `size` bytes, none of them set; NULL if there is no memory. */
uint8_t *sim_written_new(uint64_t size);
void sim_written_free(uint8_t *bits, uint64_t size);

#endif
