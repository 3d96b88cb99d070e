/*
 * affine.hip - out[i] = in[i] * mul + add
 *
 * in    any layout (map.h), may be null (in place) or equal to out
 * out   contiguous
 *
 * f32 and f64 are fused; f16, bf16 and f8 are evaluated fused in f32 and
 * rounded once; integers are modulo 2^bits.
 */
#include "map.h"

template <typename T> DEV T affine(T x, T mul, T add)
{
    if constexpr (is_same<T, f64>::value)
        return __builtin_fma(x, mul, add);
    else if constexpr (traits<T>::is_float)
        return convert<T>(__builtin_fmaf((float)x, (float)mul, (float)add));
    else
        return (T)((u64)x * (u64)mul + (u64)add);
}

#define EXPORT(T, suffix)                                                      \
    KERNEL_PAIRED affine_##suffix(size_t n, size_t rank, const size_t *info,   \
                                  const T *in, T *out, T mul, T add)           \
    {                                                                          \
        map_unary<LIGHT>(n, rank, info, in, out,                               \
                         [=](T x) -> T { return affine(x, mul, add); });       \
    }

EXPORT(u8, u8)
EXPORT(u32, u32)
EXPORT(i16, i16)
EXPORT(i32, i32)
EXPORT(i64, i64)
EXPORT(f16, f16)
EXPORT(bf16, bf16)
EXPORT(f32, f32)
EXPORT(f64, f64)
EXPORT(f8, f8_e4m3)
