/*
 * wgmma_tile.h - a tile of a product of f16 or bf16 on sm_90
 *
 * A workgroup makes Rows x Cols results by wgmma.h; its warpgroups split the
 * rows and columns. It walks along K in steps of 64. Several steps are on their
 * way to LDS at once, by cp.async, which puts zeros where an operand ends.
 * While the wgmmas of a step run, the wgmmas of the next step are started,
 * which hides the one barrier a step.
 *
 * The blocks of a cluster may share a tile: each takes a part of K, and then
 * sums up a part of the results, which it reads from the others' LDS.
 */
#pragma once

#include "early.h"
#include "nvidia/copy/cluster.h"
#include "nvidia/copy/mma_operands.h"
#include "nvidia/copy/ring.h"
#include "nvidia/gemm/operand_copy.h"
#include "nvidia/gemm/wgmma_shapes.h"
#include "nvidia/unit/wgmma.h"

constexpr u32 wgmma_k = 64; /* of a step */

/* Columns that a warp stores at once. */
DEV constexpr u32 wgmma_slab_cols(u32 cols)
{
    return cols % 64 == 0 ? 64 : cols % 32 == 0 ? 32 : 16;
}

/* The layout of an operand's step in LDS, as wgmma.h describes. */
template <bool Along, u32 Rows> struct WarpgroupLines {
    static constexpr bool along = Along;
    static constexpr u32 lines = Along ? Rows : wgmma_k;
    static constexpr u32 pieces = (Along ? wgmma_k : Rows) / 8; /* of a line */
    static constexpr u32 nbytes = Rows * wgmma_k * 2;
    static constexpr u32 block = wgmma_k * wgmma_line; /* of 64 rows */
    static constexpr u32 line_nbytes = wgmma_line;

    static DEV_MEMBER u32 place(u32 line, u32 piece)
    {
        return piece / 8 * block + wgmma_place(line, piece % 8);
    }

    /* The operand of 64 rows, or of all, from row `row0` on. */
    static DEV_MEMBER u64 operand(u32 lds, u32 row0)
    {
        return wgmma_operand(lds + row0 * wgmma_line, block);
    }
};

/* The first column of a warpgroup, of `Cols`. */
template <u32 Down, u32 Across, u32 Cols> struct OwnColumns {
    u32 col0;

    DEV_MEMBER OwnColumns()
        : col0(uniform_of_warp(threadIdx.x / 128) / Down % Across * Cols)
    {
    }
};
template <u32 Down, u32 Cols> struct OwnColumns<Down, 1, Cols> {
    static constexpr u32 col0 = 0;
};

/*
 * Down x Across x Deep warpgroups: each makes Rows / Down rows of Cols / Across
 * columns, of every Deep-th wgmma_k of K. Warpgroups with the same results add
 * up their sums in the end.
 */
template <typename T, bool AlongA, bool AlongB, u32 Rows, u32 Cols, u32 Down,
          u32 Deep, u32 Stages, u32 More = 0, u32 Shares = 0,
          class StepsA =
              OperandCopy<T, WarpgroupLines<AlongA, Rows>, Down * Deep * 128>,
          class StepsB =
              OperandCopy<T, WarpgroupLines<AlongB, Cols>, Down * Deep * 128>,
          u32 Across = 1>
struct WarpgroupTile : OwnColumns<Down, Across, Cols / Across> {
    using OwnColumns<Down, Across, Cols / Across>::col0;
    static constexpr u32 shares = Shares; /* most blocks of a cluster */
    static constexpr u32 threads = Down * Across * Deep * 128;
    /* a warpgroup's units of 64 rows, and columns */
    static constexpr u32 units = Rows / Down / 64, own_cols = Cols / Across;
    static constexpr u32 step_k = wgmma_k * Deep;
    typedef WarpgroupLines<AlongA, Rows> A;
    typedef WarpgroupLines<AlongB, Cols> B;
    typedef StepsA CopyA;
    typedef StepsB CopyB;
    typedef Wgmma<T, own_cols, AlongA, AlongB> Op;
    static constexpr u32 piece_nbytes = A::nbytes + B::nbytes;
    static constexpr u32 stage_nbytes = Deep * piece_nbytes;
    /* Stages still being multiplied when the next stage's copies begin. If
     * copies take longer than products, more stages for copies pay more. */
    static constexpr u32 running = Deep > 1 || Stages < 4 ? 0 : 1;
    static constexpr u32 ahead = Stages - 1 - running; /* on their way */
    static constexpr u32 free_nbytes = (Stages - ahead) * stage_nbytes;
    static constexpr u32 lds_nbytes =
        KPK_WARPGROUP_LDS(Rows, Cols, Deep, Stages, More);
    /* Whether no other block fits beside this one. Otherwise blocks of the next
     * launch would be distributed unevenly over the remaining room. */
    static constexpr bool fills = lds_nbytes > 113 * 1024;

    f32 sums[units][own_cols / 2];
    u32 row0, deep;    /* of the warpgroup */
    u32 shared_before; /* tiles */

    DEV_MEMBER WarpgroupTile()
        : row0(uniform_of_warp(threadIdx.x / 128) % Down * (units * 64)),
          deep(uniform_of_warp(threadIdx.x / 128) / (Down * Across)),
          shared_before(0)
    {
    }
    DEV_MEMBER bool works(u32 rows_left, u32) const
    {
        return row0 < rows_left;
    }
    /* A tile's length along K, and whether this warpgroup has rows in it. */
    struct Start {
        u32 nk;
        bool works;
    };
    /*
     * The sums of one tile after another. The first steps of a tile are copied
     * while the sums of the one before it are stored.
     *
     * tiles.more()          whether there is a tile
     * tiles.begin(*this, a, b)  moves a and b to the tile's begin
     * tiles.next()          goes to the next tile; returns this tile's place
     * tiles.is_last()       whether no tile follows
     * tiles.store(*this, place, lds)  stores a tile's sums; free_nbytes of LDS
     *                       are free
     * tiles.share(*this, place, lds)  stores the sums of a tile that the
     *                       cluster's blocks share; all LDS is free
     */
    template <class Tiles> DEV_MEMBER void run(u8 *lds, Tiles &tiles)
    {
        lds += -(u32)__cvta_generic_to_shared(lds) % 1024;
        const u32 stages = (u32)__cvta_generic_to_shared(lds);
        CopyA a;
        CopyB b;
        Start start = {0, false};

        if (tiles.more())
            start = tiles.begin(*this, a, b);
        wait_for_launch_before();
        fill(stages, a, b, start.nk);
        begin_sharing();
        NO_UNROLL
        while (tiles.more()) {
            multiply_steps(stages, a, b, start.nk, start.works);

            /* while the last instructions run */
            if (fills)
                let_next_launch_begin();
            const auto place = tiles.next();

            wgmma_wait<0>();
            hold();
            start.nk = 0;
            if constexpr (Shares > 0) {
                if (place.shared) {
                    __syncthreads(); /* the last steps are read */
                    tiles.share(*this, place, lds);
                }
            }
            __syncthreads(); /* the last steps are read */
            if (tiles.more()) {
                start = tiles.begin(*this, a, b);
                fill(stages, a, b, start.nk);
                if (Shares == 0 && tiles.is_last())
                    let_next_launch_begin();
            }
            if (Shares > 0 && place.shared)
                continue;
            if (Deep > 1)
                add_up(lds + ahead * stage_nbytes);
            if (deep == 0)
                tiles.store(*this, place, lds + ahead * stage_nbytes);
        }
        async_copies_wait<0>();
        end_sharing();
    }
    /*
     * As run(), for short K: copies run ahead over the ends of tiles. Sums have
     * the LDS of one stage, and `More`.
     *
     * tiles.count           this block's tiles
     * tiles.steps(i)        of a tile, with an i-th piece of K
     * tiles.begin(i, a, b)  moves a and b to the i-th one's begin; returns its
     *                       length along K
     * tiles.place(i), works(*this, place), store(*this, place, lds)
     */
    template <class Tiles>
    DEV_MEMBER void run_ahead(u8 *lds, const Tiles &tiles)
    {
        static_assert(threads / Deep / 32 * 16 * slab_pitch * sizeof(T) <=
                              stage_nbytes + More * 1024 &&
                          (Deep - 1) * (threads / Deep) * units * own_cols *
                                  2 <=
                              stage_nbytes + More * 1024,
                      "LDS has room for all sums");
        lds += -(u32)__cvta_generic_to_shared(lds) % 1024;
        CopyRing<Stages, stage_nbytes> ring((u32)__cvta_generic_to_shared(lds));
        CopyA a;
        CopyB b;
        u32 begun = 0, left = 0; /* tiles; of K of the last one */
        const auto copy_next = [&] {
            if (left == 0 && begun < tiles.count)
                left = tiles.begin(begun++, a, b);
            ring.fill([&](u32 stage) { copy(stage, a, b, left); });
            left -= min_of(left, step_k);
        };

        wait_for_launch_before();
        NO_UNROLL
        for (u32 s = 0; s < ahead; s++)
            copy_next();
        NO_UNROLL
        for (u32 t = 0; t < tiles.count; t++) {
            const auto place = tiles.place(t);
            /* steps with a piece for this warpgroup */
            u32 mine = tiles.works(*this, place) ? tiles.steps(deep) : 0;

            clear();
            NO_UNROLL
            for (u32 s = tiles.steps(0); s > 0; s--) {
                ring.template wait<ahead>();
                wgmma_lds_written();
                __syncthreads();
                if (mine > 0)
                    multiply_step(ring.to_read() + deep * piece_nbytes);
                mine -= min_of(mine, 1u);
                copy_next();
                wgmma_wait<running>();
                ring.release();
            }
            wgmma_wait<0>();
            hold();
            __syncthreads(); /* the last step is read */
            u8 *const stage = lds + (ring.to_fill() - ring.begin);
            if (Deep > 1)
                add_up(stage);
            if (deep == 0)
                tiles.store(*this, place, stage);
        }
        async_copies_wait<0>();
    }
    static DEV_MEMBER void copy(u32 stage, CopyA &a, CopyB &b, u32 left)
    {
        UNROLL
        for (u32 d = 0; d < Deep; d++) {
            if (left > 0) {
                a.copy(stage + d * piece_nbytes, left);
                b.copy(stage + d * piece_nbytes + A::nbytes, left);
            }
            a.next(), b.next();
            left -= min_of(left, wgmma_k);
        }
    }
    /* Starts copying the first steps of nk of K. */
    static DEV_MEMBER void fill(u32 stages, CopyA &a, CopyB &b, u32 nk)
    {
        CopyRing<Stages, stage_nbytes> ring(stages);

        NO_UNROLL
        for (u32 s = 0; s < ahead; s++) {
            ring.fill([&](u32 stage) { copy(stage, a, b, nk); });
            nk -= min_of(nk, step_k);
        }
    }
    DEV_MEMBER void clear()
    {
        UNROLL
        for (u32 u = 0; u < units; u++) {
            UNROLL
            for (u32 i = 0; i < own_cols / 2; i++)
                sums[u][i] = 0;
        }
    }
    /* Starts adding the products of 64 of K to the sums. */
    DEV_MEMBER void multiply_step(u32 stage)
    {
        wgmma_fence();
        UNROLL
        for (u32 k = 0; k < wgmma_k / 16; k++) {
            UNROLL
            for (u32 u = 0; u < units; u++)
                Op::multiply(sums[u],
                             A::operand(stage, row0 + u * 64) +
                                 k * WgmmaStep<AlongA>::k16,
                             B::operand(stage + A::nbytes, col0) +
                                 k * WgmmaStep<AlongB>::k16,
                             1);
        }
        wgmma_commit();
    }
    /*
     * A stage is filled again once all warpgroups have read it: a warpgroup
     * waits for all its products but `running` before the next step's barrier.
     */
    DEV_MEMBER void multiply_steps(u32 stages, CopyA &a, CopyB &b, u32 nk,
                                   bool works)
    {
        CopyRing<Stages, stage_nbytes> ring(stages, ahead);
        u32 left = nk - min_of(nk, ahead * step_k);
        /* rest of K from this warpgroup's first piece on */
        u32 mine = nk - min_of(nk, deep * wgmma_k);

        clear();
        NO_UNROLL
        for (u32 s = div_up(nk, step_k); s > 0; s--) {
            ring.template wait<ahead>();
            wgmma_lds_written();
            __syncthreads();
            if (works && (Deep == 1 || mine > 0))
                multiply_step(ring.to_read() + deep * piece_nbytes);
            ring.fill([&](u32 stage) { copy(stage, a, b, left); });
            left -= min_of(left, step_k);
            mine -= min_of(mine, step_k);
            if (works)
                wgmma_wait<running>();
            ring.release();
        }
    }
    /* The first warpgroup of the same rows adds up all their sums. */
    DEV_MEMBER void add_up(u8 *lds)
    {
        constexpr u32 same = Down * Across * 128;
        constexpr u32 each = units * (own_cols / 2);
        f32 *const at = reinterpret_cast<f32 *>(lds) + threadIdx.x % same;
        static_assert((Deep - 1) * same * each * 4 <= free_nbytes,
                      "the LDS that is free is enough");

        UNROLL
        for (u32 i = 0; i < each; i++) {
            if (deep > 0)
                at[((deep - 1) * each + i) * same] =
                    sums[i / (own_cols / 2)][i % (own_cols / 2)];
        }
        __syncthreads();
        UNROLL
        for (u32 d = 0; d + 1 < Deep; d++) {
            UNROLL
            for (u32 i = 0; i < each; i++) {
                if (deep == 0)
                    sums[i / (own_cols / 2)][i % (own_cols / 2)] +=
                        at[(d * each + i) * same];
            }
        }
        __syncthreads();
    }
    DEV_MEMBER void hold()
    {
        UNROLL
        for (u32 u = 0; u < units; u++)
            wgmma_hold(sums[u]);
    }
    /* Sums go to memory through a slab of LDS per warp: 16 rows of slab_cols
     * columns, padded to avoid bank conflicts. */
    static constexpr u32 slab_cols = wgmma_slab_cols(own_cols);
    static constexpr u32 slab_pitch = slab_cols + 8;
    template <typename V> static DEV_MEMBER V *slab_of(u8 *lds)
    {
        static_assert(threads / 32 * 16 * slab_pitch * sizeof(V) <= free_nbytes,
                      "the LDS that is free is enough");
        return reinterpret_cast<V *>(lds) + threadIdx.x / 32 * 16 * slab_pitch;
    }
    /* fn(row of the tile, column, sums of 16 rows and slab_cols columns) */
    template <class Fn> DEV_MEMBER void each_slab(Fn fn) const
    {
        UNROLL
        for (u32 u = 0; u < units; u++) {
            UNROLL
            for (u32 c0 = 0; c0 < own_cols; c0 += slab_cols)
                fn(row0 + u * 64 + threadIdx.x % 128 / 32 * 16, col0 + c0,
                   sums[u] + c0 / 2);
        }
    }
    /* fn(row, column, sum) for all, neighbouring rows in every fourth lane. */
    template <class Fn> DEV_MEMBER void each_sum(Fn fn) const
    {
        const u32 l = threadIdx.x % 32;
        const u32 r0 = row0 + threadIdx.x % 128 / 32 * 16 + l / 4;

        UNROLL
        for (u32 i = 0; i < units * (own_cols / 2); i++)
            fn(r0 + i / (own_cols / 2) * 64 + i / 2 % 2 * 8,
               col0 + i % (own_cols / 2) / 4 * 8 + l % 4 * 2 + i % 2,
               sums[i / (own_cols / 2)][i % (own_cols / 2)]);
    }
    /* How many rows and columns of C remain, counted from the first result of a
     * tile or of a part of a tile. */
    struct Extent {
        i32 rows, cols;

        DEV_MEMBER Extent from(u32 row, u32 col) const
        {
            return {rows - (i32)row, cols - (i32)col};
        }
    };
    /*
     * 16 rows of N columns of a warp's sums as v has them, by way of LDS, as
     * pieces of eight columns: alpha times the sums, plus added(column) of this
     * column and the next. Each lane l calls put(r, piece) for row r + l / (N /
     * 8) and the eight columns from l % (N / 8) * 8 on.
     */
    template <u32 N, class Added, class Put>
    static DEV_MEMBER void put_slab(T *slab, f32 alpha, u32 c0, const f32 *v,
                                    Added added, Put put)
    {
        constexpr u32 pitch = N + 8, pieces = N / 8, once = 32 / pieces;
        const u32 l = threadIdx.x % 32, row = l / pieces;

        __syncwarp();
        UNROLL
        for (u32 j = 0; j < N / 8; j++) {
            const u32 column = j * 8 + l % 4 * 2;
            const Pack<f32, 2> more = added(c0 + column);

            UNROLL
            for (u32 h = 0; h < 2; h++)
                store_pack(
                    slab + (l / 4 + 8 * h) * pitch + column,
                    Pack<T, 2>{
                        {convert<T>(alpha * v[4 * j + 2 * h] + more[0]),
                         convert<T>(alpha * v[4 * j + 2 * h + 1] + more[1])}});
        }
        __syncwarp();
        UNROLL
        for (u32 r = 0; r < 16; r += once)
            put(r, slab + (r + row) * pitch + l % pieces * 8);
    }
    /* The same to rows of C, which are aligned to 16 bytes. Pieces that C does
     * not have are left out; it has whole ones. */
    template <u32 N, class Added>
    static DEV_MEMBER void store_slab(T *slab, T *c, u32 ldc, f32 alpha, u32 c0,
                                      const f32 *v, Extent there, Added added)
    {
        constexpr u32 pieces = N / 8;
        const u32 l = threadIdx.x % 32, row = l / pieces;
        const bool has_column = (i32)(l % pieces * 8) < there.cols;
        T *const to = c + (u64)row * ldc + l % pieces * 8;

        put_slab<N>(slab, alpha, c0, v, added, [=](u32 r, const T *piece) {
            if (has_column && (i32)(r + row) < there.rows)
                store_piece(to + (u64)r * ldc, load_pack<8>(piece));
        });
    }
    /* All results by store_slab(); LDS must not be needed any more. */
    template <class Added>
    DEV_MEMBER void store_rows(u8 *lds, T *c, u32 ldc, f32 alpha, Extent there,
                               Added added) const
    {
        T *const slab = slab_of<T>(lds);

        each_slab([&](u32 r0, u32 c0, const f32 *v) {
            store_slab<slab_cols>(slab, c + (u64)r0 * ldc + c0, ldc, alpha, c0,
                                  v, there.from(r0, c0), added);
        });
    }
    /*
     * A tile that the blocks of a cluster have made together. Each block takes
     * the results of some slices of 16 columns. A thread sends its sums of the
     * other blocks' slices from registers straight to their LDS, where a
     * barrier counts the bytes. If `More` has room for the incoming slices, no
     * block waits until another's LDS is free.
     */
    static constexpr u32 slice_cols = 16;
    static constexpr u32 slices = Cols / slice_cols;
    static constexpr u32 slice_nbytes = Down * 128 * 8 * sizeof(f32);
    static_assert(Shares == 0 || (units == 1 && Deep == 1 && Across == 1),
                  "a thread has sums of one unit, and of all K");
    static DEV_MEMBER constexpr u32 most_from_others(u32 blocks)
    {
        const u32 n = div_up(slices, blocks) * (blocks - 1);
        const u32 fewer = blocks > 2 ? most_from_others(blocks - 1) : 0;

        return n > fewer ? n : fewer;
    }
    static constexpr u32
        come_nbytes = Shares > 1 ? most_from_others(Shares) * slice_nbytes : 0;
    static constexpr bool has_room = More * 1024 >= come_nbytes;
    /* in LDS: incoming slices, and 16 rows of sums a warp, apart in banks */
    static constexpr u32 come_at = has_room ? Stages * stage_nbytes : 0;
    static constexpr u32 rows_at = has_room ? 0 : come_nbytes;
    static constexpr u32 rows_pitch = div_up(slices, 2u) * slice_cols + 8;

    static DEV_MEMBER u64 *come()
    {
        __shared__ u64 barrier;

        return &barrier;
    }
    /* Called by all threads before, and after, all tiles. */
    static DEV_MEMBER void begin_sharing()
    {
        if (Shares < 2 || cluster_blocks() < 2)
            return;
        if (threadIdx.x == 0)
            barrier_init(come(), 1);
        if (has_room)
            cluster_arrive();
    }
    DEV_MEMBER void end_sharing() const
    {
        if (Shares > 1 && has_room && cluster_blocks() > 1 &&
            shared_before == 0)
            cluster_wait();
    }
    /* The block that takes a slice. */
    static DEV_MEMBER u32 taker_of(u32 slice)
    {
        return slice * cluster_blocks() / slices;
    }
    /* Sends this thread's sums to the blocks that take their slices. */
    DEV_MEMBER void push_slices(u8 *lds, u32 blocks, u32 rank) const
    {
        u32 to = 0, its_first = 0;

        UNROLL
        for (u32 i = 0; i < slices; i++) {
            const f32 *v = sums[0] + i * 8;

            if (taker_of(i) != to)
                to = taker_of(i), its_first = i;
            if (to == rank)
                continue;

            u8 *const slice = lds + come_at +
                              slice_nbytes * ((i - its_first) * (blocks - 1) +
                                              rank - (rank > to));

            UNROLL
            for (u32 h = 0; h < 8; h += 4)
                cluster_push(
                    come(),
                    slice + h / 4 * (slice_nbytes / 2) + place_of_mine(),
                    Pack<f32, 4>{{v[h], v[h + 1], v[h + 2], v[h + 3]}}, to);
        }
    }
    static DEV_MEMBER u32 place_of_mine()
    {
        return threadIdx.x % (Down * 128) * 16;
    }
    /* Adds the other blocks' sums of slices `first` to end - 1, and puts them
     * to the warp's rows in LDS. */
    DEV_MEMBER void take_slices(const u8 *lds, u32 blocks, u32 first, u32 end,
                                f32 *rows)
    {
        const u32 l = threadIdx.x % 32;
        const u8 *from = lds + come_at + place_of_mine();

        UNROLL
        for (u32 i = 0; i < slices; i++) {
            f32 *v = sums[0] + i * 8;

            if (i < first || i >= end)
                continue;
            NO_UNROLL
            for (u32 b = 1; b < blocks; b++, from += slice_nbytes) {
                const Pack<f32, 4> low =
                    load_pack<4>(reinterpret_cast<const f32 *>(from));
                const Pack<f32, 4> high = load_pack<4>(
                    reinterpret_cast<const f32 *>(from + slice_nbytes / 2));

                UNROLL
                for (u32 e = 0; e < 4; e++)
                    v[e] += low[e], v[4 + e] += high[e];
            }
            UNROLL
            for (u32 e = 0; e < 8; e += 2)
                store_pack(rows + (l / 4 + e / 2 % 2 * 8) * rows_pitch +
                               (i - first) * slice_cols + e / 4 * 8 + l % 4 * 2,
                           Pack<f32, 2>{{v[e], v[e + 1]}});
        }
        __syncwarp();
    }
    /*
     * fn(first row, first column, columns, sums) for the slices of this block:
     * 16 rows of each warp in LDS, rows_pitch apart. The blocks' sums are added
     * up in the same order each time. All threads come here, and need LDS no
     * more. again: more tiles follow.
     */
    template <class Fn> DEV_MEMBER void each_shared(u8 *lds, bool again, Fn fn)
    {
        const u32 blocks = cluster_blocks(), rank = cluster_rank();
        u32 first = 0, end = 0; /* this block's slices */

        static_assert(rows_at + Down * 4 * 16 * rows_pitch * sizeof(f32) <=
                          Stages * stage_nbytes,
                      "LDS has room for all sums");
        UNROLL
        for (u32 i = 0; i < slices; i++) {
            first += taker_of(i) < rank;
            end += taker_of(i) <= rank;
        }
        if (threadIdx.x == 0)
            barrier_expect(come(), (end - first) * (blocks - 1) * slice_nbytes);
        if (!has_room)
            cluster_arrive();
        cluster_wait();
        push_slices(lds, blocks, rank);
        barrier_wait(come(), shared_before++);
        if (first < end) {
            f32 *const rows = reinterpret_cast<f32 *>(lds + rows_at) +
                              threadIdx.x / 32 * 16 * rows_pitch;

            take_slices(lds, blocks, first, end, rows);
            fn(row0 + threadIdx.x % 128 / 32 * 16, first * slice_cols,
               (end - first) * slice_cols, rows);
        }
        if (has_room && again)
            cluster_arrive(); /* LDS for others' sums is free */
    }
    /* Calls read(slab, row, column) for all results; a slab in LDS has 16 rows
     * and slab_cols columns of them. Overwrites LDS. */
    template <class Read> DEV_MEMBER void by_slabs(u8 *lds, Read read) const
    {
        const u32 l = threadIdx.x % 32;
        f32 *const slab = slab_of<f32>(lds);

        each_slab([&](u32 r0, u32 c0, const f32 *v) {
            __syncwarp();
            UNROLL
            for (u32 j = 0; j < slab_cols / 8; j++) {
                UNROLL
                for (u32 h = 0; h < 2; h++)
                    store_pack(
                        slab + (l / 4 + 8 * h) * slab_pitch + j * 8 + l % 4 * 2,
                        Pack<f32, 2>{{v[4 * j + 2 * h], v[4 * j + 2 * h + 1]}});
            }
            __syncwarp();
            read(slab, r0, c0);
        });
    }
    /* fn(row, column, two sums) for all pairs of columns; neighbouring lanes
     * have neighbouring pairs */
    template <class Fn> DEV_MEMBER void each_pair(u8 *lds, Fn fn) const
    {
        by_slabs(lds, [&](const f32 *slab, u32 r0, u32 c0) {
            each_slab_pair<slab_cols, slab_pitch>(
                slab, [&](u32 r, u32 c, const Pack<f32, 2> &sums) {
                    fn(r0 + r, c0 + c, sums);
                });
        });
    }
    /* fn(row, column, eight sums in LDS) for all pieces of a row */
    template <class Fn> DEV_MEMBER void each_piece(u8 *lds, Fn fn) const
    {
        constexpr u32 pieces = slab_cols / 8;

        by_slabs(lds, [&](const f32 *slab, u32 r0, u32 c0) {
            UNROLL
            for (u32 i = 0; i < 16 * pieces; i += 32) {
                const u32 r = (i + threadIdx.x % 32) / pieces;
                const u32 c = threadIdx.x % pieces * 8;

                fn(r0 + r, c0 + c, slab + r * slab_pitch + c);
            }
        });
    }
};
