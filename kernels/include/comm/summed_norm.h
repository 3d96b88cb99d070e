/*
 * comm/summed_norm.h - a row's sum over the ranks, its residual and RMS norm
 *
 * in        [rows, n] of T of each rank
 * residual  [rows, n] of T, null for 0; the same on all ranks
 * sum       [rows, n] of T: the ranks' sum, rounded to T, + residual; may be
 *           residual
 * alpha     [n] of T, null for 1
 * out       the norm of `sum` times alpha, as numbers or Q8_1 blocks:
 * to_numbers and to_q8_1 of fused/add_norm.h
 *
 * Rows are whole pieces of 16 bytes, and all is aligned to 16 bytes. Blocks are
 * any power of two of threads from 32 to 512, and block b takes the rows b, b
 * + grid and so on, of all ranks' shares too. The steps are those of
 * an all-reduce and of rmsnorm_add or add_rmsnorm_quantize_q8_1_quants after
 * it.
 *
 * `small` sends a row's pieces as small.h does, and adds up what comes. `large`
 * adds up a share of each row and writes it to all ranks' workspaces, as
 * large.h does, then each rank norms all rows.
 */
#pragma once

#include "comm/large.h"
#include "comm/small.h"
#include "fused/add_norm.h"

/* A kernel's last arguments. */
template <typename T> struct NormCall {
    const T *residual;
    T *sum;
    const T *alpha;
    void *out;
    u32 rows, n;
    u32 n_padded; /* of a row of blocks; numbers have none */
    f32 eps;
};

#define NORM_PARAMETERS(T)                                                     \
    const T *residual, T *sum, const T *alpha, void *out, u32 rows, u32 n,     \
        u32 n_padded, f32 eps
#define NORM_CALL(T)                                                           \
    NormCall<T>                                                                \
    {                                                                          \
        residual, sum, alpha, out, rows, n, n_padded, eps                      \
    }

/* The arguments, read again for each step as RankPointers are. */
template <typename T, u32 offset> struct NormArguments {
    NormCall<T> given;

    DEV_MEMBER NormCall<T> read() const
    {
#if KPK_NVIDIA
        return given;
#else
        typedef const __attribute__((address_space(4))) u8 constant_byte;
        auto *args = __builtin_amdgcn_kernarg_segment_ptr();

        asm volatile("" : "+s"(args));
        return *(const __attribute__((address_space(4)))
                 NormCall<T> *)((constant_byte *)args + offset);
#endif
    }
};

/* Where the norm of row r goes. */
template <typename T, bool Blocks>
DEV auto norm_out(const NormCall<T> &c, u32 r)
{
    if constexpr (Blocks) {
        const u32 blocks = c.n_padded / q8_1_elems;

        return to_q8_1<T, true>{static_cast<u8 *>(c.out) +
                                    (u64)r * blocks * q8_1_nbytes,
                                c.n, blocks * q8_1_elems};
    } else {
        return to_numbers<T>{static_cast<T *>(c.out) + (u64)r * c.n, c.n};
    }
}

/* A piece of the residual, from element `at` on, if there is one. */
template <typename T> DEV Piece<T> residual_at(const NormCall<T> &c, u64 at)
{
    return c.residual ? load_pack<per16<T>::value>(c.residual + at)
                      : Piece<T>{};
}

/* A piece of the ranks' sum, from element `at` on, to `sum`. */
template <typename T>
DEV void add_residual(const NormCall<T> &c, u64 at, const Piece<T> &r,
                      const Piece<T> &summed)
{
    constexpr u32 each = per16<T>::value;
    Piece<T> v = summed;

    if (c.residual) {
        UNROLL
        for (u32 k = 0; k < each; k++)
            v[k] = added_row<T>::rounded_sum(convert<f32>(v[k]),
                                             convert<f32>(r[k]));
    }
    store_pack<each>(c.sum + at, v);
}

/* The norm of a row of `sum`, which the block has just written. */
template <bool Blocks, typename T>
DEV void norm_row_of(const NormCall<T> &c, u32 r,
                     const team_scratch<f32> &scratch)
{
    const team t = block_team();
    const T *row = c.sum + (u64)r * c.n;
    const auto out = norm_out<T, Blocks>(c, r);
    norm_added<T, decltype(norm_out<T, Blocks>(c, r))> f = {
        {t, scratch, row, nullptr, nullptr, c.alpha, c.n, c.eps}, out};

    f.all(true, max_of(c.n, f.out.end()));
    __syncthreads(); /* the next row takes the scratch */
}

template <typename T, bool Blocks>
DEV void summed_norm_small(CommGroup &g, const T *in,
                           const NormArguments<T, COMM_ARGUMENTS + 8> &args)
{
    constexpr u32 each = per16<T>::value;
    BLOCK_SCRATCH(f32, scratch);
    const u32 rows = args.read().rows;

    NO_UNROLL
    for (u32 r = blockIdx.x; r < rows; r += gridDim.x) {
        {
            const NormCall<T> c = args.read();
            const u32 pieces = c.n / each;
            const u64 first = (u64)r * pieces, end = first + pieces;

            NO_UNROLL
            for (u64 i = first + threadIdx.x; i < end; i += blockDim.x)
                send_to_others<T, true>(g, i, [&](u32, u64) {
                    return load_pack<each>(in + i * each);
                });
            NO_UNROLL
            for (u64 i = first + threadIdx.x; i < end; i += blockDim.x) {
                const Piece<T> own = load_pack<each>(in + i * each);
                const Piece<T> residual = residual_at(c, i * each);

                add_residual(c, i * each, residual,
                             received_sum<T, 4>(g, own, i));
            }
        }
        __syncthreads();
        norm_row_of<Blocks>(args.read(), r, scratch);
    }
    comm_end(g);
}

template <typename T, bool Blocks>
DEV void summed_norm_large(
    CommGroup &g, const CommInputs<T> &in, const CommTargets<T> &to,
    const NormArguments<T, COMM_ARGUMENTS + 2 * COMM_RANKS * 8> &args)
{
    constexpr u32 each = per16<T>::value, line = COMM_LINE / sizeof(T);
    BLOCK_SCRATCH(f32, scratch);
    const NormCall<T> call = args.read();
    const u32 n = call.n, rows = call.rows;
    const u64 stride = div_up(n, line) * line; /* of rows in a workspace */
    const u64 share = div_up<u64>(stride, g.ranks * line) * line;
    const u64 begin = min_of<u64>(g.rank * share, n);
    const u64 end = min_of<u64>(begin + share, n);

    meet_others(g, COMM_BEGUN);
    NO_UNROLL
    for (u32 r = blockIdx.x; r < rows; r += gridDim.x) {
        NO_UNROLL
        for (u64 i = begin / each + threadIdx.x; i < end / each;
             i += blockDim.x) {
            Piece<T> all[COMM_RANKS];

            pull_piece<T, true>(g, in, (u64)r * n, n, i, all);
            put_sum(g, to, r * stride, n, i, sum_of<T>(g, all));
        }
    }
    meet_others(g, COMM_HALFWAY);
    NO_UNROLL
    for (u32 r = blockIdx.x; r < rows; r += gridDim.x) {
        {
            const NormCall<T> c = args.read();
            const T *sums = to[g.rank] + r * stride;

            NO_UNROLL
            for (u32 i = threadIdx.x; i < n / each; i += blockDim.x) {
                const u64 at = (u64)r * n + i * each;
                const Piece<T> residual = residual_at(c, at);

                add_residual(c, at, residual, load_pack<each>(sums + i * each));
            }
        }
        __syncthreads();
        norm_row_of<Blocks>(args.read(), r, scratch);
    }
    comm_end(g);
}
