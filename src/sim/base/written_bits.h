/* written_bits.h - a bit for each byte of an allocation: was it ever written */
#ifndef SIM_BASE_WRITTEN_BITS_H
#define SIM_BASE_WRITTEN_BITS_H

#include <stdint.h>

/* Bits for `size` bytes, none of them set; NULL if there is no memory. */
uint8_t *sim_written_new(uint64_t size);
void sim_written_free(uint8_t *bits, uint64_t size);

/* Sets bits [from, from + n), by words where possible. Thread-safe. */
void sim_written_set(uint8_t *bits, uint64_t from, uint64_t n);

#endif
