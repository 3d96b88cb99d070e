/*
 * sampler.h - the state of a block that draws a token, and the keys of tokens
 */
#pragma once

#include "fused/sample/logits.h"
#include "fused/sample/weight.h"

constexpr u32 log_bins = 11, bins = 1u << log_bins;
constexpr u32 most_listed = 2048;
constexpr u32 bin_segments = 32, segment_bins = bins / bin_segments;

/* the result of a search in bins */
struct found_bin {
    two<u64> before; /* weighed and counted, in front of the bin */
    u32 bin, count;
};

/*
 * A row of logits with the state of its block. A token's key is its logit, as
 * bits in the order of numbers, above the complement of its number:
 * place_key().
 */
template <typename T> struct sampler {
    const T *logits;
    u32 n;
    f32 top, per_bit; /* the greatest logit; 1 / (temperature ln 2) */
    f32 per_halving;  /* first bins */
    /* in LDS */
    u64 *sums;        /* [bins], or of the list up to a key */
    u32 *counts;      /* [bins] */
    u64 *list;        /* [most_listed] keys */
    two<u64> *totals; /* [bin_segments] */
    found_bin *found;
    u32 *length;       /* keys for the list, also too many */
    const u64 *listed; /* list; null: keys come from the logits */

    /* how often the greatest logit's weight is halved for x; or NaN */
    DEV_MEMBER f32 halvings(f32 x) const
    {
        return x == top ? 0.0f : rounded_product(top - x, per_bit);
    }
    DEV_MEMBER u64 weight(u64 key) const
    {
        const f32 h = halvings(number_of_ordered((u32)(key >> 32)));
        const u32 whole = (u32)h;

        return (u64)(min_of(power_of_half(h - (f32)whole), 1.0f) * 0x1p31f) >>
               whole;
    }
    /* fn(key, halvings) for this thread's part of the tokens to be drawn */
    template <class Fn> DEV_MEMBER void each_key(Fn fn) const
    {
        if (listed) {
            for (u32 i = threadIdx.x; i < *length; i += blockDim.x)
                fn(listed[i],
                   halvings(number_of_ordered((u32)(listed[i] >> 32))));
        } else {
            each_logit(logits, n, [&](f32 x, u32 i) {
                const f32 h = halvings(x);

                if (h < most_halvings)
                    fn(place_key(ordered_bits(x), i), h);
            });
        }
    }
    /* whether halvings() is only the product, without the special case */
    DEV_MEMBER bool is_plain() const
    {
        return top < infinity<f32>() && per_bit < infinity<f32>();
    }
    DEV_MEMBER f32 plain_halvings(f32 x) const
    {
        return rounded_product(top - x, per_bit);
    }
};

/* this thread's part of the weight of keys from `least` on */
template <typename T> DEV u64 weight_from(const sampler<T> &s, u64 least)
{
    u64 sum = 0;

    s.each_key([&](u64 k, f32) { sum += k >= least ? s.weight(k) : 0; });
    return sum;
}
