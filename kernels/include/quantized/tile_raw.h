/* tile_raw.h - tiles of raw columns (tile.h): from memory to LDS, turn by turn
 */
#pragma once

#include "quantized/raw_unit.h"
#include "quantized/tile_formats.h"

/* An offset that the compiler takes as new, so that it is added where a load or
 * store adds it, and nothing is made of it ahead of the loop. */
DEV u32 in_place(u32 &offset)
{
    asm("" : "+v"(offset));
    return offset;
}

/* Moves what there is none of to the block in front: in the last step only, so
 * behind a branch, which the compiler keeps because of the asm. */
template <int N, class Which>
DEV void one_back(u32 (&from)[N], u32 nbytes, Which which)
{
    UNROLL
    for (int i = 0; i < N; i++) {
        from[i] -= which(i) ? nbytes : 0;
        asm volatile("" : "+v"(from[i]));
    }
}

/* where a step of the columns is, or the last one */
template <class F>
DEV const u8 *column_step(const u8 *base, int step, int nblocks)
{
    typedef TileStep<F> Step;

    step = min_of(step, Step::count(nblocks) - 1);
    return same_in_all(base +
                       (size_t)Step::column_block(step, 0) * Q8_1::bytes);
}

/*
 * Thirds of blocks, so that neighbouring threads load neighbouring bytes. A
 * block that is missing is the one in front of it: its rows' scales are zeros,
 * and where its own is not finite, the result is not, anyway.
 */
template <class F, int Rows, int Cols> struct RawColumns {
    typedef TileStep<F> Step;
    typedef TileLds<F, Rows, Cols> Lds;
    static constexpr int thirds = 6 * Cols / tile_threads;
    static constexpr int words = Q8_1::words / 3;

    const u8 *base;   /* of the tile, the same for all threads */
    u32 from[thirds]; /* behind it */
    Words<words> in[thirds];

    DEV_MEMBER RawColumns(const u8 *y, size_t stride, int col0, int ncols)
        : base(y + stride * (size_t)col0)
    {
        UNROLL
        for (int i = 0; i < thirds; i++)
            from[i] =
                (u32)(min_of(third(i) / 6, ncols - 1 - col0) * (int)stride +
                      Step::column_block(0, which(i)) * Q8_1::bytes +
                      word(i) * 4);
    }

    static DEV_MEMBER int third(int i)
    {
        return tile_thread() + i * tile_threads;
    }
    static DEV_MEMBER int which(int i)
    {
        return third(i) / 3 % 2;
    }
    static DEV_MEMBER int word(int i)
    {
        return third(i) % 3 * words;
    }

    DEV_MEMBER void load(int step, int nblocks)
    {
        if (Step::legacy && 2 * step + 1 == nblocks)
            one_back(from, Q8_1::bytes, [=](int i) { return which(i) == 1; });

        const u8 *at = column_step<F>(base, step, nblocks);

        UNROLL
        for (int i = 0; i < thirds; i++)
            in[i] = load_three(at + in_place(from[i]));
    }

    /* Volatile, so that the compiler makes no pairs, whose places it would have
     * to add up. */
    DEV_MEMBER void store(Lds &lds) const
    {
        typedef volatile __attribute__((address_space(3))) u32 *Places;
        const Places y = (Places)(lds.y + tile_thread() * words);

        UNROLL
        for (int i = 0; i < thirds; i++) {
            UNROLL
            for (int w = 0; w < words; w++)
                y[i * tile_threads * words + w] = in[i].w[w];
        }
    }
};

/* ---- weights ----
 *
 * What the loop has side by side are turns. A block of a K format has four
 * steps, each a turn of its own: what they share is loaded once, and each of
 * them knows where its bits are.
 */
template <class F, int Rows, class Lds, BlockPlace P,
          bool Legacy = TileStep<F>::legacy>
struct RawRows;

template <class F, int Rows, class Lds, BlockPlace P>
struct RawRows<F, Rows, Lds, P, true> {
    typedef TileStep<F> Step;
    /* a product of biases is of two steps */
    static constexpr int turns = Lds::half_biases ? 2 : 1;
    static constexpr int pieces = 2 * Rows / tile_threads;

    const u8 *base; /* of the tile */
    u32 row[pieces];
    typename F::Raw in[pieces];

    DEV_MEMBER RawRows(const u8 *x, int row_bytes, int nrows) : base(x)
    {
        UNROLL
        for (int p = 0; p < pieces; p++)
            row[p] = (u32)(min_of(tile_thread() / 2 + p * 64, nrows - 1) *
                               row_bytes +
                           tile_thread() % 2 * F::bytes);
    }

    template <int Turn> DEV_MEMBER void load(int step, int nblocks)
    {
        const int piece = tile_thread() % 2;

        if (2 * step + 1 == nblocks)
            one_back(row, F::bytes, [=](int) { return piece == 1; });
        step = min_of(step, Step::count(nblocks) - 1);

        const u8 *at = same_in_all(base + (size_t)(2 * step) * F::bytes);

        UNROLL
        for (int p = 0; p < pieces; p++)
            in[p] = F::template load<P>(at + in_place(row[p]), 0);
    }

    template <int Turn> DEV_MEMBER void store(Lds &lds, int step, int nblocks)
    {
        const int piece = tile_thread() % 2;

        UNROLL
        for (int p = 0; p < pieces; p++) {
            const int row = tile_thread() / 2 + p * 64;
            const Chunk c = F::unpack(not_before(in[p]), 0);
            float scale = c.scale[0] * (1 / Lds::unit());
            float bias = F::bias_factor != 0 ? c.scale[0] : c.bias[0];

            if (2 * step + 1 == nblocks && piece == 1) {
                scale = bias = 0;
                asm volatile("" : "+v"(scale), "+v"(bias));
            }
            store_chunk<F>(lds.x + p * 64 * tile_stride, tile_thread() / 2,
                           piece, c.q);
            lds.x_scale[piece * Lds::row_slot + Lds::place(row)] = scale;
            if constexpr (Lds::lesses)
                lds.x_less[piece * Lds::row_slot + Lds::place(row)] =
                    -tile_magic_float * scale;
            if constexpr (Lds::half_biases)
                reinterpret_cast<u16 *>(
                    lds.x_half)[2 * (Turn * Lds::row_slot + Lds::place(row)) +
                                piece] = (u16)float_to_half(bias);
        }
    }
};

template <class F, int Rows, class Lds, BlockPlace P>
struct RawRows<F, Rows, Lds, P, false> {
    static constexpr int turns = 4;
    static constexpr int pieces = 2 * Rows / tile_threads;

    const u8 *base; /* of the tile */
    u32 from[pieces];
    u32 own; /* of the row whose head this thread has, if it has one's */
    typename F::Bytes in[pieces];
    typename F::Head head;

    DEV_MEMBER RawRows(const u8 *x, int row_bytes, int nrows) : base(x)
    {
        UNROLL
        for (int p = 0; p < pieces; p++)
            from[p] = (u32)(min_of(tile_thread() / 2 + p * 64, nrows - 1) *
                                row_bytes +
                            tile_thread() % 2 * 16);
        own = (u32)(min_of(own_row(), nrows - 1) * row_bytes);
    }

    static DEV_MEMBER int own_row()
    {
        return tile_thread() / 2 + tile_thread() % 2 * 64;
    }

    template <int Turn> DEV_MEMBER void load(int step, int nblocks)
    {
        const int block = min_of(step / turns, nblocks - 1);
        const u8 *at = same_in_all(base + (size_t)block * F::bytes);

        UNROLL
        for (int p = 0; p < pieces; p++) {
            const u32 mine = in_place(from[p]);

            if (Turn == 0) /* of both pieces */
                F::template load_row<P>(in[p],
                                        at + (mine - tile_thread() % 2 * 16u));
            F::template load_piece<Turn, P>(in[p], at + mine);
        }
        if (Turn == 0)
            head.template load<P>(at + in_place(own));
    }

    template <int Turn> DEV_MEMBER void store(Lds &lds, int, int)
    {
        const int piece = tile_thread() % 2;

        UNROLL
        for (int p = 0; p < pieces; p++) {
            const int row = tile_thread() / 2 + p * 64;
            u32 q[8];

            F::template unpack<Turn>(in[p], piece, q);
            store_chunk<F>(lds.x + p * 64 * tile_stride, tile_thread() / 2,
                           piece, q);
            F::template store<Turn>(lds, in[p], Lds::place(row), piece);
        }
        head.template store<Turn>(lds, Lds::place(own_row()));
    }
};

/* ---- the loop ---- */

template <class F, int Rows, int Cols, BlockPlace P> struct RawTurns {
    typedef TileLds<F, Rows, Cols> Lds;
    typedef RawUnit<F, Rows, Cols> Product;
    typedef RawRows<F, Rows, Lds, P> Weights;
    static constexpr int turns = Weights::turns;

    Weights rows;
    RawColumns<F, Rows, Cols> columns;
    int nblocks, steps, step;

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
        columns.store(lds);
        __syncthreads();
    }

    /*
     * Whether there is a next one. What a turn loads it stores: what goes round
     * to the next one, the compiler would copy, and wait for it. The last turn
     * loads what it has.
     */
    template <int Turn> DEV_MEMBER bool turn(Lds &lds, Product &product)
    {
        constexpr int next = (Turn + 1) % turns;

        step++;
        rows.template load<next>(step, nblocks);
        columns.load(step, nblocks);
        product.template multiply<Turn>(lds);
        __syncthreads();
        if ((TileStep<F>::legacy || next == 0) && step == steps)
            return false;
        store<next>(lds);
        return true;
    }
};

template <class F, int Rows, int Cols, BlockPlace P> struct RawTile {
    typedef TileLds<F, Rows, Cols> Lds;

    /* as Tile::run() */
    static DEV_MEMBER void run(Lds &lds, const u8 *x, const u8 *y, float *dst,
                               int row0, int col0, int nblocks, int x_rows,
                               int y_cols, size_t y_stride, int dst_stride)
    {
        const size_t row_bytes = (size_t)nblocks * F::bytes;
        const int steps = TileStep<F>::count(nblocks);
        RawUnit<F, Rows, Cols> product(tile_thread());
        RawTurns<F, Rows, Cols, P> turns{
            {x + row_bytes * (size_t)row0, (int)row_bytes, x_rows - row0},
            {y, y_stride, col0, y_cols},
            nblocks,
            steps,
            0};

        if (steps > 0)
            turns.run(lds, product);
        if (row0 + Rows <= min_of(x_rows, dst_stride) &&
            col0 + Cols <= y_cols && dst_stride < 1 << 24) {
            product.store_all(dst + (size_t)col0 * (size_t)dst_stride + row0,
                              dst_stride);
            return;
        }
        product.each([&](int r, int c, float sum) {
            r += row0, c += col0;
            if (r < x_rows && r < dst_stride && c < y_cols)
                dst[(size_t)c * (size_t)dst_stride + (size_t)r] =
                    sum * Lds::unit();
        });
    }
};
