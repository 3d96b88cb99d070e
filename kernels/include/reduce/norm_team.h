/*
 * norm_team.h - rmsnorm and layernorm of rows that a block's threads hold
 *
 * A row has up to K * P vectors, P a power of two: vector k * P + t is the k-th
 * of place t. In a block with many rows a thread holds one place with all of
 * its K vectors. In a block with one row K / KW neighbouring threads share a
 * place, and each holds KW of its vectors, so more threads wait for memory at
 * once. Both ways add in the same order: the vectors of a place, then places by
 * their numbers' bits, lowest first. A row's result therefore depends on its
 * values and its length alone, never on the number of rows. FMA is written out
 * for the same reason.
 *
 * Places are joined in two steps: groups of them by lane exchange, and at most
 * 32 groups through LDS, with one barrier. Layernorm subtracts each group's
 * mean before it squares, and merges the groups' means and squares (Chan, Golub
 * and LeVeque, 'Updating Formulae and a Pairwise Algorithm for Computing Sample
 * Variances') relative to the first group's mean. Nothing cancels this way, and
 * a constant row gives beta.
 */
#pragma once

#include "reduce/neighbours.h"
#include "reduce/norm_again.h"

constexpr u32 log_least_group = 3; /* places */

/* The sum of v over 2^log adjacent lanes, at least 2^least, in each of them */
template <u32 least, typename A> DEV A join_upwards(A v, u32 log)
{
    v += lane_xor<1>(v);
    v += lane_xor<2>(v);
    if (least > 2 || log > 2)
        v += lane_xor<4>(v);
    if (log > 3)
        v += lane_xor<8>(v);
    if (log > 4)
        v += lane_xor<16>(v);
    return v;
}

/* Adds n values in pairs, in the order in which lanes add them. */
template <u32 n, typename A> DEV A join_pairs(const A *v)
{
    if constexpr (n == 1)
        return v[0];
    else
        return join_pairs<n / 2>(v) + join_pairs<n / 2>(v + n / 2);
}

template <typename T, u32 K, u32 KW> struct held_row {
    using A = calc_t<T>;
    static constexpr u32 V = vector_length<T>, parts = K / KW;

    u32 n;        /* 0 for a team without a row, which only joins barriers */
    u32 log_size; /* places */
    u32 place, part;
    u32 log_in_group, log_groups; /* places of a group, groups of the row */
    two<A> *slot;                 /* for each group of the row */
    A v[KW][V];

    /* thread: its number in the team of the row */
    DEV_MEMBER held_row(u32 columns, u32 log_places, u32 thread, two<A> *slots)
        : n(columns), log_size(log_places), place(thread / parts),
          part(thread % parts),
          log_in_group(max_of(log_least_group + 5, log_places) - 5),
          log_groups(log_places - log_in_group), slot(slots)
    {
    }
    DEV_MEMBER u32 column(u32 k) const
    {
        return (((part * KW + k) << log_size) + place) * V;
    }
    DEV_MEMBER void load(const T *src)
    {
        UNROLL
        for (u32 k = 0; k < KW; k++)
            read_columns<V>(src + (column(k) < n ? column(k) : 0), v[k]);
    }
    /* The sum of f(vector) over the group's vectors. */
    template <typename F> DEV_MEMBER A group_sum(F f) const
    {
        A sums[KW];

        UNROLL
        for (u32 k = 0; k < KW; k++)
            sums[k] = column(k) < n ? f(v[k]) : A(0);
        return join_upwards<log_least_group>(
            join_pairs<KW>(sums), log_in_group + constant_log2(parts));
    }
    /* The group whose values the lane reads: lane number mod groups. */
    DEV_MEMBER u32 lane_group() const
    {
        return threadIdx.x & ((1u << log_groups) - 1);
    }
    DEV_MEMBER void share(A a, A b) const
    {
        const u32 lanes = parts << log_in_group;

        if ((threadIdx.x & (lanes - 1)) == 0)
            slot[place >> log_in_group] = {a, b};
        __syncthreads();
    }
    DEV_MEMBER two<A> shared() const
    {
        return slot[lane_group()];
    }
    DEV_MEMBER A total(A group_value) const
    {
        return join_upwards<2>(group_value, log_groups);
    }
    /* columns of group g */
    DEV_MEMBER u32 columns_of(u32 g) const
    {
        const u32 vectors = n / V, first = g << log_in_group;
        const u32 left = vectors & ((1u << log_size) - 1); /* in the last k */
        const u32 some =
            left > first ? min_of(left - first, 1u << log_in_group) : 0;

        return ((vectors >> log_size << log_in_group) + some) * V;
    }
};

/* y = (x + shift) * scale * alpha + beta; the mean of squares, plus eps */
template <typename A> struct norm_terms {
    A shift, scale, squares;
};

/* alpha and beta of a vector; null stands for 1 and for 0 */
template <typename T> struct held_weights {
    static constexpr u32 V = vector_length<T>;
    Raw<T, V> alpha, beta;

    DEV_MEMBER void load(const T *a, const T *b, u32 c)
    {
        if (a)
            alpha = load_raw<V>(a + c);
        if (b)
            beta = load_raw<V>(b + c);
    }
};

template <bool SHIFTS, typename T>
DEV void finish_vector(calc_t<T> *v, T *dst, const held_weights<T> &weights,
                       bool alpha, bool beta, norm_terms<calc_t<T>> terms)
{
    using A = calc_t<T>;
    constexpr u32 V = vector_length<T>;

    UNROLL
    for (u32 i = 0; i < V; i++)
        v[i] = SHIFTS ? v[i] + terms.shift : v[i];
    UNROLL
    for (u32 i = 0; i < V; i++)
        v[i] = rounded_product(v[i], terms.scale);
    if (alpha && beta) {
        const Pack<T, V> factor = pack_of<V, T>(weights.alpha);
        const Pack<T, V> term = pack_of<V, T>(weights.beta);

        UNROLL
        for (u32 i = 0; i < V; i++)
            v[i] = fused(v[i], convert<A>(factor[i]), convert<A>(term[i]));
    } else if (alpha) {
        const Pack<T, V> factor = pack_of<V, T>(weights.alpha);

        UNROLL
        for (u32 i = 0; i < V; i++)
            v[i] *= convert<A>(factor[i]);
    } else if (beta) {
        const Pack<T, V> term = pack_of<V, T>(weights.beta);

        UNROLL
        for (u32 i = 0; i < V; i++)
            v[i] += convert<A>(term[i]);
    }
    write_columns<V>(dst, v);
}

template <typename A> DEV A sum_of_squares(const A *v, u32 n)
{
    A s = 0;

    UNROLL
    for (u32 i = 0; i < n; i++)
        s = fused(v[i], v[i], s);
    return s;
}

struct rms_terms {
    static constexpr bool shifts = false;

    template <typename X, typename A>
    static DEV_MEMBER norm_terms<A> of(X &x, A eps)
    {
        x.share(x.group_sum([](const A *v) { return sum_of_squares(v, X::V); }),
                0);
        const A squares = mean_of(x.total(x.shared().a), (A)x.n) + eps;

        return {0, reciprocal_root(squares), squares};
    }
};

struct layer_terms {
    static constexpr bool shifts = true;

    /* finite, so that a constant row gives beta with eps = 0 too */
    template <typename A> static DEV_MEMBER A scale(A variance, A eps)
    {
        const A g = reciprocal_root(max_number(variance, A(0)) + eps);

        return g > largest<A>() ? largest<A>() : g;
    }
    template <typename X, typename A>
    static DEV_MEMBER norm_terms<A> of(X &x, A eps)
    {
        const auto sum = [](const A *v) {
            A s = 0;

            UNROLL
            for (u32 i = 0; i < X::V; i++)
                s += v[i];
            return s;
        };
        const A own = (A)x.columns_of(x.place >> x.log_in_group);
        const A one = own > 0 ? one_over_count(own) : A(0);
        const A p = rounded_product(x.group_sum(sum), one);

        UNROLL
        for (u32 k = 0; k < sizeof(x.v) / sizeof(x.v[0]); k++)
            UNROLL
        for (u32 i = 0; i < X::V; i++)
            x.v[k][i] -= p;
        const A rest = x.group_sum(sum), m = rounded_product(rest, one);

        const A squares =
            x.group_sum([](const A *v) { return sum_of_squares(v, X::V); });

        x.share(p + m, fused(-rest, m, squares));
        const two<A> group = x.shared();
        const A first = x.slot[0].a, n = (A)x.n;
        const A count = (A)x.columns_of(x.lane_group());
        const A away = group.a - first;
        const A d = mean_of(x.total(rounded_product(count, away)), n);
        const A far = away - d;
        const A all = fused(rounded_product(count, far), far, group.b);

        const A variance = mean_of(x.total(all), n);

        return {(p - first) - d, scale(variance, eps), variance + eps};
    }
};

/* A row of n columns, by the threads that share it. False, and nothing done, if
 * its squares are out of range. */
template <typename TERMS, u32 K, u32 KW, typename T>
DEV bool normalize_held(const T *src, T *dst, const T *alpha, const T *beta,
                        u32 n, u32 log_size, u32 thread, two<calc_t<T>> *slot,
                        calc_t<T> eps)
{
    constexpr bool early = KW == 1; /* else registers would not do */
    held_row<T, K, KW> x(n, log_size, thread, slot);
    held_weights<T> weights;

    x.load(src);
    if constexpr (early)
        weights.load(alpha, beta, x.column(0) < n ? x.column(0) : 0);
    const norm_terms<calc_t<T>> terms = TERMS::of(x, eps);

    if (!squares_in_range<T>(terms.squares))
        return n == 0;
    UNROLL
    for (u32 k = 0; k < KW; k++) {
        const u32 c = x.column(k);

        if (c >= n)
            continue;
        if constexpr (!early)
            weights.load(alpha, beta, c);
        finish_vector<TERMS::shifts>(x.v[k], dst + c, weights, alpha != nullptr,
                                     beta != nullptr, terms);
    }
    return true;
}

/*
 * log2 of the places of a row: the fewest that hold it with K vectors each, at
 * least 32.
 */
template <typename T, u32 K> DEV u32 log2_places(u32 n)
{
    constexpr u32 log_held = constant_log2(K * vector_length<T>);
    const u32 places = (n - 1) >> log_held; /* the last one's number */

    return max_of(places > 0 ? log2_of(places) + 1 : 0, 5u);
}

/*
 * Normalizes a block's row with the threads that the row takes; the other
 * threads leave. In a large grid, where a block has little to do for its row
 * beside starting and waiting, one block in 2^shift takes the rows of all of
 * them, a thread for each place. slot: 2 * max_block >> log_least_group of
 * them, in LDS.
 */
template <typename TERMS, u32 K, typename T>
DEV void normalize_rows(const T *src, T *dst, const T *alpha, const T *beta,
                        u32 n, f32 eps, u32 log_size, u32 log_all,
                        two<calc_t<T>> *slot)
{
    using A = calc_t<T>;
    constexpr u32 in_turn = max_block >> log_least_group;
    const u32 thread = threadIdx.x, log_teams = log_all - log_size;

    if (gridDim.x >> (log_busy_threads + 1 - log_all) == 0) {
        constexpr u32 log_most = constant_log2(K);
        const u32 log_parts = min_of(log_most, log_teams);

        if (thread >> log_parts >> log_size > 0) {
            __syncthreads(); /* normalize_held() has one, too */
            return;
        }
        src += (u64)blockIdx.x * n;
        dst += (u64)blockIdx.x * n;
        bool done;

        if (log_parts == log_most)
            done = normalize_held<TERMS, K, 1>(src, dst, alpha, beta, n,
                                               log_size, thread, slot, (A)eps);
        else if (K > 2 && log_parts == 1)
            done = normalize_held<TERMS, K, (K > 2 ? K / 2 : K)>(
                src, dst, alpha, beta, n, log_size, thread, slot, (A)eps);
        else
            done = normalize_held<TERMS, K, K>(src, dst, alpha, beta, n,
                                               log_size, thread, slot, (A)eps);
        if (!done)
            normalize_again<TERMS::shifts>(src, dst, alpha, beta, n, eps,
                                           thread, 1u << (log_parts + log_size),
                                           group_size);
        return;
    }
    const u32 shift = log2_blocks_shared(gridDim.x, blockDim.x, 4);

    if (neighbour_takes_it(shift))
        return;
    const u32 row = first_taken(shift), rows = outputs_taken(row, shift);
    const u32 mine = thread >> log_size;
    u32 turn = 0;

    NO_UNROLL
    for (u32 first = 0; first < rows; first += 1u << log_teams, turn ^= 1) {
        const bool works = first + mine < rows;
        const u64 at = (u64)(row + (works ? first + mine : 0)) * n;

        const bool done = normalize_held<TERMS, K, K>(
            src + at, dst + at, alpha, beta, works ? n : 0, log_size,
            thread & ((1u << log_size) - 1),
            slot + turn * in_turn + (mine << log_size >> log_least_group),
            (A)eps);

        if (!done)
            normalize_again<TERMS::shifts>(src + at, dst + at, alpha, beta, n,
                                           eps, thread & ((1u << log_size) - 1),
                                           1u << log_size, group_size);
    }
}
