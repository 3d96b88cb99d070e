/*
 * strided_sum.h - sum_*: adds the elements of some dims to the old values of
 * out
 *
 * info  dims, strides, then for each reduced dim (ascending) its size and its
 *       contiguous stride
 * out   [kept dims] of T, contiguous; zeroed by the caller, added to here
 * Any 1-D grid. Each output has one owner, a thread where the outputs are many
 * and a block where they are few, so there are no atomics and the same launch
 * gives the same bits. f16 and bf16 sum in f32 and round once.
 */
#pragma once

#include "reduce/fast.h"

struct reduced_view {
    u64 num_dims, num_sum_dims;
    const size_t *dims, *strides, *len, *stride;

    DEV_MEMBER reduced_view(u64 nd, u64 nsd, const size_t *info)
        : num_dims(nd), num_sum_dims(nsd), dims(info), strides(info + nd),
          len(info + 2 * nd), stride(info + 2 * nd + nsd)
    {
    }
    /* elements an output */
    DEV_MEMBER u64 terms() const
    {
        u64 n = 1;

        for (u64 q = 0; q < num_sum_dims; q++)
            n *= len[q];
        return n;
    }
    /*
     * Offset of term r of output j: puts the coordinates that the sum took out
     * back in, the innermost first.
     */
    DEV_MEMBER u64 offset(u64 j, u64 r) const
    {
        for (u64 q = num_sum_dims; q > 0; q--) {
            const u64 n = len[q - 1], s = stride[q - 1];
            const u64 rest = divide(r, n), outer = divide(j, s);

            j = outer * s * n + (r - rest * n) * s + (j - outer * s);
            r = rest;
        }
        return strided_offset(j, num_dims, dims, strides);
    }
};

template <typename T>
DEV void strided_sum(size_t numel, size_t num_dims, size_t num_sum_dims,
                     const size_t *info, const T *RESTRICT inp, T *RESTRICT out)
{
    using A = typename kept<T>::sum;
    __shared__ A slot[2][max_groups];
    __shared__ A all[max_block];
    const reduced_view view(num_dims, num_sum_dims, info);
    const u64 terms = view.terms();

    if (numel == 0 || terms == 0)
        return;
    const u64 outputs = divide(numel, terms);

    if (outputs >= global_threads() || terms < group_size) {
        for (u64 j = global_thread(); j < outputs; j += global_threads()) {
            A sum = 0;

            for (u64 r = 0; r < terms; r++)
                sum += convert<A>(inp[view.offset(j, r)]);
            out[j] = convert<T>(convert<A>(out[j]) + sum);
        }
        return;
    }
    const team t = make_team(blockDim.x, threadIdx.x, 0, 1);
    u32 turn = 0;

    for (u64 j = blockIdx.x; j < outputs; j += gridDim.x, turn ^= 1) {
        A sum = 0;

        for (u64 r = t.rank; r < terms; r += t.size)
            sum += convert<A>(inp[view.offset(j, r)]);
        sum = team_reduce(t, team_scratch<A>{slot, all}, turn, sum, plus());
        if (t.rank == 0)
            out[j] = convert<T>(convert<A>(out[j]) + sum);
    }
}
