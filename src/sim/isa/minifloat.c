/* minifloat.c - formats of 4, 6 and 8 bits */
#include "minifloat.h"

static const struct minifloat fp8_fnuz = {8, 3, 8, SPECIALS_FNUZ};
static const struct minifloat bf8_fnuz = {8, 2, 16, SPECIALS_FNUZ};
const struct minifloat sim_fp8_ocp = {8, 3, 7, SPECIALS_NAN};
const struct minifloat sim_bf8_ocp = {8, 2, 15, SPECIALS_IEEE};
const struct minifloat sim_fp6 = {6, 3, 1, SPECIALS_NONE};
const struct minifloat sim_bf6 = {6, 2, 3, SPECIALS_NONE};
const struct minifloat sim_fp4 = {4, 1, 1, SPECIALS_NONE};

static bool has_fnuz(const struct sim_target *target)
{
    return target->major == 9 && target->minor == 4;
}

const struct minifloat *sim_fp8(const struct sim_target *target)
{
    return has_fnuz(target) ? &fp8_fnuz : &sim_fp8_ocp;
}

const struct minifloat *sim_bf8(const struct sim_target *target)
{
    return has_fnuz(target) ? &bf8_fnuz : &sim_bf8_ocp;
}

float sim_minifloat_decode(const struct minifloat *m, uint32_t code)
{
    uint32_t sign = code >> (m->bits - 1) & 1;
    uint32_t magnitude = code & ((1u << (m->bits - 1)) - 1);
    uint32_t mantissa = magnitude & ((1u << m->mantissa) - 1);
    int exponent = (int)(magnitude >> m->mantissa);
    uint32_t top = (1u << (m->bits - 1 - m->mantissa)) - 1;
    float x;

    if (m->specials == SPECIALS_FNUZ && sign && magnitude == 0)
        return bits_f32(0x7fc00000);
    if (m->specials == SPECIALS_NAN && magnitude == (1u << (m->bits - 1)) - 1)
        return bits_f32(0x7fc00000 | sign << 31);
    if (m->specials == SPECIALS_IEEE && (uint32_t)exponent == top)
        return bits_f32(sign << 31 | 0x7f800000 |
                        (mantissa ? 0x400000 | mantissa << 20 : 0));
    if (exponent == 0)
        x = ldexpf((float)mantissa, 1 - m->bias - m->mantissa);
    else
        x = ldexpf((float)(mantissa | 1u << m->mantissa),
                   exponent - m->bias - m->mantissa);
    return sign ? -x : x;
}

/* The code of the largest number, sign apart. */
static uint32_t largest(const struct minifloat *m)
{
    uint32_t ones = (1u << (m->bits - 1)) - 1;

    if (m->specials == SPECIALS_NAN)
        return ones - 1;
    if (m->specials == SPECIALS_IEEE)
        return ones - (1u << m->mantissa);
    return ones;
}

static uint32_t code_of_nan(const struct minifloat *m, uint32_t sign)
{
    switch (m->specials) {
    case SPECIALS_FNUZ:
        return 1u << (m->bits - 1);
    case SPECIALS_NONE: /* no NaN: the largest number */
        return sign | largest(m);
    default:
        return sign | ((1u << (m->bits - 1)) - 1);
    }
}

uint32_t sim_minifloat_encode(const struct minifloat *m, float x,
                              bool stochastic, uint32_t noise, bool saturate)
{
    uint32_t u = f32_bits(x), a = u & 0x7fffffff;
    uint32_t sign = (u >> 31) << (m->bits - 1);
    int exponent = (int)(a >> 23) - 127; /* f32 denormals all become 0 */
    uint32_t mantissa = (a & 0x7fffff) | (a >> 23 ? 0x800000 : 0);
    int least = 1 - m->bias, cut = 23 - m->mantissa;
    uint32_t code;

    if (a > 0x7f800000)
        return code_of_nan(m, sign);
    if (a == 0x7f800000 && !saturate)
        return m->specials == SPECIALS_IEEE ? sign | (largest(m) + 1)
                                            : code_of_nan(m, sign);
    if (exponent < least) { /* denormal: cut more bits off */
        cut += least - exponent;
        exponent = least;
    }
    if (cut > 31) {
        code = 0;
    } else {
        uint64_t kept = mantissa, half = UINT64_C(1) << (cut - 1);

        /* The highest bits of the noise lie just below the last bit kept. */
        kept += stochastic ? noise >> (32 - cut) : half - 1 + (kept >> cut & 1);
        kept >>= cut;
        /* The hidden bit adds one to the exponent field, which so starts at 1
         * for normal numbers; so does a carry out of the mantissa. */
        code = (uint32_t)(kept + ((uint64_t)(exponent - least) << m->mantissa));
    }
    if (code > largest(m)) {
        if (saturate || m->specials == SPECIALS_NONE)
            code = largest(m);
        else
            return m->specials == SPECIALS_IEEE ? sign | (largest(m) + 1)
                                                : code_of_nan(m, sign);
    }
    if (m->specials == SPECIALS_FNUZ && code == 0)
        return 0; /* -0 does not exist */
    return sign | code;
}
