/*
 * split_terms.h - convolutions of few outputs: threads share an output's terms
 *
 * ConvSplit computes tiles, 32 lanes for neighbouring positions by a few output
 * channels a group of 32 threads, and `splits` groups of a block share the
 * terms of the same outputs; they add up their sums in LDS. ConvLanes splits
 * the terms of an output at one position over 32 lanes. Values come through the
 * cache: images are read by neighbouring lanes or kernel elements are, and the
 * others are the same for a group. Sums are joined in a fixed order.
 */
#pragma once

#include "conv/image_tile.h"

template <typename T, u32 PX, u32 OC> struct ConvSplit {
    using A = sum_t<T>;
    /* sums of a thread that LDS holds at a time */
    static constexpr u32 batch = sizeof(A) == 8 ? 2 : 4;
    static_assert(batch * 1024 * sizeof(A) <= image_bytes, "LDS for the sums");

    Work &at;
    const T *RESTRICT x;
    const T *RESTRICT w;
    T *RESTRICT y;
    A *part; /* in LDS */
    u32 block, nblocks;

    DEV_MEMBER void run() const
    {
        const u64 tiles = at.tiles;

        for (u64 tile = block; tile < tiles; tile += nblocks) {
            if (threadIdx.x == 0)
                at.place_tile(tile);
            __syncthreads();
            one_tile();
        }
    }

    struct Place {
        u32 b;
        i32 h, w;
        bool exists;
    };
    DEV_MEMBER Place place(u32 p) const
    {
        const i32 w = at.i0w + (i32)(p & ((1u << at.log_w) - 1));
        const i32 h = at.i0h + (i32)(p >> at.log_w & ((1u << at.log_h) - 1));
        const u32 b = at.b0 + (p >> (at.log_w + at.log_h));

        return {b, h, w, w < at.aw.count && h < at.ah.count && b < at.v.x.b};
    }

    DEV_MEMBER void one_tile() const
    {
        const u32 lane = threadIdx.x % lanes;
        const u32 group = of_group(threadIdx.x / lanes);
        const u32 splits = uniform(at.splits), sets = at.channels / OC;
        const u32 set = by_splits(group, splits);
        const u32 split = KPK_NVIDIA ? group % splits : group & (splits - 1);
        const u32 taps = (u32)(at.ah.taps * at.aw.taps);
        const u64 terms = at.v.x.c * taps;
        const u64 o = at.o0 + set * OC;
        A sum[PX][OC] = {};

        if (set < sets && o < at.v.w.outputs)
            add_terms(sum, lane, o, (u32)by_splits(terms * split, splits),
                      (u32)by_splits(terms * (split + 1), splits), taps);
        UNROLL
        for (u32 first = 0; first < PX * OC; first += batch) {
            UNROLL
            for (u32 i = 0; i < batch; i++)
                part[i * blockDim.x + threadIdx.x] =
                    sum[(first + i) / OC][(first + i) % OC];
            __syncthreads();
            for (u32 i = group; i < batch * sets; i += blockDim.x / lanes)
                join(lane, i / batch, splits, first + i % batch,
                     part + i % batch * blockDim.x);
            __syncthreads();
        }
    }

    /*
     * The sums of value i of a set's threads: position i / OC, channel i % OC.
     */
    DEV_MEMBER void join(u32 lane, u32 set, u32 splits, u32 i,
                         const A *of) const
    {
        const Place p = place(lane + i / OC * lanes);
        const u64 o = at.o0 + set * OC + i % OC;
        A sum = 0;

        for (u32 g = 0; g < splits; g++)
            sum += of[(set * splits + g) * lanes + lane];
        if (p.exists && o < at.v.w.outputs)
            y[((p.b * at.v.w.outputs + o) * at.v.h_out +
               (u64)at.ah.output(p.h)) *
                  at.v.w_out +
              (u64)at.aw.output(p.w)] = convert<T>(sum);
    }

    /* v is equal in all 32 threads of a group, which may be half a wave. */
    static DEV_MEMBER u32 of_group(u32 v)
    {
        return wave_size() == lanes ? uniform(v) : v;
    }
    /* v by a power of two. AMD's compiler makes the shift a scalar one. */
    template <typename V> static DEV_MEMBER V by_splits(V v, u32 splits)
    {
        return KPK_NVIDIA ? v / splits : v >> log2_of(splits);
    }

    static DEV_MEMBER void read_weights(A (&weight)[OC], const T *weights,
                                        const u32 (&from)[OC])
    {
        UNROLL
        for (u32 i = 0; i < OC; i++)
            weight[i] = convert<A>(weights[from[i]]);
    }
    /* adds the products of one term at one position */
    static DEV_MEMBER void add_products(A (&sum)[OC], T input,
                                        const A (&weight)[OC])
    {
        const A value = convert<A>(input);

        UNROLL
        for (u32 i = 0; i < OC; i++)
            sum[i] += value * weight[i];
    }

#if KPK_NVIDIA
    /* terms are numbered by channel, row and column of the taps */
    DEV_MEMBER void add_terms(A (&sum)[PX][OC], u32 lane, u64 o, u32 first,
                              u32 last, u32 taps) const
    {
        const u32 taps_w = (u32)at.aw.taps, taps_h = (u32)at.ah.taps;
        const i32 reach_h = at.ah.reach, reach_w = at.aw.reach;
        const i32 height = at.ah.length, width = at.aw.length;
        const u32 xh = at.xh, xw = at.xw;
        const T *channel_w, *channel_x[PX];
        u32 from[OC], c, nh, nw;
        i32 h0[PX], w0[PX];

        if (first >= last)
            return;
        c = first / taps;
        nh = (first - c * taps) / taps_w;
        nw = first - c * taps - nh * taps_w;
        channel_w = w + o * at.v.w.so + c * at.v.w.sc;
        UNROLL
        for (u32 i = 0; i < OC; i++) /* past the last channel: the last */
            from[i] = (u32)min_of<u64>(i, at.v.w.outputs - 1 - o) * at.wo;
        UNROLL
        for (u32 j = 0; j < PX; j++) {
            const Place p = place(lane + j * lanes);

            /* no tap of a position that does not exist is in the image */
            h0[j] = p.exists ? at.ah.input(p.h, 0) : -0x40000000;
            w0[j] = at.aw.input(p.w, 0);
            channel_x[j] = x + (p.exists ? p.b * at.v.x.sb : 0) + c * at.v.x.sc;
        }
        for (u32 k = first; k < last; k++) {
            const T *row = channel_w + (u32)at.ah.element((i32)nh) * at.wh +
                           (u32)at.aw.element((i32)nw) * at.ww;
            A weight[OC];

            read_weights(weight, row, from);
            UNROLL
            for (u32 j = 0; j < PX; j++) {
                const i32 qh = h0[j] + (i32)nh * reach_h;
                const i32 qw = w0[j] + (i32)nw * reach_w;

                if ((u32)qh < (u32)height && (u32)qw < (u32)width)
                    add_products(sum[j],
                                 channel_x[j][(u32)qh * xh + (u32)qw * xw],
                                 weight);
            }
            if (++nw < taps_w)
                continue;
            nw = 0;
            if (++nh < taps_h)
                continue;
            nh = 0;
            channel_w += at.v.w.sc;
            UNROLL
            for (u32 j = 0; j < PX; j++)
                channel_x[j] += at.v.x.sc;
        }
    }
#else
    /*
     * Terms are numbered by row and column of the taps, then by channel, so
     * that a tap's address is computed once for all of its channels. Computing
     * it for each term would cost RDNA as much as the products. NVIDIA's GPUs,
     * where this was not timed, use the method above.
     */
    DEV_MEMBER void add_terms(A (&sum)[PX][OC], u32 lane, u64 o, u32 first,
                              u32 last, u32) const
    {
        const u32 taps_w = uniform((u32)at.aw.taps);
        const u32 channels_in = uniform((u32)at.v.x.c);
        const u32 xc = uniform(at.xc), wc = uniform(at.wc);
        const u32 last_o = uniform((u32)at.v.w.outputs) - 1 - (u32)o;
        u32 from[OC], image[PX];
        i32 h0[PX], w0[PX];

        if (first >= last)
            return;
        UNROLL
        for (u32 i = 0; i < OC; i++) /* past the last channel: the last */
            from[i] = min_of(i, last_o) * uniform(at.wo);
        UNROLL
        for (u32 j = 0; j < PX; j++) {
            const Place p = place(lane + j * lanes);

            /* no tap of a position that does not exist is in the image */
            h0[j] = p.exists ? at.ah.input(p.h, 0) : -0x40000000;
            w0[j] = at.aw.input(p.w, 0);
            image[j] = p.exists ? p.b - at.b0 : 0;
        }
        const T *const kernel = w + o * at.v.w.so;
        const T *const images = x + at.b0 * at.v.x.sb;
        u32 tap = first / channels_in, c = first - tap * channels_in;
        u32 left = last - first;

        NO_UNROLL
        for (; left > 0; tap++, c = 0) {
            const u32 nh = tap / taps_w, nw = tap - nh * taps_w;
            const u32 n = min_of(channels_in - c, left);
            const T *weights =
                kernel + c * at.v.w.sc +
                of_group((u32)at.ah.element((i32)nh)) * at.v.w.sh +
                of_group((u32)at.aw.element((i32)nw)) * at.v.w.sw;
            const T *value_at[PX];
            bool inside[PX];

            UNROLL
            for (u32 j = 0; j < PX; j++) {
                const i32 qh = h0[j] + (i32)nh * at.ah.reach;
                const i32 qw = w0[j] + (i32)nw * at.aw.reach;

                inside[j] = at.ah.has(qh) && at.aw.has(qw);
                value_at[j] = images +
                              (inside[j] ? image[j] * at.v.x.sb +
                                               (u32)qh * at.xh + (u32)qw * at.xw
                                         : 0) +
                              c * at.v.x.sc;
            }
            add_channels(sum, weights, from, wc, value_at, xc, inside, n);
            left -= n;
        }
    }
    /* the next n channels of one tap */
    DEV_MEMBER void add_channels(A (&sum)[PX][OC], const T *weights,
                                 const u32 (&from)[OC], u32 wc,
                                 const T *(&value_at)[PX], u32 xc,
                                 const bool (&inside)[PX], u32 n) const
    {
        NO_UNROLL
        for (; n > 0; n--) {
            A weight[OC];

            read_weights(weight, weights, from);
            UNROLL
            for (u32 j = 0; j < PX; j++) {
                if (inside[j])
                    add_products(sum[j], *value_at[j], weight);
                value_at[j] += xc;
            }
            weights += wc;
        }
    }
#endif
};

/* only for plain convolutions, not for transposed ones */
template <typename T> struct ConvLanes {
    using A = sum_t<T>;
    static constexpr u32 OC = 4, batch = sizeof(A) == 8 ? 2 : 4;

    const Work &at;
    const T *RESTRICT x;
    const T *RESTRICT w;
    T *RESTRICT y;
    u32 block, nblocks;

    DEV_MEMBER void run() const
    {
        const u32 groups = blockDim.x / lanes;
        const u32 across = (u32)at.v.w_out, places = (u32)at.v.h_out * across;
        const u32 all = (u32)at.v.x.b * places;
        const u64 tasks = all * div_up(at.v.w.outputs, (u64)OC);

        for (u64 task = (u64)block * groups + threadIdx.x / lanes; task < tasks;
             task += (u64)nblocks * groups) {
            forget_memory();
            const u64 turn = divide(task, all);
            const u32 p = (u32)(task - turn * all), b = p / places;

            outputs(turn * OC, b, (p - b * places) / across, p % across);
        }
    }

    DEV_MEMBER void outputs(u64 o, u32 b, u32 h, u32 w_) const
    {
        const u32 kw = (u32)at.v.w.kw, taps = (u32)at.v.w.kh * kw;
        const u32 terms = (u32)at.v.x.c * taps;
        const u32 lane = threadIdx.x % lanes;
        const i32 stride = (i32)at.v.stride, padding = (i32)at.v.padding;
        const i32 dilation = (i32)at.v.dilation;
        const i32 top = at.v.flat ? 0 : (i32)h * stride - padding;
        const i32 left = (i32)w_ * stride - padding;
        A sum[OC] = {};

        for (u32 first = lane; first < terms; first += batch * lanes) {
            A value[batch], weight[batch][OC];

            UNROLL
            for (u32 n = 0; n < batch; n++) {
                const u32 k = first + n * lanes;
                const u32 c = k / taps, kh = (k - c * taps) / kw;
                const u32 tap = k - c * taps - kh * kw;
                const i32 qh = top + (i32)kh * dilation;
                const i32 qw = left + (i32)tap * dilation;
                const bool counts = k < terms && (u32)qh < (u32)at.v.x.h &&
                                    (u32)qw < (u32)at.v.x.w;

                /* a term outside is 0 * 0, whatever the kernel holds */
                value[n] =
                    counts ? convert<A>(x[b * at.v.x.sb + c * at.v.x.sc +
                                          (u32)qh * at.xh + (u32)qw * at.xw])
                           : A(0);
                UNROLL
                for (u32 i = 0; i < OC; i++)
                    weight[n][i] =
                        counts && o + i < at.v.w.outputs
                            ? convert<A>(w[(o + i) * at.v.w.so + c * at.v.w.sc +
                                           kh * at.wh + tap * at.ww])
                            : A(0);
            }
            UNROLL
            for (u32 n = 0; n < batch; n++)
                UNROLL
            for (u32 i = 0; i < OC; i++)
                sum[i] += value[n] * weight[n][i];
        }
        UNROLL
        for (u32 i = 0; i < OC; i++) {
            sum[i] = join_lanes(sum[i], [](A a, A b) { return a + b; });
            if (lane == 0 && o + i < at.v.w.outputs)
                y[((b * at.v.w.outputs + o + i) * at.v.h_out + h) * at.v.w_out +
                  w_] = convert<T>(sum[i]);
        }
    }
};
