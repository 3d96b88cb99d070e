/* dot4.h - c plus the four products of the signed bytes of two words */
#pragma once

#include "device.h"

#if KPK_NVIDIA
constexpr bool has_dot4 = true;

DEV int dot4(u32 a, u32 b, int c)
{
    return __dp4a((int)a, (int)b, c);
}
#elif KPK_TARGET_DOT4 == 1
constexpr bool has_dot4 = true;

DEV int dot4(u32 a, u32 b, int c)
{
    return __builtin_amdgcn_sdot4((int)a, (int)b, c, false);
}
#elif KPK_TARGET_DOT4 == 2
constexpr bool has_dot4 = true;

DEV int dot4(u32 a, u32 b, int c)
{
    return __builtin_amdgcn_sudot4(true, (int)a, true, (int)b, c, false);
}
#else
constexpr bool has_dot4 = false;

DEV int dot4(u32 a, u32 b, int c)
{
    UNROLL
    for (int i = 0; i < 32; i += 8)
        c += (i8)(a >> i) * (i8)(b >> i);
    return c;
}
#endif
