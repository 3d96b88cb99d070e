/*
 * philox.h - Philox 4x32-10, random numbers by counter
 *
 * Salmon, Moraes, Dror and Shaw, 'Parallel Random Numbers: As Easy as 1, 2, 3',
 * 2011: ten rounds of two multiplications over a counter of four words, under a
 * key of two. Any counter can be asked for at any time.
 */
#pragma once

#include "device.h"

/* nvcc adds zeros to the product of two widened numbers */
DEV u64 wide_product(u32 a, u32 b)
{
#if KPK_NVIDIA
    u64 p;

    asm("mul.wide.u32 %0, %1, %2;" : "=l"(p) : "r"(a), "r"(b));
    return p;
#else
    return (u64)a * b;
#endif
}

/* Words of counter `low` and `high` under key `seed`. */
DEV Pack<u32, 4> philox(u64 seed, u64 low, u64 high)
{
    Pack<u32, 4> c = {(u32)low, (u32)(low >> 32), (u32)high, (u32)(high >> 32)};
    u32 key0 = (u32)seed, key1 = (u32)(seed >> 32);

    UNROLL
    for (u32 round = 0; round < 10; round++) {
        const u64 p0 = wide_product(0xd2511f53u, c[0]);
        const u64 p1 = wide_product(0xcd9e8d57u, c[2]);

        c = {(u32)(p1 >> 32) ^ c[1] ^ key0, (u32)p1,
             (u32)(p0 >> 32) ^ c[3] ^ key1, (u32)p0};
        key0 += 0x9e3779b9u; /* the golden ratio */
        key1 += 0xbb67ae85u; /* sqrt(3) - 1 */
    }
    return c;
}

/* 64 bits; the upper 32 are the word for smaller types */
DEV u64 wide_word(const Pack<u32, 4> &words, const Pack<u32, 4> &more, u32 i)
{
    return (u64)words[i] << 32 | more[i];
}
