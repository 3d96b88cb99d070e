/*
 * tensor_map_tile.h - tiles of f16 and bf16 on sm_90 whose steps come by maps
 *
 * As wgmma_tile.h has them, but one thread starts the copies of a whole step,
 * by tensor_map.h: `full` of the ring counts bytes, `empty` warps. Copies run
 * ahead over the ends of tiles. Threads have no addresses to work out, and
 * copies of boxes take less of LDS's time than copies of 16 bytes. Making the
 * maps takes half a microsecond.
 *
 * The two blocks of a cluster may make pairs of tiles, one below the other:
 * each copies half of B's step to both blocks, so less comes from the L2 cache.
 * A stage is empty when the warps of both have read it.
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
/* Arrives at the barrier at the same place of another block's LDS. The arrival
 * releases within the block only; a release to the cluster takes a microsecond.
 */
DEV void arrive_there_by_one(u32 barrier, u32 rank)
{
    asm volatile("{\n\t"
                 ".reg .pred one;\n\t"
                 ".reg .u32 there;\n\t"
                 "elect.sync _|one, 0xffffffff;\n\t"
                 "mapa.shared::cluster.u32 there, %0, %1;\n\t"
                 "@one mbarrier.arrive.shared::cluster.b64 _, [there];\n\t"
                 "}" ::"r"(barrier),
                 "r"(rank)
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
/* Copies a box to the same place in both blocks of a cluster; each block's
 * barrier counts the bytes. */
DEV void copy_box_to_both(u32 lds, const TensorMap *map, u32 x, u32 y, u32 z,
                          u32 barrier)
{
    asm volatile(ONE_LANE("cp.async.bulk.tensor.3d.shared::cluster.global.tile."
                          "mbarrier::complete_tx::bytes.multicast::cluster "
                          "[%0], [%1, {%2, %3, %4}], [%5], %6")::"r"(lds),
                 "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier), "h"((i16)3)
                 : "memory");
}
#undef ONE_LANE

/* Copies steps of an operand by TMA. Halved: each of two blocks copies a half
 * of them to both. */
template <bool Along, u32 Rows, bool Halved>
struct MappedOperand : WarpgroupLines<Along, Rows> {
    typedef WarpgroupLines<Along, Rows> L;
    static constexpr u32 halves = Halved ? 2 : 1;
    static constexpr u32 boxes = Along ? 1 : Rows / 64 / halves;
    static constexpr u32 box_lines = Along ? Rows / halves : L::lines;
    static_assert(Rows % (Along ? 8 * halves : 64 * halves) == 0,
                  "a half has whole boxes of whole swizzles");

    template <typename T>
    static DEV_MEMBER TensorShape shape(const T *matrix, u32 rows, u32 k,
                                        u32 ld, u32 batch, i64 stride)
    {
        const bool one = batch == 1 || stride == 0;

        return {matrix,          Along ? k : rows,      Along ? rows : k, ld,
                one ? 1 : batch, one ? 8 : (u64)stride, box_lines};
    }
    /* rank: which half */
    static DEV_MEMBER void copy(u32 stage, const TensorMap *map, u32 row0,
                                u32 k, u32 z, u32 barrier, u32 rank)
    {
        if (Halved) {
            row0 += rank * (Rows / 2);
            stage += rank * (L::nbytes / 2);
        }
        UNROLL
        for (u32 i = 0; i < boxes; i++) {
            const u32 x = Along ? k : row0 + i * 64, y = Along ? row0 : k;

            if (Halved)
                copy_box_to_both(stage + i * L::block, map, x, y, z, barrier);
            else
                copy_box_by_one(stage + i * L::block, map, x, y, z, barrier);
        }
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

/* The tiles of a product, one after another; in pairs, if Paired. */
template <typename T, bool AlongA, bool AlongB, u32 Rows, u32 Cols, u32 Stages,
          bool Paired>
struct MappedTile
    : WarpgroupTile<T, AlongA, AlongB, Rows, Cols, Rows / 64, 1, Stages> {
    typedef WarpgroupTile<T, AlongA, AlongB, Rows, Cols, Rows / 64, 1, Stages>
        W;
    typedef MappedOperand<AlongA, Rows, false> A;
    typedef MappedOperand<AlongB, Cols, Paired> B;
    static constexpr u32 blocks = Paired ? 2 : 1; /* of a cluster */
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
        const u32 rank = Paired ? cluster_rank() : 0;
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
            A::copy(stage, maps, to.row0, k, to.z_a, in.full(), 0);
            B::copy(stage + A::nbytes, maps + 1, to.col0, k, to.z_b, in.full(),
                    rank);
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
                if (Paired)
                    arrive_there_by_one(done.empty(), rank ^ 1);
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
        if (Paired)
            cluster_meet(); /* stays until copies to the other have come */
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
            ring.init_slot(lane, 1, Rows / 16 * blocks);
        }
        if (Paired)
            cluster_meet();
        else
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
