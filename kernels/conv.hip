/*
 * conv.hip - convolutions, im2col, pooling and upsampling
 *
 * The header with a kernel's body gives its function, its shapes and accepted
 * grids. The host launches a thread for each output (for im2col1d, for each l_k
 * outputs), 1024 a block. src_numel, out_padding and n_threads say nothing that
 * the views do not.
 */
#include "conv/col2im.h"
#include "conv/direct.h"
#include "conv/im2col.h"
#include "conv/pool.h"
#include "conv/upsample.h"

/* declares `blocks`, and is the end of a block that has no tiles */
#define TILE_BLOCKS                                                            \
    const TileBlocks blocks;                                                   \
    if (!blocks.stays)                                                         \
    return

/* The same for kernels of which a multiprocessor of NVIDIA holds one block. */
#define CONV_BLOCKS                                                            \
    const TileBlocks blocks(KPK_NVIDIA ? 8 : 9);                               \
    if (!blocks.stays)                                                         \
    return

#define CONV_TABLE(T)                                                          \
    KERNEL conv1d_##T(size_t src_numel, size_t l_out, size_t stride,           \
                      size_t padding, size_t dilation, const size_t *info,     \
                      const T *src, const T *kernel, T *dst)                   \
    {                                                                          \
        (void)src_numel;                                                       \
        CONV_BLOCKS;                                                           \
        convolve<false>(blocks,                                                \
                        Conv{image_1d(info), filter_1d(info + 6, false), 1,    \
                             l_out, stride, padding, dilation, false, true},   \
                        src, kernel, dst);                                     \
    }                                                                          \
    KERNEL conv2d_##T(size_t src_numel, size_t w_out, size_t h_out,            \
                      size_t stride, size_t padding, size_t dilation,          \
                      const size_t *info, const T *src, const T *kernel,       \
                      T *dst)                                                  \
    {                                                                          \
        (void)src_numel;                                                       \
        CONV_BLOCKS;                                                           \
        convolve<false>(blocks,                                                \
                        Conv{image_2d(info), filter_2d(info + 8, false),       \
                             h_out, w_out, stride, padding, dilation, false,   \
                             false},                                           \
                        src, kernel, dst);                                     \
    }                                                                          \
    KERNEL conv_transpose1d_##T(size_t src_numel, size_t l_out, size_t stride, \
                                size_t padding, size_t out_padding,            \
                                size_t dilation, const size_t *info,           \
                                const T *src, const T *kernel, T *dst)         \
    {                                                                          \
        (void)src_numel;                                                       \
        (void)out_padding;                                                     \
        CONV_BLOCKS;                                                           \
        convolve<true>(blocks,                                                 \
                       Conv{image_1d(info), filter_1d(info + 6, true), 1,      \
                            l_out, stride, padding, dilation, true, true},     \
                       src, kernel, dst);                                      \
    }                                                                          \
    KERNEL conv_transpose2d_##T(                                               \
        size_t src_numel, size_t w_out, size_t h_out, size_t stride,           \
        size_t padding, size_t out_padding, size_t dilation,                   \
        const size_t *info, const T *src, const T *kernel, T *dst)             \
    {                                                                          \
        (void)src_numel;                                                       \
        (void)out_padding;                                                     \
        CONV_BLOCKS;                                                           \
        convolve<true>(blocks,                                                 \
                       Conv{image_2d(info), filter_2d(info + 8, true), h_out,  \
                            w_out, stride, padding, dilation, true, false},    \
                       src, kernel, dst);                                      \
    }                                                                          \
    KERNEL_PAIRED im2col1d_##T(size_t n_threads, size_t l_out, size_t l_k,     \
                               size_t stride, size_t padding, size_t dilation, \
                               const size_t *info, const T *src, T *dst)       \
    {                                                                          \
        (void)n_threads;                                                       \
        TILE_BLOCKS;                                                           \
        image_to_columns(blocks,                                               \
                         Conv{image_1d(info), Filter{1, 1, l_k, 0, 0, 0, 0},   \
                              1, l_out, stride, padding, dilation, false,      \
                              true},                                           \
                         src, dst);                                            \
    }                                                                          \
    KERNEL_PAIRED im2col_##T(size_t dst_numel, size_t h_out, size_t w_out,     \
                             size_t h_k, size_t w_k, size_t stride,            \
                             size_t padding, size_t dilation,                  \
                             const size_t *info, const T *src, T *dst)         \
    {                                                                          \
        (void)dst_numel;                                                       \
        TILE_BLOCKS;                                                           \
        image_to_columns(blocks,                                               \
                         Conv{image_2d(info), Filter{1, h_k, w_k, 0, 0, 0, 0}, \
                              h_out, w_out, stride, padding, dilation, false,  \
                              false},                                          \
                         src, dst);                                            \
    }                                                                          \
    KERNEL col2im1d_##T(size_t dst_el, size_t l_out, size_t l_in,              \
                        size_t c_out, size_t k_size, size_t stride,            \
                        const T *src, T *dst)                                  \
    {                                                                          \
        columns_to_signal(dst_el, l_out, l_in, c_out, k_size, stride, src,     \
                          dst);                                                \
    }                                                                          \
    KERNEL_PAIRED avg_pool2d_##T(size_t src_numel, size_t w_k, size_t h_k,     \
                                 size_t w_stride, size_t h_stride,             \
                                 const size_t *info, const T *src, T *dst)     \
    {                                                                          \
        (void)src_numel;                                                       \
        pool<average>(w_k, h_k, w_stride, h_stride, info, src, dst);           \
    }                                                                          \
    KERNEL_PAIRED max_pool2d_##T(size_t src_numel, size_t w_k, size_t h_k,     \
                                 size_t w_stride, size_t h_stride,             \
                                 const size_t *info, const T *src, T *dst)     \
    {                                                                          \
        (void)src_numel;                                                       \
        pool<maximum>(w_k, h_k, w_stride, h_stride, info, src, dst);           \
    }                                                                          \
    KERNEL_PAIRED upsample_nearest2d_##T(                                      \
        size_t w_out, size_t h_out, double w_scale, double h_scale,            \
        const size_t *info, const T *src, T *dst)                              \
    {                                                                          \
        upsample_nearest(w_out, h_out, w_scale, h_scale, info, src, dst);      \
    }                                                                          \
    KERNEL upsample_bilinear2d_##T(                                            \
        size_t w_out, size_t h_out, bool align_corners, bool has_scale_h,      \
        double scale_h, bool has_scale_w, double scale_w, const size_t *info,  \
        const T *src, T *dst)                                                  \
    {                                                                          \
        upsample_bilinear(w_out, h_out, align_corners, has_scale_h, scale_h,   \
                          has_scale_w, scale_w, info, src, dst);               \
    }

CONV_TABLE(bf16)
CONV_TABLE(f16)
CONV_TABLE(f32)
CONV_TABLE(f64)
CONV_TABLE(u8)
CONV_TABLE(u32)
