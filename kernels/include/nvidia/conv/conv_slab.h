/*
 * conv_slab.h - convolutions of f16, bf16 and f32 on sm_80 and later
 *
 * A block takes a row of 32 bytes of input channels at a time, or two or four,
 * and brings to LDS
 *
 *   the slab     all inputs under the tile with these channels, each read once:
 *                an entry for each place of the padded images from the first
 *                that a position reads to the last, its channels side by side
 *   the kernel   for each tap such rows, one for each output channel of the
 *                tile; if not all taps fit, some at a time
 *
 * A tap moves all positions by the same number of entries, so the rows that
 * ldmatrix takes are the positions' entries, and no input is copied for a tap.
 * Where rows of outputs are too long for a slab, a tile is a part of one row,
 * and the slab has an equally wide part of each row of inputs that a tap reads.
 */
#pragma once

#include "nvidia/conv/conv_tiles.h"

template <bool Transposed, typename T>
struct ConvSlab : ConvTiles<Transposed, T> {
    CONV_TILES(Transposed)

    DEV_MEMBER void run(const TileBlocks &blocks) const
    {
        bool has_kernel = false;

        NO_UNROLL
        for (u32 tile = blocks.number; tile < at.tiles; tile += blocks.count) {
            if (threadIdx.x == 0)
                begin(at, tile, at.tile[0]);
            __syncthreads();
            one_tile(at.tile[0], has_kernel);
            has_kernel = keeps_kernel(blocks);
        }
    }
    /* whether the block's next tile finds all of its kernel in LDS */
    DEV_MEMBER bool keeps_kernel(const TileBlocks &blocks) const
    {
        return !Transposed && blocks.count % at.tiles_o == 0 &&
               at.taps_once == at.taps &&
               (u32)at.v.x.c <= row_channels << at.log_blocks &&
               at.kernel_at >= Plan::part_nbytes(at.log_m, at.log_splits);
    }
    DEV_MEMBER void one_tile(Tile &tile, bool has_kernel) const
    {
        u32 slab_lds[2];
        f32 sums[2][2][2][4] = {};

        list_taps();
        list_places(tile);
        find_slab(tile, slab_lds);
        __syncthreads();
        /* an output of a transposed convolution may have no taps */
        NO_UNROLL
        for (u32 c0 = 0; c0 < (!Transposed || at.taps > 0 ? (u32)at.v.x.c : 0);
             c0 += row_channels << at.log_blocks) {
            load_slab(tile, c0);
            forget_memory();
            NO_UNROLL
            for (u32 t0 = 0; t0 < at.taps; t0 += at.taps_once) {
                if (!has_kernel)
                    load_kernel(tile, c0, t0);
                __syncthreads();
                multiply_all(sums, slab_lds, t0);
                __syncthreads();
            }
        }
        forget_memory();
        finish(tile, sums);
    }
    /* Finds the addresses of the lane's positions in the slab. */
    DEV_MEMBER void find_slab(const Tile &tile, u32 (&slab_lds)[2]) const
    {
        UNROLL
        for (u32 i = 0; i < 2; i++) {
            const u32 l = threadIdx.x % 32;
            const u32 p = tile.p0 + col() + i * 16 + l % 8 + l / 16 * 8;

            const u32 column = tile.w_out + (p - tile.p0);
            const u32 row = Plan::quotient(column, at.by_w_out);
            const u32 h = tile.h_out + row,
                      turns = Plan::quotient(h, at.by_h_out);
            const u32 entry =
                at.parts == 0
                    ? (turns * at.height +
                       (h - turns * at.by_h_out.d) * at.down - tile.h) *
                              at.width +
                          (column - row * at.by_w_out.d) * at.across - tile.w
                    : (p - tile.p0) * at.across;

            slab_lds[i] = p >= tile.end ? 0 : entry;
            slab_lds[i] = (slab_lds[i] * 32 << at.log_blocks) + l / 8 % 2 * 16;
        }
    }
    /* Permutes 16-byte pieces so that 8 adjacent entries use different banks.
     */
    DEV_MEMBER u32 swizzled(u32 at_byte) const
    {
        return at_byte ^ (at_byte >> 3 & ((32u << at.log_blocks) - 16));
    }
    /* Lists the taps' offsets in the slab and in the kernel. */
    DEV_MEMBER void list_taps() const
    {
        const u32 kw = Transposed ? (u32)at.aw.taps : (u32)at.v.w.kw;

        if (threadIdx.x >= at.taps)
            return;
        const u32 t = threadIdx.x, h = t / kw, w = t - h * kw;
        const u32 row = Transposed ? (u32)at.v.w.kh - 1 - h : h;
        const u32 column = Transposed ? (u32)at.v.w.kw - 1 - w : w;

        at.tap_offset[t] =
            (row * at.down_a_row + column * (u32)at.v.dilation) * 32
            << at.log_blocks;
        if (Transposed)
            at.tap_place[t] = (u32)at.ah.element((i32)h) * (u32)at.v.w.sh +
                              (u32)at.aw.element((i32)w) * (u32)at.v.w.sw;
    }
    /* Lists the entries' inputs, as byte offsets from the tile's first image.
     */
    DEV_MEMBER void list_places(const Tile &tile) const
    {
        u32 *const places = reinterpret_cast<u32 *>(lds + at.places_at);
        const u32 pad = at.pad_w, pad_h = at.pad_h;

        NO_UNROLL
        for (u32 i = threadIdx.x; i < at.entries; i += threads) {
            u32 turns = 0, h, c;

            if (at.parts == 0) {
                const u32 row = Plan::quotient(tile.w + i, at.by_width);

                turns = Plan::quotient(tile.h + row, at.by_height);
                h = tile.h + row - turns * at.height;
                c = tile.w + i - row * at.width;
            } else {
                const u32 row = Plan::quotient(i, at.by_segment);

                h = tile.h + row * (u32)at.v.dilation;
                c = tile.w + i - row * at.segment;
            }
            h -= pad_h;
            c -= pad;
            places[i] =
                i < tile.entries && h < (u32)at.v.x.h && c < (u32)at.v.x.w
                    ? (turns * (u32)at.v.x.sb + h * (u32)at.v.x.sh +
                       c * (u32)at.v.x.sw) *
                          (u32)sizeof(T)
                    : nothing;
        }
    }
    /* As read-only, loads of 16 bits take fewer registers, and less is
     * spilled: 3 to 5 % of 3 x 3 on an H200. f32 would lose 2 %. */
    static DEV_MEMBER Bits load(const void *p)
    {
        const Bits *const it = static_cast<const Bits *>(p);

        return sizeof(T) == 2 ? __ldg(it) : *it;
    }
    DEV_MEMBER void load_slab(const Tile &tile, u32 c0) const
    {
        const u32 *const places =
            reinterpret_cast<const u32 *>(lds + at.places_at);
        const u32 log_pieces = 1 + at.log_blocks;
        const u32 warp = threadIdx.x / 32;
        const u32 piece = warp & ((1u << log_pieces) - 1);
        const u32 c = c0 + piece * n16,
                  left = (u32)at.v.x.c - min_of(c, (u32)at.v.x.c);
        const u8 *const from = reinterpret_cast<const u8 *>(
            at.x + tile.image * at.v.x.sb + c * at.v.x.sc);
        const u64 channel = at.v.x.sc * sizeof(T);

        NO_UNROLL
        for (u32 e = (warp >> log_pieces) * 32 + threadIdx.x % 32;
             e < at.entries; e += threads >> log_pieces) {
            const u32 place = places[e], there = place != nothing ? left : 0;
            const u8 *it = from + place;
            Pack<Bits, n16> in;

            UNROLL
            for (u32 i = 0; i < n16; i++) {
                in[i] = i < there ? load(it) : 0;
                it += channel;
            }
            store_pack(
                reinterpret_cast<Bits *>(
                    lds + swizzled((e * 32 << at.log_blocks) + piece * 16)),
                in);
        }
    }
    /* a kernel of one element, 16 bytes a lane */
    DEV_MEMBER void load_lines(const Tile &tile, u32 c0) const
    {
        const u32 log_n = 1 + at.log_blocks;
        const u32 piece = threadIdx.x & ((1u << log_n) - 1);
        const u32 end = min_of(1u << at.log_m, (u32)at.v.w.outputs - tile.o0);
        const bool some = c0 + piece * n16 < (u32)at.v.x.c;
        const T *const from = at.w + tile.o0 * at.v.w.so + c0 + piece * n16;
        u8 *const to = lds + at.kernel_at + piece / 2 * at.step_nbytes();

        NO_UNROLL
        for (u32 o = threadIdx.x >> log_n; o < end; o += threads >> log_n) {
            const Pack<Bits, n16> none = {};

            store_pack(reinterpret_cast<Bits *>(
                           to + o * 32 + (piece % 2 ^ (o >> 2 & 1)) * 16),
                       some ? load_pack<n16>(reinterpret_cast<const Bits *>(
                                  from + (u64)o * at.v.w.so))
                            : none);
        }
    }
    DEV_MEMBER void load_kernel(const Tile &tile, u32 c0, u32 t0) const
    {
        if (at.lines)
            load_lines(tile, c0);
        else if (at.pieces)
            load_pieces(tile, c0);
        else
            load_words(tile, c0, t0);
    }
    /* all taps, 16 bytes a lane: eight elements of an output channel, as they
     * lie in the kernel */
    DEV_MEMBER void load_pieces(const Tile &tile, u32 c0) const
    {
        const u32 taps = at.taps, row = 2 * taps << at.log_blocks;
        const Divisor by_taps(taps), by_row(row);
        const u32 step_nbytes = at.step_nbytes();
        const u32 tap_nbytes = step_nbytes << at.log_blocks;
        const u32 left_o = (u32)at.v.w.outputs - tile.o0;
        const u32 left = ((u32)at.v.x.c - c0) * taps / n16;
        const Bits *const from =
            reinterpret_cast<const Bits *>(at.w + tile.o0 * at.v.w.so) +
            (u64)c0 * taps;

        NO_UNROLL
        for (u32 i = threadIdx.x; i < row << at.log_m; i += threads) {
            const u32 o = by_row.divide(i), piece = i - o * row;
            const auto channel = [&](u32 c) {
                return c / row_channels * step_nbytes + o * 32 +
                       (c * (u32)sizeof(T) % 32 ^ (o >> 2 & 1) * 16);
            };
            u32 c = by_taps.divide(piece * n16), t = piece * n16 - c * taps;
            u8 *const to = lds + at.kernel_at;
            u32 tap_at = t * tap_nbytes, channel_at = channel(c);
            Pack<Bits, n16> in = {};

            if (o < left_o && piece < left)
                in = load_pack<n16>(from + (o * (u32)at.v.w.so + piece * n16));
            UNROLL
            for (u32 j = 0; j < n16; j++) {
                *reinterpret_cast<Bits *>(to + tap_at + channel_at) = in[j];
                tap_at += tap_nbytes;
                if (++t == taps) {
                    t = tap_at = 0;
                    channel_at = channel(++c);
                }
            }
        }
    }
    /* taps t0 and so on, 4 bytes a lane: one channel or two */
    DEV_MEMBER void load_words(const Tile &tile, u32 c0, u32 t0) const
    {
        constexpr u32 batch = sizeof(T) == 2 ? 1 : 2,
                      log_pair = sizeof(T) == 2 ? 1 : 0;
        const u32 n = min_of(at.taps_once, at.taps - t0);
        const Divisor by_taps(n);
        const u32 log_words = 3 + at.log_blocks;
        const u32 all = (n << at.log_m) << log_words;
        const u32 step_nbytes = at.step_nbytes();
        const u32 sc = Transposed ? (u32)at.v.w.sc : at.taps;
        const Bits *const from =
            reinterpret_cast<const Bits *>(at.w + tile.o0 * at.v.w.so) +
            (u64)c0 * sc + (Transposed ? 0 : t0);
        const u32 left_o = (u32)at.v.w.outputs - tile.o0;
        const u32 left_c = (u32)at.v.x.c - c0;

        NO_UNROLL
        for (u32 i = threadIdx.x; i < all; i += threads * batch) {
            u32 in[batch], to[batch];

            UNROLL
            for (u32 k = 0; k < batch; k++) {
                const u32 e = i + k * threads, line = by_taps.divide(e);
                /* neighbours load neighbouring words */
                const u32 log_low = Transposed ? at.log_m : log_words;
                const u32 high = line >> log_low;
                const u32 low = line & ((1u << log_low) - 1);
                const u32 o = Transposed ? low : high;
                const u32 word = Transposed ? high : low;
                const u32 t = e - line * n, c = word << log_pair;
                const bool exists = e < all && o < left_o;
                const Bits *const it = from + (o * (u32)at.v.w.so + c * sc +
                                               (!Transposed ? t
                                                : exists ? at.tap_place[t0 + t]
                                                         : 0));

                to[k] = ((t << at.log_blocks) + word / 8) * step_nbytes +
                        o * 32 + (word / 4 % 2 ^ (o >> 2 & 1)) * 16 +
                        word % 4 * 4;
                in[k] = exists && c < left_c ? load(it) : 0;
                if (sizeof(T) == 2 && exists && c + 1 < left_c)
                    in[k] |= (u32)load(it + sc) << 16;
            }
            UNROLL
            for (u32 k = 0; k < batch; k++)
                if (i + k * threads < all)
                    *reinterpret_cast<u32 *>(lds + at.kernel_at + to[k]) =
                        in[k];
        }
    }
    DEV_MEMBER void multiply_all(f32 (&sums)[2][2][2][4],
                                 const u32 (&slab_lds)[2], u32 t0) const
    {
        forget_memory();
        if (at.log_blocks == 0)
            multiply<0>(sums, slab_lds, t0);
        else if (at.log_blocks == 1)
            multiply<1>(sums, slab_lds, t0);
        else
            multiply<2>(sums, slab_lds, t0);
        forget_memory();
    }
    template <u32 LogBlocks>
    DEV_MEMBER void multiply(f32 (&sums)[2][2][2][4], const u32 (&slab_lds)[2],
                             u32 t0) const
    {
        constexpr u32 mask = (32u << LogBlocks) - 16;
        const u32 l = threadIdx.x % 32, line = row() + l % 16, piece = l / 16;
        const u32 base = (u32)__cvta_generic_to_shared(lds);
        const u32 step_nbytes = at.step_nbytes();
        const u32 each = step_nbytes << at.log_splits;
        const u32 end =
            at.kernel_at +
            (min_of(at.taps_once, at.taps - t0) << LogBlocks) * step_nbytes;
        u32 s = split();

        NO_UNROLL
        for (u32 from = at.kernel_at + s * step_nbytes; from < end;
             from += each) {
            const u32 by = at.tap_offset[t0 + (s >> LogBlocks)] +
                           (s & ((1u << LogBlocks) - 1)) * 32;
            UNROLL
            for (u32 j = 0; j < 2; j++) {
                const u32 e = slab_lds[j] + by;
                const Positions b(base + (e ^ (e >> 3 & mask)));

                UNROLL
                for (u32 i = 0; i < 2; i++)
                    SlabOp<T>::multiply(sums[i][j],
                                        base + from + line * 32 +
                                            (piece ^ (line >> 2 & 1)) * 16 +
                                            i * 512 +
                                            j * SlabOp<T>::again(at.v),
                                        b);
            }
            s += 1u << at.log_splits;
        }
    }
};
