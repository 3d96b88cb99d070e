/* raw_columns.h - tiles on CDNA with Q8_1 columns as they lie in memory
 * (tile_layout.h) */
#pragma once

#include "amd/mfma_products.h"
#include "amd/tile_copy.h"

/*
 * Thirds of blocks, so that neighbouring threads load neighbouring bytes. The
 * block in front stands in for a missing block: the rows have scales of zero
 * there, and if the stand-in's scale is not finite, the result is not finite
 * anyway.
 */
template <class F, int Rows, int Cols, int Parts = 1> struct RawColumns {
    typedef TileStep<F> Step;
    typedef TileLds<F, Rows, Cols> Lds;
    typedef TileCut<Rows, Cols, Parts> Cut;
    static constexpr int thirds = 6 * Cols / tile_threads;
    static constexpr int words = Q8_1::words / 3;

    int tid;
    const u8 *base;   /* the tile's, equal in all threads */
    u32 from[thirds]; /* offsets from base */
    PartOfRow part[thirds];
    Words<words> in[thirds];

    template <class Chosen>
    DEV_MEMBER RawColumns(const u8 *y, size_t stride, int col0, int ncols,
                          RowParts parts, const Chosen &chosen)
        : tid(chosen.thread()), base(y + stride * (size_t)col0)
    {
        UNROLL
        for (int i = 0; i < thirds; i++) {
            const int c = third(i) / 6;

            from[i] =
                (u32)(chosen.from(min_of(Cut::column(c), ncols - 1 - col0)) *
                          (int)stride +
                      (Cut::is_cut ? 0 : Step::column_block(0, which(i))) *
                          Q8_1::bytes +
                      word(i) * 4);
            part[i] = parts.part(Cut::part_of_column(c), F::elems / 32);
        }
    }

    DEV_MEMBER int third(int i) const
    {
        return tid + i * tile_threads;
    }
    DEV_MEMBER int which(int i) const
    {
        return third(i) / 3 % 2;
    }
    DEV_MEMBER int word(int i) const
    {
        return third(i) % 3 * words;
    }

    DEV_MEMBER void load(int step, int nblocks)
    {
        if constexpr (Cut::is_cut) {
            step = min_of(step, Step::count(nblocks) - 1);
            UNROLL
            for (int i = 0; i < thirds; i++)
                in[i] = load_three(
                    base + from[i] +
                    part[i].block(Step::column_block(step, which(i))) *
                        Q8_1::bytes);
            return;
        }
        if (Step::legacy && 2 * step + 1 == nblocks)
            one_back(from, Q8_1::bytes, [=](int i) { return which(i) == 1; });

        const u8 *at = column_step<F>(base, step, nblocks);

        UNROLL
        for (int i = 0; i < thirds; i++)
            in[i] = load_three(at + in_place(from[i]));
    }

    /* Volatile, so that the compiler does not pair stores: a pair needs an
     * addition for its address. */
    DEV_MEMBER void store(Lds &lds, int step, int) const
    {
        typedef volatile __attribute__((address_space(3))) u32 *Places;
        const Places y = (Places)(lds.y + tid * words);

        UNROLL
        for (int i = 0; i < thirds; i++) {
            UNROLL
            for (int w = 0; w < words; w++)
                y[i * tile_threads * words + w] =
                    w == 0 ? first_word_of(i, step) : in[i].w[w];
        }
    }

    /* A missing block of a part has no scale and no sum. */
    DEV_MEMBER u32 first_word_of(int i, int step) const
    {
        if (Cut::is_cut && word(i) == 0 &&
            !part[i].has(Step::column_block(step, which(i))))
            return 0;
        return in[i].w[0];
    }
};

template <class F, int Rows, int Cols, BlockPlace P, int Parts>
using RawTile =
    SteppedTile<F, Rows, Cols, Parts, P, RawColumns<F, Rows, Cols, Parts>,
                RawUnit<F, Rows, Cols, Parts>>;
