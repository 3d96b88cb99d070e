/*
 * chunk_dot.h - a chunk of weights times the Q8_1 blocks of a column
 *
 * A block's sum s is an f16, which is infinite if the numbers are 2047 on
 * average or more, while d is finite. Products then use d times the sum of the
 * quants. Tiles and mma do not test s: their result becomes NaN, and
 * row_product() computes it again.
 */
#pragma once

#include "dot4.h"
#include "gguf/block.h"

DEV bool is_infinite(float x)
{
    return fabsf(x) == __builtin_inff();
}

DEV bool is_finite(float x)
{
    return fabsf(x) < __builtin_inff();
}

/* One column's factors for a chunk: 32 quants, and for each group d and the
 * factor of the bias or, in formats with a bias_factor, of the scale. */
struct Activations {
    u32 q[8];
    float d[2], s[2];
    int start[2]; /* where a group's sum of products starts */
};

DEV int sum_of_quants(const Activations &a, int group)
{
    int sum = 0;

    UNROLL
    for (int i = 0; i < 4; i++)
        sum = dot4(a.q[4 * group + i], 0x01010101u, sum);
    return sum;
}

template <class F>
DEV Activations read_activations(const u32 *blocks, int chunk)
{
    Activations a;

    UNROLL
    for (int g = 0; g < 2; g++) {
        int group = F::first_group(chunk) + g * F::group_step;
        const u32 *b = blocks + (group >> 1) * Q8_1::words;

        a.d[g] = half_to_float(b[0]);
        UNROLL
        for (int i = 0; i < 4; i++)
            a.q[4 * g + i] = b[1 + 4 * (group & 1) + i];
        a.s[g] = 0.0f;
        a.start[g] = 0;
        if constexpr (F::vec_offset != 0)
            a.start[g] = F::vec_offset * sum_of_quants(a, g);
        if constexpr (F::vec_bias == Bias::stored_sum)
            a.s[g] = half_to_float(b[0] >> 16);
        else if constexpr (F::vec_bias == Bias::quant_sum)
            a.s[g] = a.d[g] * (float)sum_of_quants(a, g);
    }
    if constexpr (F::vec_bias == Bias::stored_sum) {
        static_assert(F::group_step == 1, "both groups are one Q8_1 block");
        if (is_infinite(a.s[0]))
            a.s[0] =
                a.d[0] * (float)(sum_of_quants(a, 0) + sum_of_quants(a, 1));
        if constexpr (F::bias_factor != 0)
            a.s[0] *= F::bias_factor;
        a.s[1] = a.s[0];
    }
    return a;
}

/* acc plus the product of a chunk with a column */
template <class F>
DEV float add_product(float acc, const Chunk &c, const Activations &a)
{
    int sum[2] = {a.start[0], a.start[1]};

    if constexpr (F::group_step == 1 && F::scale_width == 32) {
        /* a single scale and Q8_1 block */
        UNROLL
        for (int i = 0; i < 8; i++)
            sum[0] = dot4(c.q[i], a.q[i], sum[0]);
        if constexpr (F::bias_factor != 0)
            return fmaf(c.scale[0], fmaf(a.d[0], (float)sum[0], a.s[0]), acc);
        acc = fmaf(c.scale[0], a.d[0] * (float)sum[0], acc);
        if constexpr (F::vec_bias != Bias::none)
            acc = fmaf(c.bias[0], a.s[0], acc);
    } else {
        UNROLL
        for (int i = 0; i < 8; i++)
            sum[i / 4] = dot4(c.q[i], a.q[i], sum[i / 4]);
        UNROLL
        for (int g = 0; g < 2; g++) {
            acc = fmaf(c.scale[g], a.d[g] * (float)(sum[g]), acc);
            if constexpr (F::vec_bias != Bias::none)
                acc = fmaf(c.bias[g], a.s[g], acc);
        }
    }
    return acc;
}

/* the product of a row of nblocks blocks and the Q8_1 blocks y, by 32
 * neighbouring lanes; the sum in all of them */
template <class F> DEV float row_product(const u8 *w, const u8 *y, u32 nblocks)
{
    constexpr u32 words = F::elems / Q8_1::elems * Q8_1::words;
    const u32 total = nblocks * F::chunks;
    float acc = 0;

    NO_UNROLL
    for (u32 at = threadIdx.x % 32; at < total; at += 32) {
        const u32 block = at / F::chunks;
        const int chunk = (int)(at % F::chunks);
        const auto raw = F::template load<BlockPlace::anywhere>(
            w + (u64)block * F::bytes, chunk);
        const Activations a = read_activations<F>(
            reinterpret_cast<const u32 *>(y) + (u64)block * words, chunk);

        acc = add_product<F>(acc, F::unpack(raw, chunk), a);
    }
    return join_lanes(acc, [](float p, float q) { return p + q; });
}

/* Whether any of n Q8_1 blocks has an infinite sum of a finite d, in 32
 * neighbouring lanes. */
DEV bool has_large_sums(const u8 *y, u32 n)
{
    u32 found = 0;

    NO_UNROLL
    for (u32 at = threadIdx.x % 32; at < n; at += 32) {
        const u32 head = load_word<Access::word>(y + (u64)at * Q8_1::bytes);

        found |= is_infinite(half_to_float(head >> 16)) &&
                 is_finite(half_to_float(head));
    }
    return join_lanes(found, [](u32 p, u32 q) { return p | q; }) != 0;
}
