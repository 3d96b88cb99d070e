/*
 * join.h - the results of splits of the keys, joined in the splits' order
 */
#pragma once

#include "attention/online_softmax.h"
#include "early.h"

/* On NVIDIA eight loads are in flight. On AMD scalar registers suffice for the
 * address of one load. */
#if KPK_NVIDIA
#define JOIN_UNROLL _Pragma("unroll 8")
#else
#define JOIN_UNROLL NO_UNROLL
#endif

/* The sequence that has row `row` of all, by cu_seqlens. */
DEV u32 sequence_of(const i32 *cu, u32 b, i32 row)
{
    u32 first = 0, end = b; /* the sequence is one from `first` to end - 1 */

    while (end - first > 1) {
        const u32 middle = (first + end) / 2;

        if (cu[middle] <= row)
            first = middle;
        else
            end = middle;
    }
    return first;
}

/* A block for a row of a head, a thread for an element. */
template <typename T, class Form>
DEV void attention_join(const AttentionArgs &a)
{
    const u64 total = all_rows(a);
    const u32 splits = max_of(a.splits, 1u);
    const u64 each = total * a.h;
    const u32 d_v = Form::d_v(a);
    const f32 *const sums = a.partial + splits * each * d_v;

    meet_launches();
    NO_UNROLL
    for (u64 row = blockIdx.x; row < total; row += gridDim.x) {
        if (a.cu_seqlens_q && row >= (u64)a.cu_seqlens_q[a.b])
            return;

        const u32 b = a.cu_seqlens_q
                          ? sequence_of(a.cu_seqlens_q, a.b, (i32)row)
                          : (u32)(row / a.seqlen_q);
        const Sequence s(a, b);
        const i32 token =
            (i32)(row - (a.cu_seqlens_q ? (u64)s.q_rows : (u64)b * a.seqlen_q));

        NO_UNROLL
        for (u32 h = blockIdx.y; h < a.h; h += gridDim.y) {
            u64 mine = row * a.h + h;
            f32 top = -infinite, sum = 0;

#if !KPK_NVIDIA
            asm("" : "+v"(mine)); /* out of the scalar registers */
#endif
            /* a lane for a split */
            NO_UNROLL
            for (u32 i = lane_id() % 32; i < splits; i += 32)
                top = __builtin_fmaxf(top, sums[i * each + mine]);
            top = join_lanes(
                top, [](f32 p, f32 q) { return __builtin_fmaxf(p, q); });
            NO_UNROLL
            for (u32 i = lane_id() % 32; i < splits && top != -infinite;
                 i += 32)
                sum += exp2f(sums[i * each + mine] - top);
            sum = join_lanes(sum, [](f32 p, f32 q) { return p + q; });

            const AttendRow to(a, s, b, token, h);
            const f32 share = to.template finish<Form>(
                a, sum, top == -infinite ? top : top + log2f(sum),
                threadIdx.x == 0);

            NO_UNROLL
            for (u32 d = threadIdx.x; d < d_v; d += blockDim.x) {
                f32 v = 0;

                JOIN_UNROLL
                for (u32 i = 0; i < splits; i++)
                    v += exp2f(sums[i * each + mine] - top) *
                         a.partial[(i * each + mine) * d_v + d];
                *to.template out<T>(a, d) =
                    convert<T>(top == -infinite ? 0 : v / sum * share);
            }
        }
    }
}
