/*
 * moe_gemm.h - rows of tokens times the transposed matrices of their experts
 *
 * input           [tokens, size_k] of T, or [size_m / topk, size_k]
 * weights         [num_experts, size_n, size_k]
 * sorted          [size_m] i32, rows of the output in order of their experts
 * expert_offsets  [num_experts + 1] i32, where the rows of each expert begin in
 *                 `sorted`, as moe_sort_ids or moe_expert_offsets makes it
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
 * it multiplies the 128 bytes before. An expert with few rows skips the 16 x 16
 * products without rows.
 *
 * A dense expert with up to 16 rows is bound by reading its weights. There each
 * wave has its own columns, and lanes load the weights from memory to registers
 * without LDS, many loads at once.
 *
 * On sm_90 dense experts use nvidia/gemm/grouped_tile.h, if blocks have 256
 * threads and shared memory as moe.csv says, and rows of the input and the
 * weights are aligned to 16 bytes. Otherwise the first 128 threads work.
 */
#pragma once

#include "early.h"
#include "gguf/block.h"
#include "matrix/gemm_tile.h"
#include "matrix/moe_args.h"
#include "reduce/team.h"
#if KPK_WARPGROUPS
#include "nvidia/gemm/grouped_tile.h"
#endif

constexpr u32 moe_threads = 128, moe_tile = 64;
/* the most threads of a block with dense experts */
constexpr u32 moe_dense_threads = KPK_WARPGROUPS ? 256 : moe_threads;
constexpr u32 moe_row_tiles = moe_tile / 16;
constexpr u32 moe_pieces = moe_tile * step_pieces / moe_threads; /* a thread */

DEV u32 moe_thread()
{
    return threadIdx.y * blockDim.x + threadIdx.x;
}

/* ---- experts of numbers ---- */

template <typename T> struct dense_expert {
    static constexpr bool is_dense = true;
    const T *w; /* of the expert */
    u32 n, k;
    Piece in[moe_pieces];

    /* the first k of piece p of a step */
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

/* ---- weights to T ----
 *
 * On AMD's targets without an instruction for bf16, rounding uses integers. A
 * NaN weight comes from a scale or bias that is NaN, and this rounding keeps
 * such a NaN, so weights are not checked for NaN.
 */
template <typename T> struct round_weights {
    static DEV_MEMBER f32 scale(f32 v)
    {
        return v;
    }
    static DEV_MEMBER u32 pair(f32 a, f32 b)
    {
        const Pack<T, 2> v = {convert<T>(a), convert<T>(b)};

        return bits_as<u32>(v);
    }
};
#if !KPK_NVIDIA && !KPK_TARGET_BF16
template <> struct round_weights<bf16> {
    static DEV_MEMBER f32 scale(f32 v)
    {
        return v == v ? v : bits_as<f32>(0x7fc00000u);
    }
    /* in the upper half: to nearest, even */
    static DEV_MEMBER u32 rounded(f32 v)
    {
        const u32 bits = bits_as<u32>(v);

        return bits + 0x7fff + (bits >> 16 & 1);
    }
    static DEV_MEMBER u32 pair(f32 a, f32 b)
    {
        return __builtin_amdgcn_perm(rounded(b), rounded(a), 0x07060302u);
    }
};
#endif

/* ---- experts in a GGUF format ----
 *
 * A thread turns one chunk of a step to numbers. A chunk is two groups of 16,
 * which need not be neighbours: the input's pieces follow their order.
 */
template <class F, typename T> struct gguf_expert {
    static constexpr bool is_dense = false;
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
            const f32 scale =
                there ? round_weights<T>::scale(c.scale[p / 2]) : 0;
            const f32 bias = there ? round_weights<T>::scale(c.bias[p / 2]) : 0;
            const auto weight = [&](u32 i) {
                return fmaf(scale,
                            byte_to_float(c.q[2 * p + i / 4], (int)(i % 4)),
                            bias);
            };
            Piece v;

            UNROLL
            for (u32 i = 0; i < 4; i++)
                v[i] = round_weights<T>::pair(weight(2 * i), weight(2 * i + 1));
            lds[piece_at(row, first + p)] = v;
        }
    }
};

/* ---- the product ---- */

template <typename T, typename R> struct Moe {
    typedef Unit<T> U;
    static constexpr u32 waves = moe_threads / matrix_wave;
    static constexpr u32 col_tiles = moe_tile / 16 / waves; /* of a wave */

    const T *input;
    const i32 *sorted;
    const f32 *topk_weights;
    R *output;
    MoeSizes size;
    /* in LDS: both operands, and the output's rows or ~0 */
    Piece *a, *b;
    u32 *row;

    /* the row of the input for row r of the output */
    DEV_MEMBER u32 input_row(u32 r) const
    {
        return r == ~0u || topk_weights ? r : r / size.topk;
    }
    /* pieces at k of the input's rows `from`. Blocks of a GGUF format end where
     * pieces do. */
    template <bool Whole>
    DEV_MEMBER void load_rows(Piece (&in)[moe_pieces],
                              const u32 (&from)[moe_pieces], u32 k) const
    {
        UNROLL
        for (u32 i = 0; i < moe_pieces; i++) {
            in[i] = {};
            if (from[i] != ~0u && k < size.k) {
                const T *p = input + (u64)from[i] * size.k + k;

                in[i] = Whole ? bits_as<Piece>(load_anywhere<8>(p))
                              : load_piece(p, size.k - k);
            }
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
    template <u32 row_tiles>
    DEV_MEMBER void write(const typename U::D (&d)[row_tiles][col_tiles],
                          u32 col0) const
    {
        const u32 first = col0 + moe_thread() / matrix_wave * col_tiles * 16;

        UNROLL
        for (u32 i = 0; i < row_tiles; i++)
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
    /* Sets row[] to the output rows sorted[first .. end - 1], at most 64. */
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
        u32 from[moe_pieces];

        find_rows(first, end);
        UNROLL
        for (u32 i = 0; i < moe_pieces; i++)
            from[i] = input_row(row[moe_thread() / step_pieces +
                                    i * (moe_threads / step_pieces)]);
        /* brings `step` while step - 1 is multiplied */
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
                load_rows<!W::is_dense>(in, from, W::k_of(step, p));
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
    /* whether all pieces along K are whole and aligned to 16 bytes */
    DEV_MEMBER bool in_pieces(const T *w) const
    {
        return (uniform_here(size.k) % 8 | ((u32)(u64)input & 15) |
                ((u32)(u64)w & 15)) == 0;
    }
    /* k to k + Units * U::k of the rows, and of this wave's columns from w on;
     * k may end before */
    template <u32 Units, bool Ends>
    DEV_MEMBER void multiply_few_rows(typename U::D (&d)[1][col_tiles],
                                      const T *w, u32 most_col, u32 k,
                                      u32 end_k) const
    {
        typename U::B of_w[Units][col_tiles];
        typename U::A of_rows[Units];
        const auto piece = [&](const T *line, u32 unit, u32 p) -> Piece {
            const u32 at = k + unit * U::k + p * 8;

            if (Ends && at >= end_k)
                return Piece{};
            return load_pack<4>(reinterpret_cast<const u32 *>(line + at));
        };

        UNROLL
        for (u32 u = 0; u < Units; u++)
            UNROLL
        for (u32 j = 0; j < col_tiles; j++)
            of_w[u][j] = typename U::B([&](u32 r, u32 p) {
                return piece(w + (u64)min_of(j * 16 + r, most_col) * end_k, u,
                             p);
            });
        UNROLL
        for (u32 u = 0; u < Units; u++)
            of_rows[u] = typename U::A([&](u32 r, u32 p) {
                const u32 from = input_row(row[r]);

                return from != ~0u ? piece(input + (u64)from * end_k, u, p)
                                   : Piece{};
            });
        UNROLL
        for (u32 u = 0; u < Units; u++)
            UNROLL
        for (u32 j = 0; j < col_tiles; j++)
            U::multiply(d[0][j], of_rows[u], of_w[u][j]);
    }
    /* places `first` .. `end` - 1, at most 16 */
    DEV_MEMBER void few_rows(const T *w, u32 col0, u32 first, u32 end) const
    {
        constexpr u32 at_once = 4;
        const u32 last_col = uniform_here(size.n) - 1;
        const u32 col = min_of(
            col0 + moe_thread() / matrix_wave * col_tiles * 16, last_col);
        const u32 most_col = last_col - col;
        const u32 end_k = uniform_here(size.k);
        typename U::D d[1][col_tiles] = {};
        u32 k = 0;

        w += (u64)col * end_k;
        find_rows(first, end);
        NO_UNROLL
        for (; end_k - k >= at_once * U::k; k += at_once * U::k)
            multiply_few_rows<at_once, false>(d, w, most_col, k, end_k);
        NO_UNROLL
        for (; k < end_k; k += U::k)
            multiply_few_rows<1, true>(d, w, most_col, k, end_k);
        write(d, col0);
        __syncthreads(); /* the next tile has other rows */
    }
    /* Zeroes the output's rows that belong to no expert. */
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

                    if constexpr (w.is_dense) {
                        if (end - at <= 16 && in_pieces(w.w)) {
                            few_rows(w.w, col0, at, end);
                            break;
                        }
                    }
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

template <typename T, typename R>
DEV void moe_gemm(const T *input, const T *weights, const i32 *sorted,
                  const i32 *offsets, const f32 *topk_weights, R *output,
                  const MoeSizes &size)
{
    wait_for_launch_before();
#if KPK_WARPGROUPS
    if (moe_gemm_by_tiles(MoeProduct<T, R>{input, weights, sorted, offsets,
                                           topk_weights, output, size}))
        return;
    if (moe_thread() >= moe_threads)
        return;
#endif
    MOE_LDS;
    const Moe<T, R> moe = {input, sorted, topk_weights, output,
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
