/*
 * skinny_f32_f64.h - few rows of f32 and f64 on sm_90, by copies that run ahead
 *
 * Reading B takes the time, so up to 96 KB of B per multiprocessor are kept in
 * flight. Each warp copies steps of its own to LDS, some of them ahead, and
 * goes on from tile to tile. A step includes the warp's part of A: A comes
 * through the same busy memory, and a warp that loaded it directly would wait.
 * No warp waits for another before its own part is done.
 *
 * A step has 32 lines of B, and one for each row of A, of 128 bytes, as in
 * memory. Along K, a line of B is a column, and the warps lie along K. Across,
 * the lines are 32 columns of a few rows; where tiles are wider, warps lie side
 * by side.
 *
 * The products are mma.sync's of f64. Numbers of f32 become f64 on their way to
 * it: so eight rows take as long as one, and memory still takes longer. The 16
 * rows of mma.sync are columns of B, and its 8 columns are rows of A. A lane
 * may hold any k, as long as A and B agree.
 */
#pragma once

#include "early.h"
#include "nvidia/copy/mma_operands.h"
#include "nvidia/copy/ring.h"
#include "nvidia/gemm/skinny_schedule.h"
#include "nvidia/gemm/wgmma_shapes.h"

/* A tile, and the progress of its copies or products along K. */
template <typename T> struct SkinnyPlace {
    SkinnyTurns<T> turns;
    GemmPart part;
    u32 row0, col0, nrows, ncols, k;
    const T *a, *b;

    DEV_MEMBER explicit SkinnyPlace(const SkinnyTurns<T> &first) : turns(first)
    {
        find();
    }
    DEV_MEMBER void find()
    {
        if (!turns.more())
            return;

        const SkinnyTile<T> t = turns.tile(part);

        row0 = t.row0, col0 = t.col0, nrows = t.nrows, ncols = t.ncols;
        a = t.a, b = t.b;
        k = part.k_begin;
    }
    DEV_MEMBER void next()
    {
        turns.next();
        find();
    }
};

/* Along: columns of B are contiguous along K. Copies have `Once` bytes. */
template <typename T, bool Along, u32 Once> struct SkinnyCopied {
    typedef typename Gemm<T>::S S;
    static constexpr u32 stages = KPK_COPIED_STAGES;
    static constexpr u32 n = per16<T>::value, lines = 32, warp_cols = 32;
    static constexpr u32 groups = 4 / n; /* across: lines of a row */
    static constexpr u32 step_k = 8 * n; /* a line of A has 128 bytes, too */
    static constexpr u32 step_nbytes = (lines + skinny_rows) * 128;
    static constexpr u32 most_cols = Along ? warp_cols : 8 * warp_cols;

    CopyRing<stages, step_nbytes> ring;
    const u8 *const begin; /* of the ring */
    SkinnyPlace<T> ahead;  /* the next step to copy */
    const u32 log2_cols, across, c0, warp_k, pace;
    const bool halves; /* the second 16 columns of a warp are not needed */
    f64 sums[2][4];    /* for 16 columns each */

    DEV_MEMBER SkinnyCopied(const SkinnyTurns<T> &turns, const u8 *lds)
        : ring(lds_copy_address(lds)), begin(lds), ahead(turns),
          log2_cols(log2_from_5(turns.width)), across(1u << (log2_cols - 5)),
          c0(threadIdx.x / 32 % across * warp_cols),
          warp_k(threadIdx.x / 32 / across * step_k),
          pace(skinny_warps / across * step_k),
          halves(turns.width <= 16 && (Along || n == 2))
    {
    }
    /* log2 of the smallest power of 2 from `cols` on, and at least 5 */
    static DEV_MEMBER u32 log2_from_5(u32 cols)
    {
        u32 log2 = 5;

        while (1u << log2 < cols)
            log2++;
        return log2;
    }
    /* Eight lanes copy a line, four lines at once. A line's pieces change
     * places, so that lanes which read at once find theirs in different banks.
     */
    static DEV_MEMBER u32 place(u32 line, u32 piece, bool along)
    {
        const u32 turn = along ? line % 2 * 4 : line / groups / n % 4 * 2;

        return (line * 8 + (piece ^ turn)) * 16;
    }
    static DEV_MEMBER void copy_piece(u32 to, const T *p, u32 left)
    {
        const u8 *const from = reinterpret_cast<const u8 *>(p);
        const u32 nbytes = min_of(left, n) * (u32)sizeof(T);

        if constexpr (Once == 16) {
            async_copy_part(to, from, nbytes);
        } else {
            UNROLL
            for (u32 e = 0; e < 16; e += Once)
                async_copy_narrow<Once>(to + e, nbytes > e ? from + e : from,
                                        nbytes > e ? Once : 0);
        }
    }
    /* Copies the next step, if there is one. */
    DEV_MEMBER void copy()
    {
        const u32 row = threadIdx.x % 32 / 8, piece = threadIdx.x % 8;
        const u32 k0 = ahead.k + warp_k, k_end = ahead.part.k_end;
        const u32 left = k_end > k0 ? k_end - k0 : 0; /* of K */
        const u32 along = left > piece * n ? left - piece * n : 0;
        const Gemm<T> &g = ahead.turns.g;
        const T *const a = ahead.a + (along ? k0 + piece * n : 0);

        if (!ahead.turns.more()) {
            async_copies_end();
            return;
        }
        ring.fill([&](u32 step) {
            UNROLL
            for (u32 i = 0; i < lines / 4; i++) {
                if (Along && i == lines / 8 && halves)
                    break;

                const u32 line = i * 4 + row;
                u32 k = line / groups;
                u32 c = c0 + (line % groups * 8 + piece) * n, there;

                if (Along)
                    k = piece * n, c = line;
                there = k < left && c < ahead.ncols
                            ? Along ? along : ahead.ncols - c
                            : 0;
                k = there ? k0 + k : 0;
                c = there ? ahead.col0 + c : 0;
                copy_piece(
                    step + place(line, piece, Along),
                    ahead.b + (Along ? (u64)c * g.ldb + k : (u64)k * g.ldb + c),
                    there);
            }
            UNROLL
            for (u32 r = row; r < skinny_rows; r += 4)
                copy_piece(step + place(lines + r, piece, true),
                           a + (u64)(r < ahead.nrows ? r : 0) * g.lda,
                           r < ahead.nrows ? along : 0);
        });
        ahead.k += pace;
        if (ahead.k >= k_end)
            ahead.next();
    }
    static DEV_MEMBER f64 number(const Piece &v, u32 i)
    {
        return (f64)piece_part<T>(v, i);
    }
    /* Adds a step's products to the sums, and copies the next step. A lane has
     * K of pieces l%4 and l%4 + 4 of a line of A. */
    DEV_MEMBER void multiply()
    {
        const u32 l = threadIdx.x % 32;
        const u8 *const step = begin + ring.out * step_nbytes;
        Piece w[2][4], x[2];

        ring.template wait<stages - 1>();
        __syncwarp();
        ring.release();
        UNROLL
        for (u32 h = 0; h < 2; h++) {
            const u32 piece = l % 4 + h * 4;
            const auto at = [&](u32 place) {
                return *reinterpret_cast<const Piece *>(step + place);
            };

            UNROLL
            for (u32 i = 0; i < 4; i++)
                w[h][i] = at(Along ? place(l / 4 + i * 8, piece, true)
                                   : place((piece * n + i % n) * groups + i / n,
                                           l / 4, false));
            x[h] = at(place(lines + l / 4, piece, true));
        }
        copy();
        UNROLL
        for (u32 h = 0; h < 2; h++) {
            UNROLL
            for (u32 i = 0; i < 2; i++) {
                if (i > 0 && halves)
                    break;
                UNROLL
                for (u32 e = 0; e < n; e += 2)
                    multiply_two(sums[i], i, e, w[h], x[h]);
            }
        }
    }
    /* Elements e and e + 1 of a row of A, times 16 columns of B: along, columns
     * l/4 + 16 i and 8 further; across, two side by side of each piece. */
    static DEV_MEMBER void multiply_two(f64 (&sum)[4], u32 i, u32 e,
                                        const Piece (&w)[4], const Piece &x)
    {
        const f64 x0 = number(x, e), x1 = number(x, e + 1);

        if constexpr (Along) {
            const Piece &w0 = w[2 * i], &w8 = w[2 * i + 1];

            mma_f64(sum, number(w0, e), number(w8, e), number(w0, e + 1),
                    number(w8, e + 1), x0, x1);
        } else {
            const Piece *const k = &w[i * 2 / n * n + e];
            const u32 c = i * 2 % n;

            mma_f64(sum, number(k[0], c), number(k[0], c + 1), number(k[1], c),
                    number(k[1], c + 1), x0, x1);
        }
    }
    /* The warp's sums to its slot in LDS. */
    DEV_MEMBER void put_sums(S *all) const
    {
        const u32 l = threadIdx.x % 32, slot = threadIdx.x / 32 / across;
        S *const to = all + (slot * skinny_rows << log2_cols) + c0;

        UNROLL
        for (u32 i = 0; i < 2; i++) {
            UNROLL
            for (u32 e = 0; e < 4; e++) {
                const u32 col =
                    Along ? i * 16 + e / 2 * 8 + l / 4
                          : (i * 2 / n * 8 + l / 4) * n + i * 2 % n + e / 2;

                to[((l % 4 * 2 + e % 2) << log2_cols) + col] = (S)sums[i][e];
            }
        }
    }
    static DEV_MEMBER void run(const Gemm<T> &g, const u8 *lds, S *all)
    {
        const SkinnyTurns<T> turns(g, most_cols, Along ? 4 : 2 * n);
        SkinnyPlace<T> now(turns);
        SkinnyCopied m(turns, lds + threadIdx.x / 32 * (stages * step_nbytes));

        UNROLL
        for (u32 s = 0; s + 1 < stages; s++)
            m.copy();
        NO_UNROLL
        for (; now.turns.more(); now.next()) {
            UNROLL
            for (u32 i = 0; i < 8; i++)
                m.sums[i / 4][i % 4] = 0;

            /* K of 0 has a step of zeros, too */
            NO_UNROLL
            do {
                m.multiply();
                now.k += m.pace;
            } while (now.k < now.part.k_end);
            m.put_sums(all);

            SkinnyTile<T> t(g, now.part, 0, 0, 0);

            t.row0 = now.row0, t.col0 = now.col0;
            t.nrows = now.nrows, t.ncols = now.ncols;
            skinny_finish(t, all, m.log2_cols, skinny_warps / m.across);
        }
        async_copies_wait<0>();
    }
};

/* By copies, if the launch gave LDS for them. own: LDS of the kernel's own, for
 * sums while steps go on. */
template <typename T, bool Along>
DEV bool skinny_copied(const Gemm<T> &g, u8 *own)
{
    LDS_BYTES(lds);
    typedef typename Gemm<T>::S S;
    constexpr u32 n = per16<T>::value;
    const auto is_in_pieces = [](const T *p, u32 ld, i64 stride) {
        return is_aligned(p, 16) && ld % n == 0 && stride % n == 0;
    };

    if (dynamic_lds_nbytes() < KPK_COPIED_LDS)
        return false;
    meet_launches();
    if (is_in_pieces(g.a, g.lda, g.stride_a) &&
        is_in_pieces(g.b, g.ldb, g.stride_b))
        SkinnyCopied<T, Along, 16>::run(g, lds, reinterpret_cast<S *>(own));
    else
        SkinnyCopied<T, Along, sizeof(T)>::run(g, lds,
                                               reinterpret_cast<S *>(own));
    return true;
}
