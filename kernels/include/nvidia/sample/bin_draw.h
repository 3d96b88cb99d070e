/*
 * bin_draw.h - a draw from all tokens by the weights of bins alone, on NVIDIA's
 *
 * The bins keep their weights while the tokens of single bins are listed and
 * put in order: the bin in which top-p ends, the bin of the draw.
 */
#pragma once

#include "fused/sample/bins.h"
#include "nvidia/sample/batches.h"
#include "nvidia/sample/list_draw.h"

/* how far a first bin is from the last one, of h below 32, in the bits of a
 * number: greater for greater h; of a NaN none */
template <typename T> DEV u32 far_bits(const sampler<T> &s, f32 h)
{
    return bits_as<u32>(__fmaf_rz(h, s.per_halving, 0x1p23f));
}

constexpr u32 no_distance = 0x4b000000u; /* bits of 2^23 */

/*
 * The weights of all tokens, by first bins; no counts. In two steps, so that
 * additions are under way together, and without jumps: a token is worth 25
 * instructions.
 */
template <typename T> DEV void weigh_bins(const sampler<T> &s)
{
    const u32 first_bin = (u32)__cvta_generic_to_shared(s.sums) +
                          (bins - 1 + no_distance) * (u32)sizeof(u32);
    /* tokens that cannot be drawn add to the list's words, one bank per lane */
    const u32 aside = (u32)__cvta_generic_to_shared(s.list) +
                      threadIdx.x % 32 * (u32)sizeof(u32);

    clear_bins(s);
    each_batch<logit_batch>(
        s.logits, s.n, [&](const auto &x, u32, u32, u32 left) {
            constexpr u32 m = sizeof(x) / sizeof(x[0]);
            constexpr u32 V = sizeof(x[0]) / sizeof(T);

            UNROLL
            for (u32 j = 0; j < m; j++) {
                const f32 most = j * blockDim.x < left ? most_halvings : 0.0f;
                u32 at[V], weight[V], before[V];

                UNROLL
                for (u32 i = 0; i < V; i++) {
                    const f32 h = s.plain_halvings(convert<f32>(x[j][i]));

                    weight[i] = weight_halved(h);
                    at[i] = first_bin - far_bits(s, h) * (u32)sizeof(u32);
                    asm("{.reg .pred p;\n\t"
                        "setp.lt.f32 p, %1, %2;\n\t"
                        "selp.b32 %0, %0, %3, p;}"
                        : "+r"(at[i])
                        : "f"(h), "f"(most), "r"(aside));
                    asm volatile("atom.shared.add.u32 %0, [%1], %2;"
                                 : "=r"(before[i])
                                 : "r"(at[i]), "r"(weight[i])
                                 : "memory");
                }
                UNROLL
                for (u32 i = 0; i < V; i++)
                    if (before[i] + weight[i] < before[i])
                        asm volatile(
                            "red.shared.add.u32 [%0 + %1], 1;" ::"r"(at[i]),
                            "n"(bins * sizeof(u32))
                            : "memory");
            }
            return true;
        });
    __syncthreads();
}

/* Lists the keys of a first bin, up to half of the list. Returns the number of
 * keys, which may be larger. */
template <typename T> DEV u32 list_bin(const sampler<T> &s, u32 bin)
{
    const u32 distance = no_distance + (bins - 1 - bin);

    if (threadIdx.x == 0)
        *s.length = 0;
    __syncthreads();
    each_logit(s.logits, s.n, [&](f32 x, u32 i) {
        if (far_bits(s, s.plain_halvings(x)) == distance) {
            const u32 at = atomicAdd(s.length, 1u);

            if (at < most_listed / 2)
                s.list[at] = place_key(ordered_bits(x), i);
        }
    });
    __syncthreads();
    return uniform(*s.length);
}

/*
 * Finds the key at which the running weight passes `target`, and the weight
 * before the key. The bins' weights are already there and stay; the keys of one
 * bin are sorted. False if the bin has too many keys.
 */
template <typename T>
DEV bool find_weighed(const sampler<T> &s, u64 target, u64 &key, u64 &before)
{
    u64 *const list_sums = s.list + most_listed / 2;

    find_bin(s, target, false);
    const u64 in_front = s.found->before.a;
    const u32 n_listed = list_bin(s, s.found->bin);

    if (n_listed > most_listed / 2)
        return false;
    sort_list(s.list, n_listed);
    sum_list(s, list_sums, n_listed);

    const u32 place = place_of(target - in_front, list_sums, n_listed);

    key = s.list[place];
    before = in_front + (place > 0 ? list_sums[place - 1] : 0);
    __syncthreads(); /* all have read the list */
    return true;
}

/* The key drawn from all tokens, or 0: a bin has too many. Three passes over
 * the logits, or four with p < 1. */
template <typename T>
DEV u64 draw_weighed(const sampler<T> &s, f32 p, u64 random_seed, u64 offset)
{
    u64 key = 0, before;

    weigh_bins(s);
    u64 all = find_bin(s, 0, false).a;

    if (p < 1) {
        if (!find_weighed(s, part_of(p, all) - 1, key, before))
            return 0;
        all = before + s.weight(key);
    }
    return find_weighed(s, drawn_below(all, random_seed, offset), key, before)
               ? key
               : 0;
}
