/*
 * attend_decode.h - attention of few queries over many keys on sm_80 and later
 *
 * A workgroup computes 16 rows, from all query heads of one K head, over a part
 * of the keys. Each of its 4 warps takes every fourth 4 KiB of K and of V and
 * copies them to LDS by cp.async, two stages ahead, without waiting for other
 * warps. At the end the warps' results are joined.
 */
#pragma once

#include "nvidia/attention/attend_warp.h"
#if KPK_SM >= 90
#include "nvidia/attention/attend_cluster.h"
#endif

template <typename T, u32 D, class Form> struct AttendDecode {
    static constexpr u32 warps = 4, slots = 3;
    static constexpr u32 unit_nbytes = 4096, keys = unit_nbytes / (D * 2);
    static constexpr u32 lds_nbytes = warps * slots * unit_nbytes;
    static constexpr u32 cols = 128; /* columns of results joined at once */
    typedef AttendWarp<T, D, 1, keys, true, false, Form> Warp;
    typedef typename Warp::Rows Rows;

    static constexpr u32 across = D < cols ? D : cols;

    struct Joined {
        f32 o[warps][16][across];
        f32 m[warps][16], l[warps][16];
        /* the block's log2 of sums, for the cluster's join of o[0] */
        f32 log2_sum[16];
    };
    static_assert(sizeof(Joined) <= lds_nbytes, "where the keys were");

    static DEV_MEMBER void run(const AttentionArgs &a, u32 b, u32 head,
                               i32 first, u32 split, u8 *lds)
    {
        const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        const Sequence s(a, b);
        const Rows rows(a, s, head);
        const AttendKeys k(a, s, b, head, a.k, a.k_batch, a.k_row, a.k_head);
        const AttendKeys v(a, s, b, head, a.v, a.v_batch, a.v_row, a.v_head);
        const bool aligned = k.is_aligned_to_16() && v.is_aligned_to_16();
        const i32 last = min_of(first + 16, rows.nrows) - 1;
        const KeySpan span = seen_by(s, rows.token(first), rows.token(last));
        const u32 start =
            (u32)__cvta_generic_to_shared(lds) + warp * slots * unit_nbytes;
        const u32 ring_end = start + slots * unit_nbytes;
        constexpr i32 tile = (i32)(warps * keys);
        i32 at = span.first / tile, end = div_up_signed(span.end, tile);
        u32 in = start, out = start;
        Warp w;

        if (a.splits > 1) {
            const u32 each = div_up((u32)max_of(end - at, 0), a.splits);

            at += (i32)(split * each);
            end = min_of(end, at + (i32)each);
        }
        const i32 key_end = end * tile;
        i32 key0 = at * tile + (i32)(warp * keys);
        i32 copied = key0;

        const auto copy = [&](const AttendKeys &rows_of, u32 d) {
            if (copied < key_end)
                copy_lines<typename Warp::Lines, keys, 32>(
                    in, a, b, rows_of, d, aligned, copied, span, lane);
            async_copies_end();
            in = in + unit_nbytes == ring_end ? start : in + unit_nbytes;
        };

        __syncthreads();
        copy(k, a.d);
        copy(v, Form::d_v(a));
        w.begin(a, s, rows, b, first, in);
        NO_UNROLL
        for (; key0 < key_end; key0 += tile) {
            typename Warp::Scores x;
            u32 p[1][Warp::tiles][2];

            async_copies_wait<1>();
            __syncwarp();
            copied += tile;
            copy(k, a.d);

            const f32 factor = w.score(x, a, b, head, key0, out);

            out = out + unit_nbytes == ring_end ? start : out + unit_nbytes;
            async_copies_wait<1>();
            __syncwarp();
            copy(v, Form::d_v(a));
            w.exponentials(x, factor);
            w.round(x, p);
            w.add_values(p, out);
            out = out + unit_nbytes == ring_end ? start : out + unit_nbytes;
        }
        async_copies_wait<0>();
        join(w, a, b, head, split, *reinterpret_cast<Joined *>(lds));
    }
    static DEV_MEMBER i32 div_up_signed(i32 v, i32 by)
    {
        return v <= 0 ? 0 : (i32)div_up((u32)v, (u32)by);
    }
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
        const u64 total = a.total_q ? a.total_q : (u64)a.b * a.seqlen_q;
        const u32 d_v = Form::d_v(a);

        __syncthreads();
        UNROLL
        for (u32 i = 0; i < 2; i++) {
            const f32 sum = w.sum(0, i);

            if (lane % 4 == 0) {
                lds.m[warp][lane / 4 + 8 * i] = w.m[0][i];
                lds.l[warp][lane / 4 + 8 * i] = sum;
            }
        }
        UNROLL
        for (u32 c = 0; c < D / across; c++) {
            if (c)
                __syncthreads();
            UNROLL
            for (u32 n = 0; n < across / 8; n++) {
                UNROLL
                for (u32 i = 0; i < 2; i++) {
                    const f32 *from = w.o[0][c * across / 8 + n] + 2 * i;

                    store_pack(
                        &lds.o[warp][lane / 4 + 8 * i][n * 8 + lane % 4 * 2],
                        Pack<f32, 2>{{from[0], from[1]}});
                }
            }
            __syncthreads();
            NO_UNROLL
            for (u32 e = threadIdx.x; e < 16 * across / 2; e += warps * 32) {
                const u32 r = e / (across / 2), col = e % (across / 2) * 2;
                const u32 d = c * across + col;
                const i32 row = w.row0 + (i32)r;
                f32 top = lds.m[0][r], sum = 0, v0 = 0, v1 = 0;

                if (row >= rows.nrows || d >= d_v)
                    continue;
                UNROLL
                for (u32 i = 1; i < warps; i++)
                    top = __builtin_fmaxf(top, lds.m[i][r]);
                UNROLL
                for (u32 i = 0; i < warps; i++) {
                    const f32 by = exp2_fast(lds.m[i][r] - top);
                    const Pack<f32, 2> o = load_pack<2>(&lds.o[i][r][col]);

                    sum = fused(lds.l[i][r], by, sum);
                    v0 = fused(o[0], by, v0);
                    v1 = fused(o[1], by, v1);
                }

                const f32 scale = reciprocal(sum);
                const f32 log2_sum = top - p_lead<T> + log2f(sum);
                const i32 token = rows.token(row);
                const u32 head = rows.head(row);
                const AttendRow to(a, s, b, token, head);

                v0 = sum == 0 ? 0 : v0 * scale;
                v1 = sum == 0 ? 0 : v1 * scale;
                if (clustered) {
                    store_pack(&lds.o[0][r][col], Pack<f32, 2>{{v0, v1}});
                    if (col == 0)
                        lds.log2_sum[r] = sum == 0 ? -infinite : log2_sum;
                } else if (a.splits > 1) {
                    const u64 of_split =
                        (split * total + to.of_all) * a.h + head;

                    store_anywhere(a.partial + of_split * d_v + d,
                                   Pack<f32, 2>{{v0, v1}});
                    if (d == 0)
                        a.partial[a.splits * total * a.h * d_v + of_split] =
                            sum == 0 ? -infinite : log2_sum;
                } else {
                    const f32 share = to.template finish<Form>(
                        a, b, token, head, sum, log2_sum, d == 0);

                    store_anywhere((T *)a.o + to.at + d,
                                   bits_as<Pack<T, 2>>(
                                       round_two<T>(v0 * share, v1 * share)));
                }
            }
            if (clustered)
                join_blocks(w, a, b, s, rows, c, lds);
        }
    }

    /* Joins the results of a cluster's blocks in rank order. Each block joins
     * a share of the results. */
    static DEV_MEMBER void join_blocks(const Warp &w, const AttentionArgs &a,
                                       u32 b, const Sequence &s,
                                       const Rows &rows, u32 c,
                                       const Joined &lds)
    {
#if KPK_SM >= 90
        cluster_show();
        NO_UNROLL
        for (u32 e = threadIdx.x + cluster_rank() * warps * 32;
             e < 16 * across / 2; e += cluster_blocks() * warps * 32) {
            const u32 r = e / (across / 2), col = e % (across / 2) * 2;
            const u32 d = c * across + col;
            const i32 row = w.row0 + (i32)r;
            f32 log2_of[most_cluster], top = -infinite, sum = 0, v0 = 0, v1 = 0;
            Pack<f32, 2> o[most_cluster];

            if (row >= rows.nrows || d >= Form::d_v(a))
                continue;
            UNROLL
            for (u32 i = 0; i < most_cluster; i++) {
                log2_of[i] = -infinite;
                o[i] = Pack<f32, 2>{{0, 0}};
                if (i < a.splits) {
                    log2_of[i] = cluster_read(&lds.log2_sum[r], i);
                    o[i] = cluster_read_two(&lds.o[0][r][col], i);
                }
            }
            UNROLL
            for (u32 i = 0; i < most_cluster; i++)
                top = __builtin_fmaxf(top, log2_of[i]);
            UNROLL
            for (u32 i = 0; i < most_cluster; i++) {
                const f32 by =
                    top == -infinite ? 0 : exp2_fast(log2_of[i] - top);

                sum += by;
                v0 = fused(o[i][0], by, v0);
                v1 = fused(o[i][1], by, v1);
            }

            const i32 token = rows.token(row);
            const u32 head = rows.head(row);
            const AttendRow to(a, s, b, token, head);
            const f32 share = to.template finish<Form>(
                a, b, token, head, sum, top + log2f(sum), d == 0);
            const f32 scale = sum == 0 ? 0 : reciprocal(sum) * share;

            const Pack<T, 2> two =
                bits_as<Pack<T, 2>>(round_two<T>(v0 * scale, v1 * scale));

            if (a.o_q8_1)
                store_as_q8_1<T, Form>(a, to.of_all, head, d, two);
            else
                store_anywhere((T *)a.o + to.at + d, two);
        }
        cluster_show(); /* the other blocks have read */
#endif
    }
};

/* All queries of the heads that share a head of K, over a part of the keys. */
template <typename T, u32 D, class Form>
DEV void attend_decode(const AttentionArgs &a)
{
    typedef AttendDecode<T, D, Form> Block;
    __shared__ __attribute__((aligned(128))) u8 lds[Block::lds_nbytes];

    NO_UNROLL
    for (u32 b = blockIdx.z; b < a.b; b += gridDim.z) {
        NO_UNROLL
        for (u32 h = blockIdx.y; h < a.h_k; h += gridDim.y) {
            const Sequence s(a, b);
            const i32 nrows = Queries<true>(a, s, h).nrows;

#if KPK_SM >= 90
            static_assert(sizeof(typename AttendOne<T, D, Form>::Lds) <=
                              Block::lds_nbytes,
                          "where the keys are");
            if (attend_one<T, D, Form>(a, s, b, h, lds))
                continue;
#endif
            NO_UNROLL
            for (u32 split = blockIdx.x; split < max_of(a.splits, 1u);
                 split += gridDim.x) {
                NO_UNROLL
                for (i32 row = 0; row < nrows; row += 16)
                    Block::run(a, b, h, row, split, lds);
            }
        }
    }
}
