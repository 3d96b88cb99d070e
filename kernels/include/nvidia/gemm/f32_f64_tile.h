/*
 * f32_f64_tile.h - tiles of f32 and f64 on sm_80 and later
 *
 * Steps of 128 bytes along K come to LDS by cp.async, two of them ahead, with
 * zeros where an operand ends: no registers wait for memory. An operand that
 * lies along K has a line of LDS for each row, one that does not has a line for
 * each k. Nothing is turned over: f32 is multiplied number by number, and of
 * f64's matrix instruction a lane gives the numbers one by one.
 */
#pragma once

#include "matrix/gemm_args.h"
#include "nvidia/copy/mma_operands.h"

constexpr u32 copied_line = 128; /* bytes of a row along K */

/* Copies one operand's steps to LDS. Its lines are aligned to `Once` bytes: 16,
 * or 8 for f64. A thread copies the same part of every pass_lines'th line. */
template <typename T, bool Along, u32 Rows, u32 Threads, u32 Once>
struct CopiedSteps {
    static constexpr u32 n = Once / sizeof(T); /* numbers of a copy */
    static constexpr u32 step = copied_line / sizeof(T);
    static constexpr u32 lines = Along ? Rows : step;
    static constexpr u32 length = Along ? step : Rows; /* of a line */
    static constexpr u32 pass_lines = Threads / (length / n);
    static constexpr u32 passes = lines / pass_lines;
    static constexpr u32 nbytes = Rows * copied_line;
    static_assert(passes * pass_lines == lines, "passes are whole");

    const T *from; /* this thread's piece in the matrix */
    u64 pass_step; /* numbers from pass to pass */
    u64 k_step;    /* and from step to step */
    u32 line, column;
    u32 there; /* the operand's rows from row0 on */

    DEV_MEMBER CopiedSteps(const T *matrix, u32 row0, u32 rows, u32 ld, u32 k0)
        : pass_step((u64)pass_lines * ld),
          k_step(Along ? step : (u64)step * ld),
          line(threadIdx.x / (length / n)),
          column(threadIdx.x % (length / n) * n), there(rows - row0)
    {
        from = matrix + (Along ? (u64)(row0 + line) * ld + k0 + column
                               : (u64)(k0 + line) * ld + row0 + column);
    }
    static DEV_MEMBER bool fits(const T *matrix, u32 ld, u32 batch, i64 stride)
    {
        return is_aligned(matrix, Once) && ld % n == 0 &&
               (batch == 1 || stride % n == 0);
    }
    /*
     * The place of a piece in its line. Eight lanes read 16 bytes each at a
     * time, from all banks. For f32 they read one piece of eight rows, or eight
     * pieces of one k; for f64 four pieces of two rows, or two pieces of four
     * pairs of k.
     */
    static DEV_MEMBER u32 place(u32 l, u32 piece)
    {
        if (sizeof(T) == 4)
            return Along ? piece ^ l % 8 : piece;
        return Along ? piece ^ l % 2 * 4 : piece ^ l / 2 % 4 * 2;
    }
    DEV_MEMBER u32 to(u32 pass) const
    {
        const u32 l = line + pass * pass_lines;

        return l * length * sizeof(T) +
               place(l, column / per16<T>::value) * 16 +
               column % per16<T>::value * sizeof(T);
    }
    /* Copies the first nbytes; the rest becomes zero. */
    static DEV_MEMBER void copy_part(u32 lds, const T *from, u32 nbytes)
    {
        if (Once == 16)
            async_copy_part(lds, from, nbytes);
        else
            async_copy_narrow<8>(lds, from, nbytes);
    }
    /* Starts copying the next step; zeros fill the part of K behind `left`. */
    DEV_MEMBER void copy(u32 stage, u32 left)
    {
        if (there >= Rows && left >= step) {
            UNROLL
            for (u32 i = 0; i < passes; i++)
                if (Once == 16)
                    async_copy_16_if(true, stage + to(i), from + i * pass_step);
                else
                    async_copy_narrow<8>(stage + to(i), from + i * pass_step,
                                         8);
        } else {
            /* numbers in a line of the operand, and lines */
            const u32 end = Along ? left : there;
            const u32 last = Along ? there : left;
            const u32 some =
                end > column ? min_of(end - column, n) * (u32)sizeof(T) : 0;

            UNROLL
            for (u32 i = 0; i < passes; i++)
                copy_part(stage + to(i), from + i * pass_step,
                          line + i * pass_lines < last ? some : 0);
        }
        from += k_step;
    }
};

/* ---- f32 ------------------------------------------------------------ */

/*
 * A lane's numbers of one operand: four k of N rows at a time. Four
 * neighbouring lanes read two addresses, so that LDS serves 16 lanes at once.
 */
template <bool Along, u32 Rows, u32 N, u32 Lanes> struct FmaOperand {
    static_assert(N % 4 == 0, "pieces of four rows");

    /* row i of the N rows of lane `at` of Lanes */
    static DEV_MEMBER u32 row(u32 at, u32 i)
    {
        return Along ? at + i * Lanes : at * 4 + i % 4 + i / 4 * (4 * Lanes);
    }
    /* Piece c of N: four k of row c, or four rows of one k. */
    static DEV_MEMBER Pack<f32, 4> load(const u8 *lds, u32 row0, u32 at,
                                        u32 quad, u32 c)
    {
        if (Along) {
            const u32 r = row0 + row(at, c);

            return load_pack<4>(reinterpret_cast<const f32 *>(
                lds + r * copied_line + (quad ^ r % 8) * 16));
        }
        return load_pack<4>(reinterpret_cast<const f32 *>(lds) +
                            (quad * 4 + k_of(c, 0)) * Rows + row0 +
                            row(at, row_of(c, 0)));
    }
    /* Row and k of number e in piece c. */
    static DEV_MEMBER u32 row_of(u32 c, u32 e)
    {
        return Along ? c : c % (N / 4) * 4 + e;
    }
    static DEV_MEMBER u32 k_of(u32 c, u32 e)
    {
        return Along ? e : c / (N / 4);
    }
};

/* The results of a warp: 4 lanes down, 8 across. */
template <bool AlongA, bool AlongB, u32 Rows, u32 Cols, u32 Threads>
struct FmaProduct {
    static constexpr u32 across = 2, down = Threads / 32 / across;
    static constexpr u32 m = Rows / down / 4, n = Cols / across / 8;
    static constexpr u32 rows = 4 * m, cols = 8 * n; /* of a warp */
    typedef FmaOperand<AlongA, Rows, m, 4> A;
    typedef FmaOperand<AlongB, Cols, n, 8> B;

    f32 sums[m][n];
    u32 row0, col0, lane_row, lane_col;

    DEV_MEMBER FmaProduct()
        : row0(threadIdx.x / 32 / across * rows),
          col0(threadIdx.x / 32 % across * cols),
          lane_row(threadIdx.x % 2 + threadIdx.x / 16 % 2 * 2),
          lane_col(threadIdx.x / 2 % 8)
    {
        UNROLL
        for (u32 i = 0; i < m; i++) {
            UNROLL
            for (u32 j = 0; j < n; j++)
                sums[i][j] = 0;
        }
    }
    /* Not unrolled: this is faster if both operands are contiguous along K. */
    DEV_MEMBER void multiply(const u8 *a, const u8 *b)
    {
        NO_UNROLL
        for (u32 quad = 0; quad < copied_line / 16; quad++) {
            f32 x[m][4];

            UNROLL
            for (u32 c = 0; c < m; c++) {
                const Pack<f32, 4> v = A::load(a, row0, lane_row, quad, c);

                UNROLL
                for (u32 e = 0; e < 4; e++)
                    x[A::row_of(c, e)][A::k_of(c, e)] = v[e];
            }
            UNROLL
            for (u32 c = 0; c < n; c++) {
                const Pack<f32, 4> v = B::load(b, col0, lane_col, quad, c);

                UNROLL
                for (u32 e = 0; e < 4; e++) {
                    UNROLL
                    for (u32 i = 0; i < m; i++) {
                        f32 &sum = sums[i][B::row_of(c, e)];

                        sum = fmaf(x[i][B::k_of(c, e)], v[e], sum);
                    }
                }
            }
        }
    }
    /* fn(row, column, sum) for 16 rows of the warp's */
    static constexpr u32 row_groups = rows / 16;
    template <class Fn> DEV_MEMBER void each_of(u32 group, Fn fn) const
    {
        UNROLL
        for (u32 i = 0; i < 4; i++) {
            UNROLL
            for (u32 j = 0; j < n; j++)
                fn(A::row(lane_row, i), B::row(lane_col, j),
                   sums[group * 4 + i][j]);
        }
    }
};

/* ---- f64 ------------------------------------------------------------ */

/* d[16, 8] += a[16, 16] b[16, 8]. With t = l%4 and g = l/4, a lane has rows g
 * and g + 8 of a and column g of b, at k t, t + 4, t + 8 and t + 12. In d, the
 * lane has columns 2t and 2t + 1 of rows g and g + 8. */
DEV void mma_f64_k16(f64 (&d)[4], const f64 (&a)[2][4], const f64 (&b)[4])
{
#if KPK_SM >= 90
    asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, "
        "{%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%0,%1,%2,%3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(a[0][0]), "d"(a[1][0]), "d"(a[0][1]), "d"(a[1][1]), "d"(a[0][2]),
          "d"(a[1][2]), "d"(a[0][3]), "d"(a[1][3]), "d"(b[0]), "d"(b[1]),
          "d"(b[2]), "d"(b[3]));
#else
    UNROLL
    for (u32 k = 0; k < 4; k += 2)
        mma_f64(d, a[0][k], a[1][k], a[0][k + 1], a[1][k + 1], b[k], b[k + 1]);
#endif
}

/*
 * A lane's numbers of 16 rows of one operand: four k of two rows. The
 * instruction's k t, t + 4, t + 8 and t + 12 are 2t, 2t + 1, 2t + 8 and 2t + 9
 * of the step, so that a piece has two numbers along K. Where rows lie side by
 * side, the lane's two rows are neighbours.
 */
template <bool Along, u32 Rows> struct MmaOperand {
    static DEV_MEMBER u32 row(u32 g, u32 h)
    {
        return Along ? g + 8 * h : 2 * g + h;
    }
    static DEV_MEMBER void load(f64 (&v)[2][4], const u8 *lds, u32 row0)
    {
        const u32 g = lane_id() / 4, t = lane_id() % 4;

        UNROLL
        for (u32 i = 0; i < 4; i++) {
            const u32 h = i / 2, half = i % 2; /* row, and half of K */
            const u32 k = t * 2 + i % 2 + i / 2 * 8;
            const u8 *const at =
                Along
                    ? lds + (row0 + row(g, h)) * copied_line +
                          ((t + 4 * half) ^ g % 2 * 4) * 16
                    : lds + (k * Rows + row0) * sizeof(f64) + (g ^ t * 2) * 16;
            const Pack<f64, 2> two =
                load_pack<2>(reinterpret_cast<const f64 *>(at));

            UNROLL
            for (u32 e = 0; e < 2; e++)
                (Along ? v[h][2 * half + e] : v[e][i]) = two[e];
        }
    }
};

template <bool AlongA, bool AlongB, u32 Rows, u32 Cols, u32 Threads>
struct MmaProduct {
    static constexpr u32 across = 2, down = Threads / 32 / across;
    static constexpr u32 rows = Rows / down, cols = Cols / across;
    static constexpr u32 m = rows / 16, n = cols / 16;
    typedef MmaOperand<AlongA, Rows> A;
    typedef MmaOperand<AlongB, Cols> B;

    f64 sums[m][n][2][4]; /* [16 rows][16 columns][8 columns][d] */
    u32 row0, col0;

    DEV_MEMBER MmaProduct()
        : row0(threadIdx.x / 32 / across * rows),
          col0(threadIdx.x / 32 % across * cols)
    {
        UNROLL
        for (u32 i = 0; i < m * n * 8; i++)
            sums[i / 8 / n][i / 8 % n][i / 4 % 2][i % 4] = 0;
    }
    DEV_MEMBER void multiply(const u8 *a, const u8 *b)
    {
        f64 x[m][2][4];

        UNROLL
        for (u32 i = 0; i < m; i++)
            A::load(x[i], a, row0 + i * 16);
        UNROLL
        for (u32 j = 0; j < n; j++) {
            f64 y[2][4];

            B::load(y, b, col0 + j * 16);
            UNROLL
            for (u32 h = 0; h < 2; h++) {
                UNROLL
                for (u32 i = 0; i < m; i++)
                    mma_f64_k16(sums[i][j][h], x[i], y[h]);
            }
        }
    }
    /* fn(row, column, sum) for 16 rows of the warp's */
    static constexpr u32 row_groups = m;
    template <class Fn> DEV_MEMBER void each_of(u32 group, Fn fn) const
    {
        const u32 g = lane_id() / 4, t = lane_id() % 4;

        UNROLL
        for (u32 j = 0; j < n; j++) {
            UNROLL
            for (u32 e = 0; e < 8; e++)
                fn(A::row(g, e / 2 % 2), j * 16 + B::row(t * 2 + e % 2, e / 4),
                   sums[group][j][e / 4][e % 4]);
        }
    }
};

/* ---- a tile --------------------------------------------------------- */

template <typename T, bool AlongA, bool AlongB, u32 Rows, u32 Cols, u32 Threads>
struct CopiedProduct : FmaProduct<AlongA, AlongB, Rows, Cols, Threads> {
};
template <bool AlongA, bool AlongB, u32 Rows, u32 Cols, u32 Threads>
struct CopiedProduct<f64, AlongA, AlongB, Rows, Cols, Threads>
    : MmaProduct<AlongA, AlongB, Rows, Cols, Threads> {
};

template <typename T, bool AlongA, bool AlongB, u32 Size, u32 Once>
struct CopiedTile {
    static constexpr u32 threads = 2 * Size;
    static constexpr u32 step = copied_line / sizeof(T);
    typedef CopiedSteps<T, AlongA, Size, threads, Once> A;
    typedef CopiedSteps<T, AlongB, Size, threads, Once> B;
    typedef CopiedProduct<T, AlongA, AlongB, Size, Size, threads> Product;
    static constexpr u32 nbytes = A::nbytes + B::nbytes; /* of a step */

    static DEV_MEMBER bool fits(const Gemm<T> &g)
    {
        return dynamic_lds_nbytes() >= 2 * nbytes &&
               A::fits(g.a, g.lda, g.batch, g.stride_a) &&
               B::fits(g.b, g.ldb, g.batch, g.stride_b);
    }
    static DEV_MEMBER void copy(u8 *stage, A &a, B &b, u32 left)
    {
        const u32 at = (u32)__cvta_generic_to_shared(stage);

        if (left > 0) {
            a.copy(at, left);
            b.copy(at + A::nbytes, left);
        }
        async_copies_end();
    }
    /* lds: two steps; last: a third one */
    static DEV_MEMBER void run(const Gemm<T> &g, const GemmPart &part, u32 row0,
                               u32 col0, u8 *lds, u8 *last)
    {
        Product product;
        A a(g.a + (i64)part.b * g.stride_a, row0, g.m, g.lda, part.k_begin);
        B b(g.b + (i64)part.b * g.stride_b, col0, g.n, g.ldb, part.k_begin);
        u32 left = part.k_end - part.k_begin;
        u8 *now = lds, *next = lds + nbytes;

        __syncthreads(); /* the tile before is read from LDS */
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
            product.multiply(now, now + A::nbytes);
            now = next, next = last, last = done;
        }
        async_copies_wait<0>();
        __syncthreads();
        put(g, part, row0, col0, product, lds);
    }
    /* By way of LDS, so that neighbouring lanes store neighbours. */
    static DEV_MEMBER void put(const Gemm<T> &g, const GemmPart &part, u32 row0,
                               u32 col0, const Product &product, u8 *lds)
    {
        constexpr u32 cols = Product::cols;
        const GemmOut<T> out(g, part);
        T *const slab =
            reinterpret_cast<T *>(lds) + threadIdx.x / 32 * 16 * cols;
        static_assert(threads / 32 * 16 * cols * sizeof(T) <= 2 * nbytes,
                      "LDS has room");

        row0 += product.row0, col0 += product.col0;
        UNROLL
        for (u32 i = 0; i < Product::row_groups; i++) {
            __syncwarp();
            product.each_of(
                i, [&](u32 r, u32 c, T sum) { slab[r * cols + c] = sum; });
            __syncwarp();
            NO_UNROLL
            for (u32 e = lane_id() * 2; e < 16 * cols; e += 64) {
                const u32 r = row0 + i * 16 + e / cols, c = col0 + e % cols;
                const Pack<T, 2> sums = load_pack<2>(slab + e);

                if (r >= g.m || c >= g.n)
                    continue;
                if (c + 1 < g.n)
                    out.put_pair(r, c, sums);
                else
                    out.put(r, c, sums[0]);
            }
        }
    }
};
