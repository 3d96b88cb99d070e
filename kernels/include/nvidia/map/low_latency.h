/*
 * low_latency.h - helpers for small grids with one element a thread: loads that
 * the compiler does not move, and divisions of few instructions
 *
 * With 32 warps on a multiprocessor each instruction in front of a load delays
 * it by 8 cycles, and a launch of few blocks takes a thousand cycles in all.
 */
#pragma once

#include "device.h"

/*
 * The element at p, if it is there. The load is volatile assembly, because the
 * compiler would move an ordinary load behind the next conditions.
 */
template <typename T> DEV Raw<T, 1> load_now(const T *p, bool there)
{
    const u64 at = __cvta_generic_to_global(p);
    Raw<T, 1> raw;

#define LOAD_NOW(type, to)                                                     \
    asm volatile("{.reg .pred p;\n\t"                                          \
                 "setp.ne.u32 p, %2, 0;\n\t"                                   \
                 "@p ld.global." type " %0, [%1];}"                            \
                 : to                                                          \
                 : "l"(at), "r"((u32)there))
    if constexpr (sizeof(T) == 1) {
        u32 word;

        LOAD_NOW("u8", "=r"(word));
        raw = (u8)word;
    } else if constexpr (sizeof(T) == 2) {
        LOAD_NOW("u16", "=h"(raw));
    } else if constexpr (sizeof(T) == 4) {
        LOAD_NOW("u32", "=r"(raw));
    } else {
        u64 words;

        LOAD_NOW("u64", "=l"(words));
        raw = bits_as<Raw<T, 1>>(words);
    }
#undef LOAD_NOW
    return raw;
}

/*
 * i / d for i below 2^20: the whole part of i + 1/2 over d. A near reciprocal
 * of d errs by 2^-22 at most, so the result errs by less than its distance to
 * the next whole number. Every multiple of every d was tried.
 */
DEV u32 small_quotient(u32 i, u32 d)
{
    const f32 middle = bits_as<f32>(0x4b000000u + i) - (0x1p23f - 0.5f);
    f32 r;

    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"((f32)d));
    return bits_as<u32>(__fmaf_rz(middle, r, 0x1p23f)) - 0x4b000000u;
}

/*
 * strided_offsets() of division.h for i below 2^20. Each dimension's size and
 * strides are loaded before the division by the next inner dimension, so a
 * launch of few blocks waits for memory once, not once per dimension.
 */
template <u32 nops>
DEV void small_strided_offsets(u32 i, u32 num_dims, const size_t *info,
                               u64 (&at)[nops])
{
    u32 d = num_dims - 1, dim;
    u64 stride[nops];

    UNROLL
    for (u32 o = 0; o < nops; o++)
        at[o] = 0;
    if (num_dims == 0)
        return;
    dim = (u32)info[d];
    UNROLL
    for (u32 o = 0; o < nops; o++)
        stride[o] = info[(o + 1) * num_dims + d];
    NO_UNROLL
    while (d > 0) {
        d--;
        const u32 next = (u32)info[d];
        u64 next_stride[nops];

        UNROLL
        for (u32 o = 0; o < nops; o++)
            next_stride[o] = info[(o + 1) * num_dims + d];
        const u32 rest = small_quotient(i, dim), place = i - rest * dim;

        UNROLL
        for (u32 o = 0; o < nops; o++) {
            at[o] += place * stride[o];
            stride[o] = next_stride[o];
        }
        i = rest;
        dim = next;
    }
    UNROLL
    for (u32 o = 0; o < nops; o++)
        at[o] += i * stride[o];
}
