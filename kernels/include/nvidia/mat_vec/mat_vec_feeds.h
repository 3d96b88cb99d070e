/* mat_vec_feeds.h - how the warps of mat_vec_loop.h load their operands */
#pragma once

#include "gguf/block.h"
#include "nvidia/copy/async_copy.h"
#include "nvidia/copy/ring.h"
#include "nvidia/mat_vec/column_chunk.h"
#include "nvidia/mat_vec/mat_vec_loop.h"

/*
 * Reads of columns, and of rows aligned to 16, are rounded up to a granule of
 * 16 bytes. Nothing past the matrix's end is read.
 */

/* ---- registers ----
 *
 * A launch of two microseconds consists of the work before its first load, the
 * load, and the store of a sum. So a lane loads its `Each` chunks of weights at
 * once and keeps them in registers. No branch tests whether a chunk exists:
 * past the row's end a lane loads the last chunk again, and the result is not
 * used.
 *
 * The workgroup copies the columns to LDS once. If lanes loaded their blocks
 * from memory, in words 36 bytes apart, the L1 would be busy longer than with
 * the weights.
 *
 * Each warp takes up to 1024 * Each weights of a row. The four warps share up
 * to four rows; of more rows each warp takes its own.
 */
template <class F, int N, int Rows, int Each> struct RegisterFeed {
    static constexpr int own = Rows > 4 ? Rows / 4 : 1; /* a warp's rows */
    static constexpr int rows = Rows, splits = 4 * own / Rows, nsums = own * N;
    static constexpr int parts = 1, stride = 1;
    static constexpr bool loops = false, on_lanes = true;
    static constexpr u32 y_bytes = 32 * splits * Each * Q8_1::bytes;

    struct Lds {
        __attribute__((aligned(16))) u8 y[N][y_bytes];
    };

    const Lds &lds;
    const u32 lane, warp;
    typedef typename ForVec<F>::type Form;
    typename Form::Raw raw[own][Each];
    u32 at[Each]; /* the lane's chunks */
    u32 total;    /* chunks of a row */

    template <typename T>
    DEV_MEMBER RegisterFeed(const Lds &l, const MatVec<T> &m, const Jobs &jobs)
        : lds(l), lane(jobs.lane), warp(jobs.warp),
          total((u32)m.nblocks * F::chunks)
    {
    }

    DEV_MEMBER u32 split() const
    {
        return warp % splits;
    }
    DEV_MEMBER u32 row_of(u32 index) const
    {
        return warp / splits * own + (own > 1 ? index : 0);
    }
    static DEV_MEMBER constexpr int first()
    {
        return 0;
    }
    static DEV_MEMBER constexpr int steps()
    {
        return 1;
    }

    template <typename T> DEV_MEMBER void copy_columns(const MatVec<T> &m) const
    {
        const u32 size = (u32)m.nblocks * (F::elems / 32 * Q8_1::bytes);
        const u32 begin = 16 * (warp * 32 + lane);
        const u32 to = lds_copy_address(lds.y[0] + begin);
        const u8 *from = m.y + begin;

        wait_for_launch_before();
        asm("" : "+l"(from)); /* computed only once */
        UNROLL
        for (u32 col = 0; col < N; col++, from += m.y_stride) {
            UNROLL
            for (u32 i = 0; i < y_bytes; i += 16 * 128)
                if (begin + i < size)
                    async_copy_16<Through::l1>(to + col * y_bytes + i,
                                               from + i);
        }
        async_copies_end();
    }

    DEV_MEMBER u32 chunk_of(u32 i) const
    {
        return warp % splits * 32 + lane + i * 32 * splits;
    }

    template <typename T> DEV_MEMBER void begin(const MatVec<T> &m, u32 row0)
    {
        /* With two rows of formats of 32 elements, columns are copied first.
         * Otherwise the compiler makes lanes wait for their weights, to unpack
         * them, before they load columns. */
        constexpr bool columns_first = F::elems == 32 && Rows == 2;
        if (columns_first)
            copy_columns(m);
        UNROLL
        for (u32 i = 0; i < Each; i++) {
            at[i] = min_of(chunk_of(i), total - 1);
            UNROLL
            for (u32 r = 0; r < own; r++) {
                const u32 row = min_of(row0 + row_of(r), (u32)m.nrows - 1);
                const u8 *x = m.w + (size_t)row * ((u32)m.nblocks * F::bytes);

                raw[r][i] = Form::template load<BlockPlace::aligned>(
                    x + at[i] / F::chunks * F::bytes, (int)(at[i] % F::chunks));
            }
        }
        if (!columns_first)
            copy_columns(m);
    }
    DEV_MEMBER void begin_step(int) const
    {
    }
    DEV_MEMBER void wait() const
    {
        async_copies_wait<0>();
        __syncthreads();
    }

    DEV_MEMBER void multiply(float (&sums)[nsums], int) const
    {
        UNROLL
        for (u32 i = 0; i < Each; i++) {
            const u32 chunk = at[i] % F::chunks;
            const bool is_there = chunk_of(i) < total;

            UNROLL
            for (int r = 0; r < own; r++) {
                const Chunk c = Form::unpack(raw[r][i], (int)chunk);

                UNROLL
                for (int col = 0; col < N; col++) {
                    const u32 *blocks =
                        reinterpret_cast<const u32 *>(lds.y[col]) +
                        (at[i] - chunk) * Q8_1::words;
                    float &old = sums[r * N + col];
                    const float sum = add_product<Form>(
                        old, c, read_activations<Form>(blocks, (int)chunk));

                    old = is_there ? sum : old;
                }
            }
        }
    }
    DEV_MEMBER void release(int) const
    {
    }
};

/* ---- asynchronous copies ----
 *
 * The warps of a workgroup share its rows: each takes every few of their steps.
 * A warp copies a step's bytes of all rows and columns to LDS as they are, for
 * itself alone, up to Stages steps ahead, and a lane multiplies a chunk of each
 * row; no warp waits for another before the sums are added up in the end. Bytes
 * in flight need no registers, and a few instructions ask for the whole step:
 * 32 / Rows lanes share a row, and a lane keeps one address.
 *
 * A row's step begins anywhere in a matrix that is aligned to 16: the granules
 * of 16 bytes around it are copied, and it keeps its place in its granule.
 * Where all rows have the same place (SamePlace) it costs nothing to find.
 *
 * The rows of a first step are asked for before the previous launch is over.
 * The columns are not, because the previous launch may write them.
 */
template <class F, int N, int Rows, int Stages, bool SamePlace, bool Loops>
struct CopyFeed {
    static constexpr bool loops = Loops, on_lanes = true;
    static constexpr int warps = vec_warps<N>;
    static constexpr int rows = Rows, splits = warps, parts = 1, stride = warps;
    static constexpr int nsums = Rows * N;
    static constexpr int blocks = 32;       /* Q8_1 blocks in a step */
    static constexpr int lanes = 32 / Rows; /* to a row */
    static constexpr int x_bytes = blocks * 32 / F::elems * F::bytes;
    static constexpr int y_bytes = blocks * Q8_1::bytes;
    static constexpr int x_stride =
        (x_bytes + (F::bytes % 16 == 0 ? 0 : 14) + 15) & ~15;

    struct Stage {
        u8 x[Rows * x_stride];
        u8 y[N * y_bytes];
    };
    struct Lds {
        __attribute__((aligned(16))) Stage stage[warps][Stages];
    };
    typedef ColumnsOf<F, N, SamePlace ? 1 : 0, 1> Columns;
    typedef typename ForVec<F>::type Form;

    const u32 lane, warp;
    const Stage *const stages; /* the warp's */
    u32 x_lds, y_lds;          /* LDS addresses of the lane's first granules */
    int place;                 /* of the stage to multiply */
    const u8 *x;               /* the lane's first granule of its row */
    const u8 *x_end;           /* the matrix's end */
    const u8 *y;               /* the lane's first granule of a column */
    size_t columns_apart;
    u32 row_place;          /* offset of the lane's row in its granule */
    u32 place0, place_step; /* the first row's offset; added for each row */
    int nblocks;            /* Q8_1 blocks of a row */

    template <typename T>
    DEV_MEMBER CopyFeed(const Lds &lds, const MatVec<T> &m, const Jobs &jobs)
        : lane(jobs.lane), warp(jobs.warp), stages(lds.stage[warp]),
          columns_apart(m.y_stride), nblocks(m.nblocks * (F::elems / 32))
    {
        x_lds = lds_copy_address(stages->x + lane / lanes * x_stride +
                                 16 * (lane % lanes));
        y_lds = lds_copy_address(stages->y + 16 * lane);
    }

    DEV_MEMBER u32 split() const
    {
        return warp;
    }
    static DEV_MEMBER u32 row_of(u32 index)
    {
        return index;
    }
    DEV_MEMBER int first() const
    {
        return (int)warp;
    }
    DEV_MEMBER int steps() const
    {
        return (nblocks + blocks - 1) / blocks;
    }

    template <typename T> DEV_MEMBER void begin(const MatVec<T> &m, u32 row0)
    {
        const u32 row_bytes = (u32)m.nblocks * F::bytes;
        const u32 row = min_of(row0 + lane / lanes, (u32)m.nrows - 1);
        const size_t at = (size_t)row * row_bytes;

        row_place = SamePlace ? 0 : (u32)at & 15;
        x = m.w + at - row_place + 16 * (lane % lanes);
        x_end = m.w + (size_t)m.matrix_rows * row_bytes;
        y = m.y + 16 * lane;
        asm("" : "+l"(x), "+l"(y)); /* computed only once */
        place0 = SamePlace ? 0 : (row0 * row_bytes) & 15;
        place_step = SamePlace ? 0 : row_bytes & 15;
        place = 0;

        copy<StepPart::rows>(0, first());
        wait_for_launch_before();
        copy<StepPart::columns>(0, first());
        UNROLL
        for (int i = 1; i < Stages; i++)
            copy(i, first() + i * warps);
    }
    DEV_MEMBER void begin_step(int) const
    {
    }

    /* a step's offset in its granule, relative to the row's offset */
    static DEV_MEMBER u32 step_place(int step)
    {
        return x_bytes % 16 == 0 ? 0 : (u32)(step * x_bytes) & 15;
    }
    DEV_MEMBER u32 row_place_of(int r, int step) const
    {
        return SamePlace
                   ? step_place(step)
                   : (place0 + (u32)r * place_step + (u32)(step * x_bytes)) &
                         15;
    }

    /* Copies the rows or the columns of a step, or both, to LDS. Does nothing
     * for a step behind the end of K. */
    template <StepPart Part = StepPart::all>
    DEV_MEMBER void copy(int to, int step) const
    {
        const int left = min_of(nblocks - step * blocks, blocks);

        if (left > 0) {
            const u32 offset = (u32)(step * x_bytes) + row_place;
            const u8 *from = x + (offset & ~15u);
            /* bytes from the lane's granule on */
            const int room = left * 32 / F::elems * F::bytes +
                             (int)(offset & 15) - 16 * (int)(lane % lanes);
            /* bytes of the matrix from `from` on, if fewer than a step has */
            const u32 x_left = SamePlace ? 0
                                         : (u32)min_of((u64)(x_end - from),
                                                       (u64)x_stride + 16);
            const int y_room = left * Q8_1::bytes - 16 * (int)lane;
            const u8 *column = y + (u32)(step * y_bytes);
            const u32 stage = (u32)(to * (int)sizeof(Stage));

            UNROLL
            for (int j = 0; j < x_stride; j += 16 * lanes)
                if (Part != StepPart::columns && room > j) {
                    if constexpr (SamePlace)
                        async_copy_16<Through::l2>(x_lds + stage + j, from + j);
                    else
                        async_copy_part(x_lds + stage + j, from + j,
                                        min_of(x_left - (u32)j, 16u));
                }
            UNROLL
            for (int c = 0; c < N; c++) {
                UNROLL
                for (int j = 0; j < y_bytes; j += 16 * 32)
                    if (Part != StepPart::rows && y_room > j)
                        async_copy_16<Through::l1>(
                            y_lds + stage + c * y_bytes + j, column + j);
                column += columns_apart;
            }
        }
        if (Part != StepPart::rows)
            async_copies_end();
    }

    DEV_MEMBER void wait() const
    {
        async_copies_wait<Stages - 1>();
        __syncwarp();
    }
    DEV_MEMBER void release(int step)
    {
        __syncwarp();
        copy(place, step + Stages * warps);
        place = place + 1 < Stages ? place + 1 : 0;
    }

    DEV_MEMBER void multiply(float (&sums)[nsums], int step) const
    {
        const Stage &in = stages[place];
        const int chunk = (int)(lane % F::chunks);
        const u32 *of_columns = reinterpret_cast<const u32 *>(in.y) +
                                (lane - (u32)chunk) * Q8_1::words;
        const u8 *of_rows =
            in.x + (lane / F::chunks * F::bytes & Columns::mask);

        if ((int)lane >= nblocks - step * blocks)
            return;
        /* rows or columns stay in registers, whichever take fewer */
        if constexpr (N <= 4) {
            Columns columns;

            columns.read(of_columns, y_bytes / 4, chunk);
            UNROLL
            for (int r = 0; r < Rows; r++)
                columns.add(sums + r * N,
                            of_rows + r * x_stride + row_place_of(r, step),
                            chunk);
        } else {
            Chunk c[Rows];

            UNROLL
            for (int r = 0; r < Rows; r++)
                c[r] = Form::unpack(
                    Form::template load<BlockPlace::lds>(
                        of_rows + r * x_stride + row_place_of(r, step), chunk),
                    chunk);
            UNROLL
            for (int col = 0; col < N; col++) {
                const Activations a = read_activations<Form>(
                    of_columns + col * (y_bytes / 4), chunk);

                UNROLL
                for (int r = 0; r < Rows; r++)
                    sums[r * N + col] =
                        add_product<Form>(sums[r * N + col], c[r], a);
            }
        }
    }
};

#if KPK_SM >= 90
/* ---- bulk copies ----
 *
 * Few workgroups compute all rows; meanwhile the other workgroups start and
 * exit. A compact grid has no others.
 *
 * A job loops over K in passes: in a pass a lane has one chunk of each row, and
 * a warp 32 adjacent chunks. If chunks are wide, two warps make a pass, and the
 * other two, a second team, the same pass of other rows. A lane's chunks of the
 * N columns of y stay in registers for the job and, if a row is one pass, for
 * all jobs. The copy engine fills a stage, `each` rows of a pass, while earlier
 * stages are multiplied. This needs few registers and little LDS, so that
 * exiting workgroups fit beside computing ones.
 *
 * Rows and columns are aligned to 16 bytes.
 */
template <class F, int N, int Rows, int Stages> struct BulkFeed {
    typedef ColumnsOf<F, N, 2, 2> Columns;

    static constexpr bool loops = true, on_lanes = true;
    static constexpr u32 warps = 4;
    /* `splits` warps share a pass; teams of them share a stage's rows */
    static constexpr u32 teams = Columns::span, splits = warps / teams;
    static constexpr u32 blocks = 32 * Columns::span; /* Q8_1 to a warp */
    static constexpr u32 slice_bytes = blocks * 32 / F::elems * F::bytes;
    static constexpr u32 pass_bytes = splits * slice_bytes;
    static constexpr u32 y_bytes = blocks * Q8_1::bytes;
    /* LDS has no room for four rows of Q8_0 */
    static constexpr u32 each = pass_bytes > 4096 ? 2 : 4;
    static constexpr u32 stages = Stages;
    static constexpr u32 own = each / teams; /* a warp's rows of a stage */
    static constexpr int rows = Rows, parts = rows / each, nsums = own * N;
    static constexpr int stride = 1;

    struct Lds {
        __attribute__((aligned(16))) u8 x[stages][each * pass_bytes];
        __attribute__((aligned(16))) u8 y[warps][N * y_bytes];
        __attribute__((aligned(8))) RingBarriers<stages> barriers;
    };

    Lds &lds;
    const u8 *x, *y;
    size_t y_stride;
    u32 nrows, row_bytes;
    u32 nblocks, passes; /* Q8_1 blocks and passes of a row */
    u32 row_step;        /* from job to job */
    u32 slice, team;     /* the warp's part of a pass, and its team */
    int chunk;
    u32 in_row; /* offset of the lane's blocks in a row's pass */
    Columns columns;
    RingEnd<stages> in, out;
    u32 row, pass = 0, part = 0, turn = 0; /* of the next stage to copy */

    template <typename T>
    DEV_MEMBER BulkFeed(Lds &l, const MatVec<T> &m, const Jobs &jobs)
        : lds(l), x(m.w), y(m.y), y_stride(m.y_stride), nrows((u32)m.nrows),
          row_bytes((u32)m.nblocks * F::bytes),
          nblocks((u32)m.nblocks * (F::elems / 32)),
          passes((nblocks + blocks * splits - 1) / (blocks * splits)),
          row_step(jobs.step),
          /* The last slices of the last pass may be empty. Workgroups rotate
           * slices, because equal warps of them share a scheduler. */
          slice((threadIdx.y + 2 / teams * jobs.group) % splits),
          team(teams > 1 ? threadIdx.y / splits : 0), row(jobs.row0)
    {
        const u32 at = team * own * pass_bytes + slice * slice_bytes +
                       (lane_of() / Columns::lanes * F::bytes & Columns::mask);

        chunk = (int)(lane_of() % Columns::lanes);
        in_row = Columns::span > 1 ? kept(at) : at;
        if (lane_of() == 0 && threadIdx.y == 0)
            lds.barriers.init(1, warps);
        in = out = lds.barriers.first();
        __syncthreads();
        UNROLL
        for (u32 i = 0; i < stages; i++)
            ask();
        wait_for_launch_before();
        ask_columns(0);
        if (passes == 1)
            read_columns(0);
    }

    /* read again at each use, to save registers */
    static DEV_MEMBER u32 lane_of()
    {
        return threadIdx.x % 32;
    }

    DEV_MEMBER u32 split() const
    {
        return slice;
    }
    DEV_MEMBER u32 row_of(u32 index) const
    {
        return index + index / own * (each - own) + team * own;
    }
    static DEV_MEMBER int first()
    {
        return 0;
    }
    DEV_MEMBER int steps() const
    {
        return (int)passes;
    }

    /* Starts the copy of the next stage, if there is one. Warps take turns. */
    DEV_MEMBER void ask()
    {
        if (row >= nrows)
            return;
        if (threadIdx.y == turn % warps) {
            in.fill();
            if (elect_lane()) {
                const u32 at = pass * pass_bytes;
                const u32 size = min_of(pass_bytes, row_bytes - at);
                u64 *full = &lds.barriers.full[in.slot];

                barrier_expect(full, each * size);
                UNROLL
                for (u32 r = 0; r < each; r++)
                    bulk_copy(
                        full, lds.x[in.slot] + r * pass_bytes,
                        x +
                            (size_t)min_of(row + part * each + r, nrows - 1) *
                                row_bytes +
                            at,
                        size);
            }
        }
        turn++;
        in.next();
        if (++part < (u32)parts)
            return;
        part = 0;
        if (++pass < passes)
            return;
        pass = 0;
        row += row_step;
    }

    /* Q8_1 blocks from the warp's slice of a pass to the row's end; not
     * positive if the slice is empty */
    DEV_MEMBER int blocks_of(u32 a_pass) const
    {
        return (int)(nblocks - (a_pass * splits + slice) * blocks);
    }

    DEV_MEMBER void ask_columns(u32 a_pass) const
    {
        const int size =
            min_of(blocks_of(a_pass), (int)blocks) * (int)Q8_1::bytes;
        const u8 *from =
            y + (size_t)(a_pass * splits + slice) * y_bytes + 16 * lane_of();
        const u32 at = lds_copy_address(lds.y[threadIdx.y] + 16 * lane_of());

        UNROLL
        for (u32 c = 0; c < N; c++, from += y_stride) {
            UNROLL
            for (u32 i = 0; i < y_bytes; i += 16 * 32)
                if ((int)(i + 16 * lane_of()) < size)
                    async_copy_16<Through::l1>(at + c * y_bytes + i, from + i);
        }
        async_copies_end();
    }

    template <typename T> DEV_MEMBER void begin(const MatVec<T> &, u32) const
    {
    }
    DEV_MEMBER void begin_step(int step)
    {

        if (passes > 1)
            read_columns(step);
    }
    DEV_MEMBER void read_columns(int step)
    {
        async_copies_wait<0>();
        __syncwarp();
        columns.read(reinterpret_cast<const u32 *>(lds.y[threadIdx.y]) +
                         (lane_of() - (u32)chunk) *
                             (Columns::span * Q8_1::words),
                     y_bytes / 4, chunk);
        __syncwarp();
        if (passes > 1)
            ask_columns((u32)step + 1 < passes ? (u32)step + 1 : 0);
    }
    DEV_MEMBER void wait() const
    {
        out.wait();
    }
    DEV_MEMBER void multiply(float (&sums)[nsums], int step) const
    {
        const u8 *first_row = lds.x[out.slot] + in_row;

        if ((int)(lane_of() * Columns::span) >= blocks_of((u32)step))
            return;
        UNROLL
        for (u32 r = 0; r < own; r++)
            columns.add(sums + r * N, first_row + r * pass_bytes, chunk);
    }
    DEV_MEMBER void release(int)
    {
        __syncwarp();
        if (lane_of() == 0)
            out.release();
        out.next();
        ask();
    }
};
#endif
