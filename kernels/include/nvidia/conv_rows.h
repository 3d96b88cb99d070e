/*
 * conv_rows.h - convolutions whose kernels have one element
 *
 * y = w x for each image, its positions side by side: no input is moved, rows
 * of positions are copied and multiplied as they lie. A ring of stages of some
 * channels each is filled ahead, across tiles where LDS has room for a tile's
 * sums beside the ring.
 */
#pragma once

#include "nvidia/conv_tiles.h"

template <typename T> struct ConvRows : ConvTiles<T> {
    CONV_TILES

    /* What a thread copies next: the first of its positions of the tile, and
     * its piece of a row of the kernel. */
    struct Feed {
        u32 tile, c, slot;
        const u8 *x, *w; /* NULL: none */
        u32 outputs;     /* from the tile's first */
    };
    /* of a stage, a thread's piece of a row of positions, and that row */
    DEV_MEMBER u32 log_grains() const
    {
        return Tiles::log_outputs - at.log_m - at.log_splits +
               constant_log2(sizeof(T)) - at.log_grain;
    }
    DEV_MEMBER void aim(Feed &feed) const
    {
        const u32 plane = (u32)at.v.h_out * (u32)at.v.w_out;
        const u32 turn = feed.tile / at.tiles_o, log_n = log_grains();
        const u32 o0 = (feed.tile - turn * at.tiles_o) << at.log_m;
        const u32 grain = threadIdx.x & ((1u << log_n) - 1);
        const u32 p =
            turn * at.positions() + (grain << at.log_grain) / (u32)sizeof(T);
        const u32 image = p / plane;

        feed.x = p < at.count
                     ? reinterpret_cast<const u8 *>(
                           at.x + image * at.v.x.sb + (p - image * plane) +
                           (threadIdx.x >> log_n) * at.v.x.sc)
                     : NULL;
        feed.outputs = (u32)at.v.w.outputs - o0;
        feed.w = reinterpret_cast<const u8 *>(
            at.w + (o0 + (threadIdx.x >> (1 + at.log_blocks))) * at.v.w.so +
            (threadIdx.x & ((2u << at.log_blocks) - 1)) * n16);
    }
    /* what finish() needs of a tile */
    DEV_MEMBER void begin_rows(u32 number, Tile &tile) const
    {
        const u32 turn = number / at.tiles_o;

        tile.o0 = (number - turn * at.tiles_o) << at.log_m;
        tile.p0 = turn * at.positions();
        tile.end = min_of(tile.p0 + at.positions(), at.count);
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
    DEV_MEMBER void copy_rows(const Feed &feed, u32 lds_to) const
    {
        const u32 log_n = log_grains(), first = threadIdx.x >> log_n;
        const u32 channels = row_channels << at.log_blocks;
        const u32 left = (u32)at.v.x.c - feed.c, step = threads >> log_n;
        const u64 down = (at.v.x.sc * sizeof(T)) * step;
        const u32 down_lds = at.pitch * step;
        const u8 *it = feed.x + feed.c * at.v.x.sc * sizeof(T);
        u32 to =
            lds_to + first * at.pitch + (threadIdx.x & ((1u << log_n) - 1)) * n;

        if (!feed.x) /* what is there is multiplied, and not stored */
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
    DEV_MEMBER void copy_stage(Feed &feed, u32 step) const
    {
        if (feed.tile < at.tiles) {
            const u32 to = (u32)__cvta_generic_to_shared(
                lds + at.ring_at + feed.slot * at.stage_nbytes);
            const u32 log_n = 1 + at.log_blocks;
            const u32 piece = threadIdx.x & ((1u << log_n) - 1);
            const u32 rows = threads >> log_n;
            const u32 end = min_of(1u << at.log_m, feed.outputs);
            const u32 to_w = to + piece / 2 * at.step_nbytes();
            const u8 *it = feed.w + feed.c * sizeof(T);
            const u64 down = at.v.w.so * sizeof(T) * rows;
            const bool some = feed.c + piece * n16 < (u32)at.v.x.c;

            NO_UNROLL
            for (u32 o = threadIdx.x >> log_n; o < end; o += rows) {
                async_copy_part(to_w + o * 32 + (piece % 2 ^ (o >> 2 & 1)) * 16,
                                some ? it : reinterpret_cast<const u8 *>(at.w),
                                some ? 16 : 0);
                it += down;
            }
            const u32 to_x = to + (at.step_nbytes() << at.log_blocks);

            if (at.log_grain == 4)
                copy_rows<16>(feed, to_x);
            else if (at.log_grain == 3)
                copy_rows<8>(feed, to_x);
            else
                copy_rows<4>(feed, to_x);
            feed.c += row_channels << at.log_blocks;
            feed.slot = feed.slot + 1 == at.ring_stages ? 0 : feed.slot + 1;
            if (feed.c >= (u32)at.v.x.c) {
                feed.c = 0;
                feed.tile += step;
                aim(feed);
            }
        }
        async_copies_end();
    }
    DEV_MEMBER void run(const TileBlocks &blocks) const
    {
        Feed feed = {blocks.block, 0, 0, NULL, NULL, 0};
        u32 slot = 0, turn = 0;

        aim(feed);
        if (threadIdx.x == 0)
            begin_rows(blocks.block, at.tile[0]);
        NO_UNROLL
        for (u32 i = 1; i < at.ring_stages; i++)
            copy_stage(feed, blocks.nblocks);
        NO_UNROLL
        for (u32 tile = blocks.block; tile < at.tiles; tile += blocks.nblocks) {
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
                copy_stage(feed, blocks.nblocks);
                /* the others multiply */
                if (c0 == 0 && threadIdx.x == 0)
                    begin_rows(tile + blocks.nblocks, at.tile[turn ^ 1]);
                multiply(sums, at.ring_at + slot * at.stage_nbytes);
                slot = slot + 1 == at.ring_stages ? 0 : slot + 1;
            }
            forget_memory();
            finish(at.tile[turn], sums);
            turn ^= 1;
        }
    }
    DEV_MEMBER void multiply(f32 (&sums)[2][2][2][4], u32 stage) const
    {
        const u32 l = threadIdx.x % 32, line = row() + l % 16, piece = l / 16;
        const u32 step = at.step_nbytes();
        const u32 a = (u32)__cvta_generic_to_shared(lds) + stage + line * 32 +
                      (piece ^ (line >> 2 & 1)) * 16;
        const u8 *const b =
            lds + stage + (step << at.log_blocks) + col() * (u32)sizeof(T);

        NO_UNROLL
        for (u32 s = split(); s < 1u << at.log_blocks;
             s += 1u << at.log_splits) {
            UNROLL
            for (u32 j = 0; j < 2; j++) {
                const Positions x(b + s * row_channels * at.pitch +
                                      j * 16 * (u32)sizeof(T),
                                  at.pitch);

                UNROLL
                for (u32 i = 0; i < 2; i++)
                    SlabOp<T>::multiply(sums[i][j], a + s * step + i * 512, x);
            }
        }
    }
};
