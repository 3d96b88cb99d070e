/*
 * conv_tile.h - the tiles of convolutions on sm_80 and later
 *
 * An implicit product of matrices: a block makes the tiles of conv_plan.h one
 * after another. It walks along k in stages, which conv_copy.h brings to a ring
 * in LDS, and multiplies them by conv_mma.h.
 *
 * Zeros for padding are the same as dropped terms unless a kernel element is
 * infinite or NaN. Then the sum is NaN, and the output is computed again, term
 * by term. NaN sums of f32 must be computed again anyway, because ConvMma<f32>
 * turns infinite numbers into NaN.
 */
#pragma once

#include "nvidia/conv/conv_copy.h"
#include "nvidia/conv/conv_mma.h"

template <typename T> struct ConvMmaTile {
    using Plan = ConvPlan<T>;
    using Shape = typename Plan::Shape;
    using Operand = typename Plan::Operand;
    using Copy = ConvCopy<T>;
    using Positions = typename ConvMma<T>::Positions;
    typedef f32 Sums[32];
    static constexpr u32 nothing = ~0u; /* no place of an output */

    Shape &at;
    u8 *lds;

    DEV_MEMBER void run(const TileBlocks &blocks) const
    {
        NO_UNROLL
        for (u32 tile = blocks.number; tile < at.tiles; tile += blocks.count) {
            if (threadIdx.x == 0)
                begin(at, tile);
            __syncthreads();
            forget_memory();
            list_rows();
            one_tile();
        }
    }
    /* for one thread */
    static __device__ __noinline__ void begin(Shape &at, u32 tile)
    {
        const u32 part = tile / at.part_tiles;
        const u32 in_part = tile - part * at.part_tiles;
        const u32 turn = in_part / at.tiles_o;
        const u32 across = (u32)at.v.remainders_w(), h = part / across;

        at.ah = at.v.template axis_h<i32>(h);
        at.aw = at.v.template axis_w<i32>(part - h * across);
        at.taps = (u32)(at.ah.taps * at.aw.taps);
        at.terms = (u32)at.v.x.c * at.taps;
        at.per_taps = Divisor(at.taps).m;
        at.per_across = Divisor((u32)at.aw.taps).m;
        at.turns = div_up(at.terms, at.stage_terms()) + at.stages - 1;
        at.o0 = (in_part - turn * at.tiles_o) << at.log_m;
        at.p0 = turn << at.log_n;
        at.image = at.p0 / at.plane;
        at.operand[0].from = at.w + at.o0 * at.v.w.so;
        at.operand[1].from = at.x + at.image * at.v.x.sb;
    }
    /* where the rows of both operands lie */
    DEV_MEMBER void list_rows() const
    {
        ConvRow *const kernel =
            reinterpret_cast<ConvRow *>(lds + at.operand[0].rows_at);
        ConvRow *const image =
            reinterpret_cast<ConvRow *>(lds + at.operand[1].rows_at);
        const u32 last_o = (u32)at.v.w.outputs - at.o0 - 1;
        const TapWords words(at.v.flat);

        NO_UNROLL
        for (u32 i = threadIdx.x; i < 1u << at.log_m; i += blockDim.x)
            kernel[i] = {(i32)(min_of(i, last_o) * (u32)at.v.w.so * sizeof(T)),
                         words.all_inside()};
        NO_UNROLL
        for (u32 i = threadIdx.x; i < 1u << at.log_n; i += blockDim.x) {
            const u32 p = at.p0 + i, b = p / at.plane, in = p - b * at.plane;
            const i32 h = (i32)(in / at.columns);
            const i32 w = (i32)(in - (u32)h * at.columns);
            const i32 place = (i32)((b - at.image) * (u32)at.v.x.sb) +
                              at.ah.input(h, 0) * (i32)at.v.x.sh +
                              at.aw.input(w, 0) * (i32)at.v.x.sw;

            image[i] = {place * (i32)sizeof(T),
                        p >= at.count ? words.no_row()
                        : at.inside   ? words.all_inside()
                                      : words.row(at.ah, h, at.aw, w)};
        }
    }
    /* as Divisor does; n * d fits 32 bits */
    static DEV_MEMBER u32 divide_by(u32 n, u32 d, u32 m)
    {
        return d > 1 ? (u32)((u64)n * m >> 32) : n;
    }
    DEV_MEMBER ConvTerm *terms_of(u32 stage, u32 operand) const
    {
        return reinterpret_cast<ConvTerm *>(lds + at.terms_at) +
               (stage % 2 * 2 + operand) * at.stage_terms();
    }
    /* where the terms of a stage lie */
    DEV_MEMBER void list_terms(u32 stage) const
    {
        const TapWords words(at.v.flat);

        NO_UNROLL
        for (u32 i = threadIdx.x; i < at.stage_terms(); i += blockDim.x) {
            const u32 k = stage * at.stage_terms() + i;
            ConvTerm kernel = {0, words.no_term()}, image = kernel;

            if (k < at.terms) {
                const u32 across = (u32)at.aw.taps;
                const u32 c = divide_by(k, at.taps, at.per_taps);
                const u32 tap = k - c * at.taps;
                const u32 h = divide_by(tap, across, at.per_across);
                const u32 w = tap - h * across;

                kernel = {(i32)((c * (u32)at.v.w.sc +
                                 (u32)at.ah.element((i32)h) * (u32)at.v.w.sh +
                                 (u32)at.aw.element((i32)w) * (u32)at.v.w.sw) *
                                sizeof(T)),
                          0};
                image = {((i32)(c * (u32)at.v.x.sc) +
                          (i32)h * at.ah.reach * (i32)at.v.x.sh +
                          (i32)w * at.aw.reach * (i32)at.v.x.sw) *
                             (i32)sizeof(T),
                         at.inside ? 0 : words.term(h, w)};
            }
            terms_of(stage, 0)[i] = kernel;
            terms_of(stage, 1)[i] = image;
        }
    }
    /* Asks for a stage, if the tile has it. Addresses are worked out anew each
     * time: while products are made, no registers are free to keep them. */
    DEV_MEMBER void fill(u32 stage, u32 to) const
    {
        forget_memory();
        if (stage * at.stage_terms() < at.terms) {
            NO_UNROLL
            for (u32 which = 0; which < 2; which++)
                Copy(at, lds, which, terms_of(stage, which), to).run();
        }
        async_copies_end();
        list_terms(stage + 1);
        forget_memory();
    }
    /* this warp's place in the tile: in a warpgroup, 16 rows of its 64 */
    DEV_MEMBER u32 row() const
    {
        const u32 all = (1u << at.log_m) - 1;

        return at.groups ? (threadIdx.x / 2 & all & ~63u) + warp() % 4 * 16
                         : threadIdx.x & all & ~31u;
    }
    DEV_MEMBER u32 col() const
    {
        const u32 log_size = at.groups ? 6 : 5;
        const u32 log_threads = at.groups ? 7 : 5;

        return (threadIdx.x >> log_threads >> (at.log_m - log_size)
                                                  << log_size) &
               ((1u << at.log_n) - 1);
    }
    DEV_MEMBER u32 split() const
    {
        return warp() >> (at.log_m + at.log_n - 10);
    }
    static DEV_MEMBER u32 warp()
    {
        return threadIdx.x / 32;
    }
    /*
     * The main loop. Stages lie in a ring and are asked for `ahead` turns
     * before they are multiplied. Of a single stage, the next one is asked for
     * when all warps have multiplied the last one.
     */
    DEV_MEMBER void one_tile() const
    {
        Sums sums = {};
        u32 slot = 0;

        list_terms(0);
        NO_UNROLL
        for (u32 turn = 0; turn < at.turns; turn++) {
            if (at.stages > 1)
                wait_for_stage();
            stage_written();
            fill(turn, stage_at(slot));
            slot = slot + 1 == at.stages ? 0 : slot + 1;
            if (at.stages == 1) {
                wait_for_stage();
                stage_written();
            }
            /* the ring is full, and its next slot is the oldest */
            if (turn + 1 >= at.stages) {
                if (at.groups)
                    multiply_groups(sums, stage_at(slot));
                else if (at.operand[1].way == conv_along_rows)
                    multiply<true>(sums, stage_at(slot));
                else
                    multiply<false>(sums, stage_at(slot));
            }
            forget_memory();
        }
        __syncthreads();
        forget_memory();
        if (store(sums)) {
            again(at);
            __syncthreads();
        }
    }
    /* the LDS address of a slot of the ring */
    DEV_MEMBER u32 stage_at(u32 slot) const
    {
        return (u32)__cvta_generic_to_shared(lds) + at.ring_at +
               slot * at.stage_nbytes;
    }
    DEV_MEMBER void stage_written() const
    {
#if KPK_WARPGROUPS
        if (conv_has_groups<T> && at.groups)
            wgmma_lds_written();
#endif
        __syncthreads();
    }
    static DEV_MEMBER f32 (&eight(Sums &sums, u32 i))[2][4]
    {
        return *reinterpret_cast<f32(*)[2][4]>(sums + i * 8);
    }
    DEV_MEMBER void wait_for_stage() const
    {
        if (at.stages == 3)
            async_copies_wait<1>();
        else
            async_copies_wait<0>();
    }
    /* Across: positions lie side by side in LDS. */
    template <bool Across> DEV_MEMBER void multiply(Sums &sums, u32 stage) const
    {
        const u32 l = threadIdx.x % 32, s = split();
        const u32 step_a = at.operand[0].block_nbytes;
        const u32 step_b = at.operand[1].block_nbytes;
        const u32 pitch_b = at.operand[1].pitch;
        const u32 end = stage + (step_a << at.log_blocks);
        u32 a = stage + s * step_a + (row() + l % 16) * 16 +
                l / 16 * at.operand[0].pitch;
        u32 b =
            end + s * step_b +
            (Across ? col() * (u32)sizeof(T) + Positions::lane_at(pitch_b)
                    : (col() + l % 8 + l / 16 * 8) * 16 + l / 8 % 2 * pitch_b);

        NO_UNROLL
        for (; a < end; a += step_a << at.log_splits) {
            UNROLL
            for (u32 j = 0; j < 2; j++) {
                const Positions x = positions_at<Across>(
                    b + j * 16 * (Across ? (u32)sizeof(T) : 16), pitch_b);

                UNROLL
                for (u32 i = 0; i < 2; i++)
                    ConvMma<T>::multiply(
                        eight(sums, i * 2 + j),
                        a + i * 256 + j * ConvMma<T>::again(at.v), x);
            }
            b += step_b << at.log_splits;
        }
    }
    DEV_MEMBER void multiply_groups(Sums &sums, u32 stage) const
    {
#if KPK_WARPGROUPS
        if constexpr (conv_has_groups<T>) {
            const Operand &w = at.operand[0], &x = at.operand[1];
            const u32 end = stage + (w.block_nbytes << at.log_blocks);
            const u32 s = split();
            u32 a = stage + s * w.block_nbytes + (row() & ~63u) * 16;
            u32 b = end + s * x.block_nbytes + col() * 16;

            wgmma_hold(sums);
            wgmma_fence();
            NO_UNROLL
            for (; a < end; a += w.block_nbytes << at.log_splits) {
                Wgmma<T, 64>::multiply(sums, ConvMma<T>::rows64(a, w.pitch),
                                       ConvMma<T>::rows64(b, x.pitch), 1);
                b += x.block_nbytes << at.log_splits;
            }
            wgmma_commit();
            wgmma_wait<0>();
            wgmma_hold(sums);
        }
#endif
    }
    template <bool Across>
    static DEV_MEMBER Positions positions_at(u32 lds_at, u32 pitch)
    {
        if constexpr (Across)
            return Positions(lds_at, pitch);
        else
            return Positions(lds_at);
    }
    /* Adds up and stores the sums of all groups by way of LDS, a quarter of the
     * tile's channels at a time. Returns in all threads whether a sum is NaN.
     */
    DEV_MEMBER bool store(const Sums &sums) const
    {
        return at.plane % 4 == 0 && is_aligned(at.y, 4 * sizeof(T)) &&
                       !at.v.transposed
                   ? store_by<4>(sums)
                   : store_by<1>(sums);
    }
    /* A thread stores V positions of many channels. A quarter is 8 of each 32
     * channels, of warpgroups 8 of 16 at 32 of each 64 positions. */
    template <u32 V> DEV_MEMBER bool store_by(const Sums &sums) const
    {
        const u32 l = threadIdx.x % 32, wide = at.groups ? 1 : 0;
        const u32 log_rows = at.log_m - 2 + wide, log_columns = at.log_n - wide;
        const u32 pitch = (1u << log_columns) + 8;
        f32 *const part = reinterpret_cast<f32 *>(lds + at.ring_at);
        f32 *const to_lds =
            part +
            ((split() << log_rows) + (row() >> (2 - wide)) + l / 4) * pitch +
            (col() >> wide) + l % 4 * 2;
        const u32 column = threadIdx.x * V & ((1u << log_columns) - 1);
        const u32 first = threadIdx.x * V >> log_columns;
        const u32 step = blockDim.x * V >> log_columns;
        bool odd = false;

        UNROLL
        for (u32 r = 0; r < 4; r++) {
            UNROLL
            for (u32 j = 0; j < 4; j++) {
                const f32 *const two = sums + r / 2 * 16 + j * 4 + r % 2 * 2;

                store_pack(to_lds + j * 8, Pack<f32, 2>{{two[0], two[1]}});
            }
            __syncthreads();
            odd = store_quarter<V>(
                      part + column, first, step, pitch, at.groups ? r % 2 : r,
                      at.groups ? column / 32 * 64 + r / 2 * 32 + column % 32
                                : column) ||
                  odd;
            if (r < 3)
                __syncthreads();
        }
        return __syncthreads_or(odd);
    }
    template <u32 V>
    DEV_MEMBER bool store_quarter(const f32 *part, u32 first, u32 step,
                                  u32 pitch, u32 eighth, u32 column) const
    {
        const u32 wide = at.groups ? 1 : 0, log_rows = at.log_m - 2 + wide;
        const u32 p = at.p0 + column, image = p / at.plane;
        const u32 outputs = (u32)at.v.w.outputs;
        const u32 whole = (u32)(at.v.h_out * at.v.w_out);
        const u32 place = output_at(p - image * at.plane);
        const u32 left = p < at.count && place != nothing ? outputs - at.o0 : 0;
        T *const to = at.y + ((u64)image * outputs + at.o0) * whole + place;
        bool odd = false;

        NO_UNROLL
        for (u32 i = first; i < 1u << log_rows; i += step) {
            const u32 o = (i / 8 << (5 - wide)) + eighth * 8 + i % 8;
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
        return odd;
    }
    /* where a position of a part lies among the outputs of its image */
    DEV_MEMBER u32 output_at(u32 p) const
    {
        if (!at.v.transposed)
            return p;
        const u32 row = p / at.columns;
        const u32 h = (u32)at.ah.output((i32)row);
        const u32 w = (u32)at.aw.output((i32)(p - row * at.columns));

        return h < (u32)at.v.h_out && w < (u32)at.v.w_out
                   ? h * (u32)at.v.w_out + w
                   : nothing;
    }
    /* Computes the tile's NaN again, term by term, once all results are stored
     * and registers are free. */
    static __device__ __noinline__ void again(Shape &at)
    {
        const u32 outputs = (u32)at.v.w.outputs;
        const u64 whole = at.v.h_out * at.v.w_out;

        NO_UNROLL
        for (u32 i = threadIdx.x; i < 1u << at.log_m << at.log_n;
             i += blockDim.x) {
            const u32 o = at.o0 + (i >> at.log_n);
            const u32 p = at.p0 + (i & ((1u << at.log_n) - 1));
            const u32 image = p / at.plane, in = p - image * at.plane;
            const u32 output = ConvMmaTile{at, nullptr}.output_at(in);

            if (o >= outputs || p >= at.count || output == nothing)
                continue;
            T *const to = at.y + ((u64)image * outputs + o) * whole + output;
            const f32 now = convert<f32>(*to);
            const u32 row = in / at.columns;

            if (now != now)
                *to = conv_point(at.v, at.ah, at.aw, at.x, at.w, image, o,
                                 (i32)row, (i32)(in - row * at.columns));
        }
    }
};
