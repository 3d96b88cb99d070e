/* exact.h - numbers of 256 bits, to say what a function's value is
 *
 * MPFR computes each function to all bits, so an expression of a few of them is
 * right far beyond the 53 bits that are compared. nearest_odd() hands a value
 * on as a long double that rounds to any shorter format as the value itself
 * does.
 */
#ifndef EXACT_H
#define EXACT_H

#include <cmath>
#include <mpfr.h>
#include <string.h>

class exact
{
  public:
    mpfr_t v;

    exact(long double x = 0)
    {
        mpfr_init2(v, 256);
        mpfr_set_ld(v, x, MPFR_RNDN);
    }
    exact(const exact &o)
    {
        mpfr_init2(v, 256);
        mpfr_set(v, o.v, MPFR_RNDN);
    }
    exact &operator=(const exact &o)
    {
        mpfr_set(v, o.v, MPFR_RNDN);
        return *this;
    }
    ~exact()
    {
        mpfr_clear(v);
    }
};

#define EXACT1(name, call)                                                     \
    static inline exact name(const exact &x)                                   \
    {                                                                          \
        exact r;                                                               \
                                                                               \
        call(r.v, x.v, MPFR_RNDN);                                             \
        return r;                                                              \
    }
#define EXACT2(name, call)                                                     \
    static inline exact name(const exact &x, const exact &y)                   \
    {                                                                          \
        exact r;                                                               \
                                                                               \
        call(r.v, x.v, y.v, MPFR_RNDN);                                        \
        return r;                                                              \
    }
EXACT1(acos, mpfr_acos)
EXACT1(acosh, mpfr_acosh)
EXACT1(asin, mpfr_asin)
EXACT1(asinh, mpfr_asinh)
EXACT1(atan, mpfr_atan)
EXACT1(atanh, mpfr_atanh)
EXACT1(cbrt, mpfr_cbrt)
EXACT1(ceil, mpfr_rint_ceil)
EXACT1(cos, mpfr_cos)
EXACT1(cosh, mpfr_cosh)
EXACT1(cospi, mpfr_cospi)
EXACT1(erf, mpfr_erf)
EXACT1(erfc, mpfr_erfc)
EXACT1(exp, mpfr_exp)
EXACT1(exp10, mpfr_exp10)
EXACT1(exp2, mpfr_exp2)
EXACT1(expm1, mpfr_expm1)
EXACT1(fabs, mpfr_abs)
EXACT1(floor, mpfr_rint_floor)
EXACT1(j0, mpfr_j0)
EXACT1(j1, mpfr_j1)
EXACT1(log, mpfr_log)
EXACT1(log10, mpfr_log10)
EXACT1(log1p, mpfr_log1p)
EXACT1(log2, mpfr_log2)
EXACT1(negative, mpfr_neg)
EXACT1(rint, mpfr_rint_roundeven)
EXACT1(round, mpfr_rint_round)
EXACT1(rsqrt, mpfr_rec_sqrt)
EXACT1(sin, mpfr_sin)
EXACT1(sinh, mpfr_sinh)
EXACT1(sinpi, mpfr_sinpi)
EXACT1(sqrt, mpfr_sqrt)
EXACT1(tan, mpfr_tan)
EXACT1(tanh, mpfr_tanh)
EXACT1(tanpi, mpfr_tanpi)
EXACT1(tgamma, mpfr_gamma)
EXACT1(trunc, mpfr_rint_trunc)
EXACT1(y0, mpfr_y0)
EXACT1(y1, mpfr_y1)
EXACT2(atan2, mpfr_atan2)
EXACT2(copysign, mpfr_copysign)
EXACT2(fdim, mpfr_dim)
EXACT2(fmax, mpfr_max)
EXACT2(fmin, mpfr_min)
EXACT2(fmod, mpfr_fmod)
EXACT2(hypot, mpfr_hypot)
EXACT2(operator+, mpfr_add)
EXACT2(operator-, mpfr_sub)
EXACT2(operator*, mpfr_mul)
EXACT2(operator/, mpfr_div)
EXACT2(pow, mpfr_pow)
EXACT2(remainder, mpfr_remainder)

static inline exact lgamma(const exact &x)
{
    exact r;
    int sign;

    mpfr_lgamma(r.v, &sign, x.v, MPFR_RNDN);
    return r;
}

static inline exact logb(const exact &x)
{
    return (long double)(mpfr_get_exp(x.v) - 1);
}

static inline exact pi()
{
    exact r;

    mpfr_const_pi(r.v, MPFR_RNDN);
    return r;
}

/* The power series of the modified Bessel functions; all terms of one sign. */
static inline exact bessel_i(int order, const exact &x)
{
    const exact step = x * x / 4;
    exact term = order ? x / 2 : exact(1), sum = term;

    for (int k = 1; k < 200; k++) {
        term = term * step / (long double)(k * (k + order));
        sum = sum + term;
    }
    return sum;
}

/* Halving in long double finds a start, from which each of Newton's steps
 * doubles the digits. */
static inline exact erfcinv(const exact &x)
{
    const long double near = mpfr_get_ld(x.v, MPFR_RNDN);
    long double low = -12, high = 107;
    exact y;

    if (near <= 0 || near >= 2)
        return near == 0   ? (long double)INFINITY
               : near == 2 ? -(long double)INFINITY
                           : (long double)NAN;
    for (int i = 0; i < 80; i++)
        (erfcl((low + high) / 2) > near ? low : high) = (low + high) / 2;
    y = low;
    for (int i = 0; i < 3; i++)
        y = y + (erfc(y) - x) * exp(y * y) * sqrt(pi()) / 2;
    return y;
}

/* Cut to 64 bits, the last one set if that lost something. */
static inline long double nearest_odd(const exact &x)
{
    long double v = mpfr_get_ld(x.v, MPFR_RNDZ);
    uint64_t digits;

    static_assert(__LDBL_MANT_DIG__ == 64, "x87's format");
    if (mpfr_number_p(x.v) && v != 0 && mpfr_cmp_ld(x.v, v) != 0) {
        memcpy(&digits, &v, sizeof(digits));
        digits |= 1;
        memcpy(&v, &digits, sizeof(digits));
    }
    return v;
}

#endif
