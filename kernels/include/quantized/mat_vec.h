/* mat_vec.h - quantized matrix times one to eight columns */
#pragma once

#include "quantized/mat_vec_rows.h"

/* A module may define this as 1: one way for all targets and launches. */
#ifndef KPK_MAT_VEC_PLAIN
#define KPK_MAT_VEC_PLAIN 0
#endif
#define KPK_MAT_VEC_WAYS (KPK_SM >= 80 && !KPK_MAT_VEC_PLAIN)
#if KPK_MAT_VEC_WAYS
#include "nvidia/mat_vec/mat_vec_ways.h"
#endif

/*
 * mat_vec_job() computes a workgroup's rows, if it has any. The launch has a
 * workgroup for every `Launched` of the nrows rows of each of `planes`
 * matrices; a row has ncols columns. make() returns the workgroup's MatVec, and
 * `odd` has the low bits of all addresses and strides. From sm_80 on a grid for
 * one column may be compact, with fewer workgroups: each of them loops over
 * rows.
 *
 * Before sm_80 and on AMD, a way has `rows`, the rows of a job, Lds, and
 * run(lds, m, row0), which computes rows row0 .. row0 + rows - 1.
 */
#if !KPK_MAT_VEC_WAYS
template <class F, int N> constexpr u32 vec_resident = 1;

template <class F, int N, int Rows> struct VecWay {
    static constexpr int rows = Rows;
    typedef VecLds<N, Rows> Lds;

    static DEV_MEMBER constexpr bool in_front()
    {
        return false;
    }
    template <typename T>
    static DEV_MEMBER void run(Lds &lds, const MatVec<T> &m, int row0)
    {
        with_place(is_aligned(m.w, 16), [&](auto place) {
            mat_vec_rows<typename ForVec<F>::type, N, Rows,
                         decltype(place)::place>(lds, m, row0);
        });
    }
};

/* Usually one workgroup in vec_rows computes vec_rows rows. In a product with
 * one column, if this left some of 304 CUs idle, each workgroup computes only
 * its own row. */
template <class F, int N, class Fn> DEV void with_way(int, u32, Fn fn)
{
    typedef VecWay<F, N, vec_rows> Many;

    if constexpr (N == 1 && !KPK_MAT_VEC_PLAIN) {
        typedef VecWay<F, N, 1> Few;
        __shared__ union {
            typename Few::Lds few;
            typename Many::Lds many;
        } lds;

        if (gridDim.x < 304 * vec_rows)
            fn(Few(), lds.few);
        else
            fn(Many(), lds.many);
    } else {
        __shared__ typename Many::Lds lds;

        fn(Many(), lds);
    }
}

template <class F, int N, int Launched, class Make>
DEV void mat_vec_job(int nrows, int ncols, u32 odd, u32, Make make)
{
    with_way<F, N>(ncols, odd, [&](auto way, auto &lds) {
        constexpr int rows = decltype(way)::rows;
        const bool in_front = way.in_front();
        const int row0 = first_row<rows, Launched>(in_front);

        if (is_working<rows, Launched>(in_front) && row0 < nrows)
            way.run(lds, make(), row0);
    });
}
#endif

/*
 * Declares an exported kernel. On NVIDIA it also says how many workgroups must
 * fit a multiprocessor. Workgroups that exit at once hold as many registers as
 * computing ones, so both count. With 1 the compiler uses more registers than
 * without a number.
 */
#if KPK_NVIDIA
#define RESIDENT_KERNEL(threads, resident)                                     \
    extern "C" __global__ __launch_bounds__(threads, resident) void
#else
#define RESIDENT_KERNEL(threads, resident) KERNEL_UP_TO(threads)
#endif
#define MAT_VEC_KERNEL(F, N)                                                   \
    RESIDENT_KERNEL(32 * vec_warps<N>, (vec_resident<F, N>))
/* X(..., N) for each number of columns that has a kernel */
#define FOR_COLUMNS(X, ...)                                                    \
    X(__VA_ARGS__, 1)                                                          \
    X(__VA_ARGS__, 2)                                                          \
    X(__VA_ARGS__, 3)                                                          \
    X(__VA_ARGS__, 4)                                                          \
    X(__VA_ARGS__, 5)                                                          \
    X(__VA_ARGS__, 6)                                                          \
    X(__VA_ARGS__, 7)                                                          \
    X(__VA_ARGS__, 8)

DEV u32 low_bits(const void *p)
{
    return (u32) reinterpret_cast<u64>(p);
}

/* The kernel for N columns, y_stride bytes apart. */
template <class F, int N, typename T>
DEV void mat_vec(const void *vx, const void *vy, T *dst, int ncols_x,
                 int nrows_x, int nrows, size_t y_stride, int dst_stride)
{
    const u32 stride = N == 1 ? 0 : (u32)y_stride;
    const u32 odd = low_bits(vx) | low_bits(vy) | stride;

    mat_vec_job<F, N, N == 1 ? 1 : 2>(nrows, ncols_x, odd, 1, [=] {
        return MatVec<T>{static_cast<const u8 *>(vx),
                         static_cast<const u8 *>(vy),
                         dst,
                         nrows_x,
                         nrows,
                         ncols_x / F::elems,
                         y_stride,
                         (size_t)dst_stride};
    });
}

/*
 * Mixture of experts: row blockIdx.x of expert ids[task] times the task's own
 * input, or one input per batch entry where input_dim1 is 1.
 * dst [batch, topk, n], grid (n, batch, topk). The arguments do not tell how
 * many experts there are: ids beyond them read outside the weights.
 */
template <class F>
DEV void indexed_moe_forward(const void *weights, const void *inputs,
                             const u32 *ids, float *dst, int n, int k,
                             int k_padded, int input_dim1)
{
    const size_t task = (size_t)(blockIdx.y) * gridDim.z + blockIdx.z;
    const size_t input = input_dim1 == 1 ? blockIdx.y : task;
    const size_t blocks = (size_t)(k / F::elems);
    const size_t y_bytes = q8_1_bytes(k_padded);

    wait_for_launch_before(); /* which may choose the experts */

    /* the low bits of addresses in every expert's matrix and in the columns */
    const u32 odd = low_bits(weights) | (u32)n * (u32)blocks * F::bytes |
                    low_bits(inputs) | (u32)y_bytes;

    mat_vec_job<F, 1, 1>(n, k, odd, gridDim.y * gridDim.z, [=] {
        return MatVec<float>{static_cast<const u8 *>(weights) +
                                 ids[task] * (size_t)n * blocks * F::bytes,
                             static_cast<const u8 *>(inputs) + input * y_bytes,
                             dst + task * (size_t)n,
                             n,
                             n,
                             (int)blocks,
                             y_bytes,
                             0};
    });
}
