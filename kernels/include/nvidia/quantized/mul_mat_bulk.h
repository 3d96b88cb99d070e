/* mul_mat_bulk.h - the tiles of mul_mat.h on sm_90: bulk copies, mma */
#pragma once

#include "nvidia/quantized/bulk_rows.h"
#include "nvidia/quantized/q8_1_mma.h"

constexpr int few_tile_cols = 16;

/*
 * K goes by in stages of `blocks` Q8_1 blocks. The copy engine brings a stage's
 * bytes of all rows and columns to LDS as they are; two workgroups share a
 * multiprocessor, and one multiplies while the other waits. A warp takes 32
 * rows by up to 64 columns and unpacks its rows' quants straight into the
 * operands of mma. With few columns, Split warps share the blocks of a stage,
 * and add up their sums in the end: few rows then keep four warps busy, each
 * row is unpacked once, and LDS has room for stages in flight. If a launch may
 * have many columns, too, the stages of this tile are as large as the others'.
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
    static constexpr bool is_fitted = Split > 1 && Cols > few_tile_cols;
    static constexpr int wanted = Split > 1 || Cols <= few_tile_cols ? 2 : 1;
    template <int Blocks>
    static constexpr bool fits =
        wanted *
            sizeof(
                TileBulkStage<F, Rows, is_fitted ? Cols / 2 : Cols, Blocks>) <=
        lds_nbytes;
    /* Q8_1 blocks in a stage, if they fit LDS; a block of K formats has 8 */
    static constexpr int blocks = Split > 1 && Cols <= few_tile_cols &&fits<16>
                                      ? 16
                                  : F::elems == 256 || fits<8> ? 8
                                                               : 4;

    typedef BulkRows<F, blocks> XRows;
    typedef TileBulkStage<F, Rows, Cols, blocks> Stage;

    static constexpr int most_slots =
        is_fitted
            ? 4
            : min_of(lds_nbytes / (int)sizeof(Stage), Split > 1 ? 4 : wanted);

    struct Lds {
        union {
            Stage stages[is_fitted ? 1 : most_slots];
            u8 bytes[is_fitted ? lds_nbytes : 1];
            float part[Split > 1 ? Rows *Cols *Split : 1]; /* [result, warp] */
        };
        u64 arrived[most_slots]; /* count threads and bytes */
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

    /* columns that a stage has room for */
    DEV_MEMBER int stage_cols() const
    {
        return is_fitted ? min_of((ncols - col0 + 7) / 8 * 8, Cols) : Cols;
    }

    /* the offset of column c in a stage; eight columns use different banks */
    static DEV_MEMBER constexpr int y_place(int c)
    {
        return is_fitted && blocks == 8 ? c * y_bytes + c / 4 * 16
                                        : c * y_stride;
    }

    DEV_MEMBER int stage_nbytes() const
    {
        return Rows * Stage::x_stride + y_place(stage_cols());
    }

    DEV_MEMBER Stage &stage_in(Lds &lds, int slot) const
    {
        if constexpr (is_fitted)
            return reinterpret_cast<Stage &>(lds.bytes[slot * stage_nbytes()]);
        else
            return lds.stages[slot];
    }

    /* brings a stage to LDS, each warp its part */
    DEV_MEMBER void copy_stage(Stage &lds, u64 *arrived, int stage) const
    {
        constexpr int each_rows = Rows / 4;
        const int each_cols = stage_cols() / 4;
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
            bulk_copy(arrived, lds.y + y_place(first + c), from, y_size);
        }
        barrier_expect(arrived, x_total + (cols > 0 ? (u32)cols * y_size : 0));
    }

    DEV_MEMBER void multiply_stage(float (&acc)[2][tiles][4], const Stage &lds,
                                   int stage) const
    {
        const int g = (int)threadIdx.x / 4, t = (int)threadIdx.x & 3;
        const int count = min_of(nblocks - stage * blocks, blocks);
        const u8 *columns = lds.y + y_place(first_col());
        BulkView<2, is_fitted> v;

        UNROLL
        for (int i = 0; i < 4; i++)
            v.row[i] = rows.row_in(lds.x, first_row() + 8 * i + g, stage);
        v.quants = reinterpret_cast<const u32 *>(columns + y_place(g));
        UNROLL
        for (int i = 0; i < 2; i++)
            v.scale[i] =
                reinterpret_cast<const u32 *>(columns + y_place(2 * t + i));
        v.tiles = Split > 1 ? (ncols - col0 + 7) / 8 : tiles;
        add_products<F, F::tile_bias, y_place(8) / 4, blocks>(
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

    /* Adds up the sums of all warps, and gives each warp the total. `part` lies
     * in the stages, to which the copy engine writes again later. */
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
            for (int i = 0; i < most_slots; i++)
                barrier_init(&lds.arrived[i], 128);
        }
        __syncthreads();
    }

    static DEV_MEMBER void end(Lds &lds)
    {
        __syncthreads();
        if (threadIdx.x == 0 && threadIdx.y == 0) {
            UNROLL
            for (int i = 0; i < most_slots; i++)
                barrier_end(&lds.arrived[i]);
        }
        __syncthreads();
    }

    /*
     * Computes dst[col * dst_stride + row] for the tile. Bit i of `phases` is
     * the phase of barrier i. In formats whose sums may be infinite, `finite`
     * becomes false if a result of this thread is not finite.
     */
    DEV_MEMBER void run(Lds &lds, float *dst, int dst_stride, u32 &phases,
                        bool &finite) const
    {
        const int stages = (nblocks + blocks - 1) / blocks;
        const int g = (int)threadIdx.x / 4, t = (int)threadIdx.x & 3;
        const int slots = is_fitted
                              ? min_of(lds_nbytes / stage_nbytes(), most_slots)
                              : most_slots;
        float acc[2][tiles][4];

        UNROLL
        for (int n = 0; n < tiles; n++) {
            UNROLL
            for (int i = 0; i < 4; i++)
                acc[0][n][i] = acc[1][n][i] = 0.0f;
        }
        const auto fill = [&](int slot, int stage) {
            if (stage < stages)
                copy_stage(stage_in(lds, slot), &lds.arrived[slot], stage);
        };
        int slot = 0;

        __syncthreads(); /* the stages of a tile before are read */
        for (int stage = 0; stage < slots - 1; stage++)
            fill(stage, stage);
        NO_UNROLL
        for (int stage = 0; stage < stages; stage++) {
            if (stage > 0)
                __syncthreads(); /* the stage before is read */
            fill(slot > 0 ? slot - 1 : slots - 1, stage + slots - 1);
            barrier_wait(&lds.arrived[slot], phases >> slot);
            phases ^= 1u << slot;
            multiply_stage(acc, stage_in(lds, slot), stage);
            slot = slot + 1 < slots ? slot + 1 : 0;
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
    }
};
