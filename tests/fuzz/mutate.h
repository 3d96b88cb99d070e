/* mutate.h - changes that keep the shape of a file
 *
 * A byte that changes in an ELF file's headers mostly makes it no ELF file.
 * These know where the numbers are that readers trust least: counts, offsets,
 * sizes.
 */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include "fuzz.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t nbytes, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t nbytes, size_t most,
                               unsigned seed);

/* Makes one change in an ELF file of 64 bits, or any change in other bytes.
 * Returns the new size, at most `most`. */
size_t mutate_elf(uint8_t *data, size_t nbytes, size_t most, unsigned seed);

/* The same of an archive: members go, come twice, change places or sizes, or
 * change within as ELF files do. */
size_t mutate_archive(uint8_t *data, size_t nbytes, size_t most, unsigned seed);

#endif
