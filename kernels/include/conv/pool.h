/*
 * pool.h - average and maximum over windows, no padding
 *
 * x    [b, c, d2, d3], strided
 * dst  [b, c, out2, out3], contiguous, out = (d - k) / stride + 1
 * Averages are sums in f32 (f16, bf16, f32), f64, or 32-bit integers that u8
 * does not wrap, times 1 / (k2 * k3); integers are truncated. A maximum of f32
 * or f64 passes over NaN unless all are NaN, one of f16 or bf16 keeps it.
 * Any 1-D grid: neighbouring threads have neighbouring windows, which share
 * inputs through the cache.
 */
#pragma once

#include "conv/tile.h"

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

template <template <typename> class OP, typename T>
DEV void pool(u64 k2, u64 k3, u64 stride2, u64 stride3, const size_t *info,
              const T *RESTRICT src, T *RESTRICT dst)
{
    const Image x = image_2d(info);

    if (k2 > x.h || k3 > x.w || k2 == 0 || k3 == 0)
        return;
    const u64 out2 = divide(x.h - k2, stride2) + 1;
    const u64 out3 = divide(x.w - k3, stride3) + 1;
    const u64 n = x.b * x.c * out2 * out3;
    const OP<T> op(k2, k3);

    for (u64 i = global_thread(); i < n; i += global_threads()) {
        u64 b = i;
        const u64 i3 = take(b, out3), i2 = take(b, out2), c = take(b, x.c);
        const T *row = src + b * x.sb + c * x.sc + i2 * stride2 * x.sh +
                       i3 * stride3 * x.sw;
        auto v = op.start(*row);

        for (u64 h = 0; h < k2; h++, row += x.sh) {
            const T *at = row;

            for (u64 w = 0; w < k3; w++, at += x.sw)
                v = op.take(v, *at);
        }
        dst[i] = op.result(v);
    }
}
