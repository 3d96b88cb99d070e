/*
 * mma_tile.h - a tile of a product on sm_80 and later, by a warp's instructions
 *
 * A workgroup computes Rows x Cols results, each warp WarpRows x WarpCols of
 * them. It walks along K in steps of 128 bytes, which a feed brings to LDS. An
 * operand lies there as in memory, in lines along the contiguous index. The
 * pieces of 16 bytes of a line are permuted by the line's number, so that eight
 * lanes, which read at a time, read from all banks.
 *
 * WarpProduct multiplies a step, by instructions as MmaAtom tells them: here of
 * f16 and bf16, in f32_f64_tile.h of f64. f32 has a WarpProduct of its own.
 */
#pragma once

#include "matrix/gemm_args.h"
#include "nvidia/copy/mma_operands.h"
#include "nvidia/copy/ring.h"
#include "nvidia/gemm/operand_copy.h"
#include "nvidia/unit/mma_unit.h"

/* The layout of an operand's step in LDS. Along: K is contiguous in memory. */
template <typename T, bool Along, u32 Rows> struct StepLines {
    static constexpr bool along = Along;
    static constexpr u32 k = step_nbytes / sizeof(T);
    static constexpr u32 lines = Along ? Rows : k;
    static constexpr u32 pieces = (Along ? k : Rows) / per16<T>::value;
    static constexpr u32 line_nbytes = pieces * 16;
    static constexpr u32 nbytes = lines * line_nbytes;
    static constexpr u32 row_nbytes = Along ? line_nbytes : sizeof(T);

    /* Lanes read one piece of eight lines at a time, or two pieces of four
     * lines of f64, or all pieces of a line of f32 across K. */
    static DEV_MEMBER u32 turn(u32 line)
    {
        if (sizeof(T) == 8)
            return line % 4 * 2;
        return sizeof(T) == 4 && !Along ? 0 : line % 8;
    }
    static DEV_MEMBER u32 place(u32 line, u32 piece)
    {
        return line * line_nbytes + (piece ^ turn(line)) * 16;
    }
};

/* ---- feeds ---------------------------------------------------------- */

/* Steps by cp.async, `Once` bytes a copy: all stages but one are on their way
 * while one is multiplied. Zeros fill a step where an operand ends. */
template <u32 Stages, u32 Once = 16> struct ByCopies {
    static constexpr u32 stages = Stages;

    template <typename T, class A, class B, u32 Threads> struct Feed {
        typedef OperandCopy<T, A, Threads, 0, Once> CopyA;
        typedef OperandCopy<T, B, Threads, 0, Once> CopyB;
        typedef CopyRing<Stages, A::nbytes + B::nbytes> Ring;
        CopyA a;
        CopyB b;
        Ring ring; /* distances from `lds` */
        u32 lds, left;

        DEV_MEMBER explicit Feed(u8 *to)
            : ring(0), lds((u32)__cvta_generic_to_shared(to)), left(0)
        {
        }
        DEV_MEMBER void copy()
        {
            ring.fill([&](u32 stage) {
                if (left > 0) {
                    a.copy(lds + stage, left);
                    b.copy(lds + stage + A::nbytes, left);
                }
            });
            a.next(), b.next();
            left -= min_of(left, A::k);
        }
        /* Starts nk of K, where a and b are put, behind the step last read. */
        DEV_MEMBER void begin(u32 nk)
        {
            left = nk;
            ring.in = ring.out;
            NO_UNROLL
            for (u32 s = 0; s + 1 < Stages; s++)
                copy();
        }
        /* Gives the next step's place, when the step is there for all threads.
         * The next copies go where the step before was. */
        DEV_MEMBER u32 turn()
        {
            const u32 at = ring.to_read();

            Ring::template wait<Stages - 1>();
            __syncthreads();
            copy();
            ring.release();
            return at;
        }
        /* a stage that is not being filled, when the last step is read */
        DEV_MEMBER u32 spare() const
        {
            return ring.to_fill();
        }
    };
};

/* Steps by way of registers: a step is loaded while one is multiplied. */
struct ByRegisters {
    static constexpr u32 stages = 2;

    template <typename T, class A, class B, u32 Threads> struct Feed {
        typedef OperandLoad<T, A, Threads> CopyA;
        typedef OperandLoad<T, B, Threads> CopyB;
        static constexpr u32 nbytes = A::nbytes + B::nbytes;
        CopyA a;
        CopyB b;
        u8 *lds;
        u32 left, at;

        DEV_MEMBER explicit Feed(u8 *to) : lds(to), left(0), at(0)
        {
        }
        DEV_MEMBER void load()
        {
            if (left > 0)
                a.load(left), b.load(left);
            left -= min_of(left, A::k);
        }
        DEV_MEMBER void begin(u32 nk)
        {
            left = nk;
            load();
        }
        DEV_MEMBER u32 turn()
        {
            const u32 now = at;

            a.store(lds + now), b.store(lds + now + A::nbytes);
            __syncthreads();
            load();
            at ^= nbytes;
            return now;
        }
        DEV_MEMBER u32 spare() const
        {
            return at ^ nbytes;
        }
    };
};

/* ---- a warp's products ---------------------------------------------- */

/*
 * An instruction of f16 or bf16 multiplies 16 rows of A and 8 of B. A lane has
 * a fragment of 16 rows of an operand, for k of K.
 *
 *   place_of<L>(row0, of_a)  the lane's place in a step, which lies as L says
 *   load<L>(f, step, at, i, k)  from there: rows 16 i on, part k of K
 *   multiply(sums, a, b, half)  half of b's rows
 */
template <typename T> struct MmaAtom {
    static constexpr u32 k = 16;
    /* four of 8 x 8. A: 8 rows on, then 8 of K on; B: the other way round */
    typedef u32 Fragment[4];

    template <class L> static DEV_MEMBER u32 place_of(u32 row0, bool of_a)
    {
        const u32 lane = threadIdx.x % 32;
        const u32 l =
            of_a ? lane : lane % 8 + lane / 8 % 2 * 16 + lane / 16 * 8;

        return L::along ? L::place(row0 + l % 16, l / 16)
                        : L::place(l % 8 + l / 16 * 8, row0 / 8 + l / 8 % 2);
    }
    /* Every second piece of a line is a multiple of 32 bytes on, before and
     * after the permutation: an exclusive or gets there. */
    template <class L>
    static DEV_MEMBER void load(Fragment &f, const u8 *step, u32 at, u32 i,
                                u32 part)
    {
        const u32 lds = (u32)__cvta_generic_to_shared(step);

        if (L::along)
            load_matrices(f, lds + (at ^ part * 32) + i * 16 * L::line_nbytes);
        else
            load_matrices_trans(f, lds + (at ^ i * 32) +
                                       part * 16 * L::line_nbytes);
    }
    static DEV_MEMBER void multiply(f32 (&sums)[4], const Fragment &a,
                                    const Fragment &b, u32 half)
    {
        MmaOp<T>::call(sums, a, b[2 * half], b[2 * half + 1]);
    }
};

/*
 * The products of a warp, whose operands lie in a step as A and B say.
 *
 *   WarpProduct(row0, col0)   the warp's first row and column
 *   clear()
 *   begin(step)               prepares a tile's first step
 *   multiply<More>(step, next)  adds the products of a step. When its LDS is
 *                             read, next() moves `step` on, if there are More
 *   each<Cols>(i, c0, store)  store(row, column, sums of neighbours) for rows
 *                             16 i to 16 i + 15 and Cols columns from c0 on
 */
template <typename T, class A, class B, u32 WarpRows, u32 WarpCols>
struct WarpProduct {
    static constexpr u32 m = WarpRows / 16, n = WarpCols / 16;
    typedef MmaAtom<T> Atom;
    typedef typename sum_of<T>::type S;

    S sums[m][2 * n][4];
    struct {
        typename Atom::Fragment a[m], b[n];
    } part[2];
    u32 a_at, b_at; /* the lane's places in a step */

    DEV_MEMBER WarpProduct(u32 row0, u32 col0)
        : a_at(Atom::template place_of<A>(row0, true)),
          b_at(Atom::template place_of<B>(col0, false))
    {
    }
    DEV_MEMBER void clear()
    {
        UNROLL
        for (u32 i = 0; i < m * n * 8; i++)
            sums[i / 8 / n][i / 4 % (2 * n)][i % 4] = 0;
    }
    DEV_MEMBER void load(u32 which, const u8 *step, u32 k)
    {
        UNROLL
        for (u32 i = 0; i < m; i++)
            Atom::template load<A>(part[which].a[i], step, a_at, i, k);
        UNROLL
        for (u32 j = 0; j < n; j++)
            Atom::template load<B>(part[which].b[j], step + A::nbytes, b_at, j,
                                   k);
    }
    DEV_MEMBER void begin(const u8 *step)
    {
        load(0, step, 0);
    }
    /* A part of K is loaded while the one before is multiplied, over the ends
     * of steps, too. */
    template <bool More, class Next>
    DEV_MEMBER void multiply(const u8 *&step, Next next)
    {
        constexpr u32 parts = A::k / Atom::k;
        static_assert(parts % 2 == 0, "each step begins with part 0");

        UNROLL
        for (u32 k = 0; k < parts; k++) {
            if (k + 1 == parts)
                next();
            if (More || k + 1 < parts)
                load((k + 1) % 2, step, (k + 1) % parts);
            UNROLL
            for (u32 i = 0; i < m; i++) {
                UNROLL
                for (u32 j = 0; j < 2 * n; j++)
                    Atom::multiply(sums[i][j], part[k % 2].a[i],
                                   part[k % 2].b[j / 2], j % 2);
            }
        }
    }
    template <u32 Cols, class Store>
    DEV_MEMBER void each(u32 i, u32 c0, Store store) const
    {
        const u32 g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;

        UNROLL
        for (u32 e = 0; e < Cols / 4; e++) {
            const S *const sum = &sums[i][c0 / 8 + e / 2][e % 2 * 2];

            store(g + e % 2 * 8, e / 2 * 8 + t * 2,
                  Pack<S, 2>{{sum[0], sum[1]}});
        }
    }
};

/* ---- the tile ------------------------------------------------------- */

template <typename T, bool AlongA, bool AlongB, u32 Rows, u32 Cols,
          u32 WarpRows, u32 WarpCols, class By>
struct MmaTile {
    static constexpr u32 shares = 0; /* blocks of a cluster */
    static constexpr u32 warps_across = Cols / WarpCols;
    static constexpr u32 threads = Rows / WarpRows * warps_across * 32;
    typedef void Extent; /* sums come to C as pairs */
    typedef typename sum_of<T>::type S;
    typedef StepLines<T, AlongA, Rows> A;
    typedef StepLines<T, AlongB, Cols> B;
    typedef typename By::template Feed<T, A, B, threads> Feed;
    typedef decltype(Feed::a) CopyA;
    typedef decltype(Feed::b) CopyB;
    static constexpr u32 stage_nbytes = A::nbytes + B::nbytes;
    static constexpr u32 lds_nbytes = By::stages * stage_nbytes;

    u32 row0, col0; /* of the warp */
    WarpProduct<T, A, B, WarpRows, WarpCols> product;

    DEV_MEMBER MmaTile()
        : row0(threadIdx.x / 32 / warps_across * WarpRows),
          col0(threadIdx.x / 32 % warps_across * WarpCols), product(row0, col0)
    {
    }
    struct Start { /* a tile: its length along K */
        u32 nk;
    };
    /*
     * Computes tiles one after another. The first steps of a tile are brought
     * while the last step of the one before is multiplied, and its sums stored.
     *
     * tiles.more()          whether there is another tile
     * tiles.begin(*this, a, b)  moves a and b to the tile's beginning
     * tiles.next()          goes to the next tile; gives the place of this one
     * tiles.store(*this, place, lds)  takes the tile's sums; the LDS of a stage
     *                       is free
     */
    template <class Tiles> DEV_MEMBER void run(u8 *lds, Tiles &tiles)
    {
        Feed feed(lds);
        u32 steps = 0;
        const auto begin = [&] {
            if (tiles.more()) {
                const u32 nk = tiles.begin(*this, feed.a, feed.b).nk;

                steps = div_up(nk, A::k);
                feed.begin(nk);
            }
        };

        begin();
        NO_UNROLL
        while (tiles.more()) {
            const bool any = steps > 0;
            const u8 *step = lds;
            const auto turn = [&] { step = lds + feed.turn(); };

            product.clear();
            if (any)
                turn(), product.begin(step);
            NO_UNROLL
            for (; steps > 1; steps--)
                product.template multiply<true>(step, turn);

            const auto place = tiles.next();

            begin();
            if (any)
                product.template multiply<false>(step, [] {});
            __syncthreads(); /* the last step is read */
            tiles.store(*this, place, lds + feed.spare());
        }
        async_copies_wait<0>();
    }
    /*
     * Calls fn(row, column, the sums of this column and the next) for all
     * pairs, with neighbouring pairs in neighbouring lanes. Overwrites LDS of a
     * stage.
     */
    template <class Fn> DEV_MEMBER void each_pair(u8 *lds, Fn fn) const
    {
        constexpr u32 room = stage_nbytes / (threads / 32 * 16 * sizeof(S));
        constexpr u32 cols = room < WarpCols ? 32 : WarpCols;
        S *const slab =
            reinterpret_cast<S *>(lds) + threadIdx.x / 32 * 16 * cols;
        static_assert(cols <= room, "a stage's LDS is enough");

        UNROLL
        for (u32 i = 0; i < WarpRows / 16; i++) {
            UNROLL
            for (u32 c0 = 0; c0 < WarpCols; c0 += cols) {
                each_pair_by_slab<cols>(
                    slab,
                    [&](auto store) {
                        product.template each<cols>(i, c0, store);
                    },
                    [&](u32 r, u32 c, const Pack<S, 2> &pair) {
                        fn(row0 + i * 16 + r, col0 + c0 + c, pair);
                    });
            }
        }
    }
};
