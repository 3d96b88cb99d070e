/*
 * exp_f64.h - e^x of f64, by a table on RDNA
 *
 * RDNA has a sixteenth of the rate for f64, and the library's exp() takes 19
 * such instructions: longer than DRAM moves a number and its result. With
 * powers of 2^(1/1024) from a table, 8 KiB that the vector cache holds, the
 * rest of the exponent is at most ln(2) / 2048, three terms will do, and eight
 * instructions are left. The result is off by 1.9 units of its last place at
 * most.
 */
#pragma once

#include "device.h"

#if KPK_TARGET_MAJOR >= 10 /* RDNA */

/* bits of 2^(i / 1024), rounded, by the series of e^y in multiples of 2^-63 */
struct power_table {
    u64 bits[1024];

    constexpr power_table() : bits()
    {
        for (u32 i = 0; i < 1024; i++) {
            const u64 ln_2 = 0x58b90bfbe8e7bcd6ull; /* 2^63 ln 2 */
            const u64 y = (u64)((unsigned __int128)ln_2 * i >> 10);
            u64 term = 1ull << 63, sum = term;

            for (u32 n = 1; n < 24; n++) {
                term = (u64)((unsigned __int128)term * y >> 63) / n;
                sum += term;
            }
            bits[i] = (1022ull << 52) + ((sum + 1024) >> 11);
        }
    }
};
static __device__ const power_table two_to_1024ths;

DEV f64 exp_f64(f64 x)
{
    const u32 size = (u32)(bits_as<u64>(x) >> 32) & 0x7fffffffu;

    if (size >= 0x40862000u) {      /* from 708 on, and NaN */
        asm volatile("" : "+v"(x)); /* keeps exp() out of the other lanes */
        return exp(x);
    }

    const f64 magic = 0x1.8p52; /* rounds, to the last bits */
    const f64 turns = fused(x, 0x1.71547652b82fep+10, magic);
    const f64 whole = turns - magic;
    const u32 number = (u32)bits_as<u64>(turns);
    const u64 power = two_to_1024ths.bits[number & 1023] +
                      ((u64)(number & ~1023u) << 42); /* exponents add up */
    f64 rest = fused(whole, -0x1.62e42fefa39efp-11, x);

    rest = fused(whole, -0x1.abc9e3b39803fp-66, rest);

    /* r + r^2 / 2 + r^3 / 6, and of r^4 / 24 what fits the second term */
    const f64 third = fused(rest, 0x1.5555555555555p-3, 0x1.00000021f6e2ep-1);
    const f64 p = fused(rest * rest, third, rest);

    return fused(bits_as<f64>(power), p, bits_as<f64>(power));
}

#else

DEV f64 exp_f64(f64 x)
{
    return exp(x);
}

#endif
