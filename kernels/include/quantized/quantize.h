/* quantize.h - f32 activations to Q8_1 blocks */
#pragma once

#include "gguf/block.h"

/*
 * x [rows, kx] f32 to vy [rows, kx_padded / 32] Q8_1, zero behind column kx.
 * Callers launch a thread per padded column. A thread takes four neighbouring
 * ones, eight threads make a block, and one in four workgroups works. Divisions
 * are the correctly rounded ones and the sum is a butterfly, so results are the
 * same bits on every target.
 */
DEV void quantize_rows_q8_1(const float *x, void *vy, int kx, int kx_padded)
{
    constexpr int each = 4, join = 4;
    const int col = (int)(blockIdx.x * blockDim.x + threadIdx.x * each);
    const size_t row = (size_t)blockIdx.y * blockDim.y + threadIdx.y;

    if (blockIdx.x % join != 0 || col >= kx_padded)
        return; /* eight neighbours together */

    const float *from = x + row * (size_t)kx + col;
    float v[each] = {0.0f, 0.0f, 0.0f, 0.0f}, sum[each];

    if (col + each <= kx && (!KPK_NVIDIA || is_aligned(from, 16))) {
        const Words<4> bits =
            load_words<4, Access::vector>(reinterpret_cast<const u8 *>(from));

        UNROLL
        for (int i = 0; i < each; i++)
            v[i] = bits_as<float>(bits.w[i]);
    } else {
        UNROLL
        for (int i = 0; i < each; i++)
            if (col + i < kx)
                v[i] = from[i];
    }

    float amax =
        fmaxf(fmaxf(fabsf(v[0]), fabsf(v[1])), fmaxf(fabsf(v[2]), fabsf(v[3])));

    amax = fmaxf(amax, lane_xor<4>(amax));
    amax = fmaxf(amax, lane_xor<2>(amax));
    amax = fmaxf(amax, lane_xor<1>(amax));
    /* columns 16, 8, 4, 2 and 1 apart, in this order */
    UNROLL
    for (int i = 0; i < each; i++) {
        sum[i] = v[i] + lane_xor<4>(v[i]);
        sum[i] += lane_xor<2>(sum[i]);
        sum[i] += lane_xor<1>(sum[i]);
    }
    sum[0] = (sum[0] + sum[2]) + (sum[1] + sum[3]);

    const float d = amax / 127.0f;
    const size_t block = (row * (size_t)kx_padded + col) / Q8_1::elems;
    u32 *b = static_cast<u32 *>(vy) + block * Q8_1::words;
    u32 quants = 0;

    UNROLL
    for (int i = 0; i < each; i++) {
        const float q = amax == 0.0f ? 0.0f : roundf(v[i] / d);

        /* a NaN has no integer: 0 */
        quants |= (u32)(u8)(q == q ? (int)q : 0) << (8 * i);
    }
    b[1 + col % Q8_1::elems / each] = quants;
    if (col % Q8_1::elems == 0)
        b[0] = float_to_half(d) | float_to_half(sum[0]) << 16;
}
