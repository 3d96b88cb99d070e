/*
 * random.hip - random numbers by Philox 4x32-10
 *
 *   rand_uniform_T  numbers from low up to, and without, high
 *   rand_normal_T   normal numbers of a mean and a standard deviation
 *
 * T is f32, f64, f16 or bf16. random/draw.h says which numbers. candle's
 * CUDA device makes other numbers, by cuRAND's XORWOW.
 */
#include "random/draw.h"

#define EXPORT(T)                                                              \
    KERNEL rand_uniform_##T(T *out, u64 n, u64 seed, u64 offset, T low,        \
                            T high)                                            \
    {                                                                          \
        random_uniform(out, n, seed, offset, low, high);                       \
    }                                                                          \
    KERNEL rand_normal_##T(T *out, u64 n, u64 seed, u64 offset, T mean, T std) \
    {                                                                          \
        random_numbers(out, n, seed, offset, normal_numbers<T>{mean, std});    \
    }

EXPORT(f32)
EXPORT(f64)
EXPORT(f16)
EXPORT(bf16)
