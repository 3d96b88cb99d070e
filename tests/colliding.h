/* colliding.h - texts that collide in a table whose hash has no key
 *
 * Behind any three bytes there are three more with which the low 18 bits of
 * FNV-1a, 64 bits, are 0: the slot of a table of 2^18.
 */
#ifndef TESTS_COLLIDING_H
#define TESTS_COLLIDING_H

#include <stdbool.h>
#include <stdint.h>

enum {
    COLLIDING_BITS = 18,
    COLLIDING_MASK = (1 << COLLIDING_BITS) - 1,
    COLLIDING_COUNT = 1 << (COLLIDING_BITS - 1), /* a table's entries */
    COLLIDING_START = 0xcbf29ce484222325 & COLLIDING_MASK
};

static inline uint32_t colliding_step(uint32_t h, unsigned byte)
{
    return ((h ^ byte) * 0x1b3) & COLLIDING_MASK;
}

/* Text number i of COLLIDING_COUNT, six bytes. Not for threads. */
static inline void colliding_text(uint64_t i, char out[16])
{
    static uint16_t last[COLLIDING_MASK + 1]; /* two bytes that make h 0 */
    static bool is_made;
    uint32_t h = COLLIDING_START;

    if (!is_made)
        for (uint32_t from = 0; from <= COLLIDING_MASK; from++)
            for (unsigned b = 1; b < 256; b++) {
                const uint32_t then = colliding_step(from, b);

                if (then < 256 && then != 0)
                    last[from] = (uint16_t)(b << 8 | then);
            }
    is_made = true;
    for (int k = 0; k < 3; k++) {
        out[k] = (char)(0x40 + (i >> 6 * k & 63));
        h = colliding_step(h, (unsigned char)out[k]);
    }
    for (unsigned b = 1; b < 256; b++) {
        const uint16_t two = last[colliding_step(h, b)];

        out[3] = (char)b;
        out[4] = (char)(two >> 8);
        out[5] = (char)(two & 255);
        out[6] = 0;
        if (two)
            break;
    }
}

#endif
