/* formats.h - formats of 4, 6 and 8 bits, by search
 *
 * A code's value is worked out from its fields, and a number's code is the
 * nearest of all codes.
 */
#ifndef SIM_TESTS_FORMATS_H
#define SIM_TESTS_FORMATS_H

#include "valu.h"

struct format {
    const char *name;
    int bits, mantissa, bias;
    bool fnuz, nan_only, ieee;
};

__attribute__((unused)) static const struct format
    fp8_fnuz = {"fp8", 8, 3, 8, true, false, false},
    bf8_fnuz = {"bf8", 8, 2, 16, true, false, false},
    fp8_ocp = {"fp8", 8, 3, 7, false, true, false},
    bf8_ocp = {"bf8", 8, 2, 15, false, false, true},
    fp6 = {"fp6", 6, 3, 1, false, false, false},
    bf6 = {"bf6", 6, 2, 3, false, false, false},
    fp4 = {"fp4", 4, 1, 1, false, false, false};

static inline double value_of(const struct format *f, int code)
{
    int magnitude = code % (1 << (f->bits - 1)), sign = code >> (f->bits - 1);
    int e = magnitude >> f->mantissa, m = magnitude % (1 << f->mantissa);
    int top = (1 << (f->bits - 1 - f->mantissa)) - 1;
    double x = ldexp(m + (e ? 1 << f->mantissa : 0),
                     (e ? e : 1) - f->bias - f->mantissa);

    if (f->fnuz && sign && magnitude == 0)
        return (double)NAN;
    if (f->nan_only && magnitude == (1 << (f->bits - 1)) - 1)
        return (double)NAN;
    if (f->ieee && e == top)
        x = m ? (double)NAN : (double)INFINITY;
    return sign ? -x : x;
}

/* The nearest code; of two, the even one. -1 for a number that is too large
 * (by half a step of the largest) or not one. */
static inline int nearest_code(const struct format *f, double x)
{
    int best = -1, half = 1 << (f->bits - 1);
    double least = INFINITY, largest = 0, step = 0;

    for (int c = 0; c < half; c++) {
        double v = value_of(f, c);

        if (!isfinite(v))
            continue;
        step = v - largest;
        largest = v;
        if (fabs(v - fabs(x)) < least ||
            (fabs(v - fabs(x)) == least && c % 2 == 0)) {
            least = fabs(v - fabs(x));
            best = c;
        }
    }
    if (isnan(x) || fabs(x) >= largest + step / 2)
        return -1;
    return signbit(x) && !(f->fnuz && best == 0) ? best + half : best;
}

static inline int largest_code(const struct format *f)
{
    int c = (1 << (f->bits - 1)) - 1;

    while (!isfinite(value_of(f, c)))
        c--;
    return c;
}

static inline int code_at(const struct asm_state *st, unsigned reg,
                          unsigned lane, int bits, int n)
{
    int at = n * bits;
    uint64_t window = st->v[reg + (unsigned)at / 32][lane] |
                      (uint64_t)st->v[reg + (unsigned)at / 32 + 1][lane] << 32;

    return (int)(window >> at % 32 & ((1u << bits) - 1));
}

static inline int saturated(const struct format *f, double x)
{
    int code = nearest_code(f, x);

    return code >= 0 ? code
                     : largest_code(f) | (signbit(x) ? 1 << (f->bits - 1) : 0);
}

#endif
