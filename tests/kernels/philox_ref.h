/* philox_ref.h - Philox 4x32-10 in plain C, for tests */
#ifndef PHILOX_REF_H
#define PHILOX_REF_H

#include <stdint.h>

/* Words of the block with counter `low`, `high` under key `seed`. */
void philox_ref(uint64_t seed, uint64_t low, uint64_t high, uint32_t words[4]);

#endif
