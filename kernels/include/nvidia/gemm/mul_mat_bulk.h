/* mul_mat_bulk.h - the tiles of mul_mat.h on sm_90: bulk copies, mma */
#pragma once

#include "nvidia/copy/bulk_rows.h"
#include "nvidia/unit/q8_1_mma.h"

constexpr int few_tile_cols = 16;

/*
 * K goes by in stages of `blocks` Q8_1 blocks. The copy engine brings a stage's
 * bytes of all rows and columns to LDS as they are; two workgroups share a
 * multiprocessor, and one multiplies while the other waits. A warp takes 32
 * rows by up to 64 columns and unpacks its rows' quants straight into the
 * operands of mma. Where there are few columns, Split warps share the blocks of
 * a stage, and add up their sums in the end: few rows then keep four warps
 * busy, each row is unpacked once, and LDS has room for stages that are on
 * their way.
 */
template <class F, int Rows, int Cols, int Blocks> struct TileBulkStage {
    static constexpr int x_stride = BulkRows<F, Blocks>::stride;
    static constexpr int y_stride = lds_stride(Blocks * Q8_1::bytes);

    __attribute__((aligned(16))) u8 x[Rows * x_stride];
    __attribute__((aligned(16))) u8 y[Cols * y_stride];
};

template <class F, int Rows, int Cols, class Columns, int Split = 1>
struct TileBulk {
    static constexpr int rows_of_tile = Rows, cols_of_tile = Cols;
    static constexpr int lds_nbytes = 48 * 1024 - 64 - Columns::lds_nbytes;
    static constexpr int wanted = Split > 1 || Cols <= few_tile_cols ? 2 : 1;
    template <int Blocks>
    static constexpr bool fits =
        wanted * sizeof(TileBulkStage<F, Rows, Cols, Blocks>) <= lds_nbytes;
    /* in a stage, if there is LDS for them; K formats have 8 to a block */
    static constexpr int blocks = Split > 1 && Cols <= few_tile_cols &&fits<16>
                                      ? 16
                                  : F::elems == 256 || fits<8> ? 8
                                                               : 4;

    typedef BulkRows<F, blocks> XRows;
    typedef TileBulkStage<F, Rows, Cols, blocks> Stage;

    static constexpr int slots =
        min_of(lds_nbytes / (int)sizeof(Stage), Split > 1 ? 4 : wanted);

    struct Lds {
        union {
            Stage stages[slots];
            float part[Split > 1 ? Rows *Cols *Split : 1]; /* [result, warp] */
        };
        u64 arrived[slots]; /* count threads and bytes */
    };

    static constexpr int y_bytes = blocks * Q8_1::bytes;
    static constexpr int y_stride = Stage::y_stride;
    static constexpr int row_warps = Rows / 32;
    static constexpr int warp_cols = Cols / (4 / (row_warps * Split));
    static constexpr int tiles = warp_cols / 8;

    static_assert(y_bytes % 16 == 0, "stages of columns are whole granules");
    static_assert(Split == 1 || Split == 4, "one warp, or all");

    XRows rows;
    const u8 *y; /* aligned to 16, and column_bytes too */
    size_t column_bytes;
    int col0, ncols, nblocks; /* Q8_1 blocks of a row */
    Columns columns;

    /* brings a stage to LDS, each warp its part */
    DEV_MEMBER void copy_stage(Stage &lds, u64 *arrived, int stage) const
    {
        constexpr int each_rows = Rows / 4, each_cols = Cols / 4;
        const int warp = (int)threadIdx.y;
        const int count = min_of(nblocks - stage * blocks, blocks);
        const int x_size = count * 32 / F::elems * F::bytes;
        const u32 y_size = (u32)(count * Q8_1::bytes + 15) & ~15u;
        const int first = warp * each_cols;
        const int cols = min_of(ncols - col0 - first, each_cols);

        rows.copy_end(lds.x, warp * each_rows, each_rows, stage, x_size);
        if (!elect_lane()) {
            barrier_arrive(arrived);
            return;
        }

        const auto column = [&](int c) {
            return y + (size_t)columns.from(col0 + first + c) * column_bytes +
                   (size_t)stage * y_bytes;
        };
        const u8 *from = column(0);
        const u32 x_total = rows.template copy<each_rows>(
            arrived, lds.x, warp * each_rows, stage, x_size);

        _Pragma("unroll 8") for (int c = 0; c < cols; c++, from += column_bytes)
        {
            if (!Columns::are_neighbours)
                from = column(c);
            bulk_copy(arrived, lds.y + (first + c) * y_stride, from, y_size);
        }
        barrier_expect(arrived, x_total + (cols > 0 ? (u32)cols * y_size : 0));
    }

    DEV_MEMBER void multiply_stage(float (&acc)[2][tiles][4], const Stage &lds,
                                   int stage) const
    {
        const int g = (int)threadIdx.x / 4, t = (int)threadIdx.x & 3;
        const int count = min_of(nblocks - stage * blocks, blocks);
        const u8 *columns = lds.y + first_col() * y_stride;
        BulkView<2> v;

        UNROLL
        for (int i = 0; i < 4; i++)
            v.row[i] = rows.row_in(lds.x, first_row() + 8 * i + g, stage);
        v.quants = reinterpret_cast<const u32 *>(columns + g * y_stride);
        UNROLL
        for (int i = 0; i < 2; i++)
            v.scale[i] =
                reinterpret_cast<const u32 *>(columns + (2 * t + i) * y_stride);
        v.tiles = Split > 1 ? (ncols - col0 + 7) / 8 : tiles;
        add_products<F, F::tile_bias, 2 * y_stride, blocks>(
            acc, v, Split > 1 ? (int)threadIdx.y : 0, Split, count, t);
    }

    /* the first row and column of the warp's results in the tile */
    DEV_MEMBER int first_row() const
    {
        return Split > 1 ? 0 : (int)threadIdx.y % row_warps * 32;
    }

    DEV_MEMBER int first_col() const
    {
        return Split > 1 ? 0 : (int)threadIdx.y / row_warps * warp_cols;
    }

    /* The sums of all warps, in each of them. The part of LDS is the stages',
     * to which the copy engine will write again. */
    static DEV_MEMBER void join(float *part, float (&acc)[2][tiles][4])
    {
        const int lane = (int)threadIdx.x, warp = (int)threadIdx.y;

        __syncthreads();
        UNROLL
        for (int i = 0; i < 8 * tiles; i++)
            part[(i * Split + warp) * 32 + lane] = acc[i / 4 % 2][i / 8][i % 4];
        __syncthreads();
        UNROLL
        for (int i = 0; i < 8 * tiles; i++) {
            float sum = 0;

            UNROLL
            for (int w = 0; w < Split; w++)
                sum += part[(i * Split + w) * 32 + lane];
            acc[i / 4 % 2][i / 8][i % 4] = sum;
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }

    static DEV_MEMBER void begin(Lds &lds)
    {
        if (threadIdx.x == 0 && threadIdx.y == 0) {
            UNROLL
            for (int i = 0; i < slots; i++)
                barrier_init(&lds.arrived[i], 128);
        }
        __syncthreads();
    }

    static DEV_MEMBER void end(Lds &lds)
    {
        __syncthreads();
        if (threadIdx.x == 0 && threadIdx.y == 0) {
            UNROLL
            for (int i = 0; i < slots; i++)
                barrier_end(&lds.arrived[i]);
        }
        __syncthreads();
    }

    /*
     * dst[col * dst_stride + row] for the tile. `done` counts the stages that
     * went through this LDS before; returns the new count. `finite` stays true
     * if this thread's results are finite, where a sum may not be.
     */
    DEV_MEMBER int run(Lds &lds, float *dst, int dst_stride, int done,
                       bool &finite) const
    {
        const int stages = (nblocks + blocks - 1) / blocks;
        const int g = (int)threadIdx.x / 4, t = (int)threadIdx.x & 3;
        float acc[2][tiles][4];

        UNROLL
        for (int n = 0; n < tiles; n++) {
            UNROLL
            for (int i = 0; i < 4; i++)
                acc[0][n][i] = acc[1][n][i] = 0.0f;
        }
        const auto fill = [&](int stage) {
            const int slot = (done + stage) % slots;

            if (stage < stages)
                copy_stage(lds.stages[slot], &lds.arrived[slot], stage);
        };

        if (done > 0)
            __syncthreads(); /* the stages before are read */
        for (int stage = 0; stage < slots - 1; stage++)
            fill(stage);
        NO_UNROLL
        for (int stage = 0; stage < stages; stage++) {
            const int slot = (done + stage) % slots;

            if (stage > 0)
                __syncthreads(); /* the stage before is read */
            fill(stage + slots - 1);
            barrier_wait(&lds.arrived[slot], (u32)((done + stage) / slots));
            multiply_stage(acc, lds.stages[slot], stage);
        }
        if constexpr (Split > 1)
            join(lds.part, acc);

        float zeros = 0; /* a result that is not finite makes it a NaN */

        UNROLL
        for (int n = 0; n < tiles; n++) {
            UNROLL
            for (int i = 0; i < 8; i++) {
                const int row = rows.row0 + first_row() + 8 * (i / 2) + g;
                const int col = col0 + first_col() + 8 * n + 2 * t + i % 2;
                const float sum = acc[i / 4][n][i % 4];

                /* each warp stores a part of a split tile */
                if ((Split > 1 && i % Split != (int)threadIdx.y) ||
                    row >= rows.nrows || col >= ncols)
                    continue;
                dst[(size_t)columns.to(col) * (size_t)dst_stride +
                    (size_t)row] = sum;
                if constexpr (F::tile_bias == Bias::stored_sum)
                    zeros = fmaf(sum, 0.0f, zeros);
            }
        }
        finite &= zeros == 0;
        return done + stages;
    }
};
