/*
 * tensor_map_tile.h - tiles of f16 and bf16 on sm_90 whose steps come by maps
 *
 * As wgmma_tile.h has them, but one thread starts the copies of a whole step,
 * by tensor_map.h: `full` of the ring counts bytes, `empty` warps. Copies run
 * ahead over the ends of tiles. Threads have no addresses to work out, and
 * copies of boxes take less of LDS's time than copies of 16 bytes. Making the
 * maps takes half a microsecond.
 */
#pragma once

#include "nvidia/copy/tensor_map.h"
#include "nvidia/gemm/wgmma_tile.h"

/* The whole warp comes here, and one elected lane executes the instruction. A
 * branch would take operands' addresses out of uniform registers: see
 * tests/build/uniform.sh. */
#define ONE_LANE(what)                                                         \
    "{\n\t"                                                                    \
    ".reg .pred one;\n\t"                                                      \
    "elect.sync _|one, 0xffffffff;\n\t"                                        \
    "@one " what ";\n\t"                                                       \
    "}"
DEV void expect_by_one(u32 barrier, u32 nbytes)
{
    asm volatile(
        ONE_LANE("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1")::"r"(
            barrier),
        "r"(nbytes)
        : "memory");
}
DEV void arrive_by_one(u32 barrier)
{
    asm volatile(ONE_LANE("mbarrier.arrive.shared.b64 _, [%0]")::"r"(barrier)
                 : "memory");
}
/* Copies a box to LDS; the barrier counts its bytes. */
DEV void copy_box_by_one(u32 lds, const TensorMap *map, u32 x, u32 y, u32 z,
                         u32 barrier)
{
    asm volatile(ONE_LANE("cp.async.bulk.tensor.3d.shared::cluster.global.tile."
                          "mbarrier::complete_tx::bytes "
                          "[%0], [%1, {%2, %3, %4}], [%5]")::"r"(lds),
                 "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier)
                 : "memory");
}
#undef ONE_LANE

/* Copies steps of an operand by TMA. */
template <bool Along, u32 Rows>
struct MappedOperand : WarpgroupLines<Along, Rows> {
    typedef WarpgroupLines<Along, Rows> L;
    static constexpr u32 boxes = Along ? 1 : Rows / 64;

    template <typename T>
    static DEV_MEMBER TensorShape shape(const T *matrix, u32 rows, u32 k,
                                        u32 ld, u32 batch, i64 stride)
    {
        const bool one = batch == 1 || stride == 0;

        return {matrix,          Along ? k : rows,      Along ? rows : k, ld,
                one ? 1 : batch, one ? 8 : (u64)stride, L::lines};
    }
    static DEV_MEMBER void copy(u32 stage, const TensorMap *map, u32 row0,
                                u32 k, u32 z, u32 barrier)
    {
        UNROLL
        for (u32 i = 0; i < boxes; i++)
            copy_box_by_one(stage + i * L::block, map,
                            Along ? k : row0 + i * 64, Along ? row0 : k, z,
                            barrier);
    }
};

/* How many stages fit LDS beside the slab for results. */
DEV constexpr u32 mapped_stages(u32 rows, u32 cols, u32 lds)
{
    return (lds - 1024 - rows * (wgmma_slab_cols(cols) + 8) * 2) /
           (128 * (rows + cols));
}

/* Barriers and maps in LDS. All MappedTile types of a kernel share them, since
 * a launch uses one type. */
struct MappedShared {
    enum { MOST_STAGES = 16 };
    RingBarriers<MOST_STAGES> ring;
    TensorMap maps[2];
};
DEV MappedShared &mapped_shared()
{
    __shared__ MappedShared shared;

    return shared;
}

/* The tiles of a product, one after another. */
template <typename T, bool AlongA, bool AlongB, u32 Rows, u32 Cols, u32 Stages>
struct MappedTile
    : WarpgroupTile<T, AlongA, AlongB, Rows, Cols, Rows / 64, 1, Stages> {
    typedef WarpgroupTile<T, AlongA, AlongB, Rows, Cols, Rows / 64, 1, Stages>
        W;
    typedef MappedOperand<AlongA, Rows> A;
    typedef MappedOperand<AlongB, Cols> B;
    static constexpr u32 slab_nbytes = Rows * W::slab_pitch * sizeof(T);
    static constexpr u32 lds_nbytes = W::lds_nbytes + slab_nbytes;
    static_assert(lds_nbytes > 113 * 1024, "no two blocks fit, for the maps");
    static_assert(Stages <= MappedShared::MOST_STAGES, "barriers for all");

    /*
     * tiles.count, steps()  tiles of this block, and steps of each
     * tiles.shape_a(), shape_b()
     * tiles.place(i)        of the i-th one: row0, col0, and where its
     *                       operands' matrices are, z_a and z_b
     * tiles.store(*this, place, lds)
     */
    template <class Tiles> DEV_MEMBER void run(u8 *lds, const Tiles &tiles)
    {
        MappedShared &shared = mapped_shared();
        auto &ring = reinterpret_cast<RingBarriers<Stages> &>(shared.ring);
        lds += -(u32)__cvta_generic_to_shared(lds) % 1024;
        const u32 stages = uniform_of_warp(lds_address(lds));
        const RingEnd<Stages> begin = {uniform_of_warp(ring.first().barriers),
                                       0, 0};
        const u32 warp = uniform_of_warp(threadIdx.x / 32);
        TensorMap *const maps = tensor_map_places();

        set_up(shared, ring, maps, tiles, warp);

        const u32 steps = tiles.steps(), all = tiles.count * steps;
        typename Tiles::Place to = {};
        u32 in_tile = 0, in_step = steps;
        RingEnd<Stages> in = begin, out = begin, done = begin;
        const auto copy_next = [&] {
            const u32 stage = stages + in.slot * W::stage_nbytes;

            if (in_step == steps) {
                to = tiles.place(in_tile++);
                in_step = 0;
            }

            const u32 k = in_step * wgmma_k;

            expect_by_one(in.full(), W::stage_nbytes);
            A::copy(stage, maps, to.row0, k, to.z_a, in.full());
            B::copy(stage + A::nbytes, maps + 1, to.col0, k, to.z_b, in.full());
            in.next();
            in_step++;
        };

        if (warp == 0) {
            NO_UNROLL
            for (u32 i = 0; i < min_of(Stages, all); i++)
                copy_next();
        }
        u32 at = 0; /* steps read so far */
        const auto give_back = [&] {
            if (at + Stages < all) {
                arrive_by_one(done.empty());
                if (warp == 0) {
                    in.fill();
                    copy_next();
                }
            }
            at++;
            done.next();
        };
        NO_UNROLL
        for (u32 t = 0; t < tiles.count; t++) {
            W::clear();
            NO_UNROLL
            for (u32 s = 0; s < steps; s++) {
                out.wait();
                W::multiply_step(stages + out.slot * W::stage_nbytes);
                out.next();
                if (s > 0) {
                    wgmma_wait<1>();
                    give_back();
                }
            }
            if (t + 1 == tiles.count)
                let_next_launch_begin();

            const typename Tiles::Place place = tiles.place(t);

            wgmma_wait<0>();
            W::hold();
            give_back();
            tiles.store(*this, place, lds + Stages * W::stage_nbytes);
        }
    }
    /* Maps by warp 0 and barriers by warp 1, there for all warps afterwards. */
    template <class Tiles>
    static DEV_MEMBER void set_up(MappedShared &shared,
                                  RingBarriers<Stages> &ring, TensorMap *maps,
                                  const Tiles &tiles, u32 warp)
    {
        const u32 lane = threadIdx.x % 32;

        if (warp == 0) {
            make_maps(shared, maps, tiles);
        } else if (warp == 1 && lane < Stages) {
            ring.init_slot(lane, 1, Rows / 16);
        }
        __syncthreads();
        wait_for_launch_before();
    }
    template <class Tiles>
    static DEV_MEMBER void make_maps(MappedShared &shared, TensorMap *maps,
                                     const Tiles &tiles)
    {
        const u32 lane = threadIdx.x % 32;

        store_pack(reinterpret_cast<u32 *>(shared.maps) + lane * 2,
                   Pack<u32, 2>{});
        __syncwarp();
        if (lane < 2)
            tensor_map_fill(&shared.maps[lane],
                            lane ? tiles.shape_b() : tiles.shape_a());
        __syncwarp();
        tensor_map_write(&maps[0], &shared.maps[0]);
        tensor_map_write(&maps[1], &shared.maps[1]);
        tensor_map_read(&maps[0]);
        tensor_map_read(&maps[1]);
    }
};
