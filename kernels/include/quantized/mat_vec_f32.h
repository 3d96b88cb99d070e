/* mat_vec_f32.h - quantized matrix times an f32 column */
#pragma once

#include "quantized/mat_vec.h"

/*
 * Callers launch 32 threads for each row. Some of these workgroups do the work
 * of float_rows rows, side by side: an element of y is loaded once for all, and
 * their loads hide each other. K formats need more registers for a row.
 *
 * A lane takes two quads that share their bytes of packed quants: neighbouring
 * lanes then read neighbouring vectors of y.
 *
 * On NVIDIA, if rows are so few that these workgroups would leave
 * multiprocessors half empty, each workgroup takes a single row, the one of its
 * launch, four steps at a time. Formats with a scale for every 16 elements are
 * slower so.
 */
template <class F> constexpr int float_rows = F::elems == 256 ? 2 : 4;
template <class F>
constexpr bool has_few_rows = KPK_NVIDIA && (F::scale_width == 32);

template <class F> DEV bool are_few_rows()
{
    if constexpr (has_few_rows<F>)
        return gridDim.x < 8192;
    return false;
}

/* adds the products of quads and y for a lane's steps at, at + 32, ... */
template <class F, BlockPlace P, int Rows, int Steps>
DEV void add_float_steps(float (&acc)[Rows], const u8 *const (&row)[Rows],
                         const float *y, u32 at)
{
    Quad q[Steps][Rows][2];
    Words<4> v[Steps][2];

    /* all loads first */
    UNROLL
    for (int s = 0; s < Steps; s++) {
        const u32 here = at + 32 * (u32)s, block = here / (4 * F::chunks);
        const int chunk = (int)(here / 4 % F::chunks), i = (int)(here % 4);
        const float *from =
            y + (size_t)block * F::elems + 16 * F::first_group(chunk) + 4 * i;

        UNROLL
        for (int g = 0; g < 2; g++) {
            UNROLL
            for (int r = 0; r < Rows; r++)
                q[s][r][g] = F::template quad<P>(
                    row[r] + (size_t)block * F::bytes, chunk, g, i);
            v[s][g] = load_words<4, vector_access(P)>(
                reinterpret_cast<const u8 *>(from + 16 * F::group_step * g));
        }
    }
    /* y times elements, not y times quants to be scaled later: that sum could
     * overflow where the result does not */
    UNROLL
    for (int s = 0; s < Steps; s++) {
        UNROLL
        for (int r = 0; r < Rows; r++) {
            UNROLL
            for (int g = 0; g < 2; g++) {
                float part = 0.0f;

                UNROLL
                for (int k = 0; k < 4; k++)
                    part = fmaf(quad_value(q[s][r][g], k),
                                bits_as<float>(v[s][g].w[k]), part);
                acc[r] += part;
            }
        }
    }
}

template <class F, BlockPlace P, int Rows, int Steps>
DEV void float_mat_vec_rows(const u8 *w, const float *y, float *dst, int row0,
                            int nrows, int nblocks)
{
    const u32 lane = threadIdx.x % 32; /* tells the compiler its range */
    const size_t row_bytes = (size_t)nblocks * F::bytes;
    const u32 total = (u32)(nblocks * F::chunks * 4);
    const u8 *row[Rows];
    float acc[Rows];
    u32 at = lane;

    UNROLL
    for (int r = 0; r < Rows; r++) {
        row[r] = w + row_bytes * (size_t)min_of(row0 + r, nrows - 1);
        acc[r] = 0.0f;
    }
    if constexpr (Steps > 1) {
        NO_UNROLL
        for (; at + 32 * (Steps - 1) < total; at += 32 * Steps)
            add_float_steps<F, P, Rows, Steps>(acc, row, y, at);
    }
    NO_UNROLL
    for (; at < total; at += 32)
        add_float_steps<F, P, Rows, 1>(acc, row, y, at);

    int index;
    const float sum = sum_lanes<16>(acc, (int)lane, index);

    if (index < Rows && row0 + index < nrows)
        dst[row0 + index] = sum;
}

/* dst[row] = sum of dequantized row times y */
template <class F>
DEV void float_mat_vec(const void *vx, const float *y, float *dst, int ncols,
                       int nrows)
{
    constexpr int rows = float_rows<F>;
    const bool few = are_few_rows<F>();
    const int row0 = few ? (int)blockIdx.x : first_row<rows, 1>();

    if (row0 >= nrows || !is_working<rows, 1>(few))
        return;
    with_place(is_aligned(static_cast<const u8 *>(vx), 16) && is_aligned(y, 16),
               [&](auto place) {
                   constexpr BlockPlace P = decltype(place)::place;
                   const u8 *w = static_cast<const u8 *>(vx);

                   if constexpr (has_few_rows<F>) {
                       if (few) {
                           float_mat_vec_rows<F, P, 1, 4>(
                               w, y, dst, row0, nrows, ncols / F::elems);
                           return;
                       }
                   }
                   float_mat_vec_rows<F, P, rows, 1>(w, y, dst, row0, nrows,
                                                     ncols / F::elems);
               });
}
