/* known.h - rounding of numbers whose NaNs are known */
#pragma once

#include "device.h"

/*
 * v as a T, once rounded, where a NaN can only be one that was a T: no low bit
 * of such a NaN carries into its high ones. AMD's instructions pass on a NaN's
 * bits, or give a NaN without low bits.
 */
template <typename T> DEV T convert_known(f32 v)
{
    return convert<T>(v);
}
#if !KPK_NVIDIA && !defined(__gfx950__) /* it has an instruction */
template <> inline __device__ bf16 convert_known<bf16>(f32 v)
{
    const u32 b = bits_as<u32>(v);

    return bf16{(u16)((b + 0x7fffu + (b >> 16 & 1u)) >> 16)};
}
#endif
