/*
 * im2col.h - im2col and im2col1d: the inputs under each position, in a row
 *
 * x    [b, c, h, w], strided
 * dst  [b, h_out, w_out, c, h_k, w_k], contiguous; 0 where x has nothing
 * A block takes tiles of positions: it brings the image under a tile to LDS,
 * coalesced, each input about once, and writes the rows from there, coalesced.
 */
#pragma once

#include "conv/tile.h"

constexpr u32 row_piece = 4096; /* elements of a row at a time, at most */

template <typename T>
DEV void write_rows(const Work &at, const T *image, T *dst)
{
    const u32 each = at.nc * at.kh * at.kw;
    const Divisor by_row(each), by_w(at.kw), by_h(at.kh);
    const u32 n = each << (at.log_w + at.log_h + at.log_b);
    const u32 plane = at.sh.extent * at.sw.extent;

    for (u32 e = threadIdx.x; e < n; e += blockDim.x) {
        const u32 p = by_row.divide(e), k = e - p * each;
        const u32 ck = by_w.divide(k), c = by_h.divide(ck);
        const u32 tap_h = ck - c * by_h.d, tap_w = k - ck * by_w.d;
        const u32 h = p >> at.log_w & ((1u << at.log_h) - 1);
        const u32 w = p & ((1u << at.log_w) - 1);
        const u32 image_b = p >> (at.log_w + at.log_h);
        const u32 ih = (u32)at.i0h + h, iw = (u32)at.i0w + w;
        const u64 b = at.b0 + image_b;

        if (ih >= at.v.h_out || iw >= at.v.w_out || b >= at.v.x.b)
            continue;
        const u64 row = (b * at.v.h_out + ih) * at.v.w_out + iw;
        const u32 from =
            (image_b * at.nc + c) * plane +
            (h * at.sh.pace + tap_h * (u32)at.sh.reach) * at.sw.extent +
            w * at.sw.pace + tap_w * (u32)at.sw.reach;

        dst[((row * at.v.x.c + at.c0 + c) * at.v.w.kh + (u32)at.nh + tap_h) *
                at.v.w.kw +
            (u32)at.nw + tap_w] = image[from];
    }
}

/* element by element: for images that do not fit 32 bits */
template <typename T>
DEV void im2col_by_points(const Conv &v, const T *x, T *dst)
{
    const u64 n = v.x.b * v.h_out * v.w_out * v.x.c * v.w.kh * v.w.kw;

    for (u64 i = global_thread(); i < n; i += global_threads()) {
        forget_memory();
        u64 rest = i;
        const u64 kw = take(rest, v.w.kw), kh = take(rest, v.w.kh);
        const u64 c = take(rest, v.x.c), w = take(rest, v.w_out);
        const u64 h = take(rest, v.h_out);
        const u64 qh = v.flat ? 0 : h * v.stride + kh * v.dilation - v.padding;
        const u64 qw = w * v.stride + kw * v.dilation - v.padding;

        dst[i] = qh < v.x.h && qw < v.x.w /* below 0: huge */
                     ? x[rest * v.x.sb + c * v.x.sc + qh * v.x.sh + qw * v.x.sw]
                     : T{};
    }
}

template <typename T>
DEV void image_to_columns(const Conv &v, const T *x, T *dst)
{
    constexpr u32 image_most = image_bytes / sizeof(T);
    alignas(16) __shared__ T image[image_most];
    __shared__ Work work[1];
    Work &at = work[opaque_zero()];

    if (threadIdx.x == 0)
        at.begin(v);
    __syncthreads();
    if (!at.v.is_small()) {
        im2col_by_points(at.v, x, dst);
        return;
    }
    if (threadIdx.x == 0) {
        at.row = 1;
        at.shape_tiles_of(128, 1);
        if (at.tiles < enough_tiles)
            at.shape_tiles_of(32, 1);
    }
    __syncthreads();
    const u64 tiles = at.tiles;

    for (u64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        if (threadIdx.x == 0)
            at.begin_tile(tile, image_most, row_piece);
        __syncthreads();
        while (uniform(at.more)) {
            load_image(at, x, image);
            __syncthreads();
            write_rows(at, image, dst);
            __syncthreads();
            if (threadIdx.x == 0)
                at.next_piece(image_most, row_piece);
            __syncthreads();
        }
        __syncthreads(); /* all have seen that there is no more */
    }
}
