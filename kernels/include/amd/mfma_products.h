/* mfma_products.h - MFMA: the products of raw columns (tile_layout.h) */
#pragma once

#include "quantized/matrix_unit_tile.h"

typedef float MatrixF16 __attribute__((ext_vector_type(16)));

/* Four 16x16 products with K = 4, added to sums: rows 16 i to 16 i + 15 of a
 * times the columns of b. Lane l has row l of a[64] and column l % 16 of b[16].
 */
DEV MatrixF16 four_units(Pack<u32, 2> a, Pack<u32, 2> b, MatrixF16 sums)
{
    return __builtin_amdgcn_mfma_f32_16x16x4f16(
        bits_as<MatrixH4>(a), bits_as<MatrixH4>(b), sums, 0, 0, 0);
}

/* Spreads the lower f16 of each lane's word over one of 64 columns, by a
 * product with 1. gfx90a's products take subnormal f16 as zeros, but not
 * subnormal f32. */
DEV MatrixF16 of_columns(u32 halves)
{
#if KPK_TARGET_MFMA == 2
    return __builtin_amdgcn_mfma_f32_16x16x1f32(half_to_float(halves), 1.0f,
                                                MatrixF16{}, 0, 0, 0);
#else
    return four_units({{halves & 0xffff, 0}}, {{0x3c00, 0}}, MatrixF16{});
#endif
}

enum class BiasWay { none, halves, sums };

/* The biases of a wave's rows, and their factors from the wave's columns. */
template <class Product, BiasWay> struct TileBias {
};

/*
 * Both factors of a bias are f16 and need no conversion. A product takes four
 * Q8_1 blocks, from two steps.
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

    /* multiplies the last step, if steps are odd */
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
                    p.acc[i][j] = Product::fused(
                        Product::part_of(sum, Product::first_of(i) + j), -least,
                        p.acc[i][j]);
            } else if constexpr (Product::ncols < 4) {
                const MatrixF16 sum = four_units(y, x, MatrixF16{});

                UNROLL
                for (int j = 0; j < Product::ncols; j++)
                    p.acc[i][j] +=
                        Product::part_of(sum, Product::first_of(i) + j);
            } else {
                MatrixF16 sum;

                __builtin_memcpy(&sum, p.acc[i], sizeof(sum));
                sum = four_units(y, x, sum);
                __builtin_memcpy(p.acc[i], &sum, sizeof(sum));
            }
        }
    }
};

/* Adds up the quants here. Lane l has the sums of block l / 16 % 2, half l /
 * 32, which are in different banks. Products of f32 add the biases. */
template <class Product> struct TileBias<Product, BiasWay::sums> {
    template <int, class Lds>
    DEV_MEMBER void add(Product &p, const Lds &lds, Pack<u32, 2>) const
    {
        const int which = p.lane / 16 % 2, half = p.lane / 32;
        float x[Product::nrows], y[Product::held];

        UNROLL
        for (int i = 0; i < Product::nrows; i++)
            x[i] = lds.x_bias[Lds::bias_at(which, half) + Lds::place(p.row0) +
                              Lds::place(16 * i) + p.lane % 16];
        UNROLL
        for (int j = 0; j < Product::held; j++)
            y[j] = sum(lds, p.col0 + 16 * j + p.lane % 16, which, half);
        UNROLL
        for (int i = 0; i < Product::nrows; i++) {
            UNROLL
            for (int j = 0; j < Product::ncols; j++)
                p.acc[i][j] = __builtin_amdgcn_mfma_f32_16x16x4f32(
                    y[Product::first_of(i) + j], x[i], p.acc[i][j], 0, 0, 0);
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

/*
 * As TileUnit, but products of quants take so little time that LDS and the
 * vector ALU could not follow. Another product brings the scales of columns to
 * their lanes: 64 scales times one. Further products add the biases.
 */
template <class F, int Rows, int Cols, int Parts = 1>
struct RawUnit : TileUnit<F, Rows, Cols, Parts> {
    typedef TileUnit<F, Rows, Cols, Parts> Base;
    typedef TileLds<F, Rows, Cols> Lds;
    typedef typename Base::U U;
    typedef typename Base::Floats Floats;
    typedef Pack<u32, 2> Heads;

    using Base::acc;
    using Base::col0;
    using Base::first_of;
    using Base::fused;
    using Base::held;
    using Base::lane;
    using Base::ncols;
    using Base::nrows;
    using Base::results;
    using Base::row0;
    using Base::scales;
    /* Whether each row is loaded from LDS right before its product, again for
     * each block, because there are no registers to hold all rows. */
    static constexpr bool one_by_one = nrows > 4;

    int piece_at; /* the lane's piece in the rows of a unit */
    int row_at;   /* the lane's row, as Lds::place() counts */
    TileBias<RawUnit, !Lds::biased       ? BiasWay::none
                      : Lds::half_biases ? BiasWay::halves
                                         : BiasWay::sums>
        bias;

    DEV_MEMBER explicit RawUnit(int tid) : Base(tid)
    {
        piece_at = tile_piece(lane % 16, lane / 16);
        asm("" : "+v"(piece_at)); /* else computed again in each step */
        row_at = Lds::place(row0) + lane % 16;
    }

    /* Adds the products of both Q8_1 blocks of a step. The step is number Turn
     * of the unrolled loop. */
    template <int Turn> DEV_MEMBER void multiply(const Lds &lds, int, int)
    {
        /* with parts, all columns, beginning with the wave's */
        const Heads heads =
            column_heads(lds, Parts > 1 ? (col0 + lane) % Cols : col0 + lane);
        typename U::A y[held];
        typename U::B x[nrows];

        UNROLL
        for (int j = 0; j < held; j++)
            y[j] = typename U::A([&](u32 c, u32 eighth) {
                return column_piece(lds, col0 + 16 * j + (int)c, (int)eighth);
            });
        UNROLL
        for (int i = 0; i < (one_by_one ? 1 : nrows); i++)
            x[i] = fetch(lds, i);
        UNROLL
        for (int which = 0; which < 2; which++) {
            multiply_block(lds, heads, x, y, which);
            schedule_fence();
        }
        if constexpr (Lds::biased)
            bias.template add<Turn>(*this, lds, heads);
    }

    /* after the last step */
    DEV_MEMBER void finish(const Lds &lds, int steps)
    {
        if constexpr (Lds::half_biases)
            bias.finish(*this, lds, steps);
    }

    DEV_MEMBER typename U::B fetch(const Lds &lds, int i) const
    {
        return typename U::B([&](u32, u32) {
            return load_pack<4>(lds.x + (row0 + 16 * i) * tile_stride +
                                piece_at);
        });
    }

    /* scales of the columns in block `which` of the step */
    static DEV_MEMBER void read_scales(Floats (&v)[held], const Heads &heads,
                                       int which)
    {
        const MatrixF16 all = of_columns(heads[(u32)which]);

        UNROLL
        for (int j = 0; j < held; j++)
            v[j] = part_of(all, j);
    }

    /* The number of the lane's row. Not with its neighbour: packed instructions
     * that take a number twice want it in an even register. Volatile, because
     * the compiler leaves volatile reads alone. */
    DEV_MEMBER float read_alone(const float *from) const
    {
        typedef const volatile __attribute__((address_space(3))) float *Alone;

        return *(Alone)(from + row_at);
    }

    DEV_MEMBER void multiply_block(const Lds &lds, const Heads &heads,
                                   typename U::B *x, const typename U::A *y,
                                   int which)
    {
        Floats y_scale[held];

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
                    x[i] = fetch(lds, i);
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
                    part[j] = dot(x[i], y[first_of(i) + j], which, s);
                products_are_here(part[ncols - 1]);
                UNROLL
                for (int j = 0; j < ncols; j++)
                    part[j] = fused(part[j], (Floats)scale[i], (Floats)less[i]);
                UNROLL
                for (int j = 0; j < ncols; j++)
                    acc[i][j] =
                        fused(part[j], y_scale[first_of(i) + j], acc[i][j]);
                sums_are_here(i);
            }
        }
    }

    /*
     * Packed instructions cannot run beside an MFMA, so LLVM splits those that
     * follow one. A use of the product, which makes no instruction, stops LLVM
     * from splitting further ones.
     */
    static DEV_MEMBER void products_are_here(Floats &last)
    {
        asm volatile("" : "+v"(last));
        schedule_fence();
    }

    /* Not later: the compiler would keep all products till then. */
    DEV_MEMBER void sums_are_here(int i)
    {
        if constexpr (ncols == 4) {
            MatrixF16 all;

            __builtin_memcpy(&all, acc[i], sizeof(all));
            asm volatile("" : "+v"(all));
            __builtin_memcpy(acc[i], &all, sizeof(all));
        } else {
            asm volatile("" : "+v"(acc[i][0]));
        }
        schedule_fence();
    }

    static DEV_MEMBER Floats part_of(const MatrixF16 &all, int j)
    {
        Floats v;

        UNROLL
        for (int e = 0; e < results; e++)
            v[e] = all[results * j + e];
        return v;
    }

    /* magic_float + the products of block b, or of its half s */
    DEV_MEMBER Floats dot(typename U::B x, const typename U::A &y, int b,
                          int s) const
    {
        constexpr int parts = (int)U::parts;
        typename U::D d;

        UNROLL
        for (int e = 0; e < results; e++)
            d.v[e] = (int)tile_magic;
        if constexpr (raw_by_words) {
            UNROLL
            for (int half = 0; half < 2; half++)
                if (scales == 1 || half == s)
                    d = U::multiply_part(d, y, x, (u32)(2 * half + b));
            return bits_as<Floats>(d);
        }
        if constexpr (parts == 1) { /* both blocks in one part */
            UNROLL
            for (int w = 0; w < 4; w++)
                x.piece[0][(u32)w] = w / 2 == b ? x.piece[0][(u32)w] : 0;
        }
        if constexpr (scales == 2) {
            /* lanes hold neighbouring eighths: half of the lanes have half s */
            const u32 mask = (lane / 32 == s) ? ~0u : 0;

            UNROLL
            for (int w = 0; w < 4; w++)
                x.piece[0][(u32)w] &= mask;
        }
        return bits_as<Floats>(
            U::multiply_part(d, y, x, parts == 1 ? 0 : (u32)b));
    }
};
