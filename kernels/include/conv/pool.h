/*
 * pool.h - average and maximum over windows, no padding
 *
 * x    [b, c, d2, d3], strided
 * dst  [b, c, out2, out3], contiguous, out = (d - k) / stride + 1
 * Averages are sums in f32 (f16, bf16, f32), f64, or 32-bit integers that u8
 * does not wrap, times 1 / (k2 * k3); integers are truncated. The maximum of a
 * window with a NaN is NaN.
 */
#pragma once

#include "conv/image_rows.h"
#include "reduce/numbers.h"

template <typename T> struct average {
    using A = sum_t<T>;
    using Scale = typename scale_of<T>::type;
    Scale scale;

    DEV_MEMBER average(u64 k2, u64 k3) : scale((Scale)1 / (Scale)(k2 * k3))
    {
    }
    DEV_MEMBER A start(T) const
    {
        return 0;
    }
    DEV_MEMBER A take(A sum, T x) const
    {
        return sum + convert<A>(x);
    }
    DEV_MEMBER A join(A a, A b) const
    {
        return a + b;
    }
    DEV_MEMBER T result(A sum) const
    {
        return convert<T>((Scale)sum * scale);
    }
};

template <typename T> struct maximum {
    using A = sum_t<T>;

    DEV_MEMBER maximum(u64, u64)
    {
    }
    DEV_MEMBER A start(T first) const
    {
        return convert<A>(first);
    }
    DEV_MEMBER A take(A most, T x) const
    {
        return join(most, convert<A>(x));
    }
    DEV_MEMBER A join(A most, A v) const
    {
        return max_or_nan(most, v);
    }
    DEV_MEMBER T result(A most) const
    {
        return convert<T>(most);
    }
};

/*
 * K: the window is K x K, all of it loaded at once; 0: any window. Packs of
 * outputs are for windows of 2 x 2, side by side in rows that loads of 2 V may
 * take.
 */
template <typename OP, typename T, u32 K> struct Pool {
    const Image &image;
    const T *RESTRICT src;
    const OP op;
    u64 k2, k3, stride2, stride3;

    template <u32 V> DEV_MEMBER Pack<T, V> reduce_pairs(const T *row) const
    {
        const Pack<T, 2 *V> upper = load_pack<2 * V>(row);
        const Pack<T, 2 *V> lower = load_pack<2 * V>(row + image.sh);
        Pack<T, V> out;

        UNROLL
        for (u32 i = 0; i < V; i++) {
            auto v = op.take(op.start(upper[2 * i]), upper[2 * i]);

            v = op.take(v, upper[2 * i + 1]);
            v = op.take(v, lower[2 * i]);
            out[i] = op.result(op.take(v, lower[2 * i + 1]));
        }
        return out;
    }

    template <u32 V, typename W>
    DEV_MEMBER void write(W b, W c, W i2, W i3, T *to) const
    {
        const T *window = src + b * image.sb + c * image.sc +
                          i2 * stride2 * image.sh + i3 * stride3 * image.sw;

        if constexpr (V > 1) {
            constexpr u32 each = min_of<u32>(V, 8 / sizeof(T));
            Pack<T, V> out;

            UNROLL
            for (u32 i = 0; i < V; i += each) {
                const Pack<T, each> some = reduce_pairs<each>(window + 2 * i);

                UNROLL
                for (u32 k = 0; k < each; k++)
                    out[i + k] = some[k];
            }
            store_pack<V>(to, out);
        } else {
            *to = reduce(window, (W)k2, (W)k3);
        }
    }

    template <typename W> DEV_MEMBER T reduce(const T *row, W n2, W n3) const
    {
        auto v = op.start(*row);

        if constexpr (K > 0) {
            T x[K][K];

            UNROLL
            for (u32 h = 0; h < K; h++)
                UNROLL
            for (u32 w = 0; w < K; w++)
                x[h][w] = row[h * image.sh + w * image.sw];
            UNROLL
            for (u32 h = 0; h < K; h++)
                UNROLL
            for (u32 w = 0; w < K; w++)
                v = op.take(v, x[h][w]);
        } else {
            for (W h = 0; h < n2; h++, row += image.sh)
                v = along_row(v, row, n3);
        }
        return op.result(v);
    }

    /* a few loads in flight */
    template <typename W>
    DEV_MEMBER typename OP::A along_row(typename OP::A v, const T *at,
                                        W n) const
    {
        constexpr u32 batch = 4;

        for (; n >= batch; n -= batch, at += batch * image.sw) {
            T x[batch];

            UNROLL
            for (u32 i = 0; i < batch; i++)
                x[i] = at[i * image.sw];
            UNROLL
            for (u32 i = 0; i < batch; i++)
                v = op.take(v, x[i]);
        }
        for (; n > 0; n--, at += image.sw)
            v = op.take(v, *at);
        return v;
    }
};

/* windows that a group of lanes shares, mostly for few outputs */
constexpr u64 shared_window = 256;

/* an output by 32 lanes, spread over the rows of its window; a walk by `each`
 */
template <u32 each, typename OP, typename T>
DEV void pool_by_lanes(const Image &x, const OP &op, u64 k2, u64 k3,
                       u64 stride2, u64 stride3, u64 out2, u64 out3,
                       const T *RESTRICT src, T *RESTRICT dst)
{
    constexpr u32 lanes = 32, batch = 4;
    const u32 n = (u32)(x.b * x.c * out2 * out3), c = (u32)x.c;
    const u32 h_out = (u32)out2, w_out = (u32)out3;
    const u32 lane = threadIdx.x % lanes;
    const u32 window = (u32)(k2 * k3), across = (u32)k3;
    const Walk<u32> walk(each, n * lanes);

    for (u32 o = walk.first / lanes; o < n; o += walk.step / lanes) {
        const u32 row = o / w_out, plane = row / h_out, b = plane / c;
        const T *from = src + b * x.sb + (plane - b * c) * x.sc +
                        (row - plane * h_out) * stride2 * x.sh +
                        (o - row * w_out) * stride3 * x.sw;
        typename OP::A v = op.start(*from);

        for (u32 first = lane; first < window; first += batch * lanes) {
            T value[batch];

            UNROLL
            for (u32 i = 0; i < batch; i++) {
                const u32 at = first + i * lanes;
                const u32 h = (at < window ? at : lane) / across;
                const u32 w = (at < window ? at : lane) - h * across;

                value[i] = from[h * x.sh + w * x.sw];
            }
            UNROLL
            for (u32 i = 0; i < batch; i++)
                if (first + i * lanes < window)
                    v = op.take(v, value[i]);
        }
        v = join_lanes(v, [&op](auto a, auto b) { return op.join(a, b); });
        if (lane == 0)
            dst[o] = op.result(v);
    }
}

/* The images, and the number of outputs per image. */
struct PoolPlaces {
    Image x;
    u64 out2, out3;

    DEV_MEMBER void find(const size_t *info, u64 k2, u64 k3, u64 stride2,
                         u64 stride3)
    {
        x = image_2d(info);
        out2 = out3 = 0;
        if (k2 > x.h || k3 > x.w || k2 == 0 || k3 == 0)
            return;
        out2 = divide(x.h - k2, stride2) + 1;
        out3 = divide(x.w - k3, stride3) + 1;
    }
};

template <template <typename> class OP, typename T>
DEV void pool(u64 k2, u64 k3, u64 stride2, u64 stride3, const size_t *info,
              const T *RESTRICT src, T *RESTRICT dst)
{
    constexpr u32 V = sizeof(T) == 4 ? 4 : 8 / sizeof(T);
    BLOCK_SHARED PoolPlaces at;

    if (leaves_at_once(V))
        return;
    if (fills_block_shared())
        at.find(info, k2, k3, stride2, stride3);
    sync_block_shared();

    const Image &x = at.x;
    const u64 out2 = at.out2, out3 = at.out3;
    const OP<T> op(k2, k3);

    if (out2 == 0 || out3 == 0)
        return;
    const u64 window = k2 * k3;
    const u32 side = k2 == k3 && k2 < 4 ? (u32)k2 : 0;

    if (side == 2) {
        constexpr u32 pairs = 16 / sizeof(T);
        const bool together = x.sw == 1 && stride3 == 2 &&
                              ((x.sb | x.sc | x.sh) & (pairs - 1)) == 0 &&
                              is_aligned(src, 16);

        each_output<V>(x, out2, out3, dst,
                       Pool<OP<T>, T, 2>{x, src, op, k2, k3, stride2, stride3},
                       together);
    } else if (side == 3) {
        each_output<1, V>(
            x, out2, out3, dst,
            Pool<OP<T>, T, 3>{x, src, op, k2, k3, stride2, stride3});
    } else if (window >= shared_window && window < 1u << 31 &&
               walk_is_short(32 * x.b * x.c * out2 * out3) &&
               blockDim.x % 32 == 0) {
        pool_by_lanes<V>(x, op, k2, k3, stride2, stride3, out2, out3, src, dst);
    } else {
        each_output<1, V>(
            x, out2, out3, dst,
            Pool<OP<T>, T, 0>{x, src, op, k2, k3, stride2, stride3});
    }
}
