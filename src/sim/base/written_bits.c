/* written_bits.c - bit sets, of which large ones cost nothing until used */
#define _GNU_SOURCE
#include "written_bits.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { MAPPED_BITS = 1 << 20 /* larger bit sets are mapped */ };

/*
 * Size of an allocation's written bits, one a byte. Large bit sets are mapped
 * straight from the system: their pages cost nothing until a bit is set. One
 * spare word: writers may touch whole words.
 */
static uint64_t bits_nbytes(uint64_t size)
{
    return size / 8 + 16;
}

uint8_t *sim_written_new(uint64_t size)
{
    void *bits;

    if (bits_nbytes(size) < MAPPED_BITS)
        return calloc(1, bits_nbytes(size));
    bits = mmap(NULL, bits_nbytes(size), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return bits == MAP_FAILED ? NULL : bits;
}

void sim_written_free(uint8_t *bits, uint64_t size)
{
    if (bits && bits_nbytes(size) >= MAPPED_BITS)
        munmap(bits, bits_nbytes(size));
    else
        free(bits);
}

void sim_written_set(uint8_t *bits, uint64_t from, uint64_t n)
{
    uint64_t end = from + n;

    while (from < end) {
        if (from % 64 == 0 && end - from >= 64) {
            __atomic_store_n((uint64_t *)(void *)(bits + from / 8), UINT64_MAX,
                             __ATOMIC_RELAXED);
            from += 64;
        } else {
            uint64_t last = (from | 7) + 1 < end ? (from | 7) + 1 : end;
            unsigned mask = (0xffu << (from % 8)) & 0xffu;

            if (last % 8)
                mask &= (1u << (last % 8)) - 1;
            __atomic_fetch_or(bits + from / 8, (uint8_t)mask, __ATOMIC_RELAXED);
            from = last;
        }
    }
}
