/*
 * plain_conv.hip - the image kernels written the plain way, to compare with
 *
 * One thread an output, loops over the terms, indices in size_t, no shared
 * memory: what a reader would write first, and the shape of candle's CUDA
 * kernels. f32 alone; names and arguments are those of the pack's kernels.
 */
#include "device.h"

struct Place {
    size_t b, c, h, w; /* of an output */
};

/* false past the last output */
DEV bool find_place(size_t b, size_t c, size_t h, size_t w, Place &p)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

    p.w = i % w;
    p.h = i / w % h;
    p.c = i / (w * h) % c;
    p.b = i / (w * h * c);
    return p.b < b;
}

DEV float conv_sum(const size_t *info, const float *x, const float *k,
                   size_t stride, size_t padding, size_t dilation,
                   const Place &p)
{
    const size_t *xs = info + 4, *kd = info + 8, *ks = info + 12;
    float sum = 0;

    for (size_t kw = 0; kw < kd[3]; kw++)
        for (size_t kh = 0; kh < kd[2]; kh++) {
            const size_t h = p.h * stride + kh * dilation - padding;
            const size_t w = p.w * stride + kw * dilation - padding;

            if (h >= info[2] || w >= info[3]) /* below 0: huge */
                continue;
            for (size_t c = 0; c < info[1]; c++)
                sum += x[p.b * xs[0] + c * xs[1] + h * xs[2] + w * xs[3]] *
                       k[p.c * ks[0] + c * ks[1] + kh * ks[2] + kw * ks[3]];
        }
    return sum;
}

KERNEL conv2d_f32(size_t, size_t w_out, size_t h_out, size_t stride,
                  size_t padding, size_t dilation, const size_t *info,
                  const float *x, const float *k, float *y)
{
    Place p;

    if (find_place(info[0], info[8], h_out, w_out, p))
        y[global_thread()] = conv_sum(info, x, k, stride, padding, dilation, p);
}

/* info: x dims[3], strides[3], kernel dims[3], strides[3] */
KERNEL conv1d_f32(size_t, size_t l_out, size_t stride, size_t padding,
                  size_t dilation, const size_t *info, const float *x,
                  const float *k, float *y)
{
    const size_t *xs = info + 3, *kd = info + 6, *ks = info + 9;
    Place p;
    float sum = 0;

    if (!find_place(info[0], kd[0], 1, l_out, p))
        return;
    for (size_t n = 0; n < kd[2]; n++) {
        const size_t l = p.w * stride + n * dilation - padding;

        if (l >= info[2])
            continue;
        for (size_t c = 0; c < info[1]; c++)
            sum += x[p.b * xs[0] + c * xs[1] + l * xs[2]] *
                   k[p.c * ks[0] + c * ks[1] + n * ks[2]];
    }
    y[global_thread()] = sum;
}

/* whether tap n reaches output t, and from which input */
DEV bool transposed_input(size_t t, size_t n, size_t stride, size_t padding,
                          size_t dilation, size_t length, size_t &input)
{
    const size_t at = t + padding - n * dilation; /* below 0: huge */

    input = at / stride;
    return t + padding >= n * dilation && at % stride == 0 && input < length;
}

KERNEL conv_transpose2d_f32(size_t, size_t w_out, size_t h_out, size_t stride,
                            size_t padding, size_t, size_t dilation,
                            const size_t *info, const float *x, const float *k,
                            float *y)
{
    const size_t *xs = info + 4, *kd = info + 8, *ks = info + 12;
    Place p;
    float sum = 0;

    if (!find_place(info[0], kd[1], h_out, w_out, p))
        return;
    for (size_t kw = 0; kw < kd[3]; kw++)
        for (size_t kh = 0; kh < kd[2]; kh++) {
            size_t h, w;

            if (!transposed_input(p.h, kh, stride, padding, dilation, info[2],
                                  h) ||
                !transposed_input(p.w, kw, stride, padding, dilation, info[3],
                                  w))
                continue;
            for (size_t c = 0; c < info[1]; c++)
                sum += x[p.b * xs[0] + c * xs[1] + h * xs[2] + w * xs[3]] *
                       k[c * ks[0] + p.c * ks[1] + kh * ks[2] + kw * ks[3]];
        }
    y[global_thread()] = sum;
}

KERNEL conv_transpose1d_f32(size_t, size_t l_out, size_t stride, size_t padding,
                            size_t, size_t dilation, const size_t *info,
                            const float *x, const float *k, float *y)
{
    const size_t *xs = info + 3, *kd = info + 6, *ks = info + 9;
    Place p;
    float sum = 0;

    if (!find_place(info[0], kd[1], 1, l_out, p))
        return;
    for (size_t n = 0; n < kd[2]; n++) {
        size_t l;

        if (!transposed_input(p.w, n, stride, padding, dilation, info[2], l))
            continue;
        for (size_t c = 0; c < info[1]; c++)
            sum += x[p.b * xs[0] + c * xs[1] + l * xs[2]] *
                   k[c * ks[0] + p.c * ks[1] + n * ks[2]];
    }
    y[global_thread()] = sum;
}

KERNEL im2col_f32(size_t n, size_t h_out, size_t w_out, size_t h_k, size_t w_k,
                  size_t stride, size_t padding, size_t dilation,
                  const size_t *info, const float *x, float *dst)
{
    const size_t i = global_thread(), *xs = info + 4;

    if (i >= n)
        return;
    const size_t kw = i % w_k, kh = i / w_k % h_k;
    const size_t row = i / (w_k * h_k), c = row % info[1];
    const size_t p = row / info[1];
    const size_t h = p / w_out % h_out * stride + kh * dilation - padding;
    const size_t w = p % w_out * stride + kw * dilation - padding;

    dst[i] =
        h < info[2] && w < info[3]
            ? x[p / (w_out * h_out) * xs[0] + c * xs[1] + h * xs[2] + w * xs[3]]
            : 0;
}

template <typename F>
DEV float over_window(const size_t *info, const float *x, size_t k2, size_t k3,
                      size_t stride2, size_t stride3, const Place &p, F f)
{
    const size_t *xs = info + 4;
    const float *at = x + p.b * xs[0] + p.c * xs[1] + p.h * stride2 * xs[2] +
                      p.w * stride3 * xs[3];
    float v = *at;

    for (size_t h = 0; h < k2; h++)
        for (size_t w = 0; w < k3; w++)
            if (h + w > 0)
                v = f(v, at[h * xs[2] + w * xs[3]]);
    return v;
}

#define POOL(name, combined, result)                                           \
    KERNEL name(size_t, size_t k2, size_t k3, size_t stride2, size_t stride3,  \
                const size_t *info, const float *x, float *y)                  \
    {                                                                          \
        Place p;                                                               \
                                                                               \
        if (!find_place(info[0], info[1], (info[2] - k2) / stride2 + 1,        \
                        (info[3] - k3) / stride3 + 1, p))                      \
            return;                                                            \
        const float v =                                                        \
            over_window(info, x, k2, k3, stride2, stride3, p,                  \
                        [](float a, float b) { return combined; });            \
        y[global_thread()] = result;                                           \
    }
POOL(avg_pool2d_f32, a + b, v / (float)(k2 * k3))
POOL(max_pool2d_f32, a > b ? a : b, v)

KERNEL upsample_nearest2d_f32(size_t out2, size_t out3, double scale2,
                              double scale3, const size_t *info, const float *x,
                              float *y)
{
    const size_t *xs = info + 4;
    Place p;

    if (!find_place(info[0], info[1], out2, out3, p))
        return;
    const size_t h = min_of((size_t)((double)p.h * scale2), info[2] - 1);
    const size_t w = min_of((size_t)((double)p.w * scale3), info[3] - 1);

    y[global_thread()] = x[p.b * xs[0] + p.c * xs[1] + h * xs[2] + w * xs[3]];
}

/* corners not aligned, no scale given */
DEV double place_between(size_t i, size_t in, size_t out, size_t &lower,
                         size_t &upper)
{
    const double at =
        fmax(0.0, ((double)i + 0.5) * ((double)in / (double)out) - 0.5);

    lower = min_of((size_t)at, in - 1);
    upper = min_of(lower + 1, in - 1);
    return at - (double)lower;
}

KERNEL upsample_bilinear2d_f32(size_t w_out, size_t h_out, bool, bool, double,
                               bool, double, const size_t *info, const float *x,
                               float *y)
{
    const size_t *xs = info + 4;
    size_t h0, h1, w0, w1;
    Place p;

    if (!find_place(info[0], info[1], h_out, w_out, p))
        return;
    const double wh = place_between(p.h, info[2], h_out, h0, h1);
    const double ww = place_between(p.w, info[3], w_out, w0, w1);
    const float *at = x + p.b * xs[0] + p.c * xs[1];
    const double top = (double)at[h0 * xs[2] + w0 * xs[3]] * (1 - ww) +
                       (double)at[h0 * xs[2] + w1 * xs[3]] * ww;
    const double bottom = (double)at[h1 * xs[2] + w0 * xs[3]] * (1 - ww) +
                          (double)at[h1 * xs[2] + w1 * xs[3]] * ww;

    y[global_thread()] = (float)(top * (1 - wh) + bottom * wh);
}
