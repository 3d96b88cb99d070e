/*
 * binary.hip - out[i] = lhs[i] op rhs[i], arithmetic and comparisons
 *
 * lhs, rhs  any layout (map.h), broadcasts as strides of 0
 * out       contiguous; may be a contiguous lhs or rhs of the same type
 *
 * f16, bf16 and f8 are evaluated in f32 and rounded once, which for these
 * operations is the correctly rounded result, or by instructions that give it.
 * Maximum and minimum give NaN if either operand is NaN. Integers are modulo
 * 2^bits; division by 0 is undefined. Comparisons write u8 0 or 1, as IEEE 754
 * says: with NaN only `ne` holds.
 */
#include "map.h"

/* f8's table look-ups and roundings happen around each of these */
#define ONE_ROUNDING_TABLE(X, T, suffix)                                       \
    X(badd, T, suffix, plus_of)                                                \
    X(bsub, T, suffix, minus_of)                                               \
    X(bmul, T, suffix, times_of)

#define ARITHMETIC_TABLE(X, T, suffix)                                         \
    X(bdiv, T, suffix, x / y)                                                  \
    X(bmaximum, T, suffix, x > y || x != x ? x : y)                            \
    X(bminimum, T, suffix, x < y || x != x ? x : y)

#define COMPARE_TABLE(X, T, suffix)                                            \
    X(eq, T, suffix, x == y)                                                   \
    X(ne, T, suffix, x != y)                                                   \
    X(lt, T, suffix, x < y)                                                    \
    X(le, T, suffix, x <= y)                                                   \
    X(gt, T, suffix, x > y)                                                    \
    X(ge, T, suffix, x >= y)

#define EXPORT_ONE_ROUNDING(name, T, suffix, of)                               \
    KERNEL_PAIRED name##_##suffix(size_t n, size_t rank, const size_t *info,   \
                                  const T *lhs, const T *rhs, T *out)          \
    {                                                                          \
        map_binary(n, rank, info, lhs, rhs, out,                               \
                   [](T a, T b) -> T { return of(a, b); });                    \
    }
#define EXPORT_ARITHMETIC(name, T, suffix, expr)                               \
    KERNEL_PAIRED name##_##suffix(size_t n, size_t rank, const size_t *info,   \
                                  const T *lhs, const T *rhs, T *out)          \
    {                                                                          \
        map_binary(n, rank, info, lhs, rhs, out, [](T a, T b) -> T {           \
            const calc_t<T> x = a, y = b;                                      \
            return convert<T>((calc_t<T>)(expr));                              \
        });                                                                    \
    }
#define EXPORT_COMPARE(name, T, suffix, expr)                                  \
    KERNEL_PAIRED name##_##suffix(size_t n, size_t rank, const size_t *info,   \
                                  const T *lhs, const T *rhs, u8 *out)         \
    {                                                                          \
        map_binary(n, rank, info, lhs, rhs, out, [](T a, T b) -> u8 {          \
            const calc_t<T> x = a, y = b;                                      \
            return expr;                                                       \
        });                                                                    \
    }
#define EXPORT(T, suffix)                                                      \
    ONE_ROUNDING_TABLE(EXPORT_ONE_ROUNDING, T, suffix)                         \
    ARITHMETIC_TABLE(EXPORT_ARITHMETIC, T, suffix)                             \
    COMPARE_TABLE(EXPORT_COMPARE, T, suffix)

EXPORT(u8, u8)
EXPORT(u32, u32)
EXPORT(i64, i64)
EXPORT(f16, f16)
EXPORT(bf16, bf16)
EXPORT(f32, f32)
EXPORT(f64, f64)
EXPORT(f8, f8_e4m3)

/*
 * Extensions, which candle's CUDA kernels lack but hosts request. A 32-bit
 * kernel for which the sign does not matter is an alias of u32's (aliases.csv).
 */
EXPORT(i16, i16)
EXPORT_ARITHMETIC(bdiv, i32, i32, x / y)
EXPORT_ARITHMETIC(bmaximum, i32, i32, x > y ? x : y)
EXPORT_ARITHMETIC(bminimum, i32, i32, x < y ? x : y)
EXPORT_COMPARE(lt, i32, i32, x < y)
EXPORT_COMPARE(le, i32, i32, x <= y)
EXPORT_COMPARE(gt, i32, i32, x > y)
EXPORT_COMPARE(ge, i32, i32, x >= y)
