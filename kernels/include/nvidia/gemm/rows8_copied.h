/*
 * rows8_copied.h - few rows of f32 and f64 on sm_90, by copies that run ahead
 *
 * Reading B takes the time, so up to 130 KB of B per multiprocessor are kept in
 * flight. Each warp copies steps of its own to LDS, some of them ahead, and
 * goes on from tile to tile. A step includes the warp's part of A: A comes
 * through the same busy memory, and a warp that loaded it directly would wait.
 * No warp waits for another before its own part is done.
 *
 * A step has 32 lines of B, of 128 bytes, as in memory. Along K, a line is a
 * column, and the warps lie along K. Across, the lines are 64 columns of a few
 * rows; where tiles are wider, warps lie side by side.
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
#include "nvidia/gemm/rows8_turns.h"
#include "nvidia/gemm/wgmma_shapes.h"

/* A tile, and how far along K it is copied or multiplied. */
template <typename T> struct Rows8Place {
    Rows8Turns<T> turns;
    GemmPart part;
    u32 row0, col0, nrows, ncols, k;
    const T *a, *b;

    DEV_MEMBER explicit Rows8Place(const Rows8Turns<T> &first) : turns(first)
    {
        find();
    }
    DEV_MEMBER void find()
    {
        if (!turns.more())
            return;

        const Rows8Tile<T> t = turns.tile(part);

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

/* Along: columns of B lie along K. Memory is read Once bytes at a time. */
template <typename T, bool Along, u32 Once> struct Rows8Copied {
    typedef typename Gemm<T>::S S;
    static constexpr u32 stages = KPK_COPIED_STAGES(Along);
    static constexpr u32 n = per16<T>::value, lines = 32;
    static constexpr u32 log2_warp = Along ? 5 : 6; /* columns of a warp */
    static constexpr u32 groups = 8 / n;            /* across: lines of a row */
    static constexpr u32 step_k = Along ? 8 * n : 4 * n;
    static constexpr u32 a_pieces = Along ? 2 : 1; /* of a lane */
    static constexpr u32 step_nbytes = lines * 128 + a_pieces * 512;
    static constexpr u32 most_cols = Along ? 32 : 512;
    static constexpr u32 products = Along ? 2 : 4; /* 16 columns each */

    CopyRing<stages, step_nbytes> ring;
    const u8 *const begin; /* of the ring */
    Rows8Place<T> ahead;   /* the next step to copy */
    const u32 log2_cols, across, c0, warp_k, pace;
    f64 sums[products][4];

    DEV_MEMBER Rows8Copied(const Rows8Turns<T> &turns, const u8 *lds)
        : ring(lds_copy_address(lds)), begin(lds), ahead(turns),
          log2_cols(log2_of_up(turns.width)),
          across(1u << (log2_cols - log2_warp)),
          c0(threadIdx.x / 32 % across << log2_warp),
          warp_k(threadIdx.x / 32 / across * step_k),
          pace(rows8_warps / across * step_k)
    {
    }
    /* log2 of the smallest power of 2 from `cols` on, of a warp's at least */
    static DEV_MEMBER u32 log2_of_up(u32 cols)
    {
        u32 log2 = log2_warp;

        while (1u << log2 < cols)
            log2++;
        return log2;
    }
    /* Eight lanes copy a line, four lines at once. A line's pieces change
     * places, so that lanes which read at once find theirs in different banks.
     */
    static DEV_MEMBER u32 place(u32 line, u32 piece)
    {
        const u32 turn = Along ? line % 2 * 4 : k_of(line) / n * 2;

        return (line * 8 + (piece ^ turn)) * 16;
    }
    /* across: the row of B that a line is of */
    static DEV_MEMBER u32 k_of(u32 line)
    {
        return line / (4 * groups) * 4 + line % 4;
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
                async_copy_few<Once>(to + e, nbytes > e ? from + e : from,
                                     nbytes > e ? Once : 0);
        }
    }
    /* Copies the next step, if there is one. */
    DEV_MEMBER void copy()
    {
        const u32 l = threadIdx.x % 32, k0 = ahead.k + warp_k;
        const Gemm<T> &g = ahead.turns.g;
        const auto left_of_k = [&](u32 k) {
            return ahead.part.k_end > k ? ahead.part.k_end - k : 0;
        };

        if (!ahead.turns.more()) {
            async_copies_end();
            return;
        }
        ring.fill([&](u32 step) {
            UNROLL
            for (u32 i = 0; i < lines / 4; i++) {
                const u32 line = i * 4 + l / 8;
                const u32 k = k0 + (Along ? l % 8 * n : k_of(line));
                const u32 c = Along ? line : c0 + (i % groups * 8 + l % 8) * n;
                u32 left = left_of_k(k);

                if (c >= ahead.ncols)
                    left = 0;
                else if (!Along && left > 0)
                    left = ahead.ncols - c;

                const u32 row = Along ? c + ahead.col0 : k;
                const u32 col = Along ? k : c + ahead.col0;

                copy_piece(step + place(line, l % 8),
                           left ? ahead.b + ((u64)row * g.ldb + col) : g.b,
                           left);
            }
            UNROLL
            for (u32 i = 0; i < a_pieces; i++) {
                const u32 r = Along ? i * 4 + l / 8 : l / 4;
                const u32 k = k0 + l % (Along ? 8 : 4) * n;
                const u32 left = r < ahead.nrows ? left_of_k(k) : 0;

                copy_piece(step + a_place(r, l % (Along ? 8 : 4)),
                           left ? ahead.a + ((u64)r * g.lda + k) : g.a, left);
            }
        });
        ahead.k += pace;
        if (ahead.k >= ahead.part.k_end)
            ahead.next();
    }
    static DEV_MEMBER u32 a_place(u32 row, u32 piece)
    {
        return Along ? place(lines + row, piece)
                     : lines * 128 + (row * 4 + piece) * 16;
    }
    static DEV_MEMBER f64 number(const Piece &v, u32 i)
    {
        return (f64)piece_part<T>(v, i);
    }
    /* Adds a step's products to the sums, and copies the next step. */
    DEV_MEMBER void multiply()
    {
        constexpr u32 half = Along ? 2 : groups, each = lines / 4 / half;
        const u32 l = threadIdx.x % 32;
        const u8 *const step = begin + ring.out * step_nbytes;
        Piece w[half][each], x[a_pieces];

        ring.template wait<stages - 1>();
        __syncwarp();
        ring.release();
        const auto piece_at = [&](u32 at) {
            return *reinterpret_cast<const Piece *>(step + at);
        };
        UNROLL
        for (u32 h = 0; h < half; h++) {
            UNROLL
            for (u32 i = 0; i < each; i++) {
                const u32 k = l % 4 * n + i;

                w[h][i] = piece_at(
                    Along ? place(l / 4 + i * 8, l % 4 + h * 4)
                          : place((k / 4 * groups + h) * 4 + k % 4, l / 4));
            }
        }
        UNROLL
        for (u32 i = 0; i < a_pieces; i++)
            x[i] = piece_at(a_place(l / 4, l % 4 + i * 4));
        copy();
        UNROLL
        for (u32 h = 0; h < half; h++) {
            UNROLL
            for (u32 i = 0; i < products / (Along ? 1 : half); i++) {
                UNROLL
                for (u32 e = 0; e < n; e += 2)
                    multiply_pair(h, i, e, w[h], x[Along ? h : 0]);
            }
        }
    }
    /* Along: elements e and e + 1 of columns l/4 + 16 i and 8 further. Across:
     * elements 2 i and 2 i + 1 of rows e and e + 1. */
    template <u32 each>
    DEV_MEMBER void multiply_pair(u32 h, u32 i, u32 e, const Piece (&w)[each],
                                  const Piece &x)
    {
        const f64 x0 = number(x, e), x1 = number(x, e + 1);

        if constexpr (Along)
            mma_f64(sums[i], number(w[2 * i], e), number(w[2 * i + 1], e),
                    number(w[2 * i], e + 1), number(w[2 * i + 1], e + 1), x0,
                    x1);
        else
            mma_f64(sums[h * (n / 2) + i], number(w[e], 2 * i),
                    number(w[e], 2 * i + 1), number(w[e + 1], 2 * i),
                    number(w[e + 1], 2 * i + 1), x0, x1);
    }
    /* The warp's sums to its slot in LDS. */
    DEV_MEMBER void put_sums(S *all) const
    {
        const u32 l = threadIdx.x % 32, slot = threadIdx.x / 32 / across;
        S *const to = all + (slot * rows8_rows << log2_cols) + c0;

        UNROLL
        for (u32 i = 0; i < products; i++) {
            UNROLL
            for (u32 e = 0; e < 4; e++) {
                const u32 col = Along ? i * 16 + e / 2 * 8 + l / 4
                                      : (i / (n / 2) * 8 + l / 4) * n +
                                            i % (n / 2) * 2 + e / 2;

                to[((l % 4 * 2 + e % 2) << log2_cols) + col] = (S)sums[i][e];
            }
        }
    }
    static DEV_MEMBER void run(const Gemm<T> &g, const u8 *lds, S *all)
    {
        const Rows8Turns<T> turns(g, most_cols, Along ? 4 : 2 * n);
        Rows8Place<T> now(turns);
        Rows8Copied m(turns, lds + threadIdx.x / 32 * (stages * step_nbytes));

        UNROLL
        for (u32 s = 0; s + 1 < stages; s++)
            m.copy();
        NO_UNROLL
        for (; now.turns.more(); now.next()) {
            UNROLL
            for (u32 i = 0; i < products * 4; i++)
                m.sums[i / 4][i % 4] = 0;

            /* K of 0 has a step of zeros, too */
            NO_UNROLL
            do {
                m.multiply();
                now.k += m.pace;
            } while (now.k < now.part.k_end);
            m.put_sums(all);

            Rows8Tile<T> t(g, now.part, 0, 0, 0);

            t.row0 = now.row0, t.col0 = now.col0;
            t.nrows = now.nrows, t.ncols = now.ncols;
            rows8_finish(t, all, m.log2_cols, rows8_warps / m.across);
        }
        async_copies_wait<0>();
    }
};

/* By copies, if the launch gave LDS for them. own: LDS of the kernel's own, for
 * sums while steps go on. */
template <typename T, bool Along>
DEV bool rows8_copied(const Gemm<T> &g, u8 *own)
{
    LDS_BYTES(lds);
    typedef typename Gemm<T>::S S;
    constexpr u32 n = per16<T>::value;
    const auto is_in_pieces = [](const T *p, u32 ld, i64 stride) {
        return is_aligned(p, 16) && ld % n == 0 && stride % n == 0;
    };

    if (dynamic_lds_nbytes() < KPK_COPIED_LDS(Along))
        return false;
    meet_launches();
    if (is_in_pieces(g.a, g.lda, g.stride_a) &&
        is_in_pieces(g.b, g.ldb, g.stride_b))
        Rows8Copied<T, Along, 16>::run(g, lds, reinterpret_cast<S *>(own));
    else
        Rows8Copied<T, Along, sizeof(T)>::run(g, lds,
                                              reinterpret_cast<S *>(own));
    return true;
}
