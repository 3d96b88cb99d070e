/*
 * attend_wgmma.h - attention of many queries by sm_90's warpgroups
 *
 * A workgroup has a warpgroup that brings Q, K and V to LDS, and two or three
 * that compute, each of 64 queries. Tiles of K and V go through a ring of slots
 * in the order in which they are used: K0 K1 V0 K2 V1 ... Two barriers belong
 * to each slot: `full` counts the threads whose copies have come, `empty` the
 * warps that need the tile no more. So nobody waits for all others, and the
 * copies of a workgroup's next queries start while the results of these are
 * stored. A mask's tiles come through a ring of their own, each behind its K.
 *
 * Scores are wgmma's products of Q and K in LDS. P stays in registers, which
 * have the layout for wgmma's product with V. While a warpgroup computes P of a
 * tile, its product of the previous tile runs, and other warpgroups' products:
 * see Computing::run().
 */
#pragma once

#include "nvidia/attention/attend_shapes.h"
#include "nvidia/attention/attend_warp.h"
#include "nvidia/copy/any_piece.h"
#include "nvidia/copy/ring.h"
#include "nvidia/unit/wgmma.h"

template <u32 D> struct AttendGroupsShape;
#define SHAPE(D, Groups, Keys, Slots)                                          \
    template <> struct AttendGroupsShape<D> {                                  \
        static constexpr u32 groups = Groups, keys = Keys, slots = Slots;      \
        static constexpr u32 threads = ATTEND_GROUPS_THREADS(Groups);          \
        static constexpr u32 blocks = 1;                                       \
        static constexpr u32 lds_nbytes =                                      \
            ATTEND_GROUPS_LDS(D, Groups, Keys, Slots);                         \
        static constexpr u32 mask_nbytes = ATTEND_MASK_LDS(Groups, Keys);      \
    };
ATTEND_GROUPS_SHAPES(SHAPE)
#undef SHAPE

/* `Lines` rows of D elements in wgmma's layout: in blocks of 64 columns */
template <u32 D, u32 Lines> struct AttendColumns {
    static constexpr u32 pieces = D / 8, block = Lines * wgmma_line;

    static DEV_MEMBER u32 at(u32 line, u32 piece)
    {
        return piece / 8 * block + wgmma_place(line, piece % 8);
    }
};

template <typename T, u32 D, class Form> struct AttendGroups {
    typedef AttendGroupsShape<D> Shape;
    static constexpr u32 groups = Shape::groups, keys = Shape::keys;
    static constexpr u32 slots = Shape::slots, queries = groups * 64;
    /* keys of a head, so that 32 MB of L2 hold K and V of a section */
    static constexpr u32 most_section = (32u << 20) / (D * 4);
    typedef AttendRows<T, D, keys, false, Form> Results;
    typedef typename Results::Rows Rows;
    typedef AttendColumns<D, keys> Tile;
    typedef AttendColumns<D, queries> QTile;
    typedef AttendLines<keys> MaskTile; /* a line a query */
    static constexpr u32 tile_nbytes = keys * D * 2;
    static constexpr u32 q_nbytes = queries * D * 2;
    static_assert(q_nbytes + slots * tile_nbytes <= Shape::lds_nbytes,
                  "what a workgroup has of LDS");
    /* Registers per thread: the copying warpgroup gives most of its share of
     * the multiprocessor's 65536 to the computing ones. */
    static constexpr u32 copying_registers = groups == 3 ? 32 : 40;
    static constexpr u32 computing_registers = groups == 3 ? 160 : 232;

    struct Barriers {
        RingBarriers<slots> tiles;
        RingBarriers<1> q;
        RingBarriers<ATTEND_MASK_SLOTS> mask;
    };
    typedef RingEnd<slots> TileEnd;
    typedef RingEnd<1> QueryEnd;
    typedef RingEnd<ATTEND_MASK_SLOTS> MaskEnd;
    struct Lds {
        u32 q, tiles, static_masks, masks;

        DEV_MEMBER u32 tile(const TileEnd &at) const
        {
            return tiles + at.slot * tile_nbytes;
        }
        DEV_MEMBER u32 mask(const MaskEnd &at) const
        {
            constexpr u32 nbytes = ATTEND_MASK_SLOT(groups, keys);
            constexpr i32 others = ATTEND_STATIC_MASKS(groups, keys);

            return (i32)at.slot < others
                       ? static_masks + at.slot * nbytes
                       : masks + (at.slot - (u32)others) * nbytes;
        }
    };
    /* A tile of queries of one sequence and head, starting at `first`, and the
     * span of keys that they see. */
    struct Work {
        Sequence s;
        Rows rows;
        u32 b, head;
        i32 first, start;
        KeySpan span;

        DEV_MEMBER Work(const AttentionArgs &a, u32 b_, u32 head_, i32 first_)
            : s(a, b_), rows(a, s, head_), b(b_), head(head_), first(first_),
              start(0),
              span(seen_by(s, first,
                           min_of(first + (i32)queries, rows.nrows) - 1))
        {
            start = span.first / (i32)keys * (i32)keys;
        }
    };

    /* The warpgroup that copies. */
    struct Copying {
        const Lds &lds;
        TileEnd in;
        QueryEnd q_in;
        MaskEnd mask_in;

        DEV_MEMBER void run(const AttentionArgs &a, const Work &w)
        {
            const u32 key_head = w.rows.key_head(a);
            const AttendKeys k(a, w.s, w.b, key_head, a.k, a.k_batch, a.k_row,
                               a.k_head);
            const AttendKeys v(a, w.s, w.b, key_head, a.v, a.v_batch, a.v_row,
                               a.v_head);
            const bool aligned = k.is_aligned() && v.is_aligned();
            i32 k0 = w.start, v0 = w.start;
            bool is_key = true;

            copy_queries(a, w);
            NO_UNROLL
            while (v0 < w.span.end) {
                AttendKeys from = k;

                is_key &= k0 < w.span.end;
                if (!is_key) {
                    from.base = v.base;
                    from.row_nbytes = v.row_nbytes;
                    from.page_nbytes = v.page_nbytes;
                }
                in.fill();
                copy_lines<Tile, keys, 128>(
                    lds.tile(in), a, w.b, from, is_key ? a.d : Form::d_v(a),
                    aligned, is_key ? k0 : v0, w.span, threadIdx.x % 128);
                arrive(in.full(), aligned);
                if (is_key && Form::mask(a))
                    copy_mask(a, w, k0);
                /* K0 K1 V0 K2 V1 ... */
                if (is_key) {
                    is_key = k0 == w.start;
                    k0 += (i32)keys;
                } else {
                    is_key = true;
                    v0 += (i32)keys;
                }
                in.next();
            }
        }
        DEV_MEMBER void copy_mask(const AttentionArgs &a, const Work &w,
                                  i32 key0)
        {
            constexpr u32 pieces = MaskTile::pieces, step = 128 / pieces;
            const u32 t = threadIdx.x % 128;
            const u32 piece = t % pieces, line = t / pieces;
            const f16 *const mask = Form::mask(a);
            const i64 apart = Form::mask_at(a, 0, 0, (i32)step);
            const i32 first = key0 + (i32)piece * 8;
            const i32 keys_here = max_of(min_of(w.s.nk - first, 8), 0);
            const f16 *from =
                mask + Form::mask_at(a, w.b, w.head, w.first + (i32)line) +
                first;
            const bool aligned =
                (((u64)mask | (u64)(Form::mask_at(a, 1, 0, 0) * 2) |
                  (u64)(Form::mask_at(a, 0, 1, 0) * 2) |
                  (u64)(Form::mask_at(a, 0, 0, 1) * 2)) &
                 15) == 0;

            mask_in.fill();
            NO_UNROLL
            for (u32 i = line; i < queries; i += step, from += apart) {
                const i32 n = w.first + (i32)i < w.s.nq ? keys_here : 0;
                const u32 to = lds.mask(mask_in) + MaskTile::at(i, piece);
                AnyPiece<false> any;

                if (aligned) {
                    async_copy_part(to, n ? from : mask, (u32)n * 2);
                    continue;
                }
                any.load(from, (u32)n);
                store_piece(to, any.get(any.turn_of(from)));
            }
            arrive(mask_in.full(), aligned);
            mask_in.next();
        }
        static DEV_MEMBER void arrive(u32 barrier, bool by_copies)
        {
            if (by_copies)
                barrier_arrive_after_copies(barrier);
            else
                barrier_arrive(barrier);
        }
        DEV_MEMBER void copy_queries(const AttentionArgs &a, const Work &w)
        {
            constexpr u32 step = 128 / QTile::pieces;
            const u32 t = threadIdx.x % 128;
            const u32 piece = t % QTile::pieces, line = t / QTile::pieces;
            const bool aligned = (((u64)a.q | (u64)(a.q_batch * 2) |
                                   (u64)(a.q_row * 2) | (u64)(a.q_head * 2)) &
                                  15) == 0;

            q_in.fill();
            NO_UNROLL
            for (u32 i = 0; i < queries / step; i++) {
                const u32 to = lds.q + QTile::at(line + i * step, piece);
                const i32 row = w.first + (i32)(line + i * step);

                if (aligned)
                    async_copy_part(to,
                                    w.rows.template at<T>(a, w.s, w.b, row) +
                                        (piece * 8 < a.d ? piece * 16 : 0),
                                    piece * 8 < a.d ? 16 : 0);
                else
                    store_piece(
                        to, w.rows.template piece<T>(a, w.s, w.b, row, piece));
            }
            arrive(q_in.full(), aligned);
            q_in.next();
        }
    };

    /* A warpgroup that computes. */
    struct Computing {
        const Lds &lds;
        TileEnd out;
        QueryEnd q_out;
        MaskEnd mask_out;

        /* Waits for the next tile of the ring. Copies arrive at the barrier by
         * themselves, so this thread makes their bytes visible to wgmma. */
        DEV_MEMBER u32 take(TileEnd &tile)
        {
            tile = out;
            out.next();
            tile.wait();
            wgmma_lds_written();
            return lds.tile(tile);
        }
        template <u32 n>
        static DEV_MEMBER void give_back(const RingEnd<n> &place)
        {
            if (threadIdx.x % 32 == 0)
                place.release();
        }
        static DEV_MEMBER void multiply_keys(typename Results::Scores &x, u32 q,
                                             u32 k)
        {
            typedef Wgmma<T, keys> Product;
            u64 a, b;

            /* Registers are too few for each step's descriptors: steps are
             * added in uniform registers. */
            q = uniform_of_warp(q);
            a = wgmma_operand(q), b = wgmma_operand(k);
            wgmma_fence();
            UNROLL
            for (u32 i = 0; i < D / 16; i++) {
                const u32 step = i % 4 * WgmmaStep<true>::k16;

                Product::multiply(flat(x),
                                  a + (i / 4 * QTile::block / 16 + step),
                                  b + (i / 4 * Tile::block / 16 + step), i > 0);
            }
            wgmma_commit();
        }
        static DEV_MEMBER void
        add_values(Results &r, const typename Results::Operands &p, u32 v)
        {
            typedef Wgmma<T, D, true, false> Product;
            const u64 b = wgmma_operand(v, Tile::block);

            wgmma_fence();
            UNROLL
            for (u32 i = 0; i < keys / 16; i++) {
                const u32(&p0)[2] = p[2 * i], (&p1)[2] = p[2 * i + 1];
                const u32 four[4] = {p0[0], p0[1], p1[0], p1[1]};

                Product::multiply(flat(r), four, b + i * WgmmaStep<false>::k16,
                                  1);
            }
            wgmma_commit();
        }
        static DEV_MEMBER f32 (&flat(typename Results::Scores &x))[keys / 2]
        {
            return reinterpret_cast<f32(&)[keys / 2]>(x);
        }
        static DEV_MEMBER f32 (&flat(Results &r))[D / 2]
        {
            return reinterpret_cast<f32(&)[D / 2]>(r.o);
        }
        /* Finishes scores, and adds a tile of the mask if there is one. */
        DEV_MEMBER f32 finish(Results &r, typename Results::Scores &x,
                              const AttentionArgs &a, const Work &w, i32 key0)
        {
            const u32 line = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
            Pack<f16, 2> two = {}; /* for a number and the next */

            if (Form::mask(a))
                mask_out.wait();

            const f32 factor =
                r.finish(x, a, w.b, w.head, key0, [&](u32 i, u32 n, bool) {
                    if (n % 2 == 0)
                        two = bits_as<Pack<f16, 2>>(lds_load_u32(
                            lds.mask(mask_out) +
                            MaskTile::at(line + 8 * i, n / 8) + n % 8 * 2));
                    return convert<f32>(two[n % 2]);
                });

            if (Form::mask(a)) {
                give_back(mask_out);
                mask_out.next();
            }
            return factor;
        }
        /*
         * Computes S0 = Q K0 and P0, and then loops: S1 = Q K1 and O += P0 V0
         * are started together, and P1 is computed as soon as S1 is complete.
         */
        DEV_MEMBER void run(const AttentionArgs &a, const Work &w)
        {
            const u32 group = uniform(threadIdx.x / 128);
            const u32 q = lds.q + group * 64 * wgmma_line;
            i32 key0 = w.start;
            TileEnd k_place, v_place;
            bool has_v = false;
            Results r;
            typename Results::Scores x;
            typename Results::Operands p;

            r.begin(w.s, w.rows, w.first + (i32)(threadIdx.x / 32 * 16));
            q_out.wait();
            wgmma_lds_written();
            if (w.start < w.span.end) {
                const u32 k = take(k_place);

                multiply_keys(x, q, k);
                wgmma_wait<0>();
                NO_UNROLL
                for (;;) {
                    bool over = false;
                    f32 down[2];

                    wgmma_hold(flat(x));
                    give_back(k_place);

                    const f32 factor = finish(r, x, a, w, key0);

                    r.raise(x, factor, [&](u32 i, f32 by) {
                        over = true;
                        down[i] = by;
                    });
                    r.exponentials(x, factor);
                    wgmma_wait<0>();
                    wgmma_hold(flat(r));
                    if (has_v)
                        give_back(v_place);
                    r.round(x, p);
                    if (over)
                        r.scale_results(0, down[0]),
                            r.scale_results(1, down[1]);
                    key0 += (i32)keys;
                    if (key0 >= w.span.end)
                        break;

                    const u32 next_k = take(k_place);

                    wgmma_hold(flat(x));
                    wgmma_hold(flat(r));
                    multiply_keys(x, q, next_k);
                    add_values(r, p, take(v_place));
                    has_v = true;
                    wgmma_wait<1>();
                }
                give_back(q_out);

                const u32 v = take(v_place);

                wgmma_hold(flat(r));
                add_values(r, p, v);
                wgmma_wait<0>();
                wgmma_hold(flat(r));
                give_back(v_place);
            } else {
                give_back(q_out);
            }
            q_out.next();
            r.store(a, w.b, w.head);
        }
    };

    /*
     * The workgroup's share of the tiles. Heads are processed in sections, as
     * many heads as have K and V that fit the L2 cache; within a section, tiles
     * alternate between heads. A head's last queries come first, because with a
     * causal mask they see the most keys. Every other round assigns tiles to
     * workgroups in reverse order, to balance this.
     */
    template <class Role>
    static DEV_MEMBER void each(Role &role, const AttentionArgs &a)
    {
        const u32 across = div_up(a.seqlen_q, queries), heads = a.b * a.h;
        const u32 section = min_of(
            a.h / a.h_k * (most_section / max_of(a.seqlen_k, 1u) + 1), heads);
        const u32 step = gridDim.x * gridDim.y * gridDim.z;
        u32 i = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
        u32 further = 2 * (step - i) - 1;

        NO_UNROLL
        for (; i < across * heads; i += further, further = 2 * step - further) {
            const u32 first_head = i / (section * across) * section;
            const u32 in = i - first_head * across;
            const u32 n = min_of(section, heads - first_head);
            const u32 head = first_head + in % n;
            const i32 nq = Sequence(a, head / a.h).nq;
            const i32 first =
                ((nq - 1) / (i32)queries - (i32)(in / n)) * (i32)queries;

            if (nq > 0 && first >= 0)
                role.run(a, Work(a, head / a.h, head % a.h, first));
        }
    }
    /* lds: Shape::lds_nbytes, at a multiple of 1024, and masks behind */
    static DEV_MEMBER void all(const AttentionArgs &a, u32 lds, u32 own,
                               Barriers &barriers)
    {
        const u32 tiles = lds + q_nbytes;
        const Lds l = {lds, tiles, own, tiles + slots * tile_nbytes};

        if (threadIdx.x == 0) {
            barriers.tiles.init(128, groups * 4);
            barriers.q.init(128, groups * 4);
            barriers.mask.init(128, groups * 4);
        }
        __syncthreads();
        if (threadIdx.x < groups * 128) {
            take_registers<computing_registers>();
            Computing role = {l, barriers.tiles.first(), barriers.q.first(),
                              barriers.mask.first()};
            each(role, a);
        } else {
            give_registers<copying_registers>();
            Copying role = {l, barriers.tiles.first(), barriers.q.first(),
                            barriers.mask.first()};
            each(role, a);
        }
    }
};

template <u32 D, class Form> DEV bool attend_groups_fit()
{
    typedef AttendGroupsShape<D> Shape;

    return blockDim.x == Shape::threads &&
           dynamic_lds_nbytes() >=
               Shape::lds_nbytes + (Form::has_mask ? Shape::mask_nbytes : 0);
}

/* By the recommended launch, for which attend_groups_fit() is true. own:
 * ATTEND_STATIC_LDS bytes */
template <typename T, u32 D, class Form>
DEV void attend_groups(const AttentionArgs &a, u32 own)
{
    typedef AttendGroups<T, D, Form> Groups;
    extern __shared__ __attribute__((aligned(1024))) u8 tiles[];
    __shared__ typename Groups::Barriers barriers;

    Groups::all(a, (u32)__cvta_generic_to_shared(tiles), own, barriers);
}
