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

#include "matrix/gemm_tile.h"
#include "nvidia/copy/bulk_copy.h"
#include "nvidia/gemm/f32_f64_tile.h"
#include "nvidia/gemm/wgmma_shapes.h"
#include "nvidia/unit/wgmma.h"

constexpr u32 limb_k = 64; /* of a step */
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
 * Copies a step of an operand to LDS, as lines of each limb in wgmma.h's
 * layout. Eight threads fill a line. Along K a thread has four numbers of each
 * half of a line, because neighbours then read 16 bytes side by side. This
 * permutes K within the step, in both operands alike.
 */
template <bool Along, u32 Rows, u32 Threads> struct LimbSteps {
    static constexpr u32 pass_lines = Threads / 8;
    static constexpr u32 passes = Rows / pass_lines;
    static constexpr u32 limb_nbytes = Rows * wgmma_line;
    static constexpr u32 nbytes = num_limbs * limb_nbytes;
    static_assert(64 % pass_lines == 0 && pass_lines % 8 == 0,
                  "passes have the same permutation");

    const f32 *from; /* this thread's first numbers; along K, in row 0 */
    u32 ld, line, piece;
    u32 extent; /* rows from the tile's first on */

    DEV_MEMBER LimbSteps(const f32 *matrix, u32 row0, u32 rows, u32 leading,
                         u32 k0)
        : ld(leading), line(threadIdx.x / 8), piece(threadIdx.x % 8),
          extent(rows - row0)
    {
        from = matrix + (Along ? (u64)row0 * ld + k0 + first()
                               : (u64)(k0 + k_of(line)) * ld + row0 + first());
    }
    /* The k, from 0 to 63, at `place` in a step. */
    static DEV_MEMBER u32 k_of(u32 place)
    {
        return place / 8 * 4 + place % 4 + place / 4 % 2 * 32;
    }
    /* The place in the line of the thread's first number. number() gives the
     * offset of number i from it. */
    DEV_MEMBER u32 first() const
    {
        return Along ? piece * 4 : piece * 8;
    }
    static constexpr DEV_MEMBER u32 number(u32 i)
    {
        return Along ? i % 4 + i / 4 * 32 : i;
    }
    /* Whether steps of 64 along K may be copied without bounds checks. If lines
     * run along K, rows past the end repeat the last row, and their results are
     * not stored. */
    DEV_MEMBER bool is_whole() const
    {
        return Along || extent >= Rows;
    }
    static DEV_MEMBER bool is_aligned_to_16(const f32 *matrix, u32 ld,
                                            u32 batch, i64 stride)
    {
        return is_aligned(matrix, 16) && ld % 4 == 0 &&
               (batch == 1 || stride % 4 == 0);
    }
    /* Address of the first number of pass i. If lines run across K, n lines
     * further in a block of 64 lines is n / 2 further in K, because 8 lines
     * hold 4 k of each half of the step. */
    DEV_MEMBER const f32 *pass(u32 i) const
    {
        const u32 lines = i * pass_lines;

        return from + (Along ? (u64)min_of(line + lines, extent - 1) * ld
                             : (u64)(lines % 64 / 2) * ld + lines / 64 * 64);
    }
    /* How many numbers of the pass are in the matrix, from the thread's first
     * number on. */
    DEV_MEMBER u32 there(u32 i, u32 left) const
    {
        const u32 lines = i * pass_lines;
        const u32 of_line = Along ? left : extent;
        const u32 begin = Along ? first() : first() + lines / 64 * 64;
        const bool has_line =
            Along ? line + lines < extent : k_of(line) + lines % 64 / 2 < left;

        return has_line && of_line > begin ? of_line - begin : 0;
    }
    /* Loads the eight numbers of a pass, `Once` numbers per load. */
    template <u32 Once> DEV_MEMBER void load(f32 (&x)[8], u32 i) const
    {
        const f32 *const p = pass(i);

        UNROLL
        for (u32 e = 0; e < 8; e += Once) {
            const Pack<f32, Once> v = load_pack<Once>(p + number(e));

            UNROLL
            for (u32 j = 0; j < Once; j++)
                x[e + j] = v[j];
        }
    }
    /* Loads a pass number by number, with zeros where the operand ends. */
    DEV_MEMBER void load_some(f32 (&x)[8], u32 i, u32 left) const
    {
        const f32 *const p = pass(i);
        const u32 n = there(i, left);

        UNROLL
        for (u32 e = 0; e < 8; e++)
            x[e] = number(e) < n ? p[number(e)] : 0;
    }
    DEV_MEMBER void store(f32 (&x)[8], u32 i, u8 *lds) const
    {
        u8 *const at =
            lds + wgmma_place(line, piece) + i * pass_lines * wgmma_line;
        Piece limbs[num_limbs];

        split_to_limbs(x, limbs);
        UNROLL
        for (u32 l = 0; l < num_limbs; l++)
            *reinterpret_cast<Piece *>(at + l * limb_nbytes) = limbs[l];
    }
    DEV_MEMBER void next()
    {
        from += Along ? (u64)limb_k : (u64)limb_k * ld;
    }
    /* The wgmma descriptor of one limb, from row row0 on. */
    static DEV_MEMBER u64 operand(u32 lds, u32 limb, u32 row0)
    {
        return wgmma_operand(lds + limb * limb_nbytes + row0 * wgmma_line,
                             64 * wgmma_line);
    }
};

template <bool AlongA, bool AlongB, u32 Size> struct LimbTile {
    static constexpr u32 threads = 2 * Size;
    typedef LimbSteps<AlongA, Size, threads> A;
    typedef LimbSteps<AlongB, Size, threads> B;
    typedef Wgmma<bf16, Size, AlongA, AlongB> Op;
    static constexpr u32 stage_nbytes = A::nbytes + B::nbytes;
    static constexpr u32 lds_nbytes = KPK_LIMB_LDS(Size);
    static_assert(lds_nbytes == 2 * stage_nbytes, "two steps");

    f32 sums[Size / 2]; /* in wgmma.h's layout */
    u32 row0;           /* of the warpgroup */

    DEV_MEMBER LimbTile() : row0(uniform_of_warp(threadIdx.x / 128) * 64)
    {
        UNROLL
        for (u32 i = 0; i < Size / 2; i++)
            sums[i] = 0;
    }
    static DEV_MEMBER bool fits(const Gemm<f32> &g, const u8 *lds)
    {
        return g.k >= limb_k && dynamic_lds_nbytes() >= lds_nbytes &&
               (u32)__cvta_generic_to_shared(lds) % 1024 == 0;
    }
    /* Starts instructions `begin` to `end` - 1 of a step's products; the least
     * products come first. */
    static constexpr u32 pieces = limb_k / 16, instructions = 6 * pieces;
    DEV_MEMBER void multiply(f32 (&now)[Size / 2], u32 stage, u32 begin,
                             u32 end) const
    {
        constexpr u32 limb_a[] = {2, 0, 1, 1, 0, 0};
        constexpr u32 limb_b[] = {0, 2, 1, 0, 1, 0};

        if (begin == 0)
            wgmma_fence();
        UNROLL
        for (u32 i = begin; i < end; i++)
            Op::multiply(now,
                         A::operand(stage, limb_a[i / pieces], row0) +
                             i % pieces * WgmmaStep<AlongA>::k16,
                         B::operand(stage + A::nbytes, limb_b[i / pieces], 0) +
                             i % pieces * WgmmaStep<AlongB>::k16,
                         i > 0);
        if (end == instructions)
            wgmma_commit();
    }
    /*
     * Copies a whole step to LDS, with the loads of several passes in flight.
     * Calls before(i) before it stores pass i, and before(passes) at the end.
     */
    static constexpr u32 passes = A::passes + B::passes;
    template <u32 Once, class Fn>
    static DEV_MEMBER void bring_whole(const A &a, const B &b, u8 *stage,
                                       Fn before)
    {
        constexpr u32 ahead = 4;
        f32 x[ahead][8];

        UNROLL
        for (u32 i = 0; i < passes + ahead; i++) {
            if (i >= ahead)
                before(i - ahead);
            if (i >= A::passes + ahead)
                b.store(x[i % ahead], i - ahead - A::passes, stage + A::nbytes);
            else if (i >= ahead)
                a.store(x[i % ahead], i - ahead, stage);
            if (i < A::passes)
                a.template load<Once>(x[i % ahead], i);
            else if (i < passes)
                b.template load<Once>(x[i % ahead], i - A::passes);
        }
        before(passes);
    }
    /* Multiplies a step while it copies the next one. A warp waits until its
     * wgmmas are issued, so they are spread among the passes of the copy. */
    template <u32 Once>
    DEV_MEMBER void multiply_and_bring(f32 (&now)[Size / 2], u32 stage,
                                       const A &a, const B &b, u8 *next) const
    {
        /* wgmmas per pass: fewer for a small tile, because other workgroups on
         * the multiprocessor issue wgmmas, too */
        constexpr u32 each = Size / 64, first = instructions - passes * each;

        bring_whole<Once>(a, b, next, [&](u32 i) {
            multiply(now, stage, i == 0 ? 0 : first + (i - 1) * each,
                     first + i * each);
        });
    }
    template <class Steps>
    static DEV_MEMBER void bring_some(const Steps &steps, u32 left, u8 *lds)
    {
        _Pragma("unroll 2") for (u32 i = 0; i < Steps::passes; i++)
        {
            f32 x[8];

            steps.load_some(x, i, left);
            steps.store(x, i, lds);
        }
    }
    /* Copies a step to LDS; zeros fill the part of K behind `left`. */
    static DEV_MEMBER void bring(const A &a, const B &b, u32 left, u8 *stage)
    {
        bring_some(a, left, stage);
        bring_some(b, left, stage + A::nbytes);
    }
    /* Computes and stores the tile; false if limbs cannot hold its numbers. */
    static DEV_MEMBER bool run(const Gemm<f32> &g, const GemmPart &part,
                               u32 tile_row, u32 tile_col, u8 *lds)
    {
        const bool aligned =
            A::is_aligned_to_16(g.a, g.lda, g.batch, g.stride_a) &&
            B::is_aligned_to_16(g.b, g.ldb, g.batch, g.stride_b);
        A a(g.a + (i64)part.b * g.stride_a, tile_row, g.m, g.lda, part.k_begin);
        B b(g.b + (i64)part.b * g.stride_b, tile_col, g.n, g.ldb, part.k_begin);
        u32 left = part.k_end - part.k_begin;
        u8 *now = lds, *next = lds + stage_nbytes;
        LimbTile tile;
        const bool whole = a.is_whole() && b.is_whole();
        bool bad = false;

        if (left > 0) {
            if (whole && aligned && left >= limb_k)
                bring_whole<4>(a, b, now, [](u32) {});
            else
                bring(a, b, left, now);
        }
        wgmma_lds_written();
        __syncthreads();
        NO_UNROLL
        while (left > 0) {
            const u32 stage = (u32)__cvta_generic_to_shared(now);
            f32 step_sums[Size / 2];

            left -= min_of(left, limb_k);
            a.next(), b.next();
            if (whole && left >= limb_k && aligned) {
                tile.template multiply_and_bring<4>(step_sums, stage, a, b,
                                                    next);
            } else if (whole && left >= limb_k) {
                tile.template multiply_and_bring<1>(step_sums, stage, a, b,
                                                    next);
            } else {
                tile.multiply(step_sums, stage, 0, instructions);
                if (left > 0)
                    bring(a, b, left, next);
            }
            wgmma_lds_written();
            wgmma_wait<0>();
            wgmma_hold(step_sums);
            UNROLL
            for (u32 i = 0; i < Size / 2; i++)
                tile.sums[i] += step_sums[i];
            __syncthreads();
            u8 *const done = now;
            now = next, next = done;
        }
        UNROLL
        for (u32 i = 0; i < Size / 2; i++)
            bad |= !(fabsf(tile.sums[i]) <= 0x1.fffffep127f);
        if (uniform_of_warp(__syncthreads_or(bad)))
            return false;
        tile.put(g, part, tile_row, tile_col);
        return true;
    }
    /* fn(row, column, sums of this and the next) for a thread's pairs */
    template <class Fn> DEV_MEMBER void each_pair(Fn fn) const
    {
        constexpr f32 scale = 1 / (limb_scale * limb_scale);
        const u32 t = threadIdx.x % 128;

        UNROLL
        for (u32 i = 0; i < Size / 4; i++)
            fn(row0 + t / 32 * 16 + t % 32 / 4 + i % 2 * 8,
               i / 2 * 8 + t % 4 * 2,
               Pack<f32, 2>{{sums[2 * i] * scale, sums[2 * i + 1] * scale}});
    }
    DEV_MEMBER void put(const Gemm<f32> &g, const GemmPart &part, u32 tile_row,
                        u32 tile_col) const
    {
        const GemmOut<f32> out(g, part);
        const u32 rows = g.m - tile_row, cols = g.n - tile_col;

        if (rows >= Size && cols >= Size && out.takes_pairs()) {
            each_pair([&](u32 r, u32 c, const Pack<f32, 2> &v) {
                out.store_pair(tile_row + r, tile_col + c, v);
            });
            return;
        }
        each_pair([&](u32 r, u32 c, const Pack<f32, 2> &v) {
            if (r >= rows || c >= cols)
                return;
            if (c + 1 < cols)
                out.put_pair(tile_row + r, tile_col + c, v);
            else
                out.put(tile_row + r, tile_col + c, v[0]);
        });
    }
};

/* ---- products, with a fallback for numbers that limbs cannot hold --- */

template <bool TransA, bool TransB, u32 Size> struct LimbGemm {
    typedef LimbTile<!TransA, TransB, Size> Tile;
    typedef CopiedTile<f32, !TransA, TransB, Size, 16> Copied;

    /* The arguments of other_tile(), in LDS. */
    struct Call {
        Gemm<f32> g;
        GemmPart part;
        u32 row0, col0;
    };
    /* Call lies behind the three steps that other_tile() needs. */
    static constexpr u32 call_at = 3 * Copied::nbytes;
    static_assert(call_at + sizeof(Call) <= Tile::lds_nbytes, "LDS has room");

    /* The tile by FMA. Not inlined, so the usual way keeps its registers. */
    DEV_CALLED void other_tile(u8 *lds)
    {
        const Call &call = *reinterpret_cast<const Call *>(lds + call_at);
        const Gemm<f32> &g = call.g;

        if (Copied::fits(g))
            Copied::run(g, call.part, call.row0, call.col0, lds,
                        lds + 2 * Copied::nbytes);
        else
            gemm_tile<f32, TransA, TransB, Size, Size, 2 * Size, step_nbytes>(
                g, call.part, call.row0, call.col0, lds, Copied::nbytes);
    }
    static DEV_MEMBER bool run(const Gemm<f32> &g, u8 *lds)
    {
        if (!Tile::fits(g, lds))
            return false;
        each_part(g, [&](const GemmPart &part) {
            each_tile<Size, Size, 1, 1>(g, [&](u32 x, u32 y) {
                if (Tile::run(g, part, x * Size, y * Size, lds))
                    return;
                if (threadIdx.x == 0)
                    *reinterpret_cast<Call *>(lds + call_at) = {
                        g, part, x * Size, y * Size};
                __syncthreads();
                other_tile(lds);
                __syncthreads();
            });
        });
        return true;
    }
};
