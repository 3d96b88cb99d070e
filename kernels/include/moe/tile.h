/*
 * tile.h - rows of tokens times the transposed matrices of their experts
 *
 * input           [tokens, size_k] of T, or [size_m / topk, size_k]
 * weights         [num_experts, size_n, size_k]
 * sorted          [size_m] i32, rows of the output in order of their experts
 * expert_offsets  [num_experts + 1] i32, where the rows of each expert begin in
 *                 `sorted`, as moe_expert_offsets makes it
 * topk_weights    [size_m] f32, or null
 * output          [size_m, size_n]
 *
 * With r = sorted[i] and the expert that i belongs to,
 *
 *   output[r] = topk_weights[r] * weights[expert] input[r]
 *   output[r] = weights[expert] input[r / topk]       without topk_weights
 *
 * in f32, rounded once. Rows in front of the first expert's and behind the last
 * one's belong to no expert and become 0. Numbers in `sorted` that are no row
 * are passed over. Negative sizes are taken as 0, and a topk below 1 as 1.
 *
 * Grid: x over experts, y over 64 columns; smaller ones loop. 128 threads. A
 * workgroup brings 128 bytes along K of 64 rows and 64 columns into LDS, while
 * it multiplies what it brought before. Of an expert with few rows, only the
 * 16 x 16 products that have some are made.
 */
#pragma once

#include "matrix/gemm.h"

constexpr u32 moe_threads = 128, moe_tile = 64;
constexpr u32 moe_row_tiles = moe_tile / 16;
constexpr u32 moe_pieces = moe_tile * step_pieces / moe_threads; /* a thread */

DEV u32 moe_thread()
{
    return threadIdx.y * blockDim.x + threadIdx.x;
}

/* ---- experts of numbers ---- */

template <typename T> struct dense_expert {
    const T *w; /* of the expert */
    u32 n, k;
    Piece in[moe_pieces];

    /* where piece p of a step lies along K */
    static DEV_MEMBER u32 k_of(u32 step, u32 p)
    {
        return (step * step_pieces + p) * 8;
    }
    DEV_MEMBER u32 steps() const
    {
        return div_up(k, step_pieces * 8);
    }
    DEV_MEMBER void load(u32 col0, u32 step)
    {
        UNROLL
        for (u32 i = 0; i < moe_pieces; i++) {
            const u32 at = moe_thread() + i * moe_threads;
            const u32 col = col0 + at / step_pieces;
            const u32 first = k_of(step, at % step_pieces);

            in[i] = {};
            if (col < n && first < k)
                in[i] = load_piece(w + (u64)col * k + first, k - first);
        }
    }
    DEV_MEMBER void store(Piece *lds, u32) const
    {
        UNROLL
        for (u32 i = 0; i < moe_pieces; i++) {
            const u32 at = moe_thread() + i * moe_threads;

            lds[piece_at(at / step_pieces, at % step_pieces)] = in[i];
        }
    }
};

/* ---- experts in a GGUF format ----
 *
 * A thread turns one chunk of a step to numbers. A chunk is two groups of 16,
 * which need not be neighbours: the input's pieces follow their order.
 */
template <class F, typename T> struct gguf_expert {
    const u8 *w;
    u32 n, k;
    typename F::Raw raw;
    bool there;

    static DEV_MEMBER u32 k_of(u32 step, u32 p)
    {
        const u32 at = 2 * step + p / 4;
        const u32 group = (u32)F::first_group((int)(at % F::chunks)) +
                          p / 2 % 2 * F::group_step;

        return at / F::chunks * F::elems + 16 * group + p % 2 * 8;
    }
    DEV_MEMBER u32 steps() const
    {
        return div_up(k / F::elems * F::chunks, 2u);
    }
    static DEV_MEMBER u32 chunk(u32 step)
    {
        return 2 * step + moe_thread() % 2;
    }
    DEV_MEMBER void load(u32 col0, u32 step)
    {
        const u32 col = col0 + moe_thread() / 2, blocks = k / F::elems;
        const u32 at = chunk(step);

        there = col < n && at < blocks * F::chunks;
        if (there)
            raw = F::template load<BlockPlace::anywhere>(
                w + ((u64)col * blocks + at / F::chunks) * F::bytes,
                (int)(at % F::chunks));
    }
    DEV_MEMBER void store(Piece *lds, u32 step) const
    {
        const u32 row = moe_thread() / 2, first = moe_thread() % 2 * 4;
        const Chunk c = F::unpack(raw, (int)(chunk(step) % F::chunks));

        UNROLL
        for (u32 p = 0; p < 4; p++) {
            Pack<T, 8> v;

            UNROLL
            for (u32 i = 0; i < 8; i++)
                v[i] = convert<T>(
                    fmaf(c.scale[p / 2],
                         byte_to_float(c.q[2 * p + i / 4], (int)(i % 4)),
                         c.bias[p / 2]));
            lds[piece_at(row, first + p)] = there ? bits_as<Piece>(v) : Piece{};
        }
    }
};

/* ---- the product ---- */

struct MoeSizes {
    u32 experts, topk, m, n, k;
};

template <typename T, typename R> struct Moe {
    typedef Unit<T> U;
    static constexpr u32 waves = moe_threads / matrix_wave;
    static constexpr u32 col_tiles = moe_tile / 16 / waves; /* of a wave */

    const T *input;
    const i32 *sorted;
    const f32 *topk_weights;
    R *output;
    MoeSizes size;
    /* in LDS: both operands, and the output's rows; ~0 where there is none */
    Piece *a, *b;
    u32 *row;

    DEV_MEMBER void load_rows(Piece (&in)[moe_pieces], u32 k) const
    {
        const u32 first = moe_thread() / step_pieces;

        UNROLL
        for (u32 i = 0; i < moe_pieces; i++) {
            const u32 r = row[first + i * (moe_threads / step_pieces)];
            const u32 from = topk_weights ? r : r / size.topk;

            in[i] = {};
            if (r != ~0u && k < size.k)
                in[i] = load_piece(input + (u64)from * size.k + k, size.k - k);
        }
    }
    DEV_MEMBER void multiply(typename U::D (&d)[moe_row_tiles][col_tiles],
                             u32 nrows) const
    {
        const u32 col0 = moe_thread() / matrix_wave * col_tiles * 16;

        UNROLL
        for (u32 u = 0; u < step_pieces; u += U::pieces) {
            typename U::B of_b[col_tiles];

            UNROLL
            for (u32 j = 0; j < col_tiles; j++)
                of_b[j] = typename U::B([&](u32 r, u32 p) {
                    return b[piece_at(col0 + j * 16 + r, u + p)];
                });
            UNROLL
            for (u32 i = 0; i < moe_row_tiles; i++) {
                if (i * 16 >= nrows)
                    break;
                const typename U::A of_a([&](u32 r, u32 p) {
                    return a[piece_at(i * 16 + r, u + p)];
                });

                UNROLL
                for (u32 j = 0; j < col_tiles; j++)
                    U::multiply(d[i][j], of_a, of_b[j]);
            }
        }
    }
    DEV_MEMBER void write(const typename U::D (&d)[moe_row_tiles][col_tiles],
                          u32 col0) const
    {
        const u32 first = col0 + moe_thread() / matrix_wave * col_tiles * 16;

        UNROLL
        for (u32 i = 0; i < moe_row_tiles; i++)
            UNROLL
        for (u32 j = 0; j < col_tiles; j++)
            UNROLL
        for (u32 e = 0; e < U::results; e++) {
            const u32 r = row[i * 16 + U::row(e)];
            const u32 col = first + j * 16 + U::col(e);

            if (r == ~0u || col >= size.n)
                continue;
            const f32 v = d[i][j].v[e];

            output[(u64)r * size.n + col] =
                convert<R>(topk_weights ? v * topk_weights[r] : v);
        }
    }
    /* the output's rows of places `first` .. `end` - 1, at most 64 */
    DEV_MEMBER void find_rows(u32 first, u32 end) const
    {
        const u32 i = moe_thread();

        if (i < moe_tile) {
            const u32 r = i < end - first ? (u32)sorted[first + i] : ~0u;

            row[i] = r < size.m ? r : ~0u;
        }
        __syncthreads();
    }
    template <typename W>
    DEV_MEMBER void tile(W &w, u32 col0, u32 first, u32 end) const
    {
        const u32 p = moe_thread() % step_pieces, steps = w.steps();
        const u32 nrows = min_of(end - first, moe_tile);
        typename U::D d[moe_row_tiles][col_tiles] = {};
        Piece in[moe_pieces];

        find_rows(first, end);
        /* step is brought while the one before it is multiplied */
        NO_UNROLL
        for (u32 step = 0; step <= steps; step++) {
            if (step > 0) {
                UNROLL
                for (u32 i = 0; i < moe_pieces; i++)
                    a[piece_at(moe_thread() / step_pieces +
                                   i * (moe_threads / step_pieces),
                               p)] = in[i];
                w.store(b, step - 1);
                __syncthreads();
            }
            if (step < steps) {
                load_rows(in, W::k_of(step, p));
                w.load(col0, step);
            }
            if (step > 0) {
                multiply(d, nrows);
                __syncthreads();
            }
        }
        write(d, col0);
        __syncthreads(); /* the next tile has other rows */
    }
    /* rows of no expert */
    DEV_MEMBER void clear(u32 col0, u32 first, u32 end) const
    {
        const u32 cols = min_of(size.n - col0, moe_tile);

        for (u32 i = first + moe_thread() / moe_tile; i < end;
             i += moe_threads / moe_tile) {
            const u32 r = (u32)sorted[i], col = moe_thread() % moe_tile;

            if (r < size.m && col < cols)
                output[(u64)r * size.n + col0 + col] = R{};
        }
    }
    /* expert(e): its weights */
    template <typename Expert>
    DEV_MEMBER void run(const i32 *offsets, Expert expert) const
    {
        if (size.experts == 0 && blockIdx.x == 0)
            for (u32 y = blockIdx.y; y < div_up(size.n, moe_tile);
                 y += gridDim.y)
                clear(y * moe_tile, 0, size.m);
        for (u32 e = blockIdx.x; e < size.experts; e += gridDim.x) {
            const u32 first = (u32)min_of(max_of(offsets[e], 0), (i32)size.m);
            const u32 end = (u32)min_of(max_of(offsets[e + 1], 0), (i32)size.m);

            for (u32 y = blockIdx.y; y < div_up(size.n, moe_tile);
                 y += gridDim.y) {
                const u32 col0 = y * moe_tile;

                if (e == 0)
                    clear(col0, 0, first);
                if (e == size.experts - 1)
                    clear(col0, end, size.m);
                for (u32 at = first; at < end; at += moe_tile) {
                    auto w = expert(e);

                    tile(w, col0, at, end);
                }
            }
        }
    }
};

#define MOE_LDS                                                                \
    __shared__ Piece lds_a[moe_tile * step_pieces];                            \
    __shared__ Piece lds_b[moe_tile * step_pieces];                            \
    __shared__ u32 lds_row[moe_tile]

/* a size that is an argument; negative ones are none */
DEV u32 size_of_arg(i32 v)
{
    return v > 0 ? (u32)v : 0;
}

DEV MoeSizes moe_sizes(i32 experts, i32 topk, i32 m, i32 n, i32 k)
{
    return {size_of_arg(experts), max_of(size_of_arg(topk), 1u), size_of_arg(m),
            size_of_arg(n), size_of_arg(k)};
}

template <typename T>
DEV void moe_gemm(const T *input, const T *weights, const i32 *sorted,
                  const i32 *offsets, const f32 *topk_weights, T *output,
                  const MoeSizes &size)
{
    MOE_LDS;
    const Moe<T, T> moe = {input, sorted, topk_weights, output,
                           size,  lds_a,  lds_b,        lds_row};

    moe.run(offsets, [&](u32 e) {
        return dense_expert<T>{
            weights + (u64)e * size.n * size.k, size.n, size.k, {}};
    });
}

template <class F, typename T>
DEV void moe_gemm_gguf_tiles(const T *input, const void *weights,
                             const i32 *sorted, const i32 *offsets,
                             const f32 *topk_weights, f32 *output,
                             const MoeSizes &size)
{
    MOE_LDS;
    const Moe<T, f32> moe = {input, sorted, topk_weights, output,
                             size,  lds_a,  lds_b,        lds_row};
    const u64 expert_bytes = (u64)size.n * (size.k / F::elems) * F::bytes;

    moe.run(offsets, [&](u32 e) {
        return gguf_expert<F, T>{static_cast<const u8 *>(weights) +
                                     e * expert_bytes,
                                 size.n,
                                 size.k,
                                 {},
                                 false};
    });
}
