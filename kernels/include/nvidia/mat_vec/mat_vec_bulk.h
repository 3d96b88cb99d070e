/* mat_vec_bulk.h - the products of mat_vec.h on sm_90: bulk copies, mma */
#pragma once

#include "early.h"
#include "nvidia/copy/bulk_rows.h"
#include "nvidia/unit/q8_1_mma.h"
#include "quantized/mat_vec_rows.h"

/*
 * K goes by in stages of Steps * 256 weights. The copy engine brings a stage's
 * bytes of all rows and columns to LDS as they are, while the stage before is
 * multiplied: bytes in flight need no registers, and few registers and little
 * LDS let many workgroups share a multiprocessor. Workgroups that are about to
 * leave without work always take three of its places.
 *
 *   one column     a warp takes 3 or 4 rows, a lane a chunk of each, by dot4()
 *   more columns   a warp takes 16 rows times up to 8 columns, a Q8_1 block at
 *                  a time, by mma. If warps are more than groups of 16 rows,
 *                  `splits` warps share a group: each warp takes its steps of
 *                  every stage, and in the end the sums are added up.
 *
 * The columns' padding is read, up to a whole granule.
 */
template <class F, int N> struct BulkShape {
    static constexpr int warps = N <= 4 ? 4 : 2; /* as launched */
    static constexpr int groups = N == 1 ? 1 : 2;
    /* fewer rows of a wide format, so that LDS holds one more workgroup */
    static constexpr int rows =
        N == 1 && F::bytes >= F::elems ? 12 : 16 * groups;
    static constexpr int splits = warps / groups;
    static constexpr int steps = N == 1 ? 4 : 2;
};

template <class F, int N> struct BulkLds {
    typedef BulkShape<F, N> Shape;

    typedef BulkRows<F, 8 * Shape::steps> Rows;

    static constexpr int step_bytes = 256 / F::elems * F::bytes;
    static constexpr int y_step_bytes = 8 * Q8_1::bytes;
    static constexpr int y_stride = lds_stride(Shape::steps * y_step_bytes);

    struct Stage {
        u8 x[Shape::rows * Rows::stride];
        u8 y[N * y_stride];
    };

    static constexpr int stages = 2; /* in LDS */

    union {
        __attribute__((aligned(16))) Stage stage[stages];
        float part[Shape::splits][Shape::rows][8];
    };
    /* arrived: a stage's bytes are in LDS. freed: its place may be copied to
     * again. Each lane arrives for the bytes that it copied or read. */
    __attribute__((aligned(8))) u64 arrived[stages];
    u64 freed[stages];
};

template <class F, int N> struct MatVecBulk {
    typedef BulkShape<F, N> Shape;
    typedef BulkLds<F, N> Lds;

    static constexpr int each = Shape::rows / Shape::warps;

    typename Lds::Rows rows;
    const u8 *y; /* aligned to 16, and y_stride too */
    size_t y_stride;
    int nblocks; /* Q8_1 blocks of a row */

    template <typename T>
    DEV_MEMBER MatVecBulk(const MatVec<T> &m, int first_row)
        : rows{m.w, (size_t)m.nblocks * F::bytes,
               (size_t)m.nblocks * F::bytes * (size_t)m.matrix_rows, first_row,
               m.nrows},
          y(m.y), y_stride(m.y_stride), nblocks(m.nblocks * (F::elems / 32))
    {
    }

    /* brings a stage to LDS, if there is one; for the warp whose turn it is */
    DEV_MEMBER void copy_stage(Lds &lds, int stage) const
    {
        const int blocks =
            min_of(nblocks - stage * Shape::steps * 8, Shape::steps * 8);

        if (blocks <= 0 || threadIdx.y != (u32)stage % Shape::warps)
            return;

        typename Lds::Stage &to = lds.stage[stage % Lds::stages];
        u64 *barrier = &lds.arrived[stage % Lds::stages];
        const int size = blocks * 32 / F::elems * F::bytes;
        const u32 y_size = (u32)(blocks * Q8_1::bytes + 15) & ~15u;
        const u8 *column =
            y + (size_t)(stage * Shape::steps) * Lds::y_step_bytes;

        if (stage >= Lds::stages)
            barrier_wait(&lds.freed[stage % Lds::stages],
                         (u32)(stage / Lds::stages - 1));
        rows.copy_end(to.x, 0, Shape::rows, stage, size);
        if (!elect_lane()) {
            barrier_arrive(barrier);
            return;
        }

        const u32 x_size =
            rows.template copy<Shape::rows>(barrier, to.x, 0, stage, size);

        if (stage < Lds::stages) /* columns may be of the launch in front */
            wait_for_launch_before();
        UNROLL
        for (int col = 0; col < N; col++, column += y_stride)
            bulk_copy(barrier, to.y + col * Lds::y_stride, column, y_size);
        barrier_expect(barrier, N * y_size + x_size);
    }

    /* ---- one column ---- */

    DEV_MEMBER void multiply_chunks(float (&acc)[each], const Lds &lds,
                                    int stage) const
    {
        const typename Lds::Stage &in = lds.stage[stage % Lds::stages];
        const int left = nblocks - stage * Shape::steps * 8;
        const int at = (int)threadIdx.x, chunk = at & (F::chunks - 1);

        static_assert(Shape::splits != 4 || Shape::steps * 8 == 32,
                      "a chunk for each lane");
        if (at >= left)
            return;

        const Activations a = read_activations<F>(
            reinterpret_cast<const u32 *>(in.y) + (at - chunk) * Q8_1::words,
            chunk);

        UNROLL
        for (int r = 0; r < each; r++) {
            const u8 *block =
                rows.row_in(in.x, (int)threadIdx.y * each + r, stage) +
                at / F::chunks * F::bytes;

            acc[r] = add_product<F>(
                acc[r],
                F::unpack(F::template load<BlockPlace::lds>(block, chunk),
                          chunk),
                a);
        }
    }

    /* ---- more columns ---- */

    DEV_MEMBER void multiply_steps(float (&acc)[1][1][4], const Lds &lds,
                                   int stage) const
    {
        const typename Lds::Stage &in = lds.stage[stage % Lds::stages];
        const int g = (int)(threadIdx.x / 4), t = (int)(threadIdx.x & 3);
        const int row = (int)threadIdx.y % Shape::groups * 16 + g;

        NO_UNROLL
        for (int s = (int)threadIdx.y / Shape::groups; s < Shape::steps;
             s += Shape::splits) {
            const int left = nblocks - (stage * Shape::steps + s) * 8;
            const u8 *columns = in.y + s * Lds::y_step_bytes;
            BulkView<1> v;

            UNROLL
            for (int i = 0; i < 2; i++) {
                v.row[i] =
                    rows.row_in(in.x, row + 8 * i, stage) + s * Lds::step_bytes;
                v.scale[i] = reinterpret_cast<const u32 *>(
                    columns + min_of(2 * t + i, N - 1) * Lds::y_stride);
            }
            v.quants = reinterpret_cast<const u32 *>(
                columns + min_of(g, N - 1) * Lds::y_stride);
            if constexpr (F::elems == 32) {
                _Pragma("unroll 4") for (int b = 0; b < min_of(left, 8); b++)
                    add_block<F, F::vec_bias, 0>(acc, v, b, 0, t);
            } else if (left > 0) {
                UNROLL
                for (int b = 0; b < 8; b++) {
                    constexpr int step = F::group_step;

                    add_block<F, F::vec_bias, 0>(acc, v,
                                                 b / step * step + 2 * b % step,
                                                 2 * b / step % 2, t);
                }
            }
        }
    }

    /* the sums of all splits, to dst */
    template <typename T>
    DEV_MEMBER void store(const float (&acc)[4], Lds &lds,
                          const MatVec<T> &m) const
    {
        const int tid = (int)(threadIdx.y * 32 + threadIdx.x);
        const int lane = tid % 32, g = lane / 4, t = tid & 3;
        const int group = (int)threadIdx.y % Shape::groups;
        const int split = (int)threadIdx.y / Shape::groups;

        __syncthreads(); /* the stages are done with */
        UNROLL
        for (int i = 0; i < 4; i++)
            lds.part[split][group * 16 + i / 2 * 8 + g][2 * t + i % 2] = acc[i];
        __syncthreads();
        for (int first = tid - lane; first < N * Shape::rows;
             first += 32 * Shape::warps) {
            const int at = first + lane;
            const int row = rows.row0 + at % Shape::rows;
            const int col = at / Shape::rows;
            const bool has_one = at < N * Shape::rows && row < rows.nrows;
            float sum = 0;

            UNROLL
            for (int s = 0; has_one && s < Shape::splits; s++)
                sum += lds.part[s][at % Shape::rows][col];
            redo_sums<F>(sum, m, row, col);
            if (has_one)
                m.dst[(size_t)col * m.dst_stride + (size_t)row] =
                    convert<T>(sum);
        }
    }

    /* dst[col * dst_stride + row] for the workgroup's rows */
    template <typename T>
    DEV_MEMBER void run(Lds &lds, const MatVec<T> &m) const
    {
        constexpr int nacc = N == 1 ? each : 4;
        const int tid = (int)(threadIdx.y * 32 + threadIdx.x);
        const int stages =
            (nblocks + 8 * Shape::steps - 1) / (8 * Shape::steps);
        float acc[1][1][nacc];

        UNROLL
        for (int i = 0; i < nacc; i++)
            acc[0][0][i] = 0.0f;
        if (tid == 0) {
            UNROLL
            for (int i = 0; i < Lds::stages; i++) {
                barrier_init(&lds.arrived[i], 32);
                barrier_init(&lds.freed[i], 32 * Shape::warps);
            }
        }
        __syncthreads();
        /* the copies run ahead of the products by the stages that fit */
        NO_UNROLL
        for (int stage = -Lds::stages; stage < stages; stage++) {
            if (stage >= 0) {
                const int place = stage % Lds::stages;

                barrier_wait(&lds.arrived[place], (u32)(stage / Lds::stages));
                if constexpr (N == 1)
                    multiply_chunks(acc[0][0], lds, stage);
                else
                    multiply_steps(acc, lds, stage);
                barrier_arrive(&lds.freed[place]);
            }
            copy_stage(lds, stage + Lds::stages);
        }
        if constexpr (N == 1) {
            int index;
            const float sum = sum_lanes<16>(acc[0][0], (int)threadIdx.x, index);
            const int row = rows.row0 + (int)threadIdx.y * each + index;

            if (index < each && row < rows.nrows)
                m.dst[row] = convert<T>(sum);
        } else {
            store(acc[0][0], lds, m);
        }
    }
};
