/* fuzz.h - what the fuzz targets share
 *
 * Each is a function that libFuzzer calls with any bytes. It may refuse them
 * with a sentence, but not crash, hang, read or write out of bounds, or ask for
 * memory without bound.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FUZZ_ASSERT(condition)                                                 \
    do {                                                                       \
        if (!(condition))                                                      \
            abort();                                                           \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

#endif
