/* minifloat.h - formats of 4, 6 and 8 bits
 *
 * gfx940 to gfx942 have the FNUZ kinds of fp8 and bf8: no infinities, no -0
 * (its code is the one NaN), exponents biased by one more. gfx950, gfx12 have
 * the OCP kinds: fp8 (e4m3) has NaN alone, bf8 (e5m2) is a small IEEE format.
 * fp6, bf6 and fp4 (MX formats) have neither.
 */
#ifndef SIM_ISA_MINIFLOAT_H
#define SIM_ISA_MINIFLOAT_H

#include "fp.h"
#include "wave.h"

enum minifloat_specials {
    SPECIALS_NONE, /* every code is a number */
    SPECIALS_FNUZ, /* NaN has the code of -0 */
    SPECIALS_NAN,  /* NaN has all bits set */
    SPECIALS_IEEE  /* the top exponent is infinity and NaN */
};

struct minifloat {
    uint8_t bits, mantissa; /* widths: code, mantissa */
    int8_t bias;
    uint8_t specials; /* enum minifloat_specials */
};

extern const struct minifloat sim_fp8_ocp, sim_bf8_ocp, sim_fp6, sim_bf6,
    sim_fp4;

/* The kind that a target has. */
const struct minifloat *sim_fp8(const struct sim_target *target);
const struct minifloat *sim_bf8(const struct sim_target *target);

float sim_minifloat_decode(const struct minifloat *m, uint32_t code);

/*
 * Nearest even, or with `stochastic`: `noise` (32 bits) is added below the last
 * bit kept and the rest cut off. A number too large becomes the largest one if
 * `saturate`, or else what the format has for infinity or NaN.
 */
uint32_t sim_minifloat_encode(const struct minifloat *m, float x,
                              bool stochastic, uint32_t noise, bool saturate);

#endif
