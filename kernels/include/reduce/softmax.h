/*
 * softmax.h - y = exp(x - max) / sum(exp(x - max)) over each row
 *
 * src, dst  [rows, n] of T, row-major, distinct
 * A block has blockDim.x rows, blockIdx.x times as many come before them, and
 * blockDim.y threads share each: on NVIDIA's GPUs the threads along y, on AMD's
 * neighbours if blockDim.y is a power of two. The host launches (rows, 1, 1)
 * blocks of (1, 32, 1); any other block shape is right too. f16 and bf16 are
 * computed in f32, with one rounding at the end.
 *
 * The row is read once and written once where it fits: in registers (up to 32
 * f32 values a thread), else in LDS (up to 2048 values of f32 or a smaller T,
 * on AMD of f16 and bf16: a kernel that takes blocks of 1024 has too few
 * registers for them, and twice as much LDS would let half as many blocks of 32
 * threads run at once). Longer rows are read twice: the first pass keeps a
 * running maximum and a sum relative to it.
 *
 * LDS holds values in T, to be small: that lets more blocks of 32 threads run
 * at once. exp() of f16 and bf16 is worked out twice there.
 *
 * A row with a NaN or +inf, or of -inf alone, becomes NaN, because x - max is
 * NaN, and so is the sum.
 */
#pragma once

#include "reduce/row.h"

/*
 * Bytes of row values that a thread holds of a row too long to keep: with 32
 * threads a row, only the loads in flight to these threads keep memory busy.
 */
constexpr u32 softmax_stream = 128;

/*
 * Values of a row that LDS holds: 8 KiB of f32 at most. On AMD's GPUs rows of
 * f32 and f64 are read again from cache, which is larger than LDS: without LDS
 * twice the blocks fit a compute unit.
 */
template <typename T>
constexpr u32 softmax_held = KPK_NVIDIA || sizeof(T) < 4
                                 ? 8192 / (sizeof(T) > 4 ? sizeof(T) : 4)
                                 : 0;

/*
 * e^v of v <= 0, as exact as a probability needs it: v times log2(e) is
 * rounded, so the relative error is up to |v| 2^-24. On AMD this takes two
 * thirds of expf()'s time.
 */
template <typename T> DEV calc_t<T> row_exponential(calc_t<T> v)
{
    if constexpr (!KPK_NVIDIA && is_same<T, f32>::value)
        return exp2f(v * 1.44269504088896341f);
    else
        return exponential_for<T>(v);
}

template <typename T> struct softmax_row {
    using A = calc_t<T>;
    const team &t;
    const team_scratch<A> &scratch;
    T *row; /* in LDS, softmax_held<T> values */
    const T *src;
    T *dst;
    u32 n;

    template <u32 V, u32 K> DEV_MEMBER void run()
    {
        row_tile<T, V, K> x;
        A m = -infinity<A>(), sum = 0;

        x.load(t, src, 0, n);
        x.each(t, 0, n, [&](A *v, u32) {
            UNROLL
            for (u32 i = 0; i < V; i++)
                m = max_number(m, v[i]);
        });
        m = team_reduce(t, scratch, 0, m, larger());
        x.each(t, 0, n, [&](A *v, u32) {
            UNROLL
            for (u32 i = 0; i < V; i++) {
                v[i] = row_exponential<T>(v[i] - m);
                sum += v[i];
            }
        });
        const A r = divided(A(1), team_reduce(t, scratch, 1, sum, plus()));
        x.each(t, 0, n, [&](A *v, u32 c) {
            UNROLL
            for (u32 i = 0; i < V; i++)
                v[i] *= r;
            write_columns<V>(dst + c, v);
        });
    }

    /* The address of this thread's vector j in LDS; lanes use different banks.
     */
    template <u32 V> DEV_MEMBER T *place(u32 j) const
    {
        /* keeps the compiler from hoisting multiples of it */
        const u32 size = uniform_here(t.size);

        return row + (j * size + t.rank) * V;
    }

    /* A thread reads only values that it stored, so no barrier is needed. */
    template <u32 V> DEV_MEMBER void run_in_lds()
    {
        constexpr u32 most = softmax_registers / sizeof(T) / V;
        constexpr u32 K = most > 8 ? 8 : most > 1 ? most : 1; /* in flight */
        constexpr bool exact = is_same<T, A>::value; /* LDS takes exp() too */
        const u32 span = t.size * V;
        A m = -infinity<A>(), sum = 0, v[V];

        for (u32 first = t.rank * V, j = 0; first < n;
             first += K * span, j += K) {
            Pack<T, V> x[K];

            UNROLL
            for (u32 k = 0; k < K; k++) {
                const u32 c = first + k * span;

                x[k] = load_pack<V>(src + (c < n ? c : first));
            }
            UNROLL
            for (u32 k = 0; k < K; k++) {
                if (first + k * span < n) {
                    UNROLL
                    for (u32 i = 0; i < V; i++)
                        m = max_number(m, convert<A>(x[k][i]));
                    store_pack<V>(place<V>(j + k), x[k]);
                }
            }
        }
        m = team_reduce(t, scratch, 0, m, larger());
        for (u32 c = t.rank * V, j = 0; c < n; c += span, j++) {
            read_columns<V>(place<V>(j), v);
            UNROLL
            for (u32 i = 0; i < V; i++) {
                v[i] = row_exponential<T>(v[i] - m);
                sum += v[i];
            }
            if constexpr (exact)
                write_columns<V>(place<V>(j), v);
        }
        const A r = divided(A(1), team_reduce(t, scratch, 1, sum, plus()));
        for (u32 c = t.rank * V, j = 0; c < n; c += span, j++) {
            read_columns<V>(place<V>(j), v);
            UNROLL
            for (u32 i = 0; i < V; i++)
                v[i] = (exact ? v[i] : row_exponential<T>(v[i] - m)) * r;
            write_columns<V>(dst + c, v);
        }
    }

    template <u32 V> DEV_MEMBER void stream()
    {
        constexpr u32 K = stream_tile<T, V, 2 * softmax_stream>;
        const u32 span = K * V * t.size;
        A m = -infinity<A>(), sum = 0;
        row_tile<T, V, K> x;

        if constexpr (softmax_held < T >> 0) {
            /* LDS has room for one row of the block */
            if (t.packed && blockDim.x == 1 &&
                (n + t.size * V - 1) / (t.size * V) * t.size * V <=
                    softmax_held<T>) {
                run_in_lds<V>();
                return;
            }
        }
        for (u64 first = 0; first < n; first += span) {
            A top = m;

            x.load(t, src, (u32)first, n);
            /* uniform_here() keeps the compiler from holding a lane mask per
             * vector for all three steps */
            x.each(t, (u32)first, uniform_here(n), [&](A *v, u32) {
                UNROLL
                for (u32 i = 0; i < V; i++)
                    top = max_number(top, v[i]);
            });
            /* nothing but -inf so far: any finite base gives exp() = 0 */
            const A base = top == -infinity<A>() ? A(0) : top;

            sum *= m == top ? A(1) : row_exponential<T>(m - base);
            x.each(t, (u32)first, n, [&](A *v, u32) {
                UNROLL
                for (u32 i = 0; i < V; i++)
                    sum += row_exponential<T>(v[i] - base);
            });
            m = top;
        }
        const A all = team_reduce(t, scratch, 0, m, larger());

        if (m != all)
            sum *= row_exponential<T>(m - all);
        const A r = divided(A(1), team_reduce(t, scratch, 1, sum, plus()));
        for (u64 first = 0; first < n; first += span) {
            x.load(t, src, (u32)first, n);
            x.each(t, (u32)first, n, [&](A *v, u32 c) {
                UNROLL
                for (u32 i = 0; i < V; i++)
                    v[i] = row_exponential<T>(v[i] - all) * r;
                write_columns<V>(dst + c, v);
            });
        }
    }
};

/*
 * Whose threads share a row. Neighbours reduce by lane exchange, also where
 * they have several rows in a wave.
 */
DEV bool neighbours_share()
{
    return !KPK_NVIDIA && (blockDim.y & (blockDim.y - 1)) == 0;
}

DEV u32 thread_of_block()
{
    return threadIdx.y * blockDim.x + threadIdx.x;
}

DEV u32 row_of_block()
{
    return neighbours_share() ? thread_of_block() >> log2_of(blockDim.y)
                              : threadIdx.x;
}

DEV team team_of_block()
{
    const u32 size = blockDim.y;

    if (neighbours_share())
        return make_team(size, thread_of_block() & (size - 1),
                         thread_of_block() & ~(size - 1), 1);
    return make_team(size, threadIdx.y, threadIdx.x, blockDim.x);
}

template <typename T> DEV void softmax(const T *src, T *dst, i32 n_cols)
{
    using A = calc_t<T>;
    __shared__ A slot[2][max_groups];
    /* for the row, or the scratch of a team that is not packed */
    constexpr u32 held = softmax_held<T> * sizeof(T);
    constexpr u32 loose = max_block * sizeof(A);
    constexpr u32 nbytes = held > loose ? held : loose;
    alignas(16) __shared__ unsigned char room[nbytes];
    const team_scratch<A> scratch = {slot, reinterpret_cast<A *>(room)};
    const u64 row = (u64)blockIdx.x * blockDim.x + row_of_block();
    const team t = team_of_block();
    const u32 n = n_cols > 0 ? (u32)n_cols : 0;

    if (n == 0)
        return;
    src += row * n;
    dst += row * n;
    softmax_row<T> r{t, scratch, reinterpret_cast<T *>(room), src, dst, n};
    with_row_class<T, softmax_registers>(
        r,
        n % vector_length<T> == 0 && is_aligned(src, 16) && is_aligned(dst, 16),
        n, t.size);
}
