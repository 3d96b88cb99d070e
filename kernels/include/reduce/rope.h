/*
 * rope.h - rotary position embedding: pairs (a, e) turned by table angles
 *
 * src, dst  `elements` of T, distinct
 * cos, sin  [t', d / 2], or [b, t, d / 2] with stride_b = elements a batch
 * a' = a * c - e * z, e' = a * z + e * c, computed in f32 (f64 for f64) and
 * rounded once. rope_i pairs neighbours, rope and rope_thd the halves of a row
 * of d. The host launches a thread a pair; any 1-D grid is right. A thread
 * takes 16 bytes of pairs where the rows allow.
 */
#pragma once

#include "division.h"
#include "map/blocks.h"
#if KPK_NVIDIA
#include "nvidia/map/low_latency.h"
#endif

template <typename T>
DEV void turn_pair(T &a, T &e, const T &cosine, const T &sine)
{
    using A = calc_t<T>;
    const A x = convert<A>(a), y = convert<A>(e);
    const A c = convert<A>(cosine), z = convert<A>(sine);

    a = convert<T>(x * c - y * z);
    e = convert<T>(x * z + y * c);
}

/*
 * p + i for an i of less than 2^32 bytes. AMD's load instructions add a 32-bit
 * offset to an address.
 */
template <typename T> DEV T *at_short(T *p, u32 i)
{
#if KPK_NVIDIA
    return p + i;
#else
    return (T *)((u64)p + (u32)(i * sizeof(T)));
#endif
}

/*
 * a / b for a size b, which all threads share and which often is a power of
 * two. NVIDIA's kernels were timed with plain divisions.
 */
template <typename W> DEV W divided_by_size(W a, W b)
{
    if constexpr (!KPK_NVIDIA && sizeof(W) == sizeof(u32))
        return divide_uniform(a, b);
    else
        return a / b;
}

/* a % b for a b that all threads share */
DEV u32 remainder_uniform(u32 a, u32 b)
{
    return !KPK_NVIDIA && (b & (b - 1)) == 0 ? a & (b - 1) : a % b;
}

/*
 * A pair a thread: of the halves of rows, or neighbours. Where one row is at a
 * position, its entry is the pair's number in the table of `table` entries.
 */
template <bool HALVES, typename T>
DEV void turn_small(const T *src, const T *cos, const T *sin, T *dst, u32 pairs,
                    u32 half, u32 heads, u32 t, u32 table, u32 stride_b)
{
    const u32 p = small_thread();

    if (p >= pairs)
        return;
    const u32 row = HALVES ? divide_uniform(p, half) : 0;
    const u32 first = HALVES ? p + row * half : 2 * p;
    const u32 second = HALVES ? first + half : first + 1;
    u32 at = p - row * half;

    if (heads > 1)
        at += t > 1 ? remainder_uniform(divided_by_size(row, heads), t) * half
                    : 0;
    else if (table != half)
        at = remainder_uniform(p, table);
    if (stride_b > 0)
        at += 2 * p / stride_b * table;
    T a = *at_short(src, first), e = *at_short(src, second);

    turn_pair(a, e, *at_short(cos, at), *at_short(sin, at));
    *at_short(dst, first) = a;
    *at_short(dst, second) = e;
}

/*
 * The limit of blocks is twice that of other kernels: a pair reads four
 * elements and writes two, and up to 1024 blocks are faster in this way than by
 * packs.
 */
template <typename T> DEV bool is_small_rope(u64 pairs, u32 half)
{
    return gridDim.x <= 2 * small_grid<per16<T>::value> && covers(pairs) &&
           half > 0;
}

#if KPK_NVIDIA
/*
 * turn_small() of up to 1024 blocks, in few instructions up to the loads: false
 * if it is no such launch. A thread beyond the pairs has nothing to do in any
 * launch. Whether the launch covers all pairs is checked while the loads are
 * under way, which needs loads that the compiler takes as conditional
 * (`there`).
 */
template <bool HALVES, typename T>
DEV bool turn_few(const T *src, const T *cos, const T *sin, T *dst, u64 pairs,
                  u32 half, u32 heads, u32 t, u32 table, u32 stride_b)
{
    const u32 p = (u32)blockIdx.x * threads_anew() + thread_anew();
    const bool there = table > 0 && (!HALVES || half > 0);

    if (blocks_anew() > 1024)
        return false;
    if (p >= pairs)
        return true;
    const u32 row = HALVES ? small_quotient(p, half) : 0;
    const u32 first = HALVES ? p + row * half : 2 * p;
    const u32 second = HALVES ? first + half : first + 1;
    u32 at;

    if (heads > 1) {
        const u32 position = small_quotient(row, heads);

        at = p - (row - (position - small_quotient(position, t) * t)) * half;
    } else {
        at = p - small_quotient(p, table) * table;
    }
    if (stride_b > 0)
        at += 2 * p / stride_b * table;
    const Raw<T, 1> a = load_now(src + wide_index(first), there);
    const Raw<T, 1> e = load_now(src + wide_index(second), there);
    const Raw<T, 1> c = load_now(cos + wide_index(at), there);
    const Raw<T, 1> z = load_now(sin + wide_index(at), there);

    if (!there || pairs > blocks_anew() * threads_anew())
        return false;
    T x = bits_as<T>(a), y = bits_as<T>(e);

    turn_pair(x, y, bits_as<T>(c), bits_as<T>(z));
    dst[wide_index(first)] = x;
    dst[wide_index(second)] = y;
    return true;
}
#endif

/* The pairs, their tables, and the number of pairs per thread. */
template <typename T> struct Rope {
    const T *RESTRICT src;
    const T *RESTRICT cos;
    const T *RESTRICT sin;
    T *RESTRICT dst;
    u64 pairs;
    u32 half;     /* pairs of a row */
    u32 heads, t; /* rows at a position, positions of a table */
    u32 stride_b;

    DEV_MEMBER bool in_packs(u32 V) const
    {
        const u32 nbytes = V * (u32)sizeof(T);

        return half % V == 0 && is_aligned(src, nbytes) &&
               is_aligned(dst, nbytes) && is_aligned(cos, nbytes) &&
               is_aligned(sin, nbytes);
    }

    /* the table's entry for pair j of a row */
    template <typename W> DEV_MEMBER u64 entry(W pair, W row, W j) const
    {
        const W position = heads > 1 ? divided_by_size<W>(row, heads) : row;
        const W inside = KPK_NVIDIA
                             ? position % t
                             : position - divided_by_size<W>(position, t) * t;
        const u64 at = (u64)inside * half + j;

        return stride_b > 0
                   ? at + divide(2 * (u64)pair, stride_b) * ((u64)t * half)
                   : at;
    }

    /* the halves of rows */
    template <u32 V, typename W>
    DEV_MEMBER void turn_halves(const Walk<W> &walk) const
    {
        const W across = half / V, npacks = (W)(pairs / V);

        for (W p = walk.first; p < npacks; p += walk.step) {
            const W row = divided_by_size(p, across);
            const W j = (p - row * across) * V;
            const u64 first = (u64)row * half * 2 + j;
            const u64 at = entry<W>(p * V, row, j);
            Pack<T, V> a = load_pack<V>(src + first);
            Pack<T, V> e = load_pack<V>(src + first + half);
            const Pack<T, V> c = load_pack<V>(cos + at);
            const Pack<T, V> z = load_pack<V>(sin + at);

            UNROLL
            for (u32 i = 0; i < V; i++)
                turn_pair(a[i], e[i], c[i], z[i]);
            store_pack<V>(dst + first, a);
            store_pack<V>(dst + first + half, e);
        }
    }

    /* Rotates V adjacent elements, by V / 2 entries of the tables. */
    template <u32 V, typename W>
    DEV_MEMBER void turn_neighbours(const Walk<W> &walk) const
    {
        constexpr u32 each = V / 2;
        const W across = half / each, npacks = (W)(pairs / each);

        for (W p = walk.first; p < npacks; p += walk.step) {
            const W row = divided_by_size(p, across);
            const W j = (p - row * across) * each;
            const u64 at = entry<W>(p * each, row, j);
            const Pack<T, each> c = load_pack<each>(cos + at);
            const Pack<T, each> z = load_pack<each>(sin + at);
            const T *from = src + (u64)p * V;
            T *to = dst + (u64)p * V;

            if constexpr (V == 2) { /* aligned to the element alone */
                T a = from[0], e = from[1];

                turn_pair(a, e, c[0], z[0]);
                to[0] = a;
                to[1] = e;
            } else {
                Pack<T, V> x = load_pack<V>(from);

                UNROLL
                for (u32 i = 0; i < each; i++)
                    turn_pair(x[2 * i], x[2 * i + 1], c[i], z[i]);
                store_pack<V>(to, x);
            }
        }
    }
};

template <typename T> DEV void rope_halves_of(const Rope<T> &r)
{
    constexpr u32 V = per16<T>::value;

    if (r.half == 0 || r.t == 0)
        return;
    const bool packs = r.in_packs(V);

    if (leaves_at_once(packs ? V : 1))
        return;
    if (!walk_is_short(r.pairs))
        r.template turn_halves<1, u64>(Walk<u64>(1, r.pairs));
    else if (packs)
        r.template turn_halves<V, u32>(Walk<u32>(V, (u32)(r.pairs / V)));
    else
        r.template turn_halves<1, u32>(Walk<u32>(1, (u32)r.pairs));
}

/* x [b * h, t, d]: a row is all of t * d */
template <typename T>
DEV void rope_interleaved(const T *src, const T *cos, const T *sin, T *dst,
                          u32 bh, u32 td, u32 stride_b)
{
    const u64 pairs = (u64)bh * td / 2;

#if KPK_NVIDIA
    if (turn_few<false>(src, cos, sin, dst, pairs, 0, 1, 1, td / 2, stride_b))
        return;
#else
    if (is_small_rope<T>(pairs, td / 2)) {
        turn_small<false>(src, cos, sin, dst, (u32)pairs, 0, 1, 1, td / 2,
                          stride_b);
        return;
    }
#endif
    constexpr u32 V = per16<T>::value, each = V / 2;
    const Rope<T> r = {src, cos, sin, dst, pairs, td / 2, 1, 1, stride_b};

    if (r.half == 0)
        return;
    const bool packs = r.in_packs(V);

    if (leaves_at_once(packs ? each : 1))
        return;
    if (!walk_is_short(r.pairs))
        r.template turn_neighbours<2, u64>(Walk<u64>(1, r.pairs));
    else if (packs)
        r.template turn_neighbours<V, u32>(
            Walk<u32>(each, (u32)(r.pairs / each)));
    else
        r.template turn_neighbours<2, u32>(Walk<u32>(1, (u32)r.pairs));
}

/* x [b * h, t, d] */
template <typename T>
DEV void rope_halves(const T *src, const T *cos, const T *sin, T *dst, u32 bh,
                     u32 td, u32 d, u32 stride_b)
{
    const u64 pairs = (u64)bh * td / 2;

#if KPK_NVIDIA
    if (turn_few<true>(src, cos, sin, dst, pairs, d / 2, 1, 1, td / 2,
                       stride_b))
        return;
#else
    if (is_small_rope<T>(pairs, d / 2))
        turn_small<true>(src, cos, sin, dst, (u32)pairs, d / 2, 1, 1, td / 2,
                         stride_b);
    else
#endif
    rope_halves_of(Rope<T>{src, cos, sin, dst, pairs, d / 2, 1,
                           d > 0 ? td / d : 0, stride_b});
}

/* x [b, t, h, d] */
template <typename T>
DEV void rope_heads(const T *src, const T *cos, const T *sin, T *dst, u32 b,
                    u32 t, u32 h, u32 d, u32 stride_b)
{
    const u64 pairs = (u64)b * t * h * d / 2;

#if KPK_NVIDIA
    if (turn_few<true>(src, cos, sin, dst, pairs, d / 2, h, t, t * (d / 2),
                       stride_b))
        return;
#else
    if (is_small_rope<T>(pairs, d / 2))
        turn_small<true>(src, cos, sin, dst, (u32)pairs, d / 2, h, t,
                         t * (d / 2), stride_b);
    else
#endif
    rope_halves_of(Rope<T>{src, cos, sin, dst, pairs, d / 2, h, t, stride_b});
}
