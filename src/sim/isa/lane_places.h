/* lane_places.h - the addresses that the lanes of an instruction access */
#ifndef SIM_ISA_LANE_PLACES_H
#define SIM_ISA_LANE_PLACES_H

#include "wave.h"

/* How a value in memory maps to registers. */
struct form {
    uint8_t nbytes;
    bool sign;   /* extends values of 8 and 16 bits by their sign */
    uint8_t d16; /* 0: whole registers, 1: low half, 2: high half */
};

enum access { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC };

enum space {
    SPACE_GLOBAL,
    SPACE_FLAT, /* global, LDS or scratch, by the address's window */
    SPACE_SCRATCH,
    SPACE_LDS
};

struct places {
    enum space space;
    uint64_t lanes; /* lanes in range; a load gives 0 to other active lanes */
    uint64_t at[MAX_LANES];
};

/* An image instruction reads up to two levels of eight texels per lane. */
enum { MAX_TEXELS = 16 * MAX_LANES };

#endif
