/* pixel.h - what the kernels of pack image know of pixels */
#pragma once
#include <hip/hip_runtime.h>

template <typename T> __device__ T clamp_to(T x, T most)
{
    return x < most ? x : most;
}
