/* known.h - rounding of numbers whose NaNs are known */
#pragma once

#include "device.h"

/*
 * v rounded once to T, for v whose NaNs all come from a T: the low bits of such
 * a NaN do not carry into its high bits. AMD's instructions pass on a NaN's
 * bits, or give a NaN without low bits.
 */
template <typename T> DEV T convert_known(f32 v)
{
    return convert<T>(v);
}
#if !KPK_NVIDIA && !KPK_TARGET_BF16
template <> inline __device__ bf16 convert_known<bf16>(f32 v)
{
    const u32 b = bits_as<u32>(v);

    return bf16{(u16)((b + 0x7fffu + (b >> 16 & 1u)) >> 16)};
}
#endif
