/*
 * ragged_tile.h - tiles of f16 and bf16 on sm_80 and later of operands that are
 * not aligned
 *
 * As mma_tile.h has them, but steps come by way of registers, as any_piece.h's
 * pieces. A step is on its way while the step before is multiplied, over the
 * ends of tiles, too.
 */
#pragma once

#include "nvidia/copy/any_piece.h"
#include "nvidia/gemm/mma_tile.h"
#include "nvidia/gemm/tile_loop.h"

/* One operand's steps, by all `Threads` threads; L as in operand_copy.h. */
template <typename T, class L, u32 Threads> struct AnySteps : L {
    static constexpr u32 k = async_k;
    static constexpr u32 pass_lines = Threads / L::pieces;
    static constexpr u32 passes = L::lines / pass_lines;
    static_assert(pass_lines % 8 == 0 && passes * pass_lines == L::lines,
                  "passes have the same permutation, and turn");

    const T *from; /* this thread's piece in the matrix */
    u64 pass_step, step;
    u32 line, column, extent, turn, there; /* there: of K, in this step */
    AnyPiece<false> in[passes];

    AnySteps() = default;
    DEV_MEMBER AnySteps(const T *matrix, u32 row0, u32 nrows, u32 ld, u32 k0)
        : pass_step((u64)pass_lines * ld), step(L::along ? k : (u64)k * ld),
          line(threadIdx.x / L::pieces), column(threadIdx.x % L::pieces * 8),
          extent(nrows - row0)
    {
        from = matrix + (L::along ? (u64)(row0 + line) * ld + k0 + column
                                  : (u64)(k0 + line) * ld + row0 + column);
        turn = AnyPiece<false>::turn_of(from);
    }
    /* Starts loading the next step, which has `left` of K or more than that. */
    DEV_MEMBER void load(u32 left)
    {
        const u32 of_line = L::along ? left : extent;
        const u32 lines = L::along ? extent : left;
        const u32 n = of_line > column ? of_line - column : 0;

        there = left;
        UNROLL
        for (u32 i = 0; i < passes; i++)
            in[i].load(from + i * pass_step,
                       line + i * pass_lines < lines ? n : 0);
        from += step;
    }
    DEV_MEMBER void store(u8 *stage) const
    {
        u8 *const to = stage + L::place(line, column / 8);

        UNROLL
        for (u32 i = 0; i < passes; i++) {
            Piece v = in[i].get(turn);

            if (L::along && there < k)
                v = first_of_piece<T>(v, there > column ? there - column : 0);
            *reinterpret_cast<Piece *>(to + i * pass_lines * L::line_nbytes) =
                v;
        }
    }
};

template <typename T, bool AlongA, bool AlongB, u32 Rows, u32 Cols,
          u32 WarpRows = 32>
struct RaggedTile : AsyncTile<T, AlongA, AlongB, Rows, Cols, WarpRows, 32> {
    typedef AsyncTile<T, AlongA, AlongB, Rows, Cols, WarpRows, 32> Base;
    typedef AnySteps<T, typename Base::A, Base::threads> CopyA;
    typedef AnySteps<T, typename Base::B, Base::threads> CopyB;
    static constexpr u32 stage_nbytes = Base::A::nbytes + Base::B::nbytes;
    struct Extent { /* as in wgmma_tile.h; not used */
        i32 rows, cols;
    };
    /* two stages; results use the last stage's LDS, or LDS beside both */
    static constexpr u32 slab_nbytes = Base::threads / 32 * 16 * (32 + 8) * 4;
    static constexpr bool beside = slab_nbytes > stage_nbytes;
    static constexpr u32 lds_nbytes =
        2 * stage_nbytes + (beside ? slab_nbytes : 0);

    DEV_MEMBER void multiply(u32 stage)
    {
        typename Base::Part part[2];

        Base::load(part[0], stage, 0);
        UNROLL
        for (u32 p = 0; p < async_k / 16; p++) {
            if (p + 1 < async_k / 16)
                Base::load(part[(p + 1) % 2], stage, p + 1);
            UNROLL
            for (u32 i = 0; i < Base::nrows; i++)
                Base::multiply_row(part[p % 2], i);
        }
    }
    /* Tiles: as in AsyncTile::run() */
    template <class Tiles> DEV_MEMBER void run(u8 *lds, Tiles &tiles)
    {
        CopyA a;
        CopyB b;
        u32 left = 0, stage = 0;
        const auto begin = [&] {
            if (!tiles.more())
                return;
            left = tiles.begin(*this, a, b).nk;
            a.load(left), b.load(left);
        };

        begin();
        NO_UNROLL
        while (tiles.more()) {
            UNROLL
            for (u32 i = 0; i < Base::nrows * Base::ncols * 4; i++)
                Base::sums[i / 4 / Base::ncols][i / 4 % Base::ncols][i % 4] = 0;
            NO_UNROLL
            for (;;) {
                u8 *const step = lds + stage * stage_nbytes;

                a.store(step), b.store(step + Base::A::nbytes);
                __syncthreads();
                stage ^= 1;
                if (left <= async_k)
                    break;
                left -= async_k;
                a.load(left), b.load(left);
                multiply((u32)__cvta_generic_to_shared(step));
            }
            const auto place = tiles.next();
            u8 *const last = lds + (stage ^ 1) * stage_nbytes;

            begin();
            multiply((u32)__cvta_generic_to_shared(last));
            __syncthreads(); /* the last step is read */
            tiles.store(*this, place, beside ? lds + 2 * stage_nbytes : last);
        }
    }
};

/* A block's tiles of C, one after another. */
template <typename T, u32 Rows, u32 Cols, class Tile>
struct RaggedTiles : GemmTiles<T, Rows, Cols, Tile> {
    typedef GemmTiles<T, Rows, Cols, Tile> G;
    using G::g;

    DEV_MEMBER explicit RaggedTiles(const Gemm<T> &gemm) : G(gemm)
    {
    }
    static DEV_MEMBER bool fits(const Gemm<T> &g)
    {
        return dynamic_lds_nbytes() >= Tile::lds_nbytes &&
               TileOrder<T, Rows, Cols>{g}.fits_32_bits();
    }
    DEV_MEMBER void store(const Tile &tile, const typename G::Place &p,
                          u8 *lds) const
    {
        const GemmOut<T> out(g, p.part);
        const bool pairs = out.takes_pairs();

        tile.each_pair(lds, [&](u32 r, u32 c, const Pack<f32, 2> &sums) {
            if (pairs && r < g.m - p.row0 && c + 1 < g.n - p.col0)
                out.store_pair(p.row0 + r, p.col0 + c, sums);
            else
                G::put_pair(out, p, r, c, sums);
        });
    }
};
