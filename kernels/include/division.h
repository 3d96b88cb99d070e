/*
 * division.h - divisions of indices, and the offsets of strided views
 *
 * GPUs divide in software: 64 bits take about four times as long as 32. Indices
 * are 64 bits wide everywhere, but most of them fit 32, and that is asked
 * first.
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

/* Where linear index i lies: off = sum of coordinate * stride, last dim first.
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
