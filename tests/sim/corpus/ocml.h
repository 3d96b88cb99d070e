/* ocml.h - the device math library in f16, f32 and f64
 *
 * OCML_TABLE has a row for each function of one or two numbers: its domain
 * (arguments are drawn from it, besides special values), the largest error in
 * ulp that the OpenCL C specification allows, which is what OCML documents as
 * its own, and a reference in long double.
 *
 * An error of SKIP leaves a type out: Debian 12's OCML (5.2.3) answers NaN for
 * the f16 sine of every finite number, and takes the root of x where it should
 * take that of |x| in i1 of f64, hence the domain of that row.
 *
 * A record is one number in (two for rows of arity 2) and one out, each in
 * two words, whatever its type.
 */
#include "corpus.h"

#define SKIP (-1)

/* clang-format off */
#define OCML_TABLE1(X)                                                         \
    /* name    low      high     f32 f64 f16  reference of x */                \
    X(acos,    -1,      1,       4,  4,  2,   acosl(x))                        \
    X(acosh,   1,       1e30,    4,  4,  2,   acoshl(x))                       \
    X(acospi,  -1,      1,       5,  5,  2,   acosl(x) / pi)                   \
    X(asin,    -1,      1,       4,  4,  2,   asinl(x))                        \
    X(asinh,   -1e30,   1e30,    4,  4,  2,   asinhl(x))                       \
    X(asinpi,  -1,      1,       5,  5,  2,   asinl(x) / pi)                   \
    X(atan,    -1e30,   1e30,    5,  5,  2,   atanl(x))                        \
    X(atanh,   -1,      1,       5,  5,  2,   atanhl(x))                       \
    X(atanpi,  -1e30,   1e30,    5,  5,  2,   atanl(x) / pi)                   \
    X(cbrt,    -1e30,   1e30,    2,  2,  2,   cbrtl(x))                        \
    X(ceil,    -1e10,   1e10,    0,  0,  0,   ceill(x))                        \
    X(cos,     -1e6,    1e6,     4,  4,  2,   cosl(x))                         \
    X(cosh,    -80,     80,      4,  4,  2,   coshl(x))                        \
    X(cospi,   -1e4,    1e4,     4,  4,  2,   cos_pi(x))                       \
    X(erf,     -6,      6,       16, 16, 4,   erfl(x))                         \
    X(erfc,    -6,      9,       16, 16, 4,   erfcl(x))                        \
    X(erfcx,   -4,      9,       16, 16, 4,   expl(x * x) * erfcl(x))          \
    X(exp,     -80,     80,      3,  3,  2,   expl(x))                         \
    X(exp2,    -120,    120,     3,  3,  2,   exp2l(x))                        \
    X(exp10,   -36,     36,      3,  3,  2,   powl(10, x))                     \
    X(expm1,   -30,     80,      3,  3,  2,   expm1l(x))                       \
    X(fabs,    -1e30,   1e30,    0,  0,  0,   fabsl(x))                        \
    X(floor,   -1e10,   1e10,    0,  0,  0,   floorl(x))                       \
    X(i0,      -20,     20,      16, 16, 4,   bessel_i(0, x))                  \
    X(i1,      0,       20,      16, 16, 4,   bessel_i(1, x))                  \
    X(log,     0,       1e30,    3,  3,  2,   logl(x))                         \
    X(log10,   0,       1e30,    3,  3,  2,   log10l(x))                       \
    X(log1p,   -1,      1e30,    2,  2,  2,   log1pl(x))                       \
    X(log2,    0,       1e30,    3,  3,  2,   log2l(x))                        \
    X(logb,    1e-30,   1e30,    0,  0,  0,   logbl(x))                        \
    X(ncdf,    -5,      6,       16, 16, 4,   erfcl(-x / sqrtl(2)) / 2)        \
    X(nearbyint, -1e10, 1e10,    0,  0,  0,   nearbyintl(x))                   \
    X(rcbrt,   -1e30,   1e30,    3,  3,  2,   1 / cbrtl(x))                    \
    X(rint,    -1e10,   1e10,    0,  0,  0,   rintl(x))                        \
    X(round,   -1e10,   1e10,    0,  0,  0,   roundl(x))                       \
    X(rsqrt,   0,       1e30,    2,  2,  1,   1 / sqrtl(x))                    \
    X(sin,     -1e6,    1e6,     4,  4,  SKIP, sinl(x))                        \
    X(sinh,    -80,     80,      4,  4,  2,   sinhl(x))                        \
    X(sinpi,   -1e4,    1e4,     4,  4,  2,   sin_pi(x))                       \
    X(sqrt,    0,       1e30,    0,  0,  1,   sqrtl(x))                        \
    X(tan,     -1e6,    1e6,     5,  5,  2,   tanl(x))                         \
    X(tanh,    -20,     20,      5,  5,  2,   tanhl(x))                        \
    X(tanpi,   -1e4,    1e4,     6,  6,  2,   sin_pi(x) / cos_pi(x))           \
    X(tgamma,  0.1L,    30,      16, 16, 4,   tgammal(x))                      \
    X(trunc,   -1e10,   1e10,    0,  0,  0,   truncl(x))

#define OCML_TABLE2(X)                                                         \
    /* name    low      high     f32 f64 f16  reference of x and y */          \
    X(atan2,   -1e20,   1e20,    6,  6,  2,   atan2l(x, y))                    \
    X(atan2pi, -1e20,   1e20,    6,  6,  2,   atan2l(x, y) / pi)               \
    X(copysign, -1e30,  1e30,    0,  0,  0,   copysignl(x, y))                 \
    X(fdim,    -1e10,   1e10,    0,  0,  0,   x > y ? x - y : 0)               \
    X(fmax,    -1e30,   1e30,    0,  0,  0,   fmaxl(x, y))                     \
    X(fmin,    -1e30,   1e30,    0,  0,  0,   fminl(x, y))                     \
    X(fmod,    -1e4,    1e4,     0,  0,  0,   fmodl(x, y))                     \
    X(hypot,   -1e15,   1e15,    4,  4,  2,   hypotl(x, y))                    \
    X(pow,     -9,      9,       16, 16, 4,   powl(x, y))                      \
    X(powr,    1e-3L,   9,       16, 16, 4,   powl(x, y))                      \
    X(remainder, -1e4,  1e4,     0,  0,  0,   remainderl(x, y))                \
    X(rhypot,  -1e15,   1e15,    3,  3,  2,   1 / hypotl(x, y))
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
