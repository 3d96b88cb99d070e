/*
 * conv_product.h - convolutions by kernels of one element on sm_90, by the
 * tiles of module gemm
 *
 * y = w x: rows of a tile are output channels, its columns are positions,
 * counted over all images. The first 512 threads of a block work; the others
 * give their registers to them and exit.
 */
#pragma once

#include "nvidia/conv/conv_plan.h"
#include "nvidia/gemm/wgmma_tile.h"

/* The product, in LDS. */
template <typename T> struct ConvProduct {
    const T *x, *w;
    T *y;
    u32 outputs, terms, plane, count; /* positions of an image, and of all */
    u32 run;    /* positions that lie together in x and in y: 1, 4 or 8 */
    u32 so;     /* as in Filter */
    u64 sb, sc; /* as in Image */

    /* Whether a convolution is a product whose rows of w are aligned. */
    static DEV_MEMBER bool fits(const Conv &v, const T *w)
    {
        const u64 plane = v.h_out * v.w_out, count = v.x.b * plane;

        return (v.w.kh | v.w.kw | v.stride) == 1 && v.padding == 0 &&
               plane == v.x.h * v.x.w && (v.x.w == 1 || v.x.sw == 1) &&
               (v.x.h == 1 || v.x.sh == v.x.w) && v.w.sc == 1 &&
               v.w.so % 8 == 0 && fits_u32(v.w.so) && is_aligned(w, 16) &&
               v.x.c > 0 && (v.w.outputs | v.x.c) < 1u << 30 &&
               (f32)v.w.outputs * (f32)count < 0x1p40f && count < 1u << 30;
    }
    static DEV_MEMBER u32 run_of(const Conv &v, const T *x, const T *y)
    {
        const u32 run = low_bit(
            (u32)((u64)x | (u64)y) / (u32)sizeof(T) |
            (u32)(v.h_out * v.w_out | v.x.sc | (v.x.b > 1 ? v.x.sb : 0)) | 8);

        return run == 2 ? 1 : run;
    }
    /* for a convolution that fits */
    DEV_MEMBER void set(const Conv &v, const T *from, const T *kernel, T *to)
    {
        x = from, w = kernel, y = to;
        outputs = (u32)v.w.outputs;
        terms = (u32)v.x.c;
        plane = (u32)(v.h_out * v.w_out);
        count = (u32)v.x.b * plane;
        run = run_of(v, from, to);
        so = (u32)v.w.so;
        sb = v.x.sb, sc = v.x.sc;
    }
    /* where a position lies; null behind the last one */
    DEV_MEMBER const T *input(u32 position, u32 channel) const
    {
        const u32 image = position / plane;

        return position < count ? x + (image * sb + channel * sc +
                                       (position - image * plane))
                                : nullptr;
    }
    DEV_MEMBER T *output(u32 position) const
    {
        const u32 image = position / plane;

        return position < count ? y + ((u64)image * outputs * plane +
                                       (position - image * plane))
                                : nullptr;
    }
};

/*
 * Copies steps of x, as OperandCopy does. A thread copies a piece of eight
 * positions: one run of eight, or two runs of four. Runs of one, for tiles that
 * have them, go through registers, a position for each thread. Results of
 * positions behind the last one are not stored, so LDS may have anything there.
 */
template <typename T, class L, u32 Threads, bool HasOnes>
struct PositionsCopy : L {
    static constexpr u32 k = L::lines, columns = L::pieces * 8;
    static constexpr bool has_ones = HasOnes;
    /* lines of a pass: by pieces, and by positions */
    static constexpr u32 pass_lines = Threads / L::pieces;
    static constexpr u32 ones_lines = Threads / columns;
    static_assert(!L::along && pass_lines % 8 == 0 && k % pass_lines == 0 &&
                      (!HasOnes || k % (8 * ones_lines) == 0),
                  "passes have the same permutation");

    const T *from[2]; /* of the runs; null behind the last position */
    u32 run, lds, line;
    u64 at, down; /* elements to the step, and from line to line */

    PositionsCopy() = default;
    DEV_MEMBER PositionsCopy(const ConvProduct<T> &p, u32 position0)
        : run(p.run), at(0), down(p.sc)
    {
        const u32 t = threadIdx.x;
        const bool ones = HasOnes && run == 1;
        const u32 column = ones ? t % columns : t % L::pieces * 8;

        line = ones ? t / columns : t / L::pieces;
        lds = L::place(line, column / 8) + column % 8 * sizeof(T);
        from[0] = p.input(position0 + column, line);
        if (run == 4)
            from[1] = p.input(position0 + column + 4, line);
    }
    /* Starts copying a step; zeros fill the part of K behind `left`. */
    DEV_MEMBER void copy(u32 stage, u32 left)
    {
        if (run == 8)
            copy_runs<8>(stage, left);
        else if (!HasOnes || run == 4)
            copy_runs<4>(stage, left);
        else
            copy_ones(stage, left);
    }
    template <u32 Run> DEV_MEMBER void copy_runs(u32 stage, u32 left)
    {
        constexpr u32 nbytes = Run * sizeof(T);

        UNROLL
        for (u32 i = 0; i < k; i += pass_lines) {
            UNROLL
            for (u32 r = 0; r < 8 / Run; r++) {
                const u32 to = stage + lds + i * L::line_nbytes + r * nbytes;
                const u32 n = line + i < left ? nbytes : 0;

                if (!from[r])
                    continue;
                if constexpr (Run == 8)
                    async_copy_part(to, from[r] + at + i * down, n);
                else
                    async_copy_narrow<nbytes>(to, from[r] + at + i * down, n);
            }
        }
    }
    DEV_MEMBER void copy_ones(u32 stage, u32 left)
    {
        constexpr u32 once = 8; /* loads in flight */
        const u32 column = threadIdx.x % columns;
        const T *it = from[0] + at;

        NO_UNROLL
        for (u32 at_line = line; at_line < k; at_line += once * ones_lines) {
            T v[once];

            UNROLL
            for (u32 i = 0; i < once; i++, it += ones_lines * down)
                v[i] = from[0] && at_line + i * ones_lines < left ? *it : T{};
            UNROLL
            for (u32 i = 0; i < once; i++)
                *static_cast<T *>(__cvta_shared_to_generic(
                    stage + L::place(at_line + i * ones_lines, column / 8) +
                    column % 8 * sizeof(T))) = v[i];
        }
    }
    DEV_MEMBER void next()
    {
        at += k * down;
    }
};

/* A block's tiles, with the interface of WarpgroupTile::run_ahead(). */
template <typename T, u32 Rows, u32 Cols, class Tile> struct ConvProductTiles {
    const ConvProduct<T> &p;
    u32 down, first, apart, count;

    DEV_MEMBER ConvProductTiles(const ConvProduct<T> &product,
                                const TileBlocks &blocks)
        : p(product), down(div_up(product.outputs, Rows)), first(blocks.number),
          apart(blocks.count), count(0)
    {
        const u32 all = down * div_up(product.count, Cols);

        if (first < all)
            count = (all - first - 1) / apart + 1;
    }
    DEV_MEMBER u32 steps(u32 piece) const
    {
        return div_up(p.terms - min_of(p.terms, piece * wgmma_k), Tile::step_k);
    }
    struct Place {
        u32 row0, col0;
    };
    DEV_MEMBER Place place(u32 i) const
    {
        const u32 at = first + i * apart, column = at / down;

        return {(at - column * down) * Rows, column * Cols};
    }
    DEV_MEMBER u32 begin(u32 i, typename Tile::CopyA &a,
                         typename Tile::CopyB &b) const
    {
        const Place at = place(i);

        a = typename Tile::CopyA(p.w, at.row0, p.outputs, p.so, 0);
        b = typename Tile::CopyB(p, at.col0);
        return p.terms;
    }
    DEV_MEMBER bool works(const Tile &tile, const Place &at) const
    {
        return tile.works(p.outputs - at.row0, 0);
    }
    DEV_MEMBER void store(const Tile &tile, const Place &at, u8 *lds) const
    {
        if (p.run == 8)
            store_runs<8>(tile, at, lds);
        else if (!Tile::CopyB::has_ones || p.run == 4)
            store_runs<4>(tile, at, lds);
        else
            store_ones(tile, at, lds);
    }
    /* A lane has one piece of eight columns in each of a few rows. */
    template <u32 Run>
    DEV_MEMBER void store_runs(const Tile &tile, const Place &at, u8 *lds) const
    {
        constexpr u32 cols = Tile::own_cols, pieces = cols / 8;
        static_assert(cols == Tile::slab_cols, "a slab has all columns");
        const u32 l = threadIdx.x % 32, outputs = p.outputs, plane = p.plane;
        T *const slab = tile.template slab_of<T>(lds);
        T *to[8 / Run]; /* of row 0, null behind the last position */

        UNROLL
        for (u32 i = 0; i < 8 / Run; i++)
            to[i] = p.output(at.col0 + tile.col0 + l % pieces * 8 + i * Run);
        tile.each_slab([&](u32 r0, u32 c0, const f32 *v) {
            const u32 row = at.row0 + r0 + l / pieces;

            tile.template put_slab<cols>(
                slab, 1, c0, v, [](u32) { return Pack<f32, 2>{}; },
                [&](u32 r, const T *piece) {
                    UNROLL
                    for (u32 i = 0; i < 8 / Run; i++) {
                        if (row + r < outputs && to[i])
                            store_pack(to[i] + (u64)(row + r) * plane,
                                       load_pack<Run>(piece + i * Run));
                    }
                });
        });
    }
    /* A lane stores every 32nd column of each row. */
    DEV_MEMBER void store_ones(const Tile &tile, const Place &at, u8 *lds) const
    {
        constexpr u32 cols = Tile::own_cols;
        const u32 l = threadIdx.x % 32, rows_end = p.outputs, plane = p.plane;
        T *const slab = tile.template slab_of<T>(lds);
        T *to[cols / 32]; /* of row 0, null behind the last position */

        UNROLL
        for (u32 i = 0; i < cols / 32; i++)
            to[i] = p.output(at.col0 + tile.col0 + l + i * 32);
        tile.each_slab([&](u32 r0, u32 c0, const f32 *v) {
            tile.template put_slab<cols>(
                slab, 1, c0, v, [](u32) { return Pack<f32, 2>{}; },
                [](u32, const T *) {});
            NO_UNROLL
            for (u32 r = 0; r < 16; r++) {
                const u32 row = at.row0 + r0 + r;

                UNROLL
                for (u32 i = 0; i < cols / 32; i++) {
                    if (row < rows_end && to[i])
                        to[i][(u64)row * plane] =
                            slab[r * (cols + 8) + l + i * 32];
                }
            }
        });
    }
};

/* step_ns: time of a step along K; start_ns: time of a tile outside of its
 * steps. HasOnes: also runs of one position. */
template <u32 Rows, u32 Cols, u32 Down, u32 Across, u32 Deep, u32 Stages,
          bool HasOnes, u32 step_ns, u32 start_ns>
struct ConvProductBy {
    static constexpr u32 threads = Down * Across * Deep * 128;
    static constexpr u32 more = 4; /* KiB, for the results of all warps */
    template <typename T>
    using Tile = WarpgroupTile<
        T, true, false, Rows, Cols, Down, Deep, Stages, more, 0,
        OperandCopy<T, WarpgroupLines<true, Rows>, threads>,
        PositionsCopy<T, WarpgroupLines<false, Cols>, threads, HasOnes>,
        Across>;
    static constexpr u32 lds_nbytes = Tile<bf16>::lds_nbytes;

    /* The time of a block's tiles. */
    template <typename T> static DEV_MEMBER u32 cost(const ConvProduct<T> &p)
    {
        constexpr u32 most = 1u << 31;
        const u32 rounds =
            div_up(div_up(p.outputs, Rows) * div_up(p.count, Cols),
                   ConvPlan<T>::blocks_at_once());

        return p.run == 1 && !HasOnes
                   ? most
                   : (u32)min_of<u64>(
                         (u64)rounds *
                             (div_up(p.terms, Deep * wgmma_k) * (u64)step_ns +
                              start_ns),
                         most - 1);
    }
    template <typename T>
    static DEV_MEMBER void run(const ConvProduct<T> &p,
                               const TileBlocks &blocks, u8 *lds)
    {
        ConvProductTiles<T, Rows, Cols, Tile<T>> tiles(p, blocks);
        Tile<T> tile;

        tile.run_ahead(lds, tiles);
    }
};
typedef ConvProductBy<128, 128, 2, 2, 1, 6, true, 440, 1500> ConvProductMany;
typedef ConvProductBy<64, 64, 1, 1, 4, 3, false, 950, 2600> ConvProductFew;

template <typename T>
DEV void conv_by_product(const ConvProduct<T> &p, const TileBlocks &blocks,
                         u8 *lds)
{
    typedef ConvProductMany Many;
    typedef ConvProductFew Few;
    static_assert(Many::threads == Few::threads &&
                      2 * Many::threads == ConvPlan<T>::threads &&
                      (24 + 104) * Many::threads <= 65536,
                  "half of the threads work, with the registers of all");

    if (threadIdx.x >= Many::threads) {
        give_registers<24>();
        return;
    }
    take_registers<104>();
    if (Few::cost(p) < Many::cost(p))
        Few::run(p, blocks, lds);
    else
        Many::run(p, blocks, lds);
}
