/*
 * attend_decode.h - attention of few queries over many keys on sm_80 and later
 *
 * A workgroup computes 16 rows, from all query heads of one K head, over a part
 * of the keys. Each of its 4 warps takes every fourth unit of K and of V, of 4
 * KiB or of 16 keys in blocks, and copies them to LDS by cp.async, some units
 * ahead, without waiting for other warps. At the end the warps' results are
 * joined.
 */
#pragma once

#include "nvidia/attention/attend_blocks.h"
#include "nvidia/copy/ring.h"
#if KPK_SM >= 90
#include "nvidia/attention/attend_cluster.h"
#endif

/* The code of one warp. */
template <typename T, u32 D, class Form, class Format> struct DecodeWarp {
    typedef AttendBlocks<T, D, Format, Form> type;
};
template <typename T, u32 D, class Form>
struct DecodeWarp<T, D, Form, PlainFormat<T>> {
    typedef AttendWarp<T, D, 2048 / D, true, false, Form> type;
};

template <typename T, u32 D, class Form, class Format> struct AttendDecode {
    typedef typename DecodeWarp<T, D, Form, Format>::type Warp;
    typedef typename Warp::Rows Rows;
    static constexpr u32 warps = 4, keys = Warp::keys;
    static constexpr u32 most_nbytes = 48 * 1024;
    static constexpr u32 fit = most_nbytes / (warps * Warp::unit_nbytes);
    static constexpr u32 slots = fit < 9 ? fit : 9, ahead = slots - 1;
    static constexpr u32 cols = 128; /* columns of results joined at once */

    static constexpr u32 across = D < cols ? D : cols;

    struct Joined {
        RowParts<warps, 16, across> parts;
        RowParts<1, 16, across> block; /* for the cluster */
    };
    static constexpr u32 ring_nbytes = slots * Warp::unit_nbytes;
    static constexpr u32 lds_nbytes = warps * ring_nbytes > sizeof(Joined)
                                          ? warps *ring_nbytes
                                          : (u32)sizeof(Joined);

    static DEV_MEMBER void run(const AttentionArgs &a, u32 b, u32 head,
                               i32 first, u32 split, u8 *lds)
    {
        const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        const Sequence s(a, b);
        const Rows rows(a, s, head);
        const AttendKeys k(a, s, b, head, a.k, a.k_batch, a.k_row, a.k_head,
                           Format());
        const AttendKeys v(a, s, b, head, a.v, a.v_batch, a.v_row, a.v_head,
                           Format());
        const bool aligned = Warp::is_aligned(k, v);
        const i32 last = min_of(first + 16, rows.nrows) - 1;
        const KeySpan span = seen_by(s, rows.token(first), rows.token(last));
        CopyRing<slots, Warp::unit_nbytes> ring(
            (u32)__cvta_generic_to_shared(lds) + warp * ring_nbytes);
        constexpr i32 tile = (i32)(warps * keys);
        i32 at = span.first / tile, end = div_up_signed(span.end, tile);
        Warp w;

        if (a.splits > 1) {
            const u32 each = div_up((u32)max_of(end - at, 0), a.splits);

            at += (i32)(split * each);
            end = min_of(end, at + (i32)each);
        }
        const i32 key_end = end * tile;
        i32 key0 = at * tile + (i32)(warp * keys);
        i32 k_next = key0, v_next = key0;

        /* K0 V0 K1 V1 ... */
        const auto copy = [&](bool is_key) {
            i32 &next = is_key ? k_next : v_next;

            ring.fill([&](u32 unit) {
                if (next < key_end)
                    Warp::copy(unit, a, b, is_key ? k : v,
                               is_key ? a.d : Form::d_v(a), aligned, next, span,
                               lane);
            });
            next += tile;
        };

        __syncthreads();
        UNROLL
        for (u32 i = 0; i < ahead; i++)
            copy(i % 2 == 0);
        w.begin(a, s, rows, b, first, ring.to_fill());
        NO_UNROLL
        for (; key0 < key_end; key0 += tile) {
            typename Warp::Scores x;
            typename Warp::Operands p;

            ring.template wait<ahead>();
            __syncwarp();
            copy(ahead % 2 == 0);

            const f32 factor = w.score(x, a, b, head, key0, ring.to_read());

            ring.release();
            ring.template wait<ahead>();
            __syncwarp();
            copy(ahead % 2 != 0);
            w.exponentials(x, factor);
            w.round(x, p);
            w.add_values(p, ring.to_read());
            ring.release();
        }
        async_copies_wait<0>();
        join(w, a, b, head, split, *reinterpret_cast<Joined *>(lds));
    }
    static DEV_MEMBER i32 div_up_signed(i32 v, i32 by)
    {
        return v <= 0 ? 0 : (i32)div_up((u32)v, (u32)by);
    }
    /* Joins the warps' results, or starts to join the blocks'. */
    static DEV_MEMBER void join(const Warp &w, const AttentionArgs &a, u32 b,
                                u32 key_head, u32 split, Joined &lds)
    {
        const Sequence s(a, b);
        const Rows rows(a, s, key_head);
        const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#if KPK_SM >= 90
        const bool clustered = is_clustered(a);
#else
        const bool clustered = false;
#endif
        const u32 d_v = Form::d_v(a);

        __syncthreads();
        UNROLL
        for (u32 i = 0; i < 2; i++) {
            const f32 sum = w.sum(i);

            if (lane % 4 == 0) {
                lds.parts.m[warp][lane / 4 + 8 * i] = w.soft[i].m;
                lds.parts.l[warp][lane / 4 + 8 * i] = sum;
            }
        }
        UNROLL
        for (u32 c = 0; c < D / across; c++) {
            if (c)
                __syncthreads();
            UNROLL
            for (u32 i = 0; i < across / 4; i++) {
                const u32 n = i / 2, row = lane / 4 + i % 2 * 8;
                const f32 *from = w.o[c * across / 8 + n] + i % 2 * 2;
                f32 *const to = &lds.parts.o[warp][row][Warp::column(n)];

                if constexpr (Warp::columns_apart == 1)
                    store_pack(to, Pack<f32, 2>{{from[0], from[1]}});
                else
                    to[0] = from[0], to[Warp::columns_apart] = from[1];
            }
            __syncthreads();
            each_result(w, a, rows, c, 0, 1, [&](u32 r, u32 col, i32 row) {
                const u32 d = c * across + col;
                const RowPart all = lds.parts.merged(r, col);
                const AttendRow to(a, s, b, rows.token(row), rows.head(row));

                if (clustered) {
                    lds.block.set(0, r, col, all);
                } else if (a.splits > 1) {
                    store_anywhere(to.partial(a, split, d_v, d),
                                   all.results(1));
                    if (d == 0)
                        to.set_partial_sum(a, split, d_v, all.l,
                                           all.log2_sum(p_lead<T>));
                } else {
                    store_anywhere(
                        to.template out<T>(a, d),
                        finish_row<T, Form>(a, to, all, p_lead<T>, d));
                }
            });
#if KPK_SM >= 90
            if (!clustered)
                continue;
            cluster_show();
            each_result(
                w, a, rows, c, cluster_rank(), cluster_blocks(),
                [&](u32 r, u32 col, i32 row) {
                    store_joined<T, Form>(
                        a, AttendRow(a, s, b, rows.token(row), rows.head(row)),
                        merge_blocks(lds.block, a.splits, r, col), p_lead<T>,
                        c * across + col);
                });
            cluster_show(); /* wait until the other blocks have read */
#endif
        }
    }
    /* fn(row of 16, column of `across`, query) for pairs of results, of which
     * block `rank` of `blocks` takes its share. */
    template <class Fn>
    static DEV_MEMBER void each_result(const Warp &w, const AttentionArgs &a,
                                       const Rows &rows, u32 c, u32 rank,
                                       u32 blocks, Fn fn)
    {
        NO_UNROLL
        for (u32 e = threadIdx.x + rank * warps * 32; e < 16 * across / 2;
             e += blocks * warps * 32) {
            const u32 r = e / (across / 2), col = e % (across / 2) * 2;
            const i32 row = w.row0 + (i32)r;

            if (row < rows.nrows && c * across + col < Form::d_v(a))
                fn(r, col, row);
        }
    }
};

/* 16 rows of the queries of the heads that share a head of K, over a part of
 * the keys. */
template <typename T, u32 D, class Form, class Format>
DEV void attend_decode(const AttentionArgs &a)
{
    typedef AttendDecode<T, D, Form, Format> Block;
    __shared__ __attribute__((aligned(128))) u8 lds[Block::lds_nbytes];
    const u32 tiles = max_of(div_up(a.seqlen_q * (a.h / a.h_k), 16u), 1u);

    NO_UNROLL
    for (u32 b = blockIdx.z; b < a.b; b += gridDim.z) {
        NO_UNROLL
        for (u32 y = blockIdx.y; y < a.h_k * tiles; y += gridDim.y) {
            const Sequence s(a, b);
            const u32 h = y / tiles;
            const i32 row = (i32)(y % tiles * 16);

            if (row >= Queries<true>(a, s, h).nrows)
                continue;
            NO_UNROLL
            for (u32 split = blockIdx.x; split < max_of(a.splits, 1u);
                 split += gridDim.x)
                Block::run(a, b, h, row, split, lds);
        }
    }
}
