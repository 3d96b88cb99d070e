/*
 * vector_add.hip - c[i] = a[i] + b[i], the smallest complete kernel
 *
 * a, b  n f32 each; c  n f32, may be a or b. Any grid and block.
 */
#include "map.h"

KERNEL vector_add(const float *a, const float *b, float *c, u32 n)
{
    map_binary(n, 0, nullptr, a, b, c,
               [](float x, float y) -> float { return x + y; });
}
