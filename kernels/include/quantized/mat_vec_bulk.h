/* mat_vec_bulk.h - the products of mat_vec.h on sm_90: bulk copies, mma */
#pragma once

#include "quantized/bulk_copy.h"
#include "quantized/mma.h"

/*
 * K goes by in stages of Steps * 256 weights. The copy engine brings a stage's
 * bytes of all rows and columns to LDS as they are, while the stage before is
 * multiplied: what is on its way needs no registers, and few registers and
 * little LDS let many workgroups share a multiprocessor. Three places of them
 * are always taken by workgroups that are about to leave without work.
 *
 *   one column     a warp takes 4 rows, a lane one chunk of each, by dot4()
 *   more columns   a warp takes 16 rows times up to 8 columns, a Q8_1 block at
 *                  a time, by mma. Where there are more warps than groups of 16
 *                  rows, Splits of them share a group: each takes its steps of
 *                  every stage, and in the end their sums are added up.
 *
 * Rows begin and end anywhere: the granules of 16 bytes around them are copied,
 * and each row keeps its place in its granule. Granules begin where the matrix
 * does; one that the matrix ends within is copied by hand, so nothing behind it
 * is read. The columns' padding, up to a whole granule, is.
 */
template <int N> struct BulkShape {
    static constexpr int warps = N <= 4 ? 4 : 2; /* as launched */
    static constexpr int groups = N == 1 ? 1 : 2;
    static constexpr int rows = 16 * groups;
    static constexpr int splits = warps / groups;
    static constexpr int steps = N == 1 ? 4 : 2;
};

/* bytes of LDS from row to row: a granule more than nbytes take, and an odd
 * number of granules, so that eight rows lie in different banks */
constexpr int lds_stride(int nbytes)
{
    return 16 * (((nbytes + 15) / 16 + 1) | 1);
}

template <class F, int N> struct BulkLds {
    typedef BulkShape<N> Shape;

    static constexpr int step_bytes = 256 / F::elems * F::bytes;
    static constexpr int x_stride = lds_stride(Shape::steps * step_bytes);
    static constexpr int y_step_bytes = 8 * Q8_1::bytes;
    static constexpr int y_stride = lds_stride(Shape::steps * y_step_bytes);

    struct Stage {
        u8 x[Shape::rows * x_stride];
        u8 y[N * y_stride];
    };

    /* in LDS; a third one where seven such workgroups still have room */
    static constexpr int stages =
        3 * sizeof(Stage) <= 32 * 1024 && N == 1 ? 3 : 2;

    union {
        __attribute__((aligned(16))) Stage stage[stages];
        float part[Shape::splits][Shape::rows][8];
    };
    /* a stage is there; all warps are done with what was there before */
    __attribute__((aligned(8))) u64 arrived[stages];
    u64 freed[stages];
};

template <class F, int N> struct MatVecBulk {
    typedef BulkShape<N> Shape;
    typedef BulkLds<F, N> Lds;

    static constexpr int start = 0x4b400000; /* see tile_mma.h */
    static constexpr float start_as_float = 0x1.8p23f;
    static constexpr int used = N == 1 ? 1 : 2; /* columns of a lane */
    static constexpr int each = Shape::rows / Shape::warps;

    const u8 *x, *y; /* multiples of 16, as y_stride is */
    size_t row_bytes, y_stride, x_bytes;
    int row0, nrows, nblocks; /* Q8_1 blocks of a row */

    DEV_MEMBER MatVecBulk(const MatVec &m, int first_row)
        : x(m.w), y(m.y), row_bytes((size_t)m.nblocks * F::bytes),
          y_stride(m.y_stride), x_bytes(row_bytes * (size_t)m.matrix_rows),
          row0(first_row), nrows(m.nrows), nblocks(m.nblocks * (F::elems / 32))
    {
    }

    /* where a stage of a row begins in x */
    DEV_MEMBER size_t begin_of(int row, int stage) const
    {
        return (size_t)row * row_bytes +
               (size_t)(stage * Shape::steps) * Lds::step_bytes;
    }

    /* starts a stage's copies, in one lane */
    DEV_MEMBER void copy_rows(Lds &lds, int stage, int rows, int blocks) const
    {
        typename Lds::Stage &to = lds.stage[stage % Lds::stages];
        u64 *barrier = &lds.arrived[stage % Lds::stages];
        const u32 nbytes = (u32)(blocks * 32 / F::elems * F::bytes);
        const u32 y_nbytes = (u32)(blocks * Q8_1::bytes + 15) & ~15u;
        const u8 *column =
            y + (size_t)(stage * Shape::steps) * Lds::y_step_bytes;
        size_t at = begin_of(row0, stage);
        u32 size = ((u32)(at & 15) + nbytes + 15) & ~15u;
        u32 total = N * y_nbytes;

        UNROLL
        for (int col = 0; col < N; col++, column += y_stride)
            bulk_copy(barrier, to.y + col * Lds::y_stride, column, y_nbytes);
        if (rows == Shape::rows && row_bytes % 16 == 0) {
            const u8 *row = x + (at & ~(size_t)15);

            UNROLL
            for (int r = 0; r < Shape::rows; r++, row += row_bytes)
                bulk_copy(barrier, to.x + r * Lds::x_stride, row, size);
            total += Shape::rows * size;
        } else {
            NO_UNROLL
            for (int r = 0; r < rows; r++, at += row_bytes) {
                const size_t from = at & ~(size_t)15;
                const size_t whole = (x_bytes & ~(size_t)15) - from;

                size = ((u32)(at & 15) + nbytes + 15) & ~15u;
                if (whole < size)
                    size = (u32)whole;
                bulk_copy(barrier, to.x + r * Lds::x_stride, x + from, size);
                total += size;
            }
        }
        barrier_expect(barrier, total);
    }

    /* brings a stage to LDS, if there is one; for the warp whose turn it is */
    DEV_MEMBER void copy_stage(Lds &lds, int stage) const
    {
        const int left = nblocks - stage * Shape::steps * 8;
        const int blocks = min_of(left, Shape::steps * 8);
        const int rows = min_of(nrows - row0, Shape::rows);

        if (blocks <= 0 || threadIdx.y != (u32)stage % Shape::warps)
            return;
        if (stage >= Lds::stages)
            barrier_wait(&lds.freed[stage % Lds::stages],
                         (u32)(stage / Lds::stages - 1));
        if (x_bytes % 16 != 0 && begin_of(row0 + rows, 0) == x_bytes &&
            blocks == left) {
            const size_t from = begin_of(nrows - 1, stage) & ~(size_t)15;
            const size_t at = (x_bytes & ~(size_t)15) + 2 * threadIdx.x;

            if (at < x_bytes)
                *reinterpret_cast<u16 *>(lds.stage[stage % Lds::stages].x +
                                         (rows - 1) * Lds::x_stride +
                                         (at - from)) = load_u16(x + at);
            __syncwarp();
        }
        if (elect_lane())
            copy_rows(lds, stage, rows, blocks);
    }

    /* a stage of row number r of the workgroup, in LDS */
    DEV_MEMBER const u8 *row_in(const typename Lds::Stage &in, int r,
                                int stage) const
    {
        constexpr int skew = Shape::steps * Lds::step_bytes % 16;

        return in.x + r * Lds::x_stride +
               (((u32)(row0 + r) * (u32)row_bytes + (u32)(stage * skew)) & 15);
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
            const u8 *block = row_in(in, (int)threadIdx.y * each + r, stage) +
                              at / F::chunks * F::bytes;

            acc[r] = add_product<F>(
                acc[r],
                F::unpack(F::template load<Place::lds>(block, chunk), chunk),
                a);
        }
    }

    /* ---- more columns ---- */

    /* what a lane sees of a step: two rows, the column of its quants, and the
     * columns of its results */
    struct View {
        const u8 *row[2];
        const u32 *quants, *scale[2];
    };

    /* adds the products of Q8_1 block b of a step */
    static DEV_MEMBER void multiply_block(float (&acc)[4], const View &v, int b,
                                          int t)
    {
        constexpr int widths = 32 / F::scale_width;
        constexpr u32 ones = 0x01010101u;
        const u32 y[2] = {v.quants[9 * b + 1 + t], v.quants[9 * b + 5 + t]};
        const int e4 = F::elems == 32 ? t : 8 * b | t;
        Quad q[2][2]; /* [row][half of the block] */
        float d[2], stored[2];

        UNROLL
        for (int r = 0; r < 2; r++) {
            const u8 *block = v.row[r] + (F::elems == 32 ? b * F::bytes : 0);

            q[r][0] = F::quad(block, e4);
            q[r][1] = F::quad(block, e4 + 4);
        }
        UNROLL
        for (int c = 0; c < used; c++) {
            d[c] = half_to_float(v.scale[c][9 * b]);
            stored[c] = half_to_float(v.scale[c][9 * b] >> 16);
        }
        UNROLL
        for (int w = 0; w < widths; w++) {
            int dot[4], quants[4];

            if constexpr (widths == 1) {
                const u32 a[4] = {q[0][0].q, q[1][0].q, q[0][1].q, q[1][1].q};
                const u32 all_ones[4] = {ones, ones, ones, ones};

                mma_32(dot, a, y[0], y[1], start);
                if constexpr (F::vec_bias == Bias::quant_sum)
                    mma_32(quants, all_ones, y[0], y[1], start);
            } else {
                mma_16(dot, q[0][w].q, q[1][w].q, y[w], start);
                if constexpr (F::vec_bias == Bias::quant_sum)
                    mma_16(quants, ones, ones, y[w], start);
            }
            UNROLL
            for (int c = 0; c < used; c++) {
                float sum = stored[c];

                if constexpr (F::vec_bias == Bias::quant_sum)
                    sum = d[c] * (bits_as<float>(quants[c]) - start_as_float);
                UNROLL
                for (int r = 0; r < 2; r++) {
                    float &a = acc[2 * r + c];

                    a = fmaf(q[r][w].scale * d[c],
                             bits_as<float>(dot[2 * r + c]) - start_as_float,
                             a);
                    if constexpr (F::vec_bias != Bias::none)
                        a = fmaf(q[r][w].bias, sum, a);
                }
            }
        }
    }

    DEV_MEMBER void multiply_steps(float (&acc)[4], const Lds &lds,
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
            View v;

            UNROLL
            for (int i = 0; i < 2; i++) {
                v.row[i] = row_in(in, row + 8 * i, stage) + s * Lds::step_bytes;
                v.scale[i] = reinterpret_cast<const u32 *>(
                    columns + min_of(2 * t + i, N - 1) * Lds::y_stride);
            }
            v.quants = reinterpret_cast<const u32 *>(
                columns + min_of(g, N - 1) * Lds::y_stride);
            if constexpr (F::elems == 32) {
                _Pragma("unroll 4") for (int b = 0; b < min_of(left, 8); b++)
                    multiply_block(acc, v, b, t);
            } else if (left > 0) {
                UNROLL
                for (int b = 0; b < 8; b++)
                    multiply_block(acc, v, b, t);
            }
        }
    }

    /* the sums of all splits, to dst */
    DEV_MEMBER void store(const float (&acc)[4], Lds &lds, float *dst,
                          size_t dst_stride) const
    {
        const int tid = (int)(threadIdx.y * 32 + threadIdx.x);
        const int g = tid % 32 / 4, t = tid & 3;
        const int group = (int)threadIdx.y % Shape::groups;
        const int split = (int)threadIdx.y / Shape::groups;

        __syncthreads(); /* the stages are done with */
        UNROLL
        for (int i = 0; i < 4; i++)
            lds.part[split][group * 16 + i / 2 * 8 + g][2 * t + i % 2] = acc[i];
        __syncthreads();
        for (int at = tid; at < N * Shape::rows; at += 32 * Shape::warps) {
            const int row = at % Shape::rows, col = at / Shape::rows;
            float sum = 0;

            UNROLL
            for (int s = 0; s < Shape::splits; s++)
                sum += lds.part[s][row][col];
            if (row0 + row < nrows)
                dst[(size_t)col * dst_stride + (size_t)(row0 + row)] = sum;
        }
    }

    /* dst[col * dst_stride + row] for the workgroup's rows */
    DEV_MEMBER void run(Lds &lds, float *dst, size_t dst_stride) const
    {
        constexpr int nacc = N == 1 ? each : 4;
        const int tid = (int)(threadIdx.y * 32 + threadIdx.x);
        const int stages =
            (nblocks + 8 * Shape::steps - 1) / (8 * Shape::steps);
        float acc[nacc];

        UNROLL
        for (int i = 0; i < nacc; i++)
            acc[i] = 0.0f;
        if (tid == 0) {
            UNROLL
            for (int i = 0; i < Lds::stages; i++) {
                barrier_init(&lds.arrived[i], 1);
                barrier_init(&lds.freed[i], Shape::warps);
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
                    multiply_chunks(acc, lds, stage);
                else
                    multiply_steps(acc, lds, stage);
                /* the whole warp has read when its first lane says so */
                __syncwarp();
                if (threadIdx.x == 0)
                    barrier_arrive(&lds.freed[place]);
            }
            copy_stage(lds, stage + Lds::stages);
        }
        if constexpr (N == 1) {
            int index;
            const float sum = sum_lanes<16>(acc, (int)threadIdx.x, index);
            const int row = row0 + (int)threadIdx.y * each + index;

            if (index < each && row < nrows)
                dst[row] = sum;
        } else {
            store(acc, lds, dst, dst_stride);
        }
    }
};

/* the rows that a working workgroup makes of N columns */
template <int N> constexpr int job_rows = BulkShape<N>::rows;

/* rows row0 .. row0 + job_rows<N> - 1 */
template <class F, int N> DEV void mat_vec_job(const MatVec &m, int row0)
{
    __shared__ union {
        BulkLds<F, N> bulk;
        u32 words[VecLds<N>::words];
    } lds;

    if (is_aligned(m.w, 16) && is_aligned(m.y, 16) && m.y_stride % 16 == 0) {
        MatVecBulk<F, N>(m, row0).run(lds.bulk, m.dst, m.dst_stride);
        return;
    }
    NO_UNROLL
    for (int r = 0; r < job_rows<N> && row0 + r < m.nrows;
         r += VecShape<N>::warps * VecShape<N>::rows) {
        mat_vec_rows<F, N, Place::anywhere>(lds.words, m.w, m.y, m.dst,
                                            row0 + r, m.nrows, m.nblocks,
                                            m.y_stride, m.dst_stride);
        __syncthreads(); /* the columns in LDS are still read */
    }
}
