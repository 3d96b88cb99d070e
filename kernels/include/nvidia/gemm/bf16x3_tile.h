/*
 * bf16x3_tile.h - tiles of f32 on sm_90 by matrix instructions of bf16
 *
 * A number of f32 is a sum of three of bf16, its limbs: bf16 has f32's
 * exponents and 8 of its 24 bits, and each limb is the rest of the number,
 * rounded to nearest. The product of two numbers is the sum of nine products of
 * limbs. The three smallest, together at most 2^-24 of the product, are left
 * out; wgmma computes the other six exactly.
 *
 * wgmma adds in f32, but truncates. Sums over 64 steps of K therefore begin at
 * zero, with the smallest products, and are added to the previous sums in f32,
 * rounded to nearest. If an instruction truncates its 16 products and the sum
 * so far each at 2^-24 of the largest, and its result at 2^-23, the error of 64
 * steps is at most 40 times 2^-23 of the sum of absolute products. Measured: up
 * to 8.2 times 2^-24, where FMA has 12.9; longer K adds less to this error than
 * to FMA's. For K below 64, FMA may be more exact, and is as fast.
 *
 * bf16 ends at 2^-133, f32 at 2^-149. Numbers are multiplied by 2^16 first, so
 * limbs hold all but the largest, which become infinite. A sum with an infinity
 * or NaN among its limbs becomes infinite or NaN, and its tile is computed
 * again without limbs.
 */
#pragma once

#include "nvidia/gemm/f32_f64_tile.h"
#include "nvidia/gemm/tile_loop.h"

constexpr u32 num_limbs = 3;
constexpr f32 limb_scale = 0x1p16f;

/* Two numbers as bf16, the first one in the low bits. */
DEV u32 round_to_limbs(f32 low, f32 high)
{
    u32 both;

    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

/* Eight numbers, times limb_scale, as a piece of each limb. */
DEV void split_to_limbs(f32 (&x)[8], Piece (&limbs)[num_limbs])
{
    UNROLL
    for (u32 i = 0; i < 8; i++)
        x[i] *= limb_scale;
    UNROLL
    for (u32 l = 0; l < num_limbs; l++) {
        UNROLL
        for (u32 i = 0; i < 8; i += 2) {
            const u32 both = round_to_limbs(x[i], x[i + 1]);

            limbs[l][i / 2] = both;
            x[i] -= bits_as<f32>(both << 16);
            x[i + 1] -= bits_as<f32>(both & 0xffff0000u);
        }
    }
}

/*
 * Steps of an operand, in LDS as lines of each limb. A thread has eight numbers
 * of some lines. Along K they are four of each half of a line, because
 * neighbours then read 16 bytes side by side. This permutes K within the step,
 * in both operands alike.
 */
template <bool Along, u32 Rows, u32 Threads>
struct LimbSteps
    : OperandCopy<f32, WarpgroupLines<Along, Rows>, Threads, 0, 32> {
    typedef WarpgroupLines<Along, Rows> L;
    typedef OperandCopy<f32, L, Threads, 0, 32> Base;
    static constexpr u32 nbytes = num_limbs * L::nbytes;
    bool by_pieces; /* numbers of a step that K fills may be loaded so */

    LimbSteps() = default;
    DEV_MEMBER LimbSteps(const f32 *matrix, u32 row0, u32 rows, u32 ld, u32 k0)
        : Base(matrix, row0, rows, ld, k0),
          by_pieces(is_aligned(matrix, 16) && ld % 4 == 0 &&
                    (Along || Base::whole))
    {
        const u32 line = Base::first_line();

        if (Along) {
            Base::from -= Base::first_column() / 2;
        } else {
            Base::from += (i64)((i32)k_of(line) - (i32)line) * ld;
            Base::pass_step /= 2; /* eight lines have 4 k of each half */
        }
    }
    static DEV_MEMBER bool fits(const f32 *, u32, u32, i64)
    {
        return true;
    }
    /* The k, from 0 to 63, at `place` in a step. */
    static DEV_MEMBER u32 k_of(u32 place)
    {
        return place / 8 * 4 + place % 4 + place / 4 % 2 * 32;
    }
    /* Where number i of a thread's eight lies behind the first. */
    static constexpr DEV_MEMBER u32 number(u32 i)
    {
        return Along ? i % 4 + i / 4 * 32 : i;
    }
    /* How many numbers from the first one on are in the matrix. */
    DEV_MEMBER u32 there(u32 pass, u32 left) const
    {
        const u32 first = Base::first_column() / 2;
        const u32 k = k_of(Base::first_line()) + pass * Base::pass_lines / 2;

        if (Along)
            return pass < Base::across && left > first ? left - first : 0;
        return k < left ? Base::along_at / (u32)sizeof(f32) : 0;
    }
    /* Loads the numbers of a pass of a step that has `left` of K, with zeros
     * where the operand ends. */
    template <bool Pieces>
    DEV_MEMBER void load(f32 (&x)[8], u32 pass, u32 left) const
    {
        const f32 *const p = Base::from + pass * Base::pass_step;
        const u32 n = Pieces ? 0 : there(pass, left);

        UNROLL
        for (u32 e = 0; e < 8; e += 4) {
            Pack<f32, 4> v = {};

            if (Pieces && (!Along || pass < Base::across))
                v = load_pack<4>(p + number(e));
            UNROLL
            for (u32 j = 0; j < 4; j++) {
                if (!Pieces && number(e + j) < n)
                    v[j] = p[number(e + j)];
                x[e + j] = v[j];
            }
        }
    }
    DEV_MEMBER void store(f32 (&x)[8], u32 i, u8 *lds) const
    {
        Piece limbs[num_limbs];

        split_to_limbs(x, limbs);
        UNROLL
        for (u32 l = 0; l < num_limbs; l++)
            *reinterpret_cast<Piece *>(lds + l * L::nbytes + Base::at(i)) =
                limbs[l];
    }
    static DEV_MEMBER u64 operand(u32 lds, u32 limb, u32 row0)
    {
        return L::operand(lds + limb * L::nbytes, row0);
    }
};

template <bool AlongA, bool AlongB, u32 Size> struct LimbTile {
    static constexpr u32 threads = 2 * Size, shares = 0;
    typedef LimbSteps<AlongA, Size, threads> CopyA;
    typedef LimbSteps<AlongB, Size, threads> CopyB;
    typedef Wgmma<bf16, Size, AlongA, AlongB> Op;
    typedef void Extent; /* sums come to C as pairs */
    static constexpr u32 stage_nbytes = CopyA::nbytes + CopyB::nbytes;
    static constexpr u32 lds_nbytes = KPK_LIMB_LDS(Size);
    static_assert(lds_nbytes == 2 * stage_nbytes + 1024, "two steps");

    CopyA a;
    CopyB b;
    f32 sums[Size / 2]; /* in wgmma.h's layout */
    u32 row0;           /* of the warpgroup */

    DEV_MEMBER LimbTile()
        : row0(__shfl_sync(0xffffffffu, threadIdx.x / 128, 0) * 64)
    {
    }
    struct Start { /* a tile: its length along K */
        u32 nk;
    };
    /* Starts instructions `begin` to `end` - 1 of a step's products; the least
     * products come first. */
    static constexpr u32 pieces = wgmma_k / 16, instructions = 6 * pieces;
    DEV_MEMBER void multiply(f32 (&now)[Size / 2], u32 stage, u32 begin,
                             u32 end) const
    {
        constexpr u32 limb_a[] = {2, 0, 1, 1, 0, 0};
        constexpr u32 limb_b[] = {0, 2, 1, 0, 1, 0};

        if (begin == 0)
            wgmma_fence();
        UNROLL
        for (u32 i = begin; i < end; i++)
            Op::multiply(
                now,
                CopyA::operand(stage, limb_a[i / pieces], row0) +
                    i % pieces * WgmmaStep<AlongA>::k16,
                CopyB::operand(stage + CopyA::nbytes, limb_b[i / pieces], 0) +
                    i % pieces * WgmmaStep<AlongB>::k16,
                i > 0);
        if (end == instructions)
            wgmma_commit();
    }
    /*
     * Copies a step to LDS, with the loads of several passes in flight. Calls
     * before(i) before it stores pass i, and before(passes) at the end.
     */
    static constexpr u32 passes = CopyA::passes + CopyB::passes;
    template <bool Pieces, class Fn>
    DEV_MEMBER void bring(u32 left, u8 *stage, Fn before) const
    {
        constexpr u32 ahead = 4;
        f32 x[ahead][8];

        UNROLL
        for (u32 i = 0; i < passes + ahead; i++) {
            if (i >= ahead)
                before(i - ahead);
            if (i >= CopyA::passes + ahead)
                b.store(x[i % ahead], i - ahead - CopyA::passes,
                        stage + CopyA::nbytes);
            else if (i >= ahead)
                a.store(x[i % ahead], i - ahead, stage);
            if (i < CopyA::passes)
                a.template load<Pieces>(x[i % ahead], i, left);
            else if (i < passes)
                b.template load<Pieces>(x[i % ahead], i - CopyA::passes, left);
        }
        before(passes);
    }
    DEV_MEMBER bool by_pieces(u32 left) const
    {
        return a.by_pieces && b.by_pieces && left >= wgmma_k;
    }
    /* Multiplies a step while it copies the next one. A warp waits until its
     * wgmmas are issued, so they are spread among the passes of the copy. */
    template <bool Pieces>
    DEV_MEMBER void multiply_and_bring(f32 (&now)[Size / 2], u32 stage,
                                       u32 left, u8 *next) const
    {
        /* the others of a smaller tile's multiprocessor have some, too */
        constexpr u32 each = Size / 64, first = instructions - passes * each;

        bring<Pieces>(left, next, [&](u32 i) {
            multiply(now, stage, i == 0 ? 0 : first + (i - 1) * each,
                     first + i * each);
        });
    }
    /* The sums over nk of K; false if limbs cannot hold the numbers. */
    DEV_MEMBER bool multiply_steps(u32 left, u8 *lds)
    {
        u8 *now = lds, *next = lds + stage_nbytes;
        bool bad = false;

        UNROLL
        for (u32 i = 0; i < Size / 2; i++)
            sums[i] = 0;
        __syncthreads(); /* another tile is read from LDS */
        if (by_pieces(left))
            bring<true>(left, now, [](u32) {});
        else
            bring<false>(left, now, [](u32) {});
        wgmma_lds_written();
        __syncthreads();
        NO_UNROLL
        while (left > 0) {
            const u32 stage = (u32)__cvta_generic_to_shared(now);
            f32 step_sums[Size / 2];

            left -= min_of(left, wgmma_k);
            a.next(), b.next();
            if (by_pieces(left))
                multiply_and_bring<true>(step_sums, stage, left, next);
            else if (left > 0)
                multiply_and_bring<false>(step_sums, stage, left, next);
            else
                multiply(step_sums, stage, 0, instructions);
            wgmma_lds_written();
            wgmma_wait<0>();
            wgmma_hold(step_sums);
            UNROLL
            for (u32 i = 0; i < Size / 2; i++)
                sums[i] += step_sums[i];
            __syncthreads();
            u8 *const done = now;
            now = next, next = done;
        }
        UNROLL
        for (u32 i = 0; i < Size / 2; i++)
            bad |= !(fabsf(sums[i]) <= 0x1.fffffep127f);
        /* the compiler does not know that it is the same in all lanes */
        return !__shfl_sync(0xffffffffu, __syncthreads_or(bad), 0);
    }
    /* fn(row, column, sums of this and the next) for all pairs */
    template <class Fn> DEV_MEMBER void each_pair(u8 *lds, Fn fn) const
    {
        constexpr f32 scale = 1 / (limb_scale * limb_scale);
        const u32 warp = threadIdx.x / 32, l = threadIdx.x % 32;
        const u32 first = row0 + warp % 4 * 16;

        each_pair_by_slab<Size>(
            reinterpret_cast<f32 *>(lds) + warp * 16 * Size,
            [&](auto store) {
                UNROLL
                for (u32 i = 0; i < Size / 4; i++)
                    store(l / 4 + i % 2 * 8, i / 2 * 8 + l % 4 * 2,
                          Pack<f32, 2>{
                              {sums[2 * i] * scale, sums[2 * i + 1] * scale}});
            },
            [&](u32 r, u32 c, const Pack<f32, 2> &pair) {
                fn(first + r, c, pair);
            });
    }
    /* A tile that limbs cannot hold, by FMA, of a call in LDS. Not inlined, so
     * the usual way keeps its registers. */
    struct Call {
        Gemm<f32> g;
        u32 tile, tiles;
    };
    static __device__ __noinline__ void multiply_by_fma(u8 *lds)
    {
        typedef MmaTile<f32, AlongA, AlongB, Size, Size, 32, Size / 2,
                        ByCopies<3, 4>>
            Tile;
        const Call &call = *reinterpret_cast<const Call *>(lds);
        GemmTiles<f32, Size, Size, Tile> tiles(call.g, call.tile, call.tiles);
        Tile tile;

        tile.run(lds + sizeof(Call), tiles);
    }
    template <class Tiles> DEV_MEMBER void run(u8 *lds, Tiles &tiles)
    {
        static_assert(sizeof(Call) % 16 == 0, "LDS behind it is aligned");
        lds += -(u32)__cvta_generic_to_shared(lds) % 1024;
        while (tiles.more()) {
            const u32 nk = tiles.begin(*this, a, b).nk;
            const bool good = multiply_steps(nk, lds);
            const Call call = {tiles.g, tiles.turns.at, tiles.turns.count};
            const auto place = tiles.next();

            if (good) {
                tiles.store(*this, place, lds);
                continue;
            }
            if (threadIdx.x == 0)
                *reinterpret_cast<Call *>(lds) = call;
            __syncthreads();
            multiply_by_fma(lds);
        }
    }
};
