/*
 * sampler.h - the state of a block that draws a token, and the keys of tokens
 */
#pragma once

#include "fused/sample/logits.h"
#include "fused/sample/weight.h"

constexpr u32 log_bins = 11, bins = 1u << log_bins;
constexpr u32 bins_per_halving = bins / most_halvings;
/* behind the bins: one for each lane's tokens that cannot be drawn */
constexpr u32 bin_slots = bins + group_size;
constexpr u32 most_listed = 2048;
constexpr u32 bin_segments = 32, segment_bins = bins / bin_segments;

/* where a search in bins has come to */
struct found_bin {
    two<u64> before; /* weighed and counted, in front of the bin */
    u32 bin;
};

/* what of a draw the bins or the list have; all lanes have the same */
enum sampler_state : u32 {
    EMPTY,  /* bins have nothing, or one bin's tokens */
    FILLED, /* bins have all tokens */
    WHOLE,  /* the list has all tokens that can be drawn */
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
    u32 counted;      /* tokens are counted, not only weighed */
    /* in LDS */
    team_scratch<u64> scratch; /* blocks that are no power of two: `sums` */
    u64 *sums;                 /* [bin_slots] */
    u32 *counts;               /* [bin_slots] */
    u64 *list;                 /* [most_listed] keys, in order */
    u64 *list_sums;            /* [room] their weights up to each */
    two<u64> *totals;          /* [bin_segments] */
    found_bin *found;
    u32 *length;            /* keys for the list, also too many */
    u32 room = most_listed; /* for keys */
    u32 state = EMPTY;

    /* how often the greatest's weight is halved; or NaN, also of infinity less
     * infinity */
    DEV_MEMBER f32 halvings_or_nan(f32 x) const
    {
        return rounded_product(top - x, per_bit);
    }
    DEV_MEMBER f32 halvings(f32 x) const
    {
        return x == top ? 0.0f : halvings_or_nan(x);
    }
    DEV_MEMBER u32 weight(u64 key) const
    {
        return weight_of(halvings(number_of_ordered((u32)(key >> 32))));
    }
};

/* keys in bins from `first` to `last` that begin with `prefix` */
struct key_range {
    u32 first, last;
    u32 left = 64; /* bits behind the prefix */
    u64 prefix = 0;

    DEV_MEMBER bool begins(u64 key) const
    {
        return left == 64 || key >> left == prefix;
    }
};

/*
 * fn(key) for this thread's part of the keys in a range, until fn returns
 * false: few logits have one. Returns, if `others`, the weight of this thread's
 * tokens in bins in front of `first`, or some of it if fn returned false.
 */
template <bool others = false, typename T, class Fn>
DEV u64 each_key(const sampler<T> &s, const key_range &range, Fn fn)
{
    const f32 least = (f32)(bins - 1 - range.last) / bins_per_halving;
    const f32 end = (f32)(bins - range.first) / bins_per_halving;
    u64 sum = 0;

    each_batch<others ? logit_batch : quick_batch<T>>(
        s.logits, s.n, [&](const auto &x, u32 first, u32 step, u32 left) {
            constexpr u32 V = sizeof(x[0]) / sizeof(T);
            u32 found = 0; /* a bit a logit */
            bool more = true;

            UNROLL
            for (u32 j = 0; j < sizeof(x) / sizeof(x[0]); j++) {
                u32 bits = 0, weight = 0;

                UNROLL
                for (u32 i = 0; i < V; i++) {
                    const f32 h = s.halvings_or_nan(convert<f32>(x[j][i]));

                    if (!(h < least || h >= end))
                        bits |= 1u << (j * V + i);
                    if constexpr (others)
                        weight +=
                            h >= end && h < most_halvings ? weight_of(h) : 0;
                }
                found |= j * step < left ? bits : 0;
                sum += j * step < left ? weight : 0;
            }
            NO_UNROLL
            for (; found != 0; found &= found - 1) {
                const u32 bit = log2_of(found & (0u - found));
                const u32 i = first + bit / V * step + bit % V;
                const f32 logit = convert<f32>(s.logits[i]);
                const f32 h = s.halvings(logit);
                const u64 key = place_key(ordered_bits(logit), i);

                if (h >= least && h < end && range.begins(key))
                    more = fn(key);
            }
            return more;
        });
    return sum;
}
