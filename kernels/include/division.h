/*
 * division.h - divisions of indices, and the offsets of strided views
 *
 * GPUs divide in software: 64 bits take about four times as long as 32. Indices
 * have 64 bits everywhere, but most fit 32 bits, so this is tested first.
 */
#pragma once

#include "device.h"

DEV bool fits_u32(u64 v)
{
    return v >> 32 == 0;
}

/* a / b, b > 0 */
DEV u64 divide(u64 a, u64 b)
{
    if (fits_u32(a | b))
        return (u32)a / (u32)b;
    return a / b;
}

/* a / b, b > 0 and the same for all threads: sizes are often powers of two */
DEV u32 divide_uniform(u32 a, u32 b)
{
    return (b & (b - 1)) == 0 ? a >> log2_of(b) : a / b;
}

/* the same for wider indices; `fits`: every index fits u32 */
DEV u64 divide_size(u64 a, u32 b, bool fits)
{
    return fits ? divide_uniform((u32)a, b) : a / b;
}

/* The offset of linear index i: the sum of coordinate * stride, last dim first.
 */
DEV u64 strided_offset(u64 i, u64 num_dims, const size_t *dims,
                       const size_t *strides)
{
    u64 offset = 0;

    for (u64 d = num_dims; d > 0 && i > 0; d--) {
        const u64 dim = dims[d - 1];
        const u64 rest = divide(i, dim);

        offset += (i - rest * dim) * strides[d - 1];
        i = rest;
    }
    return offset;
}

/*
 * The places of element i in nops views; the views' strides follow the dims,
 * one view after the other. i, and so every dim, fits 32 bits.
 */
template <u32 nops>
DEV void strided_offsets(u32 i, u32 num_dims, const size_t *info,
                         u64 (&at)[nops])
{
    UNROLL
    for (u32 o = 0; o < nops; o++)
        at[o] = 0;
    if (num_dims == 0)
        return;
    NO_UNROLL
    for (u32 d = num_dims - 1; d > 0; d--) {
        const u32 dim = (u32)info[d];

        if (dim == 1)
            continue;
        const u32 rest = divide_uniform(i, dim);

        UNROLL
        for (u32 o = 0; o < nops; o++)
            at[o] += (i - rest * dim) * info[(o + 1) * num_dims + d];
        i = rest;
    }
    UNROLL
    for (u32 o = 0; o < nops; o++)
        at[o] += i * info[(o + 1) * num_dims];
}

/*
 * Division of numbers below 65536 by one divisor, 1 to 65535: a multiplication
 * by m = ceil(2^32 / d) is exact as long as n * d < 2^32.
 */
struct Divisor {
    u32 d, m;

    DEV_MEMBER explicit Divisor(u32 divisor)
        : d(divisor), m(divisor > 1 ? 0xffffffffu / divisor + 1 : 0)
    {
    }
    DEV_MEMBER u32 divide(u32 n) const
    {
        return d > 1 ? (u32)((u64)n * m >> 32) : n;
    }
};
