/*
 * pool.h - average and maximum over windows, no padding
 *
 * x    [b, c, d2, d3], strided
 * dst  [b, c, out2, out3], contiguous, out = (d - k) / stride + 1
 * Averages are sums in f32 (f16, bf16, f32), f64, or 32-bit integers that u8
 * does not wrap, times 1 / (k2 * k3); integers are truncated. A maximum of f32
 * or f64 passes over NaN unless all are NaN, one of f16 or bf16 keeps it.
 */
#pragma once

#include "conv/rows.h"

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
        const A v = convert<A>(x);

        if constexpr (traits<T>::is_small) /* NaN stays */
            return most > v || most != most ? most : v;
        else /* and is passed over */
            return v > most || most != most ? v : most;
    }
    DEV_MEMBER T result(A most) const
    {
        return convert<T>(most);
    }
};

/*
 * K: the window is K x K, all of it loaded at once; 0: any window. `together`:
 * windows of K = 2 lie side by side in rows that loads of 2 V may take.
 */
template <typename OP, typename T, u32 K> struct Pool {
    const Image &image;
    const T *RESTRICT src;
    const OP op;
    u64 k2, k3, stride2, stride3;
    bool together;

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
        Pack<T, V> out;

        if constexpr (K == 2 && V * sizeof(T) >= 8)
            if (together) {
                constexpr u32 each = V * sizeof(T) == 8 ? V : V / 2;

                UNROLL
                for (u32 i = 0; i < V; i += each) {
                    const Pack<T, each> some =
                        reduce_pairs<each>(window + 2 * i);

                    UNROLL
                    for (u32 k = 0; k < each; k++)
                        out[i + k] = some[k];
                }
                store_pack<V>(to, out);
                return;
            }
        UNROLL
        for (u32 i = 0; i < V; i++, window += stride3 * image.sw) {
            const T *row = window;
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
                for (W h = 0; h < (W)k2; h++, row += image.sh) {
                    const T *at = row;

                    for (W w = 0; w < (W)k3; w++, at += image.sw)
                        v = op.take(v, *at);
                }
            }
            out[i] = op.result(v);
        }
        store_pack<V>(to, out);
    }
};

template <template <typename> class OP, typename T>
DEV void pool(u64 k2, u64 k3, u64 stride2, u64 stride3, const size_t *info,
              const T *RESTRICT src, T *RESTRICT dst)
{
    constexpr u32 V = sizeof(T) == 8 ? 1 : sizeof(T) == 1 ? 8 : 4;

    if (leaves_at_once(V))
        return;
    const Image x = image_2d(info);

    if (k2 > x.h || k3 > x.w || k2 == 0 || k3 == 0)
        return;
    const u64 out2 = divide(x.h - k2, stride2) + 1;
    const u64 out3 = divide(x.w - k3, stride3) + 1;
    const OP<T> op(k2, k3);

    const bool together = x.sw == 1 && stride3 == 2 &&
                          ((x.sb | x.sc | x.sh) & (2 * V - 1)) == 0 &&
                          is_aligned(src, 2 * V * (u32)sizeof(T));

    if (k2 == 2 && k3 == 2)
        each_output<V>(
            x, out2, out3, dst,
            Pool<OP<T>, T, 2>{x, src, op, k2, k3, stride2, stride3, together});
    else
        each_output<V>(
            x, out2, out3, dst,
            Pool<OP<T>, T, 0>{x, src, op, k2, k3, stride2, stride3, false});
}
