/* tile_copy.h - tiles from memory to LDS, step by step, with the needs of a
 * step of weights known to the compiler */
#pragma once

#include "amd/tile_formats.h"
#include "quantized/matrix_unit_tile.h"

/* An offset that the compiler takes as new: loads and stores add it themselves,
 * and the compiler computes nothing from it ahead of the loop. */
DEV u32 in_place(u32 &offset)
{
    asm("" : "+v"(offset));
    return offset;
}

/* Moves the offsets of missing blocks to the block in front. Needed in the last
 * step only, so behind a branch, which the compiler keeps because of the
 * asm. */
template <int N, class Which>
DEV void one_back(u32 (&from)[N], u32 nbytes, Which which)
{
    UNROLL
    for (int i = 0; i < N; i++) {
        from[i] -= which(i) ? nbytes : 0;
        asm volatile("" : "+v"(from[i]));
    }
}

/* The address of a step of the columns; of the last step for later ones. */
template <class F>
DEV const u8 *column_step(const u8 *base, int step, int nblocks)
{
    typedef TileStep<F> Step;

    step = min_of(step, Step::count(nblocks) - 1);
    return same_in_all(base +
                       (size_t)Step::column_block(step, 0) * Q8_1::bytes);
}

/* ---- weights ----
 *
 * The loop is unrolled into turns. A block of a K format has four steps, and
 * each step is a turn. So bytes that the steps share are loaded once, and
 * shifts are constants.
 */
template <class F, class Cut, class Lds, BlockPlace P, class Chosen,
          bool Legacy = TileStep<F>::legacy>
struct StepRows;

template <class F, class Cut, class Lds, BlockPlace P, class Chosen>
struct StepRows<F, Cut, Lds, P, Chosen, true> {
    typedef TileStep<F> Step;
    /* a product of biases takes two steps */
    static constexpr int turns = Lds::half_biases ? 2 : 1;
    static constexpr int pieces = 2 * Cut::tile_rows / tile_threads;

    Chosen chosen;
    const u8 *base; /* of the tile */
    u32 row[pieces];
    PartOfRow part[pieces];
    typename F::Raw in[pieces];

    DEV_MEMBER StepRows(const u8 *x, int row_bytes, int nrows, RowParts parts,
                        const Chosen &chosen)
        : chosen(chosen), base(x)
    {
        UNROLL
        for (int p = 0; p < pieces; p++) {
            const int r = chosen.thread() / 2 + p * 64;

            row[p] = (u32)(min_of(Cut::row(r), nrows - 1) * row_bytes +
                           (Cut::is_cut ? 0 : chosen.thread() % 2 * F::bytes));
            part[p] = parts.part(Cut::part_of_row(r));
        }
    }

    template <int Turn> DEV_MEMBER void load(int step, int nblocks)
    {
        const int piece = chosen.thread() % 2;

        if (!Cut::is_cut && 2 * step + 1 == nblocks)
            one_back(row, F::bytes, [=](int) { return piece == 1; });
        step = min_of(step, Step::count(nblocks) - 1);
        if constexpr (Cut::is_cut) {
            UNROLL
            for (int p = 0; p < pieces; p++)
                in[p] = F::template load<P>(
                    base + row[p] + part[p].block(2 * step + piece) * F::bytes,
                    0);
            return;
        }

        const u8 *at = same_in_all(base + (size_t)(2 * step) * F::bytes);

        UNROLL
        for (int p = 0; p < pieces; p++)
            in[p] = F::template load<P>(at + in_place(row[p]), 0);
    }

    template <int Turn> DEV_MEMBER void store(Lds &lds, int step, int nblocks)
    {
        const int piece = chosen.thread() % 2;

        UNROLL
        for (int p = 0; p < pieces; p++) {
            const int row = chosen.thread() / 2 + p * 64;
            const Chunk c = F::unpack(not_before(in[p]), 0);
            float scale = c.scale[0] * (1 / Lds::unit());
            float bias = F::bias_factor != 0 ? c.scale[0] : c.bias[0];

            if (2 * step + 1 == nblocks && piece == 1) {
                scale = bias = 0;
                asm volatile("" : "+v"(scale), "+v"(bias));
            }
            store_chunk<F>(lds.x + p * 64 * tile_stride, chosen.thread() / 2,
                           piece, c.q);
            lds.x_scale[piece * Lds::row_slot + Lds::place(row)] = scale;
            if constexpr (Lds::lesses)
                lds.x_less[piece * Lds::row_slot + Lds::place(row)] =
                    -tile_magic_float * scale;
            if constexpr (Lds::half_biases)
                reinterpret_cast<u16 *>(
                    lds.x_half)[2 * (Turn * Lds::row_slot + Lds::place(row)) +
                                piece] = (u16)float_to_half(bias);
            if constexpr (Lds::step_biases)
                store_half(lds.x_half, Lds::x_half_slot, row, step, piece,
                           float_to_half(bias), 2 * step + 2 >= nblocks);
        }
    }
};

template <class F, class Cut, class Lds, BlockPlace P, class Chosen>
struct StepRows<F, Cut, Lds, P, Chosen, false> {
    static constexpr int turns = 4;
    static constexpr int pieces = 2 * Cut::tile_rows / tile_threads;

    Chosen chosen;
    const u8 *base; /* of the tile */
    u32 from[pieces];
    u32 own; /* the row whose head this thread loads, if any */
    PartOfRow part[pieces], own_part;
    typename F::Bytes in[pieces];
    typename F::Head head;

    DEV_MEMBER StepRows(const u8 *x, int row_bytes, int nrows, RowParts parts,
                        const Chosen &chosen)
        : chosen(chosen), base(x)
    {
        UNROLL
        for (int p = 0; p < pieces; p++) {
            const int r = chosen.thread() / 2 + p * 64;

            from[p] = (u32)(min_of(Cut::row(r), nrows - 1) * row_bytes +
                            chosen.thread() % 2 * 16);
            part[p] = parts.part(Cut::part_of_row(r));
        }
        own = (u32)(min_of(Cut::row(own_row()), nrows - 1) * row_bytes);
        own_part = parts.part(Cut::part_of_row(own_row()));
    }

    DEV_MEMBER int own_row() const
    {
        return KPK_WMMA_WIDE ? chosen.thread()
                             : chosen.thread() / 2 + chosen.thread() % 2 * 64;
    }

    template <int Turn> DEV_MEMBER void load(int step, int nblocks)
    {
        const int block = min_of(step / turns, nblocks - 1);
        const u8 *at =
            Cut::is_cut ? base : same_in_all(base + (size_t)block * F::bytes);

        UNROLL
        for (int p = 0; p < pieces; p++) {
            const u32 mine = Cut::is_cut
                                 ? from[p] + part[p].block(block) * F::bytes
                                 : in_place(from[p]);

            if (Turn == 0) /* of both pieces */
                F::template load_row<P>(
                    in[p], at + (mine - chosen.thread() % 2 * 16u));
            F::template load_piece<Turn, P>(in[p], at + mine);
        }
        if (Turn == 0)
            head.template load<P>(
                at + (Cut::is_cut ? own + own_part.block(block) * F::bytes
                                  : in_place(own)));
    }

    template <int Turn> DEV_MEMBER void store(Lds &lds, int, int)
    {
        const int piece = chosen.thread() % 2;

        UNROLL
        for (int p = 0; p < pieces; p++) {
            const int row = chosen.thread() / 2 + p * 64;
            u32 q[8];

            F::template unpack<Turn>(in[p], piece, q);
            store_chunk<F>(lds.x + p * 64 * tile_stride, chosen.thread() / 2,
                           piece, q);
            F::template store<Turn>(lds, in[p], Lds::place(row), piece);
        }
        head.template store<Turn>(lds, Lds::place(own_row()));
    }
};

/* ---- the loop ---- */

template <class F, class Cut, class Lds, BlockPlace P, class Columns,
          class Product, class Chosen>
struct TileSteps {
    typedef StepRows<F, Cut, Lds, P, Chosen> Weights;
    static constexpr int turns = Weights::turns;

    Weights rows;
    Columns columns;
    int nblocks, steps, step; /* blocks and steps of a part */

    DEV_MEMBER void run(Lds &lds, Product &product)
    {
        rows.template load<0>(0, nblocks);
        columns.load(0, nblocks);
        store<0>(lds);
        if constexpr (turns == 1) {
            while (turn<0>(lds, product))
                ;
        } else if constexpr (turns == 2) {
            while (turn<0>(lds, product) && turn<1>(lds, product))
                ;
        } else {
            while (turn<0>(lds, product) && turn<1>(lds, product) &&
                   turn<2>(lds, product) && turn<3>(lds, product))
                ;
        }
        product.finish(lds, steps);
    }

    template <int Turn> DEV_MEMBER void store(Lds &lds)
    {
        rows.template store<Turn>(lds, step, nblocks);
        columns.store(lds, step, nblocks);
        __syncthreads();
    }

    /*
     * Runs a turn; returns whether there is a next step. A turn stores the
     * values that it loads: the compiler would copy values kept for the next
     * turn, which waits for the loads. The last turn loads its own bytes again.
     */
    template <int Turn> DEV_MEMBER bool turn(Lds &lds, Product &product)
    {
        constexpr int next = (Turn + 1) % turns;

        step++;
        rows.template load<next>(step, nblocks);
        columns.load(step, nblocks);
        product.template multiply<Turn>(lds, step, steps);
        __syncthreads();
        if ((TileStep<F>::legacy || next == 0) && step == steps)
            return false;
        store<next>(lds);
        return true;
    }
};

template <class F, int Rows, int Cols, int Parts, BlockPlace P, class Columns,
          class Product>
struct SteppedTile {
    typedef TileLds<F, Rows, Cols> Lds;
    typedef TileCut<Rows, Cols, Parts> Cut;

    /* as Tile::run() */
    template <class Chosen>
    static DEV_MEMBER bool run(Lds &lds, const u8 *x, const u8 *y, float *dst,
                               int row0, int col0, int nblocks, int x_rows,
                               int y_cols, size_t y_stride, int dst_stride,
                               const Chosen &chosen)
    {
        const size_t row_bytes = (size_t)nblocks * F::bytes;
        const RowParts parts = parts_of_row<F, Parts>(nblocks);
        const int steps = TileStep<F>::count(parts.blocks);
        Product product(chosen.thread());
        TileSteps<F, Cut, Lds, P, Columns, Product, Chosen> turns{
            {x + row_bytes * (size_t)row0, (int)row_bytes, x_rows - row0, parts,
             chosen},
            {y, y_stride, col0, y_cols, parts, chosen},
            parts.blocks,
            steps,
            0};

        if (steps > 0)
            turns.run(lds, product);
        if constexpr (Cut::is_cut)
            store_parts<Cut>(lds, product, dst, row0, col0,
                             min_of(x_rows, dst_stride), y_cols, dst_stride,
                             chosen);
        else
            product.store_tile(dst, row0, col0, x_rows, y_cols, dst_stride,
                               chosen);
        if constexpr (Lds::asks_finite)
            return product.all_finite();
        else
            return true;
    }
};
