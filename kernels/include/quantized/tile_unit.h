/* tile_unit.h - the products of a tile with AMD's matrix instructions */
#pragma once

#include "quantized/tile.h"

#if KPK_MFMA || KPK_WMMA

/*
 * A wave makes nrows x ncols units of 16 x 16 results: columns of y are the
 * rows of a unit, rows of x its columns, so neighbouring lanes store
 * neighbouring results. A unit's product of a Q8_1 block is a sum of integers,
 * and to each of them belong two scales, x's and y's.
 *
 * The sum begins at `magic`. Its bits are then those of a float, magic_float
 * plus the sum: below 2^22 that is exact. One fused multiply-add takes
 * magic_float away and applies x's scale, (magic_float + sum) * s -
 * magic_float * s, rounded once, because magic_float * s is exact: s has at
 * most 17 bits. A second one applies y's scale and adds. So a result costs two
 * instructions, or one where they are packed.
 *
 * A lane has one row of x and several columns of y in a unit. Scales of columns
 * come from LDS, 16 bytes to a lane for four results. With raw columns, where
 * products take so little time that LDS could not follow, another product
 * brings them to their lanes: 64 scales times one, all f16, which keeps the
 * vector ALU free. There further products add the biases (TileBias).
 */

#if KPK_TILE_RAW
/* An address in scalar registers, to which the compiler adds no lane's part:
 * loads do that. */
DEV const u8 *same_in_all(const u8 *at)
{
    typedef const __attribute__((address_space(1))) u8 *Global;
    Global global = (Global)at;

    asm("" : "+s"(global));
    return (const u8 *)global;
}

typedef float MatrixF16 __attribute__((ext_vector_type(16)));

/* a[64] times b[16] for each of its sixteens, of four products each, added to
 * sums: lane l has row l of a and column l % 16 of b */
DEV MatrixF16 four_units(Pack<u32, 2> a, Pack<u32, 2> b, MatrixF16 sums)
{
    return __builtin_amdgcn_mfma_f32_16x16x4f16(
        bits_as<MatrixH4>(a), bits_as<MatrixH4>(b), sums, 0, 0, 0);
}

enum class BiasWay { none, halves, sums };

/* The biases of a wave's rows, and what its columns multiply them with. */
template <class Product, BiasWay> struct TileBias {
};

/*
 * Both are f16, and so are taken as they are. Four Q8_1 blocks, those of two
 * steps, go to a product.
 */
template <class Product> struct TileBias<Product, BiasWay::halves> {
    Pack<u32, 2> y;

    template <int Turn, class Lds>
    DEV_MEMBER void add(Product &p, const Lds &lds, Pack<u32, 2> heads)
    {
        y[Turn % 2] = __builtin_amdgcn_perm(heads[1], heads[0], 0x07060302u);
        if (Turn % 2 == 1)
            multiply(p, lds, true);
    }

    /* what the last of an odd number of steps has left */
    template <class Lds>
    DEV_MEMBER void finish(Product &p, const Lds &lds, int steps)
    {
        if (Lds::minima || steps % 2 == 0)
            return; /* K formats have an even number of steps */
        y[1] = 0;
        multiply(p, lds, false);
    }

    template <class Lds>
    DEV_MEMBER void multiply(Product &p, const Lds &lds, bool both) const
    {
        UNROLL
        for (int i = 0; i < Product::nrows; i++) {
            const int at =
                Lds::place(p.row0) + p.lane % 16 + Lds::place(16 * i);
            const Pack<u32, 2> x = {
                {lds.x_half[at], both ? lds.x_half[Lds::row_slot + at] : 0}};

            if constexpr (Lds::minima) {
                const typename Product::Floats least = lds.x_min[at];
                MatrixF16 sum = four_units(y, x, MatrixF16{});

                asm volatile("" : "+v"(sum)); /* see products_are_here() */
                schedule_fence();

                UNROLL
                for (int j = 0; j < Product::ncols; j++)
                    p.acc[i][j] = Product::fused(Product::part_of(sum, j),
                                                 -least, p.acc[i][j]);
            } else {
                MatrixF16 sum;

                __builtin_memcpy(&sum, p.acc[i], sizeof(sum));
                sum = four_units(y, x, sum);
                __builtin_memcpy(p.acc[i], &sum, sizeof(sum));
            }
        }
    }
};

/* Sums of quants are made here. Lane l has the sums of block l / 16 % 2, half
 * l / 32, which are in different banks. Products of f32 add them. */
template <class Product> struct TileBias<Product, BiasWay::sums> {
    template <int, class Lds>
    DEV_MEMBER void add(Product &p, const Lds &lds, Pack<u32, 2>) const
    {
        const int which = p.lane / 16 % 2, half = p.lane / 32;
        float x[Product::nrows], y[Product::ncols];

        UNROLL
        for (int i = 0; i < Product::nrows; i++)
            x[i] = lds.x_bias[Lds::bias_at(which, half) + Lds::place(p.row0) +
                              Lds::place(16 * i) + p.lane % 16];
        UNROLL
        for (int j = 0; j < Product::ncols; j++)
            y[j] = sum(lds, p.col0 + 16 * j + p.lane % 16, which, half);
        UNROLL
        for (int i = 0; i < Product::nrows; i++) {
            UNROLL
            for (int j = 0; j < Product::ncols; j++)
                p.acc[i][j] = __builtin_amdgcn_mfma_f32_16x16x4f32(
                    y[j], x[i], p.acc[i][j], 0, 0, 0);
        }
    }

    template <class Lds>
    static DEV_MEMBER float sum(const Lds &lds, int col, int which, int half)
    {
        const u32 *block = lds.y + col * raw_column + which * Q8_1::words;
        int of_quants = 0;

        UNROLL
        for (int i = 1; i < 5; i++)
            of_quants = dot4(block[4 * half + i], 0x01010101u, of_quants);
        return half_to_float(block[0]) * (float)of_quants;
    }
};
#endif

template <class F, int Rows, int Cols> struct TileUnit {
    typedef TileLds<F, Rows, Cols> Lds;
    typedef Unit<i8> U;
    typedef float Floats __attribute__((ext_vector_type(U::results)));
    typedef Pack<u32, 2> Heads;

    static constexpr int results = (int)U::results;
    static constexpr int wave = (int)matrix_wave;
    static constexpr int waves = 128 / wave;
    static constexpr int ncols = wave / 16; /* units */
    static constexpr int waves_across = Cols / (16 * ncols);
    static constexpr int waves_down = waves / waves_across;
    static constexpr int nrows = Rows / waves_down / 16;
    /* Whether rows come from LDS when they are multiplied, and in each block
     * anew: there are no registers to keep them. */
    static constexpr bool one_by_one = nrows > 4;
    /* Q8_1 blocks in the pieces of a lane, halves that have a scale each */
    static constexpr int unit_blocks = (int)U::k / 32;
    static constexpr int scales = TileStep<F>::scales;
    static constexpr int biases = TileStep<F>::biases;

    int lane, row0, col0;
#if KPK_TILE_RAW
    int piece_at; /* of a unit's rows, of the lane's piece */
    int row_at;   /* of the lane's row, among its like */
#endif
    Floats acc[nrows][ncols];
#if KPK_TILE_RAW
    TileBias<TileUnit, !Lds::biased || !tile_has_raw_columns ? BiasWay::none
                       : Lds::half_biases                    ? BiasWay::halves
                                                             : BiasWay::sums>
        bias;
#endif

    DEV_MEMBER explicit TileUnit(int tid)
    {
        const int which = (int)uniform((u32)(tid / wave));

        lane = tid % wave;
        row0 = which / waves_across * nrows * 16;
        col0 = which % waves_across * ncols * 16;
#if KPK_TILE_RAW
        piece_at = tile_piece(lane % 16, lane / 16);
        asm("" : "+v"(piece_at)); /* else it is found in each step */
        row_at = Lds::place(row0) + lane % 16;
#endif
        UNROLL
        for (int i = 0; i < nrows; i++) {
            UNROLL
            for (int j = 0; j < ncols; j++)
                acc[i][j] = 0.0f;
        }
    }

    /* adds the products of both Q8_1 blocks of a step, which is number Turn of
     * those that the loop has side by side */
    template <int Turn = 0> DEV_MEMBER void multiply(const Lds &lds)
    {
#if KPK_TILE_RAW
        const Heads heads = column_heads(lds, col0 + lane);
#endif
        UNROLL
        for (int first = 0; first < 2; first += unit_blocks) {
            typename U::A y[ncols];
            typename U::B x[nrows];

            UNROLL
            for (int j = 0; j < ncols; j++)
                y[j] = fetch_columns(lds, col0 + 16 * j, first);
            UNROLL
            for (int i = 0; i < (one_by_one ? 1 : nrows); i++)
                x[i] = typename U::B(fetch(lds.x, row0 + 16 * i, first));
            UNROLL
            for (int b = 0; b < unit_blocks; b++) {
#if KPK_TILE_RAW
                multiply_block(lds, heads, x, y, b);
#else
                multiply_block(lds, x, y, first, b);
#endif
                schedule_fence();
            }
        }
#if KPK_TILE_RAW
        if constexpr (Lds::biased)
            bias.template add<Turn>(*this, lds, heads);
#endif
    }

#if KPK_TILE_RAW
    /* after the last step */
    DEV_MEMBER void finish(const Lds &lds, int steps)
    {
        if constexpr (Lds::half_biases)
            bias.finish(*this, lds, steps);
    }
#endif

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
                       col0 + 16 * j + (int)U::row((u32)e), acc[i][j][e]);
            }
        }
    }

    /* what a unit asks for, of 16 rows and the blocks from `first` on */
#if KPK_TILE_RAW
    /* The tile, all of which there is, from `to` on. What lanes add is the same
     * for all units. */
    DEV_MEMBER void store_all(float *to, int stride) const
    {
        const u32 lane_at =
            (u32)((col0 + lane / 16 * results) * stride + row0 + lane % 16) * 4;

        UNROLL
        for (int j = 0; j < ncols; j++) {
            UNROLL
            for (int e = 0; e < results; e++) {
                const u8 *at = same_in_all(reinterpret_cast<const u8 *>(
                    to + (size_t)(16 * j + e) * (size_t)stride));

                UNROLL
                for (int i = 0; i < nrows; i++)
                    *reinterpret_cast<float *>(const_cast<u8 *>(
                        at + lane_at + 64 * i)) = acc[i][j][e] * Lds::unit();
            }
        }
    }

    DEV_MEMBER auto fetch(const u32 *from, int row, int) const
    {
        return [=](u32, u32) {
            return load_pack<4>(from + row * tile_stride + piece_at);
        };
    }

    DEV_MEMBER typename U::A fetch_columns(const Lds &lds, int col,
                                           int first) const
    {
        if constexpr (!Lds::raw) {
            return typename U::A(fetch(lds.y, col, first));
        } else {
            return typename U::A([&](u32 c, u32 eighth) {
                const Pack<u32, 2> a = column_eighth(lds, col + (int)c, 0,
                                                     (int)eighth),
                                   b = column_eighth(lds, col + (int)c, 1,
                                                     (int)eighth);

                return Piece{{a[0], a[1], b[0], b[1]}};
            });
        }
    }
#else
    static DEV_MEMBER auto fetch(const u32 *from, int row, int first)
    {
        return [=](u32 r, u32 piece) {
            return load_pack<4>(from + row * tile_stride +
                                tile_piece((int)r, (int)piece + 2 * first));
        };
    }

    static DEV_MEMBER typename U::A fetch_columns(const Lds &lds, int col,
                                                  int first)
    {
        return typename U::A(fetch(lds.y, col, first));
    }
#endif

    /* numbers of columns, those of the lane's results in each unit */
    DEV_MEMBER void read_columns(Floats (&v)[ncols], const float *from) const
    {
        from += col0 + lane / 16 * results;
        UNROLL
        for (int j = 0; j < ncols; j++) {
            UNROLL
            for (int e = 0; e < results; e += 4) {
                const Pack<float, 4> some = load_pack<4>(from + 16 * j + e);

                UNROLL
                for (int k = 0; k < 4; k++)
                    v[j][e + k] = some[(u32)k];
            }
        }
    }

#if KPK_TILE_RAW
    /* scales of the columns in block `which` of the step */
    static DEV_MEMBER void read_scales(Floats (&v)[ncols], const Heads &heads,
                                       int which)
    {
        const MatrixF16 all = four_units({{heads[(u32)which] & 0xffff, 0}},
                                         {{0x3c00, 0}}, MatrixF16{});

        UNROLL
        for (int j = 0; j < ncols; j++)
            v[j] = part_of(all, j);
    }

    /* The number of the lane's row. Not with its neighbour: packed instructions
     * that take a number twice want it in an even register. Volatile because
     * that is what the compiler leaves alone. */
    DEV_MEMBER float read_alone(const float *from) const
    {
        typedef const volatile __attribute__((address_space(3))) float *Alone;

        return *(Alone)(from + row_at);
    }

    DEV_MEMBER void multiply_block(const Lds &lds, const Heads &heads,
                                   typename U::B *x, const typename U::A *y,
                                   int which)
    {
        Floats y_scale[ncols];

        read_scales(y_scale, heads, which);
        UNROLL
        for (int s = 0; s < scales; s++) {
            float scale[nrows], less[nrows];
            const auto fetch_row = [&](int i) {
                const int slot = Lds::one_scale ? 0 : which * scales + s;
                const int at = slot * Lds::row_slot + Lds::place(16 * i);

                scale[i] = read_alone(lds.x_scale + at);
                less[i] = Lds::lesses ? read_alone(lds.x_less + at)
                                      : -tile_magic_float * scale[i];
                if (one_by_one)
                    x[i] = typename U::B(fetch(lds.x, row0 + 16 * i, 0));
            };

            UNROLL
            for (int i = 0; i < (one_by_one ? 1 : nrows); i++)
                fetch_row(i);
            UNROLL
            for (int i = 0; i < nrows; i++) {
                Floats part[ncols];

                if (one_by_one && i + 1 < nrows)
                    fetch_row(i + 1);
                UNROLL
                for (int j = 0; j < ncols; j++)
                    part[j] = dot(x[i], y[j], 0, which, s);
                products_are_here(part[ncols - 1]);
                UNROLL
                for (int j = 0; j < ncols; j++)
                    part[j] = fused(part[j], (Floats)scale[i], (Floats)less[i]);
                UNROLL
                for (int j = 0; j < ncols; j++)
                    acc[i][j] = fused(part[j], y_scale[j], acc[i][j]);
                sums_are_here(i);
            }
        }
    }

    /*
     * Packed instructions behind a product, which it does not let run beside
     * it, LLVM takes apart, until one is in its way: a use of the product,
     * which makes no instruction.
     */
    static DEV_MEMBER void products_are_here(Floats &last)
    {
        asm volatile("" : "+v"(last));
        schedule_fence();
    }

    /* Not later: the compiler would keep all products till then. */
    DEV_MEMBER void sums_are_here(int i)
    {
        MatrixF16 all;

        __builtin_memcpy(&all, acc[i], sizeof(all));
        asm volatile("" : "+v"(all));
        __builtin_memcpy(acc[i], &all, sizeof(all));
        schedule_fence();
    }
#else
    /* scales of the columns in block `which` of the step */
    DEV_MEMBER void read_scales(Floats (&v)[ncols], const Lds &lds,
                                int which) const
    {
        read_columns(v, lds.y_scale + which * Lds::col_slot);
    }

    DEV_MEMBER void multiply_block(const Lds &lds, const typename U::B *x,
                                   const typename U::A *y, int first, int b)
    {
        const int which = first + b;
        Floats y_scale[ncols];

        read_scales(y_scale, lds, which);
        UNROLL
        for (int i = 0; i < nrows; i++) {
            const int row = row0 + 16 * i + lane % 16;

            UNROLL
            for (int s = 0; s < scales; s++) {
                const float scale =
                    lds.x_scale[(which * scales + s) * Lds::row_slot + row];
                const Floats less = -tile_magic_float * scale;

                Floats part[ncols];

                UNROLL
                for (int j = 0; j < ncols; j++)
                    part[j] = fused(dot(x[i], y[j], first, b, s), (Floats)scale,
                                    less);
                if (KPK_WMMA) /* so that pairs of what follows issue together */
                    schedule_fence();
                UNROLL
                for (int j = 0; j < ncols; j++)
                    acc[i][j] = fused(part[j], y_scale[j], acc[i][j]);
            }
        }
        if constexpr (Lds::biased) {
            UNROLL
            for (int s = 0; s < biases; s++)
                add_bias(lds, which * biases + s);
        }
    }

    DEV_MEMBER void add_bias(const Lds &lds, int slot)
    {
        Floats sum[ncols];

        read_columns(sum, lds.y_sum + slot * Lds::col_slot);
        UNROLL
        for (int i = 0; i < nrows; i++) {
            const Floats x_bias =
                lds.x_bias[slot * Lds::row_slot + row0 + 16 * i + lane % 16];

            UNROLL
            for (int j = 0; j < ncols; j++)
                acc[i][j] = fused(x_bias, sum[j], acc[i][j]);
        }
    }
#endif

#if KPK_TILE_RAW
    static DEV_MEMBER Floats part_of(const MatrixF16 &all, int j)
    {
        Floats v;

        UNROLL
        for (int e = 0; e < results; e++)
            v[e] = all[results * j + e];
        return v;
    }
#endif

    static DEV_MEMBER Floats fused(Floats a, Floats b, Floats c)
    {
        return __builtin_elementwise_fma(a, b, c);
    }

    /* magic_float + the products of block b of the pieces, or of its half s */
    DEV_MEMBER Floats dot(typename U::B x, const typename U::A &y, int first,
                          int b, int s) const
    {
        constexpr int parts = (int)U::parts; /* that unit_blocks have */
        constexpr int of_block = parts / unit_blocks;
        typename U::D d;

        UNROLL
        for (int e = 0; e < results; e++)
            d.v[e] = (int)tile_magic;
        if constexpr (of_block == 0) { /* both blocks in one part */
            UNROLL
            for (int w = 0; w < 4; w++)
                x.piece[0][(u32)w] = w / 2 == b ? x.piece[0][(u32)w] : 0;
        }
        if constexpr (scales == 2 && KPK_MFMA) {
            /* lanes hold neighbouring eighths: half of them are of half s */
            const u32 mask = (lane / 32 == s) ? ~0u : 0;

            UNROLL
            for (int w = 0; w < 4; w++)
                x.piece[0][(u32)w] &= mask;
        }
        UNROLL
        for (int part = 0; part < (of_block ? of_block : 1); part++) {
            /* the other half; in LDS block 1 has them changed over */
            if (scales == 2 && KPK_WMMA == 11 && part != s)
                continue;
            if (scales == 2 && KPK_WMMA == 12 && part != (s ^ first))
                continue;
            d = U::multiply_part(d, y, x, (u32)(b * of_block + part));
        }
        return bits_as<Floats>(d);
    }
};

#endif
