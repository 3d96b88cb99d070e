/* q8_1_mma.h - rows of blocks times Q8_1 columns, both in LDS, by mma */
#pragma once

#include "nvidia/unit/mma_i8.h"
#include "quantized/chunk_dot.h"

/*
 * A warp multiplies 16 * M rows with 8 * Tiles columns, one Q8_1 block along K
 * at a time. As for mma_32(), lane l holds rows l / 4 and l / 4 + 8 of each 16
 * rows, unpacks words l % 4 and l % 4 + 4 of these rows, and has the results of
 * two of each 8 columns.
 *
 * The matrix unit sums bytes as integers, and each Q8_1 block has its own
 * scale, so converting sums to floats would take most of the time. Instead sums
 * start at the integer whose bits are the float 1.5 * 2^23. Read as a float,
 * the result is 1.5 * 2^23 plus the sum, which is below 2^22. The product with
 * a column's d subtracts d * start again in one fused step: d * start is exact,
 * so the result is d * sum, rounded once.
 */
constexpr int sum_start = 0x4b400000;
constexpr float sum_start_as_float = 0x1.8p23f;

/* A lane's operands: its rows, and among the first 8 columns the column whose
 * quants it loads and the two columns whose results it has. The next 8 columns
 * lie TileStride words further. Only `tiles` groups of 8 columns are
 * multiplied; with Ahead the next group is loaded before it is needed. */
template <int M, bool Ahead = false> struct BulkView {
    const u8 *row[2 * M];
    const u32 *quants, *scale[2];
    int tiles;
};

/* Unpacks a lane's words of its rows, for add_block(). */
template <class F, int M, bool Ahead>
DEV void unpack_rows(Quad (&q)[2 * M][2], const BulkView<M, Ahead> &v, int at,
                     int g, int t)
{
    constexpr bool legacy = F::elems == 32, whole = F::group_step == 1;

    UNROLL
    for (int r = 0; r < 2 * M; r++) {
        const u8 *block = v.row[r] + (legacy ? at * F::bytes : 0);

        UNROLL
        for (int half = 0; half < 2; half++)
            q[r][half] = F::template quad<BlockPlace::lds>(block,
                                                           legacy  ? 0
                                                           : whole ? at
                                                                   : at + half,
                                                           whole ? half : g, t);
    }
}

/* Sums the quants of scale w of a block, times d, for both columns. */
template <int Widths>
DEV void sum_quants(float (&sum)[2], const u32 (&y)[2], int w,
                    const float (&d)[2], const float (&minus_start)[2])
{
    constexpr u32 ones = 0x01010101u, all_ones[4] = {ones, ones, ones, ones};
    int total[4];

    if constexpr (Widths == 1)
        mma_32(total, all_ones, y[0], y[1], sum_start);
    else
        mma_16(total, ones, ones, y[w], sum_start);
    UNROLL
    for (int c = 0; c < 2; c++)
        sum[c] = fmaf(bits_as<float>(total[c]), d[c], minus_start[c]);
}

/*
 * Adds the products of one Q8_1 block. This is block `at` in formats with
 * blocks of 32 elements, chunk `at` in formats whose chunks are Q8_1 blocks, or
 * else group g of chunks `at` and at + 1.
 */
template <class F, Bias B, int TileStride, int M, bool Ahead, int Tiles>
DEV void add_block(float (&acc)[M][Tiles][4], const BulkView<M, Ahead> &v,
                   int at, int g, int t)
{
    constexpr bool legacy = F::elems == 32;
    constexpr int widths = 32 / F::scale_width;
    const int b = legacy ? at : (F::first_group(at) + g * F::group_step) / 2;
    Quad q[2 * M][2]; /* [row][half of the block] */

    unpack_rows<F>(q, v, at, g, t);

    const auto quants_of = [&](int n, int i) {
        return v.quants[n * TileStride + 9 * b + 1 + 4 * i + t];
    };
    const auto scales_of = [&](int n, int c) {
        return v.scale[c][n * TileStride + 9 * b];
    };
    u32 next_quants[2], next_scales[2];
    const auto load = [&](int n) {
        UNROLL
        for (int i = 0; i < 2; i++) {
            next_quants[i] = quants_of(n, i);
            next_scales[i] = scales_of(n, i);
        }
    };

    if (Ahead)
        load(0);
    UNROLL
    for (int n = 0; n < Tiles; n++) {
        if (n > 0 && n >= v.tiles)
            break;

        const u32 y[2] = {Ahead ? next_quants[0] : quants_of(n, 0),
                          Ahead ? next_quants[1] : quants_of(n, 1)};
        float d[2], stored[2], minus_start[2];

        UNROLL
        for (int c = 0; c < 2; c++) {
            const u32 scales = Ahead ? next_scales[c] : scales_of(n, c);

            d[c] = half_to_float(scales);
            stored[c] = half_to_float(scales >> 16);
            minus_start[c] = -sum_start_as_float * d[c];
        }
        if (Ahead && n + 1 < Tiles && n + 1 < v.tiles)
            load(n + 1);
        UNROLL
        for (int w = 0; w < widths; w++) {
            float sum[2] = {stored[0], stored[1]};

            if constexpr (B == Bias::quant_sum)
                sum_quants<widths>(sum, y, w, d, minus_start);
            UNROLL
            for (int m = 0; m < M; m++) {
                const Quad(&p)[2] = q[2 * m], (&r)[2] = q[2 * m + 1];
                int dot[4];

                if constexpr (widths == 1) {
                    const u32 a[4] = {p[0].q, r[0].q, p[1].q, r[1].q};

                    mma_32(dot, a, y[0], y[1], sum_start);
                } else {
                    mma_16(dot, p[w].q, r[w].q, y[w], sum_start);
                }
                UNROLL
                for (int i = 0; i < 4; i++) {
                    const Quad &scales = q[2 * m + i / 2][w];
                    float &a = acc[m][n][i];

                    a = fmaf(scales.scale,
                             fmaf(bits_as<float>(dot[i]), d[i % 2],
                                  minus_start[i % 2]),
                             a);
                    if constexpr (B != Bias::none)
                        a = fmaf(scales.bias, sum[i % 2], a);
                }
            }
        }
    }
}

/* Computes the warp's NaN and infinite sums again, if the sum of a Q8_1 block
 * may be the cause (chunk_dot.h). A lane has the sum of `row` and `col`, or 0
 * if it has none. */
template <class F, class M>
DEV void redo_sums(float &sum, const M &m, int row, int col)
{
    if constexpr (F::vec_bias == Bias::stored_sum) {
        u32 left = __ballot_sync(~0u, !is_finite(sum));

        while (left != 0) {
            const u32 lane = (u32)__ffs((int)left) - 1;
            const size_t r = (size_t)lane_read((u32)row, lane);
            const size_t c = (size_t)lane_read((u32)col, lane);
            const float again =
                row_product<F>(m.w + r * ((u32)m.nblocks * F::bytes),
                               m.y + c * m.y_stride, (u32)m.nblocks);

            if (threadIdx.x % 32 == lane)
                sum = again;
            left &= left - 1;
        }
    }
}

/* Adds the products of every step'th of the first `count` blocks, of Blocks at
 * most; where F's blocks have 256 elements, two whose quants share bytes at a
 * time. */
template <class F, Bias B, int TileStride, int Blocks, int M, bool Ahead,
          int Tiles>
DEV void add_products(float (&acc)[M][Tiles][4], BulkView<M, Ahead> v,
                      int first, int step, int count, int t)
{
    if constexpr (F::elems == 32) {
        NO_UNROLL
        for (int b = first; b < count; b += step)
            add_block<F, B, TileStride>(acc, v, b, 0, t);
    } else {
        NO_UNROLL
        for (int done = 0; done < Blocks && done < count; done += F::chunks) {
            NO_UNROLL
            for (int chunk = 2 * first; chunk < F::chunks; chunk += 2 * step) {
                UNROLL
                for (int g = 0; g < 2; g++)
                    if (F::group_step == 1)
                        add_block<F, B, TileStride>(acc, v, chunk + g, 0, t);
                    else
                        add_block<F, B, TileStride>(acc, v, chunk, g, t);
            }
            UNROLL
            for (int r = 0; r < 2 * M; r++)
                v.row[r] += F::bytes;
            v.quants += F::chunks * Q8_1::words;
            v.scale[0] += F::chunks * Q8_1::words;
            v.scale[1] += F::chunks * Q8_1::words;
        }
    }
}
