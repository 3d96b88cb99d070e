/* float_mat_vec.h - quantised matrix times an f32 column */
#pragma once

#include "quantized/mat_vec.h"

/*
 * Callers launch 32 threads for each row. Some of these workgroups do the work
 * of float_rows rows, side by side: an element of y is loaded once for all, and
 * their loads hide each other. K formats need more registers for a row.
 *
 * A lane takes two quads that share their bytes of packed quants: neighbouring
 * lanes then read neighbouring vectors of y.
 */
template <class F> constexpr int float_rows = F::elems == 256 ? 2 : 4;

template <class F, BlockPlace P>
DEV void float_mat_vec_rows(const u8 *w, const float *y, float *dst, int row0,
                            int nrows, int nblocks)
{
    const u32 lane = threadIdx.x % 32; /* so that its range is known */
    const size_t row_bytes = (size_t)nblocks * F::bytes;
    constexpr int rows = float_rows<F>;
    const u8 *row[rows];
    float acc[rows];

    UNROLL
    for (int r = 0; r < rows; r++) {
        row[r] = w + row_bytes * (size_t)min_of(row0 + r, nrows - 1);
        acc[r] = 0.0f;
    }
    NO_UNROLL
    for (u32 at = lane; at < (u32)(nblocks * F::chunks * 4); at += 32) {
        const u32 block = at / (4 * F::chunks);
        const int chunk = (int)(at / 4 % F::chunks), i = (int)(at % 4);
        const float *from =
            y + (size_t)block * F::elems + 16 * F::first_group(chunk) + 4 * i;
        Quad q[rows][2];
        Words<4> v[2];

        /* all loads first */
        UNROLL
        for (int g = 0; g < 2; g++) {
            UNROLL
            for (int r = 0; r < rows; r++)
                q[r][g] = F::template quad<P>(row[r] + (size_t)block * F::bytes,
                                              chunk, g, i);
            v[g] = load_words<4, vector_access(P)>(
                reinterpret_cast<const u8 *>(from + 16 * F::group_step * g));
        }
        /* y times elements, not y times quants to be scaled later: that sum
         * could overflow where the result does not */
        UNROLL
        for (int r = 0; r < rows; r++) {
            UNROLL
            for (int g = 0; g < 2; g++) {
                float part = 0.0f;

                UNROLL
                for (int k = 0; k < 4; k++)
                    part = fmaf(quad_value(q[r][g], k),
                                bits_as<float>(v[g].w[k]), part);
                acc[r] += part;
            }
        }
    }

    int index;
    const float sum = sum_lanes<16>(acc, (int)lane, index);

    if (index < rows && row0 + index < nrows)
        dst[row0 + index] = sum;
}

/* dst[row] = sum of dequantised row times y */
template <class F>
DEV void float_mat_vec(const void *vx, const float *y, float *dst, int ncols,
                       int nrows)
{
    const int row0 = first_row<float_rows<F>, 1>();

    if (!is_working<float_rows<F>, 1>() || row0 >= nrows)
        return;
    with_place(is_aligned(static_cast<const u8 *>(vx), 16) && is_aligned(y, 16),
               [&](auto place) {
                   float_mat_vec_rows<F, decltype(place)::place>(
                       static_cast<const u8 *>(vx), y, dst, row0, nrows,
                       ncols / F::elems);
               });
}
