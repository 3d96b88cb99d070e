/*
 * im2col.h - im2col and im2col1d: the inputs under each position, in a row
 *
 * x    [b, c, h, w], strided
 * dst  [b, h_out, w_out, c, h_k, w_k], contiguous; 0 where x has nothing
 *
 * A row is the same walk over taps for every position. A block keeps where the
 * taps lie in LDS, and the same for some positions at a time: an input's place
 * is a sum of two entries. A thread has one tap of several positions, one after
 * the other, so there is nothing to divide. Neighbouring threads write
 * neighbouring outputs; neighbouring positions find their inputs in the cache.
 */
#pragma once

#include "conv/image_tile.h"

/* A tap is a channel and a kernel element; place: offset from the first tap's
 */
struct Tap {
    u32 place, h, w;
};

/* position: its first tap's place and coordinates, perhaps outside the image */
struct Position {
    i64 place;
    i32 h, w;
};

/*
 * Positions at a time: few enough that every block has some, but at least 16,
 * because listing the taps takes two divisions each.
 */
constexpr u32 most_taps = 1024, most_positions = 64, few_positions = 16;

struct ColumnTables {
    Tap tap[most_taps];
    Position position[most_positions];
};

/* whether a tap's place fits 32 bits, and so do the coordinates */
DEV bool taps_are_small(const Conv &v)
{
    constexpr u64 half = 1ull << 29;

    return v.is_small() && v.x.sc < half && v.x.sh < half && v.x.sw < half &&
           fits_u32(v.x.c * v.x.sc + v.w.kh * v.dilation * v.x.sh +
                    v.w.kw * v.dilation * v.x.sw);
}

/* lists n taps of each row, from `first` on */
DEV void list_taps(const Conv &v, u32 first, u32 n, Tap *tap)
{
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
        const u32 kw = (u32)v.w.kw, kh = (u32)v.w.kh, k = first + i;
        const u32 row = k / kw, c = row / kh;
        const u32 h = v.flat ? 0 : (row - c * kh) * (u32)v.dilation;
        const u32 w = (k - row * kw) * (u32)v.dilation;

        tap[i] = {c * (u32)v.x.sc + h * (u32)v.x.sh + w * (u32)v.x.sw, h, w};
    }
}

/* lists n positions from `first` on, counted over all images */
DEV void list_positions(const Conv &v, u64 first, u32 n, Position *position)
{
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
        u64 b = first + i;
        const i32 w = (i32)take(b, v.w_out), h = (i32)take(b, v.h_out);
        const i32 stride = (i32)v.stride, padding = (i32)v.padding;
        Position p;

        p.h = v.flat ? 0 : h * stride - padding;
        p.w = w * stride - padding;
        p.place = (i64)(b * v.x.sb) + p.h * (i64)v.x.sh + p.w * (i64)v.x.sw;
        position[i] = p;
    }
}

/*
 * Writes `taps` taps of `positions` listed positions to rows of `row` outputs.
 * If there are more threads than taps, teams of threads share the positions.
 */
template <typename T>
DEV void write_columns(const ColumnTables &tables, const Conv &v, u32 taps,
                       u32 positions, u64 row, const T *RESTRICT x, T *dst)
{
    constexpr u32 batch = 4;
    const u32 threads = blockDim.x, teams = max_of(threads / taps, 1u);
    const u32 team = teams > 1 ? threadIdx.x / taps : 0;
    const u32 height = (u32)v.x.h, width = (u32)v.x.w;

    if (team >= teams)
        return;
    for (u32 k = threadIdx.x - team * taps; k < taps; k += threads) {
        const Tap tap = tables.tap[k];
        T *to = dst + team * row + k;

        for (u32 p = team; p < positions; p += batch * teams) {
            T value[batch];

            UNROLL
            for (u32 i = 0; i < batch; i++) {
                const u32 q = p + i * teams;
                const Position &at = tables.position[q < positions ? q : p];

                value[i] = T{};
                if ((u32)at.h + tap.h < height && (u32)at.w + tap.w < width &&
                    q < positions)
                    value[i] = x[at.place + tap.place];
            }
            UNROLL
            for (u32 i = 0; i < batch; i++, to += teams * row)
                if (p + i * teams < positions)
                    *to = value[i];
        }
    }
}

/* element by element: for images that do not fit 32 bits */
template <typename T>
DEV void im2col_by_points(const TileBlocks &blocks, const Conv &v, const T *x,
                          T *dst)
{
    const u64 n = v.x.b * v.h_out * v.w_out * v.x.c * v.w.kh * v.w.kw;

    for (u64 i = blocks.thread(); i < n; i += blocks.threads()) {
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

/* im2col of few outputs, element by element with 32-bit offsets: making a list
 * would take longer */
template <typename T>
DEV void im2col_small(const Conv &v, u32 n, const T *x, T *dst)
{
    const u32 k_h = (u32)v.w.kh, k_w = (u32)v.w.kw, channels = (u32)v.x.c;
    const u32 w_out = (u32)v.w_out, h_out = (u32)v.h_out;

    for (u32 i = (u32)global_thread(); i < n; i += (u32)global_threads()) {
        const u32 row = i / k_w, kw = i - row * k_w;
        const u32 plane = row / k_h, kh = row - plane * k_h;
        const u32 place = plane / channels, c = plane - place * channels;
        const u32 line = place / w_out, w = place - line * w_out;
        const u32 b = line / h_out, h = line - b * h_out;
        const u64 qh = v.flat ? 0 : h * v.stride + kh * v.dilation - v.padding;
        const u64 qw = w * v.stride + kw * v.dilation - v.padding;

        dst[i] = qh < v.x.h && qw < v.x.w /* below 0: huge */
                     ? x[b * v.x.sb + c * v.x.sc + qh * v.x.sh + qw * v.x.sw]
                     : T{};
    }
}

template <typename T>
DEV void image_to_columns(const TileBlocks &blocks, const Conv &conv,
                          const T *x, T *dst)
{
    __shared__ ColumnTables tables;
    __shared__ Conv kept[1];
    const Conv &v = kept[opaque_zero()];

    if (threadIdx.x == 0)
        kept[0] = conv;
    __syncthreads();

    const u64 row = v.x.c * v.w.kh * v.w.kw, rows = v.x.b * v.h_out * v.w_out;

    if (row == 0 || rows == 0)
        return;
    if (is_small_grid<1>() && row * rows <= 4 * global_threads()) {
        im2col_small(v, (u32)(row * rows), x, dst);
        return;
    }
    if (!taps_are_small(v)) {
        im2col_by_points(blocks, v, x, dst);
        return;
    }
    const u32 each = (u32)min_of<u64>(
        max_of<u64>(div_up(rows, (u64)blocks.count), few_positions),
        most_positions);

    for (u64 first = 0; first < row; first += most_taps) {
        const u32 taps = (u32)min_of<u64>(row - first, most_taps);

        __syncthreads();
        list_taps(v, (u32)first, taps, tables.tap);
        for (u64 p = (u64)blocks.number * each; p < rows;
             p += (u64)blocks.count * each) {
            const u32 n = (u32)min_of<u64>(rows - p, each);

            __syncthreads();
            list_positions(v, p, n, tables.position);
            __syncthreads();
            write_columns(tables, v, taps, n, row, x, dst + p * row + first);
        }
    }
}
