/* matrix_unit_tile.h - the products of a tile with AMD's matrix instructions */
#pragma once

#include "quantized/tile_layout.h"

#if KPK_MFMA || KPK_WMMA

/* Keeps an address in scalar registers: a load adds the lane's offset, not a
 * vector instruction before it. */
DEV const u8 *same_in_all(const u8 *at)
{
    typedef const __attribute__((address_space(1))) u8 *Global;
    Global global = (Global)at;

    asm("" : "+s"(global));
    return (const u8 *)global;
}

/*
 * A wave makes nrows x ncols units of 16 x 16 results: columns of y are the
 * rows of a unit, rows of x its columns, so neighbouring lanes store
 * neighbouring results. A unit's product of a Q8_1 block is a sum of integers,
 * and to each of them belong two scales, x's and y's.
 *
 * The sum begins at `magic`. Its bits, read as a float, are then magic_float
 * plus the sum, exactly below 2^22. One fused multiply-add takes magic_float
 * away and applies x's scale, (magic_float + sum) * s - magic_float * s,
 * rounded once, because magic_float * s is exact: s has at most 17 bits. A
 * second one applies y's scale and adds. So a result costs two instructions, or
 * one where they are packed.
 *
 * A lane has one row of x and several columns of y in a unit. Scales of columns
 * come from LDS, 16 bytes to a lane for four results.
 */

template <class F, int Rows, int Cols, int Parts = 1> struct TileUnit {
    typedef TileLds<F, Rows, Cols> Lds;
    typedef Unit<i8> U;
    typedef float Floats __attribute__((ext_vector_type(U::results)));

    static constexpr int results = (int)U::results;
    static constexpr int wave = (int)matrix_wave;
    static constexpr int waves = 128 / wave;
    static constexpr int ncols = Parts > 1 ? 1 : wave / 16; /* units */
    static constexpr int waves_across = Parts > 1 ? 1 : Cols / (16 * ncols);
    static constexpr int waves_down = waves / waves_across;
    static constexpr int nrows = Rows / waves_down / 16;
    /* units of columns that a wave reads; with parts, one for each part */
    static constexpr int held = Parts > 1 ? Parts / waves_down : ncols;
    static_assert(Parts == 1 || Cols / Parts == 16, "a unit to a part");
    /* Q8_1 blocks in a unit; scales and biases of a Q8_1 block */
    static constexpr int unit_blocks = (int)U::k / 32;
    static constexpr int scales = TileStep<F>::scales;
    static constexpr int biases = TileStep<F>::biases;

    int lane, row0, col0;
    Floats acc[nrows][ncols];

    DEV_MEMBER explicit TileUnit(int tid)
    {
        const int which = (int)uniform((u32)(tid / wave));

        lane = tid % wave;
        row0 = which / waves_across * nrows * 16;
        col0 = (Parts > 1 ? which : which % waves_across) * held * 16;
        UNROLL
        for (int i = 0; i < nrows; i++) {
            UNROLL
            for (int j = 0; j < ncols; j++)
                acc[i][j] = 0.0f;
        }
    }

    /* the first of the units of columns by which unit i of rows is
     * multiplied */
    static DEV_MEMBER constexpr int first_of(int i)
    {
        return Parts > 1 ? i * held / nrows : 0;
    }

    /* adds the products of both Q8_1 blocks of a step */
    DEV_MEMBER void multiply(const Lds &lds)
    {
        UNROLL
        for (int first = 0; first < 2; first += unit_blocks) {
            typename U::A y[held];
            typename U::B x[nrows];

            UNROLL
            for (int j = 0; j < held; j++)
                y[j] = typename U::A(fetch(lds.y, col0 + 16 * j, first));
            UNROLL
            for (int i = 0; i < nrows; i++)
                x[i] = typename U::B(fetch(lds.x, row0 + 16 * i, first));
            UNROLL
            for (int b = 0; b < unit_blocks; b++) {
                multiply_block(lds, x, y, first, b);
                schedule_fence();
            }
        }
        if (KPK_WMMA)
            side_by_side();
    }

    /* The sums of a unit are in consecutive registers: two neighbours can be
     * added to at once. */
    DEV_MEMBER void side_by_side()
    {
        UNROLL
        for (int i = 0; i < nrows; i++) {
            UNROLL
            for (int j = 0; j < ncols; j++)
                asm volatile("" : "+v"(acc[i][j]));
        }
    }

    /* fn(row, column, result) for each of this thread's */
    template <class Fn> DEV_MEMBER void each(Fn fn) const
    {
        UNROLL
        for (int j = 0; j < ncols; j++) {
            UNROLL
            for (int e = 0; e < results; e++) {
                UNROLL
                for (int i = 0; i < nrows; i++)
                    fn(row0 + 16 * i + (int)U::col((u32)e),
                       col0 + 16 * (first_of(i) + j) + (int)U::row((u32)e),
                       acc[i][j][e]);
            }
        }
    }

    DEV_MEMBER bool all_finite() const
    {
        Floats zeros = 0.0f;

        UNROLL
        for (int i = 0; i < nrows; i++) {
            UNROLL
            for (int j = 0; j < ncols; j++)
                zeros = fused(acc[i][j], (Floats)0.0f, zeros);
        }

        float all = 0;

        UNROLL
        for (int e = 0; e < results; e++)
            all += zeros[e];
        return all == 0;
    }

    /* Stores a whole tile from `to` on. A lane's offset is the same for all
     * units. */
    DEV_MEMBER void store_all(float *to, int stride) const
    {
        const u32 lane_at =
            (u32)((col0 + first_column()) * stride + row0 + lane % 16) * 4;

        UNROLL
        for (int j = 0; j < ncols; j++) {
            UNROLL
            for (int e = 0; e < results; e++) {
                const u8 *at = same_in_all(reinterpret_cast<const u8 *>(
                    to + (size_t)(16 * j + column_of(e)) * (size_t)stride));

                UNROLL
                for (int i = 0; i < nrows; i++)
                    *reinterpret_cast<float *>(const_cast<u8 *>(
                        at + lane_at + 64 * i)) = acc[i][j][e] * Lds::unit();
            }
        }
    }

    /* Stores the part of the tile that exists. */
    template <class Columns>
    DEV_MEMBER void store_tile(float *dst, int row0, int col0, int x_rows,
                               int y_cols, int dst_stride,
                               const Columns &columns) const
    {
        if (Columns::are_neighbours &&
            row0 + Rows <= min_of(x_rows, dst_stride) &&
            col0 + Cols <= y_cols && dst_stride < 1 << 24) {
            store_all(dst + (size_t)col0 * (size_t)dst_stride + row0,
                      dst_stride);
            return;
        }
        each([&](int r, int c, float sum) {
            r += row0, c += col0;
            if (r < x_rows && r < dst_stride && c < y_cols)
                dst[(size_t)columns.to(c) * (size_t)dst_stride + (size_t)r] =
                    sum * Lds::unit();
        });
    }

    /* the first column of the lane's results in a unit, and how far on result e
     * is */
    DEV_MEMBER int first_column() const
    {
        return KPK_WMMA_WIDE ? (int)U::row(0) : lane / 16 * results;
    }
    static DEV_MEMBER constexpr int column_of(int e)
    {
        return KPK_WMMA == 11 ? 16 / results * e : e;
    }
    /* the index of the first result among a unit's tile_column()s */
    DEV_MEMBER int first_result() const
    {
        return KPK_WMMA == 11 ? lane / 16 * results : first_column();
    }

    /* reads a unit's operands: 16 rows, blocks from `first` on */
    static DEV_MEMBER auto fetch(const u32 *from, int row, int first)
    {
        return [=](u32 r, u32 piece) {
            return load_pack<4>(from + row * tile_stride +
                                tile_piece((int)r, (int)piece + 2 * first));
        };
    }

    /* a number for each column of the lane's results in each unit */
    DEV_MEMBER void read_columns(Floats (&v)[held], const float *from) const
    {
        from += col0 + first_result();
        UNROLL
        for (int j = 0; j < held; j++) {
            UNROLL
            for (int e = 0; e < results; e += 4) {
                const Pack<float, 4> some = load_pack<4>(from + 16 * j + e);

                UNROLL
                for (int k = 0; k < 4; k++)
                    v[j][e + k] = some[(u32)k];
            }
        }
    }

    /* scales of the columns in block `which` of the step */
    DEV_MEMBER void read_scales(Floats (&v)[held], const Lds &lds,
                                int which) const
    {
        read_columns(v, lds.y_scale + which * Lds::col_slot);
    }

    DEV_MEMBER void multiply_block(const Lds &lds, const typename U::B *x,
                                   const typename U::A *y, int first, int b)
    {
        const int which = first + b;
        Floats y_scale[held];

        read_scales(y_scale, lds, which);
        UNROLL
        for (int i = 0; i < nrows; i++) {
            const int row = row0 + 16 * i + lane % 16;

            UNROLL
            for (int s = 0; s < scales; s++) {
                const int slot = Lds::one_scale ? 0 : which * scales + s;
                const float scale = lds.x_scale[slot * Lds::row_slot + row];
                const Floats less =
                    KPK_WMMA_WIDE ? less_of(lds, slot * Lds::row_slot + row)
                                  : -tile_magic_float * scale;
                Floats part[ncols];

                UNROLL
                for (int j = 0; j < ncols; j++)
                    part[j] = fused(dot(x[i], y[first_of(i) + j], first, b, s),
                                    (Floats)scale, less);
                if (KPK_WMMA) /* so that the next instructions issue in pairs */
                    schedule_fence();
                UNROLL
                for (int j = 0; j < ncols; j++)
                    acc[i][j] =
                        fused(part[j], y_scale[first_of(i) + j], acc[i][j]);
            }
        }
        if constexpr (Lds::own_biases) {
            UNROLL
            for (int s = 0; s < biases; s++)
                add_bias(lds, which * biases + s);
        }
    }

    static DEV_MEMBER float less_of(const Lds &lds, int at)
    {
        if constexpr (Lds::lesses)
            return lds.x_less[at];
        else
            return -tile_magic_float * lds.x_scale[at];
    }

    DEV_MEMBER void add_bias(const Lds &lds, int slot)
    {
        Floats sum[held];

        read_columns(sum, lds.y_sum + slot * Lds::col_slot);
        UNROLL
        for (int i = 0; i < nrows; i++) {
            const Floats x_bias =
                lds.x_bias[slot * Lds::row_slot + row0 + 16 * i + lane % 16];

            UNROLL
            for (int j = 0; j < ncols; j++)
                acc[i][j] = fused(x_bias, sum[first_of(i) + j], acc[i][j]);
        }
    }

#if KPK_WMMA
    /* Adds biases times the sums of columns, for eight steps; both factors are
     * f16 and need no conversion. */
    DEV_MEMBER void add_biases(const Lds &lds)
    {
        typedef Unit<f16> Halves;
        typename Halves::A y[held];

        UNROLL
        for (int j = 0; j < held; j++)
            y[j] = typename Halves::A([&](u32 c, u32 piece) {
                return half_piece(lds.y_half, Lds::y_half_slot,
                                  col0 + 16 * j + (int)c, (int)piece);
            });
        UNROLL
        for (int i = 0; i < nrows; i++) {
            const typename Halves::B x([&](u32 r, u32 piece) {
                return half_piece(lds.x_half, Lds::x_half_slot,
                                  row0 + 16 * i + (int)r, (int)piece);
            });

            UNROLL
            for (int j = 0; j < ncols; j++) {
                typename Halves::D d = bits_as<typename Halves::D>(acc[i][j]);

                if (tile_has_quarters) /* half of the pieces exist */
                    d = Halves::multiply_part(d, y[first_of(i) + j], x, 0);
                else
                    Halves::multiply(d, y[first_of(i) + j], x);
                acc[i][j] = bits_as<Floats>(d);
            }
        }
    }

    static DEV_MEMBER Piece half_piece(const u32 *half, int slot, int at,
                                       int piece)
    {
        const u32 *from =
            half + (tile_has_quarters ? 2 : 4) * piece * slot + at;

        if (tile_has_quarters)
            return {{from[0], from[slot], 0, 0}};
        return {{from[0], from[slot], from[2 * slot], from[3 * slot]}};
    }
#endif

    static DEV_MEMBER Floats fused(Floats a, Floats b, Floats c)
    {
        return __builtin_elementwise_fma(a, b, c);
    }

    /* part i of block b of the pieces */
    static DEV_MEMBER u32 part_of_block(int b, int i)
    {
#if KPK_WMMA_WIDE
        if (tile_by_words<F>)
            return (u32)(2 * i + b);
#endif
        return (u32)(b * ((int)U::parts / unit_blocks) + i);
    }

    /* magic_float + the products of block b of the pieces, or of its half s */
    static DEV_MEMBER Floats dot(const typename U::B &x, const typename U::A &y,
                                 int first, int b, int s)
    {
        constexpr int parts = (int)U::parts; /* for unit_blocks blocks */
        constexpr int of_block = parts / unit_blocks;
        typename U::D d;

        UNROLL
        for (int e = 0; e < results; e++)
            d.v[e] = (int)tile_magic;
        static_assert(scales == 1 || KPK_WMMA, "halves are in parts");
        UNROLL
        for (int part = 0; part < of_block; part++) {
            /* skip the other half; block 1 has its halves swapped in LDS */
            if (scales == 2 && KPK_WMMA == 11 && part != s)
                continue;
            if (scales == 2 && KPK_WMMA == 12 && part != (s ^ first))
                continue;
            d = U::multiply_part(d, y, x, part_of_block(b, part));
        }
        return bits_as<Floats>(d);
    }
};

#endif
