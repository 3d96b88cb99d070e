/* views.h - strided images and kernels, and the types of a convolution's
 * sums */
#pragma once

#include "conv/axis.h"

/* x [b, c, h, w]; h = 1 for one-dimensional images */
struct Image {
    u64 b, c, h, w;
    u64 sb, sc, sh, sw;
};

/* w by output channel, input channel and kernel place */
struct Filter {
    u64 outputs, kh, kw;
    u64 so, sc, sh, sw;
};

/* info: dims[3], strides[3] */
DEV Image image_1d(const size_t *info)
{
    return {info[0], info[1], 1, info[2], info[3], info[4], 0, info[5]};
}

/* info: dims[4], strides[4] */
DEV Image image_2d(const size_t *info)
{
    return {info[0], info[1], info[2], info[3],
            info[4], info[5], info[6], info[7]};
}

/* info behind the image's; [outputs, c, k], or [c, outputs, k] if transposed */
DEV Filter filter_1d(const size_t *info, bool transposed)
{
    const u32 o = transposed ? 1 : 0;

    return {info[o], 1, info[2], info[3 + o], info[4 - o], 0, info[5]};
}

DEV Filter filter_2d(const size_t *info, bool transposed)
{
    const u32 o = transposed ? 1 : 0;

    return {info[o],     info[2], info[3], info[4 + o],
            info[5 - o], info[6], info[7]};
}

/* sums of products of T; u8 and u32 wrap, so low bits are all that counts */
template <typename T> struct sums {
    using type = u32;
};
template <> struct sums<f16> {
    using type = f32;
};
template <> struct sums<bf16> {
    using type = f32;
};
template <> struct sums<f32> {
    using type = f32;
};
template <> struct sums<f64> {
    using type = f64;
};
template <typename T> using sum_t = typename sums<T>::type;

/* the type in which a mean of T is scaled */
template <typename T> struct scale_of {
    using type = f32;
};
template <> struct scale_of<f64> {
    using type = f64;
};
