/*
 * image_tile.h - tiles of an image in LDS, for convolutions and im2col
 *
 * A tile is a block of output positions: images * rows * columns, powers of
 * two. LDS holds a piece of it at a time: some input channels, and the inputs
 * that some taps of the kernel reach from the tile's positions. Along an axis
 * LDS holds all inputs from the first to the last that are needed, or, where
 * the stride leaves more gaps than there are taps, the needed ones only.
 *
 * Thread 0 works out the numbers that all threads share (sizes, strides, the
 * current tile and piece) and keeps them in LDS (Work): registers are for the
 * results.
 */
#pragma once

#include "conv/views.h"
#include "walk.h"

constexpr u32 image_bytes = 21504, filter_bytes = 19968;
constexpr u32 slab_bytes = 46 * 1024; /* NVIDIA's: image, filter, more */
constexpr u32 lanes = 32;
constexpr u32 tile_columns = 64;   /* short halos, whole memory segments */
constexpr u32 channel_groups = 16; /* at most so many share a tile's image */

/* ways to convolve, see Work::choose_way() */
enum {
    by_points,
    by_lanes,
    by_split_tiles,
    by_small_tiles,
    by_large_tiles,
    by_matrix,
    by_far_points /* beyond 32 bits */
};

struct Conv {
    Image x;
    Filter w;
    u64 h_out, w_out;
    u64 stride, padding, dilation;
    bool transposed;
    bool flat; /* one-dimensional: stride, padding, dilation apply to w only */

    /*
     * Whether coordinates, and offsets within a tile's input, fit 32 bits. It
     * is true for every image that fits a GPU's memory twice.
     */
    DEV_MEMBER bool is_small() const
    {
        constexpr u64 half = 1ull << 29, most_channels = 8192,
                      most_images = 512;
        const u64 channels = min_of(x.c, most_channels);

        return (x.b | x.c | w.outputs | padding | stride | dilation) < half &&
               axis_is_small(x.h, h_out, w.kh) &&
               axis_is_small(x.w, w_out, w.kw) &&
               (x.h <= 1 || fits_u32(x.h * x.sh * 4)) &&
               fits_u32(x.w * x.sw * 4) && fits_u32(channels * x.sc * 4) &&
               fits_u32(min_of(x.b, most_images) * x.sb * 4) &&
               fits_u32(w.outputs * w.so * 4) && fits_u32(x.c * w.sc * 4) &&
               fits_u32(w.kh * w.sh * 4) && fits_u32(w.kw * w.sw * 4);
    }
    DEV_MEMBER bool axis_is_small(u64 length, u64 outputs, u64 k) const
    {
        constexpr u64 half = 1ull << 29;

        return length < half && outputs < half && k < half &&
               (outputs + 2048) * stride < half && (k + 2048) * dilation < half;
    }
    /* whether the image has all taps of all positions, if not transposed */
    DEV_MEMBER bool is_inside() const
    {
        return padding == 0 &&
               (h_out - 1) * stride + (w.kh - 1) * dilation < x.h &&
               (w_out - 1) * stride + (w.kw - 1) * dilation < x.w;
    }
    /* number of Axis objects that share the outputs of an axis */
    DEV_MEMBER u64 remainders_h() const
    {
        return transposed && !flat ? min_of(stride, h_out) : 1;
    }
    DEV_MEMBER u64 remainders_w() const
    {
        return transposed ? min_of(stride, w_out) : 1;
    }
    template <typename I> DEV_MEMBER Axis<I> axis_h(u64 remainder) const
    {
        if (flat)
            return plain_axis<I>(1, 1, 1, 1, 0, 1);
        return axis<I>(x.h, h_out, w.kh, remainder);
    }
    template <typename I> DEV_MEMBER Axis<I> axis_w(u64 remainder) const
    {
        return axis<I>(x.w, w_out, w.kw, remainder);
    }
    template <typename I>
    DEV_MEMBER Axis<I> axis(u64 length, u64 outputs, u64 k, u64 remainder) const
    {
        if (transposed)
            return transposed_axis<I>((I)length, (I)outputs, (I)k, (I)stride,
                                      (I)padding, (I)dilation, (I)remainder);
        return plain_axis<I>((I)length, (I)outputs, (I)k, (I)stride, (I)padding,
                             (I)dilation);
    }
};

/*
 * The blocks that compute tiles. The host launches a thread for each output,
 * but a tile has thousands of outputs. So in a large grid one block in 2^shift
 * stays, which fills a GPU, and the others leave at once. Blocks that stay form
 * runs: see walk.h.
 */
struct TileBlocks : Blocks {
    DEV_MEMBER explicit TileBlocks(u32 log_enough = 9)
        : Blocks(shift_of((u32)gridDim.x >> log_enough))
    {
    }
    static DEV_MEMBER u32 shift_of(u32 times)
    {
        return times > 1 ? 31 - (u32)__clz((int)times) : 0;
    }
    DEV_MEMBER u64 thread() const
    {
        return (u64)number * (u32)blockDim.x + (u32)threadIdx.x;
    }
    DEV_MEMBER u64 threads() const
    {
        return (u64)count * (u32)blockDim.x;
    }
};

DEV u32 power_of_two_up_to(u64 n, u32 most)
{
    u32 p = 1;

    while (p < most && p < n)
        p *= 2;
    return p;
}

/* Takes the last coordinate off a linear index. */
DEV u64 take(u64 &rest, u64 n)
{
    const u64 q = divide(rest, n), r = rest - q * n;

    rest = q;
    return r;
}

/* how LDS holds one axis under the positions of a tile and some taps */
struct Span {
    u32 extent; /* entries */
    u32 pace;   /* entries from position to position */
    i32 reach;  /* entries from tap to tap */
    u32 start;  /* entry of position 0, tap 0 */
    u32 dense;  /* from first to last input; else position by position */

    /* the input in entry e; the tile begins at position i0, the taps at n0 */
    DEV_MEMBER i32 input(const Axis<i32> &a, u32 log_tile, u32 e, i32 i0,
                         i32 n0) const
    {
        if (dense)
            return a.input(i0, n0) + (i32)e - (i32)start;
        return a.input(i0 + (i32)(e & ((1u << log_tile) - 1)),
                       n0 + (i32)(e >> log_tile));
    }
};

DEV Span make_span(const Axis<i32> &a, u32 tile, u32 taps)
{
    const u32 far = (u32)(a.reach < 0 ? -a.reach : a.reach) * (taps - 1);
    const u32 all = (u32)a.stride * (tile - 1) + far + 1;
    Span s;

    s.dense = all <= tile * taps;
    s.extent = s.dense ? all : tile * taps;
    s.pace = s.dense ? (u32)a.stride : 1;
    s.reach = s.dense ? a.reach : (i32)tile;
    s.start = s.dense && a.reach < 0 ? far : 0;
    return s;
}

/* The convolution and the block's place in it. */
struct Work {
    Conv v;
    u32 xb, xc, xh, xw, wo, wc, wh, ww; /* its strides */
    /* tiles: their shape and their number */
    u32 position_groups, channels; /* 32 positions times PX; all channels */
    u32 splits; /* groups that share an output's terms, see split_terms.h */
    u32 log_w, log_h, log_b; /* positions */
    u32 row;                 /* from tap to tap in the filter, padded */
    u64 tiles_w, tiles_h, tiles_b, tiles_o, tiles;
    /* the tile */
    Axis<i32> ah, aw;
    u32 b0, o0;
    i32 i0h, i0w;
    u32 taps_h, taps_w; /* at most so many at a time */
    u32 odd;            /* a kernel element is infinite or NaN */
    /* the piece: some channels and taps */
    u32 more;
    i32 nh, nw;
    u32 c0, nc, kh, kw;
    u32 channels_at_once;
    Span sh, sw;

    DEV_MEMBER void begin(const Conv &conv)
    {
        v = conv;
        xb = (u32)v.x.sb;
        xc = (u32)v.x.sc;
        xh = (u32)v.x.sh;
        xw = (u32)v.x.sw;
        wo = (u32)v.w.so;
        wc = (u32)v.w.sc;
        wh = (u32)v.w.sh;
        ww = (u32)v.w.sw;
    }
    /* tiles for groups of 32 lanes, a lane PX positions by OC channels */
    DEV_MEMBER_CALLED void shape_tiles(u32 PX, u32 OC)
    {
        const u32 whole = 1u << log2_of(blockDim.x / lanes); /* that work */
        const u32 by =
            power_of_two_up_to(div_up(v.w.outputs, (u64)OC),
                               whole < channel_groups ? whole : channel_groups);

        position_groups = whole / by;
        row = by * OC + 4;
        shape_tiles_of(position_groups * lanes * PX, by * OC);
    }
    /* splits a tile's terms among groups, while each group has enough terms */
    DEV_MEMBER_CALLED void shape_split_tiles(u32 PX, u32 OC)
    {
        constexpr u64 enough_terms = 16;
        const u32 whole = 1u << log2_of(blockDim.x / lanes);

        splits = power_of_two_up_to(
            div_up(v.x.c * v.w.kh * v.w.kw, enough_terms), whole);
        shape_tiles_of(lanes * PX, OC * (whole / splits));
    }
    /* Sets tiles of `positions`, a power of two, by `tile_channels`. */
    DEV_MEMBER void shape_tiles_of(u32 positions, u32 tile_channels)
    {
        const u64 rows = div_up(v.h_out, v.remainders_h());
        const u64 columns = div_up(v.w_out, v.remainders_w());

        /* wider if nothing else can fill a tile */
        const u32 others = power_of_two_up_to(rows * v.x.b, positions);
        const u32 across = max_of(tile_columns, positions / others);

        channels = tile_channels;
        log_w = log2_of(power_of_two_up_to(columns, min_of(positions, across)));
        log_h = log2_of(power_of_two_up_to(rows, positions >> log_w));
        log_b = log2_of(positions) - log_w - log_h;
        tiles_w = div_up(columns, (u64)1 << log_w);
        tiles_h = div_up(rows, (u64)1 << log_h);
        tiles_b = div_up(v.x.b, (u64)1 << log_b);
        tiles_o = div_up(v.w.outputs, (u64)channels);
        tiles = tiles_w * tiles_h * tiles_b * tiles_o * v.remainders_h() *
                v.remainders_w();
    }
    DEV_MEMBER u64 outputs() const
    {
        return v.x.b * v.w.outputs * v.h_out * v.w_out;
    }
    /*
     * Large tiles, if they are enough to fill a GPU. Else a tile's terms are
     * split or, with too few channels for a split, its outputs spread thinner.
     * Outputs at a few positions are a matrix times a vector. Outputs of a few
     * terms each take no tiles.
     */
    DEV_MEMBER_CALLED u32 choose_way() const
    {
        constexpr u64 enough_tiles = 128, few_positions = 16, few_terms = 32,
                      few_channels = 4;
        const u64 terms = v.x.c * v.w.kh * v.w.kw;

        if (!v.transposed && v.x.b * v.h_out * v.w_out < few_positions &&
            terms >= few_terms && terms < 1ull << 31)
            return by_lanes;
        if (tiles >= enough_tiles)
            return by_large_tiles;
        if (terms < few_terms &&
            v.x.b * v.w.outputs * v.h_out * v.w_out < 1ull << 31)
            return by_points;
        return v.w.outputs > few_channels && terms < 1ull << 31
                   ? by_split_tiles
                   : by_small_tiles;
    }
    /* finds the tile's place, and the axes for its outputs */
    DEV_MEMBER_CALLED void place_tile(u64 tile)
    {
        i0w = (i32)(take(tile, tiles_w) << log_w);
        i0h = (i32)(take(tile, tiles_h) << log_h);
        b0 = (u32)take(tile, tiles_b) << log_b;
        o0 = (u32)take(tile, tiles_o) * channels;
        aw = v.axis_w<i32>(take(tile, v.remainders_w()));
        ah = v.axis_h<i32>(tile);
    }
    DEV_MEMBER_CALLED void begin_tile(u64 tile, u32 image_most, u32 filter_most)
    {
        place_tile(tile);
        taps_h = min_of((u32)ah.taps, 1024u);
        taps_w = min_of((u32)aw.taps, 1024u);
        odd = 0;
        more = taps_h * taps_w > 0 && v.x.c > 0;
        while (taps_h * taps_w > 1 && !fits(image_most, filter_most))
            if (taps_h > 1)
                taps_h = (taps_h + 1) / 2;
            else
                taps_w = (taps_w + 1) / 2;
        c0 = 0;
        nh = nw = 0;
        if (more)
            begin_taps(image_most, filter_most);
    }
    DEV_MEMBER bool fits(u32 image_most, u32 filter_most) const
    {
        const Span h = make_span(ah, 1u << log_h, taps_h);
        const Span w = make_span(aw, 1u << log_w, taps_w);

        return ((u64)h.extent * w.extent << log_b) <= image_most &&
               taps_h * taps_w * row <= filter_most;
    }
    DEV_MEMBER void begin_taps(u32 image_most, u32 filter_most)
    {
        kh = min_of(taps_h, (u32)(ah.taps - nh));
        kw = min_of(taps_w, (u32)(aw.taps - nw));
        sh = make_span(ah, 1u << log_h, kh);
        sw = make_span(aw, 1u << log_w, kw);

        const u32 most = min_of(image_most / (sh.extent * sw.extent << log_b),
                                filter_most / (kh * kw * row));
        const u32 pieces = div_up((u32)v.x.c, most);

        channels_at_once = div_up((u32)v.x.c, pieces);
        nc = channels_at_once;
    }
    DEV_MEMBER_CALLED void next_piece(u32 image_most, u32 filter_most)
    {
        c0 += nc;
        nc = min_of(channels_at_once, (u32)v.x.c - c0);
        if (nc > 0)
            return;
        c0 = 0;
        nw += (i32)kw;
        if (nw >= aw.taps) {
            nw = 0;
            nh += (i32)kh;
        }
        more = nh < ah.taps;
        if (more)
            begin_taps(image_most, filter_most);
    }
};

/*
 * Copies n elements from f(e) to LDS at g(e, value), a few in flight. f reads
 * its numbers from Work each time: kept in registers, they would push results
 * out to memory.
 */
template <typename A, typename F, typename G>
DEV void copy_to_lds(u32 n, A *to, F f, G g)
{
    constexpr u32 batch = 4;

    NO_UNROLL
    for (u32 e = threadIdx.x; e < n; e += batch * blockDim.x) {
        A value[batch];

        UNROLL
        for (u32 i = 0; i < batch; i++) {
            forget_memory();
            value[i] = {};
            if (e + i * blockDim.x < n)
                value[i] = f(e + i * blockDim.x);
        }
        UNROLL
        for (u32 i = 0; i < batch; i++)
            if (e + i * blockDim.x < n)
                to[g(e + i * blockDim.x, value[i])] = value[i];
    }
}

/* the piece at hand to image[b][c][h][w]; outside of the images, zeros */
template <typename A, typename T>
DEV void load_image(const Work &at, const T *RESTRICT x, A *image)
{
    const Divisor by_w(at.sw.extent), by_h(at.sh.extent), by_c(at.nc);
    const u32 n = at.sw.extent * at.sh.extent * at.nc << at.log_b;
    const T *RESTRICT from = x + at.b0 * at.v.x.sb + at.c0 * at.v.x.sc;

    copy_to_lds(
        n, image,
        [&](u32 e) -> A {
            const u32 ew = by_w.divide(e), eh = by_h.divide(ew);
            const u32 b = by_c.divide(eh);
            const i32 qw =
                at.sw.input(at.aw, at.log_w, e - ew * by_w.d, at.i0w, at.nw);
            const i32 qh =
                at.sh.input(at.ah, at.log_h, ew - eh * by_h.d, at.i0h, at.nh);

            if (!at.aw.has(qw) || !at.ah.has(qh) || at.b0 + b >= at.v.x.b)
                return A{};
            return convert<A>(from[b * at.xb + (eh - b * by_c.d) * at.xc +
                                   (u32)qh * at.xh + (u32)qw * at.xw]);
        },
        [](u32 e, A) { return e; });
}

/* one output, term by term */
template <typename T, typename I>
DEV T conv_point(const Conv &v, const Axis<I> &ah, const Axis<I> &aw,
                 const T *RESTRICT x, const T *RESTRICT w, u64 b, u64 o, I ih,
                 I iw)
{
    using A = sum_t<T>;
    A sum = 0;

    for (I nh = 0; nh < ah.taps; nh++) {
        const I qh = ah.input(ih, nh);

        forget_memory();
        if (!ah.has(qh))
            continue;
        for (I nw = 0; nw < aw.taps; nw++) {
            const I qw = aw.input(iw, nw);

            if (!aw.has(qw))
                continue;
            const T *px = x + b * v.x.sb + (u64)qh * v.x.sh + (u64)qw * v.x.sw;
            const T *pw = w + o * v.w.so + (u64)ah.element(nh) * v.w.sh +
                          (u64)aw.element(nw) * v.w.sw;

            for (u64 c = 0; c < v.x.c; c++)
                sum += convert<A>(px[c * v.x.sc]) * convert<A>(pw[c * v.w.sc]);
        }
    }
    return convert<T>(sum);
}
