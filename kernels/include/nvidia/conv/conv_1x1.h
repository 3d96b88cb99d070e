/*
 * conv_1x1.h - convolutions whose inputs are copied to LDS as they lie
 *
 * Kernels of one element: y = w x for each image, its positions side by side.
 * Rows of positions are copied.
 *
 * Patches, as in vision transformers: y = w x, where a row of x is a position's
 * window. A window's rows are copied, side by side like a row of the kernel.
 *
 * A ring of stages of some terms each is filled ahead, across tiles where LDS
 * has room for a tile's sums beside the ring.
 */
#pragma once

#include "nvidia/conv/conv_tiles.h"

template <typename T> struct ConvRows : ConvTiles<false, T> {
    CONV_TILES(false)

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
        tile.h_out = tile.first / (u32)at.v.w_out;
        tile.w_out = tile.first - tile.h_out * (u32)at.v.w_out;
    }
    template <u32 n>
    static DEV_MEMBER void copy_grain(u32 to, const u8 *from, bool there)
    {
        if constexpr (n == 16)
            async_copy_part(to, from, there ? 16 : 0);
        else
            async_copy_narrow<n>(to, from, there ? n : 0);
    }
    template <u32 n>
    DEV_MEMBER void copy_rows(const Tile &tile, u32 c, u32 lds_to) const
    {
        const u32 log_n = log_grains(), first = threadIdx.x >> log_n;
        const u32 grain = threadIdx.x & ((1u << log_n) - 1);
        const u32 channels = row_channels << at.log_blocks;
        const u32 left = at.terms - c, step = threads >> log_n;
        const u64 down = (at.v.x.sc * sizeof(T)) * step;
        const u32 down_lds = at.pitch * step;
        const u32 by = grain * (n / (u32)sizeof(T));
        const u32 place = tile.first + by;
        const u32 images = Plan::quotient(place, at.by_plane);
        const u8 *it = reinterpret_cast<const u8 *>(
            at.x + (tile.image + images) * at.v.x.sb +
            (place - images * at.by_plane.d) + (c + first) * at.v.x.sc);
        u32 to = lds_to + first * at.pitch + grain * n;

        /* Past the last position nothing is copied: stale LDS is multiplied,
         * and the results are not stored. */
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
    /* the place in LDS of byte k of a row of 32 << log_blocks bytes of terms;
     * rows of all outputs, or of all positions, are 32 bytes apart */
    static DEV_MEMBER u32 term_at(u32 row, u32 k, u32 step_nbytes)
    {
        return k / 32 * step_nbytes + row * 32 +
               (k / 16 % 2 ^ (row >> 2 & 1)) * 16 + k % 16;
    }
    template <u32 n>
    DEV_MEMBER void copy_kernel(const Tile &tile, u32 c, u32 lds_to) const
    {
        constexpr u32 each = n / (u32)sizeof(T);
        const u32 log_n = 5 - constant_log2(n) + at.log_blocks;
        const u32 rows = threads >> log_n;
        const u32 piece = threadIdx.x & ((1u << log_n) - 1);
        const u32 first = threadIdx.x >> log_n;
        const u32 end = min_of(1u << at.log_m, (u32)at.v.w.outputs - tile.o0);
        const u64 down = at.v.w.so * sizeof(T) * rows;
        const bool some = c + piece * each < at.terms;
        const u8 *it = reinterpret_cast<const u8 *>(
            at.w + (tile.o0 + first) * at.v.w.so + c + piece * each);

        NO_UNROLL
        for (u32 o = first; o < end; o += rows) {
            copy_grain<n>(lds_to + term_at(o, piece * n, at.step_nbytes()),
                          some ? it : reinterpret_cast<const u8 *>(at.w), some);
            it += down;
        }
    }
    /* The windows of the tile's positions, like rows of the kernel. */
    template <u32 n>
    DEV_MEMBER void copy_patches(const Tile &tile, u32 c, u32 lds_to) const
    {
        const u32 log_n = 5 - constant_log2(n) + at.log_blocks;
        const u32 piece = threadIdx.x & ((1u << log_n) - 1);
        const u32 k = c + piece * (n / (u32)sizeof(T));
        const u32 channel = k / at.taps, tap = k - channel * at.taps;
        const u32 kw = (u32)at.v.w.kw, row = tap / kw;
        const bool some = k < at.terms;
        const u32 stride = (u32)at.v.stride;
        const T *const from =
            at.x + tile.image * at.v.x.sb + channel * at.v.x.sc +
            row * (u32)at.v.dilation * at.v.x.sh + (tap - row * kw);

        NO_UNROLL
        for (u32 e = threadIdx.x >> log_n; e < at.positions();
             e += threads >> log_n) {
            const u32 down = Plan::quotient(tile.w_out + e, at.by_w_out);
            const u32 h = tile.h_out + down;
            const u32 images = Plan::quotient(h, at.by_h_out);
            const u32 column = tile.w_out + e - down * at.by_w_out.d;
            const T *const it =
                from + images * at.v.x.sb +
                (h - images * at.by_h_out.d) * stride * at.v.x.sh +
                column * stride;

            /* as in copy_rows(), nothing is copied past the last position */
            if (tile.p0 + e >= at.count)
                return;
            copy_grain<n>(lds_to + term_at(e, piece * n, at.pitch),
                          reinterpret_cast<const u8 *>(some ? it : at.x), some);
        }
    }
    template <u32 n>
    DEV_MEMBER void copy_x(const Tile &tile, u32 c, u32 lds_to) const
    {
        if (at.patches)
            copy_patches<n>(tile, c, lds_to);
        else
            copy_rows<n>(tile, c, lds_to);
    }
    /* Addresses are computed for each stage, because the products leave no
     * registers to keep them. */
    DEV_MEMBER void copy_stage(const Feed &feed, bool held) const
    {
        const Tile &tile = at.tile[feed.tile % turns];

        if (tile.end != 0 && !held) {
            const u32 to = (u32)__cvta_generic_to_shared(
                lds + at.ring_at + feed.slot * at.stage_nbytes);
            const u32 to_x = to + (at.step_nbytes() << at.log_blocks);

            if (at.log_kernel_grain == 4)
                copy_kernel<16>(tile, feed.c, to);
            else
                copy_kernel<4>(tile, feed.c, to);
            if (at.log_grain == 4)
                copy_x<16>(tile, feed.c, to_x);
            else if (at.log_grain == 3)
                copy_x<8>(tile, feed.c, to_x);
            else
                copy_x<4>(tile, feed.c, to_x);
        }
        async_copies_end();
    }
    /* Called by one thread. Stores the next tile's numbers at least one barrier
     * before other threads read them. */
    DEV_MEMBER void advance(const TileBlocks &blocks, const Feed &from,
                            Feed &to, bool held) const
    {
        u32 tile = from.tile;
        u32 c = from.c + (held ? 0 : row_channels << at.log_blocks);

        if (c >= at.terms) {
            c = 0;
            if (at.tile[tile % turns].end != 0) {
                tile++;
                begin_rows(blocks.number + (tile + 1) * blocks.count,
                           at.tile[(tile + 1) % turns]);
            }
        }
        to.tile = tile;
        to.c = c;
        to.slot = from.slot + 1 == at.ring_stages ? 0 : from.slot + 1;
    }
    DEV_MEMBER void run(const TileBlocks &blocks) const
    {
        u32 turn = 0, odd = 0, c = 0, ahead = at.ring_stages - 1;
        const bool shares = at.ring_at == 0;
        f32 sums[2][2][2][4] = {};

        if (blocks.number >= at.tiles)
            return;
        if (threadIdx.x == 0) {
            begin_rows(blocks.number, at.tile[0]);
            begin_rows(blocks.number + blocks.count, at.tile[1]);
            at.feed[0] = Feed{0, 0, 0};
        }
        NO_UNROLL
        for (bool more = true; more; odd ^= 1) {
            if (ahead == 0)
                wait_for_stage();
            __syncthreads();
            forget_memory();
            /* the stage is the next tile's, and shares LDS with this tile's
             * sums */
            const bool held = shares && at.feed[odd].tile != turn;

            copy_stage(at.feed[odd], held);
            /* meanwhile the other threads multiply */
            if (threadIdx.x == 0)
                advance(blocks, at.feed[odd], at.feed[odd ^ 1], held);
            if (ahead > 0) { /* the ring is not full yet */
                ahead--;
                continue;
            }
            if (at.patches)
                multiply<true>(sums, at.feed[odd].slot + 1);
            else
                multiply<false>(sums, at.feed[odd].slot + 1);
            c += row_channels << at.log_blocks;
            if (c < at.terms)
                continue;
            forget_memory();
            if (shares) {
                __syncthreads();
                ahead = at.ring_stages - 1;
            }
            finish(at.tile[turn % turns], sums);
            zero(sums);
            c = 0;
            turn++;
            more = at.tile[turn % turns].end != 0;
        }
    }
    static DEV_MEMBER void zero(f32 (&sums)[2][2][2][4])
    {
        UNROLL
        for (u32 i = 0; i < 32; i++)
            sums[i / 16][i / 8 % 2][i / 4 % 2][i % 4] = 0;
    }
    DEV_MEMBER void wait_for_stage() const
    {
        if (at.ring_stages == 2)
            async_copies_wait<0>();
        else if (at.ring_stages == 3)
            async_copies_wait<1>();
        else
            async_copies_wait<2>();
    }
    /* the stage in this slot, or in the first one behind the last */
    template <bool Patches>
    DEV_MEMBER void multiply(f32 (&sums)[2][2][2][4], u32 slot) const
    {
        const u32 stage =
            at.ring_at + (slot == at.ring_stages ? 0 : slot) * at.stage_nbytes;
        const u32 l = threadIdx.x % 32, line = row() + l % 16, piece = l / 16;
        const u32 step = at.step_nbytes();
        const u32 step_x = Patches ? at.pitch : row_channels * at.pitch;
        const u32 base = (u32)__cvta_generic_to_shared(lds) + stage;
        u32 s = split();
        u32 a = base + s * step + term_at(line, piece * 16, 0);
        u32 b =
            base + (step << at.log_blocks) + s * step_x +
            (Patches ? term_at(col() + l % 8 + l / 16 * 8, l / 8 % 2 * 16, 0)
                     : col() * (u32)sizeof(T) + Positions::lane_at(at.pitch));

        NO_UNROLL
        for (; s < 1u << at.log_blocks; s += 1u << at.log_splits) {
            UNROLL
            for (u32 j = 0; j < 2; j++) {
                const Positions x = positions_at<Patches>(
                    b + j * 16 * (Patches ? 32 : (u32)sizeof(T)));

                UNROLL
                for (u32 i = 0; i < 2; i++)
                    SlabOp<T>::multiply(
                        sums[i][j], a + i * 512 + j * SlabOp<T>::again(at.v),
                        x);
            }
            a += step << at.log_splits;
            b += step_x << at.log_splits;
        }
    }
    template <bool Patches> DEV_MEMBER Positions positions_at(u32 lds_at) const
    {
        if constexpr (Patches)
            return Positions(lds_at);
        else
            return Positions(lds_at, at.pitch);
    }
};
