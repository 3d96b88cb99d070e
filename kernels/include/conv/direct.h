/*
 * direct.h - convolutions, plain and transposed, tiled through LDS
 *
 * y[b, o, p] = sum over c and taps of x[b, c, q(p, tap)] * w[o, c, tap], terms
 * with q outside the image dropped; sums in f32 for f16, bf16 and f32, in f64
 * for f64, wrapping for integers; one rounding at the end.
 *
 * A block computes a tile: positions (images * rows * columns, powers of two)
 * by output channels. For some input channels and taps at a time it copies the
 * piece of the image under the tile and the kernel's elements to LDS, each read
 * once and coalesced. Every thread then adds up PX positions * OC channels from
 * LDS. A group of 32 lanes holds neighbouring positions of the same channels,
 * so image values are read without bank conflicts and kernel elements by
 * broadcast. Tiles are spread over any grid; if tiles are too few to keep a GPU
 * busy, split_terms.h has other ways.
 *
 * Padding is zeros in LDS, which is the same as dropping the term unless a
 * kernel element is infinite or NaN: such tiles are computed again, term by
 * term. In a block that is not whole groups of 32 threads every output is
 * computed term by term.
 */
#pragma once

#include "conv/implicit_gemm.h"
#include "conv/split_terms.h"
#if KPK_SM >= 80
#include "nvidia/conv/conv_1x1.h"
#include "nvidia/conv/conv_slab.h"
#endif
#if KPK_WARPGROUPS
#include "nvidia/conv/conv_product.h"
#endif

template <typename T, u32 PX, u32 OC> struct ConvTile {
    using A = sum_t<T>;
    static constexpr u32 image_most = image_bytes / sizeof(A);
    static constexpr u32 filter_most = filter_bytes / sizeof(A);

    Work &at;
    const T *RESTRICT x;
    const T *RESTRICT w;
    T *RESTRICT y;
    A *image, *filter; /* in LDS */
    u32 block, nblocks;

    DEV_MEMBER void run() const
    {
        const u64 tiles = at.tiles;

        for (u64 tile = block; tile < tiles; tile += nblocks) {
            if (threadIdx.x == 0)
                at.begin_tile(tile, image_most, filter_most);
            __syncthreads();
            one_tile();
            __syncthreads();
        }
    }

    DEV_MEMBER void one_tile() const
    {
        const u32 lane = threadIdx.x % lanes, group = threadIdx.x / lanes;
        const u32 position = group % at.position_groups * lanes + lane;
        const u32 channel = group / at.position_groups * OC;
        const bool works = channel < at.channels;
        A sum[PX][OC] = {};

        while (uniform(at.more)) {
            load_image(at, x, image);
            forget_memory();
            load_filter();
            __syncthreads();
            forget_memory();
            if (works)
                add_up(sum, position, channel);
            __syncthreads();
            forget_memory();
            if (threadIdx.x == 0)
                at.next_piece(image_most, filter_most);
            __syncthreads();
        }
        if (!works)
            return;
        UNROLL
        for (u32 j = 0; j < PX; j++)
            each_output(j, position, channel,
                        [&](T *to, u32 k) { *to = convert<T>(sum[j][k]); });
        if (uniform(at.odd))
            again(position, channel);
    }

    /* f(its address, k) for the channels k of position j */
    template <typename F>
    DEV_MEMBER void each_output(u32 j, u32 position, u32 channel, F f) const
    {
        const u32 p = position + j * at.position_groups * lanes;
        const i32 iw = at.i0w + (i32)(p & ((1u << at.log_w) - 1));
        const i32 ih = at.i0h + (i32)(p >> at.log_w & ((1u << at.log_h) - 1));
        const u32 b = at.b0 + (p >> (at.log_w + at.log_h));
        const u32 o = at.o0 + channel;
        const u64 plane = at.v.h_out * at.v.w_out;

        if (iw >= at.aw.count || ih >= at.ah.count || b >= at.v.x.b)
            return;
        T *to = y + (b * at.v.w.outputs + o) * plane +
                (u64)at.ah.output(ih) * at.v.w_out + (u64)at.aw.output(iw);

        UNROLL
        for (u32 k = 0; k < OC; k++) {
            if (o + k < at.v.w.outputs)
                f(to, k);
            to += plane;
        }
    }

    /* adds again, term by term, after all stores: registers are free then */
    DEV_MEMBER void again(u32 position, u32 channel) const
    {
        NO_UNROLL
        for (u32 j = 0; j < PX; j++) {
            const u32 p = position + j * at.position_groups * lanes;
            const i32 iw = at.i0w + (i32)(p & ((1u << at.log_w) - 1));
            const i32 ih =
                at.i0h + (i32)(p >> at.log_w & ((1u << at.log_h) - 1));
            const u32 b = at.b0 + (p >> (at.log_w + at.log_h));

            if (iw >= at.aw.count || ih >= at.ah.count || b >= at.v.x.b)
                continue;
            NO_UNROLL
            for (u32 o = at.o0 + channel;
                 o < at.o0 + channel + OC && o < at.v.w.outputs; o++)
                y[((b * at.v.w.outputs + o) * at.v.h_out +
                   (u64)at.ah.output(ih)) *
                      at.v.w_out +
                  (u64)at.aw.output(iw)] =
                    conv_point(at.v, at.ah, at.aw, x, w, b, o, ih, iw);
        }
    }

    /* filter[c][kh][kw][o], o padded to `row` */
    DEV_MEMBER void load_filter() const
    {
        const Divisor by_o(at.nc * at.kh * at.kw), by_w(at.kw), by_h(at.kh);
        const T *RESTRICT from = w + at.o0 * at.v.w.so + at.c0 * at.v.w.sc;
        bool strange = false;

        copy_to_lds(
            by_o.d * at.channels, filter,
            [&](u32 e) -> A {
                const u32 o = by_o.divide(e), k = e - o * by_o.d;
                const u32 ck = by_w.divide(k), c = by_h.divide(ck);

                if (at.o0 + o >= at.v.w.outputs)
                    return 0;
                return convert<A>(
                    from[o * at.wo + c * at.wc +
                         (u32)at.ah.element(at.nh + (i32)(ck - c * by_h.d)) *
                             at.wh +
                         (u32)at.aw.element(at.nw + (i32)(k - ck * by_w.d)) *
                             at.ww]);
            },
            [&](u32 e, A value) {
                const u32 o = by_o.divide(e);

                if constexpr (traits<T>::is_float)
                    strange = strange || !(value - value == 0);
                return (e - o * by_o.d) * at.row + o;
            });
        if (strange)
            atomicOr(&at.odd, 1u);
    }

    DEV_MEMBER void add_up(A (&sum)[PX][OC], u32 position, u32 channel) const
    {
        constexpr u32 W = 16 / sizeof(A) < OC ? 16 / sizeof(A) : OC;
        const u32 extent_w = uniform(at.sw.extent);
        const u32 plane = uniform(at.sh.extent) * extent_w;
        const u32 nc = uniform(at.nc), kh = uniform(at.kh), kw = uniform(at.kw);
        const u32 row = uniform(at.row);
        const i32 reach_w = (i32)uniform((u32)at.sw.reach);
        const i32 reach_h = (i32)(uniform((u32)at.sh.reach) * extent_w);
        const A *weights = filter + channel;
        u32 from[PX];

        UNROLL
        for (u32 j = 0; j < PX; j++) {
            const u32 p = position + j * at.position_groups * lanes;
            const u32 h = p >> at.log_w & ((1u << at.log_h) - 1);

            from[j] = (p >> (at.log_w + at.log_h)) * nc * plane +
                      (h * at.sh.pace + at.sh.start) * extent_w +
                      (p & ((1u << at.log_w) - 1)) * at.sw.pace + at.sw.start;
        }
        NO_UNROLL
        for (u32 c = 0; c < nc; c++)
            NO_UNROLL
        for (u32 h = 0; h < kh; h++) {
            i32 tap = (i32)(c * plane) + (i32)h * reach_h;

            NO_UNROLL
            for (u32 k = 0; k < kw; k++) {
                A value[PX], weight[OC];

                UNROLL
                for (u32 j = 0; j < PX; j++)
                    value[j] = image[from[j] + (u32)tap];
                UNROLL
                for (u32 o = 0; o < OC; o += W) {
                    const Pack<A, W> some = load_pack<W>(weights + o);

                    UNROLL
                    for (u32 i = 0; i < W; i++)
                        weight[o + i] = some[i];
                }
                UNROLL
                for (u32 j = 0; j < PX; j++)
                    UNROLL
                for (u32 o = 0; o < OC; o++)
                    sum[j][o] += value[j] * weight[o];
                tap += reach_w;
                weights += row;
            }
        }
    }
};

/*
 * Computes outputs term by term, without LDS: those of few terms, and all
 * outputs of blocks that are not whole groups of 32 threads. W and I are u32
 * and i32 if places and coordinates fit, else 64 bits wide.
 */
template <typename W, typename I, typename T>
DEV void conv_by_points(const TileBlocks &blocks, const Conv &v, const T *x,
                        const T *w, T *y)
{
    const u64 n = v.x.b * v.w.outputs * v.h_out * v.w_out;

    for (u64 i = blocks.thread(); i < n; i += blocks.threads()) {
        forget_memory();
        const W row = (W)i / (W)v.w_out, t = (W)i - row * (W)v.w_out;
        const W channel = row / (W)v.h_out, s = row - channel * (W)v.h_out;
        const W b = channel / (W)v.w.outputs;
        const W every_h = v.remainders_h() > 1 ? (W)v.stride : 1;
        const W every_w = v.remainders_w() > 1 ? (W)v.stride : 1;
        const W ih = s / every_h, iw = t / every_w;
        const Axis<I> ah = v.axis_h<I>(s - ih * every_h);
        const Axis<I> aw = v.axis_w<I>(t - iw * every_w);

        y[i] = conv_point(v, ah, aw, x, w, b, channel - b * (W)v.w.outputs,
                          (I)ih, (I)iw);
    }
}

#if KPK_CONV_MATRIX
template <typename T>
DEV void run_matrix(const ConvMatrix<T> &matrix, const TileBlocks &blocks)
{
    matrix.run(blocks);
}
#endif

/* A block's LDS: one object for all kernels of a type, so that they share
 * functions. The launch's LDS follows `lds`. */
template <typename T> struct ConvLds {
    static constexpr bool is_slab =
        KPK_SM >= 80 && traits<T>::is_float && sizeof(T) <= 4;
    static constexpr u32 nbytes = is_slab ? slab_bytes
                                  : traits<T>::is_float
                                      ? image_bytes + filter_bytes
                                      : 16;

    Work work[1];
    u32 way;
#if KPK_SM >= 80
    typename ConvPlan<T>::Shape shape;
#endif
#if KPK_WARPGROUPS
    ConvProduct<T> product;
#endif
    alignas(128) u8 lds[nbytes];
};

template <typename T> DEV ConvLds<T> &conv_lds()
{
    __shared__ ConvLds<T> lds;

    return lds;
}

#if KPK_SM >= 80
/* Each way is a function, so that the kernel needs the registers of one way
 * only. */
template <typename T>
DEV_CALLED void run_rows(typename ConvPlan<T>::Shape &shape, u32 lds,
                         TileBlocks blocks)
{
    ConvRows<T>{{shape, static_cast<u8 *>(__cvta_shared_to_generic(lds))}}.run(
        blocks);
}

template <bool Transposed, typename T>
DEV_CALLED void run_slab(typename ConvPlan<T>::Shape &shape, u32 lds,
                         TileBlocks blocks)
{
    ConvSlab<Transposed, T>{
        {shape, static_cast<u8 *>(__cvta_shared_to_generic(lds))}}
        .run(blocks);
}

/* Convolves by matrix instructions, if conv_product.h or conv_plan.h has a tile
 * for it. Inlined, because a call would keep the convolution in each thread's
 * stack. */
template <bool Transposed, typename T>
DEV bool by_plan(const TileBlocks &blocks, const Conv &v, const T *x,
                 const T *w, T *y)
{
    LDS_BYTES(more_lds);
    ConvLds<T> &all = conv_lds<T>();
    typename ConvPlan<T>::Shape &shape = all.shape;
    const u32 at_lds = (u32)__cvta_generic_to_shared(all.lds);
    u32 end = at_lds + ConvLds<T>::nbytes;

    /* compilers may take two objects' addresses to differ */
    asm("" : "+r"(end));
    const u32 more = (u32)__cvta_generic_to_shared(more_lds) == end
                         ? dynamic_lds_nbytes()
                         : 0;

#if KPK_WARPGROUPS
    if constexpr (!Transposed && sizeof(T) == 2) {
        if (ConvLds<T>::nbytes + more >= max_of(ConvProductMany::lds_nbytes,
                                                ConvProductFew::lds_nbytes) &&
            blockDim.x == ConvPlan<T>::threads && ConvProduct<T>::fits(v, w)) {
            if (threadIdx.x == 0)
                all.product.set(v, x, w, y);
            __syncthreads();
            /* no function: a call would make wgmma wait */
            conv_by_product(all.product, blocks, all.lds);
            return true;
        }
    }
#endif
    if (threadIdx.x < ConvPlan<T>::callers)
        ConvPlan<T>::plan(v, x, w, y, ConvLds<T>::nbytes + more, shape);
    __syncthreads();
    if (ConvPlan<T>::takes(shape)) {
        if (!Transposed && shape.direct)
            run_rows<T>(shape, at_lds, blocks);
        else
            run_slab<Transposed, T>(shape, at_lds, blocks);
        return true;
    }
    __syncthreads();
    return false;
}
#endif

/* What a thread computes: positions by output channels. */
template <u32 way, typename T> struct FmaTile {
    static constexpr bool is_wide = sizeof(sum_t<T>) == 8;
    static constexpr bool is_small = way == by_small_tiles;
    static constexpr u32 large = is_wide ? 2 : 4;
    static constexpr u32 PX = is_small                ? 1
                              : way == by_split_tiles ? large / 2
                                                      : large;
    static constexpr u32 OC = is_small || is_wide ? 4 : 8;
};

/* A way without matrix instructions. Each is a function on NVIDIA's, so that
 * their registers do not add up, and that PTX has it once for all kernels of a
 * type. */
template <u32 way, typename T>
DEV_CALLED void fma_way(TileBlocks blocks, const T *x, const T *w, T *y)
{
    using A = sum_t<T>;
    constexpr u32 PX = FmaTile<way, T>::PX, OC = FmaTile<way, T>::OC;
    ConvLds<T> &all = conv_lds<T>();
    Work &at = all.work[opaque_zero()];
    A *const image = reinterpret_cast<A *>(all.lds);
    const u32 block = blocks.number, nblocks = blocks.count;

    if constexpr (way == by_far_points)
        conv_by_points<u64, i64>(blocks, at.v, x, w, y);
    else if constexpr (way == by_points)
        conv_by_points<u32, i32>(blocks, at.v, x, w, y);
    else if constexpr (way == by_lanes)
        ConvLanes<T>{at, x, w, y, block, nblocks}.run();
    else if constexpr (way == by_split_tiles)
        ConvSplit<T, PX, OC>{at, x, w, y, image, block, nblocks}.run();
    else
        ConvTile<T, PX, OC>{at,    x,
                            w,     y,
                            image, reinterpret_cast<A *>(all.lds + image_bytes),
                            block, nblocks}
            .run();
}

/*
 * Without matrix instructions, which make most convolutions. `at` has begun.
 * Compilers take time for each way of each kernel: integers, which few
 * convolve, have the simplest, and other types than f64 few in PTX.
 */
template <typename T>
DEV void by_fma(const TileBlocks &blocks, const T *x, const T *w, T *y)
{
    using Large = FmaTile<by_large_tiles, T>;
    using Small = FmaTile<by_small_tiles, T>;
    using Split = FmaTile<by_split_tiles, T>;
    constexpr bool has_tiles = traits<T>::is_float;
    constexpr bool has_splits = has_tiles && (!KPK_NVIDIA || Large::is_wide);
    ConvLds<T> &all = conv_lds<T>();
    Work &at = all.work[opaque_zero()];
    u32 &way = all.way;

    if (threadIdx.x == 0) {
        way = by_far_points;
        if (blockDim.x % lanes == 0 && at.v.is_small()) {
            at.shape_tiles(Large::PX, Large::OC);
            way = at.choose_way();
            if (!has_splits && (way == by_split_tiles || way == by_lanes))
                way = by_small_tiles;
            if (!has_tiles)
                way = at.outputs() < 1ull << 31 ? by_points : by_far_points;
        }
        if (way == by_small_tiles)
            at.shape_tiles(Small::PX, Small::OC);
        if (way == by_split_tiles)
            at.shape_split_tiles(Split::PX, Split::OC);
    }
    __syncthreads();
    if (uniform(way) == by_far_points)
        fma_way<by_far_points>(blocks, x, w, y);
    if (uniform(way) == by_points)
        fma_way<by_points>(blocks, x, w, y);
    if constexpr (has_splits) {
        if (uniform(way) == by_lanes)
            fma_way<by_lanes>(blocks, x, w, y);
        if (uniform(way) == by_split_tiles)
            fma_way<by_split_tiles>(blocks, x, w, y);
    }
    if constexpr (has_tiles) {
        if (uniform(way) == by_small_tiles)
            fma_way<by_small_tiles>(blocks, x, w, y);
        if (uniform(way) == by_large_tiles)
            fma_way<by_large_tiles>(blocks, x, w, y);
    }
}

/* Transposed equals v.transposed; it selects code at compile time. */
template <bool Transposed, typename T>
DEV void convolve(const TileBlocks &blocks, const Conv &v, const T *x,
                  const T *w, T *y)
{
    ConvLds<T> &all = conv_lds<T>();
    Work &at = all.work[opaque_zero()];

    if (v.x.b == 0 || v.w.outputs == 0 || v.h_out == 0 || v.w_out == 0)
        return;
#if KPK_SM >= 80
    if constexpr (ConvLds<T>::is_slab) {
        if (by_plan<Transposed>(blocks, v, x, w, y))
            return;
    }
#endif
    if (threadIdx.x == 0)
        at.begin(v);
#if KPK_CONV_MATRIX
    if constexpr (ConvMatrix<T>::exists && !Transposed) {
        static_assert(ConvMatrix<T>::lds_nbytes <= ConvLds<T>::nbytes, "LDS");
        if (threadIdx.x == 0)
            all.way = ConvMatrix<T>::takes(at.v) ? by_matrix : by_points;
        __syncthreads();
        if (uniform(all.way) == by_matrix) {
            run_matrix<T>(ConvMatrix<T>{at.v, x, w, y, all.lds}, blocks);
            return;
        }
    }
#endif
    __syncthreads();
    by_fma(blocks, x, w, y);
}
