/*
 * conv_tiles.h - the tiles of convolutions on sm_80 and later
 *
 * y[o, p] = sum over k of w[o, k] x[p, k]: a product of matrices. A block makes
 * tiles of 32, 64 or 128 channels by positions, which are counted over images,
 * rows and columns. A warp makes 32 channels by 32 positions.
 *
 * Which tile, and how its operands come to LDS, follows from the launch's
 * dynamic LDS, too: conv_plan.h chooses.
 *
 *   conv_1x1.h     kernels of one element, and patches: copies inputs unchanged
 *   conv_slab.h    everything else
 *
 * On sm_90 conv_product.h makes most kernels of one element by other tiles.
 *
 * Zeros for padding are the same as dropped terms unless a kernel element is
 * infinite or NaN. Then the sum is NaN, and the output is computed again, term
 * by term. NaN sums of f32 are always computed again, because SlabOp<f32> turns
 * infinite numbers into NaN.
 */
#pragma once

#include "matrix/target_unit.h"
#include "nvidia/conv/conv_plan.h"
#include "nvidia/copy/mma_operands.h"

/* ---- operands of a warp, from LDS ----
 *
 * LDS has rows of 32 bytes of input channels: of the kernel one row for each
 * output channel, of the inputs one row for each position. If positions are
 * contiguous, inputs have a row of positions for each channel instead.
 */

/* Multiplies 16 output channels by 16 positions; each has a row of 32 bytes of
 * input channels in LDS. */
template <typename T> struct SlabOp {
    struct Positions {
        u32 v[4];

        DEV_MEMBER explicit Positions(u32 lds)
        {
            load_matrices(v, lds);
        }
        /* a row of positions for each channel, `pitch` bytes apart; `lds` is
         * moved by lane_at() */
        DEV_MEMBER Positions(u32 lds, u32)
        {
            load_matrices_trans(v, lds);
        }
        static DEV_MEMBER u32 lane_at(u32 pitch)
        {
            const u32 l = threadIdx.x % 32;

            return l % 16 * pitch + l / 16 * 16;
        }
    };
    /* Offset of the kernel's address for the next positions. It is always 0;
     * SlabOp<f32> hides the 0 from the compiler. */
    static DEV_MEMBER u32 again(const Conv &)
    {
        return 0;
    }
    static DEV_MEMBER void multiply(f32 (&sums)[2][4], u32 lds,
                                    const Positions &b)
    {
        u32 a[4];

        load_matrices(a, lds);
        UNROLL
        for (u32 j = 0; j < 2; j++)
            MmaOp<T>::call(sums[j], a, b.v[j * 2], b.v[j * 2 + 1]);
    }
};

/*
 * f32 as the sum of two numbers of 11 bits, by tf32's instructions. The product
 * of the two lower ones, at most 2^-22 of the whole, is left out, and so are
 * the last bits of the lower ones. Infinite numbers become NaN. The matrix
 * units cut sums off: they add up 8 channels, and the rest is added with
 * rounding, or thousands of terms would all be too small.
 */
DEV void mma_tf32(f32 (&d)[4], const u32 (&a)[4], u32 b0, u32 b1)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, "
        "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <> struct SlabOp<f32> {
    struct Split {
        u32 high[4], low[4];

        DEV_MEMBER explicit Split(u32 lds)
        {
            load_matrices(low, lds);
            split();
        }
        DEV_MEMBER Split(u32 lds, u32 pitch)
        {
            UNROLL
            for (u32 i = 0; i < 4; i++)
                low[i] = lds_load_u32(lds + i % 2 * 4 * pitch + i / 2 * 32);
            split();
        }
        static DEV_MEMBER u32 lane_at(u32 pitch)
        {
            const u32 l = threadIdx.x % 32;

            return l % 4 * pitch + l / 4 * 4;
        }
        DEV_MEMBER void split()
        {
            UNROLL
            for (u32 i = 0; i < 4; i++) {
                high[i] = (low[i] + 0x1000) & 0xffffe000u;
                low[i] =
                    bits_as<u32>(bits_as<f32>(low[i]) - bits_as<f32>(high[i]));
            }
        }
    };
    typedef Split Positions;
    /* 0, which the compiler does not know, so it loads and splits the kernel's
     * elements again for the next positions. If it kept these elements in
     * registers, it would spill them. */
    static DEV_MEMBER u32 again(const Conv &v)
    {
        return (u32)v.x.b >> 30;
    }
    static DEV_MEMBER void multiply(f32 (&sums)[2][4], u32 lds,
                                    const Positions &b)
    {
        const Split a(lds);

        UNROLL
        for (u32 j = 0; j < 2; j++) {
            const u32 at = j * 2;
            f32 part[4] = {};

            mma_tf32(part, a.low, b.high[at], b.high[at + 1]);
            mma_tf32(part, a.high, b.low[at], b.low[at + 1]);
            mma_tf32(part, a.high, b.high[at], b.high[at + 1]);
            UNROLL
            for (u32 k = 0; k < 4; k++)
                sums[j][k] += part[k];
        }
    }
};

template <u32 Size> struct BitsOf {
    typedef u16 type;
};
template <> struct BitsOf<4> {
    typedef u32 type;
};

/* ---- a tile ---- */

template <bool Transposed, typename T> struct ConvTiles {
    using Plan = ConvPlan<T>;
    using Shape = typename Plan::Shape;
    using Tile = typename Plan::Tile;
    using Feed = typename Plan::Feed;
    using Positions = typename SlabOp<T>::Positions;
    using Bits = typename BitsOf<sizeof(T)>::type;
    static constexpr u32 n16 = per16<T>::value;
    static constexpr u32 threads = Plan::threads;
    static constexpr u32 log_outputs = Plan::log_outputs;
    static constexpr u32 row_channels = Plan::row_channels;
    static constexpr u32 nothing = ~0u; /* in `places`: the padding */

    Shape &at;
    u8 *lds;

    /* the positions of a tile, for one thread */
    DEV_CALLED void begin(Shape &at, u32 number, Tile &tile)
    {
        const u32 part = number / at.part_tiles;
        const u32 in_part = number - part * at.part_tiles;
        const u32 turn = in_part / at.tiles_o;
        const u32 w_out = (u32)at.v.w_out, h_out = (u32)at.v.h_out;
        u32 row;

        if (Transposed)
            begin_part(at, part);
        tile.o0 = (in_part - turn * at.tiles_o) << at.log_m;
        if (at.parts == 0) {
            tile.p0 = turn * at.positions();
            tile.end = min_of(tile.p0 + at.positions(), at.count);
            row = tile.p0 / w_out;
        } else {
            row = turn / at.parts;
            tile.p0 = row * w_out + (turn - row * at.parts) * at.positions();
            tile.end = min_of(tile.p0 + at.positions(), row * w_out + w_out);
        }
        tile.image = row / h_out;
        tile.h_out = row - tile.image * h_out;
        tile.w_out = tile.p0 - row * w_out;
        tile.h = tile.h_out * at.down;
        tile.w = tile.w_out * at.across;
        tile.first = (tile.image * at.height + tile.h) * at.width + tile.w;
        tile.entries =
            at.parts == 0 ? at.entry_of(tile.end - 1) + at.halo - tile.first + 1
                          : at.entries;
    }
    /* the outputs of a remainder of a transposed convolution, for one thread */
    static DEV_MEMBER void begin_part(Shape &at, u32 part)
    {
        const u32 across = (u32)at.whole.remainders_w(), h = part / across;
        const u32 far = (u32)at.v.dilation;

        at.ah = at.whole.template axis_h<i32>(h);
        at.aw = at.whole.template axis_w<i32>(part - h * across);
        at.pad_h = ((u32)at.v.w.kh - 1) * far - (u32)at.ah.offset;
        at.pad_w = ((u32)at.v.w.kw - 1) * far - (u32)at.aw.offset;
        at.taps = (u32)(at.ah.taps * at.aw.taps);
    }
    /* this warp's place in the tile */
    DEV_MEMBER u32 row() const
    {
        return (threadIdx.x / 32 & ((1u << (at.log_m - 5)) - 1)) * 32;
    }
    DEV_MEMBER u32 col() const
    {
        return (threadIdx.x / 32 >> (at.log_m - 5) << 5) & (at.positions() - 1);
    }
    DEV_MEMBER u32 split() const
    {
        return threadIdx.x / 32 >> (5 - at.log_splits);
    }

    DEV_MEMBER void finish(const Tile &tile,
                           const f32 (&sums)[2][2][2][4]) const
    {
        if (!store(tile, sums) ||
            (sizeof(T) < 4 && at.v.padding == 0 && !Transposed))
            return;
        again(at, tile);
        __syncthreads();
    }
    /* Adds up the sums of all groups in LDS and stores them, a quarter of the
     * tile's channels at a time. Returns to all threads whether a sum is NaN.
     */
    DEV_MEMBER bool store(const Tile &tile, const f32 (&sums)[2][2][2][4]) const
    {
        const u32 plane = (u32)(at.v.h_out * at.v.w_out);

        return (at.parts == 0 ? plane : (u32)at.v.w_out) % 4 == 0 &&
                       is_aligned(at.y, 4 * sizeof(T)) && !Transposed
                   ? store_by<4>(tile, sums, plane)
                   : store_by<1>(tile, sums, plane);
    }
    /* A thread stores the same V positions of many channels. */
    template <u32 V>
    DEV_MEMBER bool store_by(const Tile &tile, const f32 (&sums)[2][2][2][4],
                             u32 plane) const
    {
        const u32 l = threadIdx.x % 32;
        const u32 log_n = log_outputs - at.log_m - at.log_splits;
        const u32 pitch = (1u << log_n) + 8, log_rows = at.log_m - 2;
        f32 *const to_lds =
            reinterpret_cast<f32 *>(lds) +
            ((split() << log_rows) + row() / 4 + l / 4) * pitch + col() +
            l % 4 * 2;
        const u32 column = threadIdx.x * V & ((1u << log_n) - 1);
        const u32 first = threadIdx.x * V >> log_n;
        const u32 step = threads * V >> log_n;
        const u32 p = tile.p0 + column, image = p / plane;
        const u32 outputs = (u32)at.v.w.outputs;
        const u32 whole =
            Transposed ? (u32)(at.whole.h_out * at.whole.w_out) : plane;
        const u32 place = output_at(p - image * plane);
        const u32 left = p < tile.end && (!Transposed || place != nothing)
                             ? outputs - tile.o0
                             : 0;
        const f32 *const part = reinterpret_cast<const f32 *>(lds) + column;
        T *const to = at.y + ((u64)image * outputs + tile.o0) * whole + place;
        bool odd = false;

        UNROLL
        for (u32 r = 0; r < 4; r++) {
            UNROLL
            for (u32 j = 0; j < 4; j++)
                store_pack(
                    to_lds + j * 8,
                    Pack<f32, 2>{{sums[r / 2][j / 2][j % 2][r % 2 * 2],
                                  sums[r / 2][j / 2][j % 2][r % 2 * 2 + 1]}});
            __syncthreads();
            /* 8 of each 32 channels */
            NO_UNROLL
            for (u32 i = first; i < 1u << log_rows; i += step) {
                const u32 o = r * 8 + i % 8 + i / 8 * 32;
                const f32 *from = part + i * pitch;
                Pack<f32, V> sum = load_pack<V>(from);
                Pack<T, V> out;

                if (o >= left)
                    continue;
                NO_UNROLL
                for (u32 s = 1; s < 1u << at.log_splits; s++) {
                    from += pitch << log_rows;
                    const Pack<f32, V> more = load_pack<V>(from);

                    UNROLL
                    for (u32 k = 0; k < V; k++)
                        sum[k] += more[k];
                }
                UNROLL
                for (u32 k = 0; k < V; k++) {
                    out[k] = convert<T>(sum[k]);
                    odd = odd || sum[k] != sum[k];
                }
                store_pack<V>(to + (u64)o * whole, out);
            }
            if (r < 3)
                __syncthreads();
        }
        return __syncthreads_or(odd);
    }
    /* the index of a position among the outputs of its image */
    DEV_MEMBER u32 output_at(u32 p) const
    {
        if (!Transposed)
            return p;
        const u32 row = p / (u32)at.v.w_out;
        const u32 h = (u32)at.ah.output((i32)row);
        const u32 w = (u32)at.aw.output((i32)(p - row * (u32)at.v.w_out));

        return h < (u32)at.whole.h_out && w < (u32)at.whole.w_out
                   ? h * (u32)at.whole.w_out + w
                   : nothing;
    }
    /* Computes the tile's NaN again, term by term, once all results are stored
     * and registers are free. */
    DEV_CALLED void again(Shape &at, const Tile &tile)
    {
        const u32 plane = (u32)(at.v.h_out * at.v.w_out);
        const u32 across = (u32)at.v.w_out, outputs = (u32)at.v.w.outputs;
        const u32 whole = (u32)(at.whole.h_out * at.whole.w_out);

        NO_UNROLL
        for (u32 i = threadIdx.x; i < at.positions() << at.log_m;
             i += threads) {
            const u32 o = tile.o0 + i / at.positions();
            const u32 p = tile.p0 + i % at.positions();
            const u32 image = p / plane, place = p - image * plane;

            const u32 output = ConvTiles{at, nullptr}.output_at(place);

            if (o >= outputs || p >= tile.end || output == nothing)
                continue;
            T *const to = at.y + ((u64)image * outputs + o) * whole + output;
            const f32 now = convert<f32>(*to);

            if (now != now)
                *to = conv_point(at.v, at.ah, at.aw, at.x, at.w, image, o,
                                 (i32)(place / across), (i32)(place % across));
        }
    }
};

/* Brings the members of the base ConvTiles into ConvRows and ConvSlab. */
#define CONV_TILES(Transposed)                                                 \
    using Tiles = ConvTiles<Transposed, T>;                                    \
    using typename Tiles::Bits;                                                \
    using typename Tiles::Positions;                                           \
    using typename Tiles::Plan;                                                \
    using typename Tiles::Tile;                                                \
    using Tiles::at;                                                           \
    using Tiles::begin;                                                        \
    using Tiles::col;                                                          \
    using Tiles::finish;                                                       \
    using Tiles::lds;                                                          \
    using Tiles::n16;                                                          \
    using Tiles::nothing;                                                      \
    using Tiles::row;                                                          \
    using Tiles::row_channels;                                                 \
    using Tiles::split;                                                        \
    using Tiles::threads;
