/*
 * mma_tile.h - a tile of a product of f16 or bf16 on sm_80 and later
 *
 * A workgroup computes Rows x Cols results, each warp WarpRows x WarpCols of
 * them by mma.sync. It walks along K in steps of 64. Several steps are in
 * flight to LDS by cp.async, which fills with zeros where an operand ends. A
 * warp loads its operands to registers 16 of K ahead.
 *
 * An operand lies in LDS as in memory, in lines along the contiguous index, and
 * ldmatrix transposes it where mma.sync wants the other index. The pieces of 16
 * bytes of a line are permuted by the line's number, so that 8 lines' pieces
 * lie in different banks.
 */
#pragma once

#include "nvidia/copy/mma_operands.h"
#include "nvidia/copy/ring.h"
#include "nvidia/gemm/operand_copy.h"
#include "nvidia/unit/mma_unit.h"

/* Stages in LDS: as many of 48 KiB as fit a multiprocessor. */
constexpr u32 async_stages = KPK_SM == 80 || KPK_SM == 87   ? 3
                             : KPK_SM < 90 || KPK_SM >= 120 ? 2
                                                            : 4;
constexpr u32 async_k = 64;

/* The layout of an operand's step in LDS. Along: K is contiguous in memory. */
template <bool Along, u32 Rows> struct AsyncLines {
    static constexpr bool along = Along;
    static constexpr u32 lines = Along ? Rows : async_k;
    static constexpr u32 pieces = (Along ? async_k : Rows) / 8; /* of a line */
    static constexpr u32 line_nbytes = pieces * 16;
    static constexpr u32 nbytes = lines * line_nbytes;

    static DEV_MEMBER u32 place(u32 line, u32 piece)
    {
        return line * line_nbytes + (piece ^ line % 8) * 16;
    }
};

template <typename T, bool AlongA, bool AlongB, u32 Rows, u32 Cols,
          u32 WarpRows, u32 WarpCols>
struct AsyncTile {
    static constexpr u32 shares = 0; /* blocks of a cluster */
    static constexpr bool apart = false;
    static constexpr u32 warps_across = Cols / WarpCols;
    static constexpr u32 threads = Rows / WarpRows * warps_across * 32;
    static constexpr u32 nrows = WarpRows / 16, ncols = WarpCols / 8;
    typedef AsyncLines<AlongA, Rows> A;
    typedef AsyncLines<AlongB, Cols> B;
    typedef OperandCopy<T, A, threads> CopyA;
    typedef OperandCopy<T, B, threads> CopyB;
    static constexpr u32 stage_nbytes = A::nbytes + B::nbytes;
    static constexpr u32 lds_nbytes = async_stages * stage_nbytes;

    /* a lane's operands for 16 of K */
    struct Part {
        u32 a[nrows][4], b[ncols / 2][4];
    };
    f32 sums[nrows][ncols][4];
    u32 row0, col0;   /* of the warp */
    u32 a_lds, b_lds; /* this lane's ldmatrix addresses in a stage */

    DEV_MEMBER AsyncTile()
    {
        const u32 warp = threadIdx.x / 32, l = threadIdx.x % 32;

        row0 = warp / warps_across * WarpRows;
        col0 = warp % warps_across * WarpCols;
        /* matrices 1 and 2 of A are 8 rows and 8 of K further; those of B 8 of
         * K and 8 columns */
        const u32 line_a = AlongA ? row0 + l % 16 : l % 8 + l / 16 * 8;
        const u32 line_b = AlongB ? col0 + l % 8 + l / 16 * 8 : l % 16;
        const u32 a_piece = AlongA ? l / 16 : row0 / 8 + l / 8 % 2;
        const u32 b_piece = AlongB ? l / 8 % 2 : col0 / 8 + l / 16;

        a_lds = A::place(line_a, a_piece);
        b_lds = A::nbytes + B::place(line_b, b_piece);
    }
    /* Whether any of this warp's results lie in C, which has rows_left by
     * cols_left from the tile's first result on. */
    DEV_MEMBER bool works(u32 rows_left, u32 cols_left) const
    {
        return row0 < rows_left && col0 < cols_left;
    }
    /* Every second piece of a line is a multiple of 32 bytes on, before and
     * after the permutation: an exclusive or gets there. */
    DEV_MEMBER void load(Part &p, u32 stage, u32 k16) const
    {
        UNROLL
        for (u32 i = 0; i < nrows; i++) {
            if (AlongA)
                load_matrices(p.a[i], stage + (a_lds ^ k16 * 32) +
                                          i * 16 * A::line_nbytes);
            else
                load_matrices_trans(p.a[i], stage + (a_lds ^ i * 32) +
                                                k16 * 16 * A::line_nbytes);
        }
        UNROLL
        for (u32 j = 0; j < ncols / 2; j++) {
            if (AlongB)
                load_matrices(p.b[j], stage + (b_lds ^ k16 * 32) +
                                          j * 16 * B::line_nbytes);
            else
                load_matrices_trans(p.b[j], stage + (b_lds ^ j * 32) +
                                                k16 * 16 * B::line_nbytes);
        }
    }
    DEV_MEMBER void multiply_row(const Part &p, u32 i)
    {
        UNROLL
        for (u32 j = 0; j < ncols; j++)
            MmaOp<T>::call(sums[i][j], p.a[i], p.b[j / 2][j % 2 * 2],
                           p.b[j / 2][j % 2 * 2 + 1]);
    }
    /* Starts copying one pass of a step, of both operands. */
    DEV_MEMBER void copy_pass(u32 stage, CopyA &a, CopyB &b, u32 i, bool go)
    {
        if (i < CopyA::passes)
            a.copy_pass(stage, i, go);
        else if (i < CopyA::passes + CopyB::passes)
            b.copy_pass(stage + A::nbytes, i - CopyA::passes, go);
    }
    /* Starts all copies of a step; zeros fill the part of K behind `left`. */
    static DEV_MEMBER void copy(u32 stage, CopyA &a, CopyB &b, u32 left)
    {
        if (left > 0) {
            a.copy_end(stage, left);
            b.copy_end(stage + A::nbytes, left);
        }
    }
    /* A tile: its length along K, and whether this warp has results in it. */
    struct Start {
        u32 nk;
        bool works;
    };
    /*
     * Computes tiles one after another. The first steps of a tile are copied
     * while the sums of the previous tile are stored.
     *
     * tiles.more()          whether there is another tile
     * tiles.begin(*this, a, b)  moves a and b to the tile's beginning
     * tiles.next()          goes to the next tile; gives the place of this one
     * tiles.store(*this, place, lds)  takes the tile's sums; the LDS of a stage
     *                       is free
     *
     * The copies of a step are issued a few at a time between the products of
     * another step, so the matrix units never wait for them. The copies of a
     * step at the end of K, or of a tile with rows missing, are issued at once.
     */
    template <class Tiles> DEV_MEMBER void run(u8 *lds, Tiles &tiles)
    {
        const u32 stages = (u32)__cvta_generic_to_shared(lds);
        CopyA a;
        CopyB b;
        Start start = {0, false};

        if (tiles.more())
            start = tiles.begin(*this, a, b);
        fill(stages, a, b, start.nk);
        NO_UNROLL
        while (tiles.more()) {
            UNROLL
            for (u32 i = 0; i < nrows * ncols * 4; i++)
                sums[i / 4 / ncols][i / 4 % ncols][i % 4] = 0;
            if (start.works)
                multiply_steps(stages, a, b, start.nk);
            else
                pass_steps(stages, a, b, start.nk);

            const auto place = tiles.next();

            start.nk = 0;
            if (tiles.more())
                start = tiles.begin(*this, a, b);
            fill(stages, a, b, start.nk);
            tiles.store(*this, place, lds + (async_stages - 1) * stage_nbytes);
        }
        async_copies_wait<0>();
        __syncthreads();
    }
    /* Starts copying the first steps of a tile with nk along K. */
    static DEV_MEMBER void fill(u32 stages, CopyA &a, CopyB &b, u32 nk)
    {
        NO_UNROLL
        for (u32 s = 0; s + 1 < async_stages; s++) {
            copy(stages + s * stage_nbytes, a, b, nk);
            a.next(), b.next();
            async_copies_end();
            nk -= min_of(nk, async_k);
        }
    }
    struct Ring : CopyRing<async_stages, stage_nbytes> {
        typedef CopyRing<async_stages, stage_nbytes> Base;
        u32 left; /* rest of K to copy */

        DEV_MEMBER Ring(u32 at, u32 nk)
            : Base(at, async_stages - 1),
              left(nk - min_of(nk, (async_stages - 1) * async_k))
        {
        }
        /* Ends a step whose copies were issued: waits until the next step is in
         * LDS. */
        DEV_MEMBER void turn(CopyA &a, CopyB &b)
        {
            a.next(), b.next();
            Base::filled();
            left -= min_of(left, async_k);
            Base::template wait<async_stages - 1>();
            __syncthreads();
            Base::release();
        }
    };
    /* For warps without results in C: they copy, but do not multiply. */
    static DEV_MEMBER void pass_steps(u32 stages, CopyA &a, CopyB &b, u32 nk)
    {
        Ring ring(stages, nk);

        async_copies_wait<async_stages - 2>();
        __syncthreads();
        NO_UNROLL
        for (u32 s = div_up(nk, async_k); s > 0; s--) {
            copy(ring.to_fill(), a, b, ring.left);
            ring.turn(a, b);
        }
    }
    DEV_MEMBER void multiply_steps(u32 stages, CopyA &a, CopyB &b, u32 nk)
    {
        constexpr u32 pieces = async_k / 16;
        constexpr u32 passes = CopyA::passes + CopyB::passes;
        constexpr u32 slots = (pieces - 1) * nrows;
        constexpr u32 each = (passes + slots - 1) / slots;
        const bool whole = a.whole && b.whole;
        Ring ring(stages, nk);
        Part part[2];

        async_copies_wait<async_stages - 2>();
        __syncthreads();
        load(part[0], ring.to_read(), 0);
        NO_UNROLL
        for (u32 s = div_up(nk, async_k); s > 0; s--) {
            const bool plain = whole && ring.left >= async_k;

            if (!plain)
                copy(ring.to_fill(), a, b, ring.left);
            UNROLL
            for (u32 k = 0; k < pieces; k++) {
                if (k + 1 == pieces)
                    ring.turn(a, b);
                load(part[(k + 1) % 2], ring.to_read(), (k + 1) % pieces);
                UNROLL
                for (u32 i = 0; i < nrows; i++) {
                    multiply_row(part[k % 2], i);
                    UNROLL
                    for (u32 e = 0; e < each; e++)
                        if (k + 1 < pieces)
                            copy_pass(ring.to_fill(), a, b,
                                      (k * nrows + i) * each + e, plain);
                }
            }
        }
    }
    /*
     * Stores all results to rows of C, which are aligned to 16 bytes, as pieces
     * of 16 bytes: alpha times the sums, plus added(column) of this column and
     * the next. Overwrites LDS.
     */
    template <class Added>
    DEV_MEMBER void store_rows(u8 *lds, T *c, u32 ldc, f32 alpha,
                               Added added) const
    {
        constexpr u32 pitch = WarpCols * 2 + 16; /* apart in banks */
        constexpr u32 pieces = WarpCols / 8, once = 32 / pieces;
        constexpr u32 slab_rows = 32;
        const u32 l = threadIdx.x % 32;
        u8 *const slab = lds + threadIdx.x / 32 * slab_rows * pitch;

        static_assert(threads / 32 * slab_rows * pitch <= stage_nbytes,
                      "a step's LDS is enough");
        UNROLL
        for (u32 r0 = 0; r0 < WarpRows; r0 += slab_rows) {
            UNROLL
            for (u32 j = 0; j < ncols; j++) {
                const Pack<f32, 2> more = added(col0 + j * 8 + l % 4 * 2);

                UNROLL
                for (u32 i = 0; i < slab_rows / 8; i++) {
                    const f32 *const sum = sums[r0 / 16 + i / 2][j] + i % 2 * 2;

                    store_pack(
                        reinterpret_cast<T *>(slab + (i * 8 + l / 4) * pitch +
                                              j * 16 + l % 4 * 4),
                        Pack<T, 2>{{convert<T>(alpha * sum[0] + more[0]),
                                    convert<T>(alpha * sum[1] + more[1])}});
                }
            }
            __syncwarp();
            T *const to =
                c + (u64)(row0 + r0 + l / pieces) * ldc + col0 + l % pieces * 8;
            UNROLL
            for (u32 r = 0; r < slab_rows; r += once)
                store_piece(
                    to + (u64)r * ldc,
                    load_pack<8>(reinterpret_cast<const T *>(
                        slab + (r + l / pieces) * pitch + l % pieces * 16)));
            __syncwarp();
        }
    }
    /*
     * Calls fn(row, column, the sums of this column and the next) for all
     * pairs, with neighbouring pairs in neighbouring lanes. Overwrites LDS.
     */
    template <class Fn> DEV_MEMBER void each_pair(u8 *lds, Fn fn) const
    {
        constexpr u32 pitch = WarpCols + 8; /* apart in banks */
        const u32 l = threadIdx.x % 32;
        f32 *const slab =
            reinterpret_cast<f32 *>(lds) + threadIdx.x / 32 * 16 * pitch;

        UNROLL
        for (u32 i = 0; i < nrows; i++) {
            __syncwarp();
            UNROLL
            for (u32 j = 0; j < ncols; j++) {
                UNROLL
                for (u32 h = 0; h < 2; h++)
                    store_pack(slab + (l / 4 + 8 * h) * pitch + j * 8 +
                                   l % 4 * 2,
                               Pack<f32, 2>{
                                   {sums[i][j][2 * h], sums[i][j][2 * h + 1]}});
            }
            __syncwarp();
            each_slab_pair<WarpCols, pitch>(
                slab, [&](u32 r, u32 c, const Pack<f32, 2> &pair) {
                    fn(row0 + i * 16 + r, col0 + c, pair);
                });
        }
    }
};
