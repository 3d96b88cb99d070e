/* quantize.h - f32 activations to Q8_1 blocks */
#pragma once

#include "gguf/block.h"

/*
 * x [rows, kx] f32 to vy [rows, kx_padded / 32] Q8_1, zero behind column kx.
 * A thread per padded column, 32 neighbouring threads per block. Divisions are
 * the correctly rounded ones and the sum is a butterfly, so results are the
 * same bits on every target.
 */
DEV void quantize_rows_q8_1(const float *x, void *vy, int kx, int kx_padded)
{
    int col = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    size_t row = (size_t)(blockIdx.y) * blockDim.y + threadIdx.y;

    if (col >= kx_padded)
        return; /* 32 neighbours together */

    float v = col < kx ? x[row * (size_t)(kx) + col] : 0.0f;
    float amax = fabsf(v), sum = v;

    amax = fmaxf(amax, lane_xor<16>(amax)), sum += lane_xor<16>(sum);
    amax = fmaxf(amax, lane_xor<8>(amax)), sum += lane_xor<8>(sum);
    amax = fmaxf(amax, lane_xor<4>(amax)), sum += lane_xor<4>(sum);
    amax = fmaxf(amax, lane_xor<2>(amax)), sum += lane_xor<2>(sum);
    amax = fmaxf(amax, lane_xor<1>(amax)), sum += lane_xor<1>(sum);

    float d = amax / 127.0f;
    float q = amax == 0.0f ? 0.0f : roundf(v / d);
    size_t block = (row * (size_t)(kx_padded) + col) / Q8_1::elems;
    u8 *b = static_cast<u8 *>(vy) + block * Q8_1::bytes;

    /* a NaN has no integer: 0 */
    b[4 + col % 32] = (u8)(q == q ? (int)(q) : 0);
    if (col % 32 == 0)
        *reinterpret_cast<u32 *>(b) = float_to_half(d) | float_to_half(sum)
                                                             << 16;
}
