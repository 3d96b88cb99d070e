/*
 * conv_staged.h - the slab of conv_slab.h where LDS has room
 *
 * While a stage of channels is multiplied, copies bring the next one's inputs
 * and kernel elements as they lie in memory, whole segments of rows.
 * Threads then move them to their places in the slab. A tile's first stage
 * comes while the last tile's last one is multiplied, and one thread works out
 * what the tile after that will need.
 */
#pragma once

#include "nvidia/conv_slab.h"

template <typename T> struct ConvStaged : ConvSlab<T> {
    CONV_TILES
    using ConvSlab<T>::find_slab;
    using ConvSlab<T>::list_places;
    using ConvSlab<T>::multiply_all;
    using ConvSlab<T>::swizzled;

    DEV_MEMBER void run(const TileBlocks &blocks) const
    {
        u32 tile = blocks.block, turn = 0;

        if (tile >= at.tiles)
            return;
        if (threadIdx.x == 0) {
            begin_staged(tile, 0);
        }
        if (threadIdx.x == 32)
            begin_staged(tile + blocks.nblocks, 1);
        __syncthreads();
        list_parts(0);
        list_places(at.tile[0], segments_of(0));
        __syncthreads();
        copy_stage(0, 0);
        NO_UNROLL
        for (; tile < at.tiles; tile += blocks.nblocks) {
            one_staged(turn, tile, blocks.nblocks);
            turn = after(turn);
        }
    }
    static DEV_MEMBER u32 after(u32 turn)
    {
        return turn == 2 ? 0 : turn + 1;
    }
    DEV_MEMBER void begin_staged(u32 number, u32 turn) const
    {
        if (number >= at.tiles)
            return;
        begin(at, number, at.tile[turn]);
        list(at, (u32)__cvta_generic_to_shared(lds), turn);
    }
    static __device__ __noinline__ void list(typename Tiles::Shape &at, u32 lds,
                                             u32 turn)
    {
        ConvStaged{{{at, static_cast<u8 *>(__cvta_shared_to_generic(lds))}}}
            .list_segments(turn);
    }
    /* The copies of its first stage are under way. */
    DEV_MEMBER void one_staged(u32 turn, u32 number, u32 step) const
    {
        const u32 channels = row_channels << at.log_blocks;
        const u32 next = after(turn);
        const bool more = number + step < at.tiles;
        const Tile &tile = at.tile[turn];
        u32 slab_lds[2];
        f32 sums[2][2][2][4] = {};

        find_slab(tile, slab_lds);
        NO_UNROLL
        for (u32 c0 = 0; c0 < (u32)at.v.x.c; c0 += channels) {
            const bool last = c0 + channels >= (u32)at.v.x.c;

            async_copies_wait<0>();
            __syncthreads();
            move_slab(tile, c0);
            move_kernel(tile, c0);
            if (last && more)
                list_parts(next);
            __syncthreads();
            forget_memory();
            if (!last) {
                copy_stage(turn, c0 + channels);
            } else if (more) {
                copy_stage(next, 0);
                list_places(at.tile[next], segments_of(next));
            }
            /* the others multiply */
            if (c0 == 0 && threadIdx.x == 0)
                begin_staged(number + 2 * step, after(next));
            multiply_all(sums, slab_lds, 0);
        }
        __syncthreads();
        forget_memory();
        finish(tile, sums);
    }
    DEV_MEMBER Segment *segments_of(u32 turn) const
    {
        return reinterpret_cast<Segment *>(lds + at.segments_at) +
               turn * most_segments;
    }
    /* what a channel's copies are, for one thread */
    DEV_MEMBER void list_segments(u32 turn) const
    {
        Tile &tile = at.tile[turn];
        Segment *const to = segments_of(turn);
        const i32 pad = (i32)at.v.padding, pad_h = at.v.flat ? 0 : pad;
        const i32 h_in = (i32)at.v.x.h, w_in = (i32)at.v.x.w;
        const i32 dilation = (i32)at.v.dilation, down = (i32)at.down;
        const i32 w_out = (i32)at.v.w_out, h_out = (i32)at.v.h_out;
        const i32 tall = at.v.flat ? 0 : ((i32)at.v.w.kh - 1) * dilation;
        const i32 broad = ((i32)at.v.w.kw - 1) * dilation;
        const i32 row0 = (i32)tile.p0 / w_out,
                  row1 = (i32)(tile.end - 1) / w_out;
        const i32 image1 = row1 / h_out;
        const u32 n =
            at.parts ? (u32)at.v.w.kh : (u32)(image1 - (i32)tile.image) + 1;
        u32 piece = 0;

        NO_UNROLL
        for (u32 i = 0; at.packed && i < n; i++)
            to[i] =
                Segment{i * (u32)at.v.x.sb * (u32)sizeof(T),
                        (u32)at.v.x.sc * (u32)sizeof(T), i * at.image_pieces};
        NO_UNROLL
        for (u32 i = 0; !at.packed && i < n; i++) {
            const i32 image = (i32)tile.image + (at.parts ? 0 : (i32)i);
            const i32 first = max_of(row0 - image * h_out, 0),
                      last = min_of(row1 - image * h_out, h_out - 1);
            i32 h0 = first * down - pad_h, h1 = last * down + tall - pad_h;
            i32 w0 = 0, w1 = w_in;

            if (at.parts) {
                h0 += (i32)i * dilation;
                h1 = h0;
                if (h0 < 0 || h0 >= h_in)
                    h1 = h0 - 1; /* none */
            }
            h0 = max_of(h0, 0);
            h1 = min_of(h1, h_in - 1);
            if (at.parts || at.v.flat) {
                const i32 from =
                    at.parts || image == (i32)tile.image
                        ? ((i32)tile.p0 - row0 * w_out) * (i32)at.across
                        : 0;
                const i32 to_column = (at.parts || image == image1
                                           ? (i32)tile.end - 1 - row1 * w_out
                                           : w_out - 1) *
                                          (i32)at.across +
                                      broad;

                w0 = max_of(from - pad, 0);
                w1 = min_of(to_column - pad + 1, w_in);
            }
            const bool some = h1 >= h0 && w1 > w0;

            to[i].from =
                some ? (((u32)image - tile.image) * (u32)at.v.x.sb +
                        (u32)h0 * (u32)at.v.x.sh + (u32)w0 * (u32)at.v.x.sw) *
                           (u32)sizeof(T)
                     : 0;
            to[i].nbytes =
                some ? (u32)((h1 - h0) * w_in + w1 - w0) * (u32)sizeof(T) : 0;
            to[i].piece = piece;
            piece += some ? (to[i].nbytes + 30) / 16 : 0;
        }
        tile.segments = n;
        tile.pieces = piece;
        tile.pieces_m = Divisor(max_of(piece, 1u)).m;
    }
    DEV_MEMBER Part *parts() const
    {
        return reinterpret_cast<Part *>(lds + at.parts_at);
    }
    DEV_MEMBER void list_parts(u32 turn) const
    {
        const Tile &tile = at.tile[turn];
        const Segment *const of = segments_of(turn);

        NO_UNROLL
        for (u32 i = threadIdx.x; !at.packed && i < tile.pieces; i += threads) {
            u32 s = 0;

            NO_UNROLL
            while (s + 1 < tile.segments && of[s + 1].piece <= i)
                s++;
            const u32 by = (i - of[s].piece) * 16;

            parts()[i] = Part{of[s].from + by, (i32)(of[s].nbytes - by)};
        }
    }
    /*
     * Copies all that the stage from channel c0 on needs. What is before the
     * first byte of a segment, or behind its last, comes along up to a multiple
     * of 16: it is another part of the tensor.
     */
    DEV_MEMBER void copy_stage(u32 turn, u32 c0) const
    {
        const Tile &tile = at.tile[turn];
        const u32 channels =
            min_of(row_channels << at.log_blocks, (u32)at.v.x.c - c0);
        {
            const u8 *const from = reinterpret_cast<const u8 *>(
                at.x + tile.image * at.v.x.sb + c0 * at.v.x.sc);
            const u32 channel = (u32)at.v.x.sc * (u32)sizeof(T);

            if (at.packed)
                copy_lines(at.raw_at, from, at.v.x.sb * sizeof(T),
                           channels * channel, tile.segments, at.image_pieces,
                           at.image_m, at.x_end);
            else
                copy_parts(tile, from, channel, channels);
        }
        copy_lines(at.raw_kernel_at,
                   reinterpret_cast<const u8 *>(at.w + tile.o0 * at.v.w.so +
                                                (u64)c0 * at.taps),
                   at.v.w.so * sizeof(T), channels * at.taps * (u32)sizeof(T),
                   min_of((u32)at.v.w.outputs - tile.o0, 1u << at.log_m),
                   at.kernel_pieces, at.kernel_m, at.w_end);
        async_copies_end();
    }
    DEV_MEMBER void copy_parts(const Tile &tile, const u8 *from, u32 channel,
                               u32 channels) const
    {
        const u32 n = tile.pieces, all = n * channels, m = tile.pieces_m;
        const u32 to = lds_copy_address(lds + at.raw_at);
        const u8 *const end = at.x_end;

        NO_UNROLL
        for (u32 i = threadIdx.x; i < all; i += threads) {
            const u32 c = Plan::divided(i, n, m);
            const Part part = parts()[i - c * n];

            copy_piece(to + i * 16, from + (u64)c * channel + part.from,
                       part.left, end);
        }
    }
    /* n lines of so many bytes and pieces */
    DEV_MEMBER void copy_lines(u32 at_lds, const u8 *from, u64 line, u32 nbytes,
                               u32 n, u32 pieces, u32 pieces_m,
                               const u8 *end) const
    {
        const u32 to = lds_copy_address(lds + at_lds);

        NO_UNROLL
        for (u32 i = threadIdx.x; i < n * pieces; i += threads) {
            const u32 o = Plan::divided(i, pieces, pieces_m);
            const u32 by = (i - o * pieces) * 16;

            copy_piece(to + i * 16, from + o * line + by, (i32)(nbytes - by),
                       end);
        }
    }
    static DEV_MEMBER void copy_piece(u32 to, const u8 *from, i32 left,
                                      const u8 *end)
    {
        const u32 low = (u32)(u64)from & 15;

        from -= low;
        if (left + (i32)low > 0)
            async_copy_part(to, from, (u32)min_of<u64>(16, (u64)(end - from)));
    }
    /* from where they were copied to to the slab */
    DEV_MEMBER void move_slab(const Tile &tile, u32 c0) const
    {
        const u32 *const places =
            reinterpret_cast<const u32 *>(lds + at.places_at);
        const u32 log_pieces = 1 + at.log_blocks;
        const u32 warp = threadIdx.x / 32;
        const u32 piece = warp & ((1u << log_pieces) - 1);
        const u32 c = c0 + piece * n16,
                  left = (u32)at.v.x.c - min_of(c, (u32)at.v.x.c);
        const u32 channel = (u32)at.v.x.sc * (u32)sizeof(T);
        const u32 each = at.packed ? channel : tile.pieces * 16;
        const u8 *const raw = lds + at.raw_at + piece * n16 * each;
        const bool whole = left >= n16, even = at.packed || channel % 16 == 0;

        NO_UNROLL
        for (u32 e = (warp >> log_pieces) * 32 + threadIdx.x % 32;
             e < at.entries; e += threads >> log_pieces) {
            const u32 place = places[e];
            const u8 *it = raw + (place >> 4);
            u32 low = (place & 15) + (at.packed ? 0 : c * channel);
            Pack<Bits, n16> in = {};

            if (place == nothing) {
            } else if (whole && even) {
                it += low & 15;
                UNROLL
                for (u32 i = 0; i < n16; i++) {
                    in[i] = *reinterpret_cast<const Bits *>(it);
                    it += each;
                }
            } else if (whole) {
                UNROLL
                for (u32 i = 0; i < n16; i++) {
                    in[i] = *reinterpret_cast<const Bits *>(it + (low & 15));
                    it += each;
                    low += channel;
                }
            } else {
                UNROLL
                for (u32 i = 0; i < n16; i++) {
                    if (i < left)
                        in[i] =
                            *reinterpret_cast<const Bits *>(it + (low & 15));
                    it += each;
                    low += even ? 0 : channel;
                }
            }
            store_pack(
                reinterpret_cast<Bits *>(
                    lds + swizzled((e * 32 << at.log_blocks) + piece * 16)),
                in);
        }
    }
    /* 4 bytes a lane, one channel or two, for half of the taps */
    DEV_MEMBER void move_kernel(const Tile &tile, u32 c0) const
    {
        constexpr u32 log_pair = sizeof(T) == 2 ? 1 : 0;
        const u32 log_words = 3 + at.log_blocks;
        const u32 log_pairs = at.log_m + log_words;
        const u32 pitch = at.kernel_pieces * 16;
        const u32 outputs = (u32)at.v.w.outputs - tile.o0;
        const u32 left_c = (u32)at.v.x.c - c0;
        const u32 step = at.step_nbytes() << at.log_blocks;
        const u32 line = (u32)at.v.w.so * (u32)sizeof(T);
        const u32 low0 =
            (u32)(u64)(at.w + tile.o0 * at.v.w.so + (u64)c0 * at.taps);
        const u32 channel = at.taps * (u32)sizeof(T);
        const bool nine = at.taps == 9 && ((low0 | line) & 3) == 0;
        const u32 log_parts = at.taps > 1 && !nine ? 1 : 0;
        const u32 half = log_parts ? (at.taps + 1) / 2 : at.taps;

        NO_UNROLL
        for (u32 i = threadIdx.x; i < 1u << (log_pairs + log_parts);
             i += threads) {
            const u32 part = i >> log_pairs, pair = i & ((1u << log_pairs) - 1);
            const u32 word = pair & ((1u << log_words) - 1);
            const u32 o = pair >> log_words, c = word << log_pair;
            const u32 t0 = part ? half : 0, t1 = part ? at.taps : half;
            const u8 *it = lds + at.raw_kernel_at + o * pitch +
                           ((low0 + o * line) & 15) + c * channel +
                           t0 * (u32)sizeof(T);
            const u32 there = o < outputs ? left_c - min_of(left_c, c) : 0;
            u8 *to = lds + at.kernel_at + t0 * step +
                     (word / 8) * at.step_nbytes() + o * 32 +
                     (word / 4 % 2 ^ (o >> 2 & 1)) * 16 + word % 4 * 4;

            if (nine && there > log_pair) {
                move_nine(it, to, step);
                continue;
            }
            NO_UNROLL
            for (u32 t = t0; t < t1; t++) {
                u32 in =
                    there > 0 ? (u32) * reinterpret_cast<const Bits *>(it) : 0;

                if (sizeof(T) == 2 && there > 1)
                    in |= (u32) * reinterpret_cast<const Bits *>(it + channel)
                          << 16;
                *reinterpret_cast<u32 *>(to) = in;
                it += sizeof(T);
                to += step;
            }
        }
    }
    /* 3 x 3 taps of one channel or two, from words */
    static DEV_MEMBER void move_nine(const u8 *from, u8 *to, u32 step)
    {
        const u32 *const in = reinterpret_cast<const u32 *>(from);
        u32 words[9];

        UNROLL
        for (u32 t = 0; t < 9; t++)
            words[t] = in[t];
        UNROLL
        for (u32 t = 0; t < 9; t++) {
            u32 out = words[t];

            if (sizeof(T) == 2) /* halves t and 9 + t */
                out = (words[t / 2] >> t % 2 * 16 & 0xffff) |
                      (t % 2 ? words[(9 + t) / 2] << 16
                             : words[(9 + t) / 2] & 0xffff0000);
            *reinterpret_cast<u32 *>(to) = out;
            to += step;
        }
    }
};
