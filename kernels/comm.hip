/*
 * comm.hip - sums and copies over the GPUs of one host
 *
 * A group has 2 to 8 ranks, a GPU each. A call is a launch of the same kernel
 * on every rank, with the same grid and the same sizes, of up to COMM_BLOCKS
 * blocks of COMM_THREADS threads that all fit the GPU at once. The arguments
 * begin with the group: all ranks' workspaces (comm/group.h), this rank, the
 * number of ranks, the bytes of a small message, and the time limit of a wait.
 *
 *   all_reduce_small_T, all_reduce_medium_T, all_reduce_pushed_T
 *                                                   the sum, on every rank
 *   reduce_scatter_small_T, reduce_scatter_large_T  a row of the sum, on each
 *   all_reduce_norm_small_T, all_reduce_norm_medium_T, all_reduce_norm_large_T,
 *   all_reduce_norm_q8_1_small_T, ..._medium_T, ..._large_T
 *                        the sum, a residual and its norm (comm/summed_norm.h)
 *   all_gather_small, all_gather_large              all ranks' rows, on each
 *   broadcast_small, broadcast_large                one rank's row, on each
 *
 * `small` and `medium` send messages through the workspaces (comm/small.h,
 * comm/medium.h); `pushed` sends each rank its share (comm/pushed.h); `large`
 * reads all ranks' inputs, whose pointers are arguments (comm/large.h). T is
 * f32, f16 or bf16; n counts elements, or bytes in kernels without a type. Sums
 * are in f32, from rank 0 on, rounded once, so all ranks have the same bits by
 * every kernel. Any alignment of an element is right, and one of 16 bytes
 * fast. kernels/host/comm_group.h launches them.
 */
#include "comm/large.h"
#include "comm/medium.h"
#include "comm/pushed.h"
#include "comm/small.h"
#include "comm/summed_norm.h"

#define INPUTS(T)                                                              \
    CommInputs<T>                                                              \
    {                                                                          \
        {                                                                      \
            RANK_POINTERS_LIST(in)                                             \
        }                                                                      \
    }
#define TARGETS(T)                                                             \
    CommTargets<T>                                                             \
    {                                                                          \
        {                                                                      \
            RANK_POINTERS_LIST(to)                                             \
        }                                                                      \
    }

#define SMALL_SUM(name, T)                                                     \
    KERNEL_UP_TO(512)                                                          \
    name##_small_##T(COMM_PARAMETERS, const T *in, T *out, u64 n)              \
    {                                                                          \
        COMM_GROUP(g);                                                         \
        name##_small(g, in, out, n);                                           \
    }

#define SUMMED_NORM(name, T, blocks)                                           \
    KERNEL_UP_TO(512)                                                          \
    name##_small_##T(COMM_PARAMETERS, const T *in, NORM_PARAMETERS(T))         \
    {                                                                          \
        COMM_GROUP_BEFORE(g);                                                  \
        summed_norm_small<T, blocks>(g, in, {NORM_CALL(T)});                   \
    }                                                                          \
    KERNEL_UP_TO(512)                                                          \
    name##_medium_##T(COMM_PARAMETERS, const T *in, u64 slots,                 \
                      u64 slot_nbytes, NORM_PARAMETERS(T))                     \
    {                                                                          \
        COMM_GROUP_BEFORE(g);                                                  \
        summed_norm_medium<T, blocks>(g, {slots, slot_nbytes}, in,             \
                                      {NORM_CALL(T)});                         \
    }                                                                          \
    KERNEL_UP_TO(512)                                                          \
    name##_large_##T(COMM_PARAMETERS, RANK_POINTERS(const T, in),              \
                     RANK_POINTERS(T, to), NORM_PARAMETERS(T))                 \
    {                                                                          \
        COMM_GROUP(g);                                                         \
        summed_norm_large<T, blocks>(g, INPUTS(T), TARGETS(T),                 \
                                     {NORM_CALL(T)});                          \
    }

#define EXPORT(T)                                                              \
    SMALL_SUM(all_reduce, T)                                                   \
    SMALL_SUM(reduce_scatter, T)                                               \
    KERNEL_UP_TO(512)                                                          \
    all_reduce_medium_##T(COMM_PARAMETERS, const T *in, T *out, u64 n,         \
                          u64 slots, u64 slot_nbytes, u32 rounds)              \
    {                                                                          \
        COMM_GROUP_BEFORE(g);                                                  \
        all_reduce_medium(g, {slots, slot_nbytes}, in, out, n, rounds);        \
    }                                                                          \
    KERNEL_UP_TO(512)                                                          \
    all_reduce_pushed_##T(COMM_PARAMETERS, const T *in, RANK_POINTERS(T, to),  \
                          T *out, u64 n, u64 slots, u64 slot_nbytes,           \
                          u32 rounds)                                          \
    {                                                                          \
        COMM_GROUP_BEFORE(g);                                                  \
        all_reduce_pushed(g, {slots, slot_nbytes}, in,                         \
                          PushedTargets<T>{{RANK_POINTERS_LIST(to)}}, out, n,  \
                          rounds);                                             \
    }                                                                          \
    SUMMED_NORM(all_reduce_norm, T, false)                                     \
    SUMMED_NORM(all_reduce_norm_q8_1, T, true)                                 \
    KERNEL_UP_TO(512)                                                          \
    reduce_scatter_large_##T(COMM_PARAMETERS, RANK_POINTERS(const T, in),      \
                             T *out, u64 n)                                    \
    {                                                                          \
        COMM_GROUP(g);                                                         \
        reduce_scatter_large(g, INPUTS(T), out, n);                            \
    }

EXPORT(f32)
EXPORT(f16)
EXPORT(bf16)

KERNEL_UP_TO(512)
all_gather_small(COMM_PARAMETERS, const u8 *in, u8 *out, u64 n)
{
    COMM_GROUP(g);
    all_gather_small(g, in, out, n);
}

KERNEL_UP_TO(512)
all_gather_large(COMM_PARAMETERS, RANK_POINTERS(const u8, in), u8 *out, u64 n)
{
    COMM_GROUP(g);
    all_gather_large(g, INPUTS(u8), out, n);
}

KERNEL_UP_TO(512)
broadcast_small(COMM_PARAMETERS, const u8 *in, u8 *out, u64 n, u32 root)
{
    COMM_GROUP(g);
    broadcast_small(g, in, out, n, root);
}

KERNEL_UP_TO(512)
broadcast_large(COMM_PARAMETERS, RANK_POINTERS(const u8, in), u8 *out, u64 n,
                u32 root)
{
    COMM_GROUP(g);
    broadcast_large(g, INPUTS(u8), out, n, root);
}
