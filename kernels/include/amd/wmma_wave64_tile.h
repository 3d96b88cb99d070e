/* wmma_wave64_tile.h - tiles by WMMA in waves of 64: a lane has four
 * results of a unit, whose multiply-adds take a cycle each */
#pragma once

#include "amd/tile_copy.h"

/*
 * A step of columns: whole blocks, two to a column. The block in front stands
 * in for a missing block, as in StepRows, where the scale is then zero: if the
 * stand-in is not finite, the result is not finite anyway.
 */
template <class F, int Rows, int Cols, int Parts = 1> struct WideColumns {
    typedef TileStep<F> Step;
    typedef TileLds<F, Rows, Cols> Lds;
    typedef TileCut<Rows, Cols, Parts> Cut;
    static constexpr int blocks = 2 * Cols / tile_threads;

    const u8 *base;   /* the tile's, equal in all threads */
    u32 from[blocks]; /* offsets from base */
    PartOfRow part[blocks];
    Words<Q8_1::words> in[blocks];

    template <class Chosen>
    DEV_MEMBER WideColumns(const u8 *y, size_t stride, int col0, int ncols,
                           RowParts parts, const Chosen &chosen)
        : base(y + stride * (size_t)col0)
    {
        static_assert(Chosen::are_neighbours, "offsets are from column col0");
        UNROLL
        for (int p = 0; p < blocks; p++) {
            const int c = column(p);

            from[p] =
                (u32)(chosen.from(min_of(Cut::column(c), ncols - 1 - col0)) *
                          (int)stride +
                      (Cut::is_cut ? 0 : Step::column_block(0, which())) *
                          Q8_1::bytes);
            part[p] = parts.part(Cut::part_of_column(c), F::elems / 32);
        }
    }

    static DEV_MEMBER int column(int p)
    {
        return tile_thread() / 2 + p * (tile_threads / 2);
    }
    static DEV_MEMBER int which()
    {
        return tile_thread() % 2;
    }

    DEV_MEMBER void load(int step, int nblocks)
    {
        if constexpr (Cut::is_cut) {
            step = min_of(step, Step::count(nblocks) - 1);
            UNROLL
            for (int p = 0; p < blocks; p++)
                in[p] = load_words<Q8_1::words, Access::word>(
                    base + from[p] +
                    part[p].block(Step::column_block(step, which())) *
                        Q8_1::bytes);
            return;
        }
        if (Step::legacy && 2 * step + 1 == nblocks)
            one_back(from, Q8_1::bytes, [=](int) { return which() == 1; });

        const u8 *at = column_step<F>(base, step, nblocks);

        UNROLL
        for (int p = 0; p < blocks; p++)
            in[p] =
                load_words<Q8_1::words, Access::word>(at + in_place(from[p]));
    }

    DEV_MEMBER void store(Lds &lds, int step, int nblocks) const
    {
        UNROLL
        for (int p = 0; p < blocks; p++) {
            const u32(&w)[Q8_1::words] = in[p].w;
            const int at = which() * Lds::col_slot + tile_column(column(p));
            const u32 head = head_of(p, step);
            const float d = half_to_float(head);

            store_column<F>(lds.y + p * (tile_threads / 2) * tile_stride,
                            tile_thread() / 2, which(), w + 1);
            lds.y_scale[at] = d;
            if constexpr (Lds::halves)
                store_half(lds.y_half, Lds::y_half_slot, column(p),
                           step % Lds::half_turns, which(), head >> 16,
                           Lds::step_biases && 2 * step + 2 >= nblocks);
            if constexpr (Lds::own_biases) {
                UNROLL
                for (int half = 0; half < 2; half++) {
                    int sum = 0;

                    UNROLL
                    for (int i = 0; i < 4; i++)
                        sum = dot4(w[1 + 4 * half + i], 0x01010101u, sum);
                    lds.y_sum[(2 * which() + half) * Lds::col_slot +
                              tile_column(column(p))] = d * (float)sum;
                }
            }
        }
    }

    /* d and s; a missing block of a part has none */
    DEV_MEMBER u32 head_of(int p, int step) const
    {
        if (Cut::is_cut && !part[p].has(Step::column_block(step, which())))
            return 0;
        return in[p].w[0];
    }
};

template <class F, int Rows, int Cols, int Parts = 1>
struct WideUnit : TileUnit<F, Rows, Cols, Parts> {
    typedef TileUnit<F, Rows, Cols, Parts> Base;
    typedef TileLds<F, Rows, Cols> Lds;
    typedef Unit<f16> Halves;

    using Base::acc;
    using Base::col0;
    using Base::first_of;
    using Base::held;
    using Base::lane;
    using Base::ncols;
    using Base::nrows;
    using Base::row0;

    DEV_MEMBER explicit WideUnit(int tid) : Base(tid)
    {
    }

    /* Multiplies step number done - 1, in turn Turn of the unrolled loop. */
    template <int Turn>
    DEV_MEMBER void multiply(const Lds &lds, int done, int steps)
    {
        Base::multiply(lds);
        if constexpr (Lds::step_biases)
            if (done % tile_bias_steps == 0 || done == steps)
                Base::add_biases(lds);
        if constexpr (Lds::minima && Turn + 1 == Lds::half_turns)
            add_minima(lds);
    }

    DEV_MEMBER void finish(const Lds &, int) const
    {
    }

    /* Minima and the columns' sums are integers that f16 holds: one product
     * adds a block's minima, and half of its pieces exist. */
    DEV_MEMBER void add_minima(const Lds &lds)
    {
        typename Halves::A y[held];

        UNROLL
        for (int j = 0; j < held; j++)
            y[j] = steps_of(lds.y_half, Lds::y_half_slot, col0 + 16 * j);
        UNROLL
        for (int i = 0; i < nrows; i++) {
            const typename Base::Floats least =
                lds.x_min[row0 + 16 * i + lane % 16];
            const typename Halves::B x =
                steps_of(lds.x_half, Lds::x_half_slot, row0 + 16 * i);

            UNROLL
            for (int j = 0; j < ncols; j++) {
                const typename Halves::D sum = Halves::multiply_part(
                    typename Halves::D{}, y[first_of(i) + j], x, 0);

                acc[i][j] = Base::fused(bits_as<typename Base::Floats>(sum),
                                        -least, acc[i][j]);
            }
        }
    }

    /* two f16 for each of four steps: a lane has one step on gfx12, all four on
     * gfx11 */
    DEV_MEMBER typename Halves::A steps_of(const u32 *half, int slot,
                                           int first) const
    {
        typename Halves::A a = {};

        half += first + lane % 16;
        if (tile_has_quarters)
            half += lane / 16 * slot;
        UNROLL
        for (int k = 0; k < (tile_has_quarters ? 1 : 4); k++)
            a.piece[0][(u32)k] = half[k * slot];
        return a;
    }
};

template <class F, int Rows, int Cols, BlockPlace P, int Parts>
using WideTile =
    SteppedTile<F, Rows, Cols, Parts, P, WideColumns<F, Rows, Cols, Parts>,
                WideUnit<F, Rows, Cols, Parts>>;
