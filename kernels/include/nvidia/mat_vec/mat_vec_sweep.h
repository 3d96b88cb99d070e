/* mat_vec_sweep.h - products with few columns on sm_90 by few workgroups */
#pragma once

#include "early.h"
#include "nvidia/copy/async_copy.h"
#include "nvidia/copy/bulk_copy.h"
#include "nvidia/mat_vec/chunk64.h"
#include "quantized/mat_vec_rows.h"

/*
 * The first workgroups of a grid make all rows; meanwhile the other workgroups
 * are started and leave. A compact grid has no others.
 *
 * Rows go by in groups, and a group's columns in passes: a lane has one chunk
 * of each row in a pass, a warp 32 neighbouring ones. Where chunks are wide,
 * two warps make a pass, and the other two the same of other rows. The
 * lane's chunks of the N columns of y stay in registers for the group and,
 * where a row is one pass, for all groups. The copy engine brings a stage,
 * `each` rows of a pass, to LDS while the stages before it are multiplied: so
 * few registers and little LDS that workgroups which leave find room beside
 * those that work.
 *
 * Rows are aligned to 16, and so are the columns of y. Their padding is read,
 * up to a whole granule.
 */
template <class F, int N> struct SweepShape {
    /* how many workgroups a multiprocessor must have room for; 0: other ways
     * are faster, or the short rows of other ways need more room */
    static constexpr int resident = 0;
};
template <class F> struct SweepShape<F, 1> {
    static constexpr int resident = has_column_chunk<F> ? 8 : 0;
};
#define SWEEP_TABLE(X) /* format, columns, resident */                         \
    X(Q4_0, 2, 4)                                                              \
    X(Q4_0, 3, 4)                                                              \
    X(Q4_0, 4, 4)                                                              \
    X(Q4_1, 4, 4)                                                              \
    X(Q5_0, 4, 4)                                                              \
    X(Q5_1, 4, 4)                                                              \
    X(Q8_0, 2, 6)                                                              \
    X(Q8_0, 3, 5)                                                              \
    X(Q8_0, 4, 4)                                                              \
    X(Q2_K, 2, 4)                                                              \
    X(Q3_K, 2, 4)                                                              \
    X(Q4_K, 2, 4)                                                              \
    X(Q5_K, 2, 4)                                                              \
    X(Q5_K, 4, 4)                                                              \
    X(Q6_K, 2, 5)                                                              \
    X(Q6_K, 4, 4)
#define SWEEP_SHAPE(F, N, Resident)                                            \
    template <> struct SweepShape<F, N> {                                      \
        static constexpr int resident = Resident;                              \
    };
SWEEP_TABLE(SWEEP_SHAPE)

template <class F, int N> struct SweepLds {
    typedef SweepColumns<F, N> Columns;

    static constexpr int warps = 4, rows = 8;
    /* `slices` warps, a team, share a pass; teams share the rows of a stage */
    static constexpr int teams = Columns::span, slices = warps / teams;
    static constexpr int blocks = 32 * Columns::span; /* Q8_1 to a slice */
    static constexpr int slice_bytes = blocks * 32 / F::elems * F::bytes;
    static constexpr int pass_bytes = slices * slice_bytes;
    static constexpr int y_bytes = blocks * Q8_1::bytes;
    /* LDS has no room for four rows of Q8_0 */
    static constexpr int each = N > 1 && pass_bytes > 4096 ? 2 : 4;
    static constexpr int stages = N > 2 && pass_bytes > 4096 ? 3 : 2;

    __attribute__((aligned(16))) u8 x[stages][each * pass_bytes];
    __attribute__((aligned(16))) u8 y[warps][N * y_bytes];
    float part[2][slices][rows * N]; /* this group's sums and the last */
    /* arrived: a stage's bytes are in LDS; freed: all warps have read them */
    __attribute__((aligned(8))) u64 arrived[stages];
    u64 freed[stages];
};

template <class F, int N> struct MatVecSweep {
    typedef SweepLds<F, N> Lds;

    static constexpr u32 warps = Lds::warps, rows = Lds::rows, each = Lds::each;
    static constexpr u32 stages = Lds::stages, parts = rows / each;
    static constexpr u32 slices = Lds::slices, own = each / Lds::teams;

    /* where a stage is in LDS, and how often that was used, modulo 2 */
    struct Place {
        u32 slot = 0, phase = 0;

        DEV_MEMBER void advance()
        {
            slot = slot + 1 < stages ? slot + 1 : 0;
            phase ^= slot == 0;
        }
    };

    const u8 *x, *y;
    size_t y_stride;
    u32 nrows, row_bytes;
    u32 nblocks, passes; /* Q8_1 blocks and passes of a row */
    u32 step;            /* rows from a workgroup's group to its next */
    u32 slice, team;     /* the warp's part of a pass, and of its rows */
    /* the next stage to ask for */
    u32 row, pass = 0, part = 0, turn = 0;
    Place to;

    template <typename T>
    DEV_MEMBER MatVecSweep(const MatVec<T> &m, u32 workers)
        : x(m.w), y(m.y), y_stride(m.y_stride), nrows((u32)m.nrows),
          row_bytes((u32)m.nblocks * F::bytes),
          nblocks((u32)m.nblocks * (F::elems / 32)),
          passes((nblocks + Lds::blocks * slices - 1) / (Lds::blocks * slices)),
          step(workers * rows),
          /* the last pass may have less for the last warps: not for the same
           * ones of all workgroups, which share a scheduler */
          slice((threadIdx.y + 2 / Lds::teams * blockIdx.x) % slices),
          team(Lds::teams > 1 ? threadIdx.y / slices : 0),
          row(blockIdx.x * rows)
    {
    }

    /* Asks for the next stage, if there is one. Warps take turns. */
    DEV_MEMBER void ask(Lds &lds)
    {
        if (row >= nrows)
            return;
        if (threadIdx.y == turn % warps) {
            barrier_wait(&lds.freed[to.slot], to.phase ^ 1);
            if (elect_lane()) {
                const u32 at = pass * (u32)Lds::pass_bytes;
                const u32 size = min_of((u32)Lds::pass_bytes, row_bytes - at);
                u64 *barrier = &lds.arrived[to.slot];

                barrier_expect(barrier, each * size);
                UNROLL
                for (u32 r = 0; r < each; r++)
                    bulk_copy(
                        barrier, lds.x[to.slot] + r * (u32)Lds::pass_bytes,
                        x +
                            (size_t)min_of(row + part * each + r, nrows - 1) *
                                row_bytes +
                            at,
                        size);
            }
        }
        turn++;
        to.advance();
        if (++part < parts)
            return;
        part = 0;
        if (++pass < passes)
            return;
        pass = 0;
        row += step;
    }

    /* Q8_1 blocks from the warp's slice of a pass to the row's end; not
     * positive if the slice is empty */
    DEV_MEMBER int blocks_of(u32 a_pass) const
    {
        return (int)(nblocks - (a_pass * slices + slice) * Lds::blocks);
    }

    /* the place of the warp's sum `index` among the group's sums */
    DEV_MEMBER u32 place_of(u32 index) const
    {
        return index + (index / (own * N) * (each - own) + team * own) * N;
    }

    DEV_MEMBER void ask_columns(Lds &lds, u32 a_pass) const
    {
        const u32 lane = threadIdx.x % 32;
        const int size = min_of(blocks_of(a_pass), Lds::blocks) * Q8_1::bytes;
        const u8 *from =
            y + (size_t)(a_pass * slices + slice) * Lds::y_bytes + 16 * lane;
        const u32 at = lds_copy_address(lds.y[threadIdx.y] + 16 * lane);

        UNROLL
        for (int c = 0; c < N; c++, from += y_stride) {
            UNROLL
            for (int i = 0; i < Lds::y_bytes; i += 16 * 32)
                if (i + 16 * (int)lane < size)
                    async_copy_16<Through::l1>(at + (u32)(c * Lds::y_bytes + i),
                                               from + i);
        }
        async_copies_end();
    }

    template <typename T> DEV_MEMBER void run(Lds &lds, const MatVec<T> &m)
    {
        typedef typename Lds::Columns Columns;

        const u32 lane = threadIdx.x % 32, warp = threadIdx.y;
        const int chunk = (int)(lane % Columns::chunks);
        const u32 begin = team * own * (u32)Lds::pass_bytes +
                          slice * Lds::slice_bytes +
                          (lane / Columns::chunks * F::bytes & Columns::mask);
        const u32 place = Columns::span > 1 ? kept(begin) : begin;
        Columns columns;
        Place from;
        u32 current = 0;

        if (lane == 0 && warp == 0) {
            UNROLL
            for (u32 i = 0; i < stages; i++) {
                barrier_init(&lds.arrived[i], 1);
                barrier_init(&lds.freed[i], warps);
            }
        }
        __syncthreads();
        UNROLL
        for (u32 i = 0; i < stages; i++)
            ask(lds);
        wait_for_launch_before();
        ask_columns(lds, 0);

        NO_UNROLL
        for (u32 row0 = blockIdx.x * rows; row0 < nrows; row0 += step) {
            float acc[parts * own * N] = {};

            NO_UNROLL
            for (u32 p = 0; p < passes; p++) {
                if (passes > 1 || row0 == blockIdx.x * rows) {
                    async_copies_wait<0>();
                    __syncwarp();
                    columns.read(reinterpret_cast<const u32 *>(lds.y[warp]) +
                                     (lane - (u32)chunk) *
                                         (Columns::span * Q8_1::words),
                                 Lds::y_bytes / 4, chunk);
                    __syncwarp();
                    if (passes > 1)
                        ask_columns(lds, p + 1 < passes ? p + 1 : 0);
                }
                UNROLL
                for (u32 i = 0; i < parts; i++) {
                    const u8 *blocks = lds.x[from.slot] + place;

                    barrier_wait(&lds.arrived[from.slot], from.phase);
                    if ((int)lane * Columns::span < blocks_of(p)) {
                        UNROLL
                        for (u32 r = 0; r < own; r++)
                            columns.add(acc + (i * own + r) * N,
                                        blocks + r * (u32)Lds::pass_bytes,
                                        chunk);
                    }
                    __syncwarp();
                    if (lane == 0)
                        barrier_arrive(&lds.freed[from.slot]);
                    from.advance();
                    ask(lds);
                }
            }

            /* no more loads follow: the next launch may begin with its own */
            if (row0 + step >= nrows)
                let_next_launch_begin();

            int index;
            const float sum = sum_lanes<16>(acc, (int)lane, index);
            const u32 tid = warp * 32 + lane, row = row0 + tid / N;

            if (index < (int)(parts * own) * N)
                lds.part[current][Lds::teams > 1 ? slice : warp]
                        [place_of((u32)index)] = sum;
            __syncthreads();
            if (tid < rows * N && row < nrows) {
                float total = 0;

                UNROLL
                for (u32 i = 0; i < slices; i++)
                    total += lds.part[current][i][tid];
                m.dst[tid % N * m.dst_stride + row] = convert<T>(total);
            }
            current ^= 1;
        }
    }
};
