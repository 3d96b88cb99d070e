/*
 * f16_weights.h - weights that are f16 or bf16: to numbers, and products
 *
 * They have no blocks: a row may have any number of columns. So products take
 * columns of f32, where products of gguf/ formats take Q8_1.
 */
#pragma once

#include "early.h"
#include "quantized/dequantize.h"
#include "quantized/float_columns.h"
#include "quantized/mat_vec.h"

/* ---- dequantize_block_ ---- */

/*
 * y[i] = x[i], n elements. Callers launch a workgroup for every Elems elements;
 * one in Join workgroups does the work of all of them (dequantize.h).
 */
template <u32 Threads, u32 Elems, u32 Join, typename T, typename R>
DEV void dequantize_floats(const T *x, R *y, size_t n)
{
    constexpr u32 each = Elems * Join / (8 * Threads); /* pieces of a thread */
    constexpr u32 shift = constant_log2(Join);
    const size_t first = (size_t)first_taken(shift) * Elems;
    const bool aligned = is_aligned(y, 4 * sizeof(R));
    Piece in[each];

    static_assert(each * 8 * Threads == Elems * Join, "whole pieces");
    static_assert(Join == 1u << shift, "a power of two");
    if (neighbour_takes_it(shift) || first >= n)
        return;

    const u32 left = (u32)min_of(n - first, (size_t)(Elems * Join));

    UNROLL
    for (u32 i = 0; i < each; i++) {
        const u32 at = 8 * (threadIdx.x + i * Threads);

        in[i] = {};
        if (at < left)
            in[i] = load_piece(x + first + at, left - at);
    }
    UNROLL
    for (u32 i = 0; i < each; i++) {
        const u32 at = 8 * (threadIdx.x + i * Threads);

        const Pack<T, 8> v = bits_as<Pack<T, 8>>(in[i]);

        UNROLL
        for (u32 e = 0; e < 8; e += 4) {
            const Pack<R, 4> four = {{convert<R>(v[e]), convert<R>(v[e + 1]),
                                      convert<R>(v[e + 2]),
                                      convert<R>(v[e + 3])}};

            if (at + e + 4 <= left) {
                store_four(y + first + at + e, four, aligned);
            } else {
                UNROLL
                for (u32 j = 0; j < 4; j++)
                    if (at + e + j < left)
                        y[first + at + e + j] = four[j];
            }
        }
    }
}

/* ---- products with one to eight columns ---- */

/*
 * Rows row0 .. row0 + Rows - 1 times N columns, by Warps warps: each lane of
 * each warp takes eight neighbouring elements of the rows at a time, and loads
 * the columns' elements once for all rows. nblocks counts elements.
 */
template <typename W, int N, int Rows, int Warps>
DEV void float_weights_rows(float (&part)[Warps][Rows * N],
                            const MatVec<f32> &m, int row0)
{
    constexpr u32 step = 8 * 32 * Warps;
    const u32 thread = threadIdx.y * 32 + threadIdx.x % 32;
    const u32 ncols = (u32)max_of(m.nblocks, 0);
    const u32 pieces_end = ncols / 8 * 8;
    const f32 *const y = reinterpret_cast<const f32 *>(m.y);
    const size_t y_stride = m.y_stride / sizeof(f32);
    const W *row[Rows];
    float acc[Rows * N];

    wait_for_launch_before();
    UNROLL
    for (int r = 0; r < Rows; r++)
        row[r] = reinterpret_cast<const W *>(m.w) +
                 (size_t)min_of(row0 + r, m.nrows - 1) * ncols;
    UNROLL
    for (int i = 0; i < Rows * N; i++)
        acc[i] = 0.0f;
    NO_UNROLL
    for (u32 k = 8 * thread; k < pieces_end; k += step) {
        Pack<W, 8> w[Rows];

        UNROLL
        for (int r = 0; r < Rows; r++)
            w[r] = load_anywhere<8>(row[r] + k);
        UNROLL
        for (int col = 0; col < N; col++) {
            const Pack<f32, 8> v =
                load_anywhere<8>(y + (size_t)col * y_stride + k);

            UNROLL
            for (int r = 0; r < Rows; r++) {
                UNROLL
                for (u32 e = 0; e < 8; e++)
                    acc[r * N + col] =
                        fmaf((float)w[r][e], v[e], acc[r * N + col]);
            }
        }
    }
    /* the columns behind the last eight, one a thread */
    if (thread < ncols - pieces_end) {
        const u32 k = pieces_end + thread;

        UNROLL
        for (int i = 0; i < Rows * N; i++)
            acc[i] = fmaf((float)row[i / N][k],
                          y[(size_t)(i % N) * y_stride + k], acc[i]);
    }
    store_sums<N, Rows>(part, acc, m, row0);
}

/* The job of a workgroup of Warps warps that was launched for Launched rows. */
template <typename W, int N, int Rows, int Launched, int Warps>
DEV void float_weights_job(const MatVec<f32> &m)
{
    __shared__ float part[Warps][Rows * N];
    const int row0 = first_row<Rows, Launched>();

    if (is_working<Rows, Launched>() && row0 < m.nrows)
        float_weights_rows<W, N, Rows>(part, m, row0);
}

/* The kernel for N columns of f32, y_stride elements apart. Where a workgroup
 * in a few would leave compute units idle, each workgroup takes only its own
 * rows.
 */
template <int N, typename W>
DEV void float_weights_mat_vec(const W *x, const f32 *y, f32 *dst, int ncols,
                               int nrows_x, int y_stride, int dst_stride)
{
    constexpr int launched = N == 1 ? 1 : 2, warps = vec_warps<N>;
    const MatVec<f32> m = {reinterpret_cast<const u8 *>(x),
                           reinterpret_cast<const u8 *>(y),
                           dst,
                           nrows_x,
                           min_of(nrows_x, dst_stride),
                           ncols,
                           (size_t)y_stride * sizeof(f32),
                           (size_t)dst_stride};

    if (gridDim.x * launched < 304 * 4)
        float_weights_job<W, N, launched, launched, warps>(m);
    else
        float_weights_job<W, N, 4, launched, warps>(m);
}

/* The kernel with the arguments of mat_vec_f32.h's: a warp for each row */
template <typename W>
DEV void float_weights_column(const W *x, const f32 *y, f32 *dst, int ncols,
                              int nrows)
{
    float_weights_job<W, 1, 4, 1, 1>({reinterpret_cast<const u8 *>(x),
                                      reinterpret_cast<const u8 *>(y), dst,
                                      nrows, nrows, ncols, 0, 0});
}

/* ---- products with many columns ---- */

template <u32 Rows, u32 Cols, typename W>
DEV void float_weights_mul(const W *x, const f32 *y, f32 *dst, int ncols_x,
                           int nrows_x, int ncols_y, int nrows_y, int nrows_dst)
{
    float_columns_mul<W, Rows, Cols>(
        [=](u32 row0) {
            return Operand<W, Rows, float_columns_threads, true>(
                x, row0, (u32)nrows_x, (u32)ncols_x);
        },
        y, dst, ncols_x, nrows_x, ncols_y, nrows_y, nrows_dst);
}
