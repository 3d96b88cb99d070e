/*
 * columns.h - fast_* of outputs that lie side by side, each a column
 *
 * Where a dim further out is reduced, the elements of one output lie a step
 * apart, and the elements of the next outputs lie between them. A block for one
 * output would fetch a line of memory for every element. So one block in 2^log
 * takes 2^log columns and reads pieces of rows; the others leave. Thread t is
 * for column t % 2^log and the rank t / 2^log of its threads.
 *
 * A sum keeps its order: of a block's B slots (fast.h) a thread of rank r has
 * r, r + B / 2^log, r + 2 * B / 2^log ..., 2^log of them in all, so the first
 * log steps of the tree are its own, and LDS does the rest.
 */
#pragma once

#include "compare.h"
#include "division.h"
#include "reduce/neighbours.h"
#include "reduce/operations.h"
#include "reduce/order.h"

/*
 * From some_columns outputs on a block takes 8 columns, from many_columns on
 * the columns that fill 64 bytes. A compute unit fetches a line a clock,
 * whatever it uses of it: with fewer outputs than there are compute units,
 * sharing gains nothing.
 */
constexpr u32 some_columns = 512, many_columns = 4096;
constexpr u32 log_few_shared = 3;
template <typename OP, typename T>
constexpr u32 log_most_columns = sizeof(T) == 8                  ? 3
                                 : sizeof(T) == 4 || OP::ordered ? 4
                                                                 : 5;

/* log2 of the columns that a block takes */
template <typename OP, typename T> DEV u32 log2_columns()
{
    return gridDim.x >= many_columns ? log_most_columns<OP, T> : log_few_shared;
}

/* The columns of a view, if it has any. */
struct columns {
    u64 step;       /* from one element of a column to the next */
    u32 outer_dims; /* dims in front of the dim of neighbours */
    u32 inner;      /* size of the dim of neighbours */
    u32 outputs;    /* of the launch */

    /*
     * Whether the view has columns: 2^log neighbours from each multiple of
     * 2^log on, of elements of `size` bytes, and columns shorter than 4 GiB.
     * Most blocks only come to ask this and leave: few instructions, and fewer
     * branches.
     */
    DEV_MEMBER bool find(u64 numel, u64 R, u32 all, u64 num_dims,
                         const size_t *info, u32 log, u32 size)
    {
        constant_size *dim = constant_sizes(info) + num_dims - 1;
        constant_size *stride = dim + num_dims;
        const u32 threads = blockDim.x;
        const u32 others = (1u << log) - 1;

        if (num_dims < 2)
            return false;
        outputs = all;
        step = *stride;
        if (step == 1) /* rows: most launches */
            return false;
        u32 run = (u32)*dim;

        outer_dims = (u32)num_dims - 2;
        if (__builtin_expect(run < (u32)R, 0)) /* several dims are reduced */
            for (; run < (u32)R && outer_dims > 0; outer_dims--) {
                if (*--stride != run * step)
                    return false;
                run *= (u32) * --dim;
            }
        inner = (u32)dim[-1];

        const u64 unit = stride[-1];
        const u32 left_over = inner == all ? 0 : inner & others;
        const u32 wrong = (u32)((numel | R | step | unit) >> 32) |
                          ((u32)unit ^ 1) | (run ^ (u32)R) |
                          (threads & (threads - 1 | others)) | left_over;

        return wrong == 0 && (u64)all * run == numel &&
               step * run <= 0xffffffff / size;
    }
    DEV_MEMBER u64 offset(u32 output, u64 num_dims, const size_t *info) const
    {
        if (inner == outputs)
            return output;
        const u32 outer = divide_uniform(output, inner);

        return output - outer * inner +
               strided_offset(outer, outer_dims, info, info + num_dims);
    }
};

/*
 * A walk down a column: an address for the whole wave, and 32 bits of bytes
 * from there for each lane.
 */
template <typename T> struct column_walk {
    const T *base; /* the same for all threads */
    u32 at, step;  /* bytes */

    DEV_MEMBER T next()
    {
        const T x = *reinterpret_cast<const T *>(
            reinterpret_cast<const char *>(base) + at);

        at = lane_here(at + step); /* saves a register per address */
        return x;
    }
};

/* folds elements rank, rank + size, ... below n; in no special order */
template <typename OP, typename T>
DEV typename OP::value fold_column(column_walk<T> walk, u32 n, u32 rank,
                                   u32 size)
{
    constexpr u32 batch = 8;
    typename OP::value v = OP::start();
    u32 i = 0;

    NO_UNROLL
    for (; i + batch * size <= n; i += batch * size) {
        T x[batch];

        UNROLL
        for (u32 k = 0; k < batch; k++)
            x[k] = walk.next();
        UNROLL
        for (u32 k = 0; k < batch; k++)
            OP::take(v, x[k], i + k * size + rank);
    }
    NO_UNROLL
    for (; i + rank < n; i += size)
        OP::take(v, walk.next(), i + rank);
    return v;
}

/* fold_column() in a sum's order: P of P * size slots, joined */
template <typename OP, u32 P, typename T>
DEV typename OP::value fold_column_slots(column_walk<T> walk, u32 n, u32 rank,
                                         u32 size)
{
    typename OP::value slot[P];
    T x[P];
    u32 i = rank;

    UNROLL
    for (u32 k = 0; k < P; k++)
        slot[k] = OP::start();
    NO_UNROLL
    for (u32 end = P * size; end <= n; end += P * size, i += P * size) {
        UNROLL
        for (u32 k = 0; k < P; k++)
            x[k] = walk.next();
        UNROLL
        for (u32 k = 0; k < P; k++)
            OP::take(slot[k], x[k], 0);
    }
    if ((n & (P * size - 1)) != 0) {
        UNROLL
        for (u32 k = 0; k < P; k++, i = lane_here(i + size)) {
            x[k] = T{}; /* adding zero changes no slot */
            if (i < n)
                x[k] = walk.next();
        }
        UNROLL
        for (u32 k = 0; k < P; k++)
            OP::take(slot[k], x[k], 0);
    }
    return join_own_slots<OP, P>(slot);
}

/*
 * `outputs` columns from output `output` on, 2^log at a time; all[] holds a
 * value for each thread.
 */
template <typename OP, typename T>
DEV void reduce_columns(const T *src, const columns &where, u32 R, u32 log,
                        u32 output, u32 outputs, u64 num_dims,
                        const size_t *info, typename OP::value *all,
                        typename OP::result_type *dst)
{
    typename OP::value v;
    const u32 each = 1u << log, column = threadIdx.x & (each - 1);
    const u32 step = (u32)where.step * (u32)sizeof(T);
    const team t =
        make_team(blockDim.x >> log, threadIdx.x >> log, column, each);

    NO_UNROLL
    for (u32 end = output + outputs; output < end; output += each) {
        const u32 mine = min_of(column, end - 1 - output);
        const column_walk<T> walk = {src + where.offset(output, num_dims, info),
                                     t.rank * step + mine * (u32)sizeof(T),
                                     t.size * step};

        if constexpr (!OP::ordered)
            v = fold_column<OP>(walk, R, t.rank, t.size);
        else if (log == log_most_columns<OP, T>)
            v = fold_column_slots<OP, 1u << log_most_columns<OP, T>>(
                walk, R, t.rank, t.size);
        else
            v = fold_column_slots<OP, 1u << log_few_shared>(walk, R, t.rank,
                                                            t.size);
        v = loose_team_reduce(t, all, v, OP());
        if (t.rank == 0 && column == mine) {
            const u32 o = output + column;

            dst[o] = OP::result(v, (u64)o * R, R, num_dims, info);
        }
    }
}
