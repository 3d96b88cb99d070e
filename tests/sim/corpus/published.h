/* published.h - the errors that HIP's reference manual gives for device math
 *
 * Source: "HIP math API" (rocm.docs.amd.com), as of 2025. For each function it
 * has a range that AMD drew arguments from, and the distance in ulp between the
 * device's result and the correctly rounded one where the absolute error was
 * largest. In its ranges for y, y is the second argument.
 *
 * PUBLISHED_TABLE names functions of ocml.h, in f32 and f64. BY_NAME_TABLE has
 * those that must be called by HIP's own name, because the compiler makes them:
 * the fast intrinsics and what LLVM lowers without a library. They get kernels
 * here, with the same records as in ocml.h.
 *
 * One row is not as published (1 ulp up to 1.47 pi): clang 22 makes __tanf() of
 * __sinf() / __cosf(), which have no digits near their zeros. It stays between
 * them, and has the sum of both bounds and of the quotient's.
 */
#include "ocml.h"

/* clang-format off */
#define PUBLISHED_TABLE(X)                                                     \
    /* name     x from   to      y from to   f32 f64 */                        \
    X(acos,     -1,      1,      0,    0,    1,  1)                            \
    X(acosh,    1,       100,    0,    0,    1,  1)                            \
    X(asin,     -1,      1,      0,    0,    2,  1)                            \
    X(asinh,    -10,     10,     0,    0,    1,  1)                            \
    X(atan,     -10,     10,     0,    0,    2,  1)                            \
    X(atan2,    -4,      4,      -2,   2,    1,  1)                            \
    X(atanh,    -0.9L,   0.9L,   0,    0,    1,  1)                            \
    X(cbrt,     -100,    100,    0,    0,    2,  1)                            \
    X(ceil,     -4,      4,      0,    0,    0,  0)                            \
    X(copysign, -10,     10,     -3,   3,    0,  0)                            \
    X(cos,      -PI,     PI,     0,    0,    1,  1)                            \
    X(cosh,     -5,      5,      0,    0,    1,  1)                            \
    X(cospi,    -0.3L,   0.3L,   0,    0,    1,  2)                            \
    X(erf,      -4,      4,      0,    0,    4,  4)                            \
    X(erfc,     -4,      4,      0,    0,    2,  2)                            \
    X(erfcx,    -2,      2,      0,    0,    5,  5)                            \
    X(exp,      -10,     10,     0,    0,    1,  1)                            \
    X(exp10,    -4,      4,      0,    0,    1,  1)                            \
    X(exp2,     -10,     10,     0,    0,    1,  1)                            \
    X(expm1,    -10,     10,     0,    0,    1,  1)                            \
    X(fabs,     -20,     20,     0,    0,    0,  0)                            \
    X(fdim,     -10,     10,     -3,   3,    0,  0)                            \
    X(floor,    -4,      4,      0,    0,    0,  0)                            \
    X(fmax,     -10,     10,     -3,   3,    0,  0)                            \
    X(fmin,     -10,     10,     -3,   3,    0,  0)                            \
    X(fmod,     -10,     10,     -3,   3,    0,  0)                            \
    X(hypot,    -10,     10,     0,    10,   1,  1)                            \
    X(lgamma,   0.5L,    20,     0,    0,    4,  2)                            \
    X(log,      1e-6L,   1e6,    0,    0,    2,  1)                            \
    X(log10,    1e-6L,   1e6,    0,    0,    2,  1)                            \
    X(log1p,    -0.9L,   10,     0,    0,    1,  1)                            \
    X(log2,     1e-6L,   1e6,    0,    0,    1,  1)                            \
    X(logb,     1e-6L,   1e6,    0,    0,    0,  0)                            \
    X(nearbyint, -4,     4,      0,    0,    0,  0)                            \
    X(pow,      -4,      4,      -2,   2,    1,  1)                            \
    X(rcbrt,    -100,    100,    0,    0,    1,  1)                            \
    X(remainder, -10,    10,     -3,   3,    0,  0)                            \
    X(rhypot,   -100,    100,    -10,  100,  1,  1)                            \
    X(rint,     -4,      4,      0,    0,    0,  0)                            \
    X(round,    -4,      4,      0,    0,    0,  0)                            \
    X(rsqrt,    0.01L,   100,    0,    0,    1,  1)                            \
    X(sin,      -PI,     PI,     0,    0,    1,  1)                            \
    X(sinh,     -5,      5,      0,    0,    1,  1)                            \
    X(sinpi,    -0.625L, 0.625L, 0,    0,    2,  2)                            \
    X(sqrt,     0,       100,    0,    0,    1,  1)                            \
    X(tan,      -1.47L * PI, 1.47L * PI, 0, 0, 1, 1)                           \
    X(tanh,     -5,      5,      0,    0,    2,  1)                            \
    X(tgamma,   0.5L,    15,     0,    0,    6,  6)                            \
    X(trunc,    -4,      4,      0,    0,    0,  0)

#define BY_NAME_TABLE(X, Y)                                                    \
    /* call        type    x from  to     y from to   ulp reference */         \
    X(__cosf,      float,  -PI,    PI,    0,     0,   4,  cos(x))              \
    X(__drcp_rn,   double, -100,   100,   0,     0,   0,  1 / x)               \
    X(__dsqrt_rn,  double, 0,      100,   0,     0,   0,  sqrt(x))             \
    X(__exp10f,    float,  -4,     4,     0,     0,   18, exp10(x))            \
    X(__expf,      float,  -10,    10,    0,     0,   6,  exp(x))              \
    X(__frcp_rn,   float,  -100,   100,   0,     0,   0,  1 / x)               \
    X(__frsqrt_rn, float,  0.01L,  100,   0,     0,   1,  rsqrt(x))            \
    X(__fsqrt_rn,  float,  0,      100,   0,     0,   1,  sqrt(x))             \
    X(__log10f,    float,  1e-6L,  1e6,   0,     0,   2,  log10(x))            \
    X(__log2f,     float,  1e-6L,  1e6,   0,     0,   1,  log2(x))             \
    X(__logf,      float,  1e-6L,  1e6,   0,     0,   2,  log(x))              \
    X(__saturatef, float,  -2,     3,     0,     0,   0,  fmin(fmax(x, 0), 1)) \
    X(__sinf,      float,  -PI,    PI,    0,     0,   18, sin(x))              \
    X(__tanf,      float,  -1,     1,     0,     0,   23, tan(x))              \
    X(exp10f,      float,  -4,     4,     0,     0,   1,  exp10(x))            \
    X(exp2f,       float,  -10,    10,    0,     0,   1,  exp2(x))             \
    X(expf,        float,  -10,    10,    0,     0,   1,  exp(x))              \
    X(log10f,      float,  1e-6L,  1e6,   0,     0,   2,  log10(x))            \
    X(log2f,       float,  1e-6L,  1e6,   0,     0,   1,  log2(x))             \
    X(logf,        float,  1e-6L,  1e6,   0,     0,   2,  log(x))              \
    Y(__dadd_rn,   double, -1000,  1000,  -1000, 1000, 0, x + y)               \
    Y(__ddiv_rn,   double, -100,   100,   -100,  100, 0,  x / y)               \
    Y(__dmul_rn,   double, -100,   100,   -100,  100, 0,  x * y)               \
    Y(__dsub_rn,   double, -1000,  1000,  -1000, 1000, 0, x - y)               \
    Y(__fadd_rn,   float,  -1000,  1000,  -1000, 1000, 0, x + y)               \
    Y(__fdiv_rn,   float,  -100,   100,   -100,  100, 0,  x / y)               \
    Y(__fdividef,  float,  -100,   100,   -100,  100, 0,  x / y)               \
    Y(__fmul_rn,   float,  -100,   100,   -100,  100, 0,  x * y)               \
    Y(__fsub_rn,   float,  -1000,  1000,  -1000, 1000, 0, x - y)               \
    Y(__powf,      float,  -4,     4,     -2,    2,   1,  pow(x, y))
/* clang-format on */

#if DEVICE_ONLY
#define BY_NAME_KERNEL1(call, T, low, high, low2, high2, ulps, ref)            \
    LANE_TEST(math_##call, 2, 2)                                               \
    {                                                                          \
        put_number(out, call(number<T>(in)));                                  \
    }
#define BY_NAME_KERNEL2(call, T, low, high, low2, high2, ulps, ref)            \
    LANE_TEST(math_##call, 4, 2)                                               \
    {                                                                          \
        put_number(out, call(number<T>(in), number<T>(in + 2)));               \
    }
BY_NAME_TABLE(BY_NAME_KERNEL1, BY_NAME_KERNEL2)
#endif
