/*
 * rows8_ring.h - copies, tiles and joins of rows8_along.h
 *
 * Reading B takes the time, so up to 150 KB of B per multiprocessor are kept in
 * flight. Each warp copies steps of its own to LDS, some of them ahead. A step
 * includes the warp's part of A: A comes through the same busy memory, and a
 * warp that loaded it directly would wait. No warp waits for another before its
 * own part is done.
 *
 * A launch has as many blocks as run at once, one or two per multiprocessor.
 * Tiles are just wide enough for as few rounds over the grid as possible. The
 * blocks of a cluster split a tile along K.
 */
#pragma once

#include "early.h"
#include "matrix/rows8_tile.h"
#include "nvidia/copy/cluster.h"
#include "nvidia/copy/ring.h"
#include "nvidia/gemm/wgmma_shapes.h"

constexpr u32 rows8_warps = rows8_threads / 32;

/*
 * The steps of a warp: `pieces` pieces of B for each lane, and `more` bytes for
 * the warp's part of A. Stages - 1 steps are in flight. B comes Once bytes at a
 * time.
 */
template <u32 pieces, u32 more, u32 Stages, u32 Once> struct WarpSteps {
    static constexpr u32 each = pieces * 512 + more;
    static constexpr u32 nbytes = rows8_warps * Stages * each;

    CopyRing<Stages, each> ring;
    const u8 *lines; /* where the ring begins */

    DEV_MEMBER explicit WarpSteps(u8 *all)
        : ring(lds_copy_address(all + threadIdx.x / 32 * (Stages * each))),
          lines(all + threadIdx.x / 32 * (Stages * each))
    {
    }
    template <u32 n>
    static DEV_MEMBER void copy_piece(u32 to, const u8 *p, u32 nbytes)
    {
        if constexpr (n == 16) {
            async_copy_part(to, p, nbytes);
        } else {
            UNROLL
            for (u32 e = 0; e < 16; e += n)
                async_copy_few<n>(to + e, nbytes > e ? p + e : p,
                                  nbytes > e ? n : 0);
        }
    }
    /* place(i): where in the i-th 512 bytes the lane puts its piece i;
     * from(i, &nbytes): the piece's address in memory, and its bytes;
     * copy_more(to): copies the warp's part of A */
    template <class Place, class From, class More>
    DEV_MEMBER void copy(Place place, From from, More copy_more)
    {
        ring.fill([&](u32 step) {
            UNROLL
            for (u32 i = 0; i < pieces; i++) {
                u32 n;
                const u8 *const p = from(i, &n);

                copy_piece<Once>(step + i * 512 + place(i), p, n);
            }
            copy_more(step + pieces * 512);
        });
    }
    /* copy() for all steps but one */
    template <class Copy> static DEV_MEMBER void begin(Copy copy)
    {
        UNROLL
        for (u32 s = 0; s + 1 < Stages; s++)
            copy();
    }
    /* Waits for a step, whose bytes the warp's lanes then share. */
    DEV_MEMBER const u8 *take()
    {
        const u8 *const step = lines + (ring.out * each);

        ring.template wait<Stages - 1>();
        __syncwarp();
        ring.release();
        return step;
    }
};

/* Eight lanes copy a line of 128 bytes, four lines at once. A line's pieces
 * change places by `turn`, so that lanes which read at once find theirs in
 * different banks. */
DEV u32 place_in_lines(u32 line, u32 piece, u32 turn)
{
    return (line * 8 + (piece ^ turn)) * 16;
}
DEV Piece piece_in_lines(const u8 *step, u32 line, u32 piece, u32 turn)
{
    return *reinterpret_cast<const Piece *>(step +
                                            place_in_lines(line, piece, turn));
}

/* The tiles of a launch, one after another for each cluster. */
template <typename T> struct Rows8Turns {
    const Gemm<T> &g;
    u32 ranks, rank; /* blocks of the cluster; this block's rank */
    u32 width;       /* of a tile */
    u64 at, count;

    /* A tile has up to `most` columns, a multiple of `unit`. */
    DEV_MEMBER Rows8Turns(const Gemm<T> &gemm, u32 most, u32 unit)
        : g(gemm), ranks(cluster_blocks()), rank(cluster_rank()), width(most),
          at(cluster_index())
    {
        const u64 lines = (u64)div_up(g.m, rows8_rows) * g.batch * g.splits;
        const u32 all = (u32)min_of(clusters(), (u64)1 << 20);

        if (lines > 0 && lines < all && g.n > 0) {
            const u32 once = all / (u32)lines; /* tiles of a line */
            const u32 rounds = div_up(g.n, min_of(once * most, 1u << 30));

            width = div_up(div_up(g.n, once * rounds), unit) * unit;
        }
        count = lines * div_up(g.n, width);
    }
    /* part: the range of K that the block sums up */
    DEV_MEMBER Rows8Tile<T> tile(GemmPart &part) const
    {
        const u32 across = div_up(g.n, width), down = div_up(g.m, rows8_rows);
        const u64 line = divide(at, (u64)across), z = divide(line, (u64)down);

        part.split = divide(z, (u64)g.batch);
        part.b = z - part.split * g.batch;
        split_k(g, part);
        if (ranks > 1)
            share_k<T>(part, rank, ranks);

        Rows8Tile<T> t(g, part, (u32)(line - z * down), 0, 0);

        t.col0 = (u32)(at - line * across) * width;
        t.ncols = min_of(g.n - t.col0, width);
        return t;
    }
};

/*
 * Stores a tile. LDS has `slots` partial sums of each result, in rows of 1 <<
 * log2_cols; they are added up over slots and over the blocks of the cluster.
 */
template <typename T, typename S>
DEV void rows8_finish(const Rows8Tile<T> &t, S *all, u32 rows, u32 log2_cols,
                      u32 slots, u32 ranks, u32 rank)
{
    const u32 each = rows << log2_cols, cols = 1 << log2_cols;
    const u32 there = min_of(rows, t.nrows) << log2_cols;
    const auto sum_of_slots = [&](u32 i) {
        S sum = 0;

        _Pragma("unroll 4") for (u32 s = 0; s < slots; s++) sum +=
            all[s * each + i];
        return sum;
    };

    __syncthreads();
    if (ranks == 1) {
        NO_UNROLL
        for (u32 i = threadIdx.x; i < there; i += rows8_threads)
            t.put(i >> log2_cols, i % cols, sum_of_slots(i));
    } else {
        NO_UNROLL
        for (u32 i = threadIdx.x; i < there; i += rows8_threads)
            all[i] = sum_of_slots(i);
        cluster_show();
        NO_UNROLL
        for (u32 i = rank * rows8_threads + threadIdx.x; i < there;
             i += rows8_threads * ranks) {
            S sum = 0;

            _Pragma("unroll 4") for (u32 r = 0; r < ranks; r++) sum +=
                cluster_read(all + i, r);
            t.put(i >> log2_cols, i % cols, sum);
        }
        cluster_meet();
    }
    __syncthreads();
}

/* log2 of the smallest power of 2 from `cols` on, but at least `least` */
DEV u32 rows8_log2(u32 cols, u32 least)
{
    u32 log2 = least;

    while (1u << log2 < cols)
        log2++;
    return log2;
}
