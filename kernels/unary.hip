/*
 * unary.hip - out[i] = f(in[i])
 *
 * in    any layout (map.h), may be null (in place) or equal to out
 * out   contiguous, aligned to the element
 *
 * f64 in double, f32 in float, f16, bf16 and f8 in float with one rounding at
 * the end. relu gives NaN for NaN in every type. ucopy keeps all bits.
 *
 * transpose2d   matrices [rows, cols] to [cols, rows]: map/transpose.h
 */
#include "map.h"
#include "map/pairs.h"
#include "unary_math.h"

/* clang-format off */
#define UNARY_TABLE(X, T, suffix)                        \
    X(uneg,      LIGHT, T, suffix, -x)                   \
    X(uabs,      LIGHT, T, suffix, abs_of<T>(x))         \
    X(urecip,    LIGHT, T, suffix, 1 / x)                \
    X(uexp,      MILD , T, suffix, exp_of<T>(x))         \
    X(ulog,      HEAVY, T, suffix, log_of<T>(x))         \
    X(usin,      HEAVY, T, suffix, sin_of<T>(x))         \
    X(ucos,      HEAVY, T, suffix, cos_of<T>(x))         \
    X(utanh,     HEAVY, T, suffix, tanh_of<T>(x))        \
    X(uerf,      HEAVY, T, suffix, erf_of<T>(x))         \
    X(usqrt,     LIGHT, T, suffix, sqrt_of<T>(x))        \
    X(uceil,     LIGHT, T, suffix, ceil_of<T>(x))        \
    X(ufloor,    LIGHT, T, suffix, floor_of<T>(x))       \
    X(uround,    LIGHT, T, suffix, round_of<T>(x))       \
    X(unormcdf,  MILD , T, suffix, normcdf_of<T>(x))     \
    X(usqr,      LIGHT, T, suffix, x * x)                \
    X(urelu,     LIGHT, T, suffix, relu_of<T>(x))        \
    X(usign,     LIGHT, T, suffix, sign_of<T>(x))        \
    X(usilu,     TWOS , T, suffix, silu_of<T>(x))        \
    X(usigmoid,  TWOS , T, suffix, sigmoid_of<T>(x))     \
    X(ugelu,     TWOS , T, suffix, gelu_of<T>(x))        \
    X(ugelu_erf, MILD , T, suffix, gelu_erf_of<T>(x))

/* functions with a scalar argument, before `in` */
#define UNARY_PARAM_TABLE(X, T, suffix)                  \
    X(uelu,      HEAVY, T, suffix, elu_of<T>(x, param))  \
    X(upowf,     HEAVY, T, suffix, pow_of<T>(x, param))
/* clang-format on */

/* MILD: HEAVY in f64, a dozen instructions in the others. TWOS: the same, and
 * two small floats at once on CDNA (map/pairs.h) */
enum Twos { TWOS };
template <typename T> constexpr Weight mild = is_f64<T>::value ? HEAVY : LIGHT;
template <typename T, Weight weight>
constexpr Weight weight_of = weight != MILD ? weight : mild<T>;

template <Weight weight, typename T, typename F>
DEV void map_expression(size_t n, size_t rank, const size_t *info, const T *in,
                        T *out, F f)
{
    map_unary<weight_of<T, weight>>(n, rank, info, in, out, f);
}
template <Twos, typename T, typename F>
DEV void map_expression(size_t n, size_t rank, const size_t *info, const T *in,
                        T *out, F f)
{
    map_unary<mild<T>>(n, rank, info, in, out, small_in_twos<T>(f));
}

#define EXPORT_UNARY(name, weight, T, suffix, expr)                            \
    struct name##_of_##suffix {                                                \
        DEV_MEMBER T operator()(T value) const                                 \
        {                                                                      \
            const calc_t<T> x = value;                                         \
            return convert<T>((calc_t<T>)(expr));                              \
        }                                                                      \
        template <typename X> DEV_MEMBER X two(X x) const                      \
        {                                                                      \
            return expr;                                                       \
        }                                                                      \
    };                                                                         \
    KERNEL_PAIRED name##_##suffix(size_t n, size_t rank, const size_t *info,   \
                                  const T *in, T *out)                         \
    {                                                                          \
        map_expression<weight>(n, rank, info, in, out, name##_of_##suffix());  \
    }
#define EXPORT_PARAM(name, weight, T, suffix, expr)                            \
    KERNEL_PAIRED name##_##suffix(size_t n, size_t rank, const size_t *info,   \
                                  T scalar, const T *in, T *out)               \
    {                                                                          \
        const calc_t<T> param = scalar;                                        \
        map_unary<weight_of<T, weight>>(                                       \
            n, rank, info, in, out, [=](T value) -> T {                        \
                const calc_t<T> x = value;                                     \
                return convert<T>((calc_t<T>)(expr));                          \
            });                                                                \
    }
#define EXPORT_COPY(T, suffix)                                                 \
    KERNEL_PAIRED ucopy_##suffix(size_t n, size_t rank, const size_t *info,    \
                                 const T *in, T *out)                          \
    {                                                                          \
        map_unary<COPY>(n, rank, info, in, out, [](T x) -> T { return x; });   \
    }                                                                          \
    KERNEL_PAIRED transpose2d_##suffix(size_t rows, size_t cols, const T *in,  \
                                       T *out)                                 \
    {                                                                          \
        transpose2d(rows, cols, in, out);                                      \
    }
#define EXPORT(T, suffix)                                                      \
    UNARY_TABLE(EXPORT_UNARY, T, suffix)                                       \
    UNARY_PARAM_TABLE(EXPORT_PARAM, T, suffix)

EXPORT(f16, f16)
EXPORT(bf16, bf16)
EXPORT(f32, f32)
EXPORT(f64, f64)
EXPORT(f8, fp8_e4m3)

EXPORT_COPY(u8, u8)
EXPORT_COPY(u32, u32)
EXPORT_COPY(i64, i64)
EXPORT_COPY(f16, f16)
EXPORT_COPY(bf16, bf16)
EXPORT_COPY(f32, f32)
EXPORT_COPY(f64, f64)
EXPORT_COPY(f8, f8_e4m3)
