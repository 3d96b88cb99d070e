/* mat_vec_thin.h - one column times few rows, straight from memory */
#pragma once

#include "early.h"
#include "gguf/block.h"

/*
 * A launch of one or two microseconds is what its first load waits for, that
 * load, and the way of a sum to memory. So nothing is copied to LDS, and no
 * lane is asked whether it has a chunk: behind the row's end a lane has the
 * last one again, which does not count.
 *
 * A row is Warps warps', each lane takes Each of its chunks at a time. Most
 * rows end with the first time; the loop makes the compiler place this code in
 * front of the kernel, next to where it is chosen.
 */
template <class F, int Warps, int Each, typename T>
DEV float thin_product(const MatVec<T> &m, u32 row)
{
    constexpr u32 step = 32 * Warps;
    const u32 total = (u32)m.nblocks * F::chunks;
    const u32 lane = Warps == 1 ? threadIdx.x : threadIdx.y * 32 + threadIdx.x;
    const u8 *x = m.w + (size_t)row * ((u32)m.nblocks * F::bytes);
    float acc = 0.0f;
    u32 first = 0;

    NO_UNROLL
    do {
        typename F::Raw raw[Each];
        Activations a[Each];
        u32 at[Each];

        UNROLL
        for (u32 i = 0; i < Each; i++) {
            at[i] = min_of(first + lane + i * step, total - 1);
            raw[i] = F::template load<BlockPlace::aligned>(
                x + at[i] / F::chunks * F::bytes, (int)(at[i] % F::chunks));
        }
        wait_for_launch_before();
        UNROLL
        for (u32 i = 0; i < Each; i++) {
            const u32 chunk = at[i] % F::chunks;

            a[i] = read_activations<F>(reinterpret_cast<const u32 *>(
                                           m.y + (at[i] - chunk) * Q8_1::bytes),
                                       (int)chunk);
        }
        UNROLL
        for (u32 i = 0; i < Each; i++) {
            const float sum = add_product<F>(
                acc, F::unpack(raw[i], (int)(at[i] % F::chunks)), a[i]);

            acc = first + lane + i * step < total ? sum : acc;
        }
        first += Each * step;
    } while (first < total);
    return acc;
}

DEV float sum_of_warp(float x)
{
    x += lane_xor<16>(x);
    x += lane_xor<8>(x);
    x += lane_xor<4>(x);
    x += lane_xor<2>(x);
    return x + lane_xor<1>(x);
}

/* a row a warp, of a full grid whose first workgroups work */
template <class F, int Each> struct WarpWay {
    static constexpr bool all_rows = true;
    struct Lds {
    };

    template <typename T>
    static DEV_MEMBER void run(Lds &, const MatVec<T> &m, bool)
    {
        const u32 row = blockIdx.x * 4 + threadIdx.y;

        if (blockIdx.x * 4 >= (u32)m.nrows)
            return;

        const float sum = sum_of_warp(
            thin_product<F, 1, Each>(m, min_of(row, (u32)m.nrows - 1)));

        if (threadIdx.x == 0 && row < (u32)m.nrows)
            m.dst[row] = convert<T>(sum);
    }
};

/* a row a workgroup, all of which fit at once */
struct ThinSums {
    __attribute__((aligned(16))) float part[4];
};
template <class F, int Each> struct ThinWay {
    static constexpr bool all_rows = true;
    typedef ThinSums Lds;

    template <typename T>
    static DEV_MEMBER void run(Lds &lds, const MatVec<T> &m, bool)
    {
        const u32 row = blockIdx.x;
        const float sum = sum_of_warp(
            thin_product<F, 4, Each>(m, min_of(row, (u32)m.nrows - 1)));

        if (threadIdx.x == 0)
            lds.part[threadIdx.y] = sum;
        __syncthreads();
        if (threadIdx.x == 0 && threadIdx.y == 0 && row < (u32)m.nrows)
            m.dst[row] = convert<T>((lds.part[0] + lds.part[1]) +
                                    (lds.part[2] + lds.part[3]));
    }
};
