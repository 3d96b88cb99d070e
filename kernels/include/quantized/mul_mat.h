/* mul_mat.h - quantized matrix times many Q8_1 columns, tile by tile */
#pragma once

#include "quantized/chunk_dot.h"
#include "quantized/few_columns.h"
#include "quantized/matrix_unit_tile.h"
#include "quantized/simt_tile.h"
#include "quantized/tile_columns.h"
#if KPK_MFMA
#include "amd/raw_columns.h"
#elif KPK_WMMA_WIDE
#include "amd/wmma_wave64_tile.h"
#elif KPK_WMMA
#include "amd/code_lookup.h"
#endif
#if KPK_SM >= 90
#include "nvidia/quantized/mul_mat_bulk.h"
#endif

/*
 * A workgroup of 32 x 4 threads makes a tile of Rows x Cols results, in steps
 * of 64 along K (tile_layout.h). Weights are unpacked once per tile, into LDS.
 * While a step is multiplied, the next one's bytes are on their way into
 * registers. Two neighbouring threads load neighbouring halves of a row's or a
 * column's step. Matrix instructions multiply where the target has them
 * (matrix_unit_tile.h), else dot4() (simt_tile.h). Rows behind the last are
 * taken from the last row, columns likewise; blocks behind the end of a row
 * count as zeros and are not read.
 */
#if KPK_MFMA || KPK_WMMA
template <class F, int Rows, int Cols, int Parts>
using TileProduct = TileUnit<F, Rows, Cols, Parts>;
#else
template <class F, int Rows, int Cols, int Parts>
using TileProduct = TileDot<F, Rows, Cols, Parts>;
#endif

/* A step of columns on its way to LDS: whole blocks, two to a column. */
template <class F, int Rows, int Cols, int Parts> struct TileColumns {
    typedef TileStep<F> Step;
    typedef TileLds<F, Rows, Cols> Lds;
    typedef TileCut<Rows, Cols, Parts> Cut;
    static constexpr int blocks = 2 * Cols / tile_threads;

    int tid;
    const u8 *col[blocks];
    PartOfRow part[blocks];
    Words<Q8_1::words> in[blocks];

    template <class Chosen>
    DEV_MEMBER TileColumns(const u8 *y, size_t stride, int col0, int ncols,
                           RowParts parts, const Chosen &chosen)
        : tid(chosen.thread())
    {
        UNROLL
        for (int p = 0; p < blocks; p++) {
            col[p] =
                y + stride * chosen.from(min_of(col0 + Cut::column(column(p)),
                                                ncols - 1));
            part[p] = parts.part(Cut::part_of_column(column(p)), F::elems / 32);
        }
    }

    DEV_MEMBER int column(int p) const
    {
        return (tid + p * tile_threads) / 2;
    }

    DEV_MEMBER void load(int step, int nblocks)
    {
        UNROLL
        for (int p = 0; p < blocks; p++) {
            int block = Step::column_block(step, tid % 2);

            if (Cut::is_cut)
                block = (int)part[p].block(block);
            else if (Step::legacy)
                block = block < nblocks ? block : nblocks - 1;
            in[p] = load_words<Q8_1::words, Access::word>(
                col[p] + (size_t)block * Q8_1::bytes);
        }
    }

    DEV_MEMBER void store(Lds &lds, int step, int nblocks) const
    {
        UNROLL
        for (int p = 0; p < blocks; p++) {
            const int col = column(p), which = tid % 2;
            const u32(&w)[Q8_1::words] = in[p].w;
            /* a missing block gets scale 0, because 0 * infinity is a NaN */
            bool present = Cut::is_cut
                               ? part[p].has(Step::column_block(step, which))
                               : !Step::legacy || 2 * step + which < nblocks;
            const float d = present ? half_to_float(w[0]) : 0.0f;
            const int place = tile_column(col);

            store_column<F>(lds.y, col, which, w + 1);
            lds.y_scale[which * Lds::col_slot + place] = d;
            if constexpr (Lds::step_biases) {
                store_half(lds.y_half, Lds::y_half_slot, col, step, which,
                           present ? w[0] >> 16 : 0, 2 * step + 2 >= nblocks);
            } else if constexpr (F::tile_bias == Bias::stored_sum) {
                lds.y_sum[which * Lds::col_slot + place] =
                    present ? half_to_float(w[0] >> 16) : 0.0f;
            } else if constexpr (F::tile_bias == Bias::quant_sum) {
                UNROLL
                for (int half = 0; half < 2; half++) {
                    int sum = 0;

                    UNROLL
                    for (int i = 0; i < 4; i++)
                        sum = dot4(w[1 + 4 * half + i], 0x01010101u, sum);
                    lds.y_sum[(2 * which + half) * Lds::col_slot + place] =
                        d * (float)sum;
                }
            }
        }
    }
};

template <class F, int Rows, int Cols, BlockPlace P, int Parts> struct Tile {
    typedef TileStep<F> Step;
    typedef TileLds<F, Rows, Cols> Lds;
    typedef TileCut<Rows, Cols, Parts> Cut;

    static constexpr int pieces = 2 * Rows / tile_threads;

    /* a step's weights on their way to LDS */
    struct Incoming {
        PartOfRow part[pieces];
        typename F::Raw x[pieces];
    };

    /* at: of the tile's first row; row: bytes from there */
    static DEV_MEMBER void load(Incoming &in, int tid, int step, const u8 *at,
                                const u32 (&row)[pieces], int nblocks)
    {
        const int first = Step::block(step, 0), piece = tid % 2;

        if constexpr (Cut::is_cut) {
            UNROLL
            for (int p = 0; p < pieces; p++)
                in.x[p] = F::template load<P>(
                    at + row[p] +
                        in.part[p].block(Step::block(step, piece)) * F::bytes,
                    Step::chunk(step, piece));
            return;
        }

        const u32 next =
            Step::legacy && piece && first + 1 < nblocks ? F::bytes : 0;

        at += (size_t)first * F::bytes;
        UNROLL
        for (int p = 0; p < pieces; p++)
            in.x[p] = F::template load<P>(at + row[p] + next,
                                          Step::chunk(step, piece));
    }

    static DEV_MEMBER void store_weights(Lds &lds, const Incoming &in, int tid,
                                         int step, int nblocks)
    {
        UNROLL
        for (int p = 0; p < pieces; p++) {
            int row = (tid + p * tile_threads) / 2;
            int piece = tid % 2;
            bool present = Step::block(step, piece) < nblocks;
            Chunk c = F::unpack(in.x[p], Step::chunk(step, piece));

            store_chunk<F>(lds.x, row, piece, c.q);
            UNROLL
            for (int g = 0; g < 2; g++) {
                int at = Step::place(piece, g);

                /* if 32 quants share a scale, both pieces of a K format have
                 * it */
                if (Step::scales == 2 || Step::whole || piece == 0)
                    lds.x_scale[at * Step::scales / 2 * Lds::row_slot + row] =
                        present ? in_units(c.scale[g]) : 0.0f;
                if constexpr (Lds::own_biases)
                    if (Step::biases == 2 || Step::whole || piece == 0)
                        lds.x_bias[at * Step::biases / 2 * Lds::row_slot +
                                   row] = present ? c.bias[g] : 0.0f;
            }
            if constexpr (Lds::step_biases) {
                const float bias = F::bias_factor != 0 ? c.scale[0] : c.bias[0];

                store_half(lds.x_half, Lds::x_half_slot, row, step, piece,
                           present ? float_to_half(bias) : 0,
                           2 * step + 2 >= nblocks);
            }
        }
    }

    /* a scale, in units of the sums */
    static DEV_MEMBER float in_units(float scale)
    {
        if constexpr (Lds::step_biases)
            return scale * (1 / Lds::unit());
        else
            return scale;
    }

    /* makes the tile with first result (row0, col0); with TileLds::asks_finite
     * returns whether this thread's results are finite */
    template <class Chosen>
    static DEV_MEMBER bool run(Lds &lds, const u8 *x, const u8 *y, float *dst,
                               int row0, int col0, int nblocks, int x_rows,
                               int y_cols, size_t y_stride, int dst_stride,
                               const Chosen &chosen)
    {
        const int tid = chosen.thread();
        const size_t row_bytes = (size_t)nblocks * F::bytes;
        const RowParts parts = parts_of_row<F, Parts>(nblocks);
        const int steps = Step::count(parts.blocks);
        const u8 *from = x + row_bytes * (size_t)row0;
        u32 row[pieces]; /* bytes; 128 rows have less than 2^32 */
        TileColumns<F, Rows, Cols, Parts> columns(y, y_stride, col0, y_cols,
                                                  parts, chosen);
        TileProduct<F, Rows, Cols, Parts> product(tid);
        Incoming in;

        UNROLL
        for (int p = 0; p < pieces; p++) {
            const int r = (tid + p * tile_threads) / 2;

            row[p] =
                (u32)(min_of(Cut::row(r), x_rows - 1 - row0) * (int)row_bytes);
            in.part[p] = parts.part(Cut::part_of_row(r));
        }
        nblocks = parts.blocks;
        /* The loop is behind the same condition as the first load: in a loop
         * over tiles the compiler would keep the last tile's bytes for a tile
         * without steps. */
        if (steps > 0) {
            load(in, tid, 0, from, row, nblocks);
            columns.load(0, nblocks);
            for (int step = 0; step < steps; step++) {
                store_weights(lds, in, tid, step, nblocks);
                columns.store(lds, step, nblocks);
                __syncthreads();
                if (step + 1 < steps) {
                    load(in, tid, step + 1, from, row, nblocks);
                    columns.load(step + 1, nblocks);
                }
                product.multiply(lds);
                if constexpr (Lds::step_biases)
                    if (step % tile_bias_steps == tile_bias_steps - 1 ||
                        step + 1 == steps)
                        product.add_biases(lds);
                __syncthreads();
            }
        }

        if constexpr (Cut::is_cut)
            store_parts<Cut>(lds, product, dst, row0, col0,
                             min_of(x_rows, dst_stride), y_cols, dst_stride,
                             chosen);
        else
            product.each([&](int r, int c, float sum) {
                r += row0, c += col0;
                if constexpr (Lds::step_biases)
                    sum *= Lds::unit();
                if (r < x_rows && r < dst_stride && c < y_cols)
                    dst[(size_t)chosen.to(c) * (size_t)dst_stride + (size_t)r] =
                        sum;
            });
        if constexpr (Lds::asks_finite)
            return product.all_finite();
        else
            return true;
    }
};

/* The variant of format F for tiles, and the tile's class. */
template <class F, bool Raw = tile_is_raw<F>> struct TileWay {
#if KPK_WMMA_WIDE
    typedef typename ForTile<F>::type Form;
    template <int Rows, int Cols, BlockPlace P, int Parts>
    using Of = WideTile<F, Rows, Cols, P, Parts>;
#else
#if KPK_WMMA
    typedef typename ForCodes<F>::type Form;
#else
    typedef F Form;
#endif
    template <int Rows, int Cols, BlockPlace P, int Parts>
    using Of = Tile<F, Rows, Cols, P, Parts>;
#endif
};
#if KPK_MFMA
template <class F> struct TileWay<F, true> {
    typedef typename ForTile<F>::type Form;
    template <int Rows, int Cols, BlockPlace P, int Parts>
    using Of = RawTile<F, Rows, Cols, P, Parts>;
};
#endif

/* Whether there is a tile for fine grids: on sm_90 the copy engine must take
 * the operands. */
template <class F>
DEV bool has_fine_tile(const void *x, const void *y, size_t y_stride)
{
    if (KPK_NVIDIA)
        return KPK_SM >= 90 && F::bytes % 2 == 0 && is_aligned(x, 16) &&
               is_aligned(y, 16) && y_stride % 16 == 0;
    return true;
}

/* The arguments of a kernel, and the workgroup's tile. */
template <class Columns> struct MatMul {
    const u8 *x, *y;
    float *dst; /* [column, row] */
    int nblocks, nrows, ncols, dst_stride;
    size_t y_stride; /* bytes from column to column */
    int row0, col0, rows;
    Columns columns;
};

/* Cols / Passes columns at a time; P: of x. Whether this thread's results are
 * finite. */
template <class F, int Rows, int Cols, int Passes, BlockPlace P, class Columns>
DEV bool mat_mul_steps(TileLds<F, Rows, Cols / Passes> &lds,
                       const MatMul<Columns> &m)
{
    bool finite = true;

    NO_UNROLL
    for (int pass = 0; pass < Passes; pass++) {
        const int col0 = m.col0 + pass * (Cols / Passes);

        if (col0 < m.ncols)
            finite &= TileWay<F>::template Of<Rows, Cols / Passes, P, 1>::run(
                lds, m.x, m.y, m.dst, m.row0, col0, m.nblocks, m.nrows, m.ncols,
                m.y_stride, m.dst_stride, m.columns);
    }
    return finite;
}

/* The same for the workgroup at its end; `words`: LDS that the workgroup no
 * longer uses. */
template <class F> DEV bool all_are_finite(u32 *words, bool finite)
{
    if constexpr (F::tile_bias == Bias::stored_sum) {
        const u32 mine =
            join_lanes((u32)finite, [](u32 p, u32 q) { return p & q; });

        __syncthreads();
        if (threadIdx.x == 0)
            words[threadIdx.y] = mine;
        __syncthreads();
        return (words[0] & words[1] & words[2] & words[3]) != 0;
    } else {
        return true;
    }
}

/* Functions compute a tile; they return false if a result is not finite. */
#if KPK_SM >= 90
/* Computes tiles of Bulk, one after the other, for m.rows rows and `cols`
 * columns. */
template <class Bulk, class F, class Columns>
DEV bool mat_mul_bulk(typename Bulk::Lds &lds, const MatMul<Columns> &m,
                      int cols)
{
    const size_t row_bytes = (size_t)m.nblocks * F::bytes;
    const int row_end = min_of(m.row0 + m.rows, m.nrows);
    const int col_end = min_of(m.col0 + cols, m.ncols);
    bool finite = true;
    int row0 = m.row0, col0 = m.col0;
    u32 phases = 0;

    Bulk::begin(lds);
    NO_UNROLL
    while (row0 < row_end) {
        const Bulk tile = {{m.x, row_bytes, row_bytes * (size_t)m.nrows, row0,
                            min_of(m.nrows, m.dst_stride)},
                           m.y,
                           m.y_stride,
                           col0,
                           m.ncols,
                           m.nblocks * (F::elems / 32),
                           m.columns};

        tile.run(lds, m.dst, m.dst_stride, phases, finite);
        col0 += Bulk::cols_of_tile;
        if (col0 >= col_end) {
            col0 = m.col0;
            row0 += Bulk::rows_of_tile;
        }
    }
    if (!Columns::are_neighbours)
        Bulk::end(lds); /* the workgroup continues with other tiles */
    return finite;
}

template <class F, int Rows, int Cols, int Passes, class Columns>
DEV bool mat_mul_tile(const MatMul<Columns> &m)
{
    /* one pass of few columns, or two if a full tile has 128 columns */
    constexpr int each = Cols / Passes;
    constexpr int most_few = few_tile_cols * (each > 64 ? 2 : 1);
    typedef TileBulk<F, Rows, each, Columns> All;
    typedef TileBulk<F, Rows, few_tile_cols, Columns> Few;
    typedef TileBulk<F, GGUF_FINE_ROWS, 64, Columns, 4> FineAll;
    typedef TileBulk<F, GGUF_FINE_ROWS, few_tile_cols, Columns, 4> FineFew;
    __shared__ union {
        typename All::Lds all;
        typename Few::Lds few;
        typename FineAll::Lds fine_all;
        typename FineFew::Lds fine_few;
        TileLds<F, Rows, each> steps;
    } lds;
    const int left = m.ncols - m.col0;
    bool finite = true;

    if (!has_fine_tile<F>(m.x, m.y, m.y_stride))
        finite = mat_mul_steps<F, Rows, Cols, Passes, BlockPlace::anywhere>(
            lds.steps, m);
    else if (m.rows < Rows && left <= few_tile_cols)
        finite = mat_mul_bulk<FineFew, F>(lds.fine_few, m, Cols);
    else if (m.rows < Rows)
        finite = mat_mul_bulk<FineAll, F>(lds.fine_all, m, Cols);
    else if (left <= most_few)
        finite = mat_mul_bulk<Few, F>(lds.few, m, Cols);
    else
        finite = mat_mul_bulk<All, F>(lds.all, m, Cols);
    return all_are_finite<F>(lds.steps.x, finite);
}
#elif KPK_NVIDIA
template <class F, int Rows, int Cols, int Passes, class Columns>
DEV bool mat_mul_tile(const MatMul<Columns> &m)
{
    __shared__ TileLds<F, Rows, Cols / Passes> lds;
    bool finite = true;

    with_place(is_aligned(m.x, 16), [&](auto place) {
        finite = mat_mul_steps<F, Rows, Cols, Passes, decltype(place)::place>(
            lds, m);
    });
    return all_are_finite<F>(lds.x, finite);
}
#else
template <class F, int Rows, int Cols, int Passes, class Columns>
DEV bool mat_mul_tile(const MatMul<Columns> &m)
{
    constexpr int parts = GGUF_FEW_PARTS, few = GGUF_FEW_COLUMNS;
    typedef TileWay<F> Way;
    __shared__ union {
        TileLds<F, Rows, Cols / Passes> all;
        TileLds<F, Rows, few * parts> few_columns;
    } lds;
    bool finite = true;

    if (m.rows == Rows && m.ncols - m.col0 > few) {
        finite = mat_mul_steps<F, Rows, Cols, Passes, BlockPlace::aligned>(
            lds.all, m);
    } else {
        const int row_end = min_of(m.row0 + m.rows, m.nrows);
        const int col_end = min_of(m.col0 + Cols, m.ncols);
        int row0 = m.row0, col0 = m.col0;

        /* several rows of tiles, or several columns; in one loop, so that the
         * tile is compiled once */
        NO_UNROLL
        while (row0 < row_end && col0 < col_end) {
            finite &= Way::template Of<Rows, few * parts, BlockPlace::aligned,
                                       parts>::run(lds.few_columns, m.x, m.y,
                                                   m.dst, row0, col0, m.nblocks,
                                                   m.nrows, m.ncols, m.y_stride,
                                                   m.dst_stride, m.columns);
            if (m.rows == Rows)
                row0 += Rows / parts;
            else
                col0 += few;
        }
    }
    return all_are_finite<F>(lds.all.x, finite);
}
#endif

/*
 * Makes the columns of a tile again that have an infinite sum
 * (chunk_dot.h), 32 threads a result. The others are infinite or no numbers
 * because a weight or a scale is.
 */
template <class F, int Cols, class Columns>
DEV void redo_columns(const MatMul<Columns> &m)
{
    const size_t row_bytes = (size_t)m.nblocks * F::bytes;
    const int rows = min_of(min_of(m.nrows, m.dst_stride) - m.row0, m.rows);
    const int end = min_of(m.ncols, m.col0 + Cols);

    NO_UNROLL
    for (int col = m.col0 + (int)threadIdx.y; col < end; col += 4) {
        const u8 *y = m.y + (size_t)m.columns.from(col) * m.y_stride;
        float *dst = m.dst + (size_t)m.columns.to(col) * (size_t)m.dst_stride +
                     (size_t)m.row0;

        if (!has_large_sums(y, (u32)m.nblocks * (F::elems / Q8_1::elems)))
            continue;
        NO_UNROLL
        for (int r = 0; r < rows; r++) {
            const float sum = row_product<F>(
                m.x + (size_t)(m.row0 + r) * row_bytes, y, (u32)m.nblocks);

            if (threadIdx.x == 0)
                dst[r] = sum;
        }
    }
}

/*
 * Declares an exported kernel. On CDNA 3 and 4 two waves share a SIMD, each
 * with half of the registers, if threads have at most 64 results: one wave
 * multiplies while the other waits. On sm_90 three workgroups share a
 * multiprocessor if threads have at most 32 results.
 */
#if KPK_TILE_RAW
#define TILED_KERNEL(results)                                                  \
    extern "C" __global__ __launch_bounds__(128,                               \
                                            (results) > 64 * 128 ? 1 : 2) void
#elif KPK_NVIDIA
#define TILED_KERNEL(results)                                                  \
    extern "C" __global__ __launch_bounds__(                                   \
        128, KPK_SM >= 90 && (results) <= 32 * 128 ? 3 : 2) void
#else
#define TILED_KERNEL(results) KERNEL_UP_TO(128)
#endif

/* Computes the tile by the format's own method. */
template <class F, int Rows, int Cols, int Passes, class Columns>
DEV void mat_mul_whole_tile(const MatMul<Columns> &m)
{
    typedef typename TileWay<F>::Form Form;
    /* raw tiles have registers for 128 results a thread */
    constexpr int passes = tile_is_raw<F> ? 1 : Passes;
    const bool finite = mat_mul_tile<Form, Rows, Cols, passes>(m);

    if constexpr (F::tile_bias == Bias::stored_sum)
        if (!finite)
            redo_columns<F, Cols>(m);
}

/*
 * The kernel: dst[col * nrows_dst + row]. Workgroup (bx, by) owns the Rows rows
 * from bx * Rows and the Cols columns from by * Cols; where that is more than
 * 64 results a thread, it takes the columns in Passes. On AMD and
 * sm_90 few columns, or the few that are left, have a smaller tile of their own
 * (few_columns.h), and so have up to GGUF_FINE_COLUMNS columns in a grid that
 * is as fine as its rows: a workgroup then takes its columns a tile after the
 * other. On sm_90 such a grid may cut the columns into 16, 32 or 64 instead of
 * Cols.
 */
template <class F, int Rows, int Cols, int Passes>
DEV void mat_mul(const void *vx, const void *vy, float *dst, int ncols_x,
                 int nrows_x, int ncols_y, int nrows_y, int nrows_dst)
{
    constexpr int fine = KPK_NVIDIA ? GGUF_FINE_ROWS : Rows / GGUF_FEW_PARTS;
    const size_t y_stride = (size_t)(nrows_y / Q8_1::elems) * Q8_1::bytes;
    constexpr int most = KPK_NVIDIA ? 2 * GGUF_FINE_COLUMNS : GGUF_FINE_COLUMNS;
    const bool is_fine = ncols_y <= most &&
                         (i32)gridDim.x >= (nrows_x + fine - 1) / fine &&
                         has_fine_tile<F>(vx, vy, y_stride);
    const int rows = is_fine ? fine : Rows;
    int cols = Cols;

    while (KPK_SM >= 90 && is_fine && cols > GGUF_FEW_COLUMNS &&
           cols / 2 * (i32)gridDim.y >= ncols_y)
        cols /= 2;

    MatMul<AllColumns> m = {static_cast<const u8 *>(vx),
                            static_cast<const u8 *>(vy),
                            dst,
                            ncols_x / F::elems,
                            nrows_x,
                            ncols_y,
                            nrows_dst,
                            y_stride,
                            (int)blockIdx.x * rows,
                            (int)blockIdx.y * cols,
                            rows,
                            {}};

    if (KPK_SM >= 90)
        m.ncols = min_of(ncols_y, m.col0 + cols);
    if (m.row0 < nrows_x && m.col0 < ncols_y)
        mat_mul_whole_tile<F, Rows, Cols, Passes>(m);
}
