/* lane_places.h - where the lanes of a memory instruction go */
#ifndef SIM_ISA_LANE_PLACES_H
#define SIM_ISA_LANE_PLACES_H

#include "wave.h"

/* How memory and registers correspond. */
struct form {
    uint8_t nbytes;
    bool sign;   /* extends values of 8 and 16 bits by their sign */
    uint8_t d16; /* 0: whole registers, 1: low half, 2: high half */
};

enum access { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC };

enum space {
    SPACE_GLOBAL,
    SPACE_FLAT, /* global, or by the window it lies in LDS or scratch */
    SPACE_SCRATCH,
    SPACE_LDS
};

struct places {
    enum space space;
    uint64_t lanes; /* with an access; loads give 0 to other active lanes */
    uint64_t at[MAX_LANES];
};

/* An instruction on images: two levels of eight texels for each lane. */
enum { MAX_TEXELS = 16 * MAX_LANES };

#endif
