/* mat_vec_pipe.h - the products of mat_vec.h on sm_80: asynchronous copies */
#pragma once

#include "early.h"
#include "nvidia/copy/async_copy.h"
#include "nvidia/mat_vec/column_chunk.h"
#include "quantized/mat_vec_rows.h"

/*
 * A workgroup takes Rows rows, and its warps take the row's steps of 32 blocks
 * of Q8_1 in turn: a lane one chunk of each row, by dot4(). A warp copies a
 * step's bytes of all rows and columns to LDS as they are, for itself alone, up
 * to Stages steps ahead; no warp waits for another before the sums are added up
 * in the end. Bytes in flight need no registers, and a few instructions ask for
 * the whole step: 32 / Rows lanes share a row, and a lane keeps one address.
 *
 * A row's step begins anywhere in a matrix that is aligned to 16: the granules
 * of 16 bytes around it are copied, and it keeps its place in its granule.
 * Where all rows have the same place (SamePlace) it costs nothing to find.
 *
 * The rows of a first step are asked for before the previous launch is over.
 * The columns are not, because the previous launch may write them.
 *
 * Nothing behind the matrix is read. The columns' padding is, up to a whole
 * granule.
 */
template <class F, int N, int Rows, int Stages> struct PipeLds {
    static constexpr int warps = vec_warps<N>;
    static constexpr int blocks = 32; /* Q8_1 blocks in a step */
    static constexpr int x_bytes = blocks * 32 / F::elems * F::bytes;
    static constexpr int y_bytes = blocks * Q8_1::bytes;
    static constexpr int x_stride =
        (x_bytes + (F::bytes % 16 == 0 ? 0 : 14) + 15) & ~15;

    __attribute__((aligned(16))) u8 x[warps][Stages][Rows * x_stride];
    __attribute__((aligned(16))) u8 y[warps][Stages][N * y_bytes];
    float part[warps][Rows * N];
};

template <class F, int N, int Rows, int Stages, bool SamePlace>
struct MatVecPipe {
    typedef PipeLds<F, N, Rows, Stages> Lds;

    static constexpr int blocks = Lds::blocks, warps = vec_warps<N>;
    static constexpr int lanes = 32 / Rows; /* to a row */

    const u8 *x;     /* the lane's first granule of its row */
    const u8 *x_end; /* the matrix's end */
    const u8 *y;     /* the lane's first granule of a column */
    size_t y_stride;
    u32 row_place;          /* offset of the lane's row in its granule */
    u32 place0, place_step; /* the first row's offset; from row to row */
    int nblocks;            /* Q8_1 blocks of a row */

    template <typename T> DEV_MEMBER MatVecPipe(const MatVec<T> &m, int row0)
    {
        const u32 lane = lane_of();
        const u32 row_bytes = (u32)m.nblocks * F::bytes;
        const u32 row = min_of((u32)row0 + lane / lanes, (u32)m.nrows - 1);
        const size_t at = (size_t)row * row_bytes;

        row_place = SamePlace ? 0 : (u32)at & 15;
        x = m.w + at - row_place + 16 * (lane % lanes);
        x_end = m.w + (size_t)m.matrix_rows * row_bytes;
        y = m.y + 16 * lane;
        asm("" : "+l"(x), "+l"(y)); /* not worked out anew for each copy */
        y_stride = m.y_stride;
        place0 = SamePlace ? 0 : ((u32)row0 * row_bytes) & 15;
        place_step = SamePlace ? 0 : row_bytes & 15;
        nblocks = m.nblocks * (F::elems / 32);
    }

    static DEV_MEMBER u32 lane_of()
    {
        return threadIdx.x % 32; /* tells the compiler the range */
    }

    /* where a step begins in the granules that its row's beginning is in */
    DEV_MEMBER u32 step_place(int step) const
    {
        return Lds::x_bytes % 16 == 0 ? 0 : (u32)(step * Lds::x_bytes) & 15;
    }

    DEV_MEMBER u32 bytes_left(const u8 *from) const
    {
        return (u32)min_of((u64)(x_end - from), (u64)Lds::x_stride + 16);
    }

    /* copies a step to LDS, if it is within K: its rows, its columns, or both
     */
    template <StepPart Part = StepPart::all>
    DEV_MEMBER void copy(u32 x_lds, u32 y_lds, int step) const
    {
        const int lane = (int)lane_of();
        const int left = min_of(nblocks - step * blocks, blocks);

        if (left > 0) {
            const u32 offset = (u32)(step * Lds::x_bytes) + row_place;
            const u8 *from = x + (offset & ~15u);
            /* bytes from the lane's granule on */
            const int room = left * 32 / F::elems * F::bytes +
                             (int)(offset & 15) - 16 * (lane % lanes);
            /* bytes of the matrix from `from` on, if fewer than a step has */
            const u32 x_left = SamePlace ? 0 : bytes_left(from);
            const int y_room = left * Q8_1::bytes - 16 * lane;
            const u8 *column = y + (u32)(step * Lds::y_bytes);

            UNROLL
            for (int j = 0; j < Lds::x_stride; j += 16 * lanes)
                if (Part != StepPart::columns && room > j) {
                    if constexpr (SamePlace)
                        async_copy_16<Through::l2>(x_lds + j, from + j);
                    else
                        async_copy_part(x_lds + j, from + j,
                                        min_of(x_left - (u32)j, 16u));
                }
            UNROLL
            for (int c = 0; c < N; c++) {
                UNROLL
                for (int j = 0; j < Lds::y_bytes; j += 16 * 32)
                    if (Part != StepPart::rows && y_room > j)
                        async_copy_16<Through::l1>(y_lds + c * Lds::y_bytes + j,
                                                   column + j);
                column += y_stride;
            }
        }
        if (Part != StepPart::rows)
            async_copies_end();
    }

    DEV_MEMBER void multiply(float (&acc)[Rows * N], const u8 *x_lds,
                             const u8 *y_lds, int step) const
    {
        const int lane = (int)lane_of(), chunk = (int)(lane_of() % F::chunks);
        const u32 *columns =
            reinterpret_cast<const u32 *>(y_lds) + (lane - chunk) * Q8_1::words;

        if (lane >= nblocks - step * blocks)
            return;

        const auto column = [&](int col) {
            return read_activations<F>(columns + col * (Lds::y_bytes / 4),
                                       chunk);
        };
        const auto row = [&](int r) {
            const u32 place = SamePlace ? step_place(step)
                                        : (place0 + (u32)r * place_step +
                                           (u32)(step * Lds::x_bytes)) &
                                              15;

            return F::unpack(F::template load<BlockPlace::lds>(
                                 x_lds + lane_of() / F::chunks * F::bytes +
                                     r * Lds::x_stride + place,
                                 chunk),
                             chunk);
        };

        /* rows or columns stay in registers, whichever take fewer */
        if constexpr (SamePlace && N == 1 && has_column_chunk<F>) {
            const u8 *blocks =
                x_lds +
                (lane_of() / F::chunks * F::bytes & ColumnChunk<F>::mask) +
                step_place(step);
            ColumnChunk<F> only;

            only.read(columns, chunk);
            UNROLL
            for (int r = 0; r < Rows; r++)
                acc[r] = only.add(acc[r], blocks + r * Lds::x_stride, chunk);
        } else if constexpr (N <= 4) {
            Activations a[N];

            UNROLL
            for (int col = 0; col < N; col++)
                a[col] = column(col);
            UNROLL
            for (int r = 0; r < Rows; r++) {
                const Chunk c = row(r);

                UNROLL
                for (int col = 0; col < N; col++)
                    acc[r * N + col] =
                        add_product<F>(acc[r * N + col], c, a[col]);
            }
        } else {
            Chunk c[Rows];

            UNROLL
            for (int r = 0; r < Rows; r++)
                c[r] = row(r);
            UNROLL
            for (int col = 0; col < N; col++) {
                const Activations a = column(col);

                UNROLL
                for (int r = 0; r < Rows; r++)
                    acc[r * N + col] =
                        add_product<F>(acc[r * N + col], c[r], a);
            }
        }
    }

    template <typename T>
    DEV_MEMBER void run(Lds &lds, const MatVec<T> &m, int row0) const
    {
        const int warp = (int)threadIdx.y;
        const u32 lane = lane_of();
        const u32 x_lds =
            lds_copy_address(lds.x[warp][0] + lane / lanes * Lds::x_stride +
                             16 * (lane % lanes));
        const u32 y_lds = lds_copy_address(lds.y[warp][0] + 16 * lane);
        int place = 0;
        float acc[Rows * N];

        copy<StepPart::rows>(x_lds, 0, warp);
        wait_for_launch_before();
        copy<StepPart::columns>(0, y_lds, warp);
        UNROLL
        for (int i = 1; i < Stages; i++)
            copy(x_lds + i * (int)sizeof(lds.x[0][0]),
                 y_lds + i * (int)sizeof(lds.y[0][0]), warp + i * warps);
        UNROLL
        for (int i = 0; i < Rows * N; i++)
            acc[i] = 0.0f;
        NO_UNROLL
        for (int step = warp; step * blocks < nblocks; step += warps) {
            const int x_at = place * (int)sizeof(lds.x[0][0]);
            const int y_at = place * (int)sizeof(lds.y[0][0]);

            async_copies_wait<Stages - 1>();
            __syncwarp();
            multiply(acc, lds.x[warp][0] + x_at, lds.y[warp][0] + y_at, step);
            __syncwarp();
            copy(x_lds + x_at, y_lds + y_at, step + Stages * warps);
            place = place + 1 < Stages ? place + 1 : 0;
        }

        store_sums<N, Rows>(lds.part, acc, m, row0);
    }
};
