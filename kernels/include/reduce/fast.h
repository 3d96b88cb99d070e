/*
 * fast.h - fast_{sum,min,max,argmin,argmax}: one output a block
 *
 * src  strided through info: dims, then strides, the kept dims first
 * dst  [outputs] of T (of u32 for arg*), contiguous
 * Block o reduces elements o * R .. (o + 1) * R of the permuted view, and then
 * outputs o + grid, o + 2 * grid, ... The host launches (outputs, 1, 1) blocks
 * of the power of two at or above R, at most 1024; any other grid and block are
 * right too.
 *
 * Sums of floats keep the reference's order, f32's and f64's to the bit: slot t
 * adds elements t, t + B, t + 2B, ... for B threads, and a tree pairs slot t
 * with t + B/2, then B/4 and so on. f16 and bf16 sum in f32, and where rows are
 * aligned an element of that order is 16 bytes of them. So a row's sum depends
 * on its values and the block, never on how many rows there are. All other
 * operations give the same result in any order. Nothing depends on timing: the
 * same input gives the same bits.
 *
 * A block whose rows give its threads few elements each spends its time on
 * starting, on the latency of one round of loads and at barriers. With enough
 * such blocks, one block in 2^shift takes the outputs of 2^shift blocks, with a
 * smaller team of threads for each output, and the other blocks leave at once.
 * In a sum each thread of a team then stands for several of the block's.
 * Outputs that lie side by side are read by rows: columns.h. For short rows a
 * smaller grid does without the blocks that leave: several_outputs().
 *
 * min and max: f32 and f64 pass over NaN (all NaN: the identity), f16 and bf16
 * keep it. argmin and argmax: NaN is the extreme, ties go to the lowest index.
 */
#pragma once

#include "reduce/columns.h"
#include "reduce/fold.h"
#include "reduce/order.h"
#include "reduce/shared_rows.h"

/* Whether fold_contiguous() adds in the order that the result must have. */
template <typename OP, typename T>
constexpr bool reads_vectors = !OP::ordered || traits<T>::is_small;

/* joins the values of the block's threads, and stores the result */
template <typename OP>
DEV void store_by_block(const team &t, typename OP::value v, u64 output, u64 R,
                        u64 num_dims, const size_t *info,
                        const team_scratch<typename OP::value> &scratch,
                        typename OP::result_type *dst)
{
    if constexpr (OP::ordered)
        v = join_in_order<OP>(t, scratch.all, v);
    else
        v = team_reduce(t, scratch, 0, v, OP());
    if (t.rank == 0)
        dst[output] = OP::result(v, output * R, R, num_dims, info);
}

/*
 * Whether the outputs reduce contiguous rows of R elements, as in most
 * launches. It is tested before any store, so that scalar loads can be used.
 */
DEV bool blocks_have_rows(u64 numel, u64 R, u32 outputs, u64 num_dims,
                          const size_t *view)
{
    constant_size *info = constant_sizes(view);

    if (num_dims == 0 || info[2 * num_dims - 1] != 1)
        return false;
    if ((u64)outputs * R != numel || R >= 1u << 31)
        return false;

    u64 run = info[num_dims - 1];

    NO_UNROLL
    for (u32 d = (u32)num_dims - 1; d > 0; d--) {
        const u64 dim = info[d - 1];

        if (info[num_dims + d - 1] != run && dim != 1)
            return false;
        run *= dim;
    }
    return run == numel;
}

/* Whether to test blocks_have_rows(). On NVIDIA a block of a very large grid
 * saves the test, unless it is one group of lanes and loses nothing by it. */
DEV bool asks_for_rows()
{
    return !KPK_NVIDIA || gridDim.x < 1u << 20 || blockDim.x <= group_size;
}

/* Whether the grid is so small that no block takes another block's rows, at any
 * block size. On AMD this shortcut is not needed, because the full test is
 * short. */
DEV bool is_few_blocks()
{
    return KPK_NVIDIA && gridDim.x <= (1u << log_enough_threads) / max_block;
}

/* this block's row, n elements */
template <typename OP, typename T>
DEV void reduce_row_by_block(const T *src, u32 n, u64 num_dims,
                             const size_t *info,
                             const team_scratch<typename OP::value> &scratch,
                             typename OP::result_type *dst)
{
    const team t = make_team(blockDim.x, threadIdx.x, 0, 1);
    const T *row = src + (u64)blockIdx.x * n;
    typename OP::value v;

    if constexpr (reads_vectors<OP, T>)
        v = fold_contiguous<OP>(row, n, t.rank, t.size);
    else
        v = fold_line<OP, u32>(row, 1, n, t.rank, t.size);
    store_by_block<OP>(t, v, blockIdx.x, n, num_dims, info, scratch, dst);
}

/* Whether 32 threads of a block reduce the row, which needs no barrier. On AMD
 * a whole block issues the loads sooner. */
template <typename OP, typename T> DEV bool rows_fit_group(u64 R)
{
    return KPK_NVIDIA && !OP::ordered && blockDim.x >= group_size &&
           R <= 4 * group_size * vector_length<T>;
}

/* this block's row, n elements, by its first threads */
template <typename OP, typename T>
DEV void reduce_row_by_group(const T *src, u32 n, u64 num_dims,
                             const size_t *info, typename OP::result_type *dst)
{
    const T *row = src + (u64)blockIdx.x * n;

    if (threadIdx.x >= group_size)
        return;

    typename OP::value v =
        fold_contiguous<OP, true>(row, n, (u32)threadIdx.x, group_size);

    v = join_lanes(v, OP());
    if (threadIdx.x == 0) {
        locate<OP>(v, row, n);
        dst[blockIdx.x] = OP::result(v, (u64)blockIdx.x * n, n, num_dims, info);
    }
}

/* one output by the whole block */
template <typename OP, typename T>
DEV void reduce_by_block(u64 src_numel, u64 R, u64 num_dims, const size_t *info,
                         const T *src, typename OP::result_type *dst,
                         u64 output,
                         const team_scratch<typename OP::value> &scratch)
{
    const team t =
        make_team(uniform_here(blockDim.x), lane_here(threadIdx.x), 0, 1);
    const u64 first = output * R;
    typename OP::value v = OP::start();

    if (first < src_numel) {
        const u64 n = min_of<u64>(R, src_numel - first);
        const line where = find_line(src_numel, R, num_dims, info, first);

        if (!where.straight)
            v = fold_strided<OP>(src, first, n, num_dims, info, t.rank, t.size);
        else if (where.step == 1 && reads_vectors<OP, T> && fits_u32(n))
            v = fold_contiguous<OP>(src + where.base, (u32)n, t.rank, t.size);
        else
            v = fold_line<OP, u64>(src + where.base, where.step, n, t.rank,
                                   t.size);
    }
    store_by_block<OP>(t, v, output, R, num_dims, info, scratch, dst);
}

/*
 * The number of outputs if blocks of `several_threads` each have several
 * adjacent ones; else 0. Several outputs pay because AMD's scalar ALU takes
 * longer to read the view than DRAM takes for a row, above all on CDNA, where
 * four SIMDs share one scalar ALU.
 */
constexpr u32 log_several = 4, several_threads = 64, short_row = 128;

DEV u32 several_outputs(u64 numel, u32 R)
{
    u32 outputs = gridDim.x << log_several;
    u64 over = (u64)outputs * R - numel; /* too many, in the last block */

    if (blockDim.x != several_threads || over >= R << log_several)
        return 0;
    for (; (u32)over >= R; over -= R)
        outputs--;
    return over == 0 ? outputs : 0;
}

/* reduces rows or columns of at most 128 if the launch is of that kind */
template <typename OP, typename T>
DEV bool reduce_several(u64 numel, u32 R, u64 num_dims, const size_t *info,
                        const T *src, typename OP::value *all,
                        typename OP::result_type *dst)
{
    const u32 outputs = several_outputs(numel, R);

    if (outputs == 0)
        return false;

    const u32 first = blockIdx.x << log_several;
    const u32 count =
        first < outputs ? min_of(1u << log_several, outputs - first) : 0;

    if (blocks_have_rows(numel, R, outputs, num_dims, info)) {
        if (!rows_can_be_shared<OP>(src, R))
            return false;
        reduce_short_rows<OP>(src, R, first, count, num_dims, info, dst);
        return true;
    }
    constexpr u32 log = min_of(log_most_columns<OP, T>, log_several);
    columns side_by_side;

    if (!side_by_side.find(numel, R, outputs, num_dims, info, log, sizeof(T)))
        return false;
    reduce_columns<OP>(src, side_by_side, R, log, first, count, num_dims, info,
                       all, dst);
    return true;
}

/* This block's rows, where the outputs are of one row after the other. */
template <typename OP, typename T>
DEV void
reduce_rows_in_order(const T *src, u64 R, u64 num_dims, const size_t *info,
                     typename OP::value (*slot)[max_groups],
                     typename OP::value *all, typename OP::result_type *dst)
{
    using V = typename OP::value;
    const u32 shift = is_few_blocks() ? 0 : log2_outputs_shared<OP>(src, R);

    if (shift == 0) {
        if (rows_fit_group<OP, T>(R))
            reduce_row_by_group<OP>(src, (u32)R, num_dims, info, dst);
        else
            reduce_row_by_block<OP>(src, (u32)R, num_dims, info,
                                    team_scratch<V>{slot, all}, dst);
    } else if (!neighbour_takes_it(shift)) {
        const u32 first = first_taken(shift);

        reduce_rows<OP>(src, (u32)R, first, outputs_taken(first, shift),
                        num_dims, info, all, dst);
    }
}

template <typename OP, typename T>
DEV void fast_reduce(size_t src_numel, size_t el_to_sum_per_block,
                     size_t num_dims, const size_t *info, const T *src,
                     typename OP::result_type *dst)
{
    using V = typename OP::value;
    __shared__ V slot[2][max_groups];
    __shared__ V all[max_block];
    const u64 R = el_to_sum_per_block;

    const bool most = most_are_shared<OP>(src, R);

    if (most && neighbour_takes_it(log_most_shared))
        return;
    if (asks_for_rows() &&
        blocks_have_rows(src_numel, R, gridDim.x, num_dims, info)) {
        reduce_rows_in_order<OP>(src, R, num_dims, info, slot, all, dst);
        return;
    }
    if constexpr (!KPK_NVIDIA)
        if (R - 1 < short_row && reduce_several<OP>(src_numel, (u32)R, num_dims,
                                                    info, src, all, dst))
            return;
    const u32 log = log2_columns<OP, T>();
    columns side_by_side;

    if (__builtin_expect(gridDim.x >= some_columns, 0) &&
        side_by_side.find(src_numel, R, gridDim.x, num_dims, info, log,
                          sizeof(T))) {
        const u32 shift = most ? log_most_shared : log;

        if (!neighbour_takes_it(shift)) {
            const u32 first = first_taken(shift);

            reduce_columns<OP>(src, side_by_side, (u32)R, log, first,
                               outputs_taken(first, shift), num_dims, info, all,
                               dst);
        }
        return;
    }
    if (R > 0 && blockIdx.x * R >= src_numel)
        return;
    const u32 shift = log2_outputs_shared<OP>(src, R);

    u64 output = blockIdx.x;
    u32 outputs = 1; /* per block, one after the other */

    if (shift > 0) {
        const u32 first = first_taken(shift);

        if (neighbour_takes_it(shift))
            return;
        output = first;
        outputs = outputs_taken(first, shift);
        if (outputs == 0)
            return;
        if constexpr (KPK_NVIDIA) {
            const line where = find_line(src_numel, R, num_dims, info, 0);

            if (where.whole && where.step == 1 && src_numel == gridDim.x * R) {
                reduce_rows<OP>(src, (u32)R, first, outputs, num_dims, info,
                                all, dst);
                return;
            }
        }
    }
    u32 done = 0;

    do {
        reduce_by_block<OP>(src_numel, R, num_dims, info, src, dst, output,
                            team_scratch<V>{slot, all});
        __syncthreads(); /* the scratch has been read */
        output++;
        if (++done == outputs) {
            done = 0;
            output += gridDim.x - outputs;
        }
    } while (output * R < src_numel);
}
