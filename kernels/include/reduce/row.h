/*
 * row.h - a row of a matrix, spread over the registers of a team
 *
 * A tile holds K vectors of V elements for each thread. Vector k of thread t is
 * columns (k * size + t) * V and up, so neighbours read neighbouring vectors.
 * V is 16 bytes' worth if the row and its operands are aligned to 16 bytes and
 * n is a multiple of V, else 1. Loads of vectors past the row's end go to its
 * first vector instead of being branched around: all K are in flight at once,
 * and the repeated vector is in the cache already.
 */
#pragma once

#include "device.h"
#include "reduce/team.h"

template <typename T> constexpr u32 vector_length = per16<T>::value;

/*
 * Bytes of row values that a thread may hold in registers. A block of 1024
 * leaves a thread 128 registers on AMD's GPUs; on NVIDIA's 64, and 32 for two
 * blocks at once (KERNEL_PAIRED), which norms need to hide their barriers.
 */
constexpr u32 softmax_registers = KPK_NVIDIA ? 64 : 128;
constexpr u32 norm_registers = KPK_NVIDIA ? 16 : 128;
/* for a row that is shared by as few threads as will do */
constexpr u32 team_registers = KPK_NVIDIA ? 32 : 64;

/* vectors of V that a thread holds of a row that it meets in pieces */
template <typename T, u32 V, u32 nbytes>
constexpr u32 stream_tile = nbytes / 2 / sizeof(calc_t<T>) / V > 1
                                ? nbytes / 2 / sizeof(calc_t<T>) / V
                                : 1;

template <u32 V, typename T> DEV void read_columns(const T *p, calc_t<T> *v)
{
    if constexpr (V == 1) {
        v[0] = convert<calc_t<T>>(p[0]);
    } else {
        const Pack<T, V> raw = load_pack<V>(p);
        UNROLL
        for (u32 i = 0; i < V; i++)
            v[i] = convert<calc_t<T>>(raw[i]);
    }
}

template <u32 V, typename T> DEV void write_columns(T *p, const calc_t<T> *v)
{
    if constexpr (V == 1) {
        p[0] = convert<T>(v[0]);
    } else {
        Pack<T, V> raw;
        UNROLL
        for (u32 i = 0; i < V; i++)
            raw[i] = convert<T>(v[i]);
        store_pack<V>(p, raw);
    }
}

template <typename T, u32 V, u32 K> struct row_tile {
    using A = calc_t<T>;
    A v[K][V];

    static DEV_MEMBER u32 column(const team &t, u32 k)
    {
        return (k * t.size + t.rank) * V;
    }

    /* columns first .. first + K * V * size of a row of n, n > 0 */
    DEV_MEMBER void load(const team &t, const T *row, u32 first, u32 n)
    {
        UNROLL
        for (u32 k = 0; k < K; k++) {
            const u32 c = first + column(t, k);

            read_columns<V>(row + (c < n ? c : 0), v[k]);
        }
    }

    /* f(vector, its first column) for the vectors that the row has */
    template <typename F>
    DEV_MEMBER void each(const team &t, u32 first, u32 n, F f)
    {
        UNROLL
        for (u32 k = 0; k < K; k++) {
            const u32 c = first + column(t, k);

            if (c < n)
                f(v[k], c);
        }
    }
};

/* n / size, rounded up. AMD's GPUs have no instruction to divide by; but for
 * odd blocks the size is a power of two. */
DEV u32 shared_out(u32 n, u32 size)
{
    if (!KPK_NVIDIA && (size & (size - 1)) == 0)
        return (n + size - 1) >> log2_of(size);
    return (n + size - 1) / size;
}

/*
 * Returns f.run<V, K>() for the smallest tile of at most nbytes that holds the
 * row, or f.stream<V>() if no tile does. All threads choose alike.
 */
template <typename T, u32 nbytes, typename F>
DEV auto with_row_class(F f, bool aligned, u32 n, u32 size)
{
    constexpr u32 V = vector_length<T>;
    constexpr u32 values = nbytes / sizeof(calc_t<T>);
    constexpr u32 most = values / V > 1 ? values / V : 1; /* vectors */

    if (aligned) {
        const u32 vectors = shared_out(n / V, size);

        if (vectors <= 1)
            return f.template run<V, 1>();
        if (most >= 2 && vectors <= 2)
            return f.template run < V, most >= 2 ? 2 : 1 > ();
        if (most >= 4 && vectors <= 4)
            return f.template run < V, most >= 4 ? 4 : 1 > ();
        if (most >= 8 && vectors <= 8)
            return f.template run < V, most >= 8 ? 8 : 1 > ();
        return f.template stream<V>();
    }
    const u32 each = shared_out(n, size);

    if (each <= 4)
        return f.template run<1, 4>();
    if (each <= values)
        return f.template run<1, values>();
    return f.template stream<1>();
}
