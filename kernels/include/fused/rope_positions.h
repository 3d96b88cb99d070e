/*
 * rope_positions.h - rotary position embedding by positions, with YaRN
 *
 * src, dst      [tokens, heads, d] of T; dst may be src
 * positions     [tokens] i32
 * freq_factors  [n_dims / 2] f32, or null for 1
 *
 * The first n_dims of each d numbers are turned in pairs, the others copied.
 * Pair j of n_dims / 2 is (2 j, 2 j + 1), and with the flag ROPE_NEOX
 * (j, j + n_dims / 2). Its angle and length are those of YaRN (Peng, Quesnelle,
 * Fan and Shippole, 'YaRN: Efficient Context Window Extension of Large Language
 * Models', 2023), as llama.cpp's models state them:
 *
 *   whole  = position * base^(-2 j / n_dims) / freq_factors[j]
 *   ramp   = 1 - clamp((j - corr_low) / max(0.001, corr_high - corr_low), 0, 1)
 *   angle  = whole * scale, moved by ext * ramp of the way towards whole
 *   length = attn * (1 + 0.1 ln(1 / scale)) if ext is not 0, else attn
 *
 * With ext = 0 and attn = scale = 1 it is plain rope. Angles are worked out in
 * f64 and brought into one turn before they are rounded to f32, so they are as
 * good at position 2^20 as at 1. Any 1-D grid and block.
 */
#pragma once

#include "compare.h"
#include "division.h"
#include "fused/angles.h"
#include "known.h"

enum { ROPE_NEOX = 1 };

/* threads that a launch should keep busy, rather than save angles */
constexpr u32 log_rope_threads = 17;
constexpr u32 rope_heads_at_once = 4;
constexpr u32 most_angles_shared = 256;

/* LDS for a block's cosines, and for its sines behind them */
DEV f32 *shared_angles()
{
    __shared__ f32 angles[2 * most_angles_shared];

    return angles;
}

/*
 * v as a factor of products that convert_known() rounds. A NaN, which may come
 * from the arguments, loses its low bits.
 */
template <typename T> DEV f32 known_factor(f32 v)
{
    if constexpr (KPK_NVIDIA || slow_f64 || !is_same<T, bf16>::value)
        return v;
    const u32 bits = bits_as<u32>(v);

    return bits_as<f32>((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u
                                                           : bits);
}

/* RDNA's DRAM leaves time for the whole question, and the short one leaves too
 * few scalar registers on gfx12. */
template <typename T> DEV T rounded(f32 v)
{
    if constexpr (slow_f64)
        return convert<T>(v);
    else
        return convert_known<T>(v);
}

template <typename T> struct rope_rows {
    const T *src;
    T *dst;
    u64 tokens;
    u32 heads, d, half;

    /* V pairs of each of up to `most` heads. With NEOX a has the pairs' first
     * elements and e the second ones; else a has both, interleaved. */
    template <bool NEOX, u32 V, u32 most> struct pairs {
        static constexpr u32 across = NEOX ? V : 2 * V;
        Pack<T, across> a[most], e[most];
    };

    /* A thread's V pairs in `each` heads, `most` heads at once. On NVIDIA's
     * GPUs, and with one head, for few tokens, the first loads start before the
     * angles, which take as long. */
    template <bool NEOX, u32 V, u32 most>
    DEV_MEMBER void turn(const rope_args &args, u32 each) const
    {
        const u32 packs = half / V, groups = div_up(heads, each);
        const u64 items = tokens * groups * packs, step = global_threads();
        const bool small = fits_u32(items);
        rope_angles angles;
        bool begun = false;

        for (u64 i = global_thread(); i < items; i += step) {
            const u64 row =
                KPK_NVIDIA ? divide_size(i, packs, small) : divide(i, packs);
            const u64 token = KPK_NVIDIA ? divide_size(row, groups, small)
                                         : divide(row, groups);
            const u32 j = (u32)(i - row * packs) * V;
            const u32 head = (u32)(row - token * groups) * each;
            const u32 end = min_of(head + each, heads);
            const i32 position = args.positions[token];
            const u64 at =
                (KPK_NVIDIA && most == 1 ? row : token * heads + head) * d +
                (NEOX ? j : 2 * (u64)j);
            pairs<NEOX, V, most> x;
            f32 cosine[V], sine[V];

            if constexpr (most == 1)
                load(x, at, 1);
            else if constexpr (KPK_NVIDIA)
                load(x, at, min_of(most, end - head));
            if (!begun)
                angles.begin(args);
            begun = true;
            UNROLL
            for (u32 v = 0; v < V; v++) {
                angles.at(args, position, j + v, cosine[v], sine[v]);
                cosine[v] = known_factor<T>(cosine[v]);
                sine[v] = known_factor<T>(sine[v]);
            }
            if constexpr (most > 1 && !KPK_NVIDIA)
                load(x, at, min_of(most, end - head));
            turn_loaded(x, at, head, end, cosine, sine);
        }
    }
    /*
     * Whether the threads of each block work on one token, on several rows of
     * `packs` from the token's heads. Such a block works out its angles once:
     * angles take longer than DRAM's work in the meantime.
     */
    DEV_MEMBER bool shares_angles(u32 packs, u32 groups) const
    {
        const u32 threads = blockDim.x, together = threads >> log2_of(packs);
        const u32 rows = (u32)tokens * groups;
        /* the launch fits if all of these are 0 */
        const u32 uneven = (packs & (packs - 1)) | (threads & (threads - 1)) |
                           (groups & (together - 1));
        const u32 too_many = (half - 1) / most_angles_shared | gridDim.x >> 22 |
                             rows >> 31 | __umulhi((u32)tokens, groups);

        return (uneven | too_many) == 0 && together > 1;
    }
    /* turns heads in blocks that share angles: a thread works out one angle.
     * EVEN: always the same number of heads at once */
    template <bool NEOX, u32 V, bool EVEN>
    DEV_MEMBER void turn_together(const rope_args &args, u32 each,
                                  u32 groups) const
    {
        constexpr u32 most = rope_heads_at_once;
        f32 *const cosines = shared_angles();
        f32 *const sines = cosines + most_angles_shared;
        const u32 packs = half / V, log = log2_of(packs);
        const u32 thread = threadIdx.x, j = (thread & (packs - 1)) * V;
        const u32 together = (u32)blockDim.x >> log; /* rows of a block */
        const u32 rows = (u32)tokens * groups, step = gridDim.x * together;
        rope_angles angles;

        if (blockIdx.x * together >= rows)
            return;
        if (thread < half)
            angles.begin(args);
        for (u32 row = blockIdx.x * together; row < rows; row += step) {
            const u32 token = divide_uniform(row, groups);
            const u32 head = (row - token * groups + (thread >> log)) * each;
            const u32 end = min_of(head + each, heads);
            const u64 at = ((u64)token * heads + head) * d + (NEOX ? j : 2 * j);
            pairs<NEOX, V, most> x;
            f32 cosine[V], sine[V];

            load(x, at, EVEN ? most : min_of(most, end - head));
            for (u32 a = thread; a < half; a += (u32)blockDim.x) {
                angles.at(args, args.positions[token], a, cosines[a], sines[a]);
                cosines[a] = known_factor<T>(cosines[a]);
                sines[a] = known_factor<T>(sines[a]);
            }
            __syncthreads();
            UNROLL
            for (u32 v = 0; v < V; v++) {
                cosine[v] = cosines[j + v];
                sine[v] = sines[j + v];
            }
            turn_loaded<NEOX, V, most, EVEN>(x, at, head, end, cosine, sine);
            __syncthreads(); /* all have read the angles */
        }
    }
    /* true if this block is done */
    template <bool NEOX, u32 V>
    DEV_MEMBER bool turns_together(const rope_args &args, u32 each) const
    {
        const u32 packs = half / V;
        const u32 groups = divide_uniform(heads - 1, each) + 1;

        if ((slow_f64 && !rope_angles::plain(args)) ||
            !shares_angles(packs, groups))
            return false;
        if constexpr (!slow_f64) /* RDNA has too few scalar registers for two */
            if (((heads | each) & (rope_heads_at_once - 1)) == 0) {
                turn_together<NEOX, V, true>(args, each, groups);
                return true;
            }
        turn_together<NEOX, V, false>(args, each, groups);
        return true;
    }
    /* the heads from `head` to `end`; x has the first */
    template <bool NEOX, u32 V, u32 most, bool EVEN = false>
    DEV_MEMBER void turn_loaded(pairs<NEOX, V, most> &x, u64 at, u32 head,
                                u32 end, const f32 (&cosine)[V],
                                const f32 (&sine)[V]) const
    {
        store(x, at, EVEN ? most : min_of(most, end - head), cosine, sine);
        NO_UNROLL
        for (u32 h = head + most; h < end; h += most) {
            const u64 next = at + (u64)(h - head) * d;

            load(x, next, EVEN ? most : min_of(most, end - h));
            store(x, next, EVEN ? most : min_of(most, end - h), cosine, sine);
        }
    }
    template <bool NEOX, u32 V, u32 most>
    DEV_MEMBER void load(pairs<NEOX, V, most> &x, u64 first, u32 count) const
    {
        constexpr u32 across = pairs<NEOX, V, most>::across;

        UNROLL
        for (u32 h = 0; h < most; h++) {
            const u64 at = first + (h < count ? (u64)h * d : 0);

            x.a[h] = load_pack<across>(src + at);
            if constexpr (NEOX)
                x.e[h] = load_pack<across>(src + at + half);
        }
    }
    template <bool NEOX, u32 V, u32 most>
    DEV_MEMBER void store(pairs<NEOX, V, most> &x, u64 first, u32 count,
                          const f32 (&cosine)[V], const f32 (&sine)[V]) const
    {
        constexpr u32 across = pairs<NEOX, V, most>::across;

        UNROLL
        for (u32 h = 0; h < most; h++) {
            const u64 at = first + (u64)h * d;

            UNROLL
            for (u32 v = 0; v < V; v++) {
                T &p = x.a[h][NEOX ? v : 2 * v];
                T &q = NEOX ? x.e[h][v] : x.a[h][2 * v + 1];
                const f32 r = convert<f32>(p), i = convert<f32>(q);

                p = rounded<T>(r * cosine[v] - i * sine[v]);
                q = rounded<T>(r * sine[v] + i * cosine[v]);
            }
            if (h >= count)
                break;
            store_pack<across>(dst + at, x.a[h]);
            if constexpr (NEOX)
                store_pack<across>(dst + at + half, x.e[h]);
        }
    }
    /* On NVIDIA's GPUs large launches move 8 bytes at a time. Launches with a
     * few warps per multiprocessor turn several heads per thread, too, to use
     * angles again. The smallest of these have one pair per thread, because
     * angles take longest. */
    template <bool NEOX, u32 V>
    DEV_MEMBER void turn_all(const rope_args &args) const
    {
        const u64 items = tokens * heads * (half / V);
        const u64 each = items >> log_rope_threads;

        if constexpr (!KPK_NVIDIA)
            if (each >= rope_heads_at_once &&
                turns_together<NEOX, V>(args, (u32)min_of(each, (u64)heads)))
                return;
        if constexpr (KPK_NVIDIA && NEOX) {
            constexpr u32 W = 2 * V, few_pairs = 1 << 14, some_pairs = 9 << 13;

            if (each > 0 && is_aligned(src, 8) && is_aligned(dst, 8) &&
                d % W == 0 && half % W == 0) {
                if (each <= rope_heads_at_once)
                    turn<NEOX, W, rope_heads_at_once>(args, rope_heads_at_once);
                else
                    turn<NEOX, W, rope_heads_at_once>(
                        args, (u32)min_of(each, (u64)heads));
                return;
            }
            if (each == 0 && items * V >= few_pairs) {
                if (V > 1 && items * V >= some_pairs)
                    turn<NEOX, V, rope_heads_at_once>(args, rope_heads_at_once);
                else
                    turn<NEOX, 1, rope_heads_at_once>(args, rope_heads_at_once);
                return;
            }
        }
        if (each >= rope_heads_at_once)
            turn<NEOX, V, rope_heads_at_once>(args,
                                              (u32)min_of(each, (u64)heads));
        else
            turn<NEOX, V, 1>(args, 1);
    }
    /* a pair a thread, `far` numbers apart, `step` from pair to pair */
    DEV_MEMBER void turn_apart(const rope_args &args, u32 far, u32 step) const
    {
        const u64 items = tokens * heads * half;
        u64 i = global_thread();

        if (i >= items)
            return;
        rope_angles angles;

        angles.begin(args);
        for (; i < items; i += global_threads()) {
            const u64 row = divide(i, half);
            const u32 j = (u32)(i - row * half);
            const u64 at = row * d + (u64)j * step;
            const f32 x = convert<f32>(src[at]);
            const f32 y = convert<f32>(src[at + far]);
            f32 cosine, sine;

            angles.at(args, args.positions[divide(row, heads)], j, cosine,
                      sine);
            dst[at] = convert<T>(x * cosine - y * sine);
            dst[at + far] = convert<T>(x * sine + y * cosine);
        }
    }
    /*
     * Whether this block surely has no pairs, in a few instructions: most
     * blocks of a launch by pairs have none. Where a thread takes four pairs or
     * more (turn_all()), at most 5/4 of 2^log_rope_threads threads have work,
     * and one for each pair of a token.
     */
    template <u32 V> DEV_MEMBER bool leaves_at_once() const
    {
        constexpr u32 least = V * rope_heads_at_once << log_rope_threads;
        constexpr u32 busy = 5u << log_rope_threads >> 2;
        const u32 of_tokens = (u32)tokens * half, pairs = of_tokens * heads;
        const u32 too_many =
            __umulhi((u32)tokens, half) | __umulhi(of_tokens, heads);
        /* not 0 unless pairs are from `least` up and below 2^31 */
        const u32 other = too_many | (pairs | (pairs - least)) >> 31;
        const u32 limit = other != 0 ? ~0u : busy + of_tokens;

        return min_of((u32)blockIdx.x, 1u << 22) * (u32)blockDim.x >= limit;
    }
    /* copies the columns behind the pairs */
    DEV_MEMBER void copy_rest() const
    {
        const u32 rest = d - 2 * half;
        const u64 n = rest > 0 && dst != src ? tokens * heads * rest : 0;

        for (u64 i = global_thread(); i < n; i += global_threads()) {
            const u64 row = divide(i, rest);
            const u64 at = row * d + 2 * half + (i - row * rest);

            dst[at] = src[at];
        }
    }
};

template <typename T>
DEV void rope_pos(const T *src, const i32 *positions, const f32 *freq_factors,
                  T *dst, u32 tokens, u32 heads, u32 d, u32 n_dims, f32 base,
                  f32 scale, f32 ext, f32 attn, f32 corr_low, f32 corr_high,
                  u32 flags)
{
    /* pairs in 4 bytes, or one pair's adjacent numbers */
    constexpr u32 V = 4 / sizeof(T), nbytes = 2 * sizeof(T);
    const u32 dims = min_of(n_dims, d), half = dims / 2;
    const rope_rows<T> rows = {src, dst, tokens, heads, d, half};

    if (KPK_NVIDIA ? heads == 0 || d == 0 : min_of(heads, d) == 0)
        return;
    if (half > 0) {
        const rope_args angles = {positions, freq_factors, n_dims,
                                  base,      scale,        ext,
                                  attn,      corr_low,     corr_high};
        const bool neox = flags & ROPE_NEOX;
#if KPK_NVIDIA
        const u32 alignment = neox ? V * sizeof(T) : nbytes;
        const bool aligned =
            is_aligned(src, alignment) && is_aligned(dst, alignment) &&
            (neox ? V == 1 || (d % V == 0 && half % V == 0) : d % 2 == 0);
#else
        const u32 low = (u32)(u64)src | (u32)(u64)dst;
        const u32 one = flags & ROPE_NEOX; /* or 0 */
        const bool aligned =
            V == 1 ? (((low & (nbytes - 1)) | (d & 1)) & (one - 1)) == 0
                   : ((low & 3) | ((d | (half & (0 - one))) & 1)) == 0;
#endif

        if (!aligned)
            rows.turn_apart(angles, neox ? half : 1, neox ? 1 : 2);
        else if (!KPK_NVIDIA && rows.template leaves_at_once<V>())
            ; /* there may be numbers behind the pairs */
        else if (KPK_NVIDIA ? neox : compare_here(flags & ROPE_NEOX) != 0)
            rows.template turn_all<true, V>(angles);
        else
            rows.template turn_all<false, 1>(angles);
    }
    if (KPK_NVIDIA || d != 2 * half)
        rows.copy_rest();
}
