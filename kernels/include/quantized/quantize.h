/* quantize.h - activations to Q8_1 blocks */
#pragma once

#include "early.h"
#include "gguf/block.h"
#include "gguf/quotients.h"

/*
 * x [rows, kx] to vy [rows, kx_padded / 32] Q8_1, zero behind column kx.
 * Callers launch a thread per padded column and a row of blocks per row; they
 * do not tell how many rows there are, so a grid covers at most 65,535.
 *
 * Small launches are over before a thread could do more than its own column.
 * Larger ones ask memory for four columns a thread: then a quarter of each
 * workgroup's threads works, and where there are many workgroups, one in four
 * with all of its threads.
 *
 * A block's sum is the sum of the numbers, as in candle, or, with OfQuants, d
 * times the sum of the quants. A product adds a weight's minimum times this
 * sum. With the sum of the numbers, the rounding of the numbers is in one part
 * of the product and not in the other, so the two do not cancel. The sum of the
 * quants is nearer to the exact product, about twice in formats with a minimum;
 * llama.cpp's CPU code uses it.
 *
 * Divisions are the correctly rounded ones and the sum is a butterfly over
 * columns 16, 8, 4, 2 and 1 apart, in this order, so results are the same bits
 * on every target.
 */

/* v[i] joined by op with columns Each * Mask, Each * Mask / 2, ... Each * Last
 * apart */
template <int Mask, int Last, int Each, class Op>
DEV void join_columns(float (&v)[Each], Op op)
{
    if constexpr (Mask >= Last) {
        UNROLL
        for (int i = 0; i < Each; i++)
            v[i] = op(v[i], lane_xor<Mask>(v[i]));
        join_columns<Mask / 2, Last>(v, op);
    }
}

/* the same for the largest of numbers without a sign: 32 lanes have an
 * instruction on sm_80, where it shortens the way to the quants by a third. A
 * NaN counts if all numbers are NaN. */
template <int Mask, int Each, class Op>
DEV void join_largest(float (&v)[Each], Op larger)
{
#if KPK_SM >= 80
    if constexpr (Each == 1) {
        v[0] = bits_as<float>(
            __reduce_max_sync(~0u, v[0] == v[0] ? bits_as<int>(v[0]) : -1));
        return;
    }
#endif
    join_columns<Mask, 1>(v, larger);
}

#if KPK_NVIDIA
/* a / b to the bit, with a near reciprocal of b, by the steps that nvcc takes
 * where no exponent is extreme; nvcc checks the exponents of each quotient */
DEV float ordinary_quotient(float a, float b, float near)
{
    const float r = fused(fused(near, -b, 1.0f), near, near);
    const float q = a * r;

    return fused(r, fused(q, -b, a), q);
}

/*
 * A lane's column, its block's greatest being of ordinary size. All in one
 * piece, without a jump: so sums are joined while divisions are under way. One
 * conversion truncates and rounds, and makes 0 of a NaN.
 */
DEV void store_ordinary(u8 *block, u32 lane, float v, float most, float sum)
{
    const auto added = [](float a, float b) { return a + b; };
    const float d = ordinary_quotient(most, 127.0f, 0x1.020408p-7f);
    float sums[1] = {sum}, near;

    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(near) : "f"(d));
    join_columns<4, 1>(sums, added);

    const float q = ordinary_quotient(v, d, near);

    block[4 + lane] = (u8)__float2int_rz(__fadd_rz(q, copysignf(0.5f, q)));
    if (lane == 0)
        *reinterpret_cast<u32 *>(block) =
            float_to_half(d) | float_to_half(sums[0]) << 16;
}
#endif

/* the same for the columns of a lane */
template <int Each, class Op> DEV float join_lane(const float (&v)[Each], Op op)
{
    if constexpr (Each == 1)
        return v[0];
    else
        return op(op(v[0], v[2]), op(v[1], v[3]));
}

/* Loads columns col to col + Each - 1, the first of which is at `from`. Columns
 * from kx on are 0. */
template <int Each, typename T>
DEV void load_columns(float (&v)[Each], const T *from, int kx, int col)
{
    if (Each > 1 && col + Each <= kx &&
        (!KPK_NVIDIA || is_aligned(from, Each * sizeof(T)))) {
        Pack<T, Each> p;

        if constexpr (KPK_NVIDIA)
            p = load_pack<Each>(from);
        else
            __builtin_memcpy(&p, from, sizeof(p));
        UNROLL
        for (u32 i = 0; i < Each; i++)
            v[i] = (float)p[i];
    } else {
        UNROLL
        for (int i = 0; i < Each; i++)
            v[i] = col + i < kx ? (float)from[i] : 0.0f;
    }
}

/* Quantizes v by the scale d, where amax is the largest magnitude of the block.
 * With OfQuants, `sum` gets the quants as numbers. */
template <bool OfQuants, int Each>
DEV void find_quants(const float (&v)[Each], float amax, float d,
                     Pack<u8, (u32)Each> &quants, float (&sum)[Each])
{
    bool done = false;

#if !KPK_NVIDIA
    if (has_quick_quotients(d) && are_numbers<Each>(v)) {
        i32 whole[Each];

        quantize_quickly<Each>(v, d, whole);
        UNROLL
        for (int i = 0; i < Each; i++) {
            quants[(u32)i] = (u8)whole[i];
            if constexpr (OfQuants)
                sum[i] = (float)whole[i];
        }
        done = true;
    }
#endif
    UNROLL
    for (int i = 0; !done && i < Each; i++) {
        const float q = amax == 0.0f ? 0.0f : roundf(v[i] / d);

        /* a NaN has no integer: 0 */
        quants[(u32)i] = (u8)(q == q ? (int)q : 0);
        if constexpr (OfQuants)
            sum[i] = q == q ? q : 0.0f;
    }
}

/* Quantizes columns col to col + Each - 1; the next thread takes the next ones.
 */
template <bool OfQuants, int Each, typename T>
DEV void quantize_columns(const T *x, void *vy, int kx, int kx_padded, int col)
{
    const u32 row = (u32)blockIdx.y * blockDim.y + threadIdx.y;
    const T *from = x + ((u64)row * (u32)kx + (u32)col);
    float v[Each], most[Each], sum[Each];

    load_columns(v, from, kx, col);
    UNROLL
    for (int i = 0; i < Each; i++) {
        most[i] = fabsf(v[i]);
        sum[i] = v[i];
    }

    const auto larger = [](float a, float b) { return fmaxf(a, b); };
    const auto added = [](float a, float b) { return a + b; };

    /* The sum's steps stand between the steps towards the quants, which take
     * longer: if the sum's steps were in one place, nvcc would order them so as
     * to delay the quants. */
    constexpr int first = 16 / Each, second = Each == 1 ? 4 : 2;

    join_largest<first>(most, larger);
    if constexpr (!OfQuants)
        join_columns<first, 2 * second>(sum, added);

    const float amax = join_lane(most, larger);
#if KPK_NVIDIA
    if constexpr (!OfQuants && Each == 1) {
        /* beyond 2^120 the rest of a quotient may be infinite */
        if (amax >= least_ordinary && amax <= 0x1p120f) {
            const u64 at = (u64)row * (u32)kx_padded + (u32)col;

            store_ordinary(static_cast<u8 *>(vy) +
                               at / Q8_1::elems * Q8_1::bytes,
                           (u32)col % Q8_1::elems, v[0], amax, sum[0]);
            return;
        }
    }
#endif
    const float d = scale_of_greatest(amax);

    if constexpr (!OfQuants)
        join_columns<second, 2>(sum, added);

    const u64 block = ((u64)row * (u32)kx_padded + (u32)col) / Q8_1::elems;
    u8 *b = static_cast<u8 *>(vy) + block * Q8_1::bytes;
    Pack<u8, Each> quants;

    find_quants<OfQuants>(v, amax, d, quants, sum);
    join_columns<OfQuants ? first : 1, 1>(sum, added); /* of quants exact */

    const float all = join_lane(sum, added), total = OfQuants ? d * all : all;

    store_pack(b + 4 + (u32)col % Q8_1::elems, quants);
    if ((u32)col % Q8_1::elems == 0)
        *reinterpret_cast<u32 *>(b) = float_to_half(d) | float_to_half(total)
                                                             << 16;
}

/*
 * Whether this workgroup does the work of the four in its row with the same
 * blockIdx.x / 4. One of the four does, not always the same: AMD's chips of up
 * to 8 dies deal workgroups to the dies in turn, and every fourth would be on
 * two of them.
 */
DEV bool takes_all_four()
{
    const u32 x = blockIdx.x, last = (u32)gridDim.x - 1;

    if (KPK_NVIDIA)
        return x % 4 == 0;
    return x == min_of((x & ~3u) | ((x / 8 + (u32)blockIdx.y / 2) & 3), last);
}

template <bool OfQuants = false, typename T>
DEV void quantize_rows_q8_1(const T *x, void *vy, int kx, int kx_padded)
{
    constexpr u32 small = KPK_NVIDIA ? 2048 : 256, large = 4096; /* groups */
    const u32 groups = gridDim.x * gridDim.y;
    const int near = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    /* 32, or eight, neighbours leave together */
    if (groups > small) {
        const bool many = groups > large;

        if (many && !takes_all_four())
            return;
        wait_for_launch_before();

        const u32 first = many ? blockIdx.x & ~3u : blockIdx.x;
        const int far = (int)(first * blockDim.x + 4 * threadIdx.x);

        if ((many || threadIdx.x < blockDim.x / 4) && far < kx_padded)
            quantize_columns<OfQuants, 4>(x, vy, kx, kx_padded, far);
    } else {
        meet_launches();
        if (near < kx_padded)
            quantize_columns<OfQuants, 1>(x, vy, kx, kx_padded, near);
    }
}
