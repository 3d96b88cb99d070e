/* mat_vec_straight.h - columns times few rows, straight from memory */
#pragma once

#include "early.h"
#include "gguf/block.h"
#include "nvidia/copy/async_copy.h"
#include "quantized/mat_vec_rows.h"

/*
 * A launch of two microseconds consists of the work before its first load, the
 * load, and the way of a sum to memory. So a lane asks for its chunks of
 * weights, `Each` in number, at once and keeps them in registers. No branch
 * tests whether a chunk exists: behind the row's end a lane loads the last
 * chunk again, and the result does not count.
 *
 * The columns come to LDS, once for the workgroup. Lanes that took their blocks
 * from memory, in words 36 bytes apart, would keep the L1 busy for longer than
 * the weights do. Their padding is read, up to a whole granule of 16 bytes.
 *
 * A workgroup has Rows rows, 4 / Rows warps each, and a row up to `columns`.
 */
template <class F, int N, int Rows, int Each> struct MatVecStraight {
    static constexpr int warps = 4 / Rows; /* of a row */
    static constexpr int columns = 1024 * warps * Each;
    static constexpr u32 y_bytes = columns / 32 * Q8_1::bytes;

    struct Lds {
        __attribute__((aligned(16))) u8 y[N][y_bytes];
        float part[Rows][warps][N];
    };

    u32 lane, warp;

    template <typename T>
    DEV_MEMBER void copy_columns(Lds &lds, const MatVec<T> &m) const
    {
        const u32 size = (u32)m.nblocks * (F::elems / 32 * Q8_1::bytes);
        const u32 at = 16 * (warp * 32 + lane);
        const u32 to = lds_copy_address(lds.y[0] + at);
        const u8 *from = m.y + at;

        asm("" : "+l"(from)); /* not worked out anew for each copy */
        UNROLL
        for (u32 col = 0; col < N; col++, from += m.y_stride) {
            UNROLL
            for (u32 i = 0; i < y_bytes; i += 16 * 128)
                if (at + i < size)
                    async_copy_16<Through::l1>(to + col * y_bytes + i,
                                               from + i);
        }
        async_copies_end();
    }

    /* adds the products of a chunk to acc, if is_there */
    static DEV_MEMBER void add(float (&acc)[N], const Lds &lds,
                               const typename F::Raw &raw, u32 at,
                               bool is_there)
    {
        const u32 chunk = at % F::chunks;
        const Chunk c = F::unpack(raw, (int)chunk);

        UNROLL
        for (int col = 0; col < N; col++) {
            const float sum = add_product<F>(
                acc[col], c,
                read_activations<F>(reinterpret_cast<const u32 *>(lds.y[col]) +
                                        (at - chunk) * Q8_1::words,
                                    (int)chunk));

            acc[col] = is_there ? sum : acc[col];
        }
    }

    template <typename T>
    static DEV_MEMBER void store(const MatVec<T> &m, u32 col, u32 row,
                                 float sum)
    {
        if (row < (u32)m.nrows)
            m.dst[(N == 1 ? 0 : col * m.dst_stride) + row] = convert<T>(sum);
    }

    template <typename T>
    DEV_MEMBER void run(Lds &lds, const MatVec<T> &m, u32 row0) const
    {
        const u32 r = warp / warps, first = warp % warps * 32 + lane;
        const u32 total = (u32)m.nblocks * F::chunks;
        const u8 *x = m.w + (size_t)min_of(row0 + r, (u32)m.nrows - 1) *
                                ((u32)m.nblocks * F::bytes);
        typename F::Raw raw[Each];
        u32 at[Each];
        float acc[N] = {};

        /* Two rows of blocks of 32 weights are there sooner if the columns are
         * asked for first: the compiler has lanes wait for weights, which they
         * unpack, before they ask for columns. */
        constexpr bool columns_first = F::elems == 32 && Rows == 2;
        const auto ask_columns = [&] {
            wait_for_launch_before();
            copy_columns(lds, m);
        };

        if (columns_first)
            ask_columns();
        UNROLL
        for (u32 i = 0; i < Each; i++) {
            at[i] = min_of(first + i * 32 * warps, total - 1);
            raw[i] = F::template load<BlockPlace::aligned>(
                x + at[i] / F::chunks * F::bytes, (int)(at[i] % F::chunks));
        }
        if (!columns_first)
            ask_columns();
        async_copies_wait<0>();
        __syncthreads();
        UNROLL
        for (u32 i = 0; i < Each; i++)
            add(acc, lds, raw[i], at[i], first + i * 32 * warps < total);

        int index;
        const float sum = sum_lanes<16>(acc, (int)lane, index);

        if constexpr (warps == 1) {
            if (index < N)
                store(m, (u32)index, row0 + r, sum);
        } else {
            const u32 tid = warp * 32 + lane;
            float all = 0.0f;

            if (index < N)
                lds.part[r][warp % warps][index] = sum;
            __syncthreads();
            if (tid >= Rows * N)
                return;
            UNROLL
            for (u32 i = 0; i < warps; i++)
                all += lds.part[tid / N][i][tid % N];
            store(m, tid % N, row0 + tid / N, all);
        }
    }
};
