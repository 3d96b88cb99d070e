/*
 * conv_1x1.h - convolutions whose kernels have one element
 *
 * y = w x for each image, its positions side by side: no input is moved, rows
 * of positions are copied and multiplied as they lie. A ring of stages of some
 * channels each is filled ahead, across tiles where LDS has room for a tile's
 * sums beside the ring.
 */
#pragma once

#include "nvidia/conv/conv_tiles.h"

template <typename T> struct ConvRows : ConvTiles<T> {
    CONV_TILES

    using typename Tiles::Feed;
    static constexpr u32 turns = Plan::most_turns;

    /* the pieces of a row of positions */
    DEV_MEMBER u32 log_grains() const
    {
        return Tiles::log_outputs - at.log_m - at.log_splits +
               constant_log2(sizeof(T)) - at.log_grain;
    }
    /* for one thread; a tile that is not there has no end */
    DEV_MEMBER void begin_rows(u32 number, Tile &tile) const
    {
        const u32 turn = number / at.tiles_o;
        const u32 plane = (u32)at.v.h_out * (u32)at.v.w_out;

        tile.o0 = (number - turn * at.tiles_o) << at.log_m;
        tile.p0 = turn * at.positions();
        tile.end =
            number < at.tiles ? min_of(tile.p0 + at.positions(), at.count) : 0;
        tile.image = tile.p0 / plane;
        tile.first = tile.p0 - tile.image * plane;
    }
    template <u32 n>
    static DEV_MEMBER void copy_grain(u32 to, const u8 *from, bool there)
    {
        if constexpr (n == 16)
            async_copy_part(to, from, there ? 16 : 0);
        else
            async_copy_few<n>(to, from, there ? n : 0);
    }
    template <u32 n>
    DEV_MEMBER void copy_rows(const Tile &tile, u32 c, u32 lds_to) const
    {
        const u32 log_n = log_grains(), first = threadIdx.x >> log_n;
        const u32 grain = threadIdx.x & ((1u << log_n) - 1);
        const u32 channels = row_channels << at.log_blocks;
        const u32 left = (u32)at.v.x.c - c, step = threads >> log_n;
        const u64 down = (at.v.x.sc * sizeof(T)) * step;
        const u32 down_lds = at.pitch * step;
        const u32 by = grain * (n / (u32)sizeof(T));
        const u32 place = tile.first + by;
        const u32 images = Plan::quotient(place, at.by_plane);
        const u8 *it = reinterpret_cast<const u8 *>(
            at.x + (tile.image + images) * at.v.x.sb +
            (place - images * at.by_plane.d) + (c + first) * at.v.x.sc);
        u32 to = lds_to + first * at.pitch + grain * n;

        /* behind the last position: old LDS is multiplied, but not stored */
        if (tile.p0 + by >= at.count)
            return;
        if (left >= channels) {
            NO_UNROLL
            for (u32 k = first; k < channels; k += step) {
                copy_grain<n>(to, it, true);
                it += down;
                to += down_lds;
            }
            return;
        }
        NO_UNROLL
        for (u32 k = first; k < channels; k += step) {
            copy_grain<n>(to,
                          k < left ? it : reinterpret_cast<const u8 *>(at.x),
                          k < left);
            it += down;
            to += down_lds;
        }
    }
    DEV_MEMBER void copy_kernel(const Tile &tile, u32 c, u32 lds_to) const
    {
        const u32 log_n = 1 + at.log_blocks, rows = threads >> log_n;
        const u32 piece = threadIdx.x & ((1u << log_n) - 1);
        const u32 first = threadIdx.x >> log_n;
        const u32 end = min_of(1u << at.log_m, (u32)at.v.w.outputs - tile.o0);
        const u32 to = lds_to + piece / 2 * at.step_nbytes();
        const u64 down = at.v.w.so * sizeof(T) * rows;
        const bool some = c + piece * n16 < (u32)at.v.x.c;
        const u8 *it = reinterpret_cast<const u8 *>(
            at.w + (tile.o0 + first) * at.v.w.so + c + piece * n16);

        NO_UNROLL
        for (u32 o = first; o < end; o += rows) {
            async_copy_part(to + o * 32 + (piece % 2 ^ (o >> 2 & 1)) * 16,
                            some ? it : reinterpret_cast<const u8 *>(at.w),
                            some ? 16 : 0);
            it += down;
        }
    }
    /* Addresses are worked out anew for each stage: while products are made, no
     * registers are free to keep them. */
    DEV_MEMBER void copy_stage(const Feed &feed) const
    {
        const Tile &tile = at.tile[feed.tile % turns];

        if (tile.end != 0) {
            const u32 to = (u32)__cvta_generic_to_shared(
                lds + at.ring_at + feed.slot * at.stage_nbytes);
            const u32 to_x = to + (at.step_nbytes() << at.log_blocks);

            copy_kernel(tile, feed.c, to);
            if (at.log_grain == 4)
                copy_rows<16>(tile, feed.c, to_x);
            else if (at.log_grain == 3)
                copy_rows<8>(tile, feed.c, to_x);
            else
                copy_rows<4>(tile, feed.c, to_x);
        }
        async_copies_end();
    }
    /* For one thread. A tile is known before it is fed: it is read one barrier
     * later at the soonest. */
    DEV_MEMBER void advance(const TileBlocks &blocks, const Feed &from,
                            Feed &to) const
    {
        u32 tile = from.tile, c = from.c + (row_channels << at.log_blocks);

        if (c >= (u32)at.v.x.c) {
            c = 0;
            if (at.tile[tile % turns].end != 0)
                tile++;
            begin_rows(blocks.number + (tile + 1) * blocks.count,
                       at.tile[(tile + 1) % turns]);
        }
        to.tile = tile;
        to.c = c;
        to.slot = from.slot + 1 == at.ring_stages ? 0 : from.slot + 1;
    }
    DEV_MEMBER void run(const TileBlocks &blocks) const
    {
        u32 turn = 0, odd = 0;

        if (threadIdx.x == 0) {
            begin_rows(blocks.number, at.tile[0]);
            begin_rows(blocks.number + blocks.count, at.tile[1]);
            at.feed[0] = Feed{0, 0, 0};
        }
        NO_UNROLL
        for (u32 i = 1; i < at.ring_stages; i++) {
            __syncthreads();
            copy_stage(at.feed[odd]);
            if (threadIdx.x == 0)
                advance(blocks, at.feed[odd], at.feed[odd ^ 1]);
            odd ^= 1;
        }
        NO_UNROLL
        for (; at.tile[turn % turns].end != 0; turn++) {
            f32 sums[2][2][2][4] = {};

            NO_UNROLL
            for (u32 c0 = 0; c0 < (u32)at.v.x.c;
                 c0 += row_channels << at.log_blocks) {
                if (at.ring_stages == 2)
                    async_copies_wait<0>();
                else if (at.ring_stages == 3)
                    async_copies_wait<1>();
                else
                    async_copies_wait<2>();
                __syncthreads();
                forget_memory();
                copy_stage(at.feed[odd]);
                /* the others multiply */
                if (threadIdx.x == 0)
                    advance(blocks, at.feed[odd], at.feed[odd ^ 1]);
                multiply(sums, at.feed[odd].slot + 1);
                odd ^= 1;
            }
            forget_memory();
            finish(at.tile[turn % turns], sums);
        }
    }
    /* the stage in this slot, or in the first one behind the last */
    DEV_MEMBER void multiply(f32 (&sums)[2][2][2][4], u32 slot) const
    {
        const u32 stage =
            at.ring_at + (slot == at.ring_stages ? 0 : slot) * at.stage_nbytes;
        const u32 l = threadIdx.x % 32, line = row() + l % 16, piece = l / 16;
        const u32 step = at.step_nbytes(), channels = row_channels * at.pitch;
        const u32 base = (u32)__cvta_generic_to_shared(lds) + stage;
        u32 s = split();
        u32 a = base + s * step + line * 32 + (piece ^ (line >> 2 & 1)) * 16;
        u32 b = base + (step << at.log_blocks) + s * channels +
                col() * (u32)sizeof(T) + Positions::lane_at(at.pitch);

        NO_UNROLL
        for (; s < 1u << at.log_blocks; s += 1u << at.log_splits) {
            UNROLL
            for (u32 j = 0; j < 2; j++) {
                const Positions x(b + j * 16 * (u32)sizeof(T), at.pitch);

                UNROLL
                for (u32 i = 0; i < 2; i++)
                    SlabOp<T>::multiply(
                        sums[i][j], a + i * 512 + j * SlabOp<T>::again(at.v),
                        x);
            }
            a += step << at.log_splits;
            b += channels << at.log_splits;
        }
    }
};
