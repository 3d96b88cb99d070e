/*
 * along_tile.h - tiles of f32 and f64 on sm_80 and later, A and B along K
 *
 * The steps of matrix/gemm.h's tiles, but copied to LDS by cp.async, two of
 * them ahead, with zeros behind the end of K: no registers wait for memory, so
 * that twice as many warps find room.
 */
#pragma once

/* How one operand's steps come to LDS. A thread copies the same piece of every
 * so many rows; rows that are not there are the last one again. */
template <typename T, u32 Size, u32 Threads> struct AlongCopy {
    static constexpr u32 n = per16<T>::value;
    static constexpr u32 pass_rows = Threads / step_pieces;
    static constexpr u32 passes = Size / pass_rows;

    const T *from[passes];
    u32 column;

    static DEV_MEMBER bool fits(const T *matrix, u32 ld, u32 batch, i64 stride)
    {
        return is_aligned(matrix, 16) && ld % n == 0 &&
               (batch == 1 || stride % n == 0);
    }
    DEV_MEMBER AlongCopy(const T *matrix, u32 row0, u32 rows, u32 ld, u32 k0)
        : column(threadIdx.x % step_pieces * n)
    {
        UNROLL
        for (u32 i = 0; i < passes; i++)
            from[i] =
                matrix +
                (u64)min_of(row0 + threadIdx.x / step_pieces + i * pass_rows,
                            rows - 1) *
                    ld +
                k0 + column;
    }
    /* Starts copying the next step, of which `left` of K are there. */
    DEV_MEMBER void copy(u32 lds, u32 left)
    {
        const u32 nbytes =
            left > column ? min_of(left - column, n) * (u32)sizeof(T) : 0;

        UNROLL
        for (u32 i = 0; i < passes; i++) {
            async_copy16(lds +
                             piece_at(threadIdx.x / step_pieces + i * pass_rows,
                                      threadIdx.x % step_pieces) *
                                 (u32)sizeof(Piece),
                         from[i], nbytes);
            from[i] += step_nbytes / sizeof(T);
        }
    }
};

/* Two steps lie in `more`, a third in `lds`, which has room for one. */
template <typename T, u32 Size> struct AlongTile {
    static constexpr u32 threads = 2 * Size;
    static constexpr u32 step = step_nbytes / sizeof(T);
    static constexpr u32 a_nbytes = Size * step_nbytes;
    static constexpr u32 nbytes = 2 * a_nbytes;
    typedef AlongCopy<T, Size, threads> Copy;

    static DEV_MEMBER bool fits(const Gemm<T> &g)
    {
        return dynamic_lds_nbytes() >= 2 * nbytes &&
               Copy::fits(g.a, g.lda, g.batch, g.stride_a) &&
               Copy::fits(g.b, g.ldb, g.batch, g.stride_b);
    }
    static DEV_MEMBER void copy(u8 *stage, Copy &a, Copy &b, u32 left)
    {
        const u32 at = (u32)__cvta_generic_to_shared(stage);

        if (left > 0) {
            a.copy(at, left);
            b.copy(at + a_nbytes, left);
        }
        async_copies_end();
    }
    static DEV_MEMBER void run(const Gemm<T> &g, const GemmPart &part, u32 row0,
                               u32 col0, u8 *lds, u8 *more)
    {
        Product<T, Size, Size, threads, step_nbytes> product;
        Copy a(g.a + (i64)part.b * g.stride_a, row0, g.m, g.lda, part.k_begin);
        Copy b(g.b + (i64)part.b * g.stride_b, col0, g.n, g.ldb, part.k_begin);
        u32 left = part.k_end - part.k_begin;
        u8 *now = more, *next = more + nbytes, *last = lds;

        __syncthreads(); /* what the tile before left in LDS is read */
        const u32 steps = div_up(left, step);
        copy(now, a, b, left);
        left -= min_of(left, step);
        copy(next, a, b, left);
        left -= min_of(left, step);
        NO_UNROLL
        for (u32 s = 0; s < steps; s++) {
            u8 *const done = now;

            async_copies_wait<1>();
            __syncthreads();
            copy(last, a, b, left);
            left -= min_of(left, step);
            product.multiply(now, now + a_nbytes);
            now = next, next = last, last = done;
        }
        async_copies_wait<0>();
        __syncthreads();

        const GemmOut<T> out(g, part);

        product.each(lds, [&](u32 row, u32 col, typename Gemm<T>::S sum) {
            if (row < g.m - row0 && col < g.n - col0)
                out.put(row0 + row, col0 + col, sum);
        });
    }
};
